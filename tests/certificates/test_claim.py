"""Claims: what they are about, and the arrays that a stranger is handed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import (
    FORMAT,
    Claim,
    Released,
    UnknownClaimError,
    arrays_of,
    joined,
    loss_claim,
    refused,
    rows_of,
    starts_of,
)


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(tc.examples.cox_rounded())


def test_lists_one_after_the_other_begin_where_their_starts_say():
    parts = [[1, 2], [], [3]]
    starts, numbers = starts_of(parts), joined(parts, np.int64)
    assert starts.tolist() == [0, 2, 2, 3]
    assert [numbers[a:b].tolist() for a, b in itertools.pairwise(starts)] == parts
    assert starts_of([]).tolist() == [0]
    assert joined([], float).dtype == np.float64


def test_rows_hold_each_cell_once_in_order_and_no_zeros():
    matrix = csr_array((np.array([1.0, 2.0, 0.0, 5.0, -5.0]), ([0, 0, 0, 1, 1], [2, 0, 1, 3, 3])))
    rows = rows_of("relation", matrix)
    assert rows["relation_starts"].tolist() == [0, 2, 2]
    assert rows["relation_cells"].tolist() == [0, 2]
    assert rows["relation_data"].tolist() == [2, 1]
    # The matrix that was given stays as it was.
    assert matrix.nnz >= 4


def test_a_certificate_says_that_it_is_secret_and_lists_its_claims_in_one_order(pattern):
    claims = pattern.certificates
    arrays = arrays_of(claims, pattern.problem)
    assert str(arrays["format"]) == FORMAT
    assert "secret" in FORMAT
    assert int(arrays["version"]) == verifier.VERSION
    backwards = arrays_of(claims[::-1], pattern.problem)
    assert backwards["claims"].tolist() == arrays["claims"].tolist()
    order = [kind for kind in verifier.CLAIMS if kind in {claim.kind for claim in claims}]
    assert arrays["claims"].tolist() == order


def test_the_problem_is_laid_out_anew_and_not_taken_from_a_claim(pattern):
    """A claim about another problem is refused, whatever it was proved for."""
    protection = next(claim for claim in pattern.certificates if claim.kind == "protection")
    assert not {"values", "status", "upper_bound", "weights"} & set(protection.arrays)
    protection.verify(pattern.problem)
    narrow = pattern.problem.with_changes(
        upper_bound=pattern.problem.table.values + pattern.problem.upper_protection,
        lower_bound=pattern.problem.table.values - pattern.problem.lower_protection,
    )
    with pytest.raises(tc.VerificationError, match="The claim of protection is not proved"):
        protection.verify(narrow)


def test_every_claim_of_a_pattern_is_proved_on_its_own(pattern):
    for claim in pattern.certificates:
        lines = claim.verify(pattern.problem)
        assert lines[0].startswith("PROVED")
        assert any("no file was given" in line for line in lines)


def test_claims_about_two_releases_make_no_certificate(pattern):
    first = pattern.certificates[0]
    copy = Claim(first.kind, Released(first.released.kind, first.released.arrays), first.arrays)
    with pytest.raises(tc.VerificationError, match="about one release"):
        arrays_of([first, copy], pattern.problem)


def test_a_loss_that_is_claimed_too_small_is_refused(pattern):
    released = pattern.certificates[0].released
    loss_claim(released, "weights", pattern.problem.weights, pattern.loss).verify(pattern.problem)
    with pytest.raises(tc.VerificationError, match="loss"):
        loss_claim(released, "weights", pattern.problem.weights, pattern.loss - 1).verify(
            pattern.problem
        )


def test_a_bound_rests_on_the_loss_that_it_is_a_bound_of(pattern):
    bound = next(claim for claim in pattern.certificates if claim.kind == "bound")
    assert "loss" in [claim.kind for claim in bound.rests_on]
    too_much = Claim(
        "bound", bound.released, {**bound.arrays, "bound": np.array(pattern.loss + 1)},
        bound.rests_on,
    )  # fmt: skip
    with pytest.raises(tc.VerificationError):
        too_much.verify(pattern.problem)


def test_what_nobody_can_check_is_another_error_than_what_is_wrong():
    unknown = refused(verifier.UnknownError("no check"), "The claim")
    wrong = refused(verifier.RefusedError("too little"), "The claim")
    assert isinstance(unknown, UnknownClaimError)
    assert not isinstance(wrong, UnknownClaimError)
    assert str(wrong) == "The claim: too little."


def test_the_tolerance_of_a_certificate_is_what_the_true_table_is_off_by():
    problem = tc.examples.cox_rounded()
    assert float(arrays_of([claim_of(problem)], problem)["tolerance"]) == problem.table.tolerance
    # Figures that were rounded after they were added up.
    values = problem.table.values.copy()
    values[0] += 0.25
    table = replace(problem.table, values=values, tolerance=1.0, integer=False)
    off = problem.with_changes(table=table, upper_bound=problem.upper_bound + 1)
    assert float(arrays_of([claim_of(off)], off)["tolerance"]) == 1.0


def claim_of(problem) -> Claim:
    return Claim("additivity", Released("adjustment", {"published": problem.table.values}))
