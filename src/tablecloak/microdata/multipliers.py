"""One multiplier for each contributor, bounded away from 1.

A contributor e gets m_e = 1 + s_e d_e with a direction s_e = +1 or -1 and a size d_e between two
bounds, the same for all its values, so that every table of the records adds up. Directions can be
chosen so that noise cancels in large cells, and sizes so that given totals stay true.

References
----------
.. [1] Evans, Zayatz, Slanta: Using noise for disclosure limitation of establishment tabular data,
   Journal of Official Statistics 14 (1998).
.. [2] Massell, Funk: Recent developments in the use of noise for protecting magnitude data tables:
   balancing to improve data quality and rounding that preserves protection, FCSM 2007.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csc_array, csr_array
from scipy.sparse import vstack as stacked

from tablecloak.arrays import Floats
from tablecloak.budget import generator
from tablecloak.errors import InputError
from tablecloak.tables.published import common_decimals

KEPT = 1e-9
"""Difference from the true total, as a share of the sum of absolute contributions, below which a
total counts as kept."""

ROUNDS = 200
"""Rounds of corrections where contributors belong to several totals. One is enough where each
belongs to one; otherwise differences shrink by a factor in each round, and what is left is told."""

HALVINGS = 60
"""Halvings of the interval of a correction: a double has 53 bits."""

REACH = 1e3
"""Largest correction in widths of the distribution: enough for a contributor of which a thousandth
belongs to a total to go from one bound to the other."""

SIGNIFICANT = 6
"""Digits of the median that are released of amounts that are no decimal numbers."""

HEAPED = 0.5
"""Share of amounts that are multiples of a coarser digit from which on that one is released. Of
amounts with evenly spread last digits a tenth are multiples of the next coarser digit."""

Least = Annotated[
    float, Field(gt=0, lt=1, description="Least change of a contribution, as a share of it.")
]
Most = Annotated[
    float, Field(gt=0, lt=1, description="Largest change of a contribution, as a share of it.")
]
Shape = Annotated[
    Literal["ramp", "uniform"],
    Field(description="Distribution of changes between both: small ones more often, or evenly."),
]


@dataclass(frozen=True)
class Sizes:
    """The distribution of |m - 1|: from `least` to `most`.

    Parameters
    ----------
    least, most : float
        0 < least < most < 1.
    shape : {"ramp", "uniform"}
        "ramp" has a density that falls linearly to 0 at `most`, so that m has the split
        triangular distribution of the Quarterly Workforce Indicators.

    Raises
    ------
    InputError
        If `most` is not above `least`.
    """

    least: float = 0.05
    most: float = 0.15
    shape: str = "ramp"

    def __post_init__(self) -> None:
        if not 0 < self.least < self.most < 1:
            raise InputError(
                f"`least` must lie above 0 and below `most`, and `most` below 1. Got least = "
                f"{self.least!r} and most = {self.most!r}."
            )

    def at(self, share: Floats) -> Floats:
        """Return the quantile of given shares between 0 and 1."""
        if self.shape == "uniform":
            return self.least + share * (self.most - self.least)
        return np.asarray(self.most - (self.most - self.least) * np.sqrt(1 - share))

    @property
    def mean(self) -> float:
        """Mean change of a contribution, as a share of it."""
        part = 1 / 2 if self.shape == "uniform" else 1 / 3
        return self.least + part * (self.most - self.least)


@dataclass(frozen=True, eq=False)
class ContributorMultipliers:
    """Directions and sizes of the noise of each contributor. Secret.

    Parameters
    ----------
    directions : numpy.ndarray of float, shape (n_contributors,)
        +1 or -1.
    sizes : numpy.ndarray of float, shape (n_contributors,)
        |m - 1|.
    """

    directions: Floats
    sizes: Floats

    @property
    def changes(self) -> Floats:
        """Return m - 1, shape (n_contributors,)."""
        return self.directions * self.sizes

    @classmethod
    def drawn(
        cls,
        names: Sequence[object],
        sizes: Sizes,
        seed: Any = None,
        *,
        balance: csr_array | None = None,
        keep: csr_array | None = None,
    ) -> ContributorMultipliers:
        """Draw the multiplier of each contributor.

        Parameters
        ----------
        names : sequence, shape (n_contributors,)
            Identifiers: with the same seed, a contributor has the same size of noise in every file,
            and the same direction if nothing is balanced.
        sizes : Sizes
        seed : int, numpy.random.Generator or None
        balance, keep : scipy.sparse.csr_array, shape (n_groups, n_contributors), optional
            Contributions to the groups in which directions cancel, and to the totals that stay, in
            which they also do.
        """
        shares = _shares(names, seed)
        return cls.of_shares(shares, sizes, balance=balance, keep=keep)

    @classmethod
    def of_shares(
        cls,
        shares: Floats,
        sizes: Sizes,
        *,
        balance: csr_array | None = None,
        keep: csr_array | None = None,
    ) -> ContributorMultipliers:
        """Make multipliers of two numbers between 0 and 1, the rows, for each contributor."""
        drawn = sizes.at(shares[0])
        directions = np.where(shares[1] < 0.5, -1.0, 1.0)
        groups = [part for part in (balance, keep) if part is not None and part.shape[0]]
        if groups:
            directions = balanced(directions, drawn, csr_array(stacked(groups)))
        if keep is not None and keep.shape[0]:
            drawn = kept(directions, drawn, keep, sizes)
        return cls(directions, drawn)


def balanced(directions: Floats, sizes: Floats, groups: csr_array) -> Floats:
    """Choose directions so that noise cancels within groups.

    Contributors are taken from the largest to the smallest. Each goes against the noise that has
    come up so far in its groups, each group measured by its own total; where that is 0, as for the
    first of a group, the drawn direction stays.

    Parameters
    ----------
    directions, sizes : numpy.ndarray of float, shape (n_contributors,) or (n_contributors, n_draws)
    groups : scipy.sparse.csr_array, shape (n_groups, n_contributors)
    """
    total = np.asarray(abs(groups).sum(axis=1)).ravel()
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    shares = csc_array(csr_array(groups) * scale[:, None])
    # Large contributors first: what comes later can only take away what they leave.
    order = np.argsort(-np.asarray(abs(groups).sum(axis=0)).ravel(), kind="stable").tolist()
    one_by_one = _one_draw if directions.ndim == 1 else _many_draws
    return one_by_one(directions, sizes, shares, order)


def _one_draw(directions: Floats, sizes: Floats, shares: csc_array, order: list[int]) -> Floats:
    """Balance one draw; lists are several times as fast as arrays of single numbers."""
    start, group, share = shares.indptr.tolist(), shares.indices.tolist(), shares.data.tolist()
    noise = [0.0] * shares.shape[0]
    chosen, size = directions.tolist(), sizes.tolist()
    for who in order:
        entries = range(start[who], start[who + 1])
        pull = sum(noise[group[entry]] * share[entry] for entry in entries)
        if pull:
            chosen[who] = -1.0 if pull > 0 else 1.0
        change = chosen[who] * size[who]
        for entry in entries:
            noise[group[entry]] += change * share[entry]
    return np.array(chosen, dtype=np.float64)


def _many_draws(directions: Floats, sizes: Floats, shares: csc_array, order: list[int]) -> Floats:
    """Balance several draws at once, a step for each contributor."""
    start = shares.indptr.tolist()
    noise = np.zeros((shares.shape[0], directions.shape[1]))
    chosen = directions.copy()
    for who in order:
        own = slice(start[who], start[who + 1])
        group, share = shares.indices[own], shares.data[own]
        pull = share @ noise[group]
        chosen[who] = np.where(pull == 0, chosen[who], -np.sign(pull))
        noise[group] += share[:, None] * (chosen[who] * sizes[who])
    return chosen


def kept(directions: Floats, sizes: Floats, groups: csr_array, bounds: Sizes) -> Floats:
    """Move sizes between their bounds until the noise of each group is 0, as far as possible.

    Each round moves the sizes of a group by one amount, against the noise, and cuts them at the
    bounds: the nearest sizes without noise. A contributor in several groups moves by the mean of
    what they ask for, weighted by what it contributes to each. No size leaves its bounds, so that
    a total of one contributor is never kept.

    Parameters
    ----------
    directions, sizes : numpy.ndarray of float, shape (n_contributors,)
    groups : scipy.sparse.csr_array, shape (n_groups, n_contributors)
    bounds : Sizes
    """
    entries = csr_array(groups).tocoo()
    row, who = entries.coords
    signed = directions[who] * entries.data
    weight = np.bincount(who, np.abs(entries.data), minlength=len(sizes))
    part = np.divide(signed, weight[who], out=np.zeros(len(who)), where=weight[who] > 0)
    size_of_group = np.bincount(row, np.abs(signed), minlength=groups.shape[0])
    alone = np.bincount(who, minlength=len(sizes)).max(initial=0) <= 1
    current = sizes
    for _ in range(1 if alone else ROUNDS):
        noise = np.bincount(row, signed * current[who], minlength=groups.shape[0])
        if np.all(np.abs(noise) <= KEPT * size_of_group):
            break
        low = np.full(groups.shape[0], -REACH * (bounds.most - bounds.least))
        high = -low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            moved = np.clip(current[who] - middle[row] * part, bounds.least, bounds.most)
            above = np.bincount(row, signed * moved, minlength=groups.shape[0]) > 0
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        step = np.bincount(who, np.abs(part) * (moved - current[who]), minlength=len(sizes))
        current = np.clip(current + step, bounds.least, bounds.most)
    return current


def finest_decimals(amounts: Floats) -> int:
    """Return the decimals of amounts.

    Of amounts that are no decimal numbers so many that the median has six digits.
    """
    decimals = common_decimals(amounts)
    if decimals is None:
        decimals = (
            SIGNIFICANT - 1 - int(np.floor(np.log10(np.median(np.abs(amounts[amounts != 0])))))
        )
    return decimals


def released_decimals(amounts: Floats, least: float, *, share: float = HEAPED) -> int:
    """Return the decimals with which multiplied amounts are released; negative for tens.

    With more digits than the amounts have, the ratio of two amounts of one contributor gives both:
    it is a fraction of whole numbers, which a continued fraction finds. Rounded to the unit of the
    amounts, no multiplier below 1 is refuted by any number of them: for each there are whole
    numbers that it takes to what is released. Where amounts are multiples of a coarser unit, such
    as hundreds, this is what is rounded to, unless it exceeds the noise of the median.

    Parameters
    ----------
    amounts : numpy.ndarray of float
        Without missing values.
    least : float
        Least change, as a share.
    share : float
        Share of the amounts that must be multiples of a unit.
    """
    sizes = np.abs(amounts[amounts != 0])
    if not len(sizes):
        return 0
    finest = finest_decimals(sizes)
    coarsest = int(np.ceil(-np.log10(least * np.median(sizes))))
    for decimals in range(coarsest, finest):
        units = sizes * 10.0**decimals
        if np.mean(np.abs(units - np.rint(units)) <= KEPT * np.maximum(units, 1)) >= share:
            return decimals
    return finest


def rounded_away(true: Floats, changes: Floats, decimals: int) -> Floats:
    """Return changed amounts in whole numbers of the last digit, rounded away from the truth.

    Rounding to the nearest would undo small changes.
    """
    scale = 10.0**decimals
    units = true * scale
    whole = np.rint(units)
    units = np.where(np.abs(units - whole) <= KEPT * np.maximum(np.abs(units), 1), whole, units)
    moved = units + changes * scale
    away = np.where(changes > 0, np.ceil(moved - KEPT), np.floor(moved + KEPT))
    return np.where(changes == 0, whole, away)


def of_units(units: Floats, decimals: int) -> Floats:
    """Return whole numbers of the last digit as amounts, the nearest doubles of these decimals."""
    return units / 10.0**decimals if decimals >= 0 else units * 10.0**-decimals


def _shares(names: Sequence[object], seed: Any) -> Floats:
    """Return two numbers between 0 and 1 for each name, from a keyed hash of it."""
    key = generator(seed).bytes(32)
    digests = b"".join(
        hashlib.blake2b(str(name).encode(), key=key, digest_size=16).digest() for name in names
    )
    # 53 bits are what a double between 0 and 1 holds.
    bits = np.frombuffer(digests, dtype=">u8").astype(np.uint64) >> np.uint64(11)
    return (bits.astype(np.float64) * 2.0**-53).reshape(-1, 2).T
