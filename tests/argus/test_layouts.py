"""The text of each kind of table, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.argus.outputs import BatchTable, OutputLayout, made_of

FRAME = pd.DataFrame(
    [("a", "x", 5.0), ("a", "y", 7.0), ("b", "x", 3.0)], columns=["row", "col", "v"]
)


def protected(**given) -> BatchTable:
    """Cell (a, y) is sensitive, (b, x) hidden beside it; (b, y) does not exist."""
    table = with_margins(FRAME, ["row", "col"], "v")
    n = table.n_cells
    status, level = np.full(n, "s"), np.zeros(n)
    cell = table.cell(row="a", col="y")
    status[cell], level[cell] = "u", 2.0
    frozen = table.cell(row="b", col="Total")
    status[frozen] = "z"
    hidden = np.zeros(n, dtype=bool)
    hidden[[cell, table.cell(row="b", col="x")]] = True
    problem = tc.ProtectionProblem(
        table, status, level, level, np.zeros(n), np.zeros(n), np.full(n, 99.0), np.ones(n),
        reasons=np.where(level > 0, "p-percent", ""),
    )  # fmt: skip
    codes = [["Total", "a", "b"], ["Total", "x", "y"]]
    return BatchTable(problem, hidden, table.values, 1, codes, "suppressed", **given)


def text(kind: int, **options: bool) -> str:
    layout = OutputLayout(kind, {"QU": False, **options}, "v")
    return made_of(protected(), layout, Path("t.csv"))[0].text


def test_a_matrix_has_rows_by_columns_with_crosses_and_dashes():
    assert text(1).splitlines() == [
        ",Total,x,y",
        "Total,15.0,8.0,7.0",
        "a,12.0,5.0,x",
        "b,3.0,x,-",
        "",
    ]


def test_code_value_lists_one_cell_a_line():
    assert text(3).splitlines()[:3] == ["Total,Total,15.0", "Total,x,8.0", "Total,y,7.0"]
    assert "b,y,-" in text(3)
    assert "b,y,-" not in text(3, SE=True)


def test_a_pivot_table_has_its_names_on_the_first_line():
    assert text(2).splitlines()[0] == "row,col,v"
    assert text(2, AS=True).splitlines()[0] == "row,col,v,Status"


@pytest.mark.parametrize(
    ("key", "status"), [("a,y", 3), ("b,x", 11), ("b,Total", 10), ("a,x", 1), ("b,y", 14)]
)
def test_statuses_are_those_of_tau_argus(key, status):
    """3 p-percent rule, 11 secondary, 10 protected, 1 safe, 14 empty."""
    assert f"{key},{status}" in text(3, SO=True).splitlines()


def test_codes_are_quoted_unless_said_otherwise():
    assert '"a","x",5.0' in made_of(protected(), OutputLayout(3, {}, "v"), Path("t"))[0].text


def test_a_code_with_a_comma_is_quoted_anyhow():
    frame = FRAME.replace({"row": {"a": 'a,"1"'}})
    table = with_margins(frame, ["row", "col"], "v")
    n = table.n_cells
    zero = np.zeros(n)
    problem = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, zero + 99, zero + 1
    )
    codes = [["Total", 'a,"1"', "b"], ["Total", "x", "y"]]
    plain = BatchTable(problem, np.zeros(n, dtype=bool), table.values, 0, codes)
    found = made_of(plain, OutputLayout(3, {"QU": False}, "v"), Path("t"))[0].text
    assert '"a,""1""",x,5' in found


def test_sbs_lists_letters_and_hides_what_is_hidden():
    lines = text(4).splitlines()
    # Codes, value, contributors, letter; a rule on contributions without p% is B, secondary D.
    assert "a,y,x,,B" in lines
    assert "b,x,x,,D" in lines
    assert "a,x,5.0,,V" in lines
    assert "a,1,x,1,5.0,,V" in text(4, HL=True).splitlines()


def test_an_sbs_file_keeps_what_it_tells_of_hidden_cells_in_a_folder_for_inside():
    layout = OutputLayout(4, {"QU": False}, "v", n_largest=2, rule_letter="F")
    outside, inside = made_of(protected(), layout, Path("out/t.sbs"))
    assert inside.path == Path("out/internal/t.sbs") and inside.is_secret
    assert "a,y,7.0,,F" in inside.text.splitlines()
    assert "a,y,x,,F" in outside.text.splitlines()


@pytest.mark.parametrize(
    ("kind", "options", "is_public"),
    [
        (1, {}, True),
        (2, {}, True),
        (3, {}, True),
        (3, {"AS": True}, False),
        (2, {"SO": True}, False),
        (4, {}, False),
        (5, {}, False),
        (6, {}, False),
    ],
)
def test_what_tells_statuses_or_true_values_is_for_the_owner_alone(kind, options, is_public):
    layout = OutputLayout(kind, options, "v")
    assert layout.is_public == is_public
    assert all(file.is_secret != is_public for file in made_of(protected(), layout, Path("t.csv")))


def test_an_intermediate_table_comes_with_its_description():
    files = made_of(protected(), OutputLayout(5, {}, "v"), Path("t.tab"))
    assert [file.path.name for file in files] == ["t.tab", "t.rda"]
    lines = files[0].text.splitlines()
    assert '"a";"y";7.0;1.0;U;2;2' in lines
    assert '"b";"x";3.0;1.0;M;0;0' in lines
    assert '"b";"y";0.0;0.0;E;0.0;0.0' in lines
    assert "<STATUS>" in files[1].text
    assert "<DECIMALS> 1" in files[1].text


@pytest.mark.parametrize(
    ("method", "kind", "message"),
    [
        ("adjusted", 4, "not written as type 4 or 5"),
        ("adjusted", 6, "not written as type 6"),
        ("rounded", 6, "not written as type 6"),
        ("suppressed", 9, "type 9 are not written; take 1 to 6"),
    ],
)
def test_kinds_that_do_not_suit_what_was_done_are_refused(method, kind, message):
    one = protected()
    other = BatchTable(one.problem, one.suppressed, one.values, 1, one.codes, method)
    with pytest.raises(tc.InputError, match=message):
        made_of(other, OutputLayout(kind, {}, "v"), Path("t"))


def test_adjusted_values_stand_before_the_original_ones():
    one = protected()
    none = np.zeros_like(one.suppressed)
    other = BatchTable(one.problem, none, one.values + 1, 1, one.codes, "adjusted")
    found = made_of(other, OutputLayout(2, {"QU": False, "AS": True}, "v"), Path("t"))[0].text
    assert found.splitlines()[0] == "row,col,v_CTA,v_Orig,Status"
    assert "a,y,8.0,7.0,3" in found.splitlines()
