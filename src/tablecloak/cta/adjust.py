"""From a problem to an adjusted table that is checked before anybody sees it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import lsqr

from tablecloak.cta.adjustment import Adjustment, DistanceBound
from tablecloak.cta.directions import DirectionSearch, Found
from tablecloak.cta.formulation import AdjustmentModel, Room, room_of
from tablecloak.cta.preserve import Preserve, PreservedRow, parse
from tablecloak.errors import InputError, ModelError, SolverError, TablecloakError, listed
from tablecloak.solve.highs import LinearSolver, find_infeasibility
from tablecloak.tables.problem import ProtectionProblem, WeightRule

__all__ = ["adjust"]

Floats = npt.NDArray[np.float64]
Directions = Literal["search", "up", "down"] | npt.ArrayLike
Progress = Callable[[str, float, float, int], None]


WHOLE_SHARE = 0.15
"""Share of the time kept back for whole numbers, where they are wanted."""


def adjust(
    problem: ProtectionProblem,
    *,
    weights: WeightRule | str | npt.ArrayLike = WeightRule.RELATIVE,
    preserve: Sequence[Preserve | str] = (),
    sensitive_limit: float | None = None,
    directions: Directions = "search",
    integer: bool | None = None,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> Adjustment:
    """Move sensitive cells to safe values and the rest as little as possible.

    min sum w_i |x_i - a_i| over additive tables x within their bounds, with each sensitive cell
    at least LPL below or UPL above its true value.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : WeightRule, str or array, default="relative"
        Cost of changing a cell by one unit; by default 1 / |a_i|.
    preserve : sequence of Preserve or str, default=()
        Statistics to keep, such as ``[Mean("all"), Regression("sensitive")]`` or
        ``["mean:all", "regression"]``.
    sensitive_limit : float, optional
        Largest change of a sensitive cell as a multiple of its level, >= 1. By default the
        external bounds decide. 1 is the original method with two values for each cell.
    directions : {"search", "up", "down"} or array of +1 and -1, default="search"
        Fix the direction of each sensitive cell, in table order, or search the best ones.
        The bound then refers to these directions.
    integer : bool, optional
        Whether the adjusted values must be whole numbers. By default they are where true
        values, levels and bounds are whole, unless no such table is found.
    time_limit : float, default=60
        Seconds after which the search ends with the best adjustment found.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.

    Returns
    -------
    Adjustment
        Verified. Guarantee: for every input for which this returns, the table is additive,
        keeps its bounds, and every sensitive cell is at least its level away from the truth;
        checked by `Adjustment.verify`, proof in docs/guarantees.md, section 3.

    Raises
    ------
    InputError
        For unknown statistics, weights or directions.
    ModelError
        If there is no such table: confirmed by an elastic program, which names the cells that
        stand in the way.
    SolverError
        If none was found in time.

    Examples
    --------
    >>> import tablecloak as tc
    >>> adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    >>> round(adjusted.loss), adjusted.is_optimal
    (231350, True)
    """
    started = time.monotonic()
    whole = _all_whole(problem) if integer is None else bool(integer)
    if whole and not problem.table.integer:
        raise InputError("`integer` asks for whole numbers, but the true values are not whole.")
    if sensitive_limit is not None and not sensitive_limit >= 1:
        raise InputError(f"`sensitive_limit` must be at least 1. Got {sensitive_limit!r}.")
    cost = _cost(problem, weights)
    rows = [row for statistic in parse(preserve) for row in statistic.rows(problem, integer=whole)]
    room = room_of(problem, limit=sensitive_limit, integer=whole)
    room = _finite_room(problem, room)
    model = AdjustmentModel(problem, cost, room, rows)
    searched = (1 - WHOLE_SHARE if whole else 1.0) * time_limit
    search = DirectionSearch(model, started + searched, progress)
    fixed = _fixed_directions(model, directions)
    if fixed is not None:
        search.fixed(fixed)
    else:
        try:
            search.start()
            search.improve()
        except KeyboardInterrupt:
            search.notes.append("interrupted: best adjustment so far")
    if search.best is None:
        raise _infeasible(model, search, fixed)
    z = _whole_changes(model, search, started + time_limit) if whole else None
    if z is None and whole and integer:
        raise SolverError(
            "No adjustment in whole numbers was found for the best directions. Raise "
            "`time_limit`, or pass integer=False."
        )
    whole = z is not None
    if z is None:
        z = _refined(model, _snapped(model, search.best))
    certificate, bound = _certificate(model, search, fixed)
    result = Adjustment(
        problem=problem,
        values=problem.table.values + z,
        weights=cost,
        room=room,
        preserved=tuple(rows),
        bound_certificate=certificate,
        bound=bound,
        seconds=time.monotonic() - started,
        integer=whole,
        notes=tuple(search.notes),
    )
    result.verify()
    return result


def _cost(problem: ProtectionProblem, weights: WeightRule | str | npt.ArrayLike) -> Floats:
    if isinstance(weights, WeightRule | str):
        return WeightRule(weights).of(problem)
    cost = np.asarray(weights, dtype=np.float64)
    if cost.shape != problem.table.values.shape or not np.all(np.isfinite(cost) & (cost >= 0)):
        raise InputError("`weights` must be a rule, or one finite number >= 0 for each cell.")
    return cost


def _all_whole(problem: ProtectionProblem) -> bool:
    """Whether values, levels of sensitive cells and finite bounds are whole numbers."""
    sensitive = problem.sensitive
    numbers = [
        problem.lower_protection[sensitive],
        problem.upper_protection[sensitive],
        problem.lower_bound[np.isfinite(problem.lower_bound)],
        problem.upper_bound[np.isfinite(problem.upper_bound)],
    ]
    return bool(problem.table.integer) and all(np.all(part == np.rint(part)) for part in numbers)


def _finite_room(problem: ProtectionProblem, room: Room) -> Room:
    """Replace infinite rooms by ones that no sensible adjustment reaches."""
    levels = np.concatenate([room.up_level, room.down_level])
    far = 10 * float(np.abs(problem.table.values).max(initial=0)) + 100 * float(levels.sum())
    return Room(
        np.minimum(room.up, far), np.minimum(room.down, far), room.up_level, room.down_level
    )


def _fixed_directions(model: AdjustmentModel, given: Directions) -> Floats | None:
    low, high = model.allowed()
    if isinstance(given, str):
        if given not in ("search", "up", "down"):
            raise InputError(
                f"`directions` must be 'search', 'up', 'down' or an array. Got {given!r}."
            )
        return {"search": None, "up": high, "down": low}[given]
    signs = np.asarray(given, dtype=np.float64)
    if signs.shape != low.shape or not np.all(np.abs(signs) == 1):
        raise InputError(
            f"`directions` must hold +1 or -1 for each of the {len(low)} sensitive cells."
        )
    y = (signs > 0).astype(np.float64)
    wrong = model.sensitive[(y < low) | (y > high)]
    if len(wrong):
        raise ModelError(
            f"{len(wrong)} sensitive cells cannot move in the given direction as far as their "
            f"levels ask: {listed(model.problem.table.labels(wrong[:5]))}.",
            cells=wrong,
        )
    return y


def _infeasible(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None
) -> TablecloakError:
    """Return the error that fits: proved infeasible, or merely not found."""
    program = model.program
    if fixed is not None:
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[model.direction_columns] = upper[model.direction_columns] = fixed
        program = program.with_bounds(lower, upper)
    found = find_infeasibility(program)
    if not found.confirmed and search.bound == np.inf:
        return ModelError(
            "No choice of directions satisfies all levels, bounds, capacities and statistics "
            "(proved by a complete search). Raise `sensitive_limit`, widen bounds or capacities, "
            "or preserve fewer statistics.",
            cells=model.sensitive,
        )
    if not found.confirmed:
        return SolverError(
            "No adjustment was found, and none was proved to be impossible. Raise `time_limit`, "
            "or relax `preserve`, capacities or levels."
        )
    worst = np.argsort(-found.shortfall)[:5]
    worst = worst[found.shortfall[worst] > 1e-7]
    touched = np.unique(program.matrix[worst, :].indices)
    n = len(model.cells)
    columns = touched[touched < 2 * n] % n
    cells = model.cells[np.unique(columns)]
    cells = (
        cells[model.problem.sensitive[cells]] if np.any(model.problem.sensitive[cells]) else cells
    )
    which = "with these directions " if fixed is not None else ""
    return ModelError(
        f"No additive table {which}satisfies all levels, bounds, capacities and statistics (proved "
        f"by an elastic program). The conflict involves "
        f"{listed(model.problem.table.labels(cells))}. Lower these levels, widen bounds or "
        f"capacities in their relations, or preserve fewer statistics.",
        cells=cells,
    )


def _whole_changes(
    model: AdjustmentModel, search: DirectionSearch, deadline: float
) -> Floats | None:
    """Changes in whole numbers for the best directions; None if none were found."""
    assert search.best is not None
    z = _snapped(model, search.best)
    rounded = np.rint(z)
    if _is_whole_solution(model, z, rounded):
        return rounded
    search.notes.append("whole numbers needed a program of their own")
    found = search.whole(max(deadline - time.monotonic(), 10.0))
    if found is None:
        search.notes.append("no adjustment in whole numbers was found")
        return None
    return np.rint(model.changes(found.x))


def _snapped(model: AdjustmentModel, found: Found) -> Floats:
    """Set changes that are at a level, at the end of their room or at 0 exactly there."""
    z = model.changes(found.x)
    near = 1e-9 * model.problem.unit + 8 * np.spacing(np.abs(z))
    room = model.room
    for target in (room.up_level, -room.down_level, room.up, -room.down, np.zeros_like(z)):
        z = np.where(np.abs(z - target) <= near, target, z)
    return z


def _is_whole_solution(model: AdjustmentModel, z: Floats, rounded: Floats) -> bool:
    if np.any(np.abs(z - rounded) > 1e-4):
        return False
    additive = not np.any(model.problem.table.relations @ rounded)
    inside = np.all((rounded <= model.room.up) & (-rounded <= model.room.down))
    kept = all(
        abs(float(np.dot(row.coefficients, rounded))) <= row.slack + 1e-9 * model.problem.unit
        for row in model.preserved
    )
    return bool(additive and inside and kept)


def _refined(model: AdjustmentModel, z: Floats) -> Floats:
    """Spread what a relation is still off over cells that have room on both sides."""
    problem, room = model.problem, model.room
    rows: list[PreservedRow] = model.preserved
    residual = problem.table.relations @ z
    if np.max(np.abs(residual), initial=0.0) <= 1e-13 * problem.unit:
        return z
    margin = 1e-6 * problem.unit
    level = np.where(z > 0, room.up_level, room.down_level)
    free = (z < room.up - margin) & (-z < room.down - margin)
    free &= ~problem.sensitive | (np.abs(z) > level + margin)
    cells = np.flatnonzero(free)
    if not len(cells):
        return z
    matrix = problem.table.relations[:, cells]
    correction = lsqr(matrix, -residual, atol=1e-15, btol=1e-15)[0]
    if np.max(np.abs(correction), initial=0.0) > margin / 2:
        return z
    better = z.copy()
    better[cells] += correction
    worse = any(
        abs(float(np.dot(row.coefficients, better))) > row.slack + 1e-9 * problem.unit
        for row in rows
    )
    smaller = np.max(np.abs(problem.table.relations @ better)) < np.max(np.abs(residual))
    return z if worse or not smaller else better


def _certificate(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None
) -> tuple[DistanceBound, float]:
    """The best proof of a lower bound, and what it is expected to prove."""
    if search.tree is not None:
        return DistanceBound(model, search.tree, np.empty(0)), model.loss(search.bound)
    program, solution = model.program, search.root
    if fixed is not None:
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[model.direction_columns] = upper[model.direction_columns] = fixed
        program = program.with_bounds(lower, upper)
    if solution is None or not len(solution.duals):
        solution = LinearSolver(program).solve()
    return DistanceBound(model, None, solution.duals, fixed), model.loss(solution.bound)
