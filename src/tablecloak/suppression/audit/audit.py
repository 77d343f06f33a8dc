"""The audit: attack a pattern, whoever made it, and prove the verdict.

The unknown cells fall apart into components, each attacked on its own and in parallel. Within
one, a few programs move many cells at once; every solution, and its mirror image, proves all
the cells that it moves far enough, and those sleep from then on. Only what is left is
attacked cell by cell. Insiders start from the proof against everybody: only needs whose
witness they can rule out are attacked again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.errors import InputError
from tablecloak.suppression.audit.attack import (
    Attack,
    Extreme,
    disclosures,
    prove,
    with_finite_bounds,
    with_intervals,
)
from tablecloak.suppression.audit.groups import SensitiveGroup, sensitive_groups
from tablecloak.suppression.audit.intruder import Intruder, parse_intruders
from tablecloak.suppression.audit.intruders.integers import WholeNumbers, with_whole_numbers
from tablecloak.suppression.audit.whole_numbers import prove_in_whole_numbers
from tablecloak.suppression.joining import certificate_of
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.needs import Needs, needs_of
from tablecloak.suppression.proof import ProtectionCertificate
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.system import System
from tablecloak.suppression.witness import WitnessPool
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule

__all__ = ["Audit", "DisclosureProof", "Finding", "Verdict", "audit_pattern"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Progress = Callable[[str, float, float, int], None]


class Verdict(Enum):
    """What the audit knows of a sensitive cell."""

    PROTECTED = "protected"
    """Witnesses prove that the intruder's interval is wide enough."""
    ATTACKABLE = "attackable"
    """Multipliers of the relations prove that it is too narrow, or the cell is published."""
    UNDECIDED = "undecided"
    """Neither was proved; treat it as attackable."""


@dataclass(frozen=True, eq=False)
class DisclosureProof:
    """Multipliers of relations that bound how far a cell can move.

    For every table x that the intruder must consider, s (x_p - a_p) <= sum over unknown cells
    of the larger of r_i low_i and r_i high_i, with r = s e_p - A^T gamma.

    Parameters
    ----------
    cell : int
    sign : {1, -1}
        Upwards or downwards.
    limit : float
        The bound that follows.
    relations : numpy.ndarray of int
    multipliers : numpy.ndarray of float
        gamma on these relations.
    """

    cell: int
    sign: int
    limit: float
    relations: Integers
    multipliers: Floats


@dataclass(frozen=True, eq=False)
class Finding:
    """A sensitive cell that an insider can attack, or that is not decided.

    Parameters
    ----------
    intruder : str
        Who; secret.
    cell : int
    verdict : Verdict
    limit_above, limit_below : float
        Proved upper bounds on how far the cell can move for this intruder; inf if unknown.
    proofs : tuple of DisclosureProof
        Their multipliers, with the intruder's own bounds as low and high; empty for whole
        numbers, where the proof is a search.
    knowledge : Knowledge or None
        What the intruder knows beyond everybody; None if that is no bound.
    """

    intruder: str
    cell: int
    verdict: Verdict
    limit_above: float
    limit_below: float
    proofs: tuple[DisclosureProof, ...] = ()
    knowledge: Knowledge | None = None


