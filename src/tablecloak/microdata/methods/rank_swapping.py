"""Rank swapping: numbers are exchanged between records of near rank.

References
----------
.. [1] Moore: Controlled data-swapping techniques for masking public use microdata sets, U.S. Bureau
   of the Census, Statistical Research Division Report RR 96-04, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.columns import numbers_of
from tablecloak.microdata.methods.method import METHODS, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.methods.topcoding import coded_by_means
from tablecloak.microdata.order import warn_of_order

USUAL_CORRELATION = 0.95
"""Correlation that stays if nothing else is asked for, as in sdcMicro's `rankSwap`."""

NEAR = 0.05
"""Share of a window within which the widest that is allowed is found."""


@dataclass(frozen=True, eq=False)
class RankSwapRelease:
    """Records whose numbers were exchanged with those of near rank.

    Parameters
    ----------
    frame : pandas.DataFrame
    report : pandas.DataFrame
        One row for each column: `window` in ranks, `share` (the window as a share of the known
        values), `exchanged` (values that have a partner), `coded` (extreme values that became a
        mean), `ranks_moved` (mean over all values), `correlation` of the released with the original
        values, and `mean_change`, the root mean square change as a share of the mean. It stays
        inside.
    """

    frame: pd.DataFrame
    report: pd.DataFrame

    def summary(self) -> str:
        """Return number of records, the windows, and the least correlation kept, in one line."""
        least, most = int(self.report["window"].min()), int(self.report["window"].max())
        ranks = f"{most} ranks" if least == most else f"{least} to {most} ranks by column"
        return (
            f"rank-swap: {len(self.frame)} records, {len(self.report)} columns, values move by at "
            f"most {ranks} ({100 * self.report['share'].max():.3g} %), their correlation with the "
            f"original is {self.report['correlation'].min():.4g} or more"
        )


