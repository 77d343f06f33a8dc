"""A suppression pattern with its certificates, its costs of options, and its release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers, Texts
from tablecloak.certificates.claim import Claim
from tablecloak.errors import listed
from tablecloak.results import in_percent
from tablecloak.solve.bounds import check_claim
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, WhyOpen
from tablecloak.suppression.attack.before import Before
from tablecloak.suppression.proof.proof import ProtectionCertificate, Verification
from tablecloak.suppression.rows.claims import pattern_claims, proved_pattern_bound
from tablecloak.suppression.rows.master import PatternBound
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.robustness import SUMMED_UP_CELLS, Robustness
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.keys import are_derived, are_earlier, are_sums
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.protected_table import ProtectedTable
from tablecloak.tables.published import released_rows

NAMED = 10
"""Most cells that a message names."""

NEARLY_ALL = 0.9
"""Share of the cells that may be hidden from which on a verdict warns that nothing is left."""


@dataclass(frozen=True, eq=False)
class Unfrozen:
    """Frozen cells to unfreeze so that every sensitive cell can be protected.

    Parameters
    ----------
    problem : ProtectionProblem
        With the frozen cells.
    cells : numpy.ndarray of int
        Cells that suffice.
    fewest : int
        Proved: no fewer suffice.
    """

    problem: ProtectionProblem
    cells: Integers
    fewest: int

    @property
    def is_optimal(self) -> bool:
        """Whether no fewer cells suffice, proved."""
        return len(self.cells) <= self.fewest

    @property
    def labels(self) -> list[str]:
        """Names of the cells."""
        return self.problem.table.labels(self.cells)

    def unfrozen(self) -> ProtectionProblem:
        """Return the problem in which these cells may be suppressed."""
        status = self.problem.status.copy()
        status[self.cells] = CellStatus.SAFE.value
        return self.problem.with_changes(status=status)

    def summary(self) -> str:
        """Say in one line which cells to unfreeze, and whether fewer might do."""
        n = len(self.cells)
        if not n:
            return "no frozen cell need be unfrozen"
        more = f" and {n - NAMED} more" * (n > NAMED)
        proved = "no fewer suffice" if self.is_optimal else f"at least {self.fewest} are needed"
        cells = "frozen cell" if n == 1 else "frozen cells"
        return f"{n} {cells} to unfreeze ({proved}): {listed(self.labels[:NAMED])}{more}"

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


@dataclass(frozen=True)
class ProtectedSums:
    """What protection of sums cost, compared with the pattern found without them. Secret.

    Parameters
    ----------
    estimated : int
        Number of sensitive sums that could be estimated too well in the pattern without them.
    loss_before : float
        Loss of that pattern.
    cells_before : int
        Number of cells that it hides.
    """

    estimated: int
    loss_before: float
    cells_before: int

    def summary(self, loss: float, cells: int) -> str:
        """Return in one phrase what the sums cost a pattern with this loss and number of cells."""
        if not self.estimated:
            return "no sum could be estimated too well without this"
        return (
            f"{self.estimated} of these sums could be estimated too well: loss "
            f"{self.loss_before:,.12g} -> {loss:,.12g}, cells {self.cells_before} -> {cells}"
        )


@dataclass(frozen=True, eq=False)
class LastPeriod:
    """Cells that were hidden last period, and count less if they are hidden again. Secret.

    Parameters
    ----------
    suppressed : numpy.ndarray of bool
        Over the cells of the problem that was given.
    discount : float
        Share by which their weights were lowered.
    """

    suppressed: Flags
    discount: float

    def summary(self, hidden: Flags) -> str:
        """Return in one phrase how many of them a pattern over the same cells hides again."""
        kept, before = int(np.sum(hidden & self.suppressed)), int(self.suppressed.sum())
        return (
            f"of {before:,} cells hidden last period {kept:,} stay hidden (their weights are "
            f"{100 * self.discount:.3g} % lower)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class SuppressionPattern(ProtectedTable):
    """Which cells are suppressed, with the proof that they protect.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    certificate : ProtectionCertificate
        Proof that every sensitive cell is protected.
    bound_certificate : PatternBound or None
        Proof of `bound`; None after a heuristic alone.
    bound : float
        Proved lower bound on the loss of any protected pattern; the loss of the sensitive and
        forced cells if there is no certificate.
    method : str
        How the pattern was found.
    seconds : float
    notes : tuple of str
        Choices of the search, and their reasons.
    time_limit : float, default=inf
    ran_out : bool, default=False
        Whether the search ended for lack of time, and not because nothing was left to try.
    first_seconds : float, default=0
        Seconds until the first pattern was proved.
    insiders : AgainstInsiders, optional
        Protection against insiders, as far as it was asked for, and its cost.
    sums : ProtectedSums, optional
        The cost of protecting sums of hidden cells, if this was asked for.
    before : Before, optional
        Earlier releases together with which the pattern protects. Their cells are further cells of
        the problem, the last ones but sums.
    unfrozen : Unfrozen, optional
        Frozen cells that were suppressed all the same, because nothing else protects.
    last : LastPeriod, optional
        What was hidden last period, if this was to be kept.
    change : Change, optional
        How its problem was made of the one that was given; none if it is that.
    """

    promise: ClassVar[str] = (
        "It is proved that nobody who knows the published cells, their sums and the external "
        "bounds can estimate a sensitive cell more closely than its levels allow; against insiders "
        "this is proved where it was asked for."
    )
    price: ClassVar[str] = "hidden beside the sensitive cells"
    saving: ClassVar[str] = "nothing as safe hides less"

    problem: ProtectionProblem
    suppressed: Flags
    requirement: Requirement
    certificate: ProtectionCertificate
    bound_certificate: PatternBound | None
    bound: float
    method: str
    seconds: float
    notes: tuple[str, ...] = field(default=())
    time_limit: float = np.inf
    ran_out: bool = False
    first_seconds: float = 0.0
    insiders: AgainstInsiders | None = None
    sums: ProtectedSums | None = None
    before: Before | None = None
    unfrozen: Unfrozen | None = None
    last: LastPeriod | None = None
    change: Change | None = None

    @property
    def given_cells(self) -> Integers:
        """The cell of the problem for each cell of the one that was given."""
        every = np.arange(self.problem.table.n_cells)
        return every if self.change is None else self.change.counterparts

    def after(self, change: Change) -> Self:
        """Return the pattern as one for the problem before a change, and say what was changed."""
        both = change if self.change is None else change.then(self.change)
        noted: Self = change.noted(self)
        return replace(noted, change=both)

    @property
    def loss(self) -> float:
        """Weight of all suppressed cells, sensitive ones included."""
        return float(self.problem.weights[self.suppressed].sum())

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return all claims about the pattern, each with its proof. Secret."""
        return self.claims_beside(self.certificate.certificates[0])

    def claims_beside(self, protection: Claim) -> tuple[Claim, ...]:
        """Return all claims, with another proof of protection, such as that of an audit. Secret."""
        proof = self.bound_certificate
        return pattern_claims(protection, self.problem, self.loss, self.bound, proof)

    @property
    def secondary(self) -> Flags:
        """Cells that are suppressed although they are not sensitive."""
        flags: Flags = self.suppressed & ~self.problem.sensitive
        return flags

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed cells in the release, which has no rests of groups."""
        return int((self.suppressed & ~self.problem.table.rests).sum())

    @property
    def unavoidable(self) -> float:
        """Weight of the sensitive and forced cells, which every pattern hides."""
        return float(self.problem.weights[self.problem.sensitive | self.problem.forced].sum())

    @property
    def is_proved_in_whole_numbers(self) -> bool:
        """Whether all witnesses against the external intruder are tables of whole numbers.

        An intruder who knows that values are whole then cannot rule them out.
        """
        used = np.concatenate([self.certificate.upper_witness, self.certificate.lower_witness])
        moves = self.certificate.deviations[np.unique(used[used >= 0]), :].data
        return bool(self.problem.table.integer) and bool(np.all(moves == np.rint(moves)))

    @cached_property
    def robustness(self) -> Robustness:
        """The hidden values that an intruder can compute after learning some. Secret."""
        return Robustness.of(self.problem, self.suppressed)

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell: values, or external bounds."""
        return self.problem.ends(self.suppressed)

    def verify(self) -> Verification:
        """Check both certificates again; no solver is called.

        Raises
        ------
        VerificationError
            If the protection of a sensitive cell, or the bound, is not proved.
        """
        measured = self.certificate.verify()
        if self.bound_certificate is not None:
            check_claim(self.bound, self.proved_bound())
        return measured

    def proved_bound(self) -> float:
        """Return the bound on the loss that its claim proves; no solver is called.

        The bound is at least the weight of the sensitive and forced cells, which every pattern
        hides.
        """
        proof = self.bound_certificate
        if proof is None:
            return self.unavoidable
        proved = proved_pattern_bound(self.suppressed, self.problem, proof)
        return max(proved, self.unavoidable)

    def statuses(self) -> Texts:
        """``published``, ``primary`` or ``secondary`` for each cell. Internal."""
        return np.select(
            [self.suppressed & self.problem.sensitive, self.suppressed],
            ["primary", "secondary"],
            "published",
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell with its value and status. Secret."""
        return self.problem.table.to_frame().assign(status=self.statuses())

    def release(self) -> pd.DataFrame:
        """Return the table that may be published: codes, and the values of published cells only.

        Suppressed cells have no value. The release tells neither which of them are sensitive nor
        the loss, which is a sum of hidden values. Order, digits and types depend on published cells
        only.
        """
        return released_rows(self.problem.table, self.suppressed)

    def summary(self) -> str:
        """Return in one line the loss, the bound and the proofs of the pattern."""
        gap = self._gaps() if self.bound_certificate else "gap no bound"
        bound = f"{self.bound:,.12g}" if self.bound_certificate else "none"
        return (
            f"suppression ({self.method}, {self.requirement.value}): loss {self.loss:,.12g}, "
            f"bound {bound}{self._unit_of_loss()}, {gap}, {self.n_suppressed} cells suppressed "
            f"({int((self.secondary & ~self.problem.table.rests).sum())} secondary), "
            f"{self._hidden_figures()}{self._proved_cells()} "
            f"proved{self._in_whole_numbers()}{self._robustness()}, {self.seconds:.1f} s"
            f"{self._lateness()}{self._of_sums()}{self._against_insiders()}"
            f"{self._beside_others()}"
        )

    def _safety(self) -> Iterator[str]:
        """Say against whom it is proved safe; first of all that nearly nothing is left."""
        may_be = ~self.problem.table.rests & ~self.problem.frozen
        n, hidden = int(may_be.sum()), int((self.suppressed & may_be).sum())
        if hidden >= NEARLY_ALL * n:
            cells = f"all {n:,} cells" if hidden == n else f"{hidden:,} of the {n:,} cells"
            advice = (
                f"The limit of {self.time_limit:g} s ended the search: raise the time limit."
                if self.was_cut_off
                else "Take larger categories, or other rules."
            )
            yield (
                f"WARNING: {cells} that may be hidden are hidden, so that hardly anything is left. "
                f"{advice}"
            )
        disclosed = 0 if self.before is None else len(self.before.disclosed)
        earlier = f"; earlier releases tell too much of {disclosed} of them" * bool(disclosed)
        inside, n_open = self._from_inside(), self.open_insiders
        if n_open:
            yield f"NOT PROVED SAFE against {n_open:,} insider{'s' * (n_open > 1)}{inside}."
        yield (
            f"Safe against all{' others' * bool(n_open)} who know the published cells, their sums "
            f"and the external bounds: "
            f"proved for {self._proved_cells()}{self._in_whole_numbers()}"
            f"{self.requirement.caveat}{earlier}{'' if n_open else inside}."
        )

    @property
    def open_insiders(self) -> int:
        """Number of insiders who succeed, or whose attack is not settled."""
        return 0 if self.insiders is None else self.insiders.successful + self.insiders.unsettled

    def _extent(self) -> str:
        table = self.problem.table
        shown = ~table.rests
        hidden, n = self.suppressed & shown, int(shown.sum())
        sensitive = int((self.problem.sensitive & hidden).sum())
        return (
            f"Hidden: {self.n_suppressed:,} of {n:,} cells ({in_percent(self.n_suppressed, n)}), "
            f"{sensitive:,} of them sensitive; "
            f"{self._share_by_level(hidden)}."
        )

    def _quality(self) -> str:
        if self.bound_certificate is None:
            return "How good: not known; no bound was computed."
        quality = super()._quality()
        if self.last is not None:
            quality += f" Last period: {self.last.summary(self.suppressed[self.given_cells])}."
        if self.is_optimal or not self._from_inside():
            return quality
        return f"{quality} The bound leaves out what protection against insiders costs."

    def _from_inside(self) -> str:
        """Say which insiders were tried, and how many of them succeed."""
        if self.insiders is None or not any(self.insiders.intruders.values()):
            return ""
        tried = ", ".join(f"{number:,} {name}" for name, number in self.insiders.intruders.items())
        counts = {
            ("succeeds", "succeed"): self.insiders.successful,
            ("is not settled", "are not settled"): self.insiders.unsettled,
        }
        left = " and ".join(f"{n:,} {words[n > 1]}" for words, n in counts.items() if n)
        if not left:
            return f"; against {tried}, of whom none succeeds"
        n = self._hopeless
        sure = f" ({'all' if n == self.open_insiders else f'{n:,}'} against every pattern)" * (
            n > 0
        )
        return f": of {tried} {left}{sure}"

    @property
    def _hopeless(self) -> int:
        """Number of insiders from whom no pattern hides a cell."""
        return 0 if self.insiders is None else self.insiders.count(WhyOpen.HOPELESS)[0]

    def _release_advice(self) -> str:
        n = self.open_insiders
        if not n:
            return super()._release_advice()
        who = (
            "the insider who succeeds or is not"
            if n == 1
            else f"the {n:,} insiders who succeed or are not"
        )
        if self._hopeless == n:
            these = "this insider" if n == 1 else f"these {n:,} insiders"
            return (
                f"before you publish its release, merge categories, or decide that {these} may "
                f"know a sensitive cell, which no pattern keeps from them"
            )
        return f"before you publish its release, look at {who} settled"

    def _share_by_level(self, hidden: Flags) -> str:
        """Say which share of the total is hidden, on each level of detail, that of totals first.

        Of several variables only the most detailed level, of each by itself: units differ.
        """
        table = self.problem.table
        depth, lost = table.depths(), np.where(hidden, np.abs(table.values), 0.0)
        if table.variables is not None:
            variable = table.variables.of_cells(table.keys)
            deepest = np.zeros(variable.max(initial=0) + 1, dtype=np.int64)
            np.maximum.at(deepest, variable, np.where(table.rests, 0, depth))
            detailed = ~table.rests & (depth == deepest[variable])
            return (
                f"of the total of each variable, in its most detailed cells: "
                f"{table.share_of_sum(lost, among=detailed)}"
            )
        levels = [~table.rests & (depth == level) for level in np.unique(depth[~table.rests])]
        shares = [table.share_of_sum(lost, among=level) for level in levels]
        if len(shares) == 1:
            return f"{shares[0]} of the sum of all values"
        return f"of the total, by level from the grand total down: {', '.join(shares)}"

    def _proved_cells(self) -> str:
        keys, sensitive = self.problem.table.keys, self.problem.sensitive
        sums = int((are_sums(keys) & ~are_earlier(keys)).sum())
        earlier = int((are_earlier(keys) & sensitive).sum())
        rests = int((self.problem.table.rests & sensitive).sum()) - sums - earlier
        n = self.problem.n_sensitive - rests - sums - earlier
        cells = f"{n} sensitive cell{'s' * (n != 1)}"
        cells += f" and {earlier} of earlier releases" * bool(earlier)
        cells += f" and {rests} rests of groups" * bool(rests)
        return cells + f" and {sums} sensitive sums of hidden cells" * bool(sums)

    def _unit_of_loss(self) -> str:
        """Say in what losses are counted if variables differ in their units."""
        variables = self.problem.table.variables
        is_scaled = variables is not None and len(set(variables.measures.values())) > 1
        return " (average cells of each variable)" if is_scaled else ""

    def _hidden_figures(self) -> str:
        figures = are_derived(self.problem.table.keys)
        if not np.any(figures):
            return ""
        return f"{int(self.suppressed[figures].sum())} of {int(figures.sum())} derived figures, "

    def _of_sums(self) -> str:
        return "" if self.sums is None else f"; {self.sums.summary(self.loss, self.n_suppressed)}"

    def _beside_others(self) -> str:
        others = "" if self.before is None else f"; {self.before.summary()}"
        if self.last is not None:
            others += f"; {self.last.summary(self.suppressed[self.given_cells])}"
        return others if self.unfrozen is None else f"{others}; {self.unfrozen.summary()}"

    def _against_insiders(self) -> str:
        if self.insiders is None or not any(self.insiders.intruders.values()):
            return ""
        return f"; {self.insiders.summary()}"

    def _robustness(self) -> str:
        if int(self.suppressed.sum()) > SUMMED_UP_CELLS:
            return ""
        return self.robustness.in_summary()

    def _lateness(self) -> str:
        if self.first_seconds <= self.time_limit:
            return ""
        return (
            f" (no pattern was proved within the limit of {self.time_limit:g} s: the first one "
            f"took {self.first_seconds:.1f} s)"
        )

    def _in_whole_numbers(self) -> str:
        if not self.problem.table.is_count:
            return ""
        if self.is_proved_in_whole_numbers:
            return " in whole numbers"
        return " against real-valued intervals, not against whole numbers"
