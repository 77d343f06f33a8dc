"""Witnesses: tables that agree with everything published, yet move a sensitive cell.

A witness is stored as its deviation d from the true table: A d = 0, d = 0 on published
cells, lb - a <= d <= ub - a. That d_p >= UPL_p proves that no intruder can rule out a_p +
UPL_p. Witnesses are secret: they are consistent with the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from tablecloak.errors import VerificationError, listed
from tablecloak.solve.exact import NullSpace, products_vanish, snapped, whole_rows
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.needs import Needs, asked_of, needs_of, own_precision
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.system import System, entries_of
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["ProtectionCertificate", "Verification", "WitnessPool", "certificate_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

REAL_SHARE = 1e-9
"""Accepted error of a witness in a relation whose coefficients are no decimal numbers, as a share
of the least level among the sensitive cells that rest on it, and of each of its own terms there."""

ROOM_SHARE = 1e-9
"""Share of the distance to a bound by which a witness may pass it: shrunk by it, it keeps all."""

NOISES = (1e-10, 1e-8, 1e-13)
"""Shares of the largest move below which moves count as what a solver leaves of 0, one after the
other: beside cells of another order of magnitude, small moves are noise, or just what is meant."""

KEPT_CELLS = 50_000
"""Cells of all eliminations that are kept at once; each cell takes about a kilobyte."""

PROGRESS = 1e-10
"""Share of a need by which a witness must come closer to it to be worth keeping."""

HELD_SHARE = 1e-7
"""Distance from a bound, as a share of the largest move, that counts as lying at it."""

LEFT_SHARE = 0.02
"""Share of the needs that a solution could bring on, up to which no other rounding is tried."""

PULLS = 3
"""Times that a witness beyond its bounds is shrunk before it is given up."""

LEAST_PULLED, MOST_PULLED = 1e-10, 0.1
"""Shares by which a witness is shrunk at least, and beyond which it is given up."""

TRUTH = -1
"""Number of the witness that is the true table itself: it moves nothing."""


@dataclass(frozen=True)
class Verification:
    """What a check measured.

    Parameters
    ----------
    checked : int
        Number of sensitive cells.
    relations : float
        Largest violation of a relation by any witness; 0 if `exact`.
    bounds : float
        Largest violation of an external bound, at most the rounding error of that cell's value.
    exact : bool
        Whether every relation was checked exactly. Not so are those with coefficients that are no
        decimal numbers; there the error is at most 1e-9 of the level that is proved.
    """

    checked: int
    relations: float
    bounds: float
    exact: bool


@dataclass(frozen=True, eq=False)
class InsiderClaim:
    """That a pattern also holds against one intruder who knows more than everybody.

    Parameters
    ----------
    knowledge : Knowledge
    index : numpy.ndarray of int
        Positions of those sensitive cells, among all, whose common witnesses this intruder can
        rule out.
    upper_witness, lower_witness : numpy.ndarray of int
        Witnesses that take their place.
    """

    knowledge: Knowledge
    index: Integers
    upper_witness: Integers
    lower_witness: Integers


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
    insiders : tuple of InsiderClaim
        The same for intruders who know more.
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    deviations: csr_array
    upper_witness: Integers
    lower_witness: Integers
    insiders: tuple[InsiderClaim, ...] = ()

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
            by_cell = csc_array(matrix)
            for claim in self.insiders:
                self._check_insider(claim, needs, matrix, by_cell)
        return Verification(len(needs.cells), relations, bounds, exact)

    def check_witnesses(self) -> None:
        """Check that every witness keeps all relations and bounds, whatever it proves.

        Raises
        ------
        VerificationError
            Says what is broken, and by how much.
        """
        matrix = self._canonical()
        self._check_relations(matrix)
        self._check_bounds(matrix)

    def _canonical(self) -> csr_array:
        """The witnesses with one entry for each cell, so that every check sees the same numbers."""
        matrix = csr_array(self.deviations, dtype=np.float64, copy=True)
        if matrix.shape[1] != self.problem.table.n_cells:
            raise VerificationError("The witnesses are not those of a table of this size.")
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if not np.all(np.isfinite(matrix.data)):
            raise VerificationError("A witness holds an entry that is not a number.")
        return matrix

    def _require(self, open_: Flags, cells: Integers, against: str) -> None:
        if np.any(open_):
            cells = cells[open_]
            raise VerificationError(
                f"{len(cells)} sensitive cells are not proved to be protected{against}: "
                f"{listed(self.problem.table.labels(cells[:5]))}.",
                cells=cells,
            )

    def _check_insider(
        self, claim: InsiderClaim, needs: Needs, matrix: csr_array, by_cell: csc_array
    ) -> None:
        """Witnesses outside the intruder's bounds prove nothing against it."""
        known, values = claim.knowledge, self.problem.table.values
        lower, upper = self.problem.lower_bound.copy(), self.problem.upper_bound.copy()
        lower[known.cells], upper[known.cells] = known.lower, known.upper
        below, above = own_precision(values, lower), own_precision(values, upper)
        low, high = lower - values, upper - values
        if np.any(low > below) or np.any(high < -above):
            raise VerificationError(f"The bounds of intruder {known.name} exclude the truth.")
        needs = needs.cut(low, high)
        moves = by_cell[:, known.cells].toarray()
        refuted = np.any(
            _outside(
                moves, low[known.cells], high[known.cells], (below[known.cells], above[known.cells])
            ),
            axis=1,
        )
        reach = []
        for sign, common, own in (
            (1, self.upper_witness, claim.upper_witness),
            (-1, self.lower_witness, claim.lower_witness),
        ):
            witness = common.copy()
            witness[claim.index] = own
            moved = sign * self._reach(matrix, witness, needs.cells)
            good = (witness == TRUTH) | ~np.append(refuted, False)[witness]
            reach.append(np.where(good, moved, 0.0))
        self._require(~needs.met(*reach), needs.cells, f" against {known.name}")

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
            raise VerificationError(f"A witness breaks a relation by {worst:g}.")
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
                    f"A witness breaks a relation by {residual[beyond].max():g}."
                )
            worst = max(worst, float(residual.max()))
        return worst, False

    def _least_levels(self) -> Floats:
        """Least level among the sensitive cells that rest on each witness."""
        level = _least_asked(asked_of(self.problem, self.requirement))
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
            _outside(
                matrix.data, low, high, (own_precision(values, lower), own_precision(values, upper))
            )
        )
        beyond = np.maximum(matrix.data - high, low - matrix.data)
        if len(bad):
            raise VerificationError(
                f"A witness breaks an external bound by {beyond[bad].max():g}.", cells=cells[bad]
            )
        return float(np.max(beyond, initial=0.0))

    def _reach(self, matrix: csr_array, witness: Integers, cells: Integers) -> Floats:
        if (
            len(witness) != len(cells)
            or np.any(witness >= matrix.shape[0])
            or np.any(witness < TRUTH)
        ):
            raise VerificationError("The certificate names witnesses that it does not hold.")
        reach = np.zeros(len(cells))
        moved = witness != TRUTH
        if np.any(moved):
            reach[moved] = np.asarray(matrix[witness[moved], cells[moved]]).reshape(-1)
        return reach


