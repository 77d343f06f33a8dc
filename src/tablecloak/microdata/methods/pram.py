"""Post-randomisation: with a limited probability of a correct match, or by a transition matrix.

Transition matrices between categories [2]_ are checked, and made invariant, here. With the
guarantee [1]_, cells c_1..c_k are the non-empty cells of the keys, with counts T_i. A record of
cell i stays with probability 1 - theta / T_i and otherwise moves to one of the k - 1 others, so
that expected counts do not change: P T = T. An intruder who picks at random among the released
records of a cell is then right with probability at most xi, for any number of records in the cell.

References
----------
.. [1] Nayak: A new method of post-randomisation with a guaranteed disclosure risk, 2015, equations
   (9), (10) and result 2. Two misprints are corrected: binom(T*_i, a_i) in (6), and the weight
   P(T = t | S_j = a) in (3).
.. [2] Gouweleeuw, Kooiman, Willenborg, de Wolf: Post randomisation for statistical disclosure
   control, Journal of Official Statistics 14 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field, GetPydanticSchema
from pydantic_core import core_schema

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import taken_from
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order
from tablecloak.microdata.risk.keys import KeyCells

LEAST_XI = 3 / 7
"""Smallest probability of a correct match that can be guaranteed (Result 2)."""


@dataclass(frozen=True, eq=False)
class PRAMRelease:
    """Records with changed keys, and a report. Which records moved is secret.

    Parameters
    ----------
    frame : pandas.DataFrame
    moved : numpy.ndarray of bool, shape (n_records,)
        Whether each record moved to another cell; its keys differ then.
    report : dict
        Figures that may be published.
    """

    frame: pd.DataFrame
    moved: Flags
    report: dict[str, Any]

    def summary(self) -> str:
        """Return the report in one line."""
        return "PRAM: " + ", ".join(f"{name}: {value}" for name, value in self.report.items())

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def retention(xi: float) -> float:
    """Return theta, the expected number of records that leave each cell.

    theta = (sqrt((1 - xi)(1 + 3 xi)) - (1 - xi)) / (2 xi), the solution of g(theta) = xi.

    Parameters
    ----------
    xi : float
        Largest tolerable probability of a correct match, 3/7 <= xi < 1.

    Raises
    ------
    InputError
        If `xi` is out of this range.
    """
    if not LEAST_XI - 1e-15 <= xi < 1:
        raise InputError(f"`xi` must lie between 3/7 and 1. Got {xi!r}.")
    return float((np.sqrt((1 - xi) * (1 + 3 * xi)) - (1 - xi)) / (2 * xi))


@METHODS.register
@dataclass(frozen=True)
class GuaranteedPRAM(Method[PRAMRelease]):
    """Move records between cells of the keys, so that no match is right too often (PRAM).

    Parameters
    ----------
    keys : sequence of str
        Attributes that an intruder knows.
    xi : float, default=0.75
        Guarantee: for each record and any release, the probability that a match is correct is at
        most this. Between 3/7 and 1.
    blocks : sequence of str, default=()
        Other attributes, such as the region. Records move only within their combinations, so that
        expected counts of the keys do not change in any block.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": list("mmfmfm")})
    >>> GuaranteedPRAM(["age", "sex"], xi=0.75).protect(frame, seed=1).report["guarantee"]
    0.75
    """

    name: ClassVar[str] = "pram"
    guide: ClassVar[str] = (
        "Example: tablecloak records pram people.csv -o released.csv --key age --key sex --xi 0.75"
    )

    keys: Annotated[Sequence[str], option("key", "Attribute that an intruder knows.", min_length=1)]
    xi: Annotated[
        float,
        Field(
            ge=LEAST_XI, lt=1, description="Largest probability of a correct match, from 3/7 to 1."
        ),
    ] = 0.75
    blocks: Annotated[
        Sequence[str], option("block", "Attribute that stays: records move within its categories.")
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.keys) & set(self.blocks):
            both = sorted(set(self.keys) & set(self.blocks))
            raise InputError(
                f"{both} are both `keys` and `blocks`, but block attributes never change. Name "
                "each in one of the two."
            )

    def uses(self, known: Sequence[str]) -> Columns:
        """Return keys and block attributes."""
        return Columns(changed=self.keys, categories=[*self.keys, *self.blocks], keys=self.keys)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> PRAMRelease:
        """Move records.

        Parameters
        ----------
        frame : pandas.DataFrame

        Raises
        ------
        InputError
            If a column does not exist.
        ModelError
            If the guarantee cannot be given: a block has one non-empty cell, or two with xi
            below 1/2, and one of its counts is below 1 / xi. Names the block.
        """
        records = CodedRecords.of(frame, [*self.keys, *self.blocks])
        warn_of_order(frame, self.keys)
        moves, codes, report = self.draw(records, random)
        changed = frame.copy()
        for name, new_codes in zip(self.keys, codes, strict=True):
            donor = records.first_of_each(name)[new_codes]
            changed[name] = taken_from(frame[[name]], [name], moves, donor)[name]
        moved = np.zeros(len(frame), dtype=bool)
        moved[moves] = True
        return PRAMRelease(changed, moved, report)

    def draw(
        self, records: CodedRecords, random: np.random.Generator
    ) -> tuple[Integers, list[Integers], dict[str, Any]]:
        """Draw the records that move, and their new keys.

        Parameters
        ----------
        records : CodedRecords
            Codes of keys and block attributes.
        random : numpy.random.Generator

        Returns
        -------
        moves : numpy.ndarray of int
            Positions of records.
        codes : list of numpy.ndarray of int
            New codes of these records, one array for each key.
        report : dict

        Raises
        ------
        ModelError
            If the guarantee cannot be given: names the block.
        """
        if not records.n_records:
            raise ModelError("There are no records: the file or frame has no row. Give some.")
        theta = retention(self.xi)
        # Blocks first, so that the cells of a block are consecutive.
        cells = KeyCells.of(records.only([*self.blocks, *self.keys]))
        counts, n_blocks = cells.count, len(self.blocks)
        of_block = cells.codes[:n_blocks]
        first = np.zeros(len(counts), dtype=bool)
        first[0] = True
        for code in of_block:
            first[1:] |= code[1:] != code[:-1]
        start = np.flatnonzero(first)
        k = np.diff(np.append(start, len(counts)))
        block = np.cumsum(first) - 1
        self._check(records, counts, start, k, of_block)
        chance = np.where(k[block] > 1, theta / counts, 0.0)
        moves = np.flatnonzero(random.random(records.n_records) < chance[cells.of_record])
        at = cells.of_record[moves]
        own, within = at - start[block[at]], block[at]
        target = np.floor(random.random(len(moves)) * (k[within] - 1)).astype(np.int64)
        target += target >= own
        chosen = target + start[within]
        report = {
            "guarantee": self.xi,
            "theta": theta,
            "cells": len(counts),
            "blocks": len(k),
            "expected moves": float(theta * np.sum(k[k > 1])),
            "moves": len(moves),
        }
        return moves, [code[chosen] for code in cells.codes[n_blocks:]], report

    def _check(
        self,
        records: CodedRecords,
        counts: Integers,
        start: Integers,
        k: Integers,
        of_block: Sequence[Integers],
    ) -> None:
        """Refuse blocks for which the guarantee fails.

        Records in cells of a count of at least 1 / xi are safe without any move: a random pick is
        right with probability 1 / count.
        """
        least = np.minimum.reduceat(counts, start)
        bad = ((k == 1) | ((k == 2) & (self.xi < 0.5))) & (least * self.xi < 1)
        if np.any(bad):
            which = int(np.flatnonzero(bad)[0])
            names = {
                str(name): records.categories[records.position(name)][code[start[which]]]
                for name, code in zip(self.blocks, of_block, strict=False)
            }
            raise ModelError(
                f"In {int(bad.sum())} blocks the guarantee cannot be given; the first is "
                f"{names or 'the whole file'}, with {k[which]} non-empty cells and a smallest "
                f"count of {least[which]}. Merge blocks so that each has at least "
                f"{2 if self.xi >= 0.5 else 3} non-empty cells, or raise `xi`."
            )


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
