"""A page on a release of microdata: what was done, and what analysts and intruders can do."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence, Sized
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.microdata.assessment import Assessment
from tablecloak.microdata.utility.comparison import (
    categories_compared,
    correlations_compared,
    numbers_compared,
)
from tablecloak.render.page import Page
from tablecloak.render.plotting import new_figure


def write_report(
    path: str | Path,
    original: pd.DataFrame,
    released: pd.DataFrame,
    *,
    title: str,
    summary: str,
    parameters: Mapping[str, object],
    assessment: Assessment,
) -> None:
    """Write a page on a release, for those who decide whether to publish it.

    Parameters
    ----------
    path : path
        HTML file; readable by its owner alone.
    original, released : pandas.DataFrame
        The same records in the same order.
    title, summary : str
    parameters : dict
        Of the method. The seed does not belong here: it undoes the release.
    assessment : Assessment
        Risk before and after, and utility.
    """
    original, released = _read_numbers(original), _read_numbers(released)
    page = Page(title)
    page.text(summary)
    page.heading("What was done")
    shown = shown_parameters(parameters)
    page.table(pd.DataFrame({"value": map(str, shown.values())}, index=pd.Index(shown)))
    page.heading("What the analyst gets")
    _add_utility(page, original, released)
    _add_measures(page, assessment, "utility")
    page.heading("What an intruder can do")
    _add_measures(page, assessment, "risk")
    page.heading("Made with")
    made = f"tablecloak {version('tablecloak')}, Python {platform.python_version()}"
    libraries = f"numpy {np.__version__}, pandas {pd.__version__}"
    page.text(f"{made}, {libraries}; {len(original):,} records")
    page.write(path)


def shown_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that say something: neither missing nor an empty list or mapping."""
    return {
        name: value
        for name, value in parameters.items()
        if value is not None and (not isinstance(value, Sized) or len(value))
    }


def _add_utility(page: Page, original: pd.DataFrame, released: pd.DataFrame) -> None:
    """Show what changed in each column, and the correlations of numbers."""
    numbers = numbers_compared(original, released)
    for table in (numbers, categories_compared(original, released)):
        if len(table):
            page.table(table)
    spread = [name for name in numbers.index if numbers["sd"][name] * numbers["sd_released"][name]]
    if len(spread) > 1:
        _draw_correlations(page, original, released, spread)


def _read_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns that were read as text but hold numbers."""
    changed = frame.copy()
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            numbers = pd.to_numeric(frame[name], errors="coerce")
            if numbers.notna().sum() == frame[name].notna().sum():
                changed[name] = numbers
    return changed


def _draw_correlations(
    page: Page, original: pd.DataFrame, released: pd.DataFrame, names: Sequence[str]
) -> None:
    """Correlation of each pair of columns, after over before: on the diagonal nothing changed."""
    correlations = correlations_compared(original, released, names)

    def draw() -> Any:
        figure, axes = new_figure(5, 4.5)
        axes.plot([-1, 1], [-1, 1], color="grey", linewidth=0.8)
        axes.plot(
            correlations["original"], correlations["released"], "o", color="#457b9d", markersize=4
        )
        axes.set_xlabel("correlation before")
        axes.set_ylabel("correlation after")
        return figure

    worst = float(correlations["change"].abs().max())
    page.figure(draw, f"Correlations of pairs of columns; the largest change is {worst:.3g}")


def _add_measures(page: Page, found: Assessment, kind: str) -> None:
    """Show the measures of one kind, and below them, folded, those that were not made."""
    rows = found.table[found.table["kind"] == kind].drop(columns="kind").set_index("measure")
    made = rows["after"].notna()
    page.table(rows[made])
    if not made.all():
        page.table(rows.loc[~made, ["meaning"]], folded="Not measured")
