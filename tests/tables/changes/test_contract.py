"""What every change of a problem promises, on random tables, against programs of scipy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import tablecloak as tc
from confirmed import ends_of, exposed
from random_tables import random_problem
from tablecloak.budget import Budget
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from tablecloak.cta.model.precision import LastDigits
from tablecloak.suppression.attack.before import BesidePublished
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.search.unfreezing import Unfreezing
from tablecloak.suppression.search.weighing import Weighing
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.changes.change import Change, changed
from tablecloak.tables.changes.derived_figures import derived_cells
from tablecloak.tables.changes.earlier_releases import EarlierRelease, Published
from tablecloak.tables.changes.merged_cells import MergedCells
from tablecloak.tables.changes.rests import find_rests, with_rests
from tablecloak.tables.changes.sums import SumsAsCells, SumsOfCells

SEEDS = range(3)


def sums_of(seed: int) -> Change:
    """The first two cells of each of three relations, as sums that must be able to move."""
    problem = random_problem(seed)
    rows = problem.table.relations[:3, :].tolil()
    for row in rows.rows:
        del row[2:]
    cells = csr_array((np.ones(6), np.concatenate(rows.rows), [0, 2, 4, 6]), shape=rows.shape)
    level = np.array([1.0, 2.0, 3.0])
    return SumsAsCells.of(problem, SumsOfCells(cells, level, level, np.full(3, "rule")))


def rests_of(seed: int) -> Change:
    problem = random_problem(seed)
    change = with_rests(problem, {"rule": find_rests(problem.table, 200)})
    assert change.is_needed
    return change


def earlier_of(seed: int) -> EarlierRelease:
    """A release of the same table that showed one cell in six."""
    problem = random_problem(seed)
    shown = (np.arange(problem.table.n_cells) % 6 == 0) & ~problem.sensitive
    values = problem.table.values
    return EarlierRelease(
        problem,
        np.where(shown, values, problem.lower_bound),
        np.where(shown, values, problem.upper_bound),
    )


def frozen(seed: int) -> tc.ProtectionProblem:
    """All cells but the sensitive ones and one in three are frozen."""
    problem = random_problem(seed)
    may_go = problem.sensitive | (np.arange(problem.table.n_cells) % 3 == 0)
    return problem.with_changes(status=np.where(may_go, problem.status, "z"))


def with_a_decimal(seed: int) -> tc.ProtectionProblem:
    """Values and levels with a decimal, bounds between two multiples of it."""
    problem = random_problem(seed)
    table = replace(problem.table, values=problem.table.values / 10, integer=False, decimals=1)
    return problem.with_changes(
        table=table,
        lower_protection=np.where(problem.sensitive, problem.lower_protection / 10 - 0.04, 0.0),
        upper_protection=np.where(problem.sensitive, problem.upper_protection / 10 - 0.06, 0.0),
        upper_bound=problem.upper_bound / 10 + 0.07,
    )


def unbounded(seed: int) -> tc.ProtectionProblem:
    problem = random_problem(seed)
    return problem.with_changes(upper_bound=np.inf, lower_bound=-np.inf)


CHANGES: dict[str, Callable[[int], Change]] = {
    "nothing": lambda seed: changed(random_problem(seed, kind="uneven"), (), Budget.of()),
    "merged cells": lambda seed: MergedCells.of(random_problem(seed, kind="coupled")),
    "sums of cells": sums_of,
    "rests": rests_of,
    "earlier releases": lambda seed: Published([earlier_of(seed)]).beside(random_problem(seed)),
    "earlier releases, and what they disclose": lambda seed: BesidePublished(
        Published([earlier_of(seed)]), Requirement.TWO_SIDED
    ).change(random_problem(seed), Budget.of(5.0)),
    "kept earlier releases": lambda seed: Published([earlier_of(seed)]).kept_beside(
        random_problem(seed)
    ),
    "unfrozen cells": lambda seed: Unfreezing(Requirement.TWO_SIDED).change(
        frozen(seed), Budget.of(20.0)
    ),
    "finite bounds": lambda seed: with_finite_bounds(
        unbounded(seed), Requirement.TWO_SIDED, Budget.of()
    ),
    "last digits": lambda seed: LastDigits.of(with_a_decimal(seed), 1),
    "derived figures": lambda seed: derived_cells(
        random_problem(seed), [tc.Share("v", of="d1", decimals=0, where={"d0": ["00", "01"]})]
    ),
    "weights": lambda seed: Weighing("value").change(random_problem(seed)),
    "several": lambda seed: changed(
        random_problem(seed),
        [Weighing("value"), BesidePublished(Published([earlier_of(seed)]), Requirement.TWO_SIDED)],
        Budget.of(5.0),
    ),
}
"""For each change a function that makes it of a random problem."""


@cache
def change_of(name: str, seed: int) -> Change:
    return CHANGES[name](seed)


@pytest.fixture(params=CHANGES)
def changes(request) -> list[Change]:
    """The same change of several problems."""
    return [change_of(request.param, seed) for seed in SEEDS]


def room(problem: tc.ProtectionProblem) -> tuple[np.ndarray, np.ndarray]:
    """How far each cell may move if all that may be hidden is hidden."""
    free, values = ~problem.frozen, problem.table.values
    low = np.where(free, problem.lower_bound - values, 0.0)
    return low, np.where(free, problem.upper_bound - values, 0.0)


def lifted(change: Change) -> tc.ProtectionProblem:
    """The given problem, in which a cell that the change unfreezes is not frozen."""
    given = change.given
    is_free = given.frozen & change.flags(~change.problem.frozen)
    return given.with_changes(status=np.where(is_free, "s", given.status))


def furthest(problem: tc.ProtectionProblem, cost: np.ndarray):
    """The move of least cost, by a program of scipy."""
    bounds = np.column_stack(room(problem))
    table = problem.table
    solved = linprog(cost, A_eq=table.relations, b_eq=np.zeros(table.n_relations), bounds=bounds)
    assert solved.status in (0, 3)
    return solved


def end(problem: tc.ProtectionProblem, cell: int, sign: int) -> float:
    """How far a cell can move upwards (1) or downwards (-1)."""
    solved = furthest(problem, -sign * np.eye(1, problem.table.n_cells, cell)[0])
    return np.inf if solved.status == 3 else -solved.fun


def counterparts(change: Change) -> list[tuple[int, int]]:
    """Sensitive given cells, each with the changed cell that it moves with in the same sense."""
    entries = change.cells.tocoo()
    rows = zip(*entries.coords, entries.data, strict=True)
    sensitive = change.given.sensitive
    return [(int(cell), int(other)) for cell, other, sign in rows if sign == 1 and sensitive[cell]]


def test_a_witness_comes_back_as_one_of_the_given_problem(changes):
    for change in changes:
        given, random = lifted(change), np.random.default_rng(1)
        tolerance = 1e-7 * (1 + np.abs(given.table.values).max())
        for _ in range(3):
            solved = furthest(change.problem, random.normal(size=change.problem.table.n_cells))
            moves = solved.x
            back = change.deviation(moves)
            low, high = room(given)
            assert np.abs(given.table.relations @ back).max(initial=0) <= tolerance
            assert np.all((low - tolerance <= back) & (back <= high + tolerance))
            many = change.deviations(np.atleast_2d(moves)).toarray()
            assert np.allclose(many, back)


def test_each_sensitive_cell_moves_as_far_as_before_or_less_far_where_more_is_known(changes):
    for change in changes:
        for cell, other in counterparts(change):
            for sign in (1, -1):
                before = end(lifted(change), cell, sign)
                after = change.unit * end(change.problem, other, sign)
                slack = 1e-6 * (1 + after)
                assert after <= before + slack
                assert change.relations is None or before <= after + slack


def limit_of(change: Change, cell: int, multipliers: np.ndarray) -> float:
    """How far a given cell can move at most, by multipliers of given relations."""
    low, high = room(change.problem)
    left = -change.given.table.relations.T @ multipliers
    left[cell] += 1
    left = change.cells.T @ left
    return np.maximum(left, 0) @ high - np.maximum(-left, 0) @ low


def test_multipliers_come_back_as_ones_that_prove_no_wider_a_limit_or_are_refused(changes):
    for change in changes:
        for cell, other in counterparts(change):
            solved = furthest(change.problem, -np.eye(1, change.problem.table.n_cells, other)[0])
            multipliers, limit = -solved.eqlin.marginals, -solved.fun
            if change.relations is None:
                with pytest.raises(ValueError, match="says more"):
                    change.multipliers(multipliers)
            else:
                back = limit_of(change, cell, change.multipliers(multipliers))
                assert back <= limit + 1e-6 * (1 + limit)


def assert_protected(given: tc.ProtectionProblem, hidden: np.ndarray, folder: Path) -> None:
    """By two programs for each cell, by an audit, and by the verifier of its certificate."""
    assert np.all(hidden[given.sensitive | given.forced])
    assert not exposed(given, *ends_of(given, hidden))
    audit = tc.audit(given, hidden)
    assert audit.is_safe
    write_certificate(audit.certificate(), folder / "proof.npz")
    tc.write_jj(given, folder / "given.jj")
    assert verifier.main([str(folder / "proof.npz"), str(folder / "given.jj")]) == 0


@pytest.mark.parametrize("name", CHANGES)
def test_hidden_cells_come_back_as_ones_that_protect(name, tmp_path):
    n_protected = 0
    for seed in SEEDS[:2]:
        change = change_of(name, seed)
        try:
            pattern = tc.suppress(change.problem, method="sequential", time_limit=0.5)
        except tc.ModelError as error:
            # What cannot be protected there is named by cells that are here.
            assert len(change.refusal(error).cells)
            continue
        before = change.remarks.get("before")
        assert before is None or not before.disclosed
        assert_protected(lifted(change), change.flags(pattern.suppressed), tmp_path)
        n_protected += 1
    assert n_protected >= 1


def test_values_of_a_release_come_back_in_the_unit_of_the_given_table(changes):
    for change in changes:
        table = change.problem.table
        assert np.allclose(change.values(table.values), change.given.table.values)
        moves = furthest(change.problem, np.arange(table.n_cells, dtype=float)).x
        back = change.values(table.values + moves)
        assert np.allclose(back - change.given.table.values, change.deviation(moves))


def test_changes_one_after_the_other_are_one_change(changes):
    for change in changes:
        again = change.then(MergedCells.of(change.problem))
        moves = np.random.default_rng(2).normal(size=again.problem.table.n_cells)
        two = change.deviation(MergedCells.of(change.problem).deviation(moves))
        assert np.allclose(again.deviation(moves), two)
        assert again.given is change.given
        assert (again.relations is None) == (change.relations is None)
