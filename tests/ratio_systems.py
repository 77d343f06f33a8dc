"""Random tables with figures derived from them, and an intruder who reads the printed digits.

The intruder is a program of its own over the cells of the tables alone: it knows nothing of the
cells that the engine makes of figures.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import tablecloak as tc
from margins import with_margins
from tablecloak.tables.keys import are_derived


@dataclass(frozen=True)
class Printed:
    """A printed figure: scale * numerator / denominator + offset, rounded to some decimals."""

    numerator: int
    denominator: int
    value: Fraction
    half: Fraction
    scale: int = 1
    offset: int = 0

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        above: int,
        below: int,
        decimals: int,
        scale: int = 1,
        offset: int = 0,
    ) -> Printed:
        exact = Fraction(repr(float(values[above]))) / Fraction(repr(float(values[below])))
        value = round(scale * exact + offset, decimals)
        return cls(above, below, Fraction(value), Fraction(1, 2 * 10**decimals), scale, offset)

    def rows(self, n: int) -> np.ndarray:
        """Rows that are at most 0: value - half <= scale x / y + offset <= value + half."""
        rows = np.zeros((2, n))
        low, high = (self.value - self.half - self.offset, self.value + self.half - self.offset)
        rows[0, self.numerator], rows[0, self.denominator] = -self.scale, float(low)
        rows[1, self.numerator], rows[1, self.denominator] = self.scale, -float(high)
        return rows


def interval(
    problem: tc.ProtectionProblem, hidden: np.ndarray, printed: Sequence[Printed], cell: int
) -> tuple[float, float]:
    """Between which values a cell lies for an intruder with all published cells and figures."""
    table, n = problem.table, problem.table.n_cells
    low = np.where(hidden, problem.lower_bound, table.values)
    high = np.where(hidden, problem.upper_bound, table.values)
    rows = np.vstack([figure.rows(n) for figure in printed]) if printed else np.zeros((0, n))
    rows /= np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 1e-300)
    ends = []
    for sign in (1, -1):
        solved = linprog(
            sign * np.eye(1, n, cell)[0],
            A_ub=rows if len(rows) else None,
            b_ub=np.zeros(len(rows)) if len(rows) else None,
            A_eq=table.relations, b_eq=table.right_hand_side,
            bounds=np.column_stack([low, high]),
        )  # fmt: skip
        assert solved.status == 0, solved.message
        ends.append(float(solved.x[cell]))
    return ends[0], ends[1]


def exposed(
    problem: tc.ProtectionProblem, hidden: np.ndarray, printed: Sequence[Printed]
) -> list[int]:
    """Sensitive cells whose interval does not reach both protection levels."""
    bad = []
    for cell in np.flatnonzero(problem.sensitive).tolist():
        low, high = interval(problem, hidden, printed, cell)
        value = problem.table.values[cell]
        slack = 1e-6 * max(1.0, abs(value))
        if (
            low > value - problem.lower_protection[cell] + slack
            or high < value + problem.upper_protection[cell] - slack
        ):
            bad.append(cell)
    return bad


@dataclass(frozen=True, eq=False)
class System:
    """Tables of several variables or years, their problem, and the figures beside them."""

    bare: tc.ProtectionProblem
    figures: tuple
    problem: tc.ProtectionProblem
    printed: tuple[Printed, ...]

    def told(self, hidden: np.ndarray) -> list[Printed]:
        """Figures that are published in a pattern of the whole problem."""
        shown = ~hidden[np.flatnonzero(are_derived(self.problem.table.keys))]
        return [figure for figure, is_shown in zip(self.printed, shown, strict=True) if is_shown]


def optimum(system: System) -> float:
    """Least loss of all patterns of totals and figures that the intruder cannot attack.

    All patterns are gone through by their loss. What hides less than one that exposes a cell
    exposes it as well, so that its attack is spared.
    """
    problem, n = system.problem, system.bare.table.n_cells
    free = np.flatnonzero(
        ~(problem.sensitive | problem.frozen)
        & ((np.arange(len(problem.sensitive)) < n) | are_derived(problem.table.keys))
    )
    must = float(problem.weights[problem.sensitive].sum())
    patterns = np.arange(2 ** len(free))
    bits = 1 << np.arange(len(free))
    losses = sum(
        weight * (patterns & bit > 0)
        for weight, bit in zip(problem.weights[free], bits, strict=True)
    )
    is_open = np.ones(len(patterns), dtype=bool)

    def is_exposed(pattern: int) -> bool:
        hidden = problem.sensitive | problem.forced
        hidden[free[pattern & bits > 0]] = True
        return bool(exposed(system.bare, hidden[:n], system.told(hidden)))

    for pattern in np.argsort(losses, kind="stable").tolist():
        if not is_open[pattern]:
            continue
        if not is_exposed(pattern):
            return float(losses[pattern]) + must
        larger = pattern
        for bit in bits.tolist():
            larger = larger | bit if not larger & bit and is_exposed(larger | bit) else larger
        is_open[patterns & ~larger == 0] = False
    return np.inf


def table_of(random: np.random.Generator, name: str, shape: Sequence[int], least: int, most: int):
    """A table of whole numbers with all its margins."""
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    names = [f"d{axis}" for axis in range(len(shape))]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    frame[name] = random.integers(least, most, len(frame)).astype(float)
    return with_margins(frame, names, name)


def altered(
    arrays: Mapping[str, np.ndarray], system: System, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """Publish a hidden figure or total, or change a number of a witness, a row or a room."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    places = {"witness": "witness_data", "row": "relation_data", "bound": "lower_bound",
              "value": "values"}  # fmt: skip
    kind = str(random.choice(["publish", *places]))
    if kind == "publish":
        hidden = np.flatnonzero(arrays["suppressed"] & ~system.problem.forced)
        arrays["suppressed"][random.choice(hidden)] = False
        return arrays
    array = arrays[places[kind]]
    place = random.integers(len(array))
    array[place] = array[place] * random.choice([0.5, 1.5, -1.0]) + random.choice([0.0, 1.0, -1.0])
    return arrays


