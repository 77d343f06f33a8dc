"""Post-randomisation of one attribute by a transition matrix, or by an invariant one made of it.

References
----------
.. [1] Gouweleeuw, Kooiman, Willenborg, de Wolf: Post randomisation for statistical disclosure
   control, Journal of Official Statistics 14 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field, GetPydanticSchema
from pydantic_core import core_schema

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import taken_from
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.pram_release import PRAMRelease
from tablecloak.microdata.order import warn_of_order
from tablecloak.microdata.transitions import invariant_matrix, transition_matrix

__all__ = ["ClassicalPRAM"]

Matrix = Annotated[
    npt.ArrayLike, GetPydanticSchema(lambda source, handler: core_schema.any_schema())
]
"""An array or nested lists of numbers; on the command line, a CSV file without a header."""


@METHODS.register
@dataclass(frozen=True, eq=False)
class ClassicalPRAM(Method[PRAMRelease]):
    """Change one attribute by a transition matrix.

    Parameters
    ----------
    attribute : str
    matrix : array_like of float, shape (L, L)
        Row-stochastic; row i is the distribution of the released value of records with the i-th
        category in sorted order.
    invariant : bool, default=False
        Replace the matrix by one that keeps the expected frequencies; see `invariant_matrix`.
    alpha : float, default=1
        Share of the invariant matrix; the rest is the identity.

    Notes
    -----
    Missing values stay missing: the matrix has no row for them.
    """

    name: ClassVar[str] = "pram-by-matrix"
    guide: ClassVar[str] = (
        "Example: tablecloak pram-by-matrix people.csv -o released.csv --attribute sex "
        "--matrix transitions.csv --invariant"
    )

    attribute: Annotated[str, Field(description="Attribute that changes.")]
    matrix: Annotated[
        Matrix,
        Field(description="Probabilities of released values, one row for each category as sorted."),
    ]
    invariant: Annotated[
        bool,
        Field(description="Use an invariant matrix made of it, which keeps expected frequencies."),
    ] = False
    alpha: Annotated[
        float,
        Field(ge=0, le=1, description="Share of the invariant matrix; the rest is the identity."),
    ] = 1.0

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the attribute."""
        return Columns(changed=[self.attribute], categories=[self.attribute], keys=[self.attribute])

    def released_matrix(self, frequencies: npt.ArrayLike) -> Floats:
        """Return the matrix that is applied, for given frequencies of the categories."""
        matrix = transition_matrix(self.matrix)
        if not self.invariant:
            return matrix
        return invariant_matrix(matrix, frequencies, alpha=self.alpha)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> PRAMRelease:
        """Draw released values.

        Raises
        ------
        InputError
            If the column does not exist, or its number of categories differs from the size of the
            matrix.
        """
        records = CodedRecords.of(frame, [self.attribute])
        warn_of_order(frame, [self.attribute])
        known = np.flatnonzero(frame[self.attribute].notna())
        codes = records.codes[0][known].astype(np.int64)
        categories = records.categories[0][: len(records.categories[0]) - (len(known) < len(frame))]
        frequencies = np.bincount(codes, minlength=len(categories))
        given = transition_matrix(self.matrix)
        if len(given) != len(categories):
            raise InputError(
                f"`matrix` is {len(given)} x {len(given)}, but {self.attribute!r} has "
                f"{len(categories)} categories: {list(categories[:20])}. Give one row and one "
                "column for each, in this order."
            )
        applied = self.released_matrix(frequencies)
        new = _drawn(applied, codes, random)
        changed = taken_from(
            frame, [self.attribute], known, records.first_of_each(self.attribute)[new]
        )
        moved = np.zeros(len(frame), dtype=bool)
        moved[known] = new != codes
        report = {
            "attribute": self.attribute,
            "moves": int(moved.sum()),
            "smallest diagonal asked for": float(np.diag(given).min()),
            "smallest diagonal applied": float(np.diag(applied).min()),
        }
        return PRAMRelease(changed, moved, report)


def _drawn(matrix: Floats, codes: Integers, random: np.random.Generator) -> Integers:
    """Draw the released code of each record from its own code's row of the matrix."""
    # One search serves all rows of cumulative probabilities: those of row i lie in [i, i + 1].
    steps = np.cumsum(matrix, axis=1)
    steps[:, -1] = 1.0
    ladder = (steps + np.arange(len(matrix))[:, None]).ravel()
    found = np.searchsorted(ladder, codes + random.random(len(codes)), side="right")
    released: Integers = np.minimum(found - codes * len(matrix), len(matrix) - 1)
    return released
