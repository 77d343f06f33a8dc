"""Patterns that also hold against insiders: repair what the audit finds, then publish again.

The search starts from the pattern that protects against the external intruder. A cell that an
insider can attack is protected again by programs within this insider's bounds, which suppresses
further cells. These may be cells of which another insider knows more, so the audit decides in the
end. Then single cells are published again if every proof can do without them.

A pattern is asked to hold strictly, or as far as possible. As far as possible, the certificate
claims nothing for pairs of an insider and a cell that no pattern protects, or that were not settled
in time.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import SolverError, listed
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, OpenPair, WhyOpen
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.finding import Finding
from tablecloak.suppression.attack.members import Members
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.defence import Defence
from tablecloak.suppression.search.held import Held, held
from tablecloak.suppression.search.standing import Standing
from tablecloak.suppression.search.state import SearchState

__all__ = ["hold_against_insiders"]

JUDGING_SHARE = 0.4
"""Share of the time for the first attack by all insiders, where a pattern is to hold as far as
possible. Cells that they have no time to attack cannot be repaired. docs/decisions, "Holding
against insiders"."""
EXTENDING_SHARE = 0.6
"""Share of the time left after that attack for hiding further cells; the rest is for publishing
cells again. docs/decisions, "Holding against insiders"."""

CLOSINGS = 3
"""Multiple of the seconds that laying out the proof against all insiders took once, kept back for
doing it at the end: the pattern has grown by then, and the proof is verified as well."""

COUNTS = "not proved against an intruder who knows that counts are whole"
"""Note of the result if a search in whole numbers ended without a verdict."""


def hold_against_insiders(state: SearchState, budget: Budget) -> SearchState:
    """Extend the best pattern until no insider can attack it, then publish cells not needed.

    Parameters
    ----------
    state : SearchState
        Holds the question. Its best candidate is proved against the external intruder.
    budget : Budget

    Returns
    -------
    SearchState
        Holds the pattern and the insiders against whom it is proved. If it is asked to hold as far
        as possible, at least the pattern against the external intruder is returned.

    Raises
    ------
    ModelError
        If the pattern must hold, and a cell cannot be protected against an insider even with every
        cell suppressed; or if it cannot against an intruder who knows that counts are whole.
    SolverError
        If time ended before a pattern was proved.
    """
    question = state.question
    assert question is not None
    assert state.best is not None
    defence = Defence(question.problem, state.best, budget, gives_up=question.is_best_effort)
    first = defence.audited(question, defence.suppressed, _judging(question, budget))
    watch, standing = Stopwatch(), _standing(first, question)
    # The final pattern is laid out in the same way, and verified, which takes about as long again.
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
    """Hide further cells until no finding is left to answer; return the audit of the result."""
    if question.is_best_effort:
        budget = budget.share(EXTENDING_SHARE)
    while not budget.is_over and (question.is_best_effort or not found.interrupted):
        open_ = _to_answer(found, defence, question)
        # The other half of the time is for the audit of the extended pattern.
        defence.budget = budget.share(0.5) if question.is_best_effort else budget
        if not open_ or not defence.answer(open_):
            break
        found = defence.audited(question, defence.suppressed, budget)
    return found


def _to_answer(found: Audit, defence: Defence, question: Question) -> list[Finding]:
    """Return the findings for which the pattern must still be extended."""
    if question.must_hold:
        return found.findings
    if question.is_best_effort:
        return [each for each in found.findings if not defence.is_given_up(each)]
    return found.attacks


def _fails(found: Audit, defence: Defence, question: Question) -> bool:
    """Whether no pattern can be returned."""
    if question.is_best_effort:
        # Everybody may know that counts are whole, so such an attack is never left out.
        return any(finding.knowledge is None for finding in found.attacks)
    left = found.interrupted or bool(_to_answer(found, defence, question))
    return left and (question.must_hold or bool(found.attacks) or defence.has_changed)


def _standing(found: Audit, question: Question) -> Standing | None:
    """Return the standing of an audited pattern; None if it is not proved against everybody."""
    standing = Standing(found, Members(question, found.suppressed))
    return standing if standing.is_proved else None


def _better(before: Standing | None, after: Standing | None) -> Standing | None:
    """Return the standing of the extended pattern, unless it leaves as many pairs out as before."""
    if before is None or after is None:
        return after or before
    # Pairs do not list the intruder who knows that counts are whole, so check its attacks as well.
    must_change = any(finding.knowledge is None for finding in before.audit.attacks)
    is_enough = len(before.left_out()) <= len(after.left_out())
    return before if is_enough and not must_change else after


def _for_outsiders(state: SearchState, first: Audit, question: Question) -> SearchState:
    """Return the pattern against the external intruder, with no claim about insiders."""
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
    """Publish cells that are not needed, as long as time is left."""
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
    """Publish cells again after an audit of each trial: insiders may know more of fewer cells."""
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
    """Return the cost of a pattern compared with that against the external intruder."""
    return AgainstInsiders(
        problem=question.problem,
        intruders={name: intruders[name] for name in question.named},
        suppressed=suppressed,
        outsiders=defence.outsiders,
        successful_before=len({each.intruder for each in first.attacks}),
        unsettled_before=_unsettled(first),
    )


def _unsettled(first: Audit) -> int:
    """Return the number of insiders with a cell that they did not attack, or without a verdict."""
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
    """Note the insiders against whom the pattern holds, the pairs left open, and the cost."""
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
