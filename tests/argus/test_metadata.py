"""Records with numbers that are missing, as tau-ARGUS reads them."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.argus import read_metadata
from tablecloak.argus.metadata import read_cells, read_microdata


@pytest.mark.parametrize(
    ("separator", "text"),
    [
        ('<SEPARATOR> ","\n', "A,10,1\nB, .,2\nA,.,1\nB,,1\nA,NA,2\nB,7,1\n"),
        ("", "A 10 1\nB  . 2\nA  . 1\nB    1\nA NA 2\nB  7 1\n"),
    ],
)
def test_the_dot_of_sas_blanks_and_declared_words_are_read_as_0(tmp_path, separator, text):
    places = ("1", "4", "1") if separator else ("1 1", "2 3", "5 2")
    (tmp_path / "m.rda").write_text(
        f"{separator}a {places[0]}\n<RECODEABLE>\nv {places[1]} NA\n<NUMERIC>\n"
        f"w {places[2]}\n<WEIGHT>\n"
    )
    (tmp_path / "m.asc").write_text(text)
    metadata = read_metadata(tmp_path / "m.rda")
    frame, (note,) = read_microdata(metadata, tmp_path / "m.asc", ["a", "v", "w"])
    assert frame.v.tolist() == [10, 0, 0, 0, 0, 7]
    assert frame.w.tolist() == [1, 2, 1, 1, 2, 1]
    assert "'v' is missing in 4 records and read as 0, as τ-ARGUS reads it" in note


@pytest.mark.parametrize("text", ["A,x,1\n", "A,1..2,1\n", "A,1,.\n"])
def test_other_words_and_weights_that_are_missing_stop_the_batch(tmp_path, text):
    (tmp_path / "m.rda").write_text(
        '<SEPARATOR> ","\na 1\n<RECODEABLE>\nv 4\n<NUMERIC>\nw 1\n<WEIGHT>\n'
    )
    (tmp_path / "m.asc").write_text(text)
    metadata = read_metadata(tmp_path / "m.rda")
    with pytest.raises(tc.InputError, match="which is not a number"):
        read_microdata(metadata, tmp_path / "m.asc", ["a", "v", "w"])


def test_decimal_commas_of_records_are_read_and_named(tmp_path):
    found = metadata(tmp_path, "Town 1 1\n<RECODEABLE>\nSales 2 7\n<NUMERIC> <DECIMALS> 2\n")
    (tmp_path / "m.asc").write_text("A   1,50\nB -20,25\n")
    frame, notes = read_microdata(found, tmp_path / "m.asc", ["Town", "Sales"])
    assert frame["Sales"].tolist() == [1.5, -20.25]
    assert notes == ["m.asc: decimal commas of 'Sales' read as points"]


def metadata(folder, text: str):
    path = folder / "d.rda"
    path.write_text(text)
    return read_metadata(path)


CELLS = """\
<SEPARATOR> ";"
<SAFE> ok
<UNSAFE> no
Town "9"
  <RECODEABLE>
  <TOTCODE> "All"
Sales
  <NUMERIC> <DECIMALS> 2
Stat
  <STATUS>
