"""Whoever adds up, an engine, numpy or pandas, the table is the same to the last digit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors
from random_records import assert_same_tables, random_records, reader, through
from tablecloak.tables.tabulation import queries

SEEDS = range(5)
"""Seeds of random files of records, one for each kind of values."""

ASKED = {"contributor", "n_largest", "weight", "holding", "waiver", "waiver_p", "tables"}
"""What they ask for together, so that a further seed would only repeat it."""


@pytest.mark.filterwarnings("ignore:Some contributions are negative")
def test_all_plans_give_the_same_tables_of_random_records(monkeypatch):
    cells, asked = 0, set[str]()
    for seed in SEEDS:
        frame, trees, options = random_records(seed)
        through("numpy", monkeypatch)
        here = tc.tabulate(frame, trees, "v", **options)
        through("engine", monkeypatch)
        there = tc.tabulate(frame.sample(frac=1, random_state=seed), trees, "v", **options)
        cells += assert_same_tables(here, there)
        pure = tc.tabulate(frame[::-1], trees, "v", engine="pandas", **options)
        assert_same_tables(here, pure)
        assert_same_tables(here, with_contributors(frame, trees, "v", **options))
        asked |= set(options)
    assert cells > 30 * len(SEEDS)
    assert asked == ASKED


@pytest.mark.parametrize("plan", ["engine", "numpy", "pandas"])
def test_sums_of_decimal_numbers_are_the_decimal_numbers(monkeypatch, plan):
    """0.1 + 0.2 is 0.3, for a cell, a contributor and a margin."""
    through(plan, monkeypatch)
    frame = pd.DataFrame({"a": list("xxyz"), "f": list("pppq"), "v": [0.1, 0.2, 0.4, 0.6]})
    table = tc.tabulate(frame, ["a"], "v", contributor="f", n_largest=1, engine=reader(plan))
    assert table.values.tolist() == [1.3, 0.3, 0.4, 0.6]
    assert table.contributions.total.tolist() == [1.3, 0.3, 0.4, 0.6]
    assert table.contributions.largest.ravel().tolist() == [0.7, 0.3, 0.4, 0.6]


@pytest.mark.parametrize("plan", ["engine", "numpy", "pandas"])
def test_requests_for_protection_reach_the_margins(monkeypatch, plan):
    through(plan, monkeypatch)
    frame = pd.DataFrame({
        "a": list("xxyyz"), "b": list("ppqqq"), "f": list("stsuv"),
        "v": [5.0, 7, 6, 2, 9], "r": [1, 0, 0, 2, 0],
    })  # fmt: skip
    asked = {"contributor": "f", "request": "r", "engine": reader(plan)}
    table = tc.tabulate(frame, ["a", "b"], "v", **asked)
    found = dict(
        zip(map(tuple, table.keys.to_numpy()), table.contributions.largest_request, strict=True)
    )
    # The request of s counts for all that it contributes to a margin.
    assert found["Total", "Total"].tolist() == [11, 2]
    assert found["x", "Total"].tolist() == [5, 0]
    assert found["y", "q"].tolist() == [0, 2]
    assert found["z", "q"].tolist() == [0, 0]


@pytest.mark.parametrize("plan", ["engine", "numpy", "pandas"])
@pytest.mark.parametrize("contributor", ["f", None])
def test_contributors_in_no_holding_are_holdings_of_their_own(monkeypatch, plan, contributor):
    through(plan, monkeypatch)
    frame = pd.DataFrame({
        "a": list("xxxxyy"), "f": list("stuvwz"), "v": [9, 8, 7, 6, 5, 4],
        "empty": ["G", None, "G", "", " ", None], "told": ["G", "t", "G", "v", "w", "z"],
    })  # fmt: skip
    given = {"contributor": contributor, "engine": reader(plan)}
    one, two = (tc.tabulate(frame, ["a"], "v", holding=name, **given) for name in ("empty", "told"))
    assert one.holdings.count.tolist() == two.holdings.count.tolist() == [5, 3, 2]
    assert one.holdings.largest.tolist() == two.holdings.largest.tolist()


@pytest.mark.filterwarnings("ignore:Some contributions are negative")
@pytest.mark.parametrize("seed", [0, 2])
def test_records_are_contributors_where_none_are_named(monkeypatch, seed):
    """Also where the engine is asked for leaves in parts, with cells of their own."""
    frame, trees, options = random_records(seed)
    options = {name: of for name, of in options.items() if name not in ("contributor", "holding")}
    numbered = frame.assign(firm=[f"{number:04d}" for number in range(len(frame))])
    named = tc.tabulate(numbered, trees, "v", contributor="firm", **options)
    tables = []
    for plan, at_once in (("engine", 10**6), ("numpy", 10**6), ("numpy", 7)):
        through(plan, monkeypatch)
        monkeypatch.setattr(queries, "GROUPS_AT_ONCE", at_once)
        tables.append(tc.tabulate(frame, trees, "v", **options))
        assert_same_tables(tables[0], tables[-1])
    one, two = named.contributions, tables[0].contributions
    assert np.array_equal(one.count, two.count)
    assert np.array_equal(one.largest, two.largest)
    largest = [of.names[of.largest_contributor[of.largest > 0]] for of in (one, two)]
    assert list(map(int, largest[0])) == list(largest[1])


@pytest.mark.parametrize("contributor", ["firm", None])
def test_contributors_of_leaves_are_the_same_through_every_engine(contributor):
    for seed in SEEDS:
        frame, trees, options = random_records(seed)
        one, two = (
            tc.contributed(
                frame, trees, "v", contributor=contributor, weight=options.get("weight"), engine=of
            )
            for of in ("duckdb", "pandas")
        )
        assert (one.own != two.own).nnz == 0
        assert one.names.tolist() == two.names.tolist()
        for name in ("leaves", "totals"):
            assert (getattr(one, name) == getattr(two, name)).all()
