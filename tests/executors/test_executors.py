"""Executors: every task once, whatever happens to the workers."""

from __future__ import annotations

from contextvars import ContextVar

import pytest

import tablecloak as tc
from tablecloak.executors import (
    EXECUTORS,
    ProcessExecutor,
    SerialExecutor,
    ThreadExecutor,
    executor_named,
)
from tasks import die, die_once, square

CHOICE: ContextVar[str] = ContextVar("choice", default="none")


@pytest.mark.parametrize("executor", [SerialExecutor(), ThreadExecutor(3), ProcessExecutor(2)])
def test_executors_give_every_result_once(executor):
    assert sorted(executor.run(square, range(7))) == [(n, n * n) for n in range(7)]
    assert list(executor.run(square, [])) == []


def test_a_killed_process_costs_time_and_no_result(tmp_path):
    tasks = [str(tmp_path / f"task{n}") for n in range(4)]
    found = dict(ProcessExecutor(2).run(die_once, tasks))
    assert found == {n: f"task{n}" for n in range(4)}
    with pytest.raises(tc.SolverError, match="died 3 times"):
        list(ProcessExecutor(1).run(die, ["x"]))


def test_executors_by_name():
    assert isinstance(executor_named("serial"), SerialExecutor)
    assert executor_named("processes:3").workers == 3
    assert executor_named("dask:tcp://host:8786").address == "tcp://host:8786"
    assert executor_named("dask:4").workers == 4
    with pytest.raises(tc.InputError, match="no executor 'proceses'.*processes"):
        executor_named("proceses")
    with pytest.raises(tc.InputError, match="1 or more"):
        executor_named("threads:0")


def test_tasks_in_threads_see_what_was_chosen_around_them():
    token = CHOICE.set("cbc")
    try:
        found = dict(ThreadExecutor(2).run(lambda task: CHOICE.get(), range(3)))
    finally:
        CHOICE.reset(token)
    assert found == {0: "cbc", 1: "cbc", 2: "cbc"}


def test_an_error_of_a_task_is_raised_and_ends_the_others():
    def failing(task: int) -> int:
        raise ValueError(f"task {task}")

    with pytest.raises(ValueError, match="task"):
        list(ThreadExecutor(1).run(failing, range(100)))


def test_every_executor_says_how_it_is_written():
    for each in EXECUTORS:
        assert each.forms[0] == each.name
        assert all(isinstance(executor_named(form), each) for form in each.forms)
