"""Small tables that know their contributors, grouped by pandas: a database takes far longer.

For tests of what is done with such a table. That `tablecloak.tabulate` gives the same is a test of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import tree_of
from tablecloak.tables.tabulation.queries import Grouped, Leaves
from tablecloak.tables.tabulation.records import ColumnRoles, Overview
from tablecloak.tables.tabulation.roll_up import rolled_up_table


def with_contributors(
    frame: pd.DataFrame,
    dimensions: Mapping[str, object] | Sequence[str],
    value: str,
    *,
    contributor: str,
    holding: str | None = None,
    weight: str | None = None,
    waiver: str | None = None,
    waiver_p: str | None = None,
    tables: Sequence[Sequence[str]] | None = None,
    n_largest: int = 3,
) -> tc.Table:
    """Table of the sums of a column, with the parameters of `tablecloak.tabulate`.

    Sums must be exact in doubles, such as those of whole numbers.
    """
    given = dimensions if isinstance(dimensions, Mapping) else dict.fromkeys(dimensions)
    trees = {name: tree_of(tree, frame[name]) for name, tree in given.items()}
    columns = [f"d{axis}" for axis in range(len(trees))]
    records = frame[list(trees)].astype(str).set_axis(columns, axis=1)
    weights = frame[weight].astype(float) if weight else 1.0
    records = records.assign(signed=frame[value].astype(float), weight=weights)
    records["total"] = records["signed"] * records["weight"]
    own = frame[waiver_p] if waiver_p else pd.Series(np.nan, frame.index)
    waives = frame[waiver].astype(str).str.lower().isin(["yes", "1", "true"]) if waiver else False
    records["unwaived"], records["own_p"] = (~(waives | own.notna())).astype(float), own.fillna(0)
    has_waivers = bool(waiver or waiver_p)
    sums = records.groupby(columns, as_index=False)["total"].sum()
    levels = {"contributions": contributor} | ({"holdings": holding} if holding else {})
    leaves = Leaves(
        trees,
        Overview(len(frame), {}, bool(np.any(records["signed"] < 0)), bool(weight)),
        sums[columns],
        sums["total"].to_numpy(),
        {
            attribute: _grouped(records.assign(who=frame[column]), columns, n_largest, has_waivers)
            for attribute, column in levels.items()
        },
    )
    roles = ColumnRoles(value, contributor, holding, weight, value, None)
    built = [rolled_up_table(leaves, names, roles, "", None) for names in tables or [list(trees)]]
    return built[0] if len(built) == 1 else tc.link(*built)


def _grouped(
    records: pd.DataFrame, columns: list[str], n_largest: int, has_waivers: bool
) -> Grouped:
    """Sums of each contributor in each leaf; of those in several leaves one by one."""
    units = records.groupby([*columns, "who"], as_index=False).agg(
        signed=("signed", "sum"), total=("total", "sum"), weight=("weight", "max"),
        unwaived=("unwaived", "max"), own_p=("own_p", "max"),
    )  # fmt: skip
    units["full"] = (units["unwaived"] + units["own_p"] <= 0).astype(int)
    marks = ["unwaived", "own_p"] if has_waivers else []
    units = units.assign(size=units["signed"].abs(), contributor=units.pop("who"), request=0)
    several = units.groupby("contributor")["size"].transform("size") > 1
    spanning = units[several].sort_values(["contributor", *columns])
    units = units[~several].assign(exposed=lambda each: each["size"] * each["unwaived"])
    leaves = units.groupby(columns, as_index=False).agg(
        count=("size", "size"), weighted_count=("weight", "sum"), total=("total", "sum"),
        largest_unwaived=("exposed", "max"), largest_own_p=("own_p", "max"), full=("full", "sum"),
    )  # fmt: skip
    order = units.assign(smaller=-units["size"]).sort_values([*columns, "smaller", "contributor"])
    return Grouped(
        leaves.assign(request_1=0.0, request_2=0.0),
        order.groupby(columns).head(n_largest)[[*columns, "size", "weight", "contributor", *marks]],
        spanning[[*columns, "contributor", "signed", "weight", "request", *marks]],
        n_largest,
    )
