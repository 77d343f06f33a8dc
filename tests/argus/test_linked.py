"""Several tables as one problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.argus.linked import linked, positions

FRAME = pd.DataFrame(
    [(a, b, c, 10.0 * a + b + c) for a in (1, 2) for b in (3, 4) for c in (5, 6)],
    columns=["a", "b", "c", "v"],
).astype({"a": str, "b": str, "c": str})


def problem_of(names: list[str], status: dict[tuple[str, ...], str], level: float = 2.0):
    table = with_margins(FRAME, names, "v")
    letters = np.array([status.get(key, "s") for key in table.keys.itertuples(False, None)])
    levels = np.where(letters == "u", level, 0.0)
    n = table.n_cells
    return tc.ProtectionProblem(
        table, letters, levels, 2 * levels, np.zeros(n), np.zeros(n), np.full(n, 500.0),
        np.ones(n), reasons=np.where(letters == "u", "rule", ""),
    )  # fmt: skip


def test_cells_of_a_part_lie_where_all_other_dimensions_are_total():
    one = problem_of(["a", "b"], {})
    other = problem_of(["a", "c"], {})
    whole = linked([one, other]).table
    for part in (one.table, other.table):
        at = positions(whole, part)
        assert np.array_equal(whole.values[at], part.values)
        for name in whole.keys.columns:
            codes = whole.keys[name].iloc[at].tolist()
            expected = part.keys[name].tolist() if name in part.keys else ["Total"] * len(at)
            assert codes == expected


def test_common_margins_are_one_cell():
    one, other = problem_of(["a", "b"], {}), problem_of(["a", "c"], {})
    # 9 + 9 cells, of which a and the total are common.
    assert linked([one, other]).table.n_cells == 9 + 9 - 3


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [("s", "z", "z"), ("z", "m", "m"), ("m", "u", "u"), ("u", "s", "u"), ("s", "s", "s")],
)
def test_of_two_statuses_the_stronger_counts(first, second, both):
    one = problem_of(["a", "b"], {("1", "Total"): first})
    other = problem_of(["a", "c"], {("1", "Total"): second})
    found = linked([one, other])
    at = positions(found.table, one.table)[one.table.cell(a="1", b="Total")]
    assert found.status[at] == both


@pytest.mark.parametrize("levels", [(2.0, 7.0), (7.0, 2.0)])
def test_the_larger_of_two_levels_counts_and_the_first_reason(levels):
    one = problem_of(["a", "b"], {("1", "Total"): "u"}, level=levels[0])
    other = problem_of(["a", "c"], {("1", "Total"): "u"}, level=levels[1])
    found = linked([one, other])
    at = positions(found.table, one.table)[one.table.cell(a="1", b="Total")]
    assert (found.lower_protection[at], found.upper_protection[at]) == (7, 14)
    assert found.reasons[at] == "rule"


def test_a_table_is_its_own_part():
    table = problem_of(["a"], {}).table
    assert positions(table, table).tolist() == [0, 1, 2]
