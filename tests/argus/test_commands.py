"""Each command and each method of SUPPRESS stands in one table."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

import tablecloak as tc
from shops import run, write_shops
from tablecloak.argus import run_batch
from tablecloak.argus.commands import COMMANDS
from tablecloak.argus.lines import Command
from tablecloak.argus.methods import METHODS, Optimal, read_suppression

BEGIN = "<SAFETYRULE> FREQ(3,30)\n<READTABLE> 0\n"


def remark(batch, command, arguments):
    """Write a remark into the log."""
    batch.say(command, arguments.word("a remark"))


class Twice(Optimal):
    """The optimal method under another name."""

    name: ClassVar[str] = "TWICE"
    arguments: ClassVar = (("minutes", 0, 5),)


def test_a_table_with_one_response_needs_no_specification(tmp_path):
    write_shops(tmp_path)
    named = run(tmp_path, "<READTABLE> 0\n").problems[0]
    opened = '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "shops.rda"\n<READTABLE> 0\n'
    (tmp_path / "job.arb").write_text(opened)
    (alone,) = run_batch(tmp_path / "job.arb").problems
    assert alone.to_frame().equals(named.to_frame())
    rda = (tmp_path / "shops.rda").read_text()
    (tmp_path / "shops.rda").write_text(rda.replace("<FREQUENCY>", "<NUMERIC>"))
    with pytest.raises(
        tc.InputError, match=r"line 3: No table is specified.*Sales, Firms as its.*Put"
    ):
        run_batch(tmp_path / "job.arb")


def test_the_docs_name_every_command_and_every_method():
    text = (Path(__file__).parents[2] / "docs" / "argus.md").read_text(encoding="utf-8")
    table = text[text.index("## What is read") : text.index("## What is done in another way")]
    assert [name for name in (*COMMANDS, *METHODS.names) if name not in table] == []


def test_a_command_added_at_run_time_is_applied(tmp_path, monkeypatch):
    write_shops(tmp_path)
    lines = f'{BEGIN}<REMARK> "so far"\n'
    with pytest.raises(tc.InputError, match="<REMARK> is not known"):
        run(tmp_path, lines)
    monkeypatch.setitem(COMMANDS, "REMARK", remark)
    assert "line 6, REMARK: so far" in run(tmp_path, lines).log
    with pytest.raises(tc.InputError, match="line 6: a remark is missing"):
        run(tmp_path, f"{BEGIN}<REMARK>\n")


def test_a_method_added_at_run_time_protects_by_its_own_numbers(tmp_path):
    write_shops(tmp_path)
    with METHODS.including(Twice):
        lines = f'{BEGIN}<SUPPRESS> TWICE(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n'
        assert any("TWICE is done as one problem" in line for line in run(tmp_path, lines).log)
        wanted = read_suppression(Command(tmp_path, 1, "SUPPRESS", "TWICE(1,3)").arguments())
        assert wanted.numbers == {"minutes": 3}
        with pytest.raises(tc.InputError, match="TWICE: minutes must be a number from 0 to 5"):
            read_suppression(Command(tmp_path, 1, "SUPPRESS", "TWICE(1,9)").arguments())
