"""The cell that somebody asks about: by its number, its codes, or words such as ``N, 47``."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.tables.table import Table

AskedCell = int | str | Mapping[str, Any] | Sequence[str]
"""Ways to name a cell."""

NAMED = 3
"""Cells that a message suggests for one that does not exist."""


def cell_asked(table: Table, given: AskedCell) -> int:
    """Return the number of the cell that is meant.

    Parameters
    ----------
    table : Table
    given : int, str, mapping or sequence of str
        Its number; its codes by dimension, ``{"region": "N", "branch": "47"}``; its codes in the
        order of the dimensions; or either as a text, ``region=N, branch=47`` or ``N, 47``. A code
        that holds a comma stands in double quotes.

    Raises
    ------
    InputError
        If there is no such cell; names the nearest ones.
    """
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if 0 <= given < table.n_cells:
            return int(given)
        raise InputError(
            f"There is no cell {int(given)}: the table has the cells 0 to {table.n_cells - 1}."
        )
    codes = _codes(table, given)
    match = np.ones(table.n_cells, dtype=bool)
    for name, code in codes.items():
        match &= (table.keys[name].astype(str) == code).to_numpy()
    cells = np.flatnonzero(match)
    if len(cells) == 1:
        return int(cells[0])
    raise InputError(_unknown(table, codes))


def _codes(table: Table, given: Any) -> dict[str, str]:
    """Return one code for each dimension."""
    names = list(map(str, table.keys.columns))
    if isinstance(given, Mapping):
        codes = {str(name): str(code) for name, code in given.items()}
    elif isinstance(given, str):
        codes = _read(names, given)
    elif isinstance(given, Sequence):
        codes = _in_order(names, [str(code) for code in given])
    else:
        raise InputError(
            f"`cell` must be a number, codes, or a text such as {_example(table)}. Got {given!r}."
        )
    for name in codes:
        if name not in names:
            raise InputError(f"The table has no dimension {name!r}.{suggestion(name, names)}")
    lacking = [name for name in names if name not in codes]
    if lacking:
        raise InputError(
            f"The cell needs a code for {listed(lacking)} as well, such as {_example(table)}."
        )
    return codes


def _read(names: list[str], text: str) -> dict[str, str]:
    parts = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    pairs = [part.partition("=") for part in parts]
    # A code may hold "=" itself, so that a name counts only if it is one of a dimension, or if all
    # parts have one.
    if parts and all(sign for _, sign, _ in pairs) and any(n.strip() in names for n, _, _ in pairs):
        return {name.strip(): code.strip() for name, _, code in pairs}
    return _in_order(names, parts)


def _in_order(names: list[str], codes: list[str]) -> dict[str, str]:
    if len(codes) != len(names):
        raise InputError(
            f"A cell of this table has {len(names)} codes, one for each of {listed(names)}; "
            f"{len(codes)} were given: {listed(codes) or 'nothing'}. Put a code that holds a comma "
            f"in double quotes."
        )
    return dict(zip(names, codes, strict=True))


def _unknown(table: Table, codes: dict[str, str]) -> str:
    """Say which cell there is not, and which ones are nearest."""
    told = ", ".join(f"{name}={code}" for name, code in codes.items())
    near = np.zeros(table.n_cells)
    for name, code in codes.items():
        own = table.keys[name].astype(str)
        alike = {
            each: difflib.SequenceMatcher(None, code.lower(), each.lower()).ratio()
            for each in own.unique()
        }
        # A code that is there counts for more than several that are merely similar.
        near += own.map(alike).to_numpy(dtype=float) + (own == code).to_numpy()
    # The same codes in another order are what was meant.
    given = sorted(codes.values())
    near += (
        2
        * len(codes)
        * np.array([sorted(row) == given for row in table.keys.astype(str).to_numpy().tolist()])
    )
    best = np.argsort(-near, kind="stable")[:NAMED]
    return f"There is no cell ({told}). Did you mean {' or '.join(table.labels(best))}?"


def _example(table: Table) -> str:
    return repr(table.label(0))
