"""Tables from first-order methods: directions that cool down, and tables for given directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Stopwatch
from tablecloak.certificates.tree import RELATION, Multipliers
from tablecloak.cta.first_order.layout import FirstOrderLayout
from tablecloak.cta.first_order.primal_dual import Chooser, PrimalDual
from tablecloak.cta.first_order.relaxation import Relaxation, relaxed
from tablecloak.cta.first_order.totals import AdditiveGrid

COOLING_STEPS = 300
"""Steps of the first search of directions; each further one has twice as many as the one before."""

SEARCHES = 3
"""Searches of directions, each from other random directions."""

COOLING = (1.0, 0.05)
"""Ratio of the steps at the beginning and at the end of a search: long steps of changes turn many
directions, short ones keep them."""

NOISE = 0.3
"""Spread of the noise on the choice of a direction when a search begins, as a share of the cost of
the level of each cell; it falls to 0."""

NOISELESS = 0.2
"""Share of the steps at the end of a search that are without noise."""

SETTLING_STEPS = 200
"""Steps with given directions between two looks at loss and bound, for the first look; each further
one comes after half as many again."""

SETTLING_GROWTH = 1.5
"""Growth of the number of steps from look to look."""

MOST_SETTLING_STEPS = 20_000
"""Most steps with given directions."""

SETTLED = 1e-5
"""Relative gap at which given directions count as solved."""

LOOKS_AFTER_A_SEARCH = 2
"""Looks at the loss of directions that a search found."""


RELAXED_SHARE = 0.3
"""Share of the time for the relaxation before its point is driven."""

DRIVEN_STEPS = 400
"""Steps of the first drive from a relaxation; each further one has twice as many."""

LONGER = 2.0
"""Estimated time of a drive, as a multiple of that of the one before with half as many steps."""

DRIVES_IN_VAIN = 2
"""Drives without a table after which no further one is begun."""

DRIVES, FEW_DRIVES = 6, 3
"""Drives from one relaxation, and where programs follow. See docs/decisions, "Small counts are
driven to their values"."""


@dataclass(frozen=True, eq=False)
class BestTable:
    """The best table so far, and prices that prove a bound for its directions.

    Parameters
    ----------
    loss : float
    changes : numpy.ndarray of float, shape (n_cells,)
    prices : numpy.ndarray of float, shape (n_rows,)
        Affordable.
    bound : float
        What the prices prove for the directions of the table.
    """

    loss: float
    changes: Floats
    prices: Floats
    bound: float


def directed_table(
    grid: AdditiveGrid, fixed: Floats, budget: Budget
) -> tuple[BestTable, Multipliers] | None:
    """Return the best table with given directions, and multipliers; None if none was found.

    Parameters
    ----------
    grid : AdditiveGrid
    fixed : numpy.ndarray of float
        Direction of each sensitive group.
    budget : Budget
    """
    layout, is_up = grid.layout, fixed > 0
    best = _settled(is_up, grid, budget, MOST_SETTLING_STEPS)
    if best is None:
        return None
    return best, Multipliers.of([(RELATION, layout.rows, -1, best.prices)])


def _settled(
    is_up: Flags,
    grid: AdditiveGrid,
    budget: Budget,
    looks: int,
    method: PrimalDual | None = None,
) -> BestTable | None:
    """Return the best table for given directions, after some looks; None if there was none.

    A method may have begun already; by default it begins without changes.
    """
    layout, best = grid.layout, None
    method = PrimalDual(layout) if method is None else method
    bound, prices = -np.inf, np.zeros(len(layout.rows))
    steps, number = SETTLING_STEPS, 0
    for _ in range(looks):
        for _ in range(steps):
            method.step(1.0, lambda above, below: is_up)
            number += 1
            if budget.is_over and number > SETTLING_STEPS:
                break
        new = layout.affordable(method.multipliers, is_up)
        proved = layout.bound(new, is_up)
        if proved > bound:
            bound, prices = proved, new
        table = grid.rounded(method.changes)
        if table is not None and (best is None or table[0] < best.loss):
            best = BestTable(*table, prices, bound)
        if best is not None:
            best = BestTable(best.loss, best.changes, prices, bound)
            budget.report("given directions", best.loss, bound)
        is_closed = best is not None and best.loss - bound <= SETTLED * best.loss
        if budget.is_over or is_closed or number >= MOST_SETTLING_STEPS:
            break
        steps = int(steps * SETTLING_GROWTH)
    return best


def best_table(grid: AdditiveGrid, budget: Budget, bound: float = -np.inf) -> BestTable | None:
    """Return the best table of several searches of directions; None if there was none."""
    best, random = None, np.random.default_rng(0)
    for number in range(SEARCHES):
        if best is not None and budget.is_over:
            break
        method = _cooled(grid.layout, random, COOLING_STEPS * 2**number, budget)
        is_up = method.changes[grid.layout.model.sensitive] > 0
        table = _settled(is_up, grid, budget.quiet(), LOOKS_AFTER_A_SEARCH, method)
        if table is not None and (best is None or table.loss < best.loss):
            best = table
            budget.report("directions cooled", best.loss, bound)
    return best


