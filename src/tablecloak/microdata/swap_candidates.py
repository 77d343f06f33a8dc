"""Comparison of many swapping methods by risk and distortion.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.budget import generator
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.methods.swapping import DataSwapping, SwapReport, SwapTable
from tablecloak.risk_utility_map import best_below, frontier


@dataclass(frozen=True, eq=False)
class SwapCandidates:
    """Mean risk and distortion of many candidates, and the frontier of the best.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each candidate: its parameters, means and standard errors of risk and
        distortion, and whether it is on the frontier of the means or within two standard errors
        of it.
    candidates : tuple of DataSwapping
    """

    table: pd.DataFrame
    candidates: tuple[DataSwapping, ...] = field(default=())

    def best(self, risk_limit: float) -> pd.DataFrame:
        """Return the candidates of least distortion among those within the limit, with ties."""
        rows = best_below(self.table["risk"], -self.table["distortion"], risk_limit)
        return self.table.iloc[rows]


def sweep(
    frame: pd.DataFrame,
    candidates: Sequence[DataSwapping],
    *,
    replicates: int = 20,
    distortion: Literal["hellinger", "total_variation"] = "hellinger",
    seed: int = 0,
) -> SwapCandidates:
    """Compare candidates by their means over replicates.

    At low rates a single replicate says little, and its frontier is mostly chance.

    Parameters
    ----------
    frame : pandas.DataFrame
    candidates : sequence of DataSwapping
        Methods with the same keys.
    replicates : int, default=20
    distortion : {"hellinger", "total_variation"}, default="hellinger"
    seed : int, default=0
        Each candidate and replicate has random numbers of its own, so that results do not
        depend on their order.

    Raises
    ------
    InputError
        If there is no candidate or no replicate.
    ModelError
        If a rate cannot be met.
    """
    if not len(candidates) or replicates < 1:
        raise InputError(
            f"At least one candidate and one replicate are needed. Got {len(candidates)} and "
            f"{replicates}."
        )
    columns = list(dict.fromkeys(itertools.chain(*(c.coded_columns(frame) for c in candidates))))
    records = CodedRecords.of(frame, columns)
    tables: dict[tuple[str, ...], SwapTable] = {}
    rows: list[dict[str, Any]] = []
    for number, candidate in enumerate(candidates):
        keys = tuple(map(str, frame.columns)) if candidate.keys is None else tuple(candidate.keys)
        if keys not in tables:
            tables[keys] = SwapTable(records.only(keys))
        seeds = [[seed, number, replicate] for replicate in range(replicates)]
        reports = [_report(candidate, records, tables[keys], each) for each in seeds]
        found = np.array([(report.risk, getattr(report, distortion)) for report in reports])
        rows.append(_row(candidate, found))
    return SwapCandidates(_with_frontier(pd.DataFrame(rows)), tuple(candidates))


def _report(
    candidate: DataSwapping, records: CodedRecords, table: SwapTable, seed: Sequence[int]
) -> SwapReport:
    """Draw one replicate, and measure it."""
    pairs = candidate.draw(records, generator(seed))
    swapped = [name for name in candidate.attributes if name in table.records.names]
    return table.evaluate(pairs, swapped, candidate.alters(records, pairs))[0]


def _row(candidate: DataSwapping, found: Floats) -> dict[str, Any]:
    """Return means and standard errors of risk and distortion over replicates."""
    count = len(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else [np.nan] * 2
    return {
        "attributes": "+".join(candidate.attributes),
        "rate": candidate.rate,
        "must_change": candidate.must_change,
        "risk": found[:, 0].mean(),
        "risk_error": error[0],
        "distortion": found[:, 1].mean(),
        "distortion_error": error[1],
    }


def _with_frontier(table: pd.DataFrame) -> pd.DataFrame:
    """Add which candidates are on the frontier of the means, and which could be."""
    on = frontier(table["risk"], -table["distortion"])
    # A candidate could be on it if it were with risk and distortion two standard errors lower.
    lower_risk = table["risk"] - 2 * table["risk_error"].fillna(0)
    lower = table["distortion"] - 2 * table["distortion_error"].fillna(0)
    near = [
        not bool(np.any((table["risk"][on] < r) & (table["distortion"][on] < d)))
        for r, d in zip(lower_risk, lower, strict=True)
    ]
    return table.assign(frontier=np.isin(np.arange(len(table)), on), near_frontier=near)
