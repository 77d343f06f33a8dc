"""``tablecloak convert``: between file formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tablecloak.cli import names
from tablecloak.cli.files import read_pattern
from tablecloak.cli.options import Tolerance
from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.arrays import Flags
    from tablecloak.tables.problem import ProtectionProblem

Source = Annotated[Path, names.PROBLEM_FILES.argument("File to read, also packed:")]
Target = Annotated[
    Path,
    typer.Argument(
        help=f"File to write, in the format of its name: {names.PROBLEM_FILES.placeholder}, .hst.",
        writable=True,
    ),
]
Apriori = Annotated[
    Path | None, typer.Option(help="A priori list of tau-ARGUS (.hst): statuses, levels, costs.")
]
Pattern = Annotated[
    Path | None,
    typer.Option(help="CSV with cell (or codes) and status: hidden cells, for .hst and .gconfid."),
]


def convert(
    source: Source,
    target: Target,
    apriori: Apriori = None,
    pattern: Pattern = None,
    tolerance: Tolerance = 0.0,
) -> None:
    """Convert a protection problem from one file format to another, without loss.

    In CSV and Parquet a problem is two files: the cells, and beside them NAME.relations.csv.

    A name in .hst asks for an a priori list of tau-ARGUS: statuses, levels and costs, and the
    secondaries of --pattern. With --apriori such a list is applied to the problem first. A name in
    .gconfid is a folder with the tables of G-Confid; --pattern becomes its outsuppress.

    Example: tablecloak convert table.jj table.csv

    Example: tablecloak convert table.csv primaries.hst
    """
    from tablecloak.argus.apriori import read_apriori
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import ProblemFormat, format_of, read_problem, write_problem

    ending = target.suffix.lower()
    if ending != ".hst":
        format_of(target, ProblemFormat)
    if pattern is not None and ending not in _WITH_PATTERN:
        raise InputError(
            f"--pattern is written into {' and '.join(_WITH_PATTERN)} alone. Choose such a name."
        )
    if ending != ".gconfid":
        require_writable(target)
    problem = read_problem(source, tolerance=tolerance)
    if apriori is not None:
        problem = read_apriori(problem, apriori)
    if ending in _WITH_PATTERN:
        suppressed = None if pattern is None else read_pattern(problem, pattern)
        _WITH_PATTERN[ending](problem, suppressed, target)
    else:
        write_problem(problem, target)
    typer.echo(f"{target}: {problem.summary()}")


def _write_list(problem: ProtectionProblem, suppressed: Flags | None, target: Path) -> None:
    """Write an a priori list, with the cells that a pattern hides."""
    from tablecloak.argus.apriori import AprioriList

    AprioriList.of(problem, suppressed).write(target)


def _write_folder(problem: ProtectionProblem, suppressed: Flags | None, target: Path) -> None:
    """Write the tables of G-Confid, with those of a pattern."""
    from tablecloak.tables.formats.gconfid import gconfid_tables

    tables = gconfid_tables(problem)
    (tables if suppressed is None else tables.with_pattern(suppressed)).write(target)


_WITH_PATTERN = {".hst": _write_list, ".gconfid": _write_folder}
"""Endings of files that hold a pattern beside the problem, and what writes them."""
