"""Magnitudes perturbed by cell keys: noise in proportion to the contributions.

The size of the noise comes from multipliers of contributions and from tables of changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cellkey.perturbation_table import KEY_UNITS, KINDS, PerturbationTable
from tablecloak.errors import InputError, listed
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import SensitivityRule, Table
from tablecloak.tables.tabulation.keyed import KeyedCells, keyed_cells
from tablecloak.tables.tabulation.tabulate import tabulate

BASES = ("largest", "mean", "range", "sum")
"""Bases that noise can be proportional to: the largest contributions, or one figure of the cell."""

MOST_LARGEST = 6
"""Largest number of contributions of a cell that get noise."""

USUAL_DIGITS = 8
"""Number of digits of record keys in tau-ARGUS and cellKey; these digits are rotated."""


@dataclass(frozen=True)
class Constant:
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
        """Share for small contributions, which is the largest share."""
        return self.share

    def at(self, sizes: Floats) -> Floats:
        """Return the share for contributions of these absolute sizes."""
        return np.full(np.shape(sizes), self.share)


@dataclass(frozen=True)
class Flex:
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
        """Share for small contributions, which is the largest share."""
        return self.small

    def at(self, sizes: Floats) -> Floats:
        """Return the share for contributions of these absolute sizes."""
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
    multiplier : Flex or Constant
        Share of a contribution by which its cell may be changed.
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
    multiplier: Flex | Constant
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


@dataclass(frozen=True, eq=False)
class PerturbedMagnitudes:
    """A table of magnitudes, true and perturbed. Only `release()` may leave the office.

    Parameters
    ----------
    table : Table
        True sums, with weights if there are any.
    keys : numpy.ndarray of int, shape (n_cells,)
        Cell keys in units of 10^-15.
    noise : numpy.ndarray of float, shape (n_cells, k)
        Noise that each perturbed contribution adds to the sum.
    sensitive : numpy.ndarray of bool, shape (n_cells,)
        Cells that got extra noise.
    """

    table: Table
    keys: Integers
    noise: Floats
    sensitive: Flags

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """Hierarchies of the dimensions."""
        return self.table.hierarchies

    @property
    def truth(self) -> Floats:
        """True sums."""
        return self.table.values

    @property
    def changes(self) -> Floats:
        """What was added to each sum."""
        total: Floats = self.noise.sum(axis=1)
        return total

    @property
    def perturbed(self) -> Floats:
        """Perturbed sums."""
        return self.table.values + self.changes

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and perturbed sums."""
        return self.table.keys.assign(**{self.table.name: self.perturbed})

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell, true sums and cell keys included. Secret."""
        return self.table.to_frame().assign(
            cell_key=self.keys / KEY_UNITS,
            change=self.changes,
            perturbed=self.perturbed,
            sensitive=self.sensitive,
        )

    def summary(self) -> str:
        """Say in one line what was done."""
        true = np.abs(self.table.values)
        relative = np.abs(self.changes)[true > 0] / true[true > 0]
        return (
            f"Cell keys: {self.table.n_cells:,} cells of {self.table.name}, changed by "
            f"{100 * np.median(relative):.3g} % in the median and {100 * relative.max():.3g} % at "
            f"most; {np.count_nonzero(self.sensitive):,} with extra noise"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def perturb_magnitudes(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str,
    noise: MagnitudeNoise,
    *,
    record_key: str = "record_key",
    weight: str | None = None,
    sensitive_by: Sequence[SensitivityRule[Any]] = (),
    engine: str = "duckdb",
) -> PerturbedMagnitudes:
    """Add up a variable and perturb the sums by their cell keys.

    x^ = x + sum over the k largest contributions x_j of m(x_j) eps_j x_j v_j. The change v_j is
    looked up in the perturbation table at |x| in units of the noise, and interpolated between two
    rows. A sum never changes its sign. Of equal contributions the one with the larger weight comes
    first: the result does not depend on the order of the records.

    Parameters
    ----------
    data, dimensions, value, weight, engine
        See `tabulate`.
    noise : MagnitudeNoise
    record_key : str, default="record_key"
        Column with the record keys, fractions of 1.
    sensitive_by : sequence of rules, default=()
        Cells that are sensitive by one of these rules get the extra noise `noise.extra`.

    Returns
    -------
    PerturbedMagnitudes

    References
    ----------
    Giessing and Tent (2019); Handbook on Statistical Disclosure Control, 2nd ed., 4.6.
    """
    if sensitive_by and noise.extra == 0:
        raise InputError("`sensitive_by` has no effect, since `noise.extra` is 0. Set it.")
    table = tabulate(
        data, dimensions, value, weight=weight, n_largest=len(noise.weights) + 1, engine=engine
    )
    cells = keyed_cells(
        data, dimensions, record_key, KEY_UNITS, value=value, weight=weight, engine=engine
    )
    sensitive = np.zeros(table.n_cells, dtype=bool)
    if sensitive_by:
        sensitive = table.protect(*sensitive_by).sensitive
    keys = cells.key if noise.all_keys else cells.nonzero_key
    added = _noise(table.values, _bases(table, cells, noise), keys, cells.count, sensitive, noise)
    return PerturbedMagnitudes(table, keys, added, sensitive)


def _bases(table: Table, cells: KeyedCells, noise: MagnitudeNoise) -> Floats:
    """Return the base of the noise of each cell, one column for each weight."""
    if noise.base == "largest":
        contributed = table.contributions
        assert contributed is not None
        return (contributed.largest * contributed.largest_weight)[:, : len(noise.weights)]
    one = {
        "mean": np.abs(table.values) / cells.weight,
        "range": cells.spread,
        "sum": np.abs(table.values),
    }
    return one[noise.base][:, None]


def rotated(keys: Integers, times: int) -> Integers:
    """Move the first of the leading `USUAL_DIGITS` digits of keys to the end of these.

    Parameters
    ----------
    keys : numpy.ndarray of int
        In units of 10^-15.
    times : int
        Number of digits that are moved.

    Examples
    --------
    >>> int(rotated(np.array([123456780000000]), 1)[0])
    234567810000000
    """
    unit = KEY_UNITS // 10**USUAL_DIGITS
    front, rest = np.divmod(keys, unit)
    moved = times % USUAL_DIGITS
    first, last = np.divmod(front, 10 ** (USUAL_DIGITS - moved))
    turned: Integers = (last * 10**moved + first) * unit + rest
    return turned


def _noise(
    values: Floats,
    bases: Floats,
    keys: Integers,
    counts: Integers,
    sensitive: Flags,
    noise: MagnitudeNoise,
) -> Floats:
    """Return the noise of each cell, contribution by contribution."""
    added = np.zeros(bases.shape)
    current = values.copy()
    for j, epsilon in enumerate(noise.weights):
        key = rotated(keys, j if noise.same_key else j + 1)
        unit, is_small = _units(current, np.abs(bases[:, j]), epsilon, noise)
        # A small cell gets noise once, not once more for each further contribution.
        still = (unit == 0) | (values == 0) | (is_small & (j > 0))
        unit = np.where(still, 1.0, unit)
        change = _looked_up(np.abs(current) / unit, key, is_small, counts, noise)
        if j == 0:
            extra = np.where(sensitive, noise.extra, 0.0)
            change = np.where(change < 0, change - extra, change + extra)
        step = np.where(still, 0.0, np.sign(current) * unit * change)
        # A sum never changes its sign.
        added[:, j] = np.where(np.sign(current + step) == -np.sign(current), -current, step)
        current = current + added[:, j]
    return added


def _units(
    current: Floats, sizes: Floats, epsilon: float, noise: MagnitudeNoise
) -> tuple[Floats, Flags]:
    """Return the unit of the noise of each cell, and whether the cell counts as small."""
    point, small_share = noise.separation_point, noise.multiplier.of_small
    is_small = (sizes > 0) & (sizes < point)
    unit = np.where(is_small, 1.0, sizes * noise.multiplier.at(sizes) * epsilon)
    # If contributions cancel, the noise could exceed the sum: the sum then serves as its unit.
    larger = (np.abs(current) < unit) & (unit > 0)
    unit = np.where(larger, np.abs(current), unit)
    stands_for = np.abs(current) / (small_share * epsilon) if epsilon else np.zeros(len(current))
    turned_small = larger & (stands_for < point)
    return np.where(turned_small, 1.0, unit), is_small | turned_small


def _looked_up(
    ratio: Floats, key: Integers, is_small: Flags, counts: Integers, noise: MagnitudeNoise
) -> Floats:
    """Return the change of each cell in units of its noise, from the table for its kind."""
    if noise.has_parity:
        even = counts % 2 == 0
        kinds = [("even", even & ~is_small), ("odd", ~even & ~is_small)]
    else:
        kinds = [("all", ~is_small)]
    found = np.zeros(len(ratio))
    for kind, cells in [*kinds, ("small_cells", is_small)]:
        if cells.any():
            found[cells] = _interpolated(noise.by_kind[kind], ratio[cells], key[cells])
    return found


def _interpolated(table: PerturbationTable, ratio: Floats, key: Integers) -> Floats:
    """Interpolate changes between the rows below and above; beyond the last row, use that row."""
    rows = table.values
    ratio = np.minimum(ratio, rows[-1])
    above = np.searchsorted(rows, ratio)
    below = np.maximum(above - 1, 0)
    gap = rows[above] - rows[below]
    share = np.divide(ratio - rows[below], gap, out=np.ones(len(ratio)), where=gap > 0)
    low, high = table.change_at(rows[below], key), table.change_at(rows[above], key)
    return (1 - share) * low + share * high
