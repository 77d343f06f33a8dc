"""Post-randomisation of one attribute by a transition matrix, or by an invariant one made of it.

Transition matrices between categories are checked, made invariant, and inverted here.

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
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import taken_from
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.pram import PRAMRelease
from tablecloak.microdata.order import warn_of_order

Matrix = Annotated[
    npt.ArrayLike, GetPydanticSchema(lambda source, handler: core_schema.any_schema())
]
"""An array or nested lists of numbers; on the command line, a CSV file without a header."""


def transition_matrix(matrix: npt.ArrayLike) -> Floats:
    """Return a matrix of transition probabilities as an array.

    Raises
    ------
    InputError
        If it is not square, or a row is not a probability distribution.
    """
    try:
        array = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A transition matrix must hold numbers: {error}.") from None
    square = array.ndim == 2 and array.shape[0] == array.shape[1] > 0
    if not square or not np.all(array >= 0) or np.any(np.abs(array.sum(axis=1) - 1) > 1e-9):
        raise InputError(
            "A transition matrix must be square, without negative entries, and each *row* must "
            "sum to 1: row i is the distribution of the released value of category i."
        )
    return array


def invariant_matrix(matrix: npt.ArrayLike, frequencies: npt.ArrayLike, *, alpha: float) -> Floats:
    """Return a matrix R' with p R' = p, computed from any transition matrix.

    R = P Q, where Q_kj = P_jk p_j / (p P)_k is the reverse transition by Bayes' theorem, and
    R' = alpha R + (1 - alpha) I. At alpha = 1 its diagonal, the probabilities of no change, is
    smaller than that of P.

    Parameters
    ----------
    matrix : array_like of float, shape (L, L)
        P, row-stochastic.
    frequencies : array_like of float, shape (L,)
        Frequencies of the categories; they need not sum to 1.
    alpha : float
        Between 0 and 1.

    Raises
    ------
    InputError
        If the matrix is not row-stochastic or alpha out of range.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"`alpha` must lie between 0 and 1. Got {alpha!r}.")
    given = transition_matrix(matrix)
    p = _fitting(frequencies, given, "frequencies")
    if np.any(p < 0) or not p.sum() > 0:
        raise InputError(
            f"`frequencies` must not be negative, and not all 0. Got {p.tolist()[:10]}."
        )
    p = p / p.sum()
    reached = p @ given
    back = np.divide(
        given.T * p[None, :],
        reached[:, None],
        out=np.eye(len(p)),
        where=reached[:, None] > 0,
    )
    return np.asarray(alpha * (given @ back) + (1 - alpha) * np.eye(len(p)))


def unbiased_frequencies(released: npt.ArrayLike, matrix: npt.ArrayLike) -> Floats:
    """Estimate the original frequencies from released ones: t P^-1.

    Parameters
    ----------
    released : array_like of float, shape (L,)
        Frequencies after the change.
    matrix : array_like of float, shape (L, L)
        The matrix that was applied.

    Raises
    ------
    ModelError
        If the matrix cannot be inverted.
    """
    applied = transition_matrix(matrix)
    if np.linalg.cond(applied) > 1e12:
        raise ModelError(
            f"The matrix cannot be inverted (condition number {np.linalg.cond(applied):.3g}): "
            "released frequencies do not determine the original ones. Use one with larger "
            "probabilities of no change."
        )
    frequencies = np.linalg.solve(applied.T, _fitting(released, applied, "released"))
    return np.asarray(frequencies, dtype=np.float64)


def _fitting(values: npt.ArrayLike, matrix: Floats, name: str) -> Floats:
    """Return one finite number for each category."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(matrix),) or not np.all(np.isfinite(numbers)):
        raise InputError(
            f"`{name}` must hold {len(matrix)} finite numbers, one for each category. Got an array "
            f"of shape {numbers.shape}."
        )
    return numbers


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
        "Example: tablecloak records pram-by-matrix people.csv -o released.csv --attribute sex "
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
    places = np.searchsorted(ladder, codes + random.random(len(codes)), side="right")
    return np.asarray(np.minimum(places - codes * len(matrix), len(matrix) - 1))
