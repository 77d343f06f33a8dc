"""Probabilistic record linkage: agreements of columns, weighted by how telling they are.

References
----------
.. [1] Fellegi, Sunter: A theory for record linkage, Journal of the American Statistical Association
   64, 1969.
.. [2] Jaro: Advances in record-linkage methodology as applied to matching the 1985 census of Tampa,
   Journal of the American Statistical Association 84, 1989 (estimation by EM).
.. [3] Winkler: Methods for record linkage and Bayesian networks, 2002 (missing comparisons).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.columns import names_of, require_same_records, some_rows
from tablecloak.microdata.risk.linkage import GowerColumns

STEPS = 2000
"""Most steps of the EM algorithm."""

CONVERGED = 1e-9
"""It ends when no probability changes by more."""

MANY_COLUMNS = 12
"""Largest number of columns: there are 3^12 patterns of agreeing, differing and missing."""

LIMIT = 3000
"""Default number of records, all pairs of which are compared."""

INSIDE = 1e-6
"""Probabilities stay this far from 0 and 1, so that no single agreement is proof."""


@dataclass(frozen=True, eq=False)
class ProbabilisticLinkage:
    """The model of agreements, and the links that it gives.

    Parameters
    ----------
    columns : pandas.DataFrame
        Indexed by column: ``m``, the probability that it agrees in a pair of the same person;
        ``u``, that it does in other pairs; ``agrees`` and ``differs``, the weights log2(m / u) and
        log2((1 - m) / (1 - u)).
    matches : float
        Estimated share of pairs of the same person among all pairs.
    records : numpy.ndarray of int, shape (n_linked,)
        Positions of the released records that were linked.
    right : numpy.ndarray of float, shape (n_linked,)
        1/n if n originals have the largest weight and the record's own is one of them, else 0.
    """

    columns: pd.DataFrame
    matches: float
    records: Integers
    right: Floats

    @property
    def share(self) -> float:
        """Share of the released records that are linked to their own original."""
        return float(self.right.mean())

    def summary(self) -> str:
        """Return the links in one line."""
        telling = str(self.columns["agrees"].idxmax())
        return (
            f"probabilistic linkage: {100 * self.share:.4g} % of {len(self.records)} released "
            f"records are linked to their own original; {telling} tells most"
        )


def probabilistic_linkage(
    original: pd.DataFrame,
    released: pd.DataFrame,
    columns: Sequence[str],
    *,
    width: float = 0.01,
    most: int = LIMIT,
) -> ProbabilisticLinkage:
    """Link released to original records by the agreement of columns (Fellegi and Sunter).

    Parameters
    ----------
    original, released : pandas.DataFrame
        The same records in the same order; the model does not use that. A column that is missing in
        one of two records says nothing about the pair [3]_.
    columns : sequence of str
        At most 12 columns that an intruder knows.
    width : float, default=0.01
        Numbers agree if they differ by at most this share of the range of the original. Categories
        agree if they are equal.
    most : int, default=3000
        Largest number of records, drawn at random but always the same, all pairs of which are
        compared. Fewer originals are easier to link to.

    Returns
    -------
    ProbabilisticLinkage
        Each released record is linked to the original of the largest sum of weights [1]_. The
        probabilities are those of largest likelihood if columns agree independently of each other
        in pairs of the same person and in other pairs, found by EM [2]_.

    Raises
    ------
    InputError
        If a column does not exist, there are too many, the numbers of records differ, or a
        parameter is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"job": list("abcd"), "age": [20, 40, 30, 50]})
    >>> probabilistic_linkage(people, people, ["job", "age"]).share
    1.0
    """
    require_same_records(original, released)
    names = names_of(columns, "columns")
    if len(names) > MANY_COLUMNS:
        raise InputError(f"At most {MANY_COLUMNS} columns are compared. Got {len(names)}.")
    if width < 0 or most < 1:
        raise InputError(
            f"`width` must be at least 0 and `most` at least 1. Got {width!r} and {most!r}."
        )
    records = some_rows(len(original), most)
    coded = GowerColumns.of(original, released, names)
    patterns = _patterns(coded, records, width)
    counts = np.bincount(patterns.ravel(), minlength=3 ** len(names)).astype(np.float64)
    present = np.flatnonzero(counts)
    states = present[:, None] // 3 ** np.arange(len(names)) % 3
    matches, m, u = agreement_model(states, counts[present], len(records))
    agrees, differs = np.log2(m / u), np.log2((1 - m) / (1 - u))
    weights = np.zeros(len(counts))
    weights[present] = np.sum(
        np.where(states == 1, agrees, np.where(states == 0, differs, 0.0)), axis=1
    )
    # Patterns of equal weight tie, whichever columns agree.
    weight = np.round(weights, 9)[patterns]
    best = weight >= weight.max(axis=1, keepdims=True)
    right = best.diagonal() / best.sum(axis=1)
    table = pd.DataFrame(
        {"m": m, "u": u, "agrees": agrees, "differs": differs},
        index=pd.Index(names, name="column"),
    )
    return ProbabilisticLinkage(table, matches, records, right)


def _patterns(coded: GowerColumns, records: Integers, width: float) -> Integers:
    """Return the pattern of each pair: a digit for each column, 0 differs, 1 agrees, 2 missing."""
    patterns = np.zeros((len(records), len(records)), dtype=np.int32)
    reach = width * (1 + 1e-12)
    for at, (x, y) in enumerate(zip(coded.before, coded.after, strict=True)):
        gap = np.abs(y[records][:, None] - x[records][None, :])
        limit = reach if coded.is_number[at] else 0.0
        state = np.where(np.isnan(gap), 2, gap <= limit)
        patterns += (state * 3**at).astype(np.int32)
    return patterns.astype(np.int64)


def agreement_model(
    states: Integers, counts: Floats, n_records: int
) -> tuple[float, Floats, Floats]:
    """Estimate the probabilities of agreement in pairs of the same person, and in other pairs.

    Parameters
    ----------
    states : numpy.ndarray of int, shape (n_patterns, n_columns)
        0 differs, 1 agrees, 2 missing.
    counts : numpy.ndarray of float, shape (n_patterns,)
        Number of pairs with each pattern.
    n_records : int
        The search begins at one pair in so many of the same person.

    Returns
    -------
    matches : float
    m, u : numpy.ndarray of float, shape (n_columns,)
    """
    agree, known = states == 1, states != 2
    total = counts.sum()
    matches = 1 / max(n_records, 2)
    compared = np.maximum(counts @ known, 1.0)
    m = np.full(states.shape[1], 0.9)
    u = np.clip(counts @ agree / compared, INSIDE, 1 - INSIDE)
    for _ in range(STEPS):
        one, other = (
            np.prod(np.where(agree, p, np.where(known, 1 - p, 1.0)), axis=1) for p in (m, u)
        )
        same = matches * one / (matches * one + (1 - matches) * other)
        before = np.concatenate([m, u, [matches]])
        matches = float(counts @ same / total)
        m, u = (
            np.clip((weight @ agree) / np.maximum(weight @ known, 1e-300), INSIDE, 1 - INSIDE)
            for weight in (counts * same, counts * (1 - same))
        )
        matches = float(np.clip(matches, INSIDE / max(n_records, 2), 1 - INSIDE))
        if np.max(np.abs(np.concatenate([m, u, [matches]]) - before)) < CONVERGED:
            break
    return matches, m, u
