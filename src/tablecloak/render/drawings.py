"""What each kind of result looks like in a notebook; loads all other drawings.

Imported by `tablecloak.showing` when something is first shown.
"""

from __future__ import annotations

from html import escape

import numpy as np

from tablecloak import showing
from tablecloak.comparison.side_by_side import Comparison
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.render import (
    comparison_page,
    protection_plot,
    risk_utility_plot,
)
from tablecloak.render.heat_map import (
    ADJUSTMENT,
    SENSITIVITY,
    SUPPRESSION,
    adjustment_squares,
    for_notebook,
    sensitivity_squares,
    suppression_squares,
)
from tablecloak.suppression.intervals.intervals import IntervalPattern
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

__all__ = [
    "comparison_page",
    "protection_plot",
    "risk_utility_plot",
]

FIRST_CELLS = 10
"""Cells of a table that a notebook shows."""


@showing.html.register
def _(table: Table) -> str:
    head = table.to_frame().head(FIRST_CELLS)
    return f"<p>{escape(table.summary())}</p>{head.to_html(index=False)}"


@showing.html.register
def _(problem: ProtectionProblem) -> str:
    table, square = problem.table, sensitivity_squares(problem)
    return for_notebook(problem.summary(), table.keys, table.hierarchies, square, SENSITIVITY)


@showing.html.register
def _(pattern: SuppressionPattern) -> str:
    table, square = (
        pattern.problem.table,
        suppression_squares(pattern.problem, pattern.statuses()),
    )
    return for_notebook(pattern.summary(), table.keys, table.hierarchies, square, SUPPRESSION)


@showing.html.register
def _(intervals: IntervalPattern) -> str:
    return f"<p>{escape(intervals.summary())}</p>"


@showing.html.register
def _(adjusted: Adjustment | RoundedTable) -> str:
    table = adjusted.problem.table
    square = adjustment_squares(adjusted.problem, adjusted.values.astype(np.float64))
    return for_notebook(adjusted.summary(), table.keys, table.hierarchies, square, ADJUSTMENT)


@showing.html.register
def _(comparison: Comparison) -> str:
    return f"<p>{escape(comparison.verdict())}</p>{comparison.table.T.to_html()}"
