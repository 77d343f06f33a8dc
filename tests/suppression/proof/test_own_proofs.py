"""What witnesses prove to insiders, against the definition and against attacks by programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.suppression.attack.audit import attacked
from tablecloak.suppression.attack.part import Members, Part
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof import refuted
from tablecloak.suppression.proof.own_proofs import OwnProofs
from tablecloak.suppression.proof.refuted import KnownCells
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.search import insiders


def firms(seed: int) -> tc.ProtectionProblem:
    """A table of firms, some alone in a cell."""
    random = np.random.default_rng(seed)
    cells = [(r, b) for r in "ABCD" for b in "wxyz" for _ in range(random.integers(1, 5))]
    frame = pd.DataFrame(cells, columns=["r", "b"]).assign(
        firm=random.integers(0, 25, len(cells)), v=np.round(random.lognormal(4, 1, len(cells))) + 1
    )
    table = tc.tabulate(frame, ["r", "b"], "v", contributor="firm", n_largest=9)
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(3))


def proved(seed: int, intruders: Sequence[str] = ()) -> tuple[Part, KnownCells]:
    """A table of firms with a proof against outsiders or insiders."""
    problem = firms(seed)
    hidden = ~problem.frozen & ~problem.table.keys.eq("Total").all(axis=1).to_numpy()
    (part,) = attacked(Question.of(problem, "two-sided", intruders), hidden, Budget.of()).parts
    members = Members(Question.of(problem, "two-sided", "contributors"), hidden)
    return part, members.within(part.system)


def reach(part: Part, insider: tuple[np.ndarray, ...], cell: int) -> tuple[float, float]:
    """How far an insider must let a cell move up and down, by two programs."""
    system = part.system.narrowed(*insider)
    cost, zero = np.eye(system.n_unknown)[cell], np.zeros(system.matrix.shape[0])
    bounds = np.column_stack([system.low, system.high])
    ends = [
        linprog(sign * cost, A_eq=system.matrix.toarray(), b_eq=zero, bounds=bounds).fun
        for sign in (-1, 1)
    ]
    return -ends[0], -ends[1]


@pytest.mark.parametrize("seed", range(2))
def test_pairs_are_those_whose_witnesses_leave_the_bounds_of_the_insider(seed, monkeypatch):
    part, known = proved(seed)
    pool, needs = part.pool, part.pool.needs
    monkeypatch.setattr(refuted, "MOST_ENTRIES", 3)
    if seed % 2:
        pool.prefer(known)
        assert not np.any(pool.open)
    own = OwnProofs.of(pool, known, np.ones(len(needs.cells), dtype=bool), Budget.of())
    pairs = dict(
        zip(zip(own.insider.tolist(), own.need.tolist(), strict=True), own.open, strict=True)
    )
    assert len(pairs) == len(own.insider) > 0
    for number in known.insiders.tolist():
        system = part.system.narrowed(*known.of(number))
        kept, changed = pool.against(system)
        assert set(np.flatnonzero(changed)) == {need for who, need in pairs if who == number}
        for index, cell in enumerate(needs.cells.tolist()):
            is_open = pairs.get((number, index), False)
            assert is_open == kept.is_open(index)
            if not is_open:
                above, below = (
                    np.full(len(needs.cells), far * (1 + 1e-9))
                    for far in reach(part, known.of(number), cell)
                )
                assert system.needs.met(above, below)[index]


def test_witnesses_that_few_insiders_rule_out_leave_fewer_pairs():
    before = after = 0
    for seed in range(2):
        part, known = proved(seed, ["contributors"])
        every = np.ones(len(part.system.needs.cells), dtype=bool)
        pool = WitnessPool(part.system)
        pool.take(part.pool.rows.values())
        before += len(OwnProofs.of(pool, known, every, Budget.of()).need)
        pool.prefer(known)
        assert not np.any(pool.open)
        after += len(OwnProofs.of(pool, known, every, Budget.of()).need)
    assert after < before


def test_nothing_is_told_of_insiders_for_whose_pairs_there_was_no_time(monkeypatch):
    monkeypatch.setattr(refuted, "MOST_ENTRIES", 30)
    part, known = proved(0)
    every = np.ones(len(part.system.needs.cells), dtype=bool)
    whole = OwnProofs.of(part.pool, known, every, Budget.of())
    own = OwnProofs.of(part.pool, known, every, Budget.of(0.0))
    assert len(whole.unjudged) == 0 < len(own.unjudged)
    assert not set(own.unjudged.tolist()) & set(own.insider.tolist())
    pairs = np.bincount(whole.insider)
    assert 0 < pairs[own.insider].max() <= pairs[own.unjudged].min()


def test_certificate_claims_nothing_against_insiders_for_whom_there_was_no_time(monkeypatch):
    def held() -> tuple[int, int]:
        pattern = tc.suppress(firms(0), protect_against="contributors", hold="possible")
        pattern.verify()
        told = pattern.insiders
        said = [text for text in told.statements() if "did not attack in the time given" in text]
        assert len(said) == (told.unjudged > 0)
        claims = [one for one in pattern.certificate.insiders if len(one.knowledge.cells)]
        assert len(claims) == told.intruders["contributors"] - told.unjudged
        return len(claims), told.unjudged

    before, none = held()
    assert none == 0
    monkeypatch.setattr(refuted, "MOST_ENTRIES", 3)
    monkeypatch.setattr(insiders, "JUDGING_SHARE", 0.0)
    after, unjudged = held()
    assert 0 < after < before
    assert unjudged > 0
