"""Who contributed what: what rules rest on, and what of it cannot be true."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.tables.contributions import Contributions, implausible


def given_largest(count, total, largest, **more) -> Contributions:
    return Contributions.from_largest(
        np.array(count, dtype=float), np.array(total, dtype=float), np.array(largest, dtype=float),
        **more,
    )  # fmt: skip


def weighted(largest, weights) -> Contributions:
    """One cell whose contributors have weights."""
    largest, weights = np.array([largest], dtype=float), np.array([weights], dtype=float)
    return Contributions(
        count=np.array([int((weights > 0).sum())]),
        weighted_count=weights.sum(axis=1),
        total=(largest * weights).sum(axis=1),
        largest=largest,
        largest_weight=weights,
        largest_contributor=np.full(largest.shape, -1),
        largest_request=np.zeros((1, 2)),
        shortfall=np.zeros(1),
    )


def same(one: Contributions, two: Contributions) -> bool:
    names = [field.name for field in fields(Contributions) if field.name != "names"]
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def test_what_a_file_leaves_empty_is_nobody():
    found = given_largest([2, 1, 0], [9, 4, 0], [[6, 3], [4, np.nan], [0, np.nan]])
    assert found.largest.tolist() == [[6, 3], [4, 0], [0, 0]]
    assert found.largest_weight.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert not found.is_weighted
    # Nobody knows who they are, nor what smaller ones may take away.
    assert np.all(found.largest_contributor == -1)
    assert np.all(np.isinf(found.shortfall))


def test_contributions_are_ranked_by_their_size_without_sign():
    assert given_largest([2], [1], [[-4, 3]]).largest.tolist() == [[4, 3]]


@pytest.mark.parametrize(
    ("count", "total", "largest", "message"),
    [
        ([1.5], [3], [[3]], "1.5, but must be a whole number"),
        ([-1], [3], [[3]], "-1, but must be a whole number"),
        ([np.nan], [3], [[3]], "missing, but must be a whole number"),
        ([0], [3], [[0]], "0, but its value is 3: such a cell must have a contributor"),
        ([2], [3], [[2, np.nan]], "missing, but the cell has 2 contributors"),
        ([1], [3], [[3, 1]], "1, but the cell has only 1 contributors"),
        ([2], [5], [[2, 3]], "3, more than the one before it, 2"),
        ([2], [9], [[3, 2]], "too small: 2 contributors"),
        ([3], [10], [[3, 2]], "make up 7"),
    ],
)
def test_figures_that_cannot_be_true_are_refused(count, total, largest, message):
    with pytest.raises(tc.InputError, match=message):
        given_largest(count, total, largest)


def test_the_position_of_what_is_wrong_is_named():
    cell, _, rank = implausible([1, 2], np.array([3.0, 5.0]), np.array([[3.0, 0], [2, 3]]))
    assert (cell, rank) == (1, 1)
    assert implausible([1], np.array([3.0]), np.array([[3.0]])) is None
    # Without any largest contribution only counts can be wrong.
    assert implausible([7], np.array([3.0]), np.zeros((1, 0))) is None


def test_contributors_beyond_the_last_one_listed_are_no_larger_than_it():
    assert implausible([4], np.array([11.0]), np.array([[5.0, 2]])) is None
    # Each of five figures may have lost half a unit.
    assert implausible([4], np.array([13.0]), np.array([[5.0, 2]])) is None
    assert implausible([4], np.array([14.0]), np.array([[5.0, 2]])) is not None


def test_figures_may_be_off_by_their_rounding_and_by_a_tolerance():
    assert implausible([2], np.array([7.0]), np.array([[4.0, 2]])) is None
    assert implausible([2], np.array([8.0]), np.array([[4.0, 2]])) is not None
    assert implausible([2], np.array([8.0]), np.array([[4.0, 2]]), tolerance=1) is None


def test_the_sum_of_the_largest_counts_each_as_often_as_its_weight():
    found = weighted([10, 4, 1], [1.5, 2, 1])
    assert found.sum_of_largest(1).tolist() == [10]
    assert found.sum_of_largest(2).tolist() == [15 + 2]
    assert found.sum_of_largest(9).tolist() == [15 + 8 + 1]
    assert found.is_weighted


def test_a_weight_below_one_counts_as_one_so_that_rules_err_on_the_safe_side():
    assert weighted([10, 4], [0.25, 1]).sum_of_largest(1).tolist() == [10]


def test_a_rule_that_needs_more_than_was_kept_is_refused():
    found = given_largest([5], [20], [[9, 8]])
    with pytest.raises(tc.InputError, match="n_largest=3"):
        found.sum_of_largest(3)
    # A cell of two contributors has no third one.
    assert given_largest([2], [17], [[9, 8]]).sum_of_largest(3).tolist() == [17]


def test_cells_are_taken_in_any_order():
    found = given_largest([2, 1], [9, 4], [[6, 3], [4, 0]])
    assert same(found.take(np.array([1, 0])).take(np.array([1, 0])), found)
    assert found.take(np.array([1])).count.tolist() == [1]


def named(names, who) -> Contributions:
    """Cells with one contributor each."""
    n = len(who)
    plain = given_largest([1] * n, [5] * n, [[5]] * n)
    return replace(
        plain,
        largest_contributor=np.array(who)[:, None],
        names=None if names is None else np.array(names, dtype=object),
    )


def test_the_same_name_is_the_same_contributor_in_several_tables():
    both = Contributions.concatenate([named(["x", "y"], [0, 1]), named(["y", "z"], [1, 0])])
    called = [both.name_of(number) for number in both.largest_contributor[:, 0]]
    assert called == ["x", "y", "z", "y"]


def test_without_names_nobody_is_taken_for_somebody_else():
    both = Contributions.concatenate([named(None, [0, 1]), named(None, [0, -1])])
    numbers = both.largest_contributor[:, 0].tolist()
    assert len(set(numbers[:3])) == 3
    assert numbers[3] == -1
    mixed = Contributions.concatenate([named(["x"], [0]), named(None, [0])])
    assert len(set(mixed.largest_contributor[:, 0].tolist())) == 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 4))
def test_contributions_come_back_from_a_frame(seed, k, n):
    random = np.random.default_rng(seed)
    count = random.integers(0, 5, n)
    known = np.arange(k) < count[:, None]
    largest = np.where(known, -np.sort(-random.integers(1, 9, (n, k)), axis=1), 0).astype(float)
    who = np.where(known, random.integers(0, 3, (n, k)), -1)
    found = Contributions(
        count=count, weighted_count=count * 1.5, total=largest.sum(axis=1), largest=largest,
        largest_weight=known.astype(float), largest_contributor=who,
        largest_request=random.integers(0, 3, (n, 2)).astype(float),
        shortfall=random.choice([0, 0.5, np.inf], n), names=np.array(["p", "q", "r"], dtype=object),
    )  # fmt: skip
    back = Contributions.from_frame(found.to_frame())
    for name in ("count", "weighted_count", "total", "largest", "largest_weight", "shortfall"):
        assert np.array_equal(getattr(back, name), getattr(found, name))
    pairs = zip(found.largest_contributor.flat, back.largest_contributor.flat, strict=True)
    for ours, theirs in pairs:
        assert (ours < 0) == (theirs < 0)
        assert ours < 0 or found.name_of(ours) == back.name_of(theirs)


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("count", 1.5, "a whole number of contributors"),
        ("weighted_count", -1, "not negative"),
        ("total", np.inf, "a finite number"),
        ("shortfall", np.nan, "a number, not negative"),
        ("largest_1", "many", "a finite number, not negative"),
    ],
)
def test_a_frame_with_an_impossible_entry_is_refused_in_its_row(column, entry, message):
    frame = given_largest([1, 1], [5, 4], [[5], [4]]).to_frame().astype({column: object})
    frame.loc[1, column] = entry
    with pytest.raises(tc.InputError, match=f"row 2: column '{column}' is .*{message}"):
        Contributions.from_frame(frame)


def test_a_frame_without_a_column_is_refused():
    frame = given_largest([1], [5], [[5]]).to_frame()
    with pytest.raises(tc.InputError, match="column 'weight_1' is missing"):
        Contributions.from_frame(frame.drop(columns="weight_1"))
