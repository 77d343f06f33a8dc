"""Trees of codes as they are read: what each form means, and what it must not mean."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.tables import trees


def written(tmp_path, text, name="codes.hrc", **options) -> trees.Tree:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return trees.hrc(path, "Total", **options)


def test_nested_codes_are_read_from_the_top_down_in_their_order():
    tree = trees.nested({"B": ["b2", "b1"], "A": {}}, "All")
    assert tree.total == "All"
    assert tree.groups == [("All", ("B", "A")), ("B", ("b2", "b1"))]


@pytest.mark.parametrize("leaf", [{}, [], None, ""])
def test_nothing_below_a_code_makes_it_a_leaf(leaf):
    assert trees.nested({"A": leaf}, "Total").groups == [("Total", ("A",))]


@pytest.mark.parametrize("below", ["a1", 5])
def test_text_or_a_number_below_a_code_is_refused(below):
    with pytest.raises(tc.InputError, match="below 'A' stands"):
        trees.nested({"A": below}, "Total")


def test_codes_that_are_numbers_become_text():
    assert trees.nested({1: [10, 11]}, "Total").groups == [("Total", ("1",)), ("1", ("10", "11"))]


@pytest.mark.parametrize("name", ["codes.hrc", "codes.hrc.gz"])
def test_a_level_is_as_deep_as_its_line_has_signs(tmp_path, name):
    tree = written(tmp_path, "A\n@a1\n@@a11\n@a2\nB\n", name)
    assert tree.groups == [("Total", ("A", "B")), ("A", ("a1", "a2")), ("a1", ("a11",))]


def test_empty_lines_and_spaces_at_the_end_say_nothing(tmp_path):
    assert written(tmp_path, "A  \n\n  \n@a1\n").groups == [("Total", ("A",)), ("A", ("a1",))]


def test_another_sign_may_show_the_level(tmp_path):
    assert written(tmp_path, "A\n..a1\n", lead="..").groups == [("Total", ("A",)), ("A", ("a1",))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A\n@@a\n", "line 2: code 'a' is on level 3"),
        ("@a\n", "line 1: code 'a' is on level 2"),
        ("A\n@\n", "line 2: after '@' there is no code"),
        ("A\n@a\nB\n@a\n", "line 4: code 'a' is listed twice"),
        ("Total\n", "code 'Total' is listed twice"),
        ("", "no code found"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_in_its_line(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message):
        written(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path):
    path = tmp_path / "codes.hrc.gz"
    path.write_bytes(b"no archive")
    with pytest.raises(tc.InputError, match=r"codes\.hrc\.gz: cannot be read"):
        trees.hrc(path, "Total")
    with pytest.raises(tc.InputError, match="cannot be read"):
        written(tmp_path, "A", encoding="no-such-encoding")


def pairs(rows, total="") -> trees.Tree:
    frame = pd.DataFrame(rows, columns=["above", "below"])
    return trees.pairs(frame, "above", "below", total)


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
    tree = trees.levels(frame, ["one", "two"], "Total")
    assert tree.groups == [("Total", ("A", "B")), ("A", ("a1", "a2"))]


def test_a_code_of_two_parents_is_refused():
    frame = pd.DataFrame({"one": ["A", "B"], "two": ["x", "x"]})
    with pytest.raises(tc.InputError, match="'x' of column 'two' stands below 'A' and below 'B'"):
        trees.levels(frame, ["one", "two"], "Total")
    with pytest.raises(tc.InputError, match="code 'x' has two parents, 'A' and 'B'"):
        trees.check_parents(trees.nested({"A": ["x"], "B": ["x"]}, "Total"))


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
        trees.sdc_hierarchies(frame, "level", "name")


def test_a_cycle_is_shown_from_code_to_code():
    children = {"T": ["A"], "A": ["B"], "B": ["C"], "C": ["A"]}
    with pytest.raises(tc.InputError, match="A > B > C > A form a cycle"):
        trees.topological_order("T", children)


@pytest.mark.parametrize("children", [{"A": ["B"]}, {"T": []}])
def test_a_total_without_codes_below_it_is_refused(children):
    with pytest.raises(tc.InputError, match="total 'T'"):
        trees.topological_order("T", children)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_every_parent_stands_before_its_children_also_where_codes_have_several(seed, n):
    random = np.random.default_rng(seed)
    children = {"0": []} | {str(at): [] for at in range(1, n + 1)}
    for at in range(1, n + 1):
        for parent in set(random.integers(0, at, 2).tolist()):
            children[str(parent)].append(str(at))
    order = trees.topological_order("0", {code: below for code, below in children.items() if below})
    assert sorted(order) == sorted(children)
    place = {code: at for at, code in enumerate(order)}
    for code, below in children.items():
        assert all(place[code] < place[each] for each in below)
