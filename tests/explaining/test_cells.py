"""The cell that is asked about, in all ways to name it, and what is said if there is none."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.explaining.cells import cell_asked

TABLE = with_margins(
    pd.DataFrame({"region": ["North", "North", "South"], "branch": ["a=1", "b, c", "b, c"],
                  "v": [1.0, 2.0, 3.0]}),
    ["region", "branch"], "v",
)  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        "region=North, branch=a=1", "North, a=1", {"region": "North", "branch": "a=1"},
        ["North", "a=1"],
    ],
)  # fmt: skip
def test_a_cell_is_named_by_codes_in_any_form(given):
    assert cell_asked(TABLE, given) == TABLE.cell(region="North", branch="a=1")


def test_a_code_with_a_comma_stands_in_quotes_and_numbers_are_numbers():
    assert cell_asked(TABLE, 'South, "b, c"') == TABLE.cell(region="South", branch="b, c")
    assert cell_asked(TABLE, 2) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Noth, a=1", r"no cell \(region=Noth, branch=a=1\). Did you mean \(region=North, branch"),
        ("South, a=1", r"Did you mean \(region=North, branch=a=1\) or \(region=Total"),
        ("a=1, North", r"Did you mean \(region=North, branch=a=1\) or"),
        ("North", "has 2 codes"),
        ("", "has 2 codes"),
        ("regio=North, branch=a=1", "Did you mean 'region'"),
        ("region=North", "has 2 codes|needs a code for branch"),
        ({"region": "North"}, "needs a code for branch"),
        (99, "cells 0 to"),
        (-1, "cells 0 to"),
        (1.5, "must be a number, codes, or a text"),
    ],
)
def test_an_unknown_cell_is_answered_with_the_nearest_ones(given, message):
    with pytest.raises(tc.InputError, match=message):
        cell_asked(TABLE, given)
