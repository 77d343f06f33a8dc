"""Who contributed what to each cell: all that the sensitivity rules need to know."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers
from tablecloak.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray


@dataclass(frozen=True, eq=False)
class Waivers:
    """Which contributors of each cell need protection, and within which margin.

    A contributor without a waiver needs the protection of the rule, one with a partial waiver the
    margin that it named, and one with a full waiver none. All of them go on to attack others.
    A contributor, or a holding, of which only some records in a cell are waived, needs what the
    most careful of these records needs.

    Parameters
    ----------
    unwaived : numpy.ndarray of bool, shape (n_cells, k)
        Whether each of the k largest contributors has a record without a waiver in the cell.
    own_p : numpy.ndarray of float, shape (n_cells, k)
        Largest margin that each of them named, in per cent of its contribution; 0 if none.
    largest_unwaived : numpy.ndarray of float, shape (n_cells,)
        Largest contribution, by absolute value, of anybody with a record without a waiver.
    largest_own_p : numpy.ndarray of float, shape (n_cells,)
        Largest margin that anybody named, in per cent.
    full : numpy.ndarray of int, shape (n_cells,)
        Number of contributors with a full waiver.

    Notes
    -----
    The terms are those of G-Confid [1]_, whose ``waiver`` and ``p_waiver`` these are.

    References
    ----------
    .. [1] Statistics Canada: G-Confid 2.0 user guide, sensitivity with waivers.
    """

    unwaived: Flags
    own_p: Floats
    largest_unwaived: Floats
    largest_own_p: Floats
    full: Integers

    @classmethod
    def nobody(cls, largest: Floats, largest_weight: Floats) -> Waivers:
        """Return that nobody waived anything, for the largest contributions of each cell."""
        n_cells, k = largest.shape
        return cls(
            unwaived=largest_weight > 0,
            own_p=np.zeros((n_cells, k)),
            largest_unwaived=largest[:, 0] if k else np.zeros(n_cells),
            largest_own_p=np.zeros(n_cells),
            full=np.zeros(n_cells, dtype=np.int64),
        )

    def take(self, cells: npt.NDArray[np.integer]) -> Waivers:
        """Return the waivers of the given cells, in that order."""
        return Waivers(**{array.name: getattr(self, array.name)[cells] for array in fields(self)})

    def padded(self, k: int) -> Waivers:
        """Return the same waivers with room for k largest contributors."""
        more = ((0, 0), (0, k - self.own_p.shape[1]))
        return Waivers(
            np.pad(self.unwaived, more),
            np.pad(self.own_p, more),
            self.largest_unwaived,
            self.largest_own_p,
            self.full,
        )

    @staticmethod
    def concatenate(parts: list[Waivers]) -> Waivers:
        """Stack the waivers of several tables."""
        return Waivers(
            **{
                array.name: np.concatenate([getattr(part, array.name) for part in parts])
                for array in fields(Waivers)
            }
        )

    @staticmethod
    def column_names(k: int) -> list[str]:
        """Return the names of `columns`, in their order."""
        listed = [f"{name}_{rank + 1}" for name in ("unwaived", "own_p") for rank in range(k)]
        return [*listed, "unwaived_largest", "own_p_largest", "full_waivers"]

    def columns(self) -> dict[str, Floats]:
        """Return all that is known as columns with one entry for each cell."""
        single = [self.largest_unwaived, self.largest_own_p, self.full]
        flat = np.column_stack([self.unwaived, self.own_p, *single]).astype(np.float64)
        return dict(zip(self.column_names(self.own_p.shape[1]), flat.T, strict=True))

    @classmethod
    def from_columns(cls, columns: Floats, k: int) -> Waivers:
        """Read what `columns` returns, as an array of shape (n_cells, 2 k + 3)."""
        largest_unwaived, largest_own_p, full = columns[:, 2 * k :].T
        unwaived, own_p = columns[:, :k] > 0, columns[:, k : 2 * k]
        return cls(unwaived, own_p, largest_unwaived, largest_own_p, full.astype(np.int64))

    def margins(self, p: float, most: float = np.inf) -> Floats:
        """Return the margin that each of the largest contributors needs, in per cent.

        Parameters
        ----------
        p : float
            Margin of the rule, for contributors without a waiver.
        most : float, default=inf
            A margin that somebody named counts as at most this.

        Returns
        -------
        numpy.ndarray of float, shape (n_cells, k)
            0 where a contributor needs no protection.
        """
        margins: Floats = np.maximum(p * self.unwaived, np.minimum(self.own_p, most))
        return margins


ContributionLevel = Literal["contributor", "holding"]
"""Whether contributors or holdings are counted as one."""

LEVELS: dict[str, str] = {"contributor": "contributions", "holding": "holdings"}
"""Attribute of a table that holds the contributions on each level."""

_WORDS = "groupe|gruppe|grupo|gruppo|groups?|holdings?|konzern"
HOLDINGS = re.compile(_WORDS, re.IGNORECASE)
"""What names of columns of holdings contain; so do those of some classes, such as age groups."""

ONLY_HOLDINGS = re.compile(
    rf"((enterprise|company|corporate|business|firm|unternehmens|firmen)[ _-]?)?"
    rf"({_WORDS})[ _-]?(id|n[or]|number|nummer|name)?",
    re.IGNORECASE,
)
"""Those names that no classes have: they match as a whole."""

IN_NO_HOLDING = " (in no holding)"
"""End of the name of a holding that is a contributor of its own: no other holding has its name."""

Implausible = tuple[int, str, int | None]
"""A cell, the fault found there, and its position among the largest contributions, if any."""

Names: TypeAlias = "npt.NDArray[np.object_] | ExtensionArray"
"""Identifiers: objects, or text as Arrow holds it, which takes less memory."""

MOST_CONTRIBUTORS = 2**53
"""Largest count that is exact as a floating-point number."""


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributors of each cell, after grouping records by contributor or by holding.

    Parameters
    ----------
    count : numpy.ndarray of int, shape (n_cells,)
        Number of contributors.
    weighted_count : numpy.ndarray of float, shape (n_cells,)
        Sum of their sampling weights; equals `count` without weights.
    total : numpy.ndarray of float, shape (n_cells,)
        Signed, weighted sum X of the variable by which contributors are ranked.
    largest : numpy.ndarray of float, shape (n_cells, k)
        The k largest unweighted contributions by absolute value, decreasing; 0 where a
        cell has fewer. Of equal ones that with the larger weight comes first.
    largest_weight : numpy.ndarray of float, shape (n_cells, k)
        Their sampling weights; 0 where a cell has fewer contributors.
    largest_contributor : numpy.ndarray of int, shape (n_cells, k)
        Number of each contributor, -1 where a cell has fewer or where it is unknown.
    largest_request : numpy.ndarray of float, shape (n_cells, 2)
        Largest contribution among those who asked for protection with request code 1, 2.
    shortfall : numpy.ndarray of float, shape (n_cells,)
        How far the published value may lie below the contribution of any contributor, or of several
        together: 0 if no contribution is negative, half a unit for each rounded part, and infinite
        if contributions may be negative or are those of another variable.
    names : array of str or int, or None
        Identifier of each numbered contributor; None if they have none. Secret.
    waivers : Waivers, optional
        Who needs no protection, or another margin than that of the rule; None if nobody waived.
    """

    count: Integers
    weighted_count: Floats
    total: Floats
    largest: Floats
    largest_weight: Floats
    largest_contributor: Integers
    largest_request: Floats
    shortfall: Floats
    names: Names | None = None
    waivers: Waivers | None = None

    @classmethod
    def from_largest(
        cls, count: npt.ArrayLike, total: Floats, largest: Floats, tolerance: float = 0.0
    ) -> Contributions:
        """Describe a table that came with counts and its largest contributions only.

        Parameters
        ----------
        count : array_like of float, shape (n_cells,)
            Number of contributors.
        total : numpy.ndarray of float, shape (n_cells,)
            Cell values.
        largest : numpy.ndarray of float, shape (n_cells, k)
            The largest contributions, the largest first; NaN or 0 where a cell has fewer.
        tolerance : float, default=0
            Accepted error of a cell value.

        Raises
        ------
        InputError
            If `implausible` finds something.
        """
        found = implausible(count, total, largest, tolerance)
        if found is not None:
            cell, what, _ = found
            raise InputError(f"Cell {cell}: {what}", cells=[cell])
        count = np.asarray(count, dtype=np.float64).astype(np.int64)
        n_cells, k = largest.shape
        known = np.arange(k) < np.minimum(count, k)[:, None]
        return cls(
            count=count,
            weighted_count=count.astype(np.float64),
            total=total,
            largest=np.where(known, np.abs(largest), 0.0),
            largest_weight=known.astype(np.float64),
            largest_contributor=np.full((n_cells, k), -1, dtype=np.int64),
            largest_request=np.zeros((n_cells, 2)),
            shortfall=np.full(n_cells, np.inf),
        )

    @classmethod
    def unknown(cls, total: Floats) -> Contributions:
        """Describe cells of which nobody knows who contributes."""
        n = len(total)
        return cls(
            count=np.zeros(n, dtype=np.int64),
            weighted_count=np.zeros(n),
            total=total,
            largest=np.zeros((n, 0)),
            largest_weight=np.zeros((n, 0)),
            largest_contributor=np.full((n, 0), -1, dtype=np.int64),
            largest_request=np.zeros((n, 2)),
            shortfall=np.full(n, np.inf),
        )

    def padded(self, k: int) -> Contributions:
        """Return the same contributions with room for k largest; those that are added are empty."""
        more = ((0, 0), (0, k - self.largest.shape[1]))
        return replace(
            self,
            largest=np.pad(self.largest, more),
            largest_weight=np.pad(self.largest_weight, more),
            largest_contributor=np.pad(self.largest_contributor, more, constant_values=-1),
            waivers=self.waivers.padded(k) if self.waivers else None,
        )

    def take(self, cells: AnyIntegers) -> Contributions:
        """Return the contributions of the given cells, in that order."""
        taken = {name: getattr(self, name)[cells] for name in self._arrays()}
        return replace(self, **taken, waivers=self.waivers.take(cells) if self.waivers else None)

    @staticmethod
    def concatenate(parts: list[Contributions]) -> Contributions:
        """Stack the contributions of several tables; the same name is the same contributor."""
        stacked = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in Contributions._arrays()
        }
        names = parts[0].names
        if any(part.names is not names for part in parts):
            numbers, names = _renumbered(parts)
            stacked["largest_contributor"] = np.concatenate(numbers)
        elif names is None and len(parts) > 1:
            stacked["largest_contributor"] = np.concatenate(_renumbered(parts)[0])
        waivers = None
        if any(part.waivers for part in parts):
            waivers = Waivers.concatenate([part.known_waivers for part in parts])
        return Contributions(**stacked, names=names, waivers=waivers)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell: counts, total, and the largest contributors. Secret."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "count": self.count,
                "weighted_count": self.weighted_count,
                "total": self.total,
                "request_1": self.largest_request[:, 0],
                "request_2": self.largest_request[:, 1],
                "shortfall": self.shortfall,
            }
        )
        for rank in range(self.largest.shape[1]):
            who = self.largest_contributor[:, rank]
            frame[f"contributor_{rank + 1}"] = [
                self.name_of(number) if number >= 0 else "" for number in who.tolist()
            ]
            frame[f"largest_{rank + 1}"] = self.largest[:, rank]
            frame[f"weight_{rank + 1}"] = self.largest_weight[:, rank]
        return frame if self.waivers is None else frame.assign(**self.waivers.columns())

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Contributions:
        """Read what `to_frame` returns.

        Raises
        ------
        InputError
            If a column is missing, or an entry is no finite number, or negative, or a number of
            contributors is not whole.
        """
        import pandas as pd

        k = sum(column.startswith("largest_") for column in frame.columns)
        needed = ["count", "weighted_count", "total", "request_1", "request_2", "shortfall"]
        needed += [f"{name}_{rank + 1}" for rank in range(k) for name in ("largest", "weight")]
        for column in needed:
            _check_column(frame, column)

        def stacked(name: str) -> Floats:
            columns = [f"{name}_{rank + 1}" for rank in range(k)]
            return frame[columns].to_numpy(dtype=np.float64).reshape(len(frame), k)

        none = pd.Series([""] * len(frame), index=frame.index)
        who = [frame.get(f"contributor_{rank + 1}", none).fillna("") for rank in range(k)]
        flat = np.array([column.to_numpy(dtype=object) for column in who]).reshape(k, len(frame))
        names, code = np.unique(flat.astype(str), return_inverse=True)
        empty = int(len(names) > 0 and names[0] == "")
        numbers = code.reshape(k, len(frame)).T.astype(np.int64) - empty
        return cls(
            count=frame["count"].to_numpy(dtype=np.int64),
            weighted_count=frame["weighted_count"].to_numpy(dtype=np.float64),
            total=frame["total"].to_numpy(dtype=np.float64),
            largest=stacked("largest"),
            largest_weight=stacked("weight"),
            largest_contributor=numbers,
            largest_request=frame[["request_1", "request_2"]].to_numpy(dtype=np.float64),
            shortfall=frame["shortfall"].to_numpy(dtype=np.float64),
            names=names[empty:].astype(object),
            waivers=_read_waivers(frame, k),
        )

    @classmethod
    def _arrays(cls) -> list[str]:
        """Return the names of the arrays with one entry or row for each cell."""
        return [array.name for array in fields(cls) if array.name not in ("names", "waivers")]

    def name_of(self, number: int) -> str:
        """Return the identifier of a contributor, or its number."""
        return str(number) if self.names is None else str(self.names[number])

    @property
    def known_waivers(self) -> Waivers:
        """The waivers; where none are known, that nobody waived."""
        return self.waivers or Waivers.nobody(self.largest, self.largest_weight)

    @property
    def all_waived(self) -> Flags:
        """Which cells have contributors, all of them with a full waiver, shape (n_cells,)."""
        if self.waivers is None:
            return np.zeros(len(self.count), dtype=np.bool_)
        waived: Flags = (self.count > 0) & (self.waivers.full >= self.count)
        return waived

    @property
    def is_weighted(self) -> bool:
        """Whether any contributor has a sampling weight other than 1."""
        return bool(np.any(self.weighted_count != self.count))

    def units(self) -> tuple[Floats, Floats]:
        """Return how many contributors are before each of the largest, and for how many it counts.

        A record of weight w counts as w contributors, and as one if its weight is below 1.
        """
        weight = np.where(self.largest_weight > 0, np.maximum(self.largest_weight, 1.0), 0.0)
        return np.cumsum(weight, axis=1) - weight, weight

    def sum_of_largest(self, n: int) -> Floats:
        """Sum of the n largest contributions, filled up with weights.

        A record of size x and weight w counts as w contributors of size x; the last one
        enters fractionally. A weight below 1 counts as 1, so that the sum, and with it the
        verdict of a rule, errs on the side of protection.

        Raises
        ------
        InputError
            If fewer than n contributions per cell were kept although cells have more.
        """
        k = self.largest.shape[1]
        if k < n and bool(np.any(self.count > k)):
            raise InputError(
                f"The rule needs the {n} largest contributions of each cell, but the table holds "
                f"only {k}. Tabulate again with `n_largest={n}` or give more columns in `largest`."
            )
        before, weight = self.units()
        used = np.clip(n - before, 0.0, weight)
        total: Floats = np.sum(used * self.largest, axis=1)
        return total


