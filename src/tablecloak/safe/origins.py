"""The data of a project, and whether a column is computed from them record by record.

A mean of the group, a change since the last wave, a share of the total: beside a table of what it
was computed from, such a column tells of records that are in one and not in the other. No figure
shows that a column is one. So it is asked the other way round: is there a formula that gives it
from the data of each record alone, with constants that are nobody's amount?
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, require_known
from tablecloak.safe.formulas import computed
from tablecloak.safe.records import Codes, codes_of
from tablecloak.safe.values import DIGITS, is_round
from tablecloak.storage import checksum
from tablecloak.tables.formats.files import read_frame

PER_CODE = 10
"""Records of a code, or between two steps, on average, from which it is no accident that all are in
one class."""

MOST_CLASSES = 20
"""Numbers up to which the values of a column may be names of classes."""

SAMPLED = 5000
"""Records on which classes are tried before all are looked at; formulas need a tenth."""

EXACT = 1e-13
"""Difference, relative to the largest, up to which numbers are the same computed in another order:
more would hold other digits."""

SHOWN = 1e-9
"""Relative size from which a constant is one, and no error of rounding."""

LEAST = 3
"""Records that no formula of factor and constant gives by chance."""

ORDERS = (np.add, np.subtract, np.multiply, np.divide)
"""What is tried on each two columns."""

TRANSFORMS = (
    np.positive, np.log, np.log1p, np.sqrt, np.square, np.exp, np.reciprocal, np.arcsinh,
)  # fmt: skip
"""What is tried on each column, together with a factor and a constant."""


class ProjectData:
    """The data that all outputs of a project are made from.

    Parameters
    ----------
    data : DataFrame, str or Path
        A frame, kept as it is now, or the file that it is read from.

    Raises
    ------
    InputError
        If the file cannot be read, or data is neither.
    """

    def __init__(self, data: pd.DataFrame | str | Path) -> None:
        self.source = "a frame of the program, to be compared with the file"
        if isinstance(data, str | Path):
            self.source = f"{Path(data).name}, SHA-256 {checksum(Path(data))}"
            data = read_frame(data)
        elif not isinstance(data, pd.DataFrame):
            raise InputError("data is no frame and no file: give what all others are filtered from")
        self.frame = pd.DataFrame(index=data.index)
        self.formulas: dict[str, str] = {}
        self.codes: list[Codes] = []
        self.numbers_of_codes: list[int] = []
        for at in range(data.shape[1]):
            self._take(str(data.columns[at]), data.iloc[:, at])

    def _take(self, name: str, column: pd.Series[Any]) -> None:
        self.frame = self.frame.assign(**{name: column.copy()})
        self.codes.append(codes_of(column))
        self.numbers_of_codes.append(len(np.unique(self.codes[-1])))

    @property
    def said(self) -> str:
        """What a checker is told of the data."""
        names = [str(name) for name in self.frame if name not in self.formulas]
        formulas = "".join(f"; {name} = {formula}" for name, formula in self.formulas.items())
        return f"{self.source}: {len(self.frame):,} records of {', '.join(names)}{formulas}"

    def __getitem__(self, name: str) -> pd.Series[Any]:
        """Return a column of the data.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        require_known(name, list(self.frame), f"the data have no column {name!r}.")
        return self.frame[name]

    def add(self, name: str, formula: str) -> pd.Series[Any]:
        """Compute a column record by record; it counts as one of the data from then on.

        Raises
        ------
        InputError
            If there is another column of that name, or the formula cannot be computed.
        """
        if self.formulas.get(name) != formula:
            if name in self.frame:
                raise InputError(f"the data have a column {name!r}: choose another name")
            self._take(name, computed(formula, self.frame))
            self.formulas[name] = formula
        return self.frame[name]

    def gives(self, column: pd.Series[Any], codes: Codes, positions: Integers) -> bool:
        """Whether a column is one of the data, or a formula of them for each record.

        Parameters
        ----------
        column : (n,) Series
        codes : (n,) array
            Numbers for its values, as of `codes_of`.
        positions : (n,) array of int
            Where its records stand in the data.
        """
        if (positions < 0).any() or (positions >= len(self.frame)).any():
            return False
        name = str(column.name)
        if name in self.frame and _are_equal(self.frame[name].iloc[positions], column):
            return True
        return _Derivation(self, column, codes, positions).is_there()


