"""Classes of the variable that a table adds up tell how large its contributors are."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.size_classes import range_of

SIZES = {"1-9": (1, 9), "10-49": (10, 49), "50-249": (50, 249), "250+": (250, 4000)}


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("50-99", (50, 99)),
        ("50 \u2013 99", (50, 99)),
        ("10T49", (10, 49)),
        ("10 bis 49", (10, 49)),
        ("50-249 employees", (50, 249)),
        ("1 000-4 999", (1000, 4999)),
        ("250+", (250, math.inf)),
        ("GE250", (250, math.inf)),
        ("250 and more", (250, math.inf)),
        ("<10", (0, 10)),
        ("under 10", (0, 10)),
        ("0", (0, 0)),
        ("North", None),
        ("99-50", None),
        ("47.11", None),
        ("A1-9", None),
    ],
)
def test_ranges_are_read_as_offices_write_them(code, ends):
    assert range_of(code) == ends


def firms(**columns) -> pd.DataFrame:
    random = np.random.default_rng(3)
    codes = random.choice(list(SIZES), 300)
    ends = np.array([SIZES[code] for code in codes])
    frame = pd.DataFrame({"size": codes, "employees": random.integers(ends[:, 0], ends[:, 1] + 1)})
    frame["region"] = random.choice(list("NSW"), 300)
    frame["turnover"] = frame["employees"] * random.integers(80, 200, 300)
    frame["firm"] = [f"f{number}" for number in range(300)]
    return frame.assign(**columns)


def warned(
    frame: pd.DataFrame, value: str | None, *, dimensions=("region", "size"), **options
) -> str:
    rules = [tc.MinimumFrequency(3)]
    roles = {name: name for name in ("contributor", "weight") if name in frame}
    table = tc.tabulate(frame, list(dimensions), value, contributor="firm", **roles)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", tc.TablecloakWarning)
        table.protect(*rules, floor=0, **options)
    return " ".join(str(each.message) for each in caught)


def test_a_table_by_classes_of_its_own_variable_is_warned_of():
    text = warned(firms(), "employees")
    assert "The codes of 'size' are ranges" in text and "250 n or more" in text
    weighted = firms(weight=np.arange(300) % 4 + 1.5)
    assert "'size' are ranges" in warned(weighted, "employees")
    assert "'size' are ranges" in warned(firms(), "employees", external_bounds=(0, 1e6))


def test_classes_of_another_variable_and_one_amount_outside_its_class_are_not():
    assert warned(firms(), "turnover") == ""
    assert warned(firms(), None) == ""
    assert warned(firms(), "employees", dimensions=["region"]) == ""
    moved = firms()
    moved.loc[moved["size"].eq("1-9").idxmax(), "employees"] = 10
    assert warned(moved, "employees") == ""


def test_whoever_gives_bounds_by_cell_is_not_warned():
    frame = firms()
    table = tc.tabulate(frame, ["region", "size"], "employees", contributor="firm")
    high = np.full(table.n_cells, 2 * table.values.max())
    assert warned(frame, "employees", external_bounds=(np.zeros(table.n_cells), high)) == ""