def implausible(
    count: npt.ArrayLike, total: Floats, largest: Floats, tolerance: float = 0.0
) -> Implausible | None:
    """Find a cell whose count or largest contributions cannot be true.

    With such figures a rule can find a sensitive cell safe: no contributor dominates a cell
    without contributors, and missing contributions count as 0.

    Parameters
    ----------
    count, total, largest
        See `Contributions.from_largest`.
    tolerance : float, default=0
        Accepted error of a cell value.

    Returns
    -------
    tuple of int, str and int or None
        The first such cell, what was found and expected there, and the position of the column of
        `largest` that is concerned, None for the count; None if all figures are plausible.
    """
    number = np.asarray(count, dtype=np.float64)
    # A value that is not a number is reported elsewhere.
    total = np.where(np.isfinite(total), total, 0.0)
    size = np.abs(np.asarray(largest, dtype=np.float64))
    found: Implausible | None = _implausible_count(number, total)
    for rank in range(size.shape[1]):
        found = found or _implausible_size(number, size, rank)
    return found or _implausible_sum(number, total, size, tolerance)


def _implausible_count(number: Floats, total: Floats) -> Implausible | None:
    with np.errstate(invalid="ignore"):
        odd = ~((number >= 0) & (number <= MOST_CONTRIBUTORS) & (number == np.rint(number)))
    for cell in np.flatnonzero(odd)[:1]:
        return (
            int(cell),
            f"{_shown(number[cell])}, but must be a whole number of contributors, 0 or more.",
            None,
        )
    for cell in np.flatnonzero((number == 0) & (total != 0))[:1]:
        return (
            int(cell),
            f"0, but its value is {total[cell]:g}: such a cell must have a contributor.",
            None,
        )
    return None


