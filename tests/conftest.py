"""Data that several tests share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

# Workers of tests run beside each other, one for each core. Further threads of linear algebra would
# only wait for one another, and take half as much time again. It is read when numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from instances import Instances
from tablecloak.budget import Budget

# Each test module, and each process that a test starts, would compile our files again where the
# environment says that compiled ones are not to be kept.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests say what is true, not how fast: a busy machine must not fail them. The examples of all
# tests together are many; those of one are few.
settings.register_profile("untimed", deadline=None, max_examples=20)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def instances() -> Instances:
    """Files of instances: those in tests/data, and where they are there those beside the clone."""
    return Instances()


@pytest.fixture
def budgets_begun(monkeypatch) -> list[Budget]:
    """All budgets that are begun while the test runs, in order."""
    budgets: list[Budget] = []
    begun = Budget.begun.__func__

    def recorded(cls, *args, **options):
        budgets.append(begun(cls, *args, **options))
        return budgets[-1]

    monkeypatch.setattr(Budget, "begun", classmethod(recorded))
    return budgets


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect no garbage while tests are collected, and pass over modules and tests ever after.

    They stay to the end, and hardly any of what makes them is garbage. What tests make later is
    looked through less often: most of it goes without, as soon as nobody holds it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


def pytest_terminal_summary(terminalreporter) -> None:
    """Name every test that did not run, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.section(f"not run: {len(skipped)} tests")
    for report in sorted(skipped, key=lambda report: report.nodeid):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"{report.nodeid}: {str(reason).removeprefix('Skipped: ')}")
