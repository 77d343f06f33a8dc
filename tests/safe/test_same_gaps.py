"""A program that is run again gives the same gaps and statuses, however busy the machine is."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd

from tablecloak import budget, safe


def table(seed, protect):
    """A table of counts in a project of its own."""
    random = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "region": (random.random(1_000) ** 2 * 25).astype(int).astype(str),
            "job": (random.random(1_000) ** 1.5 * 8).astype(int).astype(str),
        }
    )
    safe.new_project({"safe_threshold": 10})
    return safe.crosstab(people.region, people.job, margins=True, protect=protect)


def on_a_slow_machine(monkeypatch, seed, protect):
    """The same table where a second passes each time that somebody looks at the clock."""
    ticks = count()
    slow = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    with monkeypatch.context() as patched:
        patched.setitem(vars(budget), "time", slow)
        shown = table(seed, protect)
    assert next(ticks) > 10
    return shown


def test_gaps_do_not_depend_on_the_clock(monkeypatch):
    secondary = 0
    for seed in (1, 6, 13):
        one = table(seed, "suppression").isna()
        two = on_a_slow_machine(monkeypatch, seed, "suppression").isna()
        pd.testing.assert_frame_equal(one, two)
        secondary += int(one.to_numpy().sum())
    assert secondary > 100


def test_rounded_counts_and_their_status_do_not_depend_on_the_clock(monkeypatch):
    statuses = []
    for seed in (1, 6, 13):
        one = table(seed, "rounding")
        two = on_a_slow_machine(monkeypatch, seed, "rounding")
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(two))
        assert one.outcome.reasons == two.outcome.reasons
        statuses.append(one.outcome.status)
    assert "pass" in statuses
