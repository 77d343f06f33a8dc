"""From microdata to a table: one pass over the records, then a roll-up of the leaves.

The records are read and aggregated by Ibis (DuckDB by default, or any backend that the
caller's Ibis table lives on). What comes back are leaves, not records: for each
combination of leaf codes its sums, counts and largest contributors. All margins are rolled
up from these, dimension by dimension, keeping the largest contributors only. Contributors
that occur in more than one leaf are few; they are carried one by one, because a margin
must count each of them once and with its whole contribution.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError, TablecloakWarning, listed, suggestion
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.dimensions import Dimension, as_dimensions
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.link import link
from tablecloak.tables.relations import hierarchical_relations
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.engines import engine_errors, open_file

__all__ = ["tabulate"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SPANNING_ROWS = 500_000
"""Rows of contributors in several leaves that are rolled up at once: each becomes one for every
margin above it."""

MOST_LARGEST = 1000
"""Contributors that are kept for each cell at most."""

MOST_DECIMALS = 15
"""Digits after the decimal point that a floating-point number holds."""

_EXACT_BITS, _WORD_BITS = 52, 62
"""Sums are taken over whole numbers, so that they do not depend on the order of the records.

Each term is split, exactly, into three whole numbers: multiples of 2^-a, 2^-(a+b) and
2^-(a+2b), with a such that the sum of the first stays below 2^52, exact as a double, and b such
that the sums of the others stay below 2^62. Every engine does this arithmetic in the same way, so
that the same data give the same table for any number of threads, and through any engine.
"""


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
    tables: Sequence[Sequence[str]] | None = None,
    n_largest: int = 3,
    decimals: int | None = None,
    unit: str = "",
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
    engine : str, default="duckdb"
        What reads a file: "duckdb", "spark", or a cluster such as "spark://host:7077". The table
        is the same. An Ibis table is aggregated where it lies.

    Returns
    -------
    Table
        Non-empty cells only: an empty cell is 0 and everybody knows it.

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
    specified = as_dimensions(dimensions)
    if not 1 <= n_largest <= MOST_LARGEST:
        raise InputError(
            f"`n_largest` must lie between 1 and {MOST_LARGEST}. Got {n_largest}; rules look at as "
            f"many contributors as their coalition has, and one more."
        )
    if decimals is not None and not 0 <= decimals <= MOST_DECIMALS:
        raise InputError(f"`decimals` must lie between 0 and {MOST_DECIMALS}. Got {decimals}.")
    roles = _Roles(value, contributor, holding, weight, shadow or value, request)
    with engine_errors(data):
        source, is_quick = _open(data, specified, roles, engine)
        hierarchies, codes = _resolve(source, specified)
        records, numbered = _records(source, specified, roles, is_quick)
        overview = _check_records(records, numbered, roles, hierarchies, codes)
        keys = {name: f"d{axis}" for axis, name in enumerate(hierarchies)}
        leaves = _leaf_sums(records, list(keys.values()), overview, decimals)
        levels = {"contributions": "contributor" if contributor else None}
        if holding:
            levels["holdings"] = "holding"
        grouped = {
            attribute: _grouped(records, list(keys.values()), level, overview, n_largest)
            for attribute, level in levels.items()
        }
    _warn_negative(overview)
    # What one contributor adds no other takes away, but rounding may.
    adds_up = roles.shadow == roles.value and not overview.negative
    rounding = (0.0 if decimals is None else 0.5 * 10.0**-decimals) if adds_up else np.inf
    built = [
        _one_table(
            leaves,
            grouped,
            {name: hierarchies[name] for name in names},
            keys,
            roles,
            unit,
            rounding,
            decimals,
        )
        for names in _checked_tables(tables, hierarchies)
    ]
    return built[0] if len(built) == 1 else link(*built)


@dataclass(frozen=True)
class _Roles:
    """Which column plays which part."""

    value: str | None
    contributor: str | None
    holding: str | None
    weight: str | None
    shadow: str | None
    request: str | None

    def columns(self) -> list[str]:
        return [column for column in self.__dict__.values() if column]


# -- reading ------------------------------------------------------------------------------


def _open(
    data: Any, dimensions: Mapping[str, Dimension], roles: _Roles, engine: str
) -> tuple[Any, bool]:
    """Return an Ibis table over the data, and whether reading it again costs little.

    All columns that are needed are known to exist.
    """
    codes = [column for dimension in dimensions.values() for column in dimension.columns]
    is_quick = False
    if isinstance(data, str | Path):
        identifiers = [name for name in (roles.contributor, roles.holding) if name]
        table = open_file(data, [*codes, *identifiers], engine)
        is_quick = ".parquet" in Path(data).suffixes and engine == "duckdb"
    elif isinstance(data, pd.DataFrame):
        table, is_quick = _open_frame(data), True
    elif hasattr(data, "__arrow_c_stream__") and not hasattr(data, "execute"):
        # Frames of polars, tables of Arrow, and others that speak its protocol.
        import ibis
        import pyarrow as pa

        table, is_quick = ibis.memtable(pa.table(data)), True
    else:
        table = data
    alike: dict[str, str] = {}
    for column in [*codes, *roles.columns()]:
        if column not in table.columns:
            raise InputError(
                f"The data has no column {column!r}.{suggestion(column, table.columns)}"
            )
        if alike.setdefault(column.lower(), column) != column:
            raise InputError(
                f"The columns {alike[column.lower()]!r} and {column!r} differ in capitals only, "
                f"which databases do not tell apart. Rename one of them."
            )
    return table, is_quick


def _open_frame(frame: pd.DataFrame) -> Any:
    """Open a frame; a column of mixed types is none that a database can read."""
    import ibis
    import pyarrow as pa

    try:
        return ibis.memtable(pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise InputError(
            f"The frame cannot be read: {' '.join(map(str, error.args))}. A column mixes numbers "
            f"and text; look for entries such as '-' or 'x' in it."
        ) from error


def _resolve(
    source: Any, dimensions: Mapping[str, Dimension]
) -> tuple[dict[str, Hierarchy], dict[str, list[str]]]:
    """Return the hierarchies, and the codes that occur."""
    hierarchies, codes = {}, {}
    for name, dimension in dimensions.items():
        columns = list(dimension.columns)
        distinct = source.select(**{c: source[c].cast("string") for c in columns}).distinct()
        found = distinct.to_pandas()
        hierarchies[name] = dimension.resolve(found.dropna())
        codes[name] = found[dimension.column].dropna().tolist()
    return hierarchies, codes


def _records(
    source: Any, dimensions: Mapping[str, Dimension], roles: _Roles, is_quick: bool
) -> tuple[Any, Any]:
    """Select what is needed, under names of our own: d0.., value, shadow, weight, ...

    Returns the records, cached unless they are quick to read, and the same with row numbers, to be
    executed for errors only.
    """
    import ibis

    given: dict[str, Any] = {
        f"d{axis}": source[dimension.column].cast("string")
        for axis, dimension in enumerate(dimensions.values())
    }
    same: dict[str, Any] = {}
    for role in ("value", "shadow", "weight"):
        column = getattr(roles, role)
        if role == "shadow" and column and column == roles.value:
            same[role] = "value"
        elif column:
            given[role] = _as_float(source, column)
        else:
            same[role] = ibis.literal(1.0)
    for role in ("contributor", "holding"):
        column = getattr(roles, role)
        if column:
            given[role] = source[column].cast("string")
        else:
            same[role] = ibis.null("string")
    if roles.request:
        given["request"] = _as_float(source, roles.request).fill_null(0.0)
    else:
        same["request"] = ibis.literal(0)

    def complete(table: Any) -> Any:
        """Add what is the same everywhere, or the same as another column."""
        return table.mutate(
            **{
                role: table[column] if isinstance(column, str) else column
                for role, column in same.items()
            }
        )

    numbered = source.select(row=ibis.row_number(), **given)
    # Numbers of rows are needed where each record is a contributor, and else for errors only; they
    # are given once. Text, and what somebody else computes, is read once.
    wanted = source.select(**given) if roles.contributor else numbered
    if not (is_quick and roles.contributor):
        wanted = wanted.cache()
    return complete(wanted), complete(numbered)


def _as_float(source: Any, column: str) -> Any:
    if not source[column].type().is_numeric():
        raise InputError(
            f"Column {column!r} must hold numbers, but its type is {source[column].type()}. Look "
            f"for text such as '-' or 'x' in it, or for a decimal comma."
        )
    return source[column].cast("float64")


@dataclass(frozen=True)
class _Overview:
    """One look at all records: what is wrong, and how large numbers get."""

    count: int
    largest: Mapping[str, float]
    negative: bool
    is_weighted: bool

    def exact_sum(self, terms: Any, name: str) -> Any:
        """Sum of terms that does not depend on their order.

        Parameters
        ----------
        terms : ibis column
            Terms of the kind `name`, over some of the records or over sums of them.
        name : str
            Key of `largest`.
        """
        count_bits = int(np.ceil(np.log2(self.count + 1)))
        bits = int(np.frexp(max(self.largest[name], 1.0))[1]) + count_bits
        first, further = 2.0 ** (_EXACT_BITS - bits), 2.0 ** (_WORD_BITS - count_bits)
        scaled = terms * first
        high = scaled.floor()
        rest = (scaled - high) * further
        middle = rest.floor()
        low = ((rest - middle) * further).floor()
        sums = [part.cast("int64").sum().cast("float64") for part in (high, middle, low)]
        return (sums[0] + (sums[1] + sums[2] / further) / further) / first


def _bad(records: Any, roles: _Roles) -> dict[str, tuple[Any, str]]:
    """For each role which records are wrong, and what they must be."""
    found = {}
    for role in ("value", "shadow", "weight"):
        column = records[role]
        bad = column.isnull() | column.isnan() | column.isinf()
        bad = (bad | (column <= 0)) if role == "weight" else bad
        found[role] = bad, "a finite number" + " above 0" * (role == "weight")
    for role in ("contributor", "holding"):
        if getattr(roles, role):
            found[role] = records[role].isnull(), "an identifier"
    if roles.request:
        found["request"] = ~records.request.isin([0, 1, 2]), "0, 1 or 2"
    return found


def _check_records(
    records: Any,
    numbered: Any,
    roles: _Roles,
    hierarchies: Mapping[str, Hierarchy],
    codes: Mapping[str, Any],
) -> _Overview:
    """Check all records in one pass; only an error is looked up."""
    bad = _bad(records, roles)
    terms = {
        "value": records.value * records.weight,
        "shadow": records.shadow,
        "total": records.shadow * records.weight,
        "weight": records.weight,
    }
    found = (
        records.agg(
            count=records.count(),
            negative=(records.shadow < 0).sum(),
            **{f"bad_{role}": condition.sum() for role, (condition, _) in bad.items()},
            **{f"no_d{axis}": records[f"d{axis}"].isnull().sum() for axis in range(len(codes))},
            **{f"largest_{name}": term.abs().max() for name, term in terms.items()},
        )
        .to_pandas()
        .iloc[0]
    )
    if found["count"] == 0:
        raise InputError("The data has no records.")
    for role in bad:
        if found[f"bad_{role}"]:
            condition, expected = _bad(numbered, roles)[role]
            _reject(numbered, condition, role, getattr(roles, role), expected)
    for axis, (name, tree) in enumerate(hierarchies.items()):
        unknown = set(codes[name]) - set(tree.leaves)
        if unknown or found[f"no_d{axis}"]:
            _reject_code(numbered, axis, name, tree, unknown)
    largest = {name: float(found[f"largest_{name}"]) for name in terms}
    return _Overview(int(found["count"]), largest, bool(found["negative"]), bool(roles.weight))


def _reject(records: Any, bad: Any, role: str, column: str | None, expected: str) -> None:
    found = records.filter(bad).order_by("row").limit(1).to_pandas()
    entry = found[role].iloc[0]
    shown = "missing" if pd.isna(entry) else f"{entry}"
    raise InputError(
        f"Row {found['row'].iloc[0] + 1}: column {column!r} is {shown}, but must be "
        f"{expected}. Correct the record or leave it out."
    )


def _reject_code(records: Any, axis: int, name: str, tree: Hierarchy, unknown: set[str]) -> None:
    """Tell of an unknown code, or else of a missing one."""
    missing = not unknown
    code = None if missing else min(unknown)
    column = records[f"d{axis}"]
    where = column.isnull() if missing else column == code
    row = records.filter(where).order_by("row").limit(1).to_pandas()["row"].iloc[0] + 1
    if missing:
        raise InputError(f"Row {row}: the code of dimension {name!r} is missing. Fill it in.")
    if code in tree.position:
        raise InputError(
            f"Row {row}: code {code!r} of dimension {name!r} has codes below it in the hierarchy. "
            f"Records need a code of the most detailed level, such as {listed(tree.leaves, 3)}."
        )
    raise InputError(
        f"Row {row}: code {code!r} of dimension {name!r} is not in its hierarchy (unknown are "
        f"{listed(sorted(unknown))}). Add the code to the hierarchy or correct the data."
    )


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


# -- aggregation of the leaves -------------------------------------------------------------


def _leaf_sums(
    records: Any, keys: list[str], overview: _Overview, decimals: int | None
) -> tuple[pd.DataFrame, Floats]:
    """Weighted sums of the value for each leaf, rounded if asked."""
    sums = overview.exact_sum(records.value * records.weight, "value")
    frame = records.group_by(keys).agg(sum=sums).order_by(keys).to_pandas()
    values = frame["sum"].to_numpy(np.float64)
    return frame[keys], values if decimals is None else np.round(values, decimals)


@dataclass(frozen=True)
class _Grouped:
    """Leaves and spanning contributors after grouping by one identifier."""

    leaves: pd.DataFrame  # codes, count, weighted_count, total, request_1, request_2
    top: pd.DataFrame  # codes, size, weight, contributor
    spanning: pd.DataFrame  # codes, contributor, signed, weight, request
    n_largest: int


def _grouped(
    records: Any, keys: list[str], level: str | None, overview: _Overview, n_largest: int
) -> _Grouped:
    """Group records by contributor within each leaf, and set spanning contributors apart."""
    import ibis

    identifier = level or "row"
    columns = [*keys, "signed", "weight", "request"]
    if level:
        units = records.group_by([*keys, identifier]).agg(
            signed=overview.exact_sum(records.shadow, "shadow"),
            total=overview.exact_sum(records.shadow * records.weight, "total"),
            weight=records.weight.max(),
            lightest=records.weight.min(),
            request=records.request.max(),
        )
        units = units.cache()
        if overview.is_weighted:
            _check_weights(units, identifier)
        # Few are in several leaves: a join with these costs less than counting along the rows.
        leaves = units.group_by(identifier).agg(leaves=units.count())
        several = leaves.filter(leaves.leaves > 1)[[identifier]]
        spanning = units.semi_join(several, identifier).order_by([identifier, *keys])
        spanning_frame = spanning.select(*columns, contributor=spanning[identifier]).to_pandas()
        if len(spanning_frame):
            units = units.anti_join(several.cache(), identifier)
    else:
        units = records.select(
            *keys,
            "row",
            "weight",
            "request",
            signed=records.shadow,
            total=records.shadow * records.weight,
        )
    units = units.mutate(size=units.signed.abs())
    statistics = _leaf_statistics(units, keys, overview)
    rank = ibis.row_number().over(
        group_by=keys, order_by=[units["size"].desc(), units[identifier].asc()]
    )
    top = units.mutate(rank=rank)
    top = top.filter(top["rank"] < n_largest).order_by([*keys, "rank"])
    top_frame = top.select(*keys, "size", "weight", contributor=top[identifier]).to_pandas()
    if not level:
        spanning_frame = top_frame.iloc[:0].assign(signed=0.0, request=0)
    return _Grouped(statistics, top_frame, spanning_frame, n_largest)


def _check_weights(units: Any, identifier: str) -> None:
    uneven = units.filter(units.lightest < units.weight).order_by(identifier).limit(1).to_pandas()
    if len(uneven):
        raise InputError(
            f"Records of {identifier} {uneven[identifier].iloc[0]!r} have different weights, "
            f"{uneven['lightest'].iloc[0]:g} and {uneven['weight'].iloc[0]:g}, in one cell. All "
            f"records of a {identifier} need the same weight."
        )


def _leaf_statistics(units: Any, keys: list[str], overview: _Overview) -> pd.DataFrame:
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
    )
    result: pd.DataFrame = frame.order_by(keys).to_pandas()
    return result


def _warn_negative(overview: _Overview) -> None:
    if overview.negative:
        warnings.warn(
            "Some contributions are negative. Contributors are ranked by absolute value against "
            "the signed total, as is usual; where contributions cancel, a cell's total says little "
            "about its largest contributor, and the dominance and p% rules can miss or overstate "
            "a risk. Consider a `shadow` variable without negative values.",
            TablecloakWarning,
            stacklevel=3,
        )


# -- roll-up ------------------------------------------------------------------------------


def _one_table(
    leaves: tuple[pd.DataFrame, Floats],
    grouped: Mapping[str, _Grouped],
    trees: Mapping[str, Hierarchy],
    key_of: Mapping[str, str],
    roles: _Roles,
    unit: str,
    rounding: float,
    decimals: int | None,
) -> Table:
    """Roll the leaves up to all cells of one table; each leaf is off by up to `rounding`."""
    ancestors = [_ancestors(tree) for tree in trees.values()]
    columns = {key_of[name]: tree for name, tree in trees.items()}
    none = np.zeros((len(leaves[1]), 0))
    each = np.column_stack([leaves[1], np.full(len(leaves[1]), rounding)])
    keys, sums, _ = _roll_up(_positions(leaves[0], columns), each, none, ancestors)
    found = {
        attribute: _contributions(groups, columns, keys, ancestors, shortfall=sums[:, 1])
        for attribute, groups in grouped.items()
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
        contributions=found["contributions"],
        holdings=found.get("holdings"),
        decimals=decimals,
    )


def _ancestors(tree: Hierarchy) -> tuple[Integers, Integers]:
    """For each leaf position the codes it counts towards, as a ragged array."""
    closure = tree.closure().T.tocsr()
    closure.sort_indices()
    return closure.indptr.astype(np.int64), closure.indices.astype(np.int64)


def _positions(frame: pd.DataFrame, trees: Mapping[str, Hierarchy]) -> Integers:
    columns = []
    for name, tree in trees.items():
        number = {leaf: index for index, leaf in enumerate(tree.leaves)}
        columns.append(frame[name].map(number).to_numpy(np.int64))
    return np.column_stack(columns)


def _expand(
    positions: Integers, axis: int, ancestors: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """Repeat each row for each code above its leaf on one axis; return source row and codes."""
    start, codes = ancestors
    leaf = positions[:, axis]
    repeats = start[leaf + 1] - start[leaf]
    source = np.repeat(np.arange(len(positions)), repeats)
    offset = np.arange(len(source)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    expanded = positions[source]
    expanded[:, axis] = codes[start[leaf][source] + offset]
    return source, expanded


def _group_rows(rows: Integers) -> tuple[Integers, Integers]:
    """Distinct rows in sorted order, and the number of each row among them."""
    widths = [int(width) for width in rows.max(axis=0, initial=0) + 1]
    if math.prod(widths) < 2**62:
        flat = np.ravel_multi_index(tuple(rows.T), widths)
        _, first, group = np.unique(flat, return_index=True, return_inverse=True)
        return rows[first], group.reshape(-1)
    keys, group = np.unique(rows, axis=0, return_inverse=True)
    return keys, group.reshape(-1)


def _roll_up(
    positions: Integers,
    sums: Floats,
    maxima: Floats,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> tuple[Integers, Floats, Floats]:
    """Add up sums, and take maxima, over all codes of all axes."""
    # Leaves that differ only on dimensions outside this table fall together first.
    positions, group = _group_rows(positions)
    sums, maxima = _reduce(sums, maxima, group, len(positions))
    for axis, above in enumerate(ancestors):
        source, expanded = _expand(positions, axis, above)
        positions, group = _group_rows(expanded)
        sums, maxima = _reduce(sums[source], maxima[source], group, len(positions))
    return positions, sums, maxima


def _reduce(sums: Floats, maxima: Floats, group: Integers, n_groups: int) -> tuple[Floats, Floats]:
    added = [np.bincount(group, column, minlength=n_groups) for column in sums.T]
    highest = np.zeros((n_groups, maxima.shape[1]))
    np.maximum.at(highest, group, maxima)
    return np.column_stack(added) if added else np.zeros((n_groups, 0)), highest


def _contributions(
    grouped: _Grouped,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
    *,
    shortfall: Floats,
) -> Contributions:
    """Statistics of contributors for each cell, single and spanning ones joined."""
    n_cells, k = len(cells), grouped.n_largest
    sums, maxima = np.zeros((n_cells, 3)), np.zeros((n_cells, 2))
    if len(grouped.leaves):
        found, added, highest = _roll_up(
            _positions(grouped.leaves, trees),
            grouped.leaves[["count", "weighted_count", "total"]].to_numpy(np.float64),
            grouped.leaves[["request_1", "request_2"]].to_numpy(np.float64),
            ancestors,
        )
        at = _locate(found, cells)
        sums[at], maxima[at] = added, highest
    identifiers = pd.concat([grouped.top["contributor"], grouped.spanning["contributor"]])
    codes, names = pd.factorize(identifiers, sort=True)
    numbers = codes.astype(np.int64)
    top = _Top(
        _positions(grouped.top, trees),
        grouped.top["size"].to_numpy(np.float64),
        grouped.top["weight"].to_numpy(np.float64),
        numbers[: len(grouped.top)],
    )
    for axis, above in enumerate(ancestors):
        top = top.expanded(axis, above).largest(k)
    of_spanning = numbers[len(grouped.top) :]
    for part in _whole_contributors(of_spanning):
        extra, spanning_sums, spanning_maxima = _spanning(
            grouped.spanning.iloc[part], of_spanning[part], trees, cells, ancestors
        )
        sums += spanning_sums
        maxima = np.maximum(maxima, spanning_maxima)
        top = top.joined(extra.largest(k)).largest(k)
    largest, weight, contributor = top.as_matrix(cells, k)
    return Contributions(
        count=np.rint(sums[:, 0]).astype(np.int64),
        weighted_count=sums[:, 1],
        total=sums[:, 2],
        largest=largest,
        largest_weight=weight,
        largest_contributor=contributor,
        largest_request=maxima,
        shortfall=shortfall,
        names=np.asarray(names, dtype=object),
    )


def _whole_contributors(numbers: Integers) -> Iterator[slice]:
    """Cut rows, ordered by contributor, into parts of bearable size between contributors."""
    start = 0
    while start < len(numbers):
        end = min(start + SPANNING_ROWS, len(numbers))
        while end < len(numbers) and numbers[end] == numbers[end - 1]:
            end += 1
        yield slice(start, end)
        start = end


def _spanning(
    frame: pd.DataFrame,
    numbers: Integers,
    trees: Mapping[str, Hierarchy],
    cells: Integers,
    ancestors: Sequence[tuple[Integers, Integers]],
) -> tuple[_Top, Floats, Floats]:
    """Contributors in several leaves: in each margin once, with their whole contribution."""
    rows = np.column_stack([_positions(frame, trees), numbers])
    signed = frame["signed"].to_numpy(np.float64)
    weight = frame["weight"].to_numpy(np.float64)
    request = frame["request"].to_numpy(np.int64)
    for axis, above in enumerate(ancestors):
        source, rows = _expand(rows, axis, above)
        signed, weight, request = signed[source], weight[source], request[source]
    keys, group = _group_rows(rows)
    signed = np.bincount(group, signed, minlength=len(keys))
    heaviest, lightest = np.zeros(len(keys)), np.full(len(keys), np.inf)
    np.maximum.at(heaviest, group, weight)
    np.minimum.at(lightest, group, weight)
    asked = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(asked, group, request)
    if np.any(lightest < heaviest):
        raise InputError(
            "A contributor has different weights in different cells. All records of a contributor "
            "need the same weight."
        )
    at = _locate(keys[:, :-1], cells)
    size = np.abs(signed)
    sums: Floats = np.column_stack(
        [
            np.bincount(at, c, minlength=len(cells))
            for c in (np.ones(len(at)), heaviest, signed * heaviest)
        ]
    )
    maxima = np.zeros((len(cells), 2))
    for column, code in enumerate((1, 2)):
        np.maximum.at(maxima[:, column], at, np.where(asked == code, size, 0.0))
    return _Top(keys[:, :-1], size, heaviest, keys[:, -1]), sums, maxima


@dataclass(frozen=True)
class _Top:
    """Largest contributions as rows: position of the cell, size, weight, contributor."""

    positions: Integers
    size: Floats
    weight: Floats
    contributor: Integers

    def take(self, rows: Integers, positions: Integers) -> _Top:
        return _Top(positions, self.size[rows], self.weight[rows], self.contributor[rows])

    def expanded(self, axis: int, above: tuple[Integers, Integers]) -> _Top:
        source, positions = _expand(self.positions, axis, above)
        return self.take(source, positions)

    def largest(self, k: int) -> _Top:
        """Keep the k largest of each cell; equal sizes in the order of the contributor."""
        _, group = _group_rows(self.positions)
        order = np.lexsort((self.contributor, -self.size, group))
        rank = _rank_within(group[order])
        keep = order[rank < k]
        return self.take(keep, self.positions[keep])

    def joined(self, other: _Top) -> _Top:
        return _Top(
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.contributor, other.contributor]),
        )

    def as_matrix(self, cells: Integers, k: int) -> tuple[Floats, Floats, Integers]:
        at = _locate(self.positions, cells)
        order = np.lexsort((self.contributor, -self.size, at))
        row, rank = at[order], _rank_within(at[order])
        size, weight = np.zeros((len(cells), k)), np.zeros((len(cells), k))
        contributor = np.full((len(cells), k), -1, dtype=np.int64)
        size[row, rank] = self.size[order]
        weight[row, rank] = self.weight[order]
        contributor[row, rank] = self.contributor[order]
        return size, weight, contributor


def _rank_within(sorted_groups: Integers) -> Integers:
    """Position of each row within its run of equal group numbers."""
    index = np.arange(len(sorted_groups))
    starts = np.ones(len(index), dtype=bool)
    starts[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return index - np.maximum.accumulate(np.where(starts, index, 0))


def _locate(rows: Integers, cells: Integers) -> Integers:
    """Index of each row among the cells, which are sorted and unique."""
    both = np.concatenate([cells, rows])
    number = _group_rows(both)[1]
    index_of = np.empty(number.max() + 1, dtype=np.int64)
    index_of[number[: len(cells)]] = np.arange(len(cells))
    return index_of[number[len(cells) :]]
