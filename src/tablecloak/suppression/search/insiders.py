"""Patterns that also hold against insiders: repair what the audit finds, then publish again.

The pattern against everybody is the start. Whatever an insider can attack is protected anew
by programs within this insider's bounds, which suppresses further cells; these may give other
insiders something to know, so the audit has the last word. Then single cells are published again
where all that was proved can be proved without them.

A pattern is asked to hold strictly, or as far as possible. Then what no pattern hides from some
insider, and what was not settled in time, is left out of what the certificate claims.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import SolverError, listed
from tablecloak.suppression.against_insiders import AgainstInsiders, OpenPair, WhyOpen
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.audit.finding import Finding
from tablecloak.suppression.audit.members import Members
from tablecloak.suppression.question import Question
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.defence import Defence
from tablecloak.suppression.search.held import Held, held
from tablecloak.suppression.search.standing import Standing
from tablecloak.suppression.search.state import SearchState

__all__ = ["hold_against_insiders"]

Flags = npt.NDArray[np.bool_]

JUDGING_SHARE = 0.4
"""Share of the time for the first attack of all insiders, where a pattern is to hold as far as
possible. What they do not come to attack cannot be repaired."""

EXTENDING_SHARE = 0.6
"""Share of the time then left for hiding more; the rest is for publishing again."""

CLOSINGS = 3
"""Times that it is kept back, while more is hidden, to lay out the proof against all insiders."""

COUNTS = "not proved against who knows that counts are whole"
"""What is noted where a search in whole numbers ended without a verdict."""


def hold_against_insiders(state: SearchState, budget: Budget) -> SearchState:
    """Extend the best pattern until no insider can attack it, then publish what is not needed.

    Parameters
    ----------
    state : SearchState
        With its question. Its best candidate is proved against the external intruder.
    budget : Budget

    Returns
    -------
    SearchState
        With what the pattern found is proved to hold against. If it is asked to hold as far as
        possible, the pattern against everybody is the least that is returned.

    Raises
    ------
    ModelError
        If a cell cannot be protected against somebody even with everything suppressed, and the
        pattern must hold; or if it cannot against who knows that counts are whole.
    SolverError
        If time ended before that.
    """
    question = state.question
    assert question is not None
    assert state.best is not None
    defence = Defence(question.problem, state.best, budget, gives_up=question.is_best_effort)
    first = defence.audited(question, defence.suppressed, _judging(question, budget))
    watch, standing = Stopwatch(), _standing(first, question)
    # What is found is laid out like this once more at the end, and verified, which takes as long.
    closing = CLOSINGS * watch.seconds if question.is_best_effort else watch.seconds
    found = _extended(first, defence, question, _keeping(budget, closing))
    if _fails(found, defence, question):
        raise _not_held(found)
    if not (question.is_best_effort or found.is_safe):
        return state.noted(COUNTS)
    if found is not first:
        standing = _better(standing, _standing(found, question))
    if standing is None:
        return _for_outsiders(state, first, question)
    defence.budget = _keeping(budget, 2 * watch.seconds)
    result = held(_published_again(standing, defence, question), question)
    if question.named:
        told = _cost(first, defence, question, result.suppressed, standing.audit.intruders)
        pairs = _open_pairs(result, standing.audit, defence)
        result = replace(result, insiders=replace(told, open=pairs))
    return _told(replace(state, held=result), found, defence, question)


def _keeping(budget: Budget, seconds: float) -> Budget:
    return budget.within(max(budget.left - seconds, 0.0))


def _judging(question: Question, budget: Budget) -> Budget:
    return budget.share(JUDGING_SHARE) if question.is_best_effort else budget


def _extended(found: Audit, defence: Defence, question: Question, budget: Budget) -> Audit:
    """Hide more until nothing is left to answer; return the audit of the last pattern."""
    if question.is_best_effort:
        budget = budget.share(EXTENDING_SHARE)
    while not budget.is_over and (question.is_best_effort or not found.interrupted):
        open_ = _to_answer(found, defence, question)
        # The other half is for attacking the answer.
        defence.budget = budget.share(0.5) if question.is_best_effort else budget
        if not open_ or not defence.answer(open_):
            break
        found = defence.audited(question, defence.suppressed, budget)
    return found


def _to_answer(found: Audit, defence: Defence, question: Question) -> list[Finding]:
    """What the pattern must still be extended for."""
    if question.must_hold:
        return found.findings
    if question.is_best_effort:
        return [each for each in found.findings if not defence.is_given_up(each)]
    return found.attacks


def _fails(found: Audit, defence: Defence, question: Question) -> bool:
    """Whether no pattern can be returned."""
    if question.is_best_effort:
        # Everybody may know that counts are whole: nobody is left out who is known to attack so.
        return any(finding.knowledge is None for finding in found.attacks)
    left = found.interrupted or bool(_to_answer(found, defence, question))
    return left and (question.must_hold or bool(found.attacks) or defence.has_changed)


def _standing(found: Audit, question: Question) -> Standing | None:
    """Return how an audited pattern stands; None if time did not even suffice for everybody."""
    standing = Standing(found, Members(question, found.suppressed))
    return standing if standing.is_proved else None


def _better(before: Standing | None, after: Standing | None) -> Standing | None:
    """Return how the extended pattern stands, unless time ended before that was proved of more."""
    if before is None or after is None:
        return after or before
    # Whoever knows that counts are whole is in no pair that could be left out.
    must_change = any(finding.knowledge is None for finding in before.audit.attacks)
    is_enough = len(before.left_out()) <= len(after.left_out())
    return before if is_enough and not must_change else after


def _for_outsiders(state: SearchState, first: Audit, question: Question) -> SearchState:
    """Return the pattern against everybody; of insiders nothing is known, and nothing claimed."""
    assert state.best is not None
    suppressed, proof = proved_pattern(question.problem, question.requirement, state.best)
    told = AgainstInsiders(
        problem=question.problem,
        intruders={name: first.intruders[name] for name in question.named},
        suppressed=suppressed,
        outsiders=suppressed,
        successful_before=0,
        unsettled_before=sum(first.intruders[name] for name in question.named),
        unjudged=sum(first.intruders[name] for name in question.named),
    )
    state = replace(state, held=Held(suppressed, proof, [], told))
    return state.noted("no insider attacked in the time given: nothing is claimed against them")


def _published_again(standing: Standing, defence: Defence, question: Question) -> Standing:
    """Publish what is not needed, as long as time is left."""
    found = standing.audit
    if not np.array_equal(found.suppressed, defence.suppressed):
        return standing
    if not defence.has_changed and not question.must_hold:
        return standing
    if not all(kind.knows_by_cell for kind in question.intruders):
        found = _published_by_audits(found, defence, question)
        return Standing(found, Members(question, found.suppressed))
    for cell in defence.costliest_first():
        if defence.budget.is_over:
            break
        if standing.publish(defence.number_of(cell), defence.budget):
            defence.publish(cell)
        defence.report(0)
    return standing


def _published_by_audits(found: Audit, defence: Defence, question: Question) -> Audit:
    """Publish cells again where who attacks may know more of a pattern that hides less."""
    for cell in defence.costliest_first():
        if defence.budget.is_over or not found.is_safe:
            break
        trial = defence.audited(question, defence.without(cell))
        if trial.is_safe:
            found = trial
            defence.publish(cell)
        defence.report(0)
    return found


def _cost(
    first: Audit,
    defence: Defence,
    question: Question,
    suppressed: Flags,
    intruders: dict[str, int],
) -> AgainstInsiders:
    """Return what a pattern costs beside that for outsiders."""
    return AgainstInsiders(
        problem=question.problem,
        intruders={name: intruders[name] for name in question.named},
        suppressed=suppressed,
        outsiders=defence.outsiders,
        successful_before=len({each.intruder for each in first.attacks}),
        unsettled_before=_unsettled(first),
    )


def _unsettled(first: Audit) -> int:
    """How many insiders have not attacked everything, or did not come to a verdict."""
    attacked = {each.intruder for each in first.attacks}
    undecided = {each.intruder for each in first.findings if each.knowledge is not None} - attacked
    waiting = {number for part in first.parts for number in part.not_judged}
    return len(undecided) + len(waiting)


def _open_pairs(result: Held, found: Audit, defence: Defence) -> tuple[OpenPair, ...]:
    attacked = {(each.intruder, each.cell) for each in found.attacks}

    def why(pair: tuple[str, int]) -> WhyOpen:
        if pair in defence.hopeless:
            return WhyOpen.HOPELESS
        return WhyOpen.ATTACKABLE if pair in attacked else WhyOpen.UNDECIDED

    return tuple(OpenPair(*pair, why(pair)) for pair in sorted(set(result.left_out)))


def _told(state: SearchState, found: Audit, defence: Defence, question: Question) -> SearchState:
    """Note against whom the pattern holds, what is left open, and what it costs."""
    assert state.held is not None
    result = state.held
    tried = ", ".join(f"{number} {name}" for name, number in found.intruders.items())
    most = "as far as possible" if question.is_best_effort else "as well"
    state = state.noted(f"protected against {tried} {most}")
    for statement in result.insiders.statements() if result.insiders else ():
        state = state.noted(statement)
    if any(finding.knowledge is None for finding in found.findings) and not found.interrupted:
        state = state.noted(COUNTS)
    if not defence.has_changed:
        return state
    loss = float(question.problem.weights[result.suppressed].sum())
    return state.noted(f"for this the loss rises from {defence.candidate.loss:.12g} to {loss:.12g}")


def _not_held(found: Audit) -> SolverError:
    return SolverError(
        f"No pattern was proved against {listed(list(found.intruders))} in the time limit: "
        f"{found.n_not_judged} attacks were not judged, {len(found.attacks)} succeed. Raise "
        f"the time limit, or leave out a kind of intruder."
    )