class WitnessPool:
    """Collects witnesses and knows which needs they already prove.

    One solution often proves many cells at once, and so does its mirror image, stretched or
    shrunk to the bounds; whatever is proved needs no program of its own.

    Parameters
    ----------
    system : System
        Its cells are meant by all positions here.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.needs = system.needs
        n = len(self.needs.cells)
        self.above, self.below = np.zeros(n), np.zeros(n)
        self.upper_witness = np.full(n, TRUTH, dtype=np.int64)
        self.lower_witness = np.full(n, TRUTH, dtype=np.int64)
        self.rows: dict[int, tuple[Integers, Floats]] = {}
        self.need_of = system.need_of
        self._next = 0
        self._cache: csc_array | None = None
        self._whole_only = False

    @property
    def open(self) -> Flags:
        """Which needs are not proved yet."""
        return ~self.needs.met(self.above, self.below)

    def open_sides(self) -> tuple[Flags, Flags]:
        """Which of them still need room above, and which below."""
        every = slice(None)
        return self._lacking(every, 1), self._lacking(every, -1)

    def is_open(self, index: int) -> bool:
        """Whether one need is not proved yet; `open` would look at all of them."""
        return self.lacks(index, 1) or self.lacks(index, -1)

    def lacks(self, index: int, sign: int) -> bool:
        """Whether one need still needs room above (sign = 1) or below (sign = -1)."""
        return bool(self._lacking(index, sign))

    def _lacking(self, index: int | slice | Integers, sign: int) -> Flags:
        """The same for any selection of needs."""
        needs, share = self.needs, 1 - 1e-9
        above, below = self.above[index], self.below[index]
        side, need = (above, needs.upper) if sign > 0 else (below, needs.lower)
        narrow = above + below < share * needs.width[index]
        lacking: Flags = (side < share * need[index]) | narrow
        return lacking

    def add(self, deviation: Floats) -> None:
        """Keep a solution, and its mirror image, where they prove something new.

        Parameters
        ----------
        deviation : numpy.ndarray of float, shape (n_unknown,)
            A d = 0 and low <= d <= high, in the unit of the table.
        """
        if len(deviation):
            cells = np.flatnonzero(deviation)
            self.add_sparse(cells, deviation[cells])

    def add_sparse(self, cells: Integers, deviation: Floats) -> None:
        """Keep a solution that is given on the cells that it moves."""
        size = np.abs(deviation)
        largest = np.max(size, initial=0.0)
        most = 0
        for noise in NOISES:
            large = size > noise * largest
            moved, d = cells[large], deviation[large]
            index = self.need_of[moved]
            touched = index >= 0
            if not np.any(touched):
                return
            most = max(most, self._n_new(index[touched], d[touched]))
            for signed in (d, -d):
                # Scaling amplifies what the solver left of a residual; the plain one may still do.
                if not self._add_one(moved, self._stretched(moved, signed), index, touched):
                    self._add_one(moved, signed, index, touched)
            if self._n_new(index[touched], d[touched]) <= LEFT_SHARE * most:
                return

    def reached(self, index: int) -> float:
        """How far witnesses move one need, up and down together, each as far as it counts."""
        needs = self.needs
        if self.needs.width[index] > 0:
            return float(self.above[index] + self.below[index])
        above = min(self.above[index], needs.upper[index])
        return float(above + min(self.below[index], needs.lower[index]))

    def against(self, system: System) -> tuple[WitnessPool, Flags]:
        """Return what is left of the proof against somebody who knows narrower bounds.

        Parameters
        ----------
        system : System
            The same cells with that intruder's room and needs.

        Returns
        -------
        pool : WitnessPool
            With the witnesses that this intruder cannot rule out.
        changed : numpy.ndarray of bool, shape (n_needs,)
            Needs whose witness it can rule out.
        """
        news = np.flatnonzero((system.low > self.system.low) | (system.high < self.system.high))
        matrix = self._matrix()
        moves = matrix[:, news].toarray()
        slack = system.slack[news] / 2
        outside = _outside(moves, system.low[news], system.high[news], (slack, slack))
        refuted = np.any(outside, axis=1)
        pool = self._copied()
        pool.system, pool.needs = system, system.needs
        if not np.any(refuted):
            return pool, np.zeros(len(self.needs.cells), dtype=bool)
        pool._keep_only(np.flatnonzero(~refuted))
        lost = (pool.upper_witness != self.upper_witness) | (
            pool.lower_witness != self.lower_witness
        )
        return pool, lost

    def in_whole_numbers(self) -> WitnessPool:
        """Return a pool that holds, and takes, witnesses in whole numbers only."""
        whole = [bool(np.all(data == np.rint(data))) for _, data in self.rows.values()]
        pool = self._copied()
        pool._keep_only(np.flatnonzero(whole))
        pool._whole_only = True
        return pool

    def adopt(self, other: WitnessPool) -> None:
        """Take over the witnesses of a pool that started from this one, where they suffice."""
        proved = ~other.open
        used = np.concatenate([other.upper_witness[proved], other.lower_witness[proved]])
        for number in np.unique(used[used != TRUTH]).tolist():
            self.rows.setdefault(number, other.rows[number])
        self._next = max(self._next, other._next)
        self._cache = None
        for name in ("above", "below", "upper_witness", "lower_witness"):
            setattr(self, name, np.where(proved, getattr(other, name), getattr(self, name)))

    def without(self, position: int) -> WitnessPool:
        """Return a pool with those witnesses only that leave a cell alone."""
        matrix = self._matrix()
        touching = matrix.indices[matrix.indptr[position] : matrix.indptr[position + 1]]
        pool = self._copied()
        pool._keep_only(np.delete(np.arange(len(self.rows)), touching))
        return pool

    def _keep_only(self, kept: Integers) -> None:
        """Drop all witnesses but some, given by their order, which stand in for the others."""
        if len(kept) == len(self.rows):
            return
        numbers = np.fromiter(self.rows, dtype=np.int64, count=len(self.rows))
        matrix, dropped = self._matrix(), np.delete(numbers, kept)
        for sign in (1, -1):
            self._replace_lost(sign, dropped, numbers[kept], matrix, kept)
        self.rows = {number: self.rows[number] for number in numbers[kept].tolist()}
        self._cache = None

    def _copied(self) -> WitnessPool:
        """Return a pool that can be changed without changing this one."""
        pool = WitnessPool.__new__(WitnessPool)
        pool.__dict__.update(self.__dict__)
        pool.rows = dict(self.rows)
        for name in ("above", "below", "upper_witness", "lower_witness"):
            setattr(pool, name, getattr(self, name).copy())
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
            self._cache = csc_array(_stacked(list(self.rows.values()), self.system.n_unknown))
        return self._cache

    def moved(self) -> Flags:
        """Which cells any witness in use moves; all of them must be suppressed."""
        flags = np.zeros(self.system.n_unknown, dtype=bool)
        for number in self._used():
            flags[self.rows[int(number)][0]] = True
        return flags

    def proof(self, chosen: Flags) -> tuple[Integers, Integers, list[tuple[Integers, Floats]]]:
        """Return the witnesses of some needs, renumbered from 0, for each side of each."""
        upper, lower = self.upper_witness[chosen], self.lower_witness[chosen]
        used = np.unique(np.concatenate([upper, lower]))
        used = used[used != TRUTH]
        # The last entry answers for TRUTH, which is -1.
        number_of = np.full(self._next + 1, TRUTH, dtype=np.int64)
        number_of[used] = np.arange(len(used))
        return number_of[upper], number_of[lower], [self.rows[int(number)] for number in used]

    def _used(self) -> Integers:
        used = np.unique(np.concatenate([self.upper_witness, self.lower_witness]))
        kept: Integers = used[used != TRUTH]
        return kept

    def _stretched(self, cells: Integers, d: Floats) -> Floats:
        """Scale a direction as far as the bounds allow, or as far as any need asks."""
        system, needs = self.system, self.needs
        limits = np.where(d > 0, system.high[cells], system.low[cells]) / d
        index = self.need_of[cells]
        moved = index >= 0
        index, moves = index[moved], np.abs(d[moved])
        most = np.maximum(np.maximum(needs.upper[index], needs.lower[index]), needs.width[index])
        wanted = float(np.max(most / moves, initial=0.0))
        factor = min(float(np.min(limits, initial=np.inf)), max(wanted, 1.0))
        # A vertex that already touches its bounds must not be shifted by a last digit.
        if 1 - 1e-7 < factor < 1 + 1e-7:
            factor = 1.0
        if self._whole_only:
            factor = float(np.floor(factor))
        scaled: Floats = d * factor
        return scaled

    def _add_one(self, cells: Integers, d: Floats, needed: Integers, touched: Flags) -> bool:
        """Keep one witness, made exact, if it proves something; return False if it is none."""
        index, moves = needed[touched], d[touched]
        if not self._is_new(index, moves):
            return True
        kept, scale = False, 1.0
        for _ in range(PULLS):
            missed = np.inf
            for exact in self._made_exact(cells, d * scale):
                beyond = self._beyond(cells, exact)
                missed = min(missed, beyond)
                if beyond == 0 and self._is_new(index, exact[touched]):
                    self._keep(cells, exact, index, exact[touched])
                    kept = True
                if not self._is_new(index, moves):
                    return True
            if missed == 0 or missed > MOST_PULLED:
                break
            # The true table keeps all bounds, so that what lies nearer to it does as well.
            scale *= 1 - max(2 * missed, LEAST_PULLED)
        return kept

    def _is_new(self, index: Integers, moves: Floats) -> bool:
        """Whether moves bring some needs farther than they are, and these lack it."""
        return self._n_new(index, moves) > 0

    def _n_new(self, index: Integers, moves: Floats) -> int:
        return sum(int(np.sum(side)) for side in self._brought_on(index, moves))

    def _brought_on(self, index: Integers, moves: Floats) -> tuple[Flags, Flags]:
        """Which needs that lack room above, and below, moves bring closer to it."""
        needs = self.needs
        step = PROGRESS * np.maximum(np.maximum(needs.upper, needs.lower), needs.width)[index]
        up = (moves > self.above[index] + step) & self._lacking(index, 1)
        down = (-moves > self.below[index] + step) & self._lacking(index, -1)
        return up, down

    def _keep(self, cells: Integers, d: Floats, index: Integers, moves: Floats) -> None:
        up, down = self._brought_on(index, moves)
        number, self._next = self._next, self._next + 1
        kept = d != 0
        self.rows[number] = (cells[kept], d[kept])
        self._cache = None
        self.above[index[up]], self.upper_witness[index[up]] = moves[up], number
        self.below[index[down]], self.lower_witness[index[down]] = -moves[down], number

    def _made_exact(self, cells: Integers, d: Floats) -> Iterator[Floats]:
        """Deviations close to one that a solver returned, for which all relations hold exactly."""
        system = self.system
        if self._whole_only and not np.all(d == np.rint(d)):
            return
        by_cell = system.by_cell
        taken = entries_of(by_cell, cells)
        column = np.repeat(np.arange(len(cells)), np.diff(by_cell.indptr)[cells])
        factor = system.factor[by_cell.indices[taken]]
        whole = factor > 0
        row = np.unique(by_cell.indices[taken][whole], return_inverse=True)[1]
        coefficient = np.rint(by_cell.data[taken] * factor)[whole]
        entries = (row, column[whole], coefficient)
        for exact in chain(snapped(*entries, d), self._repaired(entries, cells, d)):
            if np.all(whole) or self._adds_up(cells, exact):
                yield exact

    def _repaired(
        self, entries: tuple[Integers, Integers, Floats], cells: Integers, d: Floats
    ) -> Iterator[Floats]:
        """Deviations whose rounding errors some cells take up; elimination is done once for all."""
        spaces, key = self.system.null_spaces, cells.tobytes()
        held = self._held(cells, d)
        space = spaces.get(key)
        if space is not None and (exact := space.near(d)) is not None:
            yield exact
        if space is None or not np.array_equal(space.held, held):
            if sum(len(each.held) for each in spaces.values()) > KEPT_CELLS:
                spaces.clear()
            space = spaces[key] = NullSpace(*entries, held)
            if (exact := space.near(d)) is not None:
                yield exact

    def _held(self, cells: Integers, d: Floats) -> Flags:
        """Cells that lie at a bound, or move just as far as is asked of them."""
        system, needs = self.system, self.needs
        near = HELD_SHARE * float(np.max(np.abs(d)))
        held = (d - system.low[cells] <= near) | (system.high[cells] - d <= near)
        index = self.need_of[cells]
        asked = np.where(d > 0, needs.upper[index], needs.lower[index])
        held |= (index >= 0) & (np.abs(np.abs(d) - asked) <= near)
        return held

    def _beyond(self, cells: Integers, d: Floats) -> float:
        """Share by which a deviation must shrink to keep half of what bounds accept."""
        system = self.system
        low, high = system.low[cells], system.high[cells]
        slack = system.slack[cells] / 2
        outside = _outside(d, low, high, (slack, slack))
        beyond = np.maximum(np.minimum(low, 0.0) - d, d - np.maximum(high, 0.0))
        return float(np.max(beyond[outside] / np.abs(d[outside]), initial=0.0))

    def _adds_up(self, cells: Integers, d: Floats) -> bool:
        """Whether a deviation keeps relations with real coefficients, for its least need."""
        by_cell = self.system.by_cell
        taken = entries_of(by_cell, cells)
        moved = np.repeat(d, np.diff(by_cell.indptr)[cells])
        rows = by_cell.indices[taken]
        real = self.system.factor[rows] == 0
        terms = (by_cell.data[taken] * moved)[real]
        real_rows, row = np.unique(rows[real], return_inverse=True)
        residual = np.bincount(row, weights=terms)
        smallest, scale = np.full(len(real_rows), np.inf), np.zeros(len(real_rows))
        np.minimum.at(smallest, row, np.where(terms != 0, np.abs(terms), np.inf))
        np.maximum.at(scale, row, np.abs(by_cell.data[taken][real]))
        index = self.need_of[cells]
        level = _least_asked(self.needs)[index[index >= 0]]
        least = np.min(level, initial=np.inf) * np.minimum(scale, 1.0)
        return bool(np.all(np.abs(residual) <= REAL_SHARE / 2 * np.minimum(least, smallest)))


def _least_asked(needs: Needs) -> Floats:
    """Return the least distance that is asked of each need; inf where nothing is."""
    asked = np.array([needs.upper, needs.lower, needs.width])
    least: Floats = np.where(asked > 0, asked, np.inf).min(axis=0)
    return least


def _outside(moves: Floats, low: Floats, high: Floats, slack: tuple[Floats, Floats]) -> Flags:
    """Which moves pass their room by more than slack, or a share of it; it holds the truth."""
    below, above = np.minimum(low, 0.0), np.maximum(high, 0.0)
    least = below - np.minimum(slack[0], ROOM_SHARE * -below)
    most = above + np.minimum(slack[1], ROOM_SHARE * above)
    passed: Flags = (moves < least) | (moves > most)
    return passed


def _rows_of(matrix: csr_array) -> Iterator[tuple[Integers, Floats]]:
    """The columns and entries of each row."""
    for start, stop in pairwise(matrix.indptr.tolist()):
        yield matrix.indices[start:stop], matrix.data[start:stop]


def certificate_of(
    problem: ProtectionProblem,
    suppressed: Flags,
    requirement: Requirement,
    pools: Sequence[WitnessPool],
    insiders: Sequence[tuple[Knowledge, Sequence[tuple[WitnessPool, Flags]]]] = (),
) -> ProtectionCertificate:
    """Join the witnesses of separate systems into one proof.

    Systems share no relation, so the first witnesses of all of them add up to one witness,
    and so do the second ones: the proof is as long as that of the hardest system. With
    insiders they stay apart, for who can rule out one summand rules out the sum.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    pools : sequence of WitnessPool
        One for each system.
    insiders : sequence of (Knowledge, sequence of (WitnessPool, numpy.ndarray of bool))
        For each further intruder its own pools, and which needs they prove anew.
    """
    rows = _RowsByCell(problem.table.n_cells, apart=bool(insiders))
    whole = np.ones(problem.n_sensitive, dtype=bool)
    upper, lower = rows.join([(pool, whole[: len(pool.needs.cells)]) for pool in pools], problem)
    claims = []
    for knowledge, parts in insiders:
        above, below = rows.join(parts, problem)
        index = np.sort(np.concatenate([_NO_CELLS, *(p.needs.index[new] for p, new in parts)]))
        claims.append(InsiderClaim(knowledge, index, above[index], below[index]))
    return ProtectionCertificate(
        problem=problem,
        suppressed=suppressed,
        requirement=requirement,
        deviations=rows.matrix(),
        upper_witness=upper,
        lower_witness=lower,
        insiders=tuple(claims),
    )


class _RowsByCell:
    """Collects witnesses of several systems as rows over all cells of the table."""

    def __init__(self, n_cells: int, *, apart: bool) -> None:
        self.n_cells = n_cells
        self.apart = apart
        self.count = 0
        self.entries = [(_NO_CELLS, _NO_CELLS, np.zeros(0))]

    def join(
        self, parts: Sequence[tuple[WitnessPool, Flags]], problem: ProtectionProblem
    ) -> tuple[Integers, Integers]:
        """Add the witnesses of some needs; return their numbers for each sensitive cell."""
        upper = np.full(problem.n_sensitive, TRUTH, dtype=np.int64)
        lower = np.full(problem.n_sensitive, TRUTH, dtype=np.int64)
        start = self.count
        for pool, chosen in parts:
            start = self.count if self.apart else start
            above, below, rows = pool.proof(chosen)
            index = pool.needs.index[chosen]
            upper[index] = np.where(above == TRUTH, TRUTH, above + start)
            lower[index] = np.where(below == TRUTH, TRUTH, below + start)
            self.count = max(self.count, start + len(rows))
            for number, (positions, data) in enumerate(rows, start=start):
                numbers = np.full(len(positions), number, dtype=np.int64)
                self.entries.append((numbers, pool.system.cells[positions], data))
        return upper, lower

    def matrix(self) -> csr_array:
        """Return one witness a row."""
        numbers, cells, data = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return csr_array((data, (numbers, cells)), shape=(self.count, self.n_cells))


_NO_CELLS = np.zeros(0, dtype=np.int64)


def _stacked(rows: list[tuple[Integers, Floats]], n_cells: int) -> csr_array:
    pointers = np.cumsum([0, *(len(cells) for cells, _ in rows)])
    indices = np.concatenate([cells for cells, _ in rows]) if rows else np.zeros(0, dtype=np.int64)
    data = np.concatenate([data for _, data in rows]) if rows else np.zeros(0)
    return csr_array((data, indices, pointers), shape=(len(rows), n_cells))
