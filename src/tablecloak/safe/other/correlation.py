"""Correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.stats import rankdata

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.squares import column_is_told
from tablecloak.safe.values import ValueLevels

EXACT = 1e-9
"""Distance from 1 up to which a correlation is an exact relation."""


@KINDS.register
@dataclass(frozen=True)
class CorrelationOutput(Kind):
    """Correlation: enough contributors and degrees of freedom, no exact relation or dominance."""

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
        dominated: list[tuple[int, int]] = []
        known = frame.notna().to_numpy()
        columns = frame.to_numpy(dtype=np.float64)
        lonely = [self._is_of_few(records, columns[:, k]) for k in range(frame.shape[1])]
        for one, other in combinations(range(frame.shape[1]), 2):
            both = known[:, one] & known[:, other]
            behind = records.n_contributors(both)
            places = [(one, other), (other, one)]
            is_few = behind < limits.safe_threshold or lonely[one] or lonely[other]
            if is_few or behind - 2 < limits.safe_dof_threshold:
                few += places
            elif abs(sizes[one, other]) > 1 - EXACT:
                exact += places
            elif self.method == "pearson" and any(
                column_is_told(
                    columns[both, k], records.contributor[both], limits.safe_pratio_p
                ) for k in (one, other)
            ):  # fmt: skip
                dominated += places
        left_out = int((~known.all(axis=1)).sum())
        reasons, notes = records.missing(left_out)
        checked = Checked(
            (found,), tuple(reasons), tuple(notes), counts=(_counts(records, known),),
            properties={"method": f"{self.method} corr"},
            base="Or make all outputs from the same records: filter the frame once",
        )  # fmt: skip
        checked = checked.hiding(
            few,
            "threshold",
            f"{len(few) // 2} correlations have fewer than {limits.safe_threshold} contributors, "
            f"or degrees of freedom, or than such values apart from the rest, and are hidden",
        )
        checked = checked.hiding(
            exact,
            "exact relation",
            f"{len(exact) // 2} correlations are 1 or -1 and are hidden: one column would follow "
            "from the other",
        )
        checked = checked.hiding(
            dominated,
            "p-ratio",
            f"{len(dominated) // 2} correlations are nearly what one contributor adds, whose "
            "square is most of all squares of a column, and are hidden",
        )
        pairs = [pair for pair in combinations(range(frame.shape[1]), 2)
                 if pair not in checked.hidden]  # fmt: skip
        names = [str(name) for name in frame.columns]
        products = [self._products(records, columns[:, pair], [names[k] for k in pair])
                    for pair in map(list, pairs)]  # fmt: skip
        return replace(checked, conditional=tuple(
            counts for counts in products if counts is not None
        ))  # fmt: skip

    def _products(self, records: OutputRecords, columns: Floats, names: list[str]) -> Counts | None:
        """Return the sum of products that a correlation tells; None if it is none.

        That of Spearman is Pearson's of ranks, and ranks of two values are as good as the values.
        That of Kendall tells the sum of ranks over either of two values (Mann and Whitney).
        """
        there = ~np.isnan(columns).any(axis=1)
        is_flag = [len(np.unique(column[there])) <= 2 for column in columns.T]
        if self.method == "kendall" and not any(is_flag):
            return None
        factors, said = np.full(columns.shape, np.nan), []
        for k, name in enumerate(names):
            is_ranked = self.method != "pearson" and not is_flag[k]
            factors[there, k] = rankdata(columns[there, k]) if is_ranked else columns[there, k]
            said.append(f"rank of {name}" if is_ranked else name)
        for flag, other in ((0, 1), (1, 0)):
            if np.isin(columns[there, flag], (0, 1)).all() and np.ptp(columns[there, flag]) != 0:
                # The product is the sum of the other column where the flag is 1.
                group = np.where(there, np.nan_to_num(columns[:, flag]), -1).astype(np.int64)
                label = f"sum of {said[other]} where {names[flag]} = 1"
                return Counts(
                    records.positions, group, np.array([[0, 1]]), (label,), (None,),
                    factors[:, other], said[other],
                )  # fmt: skip
        return _products(records, factors.prod(axis=1), *said)

    @staticmethod
    def _is_of_few(records: OutputRecords, column: Floats) -> bool:
        """Whether fewer contributors than the threshold have another value than most others."""
        there = ~np.isnan(column)
        levels = ValueLevels.of(column[there])
        if np.isnan(levels.shared):
            return False
        differs = np.where(there, levels.own(column), 0.0) != 0
        # Two values: those of either are few together with what is known of the whole.
        few = (
            [differs, there & ~differs]
            if len(levels.values) == 2
            else [differs] * levels.is_of_most
        )
        return any(0 < records.n_contributors(some) < records.appetite.safe_threshold
                   for some in few)  # fmt: skip


def _products(records: OutputRecords, products: Floats, one: str, other: str) -> Counts:
    """Return the sum of products that a correlation tells beside means and deviations."""
    group = np.where(np.isnan(products), -1, 0)
    name = f"{one} x {other}"
    return Counts(
        records.positions, group, np.ones((1, 1), dtype=np.int64), (f"sum of {name}",), (None,),
        np.nan_to_num(products), name,
    )  # fmt: skip


def _counts(records: OutputRecords, known: Flags) -> Counts:
    """Return how many records each correlation is of: few more or less tell of these few."""
    pairs = combinations(range(known.shape[1]), 2)
    both = np.unique([known[:, one] & known[:, other] for one, other in pairs], axis=0)
    patterns, group = np.unique(both, axis=1, return_inverse=True)
    sums, n = patterns.astype(np.int64), len(both)
    labels, places = ("records of a correlation",) * n, (None,) * n
    return Counts(records.positions, group.ravel().astype(np.int64), sums, labels, places)
