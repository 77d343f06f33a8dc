"""Local suppression where a missing value is a category of its own: k released records are equal.

A class is a set of keys that stay, with their values; its records lose all other keys, and it needs
k of them. Records in need form classes together, join classes, or recruit records of patterns that
occur more than k times. To find the fewest missing values is NP-hard [1]_. Values that were missing
before are in no class that keeps their key, and cost nothing.

Of several combinations of keys, records that are equal in all keys are equal in each, which gives
one release. Another one treats combinations in turn, each among the records as the others left
them, until all hold. The cheaper one is taken. Each combination by itself proves a bound, and a
packing of combinations, in which no key is counted more than once, proves the sum of theirs.

References
----------
.. [1] Meyerson, Williams: On the complexity of optimal k-anonymity, PODS 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.branching import MANY_PLACES, branched_classes
from tablecloak.microdata.anonymity.class_tree import ClassTree
from tablecloak.microdata.anonymity.classes import (
    MANY_SETS,
    ClassPairs,
    proved_prices,
    sets_to_lose,
    way_of_each,
)
from tablecloak.microdata.anonymity.diverse_classes import SensitiveRecords, diverse_classes
from tablecloak.microdata.anonymity.levels import RecordLevels
from tablecloak.microdata.anonymity.lightest import cheapest_choice
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.placing import Placing, split_from_the_top
from tablecloak.microdata.anonymity.problem import AnonymityProblem
from tablecloak.microdata.anonymity.verification import rounded_up

FEW_PATTERNS = 5_000
"""Most patterns whose distances are worked out, 2 s."""


@dataclass(frozen=True, eq=False)
class EqualClasses:
    """Which keys records lose, and prices that prove a bound.

    Parameters
    ----------
    lost : numpy.ndarray of int, shape (n_records,)
        Set of keys that are missing in each record of the release.
    price : numpy.ndarray of float, shape (n_patterns,)
        See `tablecloak.microdata.anonymity.classes`.
    bound : float
        What they prove, or the tree.
    tree : ClassTree, optional
        What proves the bound otherwise.
    """

    lost: Integers
    price: Floats
    bound: float
    tree: ClassTree | None = None


@dataclass(eq=False)
class _Placement:
    """Which records lose which keys.

    Parameters
    ----------
    problem : AnonymityProblem
    k : int
    home : numpy.ndarray of int, shape (n_patterns,)
        Records that lose nothing.
    need : numpy.ndarray of int, shape (n_patterns,)
        Records that are in no class yet.
    counts : dict of int to numpy.ndarray of int, shape (n_patterns,)
        How many records are in classes without these keys; others than those at home.
    """

    problem: AnonymityProblem
    k: int
    home: Integers
    need: Integers
    counts: dict[int, Integers] = field(default_factory=dict)

    @classmethod
    def begun(cls, problem: AnonymityProblem, k: int) -> _Placement:
        """Leave patterns that k records have at home."""
        frequency = problem.patterns.frequency
        need = np.where(frequency < k, frequency, 0)
        return cls(problem, k, frequency - need, need)

    @property
    def patterns(self) -> KeyPatterns:
        """The patterns of the file."""
        return self.problem.patterns

    @property
    def absent(self) -> Integers:
        """The keys that each pattern lacks already."""
        return self.problem.absent

    def of(self, lost: int) -> Integers:
        """Return how many records of each pattern lose these keys; the array may be changed."""
        if lost not in self.counts:
            self.counts[lost] = np.zeros(self.patterns.n_patterns, dtype=np.int64)
        return self.counts[lost]

    def there(self, lost: int) -> Integers:
        """Return how many records are in classes without these keys, at home or not."""
        return self.of(lost) + np.where(self.absent == lost, self.home, 0)

    def price(self, lost: int) -> Floats:
        """Return the cost of losing these keys for each pattern; `inf` where it lacks others."""
        kinds, which = np.unique(self.absent, return_inverse=True)
        cost = [
            np.inf if int(kind) & ~lost else self.problem.cost(lost & ~int(kind)) for kind in kinds
        ]
        return np.array(cost)[which.ravel()]

    def per_record(self) -> Integers:
        """Return the lost keys of each record; equal records take them in the order of the file."""
        rows = np.flatnonzero(self.home)
        entries = [(rows, self.absent[rows], self.home[rows])]
        for lost, count in sorted(self.counts.items()):
            rows = np.flatnonzero(count)
            entries.append((rows, np.full(len(rows), lost), count[rows]))
        return way_of_each(
            self.patterns.of_record, *(np.concatenate(part) for part in zip(*entries, strict=True))
        )


def greedy_classes(problem: AnonymityProblem, k: int, budget: Budget) -> EqualClasses:
    """Form classes greedily; the bound is what each record must lose by itself.

    Steps are taken in the order of the cost per record in need: sets of keys that k records in need
    lose together, then those that fewer lose with recruits, who cost as much without being in need.
    """
    placed = _Placement.begun(problem, k)
    _finish(placed, budget)
    floor = cheapest_choice(problem, budget).floor
    price = np.where(problem.patterns.frequency < k, floor, 0.0)
    return EqualClasses(placed.per_record(), price, float(price @ problem.patterns.frequency))


def cheapest_classes(
    problem: AnonymityProblem, k: int, random: np.random.Generator, budget: Budget
) -> EqualClasses:
    """Search for classes of at least k records that cost little, by prices of records.

    Prices are raised until they prove nearly what the linear relaxation does; they also show which
    classes are good. Very small files are solved as a program.
    """
    frequency = problem.patterns.frequency
    placed = _Placement.begun(problem, k)
    _finish(placed, budget.share(0.3))
    floor = cheapest_choice(problem, budget.share(0.3)).floor
    floor = np.where(frequency < k, np.maximum(floor, _to_neighbours(placed)), 0.0)
    split = _from_the_top(problem, k, budget.share(0.3))
    incumbent = min(placed.per_record(), split, key=problem.total)
    if budget.is_over:
        return EqualClasses(incumbent, floor, float(floor @ frequency))
    # Sets of one key more than the floor suffice within 0.2 %. docs/decisions, "Prices of records".
    most = floor + float(np.mean([problem.costs[key] for key in bits_of(problem.keys)]))
    ways = sets_to_lose(problem, most, MANY_SETS)
    pairs = ClassPairs.of(frequency, k, ways, problem.absent, most, budget.share(0.5))
    price, bound = proved_prices(
        pairs, frequency, floor, partial(sets_to_lose, problem), problem.total(incumbent), budget
    )
    n_ways = 1 << problem.keys.bit_count()
    is_small = len(frequency) * n_ways <= MANY_PLACES
    candidates = (
        incumbent,
        _by_prices(problem, pairs, price, bound, random, budget.share(0.2 if is_small else 1.0)),
        _from_the_top(problem, k, budget),
    )
    best = min(candidates, key=problem.total)
    known = EqualClasses(best, price, bound)
    return _branched(problem, k, known, budget) if is_small else known


def _from_the_top(problem: AnonymityProblem, k: int, budget: Budget) -> Integers:
    """Split all records key by key, which takes no list of sets of keys."""
    level = split_from_the_top(RecordLevels.of_keys(problem), k, budget)
    lost: Integers = level @ (1 << np.array(list(bits_of(problem.keys))))
    return lost[problem.patterns.of_record]


def _to_neighbours(placed: _Placement) -> Floats:
    """Return the cost of the keys in which patterns differ from their k-th nearest record.

    A class holds k records, so that each loses at least these. With many keys this is more than
    what sets of keys prove in the time; files with many patterns get zeros.
    """
    patterns, problem = placed.patterns, placed.problem
    floor = np.zeros(patterns.n_patterns)
    if patterns.n_patterns > FEW_PATTERNS:
        return floor
    for begin in range(0, len(floor), 500):
        part = slice(begin, begin + 500)
        distance = np.where(patterns.stratum[part, None] == patterns.stratum[None, :], 0.0, np.inf)
        for key in bits_of(problem.keys):
            code, lacks = patterns.codes[key], (patterns.missing >> key) & 1 == 1
            differs = (code[part, None] != code[None, :]) & ~lacks[part, None]
            distance += np.where(differs, problem.costs[key], 0.0)
        order = np.argsort(distance, axis=1)
        near = np.argmax(np.cumsum(patterns.frequency[order], axis=1) >= placed.k, axis=1)
        rows = np.arange(len(order))
        floor[part] = distance[rows, order[rows, near]]
    return floor


def _by_prices(
    problem: AnonymityProblem, pairs: ClassPairs, price: Floats, bound: float,
    random: np.random.Generator, budget: Budget,
) -> Integers:  # fmt: skip
    """Return classes that are formed by prices; what is left over is placed greedily."""
    target = rounded_up(bound, problem.costs.tolist())
    state = Placing.by_prices(pairs, problem.patterns.frequency, price, target, random, budget)
    placed = _Placement.begun(problem, pairs.k)
    for lost in np.unique(pairs.way).tolist():
        count = placed.of(lost)
        here = np.flatnonzero((state.taken > 0) & (pairs.way[pairs.group] == lost))
        np.add.at(count, pairs.need[pairs.pattern[here]], state.taken[here])
        here = np.flatnonzero((state.lent > 0) & (pairs.way[pairs.lender_group] == lost))
        np.add.at(count, pairs.lender[here], state.lent[here])
        np.subtract.at(placed.home, pairs.lender[here], state.lent[here])
    placed.need[:] = 0
    placed.need[pairs.need] = state.left
    _finish(placed, budget)
    return placed.per_record()


def _branched(
    problem: AnonymityProblem, k: int, known: EqualClasses, budget: Budget
) -> EqualClasses:
    """Return better classes and a better bound where branching over classes gives them."""
    patterns, loss, costs = problem.patterns, problem.total(known.lost), problem.costs.tolist()
    if rounded_up((1 - 1e-7) * known.bound, costs) >= (1 - 1e-7) * loss:
        return known
    step = 1.0 if all(cost.is_integer() for cost in costs) else 0.0
    ways = sets_to_lose(problem, np.full(patterns.n_patterns, np.inf))
    branched = branched_classes(patterns.frequency, k, ways, known.price, loss, step, budget)
    if branched is None:
        return known
    lost = known.lost
    if branched.placed is not None:
        order = np.argsort(branched.placed[1], kind="stable")
        lost = way_of_each(patterns.of_record, *(column[order] for column in branched.placed))
    if branched.bound <= known.bound:
        return replace(known, lost=lost)
    tree = branched.proof(patterns.of_record, patterns.names_of, costs)
    return EqualClasses(lost, known.price, tree.bound, tree)


def _finish(placed: _Placement, budget: Budget) -> None:
    """Place all records in need greedily."""
    for fewest, keys in _steps(placed, budget.share(0.7)) if placed.need.any() else []:
        if not placed.need.any():
            break
        if not budget.is_over or keys == placed.problem.keys:
            _form(placed, keys, fewest)
    if placed.need.any():
        _dissolve(placed)


def _steps(placed: _Placement, budget: Budget) -> list[tuple[int, int]]:
    """Return least numbers of records in need and sets of keys, in the order of their steps.

    Of equal costs per record, sets by which most records in need find each other come first: 386
    values instead of 404 are lost in a survey of 4,580 records, 16,502 instead of 17,134 in 10,000
    made ones.
    """
    problem, k, need = placed.problem, placed.k, placed.need
    steps = [(problem.cost(problem.keys), -k, 0, problem.keys)]
    for cost, keys in problem.sets_by_cost():
        if budget.is_over:
            break
        if keys:
            label, n_groups = problem.patterns.groups(problem.keys & ~keys)
            is_enough = _per_group(label, need, n_groups) >= k
            helped = int(np.sum(need[is_enough[label]]))
            steps += [(cost * k / least, -least, -helped, keys) for least in range(1, k + 1)]
    return [(-least, keys) for _, least, _, keys in sorted(steps)]


def _form(placed: _Placement, keys: int, fewest: int) -> None:
    """Let records in need lose a set of keys where enough of them agree in the others."""
    k, patterns = placed.k, placed.patterns
    label, n_groups = patterns.groups(placed.problem.keys & ~keys)
    may = (placed.absent & ~keys) == 0
    need = np.where(may, placed.need, 0)
    in_need = _per_group(label, need, n_groups)
    size = _per_group(label, placed.there(keys), n_groups)
    spare = np.where(may & (placed.absent != keys), np.maximum(placed.home - k, 0), 0)
    recruits = np.maximum(k - in_need - size, 0)
    good = (in_need >= fewest) | ((size > 0) & (in_need > 0))
    good &= recruits <= _per_group(label, spare, n_groups)
    if fewest == k:
        good &= recruits == 0
    taken = np.where(good[label], need, 0)
    called = _first(label, spare, np.where(good, recruits, 0))
    placed.of(keys)[:] += taken + called
    placed.home -= called
    placed.need -= taken


def _per_group(label: Integers, count: Integers, n_groups: int) -> Integers:
    return np.bincount(label, weights=count, minlength=n_groups).astype(np.int64)


def _first(label: Integers, available: Integers, wanted: Integers) -> Integers:
    """Take from the patterns of each group, in order, what is available until enough is taken."""
    order = np.argsort(label, kind="stable")
    there = available[order]
    before = np.cumsum(there) - there
    start = np.searchsorted(label[order], np.arange(len(wanted)))
    before -= before[start][label[order]]
    taken = np.zeros_like(available)
    taken[order] = np.clip(wanted[label[order]] - before, 0, there)
    return taken


def _dissolve(placed: _Placement) -> None:
    """Let the last records in need lose all keys, together with the cheapest other classes."""
    everything, patterns = placed.problem.keys, placed.patterns
    placed.of(everything)[:] += placed.need
    placed.need[:] = 0
    # Without strata there is one group of records that lose everything.
    stratum, n_strata = patterns.groups(0)
    for number in range(n_strata):
        within = stratum == number
        while 0 < int(placed.there(everything)[within].sum()) < placed.k:
            if not _join_everything(placed, within):
                break


def _join_everything(placed: _Placement, within: Flags) -> bool:
    """Let the class of a stratum for which that is cheapest lose all keys; False without one."""
    everything = placed.problem.keys
    best: tuple[float, int, Flags] | None = None
    for lost in {*placed.counts, *np.unique(placed.absent).tolist()} - {everything}:
        count = np.where(within, placed.there(lost), 0)
        label, n_groups = placed.patterns.groups(everything & ~lost)
        members = _per_group(label, count, n_groups)
        price = placed.price(everything) - np.where(count > 0, placed.price(lost), 0.0)
        dearer = np.bincount(label, weights=price * count, minlength=n_groups)
        dearer = np.where(members == 0, np.inf, dearer)
        chosen = int(np.argmin(dearer))
        if np.isfinite(dearer[chosen]) and (best is None or dearer[chosen] < best[0]):
            best = (float(dearer[chosen]), lost, within & (label == chosen))
    if best is None:
        return False
    _, lost, inside = best
    at_home = inside & (placed.absent == lost)
    placed.of(everything)[:] += np.where(inside, placed.of(lost), 0)
    placed.of(everything)[:] += np.where(at_home, placed.home, 0)
    placed.of(lost)[inside] = 0
    placed.home[at_home] = 0
    return True


ROUNDS = 20
"""Most rounds over all combinations; two or three are usual."""


def classes_with_values(
    problem: AnonymityProblem, lost: Integers, records: SensitiveRecords, budget: Budget
) -> Integers:
    """Let records lose more keys until the classes of each combination are diverse as well.

    Combinations are treated in turn; if that does not end, all keys are taken together.
    """

    def mended(lost: Integers, combination: int) -> Integers:
        released = released_patterns(problem.patterns, lost, combination)
        return diverse_classes(released, records, combination, problem.costs, budget)

    start = lost
    for _ in range(ROUNDS):
        before = lost
        for combination in problem.combinations:
            lost = lost | mended(lost, combination)
        if np.array_equal(before, lost):
            return lost
    return start | mended(start, problem.keys)


def classes_in_combinations(
    problem: AnonymityProblem,
    k: int,
    random: np.random.Generator,
    budget: Budget,
    *,
    is_greedy: bool,
) -> tuple[Integers, dict[int, EqualClasses]]:
    """Search for few missing values with which k records are equal in each combination.

    Returns
    -------
    lost : numpy.ndarray of int, shape (n_records,)
    alone : dict of int to EqualClasses
        Of each combination by itself, with prices by records.
    """
    patterns = problem.patterns
    absent = problem.absent[patterns.of_record]

    def classes(lost: Integers, combination: int, part: Budget) -> EqualClasses | None:
        released = released_patterns(patterns, lost, combination)
        if released.frequency.min() >= k:
            return None
        asked = AnonymityProblem(released, (combination,), problem.requirements, problem.costs)
        if is_greedy:
            return greedy_classes(asked, k, part)
        return cheapest_classes(asked, k, random, part)

    n = len(problem.combinations)
    alone: dict[int, EqualClasses] = {}
    for at, combination in enumerate(problem.combinations):
        one = classes(absent, combination, budget.share(0.4 / (n - at)))
        if one is not None:
            of_record = released_patterns(patterns, absent, combination).of_record
            alone[combination] = replace(one, price=one.price[of_record])
    together = classes(absent, problem.keys, budget.share(0.5))
    best = absent if together is None else together.lost
    lost = absent
    for _ in range(ROUNDS):
        holds = True
        for combination in sorted(
            problem.combinations, key=lambda keys: -alone[keys].bound if keys in alone else 0.0
        ):
            more = classes(lost, combination, budget.share(0.5 / n))
            if more is not None:
                lost, holds = lost | (more.lost & combination), False
        if holds:
            best = min(best, lost, key=problem.total)
            break
    return best, alone


def released_patterns(patterns: KeyPatterns, lost: Integers, combination: int) -> KeyPatterns:
    """Return the patterns by some keys of a file in which records have lost keys."""
    label, codes = patterns.stratum[patterns.of_record], []
    sizes = []
    for key in range(len(patterns.names)):
        if not (combination >> key) & 1:
            codes.append(np.zeros(len(lost), dtype=np.int64))
            sizes.append(1)
            continue
        code = patterns.codes[key][patterns.of_record]
        codes.append(np.where((lost >> key) & 1 == 1, patterns.sizes[key], code))
        sizes.append(patterns.sizes[key] + 1)
        pair = label * sizes[-1] + codes[-1]
        label = np.unique(pair, return_inverse=True)[1].ravel()
    labels, of_record = np.unique(label, return_inverse=True)
    of_record = of_record.ravel().astype(np.int64)
    some = np.zeros(len(labels), dtype=np.int64)
    some[of_record] = np.arange(len(lost))
    missing = np.zeros(len(labels), dtype=np.int64)
    for key in bits_of(combination):
        missing |= ((lost[some] >> key) & 1) << key
    return replace(
        patterns,
        codes=tuple(code[some] for code in codes),
        sizes=tuple(sizes),
        frequency=np.bincount(of_record).astype(np.int64),
        of_record=of_record,
        missing=missing,
        stratum=patterns.stratum[patterns.of_record[some]],
    )
