"""Local suppression: the fewest missing values that make groups by keys large enough.

References
----------
.. [1] de Waal, Willenborg: Optimal local suppression in microdata, Journal of Official Statistics
   14, 1998.
.. [2] Templ, Kowarik, Meindl: Statistical disclosure control for micro-data using the R package
   sdcMicro, Journal of Statistical Software 67(4), 2015.
.. [3] Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity, 2007.
.. [4] Li, Li, Venkatasubramanian: t-closeness, 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, log
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InputError, VerificationError, suggestion
from tablecloak.microdata.anonymity.lightest import cheapest_choice, greedy_with_floor
from tablecloak.microdata.anonymity.matching import (
    Needs,
    cheapest_matching,
    greedy_matching,
)
from tablecloak.microdata.anonymity.patterns import KeyPatterns
from tablecloak.microdata.anonymity.question import SuppressionQuestion
from tablecloak.microdata.anonymity.requirements import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    GroupRequirement,
    KAnonymity,
    RecursiveDiversity,
    SensitiveCounts,
)
from tablecloak.microdata.anonymity.verification import (
    check_left_alone,
    check_matching,
    check_own,
    groups_counted,
    proved_by_multipliers,
    proved_floor,
    rounded_up,
)
from tablecloak.microdata.columns import names_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.risk.diversity import is_ordered
from tablecloak.results import Result

__all__ = ["LocalSuppression", "LocalSuppressionRelease"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_Found = tuple[Integers, Floats, dict[tuple[str, ...], Floats], float]
"""Suppressed keys and floor of each record, multipliers, bound."""

MANY_COMBINATIONS = 20_000
"""Most combinations of keys that are searched for at once."""


@dataclass(frozen=True, eq=False, repr=False)
class LocalSuppressionRelease(Result):
    """Records with missing values, and what is proved about their number.

    Parameters
    ----------
    frame : pandas.DataFrame
        The records; what is suppressed is missing.
    suppressed : numpy.ndarray of bool, shape (n_records, n_keys)
        Which values are suppressed.
    method : LocalSuppression
        What was asked.
    bound : float
        Proved lower bound on the loss of every release that satisfies the same requirements.
    floor : numpy.ndarray of float, shape (n_records,)
        Proved lower bound on the cost of each record, whose sum is the bound; empty if missing
        values of others count.
    multipliers : mapping of tuple of str to numpy.ndarray of float
        What proves the bound if missing values of others count: for each combination, a number for
        each record.
    seconds : float
    notes : tuple of str
    """

    frame: pd.DataFrame
    suppressed: Flags
    method: LocalSuppression
    bound: float
    floor: Floats
    multipliers: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def loss(self) -> float:
        """Cost of all suppressed values; their number where no weights are given."""
        costs = np.array(list(self.method.costs.values()))
        return _total(self.suppressed, costs)

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed values."""
        return int(self.suppressed.sum())

    def per_key(self) -> pd.Series:
        """Return the number of suppressed values of each key."""
        return pd.Series(self.suppressed.sum(axis=0), index=list(self.method.keys))

    def verify(self, original: pd.DataFrame) -> float:
        """Check release and bound from the two files alone, and return the bound that is proved.

        Groups are counted anew, by other code than that of the search: that each value is missing
        or as it was, that each record is safe in each combination of keys, and, for the bound,
        that all cheaper sets of suppressed keys leave the record unsafe, or that the multipliers
        supply no more than their costs.

        Parameters
        ----------
        original : pandas.DataFrame
            The records as they were.

        Raises
        ------
        VerificationError
            Names the record, and what is not so.
        """
        method = self.method
        missing = check_left_alone(original, self.frame, method.keys)
        combinations = method.asked()
        if method.missing == "any":
            check_matching(original, missing, method.keys, combinations, method.k)
            proved = proved_by_multipliers(original, self.multipliers, method.costs, method.k)
            proved = rounded_up(proved, list(method.costs.values()))
            if proved < self.bound - 1e-9 * max(1.0, self.bound):
                raise VerificationError(
                    f"The bound is said to be {self.bound:g}, but {proved:g} is proved."
                )
            return proved
        holds = _diverse(original, method)
        fails = groups_counted(original, holds, method.sensitive, method.k)
        check_own(fails, missing, method.keys, combinations)
        return proved_floor(fails, self.floor, combinations, method.costs)

    def summary(self) -> str:
        """Return number of suppressed values, records and gap in one line."""
        touched = int(self.suppressed.any(axis=1).sum())
        weighted = "" if not self.method.weights else f" (cost {self.loss:.6g})"
        return (
            f"local suppression: {self.n_suppressed} values{weighted} of {touched} of "
            f"{len(self.frame)} records; proved bound {self.bound:.6g}, {self._gaps()}; "
            f"{self.method.required()}"
        )


