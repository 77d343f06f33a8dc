"""Random problems, and attacks on what is published of them that share no code with the package.

An attack is two linear programs for each sensitive cell, straight from the definition. So that they
hold at every scale, each is measured in what its own cell needs, and rooms are capped: a deviation
that moves a cell falls apart into circuits, none of which moves any cell much farther than it.
Before any program, hidden cells that are alone in a relation are peeled off, in whole numbers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

import tablecloak as tc
from naive_programs import Reach

FAR = 1e4
"""Farthest move of any cell, in needs of the cell under attack."""

ENOUGH = 1 - 1e-6
"""Share of a need that counts as met: the tolerance of the programs."""


# -- problems -----------------------------------------------------------------------------


def random_problem(seed: int, *, scales: bool = False, tiny: bool = False) -> tc.ProtectionProblem:
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


# -- attacks ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exposed:
    """A cell that an intruder comes too close to."""

    cell: int
    above: float
    below: float


def intervals_of(problem: tc.ProtectionProblem, hidden: np.ndarray) -> tuple:
    """What the intruder knows of a pattern: published values, and bounds of the rest."""
    a = problem.table.values
    return np.where(hidden, problem.lower_bound, a), np.where(hidden, problem.upper_bound, a)


def ends_of(problem: tc.ProtectionProblem, release: pd.DataFrame) -> tuple:
    """Both ends of every cell in the order of the table, as they are released."""
    keys = problem.table.keys
    ends = keys.merge(release, how="left", on=list(keys.columns))
    return ends["lower"].to_numpy(dtype=float), ends["upper"].to_numpy(dtype=float)


def exposed(
    problem: tc.ProtectionProblem, low: np.ndarray, high: np.ndarray, require: str = "two-sided"
) -> list[Exposed]:
    """Sensitive cells whose interval is narrower than required; stops at none."""
    low, high = np.maximum(low, problem.lower_bound), np.minimum(high, problem.upper_bound)
    known = peeled(problem, low, high)
    found = []
    for p in np.flatnonzero(problem.sensitive):
        up, down, width = required(problem, int(p), require)
        # Whoever knows the cell exactly must never be said not to.
        scale = max(up, down, width)
        if scale == 0:
            scale = width = max(last_digit(problem), 1e-8 * abs(problem.table.values[p]))
        above, below = reaches(problem, low, high, known, int(p), scale)
        if above < up * ENOUGH or below < down * ENOUGH or above + below < width * ENOUGH:
            found.append(Exposed(int(p), above, below))
    return found


def required(problem: tc.ProtectionProblem, p: int, require: str) -> tuple[float, float, float]:
    up, down = float(problem.upper_protection[p]), float(problem.lower_protection[p])
    width = float(problem.sliding_protection[p])
    if require == "width":
        return 0.0, 0.0, max(up + down, width)
    return (up, 0.0, 0.0) if require == "upper" else (up, down, width)


def last_digit(problem: tc.ProtectionProblem) -> float:
    """One unit of the last decimal of the table."""
    a = problem.table.values
    return next((10.0**-d for d in range(7) if np.array_equal(a, np.round(a, d))), 1e-7)


def peeled(problem: tc.ProtectionProblem, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Cells that follow from the others without any program: alone in a relation, and so on."""
    known = low == high
    relations = problem.table.relations
    while True:
        left = [
            cells[~known[cells]] for cells in np.split(relations.indices, relations.indptr[1:-1])
        ]
        alone = [int(cells[0]) for cells in left if len(cells) == 1]
        if not alone:
            return known
        known[alone] = True


def reaches(problem, low, high, known, cell: int, scale: float) -> tuple[float, float]:
    """How far a cell can move up and down, up to FAR times a scale."""
    if known[cell]:
        return 0.0, 0.0
    a, free = problem.table.values, np.flatnonzero(~known)
    relations = problem.table.relations[:, free]
    relations = relations[np.diff(relations.indptr) > 0, :]
    room = [np.clip((end[free] - a[free]) / scale, -FAR, FAR) for end in (low, high)]
    programs, column = Reach(relations, *room), int(np.searchsorted(free, cell))
    return programs.farthest(column, 1) * scale, programs.farthest(column, -1) * scale


def determined(problem: tc.ProtectionProblem, hidden: np.ndarray) -> list[int]:
    """Hidden cells that are neither sensitive nor forced and follow exactly from the others."""
    low, high = intervals_of(problem, hidden)
    known = peeled(problem, low, high)
    found = []
    for cell in np.flatnonzero(hidden & ~problem.sensitive & ~problem.forced).tolist():
        scale = last_digit(problem)
        if max(reaches(problem, low, high, known, cell, scale)) < 1e-6 * scale:
            found.append(cell)
    return found


def least_loss(problem: tc.ProtectionProblem, require: str) -> float:
    """Loss of the cheapest protected pattern, by trying all; inf if there is none."""
    must = problem.sensitive | problem.forced
    free = np.flatnonzero(~must & ~problem.frozen)
    weights = problem.weights[free]
    choices = np.array(list(itertools.product([False, True], repeat=len(free))), dtype=bool)
    losses = choices @ weights
    if exposed(problem, *intervals_of(problem, ~problem.frozen), require):
        return np.inf
    for number in np.argsort(losses, kind="stable"):
        hidden = must.copy()
        hidden[free[choices[number]]] = True
        if not exposed_any(problem, hidden, require):
            return float(losses[number] + problem.weights[must].sum())
    return np.inf


def exposed_any(problem: tc.ProtectionProblem, hidden: np.ndarray, require: str) -> bool:
    """Whether a pattern leaves any sensitive cell exposed; most fail without a program."""
    low, high = intervals_of(problem, hidden)
    if np.any(peeled(problem, low, high) & problem.sensitive):
        return True
    return bool(exposed(problem, low, high, require))
