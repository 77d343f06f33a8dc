"""Tasks in processes of their own: errors come back, dead workers cost time."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool

import pytest

from tablecloak.errors import SolverError
from tablecloak.executors import processes
from tablecloak.executors.processes import ATTEMPTS, ProcessExecutor


class Pool:
    """Stands for a pool of processes."""

    def __init__(self, workers: int, mp_context: object) -> None:
        assert mp_context.get_start_method() == "spawn"

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def dying(monkeypatch):
    """Let workers die before each result whose number is in a list; each number once."""

    def planned(deaths: list[int]) -> list[list[int]]:
        begun: list[list[int]] = []

        def gathered(pool, function, left):
            begun.append(sorted(left))
            for number in sorted(left):
                if number in deaths:
                    deaths.remove(number)
                    raise BrokenProcessPool
                yield number, function(left[number])

        monkeypatch.setattr(processes, "ProcessPoolExecutor", Pool)
        monkeypatch.setattr(processes, "gathered", gathered)
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
