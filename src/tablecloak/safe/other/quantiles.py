"""Quantiles: medians, quartiles, percentiles; minima and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason
from tablecloak.safe.values import is_cut_at_an_amount, may_be_amounts


@KINDS.register
@dataclass(frozen=True)
class Extremes(Kind):
    """Minimum and maximum: hidden unless enough contributors have that very value."""

    name: ClassVar[str] = "extremes"
    label: ClassVar[str] = "extremes"
    which: Annotated[
        tuple[Literal["min", "max"], ...], Field(min_length=1, description="'min', 'max' or both.")
    ] = ("min", "max")

    def check(self, records: OutputRecords) -> Checked:
        """Find both, and hide what belongs to a few."""
        records, reasons, notes = records.complete()
        name, values = records.numbers("minima and maxima need")
        found = [values.min() if each == "min" else values.max() for each in self.which]
        frame = pd.DataFrame({name: found}, index=pd.Index(self.which, name="extreme"))
        threshold = records.appetite.safe_threshold
        few = [
            (row, 0)
            for row, value in enumerate(found)
            if records.n_contributors(values == value) < threshold
        ]
        shown = [value for row, value in enumerate(found) if (row, 0) not in few]
        if may_be_amounts(shown) or any(
            is_cut_at_an_amount(values, value, threshold) for value in shown
        ):
            text = f"{name} was clipped at what may be somebody's amount: choose a round number"
            reasons.append(Reason("review", "extremes", text))
        checked = Checked((frame,), tuple(reasons), tuple(notes), properties={"method": "extremes"})
        return checked.hiding(
            few,
            "threshold",
            f"{len(few)} of {len(found)} are the values of fewer than {threshold} contributors "
            "and are hidden",
        )


@KINDS.register
@dataclass(frozen=True)
class Quantiles(Kind):
    """Quantiles: enough contributors below, above and between, and not the value of a few.

    A quantile lies on one record or between two of them, so that without rounding it is theirs. It
    passes if as many contributors as the threshold have values that round to what is published.
    What it then tells follows from how many records lie below these and up to these; both counts
    are compared with other outputs as if they were published.

    Source: W. Bond, M. Brandt, P.-P. de Wolf, *Guidelines for the checking of output based on
    microdata research* (2015), percentiles are classes of a table.
    """

    name: ClassVar[str] = "quantiles"
    label: ClassVar[str] = "quantiles"
    q: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...],
        Field(min_length=1, description="Shares of the records, between 0 and 1."),
    ] = (0.25, 0.5, 0.75)
    base: Annotated[
        float, Field(ge=0, description="Quantiles are multiples of it; 0 for no rounding.")
    ] = 0.0

    def check(self, records: OutputRecords) -> Checked:
        """Compute quantiles, hide those with too few contributors beyond or between."""
        records, reasons, notes = records.complete()
        name, values = records.numbers("quantiles need")
        threshold = records.appetite.safe_threshold
        shares = np.unique(np.array(self.q, dtype=np.float64))
        exact = np.quantile(values, shares)
        kept = _kept(records, values, exact, threshold)
        told, published = (
            np.rint(each / self.base) * self.base if self.base else each for each in (exact, values)
        )
        told_at = [
            np.rint(each / self.base) * self.base if self.base else each
            for each in (np.quantile(values, shares, method=end) for end in ("lower", "higher"))
        ]
        few = [
            row
            for row in np.flatnonzero(kept).tolist()
            if records.n_contributors(published == told[row]) < threshold
            or any(each[row] != told[row] for each in told_at)
        ]
        index = pd.Index(shares, name="share")
        if few:
            reasons.append(
                Reason(
                    "review",
                    "position",
                    f"{len(few)} quantiles are published as values of fewer than {threshold} "
                    "contributors: round them with a larger `base`",
                    tuple(f"{shares[row]:g}" for row in few),
                )
            )
        # A column that many records have alike may be made of somebody's amount.
        often = {
            value: records.n_contributors(np.isclose(values, value, rtol=1e-9))
            for value in told[kept]
        }
        alike = [value for value, number in often.items() if number >= threshold]
        if may_be_amounts(alike):
            text = f"{name} has many records of one value, which may be somebody's amount: round it"
            reasons.append(Reason("review", "constant", text))
        broken = {"position": [(row, 0) for row in few]} if few else {}
        frame = pd.DataFrame({name: told}, index=index)
        rows = np.setdiff1d(np.flatnonzero(kept), few)
        counts = _counts(records, published, told, rows)
        checked = Checked(
            (frame,), tuple(reasons), tuple(notes), broken, counts, {"method": "quantile"}
        )
        return checked.hiding(
            [(int(row), 0) for row in np.flatnonzero(~kept)],
            "threshold",
            f"{int((~kept).sum())} of {len(kept)} quantiles have fewer than {threshold} "
            "contributors below, above, or between them and the one before, and are hidden",
        )


def _counts(
    records: OutputRecords, published: Floats, shown: Floats, rows: Integers
) -> tuple[Counts, ...]:
    """Return how many records lie below and up to what is published.

    Where few lie beyond, no quantile is shown that would tell how many.
    """
    levels = np.unique(shown[rows])
    group = np.searchsorted(levels, published) + np.searchsorted(levels, published, side="right")
    sums, labels, places = [], [], []
    for row in rows.tolist():
        at = 2 * int(np.searchsorted(levels, shown[row]))
        for last, where in ((at, "below"), (at + 1, "up to")):
            sides = (records.n_contributors(group <= last), records.n_contributors(group > last))
            if min(sides) >= records.appetite.safe_threshold:
                sums.append(np.arange(2 * len(levels) + 1) <= last)
                labels.append(f"{where} {shown[row]:g}")
                places.append((row, 0))
    if not sums:
        return ()
    return (
        Counts(records.positions, group, np.array(sums, np.int64), tuple(labels), tuple(places)),
    )


def _kept(records: OutputRecords, values: Floats, exact: Floats, threshold: int) -> Flags:
    """Return which quantiles may stay: from the lowest on, each as soon as there are enough."""
    kept = np.zeros(len(exact), dtype=np.bool_)
    last = -np.inf
    for row, quantile in enumerate(exact):
        below = records.n_contributors((values >= last) & (values <= quantile))
        above = records.n_contributors(values >= quantile)
        if below >= threshold and above >= threshold:
            kept[row] = True
            last = quantile
    return kept
