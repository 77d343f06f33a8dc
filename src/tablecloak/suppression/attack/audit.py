"""The audit: attack a pattern, whoever made it, and prove the verdict.

The unknown cells fall apart into components, which are attacked separately and in parallel. Within
a component, a few programs first move many cells at once. Every solution, and its mirror image,
proves all cells that it moves far enough; these are not attacked any more. Only the other cells are
attacked one by one. For insiders the audit starts from the proof against the external intruder:
only needs whose witness an insider can rule out are attacked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Progress, Stopwatch
from tablecloak.errors import InputError
from tablecloak.suppression.attack.finding import DisclosureProof, Finding, Verdict
from tablecloak.suppression.attack.groups import SensitiveGroup, sensitive_groups
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.attack.part import Members, Part, attack_parts, disclosure_proof
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.joining import certificate_of
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.proof.witness import MOST_SPARE, Witnesses, WitnessPool
from tablecloak.suppression.system.needs import Needs
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.robustness import SUMMED_UP_CELLS, Robustness
from tablecloak.suppression.system.system import System
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule
from tablecloak.tables.sums import Groups

CHECK_SHARE = 0.05
"""Share of the time kept back for checking all witnesses at the end. docs/decisions, "Time
limits of suppression"."""


class Assembled:
    """The results of all parts of an audit, for all sensitive cells."""

    def __init__(self, needs: Needs, hidden: Flags, parts: list[Part]) -> None:
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
        """Return the multipliers that prove each successful attack of the external intruder."""
        return [
            disclosure_proof(part.system, local, sign, extreme)
            for part in self.parts
            for (local, sign), extreme in part.failures.items()
        ]

    def findings(self) -> list[Finding]:
        """Return all findings about insiders, by cell."""
        found = [finding for part in self.parts for finding in part.findings]
        return sorted(found, key=lambda finding: (finding.cell, finding.intruder))


