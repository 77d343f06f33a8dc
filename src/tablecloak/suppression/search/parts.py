"""Search in each part of a table for itself: no relation of unknown cells joins one to another.

A table by year without a sum over the years is as many tables. So are the variables of a joined
table, unless something adds them up. A pattern of least loss consists of one for each part, each of
which is smaller and often proved to be optimal where the whole never would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.budget import Budget, Progress
from tablecloak.errors import InterruptedSearch
from tablecloak.executors import Executor, SerialExecutor, ThreadExecutor, chosen_executor
from tablecloak.graph import components_of_cells
from tablecloak.solve.branch import BranchTree
from tablecloak.solve.solver import Solver, chosen_solver, using_solver
from tablecloak.suppression.attack.external_bounds import each_unprotected_named
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import BoundCertificate, PartedBound
from tablecloak.suppression.search.merging import Renaming
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem

MOST_PARTS = 32
"""Of so many equal parts each is searched for itself; smaller components are searched together with
others, since each search first looks at the whole table."""

FEWEST_FREE = 250
"""Free cells up to which components are searched together: the exact method is soon done with them.
Chosen by trial; not measured."""

PART_SECONDS = 1e-3
"""Least seconds for each free cell with which parts are searched for themselves: with less, one
search of the whole finds better patterns, since each search takes some time to begin.
docs/decisions, "Parts"."""

PartSearch = Callable[[ProtectionProblem, Requirement, Budget], SearchState]
"""A search for a pattern of a problem with finite external bounds."""


def search_parts(
    search: PartSearch, problem: ProtectionProblem, requirement: Requirement, budget: Budget
) -> SearchState:
    """Search each part of a table, in threads; a table of one part is searched as it is.

    So is a table for whose parts there is too little time. Where `using_executor` has chosen
    another place, such as a cluster of dask, parts are searched there.

    Each part gets a share of the time by its free cells; what one leaves goes to those that follow,
    of which the largest comes last. If the search is stopped, parts that have no pattern yet get
    one in a hurry.

    Parameters
    ----------
    search : callable
        Searches a problem within a budget.
    problem : ProtectionProblem
        With finite external bounds.
    requirement : Requirement
    budget : Budget

    Raises
    ------
    ModelError
        If a cell cannot be protected at all; names all such cells.
    SolverError
        If the search of a part failed.
    """
    parts = parts_of(problem)
    free = np.array([np.sum(problem.free & part) for part in parts])
    if len(parts) < 2 or budget.left < PART_SECONDS * free.sum():
        return search(problem, requirement, budget)
    searches = _PartSearches(search, problem, requirement, budget, budget.elapsed, parts, free)
    reports, elsewhere = _SumOfReports(budget.progress, problem, parts), chosen_executor()
    with each_unprotected_named(problem, requirement, budget):
        if elsewhere is None:
            states = _in_threads(searches, reports)
        else:
            states = _elsewhere(elsewhere, searches, reports)
    searched = [(part, states[number]) for number, part in enumerate(parts)]
    return _joined(problem, requirement, searched)


@dataclass(frozen=True, eq=False)
class _PartSearches:
    """What is searched, and for which parts; it can be sent to another process.

    Parameters
    ----------
    search, problem, requirement, budget
        As of `search_parts`.
    begun : float
        Seconds of the budget when the first part could begin.
    parts : sequence of numpy.ndarray of bool
    free : numpy.ndarray of int
        Free cells of each part.
    """

    search: PartSearch
    problem: ProtectionProblem
    requirement: Requirement
    budget: Budget
    begun: float
    parts: Sequence[Flags]
    free: Integers

    def state(
        self,
        number: int,
        workers: int,
        progress: Progress | None = None,
        failed: Collection[int] = (),
    ) -> SearchState:
        """Search one part within its share of what is left; those before it have had theirs."""
        late, left = self.budget.elapsed - self.begun, int(self.free[number:].sum())
        share = workers * max(int(self.free[number]), 1) / max(left, 1)
        budget = replace(
            self.budget.share(min(share, 1.0)).whole(),
            threads=max(self.budget.threads // workers, 1),
            progress=progress,
        )
        alone = self.problem.within(self.parts[number])
        state = _never_interrupted(self.search, alone, self.requirement, budget, failed)
        return replace(state, first_seconds=late + state.first_seconds)


def _in_threads(searches: _PartSearches, reports: _SumOfReports) -> dict[int, SearchState]:
    """Search parts in threads of this process, which begin in their order."""
    budget, numbers = searches.budget, range(len(searches.parts))
    workers, failed = min(budget.threads, len(numbers)), set[int]()

    def searched(number: int) -> SearchState:
        try:
            return searches.state(number, workers, reports.of(number), failed)
        except Exception:
            # The error ends the whole search, so the other parts need not go on.
            failed.add(number)
            budget.stop()
            raise

    executor = ThreadExecutor(workers) if workers > 1 else SerialExecutor()
    return dict(executor.run(searched, numbers))


@dataclass(frozen=True, eq=False)
class _SentSearches:
    """Searches parts in another process.

    Parameters
    ----------
    searches : _PartSearches
        With one thread.
    workers : int
    solver : Solver
    """

    searches: _PartSearches
    workers: int
    solver: Solver

    def __call__(self, number: int) -> SearchState:
        """Search within what is left of the time by then."""
        with using_solver(self.solver), self.searches.budget.interruptible():
            state = self.searches.state(number, self.workers)
        # What phases hand to later ones has open programs of the solver, which cannot be sent.
        return replace(state, exploration=None, opening=None, held=None, horizon=None)


def _elsewhere(
    executor: Executor, searches: _PartSearches, reports: _SumOfReports
) -> dict[int, SearchState]:
    """Search parts where an executor chooses; what is missing after a stop is hurried here."""
    searches = replace(searches, budget=replace(searches.budget, threads=1))
    numbers = range(len(searches.parts))
    sent = _SentSearches(searches, min(executor.workers, len(numbers)), chosen_solver())
    states: dict[int, SearchState] = {}
    for number, state in executor.run(sent, numbers):
        states[number] = state
        report = reports.of(number)
        if report is not None and state.best is not None:
            loss = state.best.loss
            report("parts", loss, loss if state.is_settled else -np.inf, 0)
    missing = set(numbers) - states.keys()
    return states | {number: searches.state(number, 1) for number in missing}


def parts_of(problem: ProtectionProblem) -> list[Flags]:
    """Return the cells of each part that has sensitive cells; the one with most free cells last.

    Components of few free cells are put together. The parts depend on the problem alone.
    """
    component = components_of_cells(problem.table.relations, ~problem.frozen)
    n = int(component.max(initial=-1)) + 1
    is_needed = np.bincount(component[problem.sensitive], minlength=n) > 0
    free = np.bincount(component[problem.free], minlength=n)
    least = max(free[is_needed].sum() / MOST_PARTS, FEWEST_FREE)
    bundle, number, filled = np.full(n, -1, dtype=np.int64), 0, 0.0
    for one in np.argsort(free, kind="stable"):
        if is_needed[one]:
            # The first ones are small; once one is large, so are all that follow.
            if filled and filled + free[one] > least:
                number, filled = number + 1, 0.0
            bundle[one], filled = number, filled + max(free[one], 1.0)
    # Frozen cells, of the component -1, take the last entry.
    label = np.append(bundle, -1)[component]
    return [label == part for part in range(int(bundle.max(initial=-1)) + 1)]


def _never_interrupted(
    search: PartSearch,
    alone: ProtectionProblem,
    requirement: Requirement,
    budget: Budget,
    failed: Collection[int],
) -> SearchState:
    """Search a part; if the search is stopped before it has a pattern, find one in a hurry."""
    try:
        return search(alone, requirement, budget)
    except InterruptedSearch:
        if failed:
            raise
    hurried = Budget.of(0.0, threads=budget.threads, seed=budget.seed)
    with hurried.interruptible():
        return search(alone, requirement, hurried)


class _SumOfReports:
    """Progress of a search in parts, as that of one search.

    Parameters
    ----------
    progress : callable or None
        Told loss, bound and open needs of all parts together. Of parts that have not begun, the
        cells that every pattern hides count.
    problem : ProtectionProblem
    parts : sequence of numpy.ndarray of bool
    """

    def __init__(
        self, progress: Progress | None, problem: ProtectionProblem, parts: Sequence[Flags]
    ) -> None:
        self.progress = progress
        always = np.where(problem.sensitive | problem.forced, problem.weights, 0.0)
        self.losses = np.array([always[part].sum() for part in parts])
        self.bounds, self.open = self.losses.copy(), np.zeros(len(parts), dtype=np.int64)
        self.beside = always.sum() - self.losses.sum()

    def of(self, number: int) -> Progress | None:
        """Return what the search of one part reports to."""
        progress = self.progress
        if progress is None:
            return None

        def report(stage: str, loss: float, bound: float, open_: int) -> None:
            self.losses[number], self.open[number] = loss, open_
            self.bounds[number] = max(self.bounds[number], bound)
            loss, bound = (float(sums.sum() + self.beside) for sums in (self.losses, self.bounds))
            progress(stage, loss, bound, int(self.open.sum()))

        return report


def _joined(
    problem: ProtectionProblem,
    requirement: Requirement,
    searched: Sequence[tuple[Flags, SearchState]],
) -> SearchState:
    """Return the states of all parts as one of the whole problem."""
    # The last part has most free cells.
    whole = SearchState.of(problem, requirement, searched[-1][1].method)
    system, hidden, pool = whole.system, whole.must.copy(), WitnessPool(whole.system)
    for _, state in searched:
        assert state.best is not None
        cells, proof = state.best.pool.system.cells, state.best.pool.whole_proof()
        position = np.searchsorted(system.cells, cells)
        hidden[position[state.best.hidden]] = True
        pool.take((position[moved], moves) for moved, moves in proof.witnesses)
    joined = replace(
        whole,
        best=Candidate(hidden, pool, problem.weights[system.cells]),
        bound_certificate=_joined_bound(problem, requirement, searched),
        is_settled=all(state.is_settled for _, state in searched),
        first_seconds=max(state.first_seconds for _, state in searched),
        closing_seconds=sum(state.closing_seconds for _, state in searched),
    )
    return joined.noted(
        f"{len(searched)} parts that no relation joins were searched each for itself"
    )


def _joined_bound(
    problem: ProtectionProblem,
    requirement: Requirement,
    searched: Sequence[tuple[Flags, SearchState]],
) -> PartedBound | None:
    """Return the bounds of all parts as one; None if no part has any."""
    if all(state.bound_certificate is None for _, state in searched):
        return None
    every, index = np.arange(problem.table.n_cells), np.cumsum(problem.sensitive) - 1
    part, proofs = np.full(len(every), -1, dtype=np.int64), []
    for number, (cells, state) in enumerate(searched):
        part[cells] = number
        if state.bound_certificate is None:
            tree = BranchTree.of_root(np.zeros(0))
            bound = BoundCertificate(state.problem, requirement, [], tree)
        else:
            (bound,) = state.bound_certificate.trees
        renaming = Renaming(every, index[np.flatnonzero(problem.sensitive & cells)])
        proofs.append(replace(bound, rows=[renaming.of(row) for row in bound.rows]))
    return PartedBound(problem, requirement, tuple(proofs), part)
