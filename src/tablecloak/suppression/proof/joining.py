"""Joins the witnesses of separate systems into one proof that a pattern protects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Integers
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.proof import TRUTH, InsiderClaim, ProtectionCertificate
from tablecloak.suppression.proof.witness import PoolProof
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


def certificate_of(
    problem: ProtectionProblem,
    suppressed: Flags,
    requirement: Requirement,
    proofs: Sequence[PoolProof],
    insiders: Sequence[tuple[Knowledge, Sequence[PoolProof]]] = (),
    left_out: Mapping[int, Integers] = MappingProxyType({}),
) -> ProtectionCertificate:
    """Join the witnesses of separate systems into one proof.

    Systems share no relation, so the first witnesses of all systems add up to one witness, and so
    do the second ones: the proof has as many witnesses as the system with the most. If insiders are
    claimed against, witnesses stay apart, because an insider who can rule out one summand rules out
    the sum. A witness that several insiders need is stored once.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    proofs : sequence of PoolProof
        Proof of all levels of each system.
    insiders : sequence of (Knowledge, sequence of PoolProof)
        For each insider, new proofs of the needs whose common witness it can rule out.
    left_out : mapping of int to numpy.ndarray of int
        For each insider, by position, the sensitive cells for which nothing is claimed against it,
        by their positions among all sensitive cells.
    """
    rows = _RowsByCell(problem.table.n_cells, apart=bool(insiders))
    upper, lower = rows.join(proofs, problem)
    claims = []
    for number, (knowledge, own) in enumerate(insiders):
        above, below = rows.join(own, problem)
        index = np.sort(np.concatenate([_NO_CELLS, *(proof.index for proof in own)]))
        open_ = np.sort(left_out.get(number, _NO_CELLS))
        claims.append(InsiderClaim(knowledge, index, above[index], below[index], open_))
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
        self.number_of: dict[int, int] = {}

    def join(
        self, proofs: Sequence[PoolProof], problem: ProtectionProblem
    ) -> tuple[Integers, Integers]:
        """Add the witnesses of some needs; return their numbers for each sensitive cell."""
        upper = np.full(problem.n_sensitive, TRUTH, dtype=np.int64)
        lower = np.full(problem.n_sensitive, TRUTH, dtype=np.int64)
        start = self.count
        for proof in proofs:
            numbers = [
                self._number(proof, place, start + place) for place in range(len(proof.witnesses))
            ]
            # Index TRUTH, which is -1, finds the last entry.
            numbered = np.array([*numbers, TRUTH])
            upper[proof.index], lower[proof.index] = numbered[proof.upper], numbered[proof.lower]
        return upper, lower

    def _number(self, proof: PoolProof, place: int, summed: int) -> int:
        """Return the row of one witness, which is added if it is not there yet."""
        positions, moves = proof.witnesses[place]
        number = summed
        if self.apart:
            # Pools share the arrays of a witness, so equal witnesses have identical arrays.
            number = self.number_of.setdefault(id(moves), self.count)
            if number < self.count:
                return number
        self.count = max(self.count, number + 1)
        numbers = np.full(len(positions), number, dtype=np.int64)
        self.entries.append((numbers, proof.cells[positions], moves))
        return number

    def matrix(self) -> csr_array:
        """Return one witness a row."""
        numbers, cells, data = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return csr_array((data, (numbers, cells)), shape=(self.count, self.n_cells))


_NO_CELLS = np.zeros(0, dtype=np.int64)
