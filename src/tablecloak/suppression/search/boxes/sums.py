"""Sums of boxes: witnesses nearly as cheap as those of programs, in a hundredth of the time.

A box needs room for the whole need in every cell. A sum of boxes does not: large cells are moved
through many small ones, which are hidden anyway where many cells are sensitive. Boxes are added
until the cell moves as far as its need. Then the dearest published cell that moves is moved back by
further boxes, as long as these cost less than they save, and so on down to the cheapest.

The loops are compiled by numba, which only some installations have; `boxes` do without it.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.executors.beside import Program, started_beside
from tablecloak.extras import is_installed
from tablecloak.solve.exact import rounded_down
from tablecloak.suppression.search.boxes.pattern import Box, BoxFinder, Grid, Moves
from tablecloak.suppression.system.details import in_units

COMPILER = "tablecloak.suppression.search.boxes"
"""Run as a program, it compiles."""

KERNEL = f"{COMPILER}.kernel"

COMPILE_SECONDS = 12.0
"""Seconds that compiling may take where nothing is kept of an earlier time: two to three times as
long as on the machines of docs/decisions, "Compiled loops". With less, a process of its own
compiles, and this search goes on without."""

MOST_CODES = 1_000
"""Most codes of a dimension; of each, the moves are kept."""

MOST_POINTS = 1_024
"""Most points of a box."""

BITS = 33
"""Binary digits of a need in units of a move: so few that sums of some thousand moves stay exact,
and so many that a need rounded down to them still counts as met."""

FINE_BITS = 3
"""Binary digits of the multiple of a sum that meets further needs; with more, last digits of its
moves would be lost."""


@dataclass(frozen=True)
class Care:
    """How much is tried for each need.

    Parameters
    ----------
    moves, own : int
        Moves of each code, and leaves below it from which they start.
    beam : int
        Boxes that are extended at once.
    tried : int
        Published cells, the dearest first, that are tried to be left out before a search ends.
    rounds : int
        Most boxes that are looked for.
    """

    moves: int
    own: int
    beam: int
    tried: int
    rounds: int


QUICK, CAREFUL = Care(12, 6, 6, 50, 300), Care(40, 6, 12, 100, 1000)
"""Care for a first pattern, and for a better one. docs/decisions, "Sums of boxes"."""

COMPLETING = Care(100, 20, 12, 100, 1000)
"""Care for what programs leave open: they hide few cells, which fewer boxes have in common.
docs/decisions, "All care for the largest needs"."""

RELIEVED = Care(40, 6, 6, 50, 300)
"""Care where heavy cells are published again. docs/decisions, "Heavy cells"."""

THOROUGH = Care(200, 20, 30, 50, 300)
"""Care for the few needs that are left open otherwise. docs/decisions, "Sums of boxes"."""


@dataclass(frozen=True, eq=False)
class SumOfBoxes(Box):
    """A witness that is a sum of boxes; its moves meet the need that it was made for."""

    def reach(self, asked: float, most: float, is_whole: bool) -> float:
        """Return the multiple of the moves that is a witness; parameters of `Box.reach`."""
        factor = min(asked, most)
        return max(1.0, math.floor(factor) if is_whole else rounded_down(factor, FINE_BITS))


class SumFinder(BoxFinder):
    """Finds sums of boxes at given prices.

    Parameters
    ----------
    grid, rooms, weights, free
        As of `BoxFinder`.
    care : Care
    is_whole : bool
        Whether the table is one of whole numbers.
    """

    def __init__(
        self, grid: Grid, rooms: Floats, weights: Floats, free: Flags, care: Care, is_whole: bool
    ) -> None:
        super().__init__(grid, rooms, weights, free)
        self.care, self.is_whole = care, is_whole
        self.kernel = importlib.import_module(KERNEL)
        leads, signs, n_moves = _padded(grid, care)
        n_dimensions, n_unknown = grid.n_dimensions, len(weights)
        order = np.arange(n_dimensions)
        codes = (grid.home[:, None] // grid.strides) % [len(cover) for cover in grid.covers]
        self.space = self.kernel.Space(
            leads=leads,
            signs=signs,
            n_moves=n_moves,
            orders=np.stack([order, order[::-1]]),
            place=grid.place,
            turn=grid.sign,
            home=grid.home,
            codes=codes,
            room=self.rooms[0],
            price=self.price,
            free=self.free,
        )
        self.work = self.kernel.Work(
            moved=np.zeros(n_unknown + 1),
            seen=np.zeros(n_unknown + 1, dtype=np.int64),
            n_seen=np.zeros(1, dtype=np.int64),
            least=np.zeros(1),
            support=np.zeros(n_unknown + 1, dtype=np.int64),
            is_support=np.zeros(n_unknown + 1, dtype=bool),
            points=np.zeros((2, care.beam, MOST_POINTS), dtype=np.int64),
            point_signs=np.zeros((2, care.beam, MOST_POINTS), dtype=np.int64),
            lengths=np.zeros((2, care.beam), dtype=np.int64),
            best=np.zeros((care.beam, 3)),
        )

    def cheapest(self, cell: int, target: float, most: float = np.inf) -> Box | None:
        """Return a cheap sum of boxes in which a cell moves up by `target`; None if none is found.

        Parameters
        ----------
        cell : int
        target : float
        most : float, default=inf
            Price from which on the sum is not returned.
        """
        return self._sum(cell, target, most, 0)

    def one_way(self, cell: int, target: float, up: int, most: float = np.inf) -> Box | None:
        """Return a cheap sum of boxes that is no witness when mirrored; None if none is found.

        Parameters
        ----------
        cell, target, up, most
            As of `BoxFinder.one_way`.
        """
        box = self._sum(cell, target, most, 1 if up > 0 else 2)
        return replace(box, moves=up * box.moves, is_mirrored=False) if box else None

    def _sum(self, cell: int, target: float, most: float, way: int) -> SumOfBoxes | None:
        """Return a sum of boxes in which a cell moves up, within rooms of `self.rooms[way]`."""
        space = self.space._replace(room=self.rooms[way])
        need, unit = in_units(target, space.room[0, cell], self.is_whole, BITS)
        if not 0 < need <= space.room[0, cell]:
            return None
        kernel, care = self.kernel, self.care
        count = kernel.protect(cell, need, unit, care.tried, care.rounds, space, self.work)
        support = self.work.support[:count]
        cells = np.sort(support[self.work.moved[support] != 0])
        moves = self.work.moved[cells]
        kernel.clear(count, self.work)
        price = float(self.price[cells].sum())
        return SumOfBoxes(cells, moves, price) if count and price < most else None


def is_ready(grid: Grid, seconds: float) -> bool:
    """Whether sums of boxes can be found in a grid, and the loops are or can be compiled in time.

    Where they are not, they are compiled beside, for later phases and searches.
    """
    if not _fits(grid) or not is_installed("numba"):
        return False
    if KERNEL in sys.modules or are_compiled() or seconds >= COMPILE_SECONDS:
        return True
    compiling_beside()
    return False


def _fits(grid: Grid) -> bool:
    return max(len(cover) for cover in grid.covers) <= MOST_CODES


def lacking_loops(grid: Grid, seconds: float) -> list[str]:
    """Say what a search lacks whose loops are not compiled, and what to do; nothing of others."""
    if not _fits(grid) or is_ready(grid, seconds):
        return []
    if is_installed("numba"):
        return ["compiled loops were not ready, and will be in some seconds: search again"]
    return [
        "compiled loops find far better patterns of such tables: pip install 'tablecloak[fast]'"
    ]


def are_compiled() -> bool:
    """Whether numba has kept the loops that were compiled for this version of them."""
    spec = find_spec(KERNEL)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin)
    changed = source.stat().st_mtime
    files = (
        path for folder in _kept_in(source) for path in folder.glob(f"{source.stem}.protect*.nbi")
    )
    return any(path.stat().st_mtime >= changed for path in files)


def _kept_in(source: Path) -> Iterator[Path]:
    """Yield the folders in which numba may keep what it compiles: beside it, or the user's."""
    asked, named = os.environ.get("NUMBA_CACHE_DIR"), f"{source.parent.name}_*"
    if asked:
        yield from Path(asked).glob(named)
        return
    yield source.parent / "__pycache__"
    # Where nobody knows a home, as in some containers, this is no folder, and no error.
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    yield from (Path(users) / "numba").glob(named)


@cache
def compiling_beside() -> Program | None:
    """Begin once to compile in another process."""
    return started_beside(COMPILER)


def _padded(grid: Grid, care: Care) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the moves of all codes in arrays of one shape, and the number of moves of each."""
    moves = Moves(grid, care.moves, care.own)
    n_codes = [len(cover) for cover in grid.covers]
    of_code = {
        (dimension, code): moves.of(dimension, code)
        for dimension, count in enumerate(n_codes)
        for code in range(count)
    }
    longest = max(leads.shape[1] for leads, _ in of_code.values())
    shape = (grid.n_dimensions, max(n_codes), care.moves, longest)
    leads, signs = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int8)
    n_moves = np.zeros(shape[:2], dtype=np.int64)
    for key, (lead, sign) in of_code.items():
        leads[key][: len(lead), : lead.shape[1]] = lead
        signs[key][: len(sign), : sign.shape[1]] = sign
        n_moves[key] = len(lead)
    return leads, signs, n_moves
