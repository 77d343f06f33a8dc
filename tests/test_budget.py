"""A budget ends searches: by time, from other threads, by Ctrl-C, and by its reports."""

from __future__ import annotations

import math
import os
import signal
import threading
from types import SimpleNamespace

import pytest

import tablecloak as tc
from tablecloak import budget as clock
from tablecloak.budget import Budget, StopButton, running
from tablecloak.executors import ThreadExecutor


def test_a_share_is_part_of_the_time_that_is_left():
    budget = Budget.of(1000.0)
    assert 190 < budget.share(0.2).left <= 200
    assert budget.within(5000.0).left <= 1000
    assert Budget.of().share(0.2).left == math.inf


def test_at_least_goes_past_the_deadline_but_not_past_a_stop():
    budget = Budget.of(0.0)
    assert budget.is_over and budget.left == 0
    longer = budget.at_least(100.0)
    assert not longer.is_over and longer.left > 90
    budget.stop()
    assert longer.is_over and longer.left == 0


def test_no_step_of_a_strict_budget_gets_time_past_the_deadline():
    loose, strict = Budget.of(0.0), Budget.of(0.0).strict()
    assert loose.past(100.0) == 100.0 and Budget.of(100.0).past(1.0) > 90
    assert strict.is_strict and strict.share(0.5).is_strict
    # Half a second at least, so that even no answer is one in time.
    assert 0 < strict.past(100.0) <= 0.5
    assert strict.at_least(100.0) is strict
    strict.stop()
    assert strict.past(100.0) == 0


@pytest.mark.parametrize("stopped", ["whole", "part"])
def test_stopping_a_part_stops_the_whole_and_the_other_way_round(stopped):
    whole = Budget.of(100.0)
    part = whole.share(0.5)
    thread = threading.Thread(target=(whole if stopped == "whole" else part).stop)
    thread.start()
    thread.join()
    assert whole.is_over and part.is_over


def test_reports_reach_the_callback_until_the_search_is_stopped():
    seen = []
    budget = Budget.of(progress=lambda *said: seen.append(said))
    budget.share(0.5).report("search", 3.0, 1.0, 2)
    budget.stop()
    budget.report("search", 2.0, 1.0, 1)
    assert seen == [("search", 3.0, 1.0, 2)]


def test_a_callback_that_is_interrupted_stops_the_search_and_one_that_fails_raises():
    def interrupted(*_):
        raise KeyboardInterrupt

    def broken(*_):
        raise ValueError("broken")

    budget = Budget.of(progress=interrupted)
    budget.report("search", 1.0)
    assert budget.is_stopped
    budget = Budget.of(progress=broken)
    with pytest.raises(ValueError, match="broken"):
        budget.report("search", 1.0)
    assert budget.is_stopped


@pytest.fixture
def default_handler():
    """Other libraries, such as Spark, leave handlers of their own behind."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
def test_the_first_interrupt_stops_and_the_second_one_raises():
    budget = Budget.of(100.0)
    with pytest.raises(KeyboardInterrupt), budget.interruptible():
        os.kill(os.getpid(), signal.SIGINT)
        assert budget.is_stopped
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "given", [{"seconds": -1.0}, {"seconds": math.nan}, {"threads": 0}, {"seed": -1}, {"seed": "x"}]
)
def test_limits_out_of_range_are_refused(given):
    with pytest.raises(tc.InputError):
        Budget.of(**given)


def test_a_stop_button_ends_one_search_and_passes_reports_on():
    reports = []
    button = StopButton(lambda *report: reports.append(report))
    first, second = (Budget.of(progress=button) for _ in range(2))
    first.report("searching", 3.0)
    assert not first.is_stopped
    button.press()
    first.report("searching", 2.0)
    second.report("searching", 1.0)
    assert first.is_stopped
    assert not second.is_stopped
    assert [report[1] for report in reports] == [3.0, 2.0, 1.0]


def test_the_last_report_is_repeated_so_that_a_button_ends_what_takes_long(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    reports = []
    button = StopButton(lambda *report: reports.append(report))
    budget = Budget.of(progress=button)
    assert not budget.hears_stop()
    budget.report("searching", 3.0, 1.0, 2)
    button.press()
    assert not budget.hears_stop()
    now[0] += clock.REPEATED_EVERY
    assert budget.hears_stop()
    assert reports == [("searching", 3.0, 1.0, 2)] * 2


def test_a_search_is_running_inside_its_budget_and_in_the_threads_that_it_starts():
    outer, inner = Budget.of(), Budget.of()
    assert running() is None
    with outer.interruptible():
        with inner.interruptible():
            assert running() is inner
        threads = ThreadExecutor(2).run(lambda _: running(), [0, 1])
        assert [budget for _, budget in threads] == [outer, outer]
    assert running() is None


def test_stopping_a_search_inside_another_stops_both_and_one_after_a_stop_goes_on():
    with Budget.begun().interruptible() as outer:
        inner = Budget.begun(5.0)
        assert not inner.is_over
        inner.stop()
        assert outer.is_over
        assert not Budget.begun(5.0).is_over
    assert running() is None
    assert not Budget.begun().is_over
