"""What a pattern withstands, whom it leaves out, and why its cells are hidden, for its makers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tablecloak.render.explained import add_explanations
from tablecloak.render.heat_map import labels_of
from tablecloak.render.hidden_cells import add_hidden_cells, by_rule
from tablecloak.render.page import Page
from tablecloak.render.plotting import new_figure
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["add_pattern"]

MOST_INTERVALS = 30
"""Most sensitive cells whose intervals are drawn, those with the least to spare first."""

MOST_OPEN = 60
"""Most pairs of an insider and an unprotected cell that a report lists."""

MOST_COMPONENTS = 12
"""Most components of hidden cells that a report lists, the most easily disclosed first."""


def add_pattern(
    page: Page, problem: ProtectionProblem, pattern: SuppressionPattern, audit: Audit | None
) -> None:
    """Show how firmly a pattern holds, and list its hidden cells. Secret."""
    if problem.n_sensitive:
        robustness = pattern.robustness
        page.text(f"What an intruder must learn: {robustness.summary()}.")
        page.table(robustness.to_frame().head(MOST_COMPONENTS), index=False)
        add_explanations(page, pattern)
    if pattern.insiders is not None:
        _describe_insiders(page, pattern.insiders)
    if audit is not None and problem.n_sensitive:
        page.table(by_rule(audit))
        page.figure(partial(_intervals_figure, audit), _interval_caption(audit))
    add_hidden_cells(page, pattern, audit)


def _describe_insiders(page: Page, insiders: AgainstInsiders) -> None:
    """Show what protection against insiders costs, and whom it leaves out."""
    page.text(
        "What protection against insiders costs, compared with the pattern against outsiders alone:"
    )
    page.table(insiders.costs())
    for statement in insiders.statements():
        page.text(statement)
    if insiders.open:
        page.table(insiders.to_frame().head(MOST_OPEN), index=False)


def _interval_caption(audit: Audit) -> str:
    shown = "exact" if audit.exact else "proved, at least"
    return (
        f"What an intruder must be left with, and is left with ({shown}), of the "
        f"{min(len(audit.verdicts), MOST_INTERVALS)} sensitive cells with the least to spare, in "
        f"units of the required width"
    )


def _intervals_figure(audit: Audit) -> Any:
    """Bars from the lower to the upper end, around the true value at 0."""
    frame = audit.to_frame().head(MOST_INTERVALS).iloc[::-1]
    width = frame["required_width"].where(frame["required_width"] > 0, 1.0).to_numpy(float)
    truth = frame["value"].to_numpy(float)
    figure, axes = new_figure(7, 1.2 + 0.16 * len(frame))
    rows = np.arange(len(frame))
    for name, colour, size in (("reached", "#457b9d", 3.0), ("required", "#d62828", 1.2)):
        lower = (frame[f"{name}_lower"].to_numpy(float) - truth) / width
        upper = (frame[f"{name}_upper"].to_numpy(float) - truth) / width
        # Long bars are cut: the drawing shows whether the required interval is covered.
        low, high = np.clip(lower, -4, 4), np.clip(upper, -4, 4)
        axes.hlines(rows, low, high, color=colour, linewidth=size, label=name)
    names = labels_of(frame[list(audit.problem.table.keys.columns)])
    axes.set_yticks(
        rows, [name if len(name) < 48 else f"{name[:46]}…" for name in names], fontsize=6
    )
    axes.axvline(0, color="#888888", linewidth=0.6)
    axes.set_xlabel("distance from the true value, in required widths (cut at 4)")
    axes.legend(loc="lower right", fontsize=7)
    return figure
