"""Tables so small that what is right can be worked out by hand."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import tablecloak as tc

Levels = Mapping[str, tuple[float, float]]
"""Lower and upper protection level of sensitive cells, by their codes."""


def problem_of(
    codes: Sequence[str],
    values: Sequence[float],
    relations: Sequence[Sequence[float]],
    levels: Levels,
    *,
    frozen: Sequence[str] = (),
    bounds: tuple[float, float] = (0.0, 1000.0),
    integer: bool | None = None,
    sides: Sequence[float] = (),
) -> tc.ProtectionProblem:
    """Cells by their codes, with relations as rows of coefficients; `sides` are 0 if not given."""
    n = len(codes)
    table = tc.Table(
        keys=pd.DataFrame({"code": list(codes)}),
        values=np.array(values, dtype=float),
        relations=csr_array(np.array(relations, dtype=float).reshape(-1, n)),
        right_hand_side=np.array(sides or np.zeros(len(relations)), dtype=float),
        integer=integer,
    )
    at = {code: place for place, code in enumerate(codes)}
    status, lower, upper = np.full(n, "s"), np.zeros(n), np.zeros(n)
    for code, (below, above) in levels.items():
        status[at[code]], lower[at[code]], upper[at[code]] = "u", below, above
    for code in frozen:
        status[at[code]] = "z"
    return tc.ProtectionProblem(
        table, status, lower, upper, np.zeros(n),
        np.full(n, bounds[0]), np.full(n, bounds[1]), np.ones(n),
    )  # fmt: skip


def one_row(parts: Sequence[float], levels: Levels, **options) -> tc.ProtectionProblem:
    """Cells a, b, c, ... and, last, their Total."""
    codes = [*string.ascii_lowercase[: len(parts)], "Total"]
    relation = [[1.0] * len(parts) + [-1.0]]
    return problem_of(codes, [*parts, sum(parts)], relation, levels, **options)


def two_rows(
    first: Sequence[float], second: Sequence[float], levels: Levels, **options
) -> tc.ProtectionProblem:
    """Two totals that no relation connects: a, b, ... add up to T, and A, B, ... to S."""
    n, m = len(first), len(second)
    codes = [*string.ascii_lowercase[:n], "T", *string.ascii_uppercase[:m], "S"]
    relations = np.zeros((2, n + m + 2))
    relations[0, :n], relations[0, n] = 1, -1
    relations[1, n + 1 : n + 1 + m], relations[1, -1] = 1, -1
    values = [*first, sum(first), *second, sum(second)]
    return problem_of(codes, values, relations.tolist(), levels, **options)


def cross(rows: Sequence[Sequence[float]], levels: Levels, **options) -> tc.ProtectionProblem:
    """Cells "11", "12", ... of a table with the margins "1T", "T1", ... and "TT"."""
    inner = np.array(rows, dtype=float)
    r, c = inner.shape
    grid = np.block([[inner, inner.sum(1, keepdims=True)], [inner.sum(0), inner.sum()]])
    names = [
        f"{i + 1 if i < r else 'T'}{j + 1 if j < c else 'T'}"
        for i in range(r + 1)
        for j in range(c + 1)
    ]
    relations = []
    for i in range(r + 1):
        line = np.zeros((r + 1, c + 1))
        line[i, :c], line[i, c] = 1, -1
        relations.append(line.reshape(-1).tolist())
    for j in range(c + 1):
        line = np.zeros((r + 1, c + 1))
        line[:r, j], line[r, j] = 1, -1
        relations.append(line.reshape(-1).tolist())
    return problem_of(names, grid.reshape(-1).tolist(), relations, levels, **options)


def place(problem: tc.ProtectionProblem, code: str) -> int:
    """The number of a cell."""
    return problem.table.keys["code"].tolist().index(code)


def by_code(problem: tc.ProtectionProblem, numbers: Sequence[float]) -> dict[str, float]:
    """Numbers of all cells by their codes."""
    codes = problem.table.keys["code"].tolist()
    return dict(zip(codes, np.asarray(numbers, dtype=float).tolist(), strict=True))
