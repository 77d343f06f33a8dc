"""What is asked of local suppression: combinations of keys, requirements, costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.requirements import GroupRequirement


@dataclass(frozen=True, eq=False)
class SuppressionQuestion:
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
    def asked(self) -> int:
        """All keys that are in a combination."""
        keys = 0
        for combination in self.combinations:
            keys |= combination
        return keys

    @property
    def is_monotone(self) -> bool:
        """Whether groups that satisfy all requirements still do when records join."""
        return all(each.is_monotone for each in self.requirements)

    def cost(self, suppressed: int) -> float:
        """Return the cost of a set of suppressed keys, in one record.

        Keys are added in their order, so that equal sets have equal sums.
        """
        return float(sum(self.costs[key] for key in bits_of(suppressed)))

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

    def sets_by_cost(self) -> Iterator[tuple[float, int]]:
        """Return all sets of keys that are asked for, with their costs, the cheapest first."""
        keys = list(bits_of(self.asked))
        yield 0.0, 0
        # Each set is made once, from the set without its last key.
        heap = [(self.cost(1 << key), 1 << key, at) for at, key in enumerate(keys)]
        heap.sort()
        while heap:
            cost, chosen, last = heappop(heap)
            yield cost, chosen
            for at in range(last + 1, len(keys)):
                larger = chosen | 1 << keys[at]
                heappush(heap, (self.cost(larger), larger, at))


def maximal(sets: set[int]) -> tuple[int, ...]:
    """Return the sets that are in no other one, in rising order."""
    found: list[int] = []
    for each in sorted(sets, key=lambda keys: (-keys.bit_count(), keys)):
        if not any(each & ~other == 0 for other in found):
            found.append(each)
    return tuple(sorted(found))
