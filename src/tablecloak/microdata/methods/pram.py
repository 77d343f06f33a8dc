"""Post-randomisation: values of key attributes change at random, with known probabilities.

`GuaranteedPRAM` moves few records and bounds the probability of a correct match. Cells c_1..c_k are
the non-empty cells of the keys, with counts T_i. A record of cell i stays with probability
1 - theta / T_i and else goes to one of the k - 1 others, so that all expected counts stay: P T = T.
An intruder who picks at random among the released records of a cell is then right with
probability at most xi, whatever the number of records there.

`ClassicalPRAM` applies a given transition matrix to one attribute, or makes it invariant.

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

from tablecloak.budget import generator
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import MOST_CELLS, CodedRecords
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

__all__ = [
    "ClassicalPRAM",
    "GuaranteedPRAM",
    "PRAMRelease",
    "correct_match_probability",
    "invariant_matrix",
    "retention",
    "unbiased_frequencies",
]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LEAST_XI = 3 / 7
"""Smallest probability that the guarantee can be given for (Result 2)."""


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


def correct_match_probability(counts: Sequence[int], cell: int, theta: float, most: int) -> Floats:
    """Return the exact probability of a correct match, for each number of released records.

    Parameters
    ----------
    counts : sequence of int
        T_1..T_k of the non-empty cells, k >= 2.
    cell : int
        Position j of the cell of the target.
    theta : float
    most : int
        Largest number a of released records in that cell.

    Returns
    -------
    numpy.ndarray of float, shape (most,)
        IR(j, a) for a = 1..most; NaN where a cannot occur.

    Notes
    -----
    IR(j, a) = (1/a) / (1 + e_a / (e_{a-1} beta_j)), with e_m the elementary symmetric functions
    of the odds beta_i of all other records: equation (6), as a product of polynomials.
    """
    odds, others = _odds(counts, cell, theta)
    e = _symmetric(odds, others, most)
    a = np.arange(1, most + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (1 / a) / (1 + e[1:] / (e[:-1] * odds[cell]))
    return np.where(e[:-1] > 0, found, np.nan)


def _odds(counts: Sequence[int], cell: int, theta: float) -> tuple[Floats, Integers]:
    """Odds that a record of each cell is released in `cell`, and how many others there are."""
    t = np.asarray(counts, dtype=np.float64)
    k = len(t)
    odds = theta / ((k - 1) * t - theta)
    odds[cell] = (t[cell] - theta) / theta
    others = np.asarray(counts, dtype=np.int64).copy()
    others[cell] -= 1
    return odds, others


def _symmetric(odds: Floats, multiplicity: Integers, most: int) -> Floats:
    """Elementary symmetric functions e_0..e_most of odds with multiplicities.

    Products of polynomials cut at `most`; all terms are positive, so nothing cancels. Equal
    odds are multiplied at once.
    """
    values, inverse = np.unique(odds, return_inverse=True)
    number = np.bincount(inverse.ravel(), weights=multiplicity).astype(np.int64)
    e = np.zeros(most + 1)
    e[0] = 1.0
    for value, power in zip(values, number.tolist(), strict=True):
        factor = np.zeros(most + 1)
        factor[0] = 1.0
        for m in range(1, min(most, power) + 1):
            factor[m] = factor[m - 1] * (power - m + 1) / m * value
        e = np.convolve(e, factor)[: most + 1]
    return e


@dataclass(frozen=True, eq=False)
class PRAMRelease:
    """Records with changed keys, and what was done. Which records moved is secret.

    Parameters
    ----------
    frame : pandas.DataFrame
    moved : numpy.ndarray of bool, shape (n_records,)
        Which records have other keys than before.
    report : dict
        What may be told: see `summary`.
    """

    frame: pd.DataFrame
    moved: npt.NDArray[np.bool_]
    report: dict[str, Any]

    def summary(self) -> str:
        """Say in one line what was done."""
        return "PRAM: " + ", ".join(f"{name}: {value}" for name, value in self.report.items())

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of some attributes in which there are records, in order of their codes.

    Parameters
    ----------
    label : numpy.ndarray of int, shape (n_records,)
        A number of the cell of each record.
    number : numpy.ndarray of int, shape (n_labels,)
        Which non-empty cell each of these numbers stands for.
    counts : numpy.ndarray of int, shape (n_cells,)
    codes : list of numpy.ndarray of int, each of shape (n_cells,)
        Code of each attribute.
    """

    label: npt.NDArray[np.integer]
    number: Integers
    counts: Integers
    codes: list[Integers]

    @classmethod
    def of(cls, records: CodedRecords) -> _Cells:
        if records.n_cells <= MOST_CELLS:
            label = records.labels()
            every = np.bincount(label)
            occupied = np.flatnonzero(every)
            number = np.zeros(len(every), dtype=np.int64)
            number[occupied] = np.arange(len(occupied))
            return cls(label, number, every[occupied], records.codes_of(occupied))
        joint = records.combined(records.names)
        counts = np.bincount(joint)
        some_record = np.empty(len(counts), dtype=np.int64)
        some_record[joint] = np.arange(len(joint))
        codes = [code[some_record].astype(np.int64) for code in records.codes]
        return cls(joint, np.arange(len(counts)), counts, codes)

    def of_records(self, values: Floats) -> Floats:
        """Give each record the value of its cell."""
        spread: Floats = values[self.number][self.label]
        return spread


