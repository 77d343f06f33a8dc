"""Distances: all that are registered keep the contract, and wrong ones are told why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak.contracts import check_distance
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.cta.search.distances.l2 import L2


class Free(L1):
    """Changes downwards cost nothing."""

    name = "free"

    def loss(self, weights, changes):
        return super().loss(weights, np.maximum(changes, 0))


class Fixed(L1):
    """Costs something even where nothing changes."""

    name = "fixed"

    def loss(self, weights, changes):
        return 1.0 + super().loss(weights, changes)


class WrongPower(L2):
    """Says that its loss grows as the changes do."""

    name = "wrong-power"
    power = 1


class Saturated(L1):
    """Large changes cost less."""

    name = "saturated"
    adds_up = False

    def loss(self, weights, changes):
        total = super().loss(weights, changes)
        return total**2 / np.abs(changes).max(initial=1e-300) if total else 0.0


class Root(L1):
    """The largest change and the sum, which do not add up."""

    name = "root"

    def loss(self, weights, changes):
        return super().loss(weights, changes) + float(np.abs(changes).max(initial=0))


class TooSure(L1):
    """Claims a loss below what its table costs."""

    name = "too-sure"
    has_whole_numbers = False

    def settle(self, searched):
        answer = super().settle(searched)
        return replace(answer, changes=1.5 * answer.changes)


WRONG = {
    Free: "The loss is 0 without a change, .* The loss of a change by -0.001 is 0",
    Fixed: "The loss of no change is 1",
    WrongPower: "Four times the changes cost",
    Saturated: "The loss does not fall",
    Root: "With `adds_up` the loss of two parts is the sum",
    TooSure: "Its adjustment is verified",
}


@pytest.mark.parametrize("name", DISTANCES.names)
def test_every_registered_distance_keeps_the_contract(name):
    check_distance(DISTANCES.build(name))


@pytest.mark.parametrize("distance", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_distance_is_told_which_fact_it_breaks(distance):
    known = DISTANCES.names
    with pytest.raises(AssertionError, match=f"The distance '{distance.name}' breaks its contract: "
                       f".*{WRONG[distance]}"):  # fmt: skip
        check_distance(distance())
    assert DISTANCES.names == known
