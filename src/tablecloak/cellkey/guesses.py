"""True counts that can lead to a published one, with chances: an intruder's view of one cell."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.cellkey.perturbation_table import Perturbations
from tablecloak.comparison.possible_counts import Guesses
from tablecloak.errors import InputError


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
