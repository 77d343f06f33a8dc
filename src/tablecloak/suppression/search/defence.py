"""Extends a pattern against insiders: each cell that an insider can attack is protected again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import Audit, attacked
from tablecloak.suppression.attack.finding import Finding, Verdict
from tablecloak.suppression.attack.impossible import refuted
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.attack.whole_numbers import cheapest_in_whole_numbers
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, costliest_first
from tablecloak.suppression.search.cover import HIDDEN_COST, Builder
from tablecloak.suppression.search.protect import protect_need
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Defence"]


class Defence:
    """A pattern that is extended where insiders can attack it.

    Parameters
    ----------
    problem : ProtectionProblem
    candidate : Candidate
        Proved against the external intruder.
    budget : Budget
    gives_up : bool, default=False
        Whether to go on if a cell cannot be protected against some insider. Otherwise this is an
        error.

    Attributes
    ----------
    hidden : numpy.ndarray of bool, shape (n_unknown,)
        Which cells of the candidate's system are suppressed now.
    hopeless : set of (str, int)
        Pairs of an insider's name and a cell that no pattern protects against this insider.
    """

    def __init__(
        self,
        problem: ProtectionProblem,
        candidate: Candidate,
        budget: Budget,
        *,
        gives_up: bool = False,
    ) -> None:
        self.problem = problem
        self.candidate = candidate
        self.budget = budget
        self.gives_up = gives_up
        self.hopeless: set[tuple[str, int]] = set()
        self._in_vain: set[tuple[str, int]] = set()
        # What no pattern protects must be proved without the bounds that the search added.
        self.system = _within_given_bounds(candidate.pool.system, problem)
        self.hidden = candidate.hidden.copy()
        # A witness of one pattern mostly is one of the next pattern, too, and saves a program.
        self._witnesses: dict[int, tuple[Integers, Floats]] = {}
        self._learn(candidate.pool)

    # Programs over the whole table are laid out only if somebody can attack.

    @cached_property
    def builder(self) -> Builder:
        """The builder of the programs that protect a cell."""
        return Builder(self.system, self.candidate.weights, None, self.budget)

    @cached_property
    def attack(self) -> Attack:
        """The program of one insider after another."""
        return Attack(self.system)

    @property
    def has_changed(self) -> bool:
        """Whether other cells are suppressed than in the candidate."""
        return not np.array_equal(self.hidden, self.candidate.hidden)

    @property
    def suppressed(self) -> Flags:
        """The pattern, shape (n_cells,)."""
        return self._in_table(self.hidden)

    @property
    def outsiders(self) -> Flags:
        """The pattern that protects against the external intruder only, shape (n_cells,)."""
        must = (self.problem.sensitive | self.problem.forced)[self.system.cells]
        return self._in_table(self.candidate.hidden & (self.candidate.pool.moved() | must))

    def number_of(self, cell: int) -> int:
        """Return the number in the table of a cell of the system."""
        return int(self.system.cells[cell])

    def is_given_up(self, finding: Finding) -> bool:
        """Whether a finding is left as it is, because protecting the cell again would not help.

        A finding without a named insider says that some insiders had no time to attack, or that a
        search in whole numbers ended without a verdict.
        """
        if finding.knowledge is None:
            return finding.verdict is Verdict.UNDECIDED
        return (finding.intruder, finding.cell) in self._in_vain | self.hopeless

    def _in_table(self, hidden: Flags) -> Flags:
        suppressed = np.zeros(self.problem.table.n_cells, dtype=bool)
        suppressed[self.system.cells[hidden]] = True
        return suppressed

    def costliest_first(self) -> Integers:
        """Return the secondary suppressions, the costliest first."""
        must = (self.problem.sensitive | self.problem.forced)[self.system.cells]
        return costliest_first(self.hidden & ~must, self.candidate.weights)

    def without(self, cell: int) -> Flags:
        """Return the pattern with one cell published, shape (n_cells,)."""
        hidden = self.hidden.copy()
        hidden[cell] = False
        return self._in_table(hidden)

    def publish(self, cell: int) -> None:
        """Publish a cell."""
        self.hidden[cell] = False

    def audited(self, question: Question, suppressed: Flags, budget: Budget | None = None) -> Audit:
        """Attack a pattern, starting from the witnesses of patterns attacked before.

        Parameters
        ----------
        question : Question
        suppressed : numpy.ndarray of bool, shape (n_cells,)
        budget : Budget, optional
            By default the budget of the whole defence.
        """
        witnesses, budget = list(self._witnesses.values()), budget or self.budget
        audit = attacked(question, suppressed, budget.quiet(), witnesses=witnesses)
        for part in audit.parts:
            self._learn(part.pool)
        return audit

    def _learn(self, pool: WitnessPool) -> None:
        # Pools that share a witness share its arrays.
        self._witnesses.update((id(moves), (cells, moves)) for cells, moves in pool.witnesses())

    def report(self, left: int) -> None:
        """Report progress."""
        loss = float(self.candidate.weights[self.hidden].sum())
        self.budget.report("protecting against insiders", loss, open_=left)

    def answer(self, findings: Sequence[Finding]) -> bool:
        """Protect the cells that insiders can attack; return whether further cells are suppressed.

        Raises
        ------
        ModelError
            If a cell cannot be protected against an insider even with every cell suppressed.
        """
        before = self.hidden.copy()
        attackers = _attackers(findings)
        for knowledge, cells in attackers:
            if knowledge is None:
                self._protect_in_whole_numbers(cells)
            else:
                self._protect_against(knowledge, cells)
            self.report(len(attackers))
        return not np.array_equal(before, self.hidden)

    def _protect_against(self, knowledge: Knowledge, cells: list[int]) -> None:
        """Protect some cells against one insider, until time ends."""
        hidden, attack = self.hidden, self.attack
        own = self._seen_by(knowledge, cells)
        pool = WitnessPool(own)
        near = ((np.searchsorted(own.cells, c), moves) for c, moves in self._witnesses.values())
        pool.learn((positions, moves) for positions, moves in near if np.all(hidden[positions]))
        pool.use_all()
        attack.know(own)
        attack.hide(hidden)
        # Cells suppressed against other insiders may already protect against this one.
        prove(attack, pool, self.budget)
        builder = self.builder.seen_by(own)
        for index in np.flatnonzero(pool.open).tolist():
            if self.budget.is_over:
                break
            if not protect_need(builder, pool, hidden, index, Strategy()):
                attack.hide(np.ones(own.n_unknown))
                failures = prove(attack, pool, self.budget)
                if not pool.is_open(index):
                    hidden |= pool.moved()
                    continue
                if builder.budget.is_over:
                    break
                self._give_up(index, pool, knowledge, failures)
        attack.know(self.system)
        self._learn(pool)

    def _give_up(
        self,
        index: int,
        pool: WitnessPool,
        knowledge: Knowledge,
        failures: Mapping[tuple[int, int], Extreme],
    ) -> None:
        """Record a cell that cannot be protected against an insider even with every cell hidden."""
        cell = int(pool.system.cells[pool.needs.cells[index]])
        is_proved = bool(refuted(pool, failures)[index])
        if not self.gives_up:
            raise self._cannot_hold(cell, knowledge, is_proved)
        (self.hopeless if is_proved else self._in_vain).add((knowledge.name, cell))

    def _cannot_hold(
        self, cell: int, knowledge: Knowledge, is_proved: bool
    ) -> ModelError | SolverError:
        label = listed(self.problem.table.labels([cell]))
        if not is_proved:
            return SolverError(
                f"It was not settled whether cell {label} can be protected against "
                f"{knowledge.name}. Leave out this kind of intruder, or hold as far as possible."
            )
        return ModelError(
            f"Cell {label} cannot be protected against "
            f"{knowledge.name}, even if every cell that may be suppressed is. Lower its "
            f"level, unfreeze cells in its relations, or leave out this kind of intruder.",
            cells=[cell],
        )

    def _protect_in_whole_numbers(self, cells: list[int]) -> None:
        """Protect some cells by moves in whole numbers."""
        for cell in cells:
            cost = np.where(self.hidden, HIDDEN_COST, self.builder.cost)
            at = int(np.searchsorted(self.system.cells, cell))
            moved, possible = cheapest_in_whole_numbers(self.system, at, cost, self.budget)
            if not possible:
                raise ModelError(
                    f"Cell {listed(self.problem.table.labels([cell]))} cannot be protected against "
                    f"an intruder who knows that values are whole, even if every cell that may be "
                    f"suppressed is. Lower its level, or unfreeze cells in its relations.",
                    cells=[cell],
                )
            self.hidden |= moved

    def _seen_by(self, knowledge: Knowledge, cells: list[int]) -> System:
        """Return the system of one insider, with the needs of some cells only."""
        system = self.system
        at = np.searchsorted(system.cells, knowledge.cells)
        values = self.problem.table.values[knowledge.cells]
        needed = system.need_of[np.searchsorted(system.cells, cells)]
        asked = replace(system, needs=system.needs.chosen(needed, system.needs.cells[needed]))
        return asked.narrowed(at, knowledge.lower - values, knowledge.upper - values)


def _within_given_bounds(system: System, problem: ProtectionProblem) -> System:
    """Return a system with the room that the external bounds of a problem leave."""
    values = problem.table.values
    low, high = problem.lower_bound - values, problem.upper_bound - values
    return system.with_room(low[system.cells], high[system.cells])


def _attackers(findings: Sequence[Finding]) -> list[tuple[Knowledge | None, list[int]]]:
    """Group successful attacks by insider; None stands for whoever knows that values are whole."""
    by_name: dict[str, tuple[Knowledge | None, list[int]]] = {}
    for finding in findings:
        by_name.setdefault(finding.intruder, (finding.knowledge, []))[1].append(finding.cell)
    return list(by_name.values())
