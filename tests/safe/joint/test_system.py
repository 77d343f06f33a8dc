"""Figures over classes of records: which sums follow, beside linear algebra over all records."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.sparse import csr_array

from tablecloak.safe.joint.system import Factor, FigureSystem
from tablecloak.safe.output import Figures


def random_figures(rng, n, *, amounts=None):
    """Figures of some records by one key, each a sum of some groups."""
    records = np.flatnonzero(rng.random(n) < 0.8)
    n_groups = int(rng.integers(1, 4))
    sums = rng.random((int(rng.integers(1, 4)), n_groups)) < 0.6
    labels = tuple(f"figure {row}" for row in range(len(sums)))
    group = rng.integers(0, n_groups, len(records))
    return Figures(records, group, csr_array(sums.astype(float)), labels, amounts)


def rows_of(figures, n):
    """Each figure as a sum of records."""
    within = np.zeros((figures.sums.shape[1], n))
    within[figures.group, figures.records] = 1
    return figures.sums.toarray() @ within


def random_system(seed, n=9, n_outputs=4):
    rng = np.random.default_rng(seed)
    outputs = [random_figures(rng, n) for _ in range(n_outputs)]
    system = FigureSystem.empty(n)
    for figures in outputs:
        system = system.extended(figures)
    return system, np.vstack([rows_of(figures, n) for figures in outputs]), outputs


SEEDS = range(6)


def test_a_factor_that_grows_by_blocks_is_that_of_the_independent_figures():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        figures = rng.integers(0, 2, (9, 6)).astype(float)
        factor, chosen = Factor(), np.zeros((0, 6))
        for block in np.split(figures, 3):
            before = factor
            factor, kept = factor.extended(block @ chosen.T, block @ block.T)
            chosen = np.vstack([chosen, block[kept]])
            # What was asked about and thrown away has left no trace.
            assert before.size == len(chosen) - len(kept)
        assert factor.size == len(chosen) == np.linalg.matrix_rank(figures)
        right = rng.normal(size=len(chosen))
        shared = chosen @ chosen.T
        np.testing.assert_allclose(shared @ factor.solve(right), right, atol=1e-8)
        np.testing.assert_allclose(factor.backward(factor.forward(right)), factor.solve(right))


def test_what_was_solved_for_classes_is_true_of_every_later_system():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        system = FigureSystem.empty(9)
        for _ in range(5):
            for other in (system.extended(random_figures(rng, 9)), system.grown(9)):
                # Asked about and thrown away, asked about again, and of other classes.
                some = rng.permutation(other.n_classes)[: int(rng.integers(1, 6))]
                for classes in (some, np.arange(other.n_classes)):
                    expected = other.factor.forward(other.kept_figures(classes))
                    np.testing.assert_allclose(other.solved_rows(classes), expected, atol=1e-12)
            system = system.extended(random_figures(rng, 9))


def test_two_records_are_in_one_class_exactly_if_every_output_has_them_in_one_group():
    for seed in SEEDS:
        system, _, outputs = random_system(seed)
        place = np.full((len(outputs), 9), -1)
        for row, figures in enumerate(outputs):
            place[row, figures.records] = figures.group
        for one, other in itertools.combinations(range(9), 2):
            same = bool((place[:, one] == place[:, other]).all())
            assert (system.class_of[one] == system.class_of[other]) == same
        assert system.size.tolist() == np.bincount(system.class_of).tolist()
        for number, part in enumerate(outputs):
            group = system.group(number)
            assert (group[system.class_of][part.records] == part.group).all()


def test_random_moves_of_the_records_change_no_figure():
    for seed in SEEDS:
        system, _, _ = random_system(seed)
        assert system.figures.shape == (system.n_classes, system.n_figures)
        assert np.abs(system.figures.T @ system.moves).max() < 1e-7


def test_a_group_of_classes_does_not_move_exactly_if_it_is_a_combination_of_figures():
    """All groups of small systems, beside a projection on the rows of all figures."""
    counted = {True: 0, False: 0}
    for seed in SEEDS:
        system, rows, _ = random_system(seed)
        onto = np.linalg.pinv(rows) @ rows
        for chosen in itertools.product([False, True], repeat=system.n_classes):
            group = np.array(chosen)[system.class_of].astype(float)
            follows = bool(np.abs(group @ onto - group).max() < 1e-9)
            is_still = bool(np.abs(system.moves[np.array(chosen)].sum(axis=0)).max() < 1e-6)
            assert is_still == follows
            counted[follows] += 1
    assert min(counted.values()) > 100


def test_the_order_of_outputs_changes_nothing_that_follows():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        outputs = [random_figures(rng, 8) for _ in range(3)]
        still = []
        for order in itertools.permutations(outputs):
            system = FigureSystem.empty(8)
            for figures in order:
                system = system.extended(figures)
            follows = np.abs(system.moves).max(axis=1) < 1e-6
            still.append(
                {tuple(np.flatnonzero(system.class_of == c)) for c in np.flatnonzero(follows)}
            )
        assert all(each == still[0] for each in still)


def test_records_that_come_later_are_one_class_that_follows_from_nothing():
    system, _, _ = random_system(1)
    grown = system.grown(12)
    assert grown.n_classes == system.n_classes + 1
    assert (grown.class_of[9:] == system.n_classes).all()
    assert np.array_equal(grown.class_of[:9], system.class_of)
    assert (np.abs(grown.moves[-1]) > 1e-3).all()
    np.testing.assert_allclose(grown.moves[:-1], system.moves, atol=1e-12)
    # Figures of earlier records still stand, whatever the new ones move.
    assert np.abs(grown.figures.T @ grown.moves).max() < 1e-7
    assert grown.grown(12) is grown


def test_parents_lead_from_each_class_to_the_one_it_was_part_of():
    rng = np.random.default_rng(3)
    before = FigureSystem.empty(9).extended(random_figures(rng, 9))
    after = before.extended(random_figures(rng, 9))
    for record in range(9):
        assert after.parent[after.class_of[record]] == before.class_of[record]
