"""Rounding of large tables of three dimensions and more: slab by slab, with a bound by prices.

A slab is all cells with one code on a dimension, which move like a smaller table. Take a table of
three dimensions or more, and a leaf k of one of them. If the cells of its slab move by a table z
that adds up over the other dimensions, and every slab above k moves by the same z, the whole table
still adds up. The same holds for z on k and -z on another leaf, where slabs above both stay as they
are. With two other dimensions, z is a two-way table; if one of them has no hierarchy, the best z is
a network program, whose corners are whole numbers.

The table is always the sum of its most detailed cells. Cells beyond the two multiples around their
true value, the exceptions, cost a price that nothing else outweighs. In turn each slab moves, alone
or in a pair, to where it costs least while all else stays as it is.

References
----------
.. [1] Causey, Cox, Ernst: Applications of transportation theory to statistical problems, JASA 80
   (1985).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Integers, median_of_positive
from tablecloak.budget import Budget
from tablecloak.cta.rounding.prices import RelaxationPrices, driven, priced
from tablecloak.cta.rounding.rounded_table import RoundingAnswer, RoundingBound
from tablecloak.cta.rounding.steps import RoundingModel
from tablecloak.cta.rounding.task import RoundingTask
from tablecloak.errors import SolverError
from tablecloak.solve.exact import exact_products, whole_rows
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table

ABSENT = -1
"""Stands for a cell that the table does not have, and for the slab of a relation across slabs."""

ANY_COUNT = 1000
"""Counts below this, drawn at random, show whether relations hold for all tables or only one."""

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


@dataclass(frozen=True, eq=False)
class Shift:
    """Cells that a table z moves, and the relations that z has to satisfy.

    Parameters
    ----------
    cells : tuple of numpy.ndarray of int, each of shape (n_places,)
        The cells of each slab that moves, by place: the codes on the other dimensions.
    sign : tuple of int
        How often z is added to each slab.
    relations : scipy.sparse.csr_array, shape (n_relations, n_places)
        z must satisfy relations @ z = 0.
    """

    cells: tuple[Integers, ...]
    sign: tuple[int, ...]
    relations: csr_array


@dataclass(frozen=True, eq=False)
class SlabDimension:
    """The slabs of one dimension.

    Parameters
    ----------
    leaves : numpy.ndarray of int
        Codes without parts.
    above : scipy.sparse.csr_array of int, shape (n_codes, n_leaves)
        To which codes a leaf adds.
    cell : numpy.ndarray of int, shape (n_codes, n_places)
        The cell of a code at each place, or `ABSENT`.
    slab : numpy.ndarray of int, shape (n_relations,)
        The code that all cells of a relation share, or `ABSENT`.
    family : numpy.ndarray of int, shape (n_leaves,)
        The smallest code above each leaf.
    """

    leaves: Integers
    above: csr_array
    cell: Integers
    slab: Integers
    family: Integers

    @classmethod
    def of(cls, table: Table, codes: Sequence[Integers], at: int, tree: Hierarchy) -> SlabDimension:
        """Lay out the slabs of one dimension.

        Parameters
        ----------
        table : Table
        codes : sequence of numpy.ndarray of int
            The number of the code of each cell on each dimension.
        at : int
            Which dimension.
        tree : Hierarchy
        """
        others = np.zeros(table.n_cells, dtype=np.int64)
        for number, code in enumerate(codes):
            if number != at:
                others = others * (int(code.max()) + 1) + code
        places, place = np.unique(others, return_inverse=True)
        cell = np.full((len(tree.codes), len(places)), ABSENT, dtype=np.int64)
        cell[codes[at], place] = np.arange(table.n_cells)
        relations, of_entry = table.relations, codes[at][table.relations.indices]
        least = np.minimum.reduceat(of_entry, relations.indptr[:-1])
        most = np.maximum.reduceat(of_entry, relations.indptr[:-1])
        position = {code: place for place, code in enumerate(tree.codes)}
        leaves = np.array([position[leaf] for leaf in tree.leaves], dtype=np.int64)
        above = csr_array(tree.closure()).astype(np.int64)
        slab = np.where(least == most, least, ABSENT)
        return cls(leaves, above, cell, slab, _smallest_above(above, leaves))

    def neighbours(self, random: np.random.Generator) -> Integers:
        """Return all leaves in random order, with those of one family side by side.

        Parameters
        ----------
        random : numpy.random.Generator
        """
        rank = random.permutation(int(self.family.max()) + 1)[self.family]
        order: Integers = np.lexsort((random.random(len(self.leaves)), rank))
        return order


def _smallest_above(above: csr_array, leaves: Integers) -> Integers:
    """Return the code with the fewest leaves that each leaf adds to, other than itself."""
    number = np.diff(above.indptr)
    entries = above.tocoo()
    size = np.where(entries.row == leaves[entries.col], np.inf, number[entries.row])
    order = np.lexsort((size, entries.col))
    first = np.unique(entries.col[order], return_index=True)[1]
    codes: Integers = entries.row[order[first]].astype(np.int64)
    return codes


class Slabs:
    """The slabs of all dimensions of a table, in steps of a base.

    Parameters
    ----------
    table : Table
    dimensions : sequence of SlabDimension
    """

    def __init__(self, table: Table, dimensions: Sequence[SlabDimension]) -> None:
        self.table, self.dimensions = table, tuple(dimensions)
        self.relations, _ = whole_rows(table.relations)
        self._rows = [
            [np.flatnonzero(d.slab == leaf) for leaf in d.leaves] for d in self.dimensions
        ]
        is_leaf = np.ones(table.n_cells, dtype=bool)
        for dimension in self.dimensions:
            below = np.zeros(table.n_cells, dtype=bool)
            cells = dimension.cell[dimension.leaves]
            below[cells[cells != ABSENT]] = True
            is_leaf &= below
        self.is_leaf = is_leaf

    @classmethod
    def of(cls, table: Table) -> Slabs | None:
        """Return the slabs of a table that is the sum of its most detailed cells, or None.

        Parameters
        ----------
        table : Table
        """
        trees, keys = table.hierarchies, table.keys
        if len(trees) < 3 or not table.n_relations:
            return None
        numbers = {name: {c: i for i, c in enumerate(tree.codes)} for name, tree in trees.items()}
        positions = [keys[name].map(numbers[name]).to_numpy(dtype=np.float64) for name in trees]
        if np.isnan(positions).any() or np.any(np.diff(table.relations.indptr) == 0):
            return None
        codes = [code.astype(np.int64) for code in positions]
        slabs = cls(
            table,
            [SlabDimension.of(table, codes, at, tree) for at, tree in enumerate(trees.values())],
        )
        return slabs if slabs._are_sound() else None

    def _are_sound(self) -> bool:
        """Whether the table is the sum of its leaves, and other leaves make one that adds up."""
        n_cells = self.table.n_cells
        if any(np.count_nonzero(d.cell != ABSENT) != n_cells for d in self.dimensions):
            return False
        values = np.rint(self.table.values).astype(np.int64)
        others = np.random.default_rng(0).integers(0, ANY_COUNT, n_cells)
        is_sum = np.array_equal(self.added_up(values), values)
        return is_sum and self.adds_up(self.added_up(others))

    def added_up(self, numbers: Integers) -> Integers:
        """Return the table of the sums of its most detailed cells.

        Parameters
        ----------
        numbers : numpy.ndarray of int, shape (n_cells,)
            Only the most detailed cells are looked at.
        """
        sums = np.where(self.is_leaf, numbers, 0)
        for dimension in self.dimensions:
            exists = dimension.cell != ABSENT
            parts = np.where(exists, sums[dimension.cell], 0)[dimension.leaves]
            sums[dimension.cell[exists]] = (dimension.above @ parts)[exists]
        return sums

    def adds_up(self, numbers: Integers) -> bool:
        """Whether whole numbers satisfy every relation."""
        return not np.any(exact_products(self.relations, numbers))

    def shift(self, at: int, leaf: int, back: int | None = None) -> Shift | None:
        """Return what moves if z is added to a leaf, and taken from another one; None if nothing.

        Parameters
        ----------
        at : int
            Which dimension.
        leaf, back : int
            Positions in the leaves of the dimension.
        """
        dimension = self.dimensions[at]
        times = dimension.above[:, [leaf]].toarray().ravel()
        exists = dimension.cell[dimension.leaves[leaf]] != ABSENT
        if back is not None:
            times = times - dimension.above[:, [back]].toarray().ravel()
            exists &= dimension.cell[dimension.leaves[back]] != ABSENT
        places = np.flatnonzero(exists)
        moving = np.flatnonzero(times)
        if not len(places) or not len(moving):
            return None
        rows = self.relations[self._rows[at][leaf], :]
        return Shift(
            cells=tuple(dimension.cell[code, places] for code in moving),
            sign=tuple(int(times[code]) for code in moving),
            relations=rows[:, dimension.cell[dimension.leaves[leaf], places]],
        )


def rounding_by_slabs(task: RoundingTask, budget: Budget) -> RoundingAnswer | None:
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
    return RoundingAnswer(t * task.base, RoundingBound(None, prices.duals), steps, notes)


def _multiples(
    model: RoundingModel, prices: RelaxationPrices, slabs: Slabs, costs: StepCosts, budget: Budget
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
        cost = weights / median_of_positive(weights)
        price = min(EXCEPTION * max(float(cost.max(initial=0.0)), 1.0), LARGEST_PRICE)
        return cls(true % base / base, cost, low, high, least, most, price)

    def __call__(self, cells: Integers, t: Integers) -> Floats:
        """Return the cost of some cells at multiples t."""
        beyond = _beyond(t, self.low[cells], self.high[cells])
        forbidden = _beyond(t, self.least[cells], self.most[cells])
        near = self.cost[cells] * np.abs(t - self.low[cells] - self.rest[cells])
        costs: Floats = near + self.exception * (beyond + FORBIDDEN * forbidden)
        return costs

    def beyond(self, t: Integers) -> Integers:
        """Return how many steps each cell is beyond the multiples around its true value."""
        return _beyond(t, self.low, self.high)

    def is_allowed(self, t: Integers) -> bool:
        """Whether every cell is within its limits."""
        return not np.any(_beyond(t, self.least, self.most))


def _beyond(t: Integers, low: Integers, high: Integers) -> Integers:
    steps: Integers = np.maximum(np.maximum(low - t, t - high), 0)
    return steps


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
        shifts: list[tuple[int, int, int | None]] = []
        for at, dimension in enumerate(self.slabs.dimensions):
            # Two slabs of one family leave all slabs above alone, so that more is free to move.
            order = dimension.neighbours(random).tolist()
            if turn % 2:
                shifts += [(at, a, b) for a, b in itertools.pairwise(order)]
            else:
                shifts += [(at, leaf, None) for leaf in order]
        # The first turn repairs the start dimension by dimension; later ones mix them.
        return [shifts[i] for i in random.permutation(len(shifts))] if turn else shifts

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
