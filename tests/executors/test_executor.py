"""What an executor is: found by its name, with an argument that is checked."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar

import pytest

from tablecloak.errors import InputError, SolverError
from tablecloak.executors import executor
from tablecloak.executors.executor import (
    ATTEMPTS,
    EXECUTORS,
    Executor,
    ProcessExecutor,
    SerialExecutor,
    ThreadExecutor,
    WorkersExecutor,
    executor_named,
    gathered,
    in_context,
    workers_of,
)


class Backwards(Executor):
    """The last task first."""

    name = "backwards"
    forms = ("backwards",)

    def run(self, function: Callable, tasks: Sequence) -> Iterator:
        """Yield from the end."""
        for number in reversed(range(len(tasks))):
            yield number, function(tasks[number])


def test_an_executor_of_ones_own_is_found_by_its_name():
    with EXECUTORS.including(Backwards):
        found = executor_named("backwards:ignored")
        assert isinstance(found, Backwards)
        assert list(found.run(abs, [-1, -2])) == [(1, 2), (0, 1)]
    with pytest.raises(InputError, match="no executor 'backwards'"):
        executor_named("backwards")


def test_a_number_of_workers_is_a_whole_number_from_1():
    for argument in ["0", "-1", "two", "1.5", " 2"]:
        with pytest.raises(
            InputError, match=f"'threads:{argument}': the number of workers must be 1"
        ):
            workers_of("threads", argument)


def test_without_a_number_there_are_as_many_workers_as_processors(monkeypatch):
    # Those that this process may use, of all that the machine has.
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert workers_of("threads", "") == 3
    # Some systems bind no process to processors, or do not tell how many there are.
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert workers_of("threads", "") == 5
    assert executor_named("processes").workers == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert workers_of("threads", "") == 1


def test_those_with_workers_read_their_number():
    assert isinstance(executor_named("threads:2"), WorkersExecutor)
    assert executor_named("threads:2").workers == 2


class Pool:
    """A pool that does a task when it is asked for, and remembers what it was given."""

    def __init__(self) -> None:
        self.futures: list[Future] = []

    def submit(self, function: Callable, task: object) -> Future:
        future: Future = Future()
        self.futures.append(future)
        if task != "waits":
            try:
                future.set_result(function(task))
            except ValueError as error:
                future.set_exception(error)
        return future


def test_results_come_with_the_numbers_of_their_tasks():
    assert sorted(gathered(Pool(), abs, {3: -1, 5: -2})) == [(3, 1), (5, 2)]
    assert list(gathered(Pool(), abs, {})) == []


def test_an_error_cancels_what_has_not_begun():
    pool = Pool()
    with pytest.raises(ValueError, match="invalid literal"):
        list(gathered(pool, int, {0: "x", 1: "waits"}))
    assert pool.futures[1].cancelled()


def test_whoever_stops_listening_cancels_what_has_not_begun():
    pool = Pool()
    results = gathered(pool, str, {0: "a", 1: "waits"})
    assert next(results) == (0, "a")
    results.close()
    assert pool.futures[1].cancelled()


def test_tasks_are_done_in_order_and_no_sooner_than_needed():
    done: list[int] = []
    results = SerialExecutor().run(lambda task: done.append(task) or -task, [4, 5, 6])
    assert done == []
    assert next(results) == (0, -4)
    assert done == [4]
    assert list(results) == [(1, -5), (2, -6)]


CHOICE: ContextVar[str] = ContextVar("choice", default="none")


def test_what_a_task_changes_in_its_context_no_other_task_sees():
    def change(task: int) -> str:
        before = CHOICE.get()
        CHOICE.set(f"task {task}")
        return before

    found = dict(ThreadExecutor(1).run(change, range(4)))
    assert set(found.values()) == {"none"}
    assert CHOICE.get() == "none"


def test_a_function_keeps_the_context_in_which_it_was_made():
    token = CHOICE.set("cbc")
    function = in_context(lambda task: (task, CHOICE.get()))
    CHOICE.reset(token)
    assert function(1) == (1, "cbc")
    assert CHOICE.get() == "none"


def test_as_many_tasks_run_at_once_as_there_are_workers():
    meeting = threading.Barrier(3, timeout=60)
    found = dict(ThreadExecutor(3).run(lambda task: meeting.wait() >= 0, range(3)))
    assert all(found.values())


class DyingPool:
    """Stands for a pool of processes."""

    def __init__(self, workers: int, mp_context: object) -> None:
        assert mp_context.get_start_method() == "spawn"

    def __enter__(self) -> DyingPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def dying(monkeypatch):
    """Let workers die before each result whose number is in a list; each number once."""

    def planned(deaths: list[int]) -> list[list[int]]:
        begun: list[list[int]] = []

        def gathered(pool, function, left, _budget):
            begun.append(sorted(left))
            for number in sorted(left):
                if number in deaths:
                    deaths.remove(number)
                    raise BrokenProcessPool
                yield number, function(left[number])

        monkeypatch.setattr(executor, "ProcessPoolExecutor", DyingPool)
        monkeypatch.setattr(executor, "gathered", gathered)
        return begun

    return planned


def test_only_what_is_left_is_repeated_after_a_death(dying):
    begun = dying([2])
    assert dict(ProcessExecutor(2).run(abs, [-1, -2, -3, -4])) == {0: 1, 1: 2, 2: 3, 3: 4}
    assert begun == [[0, 1, 2, 3], [2, 3]]


def test_deaths_count_only_while_nothing_is_done(dying):
    begun = dying([0, 0, 1, 1, 2, 2])
    assert dict(ProcessExecutor(2).run(abs, [-1, -2, -3])) == {0: 1, 1: 2, 2: 3}
    assert len(begun) == 7


def test_deaths_in_a_row_end_it_with_what_is_left_and_what_to_do(dying):
    begun = dying([1] * ATTEMPTS)
    results = ProcessExecutor(2).run(abs, [-1, -2, -3])
    assert next(results) == (0, 1)
    with pytest.raises(SolverError, match="3 times in a row with 2 tasks left.*fewer workers"):
        list(results)
    assert len(begun) == ATTEMPTS


def test_an_error_of_a_task_comes_back_as_it_is():
    with pytest.raises(ValueError, match="invalid literal"):
        list(ProcessExecutor(1).run(int, ["x"]))
