"""Which variables a derived figure links, whether it is an object or a table of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablecloak.tables.figures.figure import FIGURES, DerivedFigure
from tablecloak.tables.figures.ratios import parts_of

Linking = DerivedFigure | Mapping[str, Any]
"""A derived figure, or an entry of ``[[derived]]``."""


def variables_of(figure: Linking) -> set[str]:
    """Return what a figure names as its variables; one may also be an earlier period."""
    given = figure if isinstance(figure, Mapping) else {"figure": figure.name, **vars(figure)}
    compared = FIGURES[str(given.get("figure"))].compared_with
    names = {str(given.get("variable", "")), *parts_of(str(given.get("formula", "")))}
    return (names | {str(given.get(compared, ""))}) - {""}
