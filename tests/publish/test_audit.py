"""The verdict on anybody's release: an adjusted table, a pattern, intervals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from hand_tables import one_row, place
from tablecloak.publish.audit import AdjustedAudit, audit_values

ADJUSTED = one_row([50, 60, 70], {"a": (3, 5), "c": (0, 4)}, bounds=(0, 200))


COUNTS = one_row([1, 2, 8, 13, 24], {"a": (1, 1), "b": (1, 2)}, bounds=(0, 1000))


@pytest.mark.parametrize("base", [3, 5, 10])
def test_a_rounded_file_is_judged_as_the_result_in_python(tmp_path, base):
    for problem in (COUNTS, tc.examples.cox_rounded()):
        rounded = tc.controlled_rounding(problem, base=base)
        rounded.release().to_csv(tmp_path / "r.csv", index=False)
        known = tc.audit(problem, rounded, detail="intervals").to_frame()
        read = tc.audit(problem, tmp_path / "r.csv", made=f"rounding:{base}", detail="intervals")
        ends = ["reached_lower", "reached_upper"]
        moved = np.abs(rounded.values - problem.table.values)
        if rounded.steps == 1 and moved.max() > base / 2:
            pd.testing.assert_frame_equal(known, read.to_frame())
        else:
            # Readers of a file are credited with the farthest move, and with nearest multiples.
            narrower = read.to_frame()[ends].to_numpy() - known[ends].to_numpy()
            assert (narrower[:, 0] >= -1e-9).all() and (narrower[:, 1] <= 1e-9).all()


def test_a_file_without_small_counts_is_judged_as_the_result_in_python(tmp_path):
    rounded = tc.small_count_rounding(COUNTS, base=3)
    rounded.release().to_csv(tmp_path / "s.csv", index=False)
    known = tc.audit(COUNTS, rounded, detail="intervals").to_frame()
    read = tc.audit(COUNTS, tmp_path / "s.csv", made="small_counts:3", detail="intervals")
    pd.testing.assert_frame_equal(known, read.to_frame())


def test_readers_of_nearest_multiples_know_that_each_is_within_half_a_base():
    """11 and 19 to base 10 are 10 and 20, of which nothing adds up; each may be off by 5."""
    problem = one_row([11, 19], {"a": (5, 5)}, bounds=(0, 1000))
    values = problem.table.values
    nearest = 10 * np.rint(values / 10)
    found = tc.audit(problem, nearest, made="rounding:10", detail="intervals").to_frame()
    assert found[["reached_lower", "reached_upper"]].to_numpy().tolist() == [[5, 15]]
    farther = np.where(values == 11, 20, nearest)
    found = tc.audit(problem, farther, made="rounding:10", detail="intervals").to_frame()
    assert found[["reached_lower", "reached_upper"]].to_numpy().tolist() == [[11, 28]]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("rounding:3", "are none of controlled rounding to base 3"),
        ("small_counts:11", "are none of small-count rounding to base 11"),
        ("rounding", "Give rounding:base or small_counts:base"),
        ("suppression:3", "Give rounding:base or small_counts:base"),
        ("rounding:1", "greater than or equal to 2"),
    ],
)
def test_values_that_were_not_made_so_are_refused(made, words):
    values = tc.controlled_rounding(COUNTS, base=5).values.astype(float)
    with pytest.raises(tc.InputError, match=words):
        tc.audit(COUNTS, values, made=made)
    with pytest.raises(tc.InputError, match="Leave it out for patterns"):
        tc.audit(COUNTS, COUNTS.sensitive, made="rounding:5")


def audited(problem: tc.ProtectionProblem = ADJUSTED, **moved: float):
    values = problem.table.values.copy()
    for code, by in moved.items():
        values[place(problem, code)] += by
    return audit_values(problem, values)


def test_a_table_that_keeps_everything_is_safe():
    found = audited(a=5, b=-9, c=4)
    assert found.is_safe
    assert found.shortfall.tolist() == [0, 0]
    assert (
        "2 of 2 sensitive cells published at least their levels away from the truth, 0"
        in found.summary()
    )


def test_the_shortfall_is_what_lacks_to_the_nearer_level_that_counts():
    """c may only rise: below the truth it lacks the whole way."""
    for a, c, shortfall in [
        (0, 4, [3, 0]),
        (2, 4, [3, 0]),
        (4, 4, [1, 0]),
        (-2, 4, [1, 0]),
        (-3, 3, [0, 1]),
        (-3, -9, [0, 13]),
    ]:
        found = audited(a=a, b=-a - c, c=c)
        assert found.shortfall.tolist() == pytest.approx(shortfall)
        assert not found.is_safe


def test_a_relation_that_is_off_is_measured():
    found = audited(a=5, c=4)
    assert found.relations == 9
    assert not found.is_safe


def test_a_value_beyond_its_bound_is_measured():
    found = audited(a=5, b=80, c=4, Total=89)
    assert found.bounds == 69
    assert not found.is_safe


def test_a_frozen_cell_that_changed_is_counted():
    frozen = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["b"], bounds=(0, 200))
    found = audited(frozen, a=5, b=-5)
    assert found.frozen == 1
    assert not found.is_safe
    assert audited(frozen, a=5, c=-5).is_safe


def test_dust_of_a_file_that_was_read_is_no_error():
    values = ADJUSTED.table.values + np.array([5, -9, 4, 0]) + np.array([1e-12, 0, 0, 0])
    assert audit_values(ADJUSTED, values).is_safe


def test_the_frame_shows_the_worst_first_with_what_was_forbidden():
    frame = audited(a=4, b=-8, c=4).to_frame()
    assert frame["code"].tolist() == ["a", "c"]
    assert frame[["forbidden_lower", "forbidden_upper"]].iloc[0].tolist() == [47, 55]
    assert frame["adjusted"].iloc[0] == 54


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_cell_without_a_number_is_refused(value):
    with pytest.raises(tc.InputError, match="finite value in every cell"):
        audited(a=value)


PROBLEM = one_row([50, 60, 70], {"a": (3, 5)}, bounds=(0, 1000))
CODES = ["a", "b", "c", "Total"]


@cache
def pattern():
    return tc.suppress(PROBLEM)


def intervals(a: tuple[float, float], b: tuple[float, float]) -> pd.DataFrame:
    low, high = PROBLEM.table.values.copy(), PROBLEM.table.values.copy()
    (low[0], high[0]), (low[1], high[1]) = a, b
    return pd.DataFrame({"code": CODES, "lower": low, "upper": high})


def test_the_same_pattern_has_the_same_verdict_in_every_form(tmp_path):
    hidden = pattern().suppressed
    frame = pattern().release()
    frame.to_csv(tmp_path / "r.csv", index=False)
    for release in (pattern(), hidden, frame, tmp_path / "r.csv"):
        assert tc.audit(PROBLEM, release).is_safe


def test_a_sensitive_cell_alone_is_computed_from_its_total():
    found = tc.audit(PROBLEM, PROBLEM.sensitive, detail="intervals")
    assert not found.is_safe
    row = found.to_frame().iloc[0]
    assert (row["reached_lower"], row["reached_upper"]) == pytest.approx((50, 50), abs=1e-5)


def test_nothing_hidden_protects_nothing():
    assert not tc.audit(PROBLEM, np.zeros(4, dtype=bool)).is_safe


@pytest.mark.parametrize(
    ("a", "b", "is_safe"),
    [
        ((40, 60), (50, 70), True),
        # b alone leaves a between 48 and 52.
        ((40, 60), (58, 62), False),
        ((47, 55), (0, 200), True),
        ((48, 55), (0, 200), False),
    ],
)
def test_published_intervals_are_attacked_through_the_relation(a, b, is_safe):
    assert tc.audit(PROBLEM, intervals(a, b)).is_safe == is_safe


def test_intervals_need_a_number_at_both_ends():
    frame = intervals((40, 60), (50, 70))
    frame.loc[1, "upper"] = np.nan
    with pytest.raises(tc.InputError, match="every cell needs a number as `lower` and as `upper`"):
        tc.audit(PROBLEM, frame)


def test_numbers_are_an_adjusted_table_and_flags_a_pattern():
    values = PROBLEM.table.values + np.array([5, -5, 0, 0])
    assert isinstance(tc.audit(PROBLEM, values), AdjustedAudit)
    assert tc.audit(PROBLEM, values).is_safe
    assert not isinstance(tc.audit(PROBLEM, values > 0), AdjustedAudit)


@pytest.mark.parametrize("release", [np.zeros(3), np.zeros((4, 1)), [True] * 5])
def test_an_array_has_one_entry_for_each_cell(release):
    with pytest.raises(tc.InputError, match="expected one entry per cell"):
        tc.audit(PROBLEM, release)


def test_a_forced_cell_whose_value_bounds_tell_is_hidden_all_the_same():
    forced = PROBLEM.with_changes(status=np.array(["u", "m", "s", "s"]))
    low, high = forced.lower_bound.copy(), forced.upper_bound.copy()
    low[1] = high[1] = 60
    told = forced.with_changes(lower_bound=low, upper_bound=high)
    # b is known, so that a is too.
    assert not tc.audit(told, intervals((40, 60), (60, 60))).is_safe


def test_the_summary_of_a_table_that_fails_says_so_first():
    true = ADJUSTED.table.values
    safe = audit_values(ADJUSTED, tc.adjust(ADJUSTED).values)
    assert safe.summary().startswith("audit (adjusted table): 2 of 2")
    off = np.where(np.arange(len(true)) == 1, true + 50, safe.values)
    assert audit_values(ADJUSTED, off).summary().startswith("NOT SAFE: audit (adjusted table)")
