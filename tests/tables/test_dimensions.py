"""The ways to give a dimension all lead to one hierarchy."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.dimensions import Dimension, as_dimensions, read_dimensions

NESTED = {"A": ["a1", "a2"], "B": []}
DATA = pd.DataFrame({"division": ["A", "A", "B"], "group": ["a1", "a2", "B"]})


def resolved(given, data=DATA) -> tc.Hierarchy:
    (dimension,) = as_dimensions({"group": given}).values()
    return dimension.resolve(data)


def test_dictionaries_files_levels_and_hierarchies_give_the_same_tree(tmp_path):
    path = tmp_path / "industry.hrc"
    path.write_text("A\n@a1\n@a2\nB\n")
    tree = tc.Hierarchy.from_dict(NESTED)
    for given in (NESTED, tree, path, str(path), ["division", "group"]):
        found = resolved(given)
        assert found.groups == tree.groups
        assert found.total == "Total"


def test_without_a_hierarchy_all_codes_stand_below_the_total_in_their_order():
    data = pd.DataFrame({"group": ["b", "a", None, "b", "Total"]})
    found = resolved(None, data)
    assert list(found.groups) == [("Total", ("a", "b"))]


def test_a_dimension_may_have_another_name_than_its_column():
    found = as_dimensions({"industry": Dimension("nace", levels=["division", "group"])})
    assert found["industry"].columns == ("division", "group")
    assert found["industry"].column == "nace"
    assert as_dimensions(["region"])["region"].columns == ("region",)


def test_the_total_may_have_any_code_that_is_one():
    data = pd.DataFrame({"group": ["a", "ALL"]})
    assert Dimension("group", total="ALL").resolve(data).total == "ALL"
    for total in ("", "  ", None):
        with pytest.raises(tc.InputError, match="code of the total"):
            Dimension("group", total=total)


@pytest.mark.parametrize("given", [3, ("a", 5), {1, 2}])
def test_what_is_no_hierarchy_is_refused(given):
    with pytest.raises(tc.InputError, match="is no hierarchy"):
        Dimension("group", hierarchy=given)


def test_text_is_no_list_of_dimensions():
    with pytest.raises(tc.InputError, match="not the text 'region'"):
        as_dimensions("region")
    with pytest.raises(tc.InputError, match="is empty"):
        as_dimensions([])


def test_a_column_of_nothing_but_the_total_is_no_dimension():
    with pytest.raises(tc.InputError, match="no code besides the total"):
        resolved(None, pd.DataFrame({"group": ["Total", None]}))


def test_a_ready_table_needs_its_totals():
    codes = {"group": pd.Series(["a", "b"])}
    with pytest.raises(tc.InputError, match="no row has the code 'Total' of the total"):
        read_dimensions(["group"], codes)
    with_total = {"group": pd.Series(["a", "b", "ALL"])}
    found = read_dimensions({"group": Dimension("group", total="ALL")}, with_total)
    assert list(found["group"].leaves) == ["a", "b"]


def test_columns_of_levels_are_for_microdata_only():
    with pytest.raises(tc.InputError, match="level columns division, group work for microdata"):
        read_dimensions({"group": ["division", "group"]}, {"group": DATA.group})
