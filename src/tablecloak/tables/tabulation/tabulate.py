"""From microdata to a table: one pass over the records, then a roll-up of the leaves.

The records are read and aggregated by Ibis (DuckDB by default, or any backend that the
caller's Ibis table lives on). What comes back are leaves, not records: for each
combination of leaf codes its sums, counts and largest contributors. All margins are rolled
up from these, dimension by dimension, keeping the largest contributors only. Contributors
that occur in more than one leaf are few; they are carried one by one, because a margin
must count each of them once and with its whole contribution.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, TablecloakWarning, suggestion
from tablecloak.tables.hierarchy import Dimension, Hierarchy, as_dimensions
from tablecloak.tables.link import link
from tablecloak.tables.relations import all_positions, hierarchical_relations
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.contributors import contributions_of
from tablecloak.tables.tabulation.engine_errors import engine_errors
from tablecloak.tables.tabulation.queries import Grouped, Overview, grouped, leaf_sums
from tablecloak.tables.tabulation.records import (
    Roles,
    check_records,
    open_source,
    resolve,
    select_records,
)
from tablecloak.tables.tabulation.roll_up import ancestors_of, locate, positions_of, roll_up

MOST_LARGEST = 1000
"""Contributors that are kept for each cell at most."""

MOST_DECIMALS = 15
"""Digits after the decimal point that a floating-point number holds."""


def tabulate(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str | None = None,
    *,
    contributor: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    shadow: str | None = None,
    request: str | None = None,
    waiver: str | None = None,
    waiver_p: str | None = None,
    tables: Sequence[Sequence[str]] | None = None,
    n_largest: int = 3,
    decimals: int | None = None,
    unit: str = "",
    empty_cells: bool = False,
    engine: str = "duckdb",
) -> Table:
    """Aggregate microdata to a table with all its margins.

    Parameters
    ----------
    data : str, Path, pandas.DataFrame, polars.DataFrame, pyarrow.Table or ibis.Table
        A CSV file (also compressed), a Parquet file, a frame, or an Ibis table on any backend.
    dimensions : mapping of str to specification, or sequence of str
        The dimensions. For each name: None (codes from the data, below "Total"), a
        `Hierarchy`, the path of an ``.hrc`` file, nested dictionaries, a list of columns with
        one level each, coarsest first, or a `Dimension`.
    value : str, optional
        Column to sum up. Without it the table counts records.
    contributor : str, optional
        Column that identifies the contributor. Without it each record is one contributor.
    holding : str, optional
        Column that identifies the holding to which a contributor belongs, for rules with
        ``level="holding"``.
    weight : str, optional
        Column with sampling weights, greater than 0; values are multiplied by them.
    shadow : str, optional
        Column by which contributors are ranked in the rules; by default `value`.
    request : str, optional
        Column with request codes 0, 1 or 2 of respondents that asked for protection.
    waiver : str, optional
        Column that says who gave a full waiver: yes or no, true or false, 1 or 0; empty means no.
        Such a contributor needs no protection but goes on to attack others. A contributor or a
        holding waives in a cell if all its records there do; see `Waivers`.
    waiver_p : str, optional
        Column with the margin of a partial waiver, in per cent from 0 to 100, that takes the place
        of the p of the p% and prior-posterior rules; 0 is a full waiver, empty none. Where both
        columns are given, the margin holds.
    tables : sequence of sequence of str, optional
        Linked tables, each given by the names of its dimensions. By default one table over
        all dimensions.
    n_largest : int, default=3
        How many largest contributors to keep for each cell.
    decimals : int, optional
        Digits after the decimal point that will be published. The most detailed cells are
        rounded to them before margins are formed, so that the table adds up exactly; with 0
        it is a table of whole numbers. By default nothing is rounded.
    unit : str, default=""
        Unit of the values, for people.
    empty_cells : bool, default=False
        Whether cells into which no record falls are listed with the value 0, one for each further
        combination of codes. Where zeros may be suppressed, this is needed; see `protect`.
    engine : str, default="duckdb"
        What reads a file: "duckdb", "spark", or a cluster such as "spark://host:7077". The table
        is the same. An Ibis table is aggregated where it lies.

    Returns
    -------
    Table
        Unless `empty_cells` are asked for, non-empty cells only: an empty cell is 0 and everybody
        knows it.

    Raises
    ------
    InputError
        For a missing column, missing or infinite values, weights of 0 or less, or a code
        that is not a leaf of its hierarchy; the message names row, column and code.

    Warns
    -----
    TablecloakWarning
        If contributions are negative.

    Notes
    -----
    Time is one aggregation over the records, plus work that grows with the number of
    non-empty cells times `n_largest`.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"region": ["N", "N", "S"], "turnover": [5, 7, 11]})
    >>> tabulate(firms, ["region"], "turnover").to_frame()
      region  turnover
    0  Total      23.0
    1      N      12.0
    2      S      11.0
    """
    _check_options(n_largest, decimals)
    specified = as_dimensions(dimensions)
    roles = Roles(
        value,
        contributor,
        holding,
        weight,
        shadow or value,
        request,
        waiver=waiver,
        waiver_p=waiver_p,
    )
    with engine_errors(data):
        leaves = _aggregated(data, specified, roles, engine, n_largest, decimals)
    _warn_negative(leaves.overview)
    chosen = _checked_tables(tables, leaves.hierarchies)
    built = [_one_table(leaves, names, roles, unit, decimals, empty_cells) for names in chosen]
    return built[0] if len(built) == 1 else link(*built)


def _check_options(n_largest: int, decimals: int | None) -> None:
    if not 1 <= n_largest <= MOST_LARGEST:
        raise InputError(
            f"`n_largest` must lie between 1 and {MOST_LARGEST}. Got {n_largest}; rules look at as "
            f"many contributors as their coalition has, and one more."
        )
    if decimals is not None and not 0 <= decimals <= MOST_DECIMALS:
        raise InputError(f"`decimals` must lie between 0 and {MOST_DECIMALS}. Got {decimals}.")


@dataclass(frozen=True)
class _Leaves:
    """What the engine gave back: sums of each leaf, and contributors by attribute of `Table`."""

    hierarchies: Mapping[str, Hierarchy]
    overview: Overview
    keys: pd.DataFrame
    values: Floats
    grouped: Mapping[str, Grouped]

    def column(self, dimension: str) -> str:
        """Column of `keys` with the codes of a dimension."""
        return f"d{list(self.hierarchies).index(dimension)}"


def _aggregated(
    data: Any,
    dimensions: Mapping[str, Dimension],
    roles: Roles,
    engine: str,
    n_largest: int,
    decimals: int | None,
) -> _Leaves:
    """Read, check and aggregate the records."""
    source, is_quick = open_source(data, dimensions, roles, engine)
    hierarchies, codes = resolve(source, dimensions)
    records, numbered = select_records(source, dimensions, roles, is_quick)
    overview = check_records(records, numbered, roles, hierarchies, codes)
    columns = [f"d{axis}" for axis in range(len(hierarchies))]
    keys, values = leaf_sums(records, columns, overview, decimals)
    levels = {"contributions": "contributor" if roles.contributor else None}
    if roles.holding:
        levels["holdings"] = "holding"
    groups = {
        attribute: grouped(records, columns, level, overview, n_largest)
        for attribute, level in levels.items()
    }
    return _Leaves(hierarchies, overview, keys, values, groups)


def _checked_tables(
    tables: Sequence[Sequence[str]] | None, hierarchies: Mapping[str, Hierarchy]
) -> list[list[str]]:
    chosen = [list(names) for names in tables] if tables else [list(hierarchies)]
    for names in chosen:
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"`tables` has an entry with the dimensions {names}. Each needs one or more, and "
                f"none of them twice."
            )
        for name in names:
            if name not in hierarchies:
                raise InputError(
                    f"`tables` names the dimension {name!r}.{suggestion(name, hierarchies)}"
                )
    return chosen


def _warn_negative(overview: Overview) -> None:
    if overview.negative:
        warnings.warn(
            "Some contributions are negative. Contributors are ranked by absolute value against "
            "the signed total, as is usual; where contributions cancel, a cell's total says little "
            "about its largest contributor, and the dominance and p% rules can miss or overstate "
            "a risk. Consider a `shadow` variable without negative values.",
            TablecloakWarning,
            stacklevel=3,
        )


def _one_table(
    leaves: _Leaves,
    names: Sequence[str],
    roles: Roles,
    unit: str,
    decimals: int | None,
    empty_cells: bool = False,
) -> Table:
    """Roll the leaves up to all cells of one table."""
    trees = {name: leaves.hierarchies[name] for name in names}
    columns = {leaves.column(name): tree for name, tree in trees.items()}
    rounding = np.full(len(leaves.values), _rounding(leaves.overview, roles, decimals))
    none = np.zeros((len(leaves.values), 0))
    ancestors = [ancestors_of(tree) for tree in trees.values()]
    each = np.column_stack([leaves.values, rounding])
    positions = positions_of(leaves.keys, columns)
    keys, sums, _ = roll_up(positions, each, none, ancestors)
    if empty_cells:
        keys, sums = _with_empty_cells(keys, sums, trees)
    contributors = {
        attribute: contributions_of(groups, columns, keys, ancestors, shortfall=sums[:, 1])
        for attribute, groups in leaves.grouped.items()
    }
    codes = {
        name: np.array(tree.codes, dtype=object)[keys[:, axis]]
        for axis, (name, tree) in enumerate(trees.items())
    }
    frame = pd.DataFrame(codes)
    relations = hierarchical_relations(frame, trees)
    return Table(
        keys=frame,
        values=sums[:, 0],
        relations=relations,
        right_hand_side=np.zeros(relations.shape[0]),
        hierarchies=trees,
        name=roles.value or "count",
        unit=unit,
        contributions=contributors["contributions"],
        holdings=contributors.get("holdings"),
        decimals=decimals,
    )


def _with_empty_cells(
    keys: Integers, sums: Floats, trees: Mapping[str, Hierarchy]
) -> tuple[Integers, Floats]:
    """Return every combination of codes, and the sums of each, 0 where no record falls into it."""
    every = all_positions(trees)
    filled = np.zeros((len(every), sums.shape[1]))
    filled[locate(keys, every)] = sums
    return every, filled


def _rounding(overview: Overview, roles: Roles, decimals: int | None) -> float:
    """By how much a leaf may be less than what its contributors add up to.

    What one contributor adds no other takes away, but rounding may.
    """
    if roles.shadow != roles.value or overview.negative:
        return np.inf
    return 0.0 if decimals is None else 0.5 * 10.0**-decimals
