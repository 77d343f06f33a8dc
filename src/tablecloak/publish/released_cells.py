"""What a release says of each cell: read back from a file or a frame, whoever wrote it."""

from __future__ import annotations

import csv
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, TablecloakWarning, listed, suggestion
from tablecloak.protection import Protection, made_as, made_by
from tablecloak.storage import existing_file
from tablecloak.tables.changes.earlier_releases import EarlierRelease
from tablecloak.tables.changes.rests import values_with_rests
from tablecloak.tables.figures.figure import FIGURES as FIGURE_KINDS
from tablecloak.tables.formats import (
    Format,
    can_hold,
    format_of,
    formats_holding,
    original_codes,
    read_frame,
)
from tablecloak.tables.formats.csv_file import CSV
from tablecloak.tables.formats.cube import CubeFormat
from tablecloak.tables.formats.format import TableFormat, reading
from tablecloak.tables.keys import DERIVED, are_derived, are_rests
from tablecloak.tables.library_frames import as_pandas
from tablecloak.tables.number_codes import lost_zeros
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import common_decimals, published_decimals
from tablecloak.tables.text_numbers import numbers_of

FIGURES = "figures.csv"
"""File of the derived figures of a release, beside its table."""

ABOUT = "about.json"
"""What readers are told of a release, beside its table; shows that a folder holds one."""

TABLE = "table"
"""Name of the table of a release, without its ending."""

HIDDEN = (3, 4, 5, 6, 7, 8, 9, 11, 12)
"""Unsafe by rule, request, frequency, zero, singleton or manually; secondary."""

EMPTY = (13, 14)
"""Statuses of cells without contributors, which a table need not list."""

STATUSES = range(1, 15)

ENDS = ("lower", "upper")
"""Columns of a release of intervals."""

NAMED = 3
"""Most cells that a message names."""

NO_MEASURE = ("cell", "status", "value", *ENDS)
"""Columns of releases whose names say nothing of the variable."""

PUBLISHED = {"published", "s", "safe", "v", "z"}
SUPPRESSED = {"primary", "secondary", "suppressed", "x", "u", "m"}
"""Words for the status of a cell, in lower case."""