@dataclass(frozen=True, eq=False)
class Audit:
    """Verdicts on all sensitive cells of a pattern.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    needs : Needs
        What every sensitive cell must be able to do.
    verdicts : list of Verdict
        One for each sensitive cell, in the order of the table, against an external intruder.
    above, below : numpy.ndarray of float, shape (n_sensitive,)
        Distance by which witnesses move each cell; the exact ends of the intruder's interval
        if `exact`.
    limit_above, limit_below : numpy.ndarray of float, shape (n_sensitive,)
        Proved upper bounds on these distances; inf where nobody asked.
    exact : bool
        Whether intervals were asked for.
    proofs : list of DisclosureProof
        One for each side on which a cell was attacked with success.
    intruders : dict of str to int
        For each further kind of intruder how many of its members were tried.
    findings : list of Finding
        Their successes, and what is not decided.
    groups : list of SensitiveGroup
        Groups of suppressed cells whose known sum is itself sensitive.
    programs : int
        Programs solved.
    seconds : float
    interrupted : bool
        Whether the audit was ended before it was complete; what is open is undecided.
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    needs: Needs
    verdicts: list[Verdict]
    above: Floats
    below: Floats
    limit_above: Floats
    limit_below: Floats
    exact: bool
    proofs: list[DisclosureProof]
    intruders: dict[str, int]
    findings: list[Finding]
    groups: list[SensitiveGroup]
    programs: int
    seconds: float
    interrupted: bool = False
    parts: tuple[_Part, ...] = field(default=(), repr=False)

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell is proved to be protected against all intruders tried."""
        external = all(verdict is Verdict.PROTECTED for verdict in self.verdicts)
        return external and not self.findings and not self.groups and not self.interrupted

    @property
    def attacks(self) -> list[Finding]:
        """Findings of which it is proved that the intruder succeeds."""
        return [found for found in self.findings if found.verdict is Verdict.ATTACKABLE]

    @property
    def n_not_judged(self) -> int:
        """Number of findings that are not decided: what is not proved is not protected."""
        return sum(found.verdict is Verdict.UNDECIDED for found in self.findings)

    def count(self, verdict: Verdict) -> int:
        """Return the number of sensitive cells with this verdict against an external intruder."""
        return sum(found is verdict for found in self.verdicts)

    def certificate(self) -> ProtectionCertificate:
        """Return the proof that the pattern is safe; it verifies only if it is."""
        insiders: dict[int, tuple[Knowledge, list[tuple[WitnessPool, Flags]]]] = {}
        for part in self.parts:
            for number, knowledge, pool, changed in part.insiders:
                insiders.setdefault(number, (knowledge, []))[1].append((pool, changed))
        return certificate_of(
            self.problem,
            self.suppressed,
            self.requirement,
            [part.pool for part in self.parts],
            list(insiders.values()),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell and intruder that matters, worst first. Secret.

        Insiders appear only where they can attack, or where nothing is decided.
        """
        needs = self.needs
        values = self.problem.table.values[needs.cells]
        frame = self.problem.table.keys.iloc[needs.cells].assign(
            value=values,
            intruder="external",
            verdict=[verdict.value for verdict in self.verdicts],
            required_lower=values - needs.lower,
            required_upper=values + needs.upper,
            required_width=np.maximum(needs.width, needs.lower + needs.upper),
            reached_lower=values - self.below,
            reached_upper=values + self.above,
        )
        frame = pd.concat([frame, *self._insider_rows(frame)])
        reached = frame["reached_upper"] - frame["reached_lower"]
        width = frame["required_width"].where(frame["required_width"] > 0, 1.0)
        rank = frame["verdict"].map({"attackable": 0, "undecided": 1, "protected": 2})
        return (
            frame.assign(share=reached / width, rank=rank)
            .sort_values(["rank", "share"], kind="stable")
            .drop(columns="rank")
        )

    def _insider_rows(self, frame: pd.DataFrame) -> list[pd.DataFrame]:
        if not self.findings:
            return []
        row_of = {int(cell): row for row, cell in enumerate(self.needs.cells)}
        rows = frame.iloc[[row_of[found.cell] for found in self.findings]]
        low = self.problem.table.values - self.problem.lower_bound
        high = self.problem.upper_bound - self.problem.table.values
        reach = [
            (min(found.limit_below, low[found.cell]), min(found.limit_above, high[found.cell]))
            for found in self.findings
        ]
        return [
            rows.assign(
                intruder=[found.intruder for found in self.findings],
                verdict=[found.verdict.value for found in self.findings],
                reached_lower=rows["value"].to_numpy() - np.array([below for below, _ in reach]),
                reached_upper=rows["value"].to_numpy() + np.array([above for _, above in reach]),
            )
        ]

    def summary(self) -> str:
        """Say in one line how the attack went. Names no cell and no value."""
        protected, attackable = self.count(Verdict.PROTECTED), self.count(Verdict.ATTACKABLE)
        undecided = self.count(Verdict.UNDECIDED)
        tried = [
            f"{name}: {number} tried, {sum(f.verdict is Verdict.ATTACKABLE for f in found)} "
            f"successful attacks" + (f", {undecided} not judged" * bool(undecided))
            for name, number in self.intruders.items()
            for found in [[f for f in self.findings if f.intruder.startswith(f"{name}: ")]]
            for undecided in [sum(f.verdict is Verdict.UNDECIDED for f in found)]
        ]
        groups = [f"{len(self.groups)} sensitive groups"] if self.groups else []
        ended = "interrupted, " * self.interrupted
        insiders = "".join(f"; {text}" for text in [*tried, *groups])
        return (
            f"audit ({ended}{self.requirement.value}): {protected} of {len(self.verdicts)} "
            f"sensitive cells protected, {attackable} attackable, {undecided} undecided{insiders}; "
            f"{self.programs} programs, {self.seconds:.1f} s"
        )

    def plot(self, path: str | Path | None = None) -> object:
        """Draw achieved against required protection of each sensitive cell. Secret.

        Parameters
        ----------
        path : str or path, optional
            Image file to write; by default the figure is only returned.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return showing.plot(self, path)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)


