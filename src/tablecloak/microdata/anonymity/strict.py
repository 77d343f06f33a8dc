"""Local suppression where a missing value is a category of its own: k released records are equal.

A class is a set of keys that stay, with their values; its records lose all other keys, and it needs
k of them. Records in need form classes together, join classes, or recruit records of patterns that
occur more than k times. To find the fewest missing values is NP-hard [1]_.

References
----------
.. [1] Meyerson, Williams: On the complexity of optimal k-anonymity, PODS 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.classes import ClassProgram
from tablecloak.microdata.anonymity.patterns import KeyPatterns
from tablecloak.microdata.anonymity.question import SuppressionQuestion

__all__ = ["cheapest_classes", "record_prices"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ROUNDS = 40
"""Most rounds in which prices are raised."""

LITTLE = 1e-4
"""Prices are no longer raised when a round adds less than this share of their sum."""

IMPROVEMENTS = 3
"""Rounds in which records move to cheaper classes."""


@dataclass(frozen=True, eq=False)
class _Placed:
    """Which records lose which keys: counts for each pattern and each set of lost keys."""

    patterns: KeyPatterns
    counts: dict[int, Integers] = field(default_factory=dict)

    def of(self, lost: int) -> Integers:
        """Return how many records of each pattern lose these keys; the array may be changed."""
        if lost not in self.counts:
            self.counts[lost] = np.zeros(self.patterns.n_patterns, dtype=np.int64)
        return self.counts[lost]

    def cost(self, question: SuppressionQuestion) -> float:
        """Return the cost of all lost keys."""
        return float(sum(question.cost(lost) * count.sum() for lost, count in self.counts.items()))

    def is_sound(self, question: SuppressionQuestion, k: int) -> bool:
        """Whether all records are placed, in classes of at least k."""
        for lost, count in self.counts.items():
            label, n_groups = self.patterns.groups(question.asked & ~lost)
            size = _per_group(label, count, n_groups)
            if np.any((size > 0) & (size < k)):
                return False
        total = sum(self.counts.values(), np.zeros_like(self.patterns.frequency))
        return bool(np.array_equal(total, self.patterns.frequency))

    def per_record(self) -> Integers:
        """Return the lost keys of each record; equal records take them in the order of the file."""
        order = np.argsort(self.patterns.of_record, kind="stable")
        sets = sorted(self.counts)
        table = np.stack([self.counts[each] for each in sets], axis=1)
        lost = np.empty(self.patterns.n_records, dtype=np.int64)
        lost[order] = np.repeat(np.tile(sets, len(table)), table.ravel())
        return lost


def cheapest_classes(
    question: SuppressionQuestion, k: int, budget: Budget, improvements: int = IMPROVEMENTS
) -> Integers:
    """Search for classes of at least k records that cost little: greedy, then by moves.

    Steps are taken in the order of the cost per record in need: sets of keys that k records in need
    lose together, then those that fewer lose with recruits, who cost as much without being in need.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Set of lost keys of each record.
    """
    patterns = question.patterns
    placed = _Placed(patterns)
    need = np.where(patterns.frequency < k, patterns.frequency, 0)
    placed.of(0)[:] = patterns.frequency - need
    for fewest, keys in _steps(question, k, need):
        if not need.any():
            break
        if not budget.is_over or keys == question.asked:
            _form(question, k, placed, need, keys, fewest)
    if need.any():
        _dissolve(question, placed, need)
    for _ in range(improvements):
        if budget.is_over or not _move(question, k, placed, budget):
            break
    exact = _by_program(question, k, budget) if improvements else None
    if exact is not None and exact.cost(question) < placed.cost(question):
        placed = exact
    return placed.per_record()


def _by_program(question: SuppressionQuestion, k: int, budget: Budget) -> _Placed | None:
    """Return the classes of the exact program; None for files that are too large."""
    patterns = question.patterns
    program = None if budget.is_over else ClassProgram.of(question, k, is_exact=True)
    if program is None:
        return None
    placed = _Placed(patterns, program.chosen(patterns.n_patterns, budget))
    return placed if placed.is_sound(question, k) else None


def _steps(question: SuppressionQuestion, k: int, need: Integers) -> list[tuple[int, int]]:
    """Return least numbers of records in need and sets of keys, in the order of their steps.

    Of equal costs per record, sets by which most records in need find each other come first: 386
    values instead of 404 are lost in a survey of 4,580 records, 16,502 instead of 17,134 in 10,000
    made ones.
    """
    steps = []
    for cost, keys in question.sets_by_cost():
        if keys:
            label, n_groups = question.patterns.groups(question.asked & ~keys)
            found = _per_group(label, need, n_groups) >= k
            helped = int(np.sum(need[found[label]]))
            steps += [(cost * k / least, -least, -helped, keys) for least in range(1, k + 1)]
    return [(-least, keys) for _, least, _, keys in sorted(steps)]


def _form(
    question: SuppressionQuestion,
    k: int,
    placed: _Placed,
    need: Integers,
    keys: int,
    fewest: int,
) -> None:
    """Let records in need lose a set of keys where enough of them agree in the others."""
    patterns = placed.patterns
    label, n_groups = patterns.groups(question.asked & ~keys)
    there = placed.of(keys)
    in_need = _per_group(label, need, n_groups)
    size = _per_group(label, there, n_groups)
    spare = np.maximum(placed.of(0) - k, 0)
    recruits = np.maximum(k - in_need - size, 0)
    good = (in_need >= fewest) | ((size > 0) & (in_need > 0))
    good &= recruits <= _per_group(label, spare, n_groups)
    if fewest == k:
        good &= recruits == 0
    taken = np.where(good[label], need, 0)
    called = _first(label, spare, np.where(good, recruits, 0))
    there += taken + called
    placed.of(0)[:] -= called
    need -= taken


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


def _dissolve(question: SuppressionQuestion, placed: _Placed, need: Integers) -> None:
    """Let the last records in need lose all keys, together with the cheapest other class."""
    everything = question.asked
    best: tuple[float, int, Integers] | None = None
    for lost, count in placed.counts.items():
        label, n_groups = placed.patterns.groups(everything & ~lost)
        size = _per_group(label, count, n_groups)
        if lost == everything or not size.any():
            continue
        price = question.cost(everything) - question.cost(lost)
        chosen = int(np.argmin(np.where(size > 0, size, np.iinfo(np.int64).max)))
        if best is None or price * size[chosen] < best[0]:
            best = (price * size[chosen], lost, np.where(label == chosen, count, 0))
    there = placed.of(everything)
    there += need
    need[:] = 0
    if best is not None:
        there += best[2]
        placed.counts[best[1]] -= best[2]


def _move(question: SuppressionQuestion, k: int, placed: _Placed, budget: Budget) -> bool:
    """Move records that their class can spare to cheaper classes; return whether any moved."""
    patterns, moved = placed.patterns, False
    sets = sorted(
        (question.cost(lost), lost) for lost, count in placed.counts.items() if count.any()
    )
    for cost, target in sets:
        if budget.is_over:
            break
        label, n_groups = patterns.groups(question.asked & ~target)
        is_open = _per_group(label, placed.of(target), n_groups) > 0
        for dearer, source in reversed(sets):
            if dearer <= cost:
                break
            count = np.where(is_open[label], placed.of(source), 0)
            if not count.any():
                continue
            own, n_own = patterns.groups(question.asked & ~source)
            size = _per_group(own, placed.of(source), n_own)
            # A class that can go as a whole goes; others keep k records.
            whole = _per_group(own, count, n_own) == size
            leaving = _first(own, count, np.where(whole, size, np.maximum(size - k, 0)))
            if leaving.any():
                placed.of(source)[:] -= leaving
                placed.of(target)[:] += leaving
                moved = True
    return moved


def record_prices(question: SuppressionQuestion, k: int, floor: Floats, budget: Budget) -> Floats:
    """Return prices of patterns whose sum over all records is a lower bound.

    A price is what a record must pay at least. Prices are feasible if no class can collect more
    from its records than they lose: for each set S of lost keys and each group by the others, the
    sum of (price - cost of S) over any k or more of its records is at most 0. Then every release
    costs at least the sum of prices, by adding up over its classes: weak duality. Prices start at
    the cost that a record has by itself (`floor`), which is feasible, and are raised together, each
    by its share of what the tightest of its groups leaves.

    Parameters
    ----------
    question : SuppressionQuestion
    k : int
    floor : numpy.ndarray of float, shape (n_patterns,)
        Least cost of each pattern if only its own missing values match.
    budget : Budget
    """
    patterns = question.patterns
    price = np.where(patterns.frequency < k, floor, 0.0)
    program = None if budget.is_over else ClassProgram.of(question, k, is_exact=False)
    if program is not None:
        other = _scaled(question, k, program.prices(patterns.n_patterns, budget.share(0.5)))
        price = max((price, other), key=lambda each: float(np.sum(each * patterns.frequency)))
    frozen = patterns.frequency >= k
    for _ in range(ROUNDS):
        room = np.where(frozen, 0.0, np.inf)
        for cost, keys in question.sets_by_cost():
            if keys and not frozen.all():
                room = np.minimum(room, _room(question, k, price, frozen, cost, keys))
            if budget.is_over:
                return price
        gain = float(np.sum(room[~frozen] * patterns.frequency[~frozen]))
        price = price + np.where(frozen, 0.0, room)
        frozen |= room <= LITTLE * np.maximum(price, 1e-300)
        if gain <= LITTLE * float(np.sum(price * patterns.frequency)):
            break
    return price


def _scaled(question: SuppressionQuestion, k: int, price: Floats) -> Floats:
    """Return prices scaled down a little, so that they are feasible; zeros if they are not near."""
    for loosened in (0.0, 1e-9, 1e-7, 1e-5):
        scaled = price * (1 - loosened)
        if all(
            float(_collected(question, k, scaled, cost, keys)[0].max(initial=0.0)) <= 0.0
            for cost, keys in question.sets_by_cost()
        ):
            return scaled
    return np.zeros_like(price)


def _room(
    question: SuppressionQuestion, k: int, price: Floats, frozen: Flags, cost: float, keys: int
) -> Floats:
    """Return how far prices may rise by one set of lost keys, if all that are not frozen do."""
    patterns = question.patterns
    most, size, label = _collected(question, k, price, cost, keys)
    moving = np.where(frozen, 0, patterns.frequency)
    rising = np.bincount(label, weights=moving, minlength=len(size))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(size >= k, np.maximum(-most, 0.0) / rising, np.inf)
    return np.asarray(room[label], dtype=np.float64)


def _collected(
    question: SuppressionQuestion, k: int, price: Floats, cost: float, keys: int
) -> tuple[Floats, Floats, Integers]:
    """Return what a class of each group collects at most beyond its cost, sizes and groups.

    Groups of fewer than k records are no classes, and collect minus infinity.
    """
    patterns = question.patterns
    label, n_groups = patterns.groups(question.asked & ~keys)
    size = np.bincount(label, weights=patterns.frequency, minlength=n_groups)
    order = np.lexsort((-price, label))
    group, count = label[order], patterns.frequency[order]
    before = np.cumsum(count) - count
    start = np.searchsorted(group, np.arange(n_groups))
    before = before - before[start][group]
    forced = np.clip(k - before, 0, count)
    over = price[order] - cost
    paid = forced * over + (count - forced) * np.maximum(over, 0.0)
    found = np.bincount(group, weights=paid, minlength=n_groups)
    most = np.asarray(np.where(size >= k, found, -np.inf), dtype=np.float64)
    return most, np.asarray(size, dtype=np.float64), label
