"""The report for those who made a release: true values, statuses, intervals, and the search."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
import pandas as pd

from tablecloak.comparison.figures import notes
from tablecloak.comparison.side_by_side import compare
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.history import History
from tablecloak.render.explained import add_explanations
from tablecloak.render.heat_map import (
    ADJUSTMENT,
    SUPPRESSION,
    add_heat_map,
    adjustment_squares,
    labels_of,
    suppression_squares,
)
from tablecloak.render.hidden_cells import add_hidden_cells, by_rule
from tablecloak.render.page import Page
from tablecloak.render.plotting import new_figure
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Finding", "internal_report"]

COMPARED_CELLS = 5000
"""Cells up to which a report compares two releases: two programs for each suppressed cell."""

COMPARISON_SECONDS = 10.0
"""Time limit of each attack of that comparison."""

MOST_INTERVALS = 30
"""Most sensitive cells whose intervals are drawn, those with the least to spare first."""

MOST_OPEN = 60
"""Most pairs of an insider and an unprotected cell that a report lists."""

MOST_WAIVERS = 60
"""Most contributors whose waivers a report lists, those that save most first, of each variable."""

MOST_COMPONENTS = 12
"""Most components of hidden cells that a report lists, the most easily disclosed first."""

Release = SuppressionPattern | Adjustment


class Judged(Protocol):
    """An audit of any release."""

    def summary(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Finding:
    """One release with its audit and the history of its search.

    Parameters
    ----------
    release : SuppressionPattern or Adjustment
    audit : Audit or audit of another release or None
    history : History or None
    """

    release: Release
    audit: Judged | None = None
    history: History | None = None


def internal_report(
    title: str,
    problem: ProtectionProblem,
    findings: Sequence[Finding],
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
    findings : sequence of Finding
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
    for finding in findings:
        _describe(page, problem, finding)
    if compared and len(findings) > 1 and problem.table.n_cells <= COMPARED_CELLS:
        _compare(page, problem, findings)
    if waivers is not None:
        _describe_waivers(page, waivers)
    page.heading("How it was done")
    page.table(_made_with(settings or {}), index=False)
    if source:
        page.code(source)
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


def _compare(page: Page, problem: ProtectionProblem, findings: Sequence[Finding]) -> None:
    """Put all releases on one risk-utility map."""
    releases: dict[str, Any] = {_name(each.release): each.release for each in findings}
    comparison = compare(problem, releases, time_limit=COMPARISON_SECONDS)
    page.heading("Risk and utility")
    page.text(comparison.verdict())
    page.table(comparison.table.T)
    page.figure(comparison.map.plot, "Right guesses against the share of the value that is left")
    for line in notes():
        page.text(line)


def _name(release: Release) -> str:
    return "suppression" if isinstance(release, SuppressionPattern) else "adjustment"


def _describe(page: Page, problem: ProtectionProblem, finding: Finding) -> None:
    release = finding.release
    name = _name(release)
    page.heading(name.capitalize())
    page.text(release.summary())
    if finding.audit is not None:
        page.text(finding.audit.summary())
    for note in release.notes:
        page.text(f"Note: {note}")
    if isinstance(release, SuppressionPattern):
        legend, square = SUPPRESSION, suppression_squares(problem, release.statuses())
    else:
        legend, square = ADJUSTMENT, adjustment_squares(problem, release.values)
    page.legend(legend)
    add_heat_map(page, problem.table.keys, problem.table.hierarchies, square)
    if isinstance(release, SuppressionPattern) and problem.n_sensitive:
        robustness = release.robustness
        page.text(f"What an intruder must learn: {robustness.summary()}.")
        page.table(robustness.to_frame().head(MOST_COMPONENTS), index=False)
        add_explanations(page, release)
    if isinstance(release, SuppressionPattern) and release.insiders is not None:
        _describe_insiders(page, release.insiders)
    if isinstance(finding.audit, Audit) and problem.n_sensitive:
        page.table(by_rule(finding.audit))
        page.figure(partial(_intervals_figure, finding.audit), _interval_caption(finding.audit))
    if isinstance(release, SuppressionPattern):
        add_hidden_cells(page, release, finding.audit if isinstance(finding.audit, Audit) else None)
    if isinstance(release, Adjustment) and problem.n_sensitive:
        rows = {
            subset: vars(release.moments(subset))
            for subset in ("sensitive", "all")
        }  # fmt: skip
        page.table(pd.DataFrame.from_dict(rows, orient="index"))
    if finding.history is not None and len(finding.history.steps) > 1:
        draw = partial(_search_figure, finding.history)
        page.figure(draw, f"Search of the {name}: loss and proved bound")


def _describe_insiders(page: Page, told: AgainstInsiders) -> None:
    """Show what protection against insiders costs, and whom it leaves out."""
    page.text(
        "What protection against insiders costs, compared with the pattern against outsiders alone:"
    )
    page.table(told.costs())
    for statement in told.statements():
        page.text(statement)
    if told.open:
        page.table(told.to_frame().head(MOST_OPEN), index=False)


def _describe_waivers(page: Page, waivers: pd.DataFrame) -> None:
    """Show what would be sensitive, and so hidden, without each waiver."""
    page.heading("Waivers")
    page.text(
        "Cells that would be sensitive if a waiver were taken back, and those of them that are "
        "published: without it every pattern hides them. Who waived still attacks; nobody is "
        "protected from insiders in a cell that is safe because of waivers."
    )
    if "variable" in waivers:
        for variable, rows in waivers.groupby("variable", sort=False):
            page.text(f"What waivers save in {variable}:")
            _list_waivers(page, rows.drop(columns="variable"))
    else:
        _list_waivers(page, waivers)


def _list_waivers(page: Page, waivers: pd.DataFrame) -> None:
    """Show the waivers of one variable, those that save most first."""
    together = waivers["waiver"] == "any"
    saving = waivers[(waivers["cells"] > 0) & ~together]
    page.table(pd.concat([saving.head(MOST_WAIVERS), waivers[together]]), index=False)
    idle = int((~together).sum()) - len(saving)
    if idle:
        page.text(f"{idle} waivers of large contributors save no cell.")


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


def _search_figure(history: History) -> Any:
    frame = history.to_frame()
    figure, axes = new_figure(7, 3)
    for name, colour in (("loss", "#d62828"), ("bound", "#457b9d")):
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
