"""Which groups the columns of a regression single out, beside all groups there are."""

from __future__ import annotations

import itertools

import numpy as np

from tablecloak.safe.other.regression import DesignMatrix

THRESHOLD = 4


def design_of(seed, n=18, k=4, *, contributor=None):
    """Columns of two values, which need not be categories of anything, and a constant or none."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, k)) < 0.4) + float(seed % 2)
    if rng.random() < 0.6:
        matrix = np.column_stack([np.ones(n), matrix])
    names = tuple(f"x{column}" for column in range(matrix.shape[1]))
    own = np.arange(n) if contributor is None else contributor
    return DesignMatrix(matrix, names, own, np.ones(n))


def exposed(design):
    """The least small groups whose indicator is a combination of the columns, by projection."""
    matrix = design.matrix
    onto = matrix @ np.linalg.pinv(matrix)
    patterns, at = np.unique(matrix, axis=0, return_inverse=True)
    found = set()
    for chosen in itertools.product([False, True], repeat=len(patterns)):
        group = np.array(chosen)[at.ravel()]
        few = 0 < len(np.unique(design.contributor[group])) < THRESHOLD
        if few and np.abs(onto @ group - group).max() < 1e-9:
            found.add(tuple(np.flatnonzero(group).tolist()))
    return {one for one in found if not any(set(other) < set(one) for other in found)}


def test_every_small_group_of_records_that_columns_single_out_is_found():
    n_found = 0
    for seed in range(30):
        design = design_of(seed, n=12, k=4)
        groups, is_complete = design.small_groups(THRESHOLD)
        assert is_complete
        expected = exposed(design)
        assert len(groups) == len(expected), seed
        assert sorted(n for _, n in groups) == sorted(map(len, expected))
        n_found += len(groups)
    assert n_found > 10


def test_contributors_of_several_records_count_once_in_each_group():
    n_found = 0
    for seed in range(15):
        who = np.random.default_rng(seed).integers(0, 7, 18)
        design = design_of(seed, k=3, contributor=who)
        expected = exposed(design)
        sizes = sorted(len(set(who[list(group)].tolist())) for group in expected)
        assert sorted(n for _, n in design.small_groups(THRESHOLD)[0]) == sizes
        n_found += len(sizes)
    assert n_found > 5


def test_leverages_add_up_to_the_number_of_parameters():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        matrix = rng.normal(size=(20, 4))
        matrix = np.column_stack([matrix, matrix[:, 0] - 2 * matrix[:, 1], np.zeros(20)])
        design = DesignMatrix(matrix, tuple("abcdef"), np.arange(20), np.ones(20))
        assert design.rank == 4
        assert abs(design.leverage.sum() - design.rank) < 1e-9
        hat = matrix @ np.linalg.pinv(matrix)
        np.testing.assert_allclose(design.leverage, np.diag(hat), atol=1e-9)
        assert design.singled_out(np.ones(20, dtype=bool)) == bool(
            np.abs(hat @ np.ones(20) - 1).max() < 1e-4
        )
