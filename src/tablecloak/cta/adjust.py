"""The function `adjust`: a problem is adjusted, and the result verified before it is returned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from tablecloak.budget import Budget, Progress
from tablecloak.cta.model.model import Directions
from tablecloak.cta.model.spread import Spread
from tablecloak.cta.nearest import left_to_chance, nearest_table
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.cta.statistics.statistic import Statistic
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.problem import ProtectionProblem, require_problem
from tablecloak.tables.weights import WeightRule


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
        one takes longer, a note says so; if whole sensitive cells have two values each, as small
        counts do, it is an error in time instead.
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
    require_problem(problem)
    del solver
    budget = Budget.begun(time_limit, threads=threads, progress=progress)
    task = AdjustmentTask.of(
        problem,
        weights=weights,
        distance=distance,
        preserve=preserve,
        sensitive_limit=sensitive_limit,
        directions=directions,
        integer=integer,
        repair=repair,
        recovery=recovery,
        seed=seed,
        published=published,
    )
    with budget.interruptible():
        adjusted = nearest_table(task, budget.share(task.plain_share))
        if task.recovery is not None:
            draws = Spread.of(task.problem, task.recovery).draws(task.seed)
            adjusted = left_to_chance(task, draws, adjusted, budget)
    return adjusted.ended(budget)
