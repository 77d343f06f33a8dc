"""Correlations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.errors import InputError
from tablecloak.safe.other.kind import KINDS, Checked, Kind, OutputRecords

EXACT = 1e-9
"""Distance from 1 up to which a correlation is an exact relation."""


@KINDS.register
@dataclass(frozen=True)
class CorrelationOutput(Kind):
    """Correlation: enough contributors and degrees of freedom, and no exact relation."""

    name: ClassVar[str] = "correlation"
    label: ClassVar[str] = "correlation"
    method: Annotated[
        Literal["pearson", "spearman", "kendall"], Field(description="Which coefficient.")
    ] = "pearson"

    def check(self, records: OutputRecords) -> Checked:
        """Correlate each two columns over the records that have both."""
        frame = records.frame
        if frame.shape[1] < 2 or not all(map(pd.api.types.is_numeric_dtype, frame.dtypes)):
            raise InputError("correlation needs a frame with two or more columns of numbers")
        found = frame.corr(method=self.method)
        sizes = found.to_numpy(dtype=np.float64)
        limits = records.appetite
        few: list[tuple[int, int]] = []
        exact: list[tuple[int, int]] = []
        known = frame.notna().to_numpy()
        for one, other in combinations(range(frame.shape[1]), 2):
            behind = records.n_contributors(known[:, one] & known[:, other])
            places = [(one, other), (other, one)]
            if behind < limits.safe_threshold or behind - 2 < limits.safe_dof_threshold:
                few += places
            elif abs(sizes[one, other]) > 1 - EXACT:
                exact += places
        left_out = int((~known.all(axis=1)).sum())
        reasons, notes = records.missing(left_out)
        checked = Checked(
            (found,), tuple(reasons), tuple(notes), properties={"method": f"{self.method} corr"}
        )
        checked = checked.hiding(
            few,
            "threshold",
            f"{len(few) // 2} correlations have fewer than {limits.safe_threshold} contributors, "
            f"or fewer than {limits.safe_dof_threshold} degrees of freedom, and are hidden",
        )
        return checked.hiding(
            exact,
            "exact relation",
            f"{len(exact) // 2} correlations are 1 or -1 and are hidden: one column would follow "
            "from the other",
        )
