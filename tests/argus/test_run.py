"""``tablecloak argus``: what the exit code means."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

import tablecloak as tc
import tablecloak.argus.preparation as preparation
from shops import run, write_shops
from tablecloak.argus import run_batch
from tablecloak.cli.main import app

pytestmark = pytest.mark.usefixtures("solved_once")

RULES = "<SAFETYRULE> FREQ(3,30)\n<READTABLE> 0\n"
PUBLISH = '<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n'


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


def command(folder, commands: str):
    head = (
        '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "shops.rda"\n'
        '<SPECIFYTABLE> "Town""Kind"|"Sales"\n'
    )
    (folder / "job.arb").write_text(head + commands)
    return CliRunner().invoke(app, ["argus", str(folder / "job.arb"), "--time-limit", "20"])


@pytest.mark.parametrize(
    ("commands", "code", "words"),
    [
        (RULES + PUBLISH, 0, "line 6, SUPPRESS: OPT of table 1"),
        (RULES + "<SOLVER> CPLEX\n" + PUBLISH, 3, "line 6, SOLVER: not applied: CPLEX"),
        (RULES + PUBLISH + "<GOINTERACTIVE>\n", 3, "line 8, GOINTERACTIVE: not applied"),
        ("<SAFETYRULE> FRE(3,30)\n<READTABLE> 0\n" + PUBLISH, 2, "there is no rule 'FRE'"),
        (RULES + PUBLISH.replace("OPT(1,1)", "GH(1,1,0,0)"), 1, "line 6, SUPPRESS: not reached: "),
    ],
)
def test_the_exit_code_says_whether_all_was_applied(folder, commands, code, words):
    done = command(folder, commands)
    assert done.exit_code == code, done.output
    assert words in done.output
    assert "Traceback" not in done.output
    assert (folder / "safe.csv").exists() == (code != 2)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("FREQ(3,30)", "MAGIC(20)", "line 4: there is no rule 'MAGIC'"),
        ("FREQ(3,30)", "MAN(-20)", "line 4: number 1 of MAN must be a number from 0, found '-20'"),
        ("<READTABLE> 0", "<READTABLE> 7", "line 5: READTABLE takes 0, 1, 1T, 1F or 2, found '7'"),
        ("OPT(1,1)", "MOD(1,-5)", "line 6: MOD: minutes must be a number from 0"),
        ('"safe.csv"', '""', "line 7: the name of a file is missing"),
        ('"safe.csv"', '" "', "line 7: the name of a file is missing"),
        ('"safe.csv"', '"."', "line 7: '.' is no name of a file"),
        ('"safe.csv"', '".."', "line 7: '..' is no name of a file"),
        ('"safe.csv"', '"/"', "line 7: '/' is no name of a file"),
        ('"safe.csv"', '"a\\\\"', "is a folder"),
        ('"safe.csv")\n', '"safe.csv")\n<LOGBOOK> "/"\n', "line 8: '/' is no name of a file"),
    ],
)
def test_what_makes_no_sense_ends_with_2_and_nothing_is_written(folder, right, wrong, words):
    (folder / "a").mkdir()
    before = set(folder.iterdir()) | {folder / "job.arb"}
    done = command(folder, (RULES + PUBLISH).replace(right, wrong))
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.split())
    assert set(folder.iterdir()) == before


def test_what_must_not_be_published_ends_with_1_and_no_file(folder, monkeypatch):
    monkeypatch.setattr(preparation, "sensitivity_rules", lambda rules: [])
    done = command(folder, RULES + PUBLISH)
    assert done.exit_code == 1
    assert "Nothing was written" in done.output
    assert not (folder / "safe.csv").exists()


def test_each_line_of_the_log_is_given_as_soon_as_it_is_known(folder):
    command(folder, RULES + PUBLISH + "<SUPPRESS> OPT(2)\n")
    lines: list[str] = []
    with pytest.raises(tc.InputError, match="There is no table '2'"):
        run_batch(folder / "job.arb", on_line=lines.append)
    assert lines[0].startswith("line 1, OPENTABLEDATA") and "safe.csv" in lines[-1]


def test_the_log_counts_the_cells_that_stand_in_the_file(folder):
    result = run(folder, f"{RULES}{PUBLISH.replace('OPT(1,1)', 'MOD(1,1,1,1,1)')}")
    assert any("virtual cells" in line for line in result.log)
    table = result.tables[0]
    [line] = [line for line in result.log if "line 6, SUPPRESS: table 1: " in line]
    text = (folder / "safe.csv").read_text()
    n_hidden = sum(line.endswith(",x") for line in text.splitlines())
    n_unsafe = int(table.problem.sensitive.sum())
    assert f"{n_hidden} cells hidden, {n_unsafe} unsafe and {n_hidden - n_unsafe}" in line


def test_help_says_what_each_exit_code_means():
    text = CliRunner().invoke(app, ["argus", "--help"]).output
    plain = re.sub(r"\s+", " ", re.sub(r"[│╭╮╰╯─]", " ", text))
    for words in (
        "Exit code 0: everything",
        "1: a table",
        "2: the batch stopped",
        "3: all",
        "The last line says which",
    ):
        assert words in plain


def test_the_logbook_holds_the_whole_log_and_only_its_owner_reads_it(folder):
    result = run(folder, f'{RULES}<LOGBOOK> "batch.log"\n{PUBLISH}')
    (path,) = result.beside
    assert path.read_text().splitlines() == result.log
    assert path.stat().st_mode & 0o077 == 0


def test_files_are_written_in_the_code_page_of_those_that_were_read(folder):
    for path in folder.iterdir():
        path.write_bytes(path.read_text().replace("N1", "Zürich").encode("cp1252"))
    done = command(folder, RULES + PUBLISH + '<WRITETABLE> (1,4,,"safe.sbs")\n')
    assert done.exit_code == 0 and "written in cp1252" in done.output
    assert "Zürich".encode("cp1252") in (folder / "safe.csv").read_bytes()
    # What must not leave lies in a folder that only its owner opens.
    assert (folder / "internal").stat().st_mode & 0o777 == 0o700


def test_totals_that_do_not_add_up_are_refused_in_the_words_of_a_batch(folder):
    first, _, others = (folder / "shops.tab").read_text().partition("\n")
    town, kind, sales, rest = first.split(";", 3)
    (folder / "shops.tab").write_text(f"{town};{kind};{2 * float(sales):.1f};{rest}\n{others}")
    done = command(folder, RULES + PUBLISH)
    assert done.exit_code == 2 and "line 5: The table is not additive" in done.output
    assert "tolerance" not in done.output and "READTABLE 1" in " ".join(done.output.split())
    assert command(folder, RULES.replace("E> 0", "E> 1") + PUBLISH).exit_code == 0
