"""From a problem to a proved pattern: which method, how long, and what to do in a hurry."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tablecloak.budget import generator
from tablecloak.errors import InputError, SolverError, suggestion
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.audit.attack import with_finite_bounds
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.audit.intruder import Intruder, parse_intruders
from tablecloak.suppression.audit.intruders.integers import with_whole_numbers
from tablecloak.suppression.joining import certificate_of
from tablecloak.suppression.needs import needs_of
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.suppression.requirement import Requirement
from tablecloak.suppression.search.exact import ROOT_SHARE, minimise_loss
from tablecloak.suppression.search.insiders import hold_against
from tablecloak.suppression.search.master import BoundCertificate
from tablecloak.suppression.search.sequential import (
    Candidate,
    Strategy,
    clean_up,
    exchange,
    protect_one_by_one,
)
from tablecloak.suppression.system import System
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["suppress"]

Flags = npt.NDArray[np.bool_]
Method = Literal["auto", "sequential", "exact"]
Progress = Callable[[str, float, float, int], None]
"""Called with the stage, the loss, the bound, and the number of cells or nodes still open."""

EXACT_CELLS = 2000
"""Free cells up to which `auto` searches for a proved optimum."""

BOUNDED_CELLS = 50_000
"""Free cells up to which `auto` goes on to the exact method if the heuristic ends early."""

SEARCHED_CELLS = 1000
"""Free cells up to which the exact method finds better patterns than a heuristic in its time."""

LEAST_BOUND_SHARE = 0.05
"""Share of the time limit that a bound gets where the first pattern took all of it."""

SPARE_SHARE = 0.3
"""Share of the time limit that must be left for this; if there is less, only for a bound."""

BOUND_SHARE = 0.2
"""Share of the time limit that is kept back for a bound."""

WHOLE_SHARE = 0.8
"""Share of the time limit for the search where only whole numbers are looked at afterwards."""

PORTFOLIO_CELLS = 4000
"""Free cells up to which several strategies are tried and the best kept."""

CLEANED_CELLS = 5000
"""Suppressed cells up to which they are published again one by one."""

Change = Callable[..., Candidate]

STRATEGIES = (
    Strategy(symmetric=False),
    Strategy(),
    Strategy(largest_first=False),
    Strategy(areas=((5, 0), (9, 2)), symmetric=False, largest_first=False),
)
"""Tried one after the other while there is time; the best result counts."""


@on_chosen_solver
def suppress(
    problem: ProtectionProblem,
    *,
    method: Method = "auto",
    require: Requirement | str = Requirement.TWO_SIDED,
    weights: WeightRule | str | None = None,
    protect_against: Intruder | str | Sequence[Intruder | str] = (),
    previous: SuppressionPattern | npt.ArrayLike | None = None,
    discount: float = 0.5,
    time_limit: float = 60.0,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    solver: str | None = None,
) -> SuppressionPattern:
    """Find a suppression pattern and prove that it protects every sensitive cell.

    Parameters
    ----------
    problem : ProtectionProblem
    method : {"auto", "sequential", "exact"}, default="auto"
        - "sequential": linear programs for one group of sensitive cells after another, then a
          clean-up. Any size, no lower bound.
        - "exact": the same, then branch and bound over capacity rows. Small tables; always
          gives a lower bound, and a proof of optimality if time allows.
        - "auto": exact up to 2,000 free cells; beyond, sequential, and exact in the time that
          is then left. Up to 50,000 free cells a fifth of the time is kept back for a bound.
    require : Requirement or str, default="two-sided"
        What counts as protected; "width" and "upper" are weaker and only meant for comparison
        with published examples.
    weights : WeightRule or str, optional
        Replace the weights of the problem by a rule.
    protect_against : Intruder, str, or sequence of these, default=()
        Insiders against whom the pattern must hold as well: "contributors", "pairs",
        "all-pairs", "holdings", "zeros", "integers", or members of
        `tablecloak.suppression.audit.intruders`. The bound stays that of the external intruder:
        valid, but less tight. A table of counts is never returned if somebody who knows that
        counts are whole is known to attack it; whether that is proved as well says
        `SuppressionPattern.is_proved_in_whole_numbers`.
    previous : SuppressionPattern or array_like of bool, shape (n_cells,), optional
        Last period's pattern over the same cells, to be kept where that costs little: its
        cells have a lower weight.
    discount : float, default=0.5
        By which share the weights of cells suppressed last period fall.
    time_limit : float, default=60
        Seconds after which the search ends with the best pattern that is proved. A first
        pattern is always completed, if need be in a hurry.
    seed : int, default=0
        For random directions; the same seed gives the same pattern.
    threads : int, default=1
        How many strategies of the heuristic to run at once, on tables small enough for several.
        The pattern is the same for any number if no time limit cuts the search short.
    progress : callable, optional
        Called with stage, loss, bound and what is still open.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    SuppressionPattern
        Its certificate has been verified. Guarantee: for every input for which this returns,
        each sensitive cell is protected as required against an intruder who knows all
        published cells, all relations and the external bounds; checked by
        `ProtectionCertificate.verify`, proof in docs/guarantees.md, section 1.

    Raises
    ------
    InputError
        For an unknown method, requirement or weight rule.
    ModelError
        If a cell cannot be protected at all; names the cells.
    SolverError
        If no proved pattern was found.

    Notes
    -----
    An interruption from the keyboard ends the search like the time limit, as soon as a first
    pattern is proved.

    Examples
    --------
    >>> import tablecloak as tc
    >>> problem = tc.examples.cox_rounded()
    >>> pattern = tc.suppress(problem)
    >>> pattern.loss, int(pattern.suppressed.sum()), pattern.is_optimal
    (3076.0, 12, True)
    """
    if method not in ("auto", "sequential", "exact"):
        known = ["auto", "sequential", "exact"]
        raise InputError(f"`method` is {method!r}.{suggestion(str(method), known)}")
    if threads < 1:
        raise InputError(f"`threads` must be at least 1. Got {threads!r}.")
    generator(seed)
    started = time.monotonic()
    requirement = Requirement.parse(require)
    if weights is not None:
        problem = problem.with_weights(weights)
    if previous is not None:
        problem = _prefer(problem, previous, discount)
    asked = parse_intruders(protect_against)
    kinds = with_whole_numbers(asked, problem)
    deadline = started + time_limit
    search = _Search(with_finite_bounds(problem), requirement, deadline, seed, threads, progress)
    n_free = int(np.sum(~problem.frozen & ~problem.sensitive & ~problem.forced))
    chosen = method
    if method == "auto":
        chosen = "exact" if n_free <= EXACT_CELLS else "sequential"
        search.note(f"{n_free} cells are free to be suppressed: {chosen} method")
    share = 0.5 if asked else WHOLE_SHARE if kinds else 1.0
    is_bounded = method == "auto" and chosen == "sequential" and n_free <= BOUNDED_CELLS
    if chosen == "exact":
        search.find_first(n_free, (0.25 if n_free <= SEARCHED_CELLS else 0.5) * share)
    else:
        search.find_first(n_free, (1 - BOUND_SHARE if is_bounded else 1.0) * share)
    bound_certificate = None
    if (chosen == "exact" or is_bounded) and not search.interrupted:
        # A heuristic that ends early leaves time for the exact method; else it is for a bound.
        left = share * (started + time_limit - time.monotonic())
        is_hurried = n_free > EXACT_CELLS and left <= SPARE_SHARE * time_limit
        if is_bounded:
            chosen = chosen if is_hurried else "exact"
            aim = "a bound" if is_hurried else "the exact method"
            search.note(f"{max(left, 0):.0f} s are left for {aim}")
        left = max(left, LEAST_BOUND_SHARE * time_limit)
        bound_certificate = search.improve(left, 1.0 if is_hurried else ROOT_SHARE)
    audit = search.hold_against(problem, kinds, required=bool(asked)) if kinds else None
    return search.pattern(problem, chosen, bound_certificate, audit, started)


def _prefer(
    problem: ProtectionProblem, previous: SuppressionPattern | npt.ArrayLike, discount: float
) -> ProtectionProblem:
    """Return the problem with lower weights of cells that were suppressed last period."""
    given = previous.suppressed if isinstance(previous, SuppressionPattern) else previous
    before = np.asarray(given, dtype=bool)
    if before.shape != problem.status.shape:
        raise InputError(
            f"`previous` has {before.size} entries, but the table has {problem.table.n_cells} "
            f"cells. Match last period's cells by their codes first."
        )
    if not 0 <= discount <= 1:
        raise InputError(f"`discount` must lie between 0 and 1. Got {discount!r}.")
    return problem.with_changes(weights=problem.weights * np.where(before, 1 - discount, 1.0))


class _Search:
    """State of one call: the best candidate so far, and the clock."""

    def __init__(
        self,
        problem: ProtectionProblem,
        requirement: Requirement,
        deadline: float,
        seed: int,
        threads: int,
        progress: Progress | None,
    ) -> None:
        self.problem = problem
        self.requirement = requirement
        self.deadline = deadline
        self.seed = seed
        self.threads = threads
        self.progress = progress
        self.system = System.of(problem, needs_of(problem, requirement), ~problem.frozen)
        self.must = (problem.sensitive | problem.forced)[self.system.cells]
        self.best: Candidate | None = None
        self.best_rank = 0
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.interrupted = False
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def find_first(self, n_free: int, share: float) -> None:
        """Run the portfolio of strategies for a share of the time; the first one always ends."""
        now = time.monotonic()
        deadline = now + share * max(self.deadline - now, 0.0)
        strategies = STRATEGIES if n_free <= PORTFOLIO_CELLS else STRATEGIES[:1]
        try:
            self._run_all(strategies, deadline)
        except KeyboardInterrupt:
            if self.best is None:
                raise SolverError("Interrupted before any pattern was proved.") from None
            self.interrupted = True
            self.note("interrupted: best proved pattern so far")

    def _run_all(self, strategies: Sequence[Strategy], deadline: float) -> None:
        if self.threads == 1 or len(strategies) == 1:
            for rank, strategy in enumerate(strategies):
                self._run(strategy, rank, deadline)
            return
        with ThreadPoolExecutor(self.threads) as executor:
            runs = [
                executor.submit(copy_context().run, self._run, strategy, rank, deadline)
                for rank, strategy in enumerate(strategies)
            ]
            try:
                for run in runs:
                    run.result()
            except BaseException:
                # Threads cannot be interrupted: they look at this whenever they report.
                self.stopped.set()
                raise

    def improve(self, time_limit: float, root_share: float) -> BoundCertificate:
        """Branch and bound from the best candidate."""
        assert self.best is not None

        def report(loss: float, bound: float, open_nodes: int) -> None:
            if self.progress:
                self.progress("branch and bound", loss, bound, open_nodes)

        self.best, certificate = minimise_loss(
            self.problem,
            self.requirement,
            self.best,
            time_limit=time_limit,
            root_share=root_share,
            seed=self.seed,
            progress=report,
        )
        return certificate

    def hold_against(
        self, problem: ProtectionProblem, kinds: Sequence[Intruder], *, required: bool
    ) -> Audit | None:
        """Extend the best candidate until it holds against insiders; None if nobody could say."""
        assert self.best is not None
        found = hold_against(
            problem,
            self.requirement,
            self.best,
            kinds,
            required=required,
            deadline=self.deadline,
            tick=lambda loss, left: self._tick("protecting against insiders", loss, left),
        )
        if found is None or not found.is_safe:
            self.note("not proved against who knows that counts are whole")
            return None
        tried = ", ".join(f"{number} {name}" for name, number in found.intruders.items())
        self.note(f"protected against {tried} as well")
        return found

    def pattern(
        self,
        problem: ProtectionProblem,
        method: str,
        bound_certificate: BoundCertificate | None,
        audit: Audit | None,
        started: float,
    ) -> SuppressionPattern:
        """Build the result, and verify it before anybody sees it."""
        assert self.best is not None
        system = self.best.pool.system
        suppressed = np.zeros(problem.table.n_cells, dtype=bool)
        suppressed[system.cells[self.best.hidden]] = True
        if audit is not None:
            suppressed = audit.suppressed
            proof = audit.certificate()
        else:
            proof = certificate_of(problem, suppressed, self.requirement, [self.best.pool])
        # What no witness moves protects nothing, and may follow from the published cells anyway.
        suppressed = suppressed & (problem.sensitive | problem.forced)
        suppressed[proof.deviations.indices[proof.deviations.data != 0]] = True
        proof = replace(proof, suppressed=suppressed)
        floor = float(problem.weights[problem.sensitive | problem.forced].sum())
        found = SuppressionPattern(
            problem=problem,
            suppressed=suppressed,
            requirement=self.requirement,
            certificate=proof,
            bound_certificate=bound_certificate,
            bound=bound_certificate.verify() if bound_certificate else floor,
            method=method,
            seconds=time.monotonic() - started,
            notes=tuple(self.notes),
        )
        found.certificate.verify()
        return found

    def _run(self, strategy: Strategy, rank: int, deadline: float) -> None:
        if self.stopped.is_set() or (self.best is not None and time.monotonic() > deadline):
            return
        # Half of the time for the pattern itself, so that its improvement gets its share.
        now = time.monotonic()
        half = now + max(deadline - now, 0.0) / 2
        candidate = self._built(strategy, half, None)
        self._offer(candidate, rank)
        if candidate.is_proved:
            self._improve(candidate, strategy, rank, deadline)

    def _built(self, strategy: Strategy, deadline: float, within: Flags | None) -> Candidate:
        return protect_one_by_one(
            self.problem,
            self.system,
            strategy,
            within=within,
            deadline=deadline,
            seed=self.seed,
            tick=lambda loss, left: self._tick("protecting", loss, left),
        )

    def _improve(self, best: Candidate, strategy: Strategy, rank: int, deadline: float) -> None:
        """Protect again within the pattern, publish single cells again, exchange others."""

        def better(other: Candidate) -> Candidate:
            self._offer(other, rank)
            return other if other.is_proved and other.loss < best.loss else best

        for turn in range(2):
            if time.monotonic() < deadline:
                again = replace(strategy, largest_first=strategy.largest_first ^ (turn == 0))
                best = better(self._built(again, deadline, best.hidden))
        while time.monotonic() < deadline:
            before = best.loss
            if int(best.hidden.sum()) <= CLEANED_CELLS:
                best = better(self._changed(clean_up, best, "cleaning up", deadline))
            best = better(self._changed(exchange, best, "exchanging", deadline))
            if best.loss >= before * (1 - 1e-9):
                break

    def _changed(
        self, change: Change, candidate: Candidate, stage: str, deadline: float
    ) -> Candidate:
        return change(
            candidate,
            self.must,
            deadline=deadline,
            tick=lambda loss, left: self._tick(stage, loss, left),
        )

    def _offer(self, candidate: Candidate, rank: int) -> None:
        """Remember a candidate if it is the best of all; of equals, that of the first strategy."""
        if not candidate.is_proved:
            return
        with self.lock:
            best = self.best
            if best is None or (candidate.loss, rank) < (best.loss, self.best_rank):
                self.best, self.best_rank = candidate, rank

    def _tick(self, stage: str, loss: float, left: int) -> None:
        with self.lock:
            if self.stopped.is_set():
                raise KeyboardInterrupt
            if self.progress:
                try:
                    self.progress(stage, loss, -np.inf, left)
                except BaseException:
                    # The other threads must not report, nor go on, after this one was stopped.
                    self.stopped.set()
                    raise
