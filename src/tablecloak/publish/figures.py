"""The derived figures of a release, whoever made it, and which kinds it covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.protection import Product, required_way
from tablecloak.tables.figures.figure import FIGURES, DerivedFigure
from tablecloak.tables.table import Table


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


def lacking_figures(table: Table) -> Iterator[str]:
    """Say which cells have no figure, since its denominator is 0. Secret."""
    for figure in table.figures:
        cells = figure.nonexistent(table).tolist()
        if cells:
            named = listed([table.label(cell) for cell in cells], 3)
            yield (
                f"{figure.label}: {len(cells)} do not exist, since their denominator is 0: {named}."
            )


FURTHER = (
    ("products and differences of figures", "outside", "nothing is claimed of them"),
    ("coefficients of variation, and flags of their classes", "outside",
     "with a known design they tell what standard errors do, within their class"),
    ("true totals or means beside perturbed counts", "outside",
     "`attack_counts` measures what they undo"),
    ("estimates with sampling weights", "as totals",
     "everybody is taken to know all weights; whoever knows fewer learns less"),
    ("cells hidden as unreliable", "not protected",
     "hidden in every pattern, so that they may protect others"),
)  # fmt: skip
"""What offices publish beside totals that is no registered figure, and what is claimed of it."""


def covered_figures(product: Product) -> pd.DataFrame:
    """Return which kinds of figures may stand beside a release.

    Returns
    -------
    pandas.DataFrame
        Columns ``figure``, ``beside this release`` and ``why``: one row for each registered kind,
        and for each kind of which nothing, or nothing further, is claimed.
    """
    way = product.way
    is_hiding = way.hidden(product.release) is not None
    given = () if way.is_alone else product.release.problem.table.figures
    names = {getattr(figure, "statistic", figure).name for figure in given}
    rows = []
    for kind in FIGURES:
        is_refused = "derived" not in way.sections or (kind.needs_contributions and not is_hiding)
        why = kind.refusal or FIGURES.summary(kind.name)
        if kind.refusal or is_refused:
            state = "refused"
        elif not is_hiding:
            state = "computed from the released values"
        elif kind.name not in names:
            state = "not asked for: publish none"
        else:
            state = "hidden by rule" if kind.needs_contributions else "protected with the table"
        rows.append((kind.name, state, why))
    return pd.DataFrame([*rows, *FURTHER], columns=["figure", "beside this release", "why"])
