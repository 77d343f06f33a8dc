"""A page on a release of microdata: what was done, and what analysts and intruders can do."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.microdata.risk.keys import key_risk
from tablecloak.microdata.risk.linkage import interval_disclosure, record_linkage
from tablecloak.microdata.utility.analyses import correlations_compared
from tablecloak.microdata.utility.columns_compared import categories_compared, numbers_compared
from tablecloak.render.page import Page
from tablecloak.render.plotting import new_figure

__all__ = ["write_report"]

MOST_LINKED = 50_000
"""Records from which on linkage is measured on a random part of that size."""


def write_report(
    path: str | Path,
    original: pd.DataFrame,
    released: pd.DataFrame,
    *,
    title: str,
    summary: str,
    parameters: Mapping[str, object],
    keys: Sequence[str] = (),
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
    keys : sequence of str, default=()
        Attributes that an intruder may know, for the counts of rare combinations.
    """
    original, released = _read_numbers(original), _read_numbers(released)
    page = Page(title)
    page.text(summary)
    page.heading("What was done")
    shown = {name: value for name, value in parameters.items() if value not in (None, (), [], {})}
    page.table(pd.DataFrame({"value": map(str, shown.values())}, index=pd.Index(shown)))
    page.heading("What the analyst gets")
    spread = _add_utility(page, original, released)
    page.heading("What an intruder can do")
    known = [name for name in keys if name in original.columns]
    if known:
        page.text(f"Records that share {', '.join(known)} with none, one or two others:")
        page.table(_rare(original, released, known))
    _add_linkage(page, original, released, spread)
    page.heading("Made with")
    made = f"tablecloak {version('tablecloak')}, Python {platform.python_version()}"
    libraries = f"numpy {np.__version__}, pandas {pd.__version__}"
    page.text(f"{made}, {libraries}; {len(original):,} records")
    page.write(path)


def _add_utility(page: Page, original: pd.DataFrame, released: pd.DataFrame) -> list[str]:
    """Show what changed, and return the numeric columns that are not constant."""
    numbers = numbers_compared(original, released)
    for table in (numbers, categories_compared(original, released)):
        if len(table):
            page.table(table)
    spread = [name for name in numbers.index if numbers["sd"][name] * numbers["sd_released"][name]]
    if len(spread) > 1:
        _draw_correlations(page, original, released, spread)
    return spread


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
    found = correlations_compared(original, released, names)

    def draw() -> Any:
        figure, axes = new_figure(5, 4.5)
        axes.plot([-1, 1], [-1, 1], color="grey", linewidth=0.8)
        axes.plot(found["original"], found["released"], "o", color="#457b9d", markersize=4)
        axes.set_xlabel("correlation before")
        axes.set_ylabel("correlation after")
        return figure

    worst = float(found["change"].abs().max())
    page.figure(draw, f"Correlations of pairs of columns; the largest change is {worst:.3g}")


def _rare(original: pd.DataFrame, released: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    rows = {}
    for label, frame in (("original", original), ("released", released)):
        complete = frame.dropna(subset=list(keys))
        found = key_risk(complete, keys)
        count = {
            f"records in cells of {size}": int(np.sum(found.sample == size)) for size in (1, 2, 3)
        }
        rows[label] = {**count, "expected re-identifications": float(found.individual.sum())}
    return pd.DataFrame.from_dict(rows, orient="index")


def _add_linkage(
    page: Page, original: pd.DataFrame, released: pd.DataFrame, names: Sequence[str]
) -> None:
    if not names:
        return
    complete = np.flatnonzero(
        original[list(names)].notna().all(axis=1).to_numpy()
        & released[list(names)].notna().all(axis=1).to_numpy()
    )
    part = ""
    if len(complete) > MOST_LINKED:
        complete = np.random.default_rng(0).choice(complete, MOST_LINKED, replace=False)
        part = f" Measured on {MOST_LINKED:,} random records."
    one, other = original.iloc[complete], released.iloc[complete]
    usable = [name for name in names if one[name].std() > 0]
    if not usable:
        return
    linked = record_linkage(one, other, usable)
    inside = interval_disclosure(one, other, usable)
    page.text(
        f"Who knows all numeric columns and takes the nearest released record is right for "
        f"{100 * linked:.3g} % of the records. {100 * inside:.3g} % of them lie in all columns "
        f"within a twentieth of a standard deviation of their released values.{part}"
    )
