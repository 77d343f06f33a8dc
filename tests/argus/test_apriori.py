"""A priori lists: every line does what it says, or is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from shops import cells, run, write_shops
from tablecloak.argus.apriori import apply_apriori
from tablecloak.argus.metadata import Variable

READ = "<SAFETYRULE> FREQ(4,20)\n<READTABLE> 0\n"


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


def inner(unsafe: bool):
    frame = cells()
    inside = frame[(frame.Town != "Total") & (frame.Kind != "Total")]
    return inside[(inside.Firms < 4) == unsafe].iloc[0]


@pytest.mark.parametrize("word", ["p", "m", "ml"])
def test_an_unsafe_cell_cannot_be_frozen_or_lose_its_levels(folder, word):
    cell = inner(unsafe=True)
    (folder / "last.hst").write_text(f"{cell.Town};{cell.Kind};{word}\n")
    with pytest.raises(tc.InputError, match=r"last.hst, line 1: the cell .* is unsafe and cannot"):
        run(folder, f'{READ}<APRIORI> "last.hst",1,";",0\n')
    result = run(folder, f'{READ}<APRIORI> "last.hst",1,";",1\n')
    (line,) = result.not_applied
    assert line.startswith("line 6, APRIORI: not applied: ") and "last.hst, line 1" in line
    problem = result.problems[0]
    at = problem.table.cell(Town=cell.Town, Kind=cell.Kind)
    assert problem.sensitive[at] and problem.upper_protection[at] > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("N1;a;x", "the action 'x' is not one of"),
        ("N1;a;c;5;7", "'c' takes 1 number, found 2"),
        ("N1;a;u;20", "'u' takes no number, found 1. .* with pl"),
        ("N1;a;c;-1", "a cost must be greater than 0"),
        ("N1;a;c;inf", "not finite numbers"),
        ("N1;a;ab;1;2", "bounds of single cells"),
        ("N1,a,u", "xpected codes and an action with ';'"),
    ],
)
def test_lines_that_cannot_be_done_stop_the_batch(folder, line, message):
    (folder / "last.hst").write_text(f"{line}\n")
    with pytest.raises(tc.InputError, match=f"last.hst, line 1: .*{message}"):
        run(folder, f'{READ}<APRIORI> "last.hst",1,";",0\n')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ('"last.hst",1', "expected ','"),
        ('"last.hst",1,";",2', "the flag for errors must be a number from 0 to 1"),
        ('"last.hst",1,";",0,1,1', "was not understood"),
        ('"last.hst",2,";"', "There is no table '2'"),
        ('"last.hst"', "expected ','"),
    ],
)
def test_arguments_of_apriori_are_all_read(folder, arguments, message):
    (folder / "last.hst").write_text("N1;a;u\n")
    with pytest.raises(tc.InputError, match=f"job.arb, line 6: .*{message}"):
        run(folder, f"{READ}<APRIORI> {arguments}\n")


def test_trivial_levels_share_a_line_if_the_fifth_argument_says_so(folder):
    (folder / "town.hrc").write_text("North\n@N1\n@N2\n@N3\nSouth\n@Only\n@@S1\n@@S2\n@@S3\n")
    frame = cells()
    lines = (folder / "shops.tab").read_text().splitlines()
    lines += [line.replace("South", "Only", 1) for line in lines if line.startswith("South;")]
    (folder / "shops.tab").write_text("\n".join(lines) + "\n")
    (folder / "last.hst").write_text("South;a;u\n")
    marked = {}
    for flag in (0, 1):
        problem = run(folder, f'{READ}<APRIORI> "last.hst",1,";",0,{flag}\n').problems[0]
        keys = problem.table.keys[problem.sensitive & (problem.reasons == "manual")]
        marked[flag] = set(keys.itertuples(index=False, name=None))
    assert marked == {0: {("South", "a")}, 1: {("South", "a"), ("Only", "a")}}
    assert len(frame) == 45


# -- lists applied to a table of three cells ----------------------------------------------


def small() -> tc.ProtectionProblem:
    """One row: x is unsafe with the levels 2 and 3, y and its only part y1 are safe."""
    tree = tc.Hierarchy("Total", (("Total", ("x", "y")), ("y", ("y1",))))
    frame = pd.DataFrame({"kind": ["Total", "x", "y", "y1"], "v": [30.0, 10.0, 20.0, 20.0]})
    table = tc.Table.from_frame(frame, {"kind": tree}, "v")
    one = (table.keys["kind"] == "x").to_numpy()
    n = table.n_cells
    return tc.ProtectionProblem(
        table, np.where(one, "u", "s"), 2.0 * one, 3.0 * one, np.zeros(n), np.zeros(n),
        np.full(n, 100.0), np.ones(n), reasons=np.where(one, "p-percent", ""),
    )  # fmt: skip


def applied(tmp_path, text: str, **options):
    path = tmp_path / "list.hst"
    path.write_text(text)
    given = {"separator": ",", "lenient": False, "expand": False, "margin": 20.0, **options}
    return apply_apriori(path, small(), [Variable("kind")], **given)


def at(problem: tc.ProtectionProblem, code: str) -> int:
    return problem.table.cell(kind=code)


def test_a_cell_becomes_unsafe_with_a_share_of_its_value_as_level(tmp_path):
    found = applied(tmp_path, "y,u\n")
    cell = at(found.problem, "y")
    assert found.problem.status[cell] == "u"
    assert found.problem.lower_protection[cell] == found.problem.upper_protection[cell] == 4
    assert found.problem.reasons[cell] == "manual"
    assert found.asked == {("y",): "u"}


def test_the_level_of_a_small_cell_is_1_and_not_beyond_its_bound(tmp_path):
    found = applied(tmp_path, "y,u\n", margin=0.0)
    assert found.problem.upper_protection[at(found.problem, "y")] == 1


def test_an_unsafe_cell_keeps_levels_that_a_rule_asks_for(tmp_path):
    found = applied(tmp_path, "x,u\n", margin=25.0)
    cell = at(found.problem, "x")
    # 25 per cent of 10 are 2.5: more than 2, less than 3.
    assert found.problem.lower_protection[cell] == 2.5
    assert found.problem.upper_protection[cell] == 3


def test_a_safe_cell_loses_levels_and_reason(tmp_path):
    found = applied(tmp_path, "x,s\n")
    cell = at(found.problem, "x")
    assert found.problem.status[cell] == "s"
    assert found.problem.lower_protection[cell] == found.problem.upper_protection[cell] == 0
    assert found.problem.reasons[cell] == ""


@pytest.mark.parametrize(("word", "status"), [("p", "z"), ("m", "m"), ("ml", "m"), ("P", "z")])
def test_safe_cells_are_frozen_or_forced(tmp_path, word, status):
    found = applied(tmp_path, f"y,{word}\n")
    assert found.problem.status[at(found.problem, "y")] == status
    assert found.asked == {("y",): word[0].lower()}


def test_costs_and_levels_are_set_by_number(tmp_path):
    found = applied(tmp_path, "y,c,7.5\nx,pl,1,9\nTotal,w,2\n")
    assert found.done == 3
    problem = found.problem
    assert problem.weights[at(problem, "y")] == 7.5
    assert problem.weights[at(problem, "Total")] == 2
    cell = at(problem, "x")
    assert (problem.lower_protection[cell], problem.upper_protection[cell]) == (1, 9)


def test_later_lines_see_what_earlier_ones_did(tmp_path):
    found = applied(tmp_path, "x,s\nx,p\n")
    assert found.problem.status[at(found.problem, "x")] == "z"
    assert found.asked == {("x",): "p"}


def test_an_empty_code_means_the_total(tmp_path):
    found = applied(tmp_path, ",c,5\n")
    assert found.problem.weights[at(found.problem, "Total")] == 5


def test_a_line_holds_for_the_whole_chain_of_codes_with_one_part_if_that_is_asked(tmp_path):
    alone = applied(tmp_path, "y1,c,9\n").problem
    assert alone.weights[at(alone, "y")] == 1
    chain = applied(tmp_path, "y1,c,9\n", expand=True).problem
    assert chain.weights[at(chain, "y")] == chain.weights[at(chain, "y1")] == 9
    down = applied(tmp_path, "y,c,9\n", expand=True).problem
    assert down.weights[at(down, "y1")] == 9
    assert down.weights[at(down, "x")] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z,u\n", "line 1: there is no cell z"),
        ("y,q\n", "the action 'q' is not one of"),
        ("y,ab,1,2\n", "The bounds of single cells .ab. are not supported"),
        ("y,c\n", "a cost must be greater than 0"),
        ("y,c,0\n", "a cost must be greater than 0"),
        ("y,c,x\n", "are not numbers"),
        ("y,c,1,2\n", "'c' takes 1 number, found 2"),
        ("y,c,inf\n", "are not finite numbers"),
        ("y,pl,1,2\n", "pl needs two levels of 0 or more, and an unsafe cell"),
        ("x,pl,1\n", "pl needs two levels of 0 or more"),
        ("x,pl,-1,2\n", "pl needs two levels of 0 or more"),
        ("x,p\n", "is unsafe and cannot become 'p'"),
    ],
)
def test_a_line_that_cannot_be_done_is_named_or_passed_over(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message) as error:
        applied(tmp_path, text)
    assert "list.hst, line 1: " in str(error.value)
    found = applied(tmp_path, text + "y,c,3\n", lenient=True)
    assert found.done == 1
    assert len(found.skipped) == 1
    assert found.problem.weights[at(found.problem, "y")] == 3


def test_a_line_without_an_action_is_never_passed_over(tmp_path):
    with pytest.raises(tc.InputError, match="line 1: expected codes and an action with ','"):
        applied(tmp_path, "y\n")
