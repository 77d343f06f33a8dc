"""What rounded tables claim, and what a stranger refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import cross, one_row, problem_of
from tablecloak.cta.rounding.claims import proved_bound

ROW = one_row([12, 13], {}, bounds=(0, 100))


def triangle() -> tc.ProtectionProblem:
    """An odd cycle, whose rounding needs two steps and a search tree."""
    return problem_of(
        ["a", "b", "c", "ab", "ac", "bc"],
        [1, 1, 1, 2, 2, 2],
        [[1, 1, 0, -1, 0, 0], [1, 0, 1, 0, -1, 0], [0, 1, 1, 0, 0, -1]],
        {},
    )


def rounded(problem=ROW, base=5, **options):
    return tc.controlled_rounding(problem, base=base, **options)


@pytest.mark.parametrize(
    ("problem", "base"), [(ROW, 5), (triangle(), 2), (cross([[3, 7], [11, 4]], {}), 3)]
)
def test_all_claims_of_a_rounding_hold_for_its_problem(problem, base):
    one = rounded(problem, base)
    names = [claim.kind for claim in one.certificates]
    assert names == ["additivity", "loss", "bound"]
    for claim in one.certificates:
        claim.verify(problem)


def test_a_rounding_with_two_steps_is_proved_by_its_search_tree():
    one = rounded(triangle(), 2)
    assert one.steps == 2
    assert one.bound == one.loss
    assert any("1 step is proved to be impossible" in note for note in one.notes)


def test_claims_do_not_hold_for_another_problem():
    other = one_row([13, 13], {}, bounds=(0, 100))
    failures = 0
    for claim in rounded().certificates:
        try:
            claim.verify(other)
        except tc.VerificationError:
            failures += 1
    assert failures


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0, -1.0])
def test_altered_multipliers_prove_no_more_than_the_loss(factor):
    one = rounded()
    kept = one.bound_certificate
    altered = replace(one, bound_certificate=replace(kept, duals=factor * kept.duals))
    assert proved_bound(altered) <= one.loss + 1e-9


def test_without_multipliers_each_cell_alone_proves_its_distance():
    one = rounded()
    none = np.zeros_like(one.bound_certificate.duals)
    bare = replace(one, bound_certificate=replace(one.bound_certificate, duals=none))
    assert proved_bound(bare) == pytest.approx(one.unavoidable)


def test_small_counts_claim_protection_too():
    problem = cross([[1, 7], [11, 2]], {})
    one = tc.small_count_rounding(problem, base=3)
    assert next(claim.kind for claim in one.certificates) == "protection"
    for claim in one.certificates:
        claim.verify(one.problem)
