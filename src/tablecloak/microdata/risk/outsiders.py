"""What an outsider counts who knows all keys of persons: released records that may be theirs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.arrays import Integers


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
    codes: dict[str, Integers] = {}
    for name in dict.fromkeys([*strata, *(key for keys in combinations for key in keys)]):
        both = pd.concat([original[name], released[name]], ignore_index=True)
        codes[name] = pd.factorize(both, use_na_sentinel=False)[0].astype(np.int64)
    for keys in combinations:
        names = [*strata, *keys]
        label = _groups([codes[name] for name in names])
        of_person, of_record = np.split(label, [len(original)])
        # Patterns of keys instead of records, of which there are far fewer.
        some = np.zeros(int(label.max()) + 1, dtype=np.int64)
        some[label] = np.arange(len(label))
        number = np.bincount(of_record, minlength=len(some))
        absent = np.zeros((len(some), len(names)), dtype=bool)
        absent[of_record] = released[names].isna().to_numpy()
        absent[:, : len(strata)] = False
        count = np.zeros(len(some), dtype=np.int64)
        for lost in np.unique(absent[number > 0], axis=0):
            there = (absent == lost).all(axis=1)
            kept = [codes[name][some] for name, gone in zip(names, lost, strict=True) if not gone]
            group = _groups(kept) if kept else np.zeros(len(some), dtype=np.int64)
            count += np.bincount(group, weights=np.where(there, number, 0))[group].astype(np.int64)
        least = np.minimum(least, count[of_person])
    return least


def _groups(codes: Sequence[Integers]) -> Integers:
    """Return the group of equal codes of each row, numbered from 0."""
    label = np.zeros(len(codes[0]), dtype=np.int64)
    for code in codes:
        label = pd.factorize(label * (int(code.max(initial=0)) + 1) + code)[0].astype(np.int64)
    return label
