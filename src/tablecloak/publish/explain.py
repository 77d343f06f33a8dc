"""The function `explain`: why a cell of a release is hidden or changed."""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.budget import Budget, Progress
from tablecloak.explaining.adjusted_cell import AdjustedQuestion, explain_adjusted
from tablecloak.explaining.cells import AskedCell, cell_asked
from tablecloak.explaining.explanation import Explanation
from tablecloak.explaining.hidden_cell import PublishedCell, explain_secondary
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.explaining.sensitive_cell import explain_sensitive
from tablecloak.protection import way_of
from tablecloak.publish.audit import Release, told_by
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder, parse_intruders
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule


@on_chosen_solver
def explain(
    problem: ProtectionProblem,
    release: Release,
    cell: AskedCell,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    intruders: Intruder | str | Sequence[Intruder | str] | None = None,
    rules: Sequence[Rule] = (),
    alternative: bool = True,
    seed: int = 0,
    time_limit: float = 30.0,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Explanation:
    """Explain why a cell of a release is hidden or changed, whoever made the release.

    Parameters
    ----------
    problem : ProtectionProblem
        The original table with its sensitive cells and levels.
    release : SuppressionPattern, IntervalPattern, Adjustment, RoundedTable, frame, path or array
        As for `tablecloak.audit`.
    cell : int, str, mapping or sequence of str
        Its number, its codes by dimension or in the order of the dimensions, or a text such as
        ``"region=N, branch=47"`` or ``"N, 47"``.
    require : Requirement or str, default="two-sided"
        What counts as protected; a pattern of `tablecloak.suppress` has its own requirement.
    intruders : Intruder, str, or sequence of these, optional
        Insiders who attack besides the external intruder, as for `tablecloak.audit`. By default
        contributors attack a sensitive cell, if the table knows them, and a secondary suppression
        is attacked by those against whom its pattern was asked to protect.
    rules : sequence of Rule, default=()
        The rules of the problem, which alone know their parameters.
    alternative : bool, default=True
        Whether to search the cheapest other release: for a secondary suppression the pattern that
        publishes it, for an adjusted cell the least move in any release.
    seed : int, default=0
        For random directions of searches.
    time_limit : float, default=30
        Seconds for all searches and programs. What was cut short says so.
    threads : int, optional
        By default as many as there are processors.
    progress : callable, optional
        Called with stage, loss, bound and number of open cells or nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    Explanation
        Has `text()`, `to_json()`, `to_dict()` and `summary()`. Secret: it names hidden values.

    Raises
    ------
    InputError
        If there is no such cell; names the nearest ones.

    Notes
    -----
    Every interval is a sum of relations, computed in exact fractions from the numbers as they are
    printed; every other release is a search whose result was proved or audited. See
    docs/explain.md.

    Examples
    --------
    >>> import tablecloak as tc
    >>> problem = tc.examples.cox_rounded()
    >>> found = tc.explain(problem, tc.suppress(problem), "r4, c9")
    >>> print(found.external.upper.word, found.external.upper.limit)
    at most 192
    """
    budget = Budget.begun(time_limit, threads=threads, seed=seed, progress=progress)
    way = way_of(release)
    # That of the search has its weights, and the cells of earlier releases.
    searched = None if way is None else way.searched(release)
    problem = problem if searched is None else searched
    number = cell_asked(problem.table, cell)
    given = None if intruders is None else parse_intruders(intruders)
    with budget.interruptible():
        hidden, ends, values = told_by(problem, release)
        if values is not None:
            adjusted = AdjustedQuestion(
                problem, values, None if searched is None else release, budget
            )
            return explain_adjusted(adjusted, number, rules, with_price=alternative)
        assert hidden is not None
        is_sensitive = bool(problem.sensitive[number])
        who = _insiders(problem, release, is_sensitive) if given is None else given
        asked = None if way is None else way.question(release, who, budget)
        if asked is None:
            lower, upper = problem.ends(hidden) if ends is None else ends
            required = Requirement.parse(require)
            asked = PatternQuestion(problem, lower, upper, hidden, required, who, budget)
        told: Explanation | None = None if way is None else way.explained(release, asked, number)
        if told is not None:
            return told
        if is_sensitive:
            return explain_sensitive(asked, number, rules)
        if hidden[number]:
            return explain_secondary(asked, number, with_price=alternative)
        return PublishedCell(problem, number)


def _insiders(problem: ProtectionProblem, release: Release, is_sensitive: bool) -> list[Intruder]:
    """Return who attacks where nobody is named."""
    if is_sensitive:
        usual = INTRUDERS.build("contributors")
        return [] if usual.lacking(problem) else [usual]
    way = way_of(release)
    names = () if way is None else way.insiders(release)
    kinds = {kind().name_of_kind: kind() for kind in INTRUDERS}
    return [kind for name, kind in kinds.items() if name in names]
