"""The proof that a pattern protects: witnesses for every sensitive cell, and against insiders.

`ProtectionCertificate.verify` checks the proof by matrix products. `certificates` returns it as
plain arrays, which the stand-alone verifier checks once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Flags, Floats, Integers, are_among
from tablecloak.certificates.claim import Claim, Released, joined, rows_of, starts_of
from tablecloak.certificates.file import write_certificate
from tablecloak.errors import CHANGED, VerificationError, listed
from tablecloak.solve.exact import products_vanish, whole_rows
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.refuted import TRUTH, KnownCells, Refuted, is_outside
from tablecloak.suppression.system.needs import Needs, asked_of, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.additivity import own_precision
from tablecloak.tables.problem import ProtectionProblem

MISSING_WITNESS = f"The certificate names witnesses that it does not hold. {CHANGED}"

Arrays = dict[str, npt.NDArray[Any]]

MOST_LETTERS = 200
"""Most letters of the name of an insider; longer names are shortened."""

REAL_SHARE = 1e-9
"""Accepted error of a witness in a relation whose coefficients are no decimal numbers, as a share
of the least level among the sensitive cells that it proves, and of each term of the relation."""


@dataclass(frozen=True, eq=False)
class InsiderClaim:
    """The claim that a pattern also holds against one insider.

    Parameters
    ----------
    knowledge : Knowledge
    index : numpy.ndarray of int
        Positions, among all sensitive cells, of those whose common witnesses this insider can rule
        out.
    upper_witness, lower_witness : numpy.ndarray of int
        Witnesses that replace the common ones for these cells.
    open : numpy.ndarray of int
        Positions of sensitive cells for which nothing is claimed against this insider.
    """

    knowledge: Knowledge
    index: Integers
    upper_witness: Integers
    lower_witness: Integers
    open: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def witness_arrays(
    problem: ProtectionProblem,
    deviations: csr_array,
    upper_witness: Integers,
    lower_witness: Integers,
    insiders: Sequence[InsiderClaim],
) -> Arrays:
    """Return witnesses and insiders as plain arrays; see `ProtectionCertificate`."""
    insiders = [claim for claim in insiders if _knows_more(claim.knowledge, problem)]
    knowledge = [claim.knowledge for claim in insiders]
    left_out = {
        "open_starts": starts_of([claim.open for claim in insiders]),
        "open_index": joined([claim.open for claim in insiders], np.int64),
    }
    return {
        **rows_of("witness", deviations),
        "upper_witness": upper_witness.astype(np.int64),
        "lower_witness": lower_witness.astype(np.int64),
        "intruder_names": np.array(_distinct([one.name for one in knowledge]), "U"),
        "intruder_starts": starts_of([one.cells for one in knowledge]),
        "intruder_cells": joined([one.cells for one in knowledge], np.int64),
        "intruder_lower": joined([one.lower for one in knowledge], np.float64),
        "intruder_upper": joined([one.upper for one in knowledge], np.float64),
        "claim_starts": starts_of([claim.index for claim in insiders]),
        "claim_index": joined([claim.index for claim in insiders], np.int64),
        "claim_upper": joined([claim.upper_witness for claim in insiders], np.int64),
        "claim_lower": joined([claim.lower_witness for claim in insiders], np.int64),
        **(left_out if len(left_out["open_index"]) else {}),
    }


def _knows_more(knowledge: Knowledge, problem: ProtectionProblem) -> bool:
    """Whether an insider knows a bound that not everybody knows; without one its claim is empty."""
    cells = knowledge.cells
    narrower = knowledge.lower > problem.lower_bound[cells]
    narrower |= knowledge.upper < problem.upper_bound[cells]
    return bool(np.any(narrower))


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of bounded length, numbered where several insiders would share one."""
    used: dict[str, None] = {}
    for name in names:
        # Texts of fixed length in a file cannot end in a 0 character.
        full = name.rstrip("\0") or "unnamed"
        text, number = full[:MOST_LETTERS], 1
        while text in used:
            number += 1
            end = f" ({number})"
            text = full[: MOST_LETTERS - len(end)] + end
        used[text] = None
    return list(used)


