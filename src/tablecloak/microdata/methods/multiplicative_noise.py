"""Noise of whole enterprises: one multiplier for all values of a contributor.

References
----------
.. [1] Evans, Zayatz, Slanta: Using noise for disclosure limitation of establishment tabular data,
   Journal of Official Statistics 14 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
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
from tablecloak.microdata.multipliers import KEPT, ContributorMultipliers, Least, Most, Shape, Sizes


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
    """

    frame: pd.DataFrame
    multipliers: pd.Series
    n_totals: int
    n_kept: int

    def summary(self) -> str:
        """Return number of records and contributors, and of totals that stayed, in one line."""
        totals = f"; {self.n_kept:,} of {self.n_totals:,} totals stay true" if self.n_totals else ""
        return (
            f"multiplicative noise: {len(self.frame):,} records of {len(self.multipliers):,} "
            f"contributors{totals}"
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
        regions stay, and with them the total.

    Notes
    -----
    **Guarantee.** The sum of one contributor's values, in whatever cell, differs from the truth by
    at least `least` and at most `most` of it. Nothing is promised of sums of several contributors:
    their noise may cancel. Columns of whole numbers become floating-point numbers: rounding would
    restore small values.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"firm": ["a", "a", "b"], "sold": [9, 4, 7]})
    >>> noise = MultiplicativeNoise(["sold"], contributor="firm")
    >>> off = noise.protect(firms, seed=1).frame["sold"] / firms["sold"] - 1
    >>> bool(off.abs().between(0.05, 0.15).all()), bool(abs(off[0] - off[1]) < 1e-12)
    (True, True)
    """

    name: ClassVar[str] = "multiply"
    guide: ClassVar[str] = (
        "Keep seed and multipliers secret. Bounds may be published.\n\n"
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
        released = frame.copy()
        for name, column in values.items():
            released[name] = like(frame[name], column * (1 + drawn.changes[number]))
        n_kept, n_totals = 0, 0
        if keep is not None:
            noise, size = np.abs(keep @ drawn.changes), abs(keep) @ np.ones(len(names))
            n_kept, n_totals = int(np.sum(noise <= KEPT * size)), keep.shape[0]
        multipliers = pd.Series(1 + drawn.changes, index=pd.Index(names, name="contributor"))
        return MultipliedRelease(released, multipliers, n_totals, n_kept)

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
