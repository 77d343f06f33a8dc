"""One generator of small random problems for all tests, and optima by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import tablecloak as tc
from margins import with_margins

Kind = Literal["crossed", "nested", "uneven", "coupled", "awkward"]


def random_problem(
    seed: int,
    shape: Sequence[int] = (3, 4),
    n_sensitive: int = 3,
    *,
    kind: Kind = "crossed",
    **options: Any,
) -> tc.ProtectionProblem:
    """A small table to protect; the same seed gives the same problem.

    Parameters
    ----------
    seed : int
    shape : sequence of int, default=(3, 4)
        Codes of each dimension below its total, of the kind "crossed".
    n_sensitive : int, default=3
        Sensitive cells among the most detailed ones, of the kind "crossed".
    kind : str, default="crossed"
        - "crossed": whole numbers, levels of a fifth, every other cell free and equally dear.
        - "nested": 1 to 4 dimensions; trees that nest or do not, linked tables, zeros, sevenths.
          `n_codes` asks for two flat dimensions of so many codes.
        - "uneven": uneven levels, some cells frozen, some with a width.
        - "coupled": single children and frozen totals, so that cells move together only.
        - "awkward": every option that there is; `scales` spreads values over 12 orders of
          magnitude, up to totals of 1e15; `tiny` leaves 3 x 3 cells with at most one more code.
    """
    if kind == "crossed":
        return _crossed(seed, shape, n_sensitive)
    kinds = {"nested": _nested, "uneven": _uneven, "coupled": _coupled, "awkward": _awkward}
    return kinds[kind](seed, **options)


def _crossed(seed: int, shape: Sequence[int], n_sensitive: int) -> tc.ProtectionProblem:
    random = np.random.default_rng(seed)
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    frame = pd.DataFrame(
        list(itertools.product(*codes)), columns=[f"d{axis}" for axis in range(len(shape))]
    ).assign(v=lambda f: random.integers(5, 200, len(f)).astype(float))
    table = with_margins(frame, list(frame.columns[:-1]), "v")
    sensitive = np.zeros(table.n_cells, dtype=bool)
    leaves = np.flatnonzero((table.keys != "Total").all(axis=1))
    sensitive[random.choice(leaves, n_sensitive, replace=False)] = True
    level = np.where(sensitive, np.ceil(table.values * 0.2), 0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=level,
        upper_protection=np.where(sensitive, level + random.integers(0, 5, len(level)), 0),
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1000.0 * len(leaves)),
        weights=np.ones(table.n_cells),
    )


def _nested(seed: int, n_codes: int = 0) -> tc.ProtectionProblem:
    """A table of 1 to 4 dimensions: nested and other hierarchies, linked, zeros, fractions."""
    random = np.random.default_rng(seed)
    n_dimensions = int(random.integers(1, 5)) if not n_codes else 2
    trees = {}
    for axis in range(n_dimensions):
        size = n_codes or int(random.integers(2, 4 if n_dimensions > 2 else 6))
        nested: dict[str, list[str]] = {f"{axis}{code}": [] for code in "abcdef"[:size]}
        if random.random() < 0.3 and not n_codes:
            first = next(iter(nested))
            nested[first] = [f"{first}1", f"{first}2"]
        trees[f"d{axis}"] = tc.Hierarchy.from_dict(nested)
        leaves = list(trees[f"d{axis}"].leaves)
        if random.random() < 0.2 and not n_codes and len(leaves) > 2:
            # A second grouping of the same leaves, which need not nest with the first.
            random.shuffle(leaves)
            other = tc.Hierarchy.from_dict({f"{axis}x": leaves[:2], f"{axis}y": leaves[2:]})
            trees[f"d{axis}"] = tc.Hierarchy.combine(trees[f"d{axis}"], other)
    leaves = list(itertools.product(*(tree.leaves for tree in trees.values())))
    values = np.ceil(random.lognormal(3, 1, len(leaves)))
    values[random.random(len(leaves)) < 0.2] = 0
    if random.random() < 0.5:
        values = values / 7
    frame = pd.DataFrame(leaves, columns=list(trees)).assign(v=values)
    linked = None
    if n_dimensions > 2 and random.random() < 0.5:
        names = list(trees)
        linked = [names[:2], names[1:]]
    records = frame[frame.v > 0] if values.any() else frame
    parts = [
        _rolled_up(records, {name: trees[name] for name in names}) for names in linked or [trees]
    ]
    table = parts[0] if len(parts) == 1 else tc.link(*parts)
    if not 3 <= table.n_cells <= 300:
        return _nested(seed + 10_000)
    sensitive = random.random(table.n_cells) < 0.2
    level = np.where(sensitive, table.values * random.uniform(0.05, 0.3), 0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=level,
        upper_protection=level * random.uniform(0.5, 1.5),
        sliding_protection=level * (2.5 if random.random() < 0.2 else 0),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 3 * table.values.max()),
        weights=np.ceil(table.values),
    )


def _rolled_up(records: pd.DataFrame, trees: dict[str, tc.Hierarchy]) -> tc.Table:
    """All margins by joins; quicker than a database for so few records."""
    for name, tree in trees.items():
        counts = tree.closure().tocoo()
        above = pd.DataFrame(
            {
                name: np.array(tree.leaves, dtype=object)[counts.col],
                "code": np.array(tree.codes, dtype=object)[counts.row],
            }
        )
        records = records.merge(above, on=name).drop(columns=name).rename(columns={"code": name})
    cells = records.groupby(list(trees), as_index=False).v.sum()
    return tc.Table.from_frame(cells, trees, "v", tolerance=1e-9)


def _uneven(seed: int) -> tc.ProtectionProblem:
    """Two or three dimensions; uneven levels; some cells frozen; some with a width."""
    random = np.random.default_rng(seed)
    shape = [(4, 5), (2, 3, 3)][seed % 2]
    grid = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    frame = pd.DataFrame(
        itertools.product(*grid), columns=[f"d{axis}" for axis in range(len(grid))]
    )
    frame["v"] = random.integers(1, 60, len(frame)).astype(float)
    table = with_margins(frame, list(frame.columns[:-1]), "v")
    n = table.n_cells
    sensitive = random.random(n) < 0.2
    frozen = ~sensitive & (random.random(n) < 0.1)
    level = np.where(sensitive, 0.2 * table.values, 0.0)
    return tc.ProtectionProblem(
        table,
        status=np.select([sensitive, frozen], ["u", "z"], "s"),
        lower_protection=level * random.choice([0.5, 1.0], n),
        upper_protection=level,
        sliding_protection=level * random.choice([0.0, 3.0], n),
        lower_bound=np.zeros(n),
        upper_bound=np.full(n, 1.5 * table.values.max()),
        weights=random.integers(1, 9, n).astype(float),
    )


COUPLING = (
    ({"A": {"A1": {}}, "B": {}}, {"x": {}, "y": {}}),
    ({"A": {}, "B": {}}, {"x": {"x1": {}}, "y": {}}),
)


def _coupled(seed: int) -> tc.ProtectionProblem:
    """A table of few cells: single children, frozen cells, uneven levels, bounds and weights."""
    random = np.random.default_rng(seed)
    trees = [tc.Hierarchy.from_dict(tree) for tree in COUPLING[seed % 2]]
    leaves = itertools.product(*(tree.leaves for tree in trees))
    frame = pd.DataFrame(leaves, columns=["r", "c"])
    frame = frame.assign(v=random.integers(1, 60, len(frame)).astype(float))
    table = with_margins(frame, dict(zip("rc", trees, strict=True)), "v")
    n, values = table.n_cells, table.values
    status = np.full(n, "s")
    status[random.random(n) < 0.15] = "u"
    status[random.random(n) < 0.12] = "z"
    status[random.random(n) < 0.04] = "m"
    if not np.any(status == "u"):
        status[random.integers(n)] = "u"
    sensitive = status == "u"
    below = np.minimum(random.integers(1, 60, n), values)
    above = random.integers(8, 60, n)
    lower = np.minimum(random.integers(0, 5, n), below)
    return tc.ProtectionProblem(
        table=table,
        status=status,
        lower_protection=np.where(sensitive, lower, 0),
        upper_protection=np.where(sensitive, random.integers(1, 6, n), 0),
        sliding_protection=np.where(sensitive, random.integers(0, 8, n), 0),
        lower_bound=values - below,
        upper_bound=values + above,
        weights=random.integers(0, 30, n).astype(float),
    )


def _awkward(seed: int, *, scales: bool = False, tiny: bool = False) -> tc.ProtectionProblem:
    """A small table of 2 or 3 dimensions, nested or linked, with every option that there is.

    With `scales` values and levels spread over 12 orders of magnitude, up to totals of 1e15.
    """
    random = np.random.default_rng([seed, scales, tiny])
    trees = _trees(random, tiny)
    leaves = list(itertools.product(*(tree.leaves for tree in trees.values())))
    digits, whole = _values(random, len(leaves), scales)
    names = list(trees)
    linked = len(names) > 2 and random.random() < 0.4
    parts = [
        _tabulated(leaves, whole, digits, names, {name: trees[name] for name in chosen})
        for chosen in ([names[:2], names[1:]] if linked else [names])
    ]
    table = parts[0] if len(parts) == 1 else tc.link(*parts)
    n, a = table.n_cells, np.abs(table.values)
    share = random.uniform(0.05, 0.35)
    sensitive = random.random(n) < share
    if not sensitive.any():
        sensitive[int(random.integers(n))] = True
    unit = 10.0**-digits
    size = random.uniform(0.02, 0.3) * a if random.random() < 0.7 else np.full(n, 2 * unit)
    if scales and random.random() < 0.5:
        size = a * 10.0 ** -random.uniform(0, 6, n)
    if random.random() < 0.5:
        size = np.maximum(np.round(size / unit) * unit, unit)
    lower, upper = size * random.choice([1.0, 0.5], n), size * random.choice([1.0, 1.5], n)
    if random.random() < 0.4:
        lower, upper = _without_some(random, lower), _without_some(random, upper)
    sliding = size * random.choice([0.0, 3.0], n) if random.random() < 0.3 else np.zeros(n)
    frozen = ~sensitive & (random.random(n) < random.choice([0.0, 0.1]))
    forced = ~sensitive & ~frozen & (random.random(n) < random.choice([0.0, 0.0, 0.1]))
    low, high = _bounds(random, table.values, lower, upper, sliding)
    return tc.ProtectionProblem(
        table,
        status=np.select([sensitive, frozen, forced], ["u", "z", "m"], "s"),
        lower_protection=np.where(sensitive, lower, 0.0),
        upper_protection=np.where(sensitive, upper, 0.0),
        sliding_protection=np.where(sensitive, sliding, 0.0),
        lower_bound=low,
        upper_bound=high,
        weights=_weights(random, a),
    )


def _trees(random: np.random.Generator, tiny: bool) -> dict[str, tc.Hierarchy]:
    n_dimensions = 2 if tiny else int(random.choice([2, 2, 3]))
    trees = {}
    for axis in range(n_dimensions):
        size = 2 if tiny else int(random.integers(2, 4 if n_dimensions > 2 else 6))
        nested: dict[str, list[str]] = {f"{axis}{code}": [] for code in "abcdef"[:size]}
        if random.random() < 0.3 and not (tiny and axis):
            nested[f"{axis}a"] = [f"{axis}a1", f"{axis}a2"]
        trees[f"d{axis}"] = tc.Hierarchy.from_dict(nested)
    return trees


def _values(random: np.random.Generator, n: int, scales: bool) -> tuple[int, np.ndarray]:
    """Number of decimals, and values as whole numbers in the last of them."""
    digits = int(random.choice([0, 0, 1, 2]))
    if scales:
        whole = np.floor(10.0 ** random.uniform(0, random.choice([6, 12, 14]), n))
    else:
        whole = np.ceil(random.lognormal(3, 1, n)) * (1 if random.random() < 0.5 else 10**digits)
    if random.random() < 0.3:
        whole *= random.choice([-1, 1], n)
    whole[random.random(n) < random.choice([0.0, 0.2])] = 0
    return digits, whole.astype(np.int64)


def _tabulated(leaves, whole, digits, names, trees) -> tc.Table:
    """All margins, added up in whole numbers."""
    frame = pd.DataFrame(leaves, columns=names).assign(v=whole.astype(object))
    for name, tree in trees.items():
        counts = tree.closure().tocoo()
        above = pd.DataFrame(
            {
                name: np.array(tree.leaves, dtype=object)[counts.col],
                "code": np.array(tree.codes, dtype=object)[counts.row],
            }
        )
        frame = frame.merge(above, on=name).drop(columns=name).rename(columns={"code": name})
    cells = frame.groupby(list(trees), as_index=False).v.sum()
    cells["v"] = [float(Fraction(int(v), 10**digits)) for v in cells["v"]]
    return tc.Table.from_frame(cells, trees, "v", tolerance=1e-9)


def _without_some(random: np.random.Generator, level: np.ndarray) -> np.ndarray:
    return np.where(random.random(len(level)) < 0.4, 0.0, level)


def _bounds(random, values, lower, upper, sliding) -> tuple[np.ndarray, np.ndarray]:
    """What everybody knows: nothing, loose or narrow bounds, some of them infinite."""
    far = 3 * np.abs(values).max() + 1
    kind = random.random()
    if kind < 0.2:
        return np.full(len(values), -np.inf), np.full(len(values), np.inf)
    low = np.minimum(np.where(values >= 0, 0.0, values - far), values - lower)
    high = np.full(len(values), far) + upper
    if kind < 0.5:
        room = np.abs(values) * random.uniform(0.5, 2.0) + sliding
        low, high = values - np.maximum(room, lower), values + np.maximum(room, upper)
        if kind < 0.35:
            low = np.where(values >= 0, np.minimum(np.maximum(low, 0), values - lower), low)
    elif kind < 0.6:
        high = np.where(random.random(len(values)) < 0.5, np.inf, high)
    return low, high


def _weights(random: np.random.Generator, a: np.ndarray) -> np.ndarray:
    kind = random.integers(5)
    if kind == 0:
        return a
    if kind == 1:
        return np.where(random.random(len(a)) < 0.3, 0.0, random.integers(1, 9, len(a)))
    if kind == 2:
        return random.lognormal(0, 2, len(a))
    return np.ones(len(a)) if kind == 3 else random.integers(1, 9, len(a)).astype(float)


def optimum_by_enumeration(problem: tc.ProtectionProblem, weights: np.ndarray) -> float:
    """Least loss over all directions, one scipy program for each."""
    n, cells = problem.table.n_cells, np.flatnonzero(problem.sensitive)
    low = problem.lower_bound - problem.table.values
    high = problem.upper_bound - problem.table.values
    relations = problem.table.relations.toarray()
    best = np.inf
    for signs in itertools.product([1, -1], repeat=len(cells)):
        up, down = np.maximum(high, 0), np.maximum(-low, 0)
        at_least = np.zeros(2 * n)
        for cell, sign in zip(cells, signs, strict=True):
            if sign > 0:
                at_least[cell], down[cell] = problem.upper_protection[cell], 0
            else:
                at_least[n + cell], up[cell] = problem.lower_protection[cell], 0
        bounds = np.column_stack([at_least, np.concatenate([up, down])])
        levels = np.where(np.array(signs) > 0, *_levels(problem, cells))
        # A side on which the level is 0 is no way out.
        if np.any(bounds[:, 0] > bounds[:, 1]) or np.any(levels <= 0):
            continue
        found = linprog(
            np.tile(weights, 2), A_eq=np.hstack([relations, -relations]),
            b_eq=np.zeros(len(relations)), bounds=bounds,
        )  # fmt: skip
        if found.status == 0:
            best = min(best, found.fun)
    return best


def _levels(problem: tc.ProtectionProblem, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return problem.upper_protection[cells], problem.lower_protection[cells]