@dataclass(frozen=True)
class Verification:
    """The result of a successful check.

    Parameters
    ----------
    checked : int
        Number of sensitive cells.
    relations : float
        Largest violation of a relation by any witness; 0 if `exact`.
    bounds : float
        Largest violation of an external bound, at most the rounding error of that cell's value.
    exact : bool
        Whether every relation was checked exactly. Relations with coefficients that are no decimal
        numbers are not; their error is at most 1e-9 of the level that is proved.
    """

    checked: int
    relations: float
    bounds: float
    exact: bool


@dataclass(frozen=True, eq=False, repr=False)
class ProtectionCertificate:
    """Proof that every sensitive cell of a pattern is protected.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    deviations : scipy.sparse.csr_array, shape (n_witnesses, n_cells)
        One witness a row, as its deviation from the true table.
    upper_witness, lower_witness : numpy.ndarray of int, shape (n_sensitive,)
        For each sensitive cell, in the order of `problem.sensitive`, the witness that moves
        it up and the one that moves it down; -1 where the true table suffices.
    insiders : tuple of InsiderClaim
        Claims against insiders; each names the cells for which it claims nothing.
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    deviations: csr_array
    upper_witness: Integers
    lower_witness: Integers
    insiders: tuple[InsiderClaim, ...] = ()

    @property
    def certificates(self) -> tuple[Claim, ...]:
        """Return the claim that the pattern protects, as plain arrays. Secret."""
        released = Released(
            "suppression",
            {
                "requirement": np.array(self.requirement.value),
                "suppressed": self.suppressed.astype(bool),
            },
        )
        return (Claim("protection", released, self.arrays()),)

    def write(self, path: str | Path) -> None:
        """Write the claim of protection alone; `tablecloak.write_certificate` writes all claims.

        Parameters
        ----------
        path : str or Path
            A name in ``.npz``. Secret: the file holds the true table.
        """
        write_certificate(self, path)

    def __repr__(self) -> str:
        n, insiders = self.problem.n_sensitive, len(self.insiders)
        return (
            f"<certificate of protection: {n} sensitive cells, {self.deviations.shape[0]} "
            f"witnesses, {insiders} insiders; verify() checks it, write(path) keeps it>"
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return witnesses and insiders as plain arrays."""
        return witness_arrays(
            self.problem, self.deviations, self.upper_witness, self.lower_witness, self.insiders
        )

    def verify(self) -> Verification:
        """Check the proof by matrix products alone; no solver is called.

        Guarantee: if this returns, then for every sensitive cell p there are tables that
        agree with all published cells and with the external bounds, satisfy all relations
        exactly, and in which cell p lies as far from its true value as the requirement asks,
        within 1e-9 of its own level. No tolerance comes from another cell. Proof:
        docs/guarantees.md, section 1.

        Raises
        ------
        VerificationError
            Names the condition that fails, the cells, and by how much.
        """
        needs = needs_of(self.problem, self.requirement)
        matrix = self._canonical()
        self._check_status(matrix)
        relations, exact = self._check_relations(matrix)
        bounds = self._check_bounds(matrix)
        above = self._reach(matrix, self.upper_witness, needs.cells)
        below = -self._reach(matrix, self.lower_witness, needs.cells)
        self._require(~needs.met(above, below), needs.cells, "")
        if self.insiders:
            self._check_insiders(needs, (above, below), matrix)
        return Verification(len(needs.cells), relations, bounds, exact)

    def check_witnesses(self) -> None:
        """Check that every witness keeps all relations and bounds, whatever it proves.

        Raises
        ------
        VerificationError
            If a relation or bound is broken; says which kind, and by how much.
        """
        matrix = self._canonical()
        self._check_relations(matrix)
        self._check_bounds(matrix)

    def _canonical(self) -> csr_array:
        """Return the witnesses without duplicate entries, so that all checks see equal numbers."""
        matrix = csr_array(self.deviations, dtype=np.float64, copy=True)
        if matrix.shape[1] != self.problem.table.n_cells:
            raise VerificationError(
                f"The witnesses are for {matrix.shape[1]} cells, but the table has "
                f"{self.problem.table.n_cells}. {CHANGED}"
            )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not np.all(np.isfinite(matrix.data)):
            raise VerificationError(f"A witness holds an entry that is not a number. {CHANGED}")
        return matrix

    def _require(self, open_: Flags, cells: Integers, against: str) -> None:
        if np.any(open_):
            cells = cells[open_]
            raise VerificationError(
                f"{len(cells)} sensitive cells are not proved to be protected{against}: "
                f"{listed(self.problem.table.labels(cells[:5]))}.",
                cells=cells,
            )

    def _check_insiders(
        self, needs: Needs, common: tuple[Floats, Floats], matrix: csr_array
    ) -> None:
        """Check the claims against insiders; witnesses outside their bounds prove nothing.

        A cell that is not claimed, and whose common witnesses an insider cannot refute, moves as
        far as for everybody, and needs no more: only the others are looked at.
        """
        claims, values = self.insiders, self.problem.table.values
        sizes = [
            {len(each) for each in (c.index, c.upper_witness, c.lower_witness)} for c in claims
        ]
        index = joined([claim.index for claim in claims], np.int64)
        if index.min(initial=0) < 0 or any(len(lengths) > 1 for lengths in sizes):
            raise VerificationError(MISSING_WITNESS)
        rows = [
            joined([claim.upper_witness for claim in claims], np.int64),
            joined([claim.lower_witness for claim in claims], np.int64),
        ]
        far = [
            sign * self._reach(matrix, row, needs.cells[index])
            for sign, row in zip((1, -1), rows, strict=True)
        ]
        knowledge = [claim.knowledge for claim in claims]
        cell = joined([one.cells for one in knowledge], np.int64)
        lower = joined([one.lower for one in knowledge], np.float64)
        upper = joined([one.upper for one in knowledge], np.float64)
        true, knows = values[cell], _owners([one.cells for one in knowledge])
        below, above = own_precision(true, lower), own_precision(true, upper)
        facts = KnownCells(knows, cell, lower - true, upper - true)
        wrong = np.flatnonzero((facts.low > below) | (facts.high < -above))
        if len(wrong):
            name = knowledge[knows[wrong[0]]].name
            raise VerificationError(f"The bounds of intruder {name} exclude the truth. {CHANGED}")
        refuted = Refuted.of(csc_array(matrix), facts, (below, above))
        n, by_claim = len(needs.cells), _owners([claim.index for claim in claims])
        claimed = np.sort(by_claim * n + index)
        left_out = _owners([claim.open for claim in claims]) * n
        left_out = np.sort(left_out + joined([claim.open for claim in claims], np.int64))
        low, high = self.problem.lower_bound - values, self.problem.upper_bound - values

        def check(
            insider: Integers, need: Integers, rows: list[Integers], far: list[Floats]
        ) -> None:
            cells = needs.cells[need]
            reach = [
                np.where(refuted.has(insider, row), 0.0, moved)
                for row, moved in zip(rows, far, strict=True)
            ]
            room = facts.narrowed(insider, cells, low[cells], high[cells])
            unmet = ~needs.chosen(need, np.arange(len(need))).cut(*room).met(*reach)
            unmet[unmet] = ~are_among((insider * n + need)[unmet], left_out)
            if np.any(unmet):
                first = insider[unmet][0]
                self._require(
                    unmet & (insider == first), cells, f" against {knowledge[first].name}"
                )

        shared = [self.upper_witness, self.lower_witness]
        for _, who, need in refuted.doubts(*shared):
            rest = ~are_among(who * n + need, claimed)
            seen = need[rest]
            check(who[rest], seen, [row[seen] for row in shared], [moved[seen] for moved in common])
        check(by_claim, index, rows, far)

    def _check_status(self, matrix: csr_array) -> None:
        problem = self.problem
        must = problem.sensitive | problem.forced
        for cells, what in (
            (np.flatnonzero(must & ~self.suppressed), "must be suppressed but are published"),
            (np.flatnonzero(problem.frozen & self.suppressed), "are frozen but suppressed"),
            (
                np.unique(matrix.indices[~self.suppressed[matrix.indices]]),
                "are published but differ in a witness",
            ),
        ):
            if len(cells):
                raise VerificationError(
                    f"{len(cells)} cells {what}: {listed(problem.table.labels(cells[:5]))}.",
                    cells=cells,
                )

    def _check_relations(self, matrix: csr_array) -> tuple[float, bool]:
        """Return the largest violation, and whether all relations were checked exactly."""
        relations, real = whole_rows(self.problem.table.relations)
        if not np.all(products_vanish(csr_array(relations[np.flatnonzero(~real), :]), matrix)):
            worst = float(abs(relations @ matrix.T).max())
            amount = f"{worst:g}" if worst else "less than a float tells"
            raise VerificationError(f"A witness breaks a relation by {amount}. {CHANGED}")
        rest = csr_array(relations[np.flatnonzero(real), :])
        if not np.any(np.diff(rest.indptr)):
            return 0.0, True
        least, by_cell, worst = self._least_levels(), csc_array(matrix), 0.0
        for cells, coefficients in _rows_of(rest):
            terms = csr_array(csr_array(by_cell[:, cells]).multiply(coefficients))
            moved = np.flatnonzero(np.diff(terms.indptr))
            if not len(moved):
                continue
            smallest = np.minimum.reduceat(np.abs(terms.data), terms.indptr[moved])
            residual = np.abs(np.add.reduceat(terms.data, terms.indptr[moved]))
            scale = np.max(np.abs(coefficients[self.suppressed[cells]]), initial=0.0)
            beyond = residual > REAL_SHARE * np.minimum(least[moved] * min(scale, 1.0), smallest)
            if np.any(beyond):
                raise VerificationError(
                    f"A witness breaks a relation by {residual[beyond].max():g}. {CHANGED}"
                )
            worst = max(worst, float(residual.max()))
        return worst, False

    def _least_levels(self) -> Floats:
        """Return the least level among the sensitive cells that each witness proves."""
        level = least_asked(asked_of(self.problem, self.requirement))
        least = np.full(self.deviations.shape[0], np.inf)
        every = np.arange(len(level))
        claims = [(every, self.upper_witness), (every, self.lower_witness)]
        for claim in self.insiders:
            claims += [(claim.index, claim.upper_witness), (claim.index, claim.lower_witness)]
        for index, witness in claims:
            used = np.flatnonzero((witness >= 0) & (witness < len(least)))
            np.minimum.at(least, witness[used], level[index[used]])
        return least

    def _check_bounds(self, matrix: csr_array) -> float:
        cells = matrix.indices
        values = self.problem.table.values[cells]
        lower, upper = self.problem.lower_bound[cells], self.problem.upper_bound[cells]
        low, high = lower - values, upper - values
        bad = np.flatnonzero(
            is_outside(
                matrix.data, low, high, (own_precision(values, lower), own_precision(values, upper))
            )
        )
        beyond = np.maximum(matrix.data - high, low - matrix.data)
        if len(bad):
            raise VerificationError(
                f"A witness breaks an external bound by {beyond[bad].max():g}. {CHANGED}",
                cells=cells[bad],
            )
        return float(np.max(beyond, initial=0.0))

    def _reach(self, matrix: csr_array, witness: Integers, cells: Integers) -> Floats:
        if (
            len(witness) != len(cells)
            or np.any(witness >= matrix.shape[0])
            or np.any(witness < TRUTH)
        ):
            raise VerificationError(MISSING_WITNESS)
        reach = np.zeros(len(cells))
        moved = witness != TRUTH
        if np.any(moved):
            reach[moved] = np.asarray(matrix[witness[moved], cells[moved]]).reshape(-1)
        return reach


def least_asked(needs: Needs) -> Floats:
    """Return the least positive distance of each need; inf if it has none."""
    asked = np.array([needs.upper, needs.lower, needs.width])
    least: Floats = np.where(asked > 0, asked, np.inf).min(axis=0)
    return least


def _owners(members: Sequence[Integers]) -> Integers:
    """Return for each entry of several arrays, one after the other, the number of its array."""
    return np.repeat(np.arange(len(members)), [len(member) for member in members])


def _rows_of(matrix: csr_array) -> Iterator[tuple[Integers, Floats]]:
    """Yield the columns and entries of each row."""
    for start, stop in pairwise(matrix.indptr.tolist()):
        yield matrix.indices[start:stop], matrix.data[start:stop]
