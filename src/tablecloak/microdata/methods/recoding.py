"""Recoding of keys by hierarchies, with the least loss for which groups are large enough.

References
----------
.. [1] LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005.
.. [2] Iyengar: Transforming data to satisfy privacy constraints, KDD 2002.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import VerificationError
from tablecloak.microdata.anonymity.asked import flags_of, require_key, with_missing
from tablecloak.microdata.anonymity.generalisation import (
    KeyLevels,
    key_levels,
    keys_in_bands,
)
from tablecloak.microdata.anonymity.lattice import RecodingQuestion, best_levels
from tablecloak.microdata.library_frames import seen_by_pandas
from tablecloak.microdata.methods.group_parameters import (
    Closeness,
    DifferentValues,
    GroupKeys,
    GroupSize,
    KeyHierarchies,
    SearchSeconds,
    SensitiveAttribute,
    Subsets,
)
from tablecloak.microdata.methods.local_suppression import LocalSuppression
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.methods.suppressed_release import LocalSuppressionRelease
from tablecloak.results import Result

__all__ = ["RecodedRelease", "Recoding"]

ROUNDING = 1e-9
"""Share of a loss that sums of floating-point numbers may differ by."""


@dataclass(frozen=True, eq=False, repr=False)
class RecodedRelease(Result):
    """Records with recoded keys.

    Parameters
    ----------
    frame : pandas.DataFrame
        The records; recoded keys are text, and suppressed values are missing.
    levels : dict of str to int
        Level of each key: 0 for values as they are.
    suppressed : numpy.ndarray of bool, shape (n_records, n_keys)
        Which values are missing.
    recoding_loss : float
        Part of the loss that is due to recoding.
    method : Recoding
        What was asked.
    n_counted : int
        Combinations of levels whose groups were counted.
    bound : float
        Proved lower bound on the loss of every choice of levels and missing values.
    seconds : float
    notes : tuple of str
    """

    frame: Any
    levels: Mapping[str, int]
    suppressed: Flags
    recoding_loss: float
    method: Recoding
    n_counted: int
    bound: float
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Loss of recoding and cost of missing values, in values lost to the total."""
        costs = np.array(list(self.method.missing_costs.values()))
        return self.recoding_loss + float(self.suppressed.sum(axis=0) @ costs)

    @seen_by_pandas
    def verify(self, original: Any) -> float:
        """Check release and bound from the two files alone, and return the bound that is proved.

        The recoded file is made anew; missing values are checked as in local suppression. For the
        bound, all levels that lose less than it are gone through: their groups must fail, and cost
        so many missing values that the bound is reached. That takes as long as the search.

        Raises
        ------
        VerificationError
            Names the levels, or the record, and what is not so.
        """
        method, local = self.method, self.method.local()
        asked = local.asked()
        steps = method.key_levels(original)
        LocalSuppressionRelease(
            frame=self.frame,
            suppressed=self.suppressed,
            asked=asked,
            bound=0.0,
            floor=np.zeros(len(original)),
        ).check_safe(_recoded(original, steps, self.levels))
        target = self.bound * (1 - ROUNDING)
        coded = original.copy()
        losses: dict[str, list[float]] = {}
        groups: dict[str, list[Floats]] = {}
        for each in steps:
            code = pd.factorize(original[each.name], sort=True)[0]
            groups[each.name] = [
                np.where(code < 0, np.nan, np.append(of_value, 0)[code]) for of_value in each.codes
            ]
            losses[each.name] = [
                method.costs[each.name] * _lost(code, group) for group in groups[each.name]
            ]
        for node in itertools.product(*(range(each.n_levels) for each in steps)):
            levels = dict(zip(method.keys, node, strict=True))
            loss = sum(losses[name][level] for name, level in levels.items())
            if loss >= target:
                continue
            for name, level in levels.items():
                coded[name] = groups[name][level]
            if method.suppression is not None:
                loss += local.protect(coded).verify(coded)
            elif not asked.is_satisfied(coded):
                continue
            if loss < target:
                raise VerificationError(
                    f"The levels {levels} lose {loss:g} only: the bound {self.bound:g} is not "
                    "proved."
                )
        return self.bound

    def summary(self) -> str:
        """Return the levels, the loss and its gap in one line."""
        levels = ", ".join(f"{name} {level}" for name, level in self.levels.items() if level)
        missing = int(self.suppressed.sum())
        return (
            f"recoding: levels {levels or 'unchanged'}, {missing} values missing, loss "
            f"{self.loss:.6g} of {self.method.most(len(self.frame)):.6g}; proved bound "
            f"{self.bound:.6g}, {self._gaps()}; {self.method.local().asked().words()}"
        )


