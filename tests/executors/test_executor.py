"""What an executor is: found by its name, with an argument that is checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import pytest

from tablecloak.errors import InputError
from tablecloak.executors.executor import (
    EXECUTORS,
    Executor,
    WorkersExecutor,
    executor_named,
    gathered,
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


@pytest.mark.parametrize("argument", ["0", "-1", "two", "1.5", " 2"])
def test_a_number_of_workers_is_a_whole_number_from_1(argument):
    with pytest.raises(InputError, match=f"'threads:{argument}': the number of workers must be 1"):
        workers_of("threads", argument)


def test_without_a_number_there_are_as_many_workers_as_processors(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert workers_of("threads", "") == 5
    assert executor_named("processes").workers == 5
    # Some systems do not tell.
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
