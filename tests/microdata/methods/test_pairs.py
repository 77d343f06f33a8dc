"""Random pairs of records under constraints."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.methods.swapping import PairConstraint, draw_pairs

CONSTRAINTS = [
    PairConstraint(["a"]),
    PairConstraint(["a"], "some"),
    PairConstraint(["a", "b"], "some"),
    PairConstraint(["a", "b"], "all"),
    PairConstraint(["a"], equal_on=["c"]),
    PairConstraint(["a"], differ_on=["c"]),
    PairConstraint(["a"], "all", equal_on=["c"], differ_on=["b"]),
]


def coded(seed: int, n: int) -> CodedRecords:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.integers(0, 3, n) for name in "abc"})
    return CodedRecords.of(frame)


def admitted(records: CodedRecords, constraint: PairConstraint, one: int, other: int) -> bool:
    """By the definition."""
    value = {name: records.codes[records.position(name)] for name in records.names}

    def differ(name: str) -> bool:
        return bool(value[name][one] != value[name][other])

    changes = [differ(name) for name in constraint.attributes]
    wanted = {"none": True, "some": any(changes), "all": all(changes)}[constraint.must_change]
    return (
        wanted
        and not any(differ(name) for name in constraint.equal_on)
        and all(differ(name) for name in constraint.differ_on)
    )


@settings(max_examples=25)
@given(seed=st.integers(0, 500), constraint=st.sampled_from(CONSTRAINTS))
def test_drawn_pairs_are_disjoint_and_satisfy_their_constraint(seed, constraint):
    records = coded(seed, 60)
    limit, _ = constraint.most_pairs(records)
    wanted = limit // 2
    pairs = draw_pairs(records, constraint, wanted, np.random.default_rng(seed))
    assert pairs.shape == (wanted, 2)
    assert len(set(pairs.ravel().tolist())) == 2 * wanted
    assert all(admitted(records, constraint, *pair) for pair in pairs.tolist())


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_pair_is_admitted_as_its_definition_says(constraint):
    records = coded(3, 12)
    pairs = np.array(list(itertools.combinations(range(12), 2)))
    expected = [
        admitted(records, PairConstraint(
            constraint.attributes, constraint.must_change, (), constraint.differ_on), *pair)
        for pair in pairs.tolist()
    ]  # fmt: skip
    assert constraint.admits(records, pairs).tolist() == expected


def most_by_search(records: CodedRecords, constraint: PairConstraint) -> int:
    """Largest matching, by trying all."""

    def best(left: frozenset[int]) -> int:
        if len(left) < 2:
            return 0
        one = min(left)
        rest = left - {one}
        found = best(rest)
        for other in rest:
            if admitted(records, constraint, one, other):
                found = max(found, 1 + best(rest - {other}))
        return found

    return best(frozenset(range(records.n_records)))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_no_more_pairs_are_possible_than_the_limit_says(constraint):
    for seed in range(3):
        records = coded(seed, 8)
        assert most_by_search(records, constraint) <= constraint.most_pairs(records)[0]


@pytest.mark.parametrize(("ones", "pairs"), [(5, 5), (7, 3), (9, 1), (10, 0)])
def test_the_largest_category_limits_the_pairs_that_must_change(ones, pairs):
    frame = pd.DataFrame({"a": ["x"] * ones + ["y"] * (10 - ones)})
    limit, why = PairConstraint(["a"], "all").most_pairs(CodedRecords.of(frame))
    assert limit == pairs
    if pairs < 5:
        assert "records agree in 'a'" in why


def test_the_limit_itself_is_reached_where_all_rare_records_are_needed():
    """Seven x and three y: each y needs an x, and not by chance alone."""
    frame = pd.DataFrame({"a": ["x"] * 7 + ["y"] * 3})
    pairs = draw_pairs(
        CodedRecords.of(frame), PairConstraint(["a"], "all"), 3, np.random.default_rng(0)
    )
    assert sorted(frame["a"].to_numpy()[pairs].ravel()) == ["x"] * 3 + ["y"] * 3


def test_every_unconstrained_pair_is_as_likely_as_any_other():
    records = coded(1, 4)
    random = np.random.default_rng(0)
    seen = [tuple(sorted(draw_pairs(records, CONSTRAINTS[0], 1, random)[0])) for _ in range(1200)]
    counts = [seen.count(pair) for pair in itertools.combinations(range(4), 2)]
    assert sum(counts) == 1200
    # 200 expected; five standard deviations are 65.
    assert all(135 < count < 265 for count in counts)


def test_a_demand_that_cannot_be_met_says_what_was_found():
    frame = pd.DataFrame({"a": ["x"] * 9 + ["y"]})
    with pytest.raises(tc.ModelError, match="Only 1 of 3 pairs were found"):
        draw_pairs(
            CodedRecords.of(frame), PairConstraint(["a"], "all"), 3, np.random.default_rng(0)
        )


def test_records_that_must_agree_are_numbered_by_their_combination():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 0]})
    records = CodedRecords.of(frame)
    assert PairConstraint(["a"], equal_on=["a", "b"]).strata(records).tolist() == [0, 1, 2, 2]
    assert PairConstraint(["a"]).strata(records).tolist() == [0] * 4