@METHODS.register
@dataclass(frozen=True)
class RankSwapping(Method[RankSwapRelease]):
    """Exchange numbers between records of near rank, column by column (rank swapping).

    Every value stays in the file, so that distributions of single columns stay exactly, except for
    extreme values that are coded.

    Parameters
    ----------
    columns : sequence of str
    window : float, optional
        Largest distance in ranks of two values that are exchanged, as a share of the known values
        of the column.
    correlation : float, optional
        Instead of a window: least correlation of each column with its original, 0.95 if none of the
        three is given. The largest window is sought whose exchange keeps it. Correlations with
        columns that stay fall by about this factor, those of two exchanged columns by about its
        square.
    mean_change : float, optional
        Instead of a window: largest root mean square change of a value, as a share of the absolute
        mean. Means of random subsets of N records then stay within 2 mean_change |mean| / sqrt(N)
        in about 95 % of cases [1]_.
    top, bottom : float, default=0
        Share of the largest and smallest values, and those equal to them, that become their mean
        before the exchange: rank swapping hides whose the extreme values are, not that they exist.
        In a column of whole numbers the mean is rounded down.

    Notes
    -----
    Pairs are drawn in rounds: each value without partner proposes to one without partner among the
    next ones in its window, all with equal probability, and of proposals that meet at a value a
    random one holds; until no two values in reach of each other are left. Equal values have random
    order. Distances in ranks are then uniform over the window, 1 to its width, as Moore's are.
    Values whose neighbours all have partners stay: 14 % of them in a window of one rank, 5 % in one
    of 5, 1.4 % in one of 20, next to none in wide ones. A million records take a second a column.

    The mean square change of a column is 2 Var(x) (1 - r), where r is the correlation with its
    original, so that correlation and mean change ask for the same. sdcMicro derives windows from
    `R0` and `K0` as if values were spread evenly over their range; here both are measured on the
    values that are released, which may be spread in any way.
    """

    name: ClassVar[str] = "rank-swap"
    guide: ClassVar[str] = (
        "Example: tablecloak records rank-swap people.csv -o swapped.csv --column wage "
        "--column bonus --window 0.05"
    )

    columns: Annotated[Sequence[str], option("column", "Numeric column.", min_length=1)]
    window: Annotated[
        float | None,
        Field(ge=0, le=1, description="Largest distance of two ranks as a share of all values."),
    ] = None
    correlation: Annotated[
        float | None,
        Field(ge=0, le=1, description="Least correlation of each column with its original."),
    ] = None
    mean_change: Annotated[
        float | None,
        Field(gt=0, description="Largest root mean square change as a share of the mean."),
    ] = None
    top: Annotated[
        float, Field(ge=0, lt=1, description="Share of the largest values that become their mean.")
    ] = 0.0
    bottom: Annotated[
        float, Field(ge=0, lt=1, description="Share of the smallest values that become their mean.")
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        asked = [self.window, self.correlation, self.mean_change]
        if sum(value is not None for value in asked) > 1:
            raise InputError(
                "`window`, `correlation` and `mean_change` all decide how far values move. Give "
                "one of them."
            )
        if self.top + self.bottom >= 1:
            raise InputError(
                f"`top` and `bottom` must leave values between them: {self.top:g} and "
                f"{self.bottom:g} are all values. Lower one of them."
            )

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> RankSwapRelease:
        """Exchange values.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or has infinite values, or its window holds
            no second value; names it.
        """
        known = {name: numbers_of(frame, name, refuse_missing=False) for name in self.columns}
        warn_of_order(frame, self.columns)
        released = frame.copy()
        report = {}
        for name, values in known.items():
            places = np.flatnonzero(~np.isnan(values))
            coded, n_coded = coded_by_means(frame[name], values, self.top, self.bottom)
            exchanged = coded.to_numpy(dtype=np.float64, na_value=np.nan)[places]
            exchange = self._exchange(name, exchanged, random)
            array: Any = coded.array.copy()
            array[places[exchange.records]] = coded.array[places[exchange.donors]]
            released[name] = pd.Series(array, index=frame.index)
            report[name] = {**exchange.report(values[places]), "coded": n_coded}
        return RankSwapRelease(released, pd.DataFrame.from_dict(report, orient="index"))

    def _exchange(self, name: str, values: Floats, random: np.random.Generator) -> _Exchange:
        """Draw pairs in the window that is asked for, or in the widest that changes little enough.

        Raises
        ------
        InputError
            If not even neighbours in rank can be exchanged.
        """
        count = len(values)
        ranked = _Ranked.of(values, random)
        if self.window is not None:
            window = int(self.window * count)
            if count < 2 or window < 1:
                raise InputError(
                    f"A window of {self.window:g} of {count} values of {name!r} is less "
                    "than one rank, so that nothing is exchanged. Take a wider one."
                )
            return _Exchange.drawn(ranked, window, random)
        exchange = self._widest(ranked, self._allowed(values), random)
        if exchange is not None:
            return exchange
        raise InputError(
            f"Exchanging neighbours in rank already changes {name!r} by more than is "
            "allowed, or there are no two values. Lower `correlation`, raise `mean_change`, code "
            "extreme values by `top` and `bottom`, or leave the column out."
        )

    @staticmethod
    def _widest(ranked: _Ranked, most: float, random: np.random.Generator) -> _Exchange | None:
        """Return the exchange in the widest window found that changes values by no more than that.

        The window is bisected, up to `NEAR` of its width.
        """
        widest = len(ranked.values) - 1
        passed, failed = 0, widest + 1
        kept = None
        window = _window_guessed(ranked.values, most)
        while window >= 1 and failed - passed > max(NEAR * passed, 1):
            exchange = _Exchange.drawn(ranked, window, random)
            if exchange.mean_square <= most:
                kept, passed = exchange, window
            else:
                failed = window
            is_open = failed > widest
            window = min(2 * passed, widest) if is_open else max((passed + failed) // 2, 1)
            if window in (passed, failed):
                break
        return kept

    def _allowed(self, values: Floats) -> float:
        """Return the largest mean square change."""
        if not len(values):
            return 0.0
        if self.mean_change is not None:
            return float((self.mean_change * values.mean()) ** 2)
        kept = USUAL_CORRELATION if self.correlation is None else self.correlation
        return float(2 * values.var() * (1 - kept))


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Records in the order of their values, and these."""

    order: Integers
    values: Floats

    @classmethod
    def of(cls, values: Floats, random: np.random.Generator) -> _Ranked:
        """Sort the values, equal ones in random order."""
        shuffled = random.permutation(len(values))
        order = shuffled[np.argsort(values[shuffled], kind="stable")]
        return cls(order, values[order])


@dataclass(frozen=True, eq=False)
class _Exchange:
    """Pairs of ranks whose values are exchanged."""

    ranked: _Ranked
    window: int
    low: Integers
    high: Integers

    @classmethod
    def drawn(cls, ranked: _Ranked, window: int, random: np.random.Generator) -> _Exchange:
        low, high = near_pairs(len(ranked.values), window, random)
        return cls(ranked, window, low, high)

    @property
    def records(self) -> Integers:
        """Positions of the records that get another value."""
        return np.asarray(self.ranked.order[np.concatenate([self.low, self.high])])

    @property
    def donors(self) -> Integers:
        """Positions of the records whose values they get."""
        return np.asarray(self.ranked.order[np.concatenate([self.high, self.low])])

    @property
    def mean_square(self) -> float:
        """Mean square change of a value."""
        change = self.ranked.values[self.high] - self.ranked.values[self.low]
        return float(2 * np.sum(change**2) / len(self.ranked.values))

    def report(self, original: Floats) -> dict[str, float]:
        """Return what was reached, against the values before extremes were coded."""
        count, mean = len(original), float(original.mean())
        values = np.empty(count)
        values[self.ranked.order] = self.ranked.values
        values[self.records] = values[self.donors]
        is_constant = np.ptp(values) == 0 or np.ptp(original) == 0
        rms = float(np.sqrt(np.mean((values - original) ** 2)))
        return {
            "window": self.window,
            "share": self.window / count,
            "exchanged": 2 * len(self.low),
            "ranks_moved": float(2 * np.sum(self.high - self.low) / count),
            "correlation": 1.0 if is_constant else float(np.corrcoef(values, original)[0, 1]),
            "mean_change": rms / abs(mean) if mean else np.nan,
        }


def near_pairs(count: int, window: int, random: np.random.Generator) -> tuple[Integers, Integers]:
    """Draw disjoint pairs of ranks that differ by at most a window, as many as can be found.

    Parameters
    ----------
    count : int
        Number of ranks.
    window : int
        Largest difference.
    random : numpy.random.Generator

    Returns
    -------
    low, high : numpy.ndarray of int, shape (n_pairs,)
        No two ranks that are left over differ by at most the window.
    """
    left: Integers = np.arange(count)
    lows, highs = [], []
    while True:
        last = np.searchsorted(left, left + window, side="right") - 1
        proposer = np.flatnonzero(last > np.arange(len(left)))
        if not len(proposer):
            break
        reach = last[proposer] - proposer
        target = proposer + 1 + (random.random(len(proposer)) * reach).astype(np.int64)
        # Of several proposals at a value the last in this random order holds.
        order = random.permutation(len(proposer))
        ends = np.column_stack([proposer[order], target[order]])
        number = np.arange(len(ends))
        holder = np.empty(len(left), dtype=np.int64)
        holder[ends.ravel()] = np.repeat(number, 2)
        holds = np.all(holder[ends] == number[:, None], axis=1)
        lows.append(left[ends[holds, 0]])
        highs.append(left[ends[holds, 1]])
        left = np.delete(left, ends[holds].ravel())
    none: Integers = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *lows]), np.concatenate([none, *highs])


def _window_guessed(values: Floats, most: float) -> int:
    """Return the widest window whose mean square change is about what is allowed.

    Windows are judged by the mean square difference of all pairs of ranks in them.

    Parameters
    ----------
    values : numpy.ndarray of float
        Sorted.
    most : float
        Allowed mean square change.
    """
    centred = values - (values.mean() if len(values) else 0.0)
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    squares = np.concatenate([[0.0], np.cumsum(centred**2)])
    first = np.arange(len(values) - 1)

    def mean_square(window: int) -> float:
        last = np.minimum(first + window, len(values) - 1)
        number = last - first
        linear, quadratic = (total[last + 1] - total[first + 1] for total in (sums, squares))
        own = centred[first]
        return float(np.mean(own**2 + (quadratic - 2 * own * linear) / number))

    low, high = 1, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if mean_square(middle) <= most else (low, middle - 1)
    return high
