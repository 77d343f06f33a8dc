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
            is_shared = (time == time.max()).sum() >= THRESHOLD
            assert told.index[-1] == (time.max() if is_shared else np.inf)
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


def followed(n=600, seed=5):
    """Persons with events and losses in each of 40 months."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"months": rng.integers(1, 41, n), "ill": rng.integers(0, 2, n)})


def test_survival_is_told_by_the_counts_of_its_intervals():
    """A product over months tells events and losses of each: few pairs of them give it."""
    frame = followed()
    told = Project({"safe_threshold": 10}).surv_func(frame.months, frame.ill)
    assert 10 < len(told) < frame.months.nunique()
    expected = (1 - told.events / told["at risk"]).cumprod()
    np.testing.assert_allclose(told.survival, expected, rtol=1e-13)


def test_survival_of_the_last_interval_does_not_tell_who_is_left_last():
    """Over single months it is 0 exactly where the last person had the event."""
    for event in (0, 1):
        frame = followed()
        frame.loc[9] = (61, event)
        told = Project({"safe_threshold": 10}).surv_func(frame.months, frame.ill)
        assert (told.lost.iloc[-1] == 0) == (told.survival.iloc[-1] == 0)


def test_the_longest_time_of_few_is_not_told(tmp_path):
    frame = followed()
    lines = []
    for longest in (61, 75):
        frame.loc[9] = (longest, 1)
        project = Project({"safe_threshold": 10})
        project.surv_func(frame.months, frame.ill, "plot", filename=tmp_path / "plot.png")
        folder = project.finalise(tmp_path / f"{longest}")
        lines.append((folder / "output_0_0.csv").read_text().splitlines())
        lines[-1].append((folder / "plot.png").read_bytes())
    assert lines[0] == lines[1]
    assert lines[0][-2].startswith("inf,")
    # A study that ends after five years loses many at once.
    frame.months = frame.months.clip(upper=36)
    told = Project({"safe_threshold": 10}).surv_func(frame.months, frame.ill)
    assert told.index[-1] == 36
