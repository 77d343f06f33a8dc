"""The page on a release for its readers, made from what is released alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tablecloak.render.heat_map import add_heat_map, labels_of
from tablecloak.render.page import Page, Square
from tablecloak.tables.formats.release_values import hidden_cells
from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["public_report"]


def public_report(
    title: str,
    released: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    about: Mapping[str, Any],
    unlisted: str = "empty",
) -> Page:
    """Show a release to its readers, from what is released alone.

    Parameters
    ----------
    title : str
    released : pandas.DataFrame
        What `SuppressionPattern.release` or `Adjustment.release` returns: codes, the value, and
        for suppression a column ``status``.
    hierarchies : mapping of str to Hierarchy
    about : mapping of str to object
        What users are told: method, unit, how to read it.
    unlisted : str, default="empty"
        What they are told of combinations of codes that are not listed.

    Returns
    -------
    Page
    """
    page = Page(title, secret=False)
    page.text(str(about.get("reading", "")))
    measure = str(about["measure"])
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    hidden = hidden_cells(released).tolist()
    if any(hidden):
        page.legend({"": "published", "suppressed": "confidential"})
    page.heading(measure + (f", {about['unit']}" if about.get("unit") else ""))
    keys = released[dimensions].reset_index(drop=True)
    squares = _squares(keys, released[measure].tolist(), hidden, about.get("decimals", 0))
    add_heat_map(page, keys, hierarchies, squares, unlisted)
    page.heading("About")
    shown = {key: value for key, value in about.items() if key != "reading" and value != ""}
    page.table(pd.DataFrame({"": shown.keys(), " ": map(str, shown.values())}), index=False)
    return page


def _squares(
    keys: pd.DataFrame, values: list[Any], hidden: list[bool], decimals: int
) -> Callable[[int], Square]:
    labels = labels_of(keys)

    def square(cell: int) -> Square:
        if hidden[cell]:
            return Square("x", "suppressed", f"{labels[cell]}: confidential")
        text = f"{float(values[cell]):,.{decimals}f}"
        return Square(text, "", f"{labels[cell]}: {text}")

    return square
