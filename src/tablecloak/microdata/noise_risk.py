"""What an outsider and a contributor infer from a table with multiplicative noise.

Both know everything about the method but the seed: bounds and distribution of the multipliers,
which cells are balanced and which totals are true. They are also told the shares of all
contributors in each cell, though not its size, so that nobody who knows less does better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.microdata.noisy_tables import NoisyTable
from tablecloak.tables.problem import ProtectionProblem

SAME = 1e-12
"""Difference of sizes, as a share, that counts as rounding."""


def windows(noisy: NoisyTable) -> tuple[Floats, Floats]:
    """Return between which values each cell lies for whoever contributes nothing.

    With contributions of one sign, a published value y lies between (1 - most) and (1 + most) times
    the truth. Where contributions cancel, the intruder is told the sum of their sizes, by which the
    truth is off.

    Returns
    -------
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Both follow from y by a factor, and so add up as y does: relations narrow no window, unless
        some totals are true or values are rounded.
    """
    truth, y = noisy.problem.table.values, noisy.values
    lower, upper = _ends(y, truth, noisy.gross, noisy.blur, noisy.design.sizes.most)
    true = noisy.kept_cells
    return np.where(true, y, lower), np.where(true, y, upper)


def _ends(
    y: Floats, truth: Floats, gross: Floats, blur: Floats, most: float
) -> tuple[Floats, Floats]:
    """Return the ends of windows from what is published, y, and the truth behind it."""
    one_sign = gross <= np.abs(truth) * (1 + SAME)
    size = np.abs(y)
    near, far = np.maximum(size - blur, 0) / (1 + most), (size + blur) / (1 - most)
    # Rounding of small values can show 0; then the sign is not known either.
    positive, negative = y + blur > 0, y - blur < 0
    low, high = np.where(negative, -far, near), np.where(positive, far, -near)
    low, high = np.where(positive & negative, -far, low), np.where(positive & negative, far, high)
    off = most * gross + blur
    return np.where(one_sign, low, y - off), np.where(one_sign, high, y + off)


@dataclass(frozen=True, eq=False)
class Insiders:
    """The second largest contributor of each sensitive cell, the one that rules reckon with.

    Parameters
    ----------
    cells : numpy.ndarray of int, shape (n,)
        Sensitive cells of two contributors or more.
    who : numpy.ndarray of int, shape (n,)
    own : numpy.ndarray of float, shape (n,)
        What it adds to the cell.
    lower, upper : numpy.ndarray of float, shape (n,)
        Between which values the cell lies for it: it takes its own contribution with its own noise
        from what is published, and the rest has unknown noise.
    """

    cells: Integers
    who: Integers
    own: Floats
    lower: Floats
    upper: Floats


def insiders(noisy: NoisyTable) -> Insiders:
    """Return the second largest contributors, and what they know of their cells."""
    cells = np.flatnonzero(noisy.problem.sensitive & (np.diff(noisy.cells.indptr) > 1))
    who, own = np.zeros(len(cells), dtype=np.int64), np.zeros(len(cells))
    for row, cell in enumerate(cells.tolist()):
        entries = slice(noisy.cells.indptr[cell], noisy.cells.indptr[cell + 1])
        second = entries.start + int(np.argsort(-np.abs(noisy.cells.data[entries]))[1])
        who[row], own[row] = noisy.cells.indices[second], noisy.cells.data[second]
    rest = noisy.values[cells] - own * (1 + noisy.multipliers.changes[who])
    lower, upper = _ends(
        rest,
        noisy.problem.table.values[cells] - own,
        noisy.gross[cells] - np.abs(own),
        noisy.blur[cells],
        noisy.design.sizes.most,
    )
    true, y = noisy.kept_cells[cells], noisy.values[cells]
    return Insiders(cells, who, own, np.where(true, y, own + lower), np.where(true, y, own + upper))


def outsiders_guess(noisy: NoisyTable) -> Floats:
    """Return the best guesses of one who contributes nothing, shape (n_sensitive,).

    The multipliers are drawn anew; each draw gives the value that would have led to what is
    published. The guess is the value that most of these lie around, within the protection levels.
    """
    problem = noisy.problem
    cells = np.flatnonzero(problem.sensitive)
    changes = noisy.design.drawn_again
    truth = problem.table.values[cells]
    noise = noisy.cells[cells] @ changes
    possible = noisy.values[cells][:, None] / _factors(noise, truth)
    return _densest(possible, problem, cells)


def insiders_guess(noisy: NoisyTable, known: Insiders) -> Floats:
    """Return the best guesses of the second largest contributors, shape (n,)."""
    cells, who, own = known.cells, known.who, known.own
    changes = noisy.design.drawn_again
    # Draws are as likely with all directions turned round: each insider takes those with its own.
    turned = np.sign(changes[who]) * noisy.multipliers.directions[who][:, None]
    rest = noisy.problem.table.values[cells] - own
    noise = (noisy.cells[cells] @ changes - own[:, None] * changes[who]) * turned
    shown = noisy.values[cells] - own * (1 + noisy.multipliers.changes[who])
    possible = own[:, None] + shown[:, None] / _factors(noise, rest)
    return _densest(possible, noisy.problem, cells)


def _factors(noise: Floats, truth: Floats) -> Floats:
    """Return by what each draw multiplies the truth; 1 where contributions cancel."""
    size = truth[:, None]
    factor = 1 + np.divide(noise, size, out=np.zeros_like(noise), where=size != 0)
    return np.where(factor > 0, factor, 1.0)


def _densest(possible: Floats, problem: ProtectionProblem, cells: Integers) -> Floats:
    """Return for each cell the guess that is right for most of its possible values.

    A guess g of a value x is right above x - LPL and below x + UPL. So all values from x to less
    than LPL + UPL above it can be guessed at once, by a g between the last of them less LPL and x
    plus UPL; the middle of both is taken.
    """
    guesses = np.zeros(len(cells))
    below, above = problem.lower_protection[cells], problem.upper_protection[cells]
    for row, values in enumerate(np.sort(possible, axis=1)):
        width = (below[row] + above[row]) * (1 - SAME)
        ends = np.maximum(np.searchsorted(values, values + width), np.arange(len(values)) + 1)
        first = int(np.argmax(ends - np.arange(len(values))))
        last = values[ends[first] - 1]
        guesses[row] = (last - below[row] + values[first] + above[row]) / 2
    return guesses
