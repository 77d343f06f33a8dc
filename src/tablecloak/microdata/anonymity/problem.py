"""The problem of anonymity: combinations of keys, requirements on groups by them, costs of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, require_known
from tablecloak.microdata.anonymity.diverse_classes import SensitiveRecords
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.verification import Fails, groups_counted
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.risk.groups import Histograms, is_ordered

ROUNDING = 1e-9
"""Share by which an entropy, a ratio or a distance may miss its limit by rounding."""


@dataclass(frozen=True, eq=False)
class GroupRequirement:
    """What every group of records that share some keys must satisfy.

    Parameters
    ----------
    holds : callable
        Returns which groups satisfy it, from the patterns, the group of each of them, and the
        number of groups.
    is_monotone : bool, default=True
        Whether a group that satisfies it still does when further records join. If not, every set
        of keys is looked at anew.
    """

    holds: Callable[[KeyPatterns, Integers, int], Flags]
    is_monotone: bool = True


def k_anonymity(k: int) -> GroupRequirement:
    """Require that at least k records share the keys [1]_.

    References
    ----------
    .. [1] Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    def holds(patterns: KeyPatterns, label: Integers, n_groups: int) -> Flags:
        size = np.bincount(label, weights=patterns.frequency, minlength=n_groups)
        return np.asarray(size >= k)

    return GroupRequirement(holds)


@dataclass(frozen=True, eq=False)
class AnonymityProblem:
    """Combinations of keys for which groups must satisfy requirements.

    Parameters
    ----------
    patterns : KeyPatterns
    combinations : tuple of int
        Sets of keys that are asked for.
    requirements : tuple of GroupRequirement
    costs : numpy.ndarray of float, shape (n_keys,)
        Cost of a suppressed value of each key, all > 0.
    """

    patterns: KeyPatterns
    combinations: tuple[int, ...]
    requirements: tuple[GroupRequirement, ...]
    costs: Floats
    _safe: dict[int, Flags | None] = field(default_factory=dict, repr=False)

    @property
    def keys(self) -> int:
        """All keys that are in a combination."""
        keys = 0
        for combination in self.combinations:
            keys |= combination
        return keys

    @cached_property
    def absent(self) -> Integers:
        """The keys of combinations that each pattern lacks already, shape (n_patterns,)."""
        return self.patterns.missing & self.keys

    @property
    def is_monotone(self) -> bool:
        """Whether groups that satisfy all requirements still do when records join."""
        return all(each.is_monotone for each in self.requirements)

    def cost(self, suppressed: int) -> float:
        """Return the cost of a set of suppressed keys, in one record.

        Keys are added in their order, so that equal sets have equal sums.
        """
        return float(sum(self.costs[key] for key in bits_of(suppressed)))

    def total(self, lost: Integers) -> float:
        """Return the cost of the keys that records lose; values missing before cost nothing.

        Parameters
        ----------
        lost : numpy.ndarray of int, shape (n_records,)
            Set of missing keys of each record.
        """
        kinds, count = np.unique(lost & ~self.absent[self.patterns.of_record], return_counts=True)
        return float(
            sum(self.cost(kind) * n for kind, n in zip(kinds.tolist(), count, strict=True))
        )

    def unsafe(self, kept: int) -> Flags | None:
        """Return which patterns are in a group by some keys that fails; None if no group fails."""
        if kept not in self._safe:
            label, n_groups = self.patterns.groups(kept)
            holds = np.ones(n_groups, dtype=bool)
            for requirement in self.requirements:
                holds &= requirement.holds(self.patterns, label, n_groups)
            self._safe[kept] = None if holds.all() else ~holds[label]
        return self._safe[kept]

    def left(self, suppressed: int) -> tuple[int, ...]:
        """Return what is left of the combinations when some keys are suppressed.

        Where requirements are monotone, smaller combinations follow from larger ones and are left
        out.
        """
        kept = {combination & ~suppressed for combination in self.combinations}
        return maximal(kept) if self.is_monotone else tuple(sorted(kept))

    def allowed(self, suppressed: int, among: Integers) -> Flags:
        """Return for some patterns whether suppressing these keys makes all combinations safe."""
        good = np.ones(len(among), dtype=bool)
        for kept in self.left(suppressed):
            unsafe = self.unsafe(kept)
            if unsafe is not None:
                good &= ~unsafe[among]
        return good


def maximal(sets: set[int]) -> tuple[int, ...]:
    """Return the sets that are in no other one, in rising order."""
    largest: list[int] = []
    for each in sorted(sets, key=lambda keys: (-keys.bit_count(), keys)):
        if not any(each & ~other == 0 for other in largest):
            largest.append(each)
    return tuple(sorted(largest))


