"""Several releases of one table on one risk-utility map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.comparison.measures import Release, guesses, method_of, risk, seen, utility
from tablecloak.cta.adjust import adjust
from tablecloak.cta.preserve import Mean, Regression
from tablecloak.cta.risk import Knowledge
from tablecloak.errors import InputError, TablecloakError
from tablecloak.microdata.frontier import frontier
from tablecloak.microdata.risk_utility import RiskUtilityMap
from tablecloak.page import Page
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Comparison", "compare"]

Method = Callable[[ProtectionProblem], Release]

NOTES = (
    "guessed: share of the sensitive cells that an intruder's guess meets to within their "
    "protection level. From a suppressed table the guess is the midpoint of what follows from "
    "the published cells, from an adjusted one the table found by running the method backwards, "
    "from a rounded one the rounded value. The intruder does not know which guesses are right.",
    "worst_error, mean_error: distance of guess and truth, in protection levels.",
    "value_lost: share of the total value that is suppressed, or changed.",
    "mean_change, median_change, correlation, slope, variance_ratio, distance (Kolmogorov-"
    "Smirnov): published against true values over all cells; suppressed ones as the midpoint.",
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Risk and utility of several releases of one table. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    releases : dict of str to release
    table : pandas.DataFrame
        One row for each release: kind, the measures of risk and utility, loss, bound, seconds.
    failures : dict of str to str
        Methods that gave no release, and why.
    risk_limit : float
        Largest tolerable share of right guesses.
    """

    problem: ProtectionProblem
    releases: dict[str, Release]
    table: pd.DataFrame
    failures: dict[str, str]
    risk_limit: float

    @property
    def map(self) -> RiskUtilityMap:
        """Share of right guesses against the share of the value that is left, 1 - value_lost."""
        points = pd.DataFrame(
            {"risk": self.table["guessed"], "utility": 1 - self.table["value_lost"]}
        )
        on = frontier(points["risk"], points["utility"])
        points = points.assign(
            risk_error=np.nan,
            utility_error=np.nan,
            frontier=np.isin(np.arange(len(points)), on),
        )
        return RiskUtilityMap(points)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each release."""
        return self.table.copy()

    def verdict(self) -> str:
        """Say in plain words which release to take, and what that costs."""
        text = self.map.verdict(self.risk_limit)
        chosen = self.map.best(self.risk_limit)
        if chosen:
            row = self.table.loc[chosen[0]]
            text += (
                f" Of its cells {100 * row['exact']:.3g} % are published exactly; slope of "
                f"published on true values {row['slope']:.4g}, correlation "
                f"{row['correlation']:.4g}."
            )
        failed = "; ".join(f"{name}: {why}" for name, why in self.failures.items())
        return f"{text} No release: {failed}" if failed else text

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the risk-utility map."""
        return self.map.plot(path)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained page for those who decide. Not for publication."""
        page = Page(f"Methods compared: {self.problem.table.name}")
        page.text(self.problem.summary())
        page.heading("Verdict")
        page.text(self.verdict())
        page.heading("Risk and utility")
        page.table(self.table.T)
        page.figure(self.map.plot(), "Right guesses against the share of the value that is left")
        page.heading("What the figures mean")
        for line in NOTES:
            page.text(line)
        page.write(path)

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(self.table.index)}: {self.verdict()}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.verdict())}</p>{self.table.T.to_html()}"


def compare(
    problem: ProtectionProblem,
    releases: Mapping[str, Release | Method] | None = None,
    *,
    knows: Knowledge = "levels",
    risk_limit: float = 0.2,
    time_limit: float = 60.0,
) -> Comparison:
    """Compare releases of one table, or methods applied to it.

    Parameters
    ----------
    problem : ProtectionProblem
    releases : mapping of str to release or callable, optional
        Patterns, adjustments, rounded tables; or functions that make one of the problem. By
        default suppression, plain adjustment, and adjustment that preserves the mean of all
        and the regression of the sensitive cells.
    knows : {"method", "levels", "directions"}, default="levels"
        What the intruder knows of an adjustment besides the relations.
    risk_limit : float, default=0.2
        Share of right guesses that is tolerable, for the verdict.
    time_limit : float, default=60
        Seconds for each default method, and for each attack.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If there is nothing to compare, or a release is of another table.

    Examples
    --------
    >>> import tablecloak as tc
    >>> found = tc.compare(tc.examples.cox_rounded(), time_limit=10)
    >>> list(found.table.index)
    ['suppression', 'adjustment', 'adjustment with statistics']
    """
    given = _default_methods(time_limit) if releases is None else dict(releases)
    if not given:
        raise InputError("There is nothing to compare: give at least one release or method.")
    made: dict[str, Release] = {}
    failures: dict[str, str] = {}
    rows: dict[str, dict[str, object]] = {}
    for name, entry in given.items():
        try:
            release = entry(problem) if callable(entry) else entry
        except TablecloakError as error:
            failures[name] = str(error)
            continue
        kind = method_of(release)
        if not np.array_equal(release.problem.table.values, problem.table.values):
            raise InputError(f"{name!r} is a release of another table.")
        made[name] = release
        values = seen(release)
        found = guesses(release, knows=knows, time_limit=time_limit, values=values)
        rows[name] = {
            "kind": kind,
            **risk(found),
            **utility(release, values),
            "loss": release.loss,
            "bound": release.bound,
            "seconds": release.seconds,
        }
    if not rows:
        raise InputError(f"No method gave a release: {failures}")
    table = pd.DataFrame.from_dict(rows, orient="index")
    return Comparison(problem, made, table, failures, risk_limit)


def _default_methods(time_limit: float) -> dict[str, Method]:
    """Suppression, and adjustment without and with statistics to preserve."""
    statistics = [Mean("all"), Regression("sensitive")]
    return {
        "suppression": lambda problem: suppress(problem, time_limit=time_limit),
        "adjustment": lambda problem: adjust(problem, time_limit=time_limit),
        "adjustment with statistics": lambda problem: adjust(
            problem, preserve=statistics, time_limit=time_limit
        ),
    }
