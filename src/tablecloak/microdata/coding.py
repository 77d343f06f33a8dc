"""Categorical attributes as whole numbers, and the cells of their cross-classification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Integers
from tablecloak.errors import InputError, require_known
from tablecloak.microdata.columns import columns_of, require_column, row_label

MOST_CELLS = 50_000_000
"""Most cells of a cross-classification for which a count of every cell is kept, even of empty
ones."""

SPARSE = 4
"""Cells for each record up to which renumbering by a count of every cell is faster than sorting."""


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """Attributes of records as codes.

    Parameters
    ----------
    names : tuple of str
    codes : tuple of numpy.ndarray of int, each of shape (n_records,)
        Codes from 0, in the smallest type that holds them.
    categories : tuple of numpy.ndarray
        The category of each code, in sorted order.
    """

    names: tuple[str, ...]
    codes: tuple[npt.NDArray[np.integer], ...]
    categories: tuple[npt.NDArray[np.object_], ...]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        columns: Sequence[str] | None = None,
        *,
        refuse_missing: bool = False,
    ) -> CodedRecords:
        """Code the categories of some columns, by default all.

        Parameters
        ----------
        frame : pandas.DataFrame
        columns : sequence of str, optional
        refuse_missing : bool, default=False
            Whether missing values are errors. If not, they are a category of their own, the last
            one.

        Raises
        ------
        InputError
            If a column does not exist, a value is missing and this is refused (names column and
            row), or there are no records.
        """
        names = tuple(columns_of(frame) if columns is None else columns)
        if not len(frame):
            raise InputError("There are no records: the file or frame has no row. Give some.")
        codes, categories = [], []
        for name in names:
            require_column(frame, name)
            column = frame[name]
            missing = np.flatnonzero(column.isna().to_numpy())
            if len(missing) and refuse_missing:
                raise InputError(
                    f"Column {name!r} has {len(missing)} missing values, the first in row "
                    f"{row_label(frame, missing[0])}. Give them a category of their own, such as "
                    f"'missing', or drop these records."
                )
            numbers, values = pd.factorize(column, sort=True)
            known_values = list(np.asarray(values, dtype=object))
            if len(missing):
                numbers[missing] = len(known_values)
                known_values.append(column.iloc[missing[0]])
            small = np.min_scalar_type(max(len(known_values) - 1, 1))
            codes.append(numbers.astype(small))
            categories.append(_as_objects(known_values))
        return cls(names, tuple(codes), tuple(categories))

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.codes[0]) if self.codes else 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(len(values) for values in self.categories)

    @property
    def strides(self) -> tuple[int, ...]:
        """Increase of a cell's number per code of each attribute; 1 for the last attribute."""
        product, strides = 1, []
        for size in reversed(self.sizes):
            strides.append(product)
            product *= size
        return tuple(reversed(strides))

    @property
    def n_cells(self) -> int:
        """Number of cells of the full cross-classification."""
        product = 1
        for size in self.sizes:
            product *= size
        return product

    def part(self, names: Sequence[str], records: Integers | None = None) -> Integers:
        """Return the contribution of some attributes to the number of each record's cell."""
        chosen = slice(None) if records is None else records
        total = np.zeros(self.n_records if records is None else len(records), dtype=np.int64)
        for name in names:
            at = self.position(name)
            total += self.codes[at][chosen].astype(np.int64) * self.strides[at]
        return total

    def cells(self) -> Integers:
        """Return the number of the cell of each record.

        Raises
        ------
        InputError
            If there are too many cells to count.
        """
        if self.n_cells > MOST_CELLS:
            raise InputError(
                f"{len(self.names)} attributes have {self.n_cells:,} cells; at most "
                f"{MOST_CELLS:,} are counted. Name fewer columns, or group categories."
            )
        return self.part(self.names)

    def combined(self, names: Sequence[str]) -> Integers:
        """Return each record's combination of some attributes, numbered from 0 in sorted order."""
        label = np.zeros(self.n_records, dtype=np.int64)
        used = 1
        for name in names:
            at = self.position(name)
            if used * self.sizes[at] > MOST_CELLS:
                # Renumbering keeps the product of sizes from overflowing.
                label, used = renumbered(label, used)
            label *= self.sizes[at]
            label += self.codes[at]
            used *= self.sizes[at]
        return renumbered(label, used)[0]

    def first_of_each(self, name: str) -> Integers:
        """Return the position of the first record with each category of an attribute."""
        codes = self.codes[self.position(name)]
        first = np.zeros(len(self.categories[self.position(name)]), dtype=np.int64)
        # The last assignment counts.
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        return first

    def only(self, names: Sequence[str]) -> CodedRecords:
        """Return the codes of some of the attributes."""
        at = [self.position(name) for name in names]
        return CodedRecords(
            tuple(names),
            tuple(self.codes[i] for i in at),
            tuple(self.categories[i] for i in at),
        )

    def position(self, name: str) -> int:
        """Return the position of an attribute.

        Raises
        ------
        InputError
            If there is no such attribute.
        """
        require_known(name, self.names, f"There is no attribute {name!r}.")
        return self.names.index(name)


def _as_objects(values: Sequence[object]) -> npt.NDArray[np.object_]:
    """Return values as an array that leaves each as it is."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def renumbered(label: Integers, limit: int) -> tuple[Integers, int]:
    """Return labels below a limit renumbered from 0, and the number of different ones.

    Counting is faster than sorting, but needs an array of the size of the limit.
    """
    if limit > min(MOST_CELLS, SPARSE * len(label) + 100_000):
        labels, inverse = np.unique(label, return_inverse=True)
        return inverse.ravel().astype(np.int64), len(labels)
    number = np.cumsum(np.bincount(label, minlength=1) > 0) - 1
    return number[label], int(number[-1]) + 1
