"""Intruders: all that are registered keep the contract, and wrong ones are told why."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.contracts import INTRUDER, check_intruder
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge


class Largest(Intruder):
    """Knows the largest hidden cell to a tenth."""

    name = "largest"

    def knowledge(self, problem, suppressed):
        cell = np.flatnonzero(suppressed)[np.argmax(problem.table.values[suppressed])]
        value = problem.table.values[[cell]]
        return [Knowledge("largest", np.array([cell]), 0.9 * value, 1.1 * value)]


class Wrong(Largest):
    """Knows a value that is not true."""

    def knowledge(self, problem, suppressed):
        return [
            Knowledge(m.name, m.cells, m.upper + 1, m.upper + 2)
            for m in super().knowledge(problem, suppressed)
        ]


class KnowsPublished(Largest):
    """Knows cells that everybody knows."""

    def knowledge(self, problem, suppressed):
        return super().knowledge(problem, np.ones_like(suppressed))


class Forgetful(Largest):
    """Knows something else each time."""

    times = 0

    def knowledge(self, problem, suppressed):
        type(self).times += 1
        return super().knowledge(problem, suppressed) * (self.times % 3)


class ByCell(Largest):
    """Says that a cell decides what it knows of it, although all hidden cells do."""

    knows_by_cell = True

    def knowledge(self, problem, suppressed):
        width = float(suppressed.sum())
        return [
            Knowledge(m.name, m.cells, m.lower - width, m.upper + width)
            for m in super().knowledge(problem, suppressed)
        ]


class Meddler(Largest):
    """Unhides a cell while it looks."""

    def knowledge(self, problem, suppressed):
        suppressed[np.flatnonzero(suppressed)[-1]] = False
        return []


class Silent(Largest):
    """Does not raise what it lacks."""

    def lacking(self, problem):
        return "" if problem.table.contributions is not None else "It needs contributors."

    def members(self, problem, suppressed):
        return []


class Wordless(Largest):
    __doc__ = None


class Crooked(Largest):
    """Has more cells than bounds."""

    def knowledge(self, problem, suppressed):
        (member,) = super().knowledge(problem, suppressed)
        return [Knowledge("x", np.repeat(member.cells, 2), member.lower, member.upper)]


WRONG = {
    Wrong: "The true value .* What 'largest' knows of the cells .* is not true",
    KnowsPublished: "Each member names hidden cells, each once.* a cell that is published",
    Forgetful: "Two calls return the same members",
    ByCell: "its bounds of a cell do not depend on which other cells are hidden",
    Meddler: "The pattern was changed",
    Silent: "`members` raises the sentence of `lacking`",
    Wordless: "The first line of its docstring is no sentence",
    Crooked: "has arrays of the shapes",
}


@pytest.mark.parametrize("name", INTRUDERS.names)
def test_every_registered_intruder_keeps_the_contract(name):
    check_intruder(INTRUDERS.build(name))


def test_an_intruder_that_is_not_registered_keeps_it_too():
    check_intruder(Largest())


@pytest.mark.parametrize("intruder", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_intruder_is_told_which_fact_it_breaks(intruder):
    with pytest.raises(AssertionError, match="The intruder 'largest' breaks its contract: "
                       f".*{WRONG[intruder]}"):  # fmt: skip
        check_intruder(intruder())


def test_there_is_a_wrong_intruder_for_almost_every_fact():
    """The last fact needs a wrong audit, not a wrong intruder."""
    assert len(INTRUDER) == 7
