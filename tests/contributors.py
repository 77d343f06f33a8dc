"""Small tables that know their contributors, grouped by pandas: a database takes far longer.

For tests of what is done with such a table. That `tablecloak.tabulate` gives the same is a test of
its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import tree_of
from tablecloak.arrays import Floats
from tablecloak.tables.tabulation.exact_sum import MOST_DIGITS, ExactSum
from tablecloak.tables.tabulation.figures import Figures
from tablecloak.tables.tabulation.queries import Grouped, Leaves, Spanning
from tablecloak.tables.tabulation.records import ColumnRoles, Overview
from tablecloak.tables.tabulation.roll_up import rolled_up


def fitting(terms: Floats) -> ExactSum:
    """How terms are added up exactly: as decimal numbers if they have few digits."""
    for digits in range(MOST_DIGITS + 1):
        if np.array_equal(np.round(terms, digits), terms):
            return ExactSum.fitting(len(terms), np.abs(terms).max(), digits)
    return ExactSum.fitting(len(terms), np.abs(terms).max(), MOST_DIGITS + 1)


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
    """Table of the sums of a column, with the parameters of `tablecloak.tabulate`."""
    given = dimensions if isinstance(dimensions, Mapping) else dict.fromkeys(dimensions)
    trees = {name: tree_of(tree, frame[name]) for name, tree in given.items()}
    columns = [f"d{axis}" for axis in range(len(trees))]
    records = frame[list(trees)].astype(str).set_axis(columns, axis=1)
    weights = frame[weight].astype(float) if weight else 1.0
    records = records.assign(signed=frame[value].astype(float), weight=weights)
    own = frame[waiver_p] if waiver_p else pd.Series(np.nan, frame.index)
    waives = frame[waiver].astype(str).str.lower().isin(["yes", "1", "true"]) if waiver else False
    records["unwaived"], records["own_p"] = (~(waives | own.notna())).astype(float), own.fillna(0)
    has_waivers = bool(waiver or waiver_p)
    terms = {"shadow": records["signed"], "total": records["signed"] * records["weight"]}
    terms |= {"value": terms["total"], "weight": records["weight"]}
    exact = {name: fitting(term.to_numpy()) for name, term in terms.items()}
    for column, tree in zip(columns, trees.values(), strict=True):
        number = dict(zip(tree.leaves, range(len(tree.leaves)), strict=True))
        records[column] = records[column].map(number).astype(np.int64)
    shadow, weighted = (
        np.column_stack(exact[name].words_of(terms[name].to_numpy()))
        for name in ("shadow", "value")
    )
    records = records.assign(**{f"word{i}": word for i, word in enumerate(shadow.T)})
    totals = (
        pd.DataFrame(weighted).groupby([records[column].to_numpy() for column in columns]).sum()
    )
    levels = {"contributions": contributor} | ({"holdings": holding} if holding else {})
    is_negative = bool(np.any(records["signed"] < 0))
    overview = Overview(len(frame), exact, is_negative, bool(weight))
    words = totals.to_numpy()
    grouped = {
        attribute: _grouped(records.assign(who=frame[column]), columns, n_largest, has_waivers)
        for attribute, column in levels.items()
    }
    leaves = Leaves(trees, overview, totals.index.to_frame().to_numpy(), words, words, grouped)
    roles = ColumnRoles(value, contributor, holding, weight, value, None)
    return rolled_up(leaves, tables or [list(trees)], roles, "", None)


def _grouped(
    records: pd.DataFrame,
    columns: list[str],
    n_largest: int,
    has_waivers: bool,
) -> Grouped:
    """Contributions of each contributor in each leaf, one by one."""
    units = records.groupby(["who", *columns], as_index=False).agg(
        **{word: (word, "sum") for word in records.columns if word.startswith("word")},
        weight=("weight", "max"), unwaived=("unwaived", "max"), own_p=("own_p", "max"),
    )  # fmt: skip
    number, names = pd.factorize(units["who"], sort=True)
    marks = ["unwaived", "own_p"] if has_waivers else []
    spanning = Spanning(
        units[columns].to_numpy(),
        number.astype(np.int64),
        units.filter(like="word").to_numpy(),
        units["weight"].to_numpy(),
        np.zeros((len(units), 0)),
        units[marks].to_numpy(dtype=np.float64),
    )
    tables = defaultdict[tuple[str, ...], list[Figures]](list)
    return Grouped(
        None, spanning, tables, np.asarray(names, dtype=object), n_largest, False, has_waivers
    )
