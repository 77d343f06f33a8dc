"""The report for those who made a release: true values, statuses, intervals, and the search."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
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
from tablecloak.render.plotting import new_figure
from tablecloak.results import Result
from tablecloak.tables.problem import ProtectionProblem

COMPARED_CELLS = 5000
"""Cells up to which a report compares two releases: two programs for each suppressed cell."""

COMPARISON_SECONDS = 10.0
"""Time limit of each attack of that comparison."""

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
    page = Page(title)
    _describe_problem(page, problem)
    for product in products:
        _describe(page, problem, product)
    if compared and len(products) > 1 and problem.table.n_cells <= COMPARED_CELLS:
        _compare(page, problem, products)
    if waivers is not None:
        _describe_waivers(page, waivers)
    page.close_with(_made_with(settings or {}), source)
    return page


def _describe_problem(page: Page, problem: ProtectionProblem) -> None:
    page.heading("What was protected")
    page.text(problem.table.summary())
    page.text(problem.summary())
    if problem.n_sensitive:
        rules, counts = np.unique(problem.reasons[problem.sensitive], return_counts=True)
        page.table(
            pd.DataFrame({"sensitive cells": counts}, index=[rule or "given" for rule in rules])
        )


def _compare(page: Page, problem: ProtectionProblem, products: Sequence[Product]) -> None:
    """Put all releases on one risk-utility map."""
    releases: dict[str, Any] = {product.way.noun: product.release for product in products}
    comparison = compare(problem, releases, time_limit=COMPARISON_SECONDS)
    page.heading("Risk and utility")
    page.text(comparison.verdict())
    page.table(comparison.table.T)
    page.figure(comparison.map.plot, "Right guesses against the share of the value that is left")
    for line in notes():
        page.text(line)


def _describe(page: Page, problem: ProtectionProblem, product: Product) -> None:
    release, way = product.release, product.way
    page.heading(way.noun.capitalize())
    verdict = release.verdict().splitlines() if isinstance(release, Result) else ()
    # A kind without a verdict has its summary instead.
    for line in dict.fromkeys((*verdict, release.summary())):
        page.text(line)
    if product.audit is not None:
        page.text(product.audit.summary())
    for note in release.notes:
        page.text(f"Note: {note}")
    way.describe(page, problem, product)
    if product.history is not None and len(product.history.steps) > 1:
        draw = partial(_search_figure, product.history)
        page.figure(draw, f"Search of the {way.noun}: loss and proved bound")


def _describe_waivers(page: Page, waivers: pd.DataFrame) -> None:
    """Show what would be sensitive, and so hidden, without each waiver."""
    page.heading("Waivers")
    page.text(
        "Cells that would be sensitive if a waiver were taken back, and those of them that are "
        "published: without it every pattern hides them. Who waived still attacks; nobody is "
        "protected from insiders in a cell that is safe because of waivers."
    )
    if "variable" in waivers:
        parts = [(str(name), rows) for name, rows in waivers.groupby("variable", sort=False)]
    else:
        parts = [("", waivers)]
    for variable, rows in parts:
        if variable:
            page.text(f"What waivers save in {variable}:")
        # Those that save most come first.
        together = rows["waiver"] == "any"
        saving = rows[(rows["cells"] > 0) & ~together]
        shown = pd.concat([saving.head(MOST_WAIVERS), rows[together]])
        page.table(shown.drop(columns="variable", errors="ignore"), index=False)
        idle = int((~together).sum()) - len(saving)
        if idle:
            page.text(f"{idle} waivers of large contributors save no cell.")


def _search_figure(history: History) -> Any:
    frame = history.to_frame()
    figure, axes = new_figure(7, 3)
    for name, colour in (("loss", LOSS), ("bound", BOUND)):
        known = frame[["seconds", name]].dropna()
        if len(known):
            end = pd.DataFrame(
                {"seconds": [frame["seconds"].iloc[-1]], name: [known[name].iloc[-1]]}
            )
            known = pd.concat([known, end])
            axes.step(known["seconds"], known[name], where="post", color=colour, label=name)
    axes.set_xlabel("seconds")
    axes.set_ylabel("loss")
    if axes.has_data():
        axes.legend()
    return figure


def _made_with(settings: Mapping[str, object]) -> pd.DataFrame:
    versions: dict[str, object] = {"python": platform.python_version()}
    versions |= {
        name: version(name) for name in ("tablecloak", "highspy", "numpy", "scipy", "pandas")
    }
    rows = dict(settings) | versions
    return pd.DataFrame({"setting": rows.keys(), "value": [str(value) for value in rows.values()]})
