"""Phases and their shares as data."""

from __future__ import annotations

import pytest

from tablecloak.cta.search.phases import prove
from tablecloak.cta.search.schedule import POINTS, PROOFS, Size


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


@pytest.mark.parametrize("schedules", [PROOFS, POINTS])
def test_every_size_has_a_schedule(schedules):
    assert set(schedules) == set(Size)
    for phases in schedules.values():
        assert all(0 < phase.share <= 1 for phase in phases)


@pytest.mark.parametrize("size", list(Size))
def test_without_a_proof_no_time_goes_to_the_last_branch_and_bound(size):
    assert POINTS[size][-1].run is not prove
    assert PROOFS[size][-1].run is prove
