"""Heuristic patterns: protect one sensitive cell after another by small linear programs.

For a cell whose need is open, the program finds the cheapest deviation that moves it far
enough; the cells it moves are suppressed, and the deviation becomes their witness. Cells that
are already suppressed cost next to nothing. The program looks at a neighbourhood of the cell
only, which grows if it does not suffice; reweighting by the last solution makes it prefer
few cells over small moves, because a cell is suppressed whole. What is found is improved by
protecting everything again within the pattern, and by publishing single cells again.

References
----------
.. [1] Kelly, Golden, Assad: Cell suppression: disclosure protection for sensitive tabular
   data, Networks 22 (1992).
.. [2] Fischetti, Salazar: Solving the cell suppression problem on tabular data with linear
   constraints, Management Science 47 (2001), section 5 (heuristic and clean-up).
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from tablecloak.errors import ModelError, listed
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus
from tablecloak.suppression.audit.attack import FARTHEST, Attack, nearest_unit, prove
from tablecloak.suppression.search.neighbourhood import Neighbourhoods
from tablecloak.suppression.search.paths import Paths
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Builder",
    "Candidate",
    "Strategy",
    "Tick",
    "clean_up",
    "costliest_first",
    "exchange",
    "protect_need",
    "protect_one_by_one",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

HIDDEN_COST = 1e-4
"""Cost of moving a suppressed cell, as a share of the median cost.

