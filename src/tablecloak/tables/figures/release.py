"""Derived figures as they are published, computed from the values that are published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.tables.figures.figure import DerivedFigure, marked_keys
from tablecloak.tables.keys import DERIVED
from tablecloak.tables.table import Table


def printed_figures(
    table: Table, figures: Sequence[DerivedFigure], values: Floats, hidden: Flags
) -> pd.DataFrame:
    """Return the figures beside a table, each with its status.

    Parameters
    ----------
    table : Table
    figures : sequence of DerivedFigure
    values : numpy.ndarray of float, shape (n_cells,)
        As they are published, or would be.
    hidden : numpy.ndarray of bool, shape (n_cells,)
        Cells that are not published. A figure that is a cell of the table is hidden if that is; any
        other one if its numerator or denominator is.

    Returns
    -------
    pandas.DataFrame
        Columns ``figure``, the dimensions, ``value`` and ``status``. A quotient with a denominator
        that is not positive has no figure.
    """
    every = pd.MultiIndex.from_frame(table.keys)
    variable = None if table.variables is None else table.variables.dimension
    parts = []
    for figure in figures:
        quotients = figure.quotients(table)
        quotients = quotients.chosen(quotients.denominators(values) > 0)
        marked = marked_keys(table, figure, quotients.numerator, DERIVED)
        place = every.get_indexer(pd.MultiIndex.from_frame(marked))
        below = quotients.denominator
        unknown = hidden[quotients.numerator] | (hidden[below] & (below >= 0))
        is_hidden = np.where(place >= 0, hidden[place], unknown)
        digits: Floats = np.array(figure.printed(quotients, values), dtype=np.float64)
        keys = table.keys.iloc[quotients.numerator].drop(columns=[variable] if variable else [])
        keys.insert(0, "figure", figure.label)
        shown = np.where(is_hidden, np.nan, np.round(digits / 10**figure.decimals, figure.decimals))
        status = np.where(is_hidden, "suppressed", "published")
        parts.append(keys.assign(value=shown, status=status))
    return pd.concat(parts, ignore_index=True)
