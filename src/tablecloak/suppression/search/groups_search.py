"""The search for a pattern of a problem, and for one that also protects sums of hidden cells.

Which sums are sensitive does not depend on the pattern as long as rules compare contributions with
totals: a sum with a published cell is no less safe than without it. So sums are asked for only once
a pattern hides all their cells and lets them be estimated; the search then begins anew with
these as further cells. A bound that was proved without some sums holds with them.

A hidden cell that is not sensitive but needs room is asked for in the same way. It stays hidden
then, although another pattern might publish it, so that only the bound of the first search counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import SolverError, VerificationError
from tablecloak.phases import run_phases
from tablecloak.solve.bounds import check_claim
from tablecloak.suppression.attack.audit import Audit, attacked
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.suppression.attack.hold import Hold
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.refuted import TRUTH
from tablecloak.suppression.result.pattern import ProtectedSums, SuppressionPattern
from tablecloak.suppression.search.closing import closed
from tablecloak.suppression.search.endless import with_given_bounds
from tablecloak.suppression.search.merging import search_merged
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.search.parts import search_parts
from tablecloak.suppression.search.schedule import INSIDERS, INSIDERS_SHARE, WHOLE_NUMBERS_SHARE
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.changes.sums import SumsAsCells
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.sums import Groups, find_sums, warn_floor_of_sums

FIRST_SHARE, NEXT_SHARE = 0.6, 0.75
"""Shares of the time left for the search without sums, and for each one that follows. Most tables
need one search or two. docs/decisions, "Sums of hidden cells"."""

FEW_SUMS = 500
"""Most sums of sensitive cells that are all asked for once one sum can be estimated. Of more, only
those that can be: each sum adds a need and a relation to the search."""

MOST_ROUNDS = 50
"""Most searches after one another; no table tried needed more than five."""


@dataclass(frozen=True, eq=False)
class PatternSearch:
    """The search for a pattern, and what is asked of it besides sums.

    Parameters
    ----------
    method : SearchMethod
    require, intruders, hold
        As of `tablecloak.suppress`.
    time_limit : float
        Seconds that the caller allowed.
    """

    method: SearchMethod
    require: Requirement | str
    intruders: Intruder | str | Sequence[Intruder | str]
    hold: Hold | str
    time_limit: float

    def __call__(self, problem: ProtectionProblem, budget: Budget) -> SuppressionPattern:
        """Search within a budget, and return the pattern with its verified proofs."""
        question = Question.of(problem, self.require, self.intruders, self.hold)
        share = INSIDERS_SHARE if question.named else WHOLE_NUMBERS_SHARE
        part = budget.share(share if question.intruders else 1.0)
        finite = with_finite_bounds(problem, question.requirement, budget).problem
        search = partial(search_merged, self.method)
        state = search_parts(search, finite, question.requirement, part)
        if finite is not problem:
            state = with_given_bounds(state, problem, part)
        if state.is_settled:
            budget.settled()
        state = run_phases(INSIDERS, replace(state, question=question), budget)
        return closed(problem, state, budget, time_limit=self.time_limit)


@dataclass(frozen=True, eq=False)
class SearchWithSums:
    """The search for a pattern that protects sensitive sums of hidden cells as well.

    Parameters
    ----------
    search : PatternSearch
    groups : Groups
        Which sums are judged, and how.
    """

    search: PatternSearch
    groups: Groups

    def __call__(self, problem: ProtectionProblem, budget: Budget) -> SuppressionPattern:
        """Search within a budget, again and again until no sum can be estimated.

        Returns
        -------
        SuppressionPattern
            Its problem has the sensitive sums of its hidden cells as further cells, the last ones.

        Raises
        ------
        InputError
            If the table lacks contributions that a rule needs.
        ModelError
            If a sum cannot be protected.
        SolverError
            If no pattern was found without sums that can be estimated.
        """
        warn_floor_of_sums(problem, self.groups)
        # Sensitive cells are hidden in every pattern, and so are their sums.
        always = find_sums(problem, problem.sensitive | problem.forced, self.groups)
        change, cost = SumsAsCells.of(problem, always.chosen(np.zeros(0, dtype=np.int64))), None
        share, bound = FIRST_SHARE, np.inf
        for _ in range(MOST_ROUNDS):
            pattern = self.search(change.problem, budget.share(share))
            if self.groups.secondary_room:
                # Only what is hidden needs room: later searches hide what others may publish.
                bound = min(bound, pattern.bound)
                pattern = replace(pattern, bound=bound)
            hidden = change.flags(pattern.suppressed)
            larger = change.again(find_sums(problem, hidden, self.groups))
            audit = _audit_of(pattern, larger.problem, budget)
            estimated = _estimated(audit, len(larger.sums))
            cost = cost or ProtectedSums(int(estimated.sum()), pattern.loss, pattern.n_suppressed)
            if not np.any(estimated):
                proved = _with_proof_of_sums(pattern, audit)
                if proved is not None:
                    return replace(proved, sums=cost, seconds=budget.elapsed).after(larger)
                estimated[:] = True
            estimated[: len(change.sums)] = True
            sums = larger.sums.chosen(np.flatnonzero(estimated))
            sums = sums.joined(always) if len(always) <= FEW_SUMS else sums
            change, share = SumsAsCells.of(problem, sums), NEXT_SHARE
        raise SolverError(
            f"After {MOST_ROUNDS} searches there are still sums of hidden cells that can be "
            f"estimated. Let fewer sums be judged: Groups(rules, most=2)."
        )


def _audit_of(pattern: SuppressionPattern, problem: ProtectionProblem, budget: Budget) -> Audit:
    """Return the attack of everybody on a pattern, for a problem with further sums."""
    question = Question.of(problem, pattern.requirement, ())
    moves = _with_sums_moved(pattern, problem)
    parts = zip(*(np.split(each, moves.indptr[1:-1]) for each in _entries(moves)), strict=True)
    n_more = problem.table.n_cells - len(pattern.suppressed)
    hidden = np.append(pattern.suppressed, np.ones(n_more, dtype=bool))
    # The attack takes little time, and without it no pattern can be returned.
    return attacked(question, hidden, budget.within(np.inf), witnesses=list(parts))


def _with_sums_moved(pattern: SuppressionPattern, problem: ProtectionProblem) -> csr_array:
    """Return the witnesses of a pattern as those of a problem with further sums."""
    n_cells, n_relations = len(pattern.suppressed), pattern.problem.table.n_relations
    spread = problem.table.relations[n_relations:, :n_cells]
    moves = csr_array(pattern.certificate.deviations)
    return csr_array(hstack([moves, moves @ spread.T], format="csr"))


def _entries(moves: csr_array) -> tuple[Integers, Floats]:
    moves.sort_indices()
    return moves.indices.astype(np.int64), moves.data


def _estimated(audit: Audit, n_sums: int) -> Flags:
    """Return which of the sums, the last sensitive cells, can be estimated too well."""
    found = np.array([verdict is not Verdict.PROTECTED for verdict in audit.verdicts], dtype=bool)
    in_whole_numbers = [finding.cell for finding in audit.findings]
    found |= np.isin(audit.needs.cells, np.array(in_whole_numbers, dtype=np.int64))
    estimated: Flags = found[len(found) - n_sums :]
    return estimated


def _with_proof_of_sums(pattern: SuppressionPattern, audit: Audit) -> SuppressionPattern | None:
    """Return the pattern for the problem of an audit, which has more sums.

    Returns
    -------
    SuppressionPattern or None
        None if the bound is not proved there: merging may name groups of cells by others.
    """
    old, new = pattern.certificate, audit.certificate()
    problem = audit.problem
    moves = vstack([_with_sums_moved(pattern, problem), new.deviations], format="csr")
    open_ = np.arange(len(old.upper_witness), problem.n_sensitive)
    claims = [replace(each, open=np.append(each.open, open_)) for each in old.insiders]

    def numbered(mine: Integers, other: Integers) -> Integers:
        """Return the witnesses of known cells, and those of further sums in the audit."""
        further = other[len(mine) :]
        place = np.where(further == TRUTH, TRUTH, further + old.deviations.shape[0])
        return np.append(mine, place)

    proof = replace(
        old,
        problem=problem,
        suppressed=audit.suppressed,
        deviations=csr_array(moves),
        upper_witness=numbered(old.upper_witness, new.upper_witness),
        lower_witness=numbered(old.lower_witness, new.lower_witness),
        insiders=tuple(claims),
    )
    proof.verify()
    bound = pattern.bound_certificate
    bound = None if bound is None else replace(bound, problem=problem)
    found = replace(
        pattern,
        problem=problem,
        suppressed=audit.suppressed,
        certificate=proof,
        bound_certificate=bound,
    )
    try:
        check_claim(pattern.bound, found.proved_bound())
    except VerificationError:
        return None
    return found
