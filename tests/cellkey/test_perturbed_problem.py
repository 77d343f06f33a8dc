"""Cell keys for tables of counts whose records are not at hand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.cellkey import KeyRows, design_count_table, perturb_problem
from tablecloak.errors import InputError
from tablecloak.tables.rules.rule import RULES

RULE = RULES.build("minimum-frequency", minimum=3)
SMALL = design_count_table(2, 1.1, blocked=1)


def problem_of(counts):
    """A two-way table with these numbers of records."""
    cells = [
        (f"r{row}", f"c{column}")
        for (row, column), count in np.ndenumerate(np.array(counts))
        for _ in range(count)
    ]
    return tc.tabulate(pd.DataFrame(cells, columns=["a", "b"]), ["a", "b"]).protect(RULE)


def test_a_total_of_one_cell_gets_the_change_of_that_cell():
    for seed in range(5):
        made = perturb_problem(problem_of([[4, 0], [0, 7]]), seed=seed)
        table = made.problem.table
        for one, other in ((("r0", "c0"), ("r0", "Total")), (("r1", "c1"), ("Total", "c1"))):
            cells = [table.cell(a=a, b=b) for a, b in (one, other)]
            assert made.values[cells[0]] == made.values[cells[1]]


def test_the_noise_has_the_moments_of_the_perturbation_table():
    problem = problem_of([[9] * 30 for _ in range(30)])
    table = design_count_table(4, 2.0, blocked=0)
    made = perturb_problem(problem, table, seed=1)
    change = made.values - problem.table.values
    assert np.abs(change).max() == 4
    assert abs(change.mean()) < 0.15 and abs(change.var() - 2.0) < 0.25


def test_zeros_stay_zeros_and_blocked_counts_do_not_occur():
    made = perturb_problem(problem_of([[1, 0, 5], [2, 3, 0]]), seed=4)
    assert np.all(made.values[made.problem.table.values == 0] == 0)
    assert not np.isin(made.values, [1, 2]).any()


def test_intervals_of_sensitive_counts_are_those_of_an_enumeration():
    for seed in range(6):
        counts = np.random.default_rng(seed).integers(0, 4, (2, 2))
        counts[0, 0] = 2
        made = perturb_problem(problem_of(counts), SMALL, seed=seed)
        table, sensitive = made.problem.table, made.problem.sensitive
        codes = [(a, b) for a in ("r0", "r1", "Total") for b in ("c0", "c1", "Total")]
        shown = dict.fromkeys(codes, 0) | dict(
            zip(zip(table.keys.a, table.keys.b, strict=True), made.values.tolist(), strict=True)
        )
        fits = []
        for p, q, r, s in itertools.product(range(8), repeat=4):
            values = [p, q, p + q, r, s, r + s, p + r, q + s, p + q + r + s]
            if all(
                SMALL.chances(n).get(x - n, 0) for n, x in zip(values, shown.values(), strict=True)
            ):
                fits.append(values)
        order = [codes.index(key) for key in zip(table.keys.a, table.keys.b, strict=True)]
        fits = np.array(fits)[:, order]
        low, high = np.min(fits, axis=0), np.max(fits, axis=0)
        assert made.intervals[0][sensitive].tolist() == low[sensitive].tolist()
        assert made.intervals[1][sensitive].tolist() == high[sensitive].tolist()


def test_linked_tables_are_attacked_by_their_relations_alone():
    people = pd.DataFrame(
        {"a": list("pqpqpp"), "b": list("xxyyxy"), "c": list("uvuvuu"), "count": 1}
    )
    table = tc.tabulate(people, ["a", "b", "c"], tables=[["a", "b"], ["a", "c"]])
    made = perturb_problem(table.protect(RULE), SMALL)
    lower, upper = made.intervals
    true = table.values
    assert np.all(lower <= true) and np.all(true <= upper)


def test_counts_that_are_not_changed_are_all_determined():
    made = perturb_problem(problem_of([[1, 4], [2, 5]]), KeyRows(np.zeros((9, 4), int), period=9))
    lower, upper = made.intervals
    assert np.array_equal(lower, upper) and made.loss == 0


def test_magnitudes_are_refused():
    with pytest.raises(InputError, match="no table of counts"):
        perturb_problem(tc.examples.cox_rounded())
