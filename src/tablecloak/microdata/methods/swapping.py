"""Data swapping as a decision problem: pairs of records exchange some attributes.

In a release, m pairs of records exchange the values of all swap attributes together; the swap rate
is the share of *records* in pairs, 2 m / n. Its risk is the share of unswapped records in cells of
count 1 or 2 after the swap, its distortion the distance between the cross-classifications before
and after. Both are computed from the swapped records and one table of the original, so that many
candidates can be compared quickly.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004.
.. [2] Gomatam, Karr, Sanil: Data swapping as a decision problem, Journal of Official Statistics
   21 (2005).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import columns_of, taken_from
from tablecloak.microdata.loglinear import LogLinearModel
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.pairs import Change, PairConstraint, draw_pairs
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.methods.swap_table import SwapReport, SwapTable, association
from tablecloak.microdata.order import warn_of_order

__all__ = ["DataSwapping", "SwapRelease"]


@dataclass(frozen=True, eq=False)
class SwapRelease:
    """Swapped records with their report. The pairs are secret.

    Parameters
    ----------
    frame : pandas.DataFrame
        All records in their original order, with exchanged values.
    pairs : numpy.ndarray of int, shape (m, 2)
        Positions of the records that exchanged values.
    attributes : tuple of str
    report : SwapReport
    before, after : numpy.ndarray of int, shape (n_cells,)
        Cross-classification of the key attributes before and after.
    records : CodedRecords
        Original codes of the key attributes.
    """

    frame: pd.DataFrame
    pairs: Integers
    attributes: tuple[str, ...]
    report: SwapReport
    before: Integers
    after: Integers
    records: CodedRecords

    def summary(self) -> str:
        """Return rate, risk and distortion in one line."""
        return self.report.summary()

    def model_utility(self, model: LogLinearModel, *, refit: bool = False) -> float:
        """Return the change of the log-likelihood of a log-linear model."""
        shape = self.records.sizes
        before, after = (
            table.reshape(shape).astype(np.float64) for table in (self.before, self.after)
        )
        return model.utility(before, after, refit=refit)

    def association_changes(self) -> pd.DataFrame:
        """Return contingency coefficient and Cramer's V of attribute pairs, before and after."""
        shape = self.records.sizes
        rows = []
        for one, other in itertools.combinations(range(len(shape)), 2):
            rest = tuple(axis for axis in range(len(shape)) if axis not in (one, other))
            found = [
                association(table.reshape(shape).sum(axis=rest).astype(np.float64))
                for table in (self.before, self.after)
            ]
            names = self.records.names[one], self.records.names[other]
            rows.append((*names, *found[0], *found[1]))
        columns = ["one", "other", "contingency", "cramer", "contingency_after", "cramer_after"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<{self.report.summary()}>"


@METHODS.register
@dataclass(frozen=True)
class DataSwapping(Method[SwapRelease]):
    """Exchange attributes within random pairs of records (data swapping).

    Parameters
    ----------
    attributes : sequence of str
        Swap attributes; a pair exchanges all of them together.
    rate : float
        Share of records in pairs, between 0 and 1.
    must_change : {"none", "some", "all"}, default="none"
        Whether some or all swap attributes must differ within a pair.
    equal_on : sequence of str, default=()
        Unswapped attributes in which both records of a pair agree, such as the region.
    differ_on : sequence of str, default=()
        Unswapped attributes in which they differ.
    keys : sequence of str, optional
        Attributes of the cross-classification on which risk and distortion are measured; by
        default all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("mfmfmf"), "job": list("aabbcc")})
    >>> release = DataSwapping(["sex"], rate=0.5).protect(frame, seed=1)
    >>> release.report.n_swapped
    4
    """

    name: ClassVar[str] = "swap"
    guide: ClassVar[str] = (
        "Prints risk (share of unswapped records in cells of 1 or 2) and distortion.\n\n"
        "Example: tablecloak swap people.csv -o swapped.csv --attribute age --rate 0.05 "
        "--equal-on region"
    )

    attributes: Annotated[Sequence[str], option("attribute", "Attribute to swap.", min_length=1)]
    rate: Annotated[float, Field(ge=0, le=1, description="Share of records in pairs.")]
    must_change: Annotated[
        Change, Field(description="How many swapped attributes must differ within a pair.")
    ] = "none"
    equal_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must agree.")
    ] = ()
    differ_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must differ.")
    ] = ()
    keys: Annotated[
        Sequence[str] | None,
        option("key", "Attribute of the cells that risk and distortion refer to; default: all."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        both = set(self.attributes) & {*self.equal_on, *self.differ_on}
        if both:
            raise InputError(
                f"{sorted(both)} are swapped, so that they cannot be in `equal_on` or `differ_on`."
            )

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the attributes to swap, those of the constraints, and the keys."""
        keys = list(known) if self.keys is None else list(self.keys)
        needed = [*self.attributes, *keys, *self.equal_on, *self.differ_on]
        return Columns(changed=self.attributes, categories=needed, keys=keys)

    def n_pairs(self, n_records: int) -> int:
        """Return the number of pairs, round(rate n / 2), at most half of the records."""
        return min(round(self.rate * n_records / 2), n_records // 2)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> SwapRelease:
        """Draw pairs and swap.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row for each record.

        Raises
        ------
        InputError
            If a column does not exist or has missing values.
        ModelError
            If the rate cannot be met under the constraints.
        """
        records = CodedRecords.of(frame, self.coded_columns(frame))
        warn_of_order(frame, self.attributes)
        pairs = self.draw(records, random)
        return self.swap(frame, pairs, records)

    def swap(
        self, frame: pd.DataFrame, pairs: npt.ArrayLike, records: CodedRecords | None = None
    ) -> SwapRelease:
        """Swap given pairs.

        Raises
        ------
        InputError
            If a record is in two pairs, or does not exist.
        """
        if records is None:
            records = CodedRecords.of(frame, self.coded_columns(frame))
        given = _as_pairs(pairs)
        flat = given.ravel()
        if len(np.unique(flat)) != len(flat) or np.any((flat < 0) | (flat >= len(frame))):
            raise InputError(
                "Every record may be in one pair only, by its position from 0 to "
                f"{len(frame) - 1}. `pairs` name one twice, or a position outside of this range."
            )
        keys = records if self.keys is None else records.only(self.keys)
        table = SwapTable(keys)
        inside = [name for name in self.attributes if name in keys.names]
        report, after = table.evaluate(given, inside, self.alters(records, given))
        swapped = taken_from(frame, self.attributes, given.ravel(), given[:, ::-1].ravel())
        return SwapRelease(
            swapped, given, tuple(self.attributes), report, table.counts, after, keys
        )

    def alters(self, records: CodedRecords, pairs: Integers) -> Flags:
        """Whether each pair differs in a swap attribute, which may be a key or not."""
        i, j = pairs[:, 0], pairs[:, 1]
        altered = np.zeros(len(pairs), dtype=bool)
        for name in self.attributes:
            codes = records.codes[records.position(name)]
            altered |= codes[i] != codes[j]
        return altered

    def draw(self, records: CodedRecords, random: np.random.Generator) -> Integers:
        """Return random pairs that satisfy the constraints, shape (m, 2).

        Raises
        ------
        ModelError
            If there are too few pairs: either that is proved by counts of equal records, or many
            rounds of pairing found no more.
        """
        wanted, n = self.n_pairs(records.n_records), records.n_records
        constraint = PairConstraint(
            self.attributes, self.must_change, self.equal_on, self.differ_on
        )
        most, reason = constraint.most_pairs(records)
        if wanted > most:
            raise ModelError(
                f"A rate of {self.rate:g} asks for {wanted} pairs, but at most {most} are "
                f"possible: too many {reason}. The highest rate is {2 * most / max(n, 1):.5f}: "
                "lower `rate`, or relax the constraints."
            )
        return draw_pairs(records, constraint, wanted, random)

    def coded_columns(self, frame: pd.DataFrame) -> list[str]:
        """Return the columns to code: keys, swapped attributes, and those of the constraints."""
        keys = columns_of(frame) if self.keys is None else list(self.keys)
        return list(dict.fromkeys([*keys, *self.attributes, *self.equal_on, *self.differ_on]))


def _as_pairs(pairs: npt.ArrayLike) -> Integers:
    """Return pairs of positions as an array of two columns."""
    given = np.asarray(pairs)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError(
            f"`pairs` must have two columns of whole numbers, one row for each pair. Got an array "
            f"of {given.dtype} with the shape {given.shape}."
        )
    return given.astype(np.int64)
