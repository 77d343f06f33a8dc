"""Several releases of one table on one risk-utility map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.budget import Progress
from tablecloak.comparison.figures import compared, guesses, notes, risk, utility
from tablecloak.comparison.intervals import inferred
from tablecloak.cta.result.adjustment import TOLERABLE_RISK
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.errors import InputError, ModelError, SolverError, TablecloakError, listed
from tablecloak.executors import Executor, SerialExecutor
from tablecloak.protection import PROTECTIONS, required_way
from tablecloak.risk_utility_map import RiskUtilityMap, frontier
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.tabulation.contributed import Contributed

ReleaseMaker = Callable[[ProtectionProblem], Any]


def _in_short(entry: object) -> object:
    return float(f"{entry:.4g}") if isinstance(entry, float) and abs(entry) < SHORT else entry


MEANING = (
    " Risk: the share of the sensitive cells that an attack guesses to within their levels. "
    "Utility: the share of the value that is left."
)

SHORT = 1000
"""Numbers from which all digits before the point are shown."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Risk and utility of several releases of one table. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    releases : dict of str to release
    table : pandas.DataFrame
        One row for each release: kind, factor of the levels, whether it is safe, the measures of
        risk and utility, loss, bound, seconds; for tables of counts also the share of sensitive
        counts that follow exactly, and the mean width of their intervals. `notes` defines each
        column, with its unit.
    failures : dict of str to str
        Methods that gave no release, and why.
    risk_limit : float
        Largest tolerable share of right guesses.
    """

    problem: ProtectionProblem
    releases: dict[str, Any]
    table: pd.DataFrame
    failures: dict[str, str]
    risk_limit: float

    @property
    def map(self) -> RiskUtilityMap:
        """Share of right guesses against the share of the value that is left, 1 - value_lost."""
        return _map(self.table)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each release."""
        return self.table.copy()

    def verdict(self) -> str:
        """Say in plain words which release to take, and what that costs."""
        safe = self.table[self.table["safe"]]
        if not len(safe):
            return "No release protects every sensitive cell as required." + self._others()
        if safe["guessed"].isna().all():
            return "No risk of a release that protects every cell is known." + self._others()
        allowed = _map(safe)
        text = allowed.verdict(self.risk_limit)
        chosen = allowed.best(self.risk_limit)
        if chosen:
            row = self.table.loc[chosen[0]]
            text += (
                f" Of its cells {100 * row['exact']:.3g} % are published exactly; slope of "
                f"published on true values {row['slope']:.4g}, correlation "
                f"{row['correlation']:.4g}."
            )
        else:
            text += self._with_intervals()
        return text + MEANING + self._others()

    def _with_intervals(self) -> str:
        """Name safe releases whose proof holds however many guesses happen to be right."""
        kept = []
        for name, release in self.releases.items():
            way = required_way(release)
            if way.hidden(release) is not None or way.intervals(release) is not None:
                kept += [name] * bool(self.table.loc[name, "safe"])
        if not kept:
            return ""
        return (
            f" The rules are met all the same by {listed(kept)}: every sensitive cell keeps an "
            f"interval as wide as its levels ask for, and nobody can tell which guesses are right."
        )

    def _others(self) -> str:
        unknown = list(self.table.index[self.table["guessed"].isna()])
        unsafe = list(self.table.index[~self.table["safe"]])
        text = f" Not protected as required: {'; '.join(unsafe)}." if unsafe else ""
        if unknown:
            text += f" The attack gave no guess, so that no risk is known: {'; '.join(unknown)}."
        failed = "; ".join(f"{name}: {why}" for name, why in self.failures.items())
        return f"{text} No release: {failed}" if failed else text

    def notes(self) -> list[str]:
        """Say what each column of the table means, and in which unit it is.

        Examples
        --------
        >>> import tablecloak as tc
        >>> found = tc.compare(tc.examples.cox_rounded(), time_limit=10)
        >>> found.notes()[0]
        'safe: whether every sensitive cell is protected by the levels that are required, ...'
        """
        return notes(self.table.columns)

    def measures(self) -> pd.DataFrame:
        """Return the table as pages show it: a method in each column, shares with four digits."""
        return self.table.T.map(_in_short)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the risk-utility map."""
        return self.map.plot(path)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained page for those who decide. Not for publication."""
        showing.page(self).write(path)

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(self.table.index)}: {self.verdict()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def compare(
    problem: ProtectionProblem,
    releases: Mapping[str, Any] | None = None,
    *,
    records: Contributed | None = None,
    level_factors: Sequence[float] = (1.0,),
    knows: str = "levels",
    risk_limit: float = TOLERABLE_RISK,
    time_limit: float = 60.0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare releases of one table, or methods applied to it.

    Parameters
    ----------
    problem : ProtectionProblem
    releases : mapping of str to release or callable, optional
        Patterns, adjustments, rounded and noisy tables; or functions that make one of the problem.
        By default suppression, plain adjustment, adjustment that preserves the mean of all and the
        regression of the sensitive cells, and adjustment by random distances; for a table of
        counts also rounding to base 3 and perturbation by cell keys; with `records` also noise.
    records : Contributed, optional
        The contributions behind the table, as `tablecloak.contributed` returns them. With them
        multiplicative noise of the contributors is compared as well, plain and balanced; without
        them a table cannot get it.
    level_factors : sequence of float, default=(1.0,)
        Methods are applied once for each factor, with all protection levels multiplied by it:
        a sweep from little to much protection. Guesses are always judged by the levels of
        `problem`, so that the points can be compared.
    knows : str, default="levels"
        What the intruder knows of an adjustment besides the relations: "method", "levels" or
        "directions"; see `tablecloak.attack_adjustment`.
    risk_limit : float, default=0.2
        Share of right guesses that is tolerable, for the verdict.
    time_limit : float, default=60
        Seconds for each default method, and for each attack.
    executor : Executor, optional
        Where releases are made and attacked; see `tablecloak.executors`. Processes and dask need
        methods that can be pickled: functions of a module, not lambdas.
    progress : callable, optional
        Called with what is compared so far, two infinite numbers and 0; see `ProgressBar`.

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
    ['suppression', 'adjustment', 'adjustment with statistics', 'adjustment by chance']
    """
    entries = _default_methods(problem, records, time_limit) if releases is None else dict(releases)
    if not problem.table.n_cells:
        raise InputError(
            "There is nothing to compare: the table has no cell. Check the data behind it."
        )
    if not entries:
        raise InputError("There is nothing to compare: give at least one release or method.")
    if not level_factors or min(level_factors) <= 0:
        raise InputError(f"`level_factors` must be greater than 0. Got {list(level_factors)}.")
    wanted = list(_wanted(entries, level_factors))
    tasks = [(problem, name, entry, factor, knows, time_limit) for name, entry, factor in wanted]
    report = progress or (lambda *_: None)
    report(f"0 of {len(tasks)} releases compared", np.inf, -np.inf, 0)
    results = {}
    for number, result in (executor or SerialExecutor()).run(_measured, tasks):
        results[number] = result
        so_far = f"{len(results)} of {len(tasks)} releases compared"
        report(f"{so_far}, last {wanted[number][0]}", np.inf, -np.inf, 0)
    made: dict[str, Any] = {}
    failures: dict[str, str] = {}
    rows: dict[str, dict[str, object]] = {}
    for number, (name, _, _) in enumerate(wanted):
        release, row, failure = results[number]
        if release is None:
            failures[name] = failure
        else:
            made[name], rows[name] = release, row
    if not rows:
        raise InputError(f"No method gave a release: {failures}")
    table = pd.DataFrame.from_dict(rows, orient="index")
    return Comparison(problem, made, table, failures, risk_limit)


def _measured(
    task: tuple[ProtectionProblem, str, Any, float, str, float],
) -> tuple[Any, dict[str, object], str]:
    """Make a release and measure it; runs wherever the executor chooses."""
    problem, name, entry, factor, knows, time_limit = task
    try:
        release = entry(_scaled(problem, factor)) if callable(entry) else entry
    except TablecloakError as error:
        return None, {}, str(error)
    way = compared(release)
    n = problem.table.n_cells
    if not np.array_equal(release.problem.table.values[:n], problem.table.values):
        raise InputError(
            f"{name!r} is a release of another table: its true values differ. Compare releases "
            "of one problem."
        )
    lower, upper = way.ends(release)
    values = (lower + upper) / 2
    try:
        guessed = guesses(release, knows=knows, time_limit=time_limit, values=values)
    except (ModelError, SolverError):
        # The attack found nothing, which says nothing of other attacks.
        risks = dict.fromkeys(risk(TruthGuesses(problem, values[:n][problem.sensitive])), np.nan)
    else:
        # Sums of hidden cells and cells of earlier releases, the last of a release, do not count.
        found = guessed.guesses[np.flatnonzero(release.problem.sensitive) < n]
        if len(found) != problem.n_sensitive:
            # Cells that earlier releases disclose are guessed as well.
            found = values[:n][problem.sensitive]
        risks = risk(TruthGuesses(problem, found, by_chance=guessed.by_chance))
    # How many sensitive counts follow exactly; nothing for tables of other values.
    counted: dict[str, float] = {}
    if problem.table.is_count:
        possible = way.possible(release, lower, upper, time_limit)
        counted = inferred(problem, *(end[:n] for end in possible)) if possible else {}
    row: dict[str, object] = {
        "kind": way.noun,
        "level_factor": factor,
        "safe": way.protects(problem, release, lower[:n], upper[:n]),
        **risks,
        **utility(release, values, n_cells=n),
        **counted,
        **way.figures(problem, release),
        "loss": release.loss,
        "bound": release.bound,
        "seconds": release.seconds,
    }
    return release, row, ""


def _map(table: pd.DataFrame) -> RiskUtilityMap:
    """Return the releases whose risk was measured."""
    table = table[table["guessed"].notna()]
    points = pd.DataFrame({"risk": table["guessed"], "utility": 1 - table["value_lost"]})
    on = frontier(points["risk"], points["utility"])
    return RiskUtilityMap(
        points.assign(
            risk_error=np.nan,
            utility_error=np.nan,
            frontier=np.isin(np.arange(len(points)), on),
        )
    )


def _wanted(
    entries: Mapping[str, Any], factors: Sequence[float]
) -> Iterator[tuple[str, Any, float]]:
    """Each release, and each method for each factor; named by the factor if there are several."""
    for name, entry in entries.items():
        if not callable(entry):
            yield name, entry, 1.0
            continue
        for factor in factors:
            yield f"{name}, levels x {factor:g}" if len(factors) > 1 else name, entry, factor


def _scaled(problem: ProtectionProblem, factor: float) -> ProtectionProblem:
    if factor == 1:
        return problem
    levels = ("lower_protection", "upper_protection", "sliding_protection")
    return problem.with_changes(**{name: factor * getattr(problem, name) for name in levels})


def _default_methods(
    problem: ProtectionProblem, records: Contributed | None, time_limit: float
) -> dict[str, ReleaseMaker]:
    """Return the methods of all ways to protect that fit the table."""
    found: dict[str, ReleaseMaker] = {}
    for way in PROTECTIONS:
        found |= way.methods(time_limit)
        if problem.table.is_count:
            found |= way.methods_for_counts(time_limit)
        if records is not None:
            found |= way.methods_for_records(records)
    return found
