"""Counts by threshold: what histograms and pie charts have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.safe.other.kind import Asked, Checked, Counts

__all__ = ["TOTAL", "counted"]

TOTAL = "all"
"""Label of the line with the number of all records: papers state it, so it counts as published."""


def counted(asked: Asked, group: Integers, labels: Sequence[str], name: str, what: str) -> Checked:
    """Return the counts of groups of records, those of too few contributors hidden.

    What is hidden follows as one sum from the total. Where fewer contributors than the threshold
    stand behind that sum, the smallest further group is hidden as well.

    Parameters
    ----------
    asked : Asked
    group : (n,) array of int
        Group of each record.
    labels : sequence of str
    name : str
        What is counted: name of the lines.
    what : str
        What one group is called, such as "bin".
    """
    n = len(labels)
    threshold = asked.appetite.safe_threshold
    counts = np.bincount(group, minlength=n)
    behind = asked.n_by_group(group, n)
    too_few = (behind < threshold) & ((behind > 0) | asked.appetite.zeros_are_disclosive)
    also = _further(asked, group, behind, too_few)
    index = pd.Index([*labels, TOTAL], name=name)
    frame = pd.DataFrame({"count": [*counts.tolist(), len(group)]}, index=index)
    records = Counts(
        asked.positions,
        group,
        np.vstack([np.eye(n, dtype=np.int64), np.ones((1, n), dtype=np.int64)]),
        (*labels, TOTAL),
        (*((row, 0) for row in range(n)), (n, 0)),
    )
    checked = Checked((frame,), counts=(records,))
    if too_few.any():
        checked = checked.hiding(
            [(int(row), 0) for row in np.flatnonzero(too_few)],
            "threshold",
            f"{int(too_few.sum())} of {n} {what}s have fewer than {threshold} contributors and "
            "are hidden",
        )
    if also.any():
        checked = checked.hiding(
            [(int(row), 0) for row in np.flatnonzero(also)],
            "secondary",
            f"{int(also.sum())} more {what}s are hidden, since the others would follow from the "
            "total",
        )
    if len(np.unique(asked.contributor)) < threshold:
        checked = checked.hiding(
            [(n, 0)], "threshold", f"fewer than {threshold} contributors stand behind all records"
        )
    return checked


def _further(asked: Asked, group: Integers, behind: Integers, hidden: Flags) -> Flags:
    """Return which groups are hidden so that the sum of hidden ones has enough contributors."""
    also = np.zeros(len(hidden), dtype=np.bool_)
    order = np.flatnonzero(~hidden)[np.argsort(behind[~hidden], kind="stable")]
    for candidate in order:
        gone = hidden | also
        enough = asked.n_contributors(gone[group]) >= asked.appetite.safe_threshold
        if enough or not gone.any():
            break
        also[candidate] = True
    return also
