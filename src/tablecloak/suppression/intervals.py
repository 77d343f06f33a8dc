"""Partial suppression: publish intervals instead of gaps, as narrow as protection allows.

Cell i is published as [a_i - v-_i, a_i + v+_i]; an intruder who uses these intervals as bounds
must still not come closer to a sensitive cell than its levels. That is a linear program over
v: for every multiplier gamma of the relations, with alpha - beta = e_p - A^T gamma::

    sum_i (alpha_i v+_i + beta_i v-_i) >= UPL_p

(and likewise downwards and for the width). Rows are found where an attack succeeds. The attack
is made between the best intervals that are proved and those of the relaxation, so that every
round either improves the first or cuts off the second.

Ends are rounded outwards to the decimals of the table, and the proof is made anew between them.

References
----------
.. [1] Fischetti, Salazar: Partial cell suppression: a new methodology for statistical
   disclosure control, Statistics and Computing 13 (2003).
.. [2] Ben-Ameur, Neto: Acceleration of cutting-plane and column generation algorithms,
   Networks 49 (2007) (separation between an inner and an outer point).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, hstack, vstack

from tablecloak import showing
from tablecloak.budget import generator
from tablecloak.certificates.claim import Claim
from tablecloak.errors import InputError, ModelError, listed
from tablecloak.results import Result
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.audit.attack import (
    Attack,
    Extreme,
    prove,
    with_finite_bounds,
    with_intervals,
)
from tablecloak.suppression.claims import interval_claims
from tablecloak.suppression.joining import certificate_of
from tablecloak.suppression.needs import asked_of, decimals_of, needs_of
from tablecloak.suppression.proof import ROOM_SHARE, ProtectionCertificate
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search.master import CapacityRow
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_intervals
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["IntervalBound", "IntervalPattern", "protecting_room", "publish_intervals"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Progress = Callable[[str, float, float, int], None]

ROUNDED = 1e-7
"""Share by which an exact witness may leave the room of the program that proposed it."""

GAP = 1e-4
"""Gap at which the search ends."""

STEP = 0.6
"""Where to attack between the best proved intervals (0) and those of the relaxation (1)."""

NOISE = 3e-7
"""Share of a width that may be the noise of a solver, or the repair of it (`ROUNDED`): ends are
rounded without it first."""

SPARE = 64
"""Units in the last place by which an end is moved on before it is rounded outwards again."""

DIGITS = 3
"""Digits of a width to which ends are rounded where values are no decimal numbers."""

FARTHEST = 1e6
"""Farthest move of any cell, in needs, in the program that makes the first intervals."""


@dataclass(frozen=True, eq=False)
class IntervalBound:
    """Proof that no protected intervals lose less than a bound.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    rows : list of CapacityRow
    duals : numpy.ndarray of float, shape (n_rows,)
        Multipliers of these rows.
    """

    problem: ProtectionProblem
    requirement: Requirement
    rows: list[CapacityRow]
    duals: Floats

    def verify(self) -> float:
        """Return the bound that the proof supports, by sparse products alone."""
        finite = with_finite_bounds(self.problem)
        system = System.of(finite, needs_of(finite, self.requirement), ~finite.frozen)
        master = _Master(system, _costs(finite)[system.cells])
        # No width is negative, so 0 is always a bound.
        return max(master.loss_of(dual_bound(master.with_rows(self.rows), self.duals)), 0.0)

    def loss_multipliers(self) -> Floats:
        """Return what each row adds to the bound for each unit of the need that it asks for."""
        finite = with_finite_bounds(self.problem)
        system = System.of(finite, needs_of(finite, self.requirement), ~finite.frozen)
        master = _Master(system, _costs(finite)[system.cells])
        asked = np.array([master.need(row) for row in self.rows]).reshape(-1)
        # Rows that came after the last program have no multiplier.
        asked = asked[: len(self.duals)]
        return np.maximum(self.duals, 0.0) * master.loss_of(1.0) / (asked * system.unit)


@dataclass(frozen=True, eq=False, repr=False)
class IntervalPattern(Result):
    """Intervals to publish, with the proof that they protect.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Ends to publish; equal where the value itself is published. Of a cell that must be
        suppressed without being sensitive they are the external bounds, perhaps infinite.
    requirement : Requirement
    certificate : ProtectionCertificate
        Proof that an intruder who takes the intervals for bounds comes no closer than allowed.
    bound_certificate : IntervalBound
    bound : float
        Proved lower bound on the loss of any protected intervals.
    narrowest : float
        Loss of the best intervals found, before they were blurred and rounded.
    seconds : float
    notes : tuple of str
    """

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

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return what is claimed of the intervals, each claim with its proof. Secret."""
        return interval_claims(self)

    @property
    def hidden(self) -> Flags:
        """Which cells are published as an interval."""
        flags: Flags = self.upper > self.lower
        return flags

    @property
    def loss(self) -> float:
        """Sum of widths, each times the weight of its cell; forced cells do not count."""
        counted = ~self.problem.forced
        return float((self.problem.weights * (self.upper - self.lower))[counted].sum())

    @property
    def searched_loss(self) -> float:
        """Loss before blurring, which the gaps refer to."""
        return self.narrowest

    @property
    def unavoidable(self) -> float:
        """Widths that the levels of the sensitive cells ask for."""
        needs = asked_of(self.problem, self.requirement)
        width = np.maximum(needs.upper + needs.lower, needs.width)
        return float(_costs(self.problem)[needs.cells] @ width)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and both ends, equal where the value is exact."""
        return published_intervals(self.problem.table, self.lower, self.upper)

    def summary(self) -> str:
        """Say in one line what is published, and how good that is. Names no value."""
        return (
            f"partial suppression ({self.requirement.value}): {int(self.hidden.sum())} of "
            f"{self.problem.table.n_cells} cells as intervals, {self.problem.n_sensitive} "
            f"sensitive cells proved, loss {self.loss:.12g} ({self.narrowest:.12g} before "
            f"blurring, bound {self.bound:.12g}, {self._gaps()}), {self.seconds:.1f} s"
        )

    def _repr_html_(self) -> str:
        return showing.html(self)


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
        Each side is widened by a random share of up to this. Without it the true value often
        lies just in the middle, or as far from an end as its level says.
    time_limit : float, default=60
        Seconds; a first set of intervals is always completed.
    seed : int, optional
        For the blur. Secret: whoever knows it can undo the blur. By default drawn anew.
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
    started = time.monotonic()
    if not blur >= 0:
        raise InputError(f"`blur` must be at least 0. Got {blur!r}.")
    random = generator(seed)
    requirement = Requirement.parse(require)
    if weights is not None:
        problem = problem.with_weights(weights)
    finite = with_finite_bounds(problem)
    system = System.of(finite, needs_of(finite, requirement), ~finite.frozen)
    search = _Search(problem, system, _costs(finite)[system.cells], started + time_limit, progress)
    search.run()
    up, down = _envelope(search.pool)
    widening = None if blur == 0 else (blur, random)
    lower, upper, proof = _published(problem, finite, search, requirement, widening)
    bound = IntervalBound(problem, requirement, search.rows, search.duals)
    return IntervalPattern(
        problem=problem,
        lower=lower,
        upper=upper,
        requirement=requirement,
        certificate=proof,
        bound_certificate=bound,
        bound=bound.verify(),
        narrowest=float(_costs(finite)[system.cells] @ (up + down)),
        seconds=time.monotonic() - started,
    )


def _costs(problem: ProtectionProblem) -> Floats:
    """Loss of one unit of width of each cell; forced cells are wide open anyway."""
    return np.where(problem.forced, 0.0, problem.weights)


def _published(
    problem: ProtectionProblem,
    finite: ProtectionProblem,
    search: _Search,
    requirement: Requirement,
    blur: tuple[float, np.random.Generator] | None,
) -> tuple[Floats, Floats, ProtectionCertificate]:
    """Ends to publish, and the verified proof that they protect.

    Ends without the noise of the solver come first; if no proof fits between them, those that
    hold every witness of the search as it is.

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    system, values = search.system, finite.table.values
    up, down = _envelope(search.pool)
    if blur is not None:
        up, down = _blurred(up, down, *blur)

    def ends(noise: float) -> tuple[Floats, Floats, ProtectionProblem]:
        upper, lower = values.copy(), values.copy()
        upper[system.cells] += up * (1 - noise)
        lower[system.cells] -= down * (1 - noise)
        lower, upper = _outwards(problem, lower, upper)
        # Differences of large decimal numbers may fall short of what they are drawn around.
        spare = np.spacing(np.maximum(np.abs(lower), np.abs(upper)))[system.cells] * SPARE
        share = max(noise, ROOM_SHARE) / 2
        for end, reach, sign in ((upper, up, 1), (lower, down, -1)):
            room = sign * (end - values)[system.cells]
            end[system.cells] += np.where(room < reach * (1 - share), sign * spare, 0.0)
        lower, upper = _outwards(problem, lower, upper)
        return lower, upper, with_intervals(finite, lower, upper)

    lower, upper, known = ends(NOISE)
    pool = search.proved(known.lower_bound - values, known.upper_bound - values)
    if np.any(pool.open):
        lower, upper, known = ends(0.0)
        pool = search.pool
    proof = certificate_of(known, upper > lower, requirement, [pool])
    proof.verify()
    return lower, upper, proof


