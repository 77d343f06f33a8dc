"""Data that several tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tablecloak.budget import Budget

# Tests say what is true, not how fast: a busy machine must not fail them.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

INSTANCES = Path(__file__).resolve().parents[2] / "shared" / "instances"


@pytest.fixture(scope="session")
def instances() -> Path:
    if not INSTANCES.exists():
        pytest.skip("the benchmark instances are not on this machine")
    return INSTANCES


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
