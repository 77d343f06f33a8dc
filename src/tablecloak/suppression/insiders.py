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

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError, ModelError, SolverError, listed
from tablecloak.suppression.attack import Attack, prove
from tablecloak.suppression.audit import Audit, Finding, audit_pattern
from tablecloak.suppression.intruder import Intruder, Knowledge, WholeNumbers
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.sequential import (
    Builder,
    Candidate,
    Strategy,
    Tick,
    costliest_first,
    protect_need,
)
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
    *,
    deadline: float = np.inf,
    tick: Tick | None = None,
) -> Audit:
    """Extend a pattern until no insider can attack it, then publish what is not needed.

    Parameters
    ----------
    problem : ProtectionProblem
    requirement : Requirement
    candidate : Candidate
        Proved against the external intruder.
    intruders : sequence of Intruder
    deadline : float, default=inf
        Moment of `time.monotonic` at which to stop publishing again.
    tick : callable, optional

    Returns
    -------
    Audit
        Of the pattern found; safe.

    Raises
    ------
    InputError
        For the intruder who knows that values are whole: no linear program tells what would
        help against him.
    ModelError
        If a cell cannot be protected against somebody even with everything suppressed.
    """
    if any(isinstance(kind, WholeNumbers) for kind in intruders):
        raise InputError(
            "`protect_against` does not take 'integers': audit the pattern against it instead."
        )
    system, weights = candidate.pool.system, candidate.weights
    builder, attack = Builder(system, weights, None), Attack(system)
    hidden = candidate.hidden.copy()

    def audited(flags: Flags) -> Audit:
        suppressed = np.zeros(problem.table.n_cells, dtype=bool)
        suppressed[system.cells[flags]] = True
        return audit_pattern(problem, suppressed, require=requirement, intruders=intruders)

    found = audited(hidden)
    while not found.is_safe:
        if found.interrupted:
            raise SolverError("Interrupted before a pattern was proved against insiders.")
        before = hidden.copy()
        for knowledge, cells in _attackers(found.findings):
            _protect_against(problem, builder, attack, hidden, knowledge, cells)
            if tick:
                tick(float(weights[hidden].sum()), len(found.findings))
        if np.array_equal(before, hidden):
            raise SolverError("Attacks by insiders remain although all were answered.")
        found = audited(hidden)
    must = (problem.sensitive | problem.forced)[system.cells]
    for cell in costliest_first(hidden & ~must, weights):
        if time.monotonic() > deadline:
            break
        hidden[cell] = False
        trial = audited(hidden)
        if trial.interrupted:
            break
        if trial.is_safe:
            found = trial
        hidden[cell] = ~trial.is_safe
        if tick:
            tick(float(weights[hidden].sum()), 0)
    return found


def _attackers(findings: Sequence[Finding]) -> list[tuple[Knowledge, list[int]]]:
    """Group successes by who has them."""
    by_name: dict[str, tuple[Knowledge, list[int]]] = {}
    for finding in findings:
        assert finding.knowledge is not None
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
    """Protect some cells against one insider, extending `hidden` in place."""
    own = _seen_by(builder.system, problem, knowledge, cells)
    pool = WitnessPool(own)
    attack.know(own)
    attack.hide(hidden)
    # Cells suppressed because of others may have settled it.
    prove(attack, pool)
    own_builder = builder.seen_by(own)
    for index in np.flatnonzero(pool.open).tolist():
        if not protect_need(own_builder, pool, hidden, index, Strategy()):
            attack.hide(np.ones(own.n_unknown))
            prove(attack, pool)
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
