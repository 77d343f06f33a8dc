"""Files of perturbation tables."""

from __future__ import annotations

import stat

import numpy as np
import pytest

from tablecloak.cellkey import (
    KeyRows,
    design_count_table,
    design_magnitude_table,
    read_magnitude_tables,
    read_perturbations,
    write_perturbations,
)
from tablecloak.errors import InputError

COUNTS = design_count_table(5, 3, blocked=2, stay=0.5)


def test_a_table_for_counts_comes_back_as_it_was(tmp_path):
    write_perturbations(COUNTS, tmp_path / "p.csv")
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "i;j;p;v;p_int_ub"
    assert read_perturbations(tmp_path / "p.csv").to_frame().equals(COUNTS.to_frame())
    assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == 0o600


def test_tables_for_magnitudes_keep_their_types(tmp_path):
    even, odd = (design_magnitude_table(5, v, [1, 5], kind=k) for v, k in ((1, "even"), (2, "odd")))
    write_perturbations([even, odd], tmp_path / "p.csv")
    found = read_magnitude_tables(tmp_path / "p.csv")
    assert sorted(found) == ["even", "odd"]
    assert found["odd"].to_frame().equals(odd.to_frame())
    with pytest.raises(InputError, match="holds 2 tables, by type"):
        read_perturbations(tmp_path / "p.csv")


def test_the_layout_of_the_ons_comes_back_as_it_was(tmp_path):
    table = KeyRows.rounding(n_rows=20, n_keys=4)
    write_perturbations(table, tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text().startswith("pcv,ckey,pvalue\n1,0,-1\n")
    assert np.array_equal(read_perturbations(tmp_path / "p.csv").change, table.change)


def test_the_published_table_of_the_ons_rounds_from_ten_on(instances):
    found = read_perturbations(instances / "ons-cell-key" / "ptable_10_5_rule.csv.gz")
    assert np.array_equal(found.change, KeyRows.rounding().change)


@pytest.mark.parametrize("bound", ["p_ij_ub", "p_int_ub"])
def test_both_names_of_bounds_in_files_of_tau_argus_are_read(tmp_path, bound):
    path = tmp_path / "p.txt"
    path.write_text(f"i;j;p;v;{bound}\n0;0;1;0;1\n1;0;0.75;-1;0.75\n1;4;0.25;3;0.99999999\n")
    found = read_perturbations(path)
    assert found.change.tolist() == [0, -1, 3]
    assert found.upper.tolist() == [1, 0.75, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1;2\n", "are not those of a perturbation table"),
        ("i;j;p;v\n1;0;1;-1\n", "no column with the upper bounds"),
        ("i;j;p;v;p_int_ub\n1;0;0.5;-1;0.5\n", "end with 1"),
        ("i;j;p;v;p_int_ub\n1;0;0.5;x;0.5\n", "an entry is no number"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0\n2,0,0\n", "must occur together once"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,0.5\n", "key 1: the change 0.5 must be a whole number"),
        ("pcv,ckey,pvalue\n1,0,0\n1,1,\n", "key 1: the change nan must be a whole number"),
        ("i;j;p;v;p_int_ub\n", "no line below its header"),
        ("", "this file is empty"),
    ],
)
def test_files_that_are_wrong_are_named_with_their_fault(tmp_path, text, message):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as found:
        read_perturbations(path)
    assert str(path) in str(found.value)


def test_a_layout_holds_only_its_own_kind(tmp_path):
    with pytest.raises(InputError, match="holds one table by whole keys"):
        write_perturbations(COUNTS, tmp_path / "p.csv", layout="ons")
    with pytest.raises(InputError, match="cannot be written in the layout 'ptable'"):
        write_perturbations(KeyRows.rounding(), tmp_path / "p.csv", layout="ptable")
    assert not (tmp_path / "p.csv").exists()
