"""Recoding of single records by hierarchies, so that k records are equal.

References
----------
.. [1] LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.
.. [2] Iyengar: Transforming data to satisfy privacy constraints, KDD 2002.
.. [3] Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InputError, VerificationError
from tablecloak.microdata.anonymity.class_tree import ClassTree, proved_bound
from tablecloak.microdata.anonymity.levels import (
    KeyLevels,
    RecordLevels,
    key_levels,
    keys_in_bands,
    n_kept,
)
from tablecloak.microdata.anonymity.patterns import KeyPatterns
from tablecloak.microdata.anonymity.problem import key_costs, require_keys, without
from tablecloak.microdata.anonymity.search import cheapest_classes
from tablecloak.microdata.anonymity.verification import LevelClasses, check_classes
from tablecloak.microdata.columns import row_label
from tablecloak.microdata.library_frames import seen_by_pandas
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import (
    GroupKeys,
    GroupSize,
    KeyHierarchies,
    SearchSeconds,
    option,
)
from tablecloak.results import Result

NO_BOUND = "No bound is proved: there are too many combinations of levels, or too little time."


@dataclass(frozen=True, eq=False, repr=False)
class LocallyRecodedRelease(Result):
    """Records whose keys are recoded one by one.

    Parameters
    ----------
    frame : pandas.DataFrame
        The records; keys in which a value is recoded are text, and lost values are missing.
    level : numpy.ndarray of int, shape (n_records, n_keys)
        Level of each value: 0 as it is; the number of levels of the key where it is missing.
    method : LocalRecoding
        What was asked.
    lost : float
        Values lost: see `LocalRecoding`.
    bound : float
        Proved lower bound on the loss of every such release; 0 where none is proved.
    price : numpy.ndarray of float, shape (n_records,)
        What proves it.
    tree : ClassTree, optional
        What proves it by cases, in small files.
    kept_levels : tuple of int
        Number of levels of each key at which its values are not missing.
    seconds : float
    notes : tuple of str
    """

    frame: Any
    level: Integers
    method: LocalRecoding
    lost: float
    bound: float
    price: Floats
    kept_levels: tuple[int, ...]
    tree: ClassTree | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Values lost, weighted."""
        return self.lost

    @property
    def n_missing(self) -> int:
        """Number of values that were there and are missing."""
        return int((self.level == self.kept_levels).sum())

    @seen_by_pandas
    def verify(self, original: Any) -> float:
        """Check release and bound from the two files alone, and return the bound that is proved.

        Values must be those of the original, groups of their hierarchy, or missing; k records must
        be equal; losses are added up anew. For the bound, all nodes are gone through at which some
        record loses less than its price.

        Raises
        ------
        VerificationError
            Names column and row, and what is not so.
        """
        method = self.method
        released = self.frame[list(method.keys)]
        total = 0.0
        values, options = [], []
        for each in method.key_levels(original):
            texts, losses = _texts_and_losses(original[each.name], each, method.costs[each.name])
            shown = released[each.name].astype(object).to_numpy()
            fits = [_equal(shown, text) for text in texts]
            wrong = np.flatnonzero(~np.any(fits, axis=0))
            if len(wrong):
                raise VerificationError(
                    f"Column {each.name!r}, row {row_label(original, wrong[0])}: the release has "
                    "neither the value of the original nor a group of its hierarchy."
                )
            total += float(np.min(np.where(fits, losses, np.inf), axis=0).sum())
            values.append([pd.factorize(text)[0] for text in texts])
            options.append(losses)
        for name in original.columns:
            if name not in method.keys and not original[name].equals(self.frame[name]):
                raise VerificationError(f"Column {name!r} is no key, and differs.")
        check_classes(self.frame, list(method.keys), method.k)
        if not np.isclose(total, self.loss, rtol=1e-6, atol=1e-6):
            raise VerificationError(f"The loss is said to be {self.loss:g}, but is {total:g}.")
        proved = 0.0
        if self.bound:
            classes = LevelClasses(
                values, options, np.zeros(len(original), dtype=np.int64), method.k
            )
            proved = proved_bound(classes, self.price, self.tree)
        if proved < self.bound * (1 - 1e-9):
            raise VerificationError(
                f"The bound is said to be {self.bound:g}, but {proved:g} is proved."
            )
        return proved

    def summary(self) -> str:
        """Return the loss, its gap and how many values were recoded in one line."""
        missing = self.n_missing
        recoded = int(((self.level > 0) & (self.level < self.kept_levels)).sum())
        gap = self._gaps() if self.bound else "no bound proved"
        return (
            f"local recoding: {recoded} values recoded, {missing} missing, loss {self.loss:.6g}; "
            f"proved bound {self.bound:.6g}, {gap}; at least {self.method.k} equal records by "
            f"{len(self.method.keys)} keys"
        )


