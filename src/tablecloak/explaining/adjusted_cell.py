"""A cell of an adjusted table: why it moved, how far it had to, and what another move would cost.

Changes z satisfy A z = 0 and the room of every cell, and each sensitive cell moves at least by its
level in the direction that the release took. A bound on one change under these conditions is a sum
as any other; its terms name the sensitive cells that force the move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Floats
from tablecloak.budget import Budget
from tablecloak.cta.adjust import adjust
from tablecloak.cta.model.precision import deviation
from tablecloak.cta.model.room import Room, room_of
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.errors import listed
from tablecloak.explaining.derivation import CellRanges, Derivation, derived
from tablecloak.explaining.explanation import Explanation, frozen_at, shown, trial_search
from tablecloak.explaining.sensitive_cell import rule_text
from tablecloak.results import OPTIMAL
from tablecloak.tables.problem import ProtectionProblem

NOISE = 1e-9
"""Share of a level below which a change counts as none: levels are met up to as much."""

SEARCH_SHARE = 0.7
"""Share of the time that is left for one search of another adjustment."""

SHOWN_CHANGES = 6
"""Changes that are written out for one relation; all are in the JSON."""


@dataclass(frozen=True, eq=False)
class AdjustedQuestion:
    """An adjusted table, and all that an explanation asks of it.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    release : Adjustment or None
        The result of the search; None if the values came from elsewhere.
    budget : Budget
    """

    problem: ProtectionProblem
    values: Floats
    release: Adjustment | None
    budget: Budget

    @cached_property
    def changes(self) -> Floats:
        """Adjusted minus true values, without the rounding of doubles."""
        if self.release is not None:
            return np.asarray(self.release.changes)
        return deviation(self.problem.table, self.values).changes.astype(np.float64)

    @cached_property
    def room(self) -> Room:
        """How far each cell may move, and sensitive cells must: levels in the digits released."""
        if self.release is None:
            return room_of(self.problem, limit=None, strict=False)
        own, limit = self.release.room, self.release.sensitive_limit
        whole = room_of(self.problem, limit=limit, strict=False)
        return replace(whole, up_level=own.up_level, down_level=own.down_level)

    def forced(self, cell: int) -> Derivation | None:
        """Return the sum that bounds the change of a cell away from 0; None if nothing does."""
        sign = 1 if self.changes[cell] > 0 else -1
        end = self.ranges.limit(cell, -sign, self.budget.left, simple=False).end
        if sign * end <= NOISE * self.problem.unit:
            return None
        found = derived(self.ranges, cell, -sign, self.budget.left)
        return found if sign * float(found.limit) > 0 else None

    @property
    def can_be_priced(self) -> bool:
        """Whether another adjustment can be compared: a search made this one, by its loss alone."""
        release = self.release
        return release is not None and not release.preserved and release.chance is None

    @cached_property
    def ranges(self) -> CellRanges:
        """What must hold for the changes: rooms, and the directions of the release."""
        room, changes = self.room, self.changes
        slack = NOISE * self.problem.unit
        up = self.problem.sensitive & (changes >= room.up_level - slack) & (changes > 0)
        down = self.problem.sensitive & (-changes >= room.down_level - slack) & (changes < 0)
        lower = np.where(up, room.up_level, -room.down)
        upper = np.where(down, -room.down_level, room.up)
        # Values from elsewhere may pass a capacity: then it is no condition that they met.
        table, unit = self.problem.table, self.problem.unit
        lower, upper = np.minimum(lower, changes), np.maximum(upper, changes)
        return CellRanges(table, lower, upper, changes, unit, are_changes=True)


@dataclass(frozen=True, eq=False)
class OtherWay:
    """What another place for this cell would take: the other direction, or its true value.

    Parameters
    ----------
    excluded : Derivation or None
        The sum that excludes it while the other sensitive cells keep their directions.
    loss, bound : float
        Loss of the best such adjustment found, with a proved bound on all of them; infinite and 0
        if none was found or searched.
    """

    excluded: Derivation | None
    loss: float = np.inf
    bound: float = 0.0

    def price(self, loss: float) -> str:
        """Say what it would cost, beside the loss of the release."""
        if self.loss - self.bound <= OPTIMAL * self.loss:
            return f"the least loss would be {shown(self.loss)} (proved), instead of {shown(loss)}"
        return (
            f"the loss would be at least {shown(self.bound)} and at most {shown(self.loss)}, "
            f"instead of {shown(loss)}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        return {
            "is_excluded": self.excluded is not None,
            "sum": None if self.excluded is None else self.excluded.to_dict(),
            "loss": self.loss if np.isfinite(self.loss) else None,
            "bound": self.bound,
        }


def other_way(question: AdjustedQuestion, cell: int, *, with_price: bool) -> OtherWay | None:
    """Return what moving a sensitive cell in the other direction would take."""
    change, room = question.changes[cell], question.room
    if not change:
        return None
    sign = 1 if change > 0 else -1
    needed = (room.down_level if sign > 0 else room.up_level)[cell]
    may = (room.may_fall if sign > 0 else room.may_rise)[cell]
    reach = (room.down if sign > 0 else room.up)[cell]
    if not may or reach < needed:
        return None
    free = np.array([cell]), np.array([-room.down[cell]]), np.array([room.up[cell]])
    turned, most = question.ranges.with_ends(*free), -needed * (1 - NOISE)
    # The sum is looked for only where the end says that there is one to tell.
    if sign * turned.limit(cell, -sign, question.budget.left, simple=False).end > most:
        bound = derived(turned, cell, -sign, question.budget.left)
        if sign * float(bound.limit) > most:
            return OtherWay(bound)
    if not (with_price and question.can_be_priced):
        return OtherWay(None)
    directions = np.where(question.changes > 0, 1, -1)
    directions[cell] *= -1
    return _priced(question, question.problem, directions[question.problem.sensitive])


def staying(question: AdjustedQuestion, cell: int) -> OtherWay | None:
    """Search the best adjustment that leaves a cell at its true value."""
    if not question.can_be_priced:
        return None
    return _priced(question, frozen_at(question.problem, cell), "search")


def _priced(question: AdjustedQuestion, problem: ProtectionProblem, directions: Any) -> OtherWay:
    assert question.release is not None
    release = question.release
    found = _adjusted(question, problem, release.weights, release.distance, directions)
    return OtherWay(None) if found is None else OtherWay(None, found.loss, found.bound)


def _adjusted(
    question: AdjustedQuestion,
    problem: ProtectionProblem,
    weights: Floats,
    distance: str,
    directions: Any,
) -> Adjustment | None:
    """Search an adjustment within the time that is left; None if none was found."""
    release = question.release
    return trial_search(
        question.budget,
        SEARCH_SHARE,
        lambda budget: adjust(
            problem,
            weights=weights,
            distance=distance,
            directions=directions,
            sensitive_limit=None if release is None else release.sensitive_limit,
            integer=None if release is None or release.integer else False,
            time_limit=budget.left,
            progress=budget.progress,
            threads=budget.threads,
        ),
    )


@dataclass(frozen=True, eq=False, repr=False)
class AdjustedCell(Explanation):
    """Why a cell of an adjusted table moved, or did not. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    adjusted, change : float
    rule : str
        The rule that made it sensitive, in words; empty if it is not.
    level : float
        How far a sensitive cell must move in its direction; 0 for others.
    least : Derivation or None
        The least change that the sensitive cells allow, with their directions; None if that is 0.
    forced_by : tuple of int
        Sensitive cells whose levels are terms of that sum.
    anywhere : float or None
        Proved lower bound on the distance that any adjustment moves the cell, whatever the
        directions; None if none was computed.
    other_way : OtherWay or None
        What the other direction of a sensitive cell would take.
    staying : OtherWay or None
        What leaving a cell at its true value would take that is not sensitive.
    beside : tuple of dict of int to float
        For each relation of the cell, the changes of its other cells.
    loss : float or None
        Loss of the release, if a search made it.
    notes : tuple of str
    """

    problem: ProtectionProblem
    cell: int
    adjusted: float
    change: float
    rule: str
    level: float
    least: Derivation | None
    forced_by: tuple[int, ...]
    anywhere: float | None
    other_way: OtherWay | None
    staying: OtherWay | None
    beside: tuple[dict[int, float], ...]
    loss: float | None
    notes: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Return whether it moved, and where to."""
        if not self.change:
            return "not changed"
        sort = "sensitive, " if self.rule else ""
        way = "raised" if self.change > 0 else "lowered"
        return f"{sort}{way} by {shown(abs(self.change))} to {shown(self.adjusted)}"

    @property
    def least_distance(self) -> float:
        """How far it had to move in its direction, given the directions of the sensitive cells."""
        if self.least is None:
            return 0.0
        return max(float(self.least.limit) * (1 if self.change > 0 else -1), 0.0)

    def lines(self) -> list[str]:
        """Return why it moved, how far it had to, and what another move would take."""
        lines = [f"Why it is sensitive: {self.rule}."] if self.rule else []
        if not self.change:
            return [*lines, self._why_not(), *self.notes]
        if self.rule:
            way = "above" if self.change > 0 else "below"
            lines.append(
                f"It must lie at least {shown(self.level)} {way} its true value on this side."
            )
        lines += [*self._forced_lines(), *self._beside_lines()]
        if self.anywhere is not None:
            lines.append(
                f"Whatever the directions, every adjustment moves it by at least "
                f"{shown(self.anywhere)} (proved)."
            )
        return [*lines, *self._other_lines(), *self.notes]

    def _why_not(self) -> str:
        if self.problem.frozen[self.cell]:
            return "It is frozen: no adjustment may move it."
        if self.rule:
            return "It is sensitive and did not move: the release does not protect it."
        return "It did not move: it is not sensitive, and the others did not need it to."

    def _forced_lines(self) -> list[str]:
        least = self.least_distance
        if self.least is None:
            return [
                "No relation forces it while the sensitive cells keep their directions; the table "
                "as a whole costs least so."
            ]
        if self.least.is_known_before:
            return [f"Its own level is all that forces it: {shown(least)}."]
        labels = self.problem.table.labels(np.array(self.forced_by, dtype=np.int64))
        who = f" by {listed(labels, 6)}" if labels else ""
        head = (
            f"Forced{who}: while the sensitive cells keep their directions it moves by at least "
            f"{shown(least)}. Its change is"
        )
        return [head, *self.least.lines()]

    def _other_lines(self) -> list[str]:
        lines = []
        way = "down" if self.change > 0 else "up"
        gone = f"gone {way}, all others in their directions"
        for other, what in ((self.other_way, gone), (self.staying, "stayed")):
            if other is None:
                continue
            if other.excluded is not None:
                head = (
                    f"It cannot have {what} while the others keep their directions: its change is"
                )
                lines += [head, *other.excluded.lines()]
            elif np.isfinite(other.loss) and self.loss is not None:
                lines.append(f"Had it {what}, {other.price(self.loss)}.")
        return lines

    def _beside_lines(self) -> list[str]:
        """Name the cells that move with it, relation by relation."""
        table = self.problem.table
        moves = [
            [
                f"({table.label(cell)}) {moved:+.12g}"
                for cell, moved in sorted(changes.items(), key=lambda each: -abs(each[1]))
            ]
            for changes in self.beside
        ]
        return [f"In one relation with {listed(each, SHOWN_CHANGES)}." for each in moves]

    def facts(self) -> dict[str, Any]:
        """Return the same as plain numbers."""
        other, staying = self.other_way, self.staying
        return {
            "adjusted": self.adjusted,
            "change": self.change,
            "rule": self.rule or None,
            "level": self.level,
            "least_distance": self.least_distance,
            "least_sum": None if self.least is None else self.least.to_dict(),
            "forced_by": [self.codes(cell) for cell in self.forced_by],
            "least_anywhere": self.anywhere,
            "other_way": None if other is None else other.facts(),
            "staying": None if staying is None else staying.facts(),
            "beside": [
                [{"cell": self.codes(cell), "change": moved} for cell, moved in changes.items()]
                for changes in self.beside
            ],
            "loss": self.loss,
            "notes": list(self.notes),
        }


