"""Risk after a swap, and the change of the keys' cross-classification.

Both are computed from the swapped records and one table of the original, so that many candidates
can be compared quickly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.microdata.coding import CodedRecords

__all__ = ["SwapReport", "SwapTable", "association"]

SMALL = (1, 2)
"""Smallest and largest count of a cell in which an unswapped record is at risk."""


@dataclass(frozen=True)
class SwapReport:
    """Risk and distortion of one release.

    Parameters
    ----------
    n_records, n_swapped, n_altered : int
        Number of records, of records in pairs, and of records whose values changed.
    risk : float
        Share of unswapped records in cells of count 1 or 2 after the swap; NaN if every record
        was swapped.
    strict_risk : float
        Share of unaltered records in such cells; NaN if every record was altered.
    risk_before : float
        Share of all records in such cells before the swap.
    hellinger : float
        sqrt(1/2 sum (sqrt p - sqrt q)^2), at most 1.
    total_variation : float
        1/2 sum |p - q|.
    entropy_change : float
        Entropy after minus before, in nats.
    """

    n_records: int
    n_swapped: int
    n_altered: int
    risk: float
    strict_risk: float
    risk_before: float
    hellinger: float
    total_variation: float
    entropy_change: float

    @property
    def rate(self) -> float:
        """Share of records in pairs."""
        return self.n_swapped / self.n_records if self.n_records else 0.0

    def summary(self) -> str:
        """Return rate, risk and distortion in one line."""
        return (
            f"swapping: {self.n_swapped} of {self.n_records} records in pairs "
            f"({100 * self.rate:.3g} %), {self.n_altered} altered; risk {self.risk:.6g} "
            f"({self.risk_before:.6g} before), Hellinger {self.hellinger:.6g}, total variation "
            f"{self.total_variation:.6g}, entropy {self.entropy_change:+.6g}"
        )


class SwapTable:
    """The original cross-classification, from which that after any swap follows quickly."""

    def __init__(self, records: CodedRecords) -> None:
        self.records = records
        self.cells = records.cells()
        self.counts: Integers = np.bincount(self.cells, minlength=records.n_cells)
        self.entropy = entropy(self.counts)
        self.roots = np.sqrt(self.counts.astype(np.float64))

    def evaluate(
        self, pairs: Integers, names: Sequence[str], altered_pairs: Flags | None = None
    ) -> tuple[SwapReport, Integers]:
        """Return report and table after a swap, computed from the swapped records only.

        Parameters
        ----------
        pairs : numpy.ndarray of int, shape (m, 2)
        names : sequence of str
            Swap attributes among the keys.
        altered_pairs : numpy.ndarray of bool, shape (m,), optional
            Whether the values of each pair differ; by default, whether its keys differ.
        """
        n, size = self.records.n_records, len(self.counts)
        flat = np.concatenate([pairs[:, 0], pairs[:, 1]])
        old = self.cells[flat]
        moved = self.records.part(names, flat)
        half = len(pairs)
        new = old - moved + np.concatenate([moved[half:], moved[:half]])
        gone = np.bincount(old, minlength=size)
        after = self.counts - gone + np.bincount(new, minlength=size)
        changed = old != new if altered_pairs is None else np.tile(altered_pairs, 2)
        altered = int(changed.sum())
        small = (after >= SMALL[0]) & (after <= SMALL[1])
        unswapped, unaltered = n - len(flat), n - altered
        risky = int((self.counts - gone)[small].sum())
        kept = self.counts - np.bincount(old[changed], minlength=size)
        before = (self.counts >= SMALL[0]) & (self.counts <= SMALL[1])
        difference = self.counts - after
        report = SwapReport(
            n_records=n,
            n_swapped=len(flat),
            n_altered=altered,
            risk=risky / unswapped if unswapped else np.nan,
            strict_risk=int(kept[small].sum()) / unaltered if unaltered else np.nan,
            risk_before=int(self.counts[before].sum()) / n if n else np.nan,
            hellinger=float(np.sqrt(np.sum((self.roots - np.sqrt(after)) ** 2) / 2 / n)),
            total_variation=float(np.abs(difference).sum()) / 2 / n,
            entropy_change=entropy(after) - self.entropy,
        )
        return report, after


def entropy(counts: Integers) -> float:
    """Return the Shannon entropy of a table of counts, in nats."""
    full = counts[counts > 0].astype(np.float64)
    n = full.sum()
    return float(np.log(n) - np.sum(full * np.log(full)) / n) if n else 0.0


def association(counts: Floats) -> tuple[float, float]:
    """Return contingency coefficient and Cramer's V; NaN if an attribute is constant."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, smaller = counts.sum(), min(counts.shape) - 1
    if n == 0 or smaller < 1:
        return np.nan, np.nan
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    chi2 = float(np.sum((counts - expected) ** 2 / expected))
    return float(np.sqrt(chi2 / (chi2 + n))), float(np.sqrt(chi2 / (n * smaller)))
