"""Patterns that also protect sums of hidden cells: search, find the sums, and search again.

Which sums are sensitive does not depend on the pattern as long as rules compare contributions with
totals: a sum with a published cell is no less safe than without it. So sums are asked for only once
a pattern hides all their cells and lets them be estimated; the search then begins anew with
these as further cells. A bound that was proved without some sums holds with them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.errors import SolverError, VerificationError
from tablecloak.solve.bounds import check_claim
from tablecloak.suppression.audit.audit import attacked
from tablecloak.suppression.audit.finding import Verdict
from tablecloak.suppression.merging import search_merged
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.proof import ProtectionCertificate
from tablecloak.suppression.question import Question
from tablecloak.suppression.search.closing import closed
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.search.phase import run_phases
from tablecloak.suppression.search.schedule import INSIDERS, INSIDERS_SHARE, WHOLE_NUMBERS_SHARE
from tablecloak.tables.keys import are_sums
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.sums import Groups, find_sums, with_sums

__all__ = ["Search", "search_with_groups"]

Flags = npt.NDArray[np.bool_]

ROUND_SHARE = 0.5
"""Share of the remaining time for each search. Most tables need two: the second begins with the
sums that the first one let be estimated."""

MOST_ROUNDS = 50
"""Most searches after one another; no table tried needed more than a few."""


class Search:
    """What is asked of a pattern besides sums, and the search for it.

    Parameters
    ----------
    method : SearchMethod
    require, intruders, hold
        As of `tablecloak.suppress`.
    time_limit : float
        Seconds that the caller allowed.
    """

    def __init__(
        self, method: SearchMethod, require: Any, intruders: Any, hold: Any, time_limit: float
    ) -> None:
        self.method = method
        self.asked = require, intruders, hold
        self.time_limit = time_limit

    def question(self, problem: ProtectionProblem) -> Question:
        """Return the question for a problem."""
        return Question.of(problem, *self.asked)

    def __call__(self, problem: ProtectionProblem, budget: Budget) -> SuppressionPattern:
        """Search within a budget, and return the pattern with its verified proofs."""
        question = self.question(problem)
        share = INSIDERS_SHARE if question.named else WHOLE_NUMBERS_SHARE
        part = budget.share(share if question.intruders else 1.0)
        state = search_merged(self.method, question.finite, question.requirement, part)
        state = run_phases(INSIDERS, replace(state, question=question), budget)
        return closed(problem, state, budget, time_limit=self.time_limit)


def search_with_groups(
    search: Search, problem: ProtectionProblem, groups: Groups, budget: Budget
) -> SuppressionPattern:
    """Return a pattern that protects the sensitive cells and the sensitive sums of hidden cells.

    Parameters
    ----------
    search : Search
    problem : ProtectionProblem
    groups : Groups
    budget : Budget

    Returns
    -------
    SuppressionPattern
        Its problem has the sensitive sums of its hidden cells as further cells, the last ones.

    Raises
    ------
    ModelError
        If a sum cannot be protected.
    SolverError
        If no pattern was found without sums that can be estimated.
    """
    # Sensitive cells are hidden in every pattern, and so their sums are asked for at once.
    sums = find_sums(problem, problem.sensitive | problem.forced, groups)
    for _ in range(MOST_ROUNDS):
        pattern = search(with_sums(problem, sums), budget.share(ROUND_SHARE))
        hidden = pattern.suppressed[: problem.table.n_cells]
        wanted = sums.joined(find_sums(problem, hidden, groups))
        if len(wanted) == len(sums):
            return _seen(pattern, budget)
        proved, estimated = _judged(search, pattern, with_sums(problem, wanted), budget)
        if proved is not None:
            return _seen(proved, budget)
        sums = wanted.chosen(np.flatnonzero(estimated | (np.arange(len(wanted)) < len(sums))))
    raise SolverError(
        f"After {MOST_ROUNDS} searches there are still sums of hidden cells that can be estimated. "
        f"Let fewer sums be judged: Groups(rules, most=2)."
    )


def _seen(pattern: SuppressionPattern, budget: Budget) -> SuppressionPattern:
    return replace(pattern, seconds=budget.elapsed)


def _judged(
    search: Search, pattern: SuppressionPattern, problem: ProtectionProblem, budget: Budget
) -> tuple[SuppressionPattern | None, Flags]:
    """Return the pattern with the proof that it protects all sums, or else which it does not."""
    question = search.question(problem)
    n_sums = int(are_sums(problem.table.keys).sum())
    everything = np.ones(n_sums, dtype=bool)
    if question.intruders:
        # What an insider knows of further sums is settled by a search that asks for them.
        return None, everything
    known = problem.table.n_cells - n_sums
    hidden = np.concatenate([pattern.suppressed[:known], everything])
    audit = attacked(question, hidden, budget.within(np.inf))
    if audit.is_safe:
        return _rebased(pattern, audit.certificate()), ~everything
    place = np.searchsorted(question.needs.cells, np.arange(known, problem.table.n_cells))
    verdicts = [audit.verdicts[at] for at in place.tolist()]
    return None, np.array([verdict is not Verdict.PROTECTED for verdict in verdicts])


def _rebased(
    pattern: SuppressionPattern, proof: ProtectionCertificate
) -> SuppressionPattern | None:
    """Return the pattern for a problem with more sums; None if its bound is not proved there."""
    bound = pattern.bound_certificate
    found = replace(
        pattern,
        problem=proof.problem,
        suppressed=proof.suppressed,
        certificate=proof,
        bound_certificate=None if bound is None else replace(bound, problem=proof.problem),
    )
    try:
        check_claim(pattern.bound, found.proved_bound())
    except VerificationError:
        # Merging may name groups of cells by others once there are more sums.
        return None
    return found
