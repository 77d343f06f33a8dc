"""Hierarchies: the same tree from every source, and trees that do not nest."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.tables.hierarchy import Dimension, as_dimensions, read_dimensions, topological_order

TREE = {"North": ["N1", "N2"], "South": {"SE": ["SE1", "SE2"], "SW": []}}


def test_the_same_tree_from_dictionary_file_frame_and_levels(tmp_path):
    expected = tc.Hierarchy.from_dict(TREE)
    (tmp_path / "r.hrc").write_text("North\n@N1\n@N2\nSouth\n@SE\n@@SE1\n@@SE2\n@SW\n")
    pairs = [(parent, child) for parent, below in expected.groups for child in below]
    levels = pd.DataFrame(
        [
            ("North", "N1", "N1"),
            ("North", "N2", "N2"),
            ("South", "SE", "SE1"),
            ("South", "SE", "SE2"),
            ("South", "SW", "SW"),
        ],
        columns=["l1", "l2", "l3"],
    )
    for found in (
        tc.Hierarchy.from_hrc(tmp_path / "r.hrc"),
        tc.Hierarchy.from_frame(pd.DataFrame(pairs, columns=["parent", "child"])),
        tc.Hierarchy.from_levels(levels, ["l1", "l2", "l3"]),
    ):
        assert set(found.groups) == set(expected.groups)
        assert set(found.leaves) == {"N1", "N2", "SE1", "SE2", "SW"}


def test_closure_counts_each_leaf_towards_all_codes_above_it():
    tree = tc.Hierarchy.from_dict(TREE)
    counts = dict(zip(tree.codes, tree.closure().sum(axis=1), strict=True))
    assert counts == {"Total": 5, "North": 2, "N1": 1, "N2": 1, "South": 3, "SE": 2, "SE1": 1,
                      "SE2": 1, "SW": 1}  # fmt: skip


def test_two_trees_that_do_not_nest_give_relations_for_both():
    by_region = tc.Hierarchy.from_dict({"North": ["a", "b"], "South": ["c", "d"]})
    by_coast = tc.Hierarchy.from_dict({"Coast": ["a", "c"], "Inland": ["b", "d"]})
    tree = tc.Hierarchy.combine(by_region, by_coast)
    frame = pd.DataFrame({"r": list("abcd"), "v": [1.0, 2.0, 4.0, 8.0]})
    table = tc.tabulate(frame, {"r": tree}, "v")
    values = dict(zip(table.keys["r"], table.values, strict=True))
    assert values == {"Total": 15, "North": 3, "South": 12, "Coast": 5, "Inland": 10,
                      "a": 1, "b": 2, "c": 4, "d": 8}  # fmt: skip
    assert table.n_relations == 6
    assert np.linalg.matrix_rank(table.relations.toarray()) == 5


def test_trees_over_different_leaves_are_refused():
    one, other = tc.Hierarchy.flat(["a", "b"]), tc.Hierarchy.flat(["a", "c"])
    with pytest.raises(tc.InputError, match="is a leaf in one tree but not in the other"):
        tc.Hierarchy.combine(one, other)


def test_group_that_misses_a_leaf_of_its_parent_is_refused():
    with pytest.raises(tc.InputError, match="does not count each leaf"):
        tc.Hierarchy("Total", (("Total", ("a", "b", "c")), ("Total", ("x", "c")), ("x", ("a",))))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_hrc_file_without_its_total_gets_one(tmp_path, end):
    """Codes with blanks before a digit, as tau-ARGUS writes them, and no line end at the end."""
    (tmp_path / "r.hrc").write_bytes(end.join(["A", "@ 1", "@ 2", "B", "@ 3", "@10"]).encode())
    tree = tc.Hierarchy.from_hrc(tmp_path / "r.hrc")
    assert tree.groups == (("Total", ("A", "B")), ("A", (" 1", " 2")), ("B", (" 3", "10")))


def test_tables_of_sdc_hierarchies():
    frame = pd.DataFrame(
        {"level": ["@", "@@", "@@@", "@@@", "@@"], "name": ["Tot", "A", "a1", "a2", "B"]}
    )
    tree = tc.Hierarchy.from_sdc_hierarchies(frame)
    assert tree.total == "Tot"
    assert tree.groups == (("Tot", ("A", "B")), ("A", ("a1", "a2")))
    with pytest.raises(tc.InputError, match="'a1' is listed twice"):
        tc.Hierarchy.from_sdc_hierarchies(frame.replace({"a2": "a1"}))


def test_an_empty_lead_string_is_refused(tmp_path):
    """Every text begins with it, again and again."""
    (tmp_path / "a.hrc").write_text("A\n@B\n")
    with pytest.raises(tc.InputError, match="lead string of the hierarchy is empty"):
        tc.Hierarchy.from_hrc(tmp_path / "a.hrc", lead="")


def test_a_mark_in_front_of_a_file_is_no_part_of_its_first_code(tmp_path):
    (tmp_path / "r.hrc").write_text("North\n@N1\n@N2\nSouth\n", encoding="utf-8-sig")
    assert tc.Hierarchy.from_hrc(tmp_path / "r.hrc").codes == (
        "Total",
        "North",
        "N1",
        "N2",
        "South",
    )


@pytest.mark.parametrize("given", [5, True, 2.5, {"N": 5}, {"N": "abc"}, {}])
def test_what_is_no_hierarchy_is_refused(given):
    frame = pd.DataFrame({"r": ["N1", "N2"], "v": [1, 2]})
    with pytest.raises(tc.InputError, match="[Hh]ierarchy"):
        tc.tabulate(frame, {"r": given}, "v")


def test_a_tree_may_be_deeper_than_the_stack():
    nested: object = {}
    for level in range(3000):
        nested = {f"c{level}": nested}
    assert len(tc.Hierarchy.from_dict(nested).codes) == 3001


def written(tmp_path, text, name="codes.hrc", **options) -> tc.Hierarchy:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return tc.Hierarchy.from_hrc(path, **options)


def test_nested_codes_are_read_from_the_top_down_in_their_order():
    tree = tc.Hierarchy.from_dict({"B": ["b2", "b1"], "A": {}}, "All")
    assert tree.total == "All"
    assert tree.groups == (("All", ("B", "A")), ("B", ("b2", "b1")))


@pytest.mark.parametrize("leaf", [{}, [], None, ""])
def test_nothing_below_a_code_makes_it_a_leaf(leaf):
    assert tc.Hierarchy.from_dict({"A": leaf}).groups == (("Total", ("A",)),)


@pytest.mark.parametrize("below", ["a1", 5])
def test_text_or_a_number_below_a_code_is_refused(below):
    with pytest.raises(tc.InputError, match="below 'A' stands"):
        tc.Hierarchy.from_dict({"A": below})


def test_codes_that_are_numbers_become_text():
    assert tc.Hierarchy.from_dict({1: [10, 11]}).groups == (("Total", ("1",)), ("1", ("10", "11")))


@pytest.mark.parametrize("name", ["codes.hrc", "codes.hrc.gz"])
def test_a_level_is_as_deep_as_its_line_has_signs(tmp_path, name):
    tree = written(tmp_path, "A\n@a1\n@@a11\n@a2\nB\n", name)
    assert tree.groups == (("Total", ("A", "B")), ("A", ("a1", "a2")), ("a1", ("a11",)))


def test_empty_lines_and_spaces_at_the_end_say_nothing(tmp_path):
    assert written(tmp_path, "A  \n\n  \n@a1\n").groups == (("Total", ("A",)), ("A", ("a1",)))


def test_another_sign_may_show_the_level(tmp_path):
    assert written(tmp_path, "A\n..a1\n", lead="..").groups == (("Total", ("A",)), ("A", ("a1",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\n@@a\n", "line 2: code 'a' is on level 3"),
        ("@a\n", "line 1: code 'a' is on level 2"),
        ("A\n@\n", "line 2: after '@' there is no code"),
        ("A\n@a\nB\n@a\n", "line 4: code 'a' is listed twice"),
        ("Total\n", "code 'Total' is listed twice"),
        ("", "this file is empty"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_in_its_line(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message):
        written(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path):
    path = tmp_path / "codes.hrc.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(tc.InputError, match=r"codes\.hrc\.gz: cannot be read"):
        tc.Hierarchy.from_hrc(path)
    with pytest.raises(tc.InputError, match="cannot be read"):
        written(tmp_path, "A", encoding="no-such-encoding")


def pairs(rows, total="") -> tc.Hierarchy:
    frame = pd.DataFrame(rows, columns=["above", "below"])
    return tc.Hierarchy.from_frame(frame, "above", "below", total)


def test_pairs_find_the_total_that_has_no_parent():
    tree = pairs([("A", "a1"), ("T", "A"), ("T", "B")])
    assert tree.total == "T"
    assert dict(tree.groups) == {"A": ("a1",), "T": ("A", "B")}


@pytest.mark.parametrize(
    ("rows", "total", "message"),
    [
        ([("A", "B"), ("B", "A")], "", "form a cycle"),
        ([("T", "A"), ("U", "B")], "", "U has no parent"),
        ([("T", "A")], "S", "T has no parent and is not the total 'S'"),
    ],
)
def test_pairs_that_are_no_tree_are_refused(rows, total, message):
    with pytest.raises(tc.InputError, match=message):
        pairs(rows, total)


def test_columns_of_levels_repeat_a_code_where_it_is_no_deeper():
    frame = pd.DataFrame({"one": ["A", "A", "B"], "two": ["a1", "a2", "B"]})
    tree = tc.Hierarchy.from_levels(frame, ["one", "two"])
    assert tree.groups == (("Total", ("A", "B")), ("A", ("a1", "a2")))


def test_a_code_of_two_parents_is_refused():
    frame = pd.DataFrame({"one": ["A", "B"], "two": ["x", "x"]})
    with pytest.raises(tc.InputError, match="'x' of column 'two' stands below 'A' and below 'B'"):
        tc.Hierarchy.from_levels(frame, ["one", "two"])
    with pytest.raises(tc.InputError, match="code 'x' has two parents, 'A' and 'B'"):
        tc.Hierarchy.from_dict({"A": ["x"], "B": ["x", "b"]})


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["@", "@@@"], "row 2, code 'c1', is on level 3"),
        (["@", "@"], "row 2"),
        (["@@"], "row 1"),
        (["@", "x"], "row 2 has no level of @"),
        ([], "row 1 has no level of @"),
    ],
)
def test_levels_of_sdc_hierarchies_begin_with_the_total_and_go_down_by_one(levels, message):
    frame = pd.DataFrame({"level": levels, "name": [f"c{at}" for at in range(len(levels))]})
    with pytest.raises(tc.InputError, match=message):
        tc.Hierarchy.from_sdc_hierarchies(frame)


def test_a_cycle_is_shown_from_code_to_code():
    children = {"T": ["A"], "A": ["B"], "B": ["C"], "C": ["A"]}
    with pytest.raises(tc.InputError, match="A > B > C > A form a cycle"):
        topological_order("T", children)


@pytest.mark.parametrize("children", [{"A": ["B"]}, {"T": []}])
def test_a_total_without_codes_below_it_is_refused(children):
    with pytest.raises(tc.InputError, match="total 'T'"):
        topological_order("T", children)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_every_parent_stands_before_its_children_also_where_codes_have_several(seed, n):
    random = np.random.default_rng(seed)
    children = {"0": []} | {str(at): [] for at in range(1, n + 1)}
    for at in range(1, n + 1):
        for parent in set(random.integers(0, at, 2).tolist()):
            children[str(parent)].append(str(at))
    order = topological_order("0", {code: below for code, below in children.items() if below})
    assert sorted(order) == sorted(children)
    place = {code: at for at, code in enumerate(order)}
    for code, below in children.items():
        assert all(place[code] < place[each] for each in below)


NESTED = {"A": ["a1", "a2"], "B": []}
DATA = pd.DataFrame({"division": ["A", "A", "B"], "group": ["a1", "a2", "B"]})


def resolved(given, data=DATA) -> tc.Hierarchy:
    (dimension,) = as_dimensions({"group": given}).values()
    return dimension.resolve(data)


def test_dictionaries_files_levels_and_hierarchies_give_the_same_tree(tmp_path):
    path = tmp_path / "industry.hrc"
    path.write_text("A\n@a1\n@a2\nB\n")
    tree = tc.Hierarchy.from_dict(NESTED)
    for form in (NESTED, tree, path, str(path), ["division", "group"]):
        found = resolved(form)
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
def test_what_is_no_hierarchy_is_refused_for_a_dimension(given):
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
