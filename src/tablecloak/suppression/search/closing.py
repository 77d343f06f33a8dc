"""The last step: a candidate as a pattern of the whole table, with its verified proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.joining import certificate_of
from tablecloak.suppression.proof import ProtectionCertificate
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search.candidate import Candidate
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["proved_pattern"]

Flags = npt.NDArray[np.bool_]


def proved_pattern(
    problem: ProtectionProblem,
    requirement: Requirement,
    candidate: Candidate,
    audit: Audit | None = None,
) -> tuple[Flags, ProtectionCertificate]:
    """Return which cells a candidate suppresses, and the verified proof that they protect.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    candidate : Candidate
        Proved.
    audit : Audit, optional
        Of the candidate extended against insiders, whose proof then counts.

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    if audit is not None:
        suppressed, proof = audit.suppressed, audit.certificate()
    else:
        suppressed = np.zeros(problem.table.n_cells, dtype=bool)
        suppressed[candidate.pool.system.cells[candidate.hidden]] = True
        proof = certificate_of(problem, suppressed, requirement, [candidate.pool])
    # What no witness moves protects nothing, and may follow from the published cells anyway.
    suppressed = suppressed & (problem.sensitive | problem.forced)
    suppressed[proof.deviations.indices[proof.deviations.data != 0]] = True
    proof = replace(proof, suppressed=suppressed)
    proof.verify()
    return suppressed, proof
