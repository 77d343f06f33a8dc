"""Joins the witnesses of separate systems into one proof that a pattern protects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.suppression.insider_claim import InsiderClaim
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.proof import TRUTH, ProtectionCertificate
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["certificate_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


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