@dataclass(frozen=True)
class DiversityDemand:
    """What is asked of the sensitive values of a group.

    Parameters
    ----------
    sensitive : str, optional
        Attribute; None if nothing is asked.
    diversity : float, optional
        l of l-diversity.
    kind : {"distinct", "entropy", "recursive"}
    ratio : float
        c of recursive (c, l)-diversity.
    closeness : float, optional
        t of t-closeness.
    """

    sensitive: str | None
    diversity: float | None
    kind: str
    ratio: float
    closeness: float | None

    def check(self, keys: Sequence[str]) -> None:
        """Check that the parameters go together.

        Raises
        ------
        InputError
            Names those that do not.
        """
        asks = self.diversity is not None or self.closeness is not None
        if asks != (self.sensitive is not None):
            raise InputError(
                "Give `sensitive`, the attribute that must be diverse, together with `diversity` "
                "or `closeness`."
            )
        if self.sensitive in keys:
            raise InputError(f"The sensitive attribute {self.sensitive!r} is also a key.")
        is_whole = self.diversity is None or float(self.diversity).is_integer()
        if self.kind == "recursive" and not is_whole:
            raise InputError(f"l of recursive diversity must be whole. Got {self.diversity!r}.")

    def conditions(self, *, ordered: bool) -> list[tuple[Callable[[Histograms], Flags], bool]]:
        """Return what is asked of histograms, and whether it still holds when records join."""
        demands: list[tuple[Callable[[Histograms], Flags], bool]] = []
        least, most = self.diversity, self.closeness
        if least is not None:
            entropy = least * (1 - ROUNDING)
            kinds: dict[str, Callable[[Histograms], Flags]] = {
                "distinct": lambda groups: groups.distinct() >= least,
                "entropy": lambda groups: np.exp(groups.entropy()) >= entropy,
                "recursive": lambda groups: groups.recursive(int(least)) < self.ratio,
            }
            demands.append((kinds[self.kind], self.kind == "distinct"))
        if most is not None:
            near = most * (1 + ROUNDING)
            demands.append((lambda groups: groups.distance(ordered=ordered) <= near, False))
        return demands

    def requirements(self, frame: pd.DataFrame, patterns: KeyPatterns) -> list[GroupRequirement]:
        """Return the requirements on groups of a file."""
        if self.sensitive is None:
            return []
        coded = CodedRecords.of(frame, [self.sensitive], refuse_missing=True)
        value, n_values = coded.codes[0].astype(np.int64), coded.sizes[0]
        ones = np.ones(len(value))
        counts = Histograms.of(patterns.of_record, value, ones, patterns.n_patterns, n_values)

        def required(holds: Callable[[Histograms], Flags], is_monotone: bool) -> GroupRequirement:
            def holds_in(_: KeyPatterns, label: Integers, n_groups: int) -> Flags:
                group = label[counts.group]
                return holds(Histograms.of(group, counts.value, counts.count, n_groups, n_values))

            return GroupRequirement(holds_in, is_monotone)

        ordered = is_ordered(frame[self.sensitive])
        return [required(*each) for each in self.conditions(ordered=ordered)]

    def words(self) -> str:
        """Say what is asked, for summaries; empty if nothing is."""
        words = ""
        if self.diversity is not None:
            kind = f"{self.kind} {self.diversity:g}-diversity"
            if self.kind == "recursive":
                kind = f"recursive ({self.ratio:g}, {self.diversity:g})-diversity"
            words += f" with {kind} of {self.sensitive}"
        if self.closeness is not None:
            words += f" with {self.closeness:g}-closeness of {self.sensitive}"
        return words

    def holds(self, original: pd.DataFrame) -> Callable[[Floats], bool]:
        """Return the function that tells by the definitions whether counts are diverse enough.

        It shares no code with the search. Counts are in the order of the values of the file.
        """
        if self.sensitive is None:
            return lambda counts: True
        whole = original[self.sensitive].value_counts(normalize=True).sort_index().to_numpy()
        ordered, limit = is_ordered(original[self.sensitive]), self.diversity

        def is_diverse(counts: Floats) -> bool:
            falling = np.sort(counts[counts > 0])[::-1]
            if limit is None:
                return True
            if self.kind == "distinct":
                return bool(len(falling) >= limit)
            if self.kind == "entropy":
                share = falling / falling.sum()
                return -float((share * np.log(share)).sum()) >= log(limit) - 1e-9
            return float(falling[0]) < self.ratio * float(falling[int(limit) - 1 :].sum())

        def is_close(counts: Floats) -> bool:
            if self.closeness is None:
                return True
            off = counts / counts.sum() - whole
            moved = np.abs(np.cumsum(off)).sum() / max(len(off) - 1, 1)
            distance = moved if ordered else np.abs(off).sum() / 2
            return bool(distance <= self.closeness + 1e-9)

        return lambda counts: is_diverse(counts) and is_close(counts)


