"""Phases and their shares as data."""

from __future__ import annotations

import pytest

from tablecloak.cta.model.schedule import SCHEDULES, Size, phases_for
from tablecloak.cta.search.directions import PHASES


@pytest.mark.parametrize(
    ("n_rows", "n_sensitive", "n_relations", "size"),
    [
        (3000, 200, 5000, Size.PROVABLE),
        (3001, 200, 1001, Size.MEDIUM),
        (3000, 201, 1000, Size.FLAT),
        (6001, 10, 1001, Size.LARGE),
        (6001, 10, 1000, Size.LARGE_FLAT),
    ],
)
def test_tables_are_searched_by_their_size(n_rows, n_sensitive, n_relations, size):
    assert Size.of(n_rows, n_sensitive, n_relations) is size


def test_every_size_has_a_schedule_of_phases_that_exist():
    assert set(SCHEDULES) == set(Size)
    for phases in SCHEDULES.values():
        assert {phase.name for phase in phases} <= set(PHASES)
        assert all(0 < phase.share <= 1 for phase in phases)


@pytest.mark.parametrize("size", list(Size))
def test_without_a_proof_no_time_goes_to_the_last_branch_and_bound(size):
    names = [phase.name for phase, _ in phases_for(size, for_proof=False)]
    assert names[-1] != "prove"
    assert phases_for(size, for_proof=True)[-1][0].name == "prove"
