"""From a problem to a proved pattern: the public function, in three steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy.typing as npt

from tablecloak.budget import Budget, Progress
from tablecloak.errors import ModelError
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.before import BesidePublished
from tablecloak.suppression.attack.hold import Hold
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.search.groups_search import PatternSearch, SearchWithSums
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.search.unfreezing import Unfreezing, naming_frozen_cells
from tablecloak.suppression.search.weighing import Weighing
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.changes.change import ChangeRequest, changed
from tablecloak.tables.changes.derived_figures import FigureCells
from tablecloak.tables.changes.earlier_releases import EarlierRelease, Published, PublishedResult
from tablecloak.tables.problem import ProtectionProblem, require_problem
from tablecloak.tables.rules.rule import Rule
from tablecloak.tables.sums import Groups
from tablecloak.tables.weights import WeightRule

Earlier = (
    Published
    | EarlierRelease
    | PublishedResult
    | Sequence[EarlierRelease | PublishedResult]
    | Mapping[str, EarlierRelease | PublishedResult]
)
"""Ways to give earlier releases."""


@on_chosen_solver
def suppress(
    problem: ProtectionProblem,
    *,
    method: SearchMethod | str = "auto",
    require: Requirement | str = Requirement.TWO_SIDED,
    weights: WeightRule | str | None = None,
    protect_against: Intruder | str | Sequence[Intruder | str] = (),
    hold: Hold | str = "strict",
    groups: Groups | Rule | Sequence[Rule] = (),
    published: Earlier = (),
    unfreeze: bool = False,
    previous: SuppressionPattern | npt.ArrayLike | None = None,
    discount: float = 0.5,
    time_limit: float = 60.0,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> SuppressionPattern:
    """Find a suppression pattern and prove that it protects every sensitive cell.

    Parameters
    ----------
    problem : ProtectionProblem
    method : SearchMethod or {"auto", "sequential", "exact"}, default="auto"
        - "sequential": linear programs for one group of sensitive cells after another, then a
          clean-up. Any size, no lower bound.
        - "exact": the same, then branch and bound over capacity rows. Small tables; always
          gives a lower bound, and a proof of optimality if time allows.
        - "auto": exact up to 2,000 free cells; on larger tables sequential, then exact in the time
          that is left. Up to 50,000 free cells a fifth of the time is kept back for a bound.
    require : Requirement or str, default="two-sided"
        What counts as protected; "width" and "upper" are weaker and only meant for comparison
        with published examples.
    weights : WeightRule or str, optional
        Replace the weights of the problem by a rule.
    protect_against : Intruder, str, or sequence of these, default=()
        Insiders against whom the pattern must hold as well: "contributors", "pairs",
        "all-pairs", "holdings", "zeros", "integers", "any-cell", or classes of
        `tablecloak.suppression.attack.intruders`. The bound stays that of the external intruder:
        valid, but less tight. For a table of counts, no pattern is returned that an intruder who
        knows that counts are whole is known to attack; whether it is proved against this intruder
        says `SuppressionPattern.is_proved_in_whole_numbers`.
    hold : {"strict", "possible", "off"}, default="strict"
        How the pattern must hold against those insiders.

        - "strict": against all of them; otherwise an error is raised.
        - "possible": as far as possible. The certificate claims nothing for pairs of an insider and
          a cell that no pattern protects, or that are not settled in time; notes and
          `SuppressionPattern.insiders` tell how many these are, and what protection costs. A
          pattern that is proved against the external intruder is always returned.
        - "off": `protect_against` is ignored.
    groups : Groups, Rule, or sequence of Rule, default=()
        Rules that sums of hidden cells of a relation must satisfy as well, such as
        ``[PPercent(10)]``: a sum that a rule finds unsafe is protected like a cell, with levels by
        the rule. `Groups` says which sums are judged. The problem of the pattern that is returned
        has these sums as further cells, its last ones.
    published : Published, release, or sequence or mapping of releases, default=()
        Earlier releases that an intruder has as well: patterns, intervals, rounded or adjusted
        tables, or what `tc.read_published` returns. The pattern then protects together with them,
        what they hide included; cells that they disclose alone are named by
        `SuppressionPattern.before`, and no more is asked of them than is left. The problem of the
        pattern has their cells as further cells.
    unfreeze : bool, default=False
        Whether frozen cells may be suppressed where sensitive cells cannot be protected otherwise:
        the fewest, and of several choices of as few the one of least weight. The pattern names
        them. See `tablecloak.fewest_to_unfreeze`.
    previous : SuppressionPattern or array_like of bool, shape (n_cells,), optional
        Last period's pattern, whose cells are found by their codes, to be kept where that costs
        little: they have a lower weight. `tablecloak.read_previous` reads one from a file. It is
        a wish, and no knowledge of an intruder: see `published`.
    discount : float, default=0.5
        Share by which the weights of cells suppressed last period are lowered.
    time_limit : float, default=60
        Seconds after which the best proved pattern is returned, verified; kept to within 5 % or
        a second. A first pattern is always completed, if need be in a hurry; if that takes
        longer than the limit, the summary says so.
    seed : int, default=0
        Seed of random directions; the same seed gives the same pattern.
    threads : int, optional
        Number of independent tasks, such as strategies of the heuristic, done at once; by default
        the number of processors. The pattern is the same for any number if no time limit cuts the
        search short.
    progress : callable, optional
        Called with stage, loss, bound and the number of open needs or nodes.
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
        For an unknown method, requirement, weight rule, insider or way to hold against insiders.
    ModelError
        If a cell cannot be protected at all, or not against an insider against whom the pattern
        must hold; names the cells. If that is due to frozen cells, and the table is small, it also
        names the fewest to unfreeze.
    SolverError
        If no proved pattern was found, or none that holds against the insiders as required.

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
    require_problem(problem)
    budget = Budget.begun(time_limit, threads=threads, seed=seed, progress=progress)
    requirement = Requirement.parse(require)
    earlier, sums = Published.parse(published), Groups.parse(groups)
    requests: list[ChangeRequest] = [Weighing(weights, previous, discount)]
    requests += [BesidePublished(earlier, requirement)] if earlier else []
    requests += [FigureCells()] if problem.table.figures else []
    requests += [Unfreezing(requirement)] if unfreeze else []
    chosen = SearchMethod.parse(method)
    alone = PatternSearch(chosen, requirement, protect_against, hold, time_limit)
    search = SearchWithSums(alone, sums) if sums else alone
    with budget.interruptible():
        change = changed(problem, requests, budget)
        try:
            pattern = search(change.problem, budget)
        except ModelError as error:
            raise naming_frozen_cells(error, change.problem, requirement, budget) from None
    return pattern.after(change).ended(budget)