@dataclass(frozen=True, eq=False)
class GroupDemand:
    """Combinations of keys whose groups must satisfy requirements.

    Parameters
    ----------
    keys : tuple of str
    combinations : tuple of tuple of str
    combinations_in_words : str
        Such as "by 7 keys".
    costs : mapping of str to float
        Cost of a missing value of each key.
    k : int
        Smallest number of records in a group.
    diverse : DiversityDemand
    anonymity : {"k", "1-k"}
        Whether groups are those of equal released records, or of true records that agree with what
        is left of a released one.
    strata : tuple of str
        Attributes within whose combinations groups are formed.
    """

    keys: tuple[str, ...]
    combinations: tuple[tuple[str, ...], ...]
    combinations_in_words: str
    costs: Mapping[str, float]
    k: int
    diverse: DiversityDemand
    anonymity: str
    strata: tuple[str, ...] = ()

    def words(self) -> str:
        """Say what is asked, for summaries."""
        groups = f"groups of at least {self.k} equal released records"
        if self.anonymity == "1-k":
            groups = f"(1,{self.k}): at least {self.k} true records agree with each released one"
        return f"{groups}{self.diverse.words()} {self.combinations_in_words}" + (
            f" within {', '.join(self.strata)}" if self.strata else ""
        )

    def problem(self, frame: pd.DataFrame) -> AnonymityProblem:
        """Return what is asked of a file.

        Raises
        ------
        InputError
            If a column does not exist, the sensitive one has missing values, or not even the
            whole file satisfies what is asked.
        """
        patterns = KeyPatterns.of(frame, self.keys, self.strata)
        problem = AnonymityProblem(
            patterns=patterns,
            combinations=tuple(patterns.set_of(each) for each in self.combinations),
            requirements=(k_anonymity(self.k), *self.diverse.requirements(frame, patterns)),
            costs=np.array(list(self.costs.values())),
        )
        if problem.unsafe(0) is not None:
            whole = f"the whole file of {patterns.n_records} records"
            if self.strata:
                whole = "each stratum as a whole"
            raise InputError(
                f"Not even {whole} has what is required: {self.words()}. Ask for less, or give "
                "more records."
            )
        return problem

    def sensitive_records(self, frame: pd.DataFrame) -> SensitiveRecords | None:
        """Return sensitive values and what is asked of classes of them; None if nothing is."""
        name = self.diverse.sensitive
        if name is None:
            return None
        coded = CodedRecords.of(frame, [name], refuse_missing=True)
        conditions = self.diverse.conditions(ordered=is_ordered(frame[name]))
        return SensitiveRecords(
            coded.codes[0].astype(np.int64),
            coded.sizes[0],
            self.k,
            [condition for condition, _ in conditions],
        )

    def fails(self, frame: pd.DataFrame) -> Fails:
        """Return the function that finds records in groups that fail, counted as in checks."""
        holds, sensitive = self.diverse.holds(frame), self.diverse.sensitive
        return groups_counted(frame, holds, sensitive, self.k, self.strata)

    def is_satisfied(self, frame: pd.DataFrame) -> bool:
        """Whether a file satisfies what is asked as it is, counted as in checks."""
        fails = self.fails(frame)
        return not any(fails(each).any() for each in self.combinations)


def flags_of(lost: Integers, n_keys: int) -> Flags:
    """Return which keys each record loses, shape (n_records, n_keys), from sets of them as bits."""
    return ((lost[:, None] >> np.arange(n_keys)) & 1).astype(bool)


def with_missing(frame: pd.DataFrame, keys: Sequence[str], missing: Flags) -> pd.DataFrame:
    """Return a file in which some values of keys are missing, shape (n_records, n_keys)."""
    released = frame.copy()
    for at, name in enumerate(keys):
        released[name] = without(frame[name], missing[:, at])
    return released


def without(column: pd.Series, missing: Flags) -> pd.Series:
    """Return a column in which some values are missing; whole numbers stay whole."""
    if not missing.any():
        return column.copy()
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iub":
        column = column.astype("boolean" if kind.kind == "b" else "Int64")
    return column.mask(missing)


def require_keys(names: Iterable[str], keys: Sequence[str], parameter: str) -> None:
    """Check that names in a parameter are those of keys.

    Raises
    ------
    InputError
        Names the parameter and similar keys.
    """
    for name in names:
        require_known(name, keys, f"`{parameter}` names {name!r}, which is not among the keys.")


def key_costs(keys: Sequence[str], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Return the cost of a missing value of each key, from weights; 1 without one.

    Raises
    ------
    InputError
        If a weight is not above 0, or not that of a key.
    """
    given = weights or {}
    require_keys(given, keys, "weights")
    for name, weight in given.items():
        if not (weight > 0 and np.isfinite(weight)):
            raise InputError(f"The weight of {name!r} must be above 0. Got {weight!r}.")
    return {name: float(given.get(name, 1.0)) for name in keys}