@METHODS.register
@dataclass(frozen=True)
class Recoding(Method[RecodedRelease]):
    """Group the values of keys by hierarchies, as little as k records in each group allow.

    Each key is recoded as a whole to one level of its hierarchy: values as they are, groups, groups
    of groups, or all in one (full-domain generalisation [1]_). The loss of a value is (n - 1) /
    (N - 1), with n the values of the file that share its group and N all values of the key [2]_; a
    value in the total loses 1. Weights multiply it. With `suppression`, single values may be
    missing as well, each at this cost on top, counted as in local suppression.

    What is proved: no choice of levels, and of missing values where they are allowed, satisfies
    the requirement and loses less than `bound`. Levels are tried in the order of their loss, so
    that loss and bound are equal unless the time is over.

    Parameters
    ----------
    keys : sequence of str
        Attributes by which an intruder may know a person.
    hierarchies : mapping of str to Hierarchy or sequence of float
        Hierarchy of a key, or for numbers the widths of bands, each a multiple of the one before.
        The text of a path is read as an ``.hrc`` file. Keys without one stay or go as a whole.
    k : int, default=3
    suppression : float, optional
        Cost of a missing value; by default no value may be missing.
    subsets, weights, sensitive, diversity, closeness, time_limit
        As in `LocalSuppression`.
    """

    name: ClassVar[str] = "recode"
    guide: ClassVar[str] = (
        "A hierarchy is an .hrc file, or widths of bands as in 5/10/20.\n\nExample: tablecloak "
        "recode people.csv -o grouped.csv --key age --key sex --hierarchy age=5/10/20 --k 3"
    )

    keys: GroupKeys
    hierarchies: KeyHierarchies = None
    k: GroupSize = 3
    suppression: Annotated[
        float | None,
        Field(gt=0, description="Cost of a missing value; by default none may be missing."),
    ] = None
    subsets: Subsets = None
    weights: Annotated[
        Mapping[str, float] | None,
        option("weight", "Importance of a key, as in sex=5; 1 by default."),
    ] = None
    sensitive: SensitiveAttribute = None
    diversity: DifferentValues = None
    closeness: Closeness = None
    time_limit: SearchSeconds = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.local()
        for name in self.hierarchies or {}:
            require_key(name, self.keys, "hierarchies")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the keys, which change, and the sensitive attribute."""
        banded = keys_in_bands(self.hierarchies)
        more = [] if self.sensitive is None else [self.sensitive]
        return Columns(
            changed=self.keys,
            categories=[name for name in self.keys if name not in banded],
            numbers=[*banded, *more],
            keys=self.keys,
        )

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a value of each key in the total."""
        return self._plain().costs

    @property
    def missing_costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        return {
            name: cost * (self.suppression or 1.0) for name, cost in self._plain().costs.items()
        }

    def most(self, n_records: int) -> float:
        """Return the loss if all keys are in the total."""
        return n_records * sum(self._plain().costs.values())

    def _plain(self) -> LocalSuppression:
        return LocalSuppression(
            keys=self.keys,
            k=self.k,
            subsets=self.subsets,
            weights=self.weights,
            sensitive=self.sensitive,
            diversity=self.diversity,
            closeness=self.closeness,
            time_limit=self.time_limit,
        )

    def local(self) -> LocalSuppression:
        """Return the local suppression that is done on top of a recoding."""
        plain = self._plain()
        return replace(plain, weights=self.missing_costs)

    def key_levels(self, frame: pd.DataFrame) -> tuple[KeyLevels, ...]:
        """Return the levels of each key in a file."""
        return key_levels(frame, self.keys, self.hierarchies)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> RecodedRelease:
        """Recode keys.

        Raises
        ------
        InputError
            If a column does not exist, the sensitive one has missing values, a value is not
            in its hierarchy, or not even the whole file satisfies what is required.
        """
        del random
        budget = Budget.begun(self.time_limit)
        watch = Stopwatch()
        base = self.local().asked().question(frame)
        steps = self.key_levels(frame)
        weights = np.array(list(self._plain().costs.values()))
        question = RecodingQuestion(base, steps, weights, self.suppression is not None)
        with budget.interruptible():
            answer = best_levels(question, budget)
        levels = dict(zip(self.keys, answer.node, strict=True))
        missing = flags_of(answer.suppressed[base.patterns.of_record], len(self.keys))
        missing &= ~frame[list(self.keys)].isna().to_numpy()
        return RecodedRelease(
            frame=with_missing(_recoded(frame, steps, levels), self.keys, missing),
            levels=levels,
            suppressed=missing,
            recoding_loss=question.loss(answer.node),
            method=self,
            n_counted=answer.n_counted,
            bound=answer.bound,
            seconds=watch.seconds,
        )


def _recoded(
    frame: pd.DataFrame, steps: Sequence[KeyLevels], levels: Mapping[str, int]
) -> pd.DataFrame:
    """Return the file with its keys at some levels."""
    recoded = frame.copy()
    for each in steps:
        level = levels[each.name]
        if level:
            text = each.texts(frame[each.name], level)
            recoded[each.name] = pd.Series(text, index=frame.index, dtype=object)
    return recoded


def _lost(code: Integers, group: Floats) -> float:
    """Return the loss of all records, from the values that share their groups; NaN is missing."""
    values = pd.DataFrame({"value": code, "group": group}).dropna()
    shared = values.groupby("group")["value"].transform("nunique").to_numpy()
    return float(((shared - 1) / max(values["value"].nunique() - 1, 1)).sum())
