"""Code-value output of tau-ARGUS: codes, the value, and a status from 1 to 14, without a header."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.errors import InputError
from tablecloak.storage import existing_file
from tablecloak.tables.formats.csv_file import CSV
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.text_numbers import numbers_of

__all__ = ["read_code_values"]

HIDDEN = (3, 4, 5, 6, 7, 8, 9, 11, 12)
"""Unsafe by rule, request, frequency, zero, singleton or manually; secondary."""

EMPTY = (13, 14)
"""Statuses of cells without contributors, which a table need not list."""

STATUSES = range(1, 15)


def read_code_values(
    problem: ProtectionProblem, path: Path, keys: list[str]
) -> pd.DataFrame | None:
    """Read code-value output of tau-ARGUS with statuses; None if the file is something else."""
    if path.suffix.lower() not in (*CSV.suffixes, *CSV.record_suffixes) or not path.is_file():
        return None
    with existing_file(path).open(encoding="utf-8", errors="replace", newline="") as file:
        first = next(csv.reader(file), [])
    if len(first) != len(keys) + 2 or not first[-1].strip().isdigit():
        return None
    frame = pd.read_csv(path, header=None, names=[*keys, "value", "number"], dtype=str)
    number = _statuses(frame, path)
    # Some programs pad codes with blanks, so that codes are compared without them.
    for key in keys:
        spelling = {code.strip(): code for code in problem.table.keys[key].unique()}
        stripped = frame[key].str.strip()
        frame[key] = stripped.map(spelling).fillna(stripped)
    status = np.where(number.isin(HIDDEN), "suppressed", "published")
    frame = frame.assign(status=status, value=numbers_of(frame["value"]))
    cells = pd.MultiIndex.from_frame(problem.table.keys)
    empty = number.isin(EMPTY) & ~pd.MultiIndex.from_frame(frame[keys]).isin(cells)
    return frame[~empty].drop(columns="number").reset_index(drop=True)


def _statuses(frame: pd.DataFrame, path: Path) -> pd.Series:
    """Return the status of each row.

    Raises
    ------
    InputError
        Names the first row whose status is not a number from 1 to 14.
    """
    number = pd.to_numeric(frame["number"], errors="coerce")
    odd = frame.index[~number.isin(STATUSES)]
    if len(odd):
        raise InputError(
            f"{path}, row {odd[0] + 1}: status {frame['number'][odd[0]]!r} is not one of the "
            f"statuses 1 to 14 of tau-ARGUS."
        )
    return number
