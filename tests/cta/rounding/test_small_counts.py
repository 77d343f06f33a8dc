"""Small-count rounding: against enumeration, and audited."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins


def counts(seed: int, *sizes: int, mean: float = 3.0) -> tc.ProtectionProblem:
    random = np.random.default_rng(seed)
    names = [f"d{axis}" for axis in range(len(sizes))]
    leaves = list(itertools.product(*(range(size) for size in sizes)))
    frame = pd.DataFrame(leaves, columns=names).astype(str)
    frame = frame.assign(n=random.poisson(random.gamma(1, mean, len(frame))))
    trees = {
        name: tc.Hierarchy.from_dict({str(code): [] for code in range(size)})
        for name, size in zip(names, sizes, strict=True)
    }
    table = with_margins(frame, trees, "n", decimals=0)
    n = table.n_cells
    zero = np.zeros(n)
    return tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )


def nearest(problem: tc.ProtectionProblem, base: int) -> float:
    """Least sum of changes over all tables of leaves near the truth, by enumeration."""
    a = problem.table.values
    relations = problem.table.relations.toarray()
    totals = (relations == -1).any(axis=0)
    leaves = np.flatnonzero(~totals)
    # Totals follow from the leaves, for each total is -1 in some relation of leaves or totals.
    span = [
        [0] if a[i] == 0 else [0, base] if a[i] < base else range(base, int(a[i]) + base + 1)
        for i in leaves
    ]
    best = np.inf
    matrix = relations[:, np.flatnonzero(totals)]
    for chosen in itertools.product(*span):
        x = np.zeros(len(a))
        x[leaves] = chosen
        x[totals] = np.rint(np.linalg.lstsq(matrix, -relations @ x, rcond=None)[0])
        small = (a > 0) & (a < base)
        bad = ((x > 0) & (x < base)) | (small & (x != 0) & (x != base)) | ((a == 0) & (x != 0))
        if not bad.any():
            best = min(best, np.abs(x - a).sum())
    return best


def test_rounding_is_the_nearest_by_enumeration():
    optima = 0
    for seed in range(6):
        problem = counts(seed, 2, 2, mean=2.0)
        expected = nearest(problem, 3)
        if np.isinf(expected):
            with pytest.raises(tc.TablecloakError):
                tc.small_count_rounding(problem)
        else:
            rounded = tc.small_count_rounding(problem)
            assert rounded.adjustment.loss == expected, seed
            assert rounded.adjustment.is_optimal, seed
            optima += expected > 0
    assert optima >= 3


@pytest.mark.parametrize("sizes", [(6, 5), (4, 3, 3)])
@pytest.mark.parametrize("base", [3, 5])
def test_no_small_count_is_left_and_none_can_be_told_from_another(sizes, base):
    problem = counts(7, *sizes)
    rounded = tc.small_count_rounding(problem, base=base, time_limit=20)
    x, a = rounded.values, problem.table.values
    assert not ((x > 0) & (x < base)).any()
    assert (x[a == 0] == 0).all()
    assert not (problem.table.relations @ x).any()
    assert rounded.problem.n_sensitive == ((a > 0) & (a < base)).sum() > 0
    low, high = rounded.intervals()
    assert ((low <= a) & (a <= high)).all()
    assert tc.audit(rounded.problem, rounded).is_safe
    assert set(rounded.release().columns) == {*problem.table.keys.columns, problem.table.name}


def test_altered_counts_are_refused():
    rounded = tc.small_count_rounding(counts(3, 4, 4))
    values = rounded.adjustment.values.copy()
    values[np.flatnonzero(values >= 3)[0]] += 1
    altered = object.__new__(tc.Adjustment)
    altered.__dict__.update(rounded.adjustment.__dict__, values=values)
    with pytest.raises(tc.VerificationError, match="relation"):
        replace(rounded, adjustment=altered).verify()


def test_what_cannot_be_rounded_is_named():
    problem = counts(1, 3, 3)
    with pytest.raises(tc.InputError, match="whole number from 2"):
        tc.small_count_rounding(problem, base=1)
    with pytest.raises(tc.InputError, match="table of counts"):
        tc.small_count_rounding(_negative())
    small = np.flatnonzero((problem.table.values > 0) & (problem.table.values < 3))
    status = problem.status.copy()
    status[small[0]] = "z"
    with pytest.raises(tc.InputError, match="1 small counts must be published"):
        tc.small_count_rounding(problem.with_changes(status=status))


def _negative() -> tc.ProtectionProblem:
    n = 3
    table = tc.Table.from_frame(
        pd.DataFrame({"d": ["a", "b", "Total"], "value": [-1.0, 3.0, 2.0]}),
        {"d": tc.Hierarchy.from_dict({"a": [], "b": []})},
    )
    zero = np.zeros(n)
    return tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, np.full(n, -9.0), np.full(n, 9.0), np.ones(n)
    )
