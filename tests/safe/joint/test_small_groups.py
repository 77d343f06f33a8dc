"""Small groups that follow, beside all groups there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.safe.joint.question import SearchWork
from tablecloak.safe.joint.small_groups import SmallGroups, tied
from tablecloak.safe.joint.system import FigureSystem
from tablecloak.safe.output import Figures

THRESHOLD = 5


def search(contributors, members=None, *, is_known=lambda group: False, programs=400):
    return SmallGroups(np.asarray(contributors), members, THRESHOLD, is_known, SearchWork(programs))


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


def test_groups_of_all_figures_are_those_of_brute_force():
    n_found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        figures = rng.integers(0, 2, (8, 5)).astype(float)
        sizes = rng.integers(1, 4, 8)
        groups, is_complete = search(sizes).of_all(csr_array(figures))
        expected = by_brute_force(figures, lambda group, sizes=sizes: sizes[group].sum())
        assert is_complete
        assert {frozenset(group.tolist()) for group in groups} == expected
        counts = [sizes[group].sum() for group in groups]
        assert counts == sorted(counts)
        n_found += len(groups)
    assert n_found > 10


def test_a_contributor_of_several_classes_counts_once():
    n_found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        figures = rng.integers(0, 2, (7, 4)).astype(float)
        members = tuple(np.unique(rng.integers(0, 6, rng.integers(1, 5))) for _ in range(7))

        def distinct(group, members=members):
            return len(set().union(*(members[number].tolist() for number in group)))

        sizes = [len(codes) for codes in members]
        groups, is_complete = search(sizes, members).of_all(csr_array(figures))
        assert is_complete
        assert {frozenset(g.tolist()) for g in groups} == by_brute_force(figures, distinct)
        n_found += len(groups)
    assert n_found > 10


def two_outputs(seed, n=10):
    """Two outputs over the same records, by keys of their own, some of their cells hidden."""
    rng = np.random.default_rng(seed)
    outputs = []
    for _ in range(2):
        records = np.flatnonzero(rng.random(n) < 0.8)
        n_groups = int(rng.integers(2, 5))
        rows = np.vstack([np.eye(n_groups)[rng.random(n_groups) < 0.7], np.ones((1, n_groups))])
        group = rng.integers(0, n_groups, len(records))
        outputs.append(Figures(records, group, csr_array(rows), ("",) * len(rows)))
    return outputs


def test_of_two_outputs_the_search_among_cuts_finds_what_the_general_one_does():
    n_found = 0
    for seed in range(15):
        system = FigureSystem.empty(10)
        for figures in two_outputs(seed):
            system = system.extended(figures)
        one, other = system.parts[1], system.parts[0]
        groups = system.groups[1], system.groups[0]
        by_cuts, cuts_complete = search(system.size).of_two(
            groups, (one.never_told, other.never_told)
        )
        by_all, all_complete = search(system.size).of_all(system.figures)
        assert cuts_complete
        assert all_complete
        sets = [{frozenset(g.tolist()) for g in found} for found in (by_cuts, by_all)]
        assert sets[0] == sets[1], seed
        n_found += len(by_all)
    assert n_found > 10


def test_a_group_that_is_known_is_passed_over_and_others_are_found():
    figures = csr_array(np.eye(3))
    groups, is_complete = search([1, 1, 1], is_known=lambda group: 0 in group).of_all(figures)
    assert [group.tolist() for group in groups] in ([[1], [2]], [[2], [1]])
    assert is_complete


def test_a_search_without_programs_does_not_claim_to_be_complete():
    groups, is_complete = search([1, 1], programs=0).of_all(csr_array(np.eye(2)))
    assert groups == []
    assert not is_complete


def test_classes_that_are_large_or_that_nothing_tells_are_in_no_group():
    assert search([9, 9]).of_all(csr_array(np.eye(2))) == ([], True)
    assert search([1, 1]).of_all(csr_array(np.zeros((2, 1)))) == ([], True)


def cuts(one, other, weight, n):
    """Every cut of nodes that only edges in one direction cross, with the weight that does."""
    for chosen in itertools.product([False, True], repeat=n):
        high = np.array(chosen)
        falls = high[one] & ~high[other]
        if not (high[other] & ~high[one]).any():
            yield high, int(weight[falls].sum())


@pytest.mark.parametrize("least", [2, 3, 5])
def test_nodes_that_are_tied_are_separated_by_heavy_cuts_alone(least):
    n_tied = n_apart = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n, n_edges = 6, 12
        one, other = rng.integers(0, n, n_edges), rng.integers(0, n, n_edges)
        weight = rng.integers(1, 4, n_edges)
        component = tied(one, other, weight, n, least, may_add=True)
        for high, crossing in cuts(one, other, weight, n):
            if crossing < least:
                # No light cut goes through a component.
                assert all(len(set(high[component == c])) == 1 for c in set(component.tolist()))
        n_apart += len(set(component.tolist())) > 1
        n_tied += len(set(component.tolist())) < n
    assert n_tied
    assert n_apart or least == 2


def test_weights_of_edges_add_up_only_where_no_contributor_is_in_two():
    one, other, weight = np.zeros(3, int), np.ones(3, int), np.array([2, 2, 1])
    assert len(set(tied(one, other, weight, 2, 5, may_add=True).tolist())) == 1
    assert len(set(tied(one, other, weight, 2, 5, may_add=False).tolist())) == 2
    assert len(set(tied(one, other, weight, 2, 2, may_add=False).tolist())) == 1
