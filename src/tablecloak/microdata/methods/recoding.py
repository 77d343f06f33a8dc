"""Recoding of keys by hierarchies, with the least loss for which groups are large enough.

The search is for the best levels of all keys, with or without missing values on top. A node is a
level for each key. Raising a level never lowers the loss of recoding, so that nodes are looked at
in the order of this loss: once it reaches the best total, no other node can be better, and the best
one is proved. Where no values may be missing and requirements are monotone, a node that fails shows
that all finer ones fail as well; such nodes are found by bisection on chains to the top, as in
Flash [3]_.

References
----------
.. [1] LeFevre, DeWitt, Ramakrishnan: Incognito: efficient full-domain k-anonymity, SIGMOD 2005.
.. [2] Iyengar: Transforming data to satisfy privacy constraints, KDD 2002.
.. [3] Kohlmayer, Prasser, Eckert, Kemper, Kuhn: Flash: efficient, stable and optimal k-anonymity,
   2012.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import VerificationError
from tablecloak.microdata.anonymity.diverse_classes import SensitiveRecords
from tablecloak.microdata.anonymity.levels import KeyLevels, key_levels, keys_in_bands
from tablecloak.microdata.anonymity.lightest import cheapest_choice
from tablecloak.microdata.anonymity.problem import (
    AnonymityProblem,
    GroupRequirement,
    flags_of,
    key_costs,
    require_keys,
    with_missing,
)
from tablecloak.microdata.library_frames import seen_by_pandas
from tablecloak.microdata.methods.local_suppression import (
    LocalSuppression,
    LocalSuppressionRelease,
)
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import (
    Closeness,
    DifferentValues,
    GroupKeys,
    GroupSize,
    KeyHierarchies,
    MissingMeaning,
    SearchSeconds,
    SensitiveAttribute,
    Subsets,
    option,
)
from tablecloak.microdata.risk.intruders import fitting
from tablecloak.results import Result

Node = tuple[int, ...]

SHARE = 0.25
"""Share of the time left for the groups at one node, so that nodes with low bounds get most."""

ROUNDING = 1e-9
"""Share of a loss that sums of floating-point numbers may differ by."""


class LatticeSearch:
    """The search for the node of the smallest total loss, and the best one so far.

    Parameters
    ----------
    base : AnonymityProblem
        The problem on the values as they are; its costs are those of missing values.
    levels : tuple of KeyLevels
    weights : numpy.ndarray of float, shape (n_keys,)
        Cost of a value of each key in the total.
    local : LocalSuppression
        What is asked of groups.
    alone : tuple of GroupRequirement
        What the true records that agree with a released one satisfy in every such release.
    may_suppress : bool
    records : SensitiveRecords, optional
    budget : Budget

    Attributes
    ----------
    node : tuple of int
        Level of each key.
    suppressed : numpy.ndarray of int, shape (n_records,)
        Set of missing keys of each record.
    proofs : dict
        Of nodes where groups of equal released records were searched for, what proves their bound.
    """

    def __init__(
        self,
        base: AnonymityProblem,
        levels: tuple[KeyLevels, ...],
        weights: Floats,
        *,
        local: LocalSuppression,
        alone: tuple[GroupRequirement, ...],
        may_suppress: bool,
        records: SensitiveRecords | None,
        budget: Budget,
    ) -> None:
        self.base, self.levels, self.weights = base, levels, weights
        self.local, self.alone, self.records = local, alone, records
        self.may_suppress, self.budget = may_suppress, budget
        self.top: Node = tuple(each.n_levels - 1 for each in levels)
        """The node in which all keys are in one."""
        self._lost: dict[tuple[int, int], float] = {}
        self.node = self.top
        self.suppressed = np.zeros(base.patterns.n_records, dtype=np.int64)
        self.total = self.loss(self.top)
        self.unproved = np.inf
        """Least bound of the nodes with missing values."""
        self.open: list[tuple[float, Node]] = []
        """Nodes where groups of equal released records were formed greedily, with their bounds."""
        self.proofs: dict[Node, dict[str, Any]] = {}
        self.failing: list[Node] = []
        self.is_monotone = base.is_monotone and not may_suppress

    def loss(self, node: Node) -> float:
        """Return the loss of recoding to a node."""
        return float(sum(self._loss_of(key, level) for key, level in enumerate(node)))

    def _loss_of(self, key: int, level: int) -> float:
        if (key, level) not in self._lost:
            patterns = self.base.patterns
            # A value that is missing already loses nothing.
            values = np.append(self.levels[key].lost(level), 0.0)[patterns.codes[key]]
            total = float(np.sum(values * patterns.frequency))
            self._lost[key, level] = float(self.weights[key]) * total
        return self._lost[key, level]

    def problem_of(self, node: Node) -> AnonymityProblem:
        """Return the problem on recoded values."""
        patterns = self.base.patterns
        # Missing values, whose code is the last one, stay a category of their own.
        chosen = [
            np.append(each.codes[level], each.codes[level].max(initial=-1) + 1)
            for each, level in zip(self.levels, node, strict=True)
        ]
        recoded = replace(
            patterns,
            codes=tuple(code[old] for code, old in zip(chosen, patterns.codes, strict=True)),
            sizes=tuple(int(code.max()) + 1 for code in chosen),
        )
        base = self.base
        return AnonymityProblem(recoded, base.combinations, base.requirements, base.costs)

    def above(self, node: Node) -> list[Node]:
        """Return the nodes in which one level is raised by one."""
        return [
            (*node[:key], level + 1, *node[key + 1 :])
            for key, level in enumerate(node)
            if level < self.top[key]
        ]

    def run(self) -> float:
        """Look at nodes in the order of their loss, and return the bound that is proved."""
        end = self.budget
        if self.may_suppress and self.local.anonymity == "k":
            self.budget = end.share(0.5)
        start = (0,) * len(self.levels)
        heap, seen = [(self.loss(start), start)], {start}
        reached = 0.0
        while heap:
            reached, node = heappop(heap)
            if reached >= self.total or self.budget.is_over:
                break
            if self._look(node):
                continue
            for other in self.above(node):
                if other not in seen:
                    seen.add(other)
                    heappush(heap, (self.loss(other), other))
        else:
            reached = self.total
        self.budget = end
        for floor, node in sorted(self.open):
            self._form_groups(node, floor)
        return min(self.total, self.unproved, reached)

    def _look(self, node: Node) -> bool:
        """Return whether a node is safe as it is, so that coarser ones are no better."""
        if any(np.less_equal(node, failed).all() for failed in self.failing):
            return False
        if self.is_monotone:
            return self._bisect(node)
        asked = self.problem_of(node)
        if self._is_safe(node, asked):
            return True
        if self.may_suppress:
            self._suppress(node, asked)
        return False

    def _is_safe(self, node: Node, asked: AnonymityProblem) -> bool:
        """Count the groups of a node, and note it if it is safe and better than the best."""
        if any(asked.unsafe(each) is not None for each in asked.combinations):
            return False
        self._note(node, np.zeros_like(self.suppressed), self.loss(node))
        return True

    def _note(self, node: Node, suppressed: Integers, loss: float) -> None:
        if loss < self.total:
            self.node, self.suppressed, self.total = node, suppressed, loss
            self.budget.report("levels", loss)

    def _bisect(self, node: Node) -> bool:
        """Find on a chain from a node to the top where groups become safe."""
        chain, top = [node], self.top
        while chain[-1] != top:
            # The key whose next level costs least.
            chain.append(min(self.above(chain[-1]), key=self.loss))
        low, high = -1, len(chain) - 1
        while high - low > 1 or low < 0 < high:
            middle = (low + high) // 2 if low >= 0 else 0
            if self._is_safe(chain[middle], self.problem_of(chain[middle])):
                high = middle
            else:
                low = middle
        if low >= 0:
            self.failing.append(chain[low])
        return high == 0

    def _suppress(self, node: Node, asked: AnonymityProblem) -> None:
        """Search for the fewest missing values at a node, unless they cannot be few enough."""
        recoded = self.loss(node)
        frequency, needed = asked.patterns.frequency, replace(asked, requirements=self.alone)
        unsafe = np.zeros(len(frequency), dtype=bool)
        for combination in needed.combinations:
            failed = needed.unsafe(combination)
            if failed is not None:
                unsafe |= failed
        least = float(np.sum(frequency[unsafe])) * float(np.min(needed.costs))
        if recoded + least >= self.total:
            return
        choice = cheapest_choice(needed, self.budget)
        floor = recoded + float(np.sum(choice.floor * frequency))
        if self.local.anonymity == "1-k":
            self.unproved = min(self.unproved, floor)
            lost = choice.suppressed[asked.patterns.of_record]
            self._note(node, lost, recoded + asked.total(lost))
        elif floor < self.total:
            self.open.append((floor, node))
            greedy = replace(self.local, search="greedy")
            part = self.budget.share(SHARE)
            lost, _ = greedy.of_released_records(asked, self.records, part)
            self._note(node, lost, recoded + asked.total(lost))

    def _form_groups(self, node: Node, floor: float) -> None:
        """Search for groups of equal released records at a node, unless it cannot be better."""
        if floor >= self.total:
            return
        if not self.budget.is_over:
            asked, recoded = self.problem_of(node), self.loss(node)
            part = self.budget.share(SHARE)
            lost, proof = self.local.of_released_records(asked, self.records, part)
            self._note(node, lost, recoded + asked.total(lost))
            if recoded + proof["bound"] > floor:
                floor, self.proofs[node] = recoded + proof["bound"], proof
        self.unproved = min(self.unproved, floor)


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
    bound : float
        Proved lower bound on the loss of every choice of levels and missing values.
    fits : numpy.ndarray of int, shape (n_records,) or (0,)
        As in `LocalSuppressionRelease`.
    proofs : mapping of tuple of int to dict
        Fields of `LocalSuppressionRelease` that prove bounds of missing values at some levels.
    seconds : float
    notes : tuple of str
    """

    frame: Any
    levels: Mapping[str, int]
    suppressed: Flags
    recoding_loss: float
    method: Recoding
    bound: float
    fits: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    proofs: Mapping[Node, Mapping[str, Any]] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Loss of recoding and cost of missing values, in values lost to the total."""
        costs = np.array(list(self.method.missing_costs.values()))
        return self.recoding_loss + float(self.suppressed.sum(axis=0) @ costs)

    def _local(self, **fields: Any) -> LocalSuppressionRelease:
        """Return what is missing as the release of a local suppression."""
        given: dict[str, Any] = {"bound": 0.0, "fits": self.fits, **fields}
        asked = self.method.local().asked()
        return LocalSuppressionRelease(self.frame, self.suppressed, asked, **given)

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
        method, alone = self.method, self.method.local_alone()
        asked = method.local().asked()
        steps = method.key_levels(original)
        self._local().check_safe(_recoded(original, steps, self.levels))
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
            if node in self.proofs:
                loss += self._local(**self.proofs[node]).proved(coded)
            elif method.suppression is not None:
                loss += alone.protect(coded).verify(coded)
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
            f"{self.bound:.6g}, {self._gaps()}; {self._local().promise()}"
        )


@METHODS.register
@dataclass(frozen=True)
class Recoding(Method[RecodedRelease]):
    """Group the values of keys by hierarchies, as little as k records in each group allow.

    Each key is recoded as a whole to one level of its hierarchy: values as they are, groups, groups
    of groups, or all in one (full-domain generalisation [1]_). The loss of a value is (n - 1) /
    (N - 1), with n the values of the file that share its group and N all values of the key [2]_; a
    value in the total loses 1. Weights multiply it. With `suppression`, single values may be
    missing as well, each at this cost on top; the release falls into groups of k equal records
    all the same, unless ``anonymity="1-k"`` asks for less, as in `LocalSuppression`.

    What is proved: no choice of levels, and of missing values where they are allowed, satisfies
    the requirement and loses less than `bound`. Levels are tried in the order of their loss. Loss
    and bound are equal unless the time is over, or groups of equal records with missing values
    are so many that `LocalSuppression` does not find the best ones.

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
    subsets, weights, sensitive, diversity, closeness, anonymity, time_limit
        As in `LocalSuppression`.
    """

    name: ClassVar[str] = "recode"
    guide: ClassVar[str] = (
        "A hierarchy is an .hrc file, or widths of bands as in 5/10/20.\n\nExample: tablecloak "
        "records recode people.csv -o grouped.csv --key age --key sex "
        "--hierarchy age=5/10/20 --k 3"
    )

    keys: GroupKeys
    hierarchies: KeyHierarchies = None
    k: GroupSize = 3
    suppression: Annotated[
        float | None,
        Field(
            gt=0,
            description="Cost of a missing value; by default none may be missing.",
        ),
    ] = None
    subsets: Subsets = None
    weights: Annotated[
        Mapping[str, float] | None,
        option("weight", "Importance of a key, as in sex=5; 1 by default."),
    ] = None
    sensitive: SensitiveAttribute = None
    diversity: DifferentValues = None
    closeness: Closeness = None
    anonymity: MissingMeaning = "k"
    time_limit: SearchSeconds = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.local()
        require_keys(self.hierarchies or (), self.keys, "hierarchies")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the keys, which change, and the sensitive attribute."""
        banded = keys_in_bands(self.hierarchies)
        more = [] if self.sensitive is None else [self.sensitive]
        return Columns(
            changed=self.keys,
            categories=[name for name in self.keys if name not in banded],
            numbers=[*banded, *more],
            keys=self.keys,
            sensitive=more,
        )

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a value of each key in the total."""
        return key_costs(self.keys, self.weights)

    @property
    def missing_costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        return {name: cost * (self.suppression or 1.0) for name, cost in self.costs.items()}

    def most(self, n_records: int) -> float:
        """Return the loss if all keys are in the total."""
        return n_records * sum(self.costs.values())

    def local(self) -> LocalSuppression:
        """Return the local suppression that is done on top of a recoding."""
        shared = self.get_params()
        del shared["hierarchies"], shared["suppression"]
        shared["weights"] = self.missing_costs
        return LocalSuppression(**shared)

    def local_alone(self) -> LocalSuppression:
        """Return the one in which each record is safe by itself, which is as cheap or cheaper."""
        alone = replace(self.local(), anonymity="1-k")
        if self.anonymity == "k":
            # A record may be far from the file where its group, a part of those it fits, is near.
            sensitive = None if self.diversity is None else self.sensitive
            alone = replace(alone, closeness=None, sensitive=sensitive)
        return alone

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
        asked = self.local().asked()
        base = asked.problem(frame)
        steps = self.key_levels(frame)
        weights = np.array(list(self.costs.values()))
        search = LatticeSearch(
            base,
            steps,
            weights,
            local=self.local(),
            alone=self.local_alone().asked().problem(frame).requirements,
            may_suppress=self.suppression is not None,
            records=asked.sensitive_records(frame),
            budget=budget,
        )
        with budget.interruptible():
            bound = search.run()
        levels = dict(zip(self.keys, search.node, strict=True))
        missing = flags_of(search.suppressed, len(self.keys))
        missing &= ~frame[list(self.keys)].isna().to_numpy()
        recoded = _recoded(frame, steps, levels)
        released = with_missing(recoded, self.keys, missing)
        fits = np.empty(0, dtype=np.int64)
        if self.anonymity == "1-k":
            fits = fitting(recoded, released, asked.combinations)
        return RecodedRelease(
            frame=released,
            fits=fits,
            proofs=search.proofs,
            levels=levels,
            suppressed=missing,
            recoding_loss=search.loss(search.node),
            method=self,
            bound=bound,
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
