"""Why the dearest cells of a pattern are hidden, folded away in a report."""

from __future__ import annotations

import numpy as np

from tablecloak.budget import Budget
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.explaining.secondary import explain_secondary
from tablecloak.render.page import Page
from tablecloak.suppression.result.pattern import SuppressionPattern

__all__ = ["add_explanations"]

MOST_EXPLAINED = 8
"""Most secondary suppressions that a report explains, those of the largest weight first."""

EXPLAINED_CELLS = 5000
"""Cells up to which a report explains any: a tenth of a second for each secondary suppression."""


def add_explanations(page: Page, pattern: SuppressionPattern) -> None:
    """Say of the dearest secondary suppressions who needs them, and by which attack. Secret."""
    problem = pattern.problem
    cells = np.flatnonzero(pattern.secondary & ~problem.forced & ~problem.table.rests)
    if not len(cells) or problem.table.n_cells > EXPLAINED_CELLS:
        return
    dearest = cells[np.argsort(-problem.weights[cells], kind="stable")][:MOST_EXPLAINED]
    page.text(
        f"Why the {len(dearest)} dearest of {len(cells)} secondary suppressions are hidden; of any "
        f"cell `tablecloak explain` tells it, and what publishing it would cost."
    )
    asked = PatternQuestion.of(pattern, (), Budget.of())
    for cell in dearest.tolist():
        found = explain_secondary(asked, cell, with_price=False)
        page.folded(found.heading, "\n".join(found.lines()))
