"""The p% rule on sums of squares, which deviations, standard errors and residuals tell.

Whoever knows the sum and the number of some amounts knows the sum of their squares around any
centre c as soon as one is told. The intruder with the second largest amount then knows that the
largest, x, lies no further from c than (x - c)^2 + r allows, with r the squares of all others.
That is less than p per cent too much if r < (x - c + p x)^2 - (x - c)^2; around 0 it is
r < ((1 + p)^2 - 1) x^2. The bound is least at the mean of these others, up to terms of 1 / n.

Source: P. A. Samuelson, *How deviant can you be?* (1968), Journal of the American Statistical
Association 63, 1522-1525, for the bound; the p% rule as in Hundepool and others, *Statistical
Disclosure Control* (2012), section 4.2.2.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.values import ValueLevels


def squares_tell(
    values: Floats, cell: Integers, who: Integers, n_cells: int, ratio: float
) -> Flags:
    """Return the cells whose sum, number and sum of squares tell an amount within p per cent.

    Parameters
    ----------
    values : (n,) array of float
        Amounts of records, not their squares.
    cell, who : (n,) array of int
        Cell and contributor of each record; several records of one are told together.
    n_cells : int
    ratio : float
        p of the p% rule, of what amounts exceed the smallest of all by.
    """
    is_dominated = np.zeros(n_cells, dtype=np.bool_)
    if not len(values):
        return is_dominated
    width = int(who.max()) + 1
    pairs, pair = np.unique(cell * width + who, return_inverse=True)
    of_pair = pairs // width

    def squares(centre: Floats) -> Floats:
        return np.asarray(np.bincount(pair, (values - centre) ** 2), dtype=np.float64)

    def means(chosen: Flags) -> Floats:
        sums = np.bincount(cell[chosen], values[chosen], n_cells)
        n = np.bincount(cell[chosen], minlength=n_cells)
        return np.asarray(sums / np.maximum(n, 1), dtype=np.float64)

    apart = squares(means(np.ones(len(values), dtype=np.bool_))[cell])
    order = np.lexsort((-apart, of_pair))
    starts = np.searchsorted(of_pair, np.arange(n_cells))
    place = np.empty(len(pairs), dtype=np.int64)
    place[order] = np.arange(len(pairs)) - starts[of_pair]
    is_other = place > 1
    apart = squares(means(is_other[pair])[cell])
    others = np.bincount(of_pair[is_other], apart[is_other], n_cells)
    first = np.flatnonzero(place == 0)
    amount = np.sqrt(squares(np.full(len(values), max(float(values.min()), 0.0))))[first]
    above = ratio * amount * (2 * np.sqrt(apart[first]) + ratio * amount)
    is_dominated[of_pair[first]] = others[of_pair[first]] < above
    return is_dominated


def column_is_told(values: Floats, who: Integers, ratio: float) -> bool:
    """Whether the sum of squares of a whole column tells an amount; codes have none."""
    if ValueLevels.of(values).is_code:
        return False
    return bool(squares_tell(values, np.zeros(len(values), np.int64), who, 1, ratio)[0])