def _implausible_size(number: Floats, size: Floats, rank: int) -> Implausible | None:
    column, known = size[:, rank], rank < number
    before = size[:, rank - 1] if rank else np.full(len(size), np.inf)
    for cell in np.flatnonzero(known & ~np.isfinite(column))[:1]:
        what = f"{_shown(column[cell])}, but the cell has {number[cell]:g} contributors."
        return int(cell), what, rank
    for cell in np.flatnonzero(~known & ~np.isnan(column) & (column != 0))[:1]:
        what = f"{column[cell]:g}, but the cell has only {number[cell]:g} contributors."
        return int(cell), what, rank
    for cell in np.flatnonzero(known & (column > before))[:1]:
        what = f"{column[cell]:g}, more than the one before it, {before[cell]:g}."
        return int(cell), f"{what} The largest comes first.", rank
    return None


def _implausible_sum(
    number: Floats, total: Floats, size: Floats, tolerance: float
) -> Implausible | None:
    """Look for a cell whose value is larger than its contributors can make it."""
    k = size.shape[1]
    if not k:
        return None
    listed = np.where(np.arange(k) < number[:, None], size, 0.0)
    most = listed.sum(axis=1) + np.maximum(number - k, 0) * listed[:, -1]
    # Each figure may have been rounded to the last digit of the table.
    slack = tolerance + 0.5 * _last_digit(total) * (number + 1) + 1e-9 * np.abs(total)
    for cell in np.flatnonzero(np.abs(total) > most + slack)[:1]:
        what = (
            f"too small: {number[cell]:g} contributors of at most these sizes make up "
            f"{most[cell]:g}, but the value of the cell is {total[cell]:g}."
        )
        return int(cell), what, min(k, int(number[cell])) - 1
    return None


