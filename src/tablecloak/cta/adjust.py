"""The function `adjust`: a problem is adjusted, and the result verified before it is returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tablecloak.budget import Budget, Progress
from tablecloak.cta.model.model import Directions
from tablecloak.cta.model.precision import last_unit
from tablecloak.cta.model.refinement import adjusted_values
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.spread import Spread
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.search.answers import answered
from tablecloak.cta.search.infeasibility import NAMING_SECONDS
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.cta.statistics.statistic import PreservedRow, Statistic
from tablecloak.errors import InputError, ModelError, SolverError, TablecloakError
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.earlier import Published
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

__all__ = ["adjust"]

NAMED_CELLS = 5000
"""Most cells of an infeasible problem for which the error names the fewest levels and capacities
to change. Chosen by trial; not measured."""


MOST_SEARCHES = 4
"""Most searches of one problem, each in larger rooms than the one before."""

FARTHER = 1000.0
"""Factor of the rooms of a search where nothing else says how far a table may lie."""

REACH_SLACK = 1e-8
"""Share added to what the loss of a known table allows, against rounding."""

PLAIN_SHARE = 0.4
"""Share of the time for the least adjustment where distances are left to chance: it gives the
bound, and shows what chance costs. Chosen by trial; not measured."""


@on_chosen_solver
def adjust(
    problem: ProtectionProblem,
    *,
    weights: WeightRule | str | npt.ArrayLike = WeightRule.RELATIVE,
    distance: str = "L1",
    preserve: Sequence[Statistic | str] = (),
    sensitive_limit: float | None = None,
    directions: Directions = "search",
    integer: bool | None = None,
    repair: bool = False,
    recovery: float | None = None,
    seed: int | None = None,
    published: object = (),
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
    threads: int | None = None,
) -> Adjustment:
    """Move sensitive cells to safe values and the others as little as possible.

    min sum w_i |x_i - a_i| (or another distance) over additive tables x within their bounds,
    with each sensitive cell at least LPL below or UPL above its true value. A level of 0 offers
    no direction, since the true value itself would satisfy it.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : WeightRule, str or array, default="relative"
        Cost of changing a cell by one unit; by default 1 / |a_i|.
    distance : str, default="L1"
        - "L1": sum w_i |z_i| of the changes z = x - a. Among tables of equal loss, one in which
          sensitive cells move least is chosen, except for large tables.
        - "L2": sum w_i z_i^2, which spreads changes over more cells.
        - "Linf": max w_i |z_i|. Among tables of equal maximum, one with a small sum w_i |z_i| is
          chosen; the bound does not refer to this sum.

        "L2" and "Linf" give fractional values. `DISTANCES` lists all distances.
    preserve : sequence of Statistic or str, default=()
        Statistics to keep, such as ``[Mean("all"), Regression("sensitive")]`` or
        ``["mean:all", "regression"]``.
    sensitive_limit : float, optional
        Largest change of a sensitive cell as a multiple of its level, >= 1. By default the
        external bounds decide. 1 is the original method with two values for each cell.
    directions : {"search", "up", "down"} or array of +1 and -1, default="search"
        Fix the direction of each sensitive cell, in table order, or search the best ones.
        The bound then refers to these directions.
    integer : bool, optional
        Whether the adjusted values must be whole numbers. By default, with the distance L1, they
        are multiples of the last digit of the true values, such as whole numbers or cents, unless
        no such table is found. False allows any numbers.
    repair : bool, default=False
        If no adjustment exists, lower as few levels and raise as few capacities as possible, by
        as little as possible, and list them in the notes. Cells with lowered levels are *less*
        protected than required: an audit against the given problem names them.
    recovery : float, optional
        Largest share of the sensitive cells that who knows values, levels and method, all but the
        seed, is to guess to within their levels, such as 0.1. Cells then move by random distances
        beyond their levels, up or down by chance; what is proved: `tablecloak.cta.model.spread`.
        The loss grows, about as 1 / `recovery`; the bound stays that of the least adjustment.
    seed : int, optional
        Seed of these distances. Keep it inside: with it the truth can be computed. By default it
        is taken from the machine, and nobody knows it.
    published : Published, release, or sequence or mapping of releases, default=()
        Earlier releases that everybody has, as for `tablecloak.suppress`. What they published stays
        as it is, so that no reader finds two values for one cell. The problem of the result has
        their cells as further cells. What they tell of sensitive cells `tablecloak.audit` computes.
    time_limit : float, default=60
        Seconds after which the best adjustment found is verified and returned. Once there is an
        adjustment, the limit is exceeded by at most 5 % or 1 s, whichever is larger. If the first
        one takes longer, a note says so.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".
    threads : int, optional
        Threads for parts of the table that no relation connects; by default all cores. If every
        search ends before the time limit, the answer does not depend on the number of threads.

    Returns
    -------
    Adjustment
        A verified adjustment. Guarantee: for every input for which a result is returned, the
        table is additive, its cells lie within their bounds, and every sensitive cell is at least
        its level away from its true value; checked by `Adjustment.verify`, proof in
        docs/guarantees.md, section 3.

    Raises
    ------
    InputError
        For unknown statistics, weights or directions; if `recovery` is not between 0 and 1, or
        comes with given directions, a limit on sensitive cells, or a repair.
    ModelError
        If both levels of a sensitive cell are 0, or if no such table exists. An elastic program
        confirms the latter and names the cells that prevent it; for small tables the error also
        names the fewest levels and capacities to change.
    SolverError
        If no adjustment was found in time.

    Examples
    --------
    >>> import tablecloak as tc
    >>> adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    >>> round(adjusted.loss), adjusted.is_optimal
    (231350, True)
    """
    del solver
    budget = Budget.begun(time_limit, threads=threads, progress=progress)
    earlier = Published.parse(published)
    problem = problem if earlier is None else earlier.kept_beside(problem)
    task = AdjustmentTask.of(
        problem,
        weights=weights,
        distance=distance,
        preserve=preserve,
        sensitive_limit=sensitive_limit,
        directions=directions,
        integer=integer,
    )
    if repair and not task.is_free:
        raise InputError(
            "`repair` and `directions` exclude each other, since a repair chooses directions "
            "itself. Leave out one of the two."
        )
    if recovery is not None:
        _check_chance(task, recovery, repair=repair)
    with budget.interruptible():
        try:
            result = _adjusted_in_digits(task, budget.share(1 if recovery is None else PLAIN_SHARE))
            if recovery is not None:
                result = _left_to_chance(task, result, Spread.of(problem, recovery), seed, budget)
        except ModelError as error:
            result = _repaired(task, budget, error, repair=repair)
    return replace(result, seconds=budget.elapsed)


def _check_chance(task: AdjustmentTask, recovery: float, *, repair: bool) -> None:
    """Refuse what cannot be had together with random distances."""
    if not 0 < recovery < 1:
        raise InputError(
            f"`recovery` is the largest share of the sensitive cells to be guessed, between 0 and "
            f"1, such as 0.1. Got {recovery!r}."
        )
    if repair or not task.is_free or task.sensitive_limit is not None:
        raise InputError(
            "`recovery` chooses directions and distances itself. Leave out `directions`, "
            "`sensitive_limit` and `repair`."
        )


def _left_to_chance(
    task: AdjustmentTask, plain: Adjustment, spread: Spread, seed: int | None, budget: Budget
) -> Adjustment:
    """Return an adjustment whose sensitive cells move by random distances beyond their levels.

    Raises
    ------
    ModelError
        If relations leave no room for any draw.
    """
    reason = ModelError("No draw was made.")
    for draw in spread.draws(seed):
        drawn = replace(task, problem=draw.problem, directions=draw.directions)
        try:
            found = _adjusted_in_digits(drawn, budget.at_least(1.0))
        except ModelError as error:
            reason = error
            continue
        if found.decimals != plain.decimals:
            plain = _adjusted(task.in_real_numbers(), budget.at_least(1.0))
        times = found.loss / plain.loss if plain.loss else 1.0
        note = (
            f"distances are left to chance: who knows all but the seed guesses a sensitive cell "
            f"with probability {100 * draw.chance.recovery:.3g} % at most, relations apart; the "
            f"loss is {times:.3g} times that of the least adjustment found"
        )
        result = replace(plain, values=found.values, chance=draw.chance, notes=(*found.notes, note))
        result.check(result.bound)
        return result
    raise ModelError(
        f"Relations and bounds leave no room for random distances: {reason} Without `recovery` "
        f"there is an adjustment.",
        cells=reason.cells,
    )


def _repaired(
    task: AdjustmentTask, budget: Budget, error: ModelError, *, repair: bool
) -> Adjustment:
    """Adjust an infeasible problem after changing the fewest levels and capacities.

    Raises
    ------
    ModelError
        If `repair` is False; names the levels and capacities to change if they are found quickly.
    """
    small = task.problem.table.n_cells <= NAMED_CELLS
    if not repair and not (small and task.is_free):
        raise error
    left = max(budget.left, 1.0)
    try:
        seconds = left / 2 if repair else min(left, NAMING_SECONDS)
        eased, way_out = task.eased(budget.at_least(seconds).within(seconds))
    except TablecloakError as other:
        raise (other if repair else error) from None
    if not repair:
        raise ModelError(
            f"{error} An adjustment exists after these changes: {way_out.summary()}. "
            f"Set repair=True to make them.",
            cells=error.cells,
        ) from None
    result = _adjusted_in_digits(eased, budget.at_least(1.0))
    return replace(result, notes=(*result.notes, way_out.summary()))


def _adjusted_in_digits(task: AdjustmentTask, budget: Budget) -> Adjustment:
    """Adjust in multiples of the last digit or, if there is no such table, in real numbers."""
    while True:
        try:
            return _adjusted(task, budget)
        except ModelError:
            if task.decimals is None or task.integer or task.is_in_last_digits:
                raise
        task = task.in_real_numbers()


def _adjusted(task: AdjustmentTask, budget: Budget) -> Adjustment:
    """Find an adjustment; search farther away if a better one, or the only one, may lie there.

    The rooms of a search are finite, and smaller ones make it better. What is proved holds for all
    that is allowed, so that a gap is left where the rooms of the search decided something.
    """
    space, best = task.space(), None
    for attempt in range(MOST_SEARCHES):
        try:
            result = _searched(task, space, budget)
        except SolverError:
            is_last = attempt + 1 == MOST_SEARCHES or not space.is_cut or budget.is_over
            if best is None and is_last:
                raise
            reach = FARTHER * space.reach
        else:
            best = result if best is None else _better(best, result)
            if best.is_optimal or not space.is_cut or budget.is_over:
                break
            # No table of less loss lies farther away.
            unit = 1.0 if task.decimals is None else last_unit(task.decimals)
            lost = best.loss / unit**task.distance.power
            reach = task.distance.reach(task.weights, lost) * (1 + REACH_SLACK)
            reach = np.where(np.isfinite(reach), reach, FARTHER * space.reach)
        wider = task.space(reach)
        if best is not None and not np.any(wider.room.is_wider(space.room)):
            break
        space = wider
    assert best is not None
    return best


def _searched(task: AdjustmentTask, space: AdjustmentSpace, budget: Budget) -> Adjustment:
    """Find an adjustment within the rooms of a space, and verify it and its bound."""
    answer = answered(space, task, budget)
    values = adjusted_values(task.problem, space, answer, task.decimals)
    preserved: Sequence[PreservedRow] = space.preserved
    proof, reach = answer.certificate, space.reach
    if task.decimals is not None and not answer.is_whole:
        # The values have more digits, so that nothing is said of a last one. Multipliers of rows
        # prove a bound whatever the unit.
        if proof is not None:
            proof = proof.loss_proof(space, answer.changes.astype(np.float64))
        reach = reach * last_unit(task.decimals)
        task = task.in_real_numbers()
        preserved = task.rows(task.problem, whole=False)
    result = Adjustment(
        problem=task.problem,
        values=values,
        weights=task.weights,
        sensitive_limit=task.sensitive_limit,
        preserved=(*preserved, *task.conditions),
        bound_certificate=proof,
        bound=0.0,
        seconds=0.0,
        decimals=task.decimals,
        # Without a last digit no value has to be a multiple of it, even if all are whole.
        integer=answer.is_whole and task.decimals is not None,
        notes=answer.notes,
        distance=task.distance.name,
        reach=reach,
    )
    bound = result.proved_bound()
    result = replace(result, bound=bound)
    result.check(bound)
    return result


def _better(one: Adjustment, other: Adjustment) -> Adjustment:
    """Return the one of two adjustments that loses less, with the higher bound of the two."""
    kept, left = (other, one) if other.loss < one.loss else (one, other)
    if kept.decimals != left.decimals:
        return kept
    with_other = replace(kept, bound_certificate=left.bound_certificate, reach=left.reach)
    proved = with_other.proved_bound()
    return kept if proved <= kept.bound else replace(with_other, bound=proved)
