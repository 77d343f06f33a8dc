"""Groups of records as columns of a program, against all sets of records."""

from itertools import combinations

import numpy as np

from tablecloak.microdata.anonymity.group_programs import cheap_groups


def test_lists_the_sets_of_k_to_2k_minus_1_records_that_lack_little():
    random = np.random.default_rng(1)
    k, most = 3, 1.5
    for _ in range(10):
        size = random.integers(1, 8, 4)
        number = np.repeat(np.arange(4), size)
        over = np.concatenate([-np.sort(-random.normal(-0.4, 0.7, n)) for n in size])
        recruit_cost = np.array([np.inf, 0.3, np.inf, 0.9])
        listed = cheap_groups(number, over, np.zeros(len(over), int), recruit_cost, k, most)
        seen = {
            tuple(listed.entry[listed.group == group]): lack
            for group, lack in enumerate(listed.lack.tolist())
        }
        expected = {}
        for group in range(4):
            for n in range(1, 2 * k):
                for members in combinations(np.flatnonzero(number == group).tolist(), n):
                    called = max(k - n, 0) * recruit_cost[group] if n < k else 0.0
                    lack = called - over[list(members)].sum()
                    if lack <= most:
                        expected[members] = lack
        assert seen.keys() == expected.keys()
        np.testing.assert_allclose([seen[each] for each in expected], list(expected.values()))


def test_equal_records_are_listed_once():
    over, copy = np.array([-0.1, -0.1, -0.1, -0.1]), np.arange(4)
    listed = cheap_groups(np.zeros(4, int), over, copy, np.array([np.inf]), 3, 1.0)
    assert np.bincount(listed.group).tolist() == [3, 4]