Not 0: otherwise a witness wanders through suppressed cells that it does not need, and the
clean-up must then doubt it for no reason.
"""

NEGLIGIBLE = 1e-9
"""Moves below this share of the length that is 1 in a program are noise of the solver."""

ALL_AT_ONCE = 1000
"""Cells up to which the whole table is one neighbourhood."""

BATCHED_CELLS = 100_000
"""Cells up to which many needs are attacked at once now and then; beyond, only at the end, when
nearly all that is needed is hidden: before, one such program takes minutes and proves little."""

INTERIOR_ROWS = 4000
"""Rows from which on a program is solved by the interior point method."""

PROGRAMS = (6, 400)
"""Fewest and most programs over the whole table for what no neighbourhood can protect."""

REGIONS = ((12, 4, 20_000), (30, 3, 20_000), (60, 3, 60_000), (100, 3, 100_000))
"""Width, slack and size of the regions of a very large table."""

FEW = 50
"""Cells that are still open, below which each is attacked alone after such a program."""

REWARD = 1e3
"""What moving a sensitive cell by its unit is worth, in median costs, if it is not forced."""

Area = tuple[int, int] | tuple[int, int, int] | None
"""Width, slack and perhaps size of a neighbourhood; None is the whole table."""

Tick = Callable[[float, int], None]
"""Called with the loss so far and the number of sensitive cells that are still open."""


@dataclass(frozen=True)
class Strategy:
    """Choices that change the pattern more than anything else; tried as a portfolio.

    Parameters
    ----------
    areas : tuple of (int, int), default=((8, 0), (12, 2), (12, 3))
        Width and slack of the neighbourhoods to try for each cell; the cheapest result counts.
    programs : bool, default=True
        Whether linear programs are tried as well where a shortest path was found.
    reweightings : int, default=2
        How often the program is solved again with costs divided by the last moves.
    symmetric : bool, default=True
        Allow each cell the smaller of its two distances, so that the mirror image of a
        deviation is a witness too and one program protects both sides.
    largest_first : bool, default=True
        Whether cells with large needs come first, or last.
    """

    areas: tuple[Area, ...] = ((8, 0), (12, 2), (12, 3))
    programs: bool = True
    reweightings: int = 2
    symmetric: bool = True
    largest_first: bool = True


HASTY = Strategy(areas=((6, 0),), programs=False, reweightings=0)
"""For what is left when time is up; on networks a path will do."""

EXCHANGED = Strategy(areas=((8, 0), (12, 2)), reweightings=1)
"""For what an exchanged cell used to protect."""

WIDER = ((12, 2), (12, 3))
"""Width and slack of neighbourhoods to try if no chosen one suffices; then the whole table."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A pattern with its proof, complete or on the way to it.

    Parameters
    ----------
    hidden : numpy.ndarray of bool, shape (n_unknown,)
        Over the cells that may be suppressed, those of the pool's system.
    pool : WitnessPool
    weights : numpy.ndarray of float, shape (n_unknown,)
        Their weights.
    """

    hidden: Flags
    pool: WitnessPool
    weights: Floats

    @property
    def is_proved(self) -> bool:
        """Whether all sensitive cells are proved to be protected."""
        return not np.any(self.pool.open)

    @property
    def loss(self) -> float:
        """Weight of all suppressed cells."""
        return float(self.weights[self.hidden].sum())


def protect_one_by_one(
    problem: ProtectionProblem,
    system: System,
    strategy: Strategy,
    *,
    within: Flags | None = None,
    deadline: float = np.inf,
    seed: int = 0,
    tick: Tick | None = None,
) -> Candidate:
    """Build a pattern by protecting one sensitive cell after another.

    Parameters
    ----------
    problem : ProtectionProblem
        With finite external bounds.
    system : System
        Of all cells that may be suppressed.
    strategy : Strategy
    within : numpy.ndarray of bool, shape (n_unknown,), optional
        Suppress these cells only; by default all.
    deadline : float, default=inf
        Moment of `time.monotonic` after which the rest is protected in a hurry.
    seed : int, default=0
        For the directions of batched programs.
    tick : callable, optional

    Returns
    -------
    Candidate
        Proved, unless `within` is too narrow.

    Raises
    ------
    ModelError
        If some cell cannot be protected even with everything suppressed; names all of them.
    """
    weights = problem.weights[system.cells]
    hidden = (problem.sensitive | problem.forced)[system.cells]
    pool = WitnessPool(system)
    batched = system.n_unknown <= BATCHED_CELLS
    attack = Attack(system, only_pushed=not batched)
    if batched:
        attack.hide(hidden)
        prove(attack, pool, seed=seed, only_batches=True)
    builder = Builder(system, weights, within)
    shown = 0.0
    refresh = max(int(pool.open.sum()) // 2, 50)
    for count, index in enumerate(_order(pool, strategy.largest_first)):
        if batched and count and count % refresh == 0 and np.any(pool.open):
            attack.hide(hidden)
            prove(attack, pool, seed=seed, only_batches=True)
        if not pool.is_open(index):
            continue
        late = time.monotonic() > deadline
        if late and within is not None:
            break
        protect_need(builder, pool, hidden, index, HASTY if late else strategy)
        if tick and time.monotonic() > shown + 0.2:
            shown = time.monotonic()
            tick(float(weights[hidden].sum()), int(pool.open.sum()))
    if not batched and within is None and np.any(pool.open):
        attack.hide(hidden)
        prove(attack, pool, seed=seed, only_batches=True)
        _protect_regions(builder, pool, hidden, tick)
    if np.any(pool.open) and (within is None or time.monotonic() < deadline):
        _protect_groups(builder, attack, pool, hidden, deadline, seed, tick)
    if np.any(pool.open) and within is None:
        _at_any_cost(problem, pool, hidden)
    return Candidate(hidden, pool, weights)


def clean_up(
    candidate: Candidate, must: Flags, *, deadline: float = np.inf, tick: Tick | None = None
) -> Candidate:
    """Publish secondaries again where the pattern stays proved, the costliest first.

    Only witnesses that move the cell in question are doubted; the sensitive cells they prove
    are protected again without it, within what is suppressed.

    Parameters
    ----------
    candidate : Candidate
        A proved pattern.
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that must stay suppressed.
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop.
    tick : callable, optional
    """
    system, weights = candidate.pool.system, candidate.weights
    hidden, pool = candidate.hidden.copy(), candidate.pool
    moved = pool.moved()
    hidden &= moved | must
    order = costliest_first(hidden & ~must, weights)
    attack = Attack(system)
    attack.hide(hidden)
    for cell in order:
        if time.monotonic() > deadline:
            break
        hidden[cell] = False
        trial = pool.without(int(cell))
        if np.any(trial.open):
            attack.hide(hidden)
            prove(attack, trial, stop_at_failure=True, deadline=deadline)
        if np.any(trial.open):
            hidden[cell] = True
            continue
        pool = trial
        if tick:
            tick(float(weights[hidden].sum()), 0)
    return Candidate(hidden, pool, weights)


def exchange(
    candidate: Candidate, must: Flags, *, deadline: float = np.inf, tick: Tick | None = None
) -> Candidate:
    """Publish secondaries again at the price of others, the costliest first.

    A cell is forbidden, what its witnesses proved is protected anew with any other cells, and
    what is then no longer needed is published; the change is kept if the loss falls.

    Parameters
    ----------
    candidate : Candidate
        A proved pattern.
    must : numpy.ndarray of bool, shape (n_unknown,)
        Cells that must stay suppressed.
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop.
    tick : callable, optional
    """
    weights = candidate.weights
    builder = Builder(candidate.pool.system, weights, None)
    best = candidate
    tried: set[int] = set()
    while time.monotonic() < deadline:
        order = costliest_first(best.hidden & ~must, weights)
        cell = next((int(cell) for cell in order if int(cell) not in tried), None)
        if cell is None:
            break
        tried.add(cell)
        found = _without(builder, best, must, cell)
        if found is not None and found.loss < best.loss * (1 - 1e-12):
            best = found
        if tick:
            tick(best.loss, len(order) - len(tried))
    return best


def costliest_first(cells: Flags, weights: Floats) -> Integers:
    """Return the cells with a positive weight, the largest weight first."""
    some = np.flatnonzero(cells & (weights > 0))
    ordered: Integers = some[np.argsort(-weights[some], kind="stable")]
    return ordered


def _without(builder: Builder, candidate: Candidate, must: Flags, cell: int) -> Candidate | None:
    """Return the pattern after one cell is forbidden; None if that cannot be better."""
    builder.forbidden = cell
    pool, hidden = candidate.pool.without(cell), candidate.hidden.copy()
    hidden[cell] = False
    for index in _order(pool, largest_first=True):
        if pool.is_open(index) and not protect_need(builder, pool, hidden, index, EXCHANGED):
            return None
        if float(builder.weights[hidden & (pool.moved() | must)].sum()) >= candidate.loss:
            return None
    return Candidate(hidden & (pool.moved() | must), pool, builder.weights)


class Builder:
    """Makes the small programs."""

    def __init__(self, system: System, weights: Floats, within: Flags | None) -> None:
        self.system = system
        positive = weights[weights > 0]
        middle = float(np.median(positive)) if len(positive) else 1.0
        self.weights = weights
        self.cost = weights / middle + HIDDEN_COST
        self.within = within
        self.forbidden = -1
        self.near = Neighbourhoods(system, self.cost)
        self.paths = Paths.of(system)
        self.kept: dict[bool, tuple[Integers, _CoverProgram]] = {}

    def seen_by(self, system: System) -> Builder:
        """Return a builder for somebody who knows other bounds of the same cells."""
        other = copy.copy(self)
        other.system, other.kept = system, {}
        other.paths = None if self.paths is None else self.paths.seen_by(system)
        return other

    def path(
        self, cell: int, target: float, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, Floats] | None:
        """Return the cheapest cycle through a cell, if the table is a network and has one."""
        if self.paths is None:
            return None
        cost = np.where(hidden, HIDDEN_COST, self.cost)
        if self.within is not None:
            cost[~self.within] = np.inf
        if self.forbidden >= 0:
            cost[self.forbidden] = np.inf
        return self.paths.cheapest(cell, target, cost, symmetric=symmetric)

    def program(
        self, cell: int, area: Area, hidden: Flags, symmetric: bool
    ) -> tuple[Integers, _CoverProgram]:
        """Return the cells of a program, and the program; the one of the whole table is kept."""
        if area is None:
            return self.whole(symmetric)
        cells = self.near.around(cell, area[0], hidden, *area[1:])
        if self.within is not None:
            cells = cells[self.within[cells]]
        cells = cells[cells != self.forbidden]
        return cells, _CoverProgram(self.system.part(cells), symmetric=symmetric)

    def whole(self, symmetric: bool) -> tuple[Integers, _CoverProgram]:
        """Return all cells that may be used, and the program over them."""
        if symmetric not in self.kept:
            cells = np.arange(self.system.n_unknown)
            if self.within is not None:
                cells = cells[self.within]
            self.kept[symmetric] = (
                cells,
                _CoverProgram(self.system.part(cells), symmetric=symmetric),
            )
        return self.kept[symmetric]


class _CoverProgram:
    """min sum c_i (d+_i + d-_i) over A (d+ - d-) = 0, with one cell forced to move."""

    def __init__(self, system: System, *, symmetric: bool) -> None:
        high, low = system.high, -system.low
        if symmetric:
            high = low = np.minimum(high, low)
        self.system = system
        self.rooms = np.concatenate([high, low])
        self.unit = system.unit
        self.room = np.minimum(self.rooms / self.unit, FARTHEST)
        n, zero = system.n_unknown, np.zeros(len(system.rows))
        matrix = csr_array(hstack([system.matrix, -system.matrix], format="csr"))
        self.solver = LinearSolver(
            Program(np.zeros(2 * n), matrix, zero, zero, np.zeros(2 * n), self.room.copy()),
            interior="always" if len(zero) > INTERIOR_ROWS else "never",
            once=True,
        )

    def carries(self, need: float) -> Floats:
        """Share of a need that each cell can carry at most, at least 2 %.

        Ten cells that can move by a tenth of the need cost as much as they weigh together,
        just as one that can move by all of it: weights count per share carried.
        """
        n = self.system.n_unknown
        room = np.maximum(self.rooms[:n], self.rooms[n:])
        share: Floats = np.clip(room / need, 0.02, 1.0)
        return share

    def solve(self, cost: Floats, cell: int, target: float) -> Floats:
        """Return the cheapest deviation that moves a cell to its target.

        Empty if there is none.
        """
        n = self.system.n_unknown
        self._measure_in(abs(target))
        ahead, behind = (cell, cell + n) if target > 0 else (cell + n, cell)
        wanted = abs(target) / self.unit
        if wanted > self.room[ahead] * (1 + 1e-9):
            return np.empty(0)
        columns = np.array([ahead, behind])
        self.solver.change_costs(np.arange(2 * n), np.tile(cost, 2))
        lower = np.array([min(wanted, self.room[ahead]), 0.0])
        self.solver.change_bounds(columns, lower, np.array([self.room[ahead], 0.0]))
        return self._solved(columns)

    def solve_many(self, cost: Floats, cells: Integers, targets: Floats) -> Floats:
        """Return the cheapest deviation that moves as many cells as possible to their targets.

        Each is worth more than others' moves are likely to cost; none is forced.
        """
        n = self.system.n_unknown
        self._measure_in(float(np.median(np.abs(targets))))
        up = targets > 0
        ahead, behind = np.where(up, cells, cells + n), np.where(up, cells + n, cells)
        columns = np.concatenate([ahead, behind])
        wanted = np.minimum(np.abs(targets) / self.unit, self.room[ahead])
        costs = np.tile(cost, 2)
        costs[ahead] = -REWARD
        self.solver.change_costs(np.arange(2 * n), costs)
        upper = np.concatenate([wanted, np.zeros(len(behind))])
        self.solver.change_bounds(columns, np.zeros(len(columns)), upper)
        return self._solved(columns)

    def _measure_in(self, distance: float) -> None:
        """Let what is asked be near 1 in the program, whatever other cells need."""
        unit = nearest_unit(self.system.unit, distance)
        if unit != self.unit:
            self.unit = unit
            self.room = np.minimum(self.rooms / unit, FARTHEST)
            every = np.arange(len(self.room))
            self.solver.change_bounds(every, np.zeros(len(every)), self.room)

    def _solved(self, columns: Integers) -> Floats:
        """Solve, put the bounds of some columns back, and return the deviation."""
        n = self.system.n_unknown
        solution = self.solver.solve()
        self.solver.change_bounds(columns, np.zeros(len(columns)), self.room[columns])
        if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE):
            return np.empty(0)
        moved = solution.x[:n] - solution.x[n:]
        deviation: Floats = np.where(np.abs(moved) > NEGLIGIBLE, moved, 0.0) * self.unit
        return deviation


def _order(pool: WitnessPool, largest_first: bool) -> list[int]:
    needs = pool.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    open_ = np.flatnonzero(pool.open)
    order: list[int] = open_[np.argsort(size[open_], kind="stable")].tolist()
    return order[::-1] if largest_first else order


def protect_need(
    builder: Builder, pool: WitnessPool, hidden: Flags, index: int, strategy: Strategy
) -> bool:
    """Protect one need, extending `hidden` in place; say whether that succeeded."""
    attempts: list[tuple[tuple[Area, ...], bool]] = [(strategy.areas, strategy.symmetric)]
    attempts += [((area,), symmetric) for area in WIDER for symmetric in (True, False)]
    if pool.system.n_unknown <= ALL_AT_ONCE:
        attempts = [((None,), strategy.symmetric), ((None,), not strategy.symmetric)]
    for areas, symmetric in attempts:
        for _ in range(4):
            target = _target(pool, index, symmetric)
            if target == 0:
                return True
            found = _cheapest(builder, pool, hidden, index, target, strategy, areas, symmetric)
            if found is None:
                break
            cells, data = found
            before = pool.reached(index)
            hidden[cells] = True
            pool.add_sparse(cells, data)
            if pool.reached(index) <= before:
                break
        if not pool.is_open(index):
            return True
    return False


def _target(pool: WitnessPool, index: int, symmetric: bool) -> float:
    """Signed distance that one program should reach; 0 if the need is met."""
    if not pool.is_open(index):
        return 0.0
    needs = pool.needs
    upper, lower, width = needs.upper[index], needs.lower[index], needs.width[index]
    above, below = pool.above[index], pool.below[index]
    if symmetric:
        return float(max(upper, lower, width / 2))
    if above < upper * (1 - 1e-9):
        return float(upper)
    if below < lower * (1 - 1e-9):
        return -float(lower)
    # What the width still lacks goes to the side with more room.
    cell = needs.cells[index]
    up = min(pool.system.high[cell], width - below)
    down = min(-pool.system.low[cell], width - above)
    return float(up) if up - above >= down - below else -float(down)


def _cheapest(
    builder: Builder,
    pool: WitnessPool,
    hidden: Flags,
    index: int,
    target: float,
    strategy: Strategy,
    areas: tuple[Area, ...],
    symmetric: bool,
) -> tuple[Integers, Floats] | None:
    """Best of several programs, by the weight of the cells that it would suppress."""
    cell = int(pool.needs.cells[index])
    best: tuple[float, Integers, Floats] | None = None
    path = builder.path(cell, target, hidden, symmetric)
    if path is not None:
        best = (float(builder.cost[path[0]][~hidden[path[0]]].sum()), *path)
        if not strategy.programs or best[0] == 0:
            return best[1:]
    seen = 0
    for area in areas:
        cells, program = builder.program(cell, area, hidden, symmetric)
        if len(cells) == seen:
            continue
        seen = len(cells)
        position = int(np.searchsorted(cells, cell))
        part_hidden, part_cost = hidden[cells], builder.cost[cells]
        if builder.forbidden >= 0:
            part_cost = np.where(cells == builder.forbidden, np.inf, part_cost)
        true_cost = np.where(part_hidden, 0.0, part_cost)
        cost = _scaled(part_cost / program.carries(abs(target)), part_hidden)
        for _ in range(strategy.reweightings + 1):
            found = program.solve(cost, position, target)
            if not len(found):
                break
            moved = np.flatnonzero(found)
            if builder.forbidden in cells[moved]:
                break
            loss = float(true_cost[moved].sum())
            if best is None or loss < best[0]:
                best = (loss, cells[moved], found[moved])
            if loss == 0:
                break
            # A cell is suppressed whole: what moves a little is as dear as what moves far.
            share = np.minimum(np.abs(found) / abs(target), 1.0)
            cost = _scaled(part_cost / np.maximum(share, 0.02), part_hidden)
        if best is not None and best[0] == 0:
            break
    return None if best is None else best[1:]


def _scaled(cost: Floats, hidden: Flags) -> Floats:
    """Costs within a range that a solver can tell apart."""
    free = cost[~hidden & np.isfinite(cost)]
    middle = float(np.median(free)) if len(free) else 1.0
    scaled: Floats = np.where(hidden, HIDDEN_COST, np.clip(cost / middle, HIDDEN_COST, 1e4))
    return scaled


def _protect_groups(
    builder: Builder,
    attack: Attack,
    pool: WitnessPool,
    hidden: Flags,
    deadline: float,
    seed: int,
    tick: Tick | None,
) -> None:
    """Protect what no neighbourhood can, in groups, by programs over the whole table."""
    random = np.random.default_rng(seed)
    attack.hide(hidden)
    prove(attack, pool, seed=seed, only_batches=True)
    failed, seconds, symmetric = 0, 0.5, True
    while np.any(pool.open) and failed < 4:
        order = np.array(_order(pool, largest_first=True))
        started = time.monotonic()
        late = started > deadline
        # As many programs as fit into two thirds of the time that is left.
        programs = int(np.clip((deadline - started) / seconds / 1.5, *PROGRAMS))
        size = len(order) if late else max(1, -(-len(order) // programs))
        group = order[:size] if failed == 0 else random.choice(order, size, replace=False)
        found = _cheapest_for_many(
            builder, *builder.whole(symmetric), pool, hidden, group, symmetric, random
        )
        hidden[found[0]] = True
        pool.add_sparse(*found)
        attack.hide(hidden)
        prove(attack, pool, seed=seed, only_batches=int(pool.open.sum()) > FEW)
        seconds = time.monotonic() - started
        proved = len(order) - int(pool.open.sum())
        failed = 0 if proved else failed + 1
        # Where most cells have room on one side only, mirror images are out of reach.
        symmetric ^= proved < 0.1 * size
        if tick:
            tick(float(builder.weights[hidden].sum()), int(pool.open.sum()))


def _protect_regions(builder: Builder, pool: WitnessPool, hidden: Flags, tick: Tick | None) -> None:
    """Protect what no neighbourhood can, one by one, in regions of a very large table."""
    for index in _order(pool, largest_first=True):
        for area, symmetric in itertools.product(REGIONS, (True, False)):
            if not pool.is_open(index):
                break
            target = _target(pool, index, symmetric)
            found = _cheapest(builder, pool, hidden, index, target, HASTY, (area,), symmetric)
            if found is not None:
                hidden[found[0]] = True
                pool.add_sparse(*found)
        if tick:
            tick(float(builder.weights[hidden].sum()), int(pool.open.sum()))


def _cheapest_for_many(
    builder: Builder,
    cells: Integers,
    program: _CoverProgram,
    pool: WitnessPool,
    hidden: Flags,
    group: Integers,
    symmetric: bool,
    random: np.random.Generator,
) -> tuple[Integers, Floats]:
    """Cheapest deviation within some cells that moves as many of a group as it can."""
    targets = np.array([_target(pool, int(index), symmetric) for index in group])
    if symmetric and len(group) > 1:
        # Directions of their own, or all would have to grow at once.
        targets *= random.choice([-1.0, 1.0], len(targets))
    positions = np.searchsorted(cells, pool.needs.cells[group])
    need = float(np.median(np.abs(targets)))
    cost = _scaled(builder.cost[cells] / program.carries(need), hidden[cells])
    found = program.solve_many(cost, positions, targets)
    moved = np.flatnonzero(found)
    return cells[moved], found[moved]


def _at_any_cost(problem: ProtectionProblem, pool: WitnessPool, hidden: Flags) -> None:
    """Protect all that is open by attacking the table with everything suppressed.

    The cells that these witnesses move are suppressed; dear, but quick and certain.

    Raises
    ------
    ModelError
        Names all cells that cannot be protected even so.
    """
    attack = Attack(pool.system)
    prove(attack, pool)
    impossible = pool.needs.cells[pool.open]
    if len(impossible):
        cells = pool.system.cells[impossible]
        raise ModelError(
            f"{len(cells)} sensitive cells cannot be protected even if every cell that may be "
            f"suppressed is: {listed(problem.table.labels(cells))}. Lower their levels, widen the "
            f"external bounds, or unfreeze cells in their relations.",
            cells=cells,
        )
    hidden |= pool.moved()