def driven_table(
    grid: AdditiveGrid, budget: Budget, drives: int = DRIVES
) -> tuple[BestTable, Multipliers] | None:
    """Return the best table whose groups were driven to their two values; None if there was none.

    Parameters
    ----------
    grid : AdditiveGrid
        Of a model whose sensitive groups have two values each.
    budget : Budget
        A drive that does not end in it is not begun.
    drives : int, default=6

    Returns
    -------
    BestTable
    Multipliers
        They prove a bound for free directions.
    """
    layout, random = grid.layout, np.random.default_rng(0)
    relaxation, best = Relaxation(layout), None
    proof, seconds = relaxed(relaxation, budget.share(RELAXED_SHARE)), 0.0
    for number in range(drives):
        if seconds > budget.left or (best is None and number == DRIVES_IN_VAIN):
            break
        watch = Stopwatch()
        changes, prices = relaxation.driven(DRIVEN_STEPS * 2**number, random)
        table = grid.rounded(changes, is_directed=False)
        if table is not None:
            # Values that totals do not allow have been turned.
            method = PrimalDual(layout, layout.model.groups(table[1]), prices)
            is_up = method.changes[layout.model.sensitive] > 0
            again = _settled(is_up, grid, budget.quiet(), LOOKS_AFTER_A_SEARCH, method)
            tables = [BestTable(*table, prices, proof.bound), best, again]
            best = min((one for one in tables if one is not None), key=lambda one: one.loss)
            budget.report("driven to values", best.loss, proof.bound)
        seconds = LONGER * watch.seconds
    return None if best is None else (best, relaxation.multipliers(proof))


@dataclass(frozen=True, eq=False)
class Warm:
    """Changes and multipliers of a table, from which directions are cooled again.

    Parameters
    ----------
    changes : numpy.ndarray of float, shape (n_groups,)
    multipliers : numpy.ndarray of float, shape (n_rows,)
    is_up : numpy.ndarray of bool
        Direction of each sensitive group.
    """

    changes: Floats
    multipliers: Floats
    is_up: Flags

    @classmethod
    def of(cls, layout: FirstOrderLayout, changes: Floats, is_up: Flags) -> Warm:
        """Find multipliers of a table, by some steps with its directions."""
        method = PrimalDual(layout, changes)
        for _ in range(SETTLING_STEPS):
            method.step(1.0, lambda above, below: is_up)
        return cls(method.changes, method.multipliers, is_up)


def cooled(
    layout: FirstOrderLayout,
    random: np.random.Generator,
    steps: int,
    budget: Budget,
    again: tuple[Warm, Flags] | None = None,
) -> Flags:
    """Return directions that were chosen anew in each step, ever more reluctantly.

    Parameters
    ----------
    layout : FirstOrderLayout
    random : numpy.random.Generator
    steps : int
    budget : Budget
    again : tuple of Warm and array of bool, optional
        A table, and which of its directions are chosen anew; all others stay as they are.

    Returns
    -------
    numpy.ndarray of bool
        Whether each sensitive group goes up.
    """
    method = _cooled(layout, random, steps, budget, again)
    is_up: Flags = method.changes[layout.model.sensitive] > 0
    return is_up


def _cooled(
    layout: FirstOrderLayout,
    random: np.random.Generator,
    steps: int,
    budget: Budget,
    again: tuple[Warm, Flags] | None = None,
) -> PrimalDual:
    """Return changes whose directions were chosen anew in each step, ever more reluctantly.

    A direction changes when the prices of its relations pull the target of a step past the middle
    of both levels, which long steps do easily. So searches begin with long steps and noise.
    """
    model = layout.model
    low, high = model.allowed
    only_up, only_down = low > 0, high < 1
    if again is None:
        start = np.zeros(model.n_groups)
        is_up = random.random(len(low)) < 0.5
        start[model.sensitive] = np.where(is_up, model.up_level, -model.down_level)
        method = PrimalDual(layout, start)
    else:
        warm, region = again
        method = PrimalDual(layout, warm.changes, warm.multipliers)
        only_up, only_down = only_up | (~region & warm.is_up), only_down | (~region & ~warm.is_up)
    spread = NOISE * model.cost[model.sensitive] * layout.level[model.sensitive]
    for number in range(steps):
        done = number / steps
        warmth = max(0.0, 1 - done / (1 - NOISELESS))
        noise = warmth * spread * random.logistic(size=len(spread)) if warmth else 0.0
        ratio = COOLING[0] * (COOLING[1] / COOLING[0]) ** done
        method.step(ratio, _nearer(noise, only_up, only_down))
        if budget.is_over and number >= COOLING_STEPS // 2:
            break
    return method


def _nearer(noise: Floats | float, only_up: Flags, only_down: Flags) -> Chooser:
    """Choose the side that costs less in this step, up to noise, where both are open."""

    def choose(above: Floats, below: Floats) -> Flags:
        is_up: Flags = (above + noise <= below) & ~only_down | only_up
        return is_up

    return choose
