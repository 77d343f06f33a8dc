"""The last step of a search: a candidate becomes a pattern of the table, its proofs verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget, Stopwatch
from tablecloak.suppression.proof.joining import certificate_of
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


def closed(
    problem: ProtectionProblem,
    state: SearchState,
    budget: Budget,
    *,
    time_limit: float,
) -> SuppressionPattern:
    """Return the result of a search after verifying its proofs.

    Parameters
    ----------
    problem : ProtectionProblem
    state : SearchState
        Its best candidate is proved.
    budget : Budget
        The budget of the whole search; it tells how long the search took.
    time_limit : float
        Seconds that were allowed.

    Raises
    ------
    VerificationError
        If a proof does not pass its check.
    """
    assert state.best is not None
    held = state.held
    if held is None:
        suppressed, proof = proved_pattern(problem, state.requirement, state.best)
    else:
        suppressed, proof = held.suppressed, held.certificate
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
        insiders=None if held is None else held.insiders,
    )
    bound = result.proved_bound()
    return replace(result, bound=bound, seconds=budget.elapsed)


def proved_pattern(
    problem: ProtectionProblem,
    requirement: Requirement,
    candidate: Candidate,
) -> tuple[Flags, ProtectionCertificate]:
    """Return which cells a candidate suppresses, and the verified proof that they protect.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    candidate : Candidate
        Proved.

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    suppressed = np.zeros(problem.table.n_cells, dtype=bool)
    suppressed[candidate.pool.system.cells[candidate.hidden]] = True
    proof = certificate_of(problem, suppressed, requirement, [candidate.pool.whole_proof()])
    # A cell that no witness moves protects nothing, and may follow from published cells anyway.
    suppressed = suppressed & (problem.sensitive | problem.forced)
    suppressed[proof.deviations.indices[proof.deviations.data != 0]] = True
    proof = replace(proof, suppressed=suppressed)
    proof.verify()
    return suppressed, proof


def with_first(state: SearchState, candidate: Candidate, budget: Budget) -> SearchState:
    """Return the state with its first pattern, and the seconds that its certificate takes.

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    watch = Stopwatch()
    proved_pattern(state.problem, state.requirement, candidate)
    budget.report("protecting", candidate.loss)
    return replace(
        state, best=candidate, first_seconds=budget.elapsed, closing_seconds=watch.seconds
    )
