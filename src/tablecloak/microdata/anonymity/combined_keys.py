"""Local suppression in several combinations of keys, where released records must be equal.

Records that are equal in all keys are equal in each combination, which gives one release. Another
one treats combinations in turn, each among the records as the others left them, until all hold. The
cheaper one is taken. Each combination by itself proves a bound, and a packing of combinations, in
which no key is counted more than once, proves the sum of theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.diverse_classes import SensitiveRecords, diverse_classes
from tablecloak.microdata.anonymity.levels import RecordLevels
from tablecloak.microdata.anonymity.patterns import bits_of
from tablecloak.microdata.anonymity.problem import AnonymityProblem
from tablecloak.microdata.anonymity.search import RecordClasses, cheapest_classes

ROUNDS = 20
"""Most rounds over all combinations; two or three are usual."""


def classes_in_combinations(
    problem: AnonymityProblem, k: int, budget: Budget, *, is_greedy: bool
) -> tuple[Integers, dict[int, RecordClasses]]:
    """Search for few missing values with which k records are equal in each combination.

    Returns
    -------
    lost : numpy.ndarray of int, shape (n_records,)
        Set of missing keys of each record.
    alone : dict of int to RecordClasses
        Of each combination by itself, with prices by records.
    """
    patterns = problem.patterns
    absent = problem.absent[patterns.of_record]

    def classes(lost: Integers, keys: int, part: Budget) -> tuple[Integers, RecordClasses] | None:
        released = patterns.released(lost, keys)
        if released.frequency.min() >= k:
            return None
        levels = RecordLevels.of_keys(released, keys, problem.costs)
        best = cheapest_classes(levels, k, part, is_greedy=is_greedy)
        more: Integers = best.level @ (1 << np.array(list(bits_of(keys))))
        return lost | more, replace(best, price=best.price[released.of_record])

    n = len(problem.combinations)
    alone: dict[int, RecordClasses] = {}
    best = absent
    for at, combination in enumerate(problem.combinations):
        part = budget if n == 1 else budget.share(0.4 / (n - at))
        if (one := classes(absent, combination, part)) is not None:
            best, alone[combination] = one
    if n == 1:
        return best, alone
    together = classes(absent, problem.keys, budget.share(0.5))
    best = lost = absent
    if together is not None:
        best = together[0]
    order = sorted(
        problem.combinations, key=lambda keys: -alone[keys].bound if keys in alone else 0
    )
    for _ in range(ROUNDS):
        holds = True
        for combination in order:
            more = classes(lost, combination, budget.share(0.5 / n))
            if more is not None:
                lost, holds = more[0], False
        if holds:
            return min(best, lost, key=problem.total), alone
    return best, alone


def classes_with_values(
    problem: AnonymityProblem, lost: Integers, records: SensitiveRecords, budget: Budget
) -> Integers:
    """Let records lose more keys until the classes of each combination are diverse as well.

    Combinations are treated in turn; if that does not end, all keys are taken together.
    """

    def mended(lost: Integers, combination: int) -> Integers:
        released = problem.patterns.released(lost, combination)
        return diverse_classes(released, records, combination, problem.costs, budget)

    start = lost
    for _ in range(ROUNDS):
        before = lost
        for combination in problem.combinations:
            lost = lost | mended(lost, combination)
        if np.array_equal(before, lost):
            return lost
    return start | mended(start, problem.keys)
