"""Partial suppression: publish intervals instead of gaps, as narrow as protection allows.

Cell i is published as [a_i - v-_i, a_i + v+_i]; an intruder who uses these intervals as bounds
must still not come closer to a sensitive cell than its levels. That is a linear program over
v: for every multiplier gamma of the relations, with alpha - beta = e_p - A^T gamma::

    sum_i (alpha_i v+_i + beta_i v-_i) >= UPL_p

(and likewise downwards and for the width). A successful attack gives a row. Each attack is on a
point between the best proved intervals and those of the relaxation, so that every round either
improves the former or cuts off the latter.

Ends are rounded outwards to the decimals of the table, and the proof is made again within them.

References
----------
.. [1] Fischetti, Salazar: Partial cell suppression: a new methodology for statistical
   disclosure control, Statistics and Computing 13 (2003).
.. [2] Ben-Ameur, Neto: Acceleration of cutting-plane and column generation algorithms,
   Networks 49 (2007) (separation between an inner and an outer point).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Progress, generator
from tablecloak.certificates.claim import Claim
from tablecloak.errors import InputError
from tablecloak.results import OPTIMAL, in_percent
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.external_bounds import (
    each_unprotected_named,
    with_finite_bounds,
    with_intervals,
)
from tablecloak.suppression.intervals.search import (
    HOWEVER_WIDE,
    IntervalSearch,
    envelope,
    system_of,
    wide_open,
)
from tablecloak.suppression.proof.joining import certificate_of
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.proof.refuted import ROOM_SHARE
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.claims import interval_claims, proved_widths_bound
from tablecloak.suppression.rows.master import Row
from tablecloak.suppression.search.merging import Renaming, merged_for, spread_pool
from tablecloak.suppression.search.weighing import Weighing
from tablecloak.suppression.system.needs import asked_of, decimals_of, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System
from tablecloak.tables.changes.derived_figures import require_no_figures
from tablecloak.tables.changes.merged_cells import MergedCells
from tablecloak.tables.problem import ProtectionProblem, require_problem
from tablecloak.tables.protected_table import NEARLY, ProtectedTable
from tablecloak.tables.published import published_intervals
from tablecloak.tables.weights import WeightRule

NOISE = 3e-7
"""Share of a width that may be the solver's rounding error, or its repair (`ROUNDED`). Ends are
first rounded without this share."""

SPARE = 64
"""Units in the last place by which an end is moved on before it is rounded outwards again."""

DIGITS = 3
"""Digits of a width to which ends are rounded where values are no decimal numbers."""

MOST_BLUR = 1000
"""Largest blur; beyond it nothing is left of a cell that could be read."""


def outwards(problem: ProtectionProblem, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Cut intervals at the external bounds, then round their ends outwards to the last digit.

    The digits are those of the table; where its values are no decimal numbers, the first digits
    of each width. An end that rounding moves beyond an external bound does no harm.
    """
    open_ = upper > lower
    lower, upper = np.maximum(lower, problem.lower_bound), np.minimum(upper, problem.upper_bound)
    decimals = decimals_of(problem)
    if decimals is None:
        width = np.where(open_, upper - lower, 1.0)
        places = np.clip(DIGITS - 1 - np.floor(np.log10(width)), -300, 300)
    else:
        places = np.full(len(upper), float(decimals))
    lower = np.where(open_, _rounded(lower, places, np.floor), lower)
    upper = np.where(open_, _rounded(upper, places, np.ceil), upper)
    forced = problem.forced
    return (
        np.where(forced, problem.lower_bound, lower),
        np.where(forced, problem.upper_bound, upper),
    )


def _rounded(ends: Floats, places: Floats, towards: np.ufunc) -> Floats:
    """Round to a number of decimals; a power of ten divides exactly what it is a factor of."""
    power = 10.0 ** np.abs(places)
    scaled = np.where(places >= 0, ends * power, ends / power)
    # A decimal number is read as such, though its product with a power of ten is off by a digit.
    near = np.rint(scaled)
    back = np.where(places >= 0, near / power, near * power)
    whole = np.where(back == ends, near, towards(scaled))
    found: Floats = np.where(places >= 0, whole / power, whole * power)
    return found


