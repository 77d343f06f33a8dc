"""What each kind of result looks like in a notebook; loads all other drawings.

Imported by `tablecloak.showing` when something is first shown.
"""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak import showing
from tablecloak.comparison.figures import notes
from tablecloak.comparison.side_by_side import Comparison
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.render.heat_map import (
    ADJUSTMENT,
    SENSITIVITY,
    SUPPRESSION,
    adjustment_squares,
    for_notebook,
    sensitivity_squares,
    suppression_squares,
)
from tablecloak.render.page import Page
from tablecloak.render.palette import BOUND, LOSS, STATUS, VERDICTS
from tablecloak.render.plotting import add_legend, new_figure, save_secret
from tablecloak.risk_utility_map import RiskUtilityMap
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

MOST_RANGE = 1e8
"""Largest over smallest width on a plot of an audit."""


@showing.page.register
def comparison_page(comparison: Comparison) -> Page:
    """Show the verdict, the measures and the risk-utility map. Secret."""
    page = Page(f"Methods compared: {comparison.problem.table.name}")
    page.text(comparison.problem.summary())
    page.heading("Verdict")
    page.text(comparison.verdict())
    page.heading("Risk and utility")
    page.table(comparison.measures())
    draw = partial(showing.plot, comparison.map)
    page.figure(draw, "Right guesses against the share of the value that is left")
    page.heading("What the figures mean")
    for line in notes(comparison.table.columns):
        page.text(line)
    return page


@showing.plot.register
def plot_protection(audit: Audit, path: str | Path | None = None) -> Any:
    """Draw achieved against required protection on logarithmic axes.

    Points on the diagonal meet the requirement exactly. Intervals without an end lie on the upper
    edge.
    """
    frame = audit.to_frame()
    figure, axes = new_figure(6, 5)
    required = frame["required_width"].to_numpy(dtype=float)
    achieved = (frame["reached_upper"] - frame["reached_lower"]).to_numpy(dtype=float)
    widths = np.concatenate([required, achieved])
    widths = widths[np.isfinite(widths) & (widths > 0)]
    # What is narrower by far is an exact value, and lies on the edge.
    floor = max(float(widths.min(initial=np.inf)), float(required.max(initial=1)) / MOST_RANGE) / 2
    widest = float(achieved[np.isfinite(achieved)].max(initial=1))
    ends = [floor, max(float(required.max(initial=1)), widest) * 1.3]
    achieved = np.minimum(achieved, ends[1])
    for verdict, colour in VERDICTS.items():
        chosen = (frame["verdict"] == verdict).to_numpy()
        label = f"{verdict} ({int(chosen.sum())})"
        places = np.maximum(required[chosen], floor), np.maximum(achieved[chosen], floor)
        axes.scatter(*places, s=14, color=colour, label=label, alpha=0.7)
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set_xlabel("required width of the intruder's interval")
    axes.set_ylabel("exact width" if audit.exact else "width proved so far (at least)")
    axes.set_title("Internal: audit of a suppression pattern")
    add_legend(figure)
    return save_secret(figure, path)


@showing.plot.register
def plot_pattern(pattern: SuppressionPattern, path: str | Path | None = None) -> Any:
    """Draw how many cells of each level of detail are published, hidden, and sensitive."""
    depth, statuses = pattern.problem.table.depths(), pattern.statuses()
    levels = np.unique(depth)
    figure, axes = new_figure(7, 4)
    below = np.zeros(len(levels))
    for status in ("published", "secondary", "primary"):
        counts = np.array([np.sum((depth == level) & (statuses == status)) for level in levels])
        label = f"{status} ({counts.sum():,})"
        axes.bar(levels, counts, bottom=below, color=_colour(status), label=label)
        below += counts
    axes.set(xlabel="steps below the grand total", ylabel="cells", xticks=levels)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_title("Internal: suppression pattern")
    add_legend(figure)
    return save_secret(figure, path)


def _colour(status: str) -> str:
    return STATUS.get(status, STATUS["suppressed"])[0]


@showing.plot.register
def plot_adjustment(adjusted: Adjustment, path: str | Path | None = None) -> Any:
    """Draw the change of each cell against its true value, the sensitive ones in red."""
    problem = adjusted.problem
    figure, axes = new_figure(7, 4)
    for name, chosen in (("others", ~problem.sensitive), ("sensitive", problem.sensitive)):
        colour = _colour("primary" if name == "sensitive" else "published")
        label = f"{name} ({int(chosen.sum()):,})"
        places = problem.table.values[chosen], (adjusted.values - problem.table.values)[chosen]
        axes.scatter(*places, s=12, alpha=0.7, color=colour, label=label)
    axes.set(xlabel="true value", ylabel="change", xscale="symlog", yscale="symlog")
    axes.set_title("Internal: adjusted table")
    add_legend(figure)
    return save_secret(figure, path)


@showing.plot.register
def plot_risk_utility(shown: RiskUtilityMap, path: str | Path | None = None) -> Any:
    """Draw each method with two standard errors each way."""
    figure, axes = new_figure(7, 5)
    table = shown.table
    axes.errorbar(
        table["risk"],
        table["utility"],
        xerr=2 * table["risk_error"].fillna(0),
        yerr=2 * table["utility_error"].fillna(0),
        fmt="o",
        color=BOUND,
        elinewidth=0.8,
    )
    on = table[table["frontier"]].sort_values("risk")
    axes.plot(on["risk"], on["utility"], color=LOSS, linewidth=1, label="frontier")
    middle = (table["risk"].min() + table["risk"].max()) / 2
    for name, row in table.iterrows():
        # Names stand on the side with more room.
        right = row["risk"] <= middle
        axes.annotate(
            str(name),
            (row["risk"], row["utility"]),
            textcoords="offset points",
            xytext=(5 if right else -5, 4),
            ha="left" if right else "right",
            fontsize=8,
        )
    axes.set_xlabel("risk")
    axes.set_ylabel("utility")
    add_legend(figure)
    return save_secret(figure, path)


@showing.html.register
def _(problem: ProtectionProblem) -> str:
    square = sensitivity_squares(problem)
    return for_notebook(problem.summary(), problem.table, square, SENSITIVITY)


@showing.html.register
def _(pattern: SuppressionPattern) -> str:
    square = suppression_squares(pattern.problem, pattern.statuses())
    return for_notebook(pattern.verdict(), pattern.problem.table, square, SUPPRESSION)


@showing.html.register
def _(adjusted: Adjustment | RoundedTable) -> str:
    square = adjustment_squares(adjusted.problem, adjusted.values.astype(np.float64))
    return for_notebook(adjusted.verdict(), adjusted.problem.table, square, ADJUSTMENT)


@showing.html.register
def _(comparison: Comparison) -> str:
    return f"<p>{escape(comparison.verdict())}</p>{comparison.measures().to_html()}"
