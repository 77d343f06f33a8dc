"""Noise of whole enterprises: one multiplier for all values of a contributor.

References
----------
.. [1] Evans, Zayatz, Slanta: Using noise for disclosure limitation of establishment tabular data,
   Journal of Official Statistics 14 (1998).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.sparse import csr_array
from scipy.sparse import vstack as stacked

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import like, names_of, numbers_of, require_column, row_label
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.multipliers import (
    HEAPED,
    KEPT,
    ContributorMultipliers,
    Least,
    Most,
    Shape,
    Sizes,
    finest_decimals,
    of_units,
    released_decimals,
    rounded_away,
)
from tablecloak.tables.published import MOST_DECIMALS


@dataclass(frozen=True, eq=False)
class MultipliedRelease:
    """Records with multiplied values. Only `frame` may leave the office.

    Parameters
    ----------
    frame : pandas.DataFrame
    multipliers : pandas.Series
        The multiplier of each contributor. Secret: it undoes the noise.
    n_totals, n_kept : int
        Totals that were to stay, and those that did; a total of one contributor never does.
    decimals : mapping of str to int
        Decimals to which each column was rounded; negative for tens.
    """

    frame: pd.DataFrame
    multipliers: pd.Series
    n_totals: int
    n_kept: int
    decimals: Mapping[str, int]

    def summary(self) -> str:
        """Return number of records and contributors, and of totals that stayed, in one line."""
        totals = f"; {self.n_kept:,} of {self.n_totals:,} totals stay true" if self.n_totals else ""
        rounded = ", ".join(
            f"{name} in multiples of {10.0**-places:.12g}" for name, places in self.decimals.items()
        )
        return (
            f"multiplicative noise: {len(self.frame):,} records of {len(self.multipliers):,} "
            f"contributors; {rounded}{totals}"
        )


@METHODS.register
@dataclass(frozen=True)
class MultiplicativeNoise(Method[MultipliedRelease]):
    """Multiply all values of a contributor by one number away from 1.

    The multiplier of contributor e is 1 + d or 1 - d, with a size d between `least` and `most`. All
    tables of the released records add up.

    Parameters
    ----------
    columns : sequence of str
        Sensitive columns of numbers.
    contributor : str, optional
        Column that identifies the contributor. Without it each record is one.
    least, most : float, default=0.05 and 0.15
        Bounds of the change, as shares of the value.
    shape : {"ramp", "uniform"}, default="ramp"
        Distribution of the change between both.
    balance : sequence of str, default=()
        Columns whose combinations of codes are cells in which directions are chosen so that the
        noise cancels, largest contributor first.
    keep : sequence of str, default=()
        Columns whose combinations of codes are totals that stay true, as far as sizes between
        `least` and `most` allow; balanced first. With an entry such as ``["region"]`` the totals of
        regions stay, and with them the total. Rounding moves some values of such a total further.
    decimals : int, optional
        Decimals of released values; negative for tens. By default those of each column, or the tens
        that at least half of its values are multiples of (with `keep`, all of them).

    Notes
    -----
    **Guarantee.** The sum of one contributor's values, if all have one sign, differs from the truth
    by at least `least` of it, and by at most `most` and one unit of the last digit for each value.
    Nothing is promised of sums of several contributors: their noise may cancel. Values are rounded
    away from the truth to multiples of a unit of which the true ones are multiples. So each
    multiplier below 1, within the bounds, agrees with all released values of a contributor; the
    ratio of two of them is known to within rounding, and gives neither. A value below some ten
    units has few neighbours to be taken for.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"firm": ["a", "a", "b"], "sold": [9003, 4002, 7001]})
    >>> noise = MultiplicativeNoise(["sold"], contributor="firm")
    >>> sold = noise.protect(firms, seed=1).frame["sold"]
    >>> off = sold / firms["sold"] - 1
    >>> str(sold.dtype), bool(off.abs().between(0.05, 0.151).all()), bool(off[0] * off[1] > 0)
    ('int64', True, True)
    """

    name: ClassVar[str] = "multiply"
    guide: ClassVar[str] = (
        "Keep seed and multipliers secret. Bounds may be published. Who knows one value of a "
        "contributor knows its others to within rounding, since all have one multiplier.\n\n"
        "Example: tablecloak records multiply firms.csv -o masked.csv --column turnover "
        "--contributor firm --balance region --balance industry"
    )

    columns: Annotated[Sequence[str], option("column", "Sensitive numeric column.", min_length=1)]
    contributor: Annotated[
        str | None, Field(description="Column that identifies the contributor.")
    ] = None
    least: Least = 0.05
    most: Most = 0.15
    shape: Shape = "ramp"
    balance: Annotated[
        Sequence[str], Field(description="Column of codes of the cells in which noise cancels.")
    ] = ()
    keep: Annotated[
        Sequence[str], Field(description="Column of codes of the totals that stay true.")
    ] = ()
    decimals: Annotated[
        int | None,
        Field(
            ge=-MOST_DECIMALS,
            le=MOST_DECIMALS,
            description="Decimals of released values; negative for tens. By default those of the "
            "column, or the tens that most of its values are multiples of.",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for parameter in ("balance", "keep"):
            if getattr(self, parameter):
                names_of(getattr(self, parameter), parameter)
        Sizes(self.least, self.most, self.shape)

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the sensitive columns, and those of contributors and codes as text."""
        who = [self.contributor] if self.contributor else []
        text = list(dict.fromkeys([*who, *self.balance, *self.keep]))
        return Columns(changed=self.columns, categories=text, numbers=self.columns)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> MultipliedRelease:
        """Draw the multipliers and apply them.

        Parameters
        ----------
        frame : pandas.DataFrame

        Raises
        ------
        InputError
            If a column does not exist, a sensitive one is not numeric or has infinite values, or
            a record has no contributor.
        """
        values = {name: numbers_of(frame, name, refuse_missing=False) for name in self.columns}
        number, names = self._contributors(frame)
        keep = self._groups(frame, self.keep, number, values)
        balance = self._groups(frame, self.balance, number, values)
        drawn = ContributorMultipliers.drawn(
            names,
            Sizes(self.least, self.most, self.shape),
            random,
            balance=balance,
            keep=keep,
        )
        released, decimals, n_kept = frame.copy(), {}, 0
        for name, column in values.items():
            decimals[name] = self._decimals(name, column)
            released[name], n = self._multiplied(
                frame, name, column, drawn.changes[number], decimals[name]
            )
            n_kept += n
        n_totals = 0 if keep is None else keep.shape[0]
        multipliers = pd.Series(1 + drawn.changes, index=pd.Index(names, name="contributor"))
        return MultipliedRelease(released, multipliers, n_totals, n_kept, decimals)

    def _decimals(self, name: str, column: Floats) -> int:
        """Return the decimals with which a column is released."""
        values = column[~np.isnan(column)]
        if self.decimals is None:
            return released_decimals(values, self.least, share=1.0 if self.keep else HEAPED)
        finest = finest_decimals(values) if values.any() else self.decimals
        if self.decimals > finest:
            raise InputError(
                f"`decimals` = {self.decimals}, but column {name!r} has {finest}: from more digits "
                f"than amounts have, the ratio of two amounts of one contributor gives both. Take "
                f"{finest} or less."
            )
        return self.decimals

    def _multiplied(
        self, frame: pd.DataFrame, name: str, column: Floats, changes: Floats, decimals: int
    ) -> tuple[pd.Series, int]:
        """Return a multiplied and rounded column, and how many of its totals stayed."""
        units, n_kept = rounded_away(column, column * changes, decimals), 0
        if self.keep and len(frame):
            group = CodedRecords.of(frame, list(self.keep)).combined(list(self.keep))
            n_kept = _evened(units, column, column * changes, group, decimals)
        values, kind = of_units(units, decimals), frame[name].dtype
        whole = decimals <= 0 and pd.api.types.is_integer_dtype(kind)
        if whole:
            limits = np.iinfo(getattr(kind, "numpy_dtype", kind))
            whole = bool(np.nanmin(values) >= limits.min and np.nanmax(values) <= limits.max)
        return like(frame[name], values, whole=whole), n_kept

    def _contributors(self, frame: pd.DataFrame) -> tuple[Integers, list[object]]:
        """Return the number of the contributor of each record, and their names."""
        if self.contributor is None:
            return np.arange(len(frame)), list(range(len(frame)))
        require_column(frame, self.contributor)
        missing = np.flatnonzero(frame[self.contributor].isna())
        if len(missing):
            raise InputError(
                f"Column {self.contributor!r} has no entry in row {row_label(frame, missing[0])}. "
                "Fill it in."
            )
        number, names = pd.factorize(frame[self.contributor].astype(str), sort=True)
        return number.astype(np.int64), list(names)

    def _groups(
        self,
        frame: pd.DataFrame,
        names: Sequence[str],
        number: Integers,
        values: dict[str, Floats],
    ) -> csr_array | None:
        """Return what each contributor adds to each combination of codes, column by column."""
        if not names or not len(frame):
            return None
        codes = CodedRecords.of(frame, list(dict.fromkeys(names)))
        group = codes.combined(codes.names)
        shape = (int(group.max()) + 1, int(number.max()) + 1)
        added = [
            csr_array((np.nan_to_num(column), (group, number)), shape=shape)
            for column in values.values()
        ]
        return csr_array(stacked(added))


def _evened(units: Floats, column: Floats, changes: Floats, group: Integers, decimals: int) -> int:
    """Take what rounding added to totals from values that move further from the truth thereby.

    Returns
    -------
    int
        Number of totals that stay. `units` is changed.
    """
    true, there = column * 10.0**decimals, ~np.isnan(column)
    size = np.bincount(group, np.nan_to_num(np.abs(true)))
    noise = np.bincount(group, np.nan_to_num(changes)) * 10.0**decimals
    for one in np.flatnonzero(np.abs(noise) <= KEPT * size).tolist():
        rows = np.flatnonzero((group == one) & there)
        surplus = round(float(np.sum(units[rows] - true[rows])))
        free = rows[changes[rows] * surplus < 0]
        if len(free):
            part, rest = divmod(abs(surplus), len(free))
            units[free] -= np.sign(surplus) * (part + (np.arange(len(free)) < rest))
    off = np.bincount(group, np.nan_to_num(units - true))
    return int(np.sum(np.abs(off) <= KEPT * np.maximum(size, 1)))
