"""The cheapest suppression of each record, where its missing values match every true value.

A record is then safe if the group of all true records that agree with what is left of it satisfies
the requirements: what other records lose does not count, so that each pattern is decided by itself.
This is the local suppression of de Waal and Willenborg [1]_: a set cover for each record, in which
the suppressed keys hit each of its unsafe combinations.

References
----------
.. [1] de Waal, Willenborg: Optimal local suppression in microdata, Journal of Official Statistics
   14, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.levels import Node, RecordLevels
from tablecloak.microdata.anonymity.patterns import bits_of, mask_of
from tablecloak.microdata.anonymity.problem import AnonymityProblem


@dataclass(frozen=True, eq=False)
class KeyChoice:
    """A set of suppressed keys for each pattern.

    Parameters
    ----------
    suppressed : numpy.ndarray of int, shape (n_patterns,)
        Set of suppressed keys, those with it whose values were missing before.
    floor : numpy.ndarray of float, shape (n_patterns,)
        No set of keys that costs less makes the pattern safe.
    """

    suppressed: Integers
    floor: Floats


def cheapest_choice(problem: AnonymityProblem, budget: Budget) -> KeyChoice:
    """Try sets of keys from the cheapest on, until each pattern has one that makes it safe.

    The first one that does is proved to be the cheapest. When the time is over, the patterns that
    are left take the greedy choice, and the cost that was reached is their bound.
    """
    keys = np.array(list(bits_of(problem.keys)))
    levels = RecordLevels.of_keys(problem.patterns, problem.keys, problem.costs)

    def is_safe(node: Node, among: Integers) -> Flags:
        budget.report("sets of keys", 0.0, 0.0, len(among))
        return problem.allowed(mask_of(keys[np.array(node) == 1].tolist()), among)

    number, floor = levels.cheapest(is_safe, budget)
    suppressed: Integers = levels.levels_of(np.maximum(number, 0)) @ (1 << keys)
    rest = np.flatnonzero(number < 0)
    if len(rest):
        suppressed[rest] = greedy_choice(problem, rest)
    return KeyChoice(suppressed, floor)


def greedy_choice(problem: AnonymityProblem, among: Integers | None = None) -> Integers:
    """Suppress one key after the other in each unsafe pattern, as the greedy rule of set cover.

    The key is the one that makes most combinations safe for its cost; of equal ones, the one that
    leaves the pattern in the largest group for its cost.

    Parameters
    ----------
    problem : AnonymityProblem
    among : numpy.ndarray of int, optional
        Patterns to treat; by default all.

    Returns
    -------
    numpy.ndarray of int
        Set of suppressed keys of each of these patterns.
    """
    at = np.arange(problem.patterns.n_patterns) if among is None else among
    suppressed = problem.patterns.missing[at] & problem.keys
    rest = np.arange(len(at))
    while len(rest):
        still = []
        for state in np.unique(suppressed[rest]).tolist():
            here = rest[suppressed[rest] == state]
            here = here[~problem.allowed(state, at[here])]
            if not len(here):
                continue
            keys = np.array(list(bits_of(problem.keys & ~state)))
            before = _score(problem, state, at[here])
            gains = [
                (_score(problem, state | 1 << int(key), at[here]) - before) / problem.costs[key]
                for key in keys
            ]
            suppressed[here] = state | 1 << keys[np.argmax(gains, axis=0)]
            still.append(here)
        rest = np.concatenate(still) if still else rest[:0]
    return suppressed


def greedy_with_floor(problem: AnonymityProblem) -> KeyChoice:
    """Return the greedy choice, and as bound that each unsafe pattern loses its cheapest key."""
    suppressed = greedy_choice(problem)
    least = min(problem.cost(1 << key) for key in bits_of(problem.keys))
    more = suppressed & ~problem.patterns.missing
    return KeyChoice(suppressed, np.where(more > 0, least, 0.0))


def _score(problem: AnonymityProblem, suppressed: int, among: Integers) -> Floats:
    """Return the number of safe combinations, and a part below 1 that grows with the groups."""
    patterns, score = problem.patterns, np.zeros(len(among))
    for combination in problem.combinations:
        kept = combination & ~suppressed
        unsafe = problem.unsafe(kept)
        label, n_groups = patterns.groups(kept)
        size = np.bincount(label, weights=patterns.frequency, minlength=n_groups)
        share = size[label[among]] / patterns.n_records
        score += share / len(problem.combinations)
        score += 1.0 if unsafe is None else ~unsafe[among]
    return score
