"""What an outsider counts who knows all keys of persons: released records that may be theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.risk.keys import KeyCells


def fitting(
    original: pd.DataFrame,
    released: pd.DataFrame,
    combinations: Sequence[Sequence[str]],
    strata: Sequence[str] = (),
) -> Integers:
    """Count for each person the released records that may be theirs, by all that is released.

    A released record may be that of a person if it agrees in each key that it has. Of several
    combinations, the smallest count is taken.

    Parameters
    ----------
    original : pandas.DataFrame
        What an outsider knows of persons.
    released : pandas.DataFrame
    combinations : sequence of sequence of str
    strata : sequence of str

    Returns
    -------
    numpy.ndarray of int, shape (n_persons,)
    """
    least = np.full(len(original), len(released), dtype=np.int64)
    for keys in combinations:
        names = [*strata, *keys]
        both = pd.concat([original[names], released[names]], ignore_index=True)
        cells = KeyCells.of(CodedRecords.of(both, names))
        # A stratum is a value of its own also where it is missing.
        cells.missing[:, : len(strata)] = False
        of_person, of_record = np.split(cells.of_record, [len(original)])
        number = np.bincount(of_record, minlength=len(cells.count))
        count = np.zeros(len(cells.count), dtype=np.int64)
        for mine, label, _ in cells.patterns():
            if number[mine].any():
                fits = np.bincount(label[mine], number[mine], minlength=int(label.max()) + 1)
                count += fits[label].astype(np.int64)
        least = np.minimum(least, count[of_person])
    return least