def blurred(
    up: Floats, down: Floats, blur: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Widen both sides by random shares of the width, so that no end tells the true value."""
    width = up + down
    return (
        up + blur * random.random(len(up)) * width / 2,
        down + blur * random.random(len(up)) * width / 2,
    )


@dataclass(frozen=True, eq=False)
class IntervalBound:
    """The proof of a search that no protected intervals lose less than a bound.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    rows : list of Row
    multipliers : numpy.ndarray of float, shape (n_rows,)
        Increase of the bound for each unit of the level that a row requires.
    """

    problem: ProtectionProblem
    requirement: Requirement
    rows: list[Row]
    multipliers: Floats

    @classmethod
    def of(
        cls, search: IntervalSearch, merged: MergedCells, requirement: Requirement
    ) -> IntervalBound:
        """Return the bound of the given problem that a search on the merged one proved."""
        renaming, master = Renaming.of_groups(merged), search.master
        # Rows added after the last program was solved have no multiplier.
        rows = search.rows[: len(search.duals)]
        asked = np.array([master.need(row) for row in rows]).reshape(-1)
        multipliers = np.maximum(search.duals, 0.0) * master.loss_of(1.0)
        return cls(
            merged.given,
            requirement,
            [renaming.of(row) for row in rows],
            multipliers / (asked * search.system.unit),
        )


@dataclass(frozen=True, eq=False, repr=False)
class IntervalPattern(ProtectedTable):
    """Intervals to publish, with the proof that they protect.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Ends to publish; equal where the value itself is published. For a cell that must be
        suppressed without being sensitive they are the external bounds, perhaps infinite.
    requirement : Requirement
    certificate : ProtectionCertificate
        Proof that an intruder who uses the intervals as bounds comes no closer than allowed.
    bound_certificate : IntervalBound
    bound : float
        Proved lower bound on the loss of any protected intervals.
    narrowest : float
        Loss of the best intervals found, before they were blurred and rounded.
    seconds : float
    notes : tuple of str
    """

    promise: ClassVar[str] = (
        "It is proved that nobody who knows the published intervals and values, their sums and the "
        "external bounds can estimate a sensitive cell more closely than its levels allow."
    )
    price: ClassVar[str] = "left open beyond the least that the levels ask"
    saving: ClassVar[str] = "nothing as safe leaves less open"

    problem: ProtectionProblem
    lower: Floats
    upper: Floats
    requirement: Requirement
    certificate: ProtectionCertificate
    bound_certificate: IntervalBound
    bound: float
    narrowest: float
    seconds: float
    notes: tuple[str, ...] = field(default=())
    time_limit: float = np.inf
    ran_out: bool = False

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return all claims about the intervals, each with its proof. Secret."""
        proof, proved = self.certificate, self.bound_certificate
        return interval_claims(
            proof, (self.lower, self.upper), self.problem, self.loss, self.bound,
            proved.rows, proved.multipliers,
        )  # fmt: skip

    def proved_bound(self) -> float:
        """Return the bound on the loss that its claim proves; no solver is called."""
        proof = self.bound_certificate
        return proved_widths_bound(
            (self.lower, self.upper), self.problem, self.requirement, self.loss,
            proof.rows, proof.multipliers,
        )  # fmt: skip

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell."""
        return self.lower, self.upper

    @property
    def hidden(self) -> Flags:
        """Which cells are published as an interval."""
        flags: Flags = self.upper > self.lower
        return flags

    @property
    def loss(self) -> float:
        """Sum of widths, each times the weight of its cell; forced cells do not count."""
        counted = ~self.problem.forced
        return float((self.problem.weights[counted] * (self.upper - self.lower)[counted]).sum())

    @property
    def unavoidable(self) -> float:
        """Loss of the widths that the levels of the sensitive cells demand."""
        needs = asked_of(self.problem, self.requirement)
        width = np.maximum(needs.upper + needs.lower, needs.width)
        return float(_costs(self.problem)[needs.cells] @ width)

    def release(self) -> pd.DataFrame:
        """Return the table that may be published: codes and both ends, equal for exact values."""
        return published_intervals(self.problem.table, self.lower, self.upper)

    def summary(self) -> str:
        """Return in one line the number of intervals, loss, bound and gap. Names no value."""
        return (
            f"partial suppression ({self.requirement.value}): {int(self.hidden.sum())} of "
            f"{self.problem.table.n_cells} cells as intervals, {self.problem.n_sensitive} "
            f"sensitive cells proved, loss {self.loss:,.12g} ({self.narrowest:,.12g} before "
            f"blurring, bound {self.bound:,.12g}, {self._gaps()}), {self.seconds:.1f} s"
        )

    def _safety(self) -> Iterator[str]:
        n = self.problem.n_sensitive
        yield (
            f"Safe against all who know the published intervals and values, their sums and the "
            f"external bounds: proved for {n} of {n} sensitive cells{self.requirement.caveat}."
        )

    def _extent(self) -> str:
        n, wide = self.problem.table.n_cells, int(self.hidden.sum())
        return f"As intervals: {wide:,} of {n:,} cells ({in_percent(wide, n)})."

    def _quality(self) -> str:
        """How near the release is to the best one, and how much of that is added on purpose."""
        added = self.loss - self.narrowest
        if self.is_optimal or added <= OPTIMAL * self.loss or self.avoidable_gap >= 1.0:
            return super()._quality()
        part = 100 * added / (self.loss - self.unavoidable)
        said = super()._quality().removesuffix(".")
        return f"{said}; rounding and blurring of the ends add {part:.0f} %."

    @property
    def _is_open(self) -> bool:
        """Whether more search may give narrower ends; what is added to these it cannot save."""
        choice = self.narrowest - self.unavoidable
        return self.narrowest - self.bound > NEARLY * max(choice, OPTIMAL * self.loss)


@on_chosen_solver
def publish_intervals(
    problem: ProtectionProblem,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    weights: WeightRule | str | None = WeightRule.RELATIVE,
    blur: float = 1.0,
    time_limit: float = 60.0,
    seed: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> IntervalPattern:
    """Find the narrowest intervals that protect every sensitive cell, with a proved bound.

    Parameters
    ----------
    problem : ProtectionProblem
    require : Requirement or str, default="two-sided"
        What counts as protected.
    weights : WeightRule or str, optional
        Loss of one unit of width, by default 1 / |value|; None keeps the problem's weights.
    blur : float, default=1
        Largest random share of the width by which each side is widened. Without blur the true value
        is often the midpoint, or exactly its level away from an end.
    time_limit : float, default=60
        Time limit in seconds; a first set of intervals is always completed.
    seed : int, optional
        Seed of the blur, by default a random one. Secret: whoever knows it can undo the blur.
    progress : callable, optional
        Called with stage, loss, bound and number of rows.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    IntervalPattern
        Its certificate has been verified. Guarantee: an intruder who uses all published
        intervals and values, all relations and external bounds cannot exclude a value closer
        than the levels ask; docs/guarantees.md, section 5.

    Raises
    ------
    ModelError
        If a cell cannot be protected at all.
    VerificationError
        If the proof of the intervals found does not pass its check.

    Examples
    --------
    >>> import tablecloak as tc
    >>> found = tc.publish_intervals(tc.examples.cox_rounded(), blur=0, weights="unit")
    >>> found.loss, round(found.bound, 6)
    (484.0, 484.0)
    """
    require_problem(problem)
    require_no_figures(problem, "A publication of intervals")
    budget = Budget.begun(time_limit, progress=progress)
    if not 0 <= blur <= MOST_BLUR:
        raise InputError(f"`blur` must be from 0 to {MOST_BLUR}. Got {blur!r}.")
    random = generator(seed)
    requirement = Requirement.parse(require)
    problem = Weighing(weights).change(problem).problem
    merged = _merged(problem, requirement, budget)
    search = IntervalSearch(merged, merged.total(_costs(merged.given)), budget)
    naming = each_unprotected_named(merged.given, requirement, budget, HOWEVER_WIDE)
    with budget.interruptible(), naming:
        search.run()
    pool = spread_pool(search.pool, merged, _system(merged.given, requirement))
    widening = (blur, random) if blur else None
    lower, upper, proof = _published(problem, search, pool, requirement, widening)
    pattern = IntervalPattern(
        problem=problem,
        lower=lower,
        upper=upper,
        requirement=requirement,
        certificate=proof,
        bound_certificate=IntervalBound.of(search, merged, requirement),
        bound=0.0,
        narrowest=float(_costs(merged.given)[pool.system.cells] @ sum(envelope(pool))),
        seconds=0.0,
    )
    return replace(pattern, bound=pattern.proved_bound()).ended(budget)


def _merged(problem: ProtectionProblem, requirement: Requirement, budget: Budget) -> MergedCells:
    """Return the change that is searched: finite external bounds, and coupled cells as one."""
    return merged_for(with_finite_bounds(problem, requirement, budget).problem, requirement)


def _system(problem: ProtectionProblem, requirement: Requirement) -> System:
    """Return the system of all cells that may be hidden."""
    return System.of(problem, needs_of(problem, requirement), ~problem.frozen)


def _costs(problem: ProtectionProblem) -> Floats:
    """Return the loss of one unit of width of each cell; 0 for cells that must be suppressed."""
    return np.where(problem.forced, 0.0, problem.weights)


def _published(
    problem: ProtectionProblem,
    search: IntervalSearch,
    widest: WitnessPool,
    requirement: Requirement,
    blur: tuple[float, np.random.Generator] | None,
) -> tuple[Floats, Floats, ProtectionCertificate]:
    """Compute the ends to publish, and the verified proof that they protect.

    Ends without the solver's rounding errors are tried first; if no proof fits between them, those
    that contain every witness of the search are used.

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    merged, system = search.merged, widest.system
    finite = merged.given
    values = finite.table.values
    up, down = envelope(widest)
    if blur is not None:
        up, down = blurred(up, down, *blur)

    def ends(noise: float) -> tuple[Floats, Floats, ProtectionProblem]:
        upper, lower = values.copy(), values.copy()
        upper[system.cells] += up * (1 - noise)
        lower[system.cells] -= down * (1 - noise)
        lower, upper = outwards(problem, lower, upper)
        # Rounding of large numbers may leave an interval slightly too narrow for its own witness.
        spare = np.spacing(np.maximum(np.abs(lower), np.abs(upper)))[system.cells] * SPARE
        share = max(noise, ROOM_SHARE) / 2
        for end, reach, sign in ((upper, up, 1), (lower, down, -1)):
            room = sign * (end - values)[system.cells]
            end[system.cells] += np.where(room < reach * (1 - share), sign * spare, 0.0)
        lower, upper = outwards(problem, lower, upper)
        return lower, upper, with_intervals(finite, lower, upper)

    lower, upper, bounded = ends(NOISE)
    groups = merged.coupled.least(bounded.upper_bound - values, values - bounded.lower_bound)
    pool = spread_pool(search.proved(*groups), merged, system)
    if np.any(pool.open):
        lower, upper, bounded = ends(0.0)
        pool = widest
    # A cell that must be suppressed stays hidden even if external bounds determine its value.
    proof = certificate_of(
        bounded, (upper > lower) | finite.forced, requirement, [pool.whole_proof()]
    )
    proof.verify()
    return lower, upper, proof


def protecting_room(problem: ProtectionProblem) -> tuple[Floats, Floats]:
    """Return ends that protect every sensitive cell on both sides, without minimising the loss.

    Parameters
    ----------
    problem : ProtectionProblem

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    ModelError
        Names the cells that cannot be protected even if every interval is wide open.
    """
    requirement = Requirement.TWO_SIDED
    merged = _merged(problem, requirement, Budget.of())
    system = _system(merged.given, requirement)
    open_ = wide_open(merged, Attack(system_of(merged)), Budget.of())
    up, down = envelope(spread_pool(open_, merged, system))
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    upper[system.cells] += up
    lower[system.cells] -= down
    return lower, upper
