"""Progress and messages on stderr."""

from __future__ import annotations

import math

import pytest

from tablecloak.budget import Budget
from tablecloak.cli import display
from tablecloak.cli.display import Reporter, once, reporting, say, show_warning


class Watch:
    """A stopwatch that stands at a given time."""

    seconds = 0.0


@pytest.fixture
def reporter(monkeypatch):
    made = Reporter()
    made.watch = Watch()
    made.lines = []
    monkeypatch.setattr(made, "show", lambda *line: made.lines.append(line))
    yield made
    made.stop()


def test_short_work_shows_no_progress(reporter):
    reporter("search", 10.0, 5.0, 3)
    assert reporter.lines == []


def test_work_without_a_figure_is_named_once_it_takes_long(reporter):
    """It may begin before anything is shown, and go on for a minute."""
    reporter("adding up records", math.inf, -math.inf, 0)
    assert reporter.lines == [("adding up records", None)]


def test_progress_says_stage_loss_bound_and_what_is_open(reporter):
    reporter.watch.seconds = 3.0
    reporter("search", 10.0, 5.0, 3)
    assert reporter.lines == [
        ("search: loss 10, bound 5, gap 50.0 %, 3 open, 3 s (Ctrl-C keeps what is proved)", None)
    ]


def test_what_is_not_known_yet_is_not_shown_as_a_number(reporter):
    reporter.watch.seconds = 3.0
    reporter("search", math.inf, -math.inf, 3)
    assert reporter.lines == [
        ("search: nothing found yet, 3 open, 3 s (Ctrl-C keeps what is proved)", None)
    ]


def test_an_audit_counts_what_is_done(reporter):
    reporter.watch.seconds = 3.0
    reporter("audit", 4.0, 9.0, 5)
    assert reporter.lines == [("audit: 4 of 9, 5 open, 3 s (Ctrl-C keeps what is proved)", None)]


def test_the_bar_is_the_share_of_the_time_limit_that_is_used(reporter):
    reporter.watch.seconds = 3.0
    with Budget.of(1000.0, progress=reporter).interruptible() as budget:
        budget.report("search", 10.0, 5.0, 3)
    ((text, share),) = reporter.lines
    assert " 3 of 1000 s" in text
    assert 0 <= share < 0.5


def test_the_line_changes_no_faster_than_it_can_be_read(reporter):
    for seconds in (3.0, 3.1, 3.15, 3.25):
        reporter.watch.seconds = seconds
        reporter("search", 10.0, 5.0, 3)
    assert len(reporter.lines) == 2


def test_the_line_is_removed_also_after_an_error(monkeypatch):
    stopped = []
    monkeypatch.setattr(Reporter, "stop", lambda self: stopped.append(self.start.cancel()))
    with pytest.raises(ZeroDivisionError), reporting():
        raise ZeroDivisionError
    assert len(stopped) == 1


def test_messages_go_to_stderr_without_what_a_terminal_would_obey(capsys):
    say("column \x1b[31mred")
    show_warning(UserWarning("two cells"), UserWarning, "file.py", 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "column \\x1b[31mred\nnote: two cells\n"


def test_exit_codes_tell_results_that_are_not_safe_from_wrong_input_and_from_our_faults():
    codes = [display.NOT_SAFE, display.BAD_INPUT, display.INTERNAL, display.INTERRUPTED]
    assert codes == [1, 2, 70, 130]


def test_a_warning_that_each_variable_gives_is_printed_once(capsys):
    show = once(show_warning)
    for text in ("sums have many decimals", "sums have many decimals", "another"):
        show(UserWarning(text), UserWarning, "file.py", 3)
    assert capsys.readouterr().err.splitlines() == [
        "note: sums have many decimals",
        "note: another",
    ]
