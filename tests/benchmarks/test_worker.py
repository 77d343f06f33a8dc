"""A worker does the task that was written for it, and writes what came of it."""

from __future__ import annotations

import math
import pickle
import sys

import pytest

from bench.isolated import Outcome
from bench.worker import main, peak_memory


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))

    def worked(function, *arguments, places=()) -> Outcome:
        task, answer = tmp_path / "task", tmp_path / "answer"
        packed = pickle.dumps((function, arguments, None))
        task.write_bytes(pickle.dumps((list(places), packed)))
        main(task, answer)
        return pickle.loads(answer.read_bytes())

    return worked


def test_a_result_and_a_failure_are_both_outcomes(work):
    assert work(math.hypot, 3.0, 4.0).result == 5.0
    found = work(math.sqrt, -1.0)
    assert found.result is None and found.error.startswith("ValueError: ")
    assert found.cpu_seconds > 0


def test_modules_of_the_caller_are_looked_for_last(work, tmp_path):
    (tmp_path / "math.py").write_text("")
    before = list(sys.path)
    work(math.hypot, 3.0, 4.0, places=[str(tmp_path), before[-1]])
    assert sys.path == [*before, str(tmp_path)]


def test_peak_memory_covers_what_was_used():
    block = bytearray(2**26)
    assert peak_memory() > len(block) / 2**20 or math.isnan(peak_memory())
