"""The file that a user uploads or names, or an example: what it may hold, and how it is opened."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from tablecloak.app.workbench import Workbench
from tablecloak.argus.linked import linked
from tablecloak.argus.run import batch_problems
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError, listed
from tablecloak.examples import firms
from tablecloak.examples.files import write_sheet
from tablecloak.jobs.beginning import first_records, guess
from tablecloak.jobs.job_file import read_job
from tablecloak.storage import existing_file
from tablecloak.tables.formats import (
    ProblemFormat,
    formats_holding,
    read_problem,
    record_endings,
)
from tablecloak.tables.formats.format import UNNAMED, UnevenError
from tablecloak.tables.formats.frame_format import beside, part_of_problem
from tablecloak.web.tasks import noting

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
    FileKind(
        "records", "microdata", "One row for each record, in Excel, CSV, Parquet, Stata or SAS.",
        "/choose",
    ),
    FileKind(
        "table", "a finished table",
        "One figure for each cell, in Excel, CSV or Parquet, of any layout; totals that it lacks "
        "are made.",
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


def kind_named(name: str) -> FileKind:
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


def kind_of(file: DataFile) -> FileKind:
    """Tell by ending, columns and codes what a file holds.

    A finished table has each combination of codes once, and no column that names its rows.
    """
    if _ending(file.name, record_endings()) is None:
        return kind_named("problem")
    try:
        file, head = first_records(file)
        if part_of_problem(head.columns) == "cells":
            return kind_named("problem")
        guessed = guess(file)
    except UnevenError:
        raise
    except InputError:
        # Titles above the header, several headers, or no codes that rows share.
        return kind_named("table")
    codes = [name for levels in guessed.dimensions.values() for name in levels]
    names_rows = bool(guessed.contributor) and head[guessed.contributor].nunique() > len(head) / 2
    is_bare = any(UNNAMED.match(name) for name in head.columns)
    is_table = is_bare or not (names_rows or head.duplicated(codes).any())
    return kind_named("table" if is_table else "records")


def endings() -> tuple[str, ...]:
    """Return the endings of all files that can be opened."""
    problems = (suffix for each in formats_holding(ProblemFormat) for suffix in each.suffixes)
    return tuple(dict.fromkeys((*record_endings(), *problems, ".jj.gz", *JOBS, *BATCHES)))


def bench_of(path: Path) -> Workbench:
    """Open a problem, a job or a batch as a grid."""
    if path.suffix in JOBS:
        job = read_job(path)
        lost = [file.name for file in job.paths if not file.exists()]
        if lost:
            raise InputError(
                f"{path.name} reads {listed(lost)}, which a browser does not send with it. Drop "
                f"the job together with all files that it reads, or type its path."
            )
        return Workbench.of_job(job, job.title or path.stem)
    relations = beside(path, "relations")
    if path.name.lower().endswith(record_endings()) and not relations.exists():
        raise InputError(
            f"{path.name} is one of the files of a problem. Drop it together with "
            f"{relations.name}, or type its path."
        )
    notes: list[str] = []
    with noting(notes):
        problems = batch_problems(path) if path.suffix.lower() in BATCHES else [read_problem(path)]
        problem = problems[0] if len(problems) == 1 else linked(problems)
    return Workbench(problem, path.stem, notes=notes)


LONGEST_NAME = 80
"""Most characters of an upload's name that are kept, without its ending."""


def given_file(folder: Path) -> Path:
    """Return the file that a user uploaded or named, or write the example and return it.

    Parameters
    ----------
    folder : Path
        Private folder for uploads.

    Raises
    ------
    InputError
        If no file is given, or it cannot be used.
    """
    from flask import request

    uploads = [file for file in request.files.getlist("upload") if file.filename]
    typed = request.form.get("path", "").strip()
    if request.form.get("example"):
        return _example(folder, request.form["example"])
    if uploads:
        place, sent = _own_place(folder), list[Path]()
        for uploaded in uploads:
            name = _own_name(uploaded.filename or "")
            # Of several files, a job names the others, whatever these are.
            ending = _required_ending(name) if len(uploads) == 1 else Path(name).suffix
            sent.append(place / f"{name.removesuffix(ending)[:LONGEST_NAME] or 'data'}{ending}")
            uploaded.save(sent[-1])
        return _first_of(sent)
    if typed:
        return _typed_file(typed)
    raise InputError("Choose a file, or type the path of one.")


def _own_name(sent: str) -> str:
    """Return the name of an upload as its sender calls it, without what a folder may not hold."""
    name = re.split(r"[/\\]", unicodedata.normalize("NFC", sent))[-1]
    return re.sub(r'[\x00-\x1f\x7f:*?"<>|]', "_", name).strip(". ")


def _first_of(sent: list[Path]) -> Path:
    """Return the file that names the others: a job, or the cells of a problem."""
    jobs = [path for path in sent if path.suffix.lower() in (*JOBS, *BATCHES)]
    first = jobs or [path for path in sent if beside(path, "relations") in sent] or sent
    if len(first) == 1:
        return first[0]
    raise InputError(
        "Choose one file, one job together with the files that it reads, or the files of one "
        "problem, such as cells.csv and cells.relations.csv."
    )


def _example(folder: Path, kind: str) -> Path:
    """Write the example of a kind of file."""
    if kind == "table":
        path = _own_place(folder) / "table.xlsx"
        write_sheet(path)
        return path
    path = _own_place(folder) / "firms.csv"
    firms().to_csv(path, index=False)
    return path


def _own_place(folder: Path) -> Path:
    """Return a new folder for one file, so that files of the same name stay apart."""
    uploads = folder / "uploads"
    uploads.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=uploads))


def _typed_file(typed: str) -> Path:
    try:
        path = Path(typed).expanduser()
        if path.exists() and not path.is_file():
            # Reading a device or a pipe may never end.
            raise InputError(f"{path}: this is no file. Give the path of a CSV or Parquet file.")
        _required_ending(path.name)
        return existing_file(path)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{typed!r} cannot be read ({error}). Check the path.") from None


def _ending(name: str, endings: tuple[str, ...]) -> str | None:
    """Return the ending of a file's name, or None; a file without one is read as CSV."""
    for ending in endings:
        if name.lower().endswith(ending):
            return name[len(name) - len(ending) :]
    return None if "." in name.strip(".") else ".csv"


def _required_ending(name: str) -> str:
    ending = _ending(name, endings())
    if ending is None:
        raise InputError(
            f"{name}: unknown kind of file. Choose a file whose name ends in one of "
            f"{', '.join(endings())}."
        )
    return ending
