"""The search for a formula that gives a column from the data of each record alone.

Where there is one, the column tells of nobody but those who are shown. Its constants must be
nobody's: so round, or so usual, that they are no maximum, mean or count of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.records import Codes
from tablecloak.safe.values import NUMBER, SEPARATOR, YEARS, digits_of

PER_CODE = 10
"""Records of a code, or between two steps, on average, from which it is no accident that all are in
one class."""

MOST_CLASSES = 20
"""Numbers up to which the values of a column may be names of classes."""

MOST_PAIRED = 40
"""Columns up to which formulas of each two are tried: more would take minutes."""

UNITS = (1.0, 12.0, 52.0, 365.0, 365.25)
"""Numbers that a factor may be, or divide by, together with powers of ten: they are of the calendar
and nobody's. A count of a small group is any other whole number."""

LONG = 4
"""Digits of usual amounts: beside amounts of as many digits a number of two is nobody's, beside
shorter ones a number of one."""

EDGE_DIGITS = 2
"""Digits of numbers at which classes may end, and in their names."""

USUAL_ENDS = np.array([12.0, 14.0, 16.0, 18.0, 21.0, 24.0, 36.0, 66.0, 67.0])
"""Ages, months and hours at which laws and surveys draw lines, beside multiples of five."""

MULTIPLES = 0.9
"""Share of amounts that are multiples of the unit in which a column was measured."""

USUAL_PERCENTILES = np.array([1, 2.5, 5, 10, 20, 25, 50, 75, 80, 90, 95, 97.5, 99]) / 100
PERCENTILES = np.arange(1, 100) / 100
"""Shares whose quantile no constant may be that few have. Of two-digit constants that are no
multiple of five up to two of three are somebody's amount, among 10,000 records: amounts alone say
nothing."""

SAMPLED = 5000
"""Records on which classes are tried before all are looked at; formulas need a tenth."""

EXACT = 1e-13
"""Difference, relative to the terms, up to which sums are the same computed in another order: more
would hold other digits."""

SINGLE = 2e-7
"""The same for numbers of single precision."""

SHOWN = 1e-9
"""Relative size from which a constant is one, and no error of rounding."""

EQUAL = 2
"""Difference of the numbers of records of equal classes, from which some may be left out."""

SMALL = 1e-30
"""Size below which, or by one above which, nothing is a unit."""

LEAST = 3
"""Records that no formula of factor and constant gives by chance."""

ROUNDINGS = 3
"""Errors of rounding that a factor carries, as the quotient of two differences."""


def _cube(amounts: Floats) -> Floats:
    return np.asarray(amounts**3, dtype=np.float64)


def _for_square(one: Floats, other: Floats) -> Floats:
    """Return what the index of body mass is of weight and height."""
    return np.asarray(one / other**2, dtype=np.float64)


NOT_SYMMETRIC = (np.divide, _for_square)

ORDERS = (np.add, np.subtract, np.multiply, *NOT_SYMMETRIC)
"""What is tried on each two columns."""

LOGARITHMS = (np.log, np.log1p, np.log10, np.log2)

CALENDAR = (
    "%Y-%m",
    "%Y/%m",
    "%m/%Y",
    "%m.%Y",
    "%b %Y",
    "%B %Y",
    "%b",
    "%B",
    "%a",
    "%A",
    "%G-W%V",
)
PERIODS = ("Y", "Q", "M", "W")
"""How months, weeks and days of the week are written, and periods of pandas."""

TRANSFORMS = (
    np.positive, *LOGARITHMS, np.sqrt, np.square, _cube, np.exp, np.reciprocal, np.arcsinh,
)  # fmt: skip
"""What is tried on each column, together with a factor and a constant."""


