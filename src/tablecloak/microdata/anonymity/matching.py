"""Local suppression where a missing value matches every value, in both records, as in sdcMicro.

The frequency of a record is then the number of records that agree with it in all keys that neither
of the two has lost [1]_. Records that lose all keys agree with everybody: k - 1 of them make any
file k-anonymous by this count. The search finds that release where it is the cheapest one, and the
bound proves it.

References
----------
.. [1] Templ, Kowarik, Meindl: Statistical disclosure control for micro-data using the R package
   sdcMicro, Journal of Statistical Software 67(4), 2015; function `freqCalc` with alpha = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.lightest import cheapest_choice
from tablecloak.microdata.anonymity.patterns import KeyPatterns, bits_of
from tablecloak.microdata.anonymity.problem import AnonymityProblem
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

FEW_PAIRS = 1_500
"""Most pairs of a record in need and one that may help, for the exact program."""

FEW_VALUES = 60
"""Most suppressed values that are put back one by one, each with a count of the whole file."""


def frequencies(patterns: KeyPatterns, lost: Integers, combination: int) -> Integers:
    """Count for each record those that agree in all keys that neither has lost.

    Parameters
    ----------
    patterns : KeyPatterns
    lost : numpy.ndarray of int, shape (n_records,)
        Set of suppressed keys of each record.
    combination : int
        Set of keys that are compared.
    """
    gone = lost & combination
    kinds = {int(kind): np.flatnonzero(gone == kind) for kind in np.unique(gone)}
    count = np.zeros(len(lost), dtype=np.int64)
    for one, here in kinds.items():
        for other, there in kinds.items():
            label, n_groups = patterns.groups(combination & ~(one | other))
            size = np.bincount(label[patterns.of_record[there]], minlength=n_groups)
            count[here] += size[label[patterns.of_record[here]]]
    return count


@dataclass(frozen=True, eq=False)
class MissingMatches:
    """Missing matches of patterns, and the bound that multipliers on them prove.

    Let record i have f(i, Q) equal records in the combination Q of keys, and need
    n(i, Q) = k - f(i, Q) > 0 more. If it keeps the keys of Q, only records that lose keys can
    supply them: record j with the lost set S matches i if both agree in Q without S. With
    multipliers y(i, Q) >= 0, a record that loses S therefore supplies at most::

        sum over Q that meets S of  [ sum of y(i, Q) over the i that agree with j in Q - S,
                                      but not in Q ]  +  n(j, Q) y(j, Q)

    where the last term is its own need, which disappears. If this is at most the cost of S, for
    all records and sets S, every release costs at least sum n(i, Q) y(i, Q): weak duality.

    Parameters
    ----------
    problem : AnonymityProblem
    k : int
    """

    problem: AnonymityProblem
    k: int
    _own: dict[int, Integers] = field(default_factory=dict, repr=False)

    def of(self, combination: int) -> Integers:
        """Return how many matches a record of each pattern lacks in a combination."""
        if combination not in self._own:
            patterns = self.problem.patterns
            together = _sums(patterns, combination, patterns.frequency.astype(np.float64))
            self._own[combination] = np.maximum(self.k - together, 0).astype(np.int64)
        return self._own[combination]

    def supply(self, suppressed: int, multipliers: dict[int, Floats]) -> Floats:
        """Return what a record of each pattern supplies when it loses a set of keys."""
        patterns = self.problem.patterns
        total = np.zeros(patterns.n_patterns)
        left: dict[int, Floats] = {}
        for combination, y in multipliers.items():
            if combination & suppressed:
                kept = combination & ~suppressed
                left[kept] = left.get(kept, 0.0) + y * patterns.frequency
                total += self.of(combination) * y - self._together(combination, y)
        for kept, weight in left.items():
            total += _sums(patterns, kept, weight)
        return total

    def _together(self, combination: int, y: Floats) -> Floats:
        """Return the sum of multipliers over the records that agree with each pattern."""
        return _sums(self.problem.patterns, combination, y * self.problem.patterns.frequency)

    def value(self, multipliers: dict[int, Floats]) -> float:
        """Return the sum of needs times multipliers."""
        frequency = self.problem.patterns.frequency
        return sum(float(np.sum(self.of(each) * y * frequency)) for each, y in multipliers.items())

    def share(self, multipliers: dict[int, Floats]) -> float:
        """Return the share of multipliers with which no set of keys supplies more than it costs."""
        share = 1.0
        for cost, keys in self.problem.sets_by_cost():
            if keys:
                most = float(self.supply(keys, multipliers).max(initial=0.0))
                if share * most > cost:
                    share = cost / most
        return share

    def multipliers(self, budget: Budget) -> dict[int, Floats]:
        """Return multipliers that are equal for all patterns whose need is large enough.

        Of the needs, the best limit is taken; when the time is over, the best one so far.
        """
        needs = {combination: self.of(combination) for combination in self.problem.combinations}
        largest = max(int(need.max()) for need in needs.values())
        best = {combination: np.zeros(len(need)) for combination, need in needs.items()}
        value = 0.0
        # Values that were missing before match everybody, which this bound does not allow for.
        largest = 0 if self.problem.patterns.missing.any() else largest
        for least in range(largest, 0, -1):
            if value and budget.is_over:
                break
            # As large as any cost, so that what is supplied decides the scale.
            y: dict[int, Floats] = {
                combination: np.where(need >= least, float(np.sum(self.problem.costs)), 0.0)
                for combination, need in needs.items()
            }
            share, total = self.share(y), self.value(y)
            if share * total > value:
                value = share * total
                best = {combination: share * each for combination, each in y.items()}
        return best


def _sums(patterns: KeyPatterns, kept: int, weight: Floats) -> Floats:
    """Return for each pattern the sum of weights over those that agree in some keys."""
    label, n_groups = patterns.groups(kept)
    sums = np.asarray(np.bincount(label, weights=weight, minlength=n_groups), dtype=np.float64)
    return sums[label]


def cheapest_matching(problem: AnonymityProblem, k: int, budget: Budget) -> Integers:
    """Search for the fewest values whose loss makes all frequencies k.

    Candidates are the cheapest release where missing values of others do not count, and the one in
    which as few records as possible lose all keys; values that are not needed are put back. Small
    files are searched by an exact program.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Set of suppressed keys of each record.
    """
    patterns = problem.patterns
    alone = cheapest_choice(problem, budget.share(0.3)).suppressed[patterns.of_record]
    needs = MissingMatches(problem, k)
    empty = problem.absent[patterns.of_record]
    need = k - np.min([frequencies(patterns, empty, each) for each in problem.combinations], axis=0)
    need = np.maximum(need, 0)
    empty[np.argsort(-need, kind="stable")[: int(need.max())]] = problem.keys
    incumbent = _put_back(problem, k, min(alone, empty, key=problem.total), budget)
    exact = _by_program(problem, needs, incumbent, budget)
    return min(incumbent, exact, key=problem.total)


def _is_enough(problem: AnonymityProblem, k: int, lost: Integers) -> bool:
    return all(
        int(frequencies(problem.patterns, lost, each).min()) >= k for each in problem.combinations
    )


def _put_back(problem: AnonymityProblem, k: int, lost: Integers, budget: Budget) -> Integers:
    """Put values back that are not needed, the dearest first; only where they are few."""
    more = lost & ~problem.patterns.missing[problem.patterns.of_record]
    records = np.flatnonzero(more)
    values = [(key, int(record)) for record in records for key in bits_of(int(more[record]))]
    if len(values) > FEW_VALUES:
        return lost
    for key, record in sorted(values, key=lambda value: -problem.costs[value[0]]):
        fewer = lost.copy()
        fewer[record] &= ~(1 << key)
        if not budget.is_over and _is_enough(problem, k, fewer):
            lost = fewer
    return lost


def _by_program(
    problem: AnonymityProblem, needs: MissingMatches, start: Integers, budget: Budget
) -> Integers:
    """Solve small files as a mixed-integer program; return the start if it is too large.

    min sum w(c) s(i,c)  with  z(i,Q,j) <= s(i,c) + s(j,c) for each key c of Q in which i and j
    differ, and sum over j of z(i,Q,j) >= n(i,Q): z says that i and j match after the loss.
    """
    patterns = problem.patterns
    n, keys = patterns.n_records, list(bits_of(problem.keys))
    codes = patterns.matrix[patterns.of_record]
    pairs = sum(
        int(np.sum(needs.of(each)[patterns.of_record] > 0)) * n for each in problem.combinations
    )
    if pairs > FEW_PAIRS or budget.is_over or patterns.missing.any():
        return start
    place = {key: at for at, key in enumerate(keys)}
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    low: list[float] = []
    n_columns = n * len(keys)
    for combination in problem.combinations:
        need = needs.of(combination)[patterns.of_record]
        inside = list(bits_of(combination))
        for i in np.flatnonzero(need).tolist():
            differs = codes[:, inside] != codes[i, inside]
            helpers = np.flatnonzero(differs.any(axis=1)).tolist()
            supply = []
            for j in helpers:
                z, n_columns = n_columns, n_columns + 1
                supply.append(z)
                for at in np.flatnonzero(differs[j]).tolist():
                    key = place[inside[at]]
                    rows += [len(low)] * 3
                    columns += [i * len(keys) + key, j * len(keys) + key, z]
                    entries += [1.0, 1.0, -1.0]
                    low.append(0.0)
            rows += [len(low)] * len(supply)
            columns += supply
            entries += [1.0] * len(supply)
            low.append(float(need[i]))
    if not low:
        return start
    n_values = n * len(keys)
    cost = np.concatenate([np.tile(problem.costs[keys], n), np.zeros(n_columns - n_values)])
    matrix = csr_array(coo_array((entries, (rows, columns)), shape=(len(low), n_columns)))
    program = Program(
        cost=cost,
        matrix=matrix,
        row_lower=np.array(low),
        row_upper=np.full(len(low), np.inf),
        lower=np.zeros(n_columns),
        upper=np.ones(n_columns),
        integral=np.arange(n_columns) < n_values,
    )
    answer = solve(program, time_limit=budget.left)
    if not len(answer.x):
        return start
    chosen = np.rint(answer.x[:n_values]).astype(np.int64).reshape(n, len(keys))
    lost: Integers = chosen @ (1 << np.array(keys))
    return lost if _is_enough(problem, needs.k, lost) else start


def greedy_matching(problem: AnonymityProblem, k: int, budget: Budget) -> Integers:
    """Suppress as `kAnon` of sdcMicro does: one value after the other, near records first.

    For each combination, of each pattern at most k records are looked at. Each of these whose
    frequency is below k loses a key in which it differs from one of its nearest records, the
    cheapest one, and of equal ones that with most categories; this is repeated until all
    frequencies are k.

    Returns
    -------
    numpy.ndarray of int, shape (n_records,)
        Set of suppressed keys of each record. When the time is over, the rest loses all keys.
    """
    patterns = problem.patterns
    lost = problem.absent[patterns.of_record]
    sizes = np.array(patterns.sizes)
    for combination in problem.combinations:
        inside = np.array(list(bits_of(combination)))
        order = np.lexsort((-sizes[inside], problem.costs[inside]))
        some = _some_of_each(patterns, k)
        codes = patterns.matrix[patterns.of_record[some]][:, inside]
        codes[(lost[some][:, None] >> inside) & 1 == 1] = -1
        while True:
            count = frequencies(patterns, lost, combination)[some]
            bad = np.flatnonzero(count < k)
            if not len(bad):
                break
            for i in bad[np.argsort(count[bad], kind="stable")].tolist():
                mine = codes[i]
                differs = (codes != mine) & (codes >= 0) & (mine >= 0)
                distance = differs.sum(axis=1)
                if budget.is_over or not distance.any():
                    codes[i] = -1
                else:
                    near = distance == distance[distance > 0].min()
                    codes[i, order[np.argmax(differs[near].any(axis=0)[order])]] = -1
                lost[some[i]] |= int(np.sum((1 << inside)[codes[i] < 0]))
    return lost


def _some_of_each(patterns: KeyPatterns, k: int) -> Integers:
    """Return the first k records of each pattern."""
    order = np.argsort(patterns.of_record, kind="stable")
    start = np.cumsum(patterns.frequency) - patterns.frequency
    rank = np.arange(len(order)) - start[patterns.of_record[order]]
    return np.asarray(np.sort(order[rank < k]))
