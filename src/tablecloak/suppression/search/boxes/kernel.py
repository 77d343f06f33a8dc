"""Loops of sums of boxes, compiled by numba; see `sums.py` for what they do.

Compiling takes some seconds once for an installation (`__main__.py`); numba keeps the result beside
this file, or in the user's folder.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tablecloak.extras import is_installed

Array = npt.NDArray[Any]

Loop = TypeVar("Loop", bound=Callable[..., Any])

BLOCKED = 1e300
"""Price of a move that a cell has no room for."""

LEAST_STEP = 1e-3
"""Least room of the cells of a box, as a share of the need: smaller steps would fill a cell to its
last digit at the price of many boxes."""

MOST_ADDED = 60
"""Most boxes that are added to move the cell itself as far as its need."""

SLACK = 1.0
"""What a box that grows may cost more than it may in the end, as a share of the price of the cell
that it moves back: cells that come last may be moved back as well. docs/decisions, "Sums of
boxes"."""

CURVE = 1.0
"""How much cheaper it is to move a published cell on that moves already: a cell is hidden as a
whole, so a price for each unit would spread a need over many cells."""


NONE, ONE = cast(int, np.int64(0)), cast(int, np.int64(1))
"""Typed, since numba compiles a loop once more for each number that is written out."""


def _compiled(loop: Loop) -> Loop:
    """Compile a loop; without numba it is one of Python, far too slow to be used."""
    if not is_installed("numba"):
        return loop
    numba = importlib.import_module("numba")
    compiled: Loop
    try:
        compiled = numba.njit(cache=True)(loop)
    except RuntimeError:
        # There is no folder to keep compiled loops in, as in some containers.
        compiled = numba.njit(loop)
    return compiled


class Space(NamedTuple):
    """Codes, cells and moves of a grid; arrays of a code are of shape (n_dimensions, n_codes)."""

    leads: Array
    """Moves of each code as differences of points, shape (..., n_moves, n_moved)."""
    signs: Array
    """Their signs; 0 from the end of a move on."""
    n_moves: Array
    orders: Array
    """Orders of the dimensions in which a box grows, shape (n_orders, n_dimensions)."""
    place: Array
    turn: Array
    """Sign of each point relative to its cell."""
    home: Array
    codes: Array
    """Codes of the home of each cell, shape (n_unknown, n_dimensions)."""
    room: Array
    """Room of each cell up, and down, shape (2, n_unknown + 1)."""
    price: Array
    free: Array
    """Cells that are hidden already."""


class Work(NamedTuple):
    """Memory of one search, cleared after each need."""

    moved: Array
    """Present move of each cell."""
    seen: Array
    """Number of the last box that looked at each cell."""
    n_seen: Array
    """Number of boxes looked at."""
    least: Array
    """Least room of a cell that moves."""
    support: Array
    """Cells that moved at some time, in the first places."""
    is_support: Array
    points: Array
    """Boxes that grow, shape (2, beam, most points): present ones, and the next."""
    point_signs: Array
    lengths: Array
    best: Array
    """Price, part and move of the best products, shape (beam, 3)."""


