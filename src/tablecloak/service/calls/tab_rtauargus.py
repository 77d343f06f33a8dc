"""Finished tables, one or several, with the arguments of the R package rtauargus.

All of them become one job, whose pattern is told as a status for each row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field
from typing_extensions import TypedDict

from tablecloak.argus.lines import BatchRule
from tablecloak.argus.rules import n_largest, sensitivity_rules
from tablecloak.errors import InputError, listed, suggestion
from tablecloak.jobs.job_file import job_of
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.service.answers import Columns, frame_of
from tablecloak.service.call import CALLS, Call, CallQuestion
from tablecloak.service.request import JOB, RequestError
from tablecloak.tables.rules.rule import RULES, Rule

Names = str | list[str]
"""One name, or several: R does not tell one from a list of one."""

Totals = Annotated[
    str | list[str] | dict[str, str],
    Field(
        description="Code of the total: one for all variables, a list in their order, or by name."
    ),
]

Hierarchies = Annotated[
    dict[str, str] | None,
    Field(
        description="For each hierarchical variable the text of its .hrc file: codes without the "
        "total, parts below their whole with one more @ in front."
    ),
]

TABLE_RULES = ("FREQ", "NK", "P")
"""Rules of tau-ARGUS that can be applied to a finished table."""

METHODS = ("GH", "MOD", "OPT", "NET")
"""Methods of tau-ARGUS that find a suppression pattern; one search stands for all of them."""


@dataclass(frozen=True, kw_only=True)
class RtauargusCall(Call):
    """Arguments that rtauargus has for one table and for several."""

    value: Annotated[str, Field(description="Column of values.")] = "value"
    freq: Annotated[str | None, Field(description="Column of numbers of contributors.")] = "freq"
    hrc: Hierarchies = None
    secret_var: Annotated[
        str | None, Field(description="Column that is true where a cell is primarily unsafe.")
    ] = None
    secret_no_pl: Annotated[
        str | None,
        Field(
            description="Column that is true where a cell needs no protection level. It gets one "
            "nevertheless, which protects more."
        ),
    ] = None
    cost_var: Annotated[str | None, Field(description="Column of costs of hiding a cell.")] = None
    maxscore: Annotated[
        Names | None, Field(description="Columns of the largest contributions, largest first.")
    ] = None
    safety_rules: Annotated[
        str | None, Field(description="Rules that find unsafe cells, as in FREQ(3,10)|NK(1,85).")
    ] = None
    suppress: Annotated[
        str,
        Field(
            description="Method: GH, MOD, OPT or NET. One search stands for all of them; its time "
            "is `time_limit`."
        ),
    ] = "MOD(1,5,1,0,0)"
    summary_secret: Annotated[bool, Field(description="Whether to count cells by status.")] = False
    unif_labels: Annotated[
        bool, Field(description="Not needed here: codes may be of any length.")
    ] = True
    split_tab: Annotated[
        bool, Field(description="Not needed here: 4 and 5 dimensions are one problem.")
    ] = False
    nb_tab_option: Annotated[str, Field(description="Not needed here, as split_tab.")] = "smart"
    limit: Annotated[float, Field(description="Not needed here, as split_tab.")] = 14700
    time_limit: Annotated[float, Field(gt=0, description="Seconds for the search.")] = 60.0
    tolerance: Annotated[
        float, Field(ge=0, description="Accepted error of a sum, for tables with rounded values.")
    ] = 1.0

    def rules(self) -> list[Rule]:
        """Return the rules for finished tables.

        Raises
        ------
        RequestError
            If a rule is unknown, or its columns are missing.
        """
        found = [_rule(text) for text in (self.safety_rules or "").split("|") if text.strip()]
        rules = [rule for rule in found if rule.name != "MAN"]
        if rules and self.freq is None:
            raise RequestError("rules need the number of contributors. Name its column.", "freq")
        try:
            wanted, made = n_largest(rules), sensitivity_rules(rules)
        except ValueError as error:
            told = f" ({error})" if isinstance(error, InputError) else ""
            raise RequestError(
                f"{self.safety_rules} has a rule with other numbers than its own{told}. Give "
                f"FREQ(n,range), NK(n,k), P(p), P(p,n) or P(p,q,n).",
                "safety_rules",
            ) from None
        given = len(listing(self.maxscore))
        if given < wanted:
            raise RequestError(
                f"{self.safety_rules} looks at the {wanted} largest contributions of a cell, and "
                f"{given} columns are named. Name a column for each.",
                "maxscore",
            )
        if not rules and self.secret_var is None:
            raise RequestError(
                "nothing says which cells are unsafe. Give it, or safety_rules.", "secret_var"
            )
        return made

    def check_columns(self, name: str, frame: pd.DataFrame, variables: Sequence[str]) -> None:
        """Refuse a table that lacks a column that is named."""
        numbers = (self.value, self.freq, self.secret_var, self.cost_var, self.secret_no_pl)
        columns = list(map(str, frame.columns))
        for column in (*variables, *numbers, *listing(self.maxscore)):
            if column is not None and column not in columns:
                near = suggestion(column, columns)
                raise RequestError(f"there is no column {column!r}.{near}", name)

    def check_method(self) -> None:
        """Refuse a method that gives no suppression pattern."""
        name = self.suppress.partition("(")[0].strip().upper()
        if name not in METHODS:
            raise RequestError(
                f"{self.suppress!r} is none of {', '.join(METHODS)}, which find cells to hide. "
                f"Other methods are calls of their own: adjust, round.",
                "suppress",
            )


@dataclass(frozen=True)
class Tables:
    """One table, or several that are protected together, and what was asked of them.

    Parameters
    ----------
    frames : dict of str to DataFrame
        By name.
    variables : dict of str to list of str
        Explanatory variables of each table.
    totals : dict of str to str
        By variable.
    asked : RtauargusCall
    level : float
        Protection of the cells that `secret_var` names, in per cent.
    """

    frames: Mapping[str, pd.DataFrame]
    variables: Mapping[str, Sequence[str]]
    totals: Mapping[str, str]
    asked: RtauargusCall
    level: float

    def protected(self, question: CallQuestion) -> tuple[JobResult, dict[str, list[str]]]:
        """Protect all tables as one problem; return the result, and statuses for each table.

        Statuses are those of rtauargus, in the order of the rows: A (primary: too few contributors,
        where neither NK nor P finds it unsafe), B (any other primary), D (secondary), V (to be
        published).
        """
        try:
            job = job_of(self._job(question), question.folder / JOB, "")
            result = run_job(job, progress=question.progress)
        except InputError as error:
            # Who calls knows no files and no lines, only tables with their rows.
            names = {file: name for name, file in self._files.items()}
            names |= {file: f"hrc of {name!r}" for name, file in self._hierarchies.items()}
            names = {str(question.folder / file): name for file, name in names.items()}
            source = names.get(str(error.source))
            text = str(error) if source is None else error.what
            for path, name in names.items():
                text = text.replace(path, name)
            raise InputError(text, row=error.row if source else None, source=source) from None
        assert result.pattern is not None
        letters = _letters(result)
        cells = result.problem.table.keys
        status = dict(zip(cells.itertuples(index=False, name=None), letters, strict=False))
        keys = [*map(str, cells)]
        return result, {name: self._of_rows(name, keys, status) for name in self.frames}

    @property
    def _files(self) -> dict[str, str]:
        return {name: f"table{number}.csv" for number, name in enumerate(self.frames)}

    @property
    def _hierarchies(self) -> dict[str, str]:
        return {name: f"hierarchy{number}.hrc" for number, name in enumerate(self.asked.hrc or {})}

    def _job(self, question: CallQuestion) -> dict[str, Any]:
        """Return the sections of a job; tables and hierarchies are written into its folder."""
        asked = self.asked
        used = list(dict.fromkeys(name for names in self.variables.values() for name in names))
        files = self._files
        for name, frame in self.frames.items():
            frame.to_csv(question.folder / files[name], index=False)
        tables = [{"file": files[name], "dimensions": list(self.variables[name])} for name in files]
        is_one = len(tables) == 1
        data = {
            "kind": "table",
            "file": tables[0]["file"] if is_one else None,
            "value": asked.value,
            "tolerance": asked.tolerance,
            "frequency": asked.freq,
            "largest": listing(asked.maxscore),
            "flags": asked.secret_var,
            "flags_range": self.level,
        }
        suppression = {"time_limit": asked.time_limit, "cost": asked.cost_var}
        parts: dict[str, Any] = {
            "data": {key: given for key, given in data.items() if given not in (None, [])},
            "dimensions": self._dimensions(question, used),
            "tables": [] if is_one else tables,
            "rules": asked.rules(),
            "suppression": {key: given for key, given in suppression.items() if given is not None},
        }
        return {key: part for key, part in parts.items() if part}

    def _dimensions(self, question: CallQuestion, used: Sequence[str]) -> dict[str, Any]:
        dimensions: dict[str, Any] = {name: {"total": self.totals[name]} for name in used}
        for name, text in (self.asked.hrc or {}).items():
            if name not in dimensions:
                raise RequestError(
                    f"there is no explanatory variable {name!r}.{suggestion(name, used)}", "hrc"
                )
            path = question.folder / self._hierarchies[name]
            path.write_text(text, encoding="utf-8")
            dimensions[name]["hierarchy"] = path.name
        return dimensions

    def _of_rows(
        self, name: str, keys: Sequence[str], status: Mapping[tuple[str, ...], str]
    ) -> list[str]:
        """Return the status of each row of a table; other variables stand at their totals."""
        frame, own = self.frames[name], set(self.variables[name])
        codes = [
            frame[key].astype(str) if key in own else [self.totals[key]] * len(frame)
            for key in keys
        ]
        return [status[cell] for cell in zip(*codes, strict=True)]


class Statistics(TypedDict):
    """Cells and values by status, in the columns of `summarize_secret`."""

    status: list[str]
    nb_cells: list[int]
    value: list[float]
    pourc_cells: list[float]
    pourc_value: list[float | None]


Letters = Annotated[
    list[str],
    Field(
        description="For each row A (primary: too few contributors, where neither NK nor P finds "
        "it unsafe), B (any other primary), D (secondary) or V (to be published). Secret."
    ),
]


def named_totals(given: Any, used: Sequence[str]) -> dict[str, str]:
    """Return the code of the total of each variable.

    Raises
    ------
    RequestError
        If a variable has none.
    """
    if isinstance(given, str):
        return dict.fromkeys(used, given)
    if isinstance(given, list):
        if len(given) != len(used):
            raise RequestError(
                f"{len(given)} codes for {len(used)} variables. Give one for each.", "totcode"
            )
        return dict(zip(used, given, strict=True))
    lacking = [name for name in used if name not in given]
    if lacking:
        raise RequestError(f"no code for {listed(lacking)}. Give one for each.", "totcode")
    return dict(given)


def statistics(values: pd.Series, status: Sequence[str]) -> Statistics:
    """Return the number of cells and the sum of values by status, as `summarize_secret` does."""
    frame = pd.DataFrame({"value": pd.to_numeric(values), "status": status})
    groups = {
        "primary suppr.": frame.status.isin(["A", "B"]),
        "secondary suppr.": frame.status == "D",
        "published": frame.status == "V",
        "total": frame.status != "",
    }
    cells = [int(group.sum()) for group in groups.values()]
    sums = [float(frame.value[group].sum()) for group in groups.values()]
    return {
        "status": list(groups),
        "nb_cells": cells,
        "value": sums,
        "pourc_cells": [round(100 * each / max(cells[-1], 1), 2) for each in cells],
        "pourc_value": [round(100 * each / sums[-1], 2) if sums[-1] else None for each in sums],
    }


def _letters(result: JobResult) -> list[str]:
    """Return the letter of each cell."""
    assert result.pattern is not None
    few = {rule.name for rule in RULES if rule.argus == "FREQ"}
    words = {"published": "V", "secondary": "D"}
    return [
        words.get(status, "A" if reason in few else "B")
        for status, reason in zip(
            result.pattern.statuses().tolist(), result.problem.reasons.tolist(), strict=False
        )
    ]


def _rule(text: str) -> BatchRule:
    """Read one rule, such as NK(1,85)."""
    found = re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", text)
    name = found[1].upper() if found else ""
    if found is None or name not in (*TABLE_RULES, "MAN"):
        raise RequestError(
            f"{text!r} cannot be applied to a finished table. Give FREQ(n,range), NK(n,k), P(p) or "
            f"MAN(range), joined by |; other rules need records: call protect.",
            "safety_rules",
        )
    try:
        return BatchRule(name, [float(number) for number in found[2].split(",")])
    except ValueError:
        raise RequestError(f"{text!r} must hold numbers between commas.", "safety_rules") from None


def listing(given: Names | None) -> list[str]:
    """Return one name or several as a list."""
    return [] if given is None else [given] if isinstance(given, str) else list(given)


class TableStatuses(TypedDict):
    """Status of each row of a table."""

    is_safe: bool
    summary: str
    Status: Letters
    stats: Statistics | None


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class TabRtauargus(RtauargusCall):
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

    def answer(self, question: CallQuestion) -> TableStatuses:
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


ByTable = dict[str, dict[str, str]] | None


class RowStatuses(TypedDict):
    """Status of each row of one table."""

    is_secret_1: list[bool]
    Status: Letters


class LinkedStatuses(TypedDict):
    """RowStatuses of the rows of all tables, by their names."""

    is_safe: bool
    summary: str
    tables: dict[str, RowStatuses]
    stats: dict[str, Statistics] | None


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class TabMultiManager(RtauargusCall):
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

    def answer(self, question: CallQuestion) -> LinkedStatuses:
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
