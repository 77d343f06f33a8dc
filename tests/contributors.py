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
from tablecloak.tables.tabulation.exact_sums import Overview
from tablecloak.tables.tabulation.queries import Grouped
from tablecloak.tables.tabulation.roles import Roles
from tablecloak.tables.tabulation.tabulate import _Leaves, _one_table


def with_contributors(
    frame: pd.DataFrame,
    dimensions: Mapping[str, object] | Sequence[str],
    value: str,
    *,
    contributor: str,
    holding: str | None = None,
    weight: str | None = None,
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
    sums = records.groupby(columns, as_index=False)["total"].sum()
    levels = {"contributions": contributor} | ({"holdings": holding} if holding else {})
    leaves = _Leaves(
        trees,
        Overview(len(frame), {}, bool(np.any(records["signed"] < 0)), bool(weight)),
        sums[columns],
        sums["total"].to_numpy(),
        {
            attribute: _grouped(records.assign(who=frame[column]), columns, n_largest)
            for attribute, column in levels.items()
        },
    )
    roles = Roles(value, contributor, holding, weight, value, None)
    built = [_one_table(leaves, names, roles, "", None) for names in tables or [list(trees)]]
    return built[0] if len(built) == 1 else tc.link(*built)


def _grouped(records: pd.DataFrame, columns: list[str], n_largest: int) -> Grouped:
    """Sums of each contributor in each leaf; of those in several leaves one by one."""
    units = records.groupby([*columns, "who"], as_index=False).agg(
        signed=("signed", "sum"), total=("total", "sum"), weight=("weight", "max")
    )
    units = units.assign(size=units["signed"].abs(), contributor=units.pop("who"), request=0)
    several = units.groupby("contributor")["size"].transform("size") > 1
    spanning = units[several].sort_values(["contributor", *columns])
    units = units[~several]
    leaves = units.groupby(columns, as_index=False).agg(
        count=("size", "size"), weighted_count=("weight", "sum"), total=("total", "sum")
    )
    order = units.assign(smaller=-units["size"]).sort_values([*columns, "smaller", "contributor"])
    return Grouped(
        leaves.assign(request_1=0.0, request_2=0.0),
        order.groupby(columns).head(n_largest)[[*columns, "size", "weight", "contributor"]],
        spanning[[*columns, "contributor", "signed", "weight", "request"]],
        n_largest,
    )
