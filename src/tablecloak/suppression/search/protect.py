"""Protects one need by the cheapest result of several programs."""

from __future__ import annotations

import itertools

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.attack.prove import ROOMY_SPARE
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.search.cover import Builder, scaled
from tablecloak.suppression.search.strategy import HASTY, REGIONS, Strategy

ALL_AT_ONCE = 2000
"""Most cells that may be suppressed for which programs are over the whole table instead of
neighbourhoods. docs/decisions, "Pace of a first pattern"."""

SIZE_NOISE = 1.0
"""Spread of the log-normal noise on the sizes of needs where the order is drawn. docs/decisions,
"Moves"."""


def in_order(
    pool: WitnessPool, largest_first: bool, random: np.random.Generator | None = None
) -> list[int]:
    """Return the open needs, ordered by size; with draws, by sizes drawn around the true ones."""
    needs = pool.needs
    size = np.maximum(np.maximum(needs.upper, needs.lower), needs.width)
    if random is not None:
        size = size * random.lognormal(0.0, SIZE_NOISE, len(size))
    open_ = np.flatnonzero(pool.open)
    order: list[int] = open_[np.argsort(size[open_], kind="stable")].tolist()
    return order[::-1] if largest_first else order


def protect_need(
    builder: Builder, pool: WitnessPool, hidden: Flags, index: int, strategy: Strategy
) -> bool:
    """Protect one need, extending `hidden` in place; return whether that succeeded."""
    attempts: list[tuple[tuple[int | None, ...], bool]] = [(strategy.sizes, strategy.symmetric)]
    widest = max(size or 0 for size in strategy.sizes)
    # A size that was tried with mirror images is tried without: cells may have room on one side.
    attempts += [
        ((size,), symmetric)
        for size in strategy.wider
        for symmetric in (True, False)
        if size > widest or (size == widest and strategy.symmetric and not symmetric)
    ]
    if pool.system.n_unknown <= ALL_AT_ONCE:
        attempts = [((None,), strategy.symmetric), ((None,), not strategy.symmetric)]
    for sizes, symmetric in attempts:
        for _ in range(4):
            target = signed_target(pool, index, symmetric)
            if target == 0:
                return True
            if builder.budget.is_over:
                return False
            found = cheapest(builder, pool, hidden, index, target, strategy, sizes, symmetric)
            if found is None:
                break
            cells, data = found
            before = pool.reached(index)
            hidden[cells] = True
            pool.add_sparse(cells, data, builder.budget)
            if pool.reached(index) <= before:
                break
        if not pool.is_open(index):
            return True
    return False


def protect_in_region(builder: Builder, pool: WitnessPool, hidden: Flags, index: int) -> None:
    """Protect one need of a very large table in regions, where neighbourhoods do not suffice."""
    for size, symmetric in itertools.product(REGIONS, (True, False)):
        if not pool.is_open(index) or builder.budget.is_over:
            break
        target = signed_target(pool, index, symmetric)
        found = cheapest(builder, pool, hidden, index, target, HASTY, (size,), symmetric)
        if found is not None:
            hidden[found[0]] = True
            pool.add_sparse(*found, builder.budget)


def signed_target(pool: WitnessPool, index: int, symmetric: bool) -> float:
    """Return the signed distance that one program should reach; 0 if the need is met."""
    if not pool.is_open(index):
        return 0.0
    needs = pool.needs
    # Where rooms absorb rounding, a witness may be shrunk afterwards.
    more = 1 + ROOMY_SPARE * pool.system.has_rooms
    upper, lower, width = (more * level[index] for level in (needs.upper, needs.lower, needs.width))
    above, below = pool.above[index], pool.below[index]
    if symmetric:
        return float(max(upper, lower, width / 2))
    if above < upper * (1 - 1e-9):
        return float(upper)
    if below < lower * (1 - 1e-9):
        return -float(lower)
    # The side with more room takes the part of the width that is still missing.
    cell = needs.cells[index]
    up = min(pool.system.high[cell], width - below)
    down = min(-pool.system.low[cell], width - above)
    return float(up) if up - above >= down - below else -float(down)


def cheapest(
    builder: Builder,
    pool: WitnessPool,
    hidden: Flags,
    index: int,
    target: float,
    strategy: Strategy,
    sizes: tuple[int | None, ...],
    symmetric: bool,
) -> tuple[Integers, Floats] | None:
    """Return the result of several programs that suppresses the least additional weight."""
    cell = int(pool.needs.cells[index])
    best: tuple[float, Integers, Floats] | None = None
    path = builder.path(cell, target, hidden, symmetric)
    if path is not None:
        best = (float(builder.cost[path[0]][~hidden[path[0]]].sum()), *path)
        if not strategy.programs or best[0] == 0:
            return best[1:]
    seen = 0
    for size in sizes:
        cells, program = builder.program(cell, size, hidden, symmetric)
        if len(cells) == seen:
            continue
        seen = len(cells)
        position = int(np.searchsorted(cells, cell))
        part_hidden, part_cost = hidden[cells], builder.cost[cells]
        if builder.forbidden >= 0:
            part_cost = np.where(cells == builder.forbidden, np.inf, part_cost)
        true_cost = np.where(part_hidden, 0.0, part_cost)
        cost = scaled(part_cost / program.carries(abs(target)), part_hidden)
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
            # A cell is suppressed as a whole, so a small move costs as much as a large one. Costs
            # per share moved make the next program prefer the cells that move already.
            share = np.minimum(np.abs(found) / abs(target), 1.0)
            cost = scaled(part_cost / np.maximum(share, 0.02), part_hidden)
        if best is not None and best[0] == 0:
            break
    return None if best is None else best[1:]
