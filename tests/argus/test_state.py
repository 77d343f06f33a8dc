"""What a batch may read and write, and in which order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import tablecloak as tc
from tablecloak.argus.lines import Arguments, Command, Specification, read_rules
from tablecloak.argus.metadata import read_metadata
from tablecloak.argus.outputs import BatchOutput
from tablecloak.argus.rules import (
    describe,
    is_active,
    is_for_holdings,
    n_largest,
    sensitivity_rules,
)
from tablecloak.argus.run import BatchResult, run_batch
from tablecloak.argus.state import BatchState, TableJob, _all_codes
from tablecloak.tables.hierarchy import Hierarchy

LINE = Command(Path("job.arb"), 4, "SOLVER", "")


@pytest.fixture
def batch(tmp_path) -> BatchState:
    (tmp_path / "job.arb").write_text("<SILENT>\n")
    return BatchState(tmp_path / "job.arb", tmp_path)


def test_the_log_names_line_and_command_and_keeps_what_was_not_applied(batch):
    batch.say(LINE, "done")
    batch.skip(LINE, "a licence")
    assert batch.log == ["line 4, SOLVER: done", "line 4, SOLVER: not applied: a licence"]
    assert batch.not_applied == batch.log[1:]


@pytest.mark.parametrize("name", ["out.csv", "C:\\jobs\\out.csv", "/etc/out.csv", "../out.csv"])
def test_files_are_written_into_the_folder_of_the_batch_and_nowhere_else(batch, name):
    assert batch.output_path(name) == batch.out / "out.csv"


@pytest.mark.parametrize("name", ["", "..", "a\0b", "x/.."])
def test_what_is_no_name_of_a_file_is_refused(batch, name):
    with pytest.raises(tc.InputError, match="is no name of a file"):
        batch.output_path(name)


def test_a_file_that_is_read_is_not_written_over(batch):
    (batch.out / "data.tab").write_text("x")
    batch.input_path("DATA.TAB")
    with pytest.raises(tc.InputError, match="data.tab is read by this batch"):
        batch.output_path("data.tab")
    with pytest.raises(tc.InputError, match="job.arb is read by this batch"):
        batch.output_path("job.arb")


def test_a_file_is_not_written_twice(batch):
    batch.outputs.append(BatchOutput(batch.output_path("a.csv"), "x", True))
    with pytest.raises(tc.InputError, match="a.csv is written twice"):
        batch.output_path("a.csv")


@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_table_that_was_not_specified_is_not_there(batch, number):
    with pytest.raises(tc.InputError, match=f"no table '{number}'; there are 0"):
        batch.job(number)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('<OPENMETADATA> "m.rda"\n', "line 1: Open data before their metadata"),
        ('<SPECIFYTABLE> "a"|"v"\n', "Open data and metadata first"),
        ("<SAFETYRULE> P(10)\n", "Put SPECIFYTABLE before it"),
        ("<READTABLE> 0\n", "Open a table and its metadata first"),
        ("<READMICRODATA>\n", "Open microdata and specify a table first"),
        ("<READTABLE> 5\n", "READTABLE takes 0, 1, 1T, 1F or 2, found '5'"),
        ("<SUPPRESS> MOD(1)\n", "There is no table '1'"),
        ("<SUPPRESS> MOD(0)\n", r"Read the data first"),
        ('<WRITETABLE> (1,3,,"a.csv")\n', "There is no table '1'"),
        ("<SOLVER> GUROBI\n", "SOLVER takes FREE, CPLEX or XPRESS, found 'GUROBI'"),
        ("<SILENT> now\n", "'now' was not understood"),
        ("<GOINTERACTIVE> x\n", "'x' was not understood"),
        ('<OPENTABLEDATA> "gone.tab"\n', "gone.tab: this file does not exist"),
    ],
)
def test_commands_out_of_turn_are_refused_with_their_line(tmp_path, lines, message):
    path = tmp_path / "job.arb"
    path.write_text(lines)
    with pytest.raises(tc.InputError, match=message) as error:
        run_batch(path)
    assert "job.arb, line 1: " in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["job.arb"]


def test_another_solver_and_its_licence_are_named_as_not_applied(tmp_path):
    path = tmp_path / "job.arb"
    path.write_text('<SOLVER> CPLEX,"licence.txt"\n<SILENT>\n<GOINTERACTIVE>\n')
    result = run_batch(path)
    assert [line.split(":")[0] for line in result.not_applied] == [
        "line 1, SOLVER", "line 1, SOLVER", "line 3, GOINTERACTIVE",
    ]  # fmt: skip
    assert "No table is written: write <SUPPRESS> MOD(1) and <WRITETABLE>" in result.not_applied[2]
    assert result.exit_code == 3


def test_the_version_is_written_where_it_is_asked_for(tmp_path):
    path = tmp_path / "job.arb"
    path.write_text('<VERSIONINFO> "v.txt"\n<LOGBOOK> "log.txt"\n')
    result = run_batch(path, tmp_path / "out")
    assert result.exit_code == 0
    assert (tmp_path / "out" / "v.txt").read_text() == f"tablecloak version: {tc.__version__}\n"
    assert "version in v.txt" in (tmp_path / "out" / "log.txt").read_text()
    assert [each.name for each in result.beside] == ["v.txt", "log.txt"]


@pytest.mark.parametrize(
    ("proved", "skipped", "code"), [([], [], 0), ([True], ["x"], 3), ([True, False], ["x"], 1)]
)
def test_a_table_that_is_not_proved_outweighs_what_was_not_applied(proved, skipped, code):
    tables = [SimpleNamespace(is_proved=each) for each in proved]
    assert BatchResult(tables, [], [], [], [], skipped, []).exit_code == code


def test_levels_that_are_not_reached_outweigh_what_was_not_applied():
    table = SimpleNamespace(is_proved=True)
    assert BatchResult([table], [], [], [], [], ["x"], ["y"]).exit_code == 1


RDA = """\
size 1 2 99
<RECODEABLE>
region 3 2
<RECODEABLE>
sales 5 9
<NUMERIC> <DECIMALS> 1
"""


def rules(text: str):
    return read_rules(Arguments("job.arb, line 1", text))


def job(tmp_path, text: str = "", response: str = "sales") -> TableJob:
    path = tmp_path / "m.rda"
    path.write_text(RDA)
    wanted = Specification(["size", "region"], response)
    command = Command(Path("job.arb"), 1, "SPECIFYTABLE", "")
    return TableJob(1, command, wanted, read_metadata(path), path, True, rules(text))


@pytest.mark.parametrize(
    ("text", "says_what"), [("", False), ("P(0)", False), ("MIS(1)", False), ("P(10)", True)]
)
def test_a_rule_that_is_switched_off_says_nothing_of_cells(tmp_path, text, says_what):
    assert job(tmp_path, text).says_what == says_what


@pytest.mark.parametrize(("text", "margin"), [("", 20), ("MAN(35)", 35), ("MAN(0)|P(10)", 0)])
def test_cells_with_a_given_status_get_20_per_cent_or_what_man_says(tmp_path, text, margin):
    assert job(tmp_path, text).margin == margin


def test_codes_for_missing_are_safe_only_where_mis_says_so(tmp_path):
    assert job(tmp_path, "P(10)").safe_codes() == {}
    assert job(tmp_path, "P(10)|MIS(0)").safe_codes() == {}
    assert job(tmp_path, "P(10)|MIS(1)").safe_codes() == {"size": ("99",), "region": ()}


def test_decimals_are_those_of_the_response(tmp_path):
    assert job(tmp_path).decimals == 1
    assert job(tmp_path, response="<freq>").decimals == 0
    assert job(tmp_path, response="<freq>").is_count
    assert not job(tmp_path).is_count


def test_codes_come_in_the_order_of_the_tree_with_missing_ones_last():
    tree = Hierarchy("Total", (("Total", ("N", "99", "S")), ("N", ("b", "a"))))
    assert _all_codes(tree, ("99",), True) == ["Total", "N", "b", "a", "S", "99"]
    assert _all_codes(tree, ("99",), False) == ["Total", "N", "b", "a", "99", "S"]
    assert _all_codes(tree, ("98",), True) == ["Total", "N", "b", "a", "99", "S", "98"]


@pytest.mark.parametrize(
    ("text", "is_on"),
    [("P(0)", False), ("P(10)", True), ("FREQ(0,20)", False), ("NK(0,70)", False),
     ("ZERO(0)", True), ("MAN(20)", False), ("WGT(1)", False)],
)  # fmt: skip
def test_a_first_number_of_0_switches_a_rule_off(text, is_on):
    assert is_active(rules(text)[0]) == is_on


def test_the_log_says_which_rules_are_in_force():
    assert describe([]) == "no rule: the statuses of the table count"
    found = describe(rules("P(10,1)|FREQ(0,20)|WGT(1)"))
    assert found == "in force: P(10,1), WGT(1); switched off by 0: FREQ(0,20)"


def test_the_third_p_and_the_second_freq_look_at_holdings():
    found = rules("P(10)|P(20)|P(30)|FREQ(3,10)|FREQ(4,10)|NK(1,50)|NK(2,60)|NK(3,70)")
    holdings = [str(rule) for rule in found if is_for_holdings(found, rule)]
    assert holdings == ["P(30)", "FREQ(4,10)", "NK(3,70)"]
    assert [rule.level for rule in sensitivity_rules(found)].count("holding") == 3


@pytest.mark.parametrize(
    ("text", "number"), [("FREQ(3,10)", 0), ("P(10,1)", 2), ("P(10,2)", 3), ("NK(5,70)|P(1)", 5)]
)
def test_rules_look_at_so_many_of_the_largest(text, number):
    assert n_largest(rules(text)) == number
