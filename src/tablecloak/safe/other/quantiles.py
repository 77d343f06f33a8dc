"""Quantiles: medians, quartiles, percentiles; minima and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.safe.other.kind import KINDS, Asked, Checked, Kind
from tablecloak.safe.outcome import Reason


@KINDS.register
@dataclass(frozen=True)
class Extremes(Kind):
    """Minimum and maximum: hidden unless enough contributors have that very value."""

    name: ClassVar[str] = "extremes"
    label: ClassVar[str] = "extremes"
    which: Annotated[
        tuple[Literal["min", "max"], ...], Field(min_length=1, description="'min', 'max' or both.")
    ] = ("min", "max")

    def check(self, asked: Asked) -> Checked:
        """Find both, and hide what belongs to a few."""
        asked, left_out = asked.known()
        values = asked.frame.iloc[:, 0].to_numpy(dtype=np.float64)
        name = str(asked.frame.columns[0])
        if not len(values) or not np.isfinite(values).all():
            raise InputError(f"{name}: minima and maxima need finite numbers")
        found = [values.min() if each == "min" else values.max() for each in self.which]
        frame = pd.DataFrame({name: found}, index=pd.Index(self.which, name="extreme"))
        threshold = asked.appetite.safe_threshold
        few = [
            (row, 0)
            for row, value in enumerate(found)
            if asked.n_contributors(values == value) < threshold
        ]
        reasons, notes = asked.missing(left_out)
        checked = Checked((frame,), tuple(reasons), tuple(notes), properties={"method": "extremes"})
        if not few:
            return checked
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

    def check(self, asked: Asked) -> Checked:
        """Compute quantiles, hide those with too few contributors beyond or between."""
        asked, left_out = asked.known()
        values = asked.frame.iloc[:, 0].to_numpy(dtype=np.float64)
        name = str(asked.frame.columns[0])
        if not len(values) or not np.isfinite(values).all():
            raise InputError(f"{name}: quantiles need finite numbers")
        threshold = asked.appetite.safe_threshold
        shares = np.unique(np.array(self.q, dtype=np.float64))
        exact = np.quantile(values, shares)
        kept = _kept(asked, values, exact, threshold)
        told = np.rint(exact / self.base) * self.base if self.base else exact
        few = [
            row
            for row in np.flatnonzero(kept).tolist()
            if self._n_alike(asked, values, exact[row], told[row]) < threshold
        ]
        reasons, notes = asked.missing(left_out)
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
        broken = {"position": [(row, 0) for row in few]} if few else {}
        frame = pd.DataFrame({name: told}, index=index)
        notes.append("quantiles are no sums of records and are not audited with other outputs")
        checked = Checked(
            (frame,), tuple(reasons), tuple(notes), broken, properties={"method": "quantile"}
        )
        if kept.all():
            return checked
        return checked.hiding(
            [(int(row), 0) for row in np.flatnonzero(~kept)],
            "threshold",
            f"{int((~kept).sum())} of {len(kept)} quantiles have fewer than {threshold} "
            "contributors below, above, or between them and the one before, and are hidden",
        )

    def _n_alike(self, asked: Asked, values: Floats, exact: float, told: float) -> int:
        """Return how many contributors have a value that is published as this one."""
        if self.base:
            return asked.n_contributors(np.rint(values / self.base) * self.base == told)
        return asked.n_contributors(values == exact)


def _kept(asked: Asked, values: Floats, exact: Floats, threshold: int) -> Flags:
    """Return which quantiles may stay: from the lowest on, each as soon as there are enough."""
    kept = np.zeros(len(exact), dtype=np.bool_)
    last = -np.inf
    for row, quantile in enumerate(exact):
        below = asked.n_contributors((values >= last) & (values <= quantile))
        above = asked.n_contributors(values >= quantile)
        if below >= threshold and above >= threshold:
            kept[row] = True
            last = quantile
    return kept