class _Derivation:
    """One column beside the data of the same records."""

    def __init__(
        self, data: ProjectData, column: pd.Series[Any], classes: Codes, positions: Integers
    ) -> None:
        self._n, self._label, self._classes = len(classes), column, classes
        self._is_number = pd.api.types.is_numeric_dtype(column)
        self._codes = [codes[positions] for codes in data.codes]
        self._values = _floats(column) if self._is_number else np.full(self._n, np.nan)
        frame = data.frame.select_dtypes(["number", "bool"])
        self._numbers = [_floats(frame.iloc[:, at])[positions] for at in range(frame.shape[1])]
        self._few = [
            codes
            for codes, n_codes in zip(self._codes, data.numbers_of_codes, strict=True)
            if n_codes * PER_CODE <= self._n
        ]
        missing = (np.isnan(one) for one in self._numbers)
        self._few += [one.astype(np.uint64) for one in missing if one.any()]
        shuffled = np.random.default_rng(0).permutation(self._n)
        self._sample, self._some = shuffled[:SAMPLED], shuffled[: SAMPLED // 10]

    def is_there(self) -> bool:
        """Whether the column is one of the data, or some formula gives it."""
        if self._n == 0 or self._is_given() or self._are_middles():
            return True
        if self._are_names() and self._are_classes(self._classes):
            return True
        if not self._is_number:
            return False
        with np.errstate(all="ignore"):
            return (
                self._is_constant()
                or any(self._is_line_of(base) for base in self._bases())
                or any(self._is_edited(one) for one in self._numbers)
                or self._is_sum()
            )

    def _is_given(self) -> bool:
        if self._is_number:
            return any(np.array_equal(self._values, one, equal_nan=True) for one in self._numbers)
        return any(np.array_equal(self._classes, codes) for codes in self._codes)

    # -- classes --------------------------------------------------------------------------

    def _are_classes(self, classes: Codes) -> bool:
        """Whether records are in classes of codes, or of amounts between steps."""
        nobody = np.zeros(self._n, dtype=np.uint64)
        return any(
            self._are_steps(classes, codes, by)
            for codes in (nobody, *self._few)
            for by in (*self._numbers, *self._few)
        )

    def _are_names(self) -> bool:
        """Whether values are names, and no figures: texts, 0 and 1, or numbers in a row."""
        if not self._is_number:
            return not any(_is_figure(label) for label in self._label.dropna().unique())
        values = np.unique(self._values[~np.isnan(self._values)])
        first = values[:1]
        in_a_row = np.array_equal(values, first + np.arange(len(values)))
        return len(values) <= MOST_CLASSES and bool(np.isin(first, (0.0, 1.0)).all()) and in_a_row

    def _are_middles(self) -> bool:
        """Whether values are round numbers within the amounts between two steps."""
        labels = np.unique(self._values[~np.isnan(self._values)])
        if len(labels) > MOST_CLASSES or np.isnan([_nobodys(label) for label in labels]).any():
            return False
        nobody = np.zeros(self._n, dtype=np.uint64)
        for by in self._numbers:
            if self._are_steps(self._classes, nobody, by):
                bounds = pd.Series(by).groupby(self._values).agg(["min", "max"])
                if bool(((bounds["min"] <= labels) & (labels <= bounds["max"])).all()):
                    return True
        return False

    def _are_steps(self, classes: Codes, codes: Codes, by: Any) -> bool:
        """Whether classes change seldom along amounts, for each code, and never at one amount."""
        some = self._sample
        return _changes_seldom(classes[some], codes[some], by[some]) and (
            len(some) == self._n or _changes_seldom(classes, codes, by)
        )

    def _is_flag(self, rows: Flags) -> bool:
        """Whether these are all records of some codes, or between steps, or none."""
        return not rows.any() or self._are_classes(rows.astype(np.uint64))

    # -- formulas -------------------------------------------------------------------------

    def _is_constant(self) -> bool:
        values = np.unique(self._values)
        return len(values) == 1 and values[0] == _nobodys(values[0])

    def _bases(self) -> Iterator[Callable[[Any], Floats]]:
        """Yield columns of numbers, and what becomes of each two of them."""
        for one in self._numbers:
            yield partial(_of_one, one)
        for first, one in enumerate(self._numbers):
            for second, other in enumerate(self._numbers):
                for order in ORDERS:
                    if first < second or (first > second and order is np.divide):
                        yield partial(_of_two, order, one, other)

    def _is_line_of(self, base: Callable[[Any], Floats]) -> bool:
        """Whether the column is a transform of a base, times a factor, plus a constant."""
        some, values = base(self._some), self._values[self._some]
        for transform in TRANSFORMS:
            if _is_line(transform, some, values):
                whole = base(slice(None))
                left_out = np.isnan(self._values) & np.isfinite(transform(whole))
                return _is_line(transform, whole, self._values) and self._is_flag(left_out)
        return False

    def _is_edited(self, base: Floats) -> bool:
        """Whether a column is rounded, or replaced by one or two constants for some records."""
        if not self._may_be_edited(base[self._some], self._values[self._some]):
            return False
        left_out, filled = np.isnan(self._values) & ~np.isnan(base), np.isnan(base)
        filled &= ~np.isnan(self._values)
        if not self._is_flag(left_out):
            return False
        there = ~np.isnan(base) & ~np.isnan(self._values)
        if not filled.any() and _is_rounded(self._values[there], base[there], self._unit):
            return True
        other = filled | (there & (self._values != base))
        constants = np.unique(self._values[other])
        return 0 < len(constants) <= 2 and all(
            constant == _nobodys(constant) and self._is_put(constant, base, other)
            for constant in constants
        )

    @cached_property
    def _unit(self) -> float:
        """Smallest difference of two values, of which rounded values are multiples."""
        steps = np.diff(np.unique(self._values[np.isfinite(self._values)]))
        return float(steps.min()) if len(steps) else 0.0

    def _may_be_edited(self, base: Floats, values: Floats) -> bool:
        """Whether some records do not speak against it, which most columns settle."""
        there = ~np.isnan(base) & ~np.isnan(values)
        base, values = base[there], values[there]
        other = values[values != base]
        return len(np.unique(other)) <= 2 or _is_rounded(values, base, self._unit)

    def _is_put(self, constant: float, base: Floats, other: Flags) -> bool:
        """Whether a constant stands for what lies beyond it, what is missing, or some classes."""
        rows = other & (self._values == constant)
        is_clipped = (np.nanmax(self._values) == constant and (base[rows] > constant).all()) or (
            np.nanmin(self._values) == constant and (base[rows] < constant).all()
        )
        return is_clipped or np.array_equal(rows, np.isnan(base)) or self._is_flag(rows)

    def _is_sum(self) -> bool:
        """Whether the column is a sum of others, each times a factor that is nobody's."""
        rows = np.flatnonzero(np.isfinite(self._values))
        columns = [one for one in self._numbers if np.isfinite(one[rows]).all()]
        if not columns or len(rows) < 3 * len(columns) + 3:
            return False
        every = np.stack([*columns, np.ones(self._n)], axis=1)
        scale = np.abs(every[rows]).max(axis=0)
        scale[scale == 0] = 1.0
        some = np.random.default_rng(0).permutation(rows)[:SAMPLED]
        sizes = np.linalg.lstsq(every[some] / scale, self._values[some], rcond=None)[0]
        sizes[np.abs(sizes) < SHOWN * np.abs(sizes).max()] = 0.0
        factors = np.array([_nobodys(factor) for factor in sizes / scale])
        return _same(self._values[rows], every[rows] @ factors) and self._is_flag(
            ~np.isfinite(self._values)
        )


def _are_equal(past: pd.Series[Any], column: pd.Series[Any]) -> bool:
    """Whether a column has the very values that records have in the data."""
    return past.dtype == column.dtype and past.reset_index(drop=True).equals(
        column.reset_index(drop=True)
    )


def _floats(column: pd.Series[Any]) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _of_one(one: Floats, rows: Any) -> Floats:
    return np.asarray(one[rows], dtype=np.float64)


def _of_two(order: Callable[..., Floats], one: Floats, other: Floats, rows: Any) -> Floats:
    return np.asarray(order(one[rows], other[rows]), dtype=np.float64)


def _is_rounded(values: Floats, amounts: Floats, unit: float) -> bool:
    """Whether values are amounts rounded to multiples of a unit that is nobody's."""
    unit = _nobodys(unit)
    return unit > 0 and any(
        _same(values / unit, rounded(amounts / unit)) for rounded in (np.rint, np.floor, np.ceil)
    )


def _changes_seldom(classes: Codes, codes: Codes, by: Any) -> bool:
    """Whether sorted records change their class much more seldom than shuffled ones do.

    Parameters
    ----------
    classes, codes, by : (n,) arrays
        Records are sorted by `by` within each of `codes`.
    """
    order = np.lexsort((by, codes))
    classes, codes, by = classes[order], codes[order], by[order]
    low, high = by[:-1], by[1:]
    is_tie = (low == high) | (pd.isna(low) & pd.isna(high))
    is_inside = codes[1:] == codes[:-1]
    changes = classes[1:] != classes[:-1]
    if (changes & is_tie & is_inside).any():
        return False
    if np.count_nonzero(~(is_tie & is_inside)) * PER_CODE <= len(classes):
        return True
    steps, n_groups = changes & is_inside, int(np.count_nonzero(~is_inside)) + 1
    counts = np.unique(classes, return_counts=True)[1]
    n_apart = len(classes) - (counts / len(classes) * counts).sum()
    if (np.count_nonzero(steps) + n_groups - 1) * PER_CODE > n_apart:
        return False
    # Classes of as many records each tell of all records, unless they end where others would.
    are_equal = len(counts) > 1 and np.ptp(counts) <= 2 * n_groups
    return _hold_round(low[steps], high[steps], DIGITS - 1 if are_equal else DIGITS)


def _hold_round(low: Any, high: Any, digits: int) -> bool:
    """Whether a number of few digits lies between each two amounts, where a class may end."""
    low, high = low.astype(np.float64), high.astype(np.float64)
    size = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    unit = 10.0 ** (np.floor(np.log10(size)) - (digits - 1))
    is_between = np.ceil(low / unit) * unit <= high
    return bool((is_between | ~np.isfinite(low) | ~np.isfinite(high)).all())


def _is_line(transform: Callable[[Floats], Floats], amounts: Floats, values: Floats) -> bool:
    """Whether values are a transform of amounts, times a factor, plus a constant, each nobody's."""
    there = np.isfinite(values)
    base, values = transform(amounts[there]), values[there]
    if len(values) < LEAST or not np.isfinite(base).all():
        return False
    low, high = int(np.argmin(base)), int(np.argmax(base))
    factor = _nobodys((values[high] - values[low]) / (base[high] - base[low]))
    if not factor:
        return False
    size = max(abs(values[low]), abs(factor * base[low]))
    constant = values[low] - factor * base[low]
    constants = [0.0] if abs(constant) <= SHOWN * size else [
        _nobodys(constant), _nobodys(constant / factor) * factor,
    ]  # fmt: skip
    if transform in (np.log, np.log1p):
        # Amounts in other units.
        constants.append(factor * float(np.log(_nobodys(float(np.exp(constant / factor))))))
    return any(_same(values, factor * base + one) for one in constants)


def _same(values: Floats, others: Floats) -> bool:
    size = float(np.abs(others).max(initial=0.0))
    return bool(np.allclose(values, others, rtol=EXACT, atol=EXACT * size))


def _nobodys(constant: float) -> float:
    """Return a constant, or 1 by one, of too few digits to be of anybody's amounts; else nan."""
    if constant == 0 or not np.isfinite(constant):
        return constant if constant == 0 else np.nan
    for size, is_divisor in ((abs(constant), False), (1 / abs(constant), True)):
        digits = np.format_float_positional(float(f"{size:.9g}"), trim="-")
        if is_round(digits):
            return float(np.sign(constant)) * (1 / float(digits) if is_divisor else float(digits))
    return np.nan


def _is_figure(label: object) -> bool:
    """Whether a label is nothing but a number."""
    try:
        float(str(label))
    except ValueError:
        return False
    return True
