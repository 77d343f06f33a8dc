"""Patterns that hold against insiders as far as possible: what is claimed, left open, and told."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from tablecloak.suppression.attack import part
from tablecloak.suppression.attack.against_insiders import WhyOpen
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import attacked
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.insiders import Defence, _better
from tablecloak.suppression.search.standing import Standing
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement


def firms(seed: int, regions: str = "ABCD", branches: str = "wxyz") -> tc.ProtectionProblem:
    """Two to four firms a cell, some alone."""
    random = np.random.default_rng(seed)
    cells = [(r, b) for r in regions for b in branches for _ in range(random.integers(1, 5))]
    frame = pd.DataFrame(cells, columns=["r", "b"]).assign(
        firm=[f"f{number}" for number in range(len(cells))],
        v=np.round(random.lognormal(4, 1, len(cells))) + 1,
    )
    table = tc.tabulate(frame, ["r", "b"], "v", contributor="firm", n_largest=9)
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(3))


@pytest.fixture(scope="module")
def hopeless() -> tc.ProtectionProblem:
    """Each of two firms knows the other's cell, since their total is published in any case."""
    frame = pd.DataFrame(
        {
            "r": ["A", "B", "C", "C", "D", "D", "D"],
            "firm": ["f1", "f2", "g1", "g2", "h1", "h2", "h3"],
            "group": ["N", "N", "S", "S", "S", "S", "S"],
            "v": [50.0, 60.0, 41.0, 57.0, 70.0, 80.0, 90.0],
        }
    )
    tree = tc.Hierarchy.from_dict({"N": {"A": {}, "B": {}}, "S": {"C": {}, "D": {}}})
    table = tc.tabulate(frame, {"r": tree}, "v", contributor="firm")
    problem = table.protect(tc.MinimumFrequency(3, range=10))
    keys = table.keys["r"]
    status = np.where(keys.eq("N"), "z", problem.status)
    return problem.with_changes(status=status, reasons=problem.reasons)


def open_pairs(pattern: tc.SuppressionPattern) -> set[tuple[str, int]]:
    assert pattern.insiders is not None
    return {(pair.insider, pair.cell) for pair in pattern.insiders.open}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_left_out_is_what_an_audit_finds_open(seed):
    problem = firms(seed)
    pattern = tc.suppress(problem, protect_against="contributors", hold="possible", time_limit=20)
    pattern.verify()
    audit = tc.audit(problem, pattern, intruders="contributors")
    assert {(found.intruder, found.cell) for found in audit.findings} <= open_pairs(pattern)
    told = pattern.insiders
    assert told.successful <= told.successful_before
    assert told.loss >= told.loss_before
    before = tc.audit(problem, told.outsiders, intruders="contributors")
    assert before.count(tc.Verdict.PROTECTED) == problem.n_sensitive
    assert len({found.intruder for found in before.attacks}) == told.successful_before


def test_pairs_that_no_pattern_hides_are_told_and_not_claimed(hopeless, tmp_path, capsys):
    with pytest.raises(tc.ModelError, match="cannot be protected against contributors: f"):
        tc.suppress(hopeless, protect_against="contributors")
    pattern = tc.suppress(hopeless, protect_against="contributors", hold="possible")
    labels = hopeless.table.labels([cell for _, cell in sorted(open_pairs(pattern))])
    assert labels == ["(r=B)", "(r=A)"]
    assert pattern.insiders.count(WhyOpen.HOPELESS) == (2, 2)
    assert any("From 2 insiders no pattern hides 2 sensitive cells" in n for n in pattern.notes)
    assert "successful 2" in pattern.summary()
    frame = pattern.insiders.to_frame()
    assert frame["insider"].tolist() == ["contributors: f1", "contributors: f2"]
    write_certificate(pattern, tmp_path / "proof.npz")
    assert verifier.main([str(tmp_path / "proof.npz")]) == 0
    said = capsys.readouterr().out
    assert "NOTHING is claimed of 2 pairs of an insider and a sensitive cell" in said
    claimed = len(pattern.certificate.insiders)
    assert f"against everybody and {claimed} different insiders" in said


def test_certificate_that_claims_an_open_pair_is_refused(hopeless, tmp_path):
    pattern = tc.suppress(hopeless, protect_against="contributors", hold="possible")
    write_certificate(pattern, tmp_path / "proof.npz")
    arrays = dict(np.load(tmp_path / "proof.npz"))
    for altered in (
        {"open_starts": np.zeros_like(arrays["open_starts"]), "open_index": np.zeros(0, np.int64)},
        {"open_index": arrays["open_index"] + 100},
        {"open_starts": arrays["open_starts"][::-1]},
    ):
        np.savez(tmp_path / "forged.npz", **{**arrays, **altered})
        assert verifier.main([str(tmp_path / "forged.npz")]) == 1


def test_insider_of_whom_nothing_is_claimed_does_not_count(hopeless, tmp_path, capsys):
    pattern = tc.suppress(hopeless, protect_against="contributors", hold="possible")
    write_certificate(pattern, tmp_path / "proof.npz")
    arrays = dict(np.load(tmp_path / "proof.npz"))
    insiders, cells = len(arrays["intruder_names"]), hopeless.n_sensitive
    arrays["open_starts"] = np.arange(insiders + 1) * cells
    arrays["open_index"] = np.tile(np.arange(cells), insiders)
    np.savez(tmp_path / "empty.npz", **arrays)
    assert verifier.main([str(tmp_path / "empty.npz")]) == 0
    assert "everybody and 0 different insiders" in capsys.readouterr().out


