"""Certificates: true ones pass, altered ones are refused, and releases hold no secret."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(tc.examples.cox_rounded())


def test_verification_measures_no_error_for_whole_numbers(pattern):
    measured = pattern.verify()
    assert measured.checked == 7
    assert measured.relations == 0
    assert measured.bounds == 0


def test_each_single_altered_number_of_a_witness_is_refused(pattern):
    certificate = pattern.certificate
    for position in range(certificate.deviations.nnz):
        deviations = certificate.deviations.copy()
        deviations.data[position] += 1.0
        with pytest.raises(tc.VerificationError):
            replace(certificate, deviations=deviations).verify()


def test_certificate_of_a_pattern_with_one_published_cell_more_is_refused(pattern):
    for cell in np.flatnonzero(pattern.suppressed):
        suppressed = pattern.suppressed.copy()
        suppressed[cell] = False
        with pytest.raises(tc.VerificationError):
            replace(pattern.certificate, suppressed=suppressed).verify()


def test_certificate_with_missing_witnesses_is_refused(pattern):
    certificate = pattern.certificate
    truth = np.full_like(certificate.upper_witness, -1)
    with pytest.raises(tc.VerificationError, match="not proved to be protected"):
        replace(certificate, upper_witness=truth).verify()
    with pytest.raises(tc.VerificationError, match="does not hold"):
        replace(certificate, upper_witness=truth + 10_000).verify()


def test_bound_that_is_claimed_too_high_is_refused(pattern):
    with pytest.raises(tc.VerificationError, match="is claimed, but only 3076 is proved"):
        replace(pattern, bound=3077.0).verify()


def test_bound_is_not_proved_without_the_leaves_of_its_tree(pattern):
    tree = pattern.bound_certificate.tree
    assert len(tree.nodes) > 1
    cut = replace(tree, nodes=tree.nodes[:-1])
    with pytest.raises(tc.VerificationError, match="does not cover all"):
        replace(pattern.bound_certificate, tree=cut).verify()


def test_every_secondary_of_the_optimum_is_needed(pattern):
    for cell in np.flatnonzero(pattern.secondary):
        suppressed = pattern.suppressed.copy()
        suppressed[cell] = False
        found = tc.audit(pattern.problem, suppressed)
        assert not found.is_safe
        assert found.count(tc.Verdict.ATTACKABLE) > 0
        assert found.count(tc.Verdict.UNDECIDED) == 0


def test_release_tells_nothing_of_hidden_values(pattern):
    released = pattern.release()
    hidden = released[released["status"] == "suppressed"]
    assert len(hidden) == 12
    assert hidden.drop(columns=["status"]).iloc[:, -1].isna().all()
    assert "primary" not in released.to_csv()


def test_sliding_levels_ask_for_width():
    problem = tc.examples.cox_rounded()
    width = np.where(problem.sensitive, 3 * problem.upper_protection, 0)
    wider = problem.with_changes(sliding_protection=width)
    pattern = tc.suppress(wider)
    found = tc.audit(wider, pattern, detail="intervals")
    reached = found.above + found.below
    assert np.all(reached >= 3 * problem.upper_protection[problem.sensitive] - 1e-6)


def test_interruption_keeps_the_best_proved_pattern():
    calls = []

    def interrupt(stage: str, *_: object) -> None:
        calls.append(stage)
        if stage == "branch and bound":
            raise KeyboardInterrupt

    pattern = tc.suppress(tc.examples.cox_rounded(), progress=interrupt)
    pattern.verify()
    assert "branch and bound" in calls


def test_interruption_before_any_proof_is_an_error_and_no_pattern():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(tc.SolverError, match="before any pattern was proved"):
        tc.suppress(tc.examples.cox_rounded(), progress=interrupt)


def test_same_seed_gives_the_same_pattern():
    problem = tc.examples.cox_rounded()
    one, other = (tc.suppress(problem, method="sequential", seed=5) for _ in range(2))
    assert np.array_equal(one.suppressed, other.suppressed)
