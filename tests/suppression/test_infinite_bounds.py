"""Cells without external bounds: no claim may rest on a bound that nobody gave.

Coefficients of 1e-4 to 1e4 join kilograms and tonnes, or currencies. Without any bounds a hidden
cell is determined by the published ones, or it may have any value: elimination in fractions tells
which. With some bounds the reference is a linear program with nothing in place of the others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import problem_of
from tablecloak.comparison import hidden_intervals
from tablecloak.suppression.attack.finding import Verdict

FREE = (-np.inf, np.inf)


def tonnes(**options) -> tc.ProtectionProblem:
    """1000 tonnes are 1 kilotonne: a level of 1 of a moves b by 1000."""
    return problem_of("ab", [0, 0], [[1000, -1]], {"a": (1, 1)}, bounds=FREE, **options)


def chain(length: int) -> tc.ProtectionProblem:
    """Each cell is a thousand times the one before."""
    rows = np.zeros((length, length + 1))
    for row in range(length):
        rows[row, row : row + 2] = 1000, -1
    codes = "abcdef"[: length + 1]
    return problem_of(codes, np.zeros(length + 1), rows, {"a": (1, 1)}, bounds=FREE)


def is_determined(problem: tc.ProtectionProblem, hidden: np.ndarray, cell: int) -> bool:
    """Whether a unit vector is a combination of the relations over hidden cells, in fractions."""
    cells = np.flatnonzero(hidden)
    rows = [
        [Fraction(str(float(one))) for one in row]
        for row in problem.table.relations.toarray()[:, cells]
    ]
    left = [Fraction(int(one == cell)) for one in cells]
    for column in range(len(cells)):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [row for row in rows if row is not pivot]
        for row in [*rows, left]:
            share = row[column] / pivot[column]
            row[:] = [one - share * other for one, other in zip(row, pivot, strict=True)]
    return not any(left)


def reach(problem: tc.ProtectionProblem, hidden: np.ndarray, cell: int, sign: int) -> float:
    """How far a cell can move, by a linear program over all cells."""
    values = problem.table.values
    low = np.where(hidden, problem.lower_bound - values, 0.0)
    high = np.where(hidden, problem.upper_bound - values, 0.0)
    cost = np.zeros(len(values))
    cost[cell] = -sign
    relations = problem.table.relations.toarray()
    found = linprog(
        cost, A_eq=relations, b_eq=np.zeros(len(relations)), bounds=np.column_stack([low, high])
    )
    return np.inf if found.status == 3 else -float(found.fun)


def random_case(random: np.random.Generator, bounds: tuple[float, float]) -> tc.ProtectionProblem:
    """Three to five cells in one to three relations, with coefficients of all sizes."""
    n, m = int(random.integers(3, 6)), int(random.integers(1, 4))
    rows = random.choice([-1, 1], (m, n)) * 10.0 ** random.integers(-4, 5, (m, n))
    rows[random.random((m, n)) < 0.4] = 0.0
    levels = {"a": (1.0, 1.0)} | ({"b": (2.0, 2.0)} if random.random() < 0.4 else {})
    frozen = ["c"] if random.random() < 0.3 else []
    return problem_of("abcdefg"[:n], np.zeros(n), rows, levels, frozen=frozen, bounds=bounds)


def free_cases(count: int) -> Iterator[tuple[int, tc.ProtectionProblem]]:
    random = np.random.default_rng(11)
    for number in range(count):
        yield number, random_case(random, FREE)


@pytest.mark.parametrize("problem", [tonnes(), chain(2), chain(3)])
def test_a_cell_that_moves_others_a_thousand_times_as_far_is_protected(problem):
    found = tc.suppress(problem, threads=1)
    assert found.suppressed.all()
    assert found.bound <= found.loss
    audit = tc.audit(problem, found.suppressed, detail="intervals", threads=1)
    assert audit.is_safe
    assert audit.limit_above.tolist() == audit.limit_below.tolist() == [np.inf]
    assert audit.above.tolist() == audit.below.tolist() == [np.inf]
    lower, upper = hidden_intervals(found)
    assert np.all(np.isinf(lower) & np.isinf(upper))


@pytest.mark.parametrize("problem", [tonnes(), chain(2)])
def test_intervals_may_be_a_thousand_times_as_wide_as_a_level(problem):
    found = tc.publish_intervals(problem, blur=0, weights="unit")
    width = 2 * sum(1000.0**place for place in range(problem.table.n_cells))
    assert found.loss == pytest.approx(width, rel=1e-6)
    assert found.bound == pytest.approx(width, rel=1e-3)


def test_the_fewest_cells_to_unfreeze_are_found_far_away():
    frozen = tonnes(frozen=["b"])
    assert tc.fewest_to_unfreeze(frozen).labels == frozen.table.labels([1])


def test_an_explanation_says_that_a_cell_lies_anywhere():
    problem = tonnes()
    told = tc.explain(problem, tc.suppress(problem, threads=1), 0)
    assert told.external.ends == (-np.inf, np.inf)


def test_what_insiders_cannot_rule_out_far_away_is_protected():
    """Whoever knows b still does not know how a and c share what is left."""
    problem = problem_of("abc", [0, 0, 0], [[1000, -1, -1]], {"a": (1, 1)}, bounds=FREE)
    found = tc.suppress(problem, protect_against="any-cell", threads=1)
    assert found.suppressed.all()


def test_a_cell_is_called_impossible_only_if_relations_determine_it():
    seen = Counter()
    for number, problem in free_cases(23):
        every, cells = ~problem.frozen, np.flatnonzero(problem.sensitive)
        fixed = any(is_determined(problem, every, int(cell)) for cell in cells)
        try:
            tc.suppress(problem, method="sequential", threads=1)
        except tc.ModelError:
            assert fixed, number
            seen["impossible"] += 1
        except tc.SolverError as error:
            assert "not settled" in str(error)
            seen["not settled"] += 1
        else:
            assert not fixed, number
            seen["protected"] += 1
    assert min(seen["impossible"], seen["protected"]) >= 6
    # Some witnesses move one cell 1e8 times as far as another one, which no decimals express.
    assert seen["not settled"] <= 4


def test_an_audit_without_bounds_agrees_with_elimination():
    random, seen = np.random.default_rng(3), Counter()
    for number, problem in free_cases(60):
        hidden = (random.random(problem.table.n_cells) < 0.8) & ~problem.frozen
        hidden |= problem.sensitive
        audit = tc.audit(problem, hidden, detail="intervals", threads=1)
        for row, cell in enumerate(audit.needs.cells.tolist()):
            fixed = is_determined(problem, hidden, cell)
            wrong = Verdict.PROTECTED if fixed else Verdict.ATTACKABLE
            assert audit.verdicts[row] is not wrong, (number, cell)
            ends = np.array([audit.limit_above[row], audit.limit_below[row]])
            assert np.all(ends < 1e-9) if fixed else np.all(np.isinf(ends)), (number, cell)
            seen[audit.verdicts[row].value] += 1
    assert min(seen["attackable"], seen["protected"]) >= 20
    assert seen["undecided"] <= 8


def test_limits_of_an_audit_are_those_of_a_program_without_further_bounds():
    random, seen = np.random.default_rng(8), {True: 0, False: 0}
    for number in range(60):
        problem = random_case(random, [(-5.0, np.inf), (-np.inf, 50.0), (-1e3, np.inf)][number % 3])
        hidden = ~problem.frozen
        audit = tc.audit(problem, hidden, detail="intervals", threads=1)
        needs = audit.needs
        for row, cell in enumerate(needs.cells.tolist()):
            above, below = (reach(problem, hidden, cell, sign) for sign in (1, -1))
            assert audit.limit_above[row] >= above * (1 - 1e-6), (number, cell)
            assert audit.limit_below[row] >= below * (1 - 1e-6), (number, cell)
            protected = above >= needs.upper[row] and below >= needs.lower[row]
            if protected:
                assert audit.verdicts[row] is not Verdict.ATTACKABLE, (number, cell)
            else:
                assert audit.verdicts[row] is not Verdict.PROTECTED, (number, cell)
            is_told = audit.verdicts[row] is not Verdict.UNDECIDED
            seen[protected] += is_told
    assert min(seen.values()) >= 30


def test_a_cell_without_relations_reaches_its_bounds_however_far_they_are():
    """Without relations there are no multipliers, and the cap on moves is no limit of the cell."""
    problem = problem_of("ab", [0, 0], [[0, 0]], {"a": (1e-3, 1e-3)}, bounds=(-1e9, 1e9))
    audit = tc.audit(problem, [True, True], detail="intervals")
    assert audit.limit_above == pytest.approx([1e9])
    assert audit.above == pytest.approx([1e9])


def test_no_pattern_loses_less_than_a_bound():
    optimal = 0
    for number, problem in free_cases(40):
        cells = np.flatnonzero(problem.sensitive).tolist()
        free = np.flatnonzero(~problem.frozen & ~problem.sensitive)
        losses = [np.inf]
        for chosen in itertools.product([False, True], repeat=len(free)):
            hidden = problem.sensitive.copy()
            hidden[free[np.array(chosen, dtype=bool)]] = True
            if not any(is_determined(problem, hidden, cell) for cell in cells):
                losses.append(float(problem.weights[hidden].sum()))
        if not np.isfinite(min(losses)):
            continue
        try:
            found = tc.suppress(problem, method="exact", threads=1)
        except tc.SolverError:
            continue
        assert found.bound <= min(losses) <= found.loss, number
        optimal += found.is_optimal
    assert optimal >= 5


def test_frozen_cells_are_called_needed_only_if_they_are():
    seen = Counter()
    for number, problem in free_cases(40):
        every = np.ones(problem.table.n_cells, dtype=bool)
        cells = np.flatnonzero(problem.sensitive).tolist()
        fixed = any(is_determined(problem, every, cell) for cell in cells)
        needed = any(is_determined(problem, ~problem.frozen, cell) for cell in cells)
        try:
            found = tc.fewest_to_unfreeze(problem, threads=1)
        except tc.ModelError:
            assert fixed, number
            seen["impossible"] += 1
        except tc.SolverError:
            seen["not settled"] += 1
        else:
            assert found.fewest <= needed <= len(found.cells), number
            seen[f"fewest {found.fewest}"] += 1
    assert min(seen["impossible"], seen["fewest 0"]) >= 10
    assert seen["fewest 1"] >= 1
    assert seen["not settled"] <= 6
