"""Example files, so that every command can be tried in an empty folder."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.examples.records import (
    INDUSTRIES,
    REGIONS,
    businesses,
    census,
    demography,
    firms,
    people,
)
from tablecloak.examples.two_way import cox_rounded
from tablecloak.extras import required
from tablecloak.registry import Registry
from tablecloak.storage import replacing
from tablecloak.tables.formats import write_frame, write_jj, write_problem
from tablecloak.tables.formats.excel import save_book
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.concentration import PPercent
from tablecloak.tables.rules.contributors import MinimumFrequency
from tablecloak.tables.tabulation.tabulate import tabulate

TITLE = "Turnover (thousand EUR) and firms by region, industry and size, 2025"
SOURCE = "Source: survey of invented firms"


def write_sheet(path: Path) -> None:
    """Write turnover and numbers of firms by region, industry and size as a workbook.

    Parameters
    ----------
    path : Path
        Name in .xlsx.

    Raises
    ------
    InputError
        If openpyxl is not installed.
    """
    required("openpyxl", "Excel files")
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    turnover, number = _table("turnover"), _table("")
    sizes = list(turnover.columns)
    book = Workbook()
    sheet = book.active
    sheet.append([TITLE])
    sheet.append([])
    sheet.append([None, None, "Turnover", *[None] * (len(sizes) - 1), "Firms"])
    sheet.append(["Region", "Industry", *sizes, *sizes])
    for square in (*sheet[1], *sheet[3], *sheet[4]):
        square.font = Font(bold=True)
    sheet.merge_cells(start_row=3, start_column=3, end_row=3, end_column=2 + len(sizes))
    last = 2 + 2 * len(sizes)
    sheet.merge_cells(start_row=3, start_column=3 + len(sizes), end_row=3, end_column=last)
    above = None
    for region, industry in turnover.index:
        figures = [*turnover.loc[(region, industry)], *number.loc[(region, industry)]]
        sheet.append([None if region == above else region, industry, *figures])
        above = region
        sheet.cell(sheet.max_row, 2).alignment = Alignment(indent=int(industry != "Total"))
    sheet.append([])
    sheet.append([SOURCE])
    save_book(book, path)


def _table(value: str) -> pd.DataFrame:
    """Return a figure by region and industry in rows, sizes in columns; gaps where nobody is."""
    dimensions = {"region": ["part", "region"], "industry": None, "size": None}
    table = tabulate(firms(), dimensions, value or None)
    long = table.keys.assign(value=table.values)
    wide = long.pivot_table(index=["region", "industry"], columns="size", values="value")
    return wide.astype(object).where(wide.notna() & (wide != 0), None)


class Example(ABC):
    """A set of example files; siblings are registered in `EXAMPLES`."""

    name: ClassVar[str]

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write all files into an empty folder, the same ones each time."""


EXAMPLES: Registry[Example] = Registry("example")
"""All sets of example files."""


def write(name: str, folder: str | Path = ".") -> list[Path]:
    """Write the files of an example into a folder.

    Parameters
    ----------
    name : str
        Name of the example: "firms", "cells", "people", "census", "demography", "derived", "jobs",
        "batch" or "table".
    folder : str or Path, default="."
        Where to write; made if it does not exist.

    Returns
    -------
    list of Path
        What was written, in alphabetical order.

    Raises
    ------
    InputError
        If there is no such example, or if another file of the same name would be overwritten. Then
        nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write("people", folder)]
    ['people.csv', 'people.toml']
    """
    example = EXAMPLES[name]()
    with tempfile.TemporaryDirectory() as made:
        example.write(Path(made))
        sources = sorted(path for path in Path(made).rglob("*") if path.is_file())
        targets = [Path(folder) / path.relative_to(made) for path in sources]
        for source, target in zip(sources, targets, strict=True):
            if target.exists() and target.read_bytes() != source.read_bytes():
                raise InputError(
                    f"{target}: another file of this name exists already. Move it away, or write "
                    f"the example to an empty folder."
                )
        for source, target in zip(sources, targets, strict=True):
            with replacing(target) as temporary:
                shutil.copyfile(source, temporary)
    return targets


