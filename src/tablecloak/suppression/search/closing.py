"""The last step: a candidate as a pattern of the whole table, with its verified proofs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.joining import certificate_of
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.proof import ProtectionCertificate
from tablecloak.suppression.question import Question
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search.candidate import Candidate
from tablecloak.suppression.search.state import SearchState
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["closed", "proved_pattern"]

Flags = npt.NDArray[np.bool_]


def closed(
    problem: ProtectionProblem,
    state: SearchState,
    budget: Budget,
    *,
    time_limit: float,
) -> SuppressionPattern:
    """Return the result of a search, verified before anybody sees it.

    Parameters
    ----------
    problem : ProtectionProblem
    state : SearchState
        Its best candidate is proved.
    budget : Budget
        Of the whole search: tells how long it took.
    time_limit : float
        Seconds that were allowed.

    Raises
    ------
    VerificationError
        If a proof does not pass its check.
    """
    assert state.best is not None
    suppressed, proof = _proved(problem, state)
    result = SuppressionPattern(
        problem=problem,
        suppressed=suppressed,
        requirement=state.requirement,
        certificate=proof,
        bound_certificate=state.bound_certificate,
        bound=0.0,
        method=state.method,
        seconds=0.0,
        notes=state.notes,
        time_limit=time_limit,
        first_seconds=state.first_seconds,
    )
    bound = result.proved_bound()
    return replace(result, bound=bound, seconds=budget.elapsed)


def _proved(problem: ProtectionProblem, state: SearchState) -> tuple[Flags, ProtectionCertificate]:
    """Return the pattern and its proof; against insiders as it was audited, if that matters."""
    assert state.best is not None
    audit, question = state.audit, state.question
    suppressed, proof = proved_pattern(problem, state.requirement, state.best, audit)
    if audit is None or question is None or not _know_more(question, audit.suppressed, suppressed):
        return suppressed, proof
    proof = audit.certificate()
    proof.verify()
    return audit.suppressed, proof


def _know_more(question: Question, audited: Flags, published: Flags) -> bool:
    """Whether anybody may know more of a pattern than of the one that was audited.

    What an insider knows may depend on what is suppressed, such as which cell is the largest.
    """
    if np.array_equal(audited, published):
        return False
    for kind in question.intruders:
        known = {one.name: one for one in kind.members(question.finite, audited)}
        for one in kind.members(question.finite, published):
            before = known.get(one.name)
            if before is None or not np.all(np.isin(one.cells, before.cells)):
                return True
            at = np.argsort(before.cells)[np.searchsorted(np.sort(before.cells), one.cells)]
            if np.any(one.lower > before.lower[at]) or np.any(one.upper < before.upper[at]):
                return True
    return False


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
        proof = certificate_of(problem, suppressed, requirement, [candidate.pool.whole_proof()])
    # What no witness moves protects nothing, and may follow from the published cells anyway.
    suppressed = suppressed & (problem.sensitive | problem.forced)
    suppressed[proof.deviations.indices[proof.deviations.data != 0]] = True
    proof = replace(proof, suppressed=suppressed)
    proof.verify()
    return suppressed, proof