def told_beside(release: object) -> dict[str, Any]:
    """Return what `ABOUT` beside the table of a release says of it; nothing of other files."""
    path = Path(release) if isinstance(release, str | Path) else Path()
    about = path.with_name(ABOUT) if path.name else path
    if path.name.partition(".")[0] != TABLE or not about.is_file():
        return {}
    try:
        content = json.loads(about.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def measure_of(release: Path, dimensions: Sequence[str]) -> str | None:
    """Return the variable of a release by `ABOUT` beside it or by its own column of values.

    Returns
    -------
    str or None
        None if there is no such column, or it has a name that fits all variables.
    """
    measure = told_beside(release).get("measure")
    if measure:
        return str(measure)
    if can_hold(release, CubeFormat):
        return None
    frame = read_frame(release, tuple(dimensions))
    names = [str(name) for name in frame.columns if str(name) not in (*dimensions, *NO_MEASURE)]
    return names[0] if len(names) == 1 else None


def read_code_values(
    problem: ProtectionProblem, path: Path, keys: list[str]
) -> pd.DataFrame | None:
    """Read code-value output of tau-ARGUS with statuses; None if the file is something else."""
    if path.suffix.lower() not in (*CSV.suffixes, *CSV.record_suffixes) or not path.is_file():
        return None
    with existing_file(path).open(encoding="utf-8", errors="replace", newline="") as file:
        first = next(csv.reader(file), [])
    if len(first) != len(keys) + 2 or not first[-1].strip().isdigit():
        return None
    frame = pd.read_csv(path, header=None, names=[*keys, "value", "number"], dtype=str)
    number = _statuses(frame, path)
    # Some programs pad codes with blanks, so that codes are compared without them.
    for key in keys:
        spelling = {code.strip(): code for code in problem.table.keys[key].unique()}
        stripped = frame[key].str.strip()
        frame[key] = stripped.map(spelling).fillna(stripped)
    status = np.where(number.isin(HIDDEN), "suppressed", "published")
    frame = frame.assign(status=status, value=numbers_of(frame["value"]))
    cells = pd.MultiIndex.from_frame(problem.table.keys)
    empty = number.isin(EMPTY) & ~pd.MultiIndex.from_frame(frame[keys]).isin(cells)
    return frame[~empty].drop(columns="number").reset_index(drop=True)


def _statuses(frame: pd.DataFrame, path: Path) -> pd.Series:
    """Return the status of each row.

    Raises
    ------
    InputError
        Names the first row whose status is not a number from 1 to 14.
    """
    number = pd.to_numeric(frame["number"], errors="coerce")
    odd = frame.index[~number.isin(STATUSES)]
    if len(odd):
        raise InputError(
            f"{path}, line {odd[0] + 1}: status {frame['number'][odd[0]]!r} is not one of the "
            f"statuses 1 to 14 of tau-ARGUS."
        )
    return number


def read_release(
    problem: ProtectionProblem,
    release: pd.DataFrame | str | Path,
    *,
    of_table: bool = False,
    is_earlier: bool = False,
) -> tuple[Flags | None, Floats | None]:
    """Read a release: which cells are suppressed, or else the adjusted values.

    Parameters
    ----------
    problem : ProtectionProblem
    release : DataFrame or path
        One row for each cell, named by the codes of the dimensions or by a column ``cell``
        with its index. With a column ``status`` (published, or suppressed / primary /
        secondary / x) it is a suppression pattern; without one, a column ``value`` (or named
        like the measure) holds adjusted values, or is empty for suppressed cells. A file
        without names in its first row is read as code-value output of tau-ARGUS: the codes,
        the value, and the status from 1 to 14.
    of_table : bool, default=False
        Whether rows that are no cell of a table count only if the problem has them: those of
        earlier releases, sums and figures, as in the statuses that a job writes.
    is_earlier : bool, default=False
        Whether it was published before, so that nobody is to be warned of what stayed inside.

    Returns
    -------
    suppressed : numpy.ndarray of bool, or None
    values : numpy.ndarray of float, or None
        Exactly one of the two is None.

    Raises
    ------
    InputError
        If cells are missing, unknown or given twice, a status is not understood, or a
        published value of a suppression pattern is not the true one. If some suppressed rows show
        a value and others none.

    Warns
    -----
    TablecloakWarning
        If all suppressed rows show a value, as files that stay inside do; not with `of_table` or
        `is_earlier`.
    """
    source = str(release) if isinstance(release, str | Path) else "release"
    keys = list(map(str, problem.table.keys.columns))
    if isinstance(release, pd.DataFrame):
        # Rows are named by their numbers, whatever labels a frame has.
        frame = release.reset_index(drop=True)
    else:
        frame = _read(problem, Path(release), keys)
    if not isinstance(release, pd.DataFrame):
        frame = _with_figures_beside(problem, frame, keys, Path(release).with_name(FIGURES))
    if of_table and all(key in frame.columns for key in keys):
        codes = frame[keys].astype(str)
        cells = pd.MultiIndex.from_frame(problem.table.keys)
        further = are_rests(codes) & ~pd.MultiIndex.from_frame(codes).isin(cells)
        frame = frame[~further].reset_index(drop=True)
    frame = with_rows_of_rests(problem, frame, keys, source)
    frame = frame.iloc[rows_in_table_order(problem, frame, keys, source)]
    rests = problem.table.rests
    column = _value_column(problem, frame)
    if "status" in frame.columns:
        suppressed = suppressed_in(frame, source)
        _look_into_hidden(
            problem, frame, suppressed & ~rests, source, inside=of_table or is_earlier
        )
    elif column is None:
        raise InputError(
            f"{source}: there is neither a column 'status' nor a column 'value'; found "
            f"{listed(list(map(str, frame.columns)))}. Name the column of published values 'value'."
        )
    else:
        may_be_shown = problem.frozen | are_derived(problem.table.keys)
        suppressed = frame[column].isna().to_numpy() | rests & ~may_be_shown
        if not np.any(suppressed & ~rests):
            shown = frame.assign(**{column: frame[column].where(~rests, 0.0)})
            return None, values_with_rests(problem.table, _adjusted_values(shown, column, source))
    if column is not None:
        _check_published(problem, frame[column], suppressed, source)
    return suppressed, None


def read_released(problem: ProtectionProblem, path: Path) -> pd.DataFrame:
    """Read the file of a release as a frame.

    Parameters
    ----------
    problem : ProtectionProblem
        The table that it is a release of.
    path : Path
        Rows and columns, which stay as they are; or a file that lists every combination of codes,
        of which those count that are cells or have a value.
    """
    keys = problem.table.keys
    kind = format_of(path, TableFormat)
    if not isinstance(kind, CubeFormat):
        return read_frame(path, (*map(str, keys.columns), "cell", "status"))
    with reading(existing_file(path)):
        cube = kind.read_cube(path)
    frame = cube.frame({str(name): set(keys[name]) for name in keys.columns}, path)
    if not set(keys.columns) <= set(frame.columns):
        return frame
    is_cell = pd.MultiIndex.from_frame(frame[list(keys.columns)]).isin(
        pd.MultiIndex.from_frame(keys)
    )
    frame = frame[is_cell | frame["value"].fillna(0).ne(0)].reset_index(drop=True)
    hidden = frame["value"].isna()
    words = hidden.map({True: "suppressed", False: "published"})
    return frame.assign(status=words) if hidden.any() else frame


def _read(problem: ProtectionProblem, path: Path, keys: list[str]) -> pd.DataFrame:
    """Read a file of tau-ARGUS, or one with a header; statuses are translated."""
    frame = read_code_values(problem, path, keys)
    if frame is not None:
        return frame
    frame = read_released(problem, path)
    long = _from_wide(problem, frame, keys)
    return _in_our_words(frame, keys, path) if long is None else long


def _from_wide(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str]
) -> pd.DataFrame | None:
    """Return a release with one dimension along the columns with a row for each cell, else None.

    What is no number there is the marker of a hidden cell; an empty entry is no cell.
    """
    across = [key for key in keys if key not in frame.columns]
    rows = [key for key in keys if key in frame.columns]
    codes = [str(name) for name in frame.columns if name not in rows]
    if len(across) != 1 or not rows or not set(codes) <= set(problem.table.keys[across[0]]):
        return None
    long = frame.astype(str).melt(rows, codes, across[0], "value")
    long = long[~long["value"].isin(["", "nan"])].reset_index(drop=True)
    values = numbers_of(long["value"])
    found = long.assign(value=values)
    if values.isna().any():
        found["status"] = np.where(values.isna(), "suppressed", "published")
    return found