def _check_column(frame: pd.DataFrame, column: str) -> None:
    """Refuse a column that is missing, or entries that `Contributions.to_frame` never writes."""
    import pandas as pd

    if column not in frame.columns:
        raise InputError(
            f"Contributions: column {column!r} is missing. Tabulate the microdata again."
        )
    found = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=np.float64)
    good = np.isfinite(found)
    expected = "a finite number"
    if column != "total":
        good, expected = good & (found >= 0), "a finite number, not negative"
    if column == "shortfall":
        good, expected = found >= 0, "a number, not negative"
    if column == "count":
        good &= (found <= MOST_CONTRIBUTORS) & (found == np.rint(found))
        expected = "a whole number of contributors, 0 or more"
    odd = np.flatnonzero(~good)
    if len(odd):
        raise InputError(
            f"column {column!r} of contributions is {frame[column].iloc[odd[0]]!r}, but must be "
            f"{expected}.",
            row=int(frame.index[odd[0]]),
        )


def _read_waivers(frame: pd.DataFrame, k: int) -> Waivers | None:
    """Read the columns that `Waivers.columns` writes; None if there are none."""
    names = Waivers.column_names(k)
    if not any(name in frame.columns for name in names):
        return None
    for column in names:
        _check_column(frame, column)
    return Waivers.from_columns(frame[names].to_numpy(dtype=np.float64), k)


