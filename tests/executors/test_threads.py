"""Tasks in threads see the caller's context, and keep changes to themselves."""

from __future__ import annotations

import threading
from contextvars import ContextVar

from tablecloak.executors.threads import ThreadExecutor, in_context

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
