"""Small groups that follow, beside all groups there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.safe.joint import leverage
from tablecloak.safe.joint.question import SearchWork
from tablecloak.safe.joint.small_groups import SmallGroups
from tablecloak.safe.joint.system import FigureSystem
from tablecloak.safe.output import Figures

THRESHOLD = 5


def search(figures, contributors, members=None, *, known=lambda group: False, programs=400):
    """Search in a system in which each class has as many records as contributors."""
    sizes = np.asarray(contributors)
    figures = np.asarray(figures, dtype=float)
    group = np.repeat(np.arange(len(sizes)), sizes)
    labels = ("",) * figures.shape[1]
    told = Figures(np.arange(sizes.sum()), group, csr_array(figures.T), labels)
    system = FigureSystem.empty(int(sizes.sum())).extended(told)
    weights = None
    if members is not None:
        who = np.concatenate(members)
        weights = np.bincount(group, 1 / np.bincount(who)[who])
    search = SmallGroups(sizes, members, THRESHOLD, known, SearchWork(programs))
    return search.of_all(system, weights)


def smallest(groups):
    """Those that contain no other one."""
    groups = [frozenset(group) for group in groups]
    return {group for group in groups if not any(other < group for other in groups)}


def by_brute_force(figures, n_contributors):
    """All smallest groups of few contributors whose indicator is a combination of figures."""
    onto = figures @ np.linalg.pinv(figures)
    found = []
    for chosen in itertools.product([0, 1], repeat=len(figures)):
        group = np.flatnonzero(chosen)
        few = len(group) and n_contributors(group) < THRESHOLD
        if few and np.abs(onto @ chosen - chosen).max() < 1e-9:
            found.append(group.tolist())
    return smallest(found)


@pytest.mark.parametrize("cheap", [leverage.CHEAP, -1])
def test_groups_of_all_figures_are_those_of_brute_force(monkeypatch, cheap):
    """Also where leverages are first estimated by random projections."""
    monkeypatch.setattr(leverage, "CHEAP", cheap)
    n_found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        figures = rng.integers(0, 2, (8, 5)).astype(float)
        sizes = rng.integers(1, 4, 8)
        groups, is_complete = search(figures, sizes)
        expected = by_brute_force(figures, lambda group, sizes=sizes: sizes[group].sum())
        assert is_complete
        assert {frozenset(group.tolist()) for group in groups} == expected
        counts = [sizes[group].sum() for group in groups]
        assert counts == sorted(counts)
        n_found += len(groups)
    assert n_found > 4


def test_a_contributor_of_several_classes_counts_once():
    n_found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        figures = rng.integers(0, 2, (7, 4)).astype(float)
        members = tuple(np.unique(rng.integers(0, 6, rng.integers(1, 5))) for _ in range(7))

        def distinct(group, members=members):
            return len(set().union(*(members[number].tolist() for number in group)))

        sizes = [len(codes) for codes in members]
        groups, is_complete = search(figures, sizes, members)
        assert is_complete
        assert {frozenset(g.tolist()) for g in groups} == by_brute_force(figures, distinct)
        n_found += len(groups)
    assert n_found > 4


def test_a_group_that_is_known_is_passed_over_and_others_are_found():
    groups, is_complete = search(np.eye(3), [1, 1, 1], known=lambda group: 0 in group)
    assert [group.tolist() for group in groups] in ([[1], [2]], [[2], [1]])
    assert is_complete


def test_a_search_without_programs_does_not_claim_to_be_complete():
    groups, is_complete = search(np.eye(2), [1, 1], programs=0)
    assert groups == []
    assert not is_complete


def test_classes_that_are_large_or_that_nothing_tells_are_in_no_group():
    assert search(np.eye(2), [9, 9]) == ([], True)
    assert search(np.zeros((2, 1)), [1, 1]) == ([], True)
