"""Recoding of single records by hierarchies, so that k records are equal.

The node of each record is searched by classes from the top down, and by classes by prices.

References
----------
.. [1] LeFevre, DeWitt, Ramakrishnan: Mondrian multidimensional k-anonymity, ICDE 2006.
.. [2] Iyengar: Transforming data to satisfy privacy constraints, KDD 2002.
.. [3] Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InputError, VerificationError
from tablecloak.microdata.anonymity.branching import MANY_PLACES, branched_classes
from tablecloak.microdata.anonymity.classes import (
    ClassPairs,
    proved_prices,
    way_of_each,
)
from tablecloak.microdata.anonymity.levels import (
    KeyLevels,
    RecordLevels,
    key_levels,
    keys_in_bands,
    n_kept,
)
from tablecloak.microdata.anonymity.patterns import KeyPatterns
from tablecloak.microdata.anonymity.placing import Placing, split_from_the_top
from tablecloak.microdata.anonymity.problem import require_key, without
from tablecloak.microdata.anonymity.verification import check_classes, collected_in_groups
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

MANY_NODES = 5_000
"""Most nodes that prices are raised over."""

REACH = 1.6
"""Values that a record may lose in a class beyond its floor.

With 1.0, Adult (seven keys, bands of ages) loses 12,000 values, with 1.3 or more 9,100.
"""

NO_BOUND = "No bound is proved: there are too many combinations of levels, or too little time."


def cheapest_nodes(
    levels: RecordLevels, k: int, random: np.random.Generator, budget: Budget
) -> tuple[Integers, Floats, float]:
    """Search for nodes that lose little and put k records in each class.

    Returns
    -------
    level : numpy.ndarray of int, shape (n_records, n_keys)
    price : numpy.ndarray of float, shape (n_patterns,)
        See `tablecloak.microdata.anonymity.classes`.
    bound : float
        What prices prove.
    """
    patterns, frequency = levels.patterns, levels.patterns.frequency
    best = split_from_the_top(levels, k, budget.share(0.3))[patterns.of_record]
    price, bound = np.zeros(len(frequency)), 0.0
    if levels.n_nodes > MANY_NODES or not np.any(frequency < k) or budget.is_over:
        return best, price, bound
    floor = np.where(frequency < k, levels.floor(k, budget.share(0.2)), 0.0)
    price, bound = floor, float(floor @ frequency)
    if not budget.is_over and bound:
        most = floor + REACH * levels.mean_weight
        pairs = ClassPairs.of(frequency, k, levels.ways(), levels.home, most, budget)
        price, bound = proved_prices(
            pairs, frequency, floor, lambda _: levels.ways(), levels.total(best), budget
        )
        state = Placing.by_prices(pairs, frequency, price, bound, random, budget)
        branched = None
        if len(frequency) * levels.n_nodes <= MANY_PLACES:
            loss = levels.total(best)
            branched = branched_classes(
                frequency, k, levels.ways(), price, loss, 0.0, budget, is_proved=False
            )
        for placed in (
            _placed_at(levels, pairs, state),
            None if branched is None else branched.placed,
        ):
            if placed is not None:
                node = way_of_each(patterns.of_record, *placed)
                level = np.column_stack(np.unravel_index(node, levels.n_levels))
                # Sums of the same fractions round differently: of equal losses the first stays.
                best = min(best, level, key=lambda tried: round(levels.total(tried), 9))
    return best, price, bound


def _placed_at(
    levels: RecordLevels, pairs: ClassPairs, state: Placing
) -> tuple[Integers, Integers, Integers] | None:
    """Return how many records of a pattern are at a node, as patterns, nodes and numbers.

    None if those that are in no class cannot lose all keys together.
    """
    frequency = levels.patterns.frequency
    taken, lent = np.flatnonzero(state.taken), np.flatnonzero(state.lent)
    top = tuple(size - 1 for size in levels.n_levels)
    last = levels.number(top)
    left = np.zeros(len(frequency), dtype=np.int64)
    left[pairs.need] = state.left
    if left.any():
        there = state.taken[taken] @ (pairs.way[pairs.group[taken]] == last)
        there += state.lent[lent] @ (pairs.way[pairs.lender_group[lent]] == last)
        short = max(pairs.k - int(left.sum()) - int(there), 0)
        order = np.argsort(levels.loss(top), kind="stable")
        spare = state.spare[order]
        left[order] += np.clip(short - (np.cumsum(spare) - spare), 0, spare)
        if int(spare.sum()) < short:
            return None
    gone = np.bincount(pairs.lender[lent], weights=state.lent[lent], minlength=len(frequency))
    home = np.where(frequency >= pairs.k, frequency - gone.astype(np.int64) - left, 0)
    everybody = np.arange(len(frequency))
    return (
        np.concatenate([
            pairs.need[pairs.pattern[taken]], pairs.lender[lent], everybody, everybody,
        ]),
        np.concatenate([
            pairs.way[pairs.group[taken]], pairs.way[pairs.lender_group[lent]],
            np.full(len(frequency), last), levels.home,
        ]),
        np.concatenate([state.taken[taken], state.lent[lent], left, home]),
    )  # fmt: skip


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
        options: list[tuple[list[npt.NDArray[np.object_]], list[Floats]]] = []
        for each in method.key_levels(original):
            texts, losses = _texts_and_losses(original[each.name], each, method.costs[each.name])
            values = released[each.name].astype(object).to_numpy()
            fits = [_equal(values, text) for text in texts]
            wrong = np.flatnonzero(~np.any(fits, axis=0))
            if len(wrong):
                raise VerificationError(
                    f"Column {each.name!r}, row {row_label(original, wrong[0])}: the release has "
                    "neither the value of the original nor a group of its hierarchy."
                )
            total += float(np.min(np.where(fits, losses, np.inf), axis=0).sum())
            options.append((texts, losses))
        for name in original.columns:
            if name not in method.keys and not original[name].equals(self.frame[name]):
                raise VerificationError(f"Column {name!r} is no key, and differs.")
        check_classes(self.frame, list(method.keys), method.k)
        if not np.isclose(total, self.loss, rtol=1e-6, atol=1e-6):
            raise VerificationError(f"The loss is said to be {self.loss:g}, but is {total:g}.")
        proved = _proved(options, self.price, method.k) if self.bound else 0.0
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
    proved. The search forms classes from the top down, and by prices of records, which also prove
    the bound; the cheaper ones are taken.

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
        for parameter in ("hierarchies", "weights"):
            for name in getattr(self, parameter) or {}:
                require_key(name, self.keys, parameter)
        for name, weight in (self.weights or {}).items():
            if not (weight > 0 and np.isfinite(weight)):
                raise InputError(f"The weight of {name!r} must be above 0. Got {weight!r}.")

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        return {name: float((self.weights or {}).get(name, 1.0)) for name in self.keys}

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
            # The seed is fixed: chance only breaks ties.
            level, price, bound = cheapest_nodes(levels, self.k, np.random.default_rng(0), budget)
        lost = levels.total(level)
        bound = (1 - 1e-7) * min(bound, lost)
        return LocallyRecodedRelease(
            frame=_recoded(frame, steps, level),
            level=level,
            method=self,
            lost=lost,
            bound=bound,
            price=price[patterns.of_record],
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


def _proved(
    found: Sequence[tuple[list[npt.NDArray[np.object_]], list[Floats]]], price: Floats, k: int
) -> float:
    """Return what prices prove: their sum, less what classes at any node collect beyond a loss."""
    proved = float(price.sum())
    coded = [[pd.factorize(text)[0] for text in texts] for texts, _ in found]
    for node in itertools.product(*(range(len(losses)) for _, losses in found)):
        loss = np.sum([found[key][1][level] for key, level in enumerate(node)], axis=0)
        if not np.any(price > loss):
            continue
        here = np.flatnonzero(np.isfinite(loss))
        rows = pd.DataFrame({str(key): coded[key][level][here] for key, level in enumerate(node)})
        group = rows.groupby(list(rows.columns), sort=False).ngroup().to_numpy()
        proved -= collected_in_groups(group, (price - loss)[here], k)
    return proved
