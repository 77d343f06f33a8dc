"""The page on a release for its readers, made from what is released alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tablecloak.render.heat_map import add_heat_map, labels_of
from tablecloak.render.page import Page, Square
from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["public_report"]


def public_report(
    title: str,
    released: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    about: Mapping[str, Any],
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

    Returns
    -------
    Page
    """
    page = Page(title, secret=False)
    page.text(str(about.get("reading", "")))
    measure = str(about["measure"])
    dimensions = [name for name in released.columns if name not in (measure, "status")]
    keys = released[dimensions].reset_index(drop=True)
    values = released[measure].tolist()
    hidden = (
        released["status"].eq("suppressed").tolist()
        if "status" in released.columns
        else [False] * len(values)
    )
    if any(hidden):
        page.legend({"": "published", "suppressed": "confidential"})
    labels = labels_of(keys)

    def square(cell: int) -> Square:
        if hidden[cell]:
            return Square("x", "suppressed", f"{labels[cell]}: confidential")
        text = f"{float(values[cell]):,.{about.get('decimals', 0)}f}"
        return Square(text, "", f"{labels[cell]}: {text}")

    page.heading(measure + (f", {about['unit']}" if about.get("unit") else ""))
    add_heat_map(page, keys, hierarchies, square)
    page.heading("About")
    shown = {key: value for key, value in about.items() if key != "reading" and value != ""}
    page.table(pd.DataFrame({"": shown.keys(), " ": map(str, shown.values())}), index=False)
    return page
