"""Levels of a hierarchy: its codes in groups on which each leaf has at most one code."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import AnyIntegers
from tablecloak.tables.hierarchy import Hierarchy


def levels_of(tree: Hierarchy) -> list[AnyIntegers]:
    """Split the codes of a hierarchy into levels; the leaves are the first.

    Returns
    -------
    list of numpy.ndarray of int32, shape (n_leaves,)
        For each level the position of the code that each leaf counts towards; -1 if there is none.
    """
    closure = tree.closure()
    levels: list[AnyIntegers] = [
        np.array([tree.position[leaf] for leaf in tree.leaves], dtype=np.int32)
    ]
    is_leaf = np.zeros(len(tree.codes), dtype=bool)
    is_leaf[levels[0]] = True
    # From the parts up: what lies further down is listed later.
    for code in np.flatnonzero(~is_leaf)[::-1]:
        below = closure.indices[closure.indptr[code] : closure.indptr[code + 1]]
        free = (level for level in levels[1:] if np.all(level[below] < 0))
        level = next(free, None)
        if level is None:
            level = np.full(len(tree.leaves), -1, dtype=np.int32)
            levels.append(level)
        level[below] = code
    return levels
