"""Joins the witnesses of separate systems into one proof that a pattern protects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Integers
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.proof import InsiderClaim, ProtectionCertificate
from tablecloak.suppression.proof.refuted import TRUTH
from tablecloak.suppression.proof.witness import PoolProof
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem

_NO_CELLS = np.zeros(0, dtype=np.int64)


def certificate_of(
    problem: ProtectionProblem,
    suppressed: Flags,
    requirement: Requirement,
    proofs: Sequence[PoolProof],
    insiders: Sequence[Knowledge] = (),
    own: Sequence[tuple[Integers, PoolProof]] = (),
    left_out: tuple[Integers, Integers] = (_NO_CELLS, _NO_CELLS),
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
    insiders : sequence of Knowledge
        Insiders against whom the proof is to hold.
    own : sequence of (numpy.ndarray of int, PoolProof)
        New proofs of the needs whose common witness an insider can rule out, and the position of
        this insider for each.
    left_out : tuple of numpy.ndarray of int
        Pairs for which nothing is claimed: position of the insider, and of the sensitive cell among
        all sensitive cells.
    """
    rows = _RowsByCell(problem.table.n_cells, apart=bool(insiders))
    upper = np.full(problem.n_sensitive, TRUTH, dtype=np.int64)
    lower = upper.copy()
    for proof, numbers in zip(proofs, rows.joined(proofs), strict=True):
        upper[proof.index], lower[proof.index] = numbers
    claimed = [_NO_CELLS] * 4
    if own:
        again = rows.joined([proof for _, proof in own])
        parts = [
            (who, proof.index, *numbers) for (who, proof), numbers in zip(own, again, strict=True)
        ]
        claimed = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    claims = [
        InsiderClaim(knowledge, index, above, below, open_)
        for knowledge, (index, above, below), (open_,) in zip(
            insiders, _by_insider(len(insiders), claimed), _by_insider(len(insiders), left_out),
            strict=True,
        )
    ]  # fmt: skip
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

    def joined(self, proofs: Sequence[PoolProof]) -> list[tuple[Integers, Integers]]:
        """Add the witnesses of some needs; return their numbers for both sides of each need."""
        start, numbered = self.count, []
        for proof in proofs:
            numbers = [
                self._number(proof, place, start + place) for place in range(len(proof.witnesses))
            ]
            # Index TRUTH, which is -1, finds the last entry.
            number_of = np.array([*numbers, TRUTH])
            numbered.append((number_of[proof.upper], number_of[proof.lower]))
        return numbered

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


def _by_insider(count: int, columns: Sequence[Integers]) -> Iterator[tuple[Integers, ...]]:
    """Yield for each insider its entries; the first column names it, the second one sorts them."""
    order = np.lexsort([columns[1], columns[0]])
    ends = np.searchsorted(columns[0][order], np.arange(1, count))
    return zip(*(np.split(column[order], ends)[:count] for column in columns[1:]), strict=True)