@METHODS.register
@dataclass(frozen=True)
class LocalRecoding(Method[LocallyRecodedRelease]):
    """Group the values of single records by hierarchies, so that k records are equal in all keys.

    Each value is released as it is, as a group of its hierarchy, or not at all, whatever becomes of
    the same value in other records (local recoding [1]_), so that far less is lost than where a
    whole key is recoded. The loss of a value is (n - 1) / (N - 1), with n the values of the file
    that share its group and N all values of the key [2]_; a missing value loses 1, and is a value
    of its own [3]_. Weights multiply it. Without hierarchies this is local suppression. Values that
    were missing before stay missing and lose nothing.

    What is proved: no such release loses less than `bound`, unless a note says that no bound is
    proved. The search is that of `LocalSuppression`: classes from the top down, and by prices of
    records, which also prove the bound; in small files it is proved by cases.

    Parameters
    ----------
    keys : sequence of str
        Attributes by which an intruder may know a person.
    hierarchies : mapping of str to Hierarchy or sequence of float
        As in `Recoding`. Keys without one stay or are missing.
    k : int, default=3
    weights : mapping of str to float, optional
        Cost of a missing value of a key; 1 by default.
    time_limit : float, default=60
        Seconds for the search. A million records with seven keys take most of it, since it goes on
        as long as it may; the classes from the top down are made in a few seconds.
    """

    name: ClassVar[str] = "local-recode"
    guide: ClassVar[str] = (
        "A hierarchy is an .hrc file, or widths of bands as in 5/10/20.\n\nExample: tablecloak "
        "records local-recode people.csv -o safe.csv --key age --key sex "
        "--hierarchy age=5/10/20 --k 3"
    )

    keys: GroupKeys
    hierarchies: KeyHierarchies = None
    k: GroupSize = 3
    weights: Annotated[
        Mapping[str, float] | None,
        option("weight", "Cost of a missing value of a key, as in sex=5; 1 by default."),
    ] = None
    time_limit: SearchSeconds = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_keys(self.hierarchies or (), self.keys, "hierarchies")
        key_costs(self.keys, self.weights)

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        return key_costs(self.keys, self.weights)

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the keys, which change."""
        banded = keys_in_bands(self.hierarchies)
        return Columns(
            changed=self.keys,
            categories=[name for name in self.keys if name not in banded],
            numbers=banded,
            keys=self.keys,
        )

    def key_levels(self, frame: pd.DataFrame) -> tuple[KeyLevels, ...]:
        """Return the levels of each key in a file."""
        return key_levels(frame, self.keys, self.hierarchies)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> LocallyRecodedRelease:
        """Recode values.

        Raises
        ------
        InputError
            If a column does not exist, a value is not in its hierarchy, or there are fewer than k
            records.
        """
        del random
        budget = Budget.begun(self.time_limit)
        watch = Stopwatch()
        patterns = KeyPatterns.of(frame, self.keys)
        if len(frame) < self.k:
            raise InputError(
                f"There are {len(frame)} records, fewer than k = {self.k}. Lower `k`, or give more "
                "records."
            )
        steps = self.key_levels(frame)
        levels = RecordLevels.of(patterns, steps, list(self.costs.values()))
        with budget.interruptible():
            best = cheapest_classes(levels, self.k, budget)
        lost = levels.total(best.level)
        bound = (1 - 1e-7) * min(best.bound, lost)
        return LocallyRecodedRelease(
            frame=_recoded(frame, steps, best.level),
            level=best.level,
            method=self,
            lost=lost,
            bound=bound,
            price=best.price[patterns.of_record],
            tree=best.tree,
            kept_levels=tuple(n_kept(each) for each in steps),
            seconds=watch.seconds,
            notes=() if bound or not lost else (NO_BOUND,),
        )


def _recoded(frame: pd.DataFrame, steps: Sequence[KeyLevels], level: Integers) -> pd.DataFrame:
    """Return the file with each value at its level."""
    recoded = frame.copy()
    for at, each in enumerate(steps):
        here = level[:, at]
        missing = here == n_kept(each)
        if np.any((here > 0) & ~missing):
            recoded[each.name] = pd.Series(
                np.choose(here, [*_texts(frame[each.name], each), None]), frame.index, dtype=object
            )
        elif missing.any():
            recoded[each.name] = without(frame[each.name], missing & frame[each.name].notna())
    return recoded


def _texts(column: pd.Series, each: KeyLevels) -> list[npt.NDArray[np.object_]]:
    """Return the text of each value at each level but that of missing values."""
    return [each.texts(column, level) for level in range(n_kept(each))]


def _texts_and_losses(
    column: pd.Series, each: KeyLevels, weight: float
) -> tuple[list[npt.NDArray[np.object_]], list[Floats]]:
    """Return what each value may be released as, and what that loses; last that it is missing."""
    was_missing = column.isna().to_numpy()
    texts = _texts(column, each)
    n_values = max(column.nunique() - 1, 1)
    losses = []
    for text in texts:
        pairs = pd.DataFrame({"text": text, "value": column.astype(object).to_numpy()})
        shared = pairs.groupby("text")["value"].transform("nunique").fillna(1).to_numpy()
        losses.append(np.where(was_missing, np.inf, weight * (shared - 1) / n_values))
    nothing = np.full(len(column), None, dtype=object)
    return [*texts, nothing], [*losses, np.where(was_missing, 0.0, weight)]


def _equal(released: npt.NDArray[np.object_], text: npt.NDArray[np.object_]) -> Flags:
    """Return where values are a text, or missing where it is missing."""
    both = pd.isna(released) & pd.isna(text)
    return np.asarray(both | (released.astype(str) == text.astype(str)), dtype=bool)
