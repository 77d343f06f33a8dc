"""Distances left to chance, so that who knows the method cannot run an adjustment backwards.

The least adjustment moves a sensitive cell by exactly its level: who knows the level reads the
truth. Here a cell moves by its level and a random distance more, up or down. With distances spread
evenly over a length of (LPL + UPL) / q in all, a window as wide as both levels holds at most the
share q of them, wherever it lies. So whoever knows values, levels, method and the spread, and all
but the random numbers, guesses a cell to within its level with probability q at most, as long as
the value itself seemed as likely as its neighbours before. No narrower spread does that: a density
above q / (LPL + UPL) somewhere fills a window there. The mean distance is LPL + LPL / q for equal
levels with room on both sides: 6 levels for q = 0.1.

Relations, weights and other knowledge may tell an intruder more; `attack_adjustment` measures that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.model.model import Directions
from tablecloak.cta.model.precision import last_digit, last_unit
from tablecloak.cta.model.room import coupled_room, first_reach, room_of
from tablecloak.tables.changes.change import Change
from tablecloak.tables.coupling import CoupledCells
from tablecloak.tables.problem import ProtectionProblem

SHARES = (1.0, 0.5, 0.25, 0.1)
"""Shares of the spread that are tried one after the other until relations leave room for the
drawn distances."""

DRAWS = 3
"""Draws of directions for each share before directions are searched."""


@dataclass(frozen=True, eq=False)
class Chance:
    """What an intruder may know of chance in an adjustment: all but the random numbers.

    Parameters
    ----------
    recovery : float
        Largest probability with which a sensitive cell is guessed to within its level by who knows
        its spread, and nothing that relations tell.
    up, down : numpy.ndarray of float, shape (n_cells,)
        Largest distance beyond the level of a sensitive cell; 0 for all others.
    """

    recovery: float
    up: Floats
    down: Floats


@dataclass(frozen=True, eq=False)
class RandomDistances(Change):
    """A problem with levels drawn for one adjustment; a side without a level is closed. Secret.

    An adjusted table that protects the changed problem protects the given one. No room was taken
    away, so that limits proved of it hold.

    Parameters
    ----------
    given, problem, cells, relations, unit
        See `Change`.
    directions : "search", or array of +1 and -1
    chance : Chance
    """

    directions: Directions = field(kw_only=True)
    chance: Chance = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class Spread:
    """How far chance may move sensitive cells beyond their levels; coupled cells move together.

    Parameters
    ----------
    problem : ProtectionProblem
    recovery : float
        Largest share of the sensitive cells to be guessed.
    coupled : CoupledCells
    window : numpy.ndarray of float, shape (n_groups,)
        The largest sum of both levels of a cell of each group.
    up_level, down_level : numpy.ndarray of float, shape (n_groups,)
    up_room, down_room : numpy.ndarray of float, shape (n_groups,)
        How far each group may move beyond its level; negative for a side that is closed.
    """

    problem: ProtectionProblem
    recovery: float
    coupled: CoupledCells
    window: Floats
    up_level: Floats
    down_level: Floats
    up_room: Floats
    down_room: Floats

    @classmethod
    def of(cls, problem: ProtectionProblem, recovery: float) -> Spread:
        """Return the spread of the sensitive cells of a problem.

        Raises
        ------
        ModelError
            If a sensitive cell cannot move as far as its levels ask.
        """
        room = room_of(problem, limit=None)
        room = room.within(first_reach(problem, room))
        coupled, together = coupled_room(problem, room)
        digit = last_digit(problem.table)
        # A drawn level is rounded up to the last digit of the table.
        step = 0.0 if digit is None else last_unit(digit)
        both = np.where(problem.sensitive, problem.lower_protection + problem.upper_protection, 0)
        window, _ = coupled.largest(both, both)
        up = together.up - together.up_level - step
        down = together.down - together.down_level - step
        return cls(
            problem=problem,
            recovery=recovery,
            coupled=coupled,
            window=window,
            up_level=together.up_level,
            down_level=together.down_level,
            up_room=np.where(together.may_rise & (up >= -step), np.maximum(up, 0.0), -1.0),
            down_room=np.where(together.may_fall & (down >= -step), np.maximum(down, 0.0), -1.0),
        )

    def draws(self, seed: int | None) -> Iterator[RandomDistances]:
        """Draw levels, narrower ones if relations left no room for those before.

        Taking the first draw for which there is a table, and not the cheapest of several, keeps
        the draws independent of the loss, which an intruder could compare.
        """
        random = np.random.default_rng(seed)
        for share in SHARES:
            for _ in range(DRAWS):
                yield self._both_ways(share, random)
            yield self._searched(share, random)

    def _both_ways(self, share: float, random: np.random.Generator) -> RandomDistances:
        """Draw a direction and a distance for each group."""
        length = share * self.window / self.recovery
        down = np.minimum(length / 2, self.down_room)
        up = np.minimum(length - np.maximum(down, 0), self.up_room)
        down = np.minimum(length - np.maximum(up, 0), self.down_room)
        rise, fall = np.maximum(up, 0), np.maximum(down, 0)
        # Without room on either side the side that is open decides.
        odds = np.where(rise + fall > 0, rise / np.where(rise + fall > 0, rise + fall, 1), up >= 0)
        rises = random.random(len(odds)) < odds
        beyond = np.where(rises, rise, fall) * random.random(len(odds))
        levels = np.where(rises, self.up_level, self.down_level) + beyond
        sign = np.where(rises, 1.0, -1.0)
        directions = (self.coupled.spread @ sign)[self.problem.sensitive]
        chance = self._chance(rise, fall, rise + fall)
        up_level, down_level = np.where(rises, levels, 0), np.where(rises, 0, levels)
        return self._drawn(up_level, down_level, directions, chance)

    def _searched(self, share: float, random: np.random.Generator) -> RandomDistances:
        """Draw a distance for both sides of each group; the search chooses the side.

        The side follows from the loss, which an intruder may compute: each side must hide the value
        alone.
        """
        length = share * self.window / self.recovery
        up, down = np.minimum(length, self.up_room), np.minimum(length, self.down_room)
        up = np.where(up < np.minimum(down, length), -1.0, up)
        down = np.where(down < np.minimum(up, length), -1.0, down)
        rise, fall = np.maximum(up, 0), np.maximum(down, 0)
        least = np.where(up < 0, fall, np.where(down < 0, rise, np.minimum(rise, fall)))
        distances = random.random((2, len(up)))
        up_level = np.where(up < 0, 0, self.up_level + rise * distances[0])
        down_level = np.where(down < 0, 0, self.down_level + fall * distances[1])
        return self._drawn(up_level, down_level, "search", self._chance(rise, fall, least))

    def _drawn(
        self, up_level: Floats, down_level: Floats, directions: Directions, chance: Chance
    ) -> RandomDistances:
        """Return the problem with levels of groups as those of their sensitive cells."""
        sensitive, group = self.problem.sensitive, self.coupled.group
        same = self.coupled.sign > 0
        upper = np.where(same, up_level[group], down_level[group])
        lower = np.where(same, down_level[group], up_level[group])
        problem = self.problem.with_changes(
            upper_protection=np.where(sensitive, upper, self.problem.upper_protection),
            lower_protection=np.where(sensitive, lower, self.problem.lower_protection),
        )
        return RandomDistances.within(self.problem, problem, directions=directions, chance=chance)

    def _chance(self, rise: Floats, fall: Floats, length: Floats) -> Chance:
        """Return what is known of the draw; `length` is that over which a value is hidden."""
        sensitive, group = self.problem.sensitive, self.coupled.group
        same = self.coupled.sign > 0
        asked = np.unique(group[sensitive])
        with np.errstate(divide="ignore"):
            shares = self.window[asked] / length[asked]
        return Chance(
            recovery=float(min(shares.max(initial=0.0), 1.0)),
            up=np.where(sensitive, np.where(same, rise[group], fall[group]), 0.0),
            down=np.where(sensitive, np.where(same, fall[group], rise[group]), 0.0),
        )