@dataclass(frozen=True, eq=False)
class Audit:
    """Verdicts on all sensitive cells of a pattern.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    needs : Needs
        Distances to which every sensitive cell must be able to move.
    members : Members
        All insiders.
    verdicts : list of Verdict
        One for each sensitive cell, in the order of the table, against an external intruder.
    above, below : numpy.ndarray of float, shape (n_sensitive,)
        Distance by which witnesses move each cell; the distance of the exact ends of the
        intruder's interval if `exact`.
    limit_above, limit_below : numpy.ndarray of float, shape (n_sensitive,)
        Proved upper bounds on these distances; inf where none was computed.
    exact : bool
        Whether intervals were asked for.
    proofs : list of DisclosureProof
        One for each side on which a cell was attacked with success.
    intruders : dict of str to int
        Number of members tried of each further kind of intruder.
    findings : list of Finding
        Successful attacks of these members, and attacks that are undecided.
    groups : list of SensitiveGroup
        Groups of suppressed cells whose known sum is itself sensitive.
    programs : int
        Number of programs solved.
    seconds : float
    interrupted : bool
        Whether the audit ended before it was complete; open cells are then undecided.
    """

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    needs: Needs
    members: Members = field(repr=False)
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
    parts: tuple[Part, ...] = field(default=(), repr=False)

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell is proved to be protected against all intruders tried."""
        external = all(verdict is Verdict.PROTECTED for verdict in self.verdicts)
        return external and not self.findings and not self.groups and not self.interrupted

    @property
    def attacks(self) -> list[Finding]:
        """Findings in which the intruder is proved to succeed."""
        return [found for found in self.findings if found.verdict is Verdict.ATTACKABLE]

    @property
    def n_not_judged(self) -> int:
        """Number of undecided findings; treat them as attackable."""
        return sum(found.verdict is Verdict.UNDECIDED for found in self.findings)

    @cached_property
    def robustness(self) -> Robustness:
        """The hidden values that follow once an intruder learns some of them. Secret."""
        return Robustness.of(self.problem, self.suppressed)

    def count(self, verdict: Verdict) -> int:
        """Return the number of sensitive cells with this verdict against an external intruder."""
        return sum(found is verdict for found in self.verdicts)

    @property
    def n_protected(self) -> int:
        """Number of sensitive cells that are protected against all intruders tried."""
        named = {finding.cell for finding in self.findings}
        cells = zip(self.needs.cells.tolist(), self.verdicts, strict=True)
        return sum(verdict is Verdict.PROTECTED and cell not in named for cell, verdict in cells)

    @property
    def n_attackable(self) -> int:
        """Number of sensitive cells of which some intruder tried is proved to learn too much."""
        attackable = {finding.cell for finding in self.attacks}
        cells = zip(self.needs.cells.tolist(), self.verdicts, strict=True)
        return sum(verdict is Verdict.ATTACKABLE or cell in attackable for cell, verdict in cells)

    def certificate(self) -> ProtectionCertificate:
        """Return the proof that the pattern is safe; it verifies only if it is."""
        excused = np.flatnonzero(self.members.excused[self.needs.cells])
        numbers = np.arange(len(self.members.named))
        return certificate_of(
            self.problem,
            self.suppressed,
            self.requirement,
            [part.pool.whole_proof() for part in self.parts],
            self.members.named,
            [part.own_proof() for part in self.parts],
            (np.repeat(numbers, len(excused)), np.tile(excused, len(numbers))),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each sensitive cell and intruder that matters, worst first. Secret.

        Insiders appear only with cells that they can attack, or that are undecided.
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
        """Return the result of the audit in one line. Names no cell and no value."""
        tried = [
            f"{name}: {number} tried, {succeeded} successful attack{'s' * (succeeded != 1)}"
            + (f", {undecided} not judged" * bool(undecided))
            for name, number in self.intruders.items()
            for found in [[f for f in self.findings if f.intruder.startswith(f"{name}: ")]]
            for succeeded in [sum(f.verdict is Verdict.ATTACKABLE for f in found)]
            for undecided in [sum(f.verdict is Verdict.UNDECIDED for f in found)]
        ]
        ended = "interrupted, " * self.interrupted
        told = [self.robustness.summary()] if self.suppressed.sum() <= SUMMED_UP_CELLS else []
        insiders = "".join(f"; {text}" for text in [*told, *tried])
        return (
            f"audit ({ended}{self.requirement.value}): {self._headline()}{insiders}; "
            f"{self.programs} programs, {self.seconds:.1f} s"
        )

    def _headline(self) -> str:
        """Say how many cells and sums all intruders together leave protected; the worst first."""
        n, attackable = len(self.verdicts), self.n_attackable
        undecided = n - attackable - self.n_protected
        if not (attackable or undecided or self.groups):
            return f"{n} of {n} sensitive cells protected, 0 attackable, 0 undecided"
        many = "s" * (len(self.groups) != 1)
        groups = [f"{len(self.groups)} sensitive group{many}"] if self.groups else []
        cells = [f"{attackable} attackable and {undecided} undecided of {n} sensitive cells"]
        is_first = attackable or undecided
        return f"NOT SAFE: {', '.join(cells + groups if is_first else groups + cells)}"

    def worst(self) -> str:
        """Say who comes nearest to which cell; nothing where no attack succeeds. Secret."""
        rows = self.to_frame()
        rows = rows[rows["verdict"] == "attackable"]
        if not len(rows):
            return ""
        width = (rows["reached_upper"] - rows["reached_lower"]).to_numpy()
        place = int(np.argmin(width / np.maximum(np.abs(rows["value"]), 1e-300)))
        row = rows.iloc[place]
        who = "everybody" if row["intruder"] == "external" else row["intruder"]
        low, high = row["reached_lower"], row["reached_upper"]
        inferred = f"to be {low:,.12g}" if low == high else f"within {low:,.12g} to {high:,.12g}"
        label = self.problem.table.label(int(rows.index[place]))
        return (
            f"{who} knows ({label}) {inferred}, and may know no more than "
            f"{row['required_lower']:,.12g} to {row['required_upper']:,.12g}."
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
    groups: Groups | Rule | Sequence[Rule] = (),
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
        Intruders besides the external one: "contributors", "pairs", "all-pairs",
        "holdings", "zeros", "integers", "any-cell", or members of
        `tablecloak.suppression.attack.intruders`. Against a table of counts "integers" always
        attacks as well.
    groups : Groups, Rule, or sequence of Rule, default=()
        Rules that the sum of the suppressed cells of a relation must satisfy as well.
    intervals : tuple of numpy.ndarray of float, shape (n_cells,), optional
        Published lower and upper ends of every cell (partial suppression).
    detail : {"verdict", "intervals"}, default="verdict"
        Whether to stop as soon as the verdict is certain, or to compute the external
        intruder's exact interval of every sensitive cell (two programs each).
    seed : int, default=0
        Seed of the random directions of batched programs; it changes the time, not the verdict.
    time_limit : float, default=inf
        Seconds after which the audit ends as if interrupted. Insiders who had no time to attack a
        cell by then are reported as undecided findings.
    threads : int, optional
        Number of components attacked at once; by default the number of processors. The result is
        the same for any number.
    progress : callable, optional
        Called with stage, numbers of proved cells and of all sensitive cells, and open parts.

    Returns
    -------
    Audit
        An interruption from the keyboard, or the time limit, ends the audit; cells not proved by
        then are undecided.

    Raises
    ------
    InputError
        If shapes do not fit, the table lacks contributors that the intruders need, or a rule of
        `groups` does not apply to sums.
    ModelError
        If external bounds alone break a protection level.
    VerificationError
        If a witness behind a verdict does not pass its check.
    """
    if detail not in ("verdict", "intervals"):
        raise InputError(f"`detail` must be 'verdict' or 'intervals'. Got {detail!r}.")
    hidden, asked = np.array(suppressed, dtype=bool), Groups.parse(groups)
    if hidden.shape != problem.status.shape:
        raise InputError(
            f"`suppressed` has {hidden.size} entries, but the table has {problem.table.n_cells} "
            f"cells. Give one entry for each cell."
        )
    question = Question.of(problem, require, intruders)
    if intervals is not None:
        question = question.knowing(*intervals)
    budget = Budget.begun(time_limit, threads=threads, seed=seed, progress=progress)
    with budget.interruptible():
        return attacked(
            question,
            hidden,
            budget,
            groups=() if asked is None else asked.rules,
            is_exact=detail == "intervals",
        )