def _value_column(problem: ProtectionProblem, frame: pd.DataFrame) -> str | None:
    """Return the column of a release that holds its values, if there is one.

    That is one with a name for it; else the only one that says anything else than codes and status,
    since a problem that was read from a file may not know how its variable is called.
    """
    named = [name for name in ("value", problem.table.name) if name in frame.columns]
    if named or "status" not in frame.columns:
        return named[0] if named else None
    others = [
        name
        for name in frame.columns
        if name not in (*problem.table.keys.columns, *NO_MEASURE)
        and numbers_of(frame[name]).notna().any()
    ]
    return str(others[0]) if len(others) == 1 else None


def _adjusted_values(frame: pd.DataFrame, column: str, source: str) -> Floats:
    values = numbers_of(frame[column])
    odd = frame[values.isna()]
    if len(odd):
        raise InputError(
            f"the value is {odd[column].iloc[0]!r}, which is no number. Leave it "
            f"empty where a cell is suppressed, or add a column 'status'.",
            row=int(odd.index[0]),
            source=source,
        )
    return values.to_numpy(dtype=np.float64)


def _in_our_words(frame: pd.DataFrame, keys: list[str], path: Path) -> pd.DataFrame:
    """Translate a release in a format with words of its own; other frames stay as they are."""
    for each in formats_holding(Format):
        translated = each.in_our_words(frame, keys, path)
        if translated is not None:
            return translated
    return frame