@_compiled
def _price(cell: int, up: int, need: float, asked: int, space: Space, work: Work) -> float:
    """Return what a unit of a move of one cell costs, in the price of a whole need."""
    moved = work.moved[cell]
    ahead = moved * up
    if space.room[(1 - up) // 2, cell] - ahead < work.least[0]:
        return BLOCKED
    if cell == asked and (up < 0 or moved >= need):
        return BLOCKED
    if moved == 0.0:
        return float(space.price[cell])
    price = space.price[cell] / (1.0 + CURVE * abs(moved) / need)
    return float(price if ahead > 0 else -price)


@_compiled
def _multiply(n_best: int, leads: Array, lead_signs: Array, work: Work) -> int:
    """Make the best products the parts that grow on, but for those of too many points."""
    points, signs, lengths = work.points, work.point_signs, work.lengths
    n_parts = 0
    for rank in range(n_best):
        part, move = int(work.best[rank, 1]), int(work.best[rank, 2])
        length, added, n_leads = 0, lengths[0, part], 0
        for lead in range(lead_signs.shape[1]):
            n_leads += lead_signs[move, lead] != 0
        if n_leads * added > points.shape[2]:
            continue
        for lead in range(n_leads):
            for number in range(added):
                points[1, n_parts, length] = points[0, part, number] + leads[move, lead]
                signs[1, n_parts, length] = signs[0, part, number] * lead_signs[move, lead]
                length += 1
        lengths[1, n_parts] = length
        n_parts += 1
    for part in range(n_parts):
        lengths[0, part] = lengths[1, part]
        for number in range(lengths[1, part]):
            points[0, part, number] = points[1, part, number]
            signs[0, part, number] = signs[1, part, number]
    return n_parts


@_compiled
def _grown(
    cell: int,
    up: int,
    order: Array,
    need: float,
    asked: int,
    most: float,
    space: Space,
    work: Work,
) -> int:
    """Grow the cheapest boxes in which a cell moves, dimension by dimension; return how many.

    Parts that cost `most` or more are not grown on. It is one loop, since a function for each
    product takes three times as long.
    """
    points, point_signs, lengths, best = work.points, work.point_signs, work.lengths, work.best
    beam, none = len(best), len(space.price) - 1
    home = space.home[cell]
    points[0, 0, 0], point_signs[0, 0, 0] = home, up * space.turn[home]
    lengths[0, 0], n_parts = 1, ONE
    for dimension in order:
        code = space.codes[cell, dimension]
        leads, signs = space.leads[dimension, code], space.signs[dimension, code]
        n_best = NONE
        for part in range(n_parts):
            for move in range(space.n_moves[dimension, code]):
                total = 0.0
                for lead in range(leads.shape[1]):
                    sign = signs[move, lead]
                    if sign == 0 or total >= most:
                        break
                    for number in range(lengths[0, part]):
                        point = points[0, part, number] + leads[move, lead]
                        place = space.place[point]
                        if place == none:
                            total = BLOCKED
                            break
                        side = point_signs[0, part, number] * sign * space.turn[point]
                        total += _price(place, side, need, asked, space, work)
                        if total >= BLOCKED:
                            break
                if total >= most or (n_best == beam and total >= best[beam - 1, 0]):
                    continue
                rank = min(n_best, beam - 1)
                n_best = min(n_best + 1, beam)
                while rank > 0 and best[rank - 1, 0] > total:
                    for entry in range(3):
                        best[rank, entry] = best[rank - 1, entry]
                    rank -= 1
                best[rank, 0], best[rank, 1], best[rank, 2] = total, part, move
        n_parts = _multiply(n_best, leads, signs, work)
    return n_parts


@_compiled
def _cheapest(
    cell: int, up: int, need: float, asked: int, most: float, space: Space, work: Work
) -> int:
    """Return the number of the cheapest box in which a cell moves up or down; -1 if there is none.

    Points that share a cell are counted once here; while a box grows they are not known.
    """
    chosen, cheapest = -1, most
    for row in range(len(space.orders)):
        order, ahead = space.orders[row], most + SLACK * space.price[cell]
        for part in range(_grown(cell, up, order, need, asked, ahead, space, work)):
            work.n_seen[0] += 1
            total = 0.0
            for number in range(work.lengths[0, part]):
                point = work.points[0, part, number]
                place = space.place[point]
                if work.seen[place] != work.n_seen[0]:
                    work.seen[place] = work.n_seen[0]
                    side = work.point_signs[0, part, number] * space.turn[point]
                    total += _price(place, side, need, asked, space, work)
            if total < cheapest:
                cheapest, chosen = total, part
        if chosen >= 0:
            break
    return chosen


@_compiled
def _add(
    part: int, need: float, unit: float, asked: int, n_support: int, space: Space, work: Work
) -> int:
    """Add a box as far as its cells can move, and published ones need to; return the support."""
    step = need
    for number in range(work.lengths[0, part]):
        point = work.points[0, part, number]
        place = space.place[point]
        side = work.point_signs[0, part, number] * space.turn[point]
        ahead = work.moved[place] * side
        step = min(step, space.room[(1 - side) // 2, place] - ahead)
        if ahead < 0 and not space.free[place]:
            step = min(step, -ahead)
        if place == asked:
            step = min(step, need - ahead)
    step = np.floor(step / unit) * unit
    work.n_seen[0] += 1
    for number in range(work.lengths[0, part]):
        point = work.points[0, part, number]
        place = space.place[point]
        if work.seen[place] == work.n_seen[0]:
            continue
        work.seen[place] = work.n_seen[0]
        work.moved[place] += step * work.point_signs[0, part, number] * space.turn[point]
        if not work.is_support[place]:
            work.is_support[place] = True
            work.support[n_support] = place
            n_support += 1
    return n_support


@_compiled
def _next_dearest(before: int, asked: int, n_support: int, space: Space, work: Work) -> int:
    """Return the place of the published cell that is dearest after another one; -1 for none.

    A loop over the support takes a second less to compile than sorting it.
    """
    last = np.inf if before < 0 else space.price[work.support[before]]
    dearest, highest = -1, -np.inf
    for place in range(n_support):
        cell = work.support[place]
        price = space.price[cell]
        if work.moved[cell] == 0.0 or space.free[cell] or cell == asked:
            continue
        if price > highest and (price < last or (price == last and place > before)):
            dearest, highest = place, price
    return dearest


@_compiled
def protect(
    asked: int, need: float, unit: float, tried: int, rounds: int, space: Space, work: Work
) -> int:
    """Move a cell by its need, at a low price; return how many cells moved at some time.

    Parameters
    ----------
    asked : int
        The cell.
    need, unit : float
        The need is a multiple of the unit, a power of two; so are all moves.
    tried : int
        Published cells, the dearest first, that are tried to be left out before the search ends.
    rounds : int
        Most boxes that are looked for.
    space : Space
    work : Work
        Its moves are 0.

    Returns
    -------
    int
        Length of the support; the moves are in `work.moved`. 0 if the need was not met.
    """
    n_support = NONE
    work.least[0] = max(LEAST_STEP * need, unit)
    for _ in range(MOST_ADDED):
        if work.moved[asked] >= need:
            break
        part = _cheapest(asked, ONE, need, asked, BLOCKED, space, work)
        if part < 0:
            break
        n_support = _add(part, need, unit, asked, n_support, space, work)
    if work.moved[asked] < need:
        clear(n_support, work)
        return 0
    done, is_better = 0, True
    while is_better:
        is_better, before = False, -ONE
        for _ in range(tried):
            before = _next_dearest(before, asked, n_support, space, work)
            if before < 0:
                break
            cell = work.support[before]
            while work.moved[cell] != 0.0 and done < rounds:
                done += 1
                up = -1 if work.moved[cell] > 0 else 1
                most = -1e-6 * space.price[cell]
                part = _cheapest(cell, up, need, asked, most, space, work)
                if part < 0:
                    break
                n_support = _add(part, need, unit, asked, n_support, space, work)
                is_better = True
            if is_better:
                break
    return n_support


@_compiled
def clear(n_support: int, work: Work) -> None:
    """Set the moves of a support back to 0."""
    for cell in work.support[:n_support]:
        work.moved[cell] = 0.0
        work.is_support[cell] = False
