"""Code-value output of tau-ARGUS, without a header."""

from __future__ import annotations

import pytest

import tablecloak as tc
from hand_tables import one_row
from tablecloak.publish.released_cells import read_code_values, read_release

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)})
LINES = ["a,50,3", "b,60,11", "c,70,1", "Total,180,10"]


def file(tmp_path, lines, name="t.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.filterwarnings("ignore:.* rows say suppressed but show a value")
def test_statuses_tell_hidden_cells(tmp_path):
    frame = read_code_values(PROBLEM, file(tmp_path, LINES), ["code"])
    assert frame["status"].tolist() == ["suppressed", "suppressed", "published", "published"]
    assert frame["value"].tolist() == [50, 60, 70, 180]
    assert read_release(PROBLEM, tmp_path / "t.csv")[0].tolist() == [True, True, False, False]


def test_each_status_of_tau_argus_is_hidden_or_shown(tmp_path):
    for number, status in [
        (1, "published"),
        (2, "published"),
        (3, "suppressed"),
        (5, "suppressed"),
        (9, "suppressed"),
        (10, "published"),
        (11, "suppressed"),
        (12, "suppressed"),
    ]:
        frame = read_code_values(PROBLEM, file(tmp_path, [f"a,50,{number}", *LINES[1:]]), ["code"])
        assert frame["status"].iloc[0] == status


def test_codes_padded_with_blanks_are_those_of_the_table(tmp_path):
    lines = ["  a ,50,3", *LINES[1:]]
    assert read_code_values(PROBLEM, file(tmp_path, lines), ["code"])["code"].tolist()[0] == "a"


def test_empty_cells_that_the_table_does_not_have_are_passed_over(tmp_path):
    frame = read_code_values(PROBLEM, file(tmp_path, [*LINES, "q,-,14"]), ["code"])
    assert frame["code"].tolist() == ["a", "b", "c", "Total"]


def test_a_cell_that_is_unknown_and_not_empty_is_refused(tmp_path):
    with pytest.raises(tc.InputError, match="q.* is not in the original table"):
        read_release(PROBLEM, file(tmp_path, [*LINES, "q,5,1"]))


@pytest.mark.parametrize("number", ["0", "15", "x"])
def test_a_status_that_is_none_is_named_by_its_row(tmp_path, number):
    lines = [LINES[0], f"b,60,{number}", *LINES[2:]]
    with pytest.raises(
        tc.InputError, match=f"line 2: status '{number}' is not one of the statuses"
    ):
        read_code_values(PROBLEM, file(tmp_path, lines), ["code"])


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (["code,value,status", "a,50,x"], "t.csv"),
        (["a,50"], "t.csv"),
        (LINES, "t.xlsx"),
        ([], "t.csv"),
    ],
)
def test_other_files_are_left_to_other_readers(tmp_path, lines, name):
    assert read_code_values(PROBLEM, file(tmp_path, lines, name), ["code"]) is None


def test_a_file_that_is_not_there_is_not_ours_to_name(tmp_path):
    assert read_code_values(PROBLEM, tmp_path / "gone.csv", ["code"]) is None