def test_cells_are_published_again_only_where_every_insider_still_fails():
    problem = firms(1)
    question = Question.of(problem, "two-sided", "contributors")
    standing = Standing(attacked(question, ~problem.frozen, Budget.of()))
    assert standing.is_proved
    before = [each.tolist() for each in standing.left_out()]
    published = [
        cell
        for cell in np.flatnonzero(~problem.frozen & ~problem.sensitive).tolist()
        if standing.publish(cell, Budget.of())
    ]
    assert published
    assert not np.any(standing.suppressed[published])
    assert [each.tolist() for each in standing.left_out()] == before
    standing.certificate().verify()
    # No cell can be published beyond that: the audit, which starts anew, agrees.
    for cell in np.flatnonzero(standing.suppressed & ~problem.sensitive).tolist():
        fewer = standing.suppressed.copy()
        fewer[cell] = False
        found = attacked(question, fewer, Budget.of())
        assert not found.is_safe


def test_without_time_the_pattern_for_outsiders_is_returned_and_says_so():
    problem = firms(2, "ABCDEFGH", "stuvwxyz")
    pattern = tc.suppress(problem, protect_against="contributors", hold="possible", time_limit=0.01)
    pattern.verify()
    told = pattern.insiders
    assert told.unsettled > 0
    assert any("nothing is claimed" in note for note in pattern.notes)
    claimed = {claim.knowledge.name for claim in pattern.certificate.insiders}
    audit = tc.audit(problem, pattern, intruders="contributors")
    attacks = {(found.intruder, found.cell) for found in audit.attacks}
    assert {pair for pair in attacks if pair[0] in claimed} <= open_pairs(pattern)


def test_pattern_that_falls_in_whole_numbers_is_never_kept_instead_of_its_extension():
    def standing(attacks: list[SimpleNamespace], left_out: int) -> SimpleNamespace:
        audit = SimpleNamespace(attacks=attacks)
        return SimpleNamespace(audit=audit, missing=(0, left_out))

    falls, holds = standing([SimpleNamespace(knowledge=None)], 0), standing([], 0)
    assert _better(falls, holds) is holds
    # One that is proved against as many insiders hides less.
    assert _better(standing([], 2), more := standing([], 1)) is more
    assert _better(less := standing([], 1), standing([], 1)) is less


def test_hold_off_regards_no_insider_and_unknown_words_are_refused():
    problem = firms(3)
    plain = tc.suppress(problem)
    off = tc.suppress(problem, protect_against="contributors", hold="off")
    assert np.array_equal(plain.suppressed, off.suppressed)
    assert off.insiders is None
    with pytest.raises(tc.InputError, match="`hold` is 'posible'. Did you mean 'possible'"):
        tc.suppress(problem, protect_against="contributors", hold="posible")


def test_a_later_round_of_repairs_has_its_own_time_and_does_not_hide_everything():
    problem = firms(0)
    pattern = tc.suppress(problem, time_limit=20)
    state = SearchState.of(problem, Requirement.TWO_SIDED, "test")
    pool = WitnessPool(state.system)
    hidden = pattern.suppressed[state.system.cells]
    attack = Attack(state.system)
    attack.hide(hidden)
    prove(attack, pool, Budget.of())
    candidate = Candidate(hidden, pool, problem.weights[state.system.cells])
    defence = Defence(problem, candidate, Budget.of(0.0), gives_up=True)
    attacks = tc.audit(problem, pattern, intruders="contributors").attacks
    assert attacks
    assert not defence.answer(attacks)
    defence.budget = Budget.of()
    assert defence.answer(attacks)
    assert defence.hidden.sum() < 0.9 * len(hidden)


def test_who_still_learns_too_much_is_looked_at_before_a_release(hopeless):
    pattern = tc.suppress(hopeless, protect_against="contributors", hold="possible")
    said = pattern.verdict()
    assert "of 7 contributors 2 succeed (all against every pattern)" in said
    assert "merge categories, or decide that these 2 insiders may know a sensitive cell" in said
    assert "Next: publish its release" in tc.suppress(hopeless).verdict()


def test_an_attack_of_one_program_is_settled_though_the_search_had_no_time_for_it(monkeypatch):
    """The audits of the search find no time to attack as an insider; one program of each does."""
    problem, attack_as = firms(0), part._attack_as

    def without_time(attack, few, of, task, number, knows):
        attack_as(attack, few, of, replace(task, budget=Budget.of(0)), number, knows)

    with monkeypatch.context() as patched:
        patched.setattr(part, "_attack_as", without_time)
        patched.setattr(Defence, "answer", lambda self, findings: False)
        pattern = tc.suppress(problem, protect_against="contributors", hold="possible")
    audit = tc.audit(problem, pattern, intruders="contributors")
    attacks = {(found.intruder, found.cell) for found in audit.attacks}
    why = {(pair.insider, pair.cell): pair.why for pair in pattern.insiders.open}
    assert attacks
    assert {why[pair] for pair in attacks} == {WhyOpen.ATTACKABLE}
    assert {pair for pair, reason in why.items() if reason == WhyOpen.ATTACKABLE} == attacks
    n = len({insider for insider, _ in why})
    assert pattern.verdict().startswith(f"NOT PROVED SAFE against {n} insider")
    # Nothing is tried once the search was stopped.
    question = Question.of(problem, "two-sided", "contributors")
    stopped = Budget.of()
    standing = Standing(attacked(question, pattern.suppressed, Budget.of()))
    assert len(standing.attackable(Budget.of())) == len(attacks)
    stopped.stop()
    assert not standing.attackable(stopped)