@METHODS.register
@dataclass(frozen=True)
class GuaranteedPRAM(Method):
    """Move records between cells of the keys, so that no match is right too often (PRAM).

    Parameters
    ----------
    keys : sequence of str
        Attributes that an intruder knows.
    xi : float, default=0.75
        Guarantee: the probability that a match is correct is at most this, for each record and
        whatever is released. Between 3/7 and 1.
    blocks : sequence of str, default=()
        Other attributes within whose combinations records move, such as the region: the
        margins of keys x blocks then keep their expectation within each block.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [1, 1, 1, 2, 2, 3], "sex": list("mmfmfm")})
    >>> GuaranteedPRAM(["age", "sex"], xi=0.75).protect(frame, seed=1).report["guarantee"]
    0.75
    """

    name: ClassVar[str] = "pram"
    guide: ClassVar[str] = (
        "Example: tablecloak pram people.csv -o released.csv --key age --key sex --xi 0.75"
    )

    keys: Annotated[Sequence[str], option("key", "Attribute that an intruder knows.", min_length=1)]
    xi: Annotated[
        float,
        Field(
            ge=LEAST_XI, lt=1, description="Largest probability of a correct match, from 3/7 to 1."
        ),
    ] = 0.75
    blocks: Annotated[Sequence[str], option("block", "Attribute within which records move.")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if set(self.keys) & set(self.blocks):
            raise InputError("A key cannot be a block attribute: it would never change.")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return keys and block attributes."""
        return Columns(changed=self.keys, categories=[*self.keys, *self.blocks], keys=self.keys)

    def protect(
        self, frame: pd.DataFrame, *, seed: int | np.random.Generator | None = None
    ) -> PRAMRelease:
        """Move records.

        Parameters
        ----------
        frame : pandas.DataFrame
        seed : int or numpy.random.Generator, optional
            Whoever knows it can undo the release; by default drawn anew.

        Raises
        ------
        InputError
            If a column is not there or has missing values.
        ModelError
            If the guarantee cannot be given: a block has one non-empty cell, or two with xi
            below 1/2, and one of its counts is below 1 / xi. Names the block.
        """
        records = CodedRecords.of(frame, [*self.keys, *self.blocks])
        warn_of_order(frame, self.keys)
        moves, codes, report = self.draw(records, generator(seed))
        changed = frame.copy()
        for name, found in zip(self.keys, codes, strict=True):
            values = frame[name].to_numpy().copy()
            values[moves] = records.categories[records.position(name)][found]
            changed[name] = pd.Series(values, index=frame.index).astype(frame[name].dtype)
        moved = np.zeros(len(frame), dtype=bool)
        moved[moves] = True
        return PRAMRelease(changed, moved, report)

    def draw(
        self, records: CodedRecords, random: np.random.Generator
    ) -> tuple[Integers, list[Integers], dict[str, Any]]:
        """Choose the records that move, and the keys that they get.

        Parameters
        ----------
        records : CodedRecords
            Of keys and block attributes.
        random : numpy.random.Generator

        Returns
        -------
        moves : numpy.ndarray of int
            Positions of records.
        codes : list of numpy.ndarray of int
            Their new code of each key.
        report : dict

        Raises
        ------
        ModelError
            If the guarantee cannot be given: names the block.
        """
        if not records.n_records:
            raise ModelError("There are no records.")
        theta = retention(self.xi)
        # Blocks first, so that the cells of a block are consecutive.
        cells = _Cells.of(records.only([*self.blocks, *self.keys]))
        counts, n_blocks = cells.counts, len(self.blocks)
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
        moves = np.flatnonzero(random.random(records.n_records) < cells.of_records(chance))
        at = cells.number[cells.label[moves]]
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
        of_block: list[Integers],
    ) -> None:
        """Refuse blocks for which the guarantee fails.

        A record of a count of at least 1 / xi needs none: a random pick is right too seldom.
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
"""An array, or nested lists, of numbers; on the command line a CSV file without header."""


@METHODS.register
@dataclass(frozen=True, eq=False)
class ClassicalPRAM(Method):
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
    """

    name: ClassVar[str] = "pram-by-matrix"
    guide: ClassVar[str] = (
        "Example: tablecloak pram-by-matrix people.csv -o released.csv --attribute sex "
        "--matrix transitions.csv --invariant"
    )

    attribute: Annotated[str, Field(description="Attribute that changes.")]
    matrix: Annotated[
        Matrix,
        Field(
            description="Chance of each released value, one row for each category in sorted order."
        ),
    ]
    invariant: Annotated[
        bool, Field(description="Keep the expected frequencies: use an invariant matrix instead.")
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
        matrix = _stochastic(self.matrix)
        if not self.invariant:
            return matrix
        return invariant_matrix(matrix, frequencies, alpha=self.alpha)

    def protect(
        self, frame: pd.DataFrame, *, seed: int | np.random.Generator | None = None
    ) -> PRAMRelease:
        """Draw released values.

        Raises
        ------
        InputError
            If the column is not there, has missing values, or not as many categories as rows.
        """
        random = generator(seed)
        records = CodedRecords.of(frame, [self.attribute])
        warn_of_order(frame, [self.attribute])
        codes = records.codes[0].astype(np.int64)
        frequencies = np.bincount(codes, minlength=records.sizes[0])
        given = _stochastic(self.matrix)
        if len(given) != records.sizes[0]:
            raise InputError(
                f"`matrix` is {len(given)} x {len(given)}, but {self.attribute!r} has "
                f"{records.sizes[0]} categories: {list(records.categories[0][:20])}."
            )
        applied = self.released_matrix(frequencies)
        # One search in all cumulative rows at once: row i lies between i and i + 1.
        steps = np.cumsum(applied, axis=1)
        steps[:, -1] = 1.0
        ladder = (steps + np.arange(len(applied))[:, None]).ravel()
        drawn = np.searchsorted(ladder, codes + random.random(len(codes)), side="right")
        new = np.minimum(drawn - codes * len(applied), len(applied) - 1)
        values = records.categories[0][new]
        changed = frame.copy()
        changed[self.attribute] = pd.Series(values, index=frame.index).astype(
            frame[self.attribute].dtype
        )
        moved = new != codes
        report = {
            "attribute": self.attribute,
            "moves": int(moved.sum()),
            "smallest diagonal asked for": float(np.diag(given).min()),
            "smallest diagonal applied": float(np.diag(applied).min()),
        }
        return PRAMRelease(changed, moved, report)


def invariant_matrix(matrix: npt.ArrayLike, frequencies: npt.ArrayLike, *, alpha: float) -> Floats:
    """Return a matrix R' with p R' = p, made from any transition matrix.

    R = P Q with Q_kj = P_jk p_j / (p P)_k, the way back by Bayes; R' = alpha R + (1 - alpha) I. Its
    diagonal is smaller than that of P at alpha = 1: look at it.

    Parameters
    ----------
    matrix : array_like of float, shape (L, L)
        P, row-stochastic.
    frequencies : array_like of float, shape (L,)
        Of the categories; need not sum to 1.
    alpha : float
        Between 0 and 1.

    Raises
    ------
    InputError
        If the matrix is not row-stochastic or alpha out of range.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"`alpha` must lie between 0 and 1. Got {alpha!r}.")
    given = _stochastic(matrix)
    p = _fitting(frequencies, given, "frequencies")
    if np.any(p < 0) or not p.sum() > 0:
        raise InputError("`frequencies` must not be negative, and not all 0.")
    p = p / p.sum()
    reached = p @ given
    back = np.divide(
        given.T * p[None, :],
        reached[:, None],
        out=np.eye(len(p)),
        where=reached[:, None] > 0,
    )
    found: Floats = alpha * (given @ back) + (1 - alpha) * np.eye(len(p))
    return found


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
    applied = _stochastic(matrix)
    if np.linalg.cond(applied) > 1e12:
        raise ModelError("The matrix cannot be inverted: released values tell too little.")
    found = np.linalg.solve(applied.T, _fitting(released, applied, "released"))
    return np.asarray(found, dtype=np.float64)


def _fitting(values: npt.ArrayLike, matrix: Floats, name: str) -> Floats:
    """Return one finite number for each category."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (len(matrix),) or not np.all(np.isfinite(found)):
        raise InputError(
            f"`{name}` must hold {len(matrix)} finite numbers, one for each category. Got an array "
            f"of shape {found.shape}."
        )
    return found


def _stochastic(matrix: npt.ArrayLike) -> Floats:
    try:
        found = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"A transition matrix must hold numbers: {error}.") from None
    square = found.ndim == 2 and found.shape[0] == found.shape[1] > 0
    if not square or not np.all(found >= 0) or np.any(np.abs(found.sum(axis=1) - 1) > 1e-9):
        raise InputError(
            "A transition matrix must be square, without negative entries, and each *row* must "
            "sum to 1: row i is the distribution of the released value of category i."
        )
    return found
