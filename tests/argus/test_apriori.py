"""A priori lists: every line does what it says, or is named."""

from __future__ import annotations

import pytest

import tablecloak as tc
from shops import cells, run, write_shops

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
        ("N1;a;c;5;7", "'c' takes 1 numbers, found 2"),
        ("N1;a;u;20", "'u' takes 0 numbers, found 1"),
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
