"""Rounding of large tables of three dimensions and more: slab by slab, with a bound by prices.

The table is always the sum of its most detailed cells. Cells beyond the two multiples around their
true value, the exceptions, cost a price that nothing else outweighs. In turn each slab moves, alone
or in a pair, to where it costs least while all else stays as it is.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.rounding.answer import Rounding, RoundingBound
from tablecloak.cta.rounding.model import RoundingModel
from tablecloak.cta.rounding.prices import RoundingPrices, driven, priced
from tablecloak.cta.rounding.slabs import Shift, Slabs
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.errors import SolverError
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

LARGE = 3_000
"""Cells from which a table of three dimensions or more is rounded slab by slab. A tree leaves a gap
of 32 % at 8,745 cells after a minute, slabs leave one of 3 % after 2 s; on smaller tables a tree
also proves that no rounding exists."""

HOPELESS = 20_000
"""Cells from which nothing else is tried if slabs find no rounding."""

PRICES_SHARE = 0.3
"""Share of the time for prices; 150,000 cells take 4 s."""

SEARCH_SHARE = 0.8
"""Share of what is left then for the search; a bound for more steps, and the check, follow."""

DRIVEN_SHARE = 0.5
"""Share of the search for driving the point of the prices to whole numbers."""

TRIES = 4
"""Searches while exceptions are left, each from a point that was driven more slowly: of 19,628
cells in three hierarchies one left two exceptions, the next none."""

MORE_STEPS_SHARE = 0.6
"""Share of what is left after the search for prices of roundings with more steps."""

EXCEPTION = 20.0
"""Price of a step beyond the two multiples around a value, in steps of the heaviest cell."""

FORBIDDEN = 20.0
"""Price of a step that no rounding may make, in exceptions."""

LARGEST_PRICE = 1e6
"""Largest price of an exception in steps of a cell of median weight: a solver decides with absolute
tolerances."""

DEAR = 3.0
"""Steps of a slab that cost more exceptions than this are left out of its program, which makes it
smaller by a half and costs little, since few moves pay for so many exceptions."""

PROGRAM_SECONDS = 20.0
"""Time limit for the program of one slab; one of 10,000 cells takes 0.1 s."""

MIXED_SECONDS = 2.0
"""Time limit for a slab whose relaxation has fractions, which slabs of three dimensions and more or
of two hierarchies can have."""

INTEGRALITY = 1e-6
"""Largest distance from whole numbers at which a point of a relaxation is rounded to them."""

LEAST_GAIN = 1e-9
"""Least gain for which a slab moves."""

STALLED = 1e-5
"""Share of the cost below which the gain of a turn counts as none."""

PATIENCE = 4
"""Turns without a gain after which the search ends."""


def rounding_by_slabs(task: RoundingTask, budget: Budget) -> Rounding | None:
    """Return a rounding with few exceptions from one step; None if the table is not for slabs.

    Parameters
    ----------
    task : RoundingTask
    budget : Budget

    Raises
    ------
    SolverError
        If no rounding of a very large table was found.
    """
    n_cells = task.problem.table.n_cells
    slabs = Slabs.of(task.problem.table) if n_cells >= LARGE else None
    if slabs is None:
        return None
    model, costs = RoundingModel(task, 1), StepCosts.of(task)
    prices = priced(model.program, budget.share(PRICES_SHARE))
    t = _multiples(model, prices, slabs, costs, budget.share(SEARCH_SHARE))
    if t is None and n_cells < HOPELESS:
        return None
    if t is None:
        raise SolverError(
            f"No additive rounding to base {task.base} within {task.max_steps} steps was found in "
            f"time. Raise `time_limit` or `max_steps`."
        )
    steps = 1 + int(costs.beyond(t).max(initial=0))
    if steps > 1:
        prices = priced(RoundingModel(task, steps).program, budget.share(MORE_STEPS_SHARE))
    notes = tuple(
        f"a rounding with {k} step{'s' * (k > 1)} was not found in time" for k in range(1, steps)
    )
    return Rounding(t * task.base, RoundingBound(None, prices.duals), steps, notes)


def _multiples(
    model: RoundingModel, prices: RoundingPrices, slabs: Slabs, costs: StepCosts, budget: Budget
) -> Integers | None:
    """Return the best multiples of some searches; None if none were found."""
    best, least = None, np.inf
    step_cost, cells = np.maximum(model.up_cost, 1.0), np.arange(slabs.table.n_cells)
    for number in range(1, TRIES + 1):
        x = driven(model.program, prices, step_cost, budget.share(DRIVEN_SHARE), number)
        t = rounded_in_parts(slabs, costs, model.values(np.rint(x)) // model.task.base, budget)
        cost = np.inf if t is None else float(costs(cells, t).sum())
        if cost < least:
            best, least = t, cost
        if budget.is_over or (best is not None and not np.any(costs.beyond(best))):
            break
    return best


@dataclass(frozen=True, eq=False)
class StepCosts:
    """What it costs if a cell becomes t times the base: convex in t.

    Parameters
    ----------
    rest : numpy.ndarray of float, shape (n_cells,)
        How far true values lie above `low`, as a share of the base.
    cost : numpy.ndarray of float, shape (n_cells,)
        Of a step.
    low, high : numpy.ndarray of int, shape (n_cells,)
        Multiples around the true value.
    least, most : numpy.ndarray of int, shape (n_cells,)
        Multiples that are allowed at all.
    exception : float
        Price of each step beyond `low` and `high`.
    """

    rest: Floats
    cost: Floats
    low: Integers
    high: Integers
    least: Integers
    most: Integers
    exception: float

    @classmethod
    def of(cls, task: RoundingTask) -> StepCosts:
        """Return the costs for roundings within the steps that are allowed."""
        true, base, steps, weights = task.true, task.base, task.max_steps, task.weights
        low, high = true // base, -(-true // base)
        least, most = low - (steps - 1), high + (steps - 1)
        # No value changes its sign.
        least, most = (
            np.where(true >= 0, np.maximum(least, 0), least),
            np.where(true < 0, np.minimum(most, 0), most),
        )
        least, most = (np.where(task.problem.frozen, low, end) for end in (least, most))
        positive = weights[weights > 0]
        unit = float(np.median(positive)) if len(positive) else 1.0
        cost = weights / unit
        price = min(EXCEPTION * max(float(cost.max(initial=0.0)), 1.0), LARGEST_PRICE)
        return cls(true % base / base, cost, low, high, least, most, price)

    def __call__(self, cells: Integers, t: Integers) -> Floats:
        """Return the cost of some cells at multiples t."""
        beyond = _beyond(t, self.low[cells], self.high[cells])
        forbidden = _beyond(t, self.least[cells], self.most[cells])
        near = self.cost[cells] * np.abs(t - self.low[cells] - self.rest[cells])
        found: Floats = near + self.exception * (beyond + FORBIDDEN * forbidden)
        return found

    def beyond(self, t: Integers) -> Integers:
        """Return how many steps each cell is beyond the multiples around its true value."""
        return _beyond(t, self.low, self.high)

    def is_allowed(self, t: Integers) -> bool:
        """Whether every cell is within its limits."""
        return not np.any(_beyond(t, self.least, self.most))


def _beyond(t: Integers, low: Integers, high: Integers) -> Integers:
    found: Integers = np.maximum(np.maximum(low - t, t - high), 0)
    return found


class SlabSearch:
    """A table of multiples that adds up, improved slab by slab.

    Parameters
    ----------
    slabs : Slabs
    costs : StepCosts
    start : numpy.ndarray of int, shape (n_cells,)
        Multiples for the most detailed cells.
    """

    def __init__(self, slabs: Slabs, costs: StepCosts, start: Integers) -> None:
        self.slabs, self.costs = slabs, costs
        self.t = slabs.added_up(start)
        self.cost = float(costs(np.arange(len(self.t)), self.t).sum())

    def improve(self, budget: Budget, random: np.random.Generator) -> None:
        """Let slabs move until no time is left or nothing is gained.

        Parameters
        ----------
        budget : Budget
        random : numpy.random.Generator
        """
        idle = turn = 0
        while idle < PATIENCE:
            before = self.cost
            for at, leaf, back in self._turn(turn, random):
                if budget.is_over:
                    return
                shift = self.slabs.shift(at, leaf, back)
                if shift is not None:
                    self.move(shift, budget)
            exceptions = int(np.count_nonzero(self.costs.beyond(self.t)))
            budget.report("rounding slab by slab", self.cost, 0.0, exceptions)
            idle = idle + 1 if before - self.cost <= STALLED * before else 0
            turn += 1

    def _turn(self, turn: int, random: np.random.Generator) -> list[tuple[int, int, int | None]]:
        """Return dimension and leaves of the shifts of a turn: single slabs, or pairs of them."""
        found: list[tuple[int, int, int | None]] = []
        for at, dimension in enumerate(self.slabs.dimensions):
            # Two slabs of one family leave all slabs above alone, so that more is free to move.
            order = dimension.neighbours(random).tolist()
            if turn % 2:
                found += [(at, a, b) for a, b in itertools.pairwise(order)]
            else:
                found += [(at, leaf, None) for leaf in order]
        # The first turn repairs the start dimension by dimension; later ones mix them.
        return [found[i] for i in random.permutation(len(found))] if turn else found

    def move(self, shift: Shift, budget: Budget) -> None:
        """Add the table z of a shift that lowers the cost most.

        Parameters
        ----------
        shift : Shift
        budget : Budget
        """
        costs = self._costs(shift)
        up, down = (np.flatnonzero(cost < DEAR * self.costs.exception) for cost in costs)
        no_sides, n = np.zeros(shift.relations.shape[0]), len(up) + len(down)
        program = Program(
            cost=np.concatenate([costs[0][up], costs[1][down]]),
            matrix=csr_array(
                hstack([shift.relations[:, up], -shift.relations[:, down]], format="csr")
            ),
            row_lower=no_sides,
            row_upper=no_sides,
            lower=np.zeros(n),
            upper=np.ones(n),
            integral=np.ones(n, dtype=bool),
        )
        x = _best(program, budget)
        gain = -float(program.cost @ x) if len(x) else 0.0
        if gain <= LEAST_GAIN:
            return
        z = np.zeros(len(costs[0]), dtype=np.int64)
        z[up] += x[: len(up)].astype(np.int64)
        z[down] -= x[len(up) :].astype(np.int64)
        for cells, sign in zip(shift.cells, shift.sign, strict=True):
            self.t[cells] += sign * z
        self.cost -= gain

    def _costs(self, shift: Shift) -> tuple[Floats, Floats]:
        """Return what it costs at each place if z is 1, and if it is -1."""
        up, down = np.zeros(len(shift.cells[0])), np.zeros(len(shift.cells[0]))
        for cells, sign in zip(shift.cells, shift.sign, strict=True):
            t = self.t[cells]
            now = self.costs(cells, t)
            up += self.costs(cells, t + sign) - now
            down += self.costs(cells, t - sign) - now
        return up, down


def _best(program: Program, budget: Budget) -> Floats:
    """Return the best whole point that was found; empty if there is none."""
    x = LinearSolver(program, once=True).solve(min(budget.left, PROGRAM_SECONDS)).x
    if len(x) and np.max(np.abs(x - np.rint(x)), initial=0.0) > INTEGRALITY:
        try:
            x = solve(program, time_limit=min(budget.left, MIXED_SECONDS), gap=1e-3).x
        except SolverError:
            return np.empty(0)
    whole: Floats = np.rint(x)
    is_point = not len(whole) or not np.any(program.matrix @ whole)
    return whole if is_point else np.empty(0)


def rounded_in_parts(
    slabs: Slabs, costs: StepCosts, start: Integers, budget: Budget
) -> Integers | None:
    """Return multiples that add up and are allowed; None if none were found.

    Parameters
    ----------
    slabs : Slabs
    costs : StepCosts
    start : numpy.ndarray of int, shape (n_cells,)
        Multiples for the most detailed cells.
    budget : Budget
    """
    search = SlabSearch(slabs, costs, start)
    search.improve(budget, np.random.default_rng(budget.seed))
    is_rounding = costs.is_allowed(search.t) and slabs.adds_up(search.t)
    return search.t if is_rounding else None
