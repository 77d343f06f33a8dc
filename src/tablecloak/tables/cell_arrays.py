"""The arrays of a problem, each declared once: what it holds, and how cells are joined and merged.

A further attribute of a cell is one more field here. Everything that makes problems of problems
(rests, sums, earlier releases, joined variables, merged cells, units of the last digit) goes
through these operations and carries it along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.arrays import AnyIntegers, Floats, Integers, Texts
from tablecloak.errors import InputError
from tablecloak.tables.coupling import CoupledCells

Merge: TypeAlias = Callable[[Any, Any, CoupledCells, Integers, Floats], Any]
"""Array, opposite array, groups, the cell that names each group, values -> array of groups."""


class CellStatus(Enum):
    """What is asked of a cell; the letters are those of a JJ file."""

    SAFE = "s"
    """May be published, suppressed or adjusted."""
    SENSITIVE = "u"
    """Primary: must be suppressed, or adjusted beyond its protection levels."""
    FORCED = "m"
    """Not sensitive, but must be suppressed."""
    FROZEN = "z"
    """Must be published as it is: empty, or protected from suppression."""


def first(array: Any, _: Any, __: CoupledCells, cells: Integers, ___: Floats) -> Any:
    """Take the entry of the cell that names a group."""
    return array[cells]


def strictest(array: Texts, _: Any, groups: CoupledCells, cells: Integers, __: Floats) -> Any:
    """Take the status of the cell that names a group, or sensitive if any of its cells is."""
    sensitive = (array == CellStatus.SENSITIVE.value).astype(np.float64)
    is_sensitive = groups.largest(sensitive, sensitive)[0] > 0
    return np.where(is_sensitive, CellStatus.SENSITIVE.value, array[cells])


def total(array: Floats, _: Any, groups: CoupledCells, __: Integers, ___: Floats) -> Any:
    """Add the entries of a group up."""
    return abs(groups.spread).T @ array


def largest(array: Floats, opposite: Floats, groups: CoupledCells, _: Integers, __: Floats) -> Any:
    """Take the largest entry, that of the opposite array where a cell moves the other way."""
    return groups.largest(array, opposite)[0]


def least(array: Floats, opposite: Floats, groups: CoupledCells, _: Integers, __: Floats) -> Any:
    """Take the least entry, that of the opposite array where a cell moves the other way."""
    return groups.least(array, opposite)[0]


def nearest(sign: int) -> Merge:
    """Take the bound that is nearest to its value, above for the sign 1, below for -1."""

    def merged(
        array: Floats, opposite: Floats, groups: CoupledCells, cells: Integers, values: Floats
    ) -> Any:
        distance = groups.least(sign * (array - values), sign * (values - opposite))[0]
        own, values = array[cells], values[cells]
        bound = np.where(distance == sign * (own - values), own, values + sign * distance)
        # Rounding may put a bound beyond its distance.
        while np.any(beyond := sign * (bound - values) > distance):
            bound[beyond] = np.nextafter(bound[beyond], -sign * np.inf)
        return bound

    return merged


@dataclass(frozen=True)
class ArrayKind:
    """How an array with one entry for each cell is made, checked, joined and merged.

    Parameters
    ----------
    dtype : type
        Type of its entries.
    default : float or str or None
        Entry of every cell if none are given; None if they must be.
    merge : callable
        How cells that can only move together become one.
    opposite : str, default=""
        Name of the array that counts where a cell of such a group moves the other way; by default
        the same one.
    further : float or str or None, default=0.0
        Entry of a further cell that is a sum of cells; None if it is the sum of theirs.
    is_finite : bool or None, default=None
        Entries are numbers >= 0, and finite if True; unchecked if None.
    """

    dtype: type[np.generic]
    default: float | str | None
    merge: Merge
    opposite: str = ""
    further: float | str | None = 0.0
    is_finite: bool | None = None


_NOT_GIVEN: Any = None


def _kind(*entries: Any, **more: Any) -> dict[str, ArrayKind]:
    return {"kind": ArrayKind(*entries, **more)}


def _level(default: float | None, opposite: str = "") -> dict[str, ArrayKind]:
    return _kind(np.float64, default, largest, opposite, is_finite=True)


def _bound(sign: int, opposite: str) -> dict[str, ArrayKind]:
    return _kind(np.float64, None, nearest(sign), opposite, further=None)


def _capacity(opposite: str) -> dict[str, ArrayKind]:
    return _kind(np.float64, np.inf, least, opposite, further=None, is_finite=False)


@dataclass(frozen=True, eq=False)
class CellArrays:
    """Arrays with one entry for each cell, all read-only.

    Parameters
    ----------
    status : numpy.ndarray of str, shape (n_cells,)
        The letter of a `CellStatus` for each cell.
    lower_protection, upper_protection : numpy.ndarray of float, shape (n_cells,)
        LPL and UPL: how far below and above the true value the intruder's interval of a
        sensitive cell must reach.
    sliding_protection : numpy.ndarray of float, shape (n_cells,), optional
        SPL: how wide that interval must be at least. 0 by default.
    lower_bound, upper_bound : numpy.ndarray of float, shape (n_cells,)
        External bounds: what an intruder knows of each cell beforehand. May be infinite.
    weights : numpy.ndarray of float, shape (n_cells,), optional
        Loss of suppressing a cell, or of changing it by one unit; >= 0. 1 by default.
    capacity_down, capacity_up : numpy.ndarray of float, shape (n_cells,), optional
        How far an adjustment may move a cell that is not sensitive. Infinite by default.
    reasons : numpy.ndarray of str, shape (n_cells,), optional
        Name of the rule that made a cell sensitive.

    Raises
    ------
    InputError
        If one that must be given is not, or the shapes disagree.
    """

    status: Texts = field(
        default=_NOT_GIVEN,
        metadata=_kind(np.str_, None, strictest, further=CellStatus.SENSITIVE.value),
    )
    lower_protection: Floats = field(default=_NOT_GIVEN, metadata=_level(None, "upper_protection"))
    upper_protection: Floats = field(default=_NOT_GIVEN, metadata=_level(None, "lower_protection"))
    sliding_protection: Floats = field(default=_NOT_GIVEN, metadata=_level(0.0))
    lower_bound: Floats = field(default=_NOT_GIVEN, metadata=_bound(-1, "upper_bound"))
    upper_bound: Floats = field(default=_NOT_GIVEN, metadata=_bound(1, "lower_bound"))
    weights: Floats = field(
        default=_NOT_GIVEN, metadata=_kind(np.float64, 1.0, total, is_finite=True)
    )
    capacity_down: Floats = field(default=_NOT_GIVEN, metadata=_capacity("capacity_up"))
    capacity_up: Floats = field(default=_NOT_GIVEN, metadata=_capacity("capacity_down"))
    reasons: Texts = field(default=_NOT_GIVEN, metadata=_kind(np.str_, "", first, further=""))

    def __post_init__(self) -> None:
        n = self._size()
        for name, kind in self.kinds().items():
            entries = getattr(self, name)
            if entries is None:
                if kind.default is None:
                    raise InputError(f"`{name}` is missing. Give one entry for each cell.")
                entries = np.full(n, kind.default)
            array = np.array(entries, dtype=kind.dtype)
            if array.shape != (n,):
                raise InputError(
                    f"`{name}` has the shape {array.shape}, but the table has {n} cells. "
                    f"Give one entry for each cell."
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def _size(self) -> int:
        return int(np.size(self.status))

    def _made(self, arrays: Mapping[str, Any]) -> CellArrays:
        """Return arrays of other cells."""
        return type(self)(**arrays)

    @classmethod
    def kinds(cls) -> dict[str, ArrayKind]:
        """Return how each array is declared, by its name."""
        return {array.name: array.metadata["kind"] for array in fields(cls) if array.metadata}

    def by_name(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by their names."""
        return {name: getattr(self, name) for name in self.kinds()}

    def take(self, cells: AnyIntegers) -> CellArrays:
        """Return the arrays of some cells."""
        return self._made({name: array[cells] for name, array in self.by_name().items()})

    def stacked(self, others: Iterable[CellArrays]) -> CellArrays:
        """Return the arrays of these cells, and those of others behind them."""
        parts = [self, *others]
        names = self.kinds()
        return self._made(
            {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )

    def extended(self, sums: csr_array, **given: Any) -> CellArrays:
        """Return the arrays of these cells and of sums of them, the last ones.

        Parameters
        ----------
        sums : scipy.sparse.csr_array, shape (n_new, n_cells)
            Coefficient of each cell in each sum.
        **given : array_like, shape (n_new,) or scalar
            Entries of the sums. By default they are sensitive, have the sums of bounds and
            capacities, and neither levels nor weights.
        """
        n_new = sums.shape[0]
        arrays = {}
        for name, kind in self.kinds().items():
            array = getattr(self, name)
            if name in given:
                further = given[name]
            else:
                further = sums @ array if kind.further is None else kind.further
            arrays[name] = np.concatenate([array, np.broadcast_to(further, (n_new,))])
        return self._made(arrays)

    def merged(self, groups: CoupledCells, cells: Integers, values: Floats) -> CellArrays:
        """Return the arrays of groups of cells that can only move together.

        Parameters
        ----------
        groups : CoupledCells
        cells : numpy.ndarray of int, shape (n_groups,)
            The cell that names each group.
        values : numpy.ndarray of float, shape (n_cells,)
        """
        arrays = {}
        for name, kind in self.kinds().items():
            opposite = getattr(self, kind.opposite or name)
            arrays[name] = kind.merge(getattr(self, name), opposite, groups, cells, values)
        return self._made(arrays)
