"""A cell of an adjusted table: why it moved, how far it had to, and what another move would cost.

Changes z satisfy A z = 0 and the room of every cell, and each sensitive cell moves at least by its
level in the direction that the release took. A bound on one change under these conditions is a sum
as any other; its terms name the sensitive cells that force the move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.errors import listed
from tablecloak.explaining.adjusted_question import (
    AdjustedQuestion,
    OtherWay,
    least_anywhere,
    other_way,
    staying,
)
from tablecloak.explaining.derivation import Derivation
from tablecloak.explaining.explanation import Explanation
from tablecloak.explaining.intervals_text import sum_lines
from tablecloak.explaining.numbers import shown
from tablecloak.explaining.rule_text import rule_text
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["AdjustedCell", "explain_adjusted"]

SHOWN_CHANGES = 6
"""Changes that are written out for one relation; all are in the JSON."""


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
        lines += self._own_lines() if self.rule else []
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

    def _own_lines(self) -> list[str]:
        way = "above" if self.change > 0 else "below"
        return [f"It must lie at least {shown(self.level)} {way} its true value on this side."]

    def _forced_lines(self) -> list[str]:
        least = self.least_distance
        if self.least is None:
            return [
                "No relation forces it while the sensitive cells keep their directions; the table "
                "as a whole costs least so."
            ]
        if self.least.is_known_before:
            return [f"Its own level is all that forces it: {shown(least)}."]
        who = f" by {listed(self._labels(), 6)}" if self.forced_by else ""
        head = (
            f"Forced{who}: while the sensitive cells keep their directions it moves by at least "
            f"{shown(least)}. Its change is"
        )
        return [head, *sum_lines(self.least)]

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
                lines += [head, *sum_lines(other.excluded)]
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

    def _labels(self) -> list[str]:
        return self.problem.table.labels(np.array(self.forced_by))

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
    asked: AdjustedQuestion, cell: int, rules: Any = (), *, with_price: bool = True
) -> AdjustedCell:
    """Explain a cell of an adjusted table.

    Parameters
    ----------
    asked : AdjustedQuestion
    cell : int
    rules : sequence of Rule, default=()
    with_price : bool, default=True
        Whether to search other adjustments as well.
    """
    problem, release = asked.problem, asked.release
    change, is_sensitive = float(asked.changes[cell]), bool(problem.sensitive[cell])
    least = asked.forced(cell) if change else None
    level = (problem.upper_protection if change > 0 else problem.lower_protection)[cell]
    found = AdjustedCell(
        problem=problem,
        cell=cell,
        adjusted=float(asked.values[cell]),
        change=change,
        rule=rule_text(problem, cell, rules) if is_sensitive else "",
        level=float(level) if is_sensitive else 0.0,
        least=least,
        forced_by=_forced_by(problem, cell, least),
        anywhere=None,
        other_way=other_way(asked, cell, with_price=with_price) if is_sensitive else None,
        staying=None,
        beside=tuple(_beside(asked, cell)) if change else (),
        loss=None if release is None else release.loss,
        notes=_notes(release),
    )
    if is_sensitive or not change or not with_price:
        return found
    if found.least_distance:
        return replace(found, anywhere=least_anywhere(asked, cell))
    return replace(found, staying=staying(asked, cell))


def _beside(asked: AdjustedQuestion, cell: int) -> Iterator[dict[int, float]]:
    """Return, for each relation of a cell, the changes of its other cells."""
    relations = asked.problem.table.relations
    for relation in csc_array(relations)[:, [cell]].indices.tolist():
        row = relations[[relation], :]
        yield {
            other: float(asked.changes[other])
            for other in row.indices.tolist()
            if other != cell and asked.changes[other]
        }


def _forced_by(problem: ProtectionProblem, cell: int, least: Derivation | None) -> tuple[int, ...]:
    """Return the other sensitive cells whose levels make a sum what it is."""
    terms = () if least is None else least.terms
    return tuple(t.cell for t in terms if t.amount and problem.sensitive[t.cell] and t.cell != cell)


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
