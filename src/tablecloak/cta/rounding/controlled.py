"""Controlled rounding: an additive table of multiples of a base, each next to its true value.

Zero-restricted rounding takes each value to one of the two multiples around it and leaves
multiples alone::

    min sum w_i |x_i - a_i|,   x_i = r floor(a_i / r) + r t_i,   A x = b,   t_i in {0, 1}

Two-dimensional tables always have such a rounding, and the linear relaxation finds it: their
matrix is totally unimodular. In more dimensions there may be none; then K steps are allowed,
|x_i - a_i| < K r, with K as small as possible.

References
----------
.. [1] Cox, Ernst: Controlled rounding, INFOR 20 (1982).
.. [2] Salazar: Controlled rounding and cell perturbation: statistical disclosure limitation
   methods for tabular data, Mathematical Programming 105 (2006).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, hstack

from tablecloak import showing
from tablecloak.certificates.claim import Claim
from tablecloak.cta.precision import exact_products
from tablecloak.cta.rounding.claims import rounding_claims
from tablecloak.errors import InputError, ModelError, SolverError, VerificationError, listed
from tablecloak.results import Result
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import BranchTree, branch_and_bound
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus, on_chosen_solver
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_order
from tablecloak.tables.weights.rule import WeightRule

__all__ = [
    "RoundedTable",
    "RoundingBound",
    "check_whole",
    "controlled_rounding",
    "require_none",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float, float, int], None]

LARGEST = 10**15
"""Largest base: sums of such numbers are exact."""

CLAIMED = 1e-9
"""Share of the loss by which a claimed bound may exceed what is proved."""

ROUNDING = float(np.finfo(np.float64).eps)
"""Relative error of one sum or product."""

INTEGRALITY = 1e-7
"""How near to whole numbers a solution of the relaxation must be to be rounded to them."""


@dataclass(frozen=True, eq=False)
class RoundingBound:
    """Proof that no rounding with the same base and steps is nearer to the truth.

    Parameters
    ----------
    model : _RoundingModel
    tree : BranchTree or None
        None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
    """

    model: _RoundingModel
    tree: BranchTree | None
    duals: Floats

    def verify(self) -> float:
        """Return the bound on sum w |x - a| that the proof supports, by sparse products alone."""
        program = self.model.program
        bound = self.tree.verify(program) if self.tree else dual_bound(program, self.duals)
        return self.model.proved(bound)


@dataclass(frozen=True, eq=False, repr=False)
class RoundedTable(Result):
    """A rounded table with its certificate.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of int, shape (n_cells,)
        Multiples of the base.
    base : int
    steps : int
        K: every value is less than K times the base away from the truth.
    weights : numpy.ndarray of float, shape (n_cells,)
    bound_certificate : RoundingBound
    bound : float
        Proved lower bound on the loss of any rounding with the same base and steps.
    seconds : float
    notes : tuple of str
    """

    problem: ProtectionProblem
    values: Integers
    base: int
    steps: int
    weights: Floats
    bound_certificate: RoundingBound
    bound: float
    seconds: float
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return what is claimed of the rounded table, each claim with its proof. Secret."""
        return rounding_claims(self)

    @property
    def loss(self) -> float:
        """Return sum w_i |x_i - a_i|."""
        return float(np.dot(self.weights, np.abs(self.values - self.problem.table.values)))

    @property
    def unavoidable(self) -> float:
        """Loss if every value went to its nearest multiple, whatever the relations say."""
        over = np.mod(np.abs(self.problem.table.values), self.base)
        nearest = np.where(self.problem.frozen, 0.0, np.minimum(over, self.base - over))
        return float(np.dot(self.weights, nearest))

    def verify(self) -> None:
        """Check the table and its bound again, in whole numbers; no solver is called.

        Guarantee: if this returns, every value is a multiple of the base less than `steps`
        times the base away from the truth, multiples of the base are unchanged if `steps` is
        1, frozen cells are unchanged, no value has changed its sign, and every relation holds
        exactly.

        Raises
        ------
        VerificationError
            Names the condition that fails and the cells.
        """
        table, x = self.problem.table, self.values
        a = np.rint(table.values).astype(np.int64)
        moved = x - a
        kept = self.problem.frozen | ((a % self.base == 0) & (self.steps == 1))
        for bad, what in (
            (x % self.base != 0, "are not multiples of the base"),
            (np.abs(moved) >= self.steps * self.base, "are too far from the truth"),
            (kept & (moved != 0), "had to stay as they are"),
            (x * np.sign(a) < 0, "have changed their sign"),
        ):
            require_none(self.problem, bad, what)
        residual = exact_products(table.relations, x) - table.right_hand_side
        if np.any(residual):
            raise VerificationError(
                f"A relation of the rounded table is off by {np.max(np.abs(residual)):g}."
            )
        # No weight is negative, so that no table loses less than nothing.
        proved = max(self.bound_certificate.verify(), 0.0)
        if not self.bound <= proved + CLAIMED * self.loss:
            raise VerificationError(
                f"The bound {self.bound:g} is claimed, but only {proved:g} is proved."
            )
        if not max(self.bound, proved) <= self.loss * (1 + CLAIMED):
            raise VerificationError(
                f"The bound {proved:g} exceeds the loss {self.loss:g} of a table that exists."
            )

    def intervals(self) -> tuple[Floats, Floats]:
        """Smallest and largest true value that the rounded value alone leaves possible.

        Base and steps are known to everybody; what the relations say besides is for the audit:
        ``tablecloak.audit(problem, rounded)``.
        """
        reach = self.steps * self.base - 1
        lower, upper = self.values - float(reach), self.values + float(reach)
        if np.all(self.problem.table.values >= 0):
            lower = np.maximum(lower, 0.0)
        frozen = self.problem.frozen
        return np.where(frozen, self.values, lower), np.where(frozen, self.values, upper)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and rounded values."""
        table = self.problem.table
        order = published_order(table)
        keys = table.keys.iloc[order].reset_index(drop=True)
        return keys.assign(**{table.name: self.values[order]})

    def summary(self) -> str:
        """Say in one line what was rounded, and how good that is."""
        how = "zero-restricted" if self.steps == 1 else f"up to {self.steps} steps"
        return (
            f"rounding to base {self.base}, {how}: loss {self.loss:.9g}, bound {self.bound:.9g}, "
            f"{self._gaps()}, {self.seconds:.1f} s"
        )

    def _repr_html_(self) -> str:
        return showing.html(self)


def require_none(problem: ProtectionProblem, bad: npt.NDArray[np.bool_], what: str) -> None:
    """Refuse a rounded table with such cells.

    Raises
    ------
    VerificationError
        Names the cells.
    """
    cells = np.flatnonzero(bad)
    if len(cells):
        raise VerificationError(
            f"{len(cells)} rounded cells {what}: {listed(problem.table.labels(cells[:5]))}.",
            cells=cells,
        )


@on_chosen_solver
def controlled_rounding(
    problem: ProtectionProblem,
    *,
    base: int = 5,
    max_steps: int = 3,
    weights: WeightRule | str = WeightRule.UNIT,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
) -> RoundedTable:
    """Round a table of whole numbers so that it stays additive.

    Parameters
    ----------
    problem : ProtectionProblem
        Of a table of whole numbers, such as counts. Its sensitive cells play no part in the
        rounding; ask ``tablecloak.audit`` whether it protects them.
    base : int, default=5
        At least 2.
    max_steps : int, default=3
        Largest K to try where there is no zero-restricted rounding.
    weights : WeightRule or str, default="unit"
        Cost of moving a cell by one.
    time_limit : float, default=60
        Seconds, shared by all steps.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    RoundedTable
        Verified. Its notes say why more than one step was needed.

    Raises
    ------
    InputError
        If values are not whole, the base is no whole number from 2, or a frozen cell or a
        right-hand side is not a multiple of it.
    ModelError
        If no rounding within `max_steps` exists, as far as is proved.
    SolverError
        If none was found in time.

    Examples
    --------
    >>> import tablecloak as tc
    >>> rounded = tc.controlled_rounding(tc.examples.cox_rounded(), base=25)
    >>> rounded.steps, rounded.is_optimal
    (1, True)
    """
    started = time.monotonic()
    _check(problem, base, max_steps)
    base, max_steps = int(base), int(max_steps)
    cost = WeightRule(weights).of(problem)
    deadline = started + time_limit
    notes: list[str] = []
    proved_empty = True
    for steps in range(1, max_steps + 1):
        if notes and time.monotonic() > deadline:
            proved_empty = False
            break
        model = _RoundingModel(problem, base, steps, cost)
        # Unless a rounding turns up, half of the time is left for more steps.
        left = max(deadline - time.monotonic(), 0.1) / (1 if steps == max_steps else 2)
        found = _solve(model, time.monotonic() + left, deadline, progress)
        if isinstance(found, bool):
            proved_empty &= found
            why = "is proved to be impossible" if found else "was not found in time"
            notes.append(f"a rounding with {steps} step{'s' * (steps > 1)} {why}")
            continue
        values, certificate, bound = found
        result = RoundedTable(
            problem=problem,
            values=values,
            base=base,
            steps=steps,
            weights=cost,
            bound_certificate=certificate,
            bound=bound,
            seconds=time.monotonic() - started,
            notes=tuple(notes),
        )
        result = replace(result, bound=min(max(bound, 0.0), result.loss))
        result.verify()
        return replace(result, seconds=time.monotonic() - started)
    if proved_empty:
        raise ModelError(
            f"No additive rounding to base {base} within {max_steps} steps exists (proved by a "
            f"complete search). Raise `max_steps`, or let frozen cells be rounded."
        )
    raise SolverError(
        f"No additive rounding to base {base} was found in time: {'; '.join(notes)}. Raise "
        f"`time_limit` or `max_steps`."
    )


def check_whole(name: str, given: object, least: int) -> None:
    """Refuse what is no whole number in a sensible range.

    Raises
    ------
    InputError
    """
    number = float(given) if isinstance(given, int | float | np.integer | np.floating) else np.nan
    if not least <= number <= LARGEST or number != np.rint(number):
        raise InputError(
            f"`{name}` must be a whole number from {least} (to {LARGEST:,}). Got {given!r}."
        )


def _check(problem: ProtectionProblem, base: int, max_steps: int) -> None:
    check_whole("base", base, 2)
    check_whole("max_steps", max_steps, 1)
    if base * max_steps > LARGEST:
        raise InputError(
            f"{max_steps} steps of {base} are more than numbers can hold. Lower `base` or "
            f"`max_steps`."
        )
    table = problem.table
    if not table.integer:
        raise InputError("Controlled rounding needs a table of whole numbers, such as counts.")
    odd = np.flatnonzero(problem.frozen & (np.rint(table.values) % base != 0))
    if len(odd):
        raise InputError(
            f"{len(odd)} cells must be published as they are (status z), but are not multiples of "
            f"{base}: {listed(table.labels(odd[:5]))}. Give them another status."
        )
    if np.any(np.rint(table.right_hand_side) % base != 0):
        raise InputError(f"A relation has a right-hand side that is not a multiple of {base}.")


class _RoundingModel:
    """min w.|x - a| as a program in steps t = up + further - back.

    Columns: whether each value that is no multiple goes up, then for more than one step how
    many multiples each cell goes further and back.
    """

    def __init__(self, problem: ProtectionProblem, base: int, steps: int, weights: Floats) -> None:
        table = problem.table
        a = np.rint(table.values).astype(np.int64)
        self.base = base
        self.floor, rest = a // base, a % base
        self.up = np.flatnonzero(rest)
        self.offset = float(np.dot(weights, rest))
        share = rest[self.up] / base
        relations = csr_array(table.relations)
        # Costs are measured in the median weight times the base.
        positive = weights[weights > 0]
        self.unit = float(np.median(positive)) * base if len(positive) else float(base)
        scaled = weights * base / self.unit
        cost = [scaled[self.up] * (1 - 2 * share)]
        blocks, upper = [relations[:, self.up]], [np.ones(len(self.up))]
        self.further = np.empty(0, dtype=np.int64)
        if steps > 1:
            self.further = np.flatnonzero(~problem.frozen)
            cells = self.further
            cost += [scaled[cells], scaled[cells]]
            blocks += [relations[:, cells], -relations[:, cells]]
            most = float(steps - 1)
            # No value changes its sign.
            above = np.where(a[cells] < 0, np.minimum(-(self.floor[cells] + 1), most), most)
            below = np.where(a[cells] >= 0, np.minimum(self.floor[cells], most), most)
            upper += [np.maximum(above, 0.0), np.maximum(below, 0.0)]
        side = np.rint(table.right_hand_side) / base - relations @ self.floor.astype(np.float64)
        n = sum(len(part) for part in upper)
        self.program = Program(
            cost=np.concatenate(cost),
            matrix=csr_array(hstack(blocks, format="csr")),
            row_lower=side,
            row_upper=side,
            lower=np.zeros(n),
            upper=np.concatenate(upper),
            integral=np.ones(n, dtype=bool),
        )

    def loss(self, objective: float) -> float:
        """Return sum w |x - a| from an objective of the program."""
        return objective * self.unit + self.offset

    def proved(self, objective: float) -> float:
        """Return the loss that a bound proves, less what rounding of the costs may have added."""
        program = self.program
        size = float(np.dot(np.abs(program.cost), program.upper)) * self.unit + self.offset
        return self.loss(objective) - (8 + len(self.floor)) * ROUNDING * size

    def values(self, x: Floats) -> Integers:
        """Return the rounded table of a point."""
        whole = np.rint(x).astype(np.int64)
        t = np.zeros(len(self.floor), dtype=np.int64)
        n_up, n = len(self.up), len(self.further)
        t[self.up] += whole[:n_up]
        t[self.further] += whole[n_up : n_up + n] - whole[n_up + n :]
        values: Integers = self.base * (self.floor + t)
        return values


def _solve(
    model: _RoundingModel, give_up: float, deadline: float, progress: Progress | None
) -> tuple[Integers, RoundingBound, float] | bool:
    """Return table, proof and bound; or whether it is proved that there is none.

    Parameters
    ----------
    model : _RoundingModel
    give_up, deadline : float
        Moments of `time.monotonic` until which to look for a first rounding, and for a better one.
    progress : callable or None
    """
    program = model.program

    def left(moment: float) -> float:
        return max(moment - time.monotonic(), 0.1)

    def report(value: float, bound: float, open_nodes: int) -> None:
        if progress:
            progress("rounding", model.loss(value), model.loss(bound), open_nodes)

    relaxed = LinearSolver(program).solve(left(give_up))
    if len(relaxed.x) and np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= INTEGRALITY):
        proof = RoundingBound(model, None, relaxed.duals)
        return model.values(relaxed.x), proof, proof.verify()
    if relaxed.status is SolveStatus.INFEASIBLE and _is_empty(program, left(give_up)):
        return True
    start: Floats = np.empty(0)
    try:
        given = solve(program, time_limit=0.5 * left(give_up), gap=1e-6)
        start = given.x
    except SolverError:
        pass
    result = branch_and_bound(
        program,
        value=program.objective(np.rint(start)) if len(start) else np.inf,
        time_limit=left(deadline if len(start) else give_up),
        progress=report,
    )
    best = result.x if len(result.x) else start
    tree = RoundingBound(model, result.tree, np.empty(0))
    if not len(best):
        # A leaf may have been closed without a proof that it is empty.
        return tree.verify() == np.inf
    root = RoundingBound(model, None, relaxed.duals)
    bound, proof = max(
        ((proof.verify(), proof) for proof in (tree, root)), key=lambda pair: pair[0]
    )
    return model.values(best), proof, bound


def _is_empty(program: Program, time_limit: float) -> bool:
    """Whether it is proved in time that even the relaxation has no point."""
    try:
        return find_infeasibility(program, time_limit=time_limit).confirmed
    except SolverError:
        return False
