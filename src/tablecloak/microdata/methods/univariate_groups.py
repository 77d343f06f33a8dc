"""Groups of numbers with the least loss: a shortest path over the sorted values.

References
----------
.. [1] Hansen, Mukherjee: A polynomial algorithm for optimal univariate microaggregation, 2003.
.. [2] Maleki, Musuvathi, Mytkowicz: Parallelizing dynamic programming through rank convergence,
   2014.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tablecloak.arrays import Floats, Integers

__all__ = ["optimal_groups"]

SAME = 1e-12
"""Relative difference of path lengths that counts as rounding."""


LONG = 60
"""Least length of a stretch in largest groups: shorter ones have to be repeated too often."""


def optimal_groups(values: Floats, k: int) -> Integers:
    """Return the groups of at least k numbers with the least sum of squares within groups.

    Optimal groups are runs of k to 2k - 1 sorted values [1]_. The shortest path over all places is
    found for all stretches of the values at once: each starts from guessed distances of the places
    before it, and stretches are repeated with the distances of their predecessors until these no
    longer change. Shortest paths soon forget where they began [2]_, so that a few rounds do; at the
    latest after as many rounds as there are stretches the result is exact.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n,)
    k : int
        At most n.

    Returns
    -------
    numpy.ndarray of int, shape (n,)
        Groups in the order of their values, numbered from 0.
    """
    order = np.argsort(values, kind="stable")
    sizes = _last_sizes(values[order], k)
    ends, place = [], len(values)
    while place:
        ends.append(place)
        place -= sizes[place - 1]
    number = np.zeros(len(values), dtype=np.int64)
    number[ends[1:]] = 1
    groups = np.empty(len(values), dtype=np.int64)
    groups[order] = np.cumsum(number)
    return groups


def _last_sizes(ordered: Floats, k: int) -> list[int]:
    """Return the size of the last group in the best groups of the first i values, i = 1 .. n."""
    most, count = 2 * k - 1, len(ordered)
    length = min(max(LONG * most, int(np.ceil(np.sqrt(count)))), count)
    stretches = -(-count // length)
    surplus = np.full(stretches * length - count, ordered[-1])
    before = np.concatenate([np.full(most, np.nan), ordered, surplus])
    # Row i holds the values before place i, the last of them last.
    windows = sliding_window_view(before, most)
    start = np.zeros((stretches, most))
    start[0] = np.inf
    start[0, -1] = 0.0
    sizes = np.empty((stretches, length), dtype=np.int64)
    ends = np.empty((stretches, most))
    changed: Integers = np.arange(stretches)
    while len(changed):
        distance = np.concatenate([start[changed], np.empty((len(changed), length))], axis=1)
        for step in range(1, length + 1):
            loss = _losses(windows[step + length * changed], k)
            total = distance[:, step - 1 : step - 1 + k] + loss
            best = np.argmin(total, axis=1)
            distance[:, most - 1 + step] = np.take_along_axis(total, best[:, None], axis=1)[:, 0]
            sizes[changed, step - 1] = most - best
        ends[changed] = distance[:, length:]
        found = np.concatenate([start[:1], ends[:-1] - ends[:-1].min(axis=1, keepdims=True)])
        # In the units of each row; numpy 1 takes no tolerances of rows.
        unit = np.maximum(_largest(found), np.finfo(float).tiny)
        is_same = np.isclose(found / unit, start / unit, rtol=SAME, atol=SAME).all(axis=1)
        changed = np.flatnonzero(~is_same)
        start[changed] = found[changed]
    found_sizes: list[int] = sizes.ravel()[:count].tolist()
    return found_sizes


def _losses(windows: Floats, k: int) -> Floats:
    """Return the sums of squares of the last 2k - 1, 2k - 2, .. k values of each row.

    Values are taken from the last one, so that no digits are lost far from 0. Groups that would
    begin before the first value have an infinite loss.
    """
    away = windows[:, -1:] - windows[:, ::-1]
    size = np.arange(k, windows.shape[1] + 1)
    sums, squares = (np.cumsum(part, axis=1)[:, k - 1 :] for part in (away, away**2))
    loss = np.maximum(squares - sums**2 / size, 0.0)[:, ::-1]
    found: Floats = np.where(np.isnan(loss), np.inf, loss)
    return found


def _largest(distances: Floats) -> Floats:
    """Return the largest finite distance of each row, as a column."""
    finite = np.isfinite(distances)
    found: Floats = np.max(distances, axis=1, keepdims=True, where=finite, initial=0.0)
    return found
