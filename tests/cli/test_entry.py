"""What goes wrong becomes one message and an exit code; what is confidential stays unsaid."""

from __future__ import annotations

import io
import signal
import sys
import warnings

import pytest
import typer
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.entry import SHOW_TRACEBACK, Program
from tablecloak.cli.interrupts import ended_at_once
from tablecloak.cli.main import app

RUN = CliRunner()


def program(error: BaseException | None = None) -> typer.Typer:
    made = typer.Typer(cls=Program)

    @made.command()
    def work(share: float = 0.5) -> None:
        if error is not None:
            raise error
        typer.echo(f"share {share:g}")

    @made.command()
    def rest() -> None:
        pass

    return made


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (tc.InputError("a.csv: no column 'x'. Name one of its columns."), 2, "Error: a.csv: no"),
        (tc.ModelError("Cell 3 cannot move."), 2, "Impossible: Cell 3 cannot move."),
        (tc.SolverError("The solver broke off."), 2, "Error: The solver broke off."),
        (tc.VerificationError("Cell 3 is not safe."), 1, "Error: Cell 3 is not safe."),
        (KeyboardInterrupt(), 130, "Interrupted; nothing was written."),
        (MemoryError(), 70, "not enough memory"),
    ],
)
def test_each_kind_of_error_has_a_message_and_an_exit_code(error, code, message):
    done = RUN.invoke(program(error), ["work"])
    assert done.exit_code == code
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_fault_of_ours_says_its_kind_and_nothing_that_may_be_confidential(monkeypatch):
    monkeypatch.delenv(SHOW_TRACEBACK, raising=False)
    done = RUN.invoke(program(ZeroDivisionError("turnover of firm 7 is 12345")), ["work"])
    assert done.exit_code == 70
    assert "Internal error: ZeroDivisionError" in done.output
    assert "12345" not in done.output


def test_a_traceback_is_let_through_only_on_request(monkeypatch):
    monkeypatch.setenv(SHOW_TRACEBACK, "1")
    done = RUN.invoke(program(ZeroDivisionError("12345")), ["work"])
    assert isinstance(done.exception, ZeroDivisionError)


def test_a_message_cannot_steer_the_terminal():
    done = RUN.invoke(program(tc.InputError("\x1b[2Jcolumn \u202eevil")), ["work"])
    assert "\x1b" not in done.output
    assert "\\x1b[2Jcolumn \\u202eevil" in done.output


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_options_that_are_numbers_are_finite(number):
    done = RUN.invoke(program(), ["work", "--share", number], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "is not a finite number" in done.output
    assert RUN.invoke(program(), ["work", "--share", "0.25"]).output == "share 0.25\n"


def test_a_warning_of_ours_is_one_line_beside_the_results_and_said_once():
    made = typer.Typer(cls=Program)

    @made.command()
    def work() -> None:
        for _ in ("turnover", "employees"):
            warnings.warn("two cells are coarse", tc.TablecloakWarning, stacklevel=1)
        typer.echo("done")

    @made.command()
    def rest() -> None:
        pass

    done = RUN.invoke(made, ["work"])
    assert done.stderr == "note: two cells are coarse\n"
    assert done.stdout == "done\n"


def test_commands_out_of_registries_are_made_when_they_are_asked_for():
    listed = RUN.invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    for name in ("protect", "suppress", "example", "records", "agencies", "small-counts"):
        assert f" {name} " in listed
    assert " swap " in RUN.invoke(app, ["records", "--help"]).output
    assert RUN.invoke(app, ["records", "swap", "--help"]).exit_code == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["swap"], ["records", "swap"]),
        (["check"], ["safe", "check"]),
        (["securesum", "join"], ["agencies", "join"]),
    ],
)
def test_a_command_that_moved_is_found_by_its_old_name_with_a_hint(old, new):
    done, now = (RUN.invoke(app, [*words, "--help"]) for words in (old, new))
    assert done.exit_code == 0
    assert done.stdout == now.stdout
    assert f"Hint: write `tablecloak {' '.join(new[: 3 - len(old)])}`." in done.stderr
    assert not now.stderr


def test_an_unknown_command_is_refused():
    done = RUN.invoke(app, ["protct"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "No such command 'protct'" in done.output


def test_the_version_is_that_of_the_package():
    assert RUN.invoke(app, ["--version"]).output == f"tablecloak {tc.__version__}\n"


def test_a_terminal_that_cannot_show_a_letter_does_not_end_a_command(monkeypatch):
    made = typer.Typer(cls=Program)

    @made.command()
    def work() -> None:
        print("batch files of τ-ARGUS")

    @made.command()
    def rest() -> None:
        pass

    shown = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", shown)
    with pytest.raises(SystemExit) as ended:
        made(["work"])
    shown.flush()
    assert ended.value.code == 0
    assert shown.buffer.getvalue().strip() == b"batch files of ?-ARGUS"


def test_ctrl_c_ends_the_program_at_once_while_it_is_loaded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ended_at_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with ended_at_once():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_while_commands_are_built_is_one_message(monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(typer.Typer, "__call__", interrupted)
    with pytest.raises(SystemExit) as ended:
        app()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted; nothing was written.\n"


def test_a_file_that_may_not_be_used_is_named_and_no_fault_of_ours(monkeypatch):
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "firms.csv")

    monkeypatch.setattr("tablecloak.tables.formats.read_problem", refused)
    done = CliRunner().invoke(app, ["suppress", "p.jj", "-o", "out.csv"])
    assert done.exit_code == 2
    assert "Error: firms.csv: Permission denied. Check the path" in done.output


def test_threads_that_find_no_memory_are_told_as_lack_of_memory(monkeypatch):
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("tablecloak.tables.formats.read_problem", refused)
    done = CliRunner().invoke(app, ["suppress", "p.jj", "-o", "out.csv"])
    assert "there is not enough memory" in done.output
