"""What a pattern withstands, whom it leaves out, and why its cells are hidden, for its makers.

A drawing with a bar for each cell says nothing once there are hundreds. A person looks for the
cells of a rule, or for one cell: the find of every browser opens folded parts by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.budget import Budget
from tablecloak.explaining.hidden_cell import explain_secondary
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.graph import parents_first
from tablecloak.render.heat_map import labels_of
from tablecloak.render.page import Page
from tablecloak.render.palette import BOUND, LOSS
from tablecloak.render.plotting import add_legend, new_figure
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.groups import named_groups
from tablecloak.suppression.attack.intruder import parse_intruders
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

MOST_EXPLAINED = 8
"""Most secondary suppressions that a report explains, those of the largest weight first."""

EXPLAINED_CELLS = 5000
"""Cells up to which a report explains any: a tenth of a second for each secondary suppression."""

EXPLAINED_SECONDS = 10.0
"""Seconds for these explanations where insiders attack too; what is not settled then says so."""

MOST_LISTED = 3000
"""Most hidden cells that a page lists; of more, those with least to spare, then the dearest."""

FEW_PARTS = 40
"""Most folded parts; with more, cells are listed in parts of equal length."""

LONG_PART = 200
"""Cells of a part where no hierarchy says how to divide them."""

MOST_INTERVALS = 30
"""Most sensitive cells whose intervals are drawn, those with the least to spare first."""

MOST_OPEN = 60
"""Most pairs of an insider and an unprotected cell, and most groups, that a report lists."""

ABOUT_GROUPS = (
    "Sensitive groups are hidden cells of one relation whose sum everybody can compute from the "
    "published ones, and a rule finds unsafe: whoever knows one part of it estimates the others. "
    "`groups = true` in [suppression] protects such sums as well."
)
"""What the groups are that an audit counts."""

MOST_COMPONENTS = 12
"""Most components of hidden cells that a report lists, the most easily disclosed first."""

ABOUT_COMPONENTS = {
    "cells": "hidden cells",
    "sensitive": "sensitive cells",
    "dimension": "values that tell all others",
    "told": "most sensitive cells that one value tells",
}
"""What the columns of `Robustness.to_frame` mean, for people."""


def add_explanations(page: Page, pattern: SuppressionPattern) -> None:
    """Say of the dearest secondary suppressions who needs them, and by which attack. Secret."""
    problem = pattern.problem
    cells = np.flatnonzero(pattern.secondary & ~problem.forced & ~problem.table.rests)
    if not len(cells) or problem.table.n_cells > EXPLAINED_CELLS:
        return
    dearest = cells[np.argsort(-problem.weights[cells], kind="stable")][:MOST_EXPLAINED]
    page.text(
        f"Why cells are hidden that are not sensitive: the {len(dearest)} that cost most of "
        f"{len(cells)}. `tablecloak explain` says it of any cell, and what it would cost to "
        f"publish it."
    )
    # Cells that outsiders do not need hidden may be needed against the insiders of the search.
    insiders = pattern.insiders
    names = [] if insiders is None else [name for name, n in insiders.intruders.items() if n]
    budget = Budget.of(EXPLAINED_SECONDS) if names else Budget.of()
    asked = PatternQuestion.of(pattern, parse_intruders(names), budget)
    for cell in dearest.tolist():
        found = explain_secondary(asked, cell, with_price=False)
        page.folded(found.heading, "\n".join(found.lines()))


def by_rule(audit: Audit) -> pd.DataFrame:
    """Sum up the sensitive cells by the rule that found them.

    Returns
    -------
    pandas.DataFrame
        Number of cells, of protected ones, and how much wider than required their intervals are:
        the least and the median, 1 where an interval is exactly as wide as required.
    """
    verdicts = _external(audit)
    rules = audit.problem.reasons[verdicts.index.to_numpy()]
    cells = pd.DataFrame(
        {
            "rule": [rule or "given" for rule in rules],
            "protected": (verdicts["verdict"] == "protected").to_numpy(),
            "share": verdicts["share"].to_numpy(dtype=np.float64),
        }
    )
    grouped = cells.groupby("rule", sort=True)
    return pd.DataFrame(
        {
            "sensitive cells": grouped.size(),
            "protected": grouped["protected"].sum(),
            "least width / required": grouped["share"].min(),
            "median width / required": grouped["share"].median(),
        }
    )


def _external(audit: Audit) -> pd.DataFrame:
    """Return what the external intruder reaches, with the width as a share of what is required."""
    verdicts = audit.to_frame()
    verdicts = verdicts[verdicts["intruder"] == "external"]
    width = verdicts["required_width"].where(verdicts["required_width"] > 0)
    return verdicts.assign(share=(verdicts["reached_upper"] - verdicts["reached_lower"]) / width)


def add_hidden_cells(page: Page, pattern: SuppressionPattern, audit: Audit | None) -> None:
    """List the hidden cells of a pattern in folded parts.

    Parameters
    ----------
    page : Page
        Secret: values and intervals are shown.
    pattern : SuppressionPattern
    audit : Audit, optional
        Tells how wide the intervals of sensitive cells are.
    """
    problem = pattern.problem
    hidden = np.flatnonzero(pattern.suppressed & ~problem.table.rests)
    if not len(hidden):
        return
    rows = _rows(problem, hidden, audit)
    page.heading("Hidden cells, one by one")
    left_out = f" The {MOST_LISTED:,} that matter most are listed." * (len(rows) > MOST_LISTED)
    page.text(
        f"{len(rows):,} cells are hidden: {int(problem.sensitive[hidden].sum()):,} sensitive ones, "
        f"those with least to spare first, and others that protect them, the dearest first."
        f"{left_out} The find of your browser opens the part in which it finds a code."
    )
    shown = rows.head(MOST_LISTED)
    for title, part in _parts(problem, shown).items():
        page.table(part, index=False, folded=f"{title}: {len(part)} hidden")


def _rows(problem: ProtectionProblem, hidden: np.ndarray, audit: Audit | None) -> pd.DataFrame:
    """Return a row for each hidden cell, in the order in which they matter."""
    sensitive = problem.sensitive[hidden]
    rows = problem.table.keys.iloc[hidden].assign(
        value=problem.table.values[hidden],
        status=np.where(sensitive, "primary", "secondary"),
        rule=np.where(sensitive, problem.reasons[hidden], ""),
        cost=problem.weights[hidden],
    )
    rows["from"], rows["to"], rows["width / required"] = np.nan, np.nan, np.nan
    if audit is not None:
        verdicts = _external(audit)
        verdicts = verdicts[verdicts.index.isin(rows.index)]
        rows.loc[verdicts.index, "from"] = verdicts["reached_lower"]
        rows.loc[verdicts.index, "to"] = verdicts["reached_upper"]
        rows.loc[verdicts.index, "width / required"] = verdicts["share"]
    order = np.lexsort((-rows["cost"], rows["width / required"], ~sensitive))
    return rows.iloc[order]


def _parts(problem: ProtectionProblem, rows: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Divide rows by the highest codes of the longest dimension; without one, by length."""
    trees = problem.table.hierarchies
    if trees:
        name = max(trees, key=lambda each: len(trees[each].codes))
        children = dict(reversed(trees[name].groups))
        top = {
            code: highest
            for highest in children.get(trees[name].total, ())
            for code, _ in parents_first([highest], children)
        }
        titles = rows[name].astype(str).map(lambda code: f"{name} {top.get(code, code)}")
        if 1 < titles.nunique() <= FEW_PARTS:
            return {str(title): part for title, part in rows.groupby(titles, sort=False)}
    starts = range(0, len(rows), LONG_PART)
    return {
        f"Cells {start + 1} to {min(start + LONG_PART, len(rows))}": rows.iloc[
            start : start + LONG_PART
        ]
        for start in starts
    }