def audit_pattern(
    problem: ProtectionProblem,
    suppressed: npt.ArrayLike,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    intruders: Intruder | str | Sequence[Intruder | str] = "external",
    groups: Sequence[Rule] = (),
    intervals: tuple[Floats, Floats] | None = None,
    detail: Literal["verdict", "intervals"] = "verdict",
    seed: int = 0,
    time_limit: float = np.inf,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack a suppression pattern.

    Every intruder knows all published cells, all relations and the external bounds.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : array_like of bool, shape (n_cells,)
        Which cells are not published.
    require : Requirement or str, default="two-sided"
        What counts as protected.
    intruders : Intruder, str, or sequence of these, default="external"
        Who attacks besides the external intruder: "contributors", "pairs", "all-pairs",
        "holdings", "zeros", "integers", or members of
        `tablecloak.suppression.audit.intruders`. Against a table of counts "integers" always
        attacks as well.
    groups : sequence of Rule, default=()
        Rules that the sum of the suppressed cells of a relation must satisfy as well.
    intervals : tuple of numpy.ndarray of float, shape (n_cells,), optional
        Lower and upper ends that are published of every cell (partial suppression).
    detail : {"verdict", "intervals"}, default="verdict"
        Whether to stop as soon as the verdict is certain, or to compute the external
        intruder's exact interval of every sensitive cell (two programs each).
    seed : int, default=0
        For the random directions of batched programs; it changes the time, not the verdict.
    time_limit : float, default=inf
        Seconds after which the audit ends as if interrupted. Insiders who did not come to attack a
        cell by then are findings that nothing is decided of.
    threads : int, optional
        Components attacked at once; by default as many as there are processors. The result is
        the same for any number.
    progress : callable, optional
        Called with stage, numbers of proved cells and of all sensitive cells, and open parts.

    Returns
    -------
    Audit
        An interruption from the keyboard, or the time limit, ends the audit; what is not
        proved by then is undecided.

    Raises
    ------
    InputError
        If shapes do not fit, or intruders need to know more of contributors than is there.
    ModelError
        If external bounds alone break a protection level.
    VerificationError
        If a witness behind a verdict does not pass its check.
    """
    started = time.monotonic()
    if detail not in ("verdict", "intervals"):
        raise InputError(f"`detail` must be 'verdict' or 'intervals'. Got {detail!r}.")
    hidden = np.array(suppressed, dtype=bool)
    if hidden.shape != problem.status.shape:
        raise InputError(
            f"`suppressed` has {hidden.size} entries, but the table has {problem.table.n_cells} "
            f"cells. Give one entry for each cell."
        )
    requirement = Requirement.parse(require)
    finite = with_finite_bounds(problem)
    needs = needs_of(finite, requirement)
    if intervals is not None:
        problem = finite = with_intervals(finite, *intervals)
    kinds = with_whole_numbers(parse_intruders(intruders), problem)
    members = [
        (kind.name_of_kind, knowledge)
        for kind in kinds
        for knowledge in kind.members(finite, hidden)
    ]
    system = System.of(finite, needs, hidden)
    task = _Task(
        seed=seed,
        intervals=detail == "intervals",
        members=_Members(members, problem),
        whole=any(kind.knows_whole_numbers for kind in kinds),
        deadline=started + time_limit,
    )
    parts, interrupted = _attack_all(system.bundles(), task, threads, progress, len(needs.cells))
    for part in parts:
        part.findings.extend(_not_judged(part, task.members))
    assembled = _Assembled(problem, hidden, needs, parts)
    counts = {
        kind.name_of_kind: sum(name == kind.name_of_kind for name, _ in members)
        + kind.knows_whole_numbers
        for kind in kinds
        if not kind.is_everybody
    }
    found = Audit(
        problem=problem,
        suppressed=hidden,
        requirement=requirement,
        needs=needs,
        verdicts=assembled.verdicts(),
        above=assembled.above,
        below=assembled.below,
        limit_above=assembled.limit_above,
        limit_below=assembled.limit_below,
        exact=task.intervals,
        proofs=assembled.proofs(),
        intruders=counts,
        findings=assembled.findings(),
        groups=sensitive_groups(problem, hidden, groups),
        programs=sum(part.programs for part in parts),
        seconds=time.monotonic() - started,
        interrupted=interrupted,
        parts=tuple(parts),
    )
    # No verdict rests on a witness that was not checked on all relations of the table.
    if found.is_safe:
        found.certificate().verify()
    else:
        found.certificate().check_witnesses()
    return found


# -- one part -----------------------------------------------------------------------------


class _Members:
    """Members of all further intruders, found by the cells they know more of."""

    def __init__(self, members: list[tuple[str, Knowledge]], problem: ProtectionProblem) -> None:
        self.named = [
            replace(knowledge, name=f"{kind}: {knowledge.name}") for kind, knowledge in members
        ]
        count = [len(knowledge.cells) for knowledge in self.named]
        self.owner = np.repeat(np.arange(len(self.named)), count)
        cells = [knowledge.cells for knowledge in self.named]
        self.cell = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
        values = problem.table.values[self.cell]
        lower = [knowledge.lower for knowledge in self.named]
        upper = [knowledge.upper for knowledge in self.named]
        self.low = np.concatenate([np.zeros(0), *lower]) - values
        self.high = np.concatenate([np.zeros(0), *upper]) - values

    def within(self, system: System) -> list[tuple[int, Integers, Floats, Floats]]:
        """Return number, positions, and room of each member that knows cells of a system."""
        at = np.searchsorted(system.cells, self.cell)
        at = np.minimum(at, system.n_unknown - 1)
        inside = np.flatnonzero(system.cells[at] == self.cell)
        ends = np.flatnonzero(np.diff(self.owner[inside])) + 1
        return [
            (int(self.owner[chosen[0]]), at[chosen], self.low[chosen], self.high[chosen])
            for chosen in np.split(inside, ends)
            if len(chosen)
        ]


@dataclass(frozen=True)
class _Task:
    """What to do with each part."""

    seed: int
    intervals: bool
    members: _Members
    whole: bool
    deadline: float


@dataclass(eq=False)
class _Part:
    """One bundle of components, and what was found in it."""

    system: System
    pool: WitnessPool
    failures: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    ends: dict[tuple[int, int], Extreme] = field(default_factory=dict)
    insiders: list[tuple[int, Knowledge, WitnessPool, Flags]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    not_judged: list[int] = field(default_factory=list)
    programs: int = 0


def _attack_all(
    bundles: list[System],
    task: _Task,
    threads: int | None,
    progress: Progress | None,
    n_sensitive: int,
) -> tuple[list[_Part], bool]:
    """Attack all parts; those not reached before an interruption stay unproved."""
    parts = [_Part(system, WitnessPool(system)) for system in bundles]
    stopped = threading.Event()

    def ended() -> bool:
        if time.monotonic() > task.deadline:
            stopped.set()
        return stopped.is_set()

    workers = max(1, min(threads or os.cpu_count() or 1, len(parts)))
    done = threading.Semaphore(0)

    def work(part: _Part) -> None:
        try:
            _attack_part(part, task, ended)
        finally:
            done.release()

    with ThreadPoolExecutor(workers) as executor:
        futures = [executor.submit(copy_context().run, work, part) for part in parts]
        try:
            for left in range(len(parts), 0, -1):
                while not done.acquire(timeout=0.2):
                    _report(progress, parts, n_sensitive, left)
                _report(progress, parts, n_sensitive, left - 1)
        except KeyboardInterrupt:
            stopped.set()
        for future in futures:
            future.result()
    return parts, stopped.is_set()


def _report(progress: Progress | None, parts: list[_Part], n_sensitive: int, left: int) -> None:
    if progress:
        proved = sum(int(np.sum(~part.pool.open)) for part in parts)
        progress("audit: cells proved", proved, n_sensitive, left)


def _attack_part(part: _Part, task: _Task, ended: Callable[[], bool]) -> None:
    """Attack one part: the external intruder, then everybody who knows more."""
    members = task.members.within(part.system)
    part.not_judged = [number for number, *_ in members]
    if ended():
        return
    attack, disclosed = Attack(part.system), disclosures(part.system)
    part.failures = prove(
        attack,
        part.pool,
        seed=task.seed,
        deadline=task.deadline,
        stop=ended,
        disclosed=disclosed,
    )
    if task.intervals:
        part.ends.update(disclosed)
        _measure_intervals(attack, part, ended)
    # Before the insiders: their proof refers to witnesses that this one may replace.
    if task.whole:
        _attack_in_whole_numbers(part, task.deadline, ended)
    for number, positions, low, high in members:
        if ended():
            break
        part.not_judged.remove(number)
        _attack_as(attack, part, task, number, (positions, low, high), ended)
    part.programs += attack.programs


def _measure_intervals(attack: Attack, part: _Part, ended: Callable[[], bool]) -> None:
    for sign in (1, -1):
        for index, cell in enumerate(part.system.needs.cells.tolist()):
            if ended():
                return
            if (index, sign) not in part.ends:
                part.ends[index, sign] = attack.extreme(cell, sign)


def _attack_as(
    attack: Attack,
    part: _Part,
    task: _Task,
    number: int,
    knows: tuple[Integers, Floats, Floats],
    ended: Callable[[], bool],
) -> None:
    """Attack again what somebody who knows more can rule out of the proof."""
    knowledge = task.members.named[number]
    positions, known_low, known_high = knows
    low, high = part.system.low.copy(), part.system.high.copy()
    low[positions] = np.maximum(low[positions], known_low)
    high[positions] = np.minimum(high[positions], known_high)
    system = part.system.with_room(low, high)
    pool, changed = part.pool.against(system)
    # What the external intruder can attack is reported once, as his.
    known = ~part.pool.open
    failures: dict[tuple[int, int], Extreme] = {}
    if np.any(pool.open & known):
        attack.know(system)
        failures = prove(attack, pool, seed=task.seed, deadline=task.deadline, stop=ended)
        attack.know(part.system)
        changed |= pool.upper_witness != part.pool.upper_witness
        changed |= pool.lower_witness != part.pool.lower_witness
    part.insiders.append((number, knowledge, pool, changed))
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
            _proof(system, index, sign, failures[index, sign])
            for sign in (1, -1)
            if (index, sign) in failures
        )
        found.append(Finding(knowledge.name, cell, verdict, above, below, proofs, knowledge))
    return found


def _not_judged(part: _Part, members: _Members) -> list[Finding]:
    """One finding for each cell and kind of insider of whom somebody never came to attack it."""
    kinds = [members.named[number].name.partition(": ")[0] for number in part.not_judged]
    cells = part.system.cells[part.system.needs.cells[~part.pool.open]]
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


def _proof(system: System, index: int, sign: int, extreme: Extreme) -> DisclosureProof:
    used = np.flatnonzero(extreme.duals)
    cell = int(system.cells[system.needs.cells[index]])
    return DisclosureProof(cell, sign, extreme.limit, system.rows[used], extreme.duals[used])


def _attack_in_whole_numbers(part: _Part, deadline: float, ended: Callable[[], bool]) -> None:
    where = ~part.pool.open
    results, programs = prove_in_whole_numbers(part.system, part.pool, where, deadline, ended)
    part.programs += programs
    for index, (limit_above, limit_below, decided) in results.items():
        cell = int(part.system.cells[part.system.needs.cells[index]])
        verdict = Verdict.ATTACKABLE if decided else Verdict.UNDECIDED
        name = f"{WholeNumbers().name_of_kind}: knows that values are whole"
        part.findings.append(Finding(name, cell, verdict, limit_above, limit_below))


# -- all parts ----------------------------------------------------------------------------


class _Assembled:
    """What all parts say of all sensitive cells."""

    def __init__(
        self, problem: ProtectionProblem, hidden: Flags, needs: Needs, parts: list[_Part]
    ) -> None:
        n = len(needs.cells)
        self.needs, self.parts = needs, parts
        self.published = ~hidden[needs.cells]
        self.open = np.ones(n, dtype=bool)
        self.above, self.below = np.zeros(n), np.zeros(n)
        # A sensitive cell that is published, or that no relation touches, is in no part.
        self.limit_above = np.where(self.published, 0.0, np.inf)
        self.limit_below = self.limit_above.copy()
        for part in parts:
            index = part.pool.needs.index
            self.open[index] = part.pool.open
            self.above[index], self.below[index] = part.pool.above, part.pool.below
            for (local, sign), extreme in part.failures.items():
                limits = self.limit_above if sign > 0 else self.limit_below
                limits[index[local]] = extreme.limit
            for (local, sign), extreme in part.ends.items():
                limits = self.limit_above if sign > 0 else self.limit_below
                reached = self.above if sign > 0 else self.below
                limits[index[local]] = extreme.limit
                reached[index[local]] = min(extreme.reach, extreme.limit)
        self.open |= self.published

    def verdicts(self) -> list[Verdict]:
        """Return one verdict for each sensitive cell."""
        possible = self.needs.met(self.limit_above, self.limit_below) & ~self.published
        names = np.where(self.open, np.where(possible, "undecided", "attackable"), "protected")
        return [Verdict(name) for name in names.tolist()]

    def proofs(self) -> list[DisclosureProof]:
        """Return the multipliers behind each success of the external intruder."""
        return [
            _proof(part.system, local, sign, extreme)
            for part in self.parts
            for (local, sign), extreme in part.failures.items()
        ]

    def findings(self) -> list[Finding]:
        """Return all successes of insiders, by cell."""
        found = [finding for part in self.parts for finding in part.findings]
        return sorted(found, key=lambda finding: (finding.cell, finding.intruder))
