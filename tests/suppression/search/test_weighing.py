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