def _outwards(problem: ProtectionProblem, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Cut intervals at the external bounds, then round their ends outwards to the last digit.

    The digits are those of the table; where its values are no decimal numbers, the first digits
    of each width. What lies beyond an external bound after that does no harm.
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


def protecting_room(problem: ProtectionProblem) -> tuple[Floats, Floats]:
    """Return ends that leave every sensitive cell protected on both sides, dear but certain.

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
    finite = with_finite_bounds(problem)
    needs = needs_of(finite, Requirement.TWO_SIDED)
    system = System.of(finite, needs, ~finite.frozen)
    up, down = _envelope(_wide_open(problem, system, Attack(system)))
    lower, upper = problem.table.values.copy(), problem.table.values.copy()
    upper[system.cells] += up
    lower[system.cells] -= down
    return lower, upper


def _wide_open(problem: ProtectionProblem, system: System, attack: Attack) -> WitnessPool:
    """Return witnesses for all needs of a system, or say which cells have none."""
    pool = WitnessPool(system)
    prove(attack, pool)
    if np.any(pool.open):
        cells = system.cells[system.needs.cells[pool.open]]
        raise ModelError(
            f"{len(cells)} sensitive cells cannot be protected by intervals, however wide: "
            f"{listed(problem.table.labels(cells))}. Lower their levels, widen the "
            f"external bounds, or unfreeze cells in their relations.",
            cells=cells,
        )
    return pool


def _envelope(pool: WitnessPool) -> tuple[Floats, Floats]:
    """How far the witnesses in use move each cell up and down."""
    every = np.ones(len(pool.needs.cells), dtype=bool)
    return _reach(pool.system.n_unknown, pool.proof(every)[2])


def _reach(
    n_unknown: int, witnesses: list[tuple[npt.NDArray[np.int64], Floats]]
) -> tuple[Floats, Floats]:
    """How far some witnesses move each cell up and down."""
    up, down = np.zeros(n_unknown), np.zeros(n_unknown)
    for cells, moves in witnesses:
        up[cells] = np.maximum(up[cells], moves)
        down[cells] = np.maximum(down[cells], -moves)
    return up, down


def _blurred(
    up: Floats, down: Floats, blur: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Widen both sides by random shares of the width, so that none tells where the value is."""
    width = up + down
    return (
        up + blur * random.random(len(up)) * width / 2,
        down + blur * random.random(len(up)) * width / 2,
    )


class _Master:
    """min w.(v+ + v-) over the rows found so far, in median protection levels."""

    def __init__(self, system: System, weights: Floats) -> None:
        self.system = system
        positive = weights[weights > 0]
        self.scale = float(np.median(positive)) if len(positive) else 1.0
        n = system.n_unknown
        room = np.concatenate([system.high, -system.low]) / system.unit
        self.program = Program(
            np.tile(weights / self.scale, 2),
            csr_array((0, 2 * n)),
            np.zeros(0),
            np.zeros(0),
            np.zeros(2 * n),
            room,
        )

    def loss_of(self, value: float) -> float:
        """Loss in the problem's own units."""
        return value * self.scale * self.system.unit

    def row(self, proof: CapacityRow) -> csr_array:
        """Coefficients of v+ and v-, scaled to a right-hand side of 1."""
        needs, system = self.system.needs, self.system
        at = int(np.searchsorted(needs.index, proof.index))
        up, down = np.zeros(system.n_unknown), np.zeros(system.n_unknown)
        sides = ((1.0, proof.up), (-1.0, proof.down))
        for sign, side in sides:
            if side is None:
                continue
            gamma = np.zeros(len(system.rows))
            gamma[np.searchsorted(system.rows, side[0])] = side[1]
            reduced = -(system.matrix.T @ gamma)
            reduced[needs.cells[at]] += sign
            up += np.maximum(reduced, 0.0)
            down += np.maximum(-reduced, 0.0)
        return csr_array(np.concatenate([up, down])[None, :] / self.need(proof))

    def need(self, proof: CapacityRow) -> float:
        """Return what a row asks for, in median protection levels."""
        needs = self.system.needs
        at = int(np.searchsorted(needs.index, proof.index))
        both = proof.up is not None and proof.down is not None
        one = needs.upper[at] if proof.up is not None else needs.lower[at]
        return float(needs.width[at] if both else one) / self.system.unit

    def with_rows(self, proofs: list[CapacityRow]) -> Program:
        """Return the program with some rows."""
        if not proofs:
            return self.program
        matrix = vstack([self.row(proof) for proof in proofs], format="csr")
        ones = np.ones(len(proofs))
        return self.program.with_rows(matrix, ones, np.full(len(proofs), np.inf))


class _Search:
    """The best proved intervals, the relaxation, and what lies between them."""

    def __init__(
        self,
        problem: ProtectionProblem,
        system: System,
        weights: Floats,
        deadline: float,
        progress: Progress | None,
    ) -> None:
        self.problem = problem
        self.system, self.deadline, self.progress = system, deadline, progress
        self.open = np.tile(problem.forced[system.cells], 2)
        self.master = _Master(system, weights)
        self.solver = LinearSolver(self.master.program)
        self.attack = Attack(system)
        self.rows: list[CapacityRow] = []
        self.duals = np.zeros(0)
        self.bound = 0.0
        self.pool = WitnessPool(system)

    def run(self) -> None:
        """Search until the gap is closed or time is up.

        An interruption from the keyboard ends it as well, once there are proved intervals.

        Raises
        ------
        ModelError
            Names the cells that cannot be protected even if every interval is wide open.
        """
        self.pool = _wide_open(self.problem, self.system, self.attack)
        with contextlib.suppress(KeyboardInterrupt):
            self._close_in(self._first())

    def proved(self, low: Floats, high: Floats) -> WitnessPool:
        """Prove what can be proved between some ends, given as distances for all cells."""
        cells = self.system.cells
        return self._proved(replace(self.system, low=low[cells], high=high[cells]))[0]

    def _first(self) -> Floats:
        """Return the first intervals; those of the witnesses at hand if none are narrower."""
        if time.monotonic() < self.deadline:
            found = _widened(self.system, self.master.program.cost, self.open, self.deadline)
            spare = self.pool
            passed, _, pool = self._attacked(found)
            if not passed:
                # What is still open gets the room that its witness takes.
                used = spare.proof(pool.open)[2]
                both = np.concatenate(_reach(self.system.n_unknown, used)) / self.system.unit
                self._attacked(np.maximum(found, both))
        return self._inner()

    def _inner(self) -> Floats:
        """Return the intervals that the proof at hand takes, in median levels."""
        return np.concatenate(_envelope(self.pool)) / self.system.unit

    def _close_in(self, inner: Floats) -> None:
        """Improve the intervals, or cut off the relaxation, round after round."""
        outer, step = np.zeros(len(inner)), STEP
        while True:
            value = float(self.master.program.cost @ inner)
            self._report(value)
            if value - self.bound <= GAP * value or time.monotonic() > self.deadline:
                return
            passed, found, _ = self._attacked(inner + step * (outer - inner))
            step = 1.0 if passed else STEP
            if passed:
                inner = self._inner()
                continue
            if not found:
                return
            self.rows.extend(found)
            matrix = csr_array(vstack([self.master.row(proof) for proof in found], format="csr"))
            self.solver.add_rows(matrix, np.ones(len(found)), np.full(len(found), np.inf))
            solution = self.solver.solve(max(self.deadline - time.monotonic(), 0.0))
            if not len(solution.x):
                return
            outer = solution.x
            if solution.bound > self.bound:
                self.bound, self.duals = solution.bound, solution.duals

    def _attacked(self, intervals: Floats) -> tuple[bool, list[CapacityRow], WitnessPool]:
        """Whether some intervals protect, and if not, rows that they violate.

        If they do, the proof is kept.
        """
        system = self.system
        up, down = np.split(intervals * system.unit, 2)
        forced = self.open[: system.n_unknown]
        within = replace(
            system,
            low=np.where(forced, system.low, np.maximum(-down, system.low)),
            high=np.where(forced, system.high, np.minimum(up, system.high)),
        )
        # Intervals are drawn around the witnesses, not around the room of the programs.
        pool, failures = self._proved(within, ROUNDED)
        if not np.any(pool.open):
            self.pool = pool
            return True, [], pool
        rows = [
            proof
            for index in np.flatnonzero(pool.open).tolist()
            if (proof := self._row(pool, index, failures)) is not None
        ]
        return False, rows, pool

    def _proved(
        self, within: System, spill: float = 0.0
    ) -> tuple[WitnessPool, dict[tuple[int, int], Extreme]]:
        """Attack all needs within some room, starting from the witnesses at hand.

        Witnesses may leave that room by a share, for the repair of rounding errors.
        """
        pool = WitnessPool(
            replace(
                within,
                low=np.maximum(within.low * (1 + spill), self.system.low),
                high=np.minimum(within.high * (1 + spill), self.system.high),
            )
        )
        for cells, moves in self.pool.rows.values():
            pool.add_sparse(cells, moves)
        self.attack.know(within)
        return pool, prove(self.attack, pool)

    def _row(
        self, pool: WitnessPool, index: int, failures: dict[tuple[int, int], Extreme]
    ) -> CapacityRow | None:
        needs = self.system.needs
        number, cell = int(needs.index[index]), int(needs.cells[index])
        for sign, need in ((1, needs.upper[index]), (-1, needs.lower[index])):
            extreme = failures.get((index, sign))
            if extreme is not None and extreme.reach < need * (1 - 1e-9):
                side = self._sparse(extreme.duals)
                return CapacityRow(number, *((side, None) if sign > 0 else (None, side)))
        if needs.width[index] > 0:
            both = [self.attack.extreme(cell, sign) for sign in (1, -1)]
            if sum(extreme.reach for extreme in both) < needs.width[index] * (1 - 1e-9):
                return CapacityRow(number, *(self._sparse(extreme.duals) for extreme in both))
        return None

    def _sparse(self, duals: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
        used = np.flatnonzero(np.abs(duals) > 1e-11 * np.max(np.abs(duals), initial=0.0))
        return self.system.rows[used], duals[used]

    def _report(self, value: float) -> None:
        if self.progress:
            loss = self.master.loss_of
            self.progress("intervals", loss(value), loss(self.bound), len(self.rows))


def _widened(system: System, cost: Floats, open_: Flags, deadline: float) -> Floats:
    """First intervals: widen them for one need after another by the cheapest program.

    Columns are what the interval already allows, for nothing, and what must be added; upwards
    and downwards. Each program is measured in its own need. What has no solution in a program is
    left to the caller.
    """
    n = system.n_unknown
    room = np.concatenate([system.high, -system.low])
    zero = np.zeros(len(system.rows))
    both = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
    solver = LinearSolver(
        Program(
            np.concatenate([np.zeros(2 * n), cost]),
            csr_array(hstack([both, both], format="csr")),
            zero,
            zero,
            np.zeros(4 * n),
            np.zeros(4 * n),
        ),
        once=True,
    )
    allowed = np.where(open_, room, 0.0)
    every = np.arange(4 * n)
    for cell, sign, need in _distances(system):
        if time.monotonic() > deadline:
            break
        upper = np.minimum(np.concatenate([allowed, room - allowed]) / need, FARTHEST)
        lower = np.zeros(4 * n)
        at, other = (cell, cell + n) if sign > 0 else (cell + n, cell)
        had = upper[at]
        lower[at] = min(had, 1.0)
        lower[at + 2 * n] = min(1.0 - lower[at], upper[at + 2 * n])
        upper[[other, other + 2 * n]] = 0.0
        solver.change_bounds(every, lower, upper)
        solution = solver.solve()
        if len(solution.x):
            added = np.maximum(solution.x[2 * n :], 0.0) * need
            allowed = np.minimum(allowed + added, room)
    return allowed / system.unit


def _distances(system: System) -> list[tuple[int, int, float]]:
    """How far each cell must move and in which direction, the largest needs first."""
    needs = system.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    found = []
    for index in np.argsort(-size, kind="stable").tolist():
        cell = int(needs.cells[index])
        above, below = float(needs.upper[index]), float(needs.lower[index])
        lacking = max(float(needs.width[index]) - above - below, 0.0)
        more = min(lacking, max(float(system.high[cell]) - above, 0.0))
        found += [(cell, 1, above + more), (cell, -1, below + lacking - more)]
    return [(cell, sign, need) for cell, sign, need in found if need > 0]
