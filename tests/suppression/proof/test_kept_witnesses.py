"""Witnesses that are kept for who can rule out those in use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import attacked
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System


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
    spare.learn_from(pool)
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
    audit = attacked(Question.of(problem, "two-sided", "contributors"), hidden, Budget.of())
    assert audit.is_safe
    proof = audit.certificate()
    proof.verify()
    claimed = sum(
        len(np.unique(np.concatenate([claim.upper_witness, claim.lower_witness])))
        for claim in proof.insiders
    )
    rows = proof.deviations.toarray()
    assert claimed > len(rows)
    assert len(np.unique(rows, axis=0)) == len(rows)