@EXAMPLES.register
class Firms(Example):
    """Records of 2,000 firms, two hierarchies and a job file: firms.csv, *.hrc, job.toml."""

    name = "firms"

    def write(self, folder: Path) -> None:
        """Write records, hierarchies and the job."""
        write_frame(firms(), folder / "firms.csv")
        _write_hierarchies(folder)
        _write_text(folder / "job.toml", _JOB.format(title="", data="firms.csv", folder=""))


@EXAMPLES.register
class CellTables(Example):
    """Tables of cells: table.jj (of Cox), counts.jj (people), and cells.csv with contributors."""

    name = "cells"

    def write(self, folder: Path) -> None:
        """Write three problems."""
        write_jj(cox_rounded(), folder / "table.jj")
        write_jj(_counts(), folder / "counts.jj")
        write_problem(_turnover(), folder / "cells.csv")


@EXAMPLES.register
class People(Example):
    """Records of 2,000 people for methods for records, and a job: people.csv, people.toml."""

    name = "people"

    def write(self, folder: Path) -> None:
        """Write the records and the job."""
        people().to_csv(folder / "people.csv", index=False, lineterminator="\n")
        _write_text(folder / "people.toml", _PEOPLE)


@EXAMPLES.register
class Census(Example):
    """Records of the members of 800 households in two counties: census.csv."""

    name = "census"

    def write(self, folder: Path) -> None:
        """Write the records."""
        census().to_csv(folder / "census.csv", index=False, lineterminator="\n")


@EXAMPLES.register
class Demography(Example):
    """Births, survivors and active enterprises as one job: demography.csv, .toml and *.hrc."""

    name = "demography"

    def write(self, folder: Path) -> None:
        """Write records, hierarchies and the job."""
        demography().to_csv(folder / "demography.csv", index=False, lineterminator="\n")
        _write_hierarchies(folder)
        _write_text(folder / "demography.toml", _DEMOGRAPHY)


@EXAMPLES.register
class Derived(Example):
    """Turnover with ratios and growth rates as one job: businesses.csv, derived.toml and *.hrc."""

    name = "derived"

    def write(self, folder: Path) -> None:
        """Write records, hierarchies and the job."""
        businesses().to_csv(folder / "businesses.csv", index=False, lineterminator="\n")
        _write_hierarchies(folder)
        _write_text(folder / "derived.toml", _DERIVED)


@EXAMPLES.register
class Jobs(Example):
    """A folder of job files for `protect --all`, one for each of two years: jobs/."""

    name = "jobs"

    def write(self, folder: Path) -> None:
        """Write records of two years, their hierarchies and a job for each."""
        (folder / "jobs").mkdir()
        _write_hierarchies(folder / "jobs")
        for seed, year in enumerate(("2024", "2025"), start=1):
            data = f"firms-{year}.csv"
            write_frame(firms(seed=seed), folder / "jobs" / data)
            text = _JOB.format(title=f" in {year}", data=data, folder="")
            _write_text(folder / "jobs" / f"{year}.toml", text)


@EXAMPLES.register
class FinishedTable(Example):
    """A finished table in Excel, with two columns of codes and two lines of headers: table.xlsx."""

    name = "table"

    def write(self, folder: Path) -> None:
        """Write the workbook."""
        write_sheet(folder / "table.xlsx")


@EXAMPLES.register
class Batch(Example):
    """A batch of τ-ARGUS with metadata and records: job.arb, firms.rda, firms.asc, region.hrc."""

    name = "batch"

    def write(self, folder: Path) -> None:
        """Write the batch and what it names."""
        records = firms()[["region", "industry", "turnover"]]
        text = records.to_csv(sep=";", header=False, index=False, lineterminator="\n")
        _write_text(folder / "firms.asc", text)
        _write_text(folder / "region.hrc", _hrc(REGIONS))
        _write_text(folder / "firms.rda", _RDA)
        _write_text(folder / "job.arb", _BATCH)


_PEOPLE = """\
# A job for records, see docs/job-file.md. Run it: tablecloak protect people.toml --out results
title = "People"

[data]
file = "people.csv"

[[steps]]              # one after the other; `tablecloak records topcode --help` explains the keys
method = "topcode"
column = "wage"
quantile = 0.99

[[steps]]                       # numbers move to records of near rank
method = "rank-swap"
columns = ["wage"]
window = 0.02

[[steps]]                       # last what promises something of keys
method = "local-suppression"
keys = ["region", "age", "sex", "edu"]
k = 3

[report]                        # what an intruder may know, for the internal report
keys = ["region", "age", "sex", "edu"]
numbers = ["wage"]
sensitive = ["job"]
"""

