"""The cells of a table into which no record falls: every other combination of its codes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["all_positions", "with_empty_rows"]

MOST_CELLS = 20_000_000
"""Most cells of a table that lists its empty ones: at about 1 kB a cell what 20 GB hold."""


def all_positions(trees: Mapping[str, Hierarchy]) -> Integers:
    """Return every combination of codes by their positions, sorted, shape (n, n_dimensions).

    Raises
    ------
    InputError
        If there are more than `MOST_CELLS`.
    """
    sizes = [len(tree.codes) for tree in trees.values()]
    if math.prod(sizes) > MOST_CELLS:
        raise InputError(
            f"With its empty cells the table would have {math.prod(sizes):,} cells; at most "
            f"{MOST_CELLS:,} are possible. Leave out `empty_cells`, or some of the codes."
        )
    grid = np.indices(sizes, dtype=np.int64)
    return grid.reshape(len(sizes), -1).T.copy()


def with_empty_rows(
    frame: pd.DataFrame, trees: Mapping[str, Hierarchy], numbers: list[str]
) -> pd.DataFrame:
    """Return a frame of cells with a row of zeros for each combination of codes it lacks.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each cell, with codes as text.
    trees : mapping of str to Hierarchy
    numbers : list of str
        Columns that are 0 in the new rows.
    """
    positions = all_positions(trees)
    codes = {
        name: np.array(tree.codes, dtype=object)[positions[:, axis]]
        for axis, (name, tree) in enumerate(trees.items())
    }
    every = pd.DataFrame(codes)
    known = pd.MultiIndex.from_frame(frame[list(trees)])
    lacking = every[~pd.MultiIndex.from_frame(every).isin(known)]
    zeros = dict.fromkeys(numbers, 0.0)
    return pd.concat([frame, lacking.assign(**zeros)], ignore_index=True)
