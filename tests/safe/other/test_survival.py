"""Intervals of a survival table: as many as the threshold allows, and each of enough persons."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from tablecloak.safe import Project

THRESHOLD = 2


def is_fit(time, died, low, high):
    """Whether enough persons had the event in an interval, and enough or none were lost."""
    inside = (time > low) & (time <= high)
    had, lost = (inside & died).sum(), (inside & ~died).sum()
    return had >= THRESHOLD and (lost == 0 or lost >= THRESHOLD)


def most_intervals(time, died):
    """Largest number of intervals that cover everybody, by trying all ends."""
    times = np.unique(time)
    best = 0
    for chosen in itertools.product([False, True], repeat=len(times) - 1):
        ends = [-1, *times[:-1][np.array(chosen, dtype=bool)], times[-1]]
        if all(is_fit(time, died, low, high) for low, high in itertools.pairwise(ends)):
            best = max(best, len(ends) - 1)
    return best


def test_steps_are_joined_into_intervals_of_enough_persons_that_cover_everybody():
    n_told = n_joined = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        time, died = rng.integers(1, 8, 14), rng.random(14) < 0.7
        frame = pd.DataFrame({"months": time, "died": died.astype(int)})
        project = Project({"survival_safe_threshold": THRESHOLD, "safe_threshold": 1})
        told = project.surv_func(frame.months, frame.died)
        most = most_intervals(time, died)
        assert len(told) <= most
        # Ends are taken from the first on: where any way covers everybody, one is found.
        assert bool(len(told)) == bool(most), seed
        ends = [-1, *told.index]
        assert all(is_fit(time, died, low, high) for low, high in itertools.pairwise(ends))
        if len(told):
            assert told.index[-1] == time.max()
            assert told["at risk"].tolist() == [int((time > low).sum()) for low in ends[:-1]]
            n_told += 1
            n_joined += len(told) < len(np.unique(time))
    assert n_told > 20
    assert n_joined > 20


def test_survival_after_a_hidden_line_is_that_of_the_persons_at_risk_then():
    """A product over all lines tells of the hidden one: its ratio to that of another table."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"months": rng.integers(1, 7, 400), "ill": rng.integers(0, 2, 400)})
    project = Project({"survival_safe_threshold": THRESHOLD})
    project.surv_func(frame.months, frame.ill)
    fewer = frame.drop(index=frame.index[frame.months == 3][0])
    survival = project.surv_func(fewer.months, fewer.ill).survival
    last = survival.index[survival.isna()].max()
    assert last < 6
    share = 1.0
    for month in range(int(last) + 1, 7):
        share *= 1 - fewer.ill[fewer.months == month].sum() / (fewer.months >= month).sum()
        assert abs(survival[month] - share) < 1e-12
