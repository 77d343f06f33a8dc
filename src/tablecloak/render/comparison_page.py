"""The page of a comparison, for those who decide which release to take."""

from __future__ import annotations

from functools import partial

from tablecloak import showing
from tablecloak.comparison.figures import notes
from tablecloak.comparison.side_by_side import Comparison
from tablecloak.render.page import Page

__all__ = ["comparison_page"]


@showing.page.register
def comparison_page(comparison: Comparison) -> Page:
    """Show the verdict, the measures and the risk-utility map. Secret."""
    page = Page(f"Methods compared: {comparison.problem.table.name}")
    page.text(comparison.problem.summary())
    page.heading("Verdict")
    page.text(comparison.verdict())
    page.heading("Risk and utility")
    page.table(comparison.table.T)
    draw = partial(showing.plot, comparison.map)
    page.figure(draw, "Right guesses against the share of the value that is left")
    page.heading("What the figures mean")
    for line in notes():
        page.text(line)
    return page
