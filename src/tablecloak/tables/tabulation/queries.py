"""Questions to the engine: what each leaf, a combination of leaf codes, adds up to.

What comes back are leaves, not records: for each leaf its sums, counts and largest contributors,
and one by one the few contributors that occur in more than one leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.records import CheckedRecords, ColumnRoles, Overview


@dataclass(frozen=True)
class Leaves:
    """What the engine gave back: sums of each leaf, and contributors by attribute of `Table`."""

    hierarchies: Mapping[str, Hierarchy]
    overview: Overview
    keys: pd.DataFrame
    values: Floats
    grouped: Mapping[str, Grouped]

    def column(self, dimension: str) -> str:
        """Column of `keys` with the codes of a dimension."""
        return f"d{list(self.hierarchies).index(dimension)}"


@dataclass(frozen=True)
class Grouped:
    """Leaves and spanning contributors after grouping by one identifier."""

    leaves: pd.DataFrame  # codes, count, weighted_count, total, request_1, request_2, waivers
    top: pd.DataFrame  # codes, size, weight, contributor, marks
    spanning: pd.DataFrame  # codes, contributor, signed, weight, request, marks
    n_largest: int

    @property
    def marks(self) -> list[str]:
        """Columns with what each contributor needs; none if nobody can waive."""
        return _marks(self.top)


def aggregated(
    records: CheckedRecords, roles: ColumnRoles, n_largest: int, decimals: int | None
) -> Leaves:
    """Aggregate the records."""
    keys, values = _leaf_sums(records.table, records.axes, records.overview, decimals)
    levels = {"contributions": "contributor" if roles.contributor else None}
    if roles.holding:
        levels["holdings"] = "holding"
    groups = {
        attribute: _grouped(records.table, records.axes, level, records.overview, n_largest)
        for attribute, level in levels.items()
    }
    return Leaves(records.hierarchies, records.overview, keys, values, groups)


def _leaf_sums(
    records: Any, keys: list[str], overview: Overview, decimals: int | None
) -> tuple[pd.DataFrame, Floats]:
    """Weighted sums of the value for each leaf, rounded if asked."""
    sums = overview.exact_sum(records.value * records.weight, "value")
    frame = records.group_by(keys).agg(sum=sums).order_by(keys).to_pandas()
    values = frame["sum"].to_numpy(np.float64)
    return frame[keys], values if decimals is None else np.round(values, decimals)


def _grouped(
    records: Any, keys: list[str], level: str | None, overview: Overview, n_largest: int
) -> Grouped:
    """Group records by contributor within each leaf, and set spanning contributors apart."""
    identifier = level or "row"
    if level:
        units, spanning = _units_of(records, keys, level, overview)
    else:
        units, spanning = _single_records(records, keys), None
    statistics = _leaf_statistics(units, keys, overview)
    top = _largest_units(units, keys, identifier, n_largest)
    if spanning is None:
        spanning = top.iloc[:0].assign(signed=0.0, request=0)
    return Grouped(statistics, top, spanning, n_largest)


def _units_of(
    records: Any, keys: list[str], level: str, overview: Overview
) -> tuple[Any, pd.DataFrame]:
    """Add up the records of each contributor in each leaf; those in several leaves apart."""
    units = records.group_by([*keys, level]).agg(
        signed=overview.exact_sum(records.shadow, "shadow"),
        total=overview.exact_sum(records.shadow * records.weight, "total"),
        weight=records.weight.max(),
        lightest=records.weight.min(),
        request=records.request.max(),
        **{mark: records[mark].max() for mark in _marks(records)},
    )
    units = units.cache()
    if overview.is_weighted:
        _check_weights(units, level)
    # Few are in several leaves: a join with these costs less than counting along the rows.
    leaves = units.group_by(level).agg(leaves=units.count())
    several = leaves.filter(leaves.leaves > 1)[[level]]
    spanning = units.semi_join(several, level).order_by([level, *keys])
    columns = [*keys, "signed", "weight", "request", *_marks(units)]
    frame = spanning.select(*columns, contributor=spanning[level]).to_pandas()
    if len(frame):
        units = units.anti_join(several.cache(), level)
    return units.mutate(size=units.signed.abs()), frame


def _single_records(records: Any, keys: list[str]) -> Any:
    """Each record as a contributor of its own."""
    units = records.select(
        *keys,
        "row",
        "weight",
        "request",
        *_marks(records),
        signed=records.shadow,
        total=records.shadow * records.weight,
    )
    return units.mutate(size=units.signed.abs())


def _largest_units(units: Any, keys: list[str], identifier: str, n_largest: int) -> pd.DataFrame:
    import ibis

    # As in `Largest`: what identifies a contributor decides only between those that are alike.
    falling = [units[column].desc() for column in ("size", "weight", *_marks(units))]
    rank = ibis.row_number().over(group_by=keys, order_by=[*falling, units[identifier].asc()])
    top = units.mutate(rank=rank)
    top = top.filter(top["rank"] < n_largest).order_by([*keys, "rank"])
    frame: pd.DataFrame = top.select(
        *keys, "size", "weight", *_marks(top), contributor=top[identifier]
    ).to_pandas()
    return frame


def _marks(table: Any) -> list[str]:
    return [mark for mark in ("unwaived", "own_p") if mark in table.columns]


def _waiver_statistics(units: Any) -> dict[str, Any]:
    """Largest contribution without a waiver, largest margin of somebody's own, full waivers."""
    import ibis

    if not _marks(units):
        return {}
    return {
        "largest_unwaived": ibis.ifelse(units.unwaived > 0, units["size"], 0.0).max(),
        "largest_own_p": units.own_p.max(),
        "full": ((units.unwaived <= 0) & (units.own_p <= 0)).cast("int64").sum(),
    }


def _check_weights(units: Any, identifier: str) -> None:
    uneven = units.filter(units.lightest < units.weight).order_by(identifier).limit(1).to_pandas()
    if len(uneven):
        raise InputError(
            f"Records of {identifier} {uneven[identifier].iloc[0]!r} have different weights, "
            f"{uneven['lightest'].iloc[0]:g} and {uneven['weight'].iloc[0]:g}, in one cell. All "
            f"records of a {identifier} need the same weight."
        )


def _leaf_statistics(units: Any, keys: list[str], overview: Overview) -> pd.DataFrame:
    import ibis

    requests = {
        f"request_{code}": ibis.ifelse(units.request == code, units["size"], 0.0).max()
        for code in (1, 2)
    }
    frame = units.group_by(keys).agg(
        weighted_count=overview.exact_sum(units.weight, "weight"),
        total=overview.exact_sum(units.total, "total"),
        count=units.count(),
        **requests,
        **_waiver_statistics(units),
    )
    result: pd.DataFrame = frame.order_by(keys).to_pandas()
    return result