def add_pattern(
    page: Page, problem: ProtectionProblem, pattern: SuppressionPattern, audit: Audit | None
) -> None:
    """Show how firmly a pattern holds, and list its hidden cells. Secret."""
    if problem.n_sensitive:
        robustness = pattern.robustness
        text = robustness.summary()
        page.text(f"{text[0].upper()}{text[1:]}. By parts of the table that depend on one another:")
        components = robustness.to_frame().head(MOST_COMPONENTS).rename(columns=ABOUT_COMPONENTS)
        page.table(components, index=False, caption="Hidden cells that depend on one another")
        add_explanations(page, pattern)
    insiders = pattern.insiders
    if insiders is not None:
        _describe_insiders(page, insiders)
    groups, grouped = ([], problem) if audit is None else (audit.groups, audit.problem)
    if not groups and insiders is not None and insiders.groups is not None:
        groups, grouped = insiders.groups[1], insiders.problem
    if groups:
        page.text(ABOUT_GROUPS)
        shown = named_groups(grouped, groups[:MOST_OPEN])
        page.table(shown, index=False, caption="Sensitive groups")
    if audit is not None and problem.n_sensitive:
        page.text(
            f"Sensitive cells by the rule that found them, and how wide the interval is that an "
            f"outsider is left with of each{'' if audit.exact else ', as far as that is proved'}: "
            f"1 is the width that is required, and more is safer."
        )
        page.table(by_rule(audit), caption="Sensitive cells by rule")
        page.figure(partial(_intervals_figure, audit), _interval_caption(audit))
    add_hidden_cells(page, pattern, audit)


def _describe_insiders(page: Page, insiders: AgainstInsiders) -> None:
    """Show what protection against insiders costs, and whom it leaves out."""
    page.text(
        "What protection against insiders costs, compared with the pattern against outsiders "
        "alone. The loss is the sum of the costs of all hidden cells, which are their values "
        "unless `weights` or `cost` says otherwise:"
    )
    page.table(insiders.costs(), caption="What protection against insiders costs")
    for statement in insiders.statements():
        page.text(statement)
    if insiders.open:
        shown = insiders.to_frame().head(MOST_OPEN)
        page.table(shown, index=False, caption="Insiders against whom cells are not protected")


def _interval_caption(audit: Audit) -> str:
    shown = "exact" if audit.exact else "proved, at least"
    number = min(len(audit.verdicts), MOST_INTERVALS)
    return (
        f"Intervals of the {number} sensitive cells with the least to spare: what an "
        f"intruder is left with ({shown}) must cover what is required"
    )


def _intervals_figure(audit: Audit) -> Any:
    """Bars from the lower to the upper end, around the true value at 0."""
    frame = audit.to_frame().head(MOST_INTERVALS).iloc[::-1]
    width = frame["required_width"].where(frame["required_width"] > 0, 1.0).to_numpy(float)
    truth = frame["value"].to_numpy(float)
    figure, axes = new_figure(7, 1.2 + 0.16 * len(frame))
    rows = np.arange(len(frame))
    for name, colour, size in (("reached", BOUND, 3.0), ("required", LOSS, 1.2)):
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
    add_legend(figure)
    return figure
