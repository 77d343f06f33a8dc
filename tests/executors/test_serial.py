"""One task after the other, each when its result is asked for."""

from __future__ import annotations

from tablecloak.executors.serial import SerialExecutor


def test_tasks_are_done_in_order_and_no_sooner_than_needed():
    done: list[int] = []
    results = SerialExecutor().run(lambda task: done.append(task) or -task, [4, 5, 6])
    assert done == []
    assert next(results) == (0, -4)
    assert done == [4]
    assert list(results) == [(1, -5), (2, -6)]
