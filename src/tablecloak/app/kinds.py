"""What an opened file may hold, and how the app goes on with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tablecloak.app.workbench import Workbench
from tablecloak.argus.linked import linked
from tablecloak.argus.run import batch_problems
from tablecloak.errors import InputError
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem
from tablecloak.tables.formats import ProblemFormat, formats_holding, read_problem, record_endings
from tablecloak.tables.problem import ProtectionProblem

SHEETS = (".xlsx", ".xlsm")
JOBS = (".toml",)
BATCHES = (".arb",)


@dataclass(frozen=True)
class FileKind:
    """What a file holds.

    Parameters
    ----------
    name, label, help : str
    next : str
        Address of the page that follows.
    """

    name: str
    label: str
    help: str
    next: str


KINDS = (
    FileKind("records", "microdata", "One row for each record, in CSV or Parquet.", "/choose"),
    FileKind(
        "table", "a finished table", "With its totals, in Excel, CSV or Parquet, of any layout.",
        "/shape",
    ),
    FileKind(
        "problem", "a problem or a job",
        "A problem as tablecloak convert writes it, a JJ file, or the path of a job (.toml) or of "
        "a batch of τ-ARGUS (.arb).",
        "/grid",
    ),
)  # fmt: skip
"""Kinds of files, as the first page offers them."""


def kind_of(name: str) -> FileKind:
    """Return the kind with a name.

    Raises
    ------
    InputError
        If there is none.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise InputError(f"There is no kind of file {name!r}. Choose one on the first page.")


def endings(kind: FileKind) -> tuple[str, ...]:
    """Return the endings of files of a kind."""
    if kind.name == "records":
        return tuple(record_endings())
    if kind.name == "table":
        return (*SHEETS, *record_endings())
    problems = (suffix for each in formats_holding(ProblemFormat) for suffix in each.suffixes)
    return tuple(dict.fromkeys((*problems, ".jj.gz", *JOBS, *BATCHES)))


def bench_of(path: Path) -> Workbench:
    """Open a problem or a job as a grid."""
    return Workbench(_problem(path), title=path.stem)


def _problem(path: Path) -> ProtectionProblem:
    if path.suffix in JOBS:
        return load_problem(read_job(path))
    if path.suffix.lower() in BATCHES:
        problems = batch_problems(path)
        return problems[0] if len(problems) == 1 else linked(problems)
    return read_problem(path)
