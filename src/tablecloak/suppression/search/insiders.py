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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.errors import ModelError, SolverError, listed
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, OpenPairs, WhyOpen
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import Audit, attacked
from tablecloak.suppression.attack.finding import Finding, Verdict
from tablecloak.suppression.attack.impossible import refuted
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.part import Members
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.attack.whole_numbers import cheapest_in_whole_numbers
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate, costliest_first
from tablecloak.suppression.search.closing import proved_pattern
from tablecloak.suppression.search.cover import HIDDEN_COST, Builder
from tablecloak.suppression.search.protect import protect_need
from tablecloak.suppression.search.standing import Held, Standing, held
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem

JUDGING_SHARE = 0.4
"""Share of the time for the first attack by all insiders, where a pattern is to hold as far as
possible. Cells that they have no time to attack cannot be repaired. docs/decisions, "Holding
against insiders"."""
EXTENDING_SHARE = 0.6
"""Share of the time left after that attack for hiding further cells; the rest is for publishing
cells again. docs/decisions, "Holding against insiders"."""

SETTLING_SECONDS = 1.0
"""Seconds for one attack by each insider of whom the search has settled nothing, past its time if
need be. A program over some hundred cells takes milliseconds, and whoever has the release will
try it. Chosen."""

CLOSINGS = 3
"""Multiple of the seconds that laying out the proof against all insiders took once, kept back for
doing it at the end: the pattern has grown by then, and the proof is verified as well."""

COUNTS = "not proved against an intruder who knows that counts are whole"
"""Note of the result if a search in whole numbers ended without a verdict."""


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
        builder = self.builder.seen_by(own, self.budget)
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
    watch, standing = Stopwatch(), _standing(first)
    # The final pattern is laid out in the same way, and verified, which takes about as long again.
    closing = CLOSINGS * watch.seconds if question.is_best_effort else watch.seconds
    found = _extended(first, defence, question, _keeping(budget, closing))
    if _fails(found, defence, question):
        raise _not_held(found)
    if not (question.is_best_effort or found.is_safe):
        return state.noted(COUNTS)
    if found is not first:
        standing = _better(standing, _standing(found))
    if standing is None:
        return _for_outsiders(state, first, question)
    defence.budget = _keeping(budget, 2 * watch.seconds)
    standing = _published_again(standing, defence, question)
    result = held(standing, question)
    if question.named:
        told = _cost(first, defence, question, result.suppressed, standing.audit.intruders)
        told = replace(told, unjudged=len(standing.members.unjudged))
        pairs = _open_pairs(standing, defence, budget)
        if not (told.unjudged or len(pairs)):
            # Who knows nothing of the cells that are hidden in the end is no insider of the
            # release, and an audit of it does not count them.
            counts = Members(question, result.suppressed).counts
            told.intruders.update({name: counts[name] for name in question.named})
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


def _standing(found: Audit) -> Standing | None:
    """Return the standing of an audited pattern; None if it is not proved against everybody."""
    standing = Standing(found)
    return standing if standing.is_proved else None


def _better(before: Standing | None, after: Standing | None) -> Standing | None:
    """Return the standing of the extended pattern, unless it leaves as many pairs out as before."""
    if before is None or after is None:
        return after or before
    # Pairs do not list the intruder who knows that counts are whole, so check its attacks as well.
    must_change = any(finding.knowledge is None for finding in before.audit.attacks)
    is_enough = before.missing <= after.missing
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
    state = replace(state, held=Held(suppressed, proof, told))
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
        return Standing(found)
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
    waiting = {number for part in first.parts for number in part.not_judged.tolist()}
    return len(undecided) + len(waiting)


def _open_pairs(standing: Standing, defence: Defence, budget: Budget) -> OpenPairs:
    """Return the pairs for which nothing is claimed; those that no attack settled try once more."""
    attacks, named = standing.audit.attacks, standing.members.named
    reasons = {(each.intruder, each.cell): WhyOpen.ATTACKABLE for each in attacks}
    settling = budget.at_least(SETTLING_SECONDS).quiet()
    easy = [(named[number].name, cell) for number, cell in standing.attackable(settling)]
    reasons |= dict.fromkeys(easy, WhyOpen.ATTACKABLE)
    reasons |= dict.fromkeys(defence.hopeless, WhyOpen.HOPELESS)
    return OpenPairs.of([one.name for one in named], *standing.left_out(), reasons)


def _told(state: SearchState, found: Audit, defence: Defence, question: Question) -> SearchState:
    """Note the insiders against whom the pattern holds, the pairs left open, and the cost."""
    assert state.held is not None
    result = state.held
    tried = ", ".join(found.intruders)
    most = "as far as possible" if question.is_best_effort else "as well"
    state = state.noted(f"protected against {tried} {most}")
    for statement in result.insiders.statements() if result.insiders else ():
        state = state.noted(statement)
    if any(finding.knowledge is None for finding in found.findings) and not found.interrupted:
        state = state.noted(COUNTS)
    if not defence.has_changed:
        return state
    loss = float(question.problem.weights[result.suppressed].sum())
    return state.noted(
        f"for this the loss rises from {defence.candidate.loss:,.12g} to {loss:,.12g}"
    )


def _not_held(found: Audit) -> SolverError:
    return SolverError(
        f"No pattern was proved against {listed(list(found.intruders))} in the time limit: "
        f"{found.n_not_judged} attacks were not judged, {len(found.attacks)} succeed. Raise "
        f"the time limit, or leave out a kind of intruder."
    )
