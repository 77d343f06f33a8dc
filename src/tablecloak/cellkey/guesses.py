"""True counts that can lead to a published one, with chances: an intruder's view of one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cellkey.perturbation_table import Perturbations
from tablecloak.errors import InputError

__all__ = ["Guesses", "guesses_for"]


@dataclass(frozen=True, eq=False)
class Guesses:
    """Possible true counts of each cell, before any relation is used.

    Cells with the same published count share their guesses.

    Parameters
    ----------
    case : numpy.ndarray of int, shape (n_cells,)
        Number of the list of guesses that each cell has.
    counts : list of numpy.ndarray of int
        Possible true counts, increasing.
    chances : list of numpy.ndarray of float
        Chance that each of these true counts is published as the cell's published count.
    """

    case: Integers
    counts: list[Integers]
    chances: list[Floats]

    def ends(self) -> tuple[Integers, Integers]:
        """Return the smallest and the largest guess of each cell."""
        low = np.array([counts[0] for counts in self.counts], dtype=np.int64)
        high = np.array([counts[-1] for counts in self.counts], dtype=np.int64)
        return low[self.case], high[self.case]

    def with_open(self, n_cells: int) -> Guesses:
        """Append cells of which nothing is published, none of them larger than the largest guess.

        Each is a part of some cell that has guesses.
        """
        counts = np.arange(max(int(each[-1]) for each in self.counts) + 1, dtype=np.int64)
        case = np.full(n_cells, len(self.counts), dtype=np.int64)
        return Guesses(
            np.concatenate([self.case, case]),
            [*self.counts, counts],
            [*self.chances, np.ones(len(counts))],
        )

    def snapped(self, lower: Integers, upper: Integers) -> tuple[Integers, Integers]:
        """Move the ends of intervals inwards to the next guess."""
        lower, upper = lower.copy(), upper.copy()
        for number, counts in enumerate(self.counts):
            cells = np.flatnonzero(self.case == number)
            first = np.searchsorted(counts, lower[cells])
            last = np.searchsorted(counts, upper[cells], side="right") - 1
            inside = first <= last
            lower[cells] = np.where(inside, counts[np.minimum(first, len(counts) - 1)], 1)
            upper[cells] = np.where(inside, counts[np.maximum(last, 0)], 0)
        return lower, upper

    def with_gaps(self, lower: Integers, upper: Integers) -> list[tuple[int, Integers]]:
        """Return the cells whose guesses within an interval skip a number, with these guesses."""
        found = []
        for number, counts in enumerate(self.counts):
            if counts[-1] - counts[0] + 1 == len(counts):
                continue
            for cell in np.flatnonzero(self.case == number):
                own = counts[(counts >= lower[cell]) & (counts <= upper[cell])]
                if len(own) and own[-1] - own[0] + 1 > len(own):
                    found.append((int(cell), own))
        return found

    def posterior(
        self, lower: Integers, upper: Integers, prior: Mapping[int, float] | None
    ) -> list[dict[int, float]]:
        """Return the probability of each count within an interval, for each cell."""
        result = []
        for cell, number in enumerate(self.case):
            counts, chances = self.counts[number], self.chances[number]
            inside = (counts >= lower[cell]) & (counts <= upper[cell])
            weight = chances[inside]
            if prior is not None:
                weight = weight * np.array([prior.get(int(n), 0.0) for n in counts[inside]])
            total = weight.sum()
            share = weight / total if total > 0 else np.full(len(weight), 1.0 / len(weight))
            result.append({int(n): float(p) for n, p in zip(counts[inside], share, strict=True)})
        return result


def guesses_for(
    published: Integers,
    listed: Flags,
    perturbations: Perturbations | None,
    deviation: int | None,
    threshold: int,
) -> Guesses:
    """List the true counts that can lead to each published one.

    Parameters
    ----------
    published : numpy.ndarray of int, shape (n_cells,)
    listed : numpy.ndarray of bool, shape (n_cells,)
        Cells that are not listed were perturbed to 0, or below the threshold.
    perturbations : Perturbations or None
        None: every change of a count above 0 by at most the deviation is possible, and all are
        equally likely; a true count of 0 is never changed.
    deviation : int or None
        Largest change; only used without `perturbations`.
    threshold : int

    Raises
    ------
    InputError
        If a published count follows from no true count.
    """
    shown = np.where(listed, published, -1)
    kinds, case = np.unique(shown, return_inverse=True)
    counts, chances = [], []
    for kind in kinds:
        targets = range(max(threshold, 1)) if kind < 0 else range(int(kind), int(kind) + 1)
        found = _guesses_of(targets, perturbations, deviation)
        if not found:
            raise InputError(
                f"The published count {int(kind)} follows from no true count by the perturbation "
                f"table that is given. Give the one that was used, or only `deviation`."
            )
        counts.append(np.array(sorted(found), dtype=np.int64))
        chances.append(np.array([found[n] for n in sorted(found)]))
    return Guesses(case.reshape(-1).astype(np.int64), counts, chances)


def _guesses_of(
    targets: range, perturbations: Perturbations | None, deviation: int | None
) -> dict[int, float]:
    """Return for each true count the chance that it is published as one of the targets."""
    reach = deviation if perturbations is None else round(perturbations.largest_change)
    assert reach is not None
    found: dict[int, float] = {}
    for count in range(max(targets[0] - reach, 0), targets[-1] + reach + 1):
        chances = _assumed(count, reach) if perturbations is None else perturbations.chances(count)
        chance = sum(chances.get(target - count, 0.0) for target in targets)
        if chance > 0:
            found[count] = chance
    return found


def _assumed(count: int, reach: int) -> dict[int, float]:
    """Return the chance of each change of a true count where only the largest change is known.

    A cell without records has no key: cell keys never change a true 0. Of all other counts each
    change that does not lead below 0 is as likely as any other.
    """
    if count == 0:
        return {0: 1.0}
    lowest = -min(count, reach)
    return dict.fromkeys(range(lowest, reach + 1), 1.0 / (reach - lowest + 1))
