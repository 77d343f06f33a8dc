"""Rows and columns of a release: the same cells in another place, markers for those hidden."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.formats.layouts import Layout

TREE = tc.Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1"]})
YEARS = tc.Hierarchy.flat(["2024", "2025"])
HIERARCHIES = {"region": TREE, "year": YEARS}


def released(hidden: tuple[int, ...] = ()) -> pd.DataFrame:
    """A table of regions and years in published order, some cells without a value."""
    keys = list(itertools.product(TREE.codes, YEARS.codes))
    frame = pd.DataFrame(keys, columns=["region", "year"])
    values = pd.array(10.5 * np.arange(len(frame)), dtype="Float64")
    values[list(hidden)] = pd.NA
    status = np.where(np.isin(np.arange(len(frame)), hidden), "suppressed", "published")
    return frame.assign(turnover=values, status=status)


def test_a_wide_table_has_each_cell_where_its_codes_meet():
    frame = released(hidden=(4, 7))
    wide = Layout("wide", "year", ":").wide(frame, "turnover", HIERARCHIES)
    assert wide.header == ["Total", "2024", "2025"]
    shown = wide.frame().set_index("region")
    for row in frame.itertuples():
        entry = shown.loc[row.region, row.year]
        assert entry == (":" if row.status == "suppressed" else row.turnover)
    assert int(wide.hidden.sum()) == 2


def test_what_lies_under_the_mask_of_a_missing_value_is_not_written():
    data = np.array([7351829.0, 5.0])
    frame = pd.DataFrame({"region": ["a", "b"], "year": ["1", "1"]}).assign(
        turnover=pd.arrays.FloatingArray(data, np.array([True, False])),
        status=["suppressed", "published"],
    )
    assert Layout("wide", "year").wide(frame, "turnover", {}).entries.tolist() == [["c"], [5]]


def test_a_cell_that_is_not_listed_is_empty_and_columns_keep_their_order():
    # The first row lacks the total and the first year: what is seen first is not what comes first.
    frame = released().iloc[2:].reset_index(drop=True)
    wide = Layout("wide", "year").wide(frame, "turnover", HIERARCHIES)
    assert wide.header == ["Total", "2024", "2025"]
    assert wide.entries[0].tolist() == ["", "", 21]


@pytest.mark.parametrize("columns", ["year", "region"])
def test_totals_last_stand_behind_their_parts_in_rows_and_columns(columns):
    layout = Layout("wide", columns, totals="last")
    ordered = layout.ordered(released(), "turnover", HIERARCHIES)
    wide = layout.wide(ordered, "turnover", HIERARCHIES)
    regions = ["N1", "N2", "North", "S1", "South", "Total"]
    years = ["2024", "2025", "Total"]
    rows = wide.keys.iloc[:, 0].tolist()
    assert (rows, wide.header) == ((regions, years) if columns == "year" else (years, regions))


def test_long_tables_may_have_totals_last_too():
    ordered = Layout(totals="last").ordered(released(), "turnover", HIERARCHIES)
    assert ordered.year.tolist()[:3] == ["2024", "2025", "Total"]
    assert ordered.region.tolist()[-1] == "Total"
    back = ordered.sort_values(["turnover"]).reset_index(drop=True)
    assert back.turnover.tolist() == released().turnover.tolist()


def test_several_variables_are_columns_beside_years():
    frames = [released().assign(variable=name) for name in ("wages", "turnover")]
    frame = pd.concat(frames, ignore_index=True)[["variable", "region", "year", "turnover"]]
    wide = Layout("wide", ["variable", "year"]).wide(frame, "turnover", HIERARCHIES)
    assert wide.header[:4] == ["wages | Total", "wages | 2024", "wages | 2025", "turnover | Total"]
    assert wide.keys.region.tolist() == list(TREE.codes)
    assert (wide.entries[:, :3] == wide.entries[:, 3:]).all()


def test_a_code_that_is_the_name_of_a_dimension_is_told_apart():
    frame = released().replace({"2024": "region"})
    wide = Layout("wide", "year").wide(frame, "turnover", {"region": TREE})
    assert wide.frame().columns.is_unique
    assert wide.header[1] == "year=region"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "broad"}, "There is no layout 'broad'"),
        ({"totals": "middle"}, "There is no layout 'middle'"),
        ({"name": "wide"}, "A wide layout needs `columns`"),
        ({"columns": "year"}, "A wide layout needs `columns`"),
        *(
            ({"name": "wide", "columns": "year", "marker": marker}, "The marker")
            for marker in ("", " ", "0", "c1", "=x", "-")
        ),
    ],
)
def test_a_layout_that_makes_no_sense_is_refused(options, message):
    with pytest.raises(tc.InputError, match=message):
        Layout(**options)


def test_columns_are_dimensions_and_leave_one_for_the_rows():
    with pytest.raises(tc.InputError, match="There is no dimension 'yaer'. Did you mean 'year'"):
        Layout("wide", "yaer").wide(released(), "turnover", HIERARCHIES)
    with pytest.raises(tc.InputError, match="A wide table needs a dimension for its rows"):
        Layout("wide", ["year", "region"]).wide(released(), "turnover", HIERARCHIES)
