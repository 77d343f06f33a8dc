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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget
from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.suppression.audit.attack import Attack
from tablecloak.suppression.audit.audit import Audit, attacked
from tablecloak.suppression.audit.finding import Finding
from tablecloak.suppression.audit.intruder import Intruder
from tablecloak.suppression.audit.prove import prove
from tablecloak.suppression.audit.whole_numbers import cheapest_in_whole_numbers
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search.candidate import Candidate, costliest_first
from tablecloak.suppression.search.cover import HIDDEN_COST, Builder
from tablecloak.suppression.search.protect import protect_need
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["hold_against"]

Flags = npt.NDArray[np.bool_]


def hold_against(
    problem: ProtectionProblem,
    requirement: Requirement,
    candidate: Candidate,
    intruders: Sequence[Intruder],
    budget: Budget,
    *,
    required: bool = True,
) -> Audit | None:
    """Extend a pattern until no insider can attack it, then publish what is not needed.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    candidate : Candidate
        Proved against the external intruder.
    intruders : sequence of Intruder
    budget : Budget
    required : bool, default=True
        Whether a proof against all of them is. If not, a pattern that nobody is known to attack
        will do.

    Returns
    -------
    Audit or None
        Of the pattern found, without attacks; safe if that is `required`. None if time ended
        before anything was found against the candidate itself.

    Raises
    ------
    ModelError
        If a cell cannot be protected against somebody even with everything suppressed.
    SolverError
        If time ended before that.
    """
    system, weights = candidate.pool.system, candidate.weights
    builder, attack = Builder(system, weights, None, budget), Attack(system)
    hidden = candidate.hidden.copy()

    def audited(flags: Flags) -> Audit:
        suppressed = np.zeros(problem.table.n_cells, dtype=bool)
        suppressed[system.cells[flags]] = True
        return attacked(problem, suppressed, requirement, intruders, budget.quiet())

    def report(left: int) -> None:
        loss = float(weights[hidden].sum())
        budget.report("protecting against insiders", loss, open_=left)

    def answer(attackers: list[tuple[Knowledge | None, list[int]]]) -> None:
        for knowledge, cells in attackers:
            if knowledge is None:
                _protect_in_whole_numbers(problem, builder, hidden, cells)
            else:
                _protect_against(problem, builder, attack, hidden, knowledge, cells)
            report(len(attackers))

    found = audited(hidden)
    while not found.interrupted and (open_ := _to_answer(found, required)):
        before = hidden.copy()
        answer(_attackers(open_))
        if np.array_equal(before, hidden):
            break
        found = audited(hidden)
    if found.interrupted or _to_answer(found, required):
        if not required and not found.attacks and np.array_equal(hidden, candidate.hidden):
            return None
        raise SolverError(
            f"No pattern was proved against {listed(list(found.intruders))} in the time limit: "
            f"{found.n_not_judged} attacks were not judged, {len(found.attacks)} succeed. Raise "
            f"the time limit, or leave out a kind of intruder."
        )
    if np.array_equal(hidden, candidate.hidden) and not required:
        return found
    must = (problem.sensitive | problem.forced)[system.cells]
    for cell in costliest_first(hidden & ~must, weights):
        if budget.is_over or not found.is_safe:
            break
        hidden[cell] = False
        trial = audited(hidden)
        found = trial if trial.is_safe else found
        hidden[cell] = ~trial.is_safe
        report(0)
    return found


def _to_answer(found: Audit, required: bool) -> list[Finding]:
    """What the pattern must still be extended for."""
    return found.findings if required else found.attacks


def _attackers(findings: Sequence[Finding]) -> list[tuple[Knowledge | None, list[int]]]:
    """Group successes by who has them; None knows that values are whole."""
    by_name: dict[str, tuple[Knowledge | None, list[int]]] = {}
    for finding in findings:
        by_name.setdefault(finding.intruder, (finding.knowledge, []))[1].append(finding.cell)
    return list(by_name.values())


def _protect_against(
    problem: ProtectionProblem,
    builder: Builder,
    attack: Attack,
    hidden: Flags,
    knowledge: Knowledge,
    cells: list[int],
) -> None:
    """Protect some cells against one insider, extending `hidden` in place, until time ends."""
    budget = builder.budget
    own = _seen_by(builder.system, problem, knowledge, cells)
    pool = WitnessPool(own)
    attack.know(own)
    attack.hide(hidden)
    # Cells suppressed because of others may have settled it.
    prove(attack, pool, budget)
    own_builder = builder.seen_by(own)
    for index in np.flatnonzero(pool.open).tolist():
        if budget.is_over:
            break
        if not protect_need(own_builder, pool, hidden, index, Strategy()):
            attack.hide(np.ones(own.n_unknown))
            prove(attack, pool, budget)
            if pool.is_open(index) and builder.budget.is_over:
                break
            if pool.is_open(index):
                number = int(own.cells[own.needs.cells[index]])
                raise ModelError(
                    f"Cell {listed(problem.table.labels([number]))} cannot be protected against "
                    f"{knowledge.name} even if every cell that may be suppressed is. Lower its "
                    f"level, unfreeze cells in its relations, or leave out this kind of intruder.",
                    cells=[number],
                )
            hidden |= pool.moved()
    attack.know(builder.system)


def _protect_in_whole_numbers(
    problem: ProtectionProblem,
    builder: Builder,
    hidden: Flags,
    cells: list[int],
) -> None:
    """Protect some cells by moves in whole numbers, extending `hidden` in place."""
    system = builder.system
    for cell in cells:
        cost = np.where(hidden, HIDDEN_COST, builder.cost)
        at = int(np.searchsorted(system.cells, cell))
        moved, possible = cheapest_in_whole_numbers(system, at, cost, builder.budget)
        if not possible:
            raise ModelError(
                f"Cell {listed(problem.table.labels([cell]))} cannot be protected against who "
                f"knows that values are whole even if every cell that may be suppressed is. Lower "
                f"its level, or unfreeze cells in its relations.",
                cells=[cell],
            )
        hidden |= moved


def _seen_by(
    system: System, problem: ProtectionProblem, knowledge: Knowledge, cells: list[int]
) -> System:
    """Return the system of one insider, with the needs of some cells only."""
    at = np.searchsorted(system.cells, knowledge.cells)
    values = problem.table.values[knowledge.cells]
    low, high = system.low.copy(), system.high.copy()
    low[at] = np.maximum(low[at], knowledge.lower - values)
    high[at] = np.minimum(high[at], knowledge.upper - values)
    needed = system.need_of[np.searchsorted(system.cells, cells)]
    needs = system.needs.chosen(needed, system.needs.cells[needed])
    return replace(system, low=low, high=high, needs=needs.cut(low, high))
