"""Classes from the top down: all records in one, which is split as long as k records stay in each.

A class is split by one key: of the values one level below, those that k of its records share form
classes of their own, and the other records stay, if k of them are left. This is the partition of
Mondrian [1]_ by hierarchies instead of medians, as top-down specialisation does [2]_, but each
class by itself.

References
----------
.. [1] LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.
.. [2] Fung, Wang, Yu: Top-down specialization for information and privacy preservation, ICDE 2005.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.record_levels import RecordLevels


def split_from_the_top(levels: RecordLevels, k: int, budget: Budget) -> Integers:
    """Split classes by the key that saves most, all classes at once, until none can be split.

    Returns
    -------
    numpy.ndarray of int, shape (n_patterns, n_keys)
        Level of each key for each pattern. When the time is over, classes stay as they are.
    """
    n_keys = len(levels.n_levels)
    top = np.array(levels.n_levels) - 1
    level = np.tile(top, (levels.patterns.n_patterns, 1))
    label, n_strata = levels.patterns.groups(0)
    open_ = np.ones(n_strata, dtype=bool)
    while open_.any() and not budget.is_over:
        rows = np.flatnonzero(open_[label])
        saved, down = _best(levels, k, level, label, rows, len(open_))
        chosen = np.argmax(saved, axis=0)
        splits = saved[chosen, np.arange(len(open_))] > 0
        again = np.zeros(len(open_), dtype=bool)
        goes = np.zeros(len(rows), dtype=np.int64)
        for key in range(n_keys):
            moving, child = down[key]
            here = moving & splits[label[rows]] & (chosen[label[rows]] == key)
            level[rows[here], key] -= 1
            goes[here] = child[here] + 1
        again[:] = splits
        pair = label.astype(np.int64).copy()
        both = np.zeros(len(label), dtype=np.int64)
        both[rows] = goes
        still = again[label]
        _, label = np.unique(np.column_stack([pair, both]), axis=0, return_inverse=True)
        label = label.ravel()
        open_ = np.zeros(int(label.max()) + 1, dtype=bool)
        open_[label[still]] = True
    return level


def _best(
    levels: RecordLevels, k: int, level: Integers, label: Integers, rows: Integers, n_classes: int
) -> tuple[Floats, list[tuple[Flags, Integers]]]:
    """Return for each key and class what a split saves, who would move, and to which child."""
    frequency = levels.patterns.frequency[rows]
    mine = label[rows]
    total = np.bincount(mine, weights=frequency, minlength=n_classes)
    saved, down = [], []
    for key, codes in enumerate(levels.codes):
        now = level[rows, key]
        code = np.column_stack(codes)[rows, np.maximum(now - 1, 0)]
        loss = np.column_stack(levels.losses[key])
        finer = loss[rows, np.maximum(now - 1, 0)]
        may = (now > 0) & np.isfinite(finer)
        pair = mine * (int(code.max(initial=0)) + 1) + code
        _, child = np.unique(pair, return_inverse=True)
        child = child.ravel()
        size = np.bincount(child, weights=frequency * may).astype(np.int64)
        moves = may & (size[child] >= k)
        gone = np.bincount(mine, weights=frequency * moves, minlength=n_classes)
        stay = (total - gone).astype(np.int64)
        moves &= ~_kept_back(mine, child, size, moves, stay, k)[child]
        gain = np.where(moves, loss[rows, now] - np.where(may, finer, 0.0), 0.0) * frequency
        saved.append(np.bincount(mine, weights=gain, minlength=n_classes))
        down.append((moves, child))
    return np.array(saved), down


def _kept_back(
    mine: Integers, child: Integers, size: Integers, moves: Flags, stay: Integers, k: int
) -> Flags:
    """Return the children that stay so that k records are left: in each class the smallest one."""
    back = np.zeros(len(size), dtype=bool)
    short = (stay > 0) & (stay < k)
    at = np.flatnonzero(moves & short[mine])
    if len(at):
        order = at[np.lexsort((size[child[at]], mine[at]))]
        first = np.concatenate([[True], mine[order][1:] != mine[order][:-1]])
        back[child[order[first]]] = True
    return back