@METHODS.register
@dataclass(frozen=True)
class LocalSuppression(Method):
    """Set as few keys as possible to missing, so that k records share each combination of keys.

    By default (``missing="own"``) a record is safe if at least k records of the original file agree
    with what is left of it, in each combination of keys that is asked for [1]_. Its own missing
    values match every value; missing values of others do not count. Since records keep what they
    had, the release is then also k-anonymous as sdcMicro counts.

    With ``missing="any"`` records are counted as in sdcMicro [2]_: the frequency of a record is the
    number of records that agree with it in all keys that neither of the two has lost. This count
    is satisfied by k - 1 records that lose all keys, since these match everybody, and the search
    finds that: it protects nobody else. Use it to compare, not to publish.

    What is proved: no release that is safe in the stated sense costs less than `bound`. With "own",
    the sets of keys of a record are tried from the cheapest on, so that loss and bound are equal
    unless the time is over. With "any", multipliers prove the bound by weak duality.

    Parameters
    ----------
    keys : sequence of str
        Attributes by which an intruder may know a person.
    k : int, default=3
    subsets : int, optional
        Ask for all combinations of this many keys; by default for all keys together. Smaller
        combinations follow.
    combinations : sequence of sequence of str, optional
        Combinations to ask for, instead of `subsets`.
    weights : mapping of str to float, optional
        Cost of a missing value of a key; 1 by default.
    sensitive : str, optional
        Attribute whose values must differ within each group.
    diversity : float, optional
        l of l-diversity [3]_: number of different sensitive values in each group.
    diversity_kind : {"distinct", "entropy", "recursive"}, default="distinct"
        Different values; an entropy of at least log(l); or the most frequent value less than
        `ratio` times as frequent as the l-th and all rarer ones together.
    ratio : float, default=3
        c of recursive (c, l)-diversity.
    closeness : float, optional
        t of t-closeness [4]_: largest earth mover's distance of the sensitive values of a group
        from those of the file. Numbers lie on a line; all other values have a distance of 1.
    missing : {"own", "any"}, default="own"
        Which missing values match every value: those of the record itself, or those of all.
    search : {"optimal", "greedy"}, default="optimal"
        "greedy" suppresses in each unsafe record one key after the other: by the greedy rule of set
        cover, or, with ``missing="any"``, towards the nearest record, as `kAnon` of sdcMicro does.
    time_limit : float, default=60
        Seconds after which the rest is done by the greedy rule.
    """

    name: ClassVar[str] = "local-suppression"
    guide: ClassVar[str] = (
        "The release says how many values are missing, and how many every other release must "
        "lose at least.\n\nExample: tablecloak local-suppression people.csv -o safe.csv --key age "
        "--key sex --key region --k 3 --weight sex=5"
    )

    keys: Annotated[Sequence[str], option("key", "Attribute known to an intruder.", min_length=1)]
    k: Annotated[int, Field(ge=2, description="Smallest number of records in a group.")] = 3
    subsets: Annotated[
        int | None,
        Field(ge=1, description="Ask for all combinations of this many keys; default: all keys."),
    ] = None
    combinations: Annotated[
        Sequence[Sequence[str]] | None,
        option("combination", "Keys of a combination to ask for, as in age,sex."),
    ] = None
    weights: Annotated[
        Mapping[str, float] | None,
        option("weight", "Cost of a missing value of a key, as in sex=5; 1 by default."),
    ] = None
    sensitive: Annotated[
        str | None, Field(description="Attribute whose values must differ within each group.")
    ] = None
    diversity: Annotated[
        float | None,
        Field(ge=1, description="Different sensitive values in each group (l-diversity)."),
    ] = None
    diversity_kind: Annotated[
        Literal["distinct", "entropy", "recursive"],
        Field(
            description="Different values, an entropy of at least log(l), or the most frequent "
            "value below `ratio` times the l-th and rarer ones."
        ),
    ] = "distinct"
    ratio: Annotated[float, Field(gt=0, description="c of recursive (c, l)-diversity.")] = 3.0
    closeness: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="Largest distance of the sensitive values of a group from those of the "
            "file (t-closeness).",
        ),
    ] = None
    missing: Annotated[
        Literal["own", "any"],
        Field(
            description="Missing values that match every value: the record's own, or those of any "
            "record, as sdcMicro counts; then k - 1 empty records are enough."
        ),
    ] = "own"
    search: Annotated[
        Literal["optimal", "greedy"],
        Field(description="Fewest missing values, or one after the other by a greedy rule."),
    ] = "optimal"
    time_limit: Annotated[float, Field(gt=0, description="Seconds for the search.")] = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = names_of(self.keys, "keys")
        self._check_sensitive(keys)
        if self.subsets is not None and self.combinations:
            raise InputError("Give `subsets` or `combinations`, not both.")
        if self.subsets is not None and self.subsets > len(keys):
            raise InputError(f"`subsets` is {self.subsets}, but there are only {len(keys)} keys.")
        for combination in self.combinations or ():
            for name in names_of(combination, "combinations"):
                _require_key(name, keys, "combinations")
        for name, weight in (self.weights or {}).items():
            _require_key(name, keys, "weights")
            if not (weight > 0 and np.isfinite(weight)):
                raise InputError(f"The weight of {name!r} must be above 0. Got {weight!r}.")

    def _check_sensitive(self, keys: Sequence[str]) -> None:
        asks = self.diversity is not None or self.closeness is not None
        if asks != (self.sensitive is not None):
            raise InputError(
                "Give `sensitive`, the attribute that must be diverse, together with `diversity` "
                "or `closeness`."
            )
        if self.sensitive in keys:
            raise InputError(f"The sensitive attribute {self.sensitive!r} is also a key.")
        if asks and self.missing == "any":
            raise InputError(
                "`diversity` and `closeness` are searched for with missing='own' only: with 'any', "
                "empty records would stand for all values."
            )
        is_whole = self.diversity is None or float(self.diversity).is_integer()
        if self.diversity_kind == "recursive" and not is_whole:
            raise InputError(f"l of recursive diversity must be whole. Got {self.diversity!r}.")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the keys, which change, and the sensitive attribute."""
        numbers = [] if self.sensitive is None else [self.sensitive]
        return Columns(changed=self.keys, categories=self.keys, numbers=numbers, keys=self.keys)

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        given = self.weights or {}
        return {name: float(given.get(name, 1.0)) for name in self.keys}

    def asked(self) -> list[list[str]]:
        """Return the combinations of keys that are asked for."""
        keys = list(self.keys)
        if self.combinations:
            return [list(each) for each in self.combinations]
        return [list(each) for each in combinations(keys, self.subsets or len(keys))]

    def requirements(
        self, frame: pd.DataFrame, patterns: KeyPatterns
    ) -> tuple[GroupRequirement, ...]:
        """Return what each group of a file must satisfy."""
        found: list[GroupRequirement] = [KAnonymity(self.k)]
        if self.sensitive is not None:
            counts = SensitiveCounts.of(frame, self.sensitive, patterns)
            if self.diversity is not None and self.diversity_kind == "distinct":
                found.append(DistinctDiversity(counts, self.diversity))
            elif self.diversity is not None and self.diversity_kind == "entropy":
                found.append(EntropyDiversity(counts, self.diversity))
            elif self.diversity is not None:
                found.append(RecursiveDiversity(counts, self.diversity, self.ratio))
            if self.closeness is not None:
                found.append(Closeness(counts, self.closeness))
        return tuple(found)

    def required(self) -> str:
        """Say what is required, for summaries."""
        words = f"groups of at least {self.k} records"
        if self.diversity is not None:
            kind = f"{self.diversity_kind} {self.diversity:g}-diversity"
            if self.diversity_kind == "recursive":
                kind = f"recursive ({self.ratio:g}, {self.diversity:g})-diversity"
            words += f" with {kind} of {self.sensitive}"
        if self.closeness is not None:
            words += f" with {self.closeness:g}-closeness of {self.sensitive}"
        if self.combinations:
            return f"{words} in {len(self.combinations)} combinations of keys"
        if self.subsets is not None:
            return f"{words} in all combinations of {self.subsets} of {len(self.keys)} keys"
        return f"{words} by {len(self.keys)} keys"

    def protect(self, frame: pd.DataFrame, *, seed: Any = None) -> LocalSuppressionRelease:
        """Suppress values.

        Nothing is random; `seed` is accepted because all methods have it.

        Raises
        ------
        InputError
            If a column does not exist or has missing values, or not even the whole file satisfies
            what is required.
        """
        del seed
        budget = Budget.begun(self.time_limit)
        watch = Stopwatch()
        question = self._question(frame)
        with budget.interruptible():
            search = self._matching if self.missing == "any" else self._own
            lost, floor, multipliers, bound = search(question, budget)
        missing = ((lost[:, None] >> np.arange(len(self.keys))) & 1).astype(bool)
        released = frame.copy()
        for at, name in enumerate(self.keys):
            released[name] = _without(frame[name], missing[:, at])
        return LocalSuppressionRelease(
            frame=released,
            suppressed=missing,
            method=self,
            bound=bound,
            floor=floor,
            multipliers=multipliers,
            seconds=watch.seconds,
        )

    def _own(self, question: SuppressionQuestion, budget: Budget) -> _Found:
        """Search where only the missing values of the record itself match."""
        is_greedy = self.search == "greedy"
        choice = greedy_with_floor(question) if is_greedy else cheapest_choice(question, budget)
        of_record = question.patterns.of_record
        floor = choice.floor[of_record]
        return choice.suppressed[of_record], floor, {}, float(floor.sum())

    def _matching(self, question: SuppressionQuestion, budget: Budget) -> _Found:
        """Search where missing values of all records match."""
        search = greedy_matching if self.search == "greedy" else cheapest_matching
        lost = search(question, self.k, budget.share(0.7))
        needs = Needs(question, self.k)
        found = needs.multipliers(budget)
        # A little less than what is proved, since the check adds in another order.
        bound = rounded_up((1 - 1e-8) * needs.value(found), list(self.costs.values()))
        of_record = question.patterns.of_record
        names = question.patterns.names_of
        multipliers = {tuple(names(each)): y[of_record] for each, y in found.items()}
        return lost, np.empty(0), multipliers, bound

    def _question(self, frame: pd.DataFrame) -> SuppressionQuestion:
        patterns = KeyPatterns.of(frame, list(self.keys))
        n_combinations = comb(len(self.keys), self.subsets or len(self.keys))
        if not self.combinations and n_combinations > MANY_COMBINATIONS:
            raise InputError(
                f"There are {n_combinations:,} combinations of keys; at most "
                f"{MANY_COMBINATIONS:,} are searched. Lower `subsets`, or name fewer keys."
            )
        question = SuppressionQuestion(
            patterns=patterns,
            combinations=tuple(patterns.set_of(each) for each in self.asked()),
            requirements=self.requirements(frame, patterns),
            costs=np.array(list(self.costs.values())),
        )
        if question.unsafe(0) is not None:
            raise InputError(
                f"Not even the whole file of {patterns.n_records} records has what is required: "
                f"{self.required()}. Ask for less, or give more records."
            )
        return question


def _require_key(name: str, keys: Sequence[str], parameter: str) -> None:
    if name not in keys:
        raise InputError(
            f"`{parameter}` names {name!r}, which is not among the keys.{suggestion(name, keys)}"
        )


def _total(suppressed: Flags, costs: Floats) -> float:
    """Return the cost of suppressed values, added record by record in the order of keys.

    The order is that of the bound, so that equal sets of keys have equal sums.
    """
    record = np.zeros(len(suppressed))
    for column, cost in zip(suppressed.T, costs, strict=True):
        record += np.where(column, cost, 0.0)
    return float(record.sum())


def _without(column: pd.Series, missing: Flags) -> pd.Series:
    """Return a column in which some values are missing; whole numbers stay whole."""
    if not missing.any():
        return column.copy()
    kind: Any = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "iub":
        column = column.astype("boolean" if kind.kind == "b" else "Int64")
    return column.mask(missing)


def _diverse(original: pd.DataFrame, method: LocalSuppression) -> Callable[[Floats], bool]:
    """Return whether counts of sensitive values satisfy a method, by the definitions alone."""
    if method.sensitive is None:
        return lambda counts: True
    whole = original[method.sensitive].value_counts(normalize=True).sort_index().to_numpy()
    ordered, limit = is_ordered(original[method.sensitive]), method.diversity

    def is_diverse(counts: Floats) -> bool:
        falling = np.sort(counts[counts > 0])[::-1]
        if limit is None:
            return True
        if method.diversity_kind == "distinct":
            return bool(len(falling) >= limit)
        if method.diversity_kind == "entropy":
            share = falling / falling.sum()
            entropy = -float((share * np.log(share)).sum())
            return entropy >= log(limit) - 1e-9
        rest = float(falling[int(limit) - 1 :].sum())
        return float(falling[0]) < method.ratio * rest

    def is_close(counts: Floats) -> bool:
        if method.closeness is None:
            return True
        off = counts / counts.sum() - whole
        moved = np.abs(np.cumsum(off)).sum() / max(len(off) - 1, 1)
        distance = moved if ordered else np.abs(off).sum() / 2
        return bool(distance <= method.closeness + 1e-9)

    return lambda counts: is_diverse(counts) and is_close(counts)
