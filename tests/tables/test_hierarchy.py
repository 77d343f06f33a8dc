"""Hierarchies: the same tree from every source, and trees that do not nest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

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


def test_code_with_two_parents_in_one_tree_is_refused():
    with pytest.raises(tc.InputError, match="has two parents"):
        tc.Hierarchy.from_dict({"North": ["a"], "South": ["a", "b"]})


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
    with pytest.raises(tc.InputError, match="row 2, code 'A', is on level 3"):
        tc.Hierarchy.from_sdc_hierarchies(frame.replace({"@@": "@@@"}))
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
