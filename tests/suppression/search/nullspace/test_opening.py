"""Whether a table has room is told by how far deletion brings the rank."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tablecloak.suppression.search.nullspace.opening import Opening
from tablecloak.suppression.search.nullspace.search import Found


def opening(rank_before: int, rank: int, n_open: int = 0, *, is_cut_short: bool = False) -> Opening:
    """What a deletion with these ranks leaves, of a table with 100 sensitive cells."""
    nothing = np.zeros(0, dtype=np.int64)
    found = Found(
        hidden=np.zeros(0, dtype=bool),
        loss=1.0,
        deviations=np.zeros((0, 0)),
        rank_before=rank_before,
        rank=rank,
        n_open=n_open,
        spanning=nothing,
        is_cut_short=is_cut_short,
    )
    needs = SimpleNamespace(cells=np.arange(100))
    return Opening(SimpleNamespace(system=SimpleNamespace(needs=needs)), found)


@pytest.mark.parametrize(("rank", "is_roomy"), [(2, True), (20, True), (21, False), (100, False)])
def test_table_is_roomy_where_the_rank_falls_to_a_fifth(rank, is_roomy):
    assert opening(100, rank).is_roomy == is_roomy


@pytest.mark.parametrize(("rank", "is_roomy"), [(21, True), (85, True), (86, False)])
def test_deletion_that_time_ended_need_not_have_come_as_far(rank, is_roomy):
    assert opening(100, rank, is_cut_short=True).is_roomy == is_roomy


@pytest.mark.parametrize(("n_open", "is_roomy"), [(0, True), (10, True), (11, False)])
def test_table_with_many_open_cells_is_not_roomy(n_open, is_roomy):
    assert opening(100, 5, n_open).is_roomy == is_roomy


def test_one_direction_is_little_whatever_there_was_before():
    assert opening(2, 1).is_roomy
