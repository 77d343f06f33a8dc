"""The derived figures of a release, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.protection import required_way
from tablecloak.tables.figures.figure import DerivedFigure


def released_figures(release: Any, derived: Sequence[DerivedFigure] = ()) -> pd.DataFrame:
    """Return the derived figures that may be published beside a release.

    Parameters
    ----------
    release : SuppressionPattern, Adjustment, RoundedTable, or another release of a table
        Figures beside a pattern are published where the pattern says so. Those beside adjusted or
        rounded values are computed from these, and tell nothing that they do not.
    derived : sequence of DerivedFigure, default=()
        By default those of `tablecloak.with_derived`. Give the figures of a table that was
        protected without them only where its values are changed rather than hidden.

    Returns
    -------
    pandas.DataFrame
        Columns ``figure``, the dimensions, ``value`` (missing if hidden) and ``status``.

    Raises
    ------
    InputError
        If there are no figures, or those of hidden cells are asked for without protection.
    """
    table, way = release.problem.table, required_way(release, "published with derived figures")
    values, hidden = way.values(release), way.hidden(release)
    if derived and hidden is not None and not all(figure in table.figures for figure in derived):
        raise InputError(
            "These figures were not protected together with the table: what they tell of hidden "
            "cells is not known. Protect the problem that `tablecloak.with_derived` returns."
        )
    figures = tuple(derived) or table.figures
    if not figures:
        raise InputError("The table has no derived figures. Name them in `derived`.")
    values = table.values if values is None else values
    hidden = np.zeros(table.n_cells, dtype=bool) if hidden is None else hidden
    released = [figure.released(table, values, hidden) for figure in figures]
    every: pd.DataFrame = pd.concat(released, ignore_index=True)
    variable = [] if table.variables is None else [table.variables.dimension]
    without: pd.DataFrame = every.drop(columns=variable)
    return without
