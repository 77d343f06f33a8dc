"""Iterated local search over directions."""

from __future__ import annotations

import numpy as np
import pytest

from hand_tables import one_row
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.cta.search.local_search import LocalSearch
from tight_forms import ENOUGH, all_directions, form_of, values_of_directions


def run(form, directions, budget=None, allowed=None) -> tuple[list[float], LocalSearch]:
    """Values that were offered, in order."""
    offered: list[float] = []
    light = form.directed_only()
    search = LocalSearch(
        light,
        form.model.allowed if allowed is None else allowed,
        budget or Budget.of(ENOUGH),
        lambda solution: offered.append(solution.value),
    )
    search.run(np.asarray(directions, float))
    return offered, search


@pytest.mark.parametrize("seed", range(4))
def test_the_end_is_better_than_any_that_one_turn_leads_to(seed):
    form = form_of(random_problem(seed, (3, 4), 4))
    values, ended = values_of_directions(form), 0
    for start in list(all_directions(form))[::7]:
        offered, _ = run(form, start)
        if not offered:
            assert values[tuple(start.tolist())] == np.inf
            continue
        end = min(values, key=lambda y: abs(values[y] - min(offered)))
        for i in range(len(end)):
            turned = (*end[:i], 1 - end[i], *end[i + 1 :])
            assert values.get(turned, np.inf) >= min(offered) * (1 - 1e-6)
        assert min(offered) <= values[tuple(start.tolist())] + 1e-6
        ended += 1
    assert ended > 0


@pytest.mark.parametrize("seed", range(2))
def test_no_offer_is_below_what_enumeration_finds(seed):
    form = form_of(random_problem(seed, (4, 4), 6))
    values = list(values_of_directions(form).values())
    offered, search = run(form, np.ones(6))
    known = np.array(values)
    for value in offered:
        assert np.min(np.abs(known - value)) <= 1e-6 * max(1.0, abs(value))
    assert search.programs > 0


def test_a_start_without_a_table_offers_nothing():
    # b and c together may fall by 4, but not by 5.
    problem = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["Total"]).with_capacity(2)
    offered, search = run(form_of(problem), [1.0])
    assert offered == []
    assert search.programs == 0


def test_with_nothing_to_turn_the_start_is_all_that_is_offered():
    form = form_of(random_problem(1))
    ones = np.ones(3)
    offered, search = run(form, ones, allowed=(ones, ones))
    assert len(offered) == 1
    assert search.programs == 0


def test_when_time_is_over_the_start_is_still_offered():
    offered, search = run(form_of(random_problem(1)), np.ones(3), Budget.of(0.0))
    assert len(offered) == 1
    assert search.programs == 0


def test_two_searches_from_the_same_start_offer_the_same():
    form = form_of(random_problem(4, (4, 4), 6))
    assert run(form, np.ones(6))[0] == run(form, np.ones(6))[0]
