"""Survival tables: events, losses and survival of intervals of enough persons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.safe.other.kind import (
    KINDS,
    Checked,
    Counts,
    Kind,
    OutputRecords,
    finite_numbers,
)
from tablecloak.safe.output import Reason


@KINDS.register
@dataclass(frozen=True)
class Survival(Kind):
    """Survival table: steps are joined until enough persons had the event, or left, in each.

    The two columns are the time and whether the event took place (1) or the person was lost to
    sight (0). The share that survives is that of a life table: the product of 1 - events / at risk
    over the intervals that are shown, so that it tells no more than their counts. The product over
    single times tells events and losses of each. Where no times are joined, both are the same.

    The last interval is open, unless enough persons have the longest time.

    Source: S. J. Cutler, F. Ederer, *Maximum utilization of the life table method in analyzing
    survival*, J. Chronic Dis. 8 (1958), with losses at the end of each interval, as those at one
    time have in E. L. Kaplan, P. Meier, *Nonparametric estimation from incomplete observations*, J.
    Am. Stat. Assoc. 53 (1958), equation (1a).
    """

    name: ClassVar[str] = "survival"
    label: ClassVar[str] = "table"

    def check(self, records: OutputRecords) -> Checked:
        """Join steps, and count events and losses of each interval."""
        records, reasons, notes = records.complete()
        time = finite_numbers(records.frame.iloc[:, 0], "times of a survival table must be")
        event = finite_numbers(records.frame.iloc[:, 1], "events of a survival table must be")
        if (time < 0).any() or not np.isin(event, (0.0, 1.0)).all():
            raise InputError(
                "a survival table needs times of 0 or more, and events that are 1 or 0"
            )
        times, at = np.unique(time, return_inverse=True)
        threshold = records.appetite.survival_safe_threshold
        ends = _ends(records, at, event, len(times), threshold)
        properties = {"method": "surv_func"}
        if not len(ends):
            notes.append(f"no step has {threshold} contributors or more: nothing is left to show")
            empty = pd.DataFrame({"survival": []}, index=pd.Index([], np.float64, name="until"))
            return Checked((empty,), tuple(reasons), tuple(notes), properties=properties)
        interval = np.searchsorted(ends, at, side="left")
        n = len(ends)
        group = (interval * 2 + (event == 0)).astype(np.int64)
        by_group = np.bincount(group, minlength=2 * n).reshape(n, 2)
        events, lost = by_group.T
        at_risk = by_group.sum(axis=1)[::-1].cumsum()[::-1]
        behind = np.array([records.n_contributors(at == end) for end in ends])
        until = times[ends]
        if behind[-1] < threshold:
            until[-1] = np.inf
        survives = np.cumprod(1 - events / at_risk)
        frame = pd.DataFrame(
            {"at risk": at_risk, "events": events, "lost": lost, "survival": survives},
            index=pd.Index(until, name="until"),
        )
        is_grid = (times == np.rint(times)).all() and np.ptp(times) < 2 * len(times)
        if (behind[np.isfinite(until)] < threshold).any() and not is_grid:
            text = f"times are those of fewer than {threshold} contributors: round them"
            reasons.append(Reason("review", "position", text))
        if n < len(times):
            notes.append(
                f"{len(times)} steps are joined into {n}, each with {threshold} contributors or "
                "more, or none, who had the event, and who were lost; survival is that of these "
                "intervals as a life table has it"
            )
        return Checked(
            (frame,), tuple(reasons), tuple(notes),
            counts=(_counts(records, group, frame),), properties=properties,
            has_whole_rows=True, chained="survival",
        )  # fmt: skip


def _ends(
    records: OutputRecords, at: Integers, event: Floats, n_times: int, threshold: int
) -> Integers:
    """Return the times at which intervals end: as many as possible, from the first on."""
    order = np.argsort(at, kind="stable")
    starts = np.searchsorted(at[order], np.arange(n_times + 1))
    contributor, had_event = records.contributor[order], event[order] == 1

    def enough(first: int, last: int) -> bool:
        inside = slice(starts[first], starts[last + 1])
        if inside.stop - inside.start < threshold:
            return False
        had = len(np.unique(contributor[inside][had_event[inside]]))
        lost = len(np.unique(contributor[inside][~had_event[inside]]))
        return had >= threshold and (lost == 0 or lost >= threshold)

    ends: list[int] = []
    first = 0
    for last in range(n_times):
        if enough(first, last):
            ends.append(last)
            first = last + 1
    # Whoever is left after the last full interval belongs to it: everybody ends somewhere.
    while ends and ends[-1] != n_times - 1:
        ends.pop()
        first = ends[-1] + 1 if ends else 0
        if enough(first, n_times - 1):
            ends.append(n_times - 1)
    return np.array(ends, dtype=np.int64)


def _counts(records: OutputRecords, group: Integers, frame: pd.DataFrame) -> Counts:
    """Return events, losses and persons at risk as counts for the joint audit."""
    n = len(frame)
    own = np.eye(2 * n, dtype=np.int64)
    later = np.repeat(np.triu(np.ones((n, n), dtype=np.int64)), 2, axis=1)
    until = [f"{time:g}" if np.isfinite(time) else "the end" for time in frame.index]
    labels = [f"{what} until {time}" for time in until for what in ("events", "lost")]
    labels += [f"at risk before {time}" for time in until]
    places: list[tuple[int, int] | None] = [(row, col) for row in range(n) for col in (1, 2)]
    places += [(row, 0) for row in range(n)]
    return Counts(records.positions, group, np.vstack([own, later]), tuple(labels), tuple(places))
