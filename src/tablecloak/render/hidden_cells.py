"""All hidden cells of a pattern, summed up by rule and listed in parts that are folded away.

A drawing with a bar for each cell says nothing once there are hundreds. A person looks for the
cells of a rule, or for one cell: the find of every browser opens folded parts by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tablecloak.graph import parents_first
from tablecloak.render.page import Page
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["add_hidden_cells", "by_rule"]

MOST_LISTED = 3000
"""Most hidden cells that a page lists; of more, those with least to spare, then the dearest."""

FEW_PARTS = 40
"""Most folded parts; with more, cells are listed in parts of equal length."""

LONG_PART = 200
"""Cells of a part where no hierarchy says how to divide them."""


def by_rule(audit: Audit) -> pd.DataFrame:
    """Sum up the sensitive cells by the rule that found them.

    Returns
    -------
    pandas.DataFrame
        Number of cells, of protected ones, and how much wider than required their intervals are:
        the least and the median, 1 where an interval is exactly as wide as required.
    """
    told = audit.to_frame()
    told = told[told["intruder"] == "external"]
    width = told["required_width"].where(told["required_width"] > 0)
    share = (told["reached_upper"] - told["reached_lower"]) / width
    rules = audit.problem.reasons[told.index.to_numpy()]
    found = pd.DataFrame(
        {
            "rule": [rule or "given" for rule in rules],
            "protected": (told["verdict"] == "protected").to_numpy(),
            "share": share.to_numpy(dtype=np.float64),
        }
    )
    grouped = found.groupby("rule", sort=True)
    return pd.DataFrame(
        {
            "sensitive cells": grouped.size(),
            "protected": grouped["protected"].sum(),
            "least width / required": grouped["share"].min(),
            "median": grouped["share"].median(),
        }
    )


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
        told = audit.to_frame()
        told = told[told["intruder"] == "external"]
        told = told[told.index.isin(rows.index)]
        width = told["required_width"].where(told["required_width"] > 0)
        rows.loc[told.index, "from"] = told["reached_lower"]
        rows.loc[told.index, "to"] = told["reached_upper"]
        rows.loc[told.index, "width / required"] = (
            told["reached_upper"] - told["reached_lower"]
        ) / width
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