"""


def test_a_description_of_cells_names_separator_letters_and_tags(tmp_path):
    found = metadata(tmp_path, CELLS)
    assert found.separator == ";"
    assert found.letters == {"SAFE": "ok", "UNSAFE": "no", "PROTECT": "P"}
    town = found.variable("TOWN")
    assert (town.name, town.total) == ("Town", "All")
    assert found.variable("sales").decimals == 2
    assert [variable.name for variable in found.with_tag("STATUS")] == ["Stat"]


def test_fixed_positions_and_missing_codes_are_padded_to_the_width(tmp_path):
    found = metadata(tmp_path, "size 3 4 9 99\n<RECODEABLE>\n").variable("size")
    assert (found.start, found.width) == (3, 4)
    assert found.missing == ("   9", "  99")
    assert found.padded("7") == "   7"
    assert found.total == "Total"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<NUMERIC>\n", "line 1: <NUMERIC> comes before any variable"),
        ("a 1 2\n<NUMERRIC>\n", "line 2: <NUMERRIC> is not known. Did you mean 'NUMERIC'"),
        ("a 0 2\n", "line 1: variable 'a' needs its first position and its width"),
        ("a\n", "needs its first position .* Found 'nothing'"),
        ("a 1 999999\n", "whole numbers from 1 to 100000"),
        ("a 1 2\nA 3 2\n", "the variable 'a' is described twice"),
        ("// nothing\n", "no variable was found"),
        ("<SPSS>\na 1 2\n", "SPSS files are not read"),
        ("a 1 2\n<oops\n", "line 2: '<oops' is no keyword and no variable"),
    ],
)
def test_descriptions_that_are_none_are_refused_with_their_line(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message):
        metadata(tmp_path, text)


def test_an_unknown_variable_gets_a_suggestion(tmp_path):
    with pytest.raises(tc.InputError, match="no variable 'Twon'. Did you mean 'Town'"):
        metadata(tmp_path, CELLS).variable("Twon")


@pytest.mark.parametrize("decimals", ["16", "x", "-1"])
def test_decimals_are_a_number_from_0_to_15(tmp_path, decimals):
    found = metadata(tmp_path, CELLS.replace("<DECIMALS> 2", f"<DECIMALS> {decimals}"))
    with pytest.raises(tc.InputError, match="DECIMALS is .*expected 0 to 15"):
        _ = found.variable("Sales").decimals


def test_levels_are_the_first_digits_of_a_code(tmp_path):
    found = metadata(tmp_path, "nace 1 4\n<RECODEABLE> <HIERARCHICAL> <HIERLEVELS> 1 2 1\n")
    tree = found.hierarchy(found.variable("nace"), {"1010", "1011", "1020", "2010"})
    assert dict(tree.groups) == {
        "Total": ("1", "2"),
        "1": ("101", "102"),
        "2": ("201",),
        "101": ("1010", "1011"),
        "102": ("1020",),
        "201": ("2010",),
    }


def test_levels_of_fewer_digits_than_a_code_has_are_named(tmp_path):
    found = metadata(tmp_path, "nace 5 5\n<RECODEABLE> <HIERARCHICAL> <HIERLEVELS> 2 1 0 0 0\n")
    with pytest.raises(tc.InputError, match="'  101' has 5 characters, but HIERLEVELS 2 1 0 0 0"):
        found.hierarchy(found.variable("nace"), {"  101", "  102"})


def test_a_hierarchy_from_a_file_takes_missing_codes_below_the_total(tmp_path):
    (tmp_path / "r.hrc").write_text("N\n@1\n@2\nS\n@3\n")
    found = metadata(tmp_path, 'region 1 2 9\n<RECODEABLE> <HIERARCHICAL> <HIERCODELIST> "R.HRC"\n')
    variable = found.variable("region")
    assert dict(found.hierarchy(variable, {" 1", " 2"}).groups)["Total"] == (" N", " S")
    with_missing = dict(found.hierarchy(variable, {" 1", " 9"}).groups)
    assert with_missing["Total"] == (" N", " S", " 9")
    assert with_missing[" N"] == (" 1", " 2")


def test_without_a_hierarchy_all_codes_lie_below_the_total(tmp_path):
    found = metadata(tmp_path, CELLS)
    tree = found.hierarchy(found.variable("Town"), {"b", "a"})
    assert tree.groups == (("All", ("a", "b")),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A;1\n", "line 1: 2 fields, but d.rda describes 3 variables"),
        ("A;x;ok\n", "cell 1: 'Sales' is 'x', which is not a number"),
    ],
)
def test_cells_that_do_not_fit_their_description_are_refused(tmp_path, text, message):
    found = metadata(tmp_path, CELLS)
    (tmp_path / "d.tab").write_text(text)
    with pytest.raises(tc.InputError, match=message):
        read_cells(found, tmp_path / "d.tab")


def test_separators_within_quotes_and_empty_numbers_are_read(tmp_path):
    found = metadata(tmp_path, CELLS)
    (tmp_path / "d.tab").write_text('"A; b";1,5;ok\nB;-;no\n')
    frame, notes = read_cells(found, tmp_path / "d.tab")
    assert frame["Town"].tolist() == ["A; b", "B"]
    assert frame["Sales"].iloc[0] == 1.5
    assert frame["Sales"].isna().tolist() == [False, True]
    assert notes == ["d.tab: decimal commas of 'Sales' read as points"]
