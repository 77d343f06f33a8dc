"""What every change of a problem promises, on random tables, against programs of scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from confirmed import ends_of, exposed
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from tablecloak.tables.changes.change import Change, changed
from tablecloak.tables.changes.merged_cells import MergedCells

SEEDS = range(6)

CHANGES: dict[str, Callable[[int], Change]] = {
    "nothing": lambda seed: changed(random_problem(seed, kind="uneven"), (), Budget.of()),
    "merged cells": lambda seed: MergedCells.of(random_problem(seed, kind="coupled")),
}
"""For each change a function that makes it of a random problem."""


@pytest.fixture(params=[(name, seed) for name in CHANGES for seed in SEEDS], ids=str)
def change(request) -> Change:
    name, seed = request.param
    return CHANGES[name](seed)


def room(problem: tc.ProtectionProblem) -> tuple[np.ndarray, np.ndarray]:
    """How far each cell may move if all that may be hidden is hidden."""
    free, values = ~problem.frozen, problem.table.values
    low = np.where(free, problem.lower_bound - values, 0.0)
    return low, np.where(free, problem.upper_bound - values, 0.0)


def furthest(problem: tc.ProtectionProblem, cost: np.ndarray):
    """The move of least cost, by a program of scipy."""
    bounds = np.column_stack(room(problem))
    table = problem.table
    solved = linprog(cost, A_eq=table.relations, b_eq=np.zeros(table.n_relations), bounds=bounds)
    assert solved.status == 0
    return solved


def counterparts(change: Change) -> list[tuple[int, int]]:
    """Sensitive given cells, each with the changed cell that it moves with in the same sense."""
    entries = change.cells.tocoo()
    rows = zip(*entries.coords, entries.data, strict=True)
    sensitive = change.given.sensitive
    return [(int(cell), int(other)) for cell, other, sign in rows if sign == 1 and sensitive[cell]]


def test_a_witness_comes_back_as_one_of_the_given_problem(change):
    given, random = change.given, np.random.default_rng(1)
    tolerance = 1e-7 * (1 + np.abs(given.table.values).max())
    for _ in range(3):
        moves = furthest(change.problem, random.normal(size=change.problem.table.n_cells)).x
        back = change.deviation(moves)
        low, high = room(given)
        assert np.abs(given.table.relations @ back).max(initial=0) <= tolerance
        assert np.all((low - tolerance <= back) & (back <= high + tolerance))
        many = change.deviations(np.atleast_2d(moves)).toarray()
        assert np.allclose(many, back)


def test_each_sensitive_cell_moves_as_far_as_before_or_less_far_where_more_is_known(change):
    for cell, other in counterparts(change):
        for sign in (1, -1):
            ends = [
                abs(furthest(problem, -sign * np.eye(1, problem.table.n_cells, place)[0]).fun)
                for problem, place in ((change.given, cell), (change.problem, other))
            ]
            before, after = ends[0], change.unit * ends[1]
            slack = 1e-6 * (1 + before)
            assert after <= before + slack
            assert change.relations is None or before <= after + slack


def test_multipliers_come_back_as_ones_that_prove_no_wider_a_limit(change):
    if change.relations is None:
        with pytest.raises(ValueError, match="says more"):
            change.multipliers(np.zeros(change.problem.table.n_relations))
        return
    low, high = room(change.problem)
    for cell, other in counterparts(change):
        cost = np.eye(1, change.problem.table.n_cells, other)[0]
        solved = furthest(change.problem, -cost)
        multipliers = change.multipliers(-solved.eqlin.marginals)
        left = -change.given.table.relations.T @ multipliers
        left[cell] += 1
        left = change.cells.T @ left
        limit = np.maximum(left, 0) @ high - np.maximum(-left, 0) @ low
        assert limit <= -solved.fun + 1e-6 * (1 + abs(solved.fun))


def test_hidden_cells_come_back_as_ones_that_protect(change, tmp_path):
    try:
        pattern = tc.suppress(change.problem, method="sequential", time_limit=5)
    except tc.ModelError as error:
        # What cannot be protected there is named by cells that are here.
        assert len(change.refusal(error).cells)
        return
    hidden = change.flags(pattern.suppressed)
    given = change.given
    assert np.all(hidden[given.sensitive | given.forced])
    assert not exposed(given, *ends_of(given, hidden))
    audit = tc.audit(given, hidden)
    assert audit.is_safe
    write_certificate(audit.certificate(), tmp_path / "proof.npz")
    tc.write_jj(given, tmp_path / "given.jj")
    assert verifier.main([str(tmp_path / "proof.npz"), str(tmp_path / "given.jj")]) == 0


def test_values_of_a_release_come_back_in_the_unit_of_the_given_table(change):
    table = change.problem.table
    assert np.allclose(change.values(table.values), change.given.table.values)
    moves = furthest(change.problem, np.arange(table.n_cells, dtype=float)).x
    back = change.values(table.values + moves)
    assert np.allclose(back - change.given.table.values, change.deviation(moves))


def test_changes_one_after_the_other_are_one_change(change):
    again = change.then(MergedCells.of(change.problem))
    moves = np.random.default_rng(2).normal(size=again.problem.table.n_cells)
    two = change.deviation(MergedCells.of(change.problem).deviation(moves))
    assert np.allclose(again.deviation(moves), two)
    assert again.given is change.given
    assert (again.relations is None) == (change.relations is None)
