"""Small tables of several dimensions with all margins, for tests of rounding."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import tree_of, with_margins

NESTED = {
    "a": {"a1": ["a11", "a12"], "a2": ["a21", "a22", "a23"]},
    "b": {"b1": [], "b2": ["b21", "b22"]},
    "c": ["c1", "c2", "c3"],
}
"""Trees of three dimensions, two of them with levels between."""


def cube(
    trees: Sequence[int] | Mapping[str, object], seed: int, *, zeros: float = 0.0
) -> tc.ProtectionProblem:
    """Counts near 4 by crossed dimensions, without sensitive cells; some combinations are absent.

    Parameters
    ----------
    trees : sequence of int, or mapping of str to nested codes
        Sizes of dimensions without a hierarchy, or trees.
    seed : int
    zeros : float, default=0
        Share of absent combinations.
    """
    if not isinstance(trees, Mapping):
        trees = {f"d{d}": [f"{d}{code}" for code in range(n)] for d, n in enumerate(trees)}
    random = np.random.default_rng(seed)
    codes = [tree_of(tree, pd.Series(dtype=str)).leaves for tree in trees.values()]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=list(trees))
    frame["n"] = random.poisson(4, len(frame))
    table = with_margins(frame[random.random(len(frame)) >= zeros], trees, "n")
    n, none = table.n_cells, np.zeros(table.n_cells)
    status, most = np.full(n, "s"), np.full(n, np.inf)
    return tc.ProtectionProblem(table, status, none, none, none, none, most, np.ones(n))
