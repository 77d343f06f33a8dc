"""How a search went: loss and bound over time, taken from its reports of progress."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from tablecloak.budget import Progress, Stopwatch

UNFINISHED = ("protecting",)
"""Stages whose loss is that of a part of the table so far."""


@dataclass(frozen=True)
class _Step:
    seconds: float
    stage: str
    loss: float
    bound: float


class History:
    """Records every change that a search reports, and passes the report on.

    Parameters
    ----------
    progress : callable, optional
        Called with stage, loss, bound and what is still open.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self.watch = Stopwatch()
        self.steps: list[_Step] = []

    def __call__(self, stage: str, loss: float, bound: float, left: int) -> None:
        """Record a report; one that changes nothing is not stored."""
        last = self.steps[-1] if self.steps else None
        if last is None or (last.stage, last.loss, last.bound) != (stage, loss, bound):
            self.steps.append(_Step(self.watch.seconds, stage, loss, bound))
        if self.progress is not None:
            self.progress(stage, loss, bound, left)

    def to_frame(self) -> pd.DataFrame:
        """Return seconds, stage, and the best loss and bound known by then. Secret.

        Losses of stages that have no complete answer yet are NaN.
        """
        frame = pd.DataFrame(
            [(step.seconds, step.stage, step.loss, step.bound) for step in self.steps],
            columns=["seconds", "stage", "loss", "bound"],
        )
        whole = ~frame["stage"].isin(UNFINISHED) & frame["loss"].map(math.isfinite)
        known = frame["bound"].where(frame["bound"].map(math.isfinite))
        return frame.assign(loss=frame["loss"].where(whole).cummin(), bound=known.cummax())
