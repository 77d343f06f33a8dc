"""What outputs of one project disclose together, beside a naive attack on their records."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.safe import Outcome, Project
from tablecloak.safe.figures import Figures

THRESHOLD = 4


def figures_of(keys, chosen, amounts=None, *, hidden=0.0, margin=True, rng=None):
    """Figures of a table of chosen records by some keys, a part of its cells hidden."""
    records = np.flatnonzero(chosen)
    _, group = np.unique(keys[records], axis=0, return_inverse=True)
    group = group.reshape(-1)
    n = group.max() + 1
    rows = np.eye(n)
    if rng is not None:
        rows = rows[rng.random(n) >= hidden]
    if margin:
        rows = np.vstack([rows, np.ones(n)])
    labels = tuple(f"figure {row}" for row in range(len(rows)))
    told = None if amounts is None else amounts[records]
    name = "records" if amounts is None else "turnover"
    return Figures(records, group, csr_array(rows), labels, told, name)


def random_project(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 14))
    keys = rng.integers(0, 3, (n, 3))
    amounts = rng.integers(1, 100, n).astype(float)
    outputs = []
    for _ in range(int(rng.integers(3, 11))):
        columns = rng.permutation(3)[: rng.integers(1, 3)]
        chosen = np.ones(n, dtype=bool)
        if rng.random() < 0.6:
            chosen = keys[:, rng.integers(3)] != rng.integers(3)
        if not chosen.any():
            continue
        values = amounts if rng.random() < 0.4 else None
        outputs.append(
            figures_of(keys[:, columns], chosen, values, hidden=rng.random() * 0.9, rng=rng)
        )
    return n, outputs


def stacked(n, outputs, variable):
    rows = [np.zeros((0, n))]
    for figures in outputs:
        if figures.variable == variable:
            within = np.zeros((figures.sums.shape[1], n))
            within[figures.group, figures.records] = 1
            rows.append(figures.sums.toarray() @ within)
    return np.vstack(rows)


def follows(matrix, indicator):
    if not len(matrix):
        return False
    found = np.linalg.lstsq(matrix.T, indicator, rcond=None)[0]
    return np.abs(matrix.T @ found - indicator).max() < 1e-9


def small_sets(n, matrix, earlier, contributor):
    """Every minimal group of too few contributors that follows now and did not before."""
    found = []
    for size in range(1, n + 1):
        for some in combinations(range(n), size):
            if len(set(contributor[list(some)])) >= THRESHOLD:
                continue
            if any(set(known) <= set(some) for known in found):
                continue
            indicator = np.zeros(n)
            indicator[list(some)] = 1
            if follows(matrix, indicator) and not follows(earlier, indicator):
                found.append(some)
    return set(found)


def begun(n, **limits):
    import pandas as pd

    appetite = {"safe_threshold": THRESHOLD, "safe_pratio_p": 0.0, "safe_nk_k": 1.0} | limits
    project = Project(appetite)
    project.positions(pd.RangeIndex(n))
    return project


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_verdicts_equal_those_of_a_naive_attack(first):
    n_disclosing = n_safe = 0
    for seed in range(first, first + 10):
        n, outputs = random_project(seed)
        project = begun(n)
        for number, figures in enumerate(outputs):
            now = stacked(n, outputs[: number + 1], figures.variable)
            before = stacked(n, outputs[:number], figures.variable)
            expected = small_sets(n, now, before, np.arange(n))
            found, undecided = project.findings([figures])
            assert not undecided
            told = {tuple(finding.records.tolist()) for finding in found}
            assert told <= expected, (seed, number)
            assert bool(told) == bool(expected), (seed, number, expected)
            if len(expected) < 20:
                assert told == expected, (seed, number)
            for finding in found:
                assert_computed(n, finding, figures, project)
            n_disclosing += bool(expected)
            n_safe += not expected
            # Recorded all the same, so that later outputs are asked beside unsafe ones as well.
            project.record("table", "", Outcome(), figures=[figures])
    assert n_disclosing > 5
    assert n_safe > 5


def assert_computed(n, finding, asked, project):
    """The sum that is told gives the group that is told, and needs what is asked about."""
    total = np.zeros(n)
    for term in finding.terms:
        figures = project.outputs[term.output].figures[0] if term.output else asked
        within = np.zeros((figures.sums.shape[1], n))
        within[figures.group, figures.records] = 1
        row = figures.labels.index(term.label)
        total += term.coefficient * (figures.sums.toarray() @ within)[row]
    indicator = np.zeros(n)
    indicator[finding.records] = 1
    assert np.abs(total - indicator).max() < 1e-6
    assert finding.asked
