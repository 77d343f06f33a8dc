"""One finished table, with the arguments of `tab_rtauargus` of the R package rtauargus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field
from typing_extensions import TypedDict

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


class Answer(TypedDict):
    """Status of each row of a table."""

    is_safe: bool
    summary: str
    Status: Letters
    stats: Statistics | None


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class TabRtauargus(Asked):
    """Protect one finished table, with the arguments of `tab_rtauargus` of rtauargus."""

    name: ClassVar[str] = "tab_rtauargus"

    tabular: Annotated[Columns, Field(description="The table.")]
    explanatory_vars: Annotated[Names, Field(description="Columns that span the table.")]
    totcode: Totals = "Total"
    ip: Annotated[
        float, Field(ge=0, description="Protection of the cells of secret_var, in per cent.")
    ] = 10.0
    output_type: Annotated[int, Field(description="4: the statuses. Others: run a batch.")] = 4
    output_options: Annotated[str, Field(description="Not needed here.")] = ""

    def answer(self, question: Question) -> Answer:
        """Return `Status` for each row: A, B, D or V, and `stats` if they are asked for."""
        self.check_method()
        if self.output_type != 4:
            raise RequestError(
                f"{self.output_type} is written by a batch alone. Leave it out, or call run_arb.",
                "output_type",
            )
        names = listing(self.explanatory_vars)
        frame = frame_of(self.tabular, "tabular")
        self.check_columns("tabular", frame, names)
        totals = named_totals(self.totcode, names)
        tables = Tables({"tabular": frame}, {"tabular": names}, totals, self, self.ip)
        result, statuses = tables.protected(question)
        status = statuses["tabular"]
        return {
            "is_safe": result.is_safe,
            "summary": result.summary(),
            "Status": status,
            "stats": statistics(frame[self.value], status) if self.summary_secret else None,
        }
