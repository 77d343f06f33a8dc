"""A pattern: what it says of itself, what leaves with it, and what its checks refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from hand_tables import one_row, place
from random_tables import random_problem
from tablecloak.suppression.result.pattern import ProtectedSums, Unfrozen


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    return random_problem(4)


@pytest.fixture(scope="module")
def pattern(problem) -> tc.SuppressionPattern:
    return tc.suppress(problem, method="exact", time_limit=30)


def test_loss_is_what_every_pattern_pays_and_what_secondary_cells_cost(problem, pattern):
    secondary = float(problem.weights[pattern.secondary].sum())
    assert pattern.loss == pattern.unavoidable + secondary
    assert pattern.unavoidable <= pattern.bound <= pattern.loss
    assert pattern.bound == pytest.approx(pattern.proved_bound(), abs=1e-6)
    assert pattern.n_suppressed == problem.n_sensitive + int(pattern.secondary.sum())


def test_each_cell_has_one_status_and_primary_cells_are_the_sensitive_ones(problem, pattern):
    statuses = pattern.statuses()
    assert set(statuses) == {"published", "primary", "secondary"}
    assert np.array_equal(statuses == "primary", problem.sensitive)
    assert np.array_equal(statuses != "published", pattern.suppressed)
    frame = pattern.to_frame()
    assert frame["status"].tolist() == statuses.tolist()


def test_a_release_has_no_hidden_value_and_does_not_tell_who_is_sensitive(problem, pattern):
    release = pattern.release()
    hidden, name = release["status"] == "suppressed", problem.table.name
    assert int(hidden.sum()) == pattern.n_suppressed
    assert release.loc[hidden, name].isna().all()
    shown = sorted(release.loc[~hidden, name].astype(float))
    assert shown == sorted(problem.table.values[~pattern.suppressed])
    assert not {"primary", "secondary"} & set(release["status"])


def test_what_a_release_tells_of_a_cell_is_its_value_or_what_everybody_knew(problem, pattern):
    low, high = pattern.told()
    hidden = pattern.suppressed
    assert np.array_equal(low[~hidden], problem.table.values[~hidden])
    assert np.array_equal(high[~hidden], problem.table.values[~hidden])
    assert np.array_equal(low[hidden], problem.lower_bound[hidden])
    assert np.array_equal(high[hidden], problem.upper_bound[hidden])


def test_a_bound_that_was_raised_by_hand_does_not_pass_its_check(pattern):
    assert pattern.verify().checked == pattern.problem.n_sensitive
    with pytest.raises(tc.VerificationError):
        replace(pattern, bound=pattern.loss + 1).verify()


def test_a_cell_that_is_published_by_hand_does_not_pass_the_check_of_protection(pattern):
    """Every cell of the best pattern is needed, so that its witnesses move all of them."""
    for cell in np.flatnonzero(pattern.secondary).tolist():
        fewer = pattern.suppressed.copy()
        fewer[cell] = False
        proof = replace(pattern.certificate, suppressed=fewer)
        with pytest.raises(tc.VerificationError, match="are published but differ") as error:
            proof.verify()
        assert error.value.cells == (cell,)


def test_without_a_proof_the_bound_is_what_every_pattern_pays(pattern):
    bare = replace(pattern, bound_certificate=None, bound=pattern.unavoidable)
    assert bare.proved_bound() == bare.unavoidable
    assert "bound none, gap no bound" in bare.summary()
    assert bare.verify().checked == bare.problem.n_sensitive


def test_a_first_pattern_after_the_limit_is_told_with_both_times(pattern):
    late = replace(pattern, time_limit=2.0, first_seconds=3.5)
    told = "no pattern was proved within the limit of 2 s: the first one took 3.5 s"
    assert told in late.summary()
    assert told not in pattern.summary()


def test_a_proof_in_whole_numbers_holds_against_who_knows_that_values_are_whole():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, integer=True)
    found = tc.suppress(problem, method="exact", time_limit=30)
    partner = int(np.flatnonzero(found.secondary)[0])
    up = np.zeros((1, 4))
    up[0, 0], up[0, partner] = 2.0, 2.0 if partner == place(problem, "Total") else -2.0
    for factor, is_whole in ((1.0, True), (1.25, False)):
        proof = replace(
            found.certificate,
            deviations=csr_array(np.vstack([factor * up, -factor * up])),
            upper_witness=np.array([0]),
            lower_witness=np.array([1]),
        )
        other = replace(found, certificate=proof)
        assert other.verify().exact
        assert other.is_proved_in_whole_numbers == is_whole


def test_sums_that_were_protected_tell_their_price():
    assert ProtectedSums(2, 30.0, 9).summary(41.0, 12) == (
        "2 of these sums could be estimated too well: loss 30 -> 41, cells 9 -> 12"
    )
    assert "no sum could be estimated" in ProtectedSums(0, 30.0, 9).summary(30.0, 9)


def test_sums_of_an_earlier_release_count_as_its_cells_and_not_twice():
    places = ["Ax", "Ay", "Bx", "By", "Az", "Az", "Bz", "Bz", "Bz"]
    sizes = [50, 40, 60, 30, *range(24, 29)]
    firms = pd.DataFrame([(*place, size) for place, size in zip(places, sizes, strict=True)])
    firms.columns, firms["firm"] = ["region", "branch", "v"], list("abcdefghi")
    rule, before = tc.PPercent(5), ()
    for factor in (1, 2):
        later = firms.assign(v=factor * firms.v)
        table = tc.tabulate(later, ["region", "branch"], "v", contributor="firm").protect(rule)
        pattern = tc.suppress(table, groups=[rule], published=before, time_limit=10)
        before = tc.Published({"first": pattern}, periods={"first": "first"})
    told = (
        "7 sensitive cells and 11 of earlier releases and 4 sensitive sums of hidden cells proved"
    )
    assert told in pattern.summary()


def test_cells_to_unfreeze_are_told_by_name_and_whether_fewer_might_do():
    codes = [float(number) for number in range(2, 16)]
    problem = one_row(codes, {"a": (2.0, 2.0)}, frozen=list("bcdefghijklm"))
    cells = np.array([place(problem, code) for code in "bcdefghijklm"])
    assert Unfrozen(problem, cells[:0], 0).summary() == "no frozen cell need be unfrozen"
    one = Unfrozen(problem, cells[:1], 1)
    assert one.summary() == "1 frozen cell to unfreeze (no fewer suffice): (code=b)"
    assert one.is_optimal
    assert not one.unfrozen().frozen[cells[0]]
    assert one.unfrozen().frozen.sum() == problem.frozen.sum() - 1
    many = Unfrozen(problem, cells, 3)
    assert not many.is_optimal
    assert "12 frozen cells to unfreeze (at least 3 are needed)" in many.summary()
    assert many.summary().endswith("and 2 more")


def test_frozen_partners_that_were_unfrozen_are_told_in_the_summary():
    problem = one_row([5.0, 7.0, 9.0], {"a": (2.0, 2.0)}, frozen=["b", "c", "Total"])
    with pytest.raises(tc.ModelError, match="code=a"):
        tc.suppress(problem, time_limit=5)
    found = tc.suppress(problem, time_limit=5, unfreeze=True)
    assert found.unfrozen is not None
    assert len(found.unfrozen.cells) == found.unfrozen.fewest == 1
    assert "1 frozen cell to unfreeze (no fewer suffice)" in found.summary()
    assert found.verify().checked == 1
