"""A program that is run again gives the same gaps, however busy the machine is."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd

from tablecloak import budget, safe


def gaps(seed):
    """Which counts of a table are hidden, in a project of its own."""
    random = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "region": (random.random(1_000) ** 2 * 25).astype(int).astype(str),
            "job": (random.random(1_000) ** 1.5 * 8).astype(int).astype(str),
        }
    )
    safe.new_project({"safe_threshold": 10})
    return safe.crosstab(people.region, people.job, margins=True).isna()


def test_gaps_do_not_depend_on_the_clock(monkeypatch):
    """On the second machine a second passes each time that somebody looks at the clock."""
    secondary = 0
    for seed in (1, 6, 13):
        one = gaps(seed)
        ticks = count()
        slow = SimpleNamespace(monotonic=lambda ticks=ticks: float(next(ticks)))
        with monkeypatch.context() as patched:
            patched.setitem(vars(budget), "time", slow)
            two = gaps(seed)
        pd.testing.assert_frame_equal(one, two)
        assert next(ticks) > 10
        secondary += int(one.to_numpy().sum())
    assert secondary > 100
