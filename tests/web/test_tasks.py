"""The queue: what waits, runs, is stopped, forgotten, and what errors are told as."""

from __future__ import annotations

import threading
import warnings

import pytest

import tablecloak as tc
from tablecloak.errors import TablecloakWarning
from tablecloak.web import tasks
from tablecloak.web.tasks import BusyError, QueuedTask, TaskQueue, UnknownJobError, hearing_warnings


def task(work=lambda progress: None, **given) -> QueuedTask:
    return QueuedTask(work, str, **given)


def search(progress):
    """Report until it is told to end."""
    steps = 0
    while True:
        try:
            progress("searching", 5.0, 1.0, 3)
        except KeyboardInterrupt:
            return steps
        steps += 1
        threading.Event().wait(0.001)


def begun(queue: TaskQueue) -> QueuedTask:
    one = queue.add(task(search))
    while not one.stage:
        threading.Event().wait(0.001)
    return one


def test_a_task_gives_what_its_work_returns():
    done = TaskQueue().add(task(lambda progress: 7, label="seven"))
    assert done.wait(60)
    assert (done.state, done.result, done.error) == ("done", 7, None)


def test_a_search_reports_and_a_stop_keeps_its_best_answer():
    running = begun(TaskQueue())
    assert (running.state, running.loss, running.bound, running.open) == ("running", 5.0, 1.0, 3)
    running.stop()
    assert running.wait(60)
    assert (running.state, running.result is None) == ("done", False)


def test_tasks_wait_for_their_turn_and_a_stopped_one_never_begins():
    queue, cleaned = TaskQueue(), []
    first = begun(queue)
    second = queue.add(task(lambda progress: 2, after=lambda: cleaned.append(2)))
    third = queue.add(task(lambda progress: 3))
    assert (second.state, third.state) == ("waiting", "waiting")
    second.stop()
    assert (second.state, second.has_ended) == ("stopped", True)
    first.stop()
    assert third.wait(60)
    assert (second.result, third.result, cleaned) == (None, 3, [2])


def test_as_many_tasks_run_at_a_time_as_are_allowed():
    queue = TaskQueue(at_once=2)
    first, second = begun(queue), begun(queue)
    third = queue.add(task())
    assert third.state == "waiting"
    queue.close()
    assert first.wait(60) and second.wait(60) and third.wait(60)
    assert queue.all() == []


@pytest.mark.parametrize(
    ("error", "is_stopped", "state"),
    [
        (tc.SolverError("nothing proved"), True, "stopped"),
        (tc.SolverError("nothing proved"), False, "failed"),
        (KeyError("x"), True, "failed"),
    ],
)
def test_what_ended_before_anything_was_proved_failed_unless_it_was_stopped(
    error, is_stopped, state
):
    go_on = threading.Event()

    def work(progress):
        assert go_on.wait(60)
        raise error

    failed = TaskQueue().add(task(work))
    while failed.state == "waiting":
        threading.Event().wait(0.001)
    if is_stopped:
        failed.stop()
    go_on.set()
    assert failed.wait(60)
    assert (failed.state, failed.error) == (state, str(error))


def test_a_forgotten_task_ends_all_its_searches():
    queue, searches = TaskQueue(), []
    running = queue.add(
        task(lambda progress: searches.extend([search(progress), search(progress)]))
    )
    while not running.stage:
        threading.Event().wait(0.001)
    queue.forget(running.name)
    assert running.wait(60)
    assert len(searches) == 2
    with pytest.raises(UnknownJobError, match="There is no job"):
        queue[running.name]


def test_the_oldest_result_makes_room_and_running_tasks_never_do(monkeypatch):
    monkeypatch.setattr(tasks, "MOST_KEPT", 2)
    queue = TaskQueue(at_once=2)
    first = queue.add(task())
    assert first.wait(60)
    begun(queue), begun(queue)
    assert first not in queue.all()
    with pytest.raises(BusyError, match="2 jobs are waiting or running"):
        queue.add(task())
    queue.close()


def test_warnings_stay_with_the_task_that_they_are_about(recwarn):
    def work(progress):
        warnings.warn("a secret value", TablecloakWarning, stacklevel=1)

    with hearing_warnings():
        done = TaskQueue().add(task(work))
        assert done.wait(60)
    assert done.warnings == ["a secret value"]
    assert not list(recwarn)
