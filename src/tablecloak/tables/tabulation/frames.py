"""Records that pandas holds: the same checks as an engine makes, and what it would give back.

Where no engine is installed, leaves and contributors come from here to the same roll-up. All sums
are those of whole numbers (`ExactSum`), so that the table is the same to the last digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Floats, Integers, numbered_rows
from tablecloak.tables.contributions import IN_NO_HOLDING
from tablecloak.tables.hierarchy import Dimension, Hierarchy
from tablecloak.tables.tabulation.engines import engine_named
from tablecloak.tables.tabulation.exact_sum import ExactSum, most_digits
from tablecloak.tables.tabulation.figures import Largest, roll_up
from tablecloak.tables.tabulation.queries import Grouped, Leaves, Spanning, uneven_weights
from tablecloak.tables.tabulation.records import (
    YES,
    ColumnRoles,
    Overview,
    code_columns,
    lines_named,
    mixed_column,
    no_numbers,
    open_source,
    overview_of,
    refuse_padded,
    resolved,
    terms_of,
    wrong_code,
    wrong_entries,
    wrong_entry,
)
from tablecloak.tables.tabulation.roll_up import figures_of

BOOLEANS = {True: "true", False: "false"}
"""Codes of a column of yes and no, as databases write them."""


@dataclass(frozen=True)
class FrameRecords:
    """Records of which each entry is in order.

    Parameters
    ----------
    positions : numpy.ndarray of int, shape (n_records, n_dimensions)
        Of the code of each record among the leaves of its hierarchy.
    columns : pandas.DataFrame
        Columns of our own: value, shadow, weight, contributor, holding, request, unwaived, own_p,
        record_key.
    overview : Overview
    hierarchies : dict of str to Hierarchy
    """

    positions: AnyIntegers
    columns: pd.DataFrame
    overview: Overview
    hierarchies: dict[str, Hierarchy]

    def identified(self, level: str | None) -> tuple[Integers, Any]:
        """Return the number of the contributor of each record, and what identifies each number.

        Parameters
        ----------
        level : str or None
            "contributor" or "holding"; None where each record is a contributor.
        """
        if level is None:
            every = np.arange(len(self.columns))
            return every, every
        numbers, names = pd.factorize(self.columns[level], sort=True)
        return numbers.astype(np.int64), names.array

    def by_contributor(
        self, contributor: str | None
    ) -> tuple[Integers, Integers, Any, Floats, Floats]:
        """Add up what each contributor adds to each leaf.

        Returns
        -------
        positions, number, names, added, total
            A row for each contributor of a leaf: codes of the leaf, number of the contributor, what
            it adds itself, and with its weight; and what identifies each number.
        """
        numbers, names = self.identified("contributor" if contributor else None)
        value, weight = (self.columns[name].to_numpy() for name in ("value", "weight"))
        # A weight stands for others, who get no noise of their own.
        terms = {"once": value * weight.clip(max=1.0), "value": value * weight}
        sums = {name: self.overview.sums[name] for name in terms}
        rows, words, _ = roll_up(
            np.column_stack([self.positions, numbers]),
            [np.column_stack(sums[name].words_of(of)) for name, of in terms.items()],
            np.zeros((len(value), 0)),
            [],
        )
        added, total = (of.of_arrays(word) for of, word in zip(sums.values(), words, strict=True))
        leaves: Integers = rows[:, :-1].astype(np.int64)
        return leaves, rows[:, -1].astype(np.int64), names, added, total


def frame_records(
    data: Any, dimensions: Mapping[str, Dimension], roles: ColumnRoles, engine: str
) -> FrameRecords | None:
    """Return checked records that pandas holds; None where an engine is to be asked.

    Parameters
    ----------
    data, dimensions, engine
        See `tabulate`.
    roles : ColumnRoles

    Raises
    ------
    InputError
        If the data cannot be read; names row, column and code of the first wrong entry.
    """
    if engine_named(engine).has_ibis or hasattr(data, "to_pyarrow"):
        return None
    source, _ = open_source(data, dimensions, roles, engine)
    with lines_named(data):
        return _checked(source, dimensions, roles)


def _checked(
    source: pd.DataFrame, dimensions: Mapping[str, Dimension], roles: ColumnRoles
) -> FrameRecords:
    given = _own_columns(source, dimensions, roles)
    hierarchies = {
        name: resolved(_present(given, axis, dimension), dimension)
        for axis, (name, dimension) in enumerate(dimensions.items())
    }
    for role, (bad, expected) in wrong_entries(given, roles, pd.isna, np.isinf, _is_blank).items():
        if bad.any():
            row = int(np.argmax(bad))
            entry, number = given[role].iloc[row], int(bad.sum())
            raise wrong_entry(row, getattr(roles, role), entry, expected, number)
    for role, column in roles.names().items():
        bare = given[role].str.strip()
        if (bare != given[role]).any():
            refuse_padded(column, given[role].nunique(), bare.nunique())
    positions = [
        _positions(given[f"d{axis}"], name, tree)
        for axis, (name, tree) in enumerate(hierarchies.items())
    ]
    terms = {name: term.to_numpy() for name, term in terms_of(given, roles).items()}
    looks = {}
    for name, term in terms.items():
        largest = float(np.abs(term).max())
        is_short = bool(ExactSum.are_short(term, len(term), largest).all())
        looks[name] = largest, most_digits(term), is_short
    negative = bool((given["shadow"] < 0).any())
    overview = overview_of(len(given), looks, negative, bool(roles.weight))
    return FrameRecords(np.column_stack(positions), given, overview, hierarchies)


def _own_columns(
    source: pd.DataFrame, dimensions: Mapping[str, Dimension], roles: ColumnRoles
) -> pd.DataFrame:
    """Return what is needed, under names of our own."""
    given: dict[str, Any] = {
        ours: _text(source[theirs])
        for axis, dimension in enumerate(dimensions.values())
        for theirs, ours in code_columns(axis, dimension).items()
    }
    for role in ("value", "shadow", "weight", "request", "waiver_p", "record_key"):
        column = getattr(roles, role)
        given[role] = _numbers(source[column]) if column else np.ones(len(source))
    for role in ("contributor", "holding", "waiver"):
        if column := getattr(roles, role):
            given[role] = _text(source[column])
    frame = pd.DataFrame(given, index=pd.RangeIndex(len(source)))
    if roles.holding:
        who = frame["contributor"] if roles.contributor else frame.index.astype(str).to_series()
        name = frame["holding"].fillna("")
        frame["holding"] = name.where(name.str.strip() != "", who.to_numpy() + IN_NO_HOLDING)
    frame["request"] = frame["request"].fillna(0.0) if roles.request else 0.0
    waives: Any = np.zeros(len(frame), dtype=bool)
    margins: Any = 0.0
    if roles.waiver:
        frame["waiver"] = frame["waiver"].fillna("").str.strip().str.lower()
        waives = frame["waiver"].isin(YES).to_numpy()
    if roles.waiver_p:
        # A margin of its own holds also where a record is marked as waived.
        waives, margins = waives | frame["waiver_p"].notna(), frame["waiver_p"].fillna(0.0)
    return frame.assign(unwaived=np.where(waives, 0.0, 1.0), own_p=margins)


def _text(column: pd.Series) -> Any:
    """Return a column as text, written as databases write it."""
    if pd.api.types.is_bool_dtype(column):
        return column.map(BOOLEANS).to_numpy(dtype=object)
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.dt.strftime("%Y-%m-%d %H:%M:%S").to_numpy(dtype=object)
    if pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
        raise mixed_column(f"column {column.name!r}")
    text = column.astype("string").astype(object)
    return text.where(column.notna(), None).to_numpy()


def _numbers(column: pd.Series) -> Floats:
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("integer", "floating", "decimal", "mixed-integer-float"):
        plain = column.astype("Float64").to_numpy(np.float64, na_value=np.nan)
        numbers: Floats = np.asarray(plain, dtype=np.float64)
        return numbers
    if kind.startswith("mixed"):
        raise mixed_column(f"column {column.name!r}")
    odd = column.notna() & pd.to_numeric(column, errors="coerce").isna()
    raise no_numbers(str(column.name), column.dtype, int(np.argmax(odd)) if odd.any() else None)


def _is_blank(text: pd.Series) -> pd.Series:
    return text.isna() | (text.str.strip() == "")


def _present(given: pd.DataFrame, axis: int, dimension: Dimension) -> pd.DataFrame:
    columns = code_columns(axis, dimension)
    return given[list(columns.values())].drop_duplicates().set_axis(list(columns), axis=1)


def _positions(codes: pd.Series, name: str, tree: Hierarchy) -> AnyIntegers:
    positions = pd.Index(tree.leaves).get_indexer(pd.Index(codes))
    odd = positions < 0
    if odd.any():
        blank = _is_blank(codes)
        unknown = set(codes[odd & ~blank])
        where = (codes == min(unknown)) if unknown else blank
        row, lacking = int(np.argmax(where)), int(blank.sum())
        raise wrong_code(row, name, tree, unknown, lacking, len(codes))
    return positions.astype(np.int32)


def aggregated_frame(
    records: FrameRecords, roles: ColumnRoles, n_largest: int, tables: Sequence[Sequence[str]]
) -> Leaves:
    """Aggregate the records for tables, each given by the names of its dimensions."""
    sums, columns = records.overview.sums, records.columns
    terms = {"value": columns["value"] * columns["weight"]}
    if roles.shadow != roles.value:
        terms["total"] = columns["shadow"] * columns["weight"]
    words = [np.column_stack(sums[name].words_of(of.to_numpy())) for name, of in terms.items()]
    positions, words, _ = roll_up(records.positions, words, np.zeros((len(columns), 0)), [])
    levels = {"contributions": "contributor" if roles.contributor else None}
    if roles.holding:
        levels["holdings"] = "holding"
    grouped = {
        name: _grouped(records, roles, level, n_largest, tables) for name, level in levels.items()
    }
    return Leaves(records.hierarchies, records.overview, positions, words[0], words[-1], grouped)


def _grouped(
    records: FrameRecords,
    roles: ColumnRoles,
    level: str | None,
    n_largest: int,
    tables: Sequence[Sequence[str]],
) -> Grouped:
    """Set contributors that stand in one leaf apart from the others."""
    numbers, names = records.identified(level)
    order = np.argsort(numbers, kind="stable")
    numbers, columns = numbers[order], records.columns.iloc[order]
    positions, weight = records.positions[order], columns["weight"].to_numpy()
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    lightest, heaviest = (of.reduceat(weight, first) for of in (np.minimum, np.maximum))
    uneven = np.flatnonzero(lightest < heaviest)
    if len(uneven) and level:
        unit = uneven[0]
        raise uneven_weights(level, names[unit], lightest[unit], heaviest[unit])
    (leaf,) = numbered_rows(positions)
    is_alone = np.minimum.reduceat(leaf, first) == np.maximum.reduceat(leaf, first)
    several = np.flatnonzero(~np.repeat(is_alone, np.diff(first, append=len(numbers))))
    exact = records.overview.sums["shadow"]
    words = np.column_stack(exact.words_of(columns["shadow"].to_numpy()))
    request = columns[["request"] if roles.request else []].to_numpy(np.float64)
    marks = columns[["unwaived", "own_p"] if roles.has_waivers else []].to_numpy(np.float64)
    alone = first[is_alone]
    largest = Largest(
        positions[alone],
        np.abs(exact.of_arrays(np.add.reduceat(words, first)[is_alone])),
        weight[alone],
        numbers[alone],
        np.maximum.reduceat(marks, first)[is_alone],
    )
    asked = np.maximum.reduceat(request, first)[is_alone]
    return Grouped(
        figures_of(largest, asked, records.overview) if len(alone) else None,
        Spanning(
            positions[several], numbers[several], words[several], weight[several],
            request[several], marks[several],
        ) if len(several) else None,
        {tuple(of): [] for of in tables},
        names,
        n_largest,
        bool(roles.request),
        roles.has_waivers,
    )  # fmt: skip