def attacked(
    question: Question,
    hidden: Flags,
    budget: Budget,
    *,
    groups: Sequence[Rule] = (),
    is_exact: bool = False,
    witnesses: Witnesses | None = None,
) -> Audit:
    """Attack a pattern within a budget.

    Parameters
    ----------
    question : Question
    hidden : numpy.ndarray of bool, shape (n_cells,)
    budget : Budget
    groups : sequence of Rule, default=()
    is_exact : bool, default=False
        Whether exact intervals are asked for.
    witnesses : list of (numpy.ndarray of int, numpy.ndarray of float), optional
        Witnesses of similar patterns, by cells of the table; they save programs.
    """
    watch = Stopwatch()
    members = Members(question, hidden)
    bundles = System.of(question.problem, question.needs, hidden).bundles()
    parts = [Part(system, WitnessPool(system)) for system in bundles]
    _learn(parts, witnesses or [], hidden)
    members = attack_parts(parts, members, budget.share(1 - CHECK_SHARE), is_exact=is_exact)
    assembled = Assembled(question.needs, hidden, parts)
    audit = Audit(
        problem=question.problem,
        suppressed=hidden,
        requirement=question.requirement,
        needs=question.needs,
        members=members,
        verdicts=assembled.verdicts(),
        above=assembled.above,
        below=assembled.below,
        limit_above=assembled.limit_above,
        limit_below=assembled.limit_below,
        exact=is_exact,
        proofs=assembled.proofs(),
        intruders=members.counts,
        findings=assembled.findings(),
        groups=sensitive_groups(question.problem, hidden, groups),
        programs=sum(part.programs for part in parts),
        seconds=watch.seconds,
        interrupted=not all(part.is_done for part in parts),
        parts=tuple(parts),
    )
    # Check all witnesses on all relations of the table before any verdict rests on them.
    if audit.is_safe:
        audit.certificate().verify()
    else:
        audit.certificate().check_witnesses()
    return audit


def _learn(parts: list[Part], witnesses: Witnesses, is_hidden: Flags) -> None:
    """Give each part its share of the witnesses, without those that move published cells."""
    if not witnesses:
        return
    place = np.zeros(len(is_hidden), dtype=np.int64)
    owner = np.full(len(is_hidden), -1, dtype=np.int64)
    for number, part in enumerate(parts):
        place[part.system.cells] = np.arange(part.system.n_unknown)
        owner[part.system.cells] = number
    # The last list takes moves of components without sensitive cells, which are in no part.
    own: list[Witnesses] = [[] for _ in [*parts, None]]
    for cells, moves in witnesses:
        owners = owner[cells]
        if not len(cells) or not np.all(is_hidden[cells]):
            continue
        if np.all(owners == owners[0]):
            own[owners[0]].append((place[cells], moves))
            continue
        # Parts share no relation, so the moves of a witness within one part are a witness, too.
        for number in np.unique(owners).tolist():
            inside = owners == number
            own[number].append((place[cells[inside]], moves[inside]))
    for part, rows in zip(parts, own[:-1], strict=True):
        # Witnesses in use do not count as spare, so that all that are needed find room.
        for start in range(0, len(rows), MOST_SPARE):
            part.pool.learn(rows[start : start + MOST_SPARE])
            part.pool.use_all()