class FormulaSearch:
    """One column beside the data of the same records.

    Parameters
    ----------
    frame : DataFrame
        The data of these records.
    codes : sequence of (n,) array
        Numbers for the values of each column of it.
    few : sequence of int
        Numbers of the columns of it whose codes have many records each.
    column : (n,) Series
    classes : (n,) array
        Numbers for its values.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        codes: Sequence[Codes],
        few: Sequence[int],
        column: pd.Series[Any],
        classes: Codes,
    ) -> None:
        self._n, self._label, self._codes = len(classes), column, codes
        self._is_number = pd.api.types.is_numeric_dtype(column)
        self._values = _floats(column) if self._is_number else np.full(self._n, np.nan)
        # Codes of numbers are of so many decimals; what lies beyond these may hold anything.
        exact = np.unique(self._values, return_inverse=True)[1].astype(np.uint64)
        self._classes = exact if self._is_number else classes
        self._exact = SINGLE if column.dtype == np.float32 else EXACT
        self._numbers = [one for name in frame for one in numbers_of(frame[name])]
        self._dates = [
            frame[name] for name in frame if pd.api.types.is_datetime64_any_dtype(frame[name])
        ]
        self._along = [one for one in self._numbers if not is_numbering(one)]
        missing = (np.isnan(one) for one in self._numbers)
        self._few = [
            *((codes[which], frame.iloc[:, which]) for which in few),
            *((one.astype(np.uint64), pd.Series(one)) for one in missing if one.any()),
        ]
        shuffled = np.random.default_rng(0).permutation(self._n)
        self._sample, self._some = shuffled[:SAMPLED], shuffled[: SAMPLED // 10]

    def finds_any(self) -> bool:
        """Whether the column is one of the data, or some formula gives it."""
        if self._n == 0 or self._is_given() or self._are_middles() or self._is_of_calendar():
            return True
        if self._are_names() and self._are_classes(self._classes, self._label):
            return True
        if not self._is_number or np.isinf(self._values).any():
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

    def _is_of_calendar(self) -> bool:
        """Whether the column says in words or as a period when a date of the data is."""
        if self._is_number or not self._dates:
            return False
        said = self._label.astype(str).to_numpy()
        for date in self._dates:
            there = date.notna().to_numpy()
            day, days = pd.factorize(date[there].dt.tz_localize(None).dt.normalize())
            dates = pd.DatetimeIndex(days)
            texts = chain(
                (dates.strftime(way) for way in CALENDAR),
                (dates.to_period(way).astype(str) for way in PERIODS),
            )
            if any(np.array_equal(np.asarray(text)[day], said[there]) for text in texts):
                return bool(self._label[~there].isna().all())
        return False

    # -- classes --------------------------------------------------------------------------

    def _are_classes(self, classes: Codes, labels: pd.Series[Any]) -> bool:
        """Whether records are in classes between steps of amounts, of codes, or of both."""
        return (
            any(
                _have_round_names(labels, by) and self._are_steps(classes, by) for by in self._along
            )
            or any(self._are_codes(classes, labels, [one]) for one in self._few)
            or any(self._are_codes(classes, labels, two) for two in combinations(self._few, 2))
            or any(self._are_steps_in_one(classes, labels, codes) for codes, _ in self._few)
        )

    def _are_codes(
        self,
        classes: Codes,
        labels: pd.Series[Any],
        given: Sequence[tuple[Codes, pd.Series[Any]]],
    ) -> bool:
        """Whether classes are codes, put together, shortened, renamed, or one beside all others.

        Any other function of codes may say something of all records that have one: how many are
        ill, or who earns most.
        """
        kinds = pd.DataFrame({str(k): codes for k, (codes, _) in enumerate(given)})
        kinds["class"] = classes
        kinds = kinds.drop_duplicates()
        if len(kinds) * PER_CODE > self._n or kinds.drop(columns="class").duplicated().any():
            return False
        places = kinds.index.to_numpy()
        said = [str(label) for label in labels.iloc[places]]
        parts = [[str(part) for part in column.iloc[places]] for _, column in given]
        sizes = kinds["class"].value_counts()
        is_one_beside_others = len(sizes) == 2 and sizes.min() == 1
        # Codes are joined under the name of one of them.
        kept = {name for name, code in zip(said, parts[0], strict=True) if name == code}
        is_renamed = len(given) == 1 and len(sizes) == len(kinds)
        return (
            (is_one_beside_others and (self._is_number or self._are_free(said)))
            or _are_put_together(said, parts)
            or (len(given) == 1 and said == [code[: max(map(len, said))] for code in parts[0]])
            or (len(given) == 1 and set(said) == kept)
            or (is_renamed and self._are_names_of(parts[0], said, places))
        )

    def _are_names_of(self, codes: Sequence[str], said: Sequence[str], places: Integers) -> bool:
        """Whether each code has another name: a number in their order, or a text.

        A text that is a value of another column may be that of the one who earns most.
        """
        if self._is_number:
            return bool((np.diff(self._values[places][np.argsort(codes)]) > 0).all())
        # A mark at some codes may tell which have few.
        return self._are_free(said) and not any(map(str.__contains__, said, codes))

    def _are_free(self, said: Sequence[str]) -> bool:
        """Whether names have no digits, and are no values of another column."""
        columns = (set(map(str, column.unique())) for _, column in self._few)
        return not any(map(_has_digits, said)) and not any(set(said) <= one for one in columns)

    def _are_steps_in_one(self, classes: Codes, labels: pd.Series[Any], codes: Codes) -> bool:
        """Whether all records but those of one code are in one class, and these between steps."""
        for code in np.unique(codes):
            rows = codes == code
            if len(np.unique(classes[~rows])) == 1 and len(np.unique(classes[rows])) > 1:
                return any(
                    _have_round_names(labels, by) and _changes_seldom(classes[rows], by[rows])
                    for by in self._along
                )
        return False

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
        if not 1 < len(labels) <= MOST_CLASSES:
            return False
        for by in self._along:
            if self._are_steps(self._classes, by):
                bounds = pd.Series(by).groupby(self._values).agg(["min", "max"])
                are_inside = (bounds["min"] <= labels) & (labels <= bounds["max"])
                if are_inside.all() and all(_is_rounder(label, by) for label in labels):
                    return True
        return False

    def _are_steps(self, classes: Codes, by: Floats) -> bool:
        """Whether classes change seldom along amounts, and never at one amount.

        Numbers of classes go up or down along these; counts of each month do not.
        """
        some = self._sample
        if self._is_number and len(np.unique(classes)) > 2 and classes is self._classes:
            order = np.argsort(by[some], kind="stable")
            changes = np.diff(self._values[some][order])
            changes = changes[~np.isnan(changes)]
            if (changes > 0).any() and (changes < 0).any():
                return False
        return _changes_seldom(classes[some], by[some]) and (
            len(some) == self._n or _changes_seldom(classes, by)
        )

    def _is_flag(self, rows: Flags) -> bool:
        """Whether these are all records of some codes, or between steps, or none."""
        flag = pd.Series(rows.astype(np.float64))
        return not rows.any() or self._are_classes(rows.astype(np.uint64), flag)

    # -- formulas -------------------------------------------------------------------------

    def _is_constant(self) -> bool:
        values = np.unique(self._values)
        return len(values) == 1 and values[0] in (0.0, 1.0)

    def _bases(self) -> Iterator[Callable[[Any], Floats]]:
        """Yield columns of numbers, and what becomes of each two of them."""
        for one in self._numbers:
            yield partial(_of_one, one)
        paired = self._numbers if len(self._numbers) <= MOST_PAIRED else []
        for first, one in enumerate(paired):
            for second, other in enumerate(paired):
                for order in ORDERS:
                    if first < second or (first > second and order in NOT_SYMMETRIC):
                        yield partial(_of_two, order, one, other)

    def _is_line_of(self, base: Callable[[Any], Floats]) -> bool:
        """Whether the column is a transform of a base, times a factor, plus a constant."""
        some, values = base(self._some), self._values[self._some]
        for transform in TRANSFORMS:
            if _is_line(transform, some, values, self._exact):
                whole = base(slice(None))
                left_out = np.isnan(self._values) & np.isfinite(transform(whole))
                return _is_line(transform, whole, self._values, self._exact) and self._is_flag(
                    left_out
                )
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
        kept = self._values[~other & ~np.isnan(self._values)]
        if len(kept) < PER_CODE or len(np.unique(kept)) <= len(constants):
            return False
        return 0 < len(constants) <= 2 and all(
            _is_rounder(constant, base)
            and self._is_put(constant, base, other)
            and not _is_quantile(constant, base, other)
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
        """Whether the column is a sum, difference or mean of others, in other units.

        Others times powers of ten of their own would stand in different digits of a sum.
        """
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
        factors = sizes / scale
        used = np.abs(factors[:-1]) > 0
        n_used, factor = max(int(used.sum()), 1), float(np.abs(factors[:-1]).max())
        # A mean of several columns is divided by their number.
        units = (_nobodys(factor), _nobodys(factor * n_used) / n_used)
        unit = next((one for one in units if not np.isnan(one)), np.nan)
        factors = np.append(np.sign(factors[:-1]) * unit, _nobodys(factors[-1]))
        sums, terms = every[rows] @ factors, np.abs(every[rows]) @ np.abs(factors)
        return _same(self._values[rows], sums, terms, self._exact) and self._is_flag(
            ~np.isfinite(self._values)
        )


def _floats(column: pd.Series[Any]) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _of_one(one: Floats, rows: Any) -> Floats:
    return np.asarray(one[rows], dtype=np.float64)


def _of_two(order: Callable[..., Floats], one: Floats, other: Floats, rows: Any) -> Floats:
    return np.asarray(order(one[rows], other[rows]), dtype=np.float64)


def _is_rounded(values: Floats, amounts: Floats, unit: float) -> bool:
    """Whether values are amounts, perhaps in thousands, rounded to multiples of a round unit."""
    # Rounding is to tens, fives, or quarters of these.
    most = 2 if f"{unit:g}".strip("0.") == "25" else 1
    if not unit or not np.isfinite(unit) or _digits(unit) > most:
        return False
    rounds = (np.rint, np.floor, np.ceil)
    return any(
        _same(values / unit, rounded(amounts / 10**power / unit), np.abs(values / unit))
        for rounded in rounds
        for power in (0, 3, 6)
    )


def _changes_seldom(classes: Codes, by: Floats) -> bool:
    """Whether records sorted by amounts change their class much more seldom than shuffled ones.

    Parameters
    ----------
    classes, by : (n,) arrays
    """
    order = np.argsort(by, kind="stable")
    classes, by = classes[order], by[order]
    low, high = by[:-1], by[1:]
    # Missing amounts are equal.
    is_tie = (low == high) | (np.isnan(low) & np.isnan(high))
    changes = classes[1:] != classes[:-1]
    if (changes & is_tie).any():
        return False
    counts = np.unique(classes, return_counts=True)[1]
    n_apart = len(classes) - (counts / len(classes) * counts).sum()
    n_changes = np.count_nonzero(changes)
    # Each class is one run of amounts, or lies within the other one.
    if n_changes > max(len(counts) - 1, 2) or n_changes * PER_CODE > n_apart:
        return False
    # Classes of as many records, or as wide, tell of all records, unless they end where others
    # would.
    are_equal = len(counts) > 1 and np.ptp(counts) <= EQUAL
    low, high = low[changes].astype(np.float64), high[changes].astype(np.float64)
    digits = EDGE_DIGITS - int(are_equal or _are_as_wide(low, high, by))
    return _hold_round(low, high, digits, _unit_of(by))


def is_cut_at_an_amount(kept: Flags, by: Floats) -> bool:
    """Whether records that are kept are all those in a range of amounts without round ends.

    How many are above somebody's amount is its rank, which a histogram turns into the amount. An
    end at a usual percentile tells no rank but that one, and an amount that many have is nobody's.

    Parameters
    ----------
    kept, by : (n,) arrays
    """
    there = ~np.isnan(by)
    inside, outside = by[kept & there], by[~kept & there]
    if not len(inside) or not len(outside):
        return False
    least, most = inside.min(), inside.max()
    below, above = outside[outside < least], outside[outside > most]
    if len(below) + len(above) < len(outside):
        return False
    for low, high, n_below in (
        (below.max(initial=-np.inf), least, len(below)),
        (most, above.min(initial=np.inf), len(below) + len(inside)),
    ):
        are_many = min(np.count_nonzero(by == low), np.count_nonzero(by == high)) >= PER_CODE
        is_usual = np.abs(USUAL_PERCENTILES * there.sum() - n_below).min() <= 1
        pair = np.array([low]), np.array([high])
        is_end = bool(np.isfinite(low) and np.isfinite(high))
        if is_end and not (are_many or is_usual or _hold_round(*pair, EDGE_DIGITS, _unit_of(by))):
            return True
    return False


def _are_as_wide(low: Floats, high: Floats, by: Floats) -> bool:
    """Whether three classes or more end where equal ones from the least to the largest would."""
    if len(low) < 2 or np.isnan(by[-1]):
        return False
    edges = np.linspace(by[0], by[-1], len(low) + 2)[1:-1]
    return bool(((low <= edges) & (edges <= high)).all())


def _unit_of(amounts: Floats) -> float:
    """Return the power of ten that amounts are multiples of; 0 if they are of none."""
    some = amounts[np.isfinite(amounts)]
    some = some[:: max(len(some) // SAMPLED, 1)]
    for power in range(6, -4, -1):
        unit = 10.0**power
        whole = np.abs(some / unit - np.rint(some / unit)) < SHOWN * np.maximum(some / unit, 1)
        if len(some) and whole.mean() >= MULTIPLES:
            return unit
    return 0.0


def _hold_round(low: Floats, high: Floats, digits: int, unit: float) -> bool:
    """Whether a number lies between each two amounts where a class may end.

    It has few digits. Where each amount has as few, it is a multiple of five units, or usual.

    Parameters
    ----------
    low, high : (k,) array of float
    digits : int
    unit : float
        What amounts are multiples of.
    """
    size = np.maximum(np.maximum(np.abs(low), np.abs(high)), np.finfo(np.float64).tiny)
    step = 10.0 ** (np.floor(np.log10(size)) - (digits - 1))
    is_fine = (step <= unit) & (size >= 10 * unit)
    step = np.where(is_fine, 5 * unit, np.maximum(step, unit))
    is_between = np.ceil(low / step) * step <= high
    if unit == 1:
        ends = USUAL_ENDS[:, None]
        is_between |= is_fine & ((low <= ends) & (ends <= high)).any(axis=0)
    return bool((is_between | ~np.isfinite(low) | ~np.isfinite(high)).all())


def _is_line(
    transform: Callable[[Floats], Floats], amounts: Floats, values: Floats, exact: float
) -> bool:
    """Whether values are a transform of amounts in other units, perhaps and one more or less."""
    there = ~np.isnan(values)
    base, values = transform(amounts[there]), values[there]
    if len(values) < LEAST or not (np.isfinite(base).all() and np.isfinite(values).all()):
        return False
    low, high = int(np.argmin(base)), int(np.argmax(base))
    factor = _nobodys((values[high] - values[low]) / (base[high] - base[low]), exact)
    if not factor:
        return False
    constant = values[low] - factor * base[low]
    if transform in LOGARITHMS:
        # Amounts in other units.
        unit = _nobodys(float(np.exp(constant / factor)), exact)
        nearest = factor * float(np.log(unit))
    else:
        nearest = min((0.0, 1.0, -1.0, factor, -factor), key=lambda one: abs(one - constant))
    return _same(values, factor * base + nearest, np.abs(factor * base) + abs(nearest), exact)


def _same(values: Floats, others: Floats, terms: Floats, exact: float = EXACT) -> bool:
    """Whether numbers differ by no more than rounding does of the terms that they add up."""
    return bool((np.abs(values - others) <= exact * terms).all())


def _nobodys(factor: float, exact: float = EXACT) -> float:
    """Return a factor that is one of `UNITS`, or 1 by one, and a power of ten; else nan."""
    size = abs(factor)
    if not SMALL < size < 1 / SMALL:
        return 0.0 if size == 0 else np.nan
    for unit in UNITS:
        for ratio in (unit, 1 / unit):
            power = float(np.rint(np.log10(size / ratio)))
            # Powers of ten below 1 have no exact number, but what divides by one has.
            one = ratio * 10.0**power if power >= 0 else ratio / 10.0**-power
            if abs(size - one) <= max(SHOWN, ROUNDINGS * exact) * one:
                return float(np.copysign(one, factor))
    return np.nan


def _digits(amount: float) -> int:
    return digits_of(np.format_float_positional(float(f"{abs(amount):.9g}"), trim="-"))


def _usual_digits(amounts: Floats) -> float:
    some = amounts[np.isfinite(amounts)][: SAMPLED // 50]
    return float(np.median([_digits(one) for one in some])) if len(some) else 0.0


def _is_rounder(constant: float, amounts: Floats) -> bool:
    """Whether a constant has so much fewer digits than amounts that it is hardly one of them."""
    return _digits(constant) <= (2 if _usual_digits(amounts) >= LONG else 1)


def _is_quantile(constant: float, amounts: Floats, rows: Flags) -> bool:
    """Whether a constant is a mean or quantile of amounts, all or those that it stands beside.

    What many have is nobody's amount, unless it is the mean or the median.
    """
    if constant == 0:
        return False
    is_of_few = np.count_nonzero(amounts == constant) < PER_CODE
    shares = PERCENTILES if is_of_few else np.array([0.5])
    parts = (part[~np.isnan(part)] for part in (amounts, amounts[rows], amounts[~rows]))
    return any(
        len(part) > 0
        and np.isclose([np.mean(part), *np.quantile(part, shares)], constant, SHOWN, 0).any()
        for part in parts
    )


def numbers_of(column: pd.Series[Any]) -> list[Floats]:
    """Return a column as numbers; of dates also the year, month and so on."""
    if pd.api.types.is_numeric_dtype(column):
        return [_floats(column)]
    if not pd.api.types.is_datetime64_any_dtype(column):
        return []
    date = column.dt
    days = (column - pd.Timestamp(0, tz=date.tz)).dt.total_seconds() / (24 * 60 * 60)
    return [_floats(one) for one in (days, date.year, date.month, date.quarter, date.day_of_week)]


def is_numbering(numbers: Floats) -> bool:
    """Whether numbers only tell records apart, such as those of persons or lines."""
    whole = numbers[~np.isnan(numbers)]
    if not len(whole) or (whole % 1 != 0).any() or len(np.unique(whole)) < len(whole):
        return False
    return bool(whole.max() - whole.min() <= PER_CODE * len(whole))


def _are_put_together(said: Sequence[str], parts: Sequence[Sequence[str]]) -> bool:
    """Whether labels have their codes, and all the same besides."""
    for codes in parts:
        if not all(map(str.__contains__, said, codes)):
            return False
        said = [name.replace(code, "", 1) for name, code in zip(said, codes, strict=True)]
    return len(set(said)) == 1


def _have_round_names(labels: pd.Series[Any], by: Floats) -> bool:
    """Whether numbers in names are edges of classes that are nobody's amount.

    They are short, lie between the amounts of two classes, and are not the smallest or largest
    amount of all where few have it.
    """
    if pd.api.types.is_numeric_dtype(labels):
        return True
    bounds = pd.Series(by).groupby(labels.astype(str).to_numpy()).agg(["min", "max"])
    bounds = bounds.dropna().sort_values("min")
    low, high = bounds["min"].to_numpy(), bounds["max"].to_numpy()
    edges = [(high_, low_) for high_, low_ in zip(high[:-1], low[1:], strict=True)]
    edges = [(-np.inf, low[0]), *edges, (high[-1], np.inf)] if len(low) else edges
    ends = [end for end in (low.min(), high.max()) if np.count_nonzero(by == end) < PER_CODE]
    for place, name in enumerate(bounds.index):
        for number in NUMBER.findall(SEPARATOR.sub("", name)):
            is_short = digits_of(number) <= EDGE_DIGITS or number in YEARS
            sides = edges[place : place + 2]
            is_edge = any(one <= float(number) <= other for one, other in sides)
            if not is_short or not is_edge or float(number) in ends:
                return False
    return True


def _has_digits(name: str) -> bool:
    return any(letter.isdigit() for letter in name)


def _is_figure(label: object) -> bool:
    """Whether a label is nothing but a number."""
    try:
        float(str(label))
    except ValueError:
        return False
    return True