def random_system(
    seed: int, shape: Sequence[int] = (3, 3), n_sensitive: int = 2, *, codes: int = 0
) -> System:
    """Two variables with ratios, two years with growth rates, or three variables with both.

    Parameters
    ----------
    seed : int
    shape : sequence of int
    n_sensitive : int
        Sensitive cells of each variable.
    codes : int, optional
        Figures only for so many codes of the first dimension; by default for all cells.
    """
    random = np.random.default_rng(seed)
    kind = seed % 3
    names = (["x", "y"], ["then", "now"], ["then", "now", "staff"])[kind]
    sizes = {
        "x": (100, 3000),
        "y": (5, 80),
        "then": (200, 900),
        "now": (200, 900),
        "staff": (5, 60),
    }
    parts = {}
    for name in names:
        table = table_of(random, name, shape, *sizes[name])
        inner = np.flatnonzero((table.keys != "Total").all(axis=1))
        chosen = random.choice(inner, n_sensitive, replace=False).tolist()
        rule = tc.Manual([] if name in ("y", "staff") else chosen, range=15)
        parts[name] = table.protect(rule)
    bare = tc.join(parts)
    decimals = int(random.integers(0, 3))
    where = {"d0": [f"0{code}" for code in range(codes)]} if codes else None
    weight = float(random.choice([0.1, 0.7, 1.0, 4.0]))
    options = {"decimals": decimals, "where": where, "weight": weight}
    ratio = tc.Ratio(f"{names[-2]} / {names[-1]}", **options)
    growth = tc.Growth("now", since="then", **options)
    figures = ((ratio,), (growth,), (ratio, growth))[kind]
    terms = {"ratio": (1, 0), "growth": (100, -100)}
    printed = []
    for figure in figures:
        above, below = ("now", "then") if figure.name == "growth" else names[-2:]
        for cell in np.flatnonzero((bare.table.keys["variable"] == above).to_numpy()).tolist():
            codes_of = bare.table.keys.iloc[cell].to_dict()
            if where and codes_of["d0"] not in where["d0"]:
                continue
            other = bare.table.cell(**{**codes_of, "variable": below})
            printed.append(
                Printed.of(bare.table.values, cell, other, decimals, *terms[figure.name])
            )
    return System(bare, figures, tc.with_derived(bare, figures), tuple(printed))
