"""Local suppression: the fewest missing values that make groups by keys large enough.

What a group is decides which search fits. A release is checked before it is returned.

References
----------
.. [1] de Waal, Willenborg: Optimal local suppression in microdata, Journal of Official Statistics
   14, 1998.
.. [2] Templ, Kowarik, Meindl: Statistical disclosure control for micro-data using the R package
   sdcMicro, Journal of Statistical Software 67(4), 2015.
.. [3] Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity, 2007.
.. [4] Li, Li, Venkatasubramanian: t-closeness, 2007.
.. [5] Gionis, Mazza, Tassa: k-anonymization revisited, ICDE 2008 ((1,k)-anonymity, definition 4).
.. [6] Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import InputError, VerificationError
from tablecloak.microdata.anonymity.class_tree import ClassTree, proved_bound
from tablecloak.microdata.anonymity.combined_keys import (
    classes_in_combinations,
    classes_with_values,
)
from tablecloak.microdata.anonymity.diverse_classes import SensitiveRecords
from tablecloak.microdata.anonymity.lightest import cheapest_choice, greedy_with_floor
from tablecloak.microdata.anonymity.problem import (
    AnonymityProblem,
    DiversityDemand,
    GroupDemand,
    flags_of,
    key_costs,
    require_keys,
    with_missing,
)
from tablecloak.microdata.anonymity.verification import (
    LevelClasses,
    check_classes,
    check_diverse,
    check_left_alone,
    check_own,
    group_sizes,
    packed,
    proved_floor,
    rounded_up,
)
from tablecloak.microdata.columns import names_of
from tablecloak.microdata.library_frames import LibraryFrame, seen_by_pandas
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import (
    Closeness,
    DifferentValues,
    GroupKeys,
    GroupSize,
    MissingMeaning,
    SearchSeconds,
    SensitiveAttribute,
    Subsets,
    option,
)
from tablecloak.microdata.risk.intruders import fitting
from tablecloak.results import Result

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
    asked : GroupDemand
        What was asked.
    bound : float
        Proved lower bound on the loss of every release that satisfies the same requirements.
    floor : numpy.ndarray of float, shape (n_records,)
        Proved lower bound on the cost of each record, whose sum is the bound; empty if prices
        prove it.
    prices : mapping of tuple of str to numpy.ndarray of float
        What proves the bound of released groups otherwise: for each combination, a price of each
        record.
    trees : mapping of tuple of str to ClassTree
        What proves it by cases, for combinations in small files.
    seconds : float
    notes : tuple of str
    fits : numpy.ndarray of int, shape (n_records,) or (0,)
        Of each person, the number of released records that may be theirs; see `fitting`. Counted
        for (1,k) only: elsewhere a group fits as a whole.
    """

    frame: Any
    suppressed: Flags
    asked: GroupDemand
    bound: float
    floor: Floats = field(default_factory=lambda: np.empty(0))
    prices: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)
    trees: Mapping[tuple[str, ...], ClassTree] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = field(default=())
    fits: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def loss(self) -> float:
        """Cost of all suppressed values; their number where no weights are given."""
        costs = np.array(list(self.asked.costs.values()))
        return _total(self.suppressed, costs)

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed values."""
        return int(self.suppressed.sum())

    def per_key(self) -> pd.Series:
        """Return the number of suppressed values of each key."""
        return pd.Series(self.suppressed.sum(axis=0), index=list(self.asked.keys))

    @seen_by_pandas
    def verify(self, original: Any) -> float:
        """Check release and bound from the two files alone, and return the bound that is proved.

        Groups are counted anew, by other code than that of the search: that each value is missing
        or as it was, that each record is safe in each combination of keys, and, for the bound,
        that all cheaper sets of suppressed keys leave the record unsafe, or that prices are no
        larger than costs, in each case of a proof by cases.

        Parameters
        ----------
        original : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The records as they were, of the same kind as the release.

        Raises
        ------
        VerificationError
            Names the record, and what is not so.
        """
        self.check_safe(original)
        return self.proved(original)

    def proved(self, original: pd.DataFrame) -> float:
        """Check the bound alone, and return what is proved.

        Raises
        ------
        VerificationError
            If that is less than the bound.
        """
        asked = self.asked
        if self.prices:
            bounds = {}
            for keys, price in self.prices.items():
                classes = LevelClasses.of_missing(
                    original, keys, asked.costs, asked.k, asked.strata
                )
                bounds[keys] = proved_bound(classes, price, self.trees.get(keys))
            proved = packed(bounds)
            is_whole = all(cost.is_integer() for cost in asked.costs.values())
            proved = rounded_up((1 - 1e-9) * proved, is_whole=is_whole)
        else:
            fails = asked.fails(original)
            proved = proved_floor(fails, self.floor, asked.combinations, asked.costs, original)
        if proved < self.bound - 1e-9 * max(1.0, self.bound):
            raise VerificationError(
                f"The bound is said to be {self.bound:g}, but {proved:g} is proved."
            )
        return proved

    def check_safe(self, original: pd.DataFrame) -> None:
        """Check that values are missing or as they were, and that each record is safe.

        Raises
        ------
        VerificationError
            Names the record, and what is not so.
        """
        asked = self.asked
        missing = check_left_alone(original, self.frame, asked.keys)
        if asked.anonymity == "1-k":
            check_own(asked.fails(original), missing, asked.keys, asked.combinations)
            return
        for combination in asked.combinations:
            check_classes(self.frame, [*asked.strata, *combination], asked.k)
        if asked.diverse.sensitive is not None:
            check_diverse(asked.fails(self.frame), asked.combinations)

    @cached_property
    def group_sizes(self) -> Integers:
        """Number of released records that are equal to each one, from the released file alone.

        A missing value is a value of its own. Of several combinations of keys, the smallest number
        is taken. Shape (n_records,).
        """
        released = LibraryFrame(self.frame).pandas
        sizes = [
            group_sizes(released, [*self.asked.strata, *keys]) for keys in self.asked.combinations
        ]
        return np.asarray(np.min(sizes, axis=0))

    def fitting(self, persons: Any) -> Integers:
        """Count for each person the released records that may be theirs.

        That is what an outsider counts who knows all keys: a released record may be that of a
        person if it agrees in each key that it has.

        Parameters
        ----------
        persons : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            What the outsider knows, such as the original.

        Returns
        -------
        numpy.ndarray of int, shape (n_persons,)
        """
        known, released = (LibraryFrame(each).pandas for each in (persons, self.frame))
        return fitting(known, released, self.asked.combinations, self.asked.strata)

    def summary(self) -> str:
        """Return number of suppressed values, records and gap in one line."""
        touched = int(self.suppressed.any(axis=1).sum())
        is_weighted = set(self.asked.costs.values()) != {1.0}
        weighted = f" (cost {self.loss:.6g})" if is_weighted else ""
        return (
            f"local suppression: {self.n_suppressed} values{weighted} of {touched} of "
            f"{len(self.frame)} records; proved bound {self.bound:.6g}, {self._gaps()}; "
            f"{self.promise()}"
        )

    def promise(self) -> str:
        """Say what was asked, and what an outsider counts in the released file."""
        k = self.asked.k
        if self.asked.anonymity == "k":
            smallest = self.group_sizes.min()
            counted = f"the smallest group of the released file has {smallest} records"
        else:
            few, alone = int(np.sum(self.fits < k)), int(np.sum(self.fits == 1))
            counted = (
                f"who knows all keys finds fewer than {k} records that fit for {few} persons, and "
                f"one alone for {alone}"
            )
        return f"{self.asked.words()}; {counted}"


def _total(suppressed: Flags, costs: Floats) -> float:
    """Return the cost of suppressed values, added record by record in the order of keys.

    The order is that of the bound, so that equal sets of keys have equal sums.
    """
    record = np.zeros(len(suppressed))
    for column, cost in zip(suppressed.T, costs, strict=True):
        record += np.where(column, cost, 0.0)
    return float(record.sum())


@METHODS.register
@dataclass(frozen=True)
class LocalSuppression(Method[LocalSuppressionRelease]):
    """Set as few keys as possible to missing, so that k records share each combination of keys.

    By default the release falls into groups of at least k equal records [6]_, in each combination
    of keys that is asked for. A missing value is a value of its own, so that anybody counts these
    groups in the released file, and nobody is found by keys. To find the fewest values is NP-hard:
    in small files they are found, and proved by cases; in others a heuristic searches, and prices
    of records prove the bound. It goes on for the whole `time_limit`; a million records take about
    15 s at least, since sets of keys are gone through several times.

    With ``anonymity="1-k"`` at least k *true* records agree with what is left of each released one
    [1]_, which is (1,k)-anonymity [5]_. Its own missing values match every value. That hides to
    whom a record belongs, not that a person is in the file: who knows all keys of a person may
    still find that one record alone fits. The summary says for how many persons. This is less than
    k-anonymity as sdcMicro counts it [2]_ only in name: that count is satisfied as well.

    Values of keys that are missing already stay missing and cost nothing. A record is then judged
    by the keys that it has, and joins only records that lose the same keys.

    What is proved: no release that is safe in the stated sense costs less than `bound`. With "1-k",
    the sets of keys of a record are tried from the cheapest on, so that loss and bound are equal
    unless the time is over; with "k", the bound is proved by weak duality, by cases in small files.
    Where sensitive values must differ in released groups, the bound is that of k records.

    A release is checked from the two files before it is returned.

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
    importance : mapping of str to int, optional
        Rank of a key instead of its weight, 1 for the most important, as in sdcMicro; the rank of
        others is the number of keys. A key costs more than all of higher rank together: 2 to the
        power of the number of keys less its rank.
    strata : sequence of str, optional
        Attributes that never change: k records are counted within each combination of their values,
        as where `kAnon` of sdcMicro is applied to each stratum by itself.
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
    anonymity : {"k", "1-k"}, default="k"
        k equal released records, or k true records that agree with each released one.
    search : {"optimal", "greedy"}, default="optimal"
        "greedy" forms classes one after the other, or suppresses in each unsafe record one key
        after the other by the greedy rule of set cover.
    time_limit : float, default=60
        Seconds after which the rest is done by the greedy rule.
    """

    name: ClassVar[str] = "local-suppression"
    guide: ClassVar[str] = (
        "The release says how many values are missing, and how many every other release must "
        "lose at least.\n\nExample: tablecloak records local-suppression people.csv -o safe.csv "
        "--key age --key sex --key region --k 3 --weight sex=5"
    )

    keys: GroupKeys
    k: GroupSize = 3
    subsets: Subsets = None
    combinations: Annotated[
        Sequence[Sequence[str]] | None,
        option("combination", "Keys of a combination to ask for, as in age,sex."),
    ] = None
    weights: Annotated[
        Mapping[str, float] | None,
        option("weight", "Cost of a missing value of a key, as in sex=5; 1 by default."),
    ] = None
    importance: Annotated[
        Mapping[str, int] | None,
        option("importance", "Rank of a key, as in sex=1 for the most important one."),
    ] = None
    strata: Annotated[
        Sequence[str] | None,
        option("stratum", "Attribute within whose values records are counted."),
    ] = None
    sensitive: SensitiveAttribute = None
    diversity: DifferentValues = None
    diversity_kind: Annotated[
        Literal["distinct", "entropy", "recursive"],
        Field(
            description="Different values, an entropy of at least log(l), or the most frequent "
            "value below `ratio` times the l-th and rarer ones."
        ),
    ] = "distinct"
    ratio: Annotated[float, Field(gt=0, description="c of recursive (c, l)-diversity.")] = 3.0
    closeness: Closeness = None
    anonymity: MissingMeaning = "k"
    search: Annotated[
        Literal["optimal", "greedy"],
        Field(description="Fewest missing values, or one after the other by a greedy rule."),
    ] = "optimal"
    time_limit: SearchSeconds = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = names_of(self.keys, "keys")
        if self.subsets is not None and self.combinations:
            raise InputError("Give `subsets` or `combinations`, not both.")
        if self.subsets is not None and self.subsets > len(keys):
            raise InputError(f"`subsets` is {self.subsets}, but there are only {len(keys)} keys.")
        for combination in self.combinations or ():
            require_keys(names_of(combination, "combinations"), keys, "combinations")
        key_costs(keys, self.weights)
        if self.weights and self.importance:
            raise InputError("Give `weights` or `importance`, not both.")
        require_keys(self.importance or (), keys, "importance")
        for name, rank in (self.importance or {}).items():
            if not 1 <= rank <= len(keys):
                raise InputError(
                    f"The importance of {name!r} is a rank from 1 to {len(keys)}. Got {rank!r}."
                )
        self.diverse.check(keys)
        for name in names_of(self.strata, "strata") if self.strata else ():
            if name in keys:
                raise InputError(f"{name!r} is a key, so that it cannot be in `strata`.")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the keys, which change, and the sensitive attribute."""
        numbers = [] if self.sensitive is None else [self.sensitive]
        read = [*self.keys, *(self.strata or ())]
        return Columns(
            changed=self.keys, categories=read, numbers=numbers, keys=self.keys, sensitive=numbers
        )

    @property
    def costs(self) -> dict[str, float]:
        """Cost of a missing value of each key."""
        if self.importance:
            last = len(self.keys)
            return {name: 2.0 ** (last - self.importance.get(name, last)) for name in self.keys}
        return key_costs(self.keys, self.weights)

    @property
    def diverse(self) -> DiversityDemand:
        """What is asked of sensitive values."""
        return DiversityDemand(
            self.sensitive, self.diversity, self.diversity_kind, self.ratio, self.closeness
        )

    def asked(self) -> GroupDemand:
        """Return what is asked of groups.

        Raises
        ------
        InputError
            If there are too many combinations.
        """
        keys = tuple(self.keys)
        size = self.subsets or len(keys)
        if self.combinations:
            asked = tuple(tuple(each) for each in self.combinations)
            words = f"in {len(asked)} combinations of keys"
        elif comb(len(keys), size) > MANY_COMBINATIONS:
            raise InputError(
                f"There are {comb(len(keys), size):,} combinations of keys; at most "
                f"{MANY_COMBINATIONS:,} are searched. Lower `subsets`, or name fewer keys."
            )
        else:
            asked = tuple(combinations(keys, size))
            words = f"by {len(keys)} keys"
            if self.subsets is not None:
                words = f"in all combinations of {size} of {len(keys)} keys"
        return GroupDemand(
            keys, asked, words, self.costs, self.k, self.diverse, self.anonymity,
            tuple(self.strata or ()),
        )  # fmt: skip

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> LocalSuppressionRelease:
        """Suppress values.

        Raises
        ------
        InputError
            If a column does not exist, the sensitive one has missing values, or not even
            the whole file satisfies what is required.
        """
        del random
        budget = Budget.begun(self.time_limit)
        watch = Stopwatch()
        asked = self.asked()
        problem = asked.problem(frame)
        with budget.interruptible():
            if self.anonymity == "1-k":
                lost, proof = self._of_true_records(problem, budget)
            else:
                records = asked.sensitive_records(frame)
                lost, proof = self.of_released_records(problem, records, budget)
        # What was missing before is not suppressed, and costs nothing.
        missing = flags_of(lost, len(self.keys)) & ~frame[list(self.keys)].isna().to_numpy()
        released = with_missing(frame, self.keys, missing)
        if self.anonymity == "1-k":
            proof["fits"] = fitting(frame, released, asked.combinations, asked.strata)
        release = LocalSuppressionRelease(released, missing, asked, seconds=watch.seconds, **proof)
        release.check_safe(frame)
        return release

    def _of_true_records(
        self, problem: AnonymityProblem, budget: Budget
    ) -> tuple[Integers, dict[str, Any]]:
        """Return the keys that records lose, and the fields of the release that prove a bound."""
        is_greedy = self.search == "greedy"
        choice = greedy_with_floor(problem) if is_greedy else cheapest_choice(problem, budget)
        floor = choice.floor[problem.patterns.of_record]
        proof = {"bound": float(floor.sum()), "floor": floor}
        return choice.suppressed[problem.patterns.of_record], proof

    def of_released_records(
        self, problem: AnonymityProblem, records: SensitiveRecords | None, budget: Budget
    ) -> tuple[Integers, dict[str, Any]]:
        """Search for groups of k equal released records.

        Returns
        -------
        lost : numpy.ndarray of int, shape (n_records,)
            Set of missing keys of each record.
        proof : dict
            The fields of the release that prove a bound.
        """
        part = budget if records is None else budget.share(0.5)
        lost, alone = classes_in_combinations(
            problem, self.k, part, is_greedy=self.search == "greedy"
        )
        names, of_record = problem.patterns.names_of, problem.patterns.of_record
        proved = {tuple(names(keys)): classes for keys, classes in alone.items()}
        bound = packed({keys: classes.bound for keys, classes in proved.items()})
        is_whole = all(cost.is_integer() for cost in problem.costs.tolist())
        if records is not None:
            lost = classes_with_values(problem, lost, records, budget)
        # A little less than what is proved, since the check adds in another order.
        bound = rounded_up(max((1 - 1e-7) * bound, 0.0), is_whole=is_whole)
        # A record of equal ones is also safe by itself, if groups stay so when records join.
        if (len(problem.combinations) > 1 or records is not None) and problem.is_monotone:
            floor = cheapest_choice(problem, budget.share(0.5)).floor[of_record]
            if float(floor.sum()) > bound or not proved:
                return lost, {"bound": float(floor.sum()), "floor": floor}
        return lost, {
            "bound": bound,
            "prices": {keys: classes.price for keys, classes in proved.items()},
            "trees": {keys: each.tree for keys, each in proved.items() if each.tree is not None},
        }
