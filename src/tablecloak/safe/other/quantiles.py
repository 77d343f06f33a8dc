"""Quantiles: medians, quartiles, percentiles; minima and maxima."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import listed
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason
from tablecloak.safe.values import is_cut_at_an_amount, may_be_amounts

COARSER = (1, 2, 5, 10, 20, 50, 100)
"""By what the base is multiplied until enough contributors share what a quantile is rounded to."""


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
    passes if as many contributors as the threshold have values that round to what is published; it
    is rounded to multiples of twice, five times, ten times the base and so on until they have.
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
        float,
        Field(
            ge=0,
            description="Quantiles are multiples of it, or of more where few have these; 0 for no "
            "rounding.",
        ),
    ] = 0.0

    def check(self, records: OutputRecords) -> Checked:
        """Compute quantiles, hide those with too few contributors beyond or between."""
        records, reasons, notes = records.complete()
        name, values = records.numbers("quantiles need")
        threshold = records.appetite.safe_threshold
        shares = np.unique(np.array(self.q, dtype=np.float64))
        exact = np.quantile(values, shares)
        beyond = np.minimum(shares, 1 - shares) * len(values)
        # By rank as well: gaps where few have a value, and only there, would tell how few.
        kept = _kept(records, values, exact, threshold) & (beyond >= threshold)
        around = np.array(
            [exact, *(np.quantile(values, shares, method=end) for end in ("lower", "higher"))]
        )
        shared = {
            row: _shared(records, values, around[:, row], self.base)
            for row in np.flatnonzero(kept).tolist()
        }
        few = [row for row, found in shared.items() if found is None]
        shown = [(row, *found) for row, found in shared.items() if found is not None]
        told = _rounded(exact, self.base)
        further: dict[float, list[str]] = {}
        for row, unit, value, _ in shown:
            told[row] = value
            if unit > self.base:
                further.setdefault(unit, []).append(f"{shares[row]:g}")
        notes += [
            f"rounded to multiples of {unit:g}: the quantiles of {listed(some)}, which as "
            f"multiples of {self.base:g} may be values of fewer than {threshold} contributors"
            for unit, some in further.items()
        ]
        index = pd.Index(shares, name="share")
        if few:
            reasons.append(
                Reason(
                    "review",
                    "position",
                    f"{len(few)} quantiles are published as values of fewer than {threshold} "
                    f"contributors: round them with a {'larger ' if self.base else ''}`base`",
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
        counts = _counts(records, [(row, value, rounded) for row, _, value, rounded in shown])
        checked = Checked(
            (frame,), tuple(reasons), tuple(notes), broken, counts, {"method": "quantile"}
        )
        return checked.hiding(
            [(int(row), 0) for row in np.flatnonzero(~kept)],
            "threshold",
            f"{int((~kept).sum())} of {len(kept)} quantiles have fewer than {threshold} "
            "contributors below, above, or between them and the one before, and are hidden",
        )


def _rounded(values: Floats, base: float) -> Floats:
    return np.rint(values / base) * base if base else values.copy()


def _shared(
    records: OutputRecords, values: Floats, around: Floats, base: float
) -> tuple[float, float, Floats] | None:
    """Return the least rounding of a quantile that enough contributors share, if there is one.

    Parameters
    ----------
    records, values, base
    around : (3,) array of float
        The quantile, and the values next to it.

    Returns
    -------
    base, quantile : float
    rounded : (n,) array of float
        Values of the records, rounded as the quantile is.
    """
    for times in COARSER if base else (1,):
        rounded, (quantile, *ends) = _rounded(values, times * base), _rounded(around, times * base)
        enough = records.n_contributors(rounded == quantile) >= records.appetite.safe_threshold
        if enough and all(end == quantile for end in ends):
            return times * base, float(quantile), rounded
    return None


def _counts(
    records: OutputRecords, shown: Sequence[tuple[int, float, Floats]]
) -> tuple[Counts, ...]:
    """Return how many records lie below and up to what is published.

    Where few lie beyond, no quantile is shown that would tell how many.

    Parameters
    ----------
    records : OutputRecords
    shown : sequence of (int, float, (n,) array of float)
        Line of each quantile, what is published, and the values of records rounded as it is.
    """
    sides = [
        (row, where, value, inside)
        for row, value, rounded in shown
        for where, inside in (("below", rounded < value), ("up to", rounded <= value))
    ]
    # Each side has the lowest values, so that it holds the groups up to some number.
    group = np.zeros(len(records.frame), dtype=np.int64)
    for *_, inside in sides:
        group += ~inside
    sums, labels, places = [], [], []
    for row, where, value, inside in sides:
        beyond = (records.n_contributors(inside), records.n_contributors(~inside))
        if min(beyond) >= records.appetite.safe_threshold:
            sums.append(np.arange(len(sides) + 1) <= group[inside].max())
            labels.append(f"{where} {value:g}")
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
