"""The parts of an audit: components attacked by the external intruder first, then by insiders."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.executors import SerialExecutor, ThreadExecutor
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.covering import CoverProgram
from tablecloak.suppression.attack.finding import DisclosureProof, Finding, Verdict
from tablecloak.suppression.attack.intruder import insiders_of
from tablecloak.suppression.attack.intruders.integers import WholeNumbers
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.prove import SPARE, prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.attack.whole_numbers import prove_in_whole_numbers
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.own_proofs import OwnProofs
from tablecloak.suppression.proof.refuted import KnownCells
from tablecloak.suppression.proof.witness import PoolProof, WitnessPool
from tablecloak.suppression.system.system import System
from tablecloak.tables.keys import are_sums

EXACT_COST = 10.0
"""Added cost of moving a cell for each insider who knows it exactly; other cells cost 1. Chosen by
trial; not measured. docs/decisions, "Holding against insiders"."""

_NOTHING = Extreme(np.zeros(0), 0.0, np.inf, np.zeros(0))
"""What is known of a need that is not attacked."""

LAYING_OUT_SHARE = 0.4
"""Share of the time of all insiders for listing the needs that each must prove anew. Chosen by
trial; not measured."""

REPORTED_EVERY = 0.2
"""Seconds between two reports of progress."""


class Members:
    """The members of all kinds of insiders, found by the cells of which they know more.

    Parameters
    ----------
    question : Question
    suppressed : numpy.ndarray of bool, shape (n_cells,)
        The pattern, on which the knowledge of some insiders depends.

    Attributes
    ----------
    counts : dict of str to int
        Number of members of each kind of intruder that knows more than everybody.
    know_whole_numbers : bool
        Whether some intruder knows that values are whole numbers.
    named : list of Knowledge
        Knowledge of each member. Its position is the number by which other objects refer to it.
    unjudged : numpy.ndarray of int
        Numbers of the members against whom nothing is claimed, because they did not attack in time.
    excused : numpy.ndarray of bool, shape (n_cells,)
        Sums of hidden cells. The rule already counts what a contributor knows of them, so that
        nothing is claimed of them against members.
    """

    def __init__(self, question: Question, suppressed: Flags) -> None:
        kinds = question.intruders
        found = insiders_of(kinds, question.problem, suppressed)
        self.know_whole_numbers = any(kind.knows_whole_numbers for kind in kinds)
        self.counts = {
            kind.name_of_kind: sum(name == kind.name_of_kind for name, _ in found)
            + kind.knows_whole_numbers
            for kind in kinds
            if not kind.is_everybody
        }
        self.n_sensitive = len(question.needs.cells)
        self.excused = are_sums(question.problem.table.keys)
        self.named = [
            replace(knowledge, name=f"{name}: {knowledge.name}") for name, knowledge in found
        ]
        self.unjudged = np.zeros(0, dtype=np.int64)
        count = [len(knowledge.cells) for knowledge in self.named]
        self.owner = np.repeat(np.arange(len(self.named)), count)
        cells = [knowledge.cells for knowledge in self.named]
        self.cell = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
        values = question.problem.table.values[self.cell]
        lower = [knowledge.lower for knowledge in self.named]
        upper = [knowledge.upper for knowledge in self.named]
        self.low = np.concatenate([np.zeros(0), *lower]) - values
        self.high = np.concatenate([np.zeros(0), *upper]) - values

    def judged_in(self, system: System) -> Flags:
        """Return which needs of a system are claimed against members, shape (n_needs,)."""
        judged: Flags = ~self.excused[system.cells[system.needs.cells]]
        return judged

    def without(self, unjudged: Integers) -> Members:
        """Return the members as if some of them, by number, knew no more than everybody.

        Nothing is claimed against those: a proof holds against what the others know.
        """
        if not len(unjudged):
            return self
        fewer, is_left = copy.copy(self), ~np.isin(self.owner, unjudged)
        fewer.unjudged = unjudged
        fewer.owner, fewer.cell = self.owner[is_left], self.cell[is_left]
        fewer.low, fewer.high = self.low[is_left], self.high[is_left]
        fewer.named, none = self.named.copy(), slice(0)
        for number in unjudged.tolist():
            one = self.named[number]
            known = (one.cells[none], one.lower[none], one.upper[none])
            fewer.named[number] = Knowledge(one.name, *known)
        return fewer

    def within(self, system: System) -> KnownCells:
        """Return what members know of the cells of a system, by positions in it."""
        place = np.minimum(np.searchsorted(system.cells, self.cell), system.n_unknown - 1)
        inside = np.flatnonzero(system.cells[place] == self.cell)
        return KnownCells(self.owner[inside], place[inside], self.low[inside], self.high[inside])


class FewCells:
    """Searches for witnesses of few cells, for a system and for insiders who leave it less room.

    Parameters
    ----------
    system : System
    facts : KnownCells
        What insiders know; one who knows a cell exactly rules out every witness that moves it.
    """

    def __init__(self, system: System, facts: KnownCells) -> None:
        self.system = system
        self.hidden = np.ones(system.n_unknown, dtype=bool)
        self.cost = np.ones(system.n_unknown)
        self._program: CoverProgram | None = None
        np.add.at(self.cost, facts.cell[(facts.low == 0) & (facts.high == 0)], EXACT_COST)

    def hide(self, hidden: Flags) -> None:
        """Set which cells are suppressed (by default all are); the others do not move."""
        self.hidden = hidden

    def prove(self, pool: WitnessPool, where: Flags, budget: Budget) -> None:
        """Search for witnesses of open needs, against everybody or against one insider.

        Parameters
        ----------
        pool : WitnessPool
            A pool over the same cells, perhaps with less room. Receives the witnesses.
        where : numpy.ndarray of bool, shape (n_needs,)
            Which needs to look at.
        budget : Budget
        """
        if self._program is None:
            self._program = CoverProgram(self.system, False, budget)
        program, needs = self._program, pool.needs
        program.budget = budget
        program.know(*np.where(self.hidden, [pool.system.low, pool.system.high], 0.0))
        for index in np.flatnonzero(pool.open & where).tolist():
            for sign, need, other in (
                (1, needs.upper[index], pool.below[index]),
                (-1, needs.lower[index], pool.above[index]),
            ):
                if budget.is_over:
                    return
                wanted = max(float(need), float(needs.width[index] - other))
                if pool.lacks(index, sign):
                    cell = int(needs.cells[index])
                    more = sign * wanted * (1 + SPARE)
                    pool.add(program.solve(self.cost, cell, more), budget)


def disclosures(system: System) -> dict[tuple[int, int], Extreme]:
    """Return a proof for each need whose cell follows from single relations.

    No program is solved: such a cell cannot move, whatever the scale of the values.

    Returns
    -------
    dict of (int, int) to Extreme
        For each such need, by its position, and each direction: the proof that the cell is fixed.
    """
    order = system.determined()
    cells = {cell for cell, _ in order}
    disclosed: dict[tuple[int, int], Extreme] = {}
    for index, cell in enumerate(system.needs.cells.tolist()):
        if cell in cells:
            duals = _substituted(system, order, cell)
            for sign in (1, -1):
                disclosed[index, sign] = Extreme(np.zeros(0), 0.0, 0.0, sign * duals)
    return disclosed


def _substituted(system: System, order: list[tuple[int, int]], cell: int) -> Floats:
    """Return multipliers of rows whose sum contains only one cell, a determined one."""
    matrix, duals = system.matrix, np.zeros(len(system.rows))
    reduced = {cell: 1.0}
    for known, row in reversed(order):
        left = reduced.get(known, 0.0)
        if not left:
            continue
        taken = slice(matrix.indptr[row], matrix.indptr[row + 1])
        entries = dict(
            zip(matrix.indices[taken].tolist(), matrix.data[taken].tolist(), strict=True)
        )
        duals[row] = left / entries[known]
        for other, entry in entries.items():
            reduced[other] = reduced.get(other, 0.0) - duals[row] * entry
    return duals


@dataclass(frozen=True)
class _Task:
    """The settings of an audit that all its parts share.

    Parameters
    ----------
    budget : Budget
    intervals : bool
        Whether to compute exact intervals.
    members : Members
    report : callable
        Called after each program.
    """

    budget: Budget
    intervals: bool
    members: Members
    report: Callable[[], None]


@dataclass(eq=False)
class Part:
    """One bundle of components, with the results of its attacks.

    Parameters
    ----------
    system : System
    pool : WitnessPool
        The proof against everybody.
    failures, ends : dict of (int, int) to Extreme
        For needs and directions: attacks that succeeded, and exact ends of intervals.
    own : OwnProofs
        Of all members; open where an attack succeeded, was not decided, or not made in time.
    findings : list of Finding
    not_judged : numpy.ndarray of int
        Numbers of the members who had no time to attack, of those who had to.
    programs : int
    is_done : bool
        Whether all attacks were made before the budget ended.
    """

    system: System
    pool: WitnessPool
    failures: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    ends: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    own: OwnProofs = field(default_factory=lambda: OwnProofs.joined([]))
    findings: list[Finding] = field(default_factory=list)
    not_judged: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    programs: int = 0
    is_done: bool = False

    def own_proof(self) -> tuple[Integers, PoolProof]:
        """Return the proofs of insiders with their own witnesses, and the insider of each."""
        proved = self.own.chosen(~self.own.open)
        return proved.insider, self.pool.proof_of(proved.need, proved.upper, proved.lower)


def attack_parts(parts: list[Part], members: Members, budget: Budget, *, is_exact: bool) -> Members:
    """Attack all parts, several at once; parts not reached in time stay unproved.

    Returns
    -------
    Members
        Those who attacked all parts, or need not; of the others nothing is claimed.

    Parameters
    ----------
    parts : list of Part
    members : Members
        Of all insiders.
    budget : Budget
    is_exact : bool
        Whether to compute exact intervals.
    """
    watch, shown = Stopwatch(), -REPORTED_EVERY

    def report() -> None:
        nonlocal shown
        if budget.progress is None or watch.seconds < shown + REPORTED_EVERY:
            return
        shown = watch.seconds
        proved = sum(int(np.sum(~part.pool.open)) for part in parts)
        left = sum(not part.is_done for part in parts)
        budget.report("audit: cells proved", proved, members.n_sensitive, left)

    task = _Task(budget, is_exact, members, report)

    def attack(part: Part) -> None:
        _attack_part(part, task)

    workers = min(budget.threads, len(parts))
    executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    for _ in executor.run(attack, parts):
        report()
    for part in parts:
        part.findings.extend(_not_judged(part, members))
    none = np.zeros(0, dtype=np.int64)
    unjudged = np.unique(np.concatenate([none, *(part.own.unjudged for part in parts)]))
    for part in parts if len(unjudged) else ():
        part.own = part.own.chosen(~np.isin(part.own.insider, unjudged))
    return members.without(unjudged)


def _attack_part(part: Part, task: _Task) -> None:
    """Attack one part as the external intruder, then as everybody who knows more.

    Only insiders who can rule out a witness that no other one replaces need programs.
    """
    members, budget = task.members, task.budget
    facts, judged = members.within(part.system), members.judged_in(part.system)
    attacked = np.zeros(0, dtype=np.int64)
    attack, few = None if budget.is_over else Attack(part.system), FewCells(part.system, facts)
    if attack is not None:
        _attack_as_everybody(attack, part, task)
    within = budget.share(LAYING_OUT_SHARE)
    while True:
        watch = Stopwatch()
        if not members.know_whole_numbers:
            part.pool.prefer(facts)
        part.own = OwnProofs.of(part.pool, facts, ~part.pool.open & judged, within)
        doubted = np.setdiff1d(part.own.insider[part.own.open], attacked)
        # The witnesses found from here on are laid out in the same way, which takes as long again.
        attacking = budget.within(max(budget.left - watch.seconds, 0.0))
        is_last = within is budget or not len(part.own.unjudged)
        if attack is None or attacking.is_over or (is_last and not len(doubted)):
            break
        for number in doubted.tolist():
            if not attacking.left:
                break
            _attack_as(attack, few, part, replace(task, budget=attacking), number, facts.of(number))
            attacked = np.append(attacked, number)
            task.report()
        within = budget
    part.programs += attack.programs if attack else 0
    part.not_judged = np.union1d(doubted, part.own.unjudged)
    part.is_done = not (budget.is_over or len(part.not_judged))
    # A witness found for one insider may settle what was undecided for another.
    settled = part.own.chosen(part.own.open & np.isin(part.own.insider, attacked))
    cells = part.system.cells[part.system.needs.cells[settled.need]].tolist()
    names = (members.named[number].name for number in settled.insider.tolist())
    left = set(zip(names, cells, strict=True))
    part.findings = [
        finding
        for finding in part.findings
        if finding.knowledge is None or (finding.intruder, finding.cell) in left
    ]


def _attack_as_everybody(attack: Attack, part: Part, task: _Task) -> None:
    """Attack as the external intruder, and as one who knows that values are whole."""
    disclosed, report = disclosures(part.system), task.report
    part.failures = prove(attack, part.pool, task.budget, disclosed=disclosed, after_each=report)
    part.ends.update(disclosed if task.intervals else part.failures)
    # Of a cell that can be attacked on one side, the other end is asked for as well.
    every = range(len(part.system.needs.cells))
    _measure_intervals(
        attack, part, task, every if task.intervals else {index for index, _ in part.failures}
    )
    # Whole numbers come before insiders, whose proofs refer to witnesses that may be replaced here.
    if task.members.know_whole_numbers:
        _attack_in_whole_numbers(part, task)


def _measure_intervals(attack: Attack, part: Part, task: _Task, needs: Iterable[int]) -> None:
    """Find both ends of the intervals of some needs."""
    for sign in (1, -1):
        for index in sorted(needs):
            cell = int(part.system.needs.cells[index])
            if task.budget.is_over:
                return
            if (index, sign) not in part.ends:
                extreme = attack.extreme(cell, sign, time_limit=task.budget.left)
                # The reach of an interrupted program is not the end of the interval.
                if not task.budget.left:
                    return
                part.ends[index, sign] = extreme
                task.report()


def _attack_as(
    attack: Attack,
    few: FewCells,
    part: Part,
    task: _Task,
    number: int,
    knows: tuple[Integers, Floats, Floats],
) -> None:
    """Attack the needs again whose witness an insider can rule out."""
    knowledge = task.members.named[number]
    system = part.system.narrowed(*knows)
    pool, _ = part.pool.against(system)
    # Cells that the external intruder can attack are reported once, for the external intruder.
    judged = task.members.judged_in(part.system)
    known = ~part.pool.open & judged
    skipped = {(index, 1): _NOTHING for index in np.flatnonzero(~judged).tolist()}
    failures: dict[tuple[int, int], Extreme] = {}
    if np.any(pool.open & known):
        few.prove(pool, known, task.budget)
    if np.any(pool.open & known):
        attack.know(system)
        failures = prove(attack, pool, task.budget, disclosed=skipped, after_each=task.report)
        attack.know(part.system)
    # The next insider can rule out other witnesses; keeping these saves most programs.
    part.pool.keep_used(pool)
    part.findings.extend(_findings(knowledge, system, pool, failures, known))


def _findings(
    knowledge: Knowledge,
    system: System,
    pool: WitnessPool,
    failures: dict[tuple[int, int], Extreme],
    where: Flags,
) -> list[Finding]:
    open_ = np.flatnonzero(pool.open & where)
    found = []
    for index in open_.tolist():
        above, below = (
            failures[index, sign].limit if (index, sign) in failures else np.inf for sign in (1, -1)
        )
        possible = system.needs.met(np.full(len(where), above), np.full(len(where), below))[index]
        verdict = Verdict.UNDECIDED if possible else Verdict.ATTACKABLE
        cell = int(system.cells[system.needs.cells[index]])
        proofs = tuple(
            disclosure_proof(system, index, sign, failures[index, sign])
            for sign in (1, -1)
            if (index, sign) in failures
        )
        found.append(Finding(knowledge.name, cell, verdict, above, below, proofs, knowledge))
    return found


def _not_judged(part: Part, members: Members) -> list[Finding]:
    """Return a finding for each cell and each kind with insiders who had no time to attack it."""
    numbers, needs = part.not_judged.tolist(), part.system.needs
    kinds = Counter(members.named[number].name.partition(": ")[0] for number in numbers)
    own = part.own.chosen(part.own.open & np.isin(part.own.insider, part.not_judged))
    # Of an insider who was not looked at at all, any need may be open.
    is_left = members.judged_in(part.system) & bool(len(own.unjudged))
    is_left[own.need] = True
    cells = part.system.cells[needs.cells[is_left]].tolist()
    return [
        Finding(f"{kind}: {n} not judged in time", cell, Verdict.UNDECIDED, np.inf, np.inf)
        for kind, n in kinds.items()
        for cell in cells
    ]


def disclosure_proof(system: System, index: int, sign: int, extreme: Extreme) -> DisclosureProof:
    """Return the multipliers that bound how far a cell can move, by relations of the table."""
    used = np.flatnonzero(extreme.duals)
    cell = int(system.cells[system.needs.cells[index]])
    return DisclosureProof(cell, sign, extreme.limit, system.rows[used], extreme.duals[used])


def _attack_in_whole_numbers(part: Part, task: _Task) -> None:
    where = ~part.pool.open
    results, programs = prove_in_whole_numbers(part.system, part.pool, where, task.budget)
    part.programs += programs
    for index, (limit_above, limit_below, decided) in results.items():
        cell = int(part.system.cells[part.system.needs.cells[index]])
        verdict = Verdict.ATTACKABLE if decided else Verdict.UNDECIDED
        name = f"{WholeNumbers.name}: knows that values are whole"
        part.findings.append(Finding(name, cell, verdict, limit_above, limit_below))
