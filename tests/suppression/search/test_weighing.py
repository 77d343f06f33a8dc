"""Last period's pattern is a wish about the same cells, whichever others there are."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc


def of(frame):
    return tc.tabulate(frame, ["r", "b"], "v").protect(tc.PPercent(10))


def test_cells_of_last_years_pattern_are_found_by_their_codes_in_a_table_with_others(tmp_path):
    rows = [(r, b, v) for r in "NSEW" for b in "xyz" for v in (40, 42, 44, 46)]
    alone = pd.DataFrame([("N", "u", 90), ("S", "u", 7)], columns=["r", "b", "v"])
    firms = pd.DataFrame(rows, columns=["r", "b", "v"])
    gone = (firms["r"] == "W") & (firms["b"] == "x")
    old = tc.suppress(of(pd.concat([firms[~gone], alone])))
    now = of(pd.concat([firms.iloc[::-1], alone]))
    assert old.problem.table.n_cells == now.table.n_cells - 1
    new = tc.suppress(now, previous=old, discount=1.0)
    hidden = [set(map(tuple, p.problem.table.keys[p.suppressed].to_numpy())) for p in (old, new)]
    assert hidden[0] == hidden[1]
    with pytest.raises(tc.InputError, match="tc.read_previous"):
        tc.suppress(now, previous=tmp_path / "p24.csv")
    with pytest.raises(tc.InputError, match="the dimensions"):
        tc.suppress(tc.examples.cox_rounded(), previous=old)


def test_the_best_is_meant_by_weights_and_cells_of_last_period_count_less():
    """A pattern that hides last period's cells again can hide more than one that need not."""
    problem = tc.examples.cox_rounded()
    plain = tc.suppress(problem)
    first = plain.verdict().splitlines()[2]
    assert first.startswith("How good: proved to be the best by the weights that were used;")
    assert "last period" not in (plain.verdict() + plain.summary()).lower()
    before = tc.suppress(problem, weights="unit").suppressed
    kept = tc.suppress(problem, previous=before, discount=0.25)
    again = int((kept.suppressed & before).sum())
    said = f"of {before.sum()} cells hidden last period {again} stay hidden (their weights are 25 %"
    assert said in kept.verdict() and said in kept.summary()


def test_cells_that_have_ceased_are_not_counted_among_those_of_last_period():
    rows = [(r, b, v) for r in "NSEW" for b in "xyz" for v in (40, 42, 44, 46)]
    firms = pd.DataFrame([*rows, ("N", "u", 90), ("S", "u", 7)], columns=["r", "b", "v"])
    old = tc.suppress(of(firms))
    now = of(firms[firms["r"] != "S"])
    keys = set(map(tuple, now.table.keys.to_numpy()))
    left = sum(tuple(cell) in keys for cell in old.problem.table.keys[old.suppressed].to_numpy())
    assert 0 < left < old.n_suppressed
    assert f"of {left} cells hidden last period" in tc.suppress(now, previous=old).verdict()