def _shown(number: float) -> str:
    return "missing" if np.isnan(number) else f"{number:g}"


def _last_digit(values: Floats) -> float:
    """Return the power of ten, at most 1, of which all values are multiples; else 0."""
    for digits in range(7):
        scaled = values * 10.0**digits
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1)):
            return float(10.0**-digits)
    return 0.0


def _renumbered(
    parts: list[Contributions],
) -> tuple[list[Integers], Names | None]:
    """One numbering for all parts; contributors without names are never merged across parts."""
    sizes = [int(part.largest_contributor.max(initial=-1)) + 1 for part in parts]
    offsets = np.cumsum([0, *sizes[:-1]])
    code = np.arange(sum(sizes))
    names = None
    # Parts in which no contributor is numbered need no names.
    numbered = [(part.names, size) for part, size in zip(parts, sizes, strict=True) if size]
    if numbered and all(known is not None for known, _ in numbered):
        known = [np.asarray(known[:size], object) for known, size in numbered if known is not None]
        # Those of files are text, also where they are numbers elsewhere.
        texts, code = np.unique(np.concatenate(known).astype(str), return_inverse=True)
        names = texts.astype(object)
    numbers = []
    for part, offset in zip(parts, offsets, strict=True):
        who = part.largest_contributor
        moved = np.full(who.shape, -1, dtype=np.int64)
        moved[who >= 0] = code[who[who >= 0] + offset]
        numbers.append(moved)
    return numbers, names
