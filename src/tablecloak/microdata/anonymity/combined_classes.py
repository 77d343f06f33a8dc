"""Equal records in several combinations of keys, a missing value being a value of its own.

Records that are equal in all keys are equal in each combination, which gives one release. Another
one treats combinations in turn, each among the records as the others left them, until all hold. The
cheaper one is taken. Each combination by itself proves a bound, and a packing of combinations, in
which no key is counted more than once, proves the sum of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.question import SuppressionQuestion
from tablecloak.microdata.anonymity.strict import Classes, cheapest_classes, greedy_classes

ROUNDS = 20
"""Most rounds over all combinations; two or three are usual."""


@dataclass(frozen=True, eq=False)
class CombinedClasses:
    """Which keys records lose, and the prices of each combination.

    Parameters
    ----------
    lost : numpy.ndarray of int, shape (n_records,)
    prices : dict of int to numpy.ndarray of float, shape (n_records,)
    bounds : dict of int to float
        What the prices of each combination prove.
    """

    lost: Integers
    prices: dict[int, Floats]
    bounds: dict[int, float]


def classes_in_combinations(
    question: SuppressionQuestion,
    k: int,
    random: np.random.Generator,
    budget: Budget,
    *,
    is_greedy: bool,
) -> CombinedClasses:
    """Search for few missing values with which k records are equal in each combination."""
    patterns = question.patterns
    absent = (patterns.missing & question.asked)[patterns.of_record]

    def classes(lost: Integers, combination: int, part: Budget) -> Classes | None:
        released = _released(patterns, lost, combination)
        if released.frequency.min() >= k:
            return None
        asked = SuppressionQuestion(released, (combination,), question.requirements, question.costs)
        if is_greedy:
            return greedy_classes(asked, k, part)
        return cheapest_classes(asked, k, random, part)

    n = len(question.combinations)
    prices, bounds = {}, {}
    for at, combination in enumerate(question.combinations):
        alone = classes(absent, combination, budget.share(0.4 / (n - at)))
        if alone is not None:
            of_record = _released(patterns, absent, combination).of_record
            prices[combination] = alone.price[of_record]
            bounds[combination] = alone.bound
    together = classes(absent, question.asked, budget.share(0.5))
    best = absent if together is None else together.lost
    lost = absent
    for _ in range(ROUNDS):
        holds = True
        for combination in sorted(question.combinations, key=lambda keys: -bounds.get(keys, 0.0)):
            found = classes(lost, combination, budget.share(0.5 / n))
            if found is not None:
                lost, holds = lost | (found.lost & combination), False
        if holds:
            best = min((best, lost), key=lambda each: _cost(question, each))
            break
    return CombinedClasses(best, prices, bounds)


def _cost(question: SuppressionQuestion, lost: Integers) -> float:
    """Return the cost of lost keys; what was missing before is the same in all releases."""
    kinds, count = np.unique(lost, return_counts=True)
    return float(sum(question.cost(int(kind)) * n for kind, n in zip(kinds, count, strict=True)))


def _released(patterns: KeyPatterns, lost: Integers, combination: int) -> KeyPatterns:
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
    found, of_record = np.unique(label, return_inverse=True)
    of_record = of_record.ravel().astype(np.int64)
    some = np.zeros(len(found), dtype=np.int64)
    some[of_record] = np.arange(len(lost))
    missing = np.zeros(len(found), dtype=np.int64)
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
