"""Proofs hold at every scale: small cells beside large ones, decimals, totals up to 1e15."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from hand_tables import one_row
from hand_tables import problem_of as problem_of_rows
from margins import with_margins
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import read, verify


def small_cross(seed: int) -> tc.ProtectionProblem:
    """6 x 6 cells: one row and one column of values from 5 to 30, the rest near 5e10."""
    random = np.random.default_rng(seed)
    values = np.rint(random.uniform(4e10, 6e10, (6, 6)))
    row, column = random.integers(6, size=2)
    values[row, :], values[:, column] = random.integers(5, 31, 6), random.integers(5, 31, 6)
    return problem_of(values, random, decimals=0)


def spread(seed: int) -> tc.ProtectionProblem:
    """5 x 5 cells of any size from 1e-2 to 1e14, with two decimals where these can be stored."""
    random = np.random.default_rng(seed)
    decimals = 2 * int(random.integers(2))
    top = 12 if decimals else 14
    by_row, by_column = random.uniform(0, top / 2, 5), random.uniform(0, top / 2, 5)
    values = 10.0 ** (by_row[:, None] + by_column[None, :]) * random.uniform(0.1, 1, (5, 5))
    return problem_of(np.maximum(np.round(values, decimals), 1.0), random, decimals)


def problem_of(values: np.ndarray, random: np.random.Generator, decimals: int):
    n_rows, n_columns = values.shape
    frame = pd.DataFrame(
        [(f"r{i}", f"c{j}", values[i, j]) for i in range(n_rows) for j in range(n_columns)],
        columns=["r", "c", "v"],
    )
    table = with_margins(frame, ["r", "c"], "v")
    leaves = np.flatnonzero((table.keys != "Total").all(axis=1))
    small = leaves[np.argsort(table.values[leaves])[: len(leaves) // 3]]
    chosen = np.concatenate(
        [random.choice(small, 3, replace=False), random.choice(leaves, 3, replace=False)]
    )
    sensitive = np.zeros(table.n_cells, dtype=bool)
    sensitive[chosen] = True
    level = np.round(np.maximum(table.values * random.uniform(0.05, 0.3), 0.01), decimals)
    level = np.where(sensitive, np.maximum(level, 10.0**-decimals), 0.0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1e16),
        weights=table.values,
    )


def assert_witnesses_hold_in_fractions(certificate) -> None:
    """Every relation exactly, bounds and levels of each cell by its own figures alone."""
    problem, table = certificate.problem, certificate.problem.table
    deviations = certificate.deviations.toarray()
    relations = table.relations.toarray().astype(int)
    for witness in deviations:
        exact = [Fraction(move) for move in witness.tolist()]
        for relation in relations:
            assert sum(int(relation[i]) * exact[i] for i in np.flatnonzero(relation)) == 0
        assert not np.any(witness[~certificate.suppressed])
        own = [Fraction(4 * np.spacing(value)) for value in table.values.tolist()]
        for cell in np.flatnonzero(witness).tolist():
            moved = Fraction(table.values[cell]) + exact[cell]
            assert moved >= Fraction(problem.lower_bound[cell]) - own[cell]
            assert moved <= Fraction(problem.upper_bound[cell]) + 8
    for index, cell in enumerate(np.flatnonzero(problem.sensitive).tolist()):
        up, down = certificate.upper_witness[index], certificate.lower_witness[index]
        assert deviations[up, cell] >= problem.upper_protection[cell] * (1 - 1e-9)
        assert -deviations[down, cell] >= problem.lower_protection[cell] * (1 - 1e-9)


def lone_cells(problem, hidden: np.ndarray) -> set[int]:
    """Hidden cells that follow from single relations, one after the other."""
    relations, unknown = problem.table.relations.toarray() != 0, hidden.copy()
    lone: set[int] = set()
    while True:
        alone = [np.flatnonzero(row & unknown) for row in relations]
        new = {int(cells[0]) for cells in alone if len(cells) == 1}
        if not new:
            return lone
        lone |= new
        unknown[list(new)] = False


def reach(problem, hidden: np.ndarray, cell: int, sign: int, level: float) -> float:
    """How far a cell moves, in its own level; no other cell by more than 1e4 levels."""
    values = problem.table.values
    low = np.maximum((problem.lower_bound - values) / level, -1e4)[hidden]
    high = np.minimum((problem.upper_bound - values) / level, 1e4)[hidden]
    cost = np.where(np.flatnonzero(hidden) == cell, -float(sign), 0.0)
    matrix = problem.table.relations[:, np.flatnonzero(hidden)].toarray()
    answer = linprog(
        cost, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=list(zip(low, high, strict=True))
    )
    return -answer.fun * level


@pytest.mark.parametrize("method", ["sequential", "exact"])
@pytest.mark.parametrize("seed", range(2))
def test_patterns_of_small_cells_beside_large_ones_hold_exactly(seed, method):
    problem = small_cross(seed)
    pattern = tc.suppress(problem, method=method, time_limit=20)
    assert_witnesses_hold_in_fractions(pattern.certificate)
    assert not lone_cells(problem, pattern.suppressed) & set(np.flatnonzero(problem.sensitive))
    assert tc.audit(problem, pattern).is_safe


@pytest.mark.parametrize("method", ["sequential", "exact"])
@pytest.mark.parametrize("seed", range(3))
def test_patterns_over_twelve_orders_of_magnitude_hold_exactly(seed, method):
    problem = spread(seed)
    pattern = tc.suppress(problem, method=method, time_limit=20)
    assert_witnesses_hold_in_fractions(pattern.certificate)
    assert tc.audit(problem, pattern).is_safe


def test_a_small_cell_alone_in_its_column_is_disclosed_whatever_the_others_are():
    """The level of the other sensitive cell is ten orders of magnitude above."""
    problem = small_cross(0)
    hidden = problem.sensitive.copy()
    small = np.flatnonzero(problem.sensitive & (problem.table.values < 100))
    hidden[np.flatnonzero(problem.table.values > 1e9)] = True
    column = problem.table.keys["c"].iloc[small[0]]
    hidden[np.flatnonzero(problem.table.keys["c"] == column)] = False
    hidden[small[0]] = True
    found = tc.audit(problem, hidden)
    index = int(np.searchsorted(np.flatnonzero(problem.sensitive), small[0]))
    assert found.verdicts[index] is tc.Verdict.ATTACKABLE
    proof = next(proof for proof in found.proofs if proof.cell == small[0])
    assert proof.limit == 0
    gamma = np.zeros(problem.table.n_relations)
    gamma[proof.relations] = proof.multipliers
    reduced = -(problem.table.relations.T @ gamma)
    reduced[proof.cell] += proof.sign
    assert not np.any(reduced[hidden])


@pytest.mark.parametrize("make", [small_cross, spread])
def test_verdicts_at_every_scale_equal_programs_in_the_cells_own_level(make):
    counts = dict.fromkeys(tc.Verdict, 0)
    for seed in range(6):
        problem, random = make(seed), np.random.default_rng(seed)
        hidden = problem.sensitive | (random.random(problem.table.n_cells) < 0.35)
        found = tc.audit(problem, hidden)
        found.certificate().check_witnesses()
        lone = lone_cells(problem, hidden)
        for cell, verdict in zip(
            np.flatnonzero(problem.sensitive).tolist(), found.verdicts, strict=True
        ):
            counts[verdict] += 1
            level = float(problem.upper_protection[cell])
            naive = all(
                reach(problem, hidden, cell, sign, level) >= level * (1 - 1e-6) for sign in (1, -1)
            )
            if cell in lone:
                assert verdict is tc.Verdict.ATTACKABLE
            elif naive:
                assert verdict is tc.Verdict.PROTECTED, (seed, cell)
            else:
                assert verdict is not tc.Verdict.PROTECTED, (seed, cell)
    assert counts[tc.Verdict.UNDECIDED] == 0
    assert min(counts[tc.Verdict.PROTECTED], counts[tc.Verdict.ATTACKABLE]) >= 3


def least_loss(problem) -> float:
    """Of all patterns, the cheapest first, the loss of the first that protects."""
    free, cells = np.flatnonzero(~problem.sensitive), np.flatnonzero(problem.sensitive)
    levels = problem.upper_protection
    choices = np.array(list(itertools.product([False, True], repeat=len(free))))
    for chosen in choices[np.argsort(choices @ problem.weights[free], kind="stable")]:
        hidden = problem.sensitive.copy()
        hidden[free] = chosen
        if lone_cells(problem, hidden) & set(cells.tolist()):
            continue
        if all(
            reach(problem, hidden, cell, sign, levels[cell]) >= levels[cell] * (1 - 1e-6)
            for cell, sign in itertools.product(cells.tolist(), (1, -1))
        ):
            return float(problem.weights[hidden].sum())
    return np.inf


@pytest.mark.parametrize("seed", range(2))
def test_optimum_over_many_scales_equals_enumeration(seed):
    random = np.random.default_rng(seed)
    values = 10.0 ** np.array([[0, 0, 9], [0, 1, 9], [9, 9, 10]])
    problem = problem_of(np.rint(values * random.uniform(5, 9, (3, 3))), random, 0)
    best = least_loss(problem)
    pattern = tc.suppress(problem, method="exact", time_limit=30)
    assert pattern.bound <= best * (1 + 1e-9)
    assert pattern.loss == pytest.approx(best, rel=1e-9)


def test_a_level_below_the_precision_of_its_value_is_refused():
    problem = small_cross(1)
    values = problem.table.values * 1e5
    table = tc.Table(
        name="v",
        keys=problem.table.keys,
        values=values,
        relations=problem.table.relations,
        right_hand_side=problem.table.right_hand_side,
        hierarchies=problem.table.hierarchies,
    )
    cell = int(np.argmax(np.where(problem.sensitive, values, 0)))
    level = np.where(problem.sensitive, problem.upper_protection * 1e5, 0.0)
    level[cell] = 1e-3
    tiny = problem.with_changes(lower_protection=level, upper_protection=level)
    tiny = tc.ProtectionProblem(
        table=table,
        **{name: getattr(tiny, name) for name in ("status", "sliding_protection", "weights")},
        lower_protection=level,
        upper_protection=level,
        lower_bound=np.zeros(len(level)),
        upper_bound=np.full(len(level), 1e18),
    )
    with pytest.raises(tc.ModelError, match="below the precision of their values"):
        tc.suppress(tiny)


def test_the_smaller_of_two_levels_is_refused_below_the_precision_of_its_value():
    # The verifier has to prove both levels, and 0.0007 is a few hundred roundings of 6e8.
    levels = {"a": (0.0007, 8e7), "b": (1000, 1000)}
    problem = one_row([600114596.83, 275991326.55], levels, bounds=(-2e9, 2e9))
    with pytest.raises(tc.ModelError, match=r"below the precision of their values.*code=a"):
        tc.suppress(problem)


def test_a_right_hand_side_with_more_digits_than_a_number_holds_is_no_error_of_the_table(tmp_path):
    # The sum of three decimals of a and whole ones of b has 16 digits, and is stored with 15.7.
    problem = problem_of_rows(
        ["a", "b"], [1507151.25, 1.2e10], [[0.001, 3.0]], {"b": (1e9, 1e9)},
        bounds=(-1e14, 1e14), sides=[36000001507.15125],
    )  # fmt: skip
    tc.write_jj(problem, tmp_path / "problem.jj")
    write_certificate(tc.suppress(problem), tmp_path / "proof.npz")
    told = verify(read(tmp_path / "proof.npz"), tmp_path / "problem.jj")
    assert told[0].startswith("PROVED")
