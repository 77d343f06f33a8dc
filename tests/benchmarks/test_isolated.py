"""A call in a process of its own returns what it gave, what it used, or why it failed."""

from __future__ import annotations

import math
import time

from bench.isolated import OUT_OF_MEMORY, isolated


def test_a_call_returns_its_result_and_what_it_used():
    found = isolated(math.hypot, 3.0, 4.0)
    assert found.result == 5.0 and not found.error and not found.timed_out
    assert found.cpu_seconds > 0 and found.memory > 20


def test_a_failure_is_told_by_its_last_line():
    found = isolated(math.sqrt, -1.0)
    assert found.result is None
    assert found.error.startswith("ValueError: ")


def test_a_call_without_end_is_ended():
    found = isolated(time.sleep, 3600, seconds=0.5)
    assert found.timed_out and found.error == "did not end; it was killed"


def test_memory_beyond_the_limit_is_a_failure_of_its_own_kind():
    assert isolated(bytearray, 2**33, memory=1500.0).error == OUT_OF_MEMORY


def test_a_process_that_dies_says_so():
    found = isolated(exec, "import os; os._exit(3)")
    assert found.error == "ended with code 3"
