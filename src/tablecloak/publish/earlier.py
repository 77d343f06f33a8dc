"""Earlier releases read from files, with the truth behind them, and the pattern of last period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.publish.released_cells import (
    ENDS,
    names_of_cells,
    published_ends,
    read_release,
    rows_in_table_order,
    suppressed_in,
    with_rows_of_rests,
)
from tablecloak.tables.changes.earlier_releases import EarlierRelease
from tablecloak.tables.formats import read_frame
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.text_numbers import numbers_of


def read_published(
    release: str | Path | pd.DataFrame, problem: ProtectionProblem, *, revised: bool = False
) -> EarlierRelease:
    """Read an earlier release: its values and gaps, or its intervals.

    Parameters
    ----------
    release : str, path or frame
        What was published: one row for each cell with its codes and ``status``, or a value that is
        missing where a cell is hidden, or ``lower`` and ``upper``; see `tablecloak.audit`.
    problem : ProtectionProblem
        The true table of that release with the levels of its sensitive cells.
    revised : bool, default=False
        Whether `problem` is that of the new release, over the same cells. Published values then may
        differ from its own; hidden values are taken to be those of the new table.

    Returns
    -------
    EarlierRelease

    Raises
    ------
    InputError
        If the file does not fit the table, or a published value is not the true one; with `revised`
        if hidden values of the new table do not add up with the values published then.
    """
    keys = list(map(str, problem.table.keys.columns))
    source = str(release) if isinstance(release, str | Path) else "release"
    frame = release if isinstance(release, pd.DataFrame) else None
    if frame is None:
        frame = read_frame(Path(release), (*keys, "cell"))  # type: ignore[arg-type]
    if revised:
        problem = _as_it_was(problem, frame, keys, source)
    if set(ENDS) <= set(frame.columns) and "status" not in frame.columns:
        return EarlierRelease(problem, *published_ends(problem, frame, keys, source))
    hidden, values = read_release(problem, frame if revised else release)
    true = problem.table.values
    if hidden is None:
        assert values is not None
        # Without gaps the values are the true ones, or adjusted ones, which bound nothing.
        hidden = ~np.isclose(values, true, rtol=1e-9, atol=0) | ~np.isclose(values, true).all()
    return EarlierRelease(
        problem,
        np.where(hidden, problem.lower_bound, true),
        np.where(hidden, problem.upper_bound, true),
    )


def _as_it_was(
    problem: ProtectionProblem, frame: pd.DataFrame, keys: list[str], source: str
) -> ProtectionProblem:
    """Return the problem with the values that were published then."""
    column = next((c for c in ("value", problem.table.name) if c in frame.columns), None)
    if column is None:
        return problem
    filled = with_rows_of_rests(problem, frame, keys)
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


def read_previous(problem: ProtectionProblem, path: str | Path) -> Flags:
    """Read which cells were suppressed last period, matched by their codes.

    Parameters
    ----------
    problem : ProtectionProblem
    path : str or path
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
    frame = read_frame(path, (*keys, "cell", "status"))
    if "status" not in frame.columns:
        raise InputError(
            f"{path}: there is no column 'status'. Give a pattern of `tablecloak suppress`."
        )
    given, wanted = names_of_cells(problem, frame, keys, str(path))
    before = given[suppressed_in(frame, str(path))]
    if not given.isin(wanted).any():
        raise InputError(
            f"{path}: none of its cells is in this table. Check that the codes are spelt alike."
        )
    flags: Flags = wanted.isin(before)
    return flags
