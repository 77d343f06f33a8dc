"""Perturbation tables: the published ones, and what each must satisfy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tablecloak.cellkey import design_count_table, design_magnitude_table
from tablecloak.cellkey.design import largest_entropy
from tablecloak.errors import InputError


@pytest.mark.parametrize(
    ("row", "changes", "probabilities"),
    [
        (1, [-1, 1, 2], [0.50833333, 0.475, 0.01666667]),
        (2, [-2, 0, 1, 2], [0.16155827, 0.55565037, 0.24246618, 0.04032518]),
        (3, [-1, 0, 1, 2], [0.41231301, 0.28806097, 0.18693903, 0.11268699]),
        (4, [-2, -1, 0, 1, 2], [0.07012498, 0.24450007, 0.3707499, 0.24450007, 0.07012498]),
    ],
)
def test_the_example_table_of_ptable_is_met_to_its_last_digit(row, changes, probabilities):
    table = design_count_table(2, 1.05, blocked=1, monotone=[True, True, False, True])
    lines = table.to_frame().query("i == @row")
    assert lines.v.tolist() == changes
    np.testing.assert_allclose(lines.p, probabilities, atol=1.0001e-8)


def test_the_table_of_the_tests_of_cellkey_has_their_size_and_means():
    frame = design_count_table(5, 3, blocked=2, stay=0.5).to_frame()
    means = frame[["p", "p_int_lb", "p_int_ub", "v"]].mean().round(3).tolist()
    assert (len(frame), frame.i.max()) == (66, 8)
    assert means == [0.136, 0.562, 0.698, 1.045]


def test_no_change_is_as_likely_as_asked_for_wherever_the_variance_allows():
    moments = design_count_table(5, 3, blocked=2, stay=0.5).moments().set_index("i")
    assert (moments.unchanged[moments.index >= 3] >= 0.5 - 1e-7).all()
    lowered = design_count_table(5, 5, blocked=2, stay=0.9).moments().set_index("i")
    np.testing.assert_allclose(lowered.variance[lowered.index >= 3], 5, atol=1e-3)
    assert (lowered.unchanged < 0.9)[lowered.index >= 3].all()


@given(st.integers(2, 8), st.integers(0, 3), st.floats(0.0, 1.0))
def test_every_row_has_mean_zero_and_avoids_blocked_counts(deviation, blocked, share):
    blocked = min(blocked, deviation - 1)
    variance = (blocked + 1) * 1.05 + share * deviation
    table = design_count_table(deviation, variance, blocked=blocked).to_frame()
    assert not table.j.between(1, blocked).any() and (table.j >= 0).all()
    assert table.v.abs().max() <= deviation
    table["first"], table["second"] = table.p * table.v, table.p * table.v**2
    sums = table.groupby("i")[["p", "first", "second"]].sum()
    np.testing.assert_allclose(sums.p, 1, atol=1e-9)
    np.testing.assert_allclose(sums["first"], 0, atol=1e-6)
    assert (sums["second"] <= variance + 1e-5).all()


def test_changes_far_beyond_the_variance_are_all_but_impossible_and_no_reason_to_refuse():
    table = design_count_table(8, 1.05, blocked=0)
    np.testing.assert_allclose(table.moments().set_index("i").variance.loc[1:], 1.05, atol=1e-6)
    chances = table.to_frame().query("i == 8").set_index("v").p
    np.testing.assert_allclose(chances, chances.iloc[::-1], atol=2e-8)
    assert chances[-8.0] == 0 < chances[-5.0] < 1e-5


def test_a_monotone_row_never_prefers_a_larger_change_below_zero():
    free, bound = (
        design_count_table(2, 1.05, blocked=1, monotone=is_so).to_frame().query("i == 3 and v <= 0")
        for is_so in (False, True)
    )
    free, bound = free.p, bound.p
    assert (np.diff(free) < 0).any()
    assert (np.diff(bound) >= -2e-8).all()


def test_an_exact_variance_is_met_although_less_would_have_more_entropy():
    loose, exact = (
        design_count_table(2, 3.2, monotone=False, exact_variance=[False, is_so]).moments()
        for is_so in (False, True)
    )
    assert abs(loose.variance.iloc[-1] - 2.0) < 1e-6
    assert abs(exact.variance.iloc[-1] - 3.2) < 1e-6


def test_magnitudes_have_the_rows_and_steps_that_are_asked_for():
    table = design_magnitude_table(5, 1, [1, 3, 5], step=0.2, exact_variance=[True, False, False])
    frame = table.to_frame()
    assert table.values.tolist() == [0, 1, 3, 5]
    assert frame.query("i == 5").v.tolist() == pytest.approx(list(np.arange(-25, 26) / 5))
    assert frame.query("i == 1").j.min() == 0
    np.testing.assert_allclose(table.moments().variance.iloc[1:], 1, atol=1e-5)


@pytest.mark.parametrize(
    ("deviation", "variance", "rows", "options"),
    [
        (10, 2, [1, 10], {}),
        (10, 2, [1, 10], {"exact_variance": [True, False]}),
        (10, 2, [1, 10], {"exact_variance": [True, False], "step": 0.25}),
        (8, 1, [1, 5, 8], {}),
        (10, 3, [1, 5, 10], {"exact_variance": [True, False, False]}),
        (5, 1, [1, 3, 5], {"exact_variance": [True, False, False], "step": 0.2}),
    ],
)
def test_the_example_tables_of_ptable_for_magnitudes_can_be_designed(
    deviation, variance, rows, options
):
    table = design_magnitude_table(deviation, variance, rows, **options)
    moments = table.moments().iloc[1:]
    np.testing.assert_allclose(moments["mean"], 0, atol=1e-6)
    assert (moments["variance"] <= variance + 1e-5).all()
    assert moments["variance"].iloc[-1] == pytest.approx(variance, abs=1e-5)
    last = table.to_frame().query("i == @deviation").p.to_numpy()
    np.testing.assert_allclose(last, last[::-1], atol=2.0001e-8)
    assert (np.diff(last[: deviation + 1]) >= -2e-8).all()


@cache
def _extreme_variance(changes, monotone, sign):
    """Smallest (sign 1) or largest (-1) variance of changes of mean 0, by a linear program."""
    v = np.array(changes, dtype=np.float64)
    n_below = int(np.sum(v < 0)) if monotone and 0 in changes else 0
    falls = np.eye(len(v))[:n_below] - np.eye(len(v), k=1)[:n_below]
    found = linprog(
        sign * v**2,
        A_ub=falls if n_below else None,
        b_ub=np.zeros(n_below) if n_below else None,
        A_eq=np.vstack([np.ones(len(v)), v]),
        b_eq=[1, 0],
    )
    assert found.status == 0
    return sign * found.fun


def test_a_design_is_refused_if_and_only_if_a_linear_program_finds_no_distribution():
    random, seen = np.random.default_rng(4), {True: 0, False: 0}
    n_far = 0
    for _ in range(120):
        deviation = int(random.integers(1, 17))
        blocked = int(random.integers(0, min(deviation, 4)))
        monotone, exact = bool(random.random() < 0.7), bool(random.random() < 0.4)
        variance = float(random.choice([0.5, 1, 1.05, 2, 3, 5, 8])) + 1e-3 * random.random()
        stay = float(random.choice([0, 0.3, 0.5, 0.8]))
        rows = range(1, (deviation + blocked + 1 if blocked else deviation) + 1)
        targets = [range(max(i - deviation, 0), i + deviation + 1) for i in rows]
        changes = [
            tuple(j - i for j in js if j == 0 or j > blocked)
            for i, js in zip(rows, targets, strict=True)
        ]
        exists = all(
            _extreme_variance(row, monotone, 1) <= variance
            and (not exact or variance <= _extreme_variance(row, monotone, -1))
            for row in changes
        )
        options = {"blocked": blocked, "stay": stay, "monotone": monotone, "exact_variance": exact}
        seen[exists] += 1
        n_far += exists and monotone and deviation >= 12
        if exists:
            moments = design_count_table(deviation, variance, **options).moments()
            np.testing.assert_allclose(moments["mean"], 0, atol=1e-6)
            assert (moments["variance"] <= variance + 1e-5).all()
        else:
            with pytest.raises(InputError, match="no distribution has mean 0"):
                design_count_table(deviation, variance, **options)
    assert seen[True] >= 40 and seen[False] >= 20 and n_far >= 5


def test_the_smallest_variance_that_a_row_can_have_is_no_reason_to_refuse_it():
    table = design_count_table(2, 1, blocked=1).to_frame()
    assert table.query("i == 1").p.tolist() == [0.5, 0.5, 0.0]
    assert (design_count_table(3, 0).changes(np.arange(5), np.full(5, 10**14)) == 0).all()


def test_a_chance_of_no_change_is_kept_where_only_one_distribution_has_it():
    # Half of all counts stay, and the variance is 2: the others move as far as they can.
    table = design_count_table(2, 2, stay=0.5, monotone=False, exact_variance=True).to_frame()
    assert table.query("i == 2").p.tolist() == [0.25, 0.0, 0.5, 0.0, 0.25]


def test_conditions_that_hold_by_themselves_leave_the_distribution_as_it_is():
    chances = design_count_table(1, 1, monotone=True).to_frame().query("i == 1").p
    np.testing.assert_allclose(chances, 1 / 3, atol=1.0001e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deviation": 0, "variance": 1}, "`deviation` must be a whole number of 1 or more"),
        ({"deviation": 2, "variance": 1, "blocked": 2}, "below `deviation`, which is 2"),
        ({"deviation": 2, "variance": 0.5, "blocked": 1}, "Row i = 1: no distribution has mean 0"),
        ({"deviation": 2, "variance": 1.2, "stay": 1.0}, "`stay` must lie between 0 and 1"),
        ({"deviation": 2, "variance": 1.2, "monotone": [True]}, "has 1 entries, but the table has"),
    ],
)
def test_a_table_that_cannot_be_says_why(options, message):
    with pytest.raises(InputError, match=message):
        design_count_table(**options)


def test_rows_of_magnitudes_must_reach_from_one_to_the_largest_change():
    with pytest.raises(InputError, match="must hold 1 and `deviation`, here 5"):
        design_magnitude_table(5, 1, [1, 3])
    with pytest.raises(InputError, match="`step` must be 1 divided by a whole number"):
        design_magnitude_table(5, 1, [1, 5], step=0.3)


def _of_moments(changes, variance):
    features = np.vstack([changes, changes**2])
    return largest_entropy(features, np.array([0.0, variance]), np.array([True, False]))


def test_without_a_binding_variance_the_uniform_distribution_has_the_largest_entropy():
    found = _of_moments(np.arange(-3.0, 4.0), 100.0)
    np.testing.assert_allclose(found, np.full(7, 1 / 7), atol=1e-12)


def test_two_changes_leave_one_distribution_of_mean_zero():
    np.testing.assert_allclose(_of_moments(np.array([-1.0, 3.0]), 9.0), [0.75, 0.25], atol=1e-12)


def test_a_variance_that_no_distribution_has_gives_nothing():
    assert _of_moments(np.array([-1.0, 1.0, 2.0]), 0.9) is None


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.2, 0.9))
def test_a_bound_variance_makes_the_distribution_exponential_in_v_and_its_square(low, high, share):
    changes = np.arange(-low, high + 1.0)
    free = _of_moments(changes, 1e6)
    variance = share * float(free @ changes**2)
    found = _of_moments(changes, variance)
    assert abs(found.sum() - 1) < 1e-10 and abs(found @ changes) < 1e-10
    assert abs(found @ changes**2 - variance) < 1e-9
    # log p = a + b v + c v^2: what is left after fitting three terms is nothing.
    terms = np.vander(changes, 3)
    rest = np.log(found) - terms @ np.linalg.lstsq(terms, np.log(found), rcond=None)[0]
    assert np.abs(rest).max() < 1e-6


@given(st.integers(3, 9), st.integers(2, 9), st.integers(0, 10**6))
def test_no_step_towards_another_permitted_distribution_adds_entropy(n, n_rising, seed):
    random, n_rising = np.random.default_rng(seed), min(n_rising, n)

    def rising():
        chances = random.dirichlet(np.ones(n))
        chances[:n_rising] = np.sort(chances[:n_rising])
        return chances

    features, is_equal = random.normal(size=(2, n)), np.array([True, False])
    permitted = rising()
    targets = features @ permitted
    found = largest_entropy(features, targets, is_equal, n_rising)
    assert (found > 0).all() and abs(found.sum() - 1) < 1e-12
    assert (np.diff(found[:n_rising]) >= -1e-12).all()
    assert abs(features[0] @ found - targets[0]) < 1e-9 > features[1] @ found - targets[1]
    # The objective is concave: its derivative towards anything that is permitted is at most 0.
    assert -(permitted - found) @ np.log(found) <= 1e-9


def test_contradicting_rows_are_proved_to_have_no_distribution():
    features = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])
    both = np.array([False, False])
    assert largest_entropy(features, np.array([0.5, 0.2]), both) is None
    # A rising sequence of three has a mean of 1 or more.
    assert largest_entropy(features[:1], np.array([0.99]), both[:1], 3) is None
    found = largest_entropy(features[:1], np.array([1.0]), both[:1], 3)
    np.testing.assert_allclose(found, np.full(3, 1 / 3), atol=1e-9)
