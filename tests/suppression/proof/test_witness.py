"""Deviations of many cells made exact by one elimination."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.solve.exact import products_vanish
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import attacked
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.witness import FEWEST_SPANNED, Exactness, WitnessPool
from tablecloak.suppression.system.needs import Needs, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System


def grid_system(n: int, room: float) -> System:
    """All inner cells and margins of an n x n table hidden, but for the grand total."""
    inner = np.arange(n * n).reshape(n, n)
    rows, columns = n * n + np.arange(n), n * n + n + np.arange(n)
    matrix = np.zeros((2 * n + 2, n * n + 2 * n))
    for k in range(n):
        matrix[k, inner[k]], matrix[k, rows[k]] = 1.0, -1.0
        matrix[n + k, inner[:, k]], matrix[n + k, columns[k]] = 1.0, -1.0
    matrix[2 * n, rows] = matrix[2 * n + 1, columns] = 1.0
    n_cells = matrix.shape[1]
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    return System(
        cells=np.arange(n_cells),
        matrix=csr_array(matrix),
        rows=np.arange(len(matrix)),
        low=np.full(n_cells, -room),
        high=np.full(n_cells, room),
        needs=Needs(none, nothing, nothing, nothing, none),
        unit=1.0,
        integer=False,
        factor=np.ones(len(matrix)),
        slack=np.zeros(n_cells),
        forced=np.zeros(n_cells, dtype=bool),
    )


def solved(system: System, noise: float, seed: int) -> np.ndarray:
    """A deviation as a solver returns it: relations hold up to a noise."""
    dense = system.matrix.toarray()
    random = np.random.default_rng(seed)
    d = random.standard_normal(system.n_unknown)
    d -= np.linalg.pinv(dense) @ (dense @ d)
    return d + noise * random.standard_normal(len(d))


@pytest.mark.parametrize("seed", range(2))
def test_a_deviation_of_many_cells_is_made_exact_without_an_elimination_of_its_own(seed):
    system = grid_system(16, 10.0)
    d = solved(system, 1e-9, seed)
    cells = np.arange(len(d))
    assert len(cells) >= FEWEST_SPANNED
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    found = next(exactness.near(cells, d, Budget.of()))
    assert np.all(products_vanish(system.matrix, csr_array(found[None, :])))
    np.testing.assert_allclose(found, d, atol=1e-7)
    assert not system.null_spaces


def test_cells_that_rounding_moves_beyond_their_bounds_are_pulled_back_into_them():
    system = grid_system(16, 10.0)
    d = solved(system, 1e-9, 0)
    system = system.with_room(np.minimum(d, 0.0), np.maximum(d, 0.0))
    cells = np.arange(len(d))
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    found = list(exactness.near(cells, d, Budget.of()))
    assert exactness.beyond(cells, found[0]) > 0
    assert exactness.beyond(cells, found[-1]) == 0
    assert np.all(products_vanish(system.matrix, csr_array(found[-1][None, :])))


def test_one_elimination_serves_all_deviations_of_the_same_cells():
    system = grid_system(16, 10.0)
    exactness = Exactness(system, system.needs, False, is_thorough=False)
    for seed in range(3):
        d = solved(system, 1e-9, seed)
        assert list(exactness.near(np.arange(len(d)), d, Budget.of()))
    assert len(system.spans) == 1


@pytest.fixture(scope="module")
def system() -> System:
    """All cells of a table of which nothing is published."""
    problem = tc.examples.cox_rounded()
    hidden = np.ones(problem.table.n_cells, dtype=bool)
    return System.of(problem, needs_of(problem, Requirement.TWO_SIDED), hidden)


@pytest.fixture(scope="module")
def proved(system: System) -> WitnessPool:
    pool = WitnessPool(system)
    prove(Attack(system), pool, Budget.of())
    assert not np.any(pool.open)
    return pool


def test_witnesses_of_another_pool_prove_nothing_before_they_are_asked(system, proved):
    pool = WitnessPool(system)
    pool.learn(proved.rows.values())
    assert np.all(pool.open)
    pool.use_all()
    assert not np.any(pool.open)
    assert np.all(pool.above >= proved.needs.upper * (1 - 1e-9))


def test_witness_beyond_the_bounds_is_not_kept(system, proved):
    pool = WitnessPool(system)
    rows = list(proved.rows.values())
    pool.learn([(cells, 1e9 * moves) for cells, moves in rows])
    assert not pool.rows
    pool.learn([(rows[0][0], 1e9 * rows[0][1]), *rows])
    assert len(pool.rows) == len(rows)


def test_witness_that_an_intruder_can_rule_out_gives_way_to_one_kept(system, proved):
    others = np.setdiff1d(np.arange(system.n_unknown), system.needs.cells)
    known = next(
        position
        for position in others.tolist()
        if any(position in cells for cells, _ in proved.rows.values())
    )
    low, high = system.low.copy(), system.high.copy()
    low[known] = high[known] = 0.0
    narrow = system.with_room(low, high)
    pool, changed = proved.against(narrow)
    assert np.any(changed)
    prove_anew = Attack(system)
    prove_anew.know(narrow)
    prove(prove_anew, pool, Budget.of())
    assert not np.any(pool.open)
    spare = WitnessPool(system)
    spare.learn(proved.rows.values())
    spare.use_all()
    used = spare.upper_witness.copy()
    spare.keep_used(pool)
    assert np.array_equal(spare.upper_witness, used)
    again, _ = spare.against(narrow)
    assert not np.any(again.open)


def test_audit_of_the_same_pattern_asks_no_program_of_what_was_proved():
    problem = tc.examples.cox_rounded()
    hidden, question = tc.suppress(problem).suppressed, Question.of(problem, "two-sided", ())
    first = attacked(question, hidden, Budget.of())
    assert first.is_safe
    assert first.programs
    at_hand = [row for part in first.parts for row in part.pool.witnesses()]
    again = attacked(question, hidden, Budget.of(), witnesses=at_hand)
    assert again.is_safe
    assert not again.programs
    # A witness of cells that are published now is of no use.
    fewer = hidden.copy()
    fewer[np.flatnonzero(hidden & ~problem.sensitive)[0]] = False
    smaller = attacked(question, fewer, Budget.of(), witnesses=at_hand)
    assert not smaller.is_safe


def test_witness_of_several_components_is_shared_out_among_them():
    """Published totals of two groups keep these apart; each has more cells than one bundle."""
    random = np.random.default_rng(4)
    keys = [(f"{g}{r:02d}", f"b{b:02d}") for g in "PQ" for r in range(18) for b in range(20)]
    frame = pd.DataFrame(keys, columns=["r", "b"])
    frame = frame.loc[frame.index.repeat(3)].reset_index(drop=True)
    frame = frame.assign(g=frame["r"].str[0], v=random.integers(10, 90, len(frame)).astype(float))
    problem = tc.tabulate(frame, {"r": ["g", "r"], "b": None}, "v").protect(tc.PPercent(20))
    hidden = problem.sensitive | ~problem.table.keys.isin(["Total", "P", "Q"]).any(axis=1)
    question = Question.of(problem, "two-sided", ())
    first = attacked(question, np.asarray(hidden), Budget.of())
    assert first.is_safe
    assert len(first.parts) > 1
    proof = first.certificate()
    rows = [proof.deviations[[number], :] for number in range(proof.deviations.shape[0])]
    witnesses = [(row.indices.astype(np.int64), row.data) for row in rows]
    owner = {c: place for place, part in enumerate(first.parts) for c in part.system.cells.tolist()}
    assert any(len({owner[cell] for cell in cells.tolist()}) > 1 for cells, _ in witnesses)
    again = attacked(question, np.asarray(hidden), Budget.of(), witnesses=witnesses)
    assert again.is_safe
    assert not again.programs


def test_certificate_holds_once_what_several_insiders_need():
    records = pd.DataFrame(
        [
            {"r": r, "b": b, "firm": f"{r}{b}{number}", "v": value}
            for r in "ABCD"
            for b in "wxyz"
            for number, value in enumerate((40.0, 25.0))
        ]
    )
    table = tc.tabulate(records, ["r", "b"], "v", contributor="firm")
    problem = table.protect(tc.MinimumFrequency(3, range=20))
    hidden = ~np.isin(np.arange(table.n_cells), np.flatnonzero(table.keys.eq("Total").any(axis=1)))
    audit = attacked(Question.of(problem, "two-sided", "pairs"), hidden, Budget.of())
    assert audit.is_safe
    proof = audit.certificate()
    proof.verify()
    claimed = sum(
        len(np.unique(np.concatenate([claim.upper_witness, claim.lower_witness])))
        for claim in [proof, *proof.insiders]
    )
    rows = proof.deviations.toarray()
    assert claimed > len(rows)
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_the_last_digits_of_a_small_need_are_proved_beside_a_large_one_of_the_same_cell():
    # 0.004 may fall to 0 and must be able to rise to 10.004: what is missing below is less than a
    # billionth of 10, and ten times what the verifier overlooks of 0.004.
    values = np.array([0.004, 50.0, 50.004])
    table = tc.Table(
        pd.DataFrame({"cell": ["small", "large", "total"]}),
        values,
        csr_array([[1.0, 1.0, -1.0]]),
        np.zeros(1),
    )
    problem = tc.ProtectionProblem(
        table,
        status=np.array(["u", "s", "s"]),
        lower_protection=np.array([0.004, 0, 0]),
        upper_protection=np.array([10.0, 0, 0]),
        lower_bound=np.zeros(3),
        upper_bound=np.full(3, 100.0),
    )
    needs = needs_of(problem, Requirement.TWO_SIDED)
    pool = WitnessPool(System.of(problem, needs, np.array([True, True, False])))
    for distance in (10.0, -0.004 * (1 - 1e-8), -0.004):
        pool.add_exact(np.array([0, 1]), np.array([distance, -distance]))
    assert not np.any(pool.open)
