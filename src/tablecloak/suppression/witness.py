"""Witnesses: tables that agree with everything published, yet move a sensitive cell.

A witness is stored as its deviation d from the true table: A d = 0, d = 0 on published
cells, lb - a <= d <= ub - a. That d_p >= UPL_p proves that no intruder can rule out a_p +
UPL_p. Witnesses are secret: they are consistent with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from tablecloak.errors import VerificationError, listed
from tablecloak.suppression.requirement import Requirement, needs_of
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["ProtectionCertificate", "Verification", "WitnessPool"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

TOLERANCE = 1e-7
"""Accepted error of a witness, as a share of the median protection level."""

TRUTH = -1
"""Number of the witness that is the true table itself: it moves nothing."""


@dataclass(frozen=True)
class Verification:
    """What a check measured.

    Parameters
    ----------
    checked : int
        Number of sensitive cells.
    relations, bounds : float
        Largest violation by any witness, in the unit of the table.
    exact : bool
        Whether all witnesses are whole numbers, so that the check is free of rounding.
    tolerance : float
        Accepted violation, in the unit of the table.
    """

    checked: int
    relations: float
    bounds: float
    exact: bool
    tolerance: float


@dataclass(frozen=True, eq=False)
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
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    deviations: csr_array
    upper_witness: Integers
    lower_witness: Integers

    def verify(self) -> Verification:
        """Check the proof by matrix products alone; no solver is called.

        Guarantee: if this returns, then for every sensitive cell p there are tables that
        agree with all published cells, with all relations and with the external bounds, in
        which cell p lies as far from its true value as the requirement asks (within
        `TOLERANCE` times the median level). Proof: docs/guarantees.md, section 1.

        Raises
        ------
        VerificationError
            Names the condition that fails, the cells, and by how much.
        """
        problem = self.problem
        needs = needs_of(problem, self.requirement)
        tolerance = TOLERANCE * problem.unit
        self._check_status()
        exact = bool(np.all(self.deviations.data == np.rint(self.deviations.data)))
        relations = self._check_relations(tolerance)
        bounds = self._check_bounds(tolerance)
        above = self._reach(self.upper_witness, needs.cells)
        below = -self._reach(self.lower_witness, needs.cells)
        slack = np.minimum(tolerance, 1e-6 * np.maximum(needs.upper, needs.lower))
        open_ = ~needs.met(above + slack, below + slack)
        if np.any(open_):
            cells = needs.cells[open_]
            raise VerificationError(
                f"{len(cells)} sensitive cells are not proved to be protected: "
                f"{listed(problem.table.labels(cells[:5]))}.",
                cells=cells,
            )
        return Verification(len(needs.cells), relations, bounds, exact, tolerance)

    def _check_status(self) -> None:
        problem = self.problem
        must = problem.sensitive | problem.forced
        for cells, what in (
            (np.flatnonzero(must & ~self.suppressed), "must be suppressed but are published"),
            (np.flatnonzero(problem.frozen & self.suppressed), "are frozen but suppressed"),
            (
                np.unique(self.deviations.indices[~self.suppressed[self.deviations.indices]]),
                "are published but differ in a witness",
            ),
        ):
            if len(cells):
                raise VerificationError(
                    f"{len(cells)} cells {what}: {listed(problem.table.labels(cells[:5]))}.",
                    cells=cells,
                )

    def _check_relations(self, tolerance: float) -> float:
        residual = abs(self.problem.table.relations @ self.deviations.T)
        worst = float(residual.max()) if residual.nnz else 0.0
        if worst > tolerance:
            raise VerificationError(f"A witness breaks a relation by {worst:g}.")
        return worst

    def _check_bounds(self, tolerance: float) -> float:
        block = self.deviations.tocoo()
        cells = block.coords[1]
        values = self.problem.table.values[cells]
        above = values + block.data - self.problem.upper_bound[cells]
        below = self.problem.lower_bound[cells] - values - block.data
        worst = float(max(np.max(above, initial=0.0), np.max(below, initial=0.0)))
        if worst > tolerance:
            raise VerificationError(f"A witness breaks an external bound by {worst:g}.")
        return worst

    def _reach(self, witness: Integers, cells: Integers) -> Floats:
        if len(witness) != len(cells) or np.any(witness >= self.deviations.shape[0]):
            raise VerificationError("The certificate names witnesses that it does not hold.")
        reach = np.zeros(len(cells))
        moved = witness != TRUTH
        if np.any(moved):
            reach[moved] = np.asarray(self.deviations[witness[moved], cells[moved]]).reshape(-1)
        return reach


class WitnessPool:
    """Collects witnesses and knows which needs they already prove.

    One solution often proves many cells at once, and so does its mirror image, stretched or
    shrunk to the external bounds; whatever is proved needs no program of its own.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    """

    def __init__(self, problem: ProtectionProblem, requirement: Requirement) -> None:
        self.problem = problem
        self.requirement = requirement
        self.needs = needs_of(problem, requirement)
        self.low = problem.lower_bound - problem.table.values
        self.high = problem.upper_bound - problem.table.values
        n = len(self.needs.cells)
        self.above, self.below = np.zeros(n), np.zeros(n)
        self.upper_witness = np.full(n, TRUTH, dtype=np.int64)
        self.lower_witness = np.full(n, TRUTH, dtype=np.int64)
        self.rows: dict[int, tuple[Integers, Floats]] = {}
        self._next = 0
        self._cache: csc_array | None = None

    @property
    def open(self) -> Flags:
        """Which sensitive cells are not proved yet."""
        return ~self.needs.met(self.above, self.below)

    def open_sides(self) -> tuple[Flags, Flags]:
        """Which of them still need room above, and which below."""
        needs = self.needs
        share = 1 - 1e-9
        narrow = self.above + self.below < share * needs.width
        return (self.above < share * needs.upper) | narrow, (
            self.below < share * needs.lower
        ) | narrow

    def add(self, deviation: Floats) -> None:
        """Keep a solution, and its mirror image, where they prove something new.

        Parameters
        ----------
        deviation : numpy.ndarray of float, shape (n_cells,)
            A d = 0 and d within the external bounds, in the unit of the table.
        """
        for sign in (1.0, -1.0):
            self._add_one(self._stretched(sign * deviation))

    def without(self, cell: int) -> WitnessPool:
        """Return a pool with those witnesses only that leave a cell alone."""
        matrix = self._matrix()
        column = matrix[:, [cell]]
        numbers = np.array(list(self.rows), dtype=np.int64)
        dropped = numbers[column.indices]
        pool = WitnessPool.__new__(WitnessPool)
        pool.__dict__.update(self.__dict__)
        gone = set(dropped.tolist())
        pool.rows = {number: row for number, row in self.rows.items() if number not in gone}
        pool._cache = None
        kept = np.delete(np.arange(len(numbers)), column.indices)
        for sign in (1, -1):
            pool._replace_lost(sign, dropped, numbers[kept], matrix, kept)
        return pool

    def _replace_lost(
        self, sign: int, dropped: Integers, numbers: Integers, matrix: csc_array, kept: Integers
    ) -> None:
        """Let the remaining witnesses stand in for dropped ones, as far as they reach."""
        names = ("above", "upper_witness") if sign > 0 else ("below", "lower_witness")
        reach, witness = (getattr(self, name).copy() for name in names)
        lost = np.flatnonzero(np.isin(witness, dropped))
        if len(lost):
            moves = sign * matrix[:, self.needs.cells[lost]].toarray()[kept, :]
            moves = np.vstack([moves, np.zeros(len(lost))])
            best = np.argmax(moves, axis=0)
            reach[lost] = moves[best, np.arange(len(lost))]
            witness[lost] = np.append(numbers, TRUTH)[best]
        setattr(self, names[0], reach)
        setattr(self, names[1], witness)

    def _matrix(self) -> csc_array:
        """All witnesses as columns by cell, made anew when one was added."""
        if self._cache is None:
            self._cache = csc_array(_stacked(list(self.rows.values()), self.problem.table.n_cells))
        return self._cache

    def moved(self) -> Flags:
        """Which cells any witness in use moves; all of them must be suppressed."""
        flags = np.zeros(self.problem.table.n_cells, dtype=bool)
        for number in np.unique(np.concatenate([self.upper_witness, self.lower_witness])):
            if number != TRUTH:
                flags[self.rows[int(number)][0]] = True
        return flags

    def certificate(self, suppressed: Flags) -> ProtectionCertificate:
        """Return the proof for a pattern; only witnesses that are needed go into it."""
        used = np.unique(np.concatenate([self.upper_witness, self.lower_witness]))
        used = used[used != TRUTH]
        number_of = {int(old): new for new, old in enumerate(used)} | {TRUTH: TRUTH}
        rows = [self.rows[int(number)] for number in used]
        return ProtectionCertificate(
            problem=self.problem,
            suppressed=suppressed,
            requirement=self.requirement,
            deviations=_stacked(rows, self.problem.table.n_cells),
            upper_witness=np.array([number_of[int(w)] for w in self.upper_witness], dtype=np.int64),
            lower_witness=np.array([number_of[int(w)] for w in self.lower_witness], dtype=np.int64),
        )

    def _stretched(self, d: Floats) -> Floats:
        """Scale a direction as far as the bounds allow, or as far as any need asks."""
        d = np.where(np.abs(d) > 1e-11 * self.problem.unit, d, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            limits = np.where(d > 0, self.high / d, np.where(d < 0, self.low / d, np.inf))
        moves = np.abs(d[self.needs.cells])
        most = np.maximum(np.maximum(self.needs.upper, self.needs.lower), self.needs.width)
        wanted = np.max(np.divide(most, moves, out=np.zeros_like(most), where=moves > 0), initial=0)
        factor = min(float(np.min(limits, initial=np.inf)), max(float(wanted), 1.0))
        # A vertex that already touches its bounds must not be shifted by a last digit.
        if abs(factor - 1) < 1e-7:
            factor = 1.0
        scaled: Floats = d * factor
        whole = np.rint(scaled)
        if self.problem.table.integer and np.all(np.abs(scaled - whole) < 1e-6):
            scaled = whole
        return scaled

    def _add_one(self, d: Floats) -> None:
        up, down = self.open_sides()
        moves = d[self.needs.cells]
        if not np.any((up & (moves > self.above)) | (down & (-moves > self.below))):
            return
        cells = np.flatnonzero(d)
        self.rows[self._next] = (cells, d[cells])
        self._cache = None
        self._credit(self._next, cells, d[cells], up | down)
        self._next += 1

    def _credit(self, number: int, cells: Integers, data: Floats, where: Flags) -> None:
        dense = np.zeros(self.problem.table.n_cells)
        dense[cells] = data
        moves = dense[self.needs.cells]
        better = where & (moves > self.above)
        self.above = np.where(better, moves, self.above)
        self.upper_witness = np.where(better, number, self.upper_witness)
        better = where & (-moves > self.below)
        self.below = np.where(better, -moves, self.below)
        self.lower_witness = np.where(better, number, self.lower_witness)


def _stacked(rows: list[tuple[Integers, Floats]], n_cells: int) -> csr_array:
    pointers = np.cumsum([0, *(len(cells) for cells, _ in rows)])
    indices = np.concatenate([cells for cells, _ in rows]) if rows else np.zeros(0, dtype=np.int64)
    data = np.concatenate([data for _, data in rows]) if rows else np.zeros(0)
    return csr_array((data, indices, pointers), shape=(len(rows), n_cells))
