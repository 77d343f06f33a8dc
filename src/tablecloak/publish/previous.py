"""The pattern that was published last period."""

from __future__ import annotations

from pathlib import Path

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.publish.released_cells import names_of_cells, suppressed_in
from tablecloak.tables.formats import read_frame
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["read_previous"]


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
