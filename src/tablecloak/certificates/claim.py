"""Claims about a release, each with the plain arrays that prove it.

A claim holds no reference to the search: `verify` builds the arrays of the problem and hands them,
with those of the claim, to the stand-alone verifier. docs/certificate.md lists the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.certificates import verifier
from tablecloak.errors import VerificationError
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

Arrays = Mapping[str, npt.NDArray[Any]]

FORMAT = "tablecloak certificate, secret"
"""First array of a file. Every certificate holds the true table, so that all of them are secret."""


class UnknownClaimError(VerificationError):
    """The verifier has no check for the requirement or the distance that a claim is about."""


@dataclass(frozen=True, eq=False)
class Released:
    """What is released of a table, as plain arrays.

    Parameters
    ----------
    kind : str
        A key of `verifier.RELEASES`.
    arrays : mapping of str to numpy.ndarray
    """

    kind: str
    arrays: Arrays


@dataclass(frozen=True, eq=False)
class Claim:
    """One claim about a release, with its proof.

    Parameters
    ----------
    kind : str
        One of `verifier.CLAIMS`: protection, additivity, statistics, loss or bound.
    released : Released
    arrays : mapping of str to numpy.ndarray
        The proof.
    rests_on : tuple of Claim
        Claims that this one refers to: a bound refers to a loss.
    """

    kind: str
    released: Released
    arrays: Arrays = field(default_factory=dict)
    rests_on: tuple[Claim, ...] = ()

    def verify(self, problem: ProtectionProblem) -> tuple[str, ...]:
        """Check the claim against a problem, as a stranger would; no solver is called.

        Parameters
        ----------
        problem : ProtectionProblem
            Source of levels, bounds, relations and rooms; the claim itself holds none of them.

        Returns
        -------
        tuple of str
            What is proved, and what was not checked.

        Raises
        ------
        VerificationError
            Says what is not proved.
        UnknownClaimError
            If there is no check for it: a requirement or distance that somebody registered.
        """
        try:
            lines = verifier.verify(arrays_of([*self.rests_on, self], problem), minutes=np.inf)
        except verifier.RefusedError as error:
            raise refused(error, f"The claim of {self.kind} is not proved") from error
        return tuple(lines)


def refused(error: Exception, what: str) -> VerificationError:
    """Return the error that says why the verifier refuses something."""
    unknown = isinstance(error, verifier.UnknownError)
    return (UnknownClaimError if unknown else VerificationError)(f"{what}: {error}.")


class Certified(Protocol):
    """A result that carries claims about its release."""

    @property
    def problem(self) -> ProtectionProblem:
        """The problem that it answers."""

    @property
    def certificates(self) -> tuple[Claim, ...]:
        """All claims about it, each with its proof."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Claims about one release, put together from several results: a pattern and its audit.

    Parameters
    ----------
    problem : ProtectionProblem
    certificates : tuple of Claim
    """

    problem: ProtectionProblem
    certificates: tuple[Claim, ...]


def loss_claim(released: Released, measure: str, weights: Floats, loss: float) -> Claim:
    """Return the claim of a loss.

    Parameters
    ----------
    released : Released
    measure : str
        How the losses of single cells are combined.
    weights : numpy.ndarray of float, shape (n_cells,)
    loss : float
    """
    arrays = {"measure": np.array(measure), "weights": weights, "loss": np.array(float(loss))}
    return Claim("loss", released, arrays)


def arrays_of(claims: Sequence[Claim], problem: ProtectionProblem) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays of a certificate with some claims about one release.

    Raises
    ------
    VerificationError
        If the claims are about several releases.
    """
    released = claims[0].released
    if any(claim.released is not released for claim in claims):
        raise VerificationError("A certificate is about one release; these claims are about more.")
    by_kind = {claim.kind: claim for claim in claims}
    kinds = [kind for kind in verifier.CLAIMS if kind in by_kind]
    arrays: dict[str, npt.NDArray[Any]] = {
        "format": np.array(FORMAT),
        "version": np.array(verifier.VERSION, dtype=np.int64),
        "release": np.array(released.kind),
        "claims": np.array(kinds, dtype="U"),
        **_problem_arrays(problem),
        **released.arrays,
    }
    for kind in kinds:
        arrays |= by_kind[kind].arrays
    return arrays


def _problem_arrays(problem: ProtectionProblem) -> dict[str, npt.NDArray[Any]]:
    table = problem.table
    names = ("lower_bound", "upper_bound", "lower_protection", "upper_protection",
             "sliding_protection")  # fmt: skip
    arrays = {
        "values": table.values,
        "right_hand_side": table.right_hand_side,
        **{name: getattr(problem, name) for name in names},
        "status": problem.status.astype("<U1"),
        **rows_of("relation", table.relations),
    }
    return arrays | {"tolerance": np.array(_tolerance(table, arrays), dtype=np.float64)}


def _tolerance(table: Table, arrays: Arrays) -> float:
    """Return the errors of the relations of the true table that the user or the reader accepts.

    A table whose decimals do not quite add up is read if they are off by 1e-9 of their terms; its
    certificate says so.
    """
    try:
        relations = verifier.Relations(arrays)  # type: ignore[no-untyped-call]
        verifier.with_errors(verifier.check_additive)(  # type: ignore[no-untyped-call]
            relations, table.values, table.right_hand_side, table.tolerance
        )
    except verifier.RefusedError:
        off = np.abs(table.relations @ table.values - table.right_hand_side)
        return max(table.tolerance, float(off.max()))
    return table.tolerance


def rows_of(name: str, matrix: Any) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of a matrix with increasing columns, each once, and no entry of 0."""
    rows = csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return {
        f"{name}_data": rows.data,
        f"{name}_cells": rows.indices.astype(np.int64),
        f"{name}_starts": rows.indptr.astype(np.int64),
    }


def starts_of(parts: Sequence[Any]) -> Integers:
    """Return the position at which each list begins once all are concatenated."""
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)


def joined(parts: Sequence[Any], kind: Any) -> npt.NDArray[Any]:
    """Return the concatenated lists as one array."""
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