def explain_adjusted(
    question: AdjustedQuestion, cell: int, rules: Any = (), *, with_price: bool = True
) -> AdjustedCell:
    """Explain a cell of an adjusted table.

    Parameters
    ----------
    question : AdjustedQuestion
    cell : int
    rules : sequence of Rule, default=()
    with_price : bool, default=True
        Whether to search other adjustments as well.
    """
    problem, release = question.problem, question.release
    change, is_sensitive = float(question.changes[cell]), bool(problem.sensitive[cell])
    least = question.forced(cell) if change else None
    level = (problem.upper_protection if change > 0 else problem.lower_protection)[cell]
    found = AdjustedCell(
        problem=problem,
        cell=cell,
        adjusted=float(question.values[cell]),
        change=change,
        rule=rule_text(problem, cell, rules) if is_sensitive else "",
        level=float(level) if is_sensitive else 0.0,
        least=least,
        forced_by=tuple(
            term.cell
            for term in (least.terms if least else ())
            if term.amount and problem.sensitive[term.cell] and term.cell != cell
        ),
        anywhere=None,
        other_way=other_way(question, cell, with_price=with_price) if is_sensitive else None,
        staying=None,
        beside=tuple(_beside(question, cell)) if change else (),
        loss=None if release is None else release.loss,
        notes=_notes(release),
    )
    if is_sensitive or not change or not with_price:
        return found
    if found.least_distance:
        # The least loss of all adjustments in which no other cell counts.
        alone = (np.arange(problem.table.n_cells) == cell).astype(np.float64)
        least_move = _adjusted(question, problem, alone, "L1", "search")
        return replace(found, anywhere=None if least_move is None else least_move.bound)
    return replace(found, staying=staying(question, cell))


def _beside(question: AdjustedQuestion, cell: int) -> Iterator[dict[int, float]]:
    """Return, for each relation of a cell, the changes of its other cells."""
    relations = question.problem.table.relations
    for relation in csc_array(relations)[:, [cell]].indices.tolist():
        row = relations[[relation], :]
        yield {
            other: float(question.changes[other])
            for other in row.indices.tolist()
            if other != cell and question.changes[other]
        }


def _notes(release: Adjustment | None) -> tuple[str, ...]:
    if release is None:
        return ()
    notes = []
    if release.chance is not None:
        notes.append("Distances beyond the levels were left to chance in this release.")
    if release.preserved:
        notes.append(
            "The release keeps statistics as well: these sums do not count them, and no other "
            "adjustment was searched."
        )
    return tuple(notes)
