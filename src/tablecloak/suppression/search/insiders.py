"""Patterns that also hold against insiders: repair what the audit finds, then publish again.

The pattern against everybody is the start. Whatever an insider can attack is protected anew
by programs within this insider's bounds, which suppresses further cells; these may give other
insiders something to know, so the audit has the last word.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from dataclasses import replace

from tablecloak.budget import Budget
from tablecloak.errors import SolverError, listed
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.audit.finding import Finding
from tablecloak.suppression.question import Question
from tablecloak.suppression.search.defence import Defence
from tablecloak.suppression.search.state import SearchState

__all__ = ["hold_against_insiders"]


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
        With the audit of the pattern found, if it is proved against all insiders.

    Raises
    ------
    ModelError
        If a cell cannot be protected against somebody even with everything suppressed.
    SolverError
        If time ended before that.
    """
    question = state.question
    assert question is not None
    assert state.best is not None
    defence = Defence(question.problem, state.best, budget)
    found = defence.audited(question, defence.suppressed)
    while not found.interrupted and (open_ := _to_answer(found, question)):
        if not defence.answer(open_):
            break
        found = defence.audited(question, defence.suppressed)
    if found.interrupted or _to_answer(found, question):
        if question.must_hold or found.attacks or defence.has_changed:
            raise _not_held(found)
    elif question.must_hold or defence.has_changed:
        for cell in defence.costliest_first():
            if budget.is_over or not found.is_safe:
                break
            trial = defence.audited(question, defence.without(cell))
            if trial.is_safe:
                found = trial
                defence.publish(cell)
            defence.report(0)
    if not found.is_safe:
        return state.noted("not proved against who knows that counts are whole")
    tried = ", ".join(f"{number} {name}" for name, number in found.intruders.items())
    state = replace(state, audit=found).noted(f"protected against {tried} as well")
    loss = float(question.problem.weights[found.suppressed].sum())
    rises = f"for this the loss rises from {defence.candidate.loss:.12g} to {loss:.12g}"
    return state.noted(rises) if defence.has_changed else state


def _to_answer(found: Audit, question: Question) -> list[Finding]:
    """What the pattern must still be extended for."""
    return found.findings if question.must_hold else found.attacks


def _not_held(found: Audit) -> SolverError:
    return SolverError(
        f"No pattern was proved against {listed(list(found.intruders))} in the time limit: "
        f"{found.n_not_judged} attacks were not judged, {len(found.attacks)} succeed. Raise "
        f"the time limit, or leave out a kind of intruder."
    )
