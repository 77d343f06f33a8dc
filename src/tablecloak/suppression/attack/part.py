"""The parts of an audit: components attacked by the external intruder first, then by insiders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget, Stopwatch
from tablecloak.executors import SerialExecutor, ThreadExecutor
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.disclosures import disclosures
from tablecloak.suppression.attack.few_cells import FewCells
from tablecloak.suppression.attack.finding import DisclosureProof, Finding, Verdict
from tablecloak.suppression.attack.intruders.integers import WholeNumbers
from tablecloak.suppression.attack.members import Members
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.whole_numbers import prove_in_whole_numbers
from tablecloak.suppression.proof.kept_witnesses import PoolProof
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.system import System

__all__ = ["Part", "attack_parts", "disclosure_proof"]

_NOTHING = Extreme(np.zeros(0), 0.0, np.inf, np.zeros(0))
"""What is known of a need that is not attacked."""

REPORTED_EVERY = 0.2
"""Seconds between two reports of progress."""


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
    insiders : list of (int, Knowledge, PoolProof)
        Number and knowledge of each member tried, and the needs that had to be proved anew.
    findings : list of Finding
    not_judged : list of int
        Numbers of the members who had no time to attack.
    programs : int
    is_done : bool
        Whether all attacks were made before the budget ended.
    """

    system: System
    pool: WitnessPool
    failures: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    ends: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    insiders: list[tuple[int, Knowledge, PoolProof]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    not_judged: list[int] = field(default_factory=list)
    programs: int = 0
    is_done: bool = False


def attack_parts(parts: list[Part], members: Members, budget: Budget, *, is_exact: bool) -> None:
    """Attack all parts, several at once; parts not reached in time stay unproved.

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


def _attack_part(part: Part, task: _Task) -> None:
    """Attack one part as the external intruder, then as everybody who knows more."""
    members, budget = task.members.within(part.system), task.budget
    part.not_judged = [number for number, *_ in members]
    if budget.is_over:
        return
    attack, disclosed = Attack(part.system), disclosures(part.system)
    part.failures = prove(attack, part.pool, budget, disclosed=disclosed, after_each=task.report)
    if task.intervals:
        part.ends.update(disclosed)
        _measure_intervals(attack, part, task)
    # Whole numbers come before insiders, whose proofs refer to witnesses that may be replaced here.
    if task.members.know_whole_numbers:
        _attack_in_whole_numbers(part, task)
    few = FewCells(part.system, members)
    judged = 0
    for number, positions, low, high in members:
        if task.budget.is_over:
            break
        judged += 1
        _attack_as(attack, few, part, task, number, (positions, low, high))
        task.report()
    part.not_judged = part.not_judged[judged:]
    part.programs += attack.programs
    part.is_done = not budget.is_over


def _measure_intervals(attack: Attack, part: Part, task: _Task) -> None:
    for sign in (1, -1):
        for index, cell in enumerate(part.system.needs.cells.tolist()):
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
    pool, changed = part.pool.against(system)
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
    if np.any(changed):
        changed |= pool.upper_witness != part.pool.upper_witness
        changed |= pool.lower_witness != part.pool.lower_witness
        # The next insider can rule out other witnesses; keeping these saves most programs.
        part.pool.learn_from(pool)
    part.insiders.append((number, knowledge, pool.proof(changed & judged)))
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
    kinds = [members.named[number].name.partition(": ")[0] for number in part.not_judged]
    needs = part.system.needs.cells[~part.pool.open & members.judged_in(part.system)]
    cells = part.system.cells[needs]
    return [
        Finding(
            f"{kind}: {kinds.count(kind)} not judged in time",
            int(cell),
            Verdict.UNDECIDED,
            np.inf,
            np.inf,
        )
        for kind in dict.fromkeys(kinds)
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
