"""What must hold of every record, checked in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.exact_sums import Overview
from tablecloak.tables.tabulation.roles import NO, YES, Roles

__all__ = ["check_records"]


def _bad(records: Any, roles: Roles) -> dict[str, tuple[Any, str]]:
    """For each role which records are wrong, and what they must be."""
    conditions = {}
    for role in ("value", "shadow", "weight"):
        column = records[role]
        bad = column.isnull() | column.isnan() | column.isinf()
        bad = (bad | (column <= 0)) if role == "weight" else bad
        conditions[role] = bad, "a finite number" + " above 0" * (role == "weight")
    for role in ("contributor", "holding"):
        if getattr(roles, role):
            conditions[role] = records[role].isnull(), "an identifier"
    if roles.record_key:
        conditions["record_key"] = _bad_key(records.record_key, roles.has_whole_keys)
    if roles.request:
        conditions["request"] = ~records.request.isin([0, 1, 2]), "0, 1 or 2"
    if roles.waiver:
        wanted = "yes or no (also true or false, 1 or 0; empty means no)"
        conditions["waiver"] = ~records.waiver.isin([*YES, *NO]), wanted
    if roles.waiver_p:
        wanted = "a percentage from 0 to 100, or empty where there is no partial waiver"
        outside = (records.waiver_p < 0) | (records.waiver_p > 100)
        conditions["waiver_p"] = (outside & ~records.waiver_p.isnan()).fill_null(False), wanted
    return conditions


def _bad_key(key: Any, is_whole: bool) -> tuple[Any, str]:
    bad = key.isnull() | key.isnan() | (key < 0)
    if is_whole:
        return bad | (key != key.floor()), "a whole number of 0 or more"
    return bad | (key >= 1), "a record key of 0 or more and below 1"


def check_records(
    records: Any,
    numbered: Any,
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy],
    codes: Mapping[str, Any],
) -> Overview:
    """Check all records in one pass; only an error is looked up.

    Raises
    ------
    InputError
        Names row, column and code of the first wrong entry.
    """
    bad = _bad(records, roles)
    terms = {
        "value": records.value * records.weight,
        "shadow": records.shadow,
        "total": records.shadow * records.weight,
        "weight": records.weight,
    }
    counts = {f"bad_{role}": condition.sum() for role, (condition, _) in bad.items()}
    missing = {f"no_d{axis}": records[f"d{axis}"].isnull().sum() for axis in range(len(codes))}
    sizes = {f"largest_{name}": term.abs().max() for name, term in terms.items()}
    negative = (records.shadow < 0).sum()
    looked = records.agg(count=records.count(), negative=negative, **counts, **missing, **sizes)
    counted = looked.to_pandas().iloc[0]
    if counted["count"] == 0:
        raise InputError("The data has no records. Check that it is the right file or table.")
    for role in bad:
        if counted[f"bad_{role}"]:
            condition, expected = _bad(numbered, roles)[role]
            _reject(numbered, condition, role, getattr(roles, role), expected)
    for axis, (name, tree) in enumerate(hierarchies.items()):
        unknown = set(codes[name]) - set(tree.leaves)
        if unknown or counted[f"no_d{axis}"]:
            _reject_code(numbered, axis, name, tree, unknown)
    largest = {name: float(counted[f"largest_{name}"]) for name in terms}
    return Overview(int(counted["count"]), largest, bool(counted["negative"]), bool(roles.weight))


def _reject(records: Any, bad: Any, role: str, column: str | None, expected: str) -> None:
    first = records.filter(bad).order_by("row").limit(1).to_pandas()
    entry = first[role].iloc[0]
    shown = "missing" if pd.isna(entry) else f"{entry}"
    raise InputError(
        f"Row {first['row'].iloc[0] + 1}: column {column!r} is {shown}, but must be "
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
