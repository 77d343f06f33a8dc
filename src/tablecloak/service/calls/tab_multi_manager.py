"""Several tables together, with the arguments of `tab_multi_manager` of the R package rtauargus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import TypedDict

from tablecloak.errors import listed, suggestion
from tablecloak.service.call import CALLS, Question
from tablecloak.service.columns import Columns, frame_of
from tablecloak.service.request import RequestError
from tablecloak.service.rtauargus import (
    Asked,
    Letters,
    Names,
    Statistics,
    Tables,
    Totals,
    listing,
    named_totals,
    statistics,
)

ByTable = dict[str, dict[str, str]] | None


class Statuses(TypedDict):
    """Status of each row of one table."""

    is_secret_1: list[bool]
    Status: Letters


class Answer(TypedDict):
    """Statuses of the rows of all tables, by their names."""

    is_safe: bool
    summary: str
    tables: dict[str, Statuses]
    stats: dict[str, Statistics] | None


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class TabMultiManager(Asked):
    """Protect linked tables as one problem, with the arguments of rtauargus' `tab_multi_manager`.

    Cells that several tables show are one cell; no table is done again because of another.
    """

    name: ClassVar[str] = "tab_multi_manager"

    list_tables: Annotated[dict[str, Columns], Field(description="The tables, by name.")]
    list_explanatory_vars: Annotated[
        dict[str, Names], Field(description="For each table the columns that span it.")
    ]
    totcode: Totals = "Total"
    alt_hrc: Annotated[
        ByTable,
        Field(description="Other hierarchies in single tables. Refused: give one that holds both."),
    ] = None
    alt_totcode: Annotated[
        ByTable, Field(description="Other totals in single tables. Refused: rename the codes.")
    ] = None
    secret_var: Annotated[
        str | None, Field(description="Column that is true where a cell is primarily unsafe.")
    ] = "is_secret_prim"
    ip_start: Annotated[
        float, Field(ge=0, description="Protection of the cells of secret_var, in per cent.")
    ] = 10.0
    ip_end: Annotated[float, Field(ge=0, description="Not needed: nothing is done twice.")] = 0.0
    num_iter_max: Annotated[int, Field(ge=1, description="Not needed, as ip_end.")] = 10

    def answer(self, question: Question) -> Answer:
        """Return for each table `is_secret_1` and `Status` of each row, and `stats` if wanted."""
        self.check_method()
        self._check()
        variables = {name: listing(self.list_explanatory_vars[name]) for name in self.list_tables}
        used = list(dict.fromkeys(name for names in variables.values() for name in names))
        frames = {
            name: frame_of(columns, f"list_tables.{name}")
            for name, columns in self.list_tables.items()
        }
        for name, frame in frames.items():
            self.check_columns(name, frame, variables[name])
        totals = named_totals(self.totcode, used)
        tables = Tables(frames, variables, totals, self, self.ip_start)
        result, statuses = tables.protected(question)
        stats = {
            name: statistics(frames[name][self.value], status) for name, status in statuses.items()
        }
        return {
            "is_safe": result.is_safe,
            "summary": result.summary(),
            "tables": {
                name: {"is_secret_1": [each != "V" for each in status], "Status": status}
                for name, status in statuses.items()
            },
            "stats": stats if self.summary_secret else None,
        }

    def _check(self) -> None:
        """Refuse tables without variables, and what one problem cannot have."""
        for key in ("alt_hrc", "alt_totcode"):
            if getattr(self, key):
                help_ = {each.name: each.help for each in CALLS.parameters(self.name)}
                raise RequestError(help_[key], key)
        if not self.list_tables:
            raise RequestError("there is no table. Send one at least.", "list_tables")
        lacking = [name for name in self.list_tables if name not in self.list_explanatory_vars]
        if lacking:
            near = suggestion(lacking[0], self.list_explanatory_vars)
            raise RequestError(
                f"no variables for the table {listed(lacking)}.{near}", "list_explanatory_vars"
            )
