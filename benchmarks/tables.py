"""Tables for benchmarks, made by a seed: two-way, three-way, hierarchical."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import tablecloak as tc


def nested(prefix: str, branching: tuple[int, ...]) -> dict:
    """A tree with the given number of children on each level."""
    if len(branching) == 1:
        return {f"{prefix}{i:02d}": {} for i in range(branching[0])}
    names = [f"{prefix}{i:02d}" for i in range(branching[0])]
    return {name: nested(name, branching[1:]) for name in names}


def leaf_table(
    trees: dict[str, tuple[int, ...]], *, zeros: float, sensitive: float, seed: int
) -> tc.ProtectionProblem:
    """Lognormal leaves (sigma 1.5), some empty; some are sensitive, 15 % both ways."""
    random = np.random.default_rng(seed)
    hierarchies = {
        name: tc.Hierarchy.from_dict(nested(name, branching)) for name, branching in trees.items()
    }
    leaves = [hierarchy.leaves for hierarchy in hierarchies.values()]
    grid = pd.DataFrame(list(itertools.product(*leaves)), columns=list(trees))
    kept = random.random(len(grid)) >= zeros
    frame = grid[kept].assign(v=np.ceil(random.lognormal(5, 1.5, int(kept.sum()))))
    table = tc.tabulate(frame, hierarchies, "v", decimals=0)
    is_leaf = np.ones(table.n_cells, dtype=bool)
    for name, hierarchy in hierarchies.items():
        is_leaf &= table.keys[name].isin(hierarchy.leaves).to_numpy()
    chosen = is_leaf & (random.random(table.n_cells) < sensitive)
    return with_levels(table, chosen)


def flat_table(shape: tuple[int, ...], *, sensitive: float, seed: int) -> tc.ProtectionProblem:
    """A crossed table with all margins, made as arrays: for ten million cells and more."""
    random = np.random.default_rng(seed)
    full = np.ceil(random.lognormal(5, 1.5, shape))
    for axis in range(len(shape)):
        full = np.concatenate([full.sum(axis=axis, keepdims=True), full], axis=axis)
    number = np.arange(full.size, dtype=np.int32).reshape(full.shape)
    cells, data, lengths = [], [], []
    for axis, length in enumerate(full.shape):
        lines = np.moveaxis(number, axis, -1).reshape(-1, length)
        factors = np.ones(length)
        factors[0] = -1
        cells.append(lines.reshape(-1))
        data.append(np.tile(factors, len(lines)))
        lengths.append(np.full(len(lines), length))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    relations = csr_array(
        (np.concatenate(data), np.concatenate(cells), starts), shape=(len(starts) - 1, full.size)
    )
    places = np.indices(full.shape).reshape(len(shape), -1)
    names = [["Total", *[f"{axis}{n:04d}" for n in range(size)]] for axis, size in enumerate(shape)]
    keys = pd.DataFrame(
        {
            f"d{axis}": pd.Categorical.from_codes(places[axis], names[axis])
            for axis in range(len(shape))
        }
    )
    table = tc.Table(
        keys=keys, values=full.reshape(-1), relations=relations,
        right_hand_side=np.zeros(relations.shape[0]), decimals=0,
    )  # fmt: skip
    chosen = (places > 0).all(axis=0) & (random.random(full.size) < sensitive)
    return with_levels(table, chosen)


def with_levels(table: tc.Table, chosen: np.ndarray) -> tc.ProtectionProblem:
    """Levels of 15 % both ways for chosen cells."""
    level = np.where(chosen, np.maximum(1, np.round(0.15 * table.values)), 0)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(chosen, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1.5 * table.values.max()),
        weights=table.values,
    )


TABLES = {
    "80x80": lambda: leaf_table({"r": (80,), "c": (80,)}, zeros=0.1, sensitive=0.2, seed=1),
    "16x16x16": lambda: leaf_table(
        {"a": (16,), "b": (16,), "c": (16,)}, zeros=0.2, sensitive=0.08, seed=2
    ),
    "200k": lambda: leaf_table(
        {"a": (10, 10), "b": (10, 10), "c": (4, 5)}, zeros=0.3, sensitive=0.05, seed=3
    ),
}
