"""The report for those who made a release: true values, statuses, intervals, and the search."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.comparison.figures import notes
from tablecloak.comparison.side_by_side import compare
from tablecloak.history import History
from tablecloak.protection import Product
from tablecloak.render.page import Page
from tablecloak.render.palette import BOUND, LOSS
from tablecloak.render.plotting import add_legend, new_figure
from tablecloak.results import Result, in_percent
from tablecloak.tables.problem import ProtectionProblem

COMPARED_CELLS = 5000
"""Cells up to which a report compares two releases: two programs for each suppressed cell."""

COMPARISON_SECONDS = 10.0
"""Time limit of each attack of that comparison."""

MAP_CAPTION = "Right guesses against the share of the value that is left"

ABOUT_VARIABLES = (
    "Each variable by itself, in its own unit. A loss that is given as one number counts average "
    "cells of the variables, so that units are not added up: see Weights in "
    "docs/several-variables.md."
)

ABOUT_WAIVERS = (
    "Cells that would be sensitive if a waiver were taken back, and those of them that are "
    "published: without it every pattern hides them. Who waived still attacks; nobody is "
    "protected from insiders in a cell that is safe because of waivers."
)

MOST_WAIVERS = 60
"""Most contributors whose waivers a report lists, those that save most first, of each variable."""


def internal_report(
    title: str,
    problem: ProtectionProblem,
    products: Sequence[Product],
    *,
    waivers: pd.DataFrame | None = None,
    settings: Mapping[str, object] | None = None,
    source: str = "",
    compared: bool = True,
) -> Page:
    """Describe releases to those who made them. Secret.

    Parameters
    ----------
    title : str
    problem : ProtectionProblem
    products : sequence of Product
    waivers : pandas.DataFrame, optional
        What each waiver saves; see `waivers_saved`. A column ``variable`` first if there are
        several.
    settings : mapping of str to object, optional
        What else was chosen, such as the seed.
    source : str, default=""
        The job file.
    compared : bool, default=True
        Whether to put two or more releases on one risk-utility map; left out for large tables.

    Returns
    -------
    Page
    """
    # All that takes time or thought comes first; the page then reads from top to bottom.
    is_mapped = compared and len(products) > 1 and problem.table.n_cells <= COMPARED_CELLS
    saved = [] if waivers is None else list(_saved(waivers))
    made_with = _made_with(settings or {})
    releases: dict[str, Any] = {product.way.noun: product.release for product in products}
    comparison = compare(problem, releases, time_limit=COMPARISON_SECONDS) if is_mapped else None
    page = Page(title)
    page.heading("What was protected")
    page.text(problem.table.summary())
    fixed = int(problem.frozen.sum())
    page.text(
        f"{problem.n_sensitive:,} cells are sensitive, and {fixed:,} are frozen: they must be "
        f"published as they are."
    )
    if problem.n_sensitive:
        rules, counts = np.unique(problem.reasons[problem.sensitive], return_counts=True)
        page.table(
            pd.DataFrame({"sensitive cells": counts}, index=[rule or "given" for rule in rules])
        )
    for product in products:
        _describe(page, problem, product)
    if comparison is not None:
        page.heading("Risk and utility")
        page.text(comparison.verdict())
        page.table(comparison.measures())
        page.figure(comparison.map.plot, MAP_CAPTION)
        for line in notes(comparison.table.columns):
            page.text(line)
    if saved:
        page.heading("Waivers")
        page.text(ABOUT_WAIVERS)
    for variable, shown, idle in saved:
        if variable:
            page.text(f"What waivers save in {variable}:")
        page.table(shown, index=False)
        if idle:
            page.text(f"{idle} waivers of large contributors save no cell.")
    page.close_with(made_with, source)
    return page


def _describe(page: Page, problem: ProtectionProblem, product: Product) -> None:
    """Say what was found in one way to protect, and how it went."""
    way, release, history = product.way, product.release, product.history
    page.heading(way.noun.capitalize())
    verdict = release.verdict().splitlines() if isinstance(release, Result) else ()
    for line in verdict or (release.summary(),):
        page.text(line)
    if product.audit is not None:
        page.text(product.audit.summary())
    for note in release.notes:
        page.text(f"Note: {note}")
    if verdict:
        page.folded(f"The search of the {way.noun} in figures", release.summary())
    if problem.table.variables is not None:
        page.text(ABOUT_VARIABLES)
        page.table(by_variable(problem, product), caption=f"The {way.noun} by variable")
    way.describe(page, problem, product)
    if history is not None and len(history.steps) > 1:
        draw = partial(_search_figure, history, getattr(release, "loss", math.nan))
        page.figure(draw, f"Search of the {way.noun}: loss and proved bound")


def by_variable(problem: ProtectionProblem, product: Product) -> pd.DataFrame:
    """Say how much of each variable a release does not publish as it is, in its own unit. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
        Of several variables; that of the release may have more cells, the last ones.
    product : Product
    """
    table, variables = problem.table, problem.table.variables
    assert variables is not None
    values = product.way.values(product.release)
    shown = product.release.problem.table.values if values is None else values
    exact, lost = product.way.lost(product.release, shown)
    number, size = variables.of_cells(table.keys), np.abs(table.values)
    rows = {}
    for one, name in enumerate(variables.names):
        cells = (number == one) & ~table.rests
        amount, whole = float(lost[: table.n_cells][cells].sum()), float(size[cells].sum())
        rows[name] = {
            "unit": variables.units[name],
            "cells": int(cells.sum()),
            "sensitive": int((cells & problem.sensitive).sum()),
            "hidden or changed": int((cells & ~exact[: table.n_cells]).sum()),
            "amount hidden or changed": amount,
            "share of the sum of all values": in_percent(amount, whole, 2),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _saved(waivers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, int]]:
    """Yield each variable, the waivers that save most in it, and how many save nothing."""
    parts = (
        [(str(name), rows) for name, rows in waivers.groupby("variable", sort=False)]
        if "variable" in waivers
        else [("", waivers)]
    )
    for variable, rows in parts:
        together = rows["waiver"] == "any"
        saving = rows[(rows["cells"] > 0) & ~together]
        shown = pd.concat([saving.head(MOST_WAIVERS), rows[together]])
        shown = shown.drop(columns="variable", errors="ignore")
        yield variable, shown, int((~together).sum()) - len(saving)


def _search_figure(history: History, loss: float = math.nan) -> Any:
    """Draw loss and bound over time, and the loss as released where that is another one.

    What protection against insiders and of sums adds comes after the search whose losses fall.
    """
    frame = history.to_frame()
    figure, axes = new_figure(7, 3)
    for name, colour in (("loss", LOSS), ("bound", BOUND)):
        known = frame[["seconds", name]].dropna()
        if len(known):
            end = known.tail(1).assign(seconds=frame["seconds"].iloc[-1])
            known = pd.concat([known, end])
            axes.step(known["seconds"], known[name], where="post", color=colour, label=name)
    lowest = frame["loss"].min()
    if math.isfinite(loss) and loss > lowest * (1 + 1e-9):
        axes.plot(frame["seconds"].iloc[-1], loss, "o", color=LOSS, label="loss as released")
    axes.set_xlabel("seconds")
    axes.set_ylabel("loss")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    if axes.has_data():
        add_legend(figure)
    return figure


def _made_with(settings: Mapping[str, object]) -> pd.DataFrame:
    libraries = ("tablecloak", "highspy", "numpy", "scipy", "pandas")
    rows = {**settings, "python": platform.python_version()} | dict(
        zip(libraries, map(version, libraries), strict=True)
    )
    return pd.DataFrame({"setting": rows.keys(), "value": [str(value) for value in rows.values()]})
