"""What cells add up and who stands behind them, beside grouping records by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Appetite, Project
from tablecloak.safe.tables.measures import CellMeasure, broken_rules, levels
from tablecloak.safe.tables.request import TableAxis, TableGrid


def measure_of(seed=0, adds="sum", *, n=60, amounts=None, who=None, weights=None):
    rng = np.random.default_rng(seed)
    row, column = rng.integers(-1, 3, n), rng.integers(-1, 2, n)
    grid = TableGrid(
        TableAxis(row.astype(np.int64), np.arange(4), 3),
        TableAxis(column.astype(np.int64), np.arange(3), 2),
    )
    amounts = rng.normal(10, 8, n).round(1) if amounts is None else amounts
    who = rng.integers(0, 25, n) if who is None else who
    measure = CellMeasure(adds, "v", grid, grid.group, amounts, who, weights, 2, 4)
    frame = pd.DataFrame({"row": row, "column": column, "amount": amounts, "who": who})
    return measure, frame[(row >= 0) & (column >= 0)]


def cells(frame):
    """The records of each cell, totals included, in the order of the grid."""
    for r, c in itertools.product(range(4), range(3)):
        yield frame[((frame.row == r) | (r == 3)) & ((frame.column == c) | (c == 2))]


def test_sums_and_contributors_of_cells_are_those_of_their_records():
    for seed in range(4):
        measure, frame = measure_of(seed)
        one, two, several, _ = measure.largest
        for cell, records in enumerate(cells(frame)):
            assert measure.values[cell] == pytest.approx(records.amount.sum())
            assert measure.absolute[cell] == pytest.approx(records.amount.abs().sum())
            by_who = records.groupby("who").amount.sum().abs().sort_values(ascending=False)
            assert measure.n[cell] == len(by_who)
            assert one[cell] == pytest.approx(by_who.iloc[:1].sum())
            assert two[cell] == several[cell] == pytest.approx(by_who.iloc[:2].sum())


def test_a_measure_is_signed_if_a_record_in_the_table_is_negative():
    negative = np.full(60, 1.0)
    measure, frame = measure_of(amounts=negative)
    assert not measure.is_signed
    outside = np.flatnonzero(measure.group < 0)[0]
    negative[outside] = -5
    assert not measure_of(amounts=negative)[0].is_signed
    negative[frame.index[0]] = -5
    assert measure_of(amounts=negative)[0].is_signed


def test_only_counts_without_weights_are_whole():
    ones = np.ones(60)
    assert measure_of(adds="count", amounts=ones)[0].is_whole
    assert not measure_of(adds="count", amounts=ones, weights=ones)[0].is_whole
    assert not measure_of(adds="sum", amounts=ones)[0].is_whole


def test_each_rule_is_broken_as_its_definition_says():
    limits = Appetite(safe_threshold=4, safe_pratio_p=0.2, safe_nk_k=0.8)
    counted = dict.fromkeys(("threshold", "zeros", "p-ratio", "nk-rule"), 0)
    for seed in range(8):
        measure, frame = measure_of(seed, n=40)
        broken = broken_rules(measure, limits)
        for cell, records in enumerate(cells(frame)):
            by_who = records.groupby("who").amount.sum().abs().sort_values(ascending=False)
            total = records.amount.abs().sum()
            rest = total - by_who.iloc[:2].sum()
            held = by_who.iloc[:2].sum() >= 0.8 * total - 1e-9
            expected = {
                "threshold": 0 < len(by_who) < 4
                or (total > 0 and by_who.iloc[3:].sum() < 0.01 * total),
                "zeros": not len(by_who) or records.amount.sum() == 0,
                "p-ratio": bool(len(by_who)) and rest < 0.2 * by_who.iloc[0] - 1e-9,
                "nk-rule": bool(len(by_who)) and held,
            }
            for rule, is_broken in expected.items():
                assert broken[rule][cell] == is_broken, (seed, cell, rule)
                counted[rule] += is_broken
    assert min(counted[rule] for rule in ("threshold", "p-ratio", "nk-rule")) > 3


@pytest.mark.parametrize("is_weighted", [False, True])
def test_who_differs_from_the_value_that_half_of_a_cell_share_is_judged_as_a_group(is_weighted):
    limits = Appetite(safe_threshold=4, safe_pratio_p=0.2)
    n_few = n_dominated = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        values = np.where(rng.random(60) < 0.7, 70.3, rng.lognormal(3, 1.2, 60).round(1) + 80)
        weights = rng.integers(1, 4, 60) / 4 if is_weighted else None
        amounts = values * weights if is_weighted else values
        measure, frame = measure_of(seed, amounts=amounts, weights=weights)
        broken = broken_rules(measure, limits)
        for cell, records in enumerate(cells(frame)):
            having = records.assign(value=values[records.index]).groupby("value").who.nunique()
            if having.max() < 2 or 2 * having.max() < records.who.nunique():
                continue
            apart = (values - 70.3)[records.index] * (amounts / values)[records.index]
            sizes = pd.Series(apart[apart > 0]).groupby(records.who.to_numpy()[apart > 0]).sum()
            sizes = sizes.sort_values(ascending=False)
            if 0 < len(sizes) < 4:
                n_few += 1
                assert broken["threshold"][cell]
            elif len(sizes) and sizes.iloc[2:].sum() < 0.2 * sizes.iloc[0]:
                n_dominated += 1
                assert broken["p-ratio"][cell]
    assert n_few > 20
    assert n_dominated


def test_counts_are_judged_by_the_threshold_alone_and_zeros_where_they_may_be_told():
    measure, _ = measure_of(adds="count", amounts=np.ones(60))
    assert set(broken_rules(measure, Appetite())) == {"threshold", "zeros"}
    assert set(broken_rules(measure, Appetite(zeros_are_disclosive=False))) == {"threshold"}


def test_a_small_count_must_be_able_to_reach_the_threshold_and_others_to_move_by_one():
    limits = Appetite(safe_threshold=6)
    measure, _ = measure_of(n=30, adds="count", amounts=np.ones(30), who=np.arange(30))
    everything = np.ones(measure.grid.n_cells, dtype=bool)
    low, high = levels(measure, everything, limits)
    values = measure.values
    small = (values > 0) & (values < 6)
    assert small.any()
    assert (values[small] + high[small] >= 6).all()
    assert (high[~small] == 1).all()
    assert (low == np.minimum(values, 1)).all()
    low, high = levels(measure, ~everything, limits)
    assert not low.any()
    assert not high.any()


def test_a_sum_must_be_able_to_move_until_it_breaks_no_rule():
    """With so much more from others, what the rules compare is where they ask it to be."""
    limits = Appetite(safe_pratio_p=0.3, safe_nk_k=0.7)
    for seed in range(4):
        amounts = np.random.default_rng(seed).lognormal(1, 1.5, 60)
        measure, _ = measure_of(seed, amounts=amounts)
        low, high = levels(measure, np.ones(measure.grid.n_cells, dtype=bool), limits)
        one, two, several, _ = measure.largest
        moved = measure.absolute + high
        assert (moved - two >= 0.3 * one - 1e-9).all()
        assert (several <= 0.7 * moved + 1e-9).all()
        # Nobody can be expected to believe in a sum below zero of amounts that are not.
        assert (low <= measure.values + 1e-9).all()
        assert (high > 0).all()


def test_digits_of_few_are_told_by_what_the_amounts_of_others_are_multiples_of():
    people = pd.DataFrame({"area": ["N", "S"] * 60, "income": 100.0 * np.arange(300, 420)})
    people.loc[[4, 8], "income"] += 37
    shown = Project({"safe_threshold": 5}).pivot_table(people, "income", "area", aggfunc="sum")
    (reason,) = shown.outcome.reasons
    assert (reason.status, reason.rule) == ("review", "digits")
    assert "most values of income are multiples of 100, and those of fewer than 5" in reason.text
    assert reason.text.endswith("Round income to multiples of 100 first")


def test_a_column_that_others_add_up_to_is_told_with_their_outputs():
    random = np.random.default_rng(3)
    people = pd.DataFrame(random.lognormal(3, 0.4, (400, 2)).round(), columns=["wage", "rent"])
    people["area"], people["sex"] = np.array(["N", "S"] * 200), np.array(["m", "m", "f", "f"] * 100)
    people["income"] = people.wage + people.rent
    project = Project({"safe_threshold": 5})
    for value in ("wage", "rent"):
        project.pivot_table(people, value, "area", aggfunc="sum")
    shown = project.pivot_table(people, "income", "sex", aggfunc="sum")
    (reason,) = shown.outcome.reasons
    assert (reason.status, reason.rule) == ("review", "search")
    assert "income of this output is" in reason.text
    assert "multiples of wage of output_0 and rent of output_1" in reason.text