def with_rows_of_rests(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> pd.DataFrame:
    """Return a release with rows for what no release shows: rests of groups, and earlier releases.

    Rests are suppressed, and everybody knows their external bounds. Of an earlier release the
    problem says itself what it published.

    Raises
    ------
    InputError
        If the problem has derived figures, and the release does not say which it publishes.
    """
    rests = np.flatnonzero(problem.table.rests)
    if not len(rests) or not all(key in frame.columns for key in keys):
        return frame
    shown = pd.MultiIndex.from_frame(frame[keys].astype(str))
    wanted = problem.table.keys.iloc[rests]
    lacking = ~pd.MultiIndex.from_frame(wanted).isin(shown)
    untold = are_derived(wanted) & lacking & ~problem.frozen[rests]
    if untold.any():
        raise InputError(
            f"{source}: it is not told whether {problem.table.label(int(rests[untold][0]))} is "
            f"published ({untold.sum()} such figures). Keep {FIGURES} of the release beside it, or "
            f"name internal/suppression_statuses.csv, which has cells and figures."
        )
    frozen = problem.frozen[rests]
    low, high, values = problem.lower_bound, problem.upper_bound, problem.table.values
    given: dict[str, Any] = {
        "lower": np.where(frozen, values[rests], low[rests]),
        "upper": np.where(frozen, values[rests], high[rests]),
        _value_column(problem, frame) or "": np.where(frozen, values[rests], np.nan),
        "status": np.where(frozen, "published", "suppressed"),
    }
    rows = {name: column[lacking] for name, column in given.items() if name in frame.columns}
    return pd.concat([frame, wanted[lacking].assign(**rows)], ignore_index=True)


def _with_figures_beside(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], path: Path
) -> pd.DataFrame:
    """Return a release with the figures that lie beside it, as the cells that its problem has.

    Raises
    ------
    InputError
        If the problem lacks some: what they tell would not count.
    """
    if not path.is_file() or "status" not in frame.columns:
        return frame
    figures = read_frame(path, ("figure", *keys))
    if not {"figure", "status", "value"} <= set(figures.columns):
        return frame
    # Order statistics are no cells: what they tell is in the external bounds of the problem.
    of_cells = [not is_statistic(label) for label in figures["figure"]]
    _require_bounds(problem, figures[~np.array(of_cells, dtype=bool)], keys, path)
    figures = figures[of_cells].drop(columns="value")
    if (column := _value_column(problem, frame)) is not None:
        figures[column] = 0.0
    cells = problem.table.keys[are_derived(problem.table.keys)]
    rows = []
    for name in keys:
        marks = DERIVED + figures["figure"]
        if name in figures.columns:
            marks = marks + ": " + figures[name].astype(str)
        rows.append(figures.assign(**{name: marks}))
    every = pd.concat(rows)
    is_cell = pd.MultiIndex.from_frame(every[keys]).isin(pd.MultiIndex.from_frame(cells))
    n_published = int((figures["status"] == "published").sum())
    n_counted = int((every["status"][is_cell] == "published").sum())
    if n_counted < n_published:
        raise InputError(
            f"{path}: {n_published - n_counted} published figures are in no row of the problem, "
            f"so that what they tell would not count. Name internal/suppression_problem.csv of "
            f"the job that made the release."
        )
    return pd.concat([frame, every[is_cell].drop(columns="figure")], ignore_index=True)


def is_statistic(label: str) -> bool:
    """Whether a figure of a release is an order statistic, by its name there."""
    kinds = [kind.name for kind in FIGURE_KINDS if kind.needs_contributions]
    return any(f" {kind} of " in f" {label}" for kind in kinds)


def _require_bounds(
    problem: ProtectionProblem, statistics: pd.DataFrame, keys: list[str], path: Path
) -> None:
    """Raise an error if published order statistics are not in the bounds of their cells.

    Of contributions that are not negative none is above its total. What is published as x > 0 was
    at least x / 2 before it was rounded, to x if not to a part of it, and so is the total.
    """
    shown = statistics[statistics["status"] == "published"]
    values = numbers_of(shown["value"])
    if values.isna().any():
        raise InputError(
            f"the value is {shown['value'][values.isna()].iloc[0]!r}, which is no number. Write "
            f"figures as the job did, with a decimal point.",
            row=int(values.index[values.isna()][0]),
            source=path,
        )
    shown = shown.assign(value=values)[values > 0]
    for name in keys:
        if name not in shown.columns:
            shown = shown.assign(**{name: shown["figure"].str.rsplit(" of ", n=1).str[-1]})
    cells = pd.MultiIndex.from_frame(problem.table.keys)
    cell = cells.get_indexer(pd.MultiIndex.from_frame(shown[keys].apply(original_codes)))
    low = problem.lower_bound[cell]
    unbounded = cell[(cell >= 0) & (low >= 0) & (low < shown["value"].to_numpy() / 2)]
    if len(unbounded):
        raise InputError(
            f"{path}: a median, quantile or extreme of {problem.table.label(int(unbounded[0]))} is "
            f"published ({len(unbounded)} such cells), which the external bounds of the problem do "
            f"not know. Name internal/suppression_problem.csv of the job that made the release."
        )


