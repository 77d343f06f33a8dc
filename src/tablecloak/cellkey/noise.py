"""Size of the noise of a magnitude: multipliers of contributions, and tables of changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cellkey.perturbation_table import KINDS, PerturbationTable
from tablecloak.errors import InputError, listed

__all__ = ["BASES", "Constant", "Flex", "MagnitudeNoise", "Multiplier"]

BASES = ("largest", "mean", "range", "sum")
"""Bases that noise can be proportional to: the largest contributions, or one figure of the cell."""

MOST_LARGEST = 6
"""Largest number of contributions of a cell that get noise."""


class Multiplier(ABC):
    """Share of a contribution by which its cell may be changed."""

    @property
    @abstractmethod
    def of_small(self) -> float:
        """Share for small contributions, which is the largest share."""

    @abstractmethod
    def at(self, sizes: Floats) -> Floats:
        """Return the share for contributions of these absolute sizes."""


@dataclass(frozen=True)
class Constant(Multiplier):
    """The same share for every contribution.

    Parameters
    ----------
    share : float
        Above 0, at most 1.
    """

    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"`share` must lie above 0 and be at most 1. Got {self.share!r}.")

    @property
    def of_small(self) -> float:
        """See `Multiplier.of_small`."""
        return self.share

    def at(self, sizes: Floats) -> Floats:
        """See `Multiplier.at`."""
        return np.full(np.shape(sizes), self.share)


@dataclass(frozen=True)
class Flex(Multiplier):
    """A share that falls from `small` at the flex point towards `large` for large contributions.

    Below the point f the share is p_s; above it is
    m(x) = p_l (1 + (p_s x - p_l f) / (p_l f) (2 f / (f + x))^q).

    Parameters
    ----------
    point : float
        Flex point f, above 0, in the unit of the values.
    small, large : float
        Shares p_s and p_l; 0 < p_l < p_s <= 1.
    power : float, default=3
        q, 1 or more: how fast the share falls.

    References
    ----------
    Giessing and Tent (2019), "Concepts for generalising tools implementing the cell key method to
    the case of continuous variables", UNECE.
    """

    point: float
    small: float
    large: float
    power: float = 3

    def __post_init__(self) -> None:
        if not (self.point > 0 and 0 < self.large < self.small <= 1 and self.power >= 1):
            raise InputError(
                f"A flex function needs a point above 0, shares with 0 < large < small <= 1, and a "
                f"power of 1 or more. Got {self}."
            )

    @property
    def of_small(self) -> float:
        """See `Multiplier.of_small`."""
        return self.small

    def at(self, sizes: Floats) -> Floats:
        """See `Multiplier.at`."""
        x = np.maximum(np.asarray(sizes, dtype=np.float64), self.point)
        at_point = self.large * self.point
        above = (
            (self.small * x - at_point)
            / at_point
            * (2 * self.point / (self.point + x)) ** self.power
        )
        return np.where(np.asarray(sizes) < self.point, self.small, self.large * (1 + above))


@dataclass(frozen=True)
class MagnitudeNoise:
    """Parameters of the noise of magnitudes.

    Parameters
    ----------
    tables : PerturbationTable, or mapping of str to PerturbationTable
        Tables by kind: "all", or "even" and "odd" by the number of contributors; optionally also
        "small_cells" for contributions below the separation point.
    multiplier : Multiplier
        `Flex` or `Constant`.
    base : str, default="largest"
        One of `BASES`: the k largest contributions, their weighted mean, their range, or their sum.
    weights : tuple of float, default=(1.0,)
        epsilon of each of the k contributions that get noise. The first is 1, and no weight is
        larger than the one before; several weights need the base "largest".
    extra : float, default=0
        mu_c, added to the absolute change of the first contribution of sensitive cells.
    same_key : bool, default=True
        Whether the first contribution uses the cell key itself, not a rotated one. Further
        contributions always use keys whose digits are rotated.
    all_keys : bool, default=False
        Whether the keys of records whose value is 0 are added to the cell key.

    Raises
    ------
    InputError
        If the parameters contradict each other.
    """

    tables: PerturbationTable | Mapping[str, PerturbationTable]
    multiplier: Multiplier
    base: str = "largest"
    weights: tuple[float, ...] = (1.0,)
    extra: float = 0.0
    same_key: bool = True
    all_keys: bool = False
    _by_kind: dict[str, PerturbationTable] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        given = {"all": self.tables} if isinstance(self.tables, PerturbationTable) else self.tables
        self._by_kind.update(given)
        object.__setattr__(self, "weights", tuple(float(weight) for weight in self.weights))
        _check_tables(self._by_kind)
        _check_weights(self)

    @property
    def by_kind(self) -> Mapping[str, PerturbationTable]:
        """The perturbation table for each kind of cells."""
        return self._by_kind

    @property
    def has_parity(self) -> bool:
        """Whether the table of a cell depends on the parity of its number of contributors."""
        return "even" in self._by_kind

    @property
    def separation_point(self) -> float:
        """z_s = sqrt(m_1^2) / (sqrt(E) p_s): contributions below use the table of small cells.

        m_1^2 is the variance of the last row of that table, E the sum of the squared weights, and
        p_s the share for small contributions. 0 without such a table.
        """
        small = self._by_kind.get("small_cells")
        if small is None:
            return 0.0
        variance = float(small.moments()["variance"].iloc[-1])
        spread = np.sqrt(sum(weight**2 for weight in self.weights))
        return float(np.sqrt(variance) / (spread * self.multiplier.of_small))


def _check_tables(tables: Mapping[str, PerturbationTable]) -> None:
    known = set(tables) <= set(KINDS)
    parity = {"even", "odd"} & set(tables)
    if not known or ("all" in tables) == bool(parity) or len(parity) == 1:
        raise InputError(
            f"`tables` has {listed(sorted(tables))}. It needs 'all', or both 'even' and 'odd', and "
            f"may have 'small_cells'."
        )


def _check_weights(noise: MagnitudeNoise) -> None:
    weights = noise.weights
    if noise.base not in BASES:
        raise InputError(f"`base` must be one of {listed(BASES)}. Got {noise.base!r}.")
    falls = all(0 <= after <= before for before, after in pairwise(weights))
    if not weights or weights[0] != 1 or not falls or len(weights) > MOST_LARGEST:
        raise InputError(
            f"`weights` must begin with 1, never rise, and have at most {MOST_LARGEST} entries. "
            f"Got {weights}."
        )
    if len(weights) > 1 and (noise.base != "largest" or noise.has_parity):
        raise InputError(
            "Several `weights` need the base 'largest' and one table for all cells. Give one "
            "weight, or change these."
        )
    if noise.extra < 0:
        raise InputError(f"`extra` must be 0 or more. Got {noise.extra!r}.")
