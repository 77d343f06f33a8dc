"""Magnitudes perturbed by cell keys: noise in proportion to the contributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cellkey.noise import MagnitudeNoise
from tablecloak.cellkey.perturbation_table import KEY_UNITS, PerturbationTable
from tablecloak.errors import InputError
from tablecloak.tables.table import Protects, Table
from tablecloak.tables.tabulation.keyed import KeyedCells, keyed_cells
from tablecloak.tables.tabulation.tabulate import tabulate

__all__ = ["PerturbedMagnitudes", "perturb_magnitudes", "rotated"]

USUAL_DIGITS = 8
"""Number of digits of record keys in tau-ARGUS and cellKey; these digits are rotated."""


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

    def corrected_for_mean(self) -> Floats:
        """Return sums for use in means: perturbed sums times (perturbed / true)."""
        true = self.table.values
        ratio = np.divide(self.perturbed, true, out=np.ones(len(true)), where=true != 0)
        return self.perturbed * ratio

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
    sensitive_by: Sequence[Protects[Any]] = (),
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


def rotated(keys: Integers, times: int, digits: int = USUAL_DIGITS) -> Integers:
    """Move the first digits of keys to their end.

    Parameters
    ----------
    keys : numpy.ndarray of int
        In units of 10^-15.
    times : int
        Number of digits that are moved.
    digits : int, default=8
        Number of leading digits that are rotated; later digits stay in place.

    Examples
    --------
    >>> int(rotated(np.array([123456780000000]), 1)[0])
    234567810000000
    """
    unit = KEY_UNITS // 10**digits
    front, rest = np.divmod(keys, unit)
    moved = times % digits
    first, last = np.divmod(front, 10 ** (digits - moved))
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
