"""Columns that stay in a release and tell what was hidden or swapped in others.

A hidden region stands in the records of the other members of a household, and a hidden age band in
the age beside it. What a column tells is counted after the method, as whoever has the release
counts: the value that most records with the same entry show.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import TablecloakWarning
from tablecloak.microdata.columns import codes_of_both
from tablecloak.microdata.order import LEAST_RECORDS

DETERMINED = 0.5
"""Share of the errors of guesses by the most frequent value that a column must take away so that a
value counts as following from it: Goodman and Kruskal's lambda, each record guessed by others."""


SURE = 3
"""Standard errors by which a column must tell more values than the most frequent value does."""


class TellingColumnWarning(TablecloakWarning):
    """A released column tells values that were hidden or changed in another one."""


@dataclass(frozen=True)
class Telling:
    """What a released column tells of a protected one.

    Parameters
    ----------
    protected, column : str
    n_changed, n_told : int
        Number of values that were hidden or changed, and of those that the column tells.
    """

    protected: str
    column: str
    n_changed: int
    n_told: int

    def __str__(self) -> str:
        return (
            f"The released column {self.column!r} tells {self.n_told:,} of the {self.n_changed:,} "
            f"values of {self.protected!r} that were hidden or changed: most records with the same "
            f"{self.column!r} show them. Leave it out (--drop {self.column}), or coarsen it"
        )


def telling_columns(
    before: pd.DataFrame,
    after: pd.DataFrame,
    changed: Sequence[str],
    others: Sequence[str],
    column: Callable[[str], pd.Series],
) -> list[Telling]:
    """Return which released columns tell hidden or changed values of others, and how many.

    Single columns are looked at, not several together.

    Parameters
    ----------
    before, after : pandas.DataFrame
        The same records in the same order, with the columns that a method changes.
    changed, others : sequence of str
        Columns that the method changes, and those that are released as they are.
    column : callable
        Returns the values of one of `others`.
    """
    codes = {name: codes_of_both(before[name], after[name]) for name in changed}
    keys = {
        name: (true, shown, n)
        for name, (true, shown) in codes.items()
        for n in [int(np.max([true, shown], initial=-1)) + 1]
        # Of numbers that differ between records no majority shows one.
        if np.any((true != shown) & (true >= 0)) and n <= len(before) / 2
    }
    tellings = []
    for name in [*others, *changed] if keys else ():
        group = codes[name][1] if name in codes else pd.factorize(column(name))[0]
        for key, (true, shown, n) in keys.items():
            if key != name and (n_told := _told(group.astype(np.int64), true, shown, n)):
                n_changed = int(np.count_nonzero((true != shown) & (true >= 0)))
                tellings.append(Telling(key, name, n_changed, n_told))
    return tellings


def warn_of_telling(before: pd.DataFrame, after: pd.DataFrame, changed: Sequence[str]) -> None:
    """Warn of columns that tell values that a method hid or changed."""
    others = [str(name) for name in after.columns if name not in changed]
    for telling in telling_columns(before, after, changed, others, after.__getitem__):
        warnings.warn(f"{telling}.", TellingColumnWarning, stacklevel=3)


def _told(group: Integers, true: Integers, shown: Integers, n: int) -> int:
    """Return how many changed values a column tells; 0 if the protected one does not follow."""
    there = (group >= 0) & (shown >= 0)
    pairs, count = np.unique(group[there] * n + shown[there], return_counts=True)
    of, value = pairs // n, pairs % n
    n_groups = int(group.max(initial=-1)) + 1
    size = np.bincount(of, count, minlength=n_groups)
    # The most frequent value of each group comes last, the second one before it.
    order = np.lexsort((count, of))
    last = np.flatnonzero(np.diff(of[order], append=-1) != 0)
    most, second = np.zeros(n_groups), np.zeros(n_groups)
    majority = np.full(n_groups, -1, dtype=np.int64)
    majority[of[order[last]]] = value[order[last]]
    most[of[order[last]]] = count[order[last]]
    has_second = last[(last > 0) & (of[order[last - 1]] == of[order[last]])]
    second[of[order[has_second]]] = count[order[has_second - 1]]
    if not _follows(size, most, second, of, value, count):
        return 0
    majority[most <= second] = -1
    guess = np.where(group >= 0, majority[group], -1)
    changed = (true != shown) & (true >= 0)
    usual = int(np.argmax(np.bincount(shown[there], minlength=n)))
    n_told, n_changed = (int(np.count_nonzero(changed & of)) for of in (guess == true, changed))
    by_chance = int(np.count_nonzero(changed & (true == usual)))
    spread = np.sqrt(by_chance * (1 - by_chance / n_changed))
    return n_told if n_told == n_changed or n_told > by_chance + SURE * spread else 0


def _follows(
    size: np.ndarray,
    most: np.ndarray,
    second: np.ndarray,
    of: Integers,
    value: Integers,
    count: Integers,
) -> bool:
    """Whether the others of its group show the value of a record, for most records."""
    several = size >= 2
    total = float(size[several].sum())
    if total < LEAST_RECORDS:
        return False
    right = float(most[several & (most - 1 > second)].sum()) / total
    inside: Flags = several[of]
    usual = float(np.bincount(value[inside], count[inside]).max()) / total
    return usual < 1 and right - usual >= DETERMINED * (1 - usual)
