"""Risk in the population by a log-linear model: how many sample uniques are alone in it too.

References
----------
.. [1] Skinner, Holmes: Estimating the re-identification risk per record in microdata, Journal of
   Official Statistics 14, 1998.
.. [2] Skinner, Shlomo: Assessing identification risk in survey microdata using log-linear models,
   Journal of the American Statistical Association 103, 2008 (tau 1 and tau 2; pseudo maximum
   likelihood).
.. [3] Clogg, Eliason: Some common problems in log-linear analysis, Sociological Methods and
   Research 16, 1987 (cell weights as an offset).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import names_of
from tablecloak.microdata.library_frames import of_any_library
from tablecloak.microdata.loglinear import LogLinearModel
from tablecloak.microdata.risk.keys import KeyCells, weights_of

MANY_CELLS = 2_000_000
"""Largest key table to which a model with interactions is fitted."""

TOLERANCE = 1e-7
"""Margins are fitted to within this share of the number of records."""

ROUNDS = 10
"""Rounds of the EM algorithm where keys are missing: each spreads such records by the last fit."""


@dataclass(frozen=True, eq=False)
class PopulationRisk:
    """Risk of the sample uniques of a file.

    Parameters
    ----------
    unique : numpy.ndarray of int, shape (n_uniques,)
        Positions of the records whose keys no other record of the file has.
    expected : numpy.ndarray of float, shape (n_uniques,)
        Mean of the number of *other* persons of the population with these keys.
    """

    unique: Integers
    expected: Floats

    @property
    def population_unique(self) -> Floats:
        """Probability that no other person has the keys: P(F = 1 | f = 1), shape (n_uniques,)."""
        return np.exp(-self.expected)

    @property
    def match(self) -> Floats:
        """Probability of a right match: E(1 / F | f = 1), shape (n_uniques,)."""
        near = self.expected < 1e-8
        safe = np.where(near, 1.0, self.expected)
        return np.where(near, 1.0, -np.expm1(-safe) / safe)

    @property
    def tau1(self) -> float:
        """Expected number of sample uniques that are unique in the population [2]_."""
        return float(self.population_unique.sum())

    @property
    def tau2(self) -> float:
        """Expected number of right matches of sample uniques [2]_."""
        return float(self.match.sum())

    def summary(self) -> str:
        """Return the risk in one line."""
        return (
            f"population: of {len(self.unique)} sample uniques {self.tau1:.4g} are expected to be "
            f"unique in the population, and {self.tau2:.4g} of their matches to be right"
        )


@of_any_library
def population_risk(
    frame: pd.DataFrame,
    keys: Sequence[str],
    *,
    weight: str | None = None,
    fraction: float | None = None,
    interactions: Literal["all", "none"] | Sequence[Sequence[str]] = "all",
    weighting: Literal["fraction", "offset", "pseudo"] = "fraction",
    missing: Literal["category", "open"] = "category",
) -> PopulationRisk:
    """Estimate how many sample uniques are unique in the population, and how many matches right.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        Attributes that an intruder knows.
    weight : str, optional
        Column of sampling weights. Either weights or a fraction must be given.
    fraction : float, optional
        Share of the population that is in the file, 0 < fraction <= 1.
    interactions : {"all", "none"} or sequence of sequences of str, default="all"
        Interactions of the log-linear model beside the main effects: all pairs of keys, none, or
        sets of keys. Too few give too much risk, too many too little.
    weighting : {"fraction", "offset", "pseudo"}, default="fraction"
        What weights are used for.

        - ``fraction``: only for the sampling fraction, n / sum of the weights; the model is fitted
          to the counts of the file.
        - ``offset``: each cell has its own fraction, f / F with the sum F of its weights, which is
          an offset of the model [3]_ ("CE" in sdcMicro). Empty cells have the overall one.
        - ``pseudo``: the model is fitted to F, the weighted counts, by pseudo maximum
          likelihood [2]_ ("PML" in sdcMicro); fractions as for ``offset``.
    missing : {"category", "open"}, default="category"
        Whether a missing key is a category, or is not known, as for `key_risk`. In that case a
        record counts in the model by the keys that it has (10 rounds of EM), is unique if no
        other has these keys, and its number of persons is the sum over the keys that it lacks.

    Returns
    -------
    PopulationRisk
        F is Poisson with mean lambda, and f with mean pi lambda [1]_. Given f = 1, F - 1 is
        Poisson with mean v = (1 - pi) lambda, so that P(F = 1) = exp(-v) and
        E(1 / F) = (1 - exp(-v)) / v.

    Raises
    ------
    InputError
        If a column does not exist, the fraction is missing or out of range, or there are too many
        combinations of keys for a model with interactions.

    Notes
    -----
    `modRisk` of sdcMicro has the fitted mean of the *file*, pi lambda, in place of lambda in v, and
    so takes nearly all sample uniques for unique in the population where pi is small.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": list("mmmff"), "job": list("aabab")})
    >>> found = population_risk(people, ["sex", "job"], fraction=0.5, interactions="none")
    >>> round(found.tau1, 3), round(found.tau2, 3)
    (1.052, 1.853)
    """
    records = CodedRecords.of(frame, names_of(keys, "keys"))
    cells = KeyCells.of(records)
    n = float(len(frame))
    weighted = cells.count.astype(np.float64)
    if weight is not None:
        weighted = np.asarray(
            np.bincount(cells.of_record, weights=weights_of(frame, weight)), dtype=np.float64
        )
    overall = _overall(fraction, n, weighted.sum() if weight is not None else None)
    if weight is None and weighting != "fraction":
        raise InputError(f"`weighting` {weighting!r} needs a column of weights. Name `weight`.")
    is_open = missing == "open"
    number = cells.agreeing(cells.count.astype(np.float64)) if is_open else 1.0 * cells.count
    pi = np.full(len(cells.count), overall)
    if weighting != "fraction":
        pi = number / (cells.agreeing(weighted) if is_open else weighted)
    model = _model(records, interactions)
    given = weighted if weighting == "pseudo" else cells.count.astype(np.float64)
    if weighting == "offset":
        start = np.full(records.sizes, overall) if _is_small(records) else None
        expected = _fitted(model, records, cells, given, is_open, pi, start)
    else:
        expected = _fitted(model, records, cells, given, is_open)
    if weighting == "fraction":
        expected = expected / pi
    unique = np.flatnonzero(number[cells.of_record] == 1)
    at = cells.of_record[unique]
    return PopulationRisk(unique, ((1 - pi) * expected)[at])


def _overall(fraction: float | None, n: float, persons: float | None) -> float:
    if (fraction is None) == (persons is None):
        raise InputError(
            "The size of the population must be known: give either `weight`, a column of sampling "
            "weights, or `fraction`, the share of the population that is in the file."
        )
    share = n / float(persons) if persons is not None else float(fraction or 0)
    if not 0 < share <= 1:
        raise InputError(f"`fraction` must be above 0 and at most 1. Got {fraction!r}.")
    return share


def _model(
    records: CodedRecords, interactions: Literal["all", "none"] | Sequence[Sequence[str]]
) -> LogLinearModel:
    if interactions == "all":
        pairs: list[Sequence[str]] = list(itertools.combinations(records.names, 2))
    elif interactions == "none":
        pairs = []
    elif isinstance(interactions, str):
        raise InputError(
            f'`interactions` must be "all", "none" or a list of lists of keys. Got '
            f"{interactions!r}."
        )
    else:
        pairs = [tuple(pair) for pair in interactions if len(pair) > 1]
    return LogLinearModel.of(records.names, pairs)


def _is_small(records: CodedRecords) -> bool:
    """Whether a model with interactions can be fitted.

    Raises
    ------
    InputError
        If not.
    """
    if records.n_cells > MANY_CELLS:
        raise InputError(
            f"The keys have {records.n_cells:,} combinations; a model with interactions is fitted "
            f"to at most {MANY_CELLS:,}. Name fewer keys, group their values, or take "
            'interactions="none".'
        )
    return True


def _fitted(
    model: LogLinearModel,
    records: CodedRecords,
    cells: KeyCells,
    given: Floats,
    is_open: bool,
    offset: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Return the mean of each cell that has records, fitted to the counts that are given.

    With an offset the mean is divided by it, and `start` is the offset of empty cells.
    """
    absent = cells.missing if is_open else np.zeros_like(cells.missing)
    if absent.all(axis=0).any():
        raise InputError("A key is missing in all records, so that no model can be fitted.")
    total = given.sum()
    shares = [
        np.bincount(codes[~lacks], weights=given[~lacks], minlength=size) / given[~lacks].sum()
        for codes, lacks, size in zip(cells.codes, absent.T, records.sizes, strict=True)
    ]
    if start is None and all(len(generator) == 1 for generator in model.generators):
        # Records that lack a key say nothing about it, and as much as others about the rest.
        mean = np.full(len(given), total)
        for share, codes, lacks in zip(shares, cells.codes, absent.T, strict=True):
            mean *= np.where(lacks, 1.0, share[codes])
        return mean
    _is_small(records)
    if start is not None and offset is not None:
        full = ~absent.any(axis=1)
        start[tuple(codes[full] for codes in cells.codes)] = offset[full]
    parts = [
        _IncompleteCells(mine, tuple(np.flatnonzero(absent[mine[0]]).tolist()))
        for mine in ([m for m, _, _ in cells.patterns()] if is_open else [np.arange(len(given))])
    ]
    probability = shares[0]
    for share in shares[1:]:
        probability = probability[..., None] * share
    for _ in range(ROUNDS if absent.any() else 1):
        table = np.zeros(records.sizes)
        for part in parts:
            part.spread(table, probability, cells, given)
        probability = model.fit(table, start=start, tolerance=TOLERANCE)
    if start is not None:
        probability = probability / start
    mean = np.zeros(len(given))
    for part in parts:
        margin = probability.sum(axis=part.lacking) if part.lacking else probability
        mean[part.cells] = margin[part.places(cells)] * total
    return mean


@dataclass(frozen=True, eq=False)
class _IncompleteCells:
    """Cells that lack the same keys."""

    cells: Integers
    lacking: tuple[int, ...]

    def places(self, cells: KeyCells) -> tuple[Integers, ...]:
        """Return the codes of the keys that they have."""
        return tuple(
            codes[self.cells] for key, codes in enumerate(cells.codes) if key not in self.lacking
        )

    def spread(self, table: Floats, probability: Floats, cells: KeyCells, given: Floats) -> None:
        """Add their counts to the table, by the probabilities of what they lack (EM)."""
        places = self.places(cells)
        if not self.lacking:
            table[places] += given[self.cells]
            return
        margin = probability.sum(axis=self.lacking, keepdims=True)
        count = np.zeros(margin.shape).squeeze(axis=self.lacking)
        count[places] = given[self.cells] if places else given[self.cells].sum()
        count = np.expand_dims(count, self.lacking)
        table += probability * np.divide(count, margin, out=np.zeros_like(margin), where=margin > 0)