_JOB = """\
# Turnover of invented firms by region and industry, protected both ways.
title = "Turnover by region and industry{title}"
seed = 1

[data]
file = "{data}"          # one row for each firm
value = "turnover"
contributor = "firm"
holding = "group"               # for rules and attacks, a group is one respondent
decimals = 0                    # publish whole numbers

[dimensions.region]
hierarchy = "region.hrc"

[dimensions.industry]
hierarchy = "industry.hrc"

[[rules]]
rule = "p-percent"
p = 10

[[rules]]
rule = "minimum-frequency"
minimum = 3

[suppression]
time_limit = 10                 # seconds

[adjustment]
preserve = ["mean:all"]
time_limit = 10
"""

_DEMOGRAPHY = """\
# Births and survivors add up to the active enterprises. Published apart, each of the three lets
# everybody compute what another one hides.
title = "Births, survivors and active enterprises"
seed = 1

[data]
file = "demography.csv"         # one row for each enterprise
contributor = "enterprise"

[dimensions.region]
hierarchy = "region.hrc"

[dimensions.industry]
hierarchy = "industry.hrc"

[variables.births]              # without a value, a variable counts records
only = {event = "birth"}

[variables.survivors]
only = {event = "survivor"}

[variables.active]

[[equations]]
equation = "active = births + survivors"

[[rules]]                       # of all variables; each may have rules of its own
rule = "minimum-frequency"
minimum = 3

[suppression]
time_limit = 20                 # seconds
"""

_DERIVED = """\
# Turnover per employee and growth rates are printed beside the totals. Each is an equation between
# cells: protected apart, they give hidden cells away.
title = "Structural business statistics"
seed = 1

[data]
file = "businesses.csv"         # one row for each business
contributor = "business"

[dimensions.region]
hierarchy = "region.hrc"

[dimensions.industry]
hierarchy = "industry.hrc"

[variables.turnover]
value = "turnover"
unit = "thousand EUR"

[variables.turnover_2024]
value = "turnover_2024"
unit = "thousand EUR"

[variables.employees]
value = "employees"

[[rules]]
rule = "p-percent"
p = 10

[[derived]]
figure = "ratio"
formula = "turnover / employees"
decimals = 1

[[derived]]
figure = "growth"
variable = "turnover"
since = "turnover_2024"
decimals = 1
weight = 0.5                    # a growth rate is worth half of the turnover that it stands beside

[suppression]
hold = "off"                    # for this example only: against everybody but insiders
time_limit = 30                 # seconds
"""

_RDA = """\
   <SEPARATOR> ";"
region 2
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
industry 9
  <RECODEABLE>
  <TOTCODE> "Total"
turnover 9
  <NUMERIC>
  <DECIMALS> 0
"""

_BATCH = """\
<OPENMICRODATA> "firms.asc"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "region""industry"|"turnover"||
<SAFETYRULE> P(10,1)|FREQ(3,20)
<READMICRODATA>
<SUPPRESS> MOD(1,1)
<WRITETABLE> (1,1,,"turnover.csv")
"""


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_hierarchies(folder: Path) -> None:
    _write_text(folder / "region.hrc", _hrc(REGIONS))
    _write_text(folder / "industry.hrc", _hrc(INDUSTRIES))


def _hrc(codes: Mapping[str, Sequence[str]]) -> str:
    """Return nested codes as an ``.hrc`` file."""
    lines = [line for above, below in codes.items() for line in (above, *(f"@{x}" for x in below))]
    return "\n".join(lines) + "\n"


def _turnover() -> ProtectionProblem:
    """Return the turnover of firms by part of the country and industry."""
    table = tabulate(firms(), ["region", "industry"], "turnover", contributor="firm")
    return table.protect(PPercent(10), MinimumFrequency(3))


def _counts() -> ProtectionProblem:
    """Return numbers of people by region and job; those below 3 are sensitive."""
    records = people(300).assign(people=1)
    table = tabulate(records, ["region", "job"], "people", decimals=0)
    return table.protect(MinimumFrequency(3))
