"""Tables of a batch from files of cells: what is read, added up, and refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.argus.lines import Arguments, Specification, read_rules
from tablecloak.argus.metadata import read_cells, read_metadata
from tablecloak.argus.tables import TableCells, from_cells, read_statuses

RDA = """\
<SEPARATOR> ";"
Town
  <RECODEABLE>
  <HIERARCHICAL> <HIERCODELIST> "t.hrc" <HIERLEADSTRING> "@"
Sales
  <NUMERIC> <DECIMALS> 1
Firms
  <FREQUENCY>
Top1
  <MAXSCORE>
Top2
  <MAXSCORE>
Stat
  <STATUS>
"""

LINES = [
    "Total;60.0;9;20;15;S",
    "N;30.0;5;20;6;S",
    "n1;26.0;2;20;6;U",
    "n2;4.0;3;2;1;S",
    "S;30.0;4;15;9;P",
]


def cells(folder: Path, lines=LINES, rules: str = "", response: str = "Sales") -> TableCells:
    (folder / "t.hrc").write_text("N\n@n1\n@n2\nS\n")
    (folder / "t.rda").write_text(RDA)
    (folder / "t.tab").write_text("\n".join(lines) + "\n")
    metadata = read_metadata(folder / "t.rda")
    frame, _ = read_cells(metadata, folder / "t.tab")
    given = read_rules(Arguments("job.arb, line 1", rules))
    return TableCells.of(metadata, frame, Specification(["Town"], response), given)


def changed(number: int, line: str) -> list[str]:
    return [*LINES[:number], line, *LINES[number + 1 :]]


def by_code(table: tc.Table, numbers) -> dict[str, float]:
    return dict(zip(table.keys["Town"], np.asarray(numbers, float).tolist(), strict=True))


@pytest.mark.parametrize("mode", ["0", "1", "1T", "2"])
def test_values_and_contributors_are_those_of_the_file_or_of_their_parts(tmp_path, mode):
    table = from_cells(cells(tmp_path, rules="P(10)"), mode)
    assert by_code(table, table.values) == {"Total": 60, "N": 30, "n1": 26, "n2": 4, "S": 30}
    assert by_code(table, table.contributions.count)["N"] == 5
    assert by_code(table, table.contributions.largest[:, 0])["N"] == 20


def test_totals_made_anew_rank_the_contributors_of_all_parts(tmp_path):
    wrong_total = changed(0, "Total;99.0;99;50;40;S")
    table = from_cells(cells(tmp_path, wrong_total, "P(10)"), "1")
    at = table.cell(Town="Total")
    assert table.values[at] == 60
    assert table.contributions.count[at] == 9
    assert table.contributions.largest[at].tolist() == [20, 15]


@pytest.mark.parametrize(
    ("total", "mode", "fits"),
    [("60.1", "0", True), ("62.0", "0", False), ("62.0", "2", True), ("62.0", "1", True)],
)
def test_totals_may_be_off_by_rounding_unless_they_need_not_add_up(tmp_path, total, mode, fits):
    given = cells(tmp_path, changed(0, f"Total;{total};9;20;15;S"))
    if fits:
        assert from_cells(given, mode).n_cells == 5
    else:
        with pytest.raises(tc.InputError, match="Total"):
            from_cells(given, mode)


def test_an_empty_code_is_the_total(tmp_path):
    assert from_cells(cells(tmp_path, changed(0, LINES[0].removeprefix("Total"))), "0").n_cells == 5


def test_empty_cells_are_left_out(tmp_path):
    lines = ["Total;56.0;6;20;15;S", "N;26.0;2;20;6;S", LINES[2], "n2;;;;;E", LINES[4]]
    table = from_cells(cells(tmp_path, lines), "0")
    assert "n2" not in table.keys["Town"].tolist()


def test_statuses_are_read_by_the_letters_of_the_metadata(tmp_path):
    given = cells(tmp_path)
    table = from_cells(given, "0")
    letters, rows = read_statuses(given, table)
    assert dict(zip(table.keys["Town"], letters, strict=True)) == {
        "Total": "s", "N": "s", "n1": "u", "n2": "s", "S": "z",
    }  # fmt: skip
    assert len(rows) == 5


def test_an_unknown_status_is_named_with_its_cell(tmp_path):
    given = cells(tmp_path, changed(3, "n2;4.0;3;2;1;Q"))
    with pytest.raises(tc.InputError, match="Status 'Q' of cell .*n2.* is not known"):
        read_statuses(given, from_cells(given, "0"))


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (3, "n2;4.0;;2;1;S", "n2 has no number of contributors"),
        (3, "n2;4.0;2.5;2;1;S", "n2 has an odd number of Firms"),
        (3, "n2;4.0;-1;2;1;S", "n2 has an odd number of Firms"),
        (3, "n2;4.0;0;0;0;S", "n2 has a value but no contributor"),
        (3, "n2;4.0;3;;1;S", "n2 lacks one of its largest contributions"),
        (3, "n2;4.0;3;1;2;S", "n2 has largest contributions that are not in order of size"),
        (3, "n2;4.0;3;3;2;S", "n2 has contributions above its value"),
    ],
)
def test_contributors_that_a_rule_needs_must_be_true(tmp_path, number, line, message):
    with pytest.raises(tc.InputError, match=message):
        cells(tmp_path, changed(number, line), rules="P(10,1)")


def test_without_a_rule_contributors_that_cannot_be_true_are_left_out(tmp_path):
    given = cells(tmp_path, changed(3, "n2;4.0;2.5;2;1;S"))
    assert (given.frequency, given.largest) == ("", [])
    assert from_cells(given, "0").contributions is None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES, LINES[3].replace("4.0", "5.0")], "The cell n2 is listed twice"),
        (changed(3, "n2;4.0;3;2;1;E"), "n2 has a value and the status of an empty cell"),
        (changed(2, "n1;;;;;U"), "n1 has a value and the status of an empty cell, or the reverse"),
        (["n2;;;;;E"], "Every cell is empty"),
    ],
)
def test_cells_that_contradict_each_other_are_refused(tmp_path, lines, message):
    with pytest.raises(tc.InputError, match=message):
        cells(tmp_path, lines)


def test_a_line_that_is_there_twice_word_for_word_is_one_cell(tmp_path):
    assert from_cells(cells(tmp_path, [*LINES, LINES[3]]), "0").n_cells == 5


def test_totals_need_something_to_be_made_of(tmp_path):
    with pytest.raises(tc.InputError, match="no cell on the most detailed level"):
        from_cells(cells(tmp_path, [LINES[0], LINES[1]]), "1")


def test_a_table_of_frequencies_counts_its_contributors(tmp_path):
    table = from_cells(cells(tmp_path, response="<freq>"), "0")
    assert by_code(table, table.values) == {"Total": 9, "N": 5, "n1": 2, "n2": 3, "S": 4}


def test_a_dimension_is_not_a_status_too(tmp_path):
    (tmp_path / "t.hrc").write_text("N\n@n1\n@n2\nS\n")
    path = tmp_path / "t.rda"
    path.write_text(RDA.replace("Town\n  <RECODEABLE>", "Town\n  <RECODEABLE> <STATUS>"))
    (tmp_path / "t.tab").write_text("\n".join(LINES) + "\n")
    metadata = read_metadata(path)
    frame, _ = read_cells(metadata, tmp_path / "t.tab")
    with pytest.raises(tc.InputError, match="'Town' is a dimension and has <STATUS> too"):
        TableCells.of(metadata, frame, Specification(["Town"], "Sales"), [])
