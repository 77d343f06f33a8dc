"""The page on a release for its readers, made from what is released alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tablecloak.render.heat_map import add_heat_map, labels_of
from tablecloak.render.page import Page, Square
from tablecloak.tables.formats.release_values import hidden_cells
from tablecloak.tables.leaving import Leaving

__all__ = ["public_report"]


def public_report(title: str, leaving: Leaving, about: Mapping[str, Any]) -> Page:
    """Show a release to its readers, from what is released alone.

    Parameters
    ----------
    title : str
    leaving : Leaving
    about : mapping of str to object
        What users are told: method, unit, how to read it.

    Returns
    -------
    Page
    """
    released = leaving.released
    page = Page(title, secret=False)
    page.text(str(about.get("reading", "")))
    measure = str(about["measure"])
    hidden = hidden_cells(released).tolist()
    if any(hidden):
        page.legend({"": "published", "suppressed": "confidential"})
    page.heading(measure + (f", {about['unit']}" if about.get("unit") else ""))
    keys = released[leaving.dimensions].reset_index(drop=True)
    values = released[list(leaving.value_columns)].to_numpy().tolist()
    squares = _squares(keys, values, hidden, about.get("decimals", 0))
    add_heat_map(page, keys, leaving.hierarchies, squares, leaving.unlisted)
    page.heading("About")
    shown = {key: value for key, value in about.items() if key != "reading" and value != ""}
    page.table(pd.DataFrame({"": shown.keys(), " ": map(str, shown.values())}), index=False)
    return page


def _squares(
    keys: pd.DataFrame, values: list[list[Any]], hidden: list[bool], decimals: int
) -> Callable[[int], Square]:
    labels = labels_of(keys)

    def square(cell: int) -> Square:
        if hidden[cell]:
            return Square("x", "suppressed", f"{labels[cell]}: confidential")
        shown = [f"{float(value):,.{decimals}f}" for value in values[cell]]
        # Both ends of an interval are equal where the value itself is published.
        text = " to ".join(dict.fromkeys(shown))
        return Square(text, "", f"{labels[cell]}: {text}")

    return square