def published_ends(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> tuple[Floats, Floats]:
    """Return both ends of the interval of each cell, from the columns ``lower`` and ``upper``.

    Raises
    ------
    InputError
        If a cell lacks a row or an end; `source` names the file.
    """
    frame = with_rows_of_rests(problem, frame, keys, source)
    frame = frame.iloc[rows_in_table_order(problem, frame, keys, source)]
    lower, upper = (numbers_of(frame[name]).to_numpy() for name in ENDS)
    lacking = np.flatnonzero(np.isnan(lower) | np.isnan(upper))
    if len(lacking):
        raise InputError(
            f"{source}: every cell needs a number as `lower` and as `upper`, but "
            f"{problem.table.label(int(lacking[0]))} lacks one. A published value is both."
        )
    return lower, upper


def rows_in_table_order(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> Integers:
    """Return the row of each cell of a table.

    Raises
    ------
    InputError
        If cells are missing, unknown or given twice; names the first.
    """
    names, wanted = names_of_cells(problem, frame, keys, source)
    if names.has_duplicates:
        raise InputError(
            f"{source}: cell {names[names.duplicated()][0]} is given twice. Remove one of the rows."
        )
    unknown = names[~names.isin(wanted)]
    if len(unknown):
        zeros = "".join(
            lost_zeros(str(name), names.unique(name), wanted.unique(name))
            for name in names.names
            if name is not None
        )
        raise InputError(
            f"{source}: cell {unknown[0]} is not in the original table ({len(unknown)} such "
            "cells). Check that release and table belong together, and that codes are spelt alike."
            + zeros
        )
    rows = names.get_indexer(wanted)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise InputError(
            f"{source}: {len(missing)} cells of the original are missing, the first is "
            f"{problem.table.label(int(missing[0]))}. A release needs one row for each cell."
        )
    return rows.astype(np.int64)


def names_of_cells(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> tuple[pd.Index, pd.Index]:
    """Names of the cells in a frame, and of those in the table."""
    if all(key in frame.columns for key in keys):
        names = pd.MultiIndex.from_frame(frame[keys].apply(original_codes))
        return names, pd.MultiIndex.from_frame(problem.table.keys)
    if "cell" in frame.columns:
        numbers = pd.Index([str(cell) for cell in range(problem.table.n_cells)])
        return pd.Index(frame["cell"].astype(str)), numbers
    if keys == ["cell"]:
        raise InputError(
            f"{source}: the problem has no codes by which its cells are recognised, as always in "
            f".jj. Name one in .csv or .parquet (of a job: internal/problem.csv), or give the "
            f"release a column 'cell' with the index of each."
        )
    raise InputError(
        f"{source}: the cells are not named. Give the columns {listed(keys)}, or a column "
        f"'cell' with the index of each."
    )


def suppressed_in(frame: pd.DataFrame, source: str) -> Flags:
    """Read the column ``status``: which cells are suppressed.

    Raises
    ------
    InputError
        For a word that is not known.
    """
    words = frame["status"].astype(str).str.strip().str.lower()
    statuses = PUBLISHED | SUPPRESSED
    odd = words[~words.isin(statuses)]
    if len(odd):
        raise InputError(
            f"status {odd.iloc[0]!r} is not known."
            f"{suggestion(odd.iloc[0], ['published', 'suppressed', 'primary', 'secondary'])}",
            row=int(odd.index[0]),
            source=source,
        )
    return words.isin(SUPPRESSED).to_numpy()


def _look_into_hidden(
    problem: ProtectionProblem, frame: pd.DataFrame, suppressed: Flags, source: str, *, inside: bool
) -> None:
    """Refuse suppressed rows of which some show a value; warn where all of them do.

    Files of other programs keep the value beside each status, or write 0 for all that is hidden.
    Zeros of which one is not the true value tell nothing.

    Raises
    ------
    InputError
        Names the first cells: somebody filled gaps, which a status does not close.
    """
    names = {"value", problem.table.name, _value_column(problem, frame)} & set(frame.columns)
    shown, tells = np.zeros(len(frame), dtype=bool), False
    for name in names:
        values = numbers_of(frame[name]).to_numpy()
        has_value = suppressed & ~np.isnan(values)
        is_filler = bool(np.all(values[has_value] == 0) and problem.table.values[has_value].any())
        shown |= has_value
        tells |= bool(has_value.any()) and not is_filler
    if not tells:
        return
    cells = np.flatnonzero(shown)
    n_hidden = int(suppressed.sum())
    if len(cells) < n_hidden:
        more = f" and {len(cells) - NAMED} more" * (len(cells) > NAMED)
        raise InputError(
            f"{source}: {len(cells)} of {n_hidden} suppressed rows show a value, whatever their "
            f"status says: {listed(problem.table.labels(cells[:NAMED]))}{more}. Blank these "
            f"values, or mark the rows as published.",
            cells=cells,
        )
    if not inside:
        warnings.warn(
            f"{source}: {n_hidden} rows say suppressed but show a value. They count as hidden, so "
            f"that the values must be blank in what is published.",
            TablecloakWarning,
            stacklevel=3,
        )


def _check_published(
    problem: ProtectionProblem, column: pd.Series, suppressed: Flags, source: str
) -> None:
    shown = numbers_of(column).to_numpy()
    true = problem.table.values
    # Values may be published with fewer digits than the true table has.
    decimals = published_decimals(true[~suppressed], problem.table.decimals)
    accepted = np.maximum(1e-9 * np.maximum(np.abs(true), 1.0), 0.51 * 10.0**-decimals)
    if common_decimals(true[~suppressed]) is not None:
        accepted = 1e-9 * np.maximum(np.abs(true), 1.0)
    wrong = ~suppressed & ~(np.abs(shown - true) <= accepted)
    cells = np.flatnonzero(wrong)
    if len(cells):
        raise InputError(
            f"{source}: {len(cells)} published cells do not have their true value, the first is "
            f"{problem.table.label(int(cells[0]))}. A suppression pattern publishes true values; "
            f"leave the status out to audit an adjusted table, and give the problem of that year "
            f"with a release of another year.",
            cells=cells,
        )


def ends_by(
    made: Protection | str, problem: ProtectionProblem, values: Floats | None
) -> tuple[Floats, Floats]:
    """Return both ends that follow from the values of a release and from how they were made.

    Parameters
    ----------
    made : Protection or str
        Such as "rounding:5".
    problem : ProtectionProblem
        With the true table: readers are taken to know how far values were moved at most.
    values : numpy.ndarray of float, shape (n_cells,), or None
        None for a release that is no table of values.

    Raises
    ------
    InputError
        If there is not a value in every cell, or one cannot have been made so.
    """
    if values is None or not np.all(np.isfinite(values)):
        raise InputError(
            "How values were made says something of releases that have a value in every cell. "
            "Leave it out for patterns and intervals."
        )
    return made_by(made).told_by_values(problem, values)


def read_published(
    release: str | Path | pd.DataFrame,
    problem: ProtectionProblem,
    *,
    revised: bool = False,
    made: Protection | str | None = None,
) -> EarlierRelease:
    """Read an earlier release: its values and gaps, or its intervals.

    Parameters
    ----------
    release : str, path, or pandas or polars frame
        What was published: one row for each cell with its codes and ``status``, or a value that is
        missing where a cell is hidden, or ``lower`` and ``upper``; see `tablecloak.audit`.
    problem : ProtectionProblem
        The true table of that release with the levels of its sensitive cells.
    revised : bool, default=False
        Whether `problem` is that of the new release, over the same cells. Published values then may
        differ from its own; hidden values are taken to be those of the new table.
    made : Protection or str, optional
        How its values were made, if readers know it, as for `tablecloak.audit`; by default what
        about.json beside the table of a release says.

    Returns
    -------
    EarlierRelease

    Raises
    ------
    InputError
        If the file does not fit the table, or a published value is not the true one; with `revised`
        if hidden values of the new table do not add up with the values published then. If a value
        cannot have been made as is said.
    """
    release = as_pandas(release)
    made = made_as(told_beside(release)) if made is None else made
    if made is not None:
        if revised:
            raise InputError(
                f"Of values made by {made} nobody can tell which ones were true then. Give the "
                f"true table of that release."
            )
        return EarlierRelease(problem, *ends_by(made, problem, read_release(problem, release)[1]))
    keys = list(map(str, problem.table.keys.columns))
    source = str(release) if isinstance(release, str | Path) else "release"
    frame = release if isinstance(release, pd.DataFrame) else None
    if frame is None:
        frame = read_released(problem, Path(release))  # type: ignore[arg-type]
    if revised:
        if not isinstance(release, pd.DataFrame):
            _with_figures_beside(problem, frame, keys, Path(release).with_name(FIGURES))
        problem = _as_it_was(problem, frame, keys, source)
    if set(ENDS) <= set(frame.columns) and "status" not in frame.columns:
        return EarlierRelease(problem, *published_ends(problem, frame, keys, source))
    hidden, values = read_release(problem, frame if revised else release, is_earlier=True)
    if hidden is None:
        assert values is not None
        true = problem.table.values
        # Without gaps the values are the true ones, or adjusted ones, which bound nothing.
        hidden = ~np.isclose(values, true, rtol=1e-9, atol=0) | ~np.isclose(values, true).all()
        base = _common_divisor(values)
        if hidden.any() and base > max(_common_divisor(true), 1):
            warnings.warn(
                f"{source}: all values are multiples of {base}, which those of the true table are "
                f"not, and are read as adjusted ones, which bound nothing. If they were rounded, "
                f"their readers know more: say so by `made`, as in rounding:{base}.",
                TablecloakWarning,
                stacklevel=2,
            )
    return EarlierRelease(problem, *problem.ends(hidden))


def _common_divisor(values: Floats) -> int:
    """Return the greatest common divisor of whole numbers; 0 where one has a fraction."""
    is_whole = bool(np.all(values == np.rint(values))) and np.abs(values).max(initial=0) < 2.0**53
    return int(np.gcd.reduce(values.astype(np.int64))) if is_whole else 0


def _as_it_was(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> ProtectionProblem:
    """Return the problem with the values that were published then."""
    column = _value_column(problem, frame)
    if column is None:
        return problem
    filled = with_rows_of_rests(problem, frame, keys, source)
    rows = rows_in_table_order(problem, filled, keys, source)
    shown = numbers_of(filled[column]).to_numpy()[rows]
    values = np.where(np.isnan(shown), problem.table.values, shown)
    try:
        table = problem.table.with_values(values)
    except InputError as error:
        raise InputError(
            f"{source}: the values published then, with the hidden values of today, do not add up, "
            f"so that hidden values were revised as well. Give the true table of that release. "
            f"({error})"
        ) from None
    low, high = np.minimum(problem.lower_bound, values), np.maximum(problem.upper_bound, values)
    return problem.with_changes(table=table, lower_bound=low, upper_bound=high)


def read_previous(problem: ProtectionProblem, pattern: str | Path | pd.DataFrame) -> Flags:
    """Read which cells were suppressed last period, matched by their codes.

    Parameters
    ----------
    problem : ProtectionProblem
    pattern : str, path, or pandas or polars frame
        One row for each cell, with the codes of the dimensions (or a column ``cell``) and
        ``status``, as `tablecloak suppress` and jobs write it. Cells of other periods are
        skipped; cells that are new count as published.

    Returns
    -------
    numpy.ndarray of bool, shape (n_cells,)

    Raises
    ------
    InputError
        If columns are missing, a status is not understood, or no cell is known.
    """
    keys = list(map(str, problem.table.keys.columns))
    given_frame = as_pandas(pattern)
    if isinstance(given_frame, pd.DataFrame):
        frame, source = given_frame.reset_index(drop=True), "previous"
    else:
        frame, source = read_released(problem, Path(given_frame)), str(given_frame)
    if "status" not in frame.columns:
        raise InputError(
            f"{source}: there is no column 'status'. Give a pattern of `tablecloak suppress`."
        )
    given, wanted = names_of_cells(problem, frame, keys, source)
    before = given[suppressed_in(frame, source)]
    if not given.isin(wanted).any():
        raise InputError(
            f"{source}: none of its cells is in this table. Check that the codes are spelt alike."
        )
    flags: Flags = wanted.isin(before)
    return flags
