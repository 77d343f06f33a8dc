"""An independent check of a release with suppressed values, from the files alone.

Nothing of the search is used: groups are counted by pandas from the values themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import VerificationError
from tablecloak.microdata.columns import row_label

__all__ = ["check_left_alone", "check_own", "proved_floor"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Fails = Callable[[Sequence[str]], Flags]
"""Returns for some keys which records of the original are in a group by them that fails."""


def check_left_alone(original: pd.DataFrame, released: pd.DataFrame, keys: Sequence[str]) -> Flags:
    """Check that values are missing or as they were, and return which ones are missing.

    Returns
    -------
    numpy.ndarray of bool, shape (n_records, n_keys)

    Raises
    ------
    VerificationError
        Names column and row of the first value that differs.
    """
    if len(original) != len(released) or list(original.columns) != list(released.columns):
        raise VerificationError("The release has other rows or columns than the original.")
    missing = np.zeros((len(original), len(keys)), dtype=bool)
    for name in original.columns:
        absent = released[name].isna().to_numpy()
        was_absent = original[name].isna().to_numpy()
        both = np.flatnonzero(~absent & ~was_absent)
        same = np.equal(
            released[name].iloc[both].to_numpy(dtype=object),
            original[name].iloc[both].to_numpy(dtype=object),
        ).astype(bool)
        # Only keys may lose values, and nothing may be filled in.
        strange = was_absent & ~absent if name in keys else was_absent != absent
        wrong = np.union1d(both[~same], np.flatnonzero(strange))
        if len(wrong):
            raise VerificationError(
                f"Column {name!r}, row {row_label(original, wrong[0])}: the release has another "
                "value than the original."
            )
        if name in keys:
            missing[:, list(keys).index(name)] = absent
    return missing


def check_own(
    fails: Fails, missing: Flags, keys: Sequence[str], combinations: Sequence[Sequence[str]]
) -> None:
    """Check that each record is safe by what is left of it, counted among true records.

    Raises
    ------
    VerificationError
        Names the combination and the number of the first record.
    """
    for lost in np.unique(missing, axis=0):
        here = np.flatnonzero((missing == lost).all(axis=1))
        gone = {name for name, is_gone in zip(keys, lost, strict=True) if is_gone}
        for combination in combinations:
            left = [name for name in combination if name not in gone]
            bad = here[fails(left)[here]]
            if len(bad):
                raise VerificationError(
                    f"Record {bad[0] + 1}: the group by {left} does not satisfy what is required, "
                    f"so that the combination {list(combination)} is not safe."
                )


def proved_floor(
    fails: Fails,
    floor: Floats,
    combinations: Sequence[Sequence[str]],
    costs: Mapping[str, float],
) -> float:
    """Check that no record becomes safe for less than its floor, and return the sum of floors.

    Raises
    ------
    VerificationError
        Names the record and the set of keys that is cheaper.
    """
    asked = sorted({name for combination in combinations for name in combination})
    highest = float(floor.max(initial=0.0))
    for size in range(len(asked) + 1):
        for chosen in itertools.combinations(asked, size):
            # Costs are added in the order of the file, as floors were.
            cost = float(sum(costs[name] for name in costs if name in chosen))
            if cost >= highest:
                continue
            open_ = np.flatnonzero(floor > cost)
            good = np.ones(len(open_), dtype=bool)
            for combination in combinations:
                good &= ~fails([name for name in combination if name not in chosen])[open_]
            if good.any():
                raise VerificationError(
                    f"Record {open_[good][0] + 1} is safe already without {list(chosen)}, which "
                    f"costs {cost:g}: its bound {floor[open_[good][0]]:g} is not proved."
                )
    return float(floor.sum())
