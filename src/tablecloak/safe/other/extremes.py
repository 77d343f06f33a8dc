"""Minima and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError
from tablecloak.safe.other.kind import KINDS, Asked, Checked, Kind

__all__ = ["Extremes"]


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
