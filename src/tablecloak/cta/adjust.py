"""From a problem to an adjusted table that is checked before anybody sees it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import lsqr

from tablecloak.cta.adjustment import Adjustment, Distance, DistanceBound
from tablecloak.cta.directions import DirectionSearch
from tablecloak.cta.formulation import AdjustmentModel, Room, room_of
from tablecloak.cta.parts import PartsBound, adjust_parts, parts_of
from tablecloak.cta.preserve import (
    Preserve,
    PreservedRow,
    PreservedVariance,
    Variance,
    moments,
    parse,
)
from tablecloak.cta.repair import Repair, find_repair
from tablecloak.cta.squares import SquaresBound, SquaresModel, minimise_squares
from tablecloak.errors import (
    InputError,
    ModelError,
    SolverError,
    TablecloakError,
    listed,
    suggestion,
)
from tablecloak.solve.highs import LinearSolver, find_infeasibility
from tablecloak.tables.problem import ProtectionProblem, WeightRule

__all__ = ["adjust"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Directions = Literal["search", "up", "down"] | npt.ArrayLike
Progress = Callable[[str, float, float, int], None]


VARIANCE_TURNS = 30
"""Programs solved at most to find the slope at which the variance stays."""

VARIANCE_SHIFTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Slopes that are tried, as shares of what the variance grows by at a slope of 1."""

VARIANCE_WIDTH = 1e-4
"""Width of an interval of slopes that is not halved any more."""

FIRST_SHARE = {"L1": 1.0, "L2": 0.2, "Linf": 0.4}
"""Share of the time for the first search: for squares it finds directions to start from, for the
maximum a search for a small sum follows."""

MAXIMUM_SLACK = 1e-9
"""Share by which the maximum may be missed while the sum is minimised."""

NAMED_CELLS = 5000
"""Cells up to which an error names the fewest levels and capacities that stand in the way."""

NAMING_SECONDS = 5.0
"""Seconds for that."""

WHOLE_SHARE = 0.15
"""Share of the time kept back for whole numbers, where they are wanted."""


def adjust(
    problem: ProtectionProblem,
    *,
    weights: WeightRule | str | npt.ArrayLike = WeightRule.RELATIVE,
    distance: Distance = "L1",
    preserve: Sequence[Preserve | str] = (),
    sensitive_limit: float | None = None,
    directions: Directions = "search",
    integer: bool | None = None,
    repair: bool = False,
    time_limit: float = 60.0,
    progress: Progress | None = None,
) -> Adjustment:
    """Move sensitive cells to safe values and the rest as little as possible.

    min sum w_i |x_i - a_i| (or another distance) over additive tables x within their bounds,
    with each sensitive cell at least LPL below or UPL above its true value.

    Parameters
    ----------
    problem : ProtectionProblem
    weights : WeightRule, str or array, default="relative"
        Cost of changing a cell by one unit; by default 1 / |a_i|.
    distance : {"L1", "L2", "Linf"}, default="L1"
        - "L1": sum w_i |z_i| of the changes z = x - a; of equally good tables one in which
          sensitive cells move least (not in large tables);
        - "L2": sum w_i z_i^2, which spreads changes over more cells;
        - "Linf": max w_i |z_i|, and of all tables with that maximum one with a small sum
          w_i |z_i|, on which the bound says nothing.

        The last two give fractional values.
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
    repair : bool, default=False
        Where no adjustment exists, lower as few levels and raise as few capacities as possible,
        by as little as possible, and say so in the notes. Cells with lowered levels are *less*
        protected than asked for: an audit against the given problem names them.
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
        stand in the way; for small tables also the fewest levels and capacities that would have
        to give way.
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
    chosen = _Choices(weights, distance, preserve, sensitive_limit, directions, integer, progress)
    if repair and not _are_free(directions):
        raise InputError("`repair` chooses directions itself: leave out `directions`.")
    try:
        return _adjust(problem, chosen, time_limit)
    except ModelError as error:
        small = problem.table.n_cells <= NAMED_CELLS
        if not repair and not (small and _are_free(directions)):
            raise
        left = max(started + time_limit - time.monotonic(), 1.0)
        try:
            found = _repair(problem, chosen, left / 2 if repair else min(left, NAMING_SECONDS))
        except TablecloakError as other:
            raise (other if repair else error) from None
        if not repair:
            raise ModelError(
                f"{error} What would have to give way: {found.summary()}. With repair=True that "
                f"is done.",
                cells=error.cells,
            ) from None
    left = max(started + time_limit - time.monotonic(), 1.0)
    result = _adjust(found.repaired(), chosen, left)
    return replace(result, notes=(*result.notes, found.summary()))


@dataclass(frozen=True)
class _Choices:
    """What the caller of `adjust` asked for."""

    weights: WeightRule | str | npt.ArrayLike
    distance: Distance
    preserve: Sequence[Preserve | str]
    sensitive_limit: float | None
    directions: Directions
    integer: bool | None
    progress: Progress | None
    searches: list[DirectionSearch] = field(default_factory=list)
    """All that were begun, so that they can be stopped."""


def _repair(problem: ProtectionProblem, chosen: _Choices, time_limit: float) -> Repair:
    whole = _all_whole(problem) if chosen.integer is None else chosen.integer
    rows = [
        row for kept in parse(chosen.preserve, problem) for row in kept.rows(problem, integer=whole)
    ]
    room = room_of(problem, limit=chosen.sensitive_limit, integer=False, strict=False)
    return find_repair(problem, _finite_room(problem, room), rows, time_limit=time_limit)


def _adjust(problem: ProtectionProblem, chosen: _Choices, time_limit: float) -> Adjustment:
    distance, integer, directions = chosen.distance, chosen.integer, chosen.directions
    started = time.monotonic()
    cost = _cost(problem, chosen.weights)
    statistics = parse(chosen.preserve, problem)
    variance = [statistic for statistic in statistics if isinstance(statistic, Variance)]
    _check(problem, distance, chosen.sensitive_limit, integer, variance)
    whole = _all_whole(problem) if integer is None else bool(integer)
    whole &= distance == "L1" and not variance
    rows = [row for statistic in statistics for row in statistic.rows(problem, integer=whole)]
    room = room_of(problem, limit=chosen.sensitive_limit, integer=whole)
    room = _finite_room(problem, room)
    if _are_free(directions) and distance != "Linf" and not statistics:
        part = parts_of(problem, room)
        if len(np.unique(part[problem.sensitive & (part >= 0)])) > 1:
            return _adjust_parts(problem, chosen, room, part, time_limit)
    model = AdjustmentModel(
        problem,
        cost,
        room,
        rows,
        free=_are_free(directions),
        maximum=distance == "Linf",
    )
    searched = 1 - WHOLE_SHARE if whole else FIRST_SHARE[distance]
    search = DirectionSearch(model, started + searched * time_limit, chosen.progress)
    chosen.searches.append(search)
    fixed = _fixed_directions(model, directions)
    if fixed is not None:
        search.given(fixed)
    else:
        try:
            search.start()
            search.improve(for_proof=distance != "L2")
        except KeyboardInterrupt:
            search.notes.append("interrupted: best adjustment so far")
    if search.best is None:
        raise _infeasible(model, search, fixed)
    if distance == "L1":
        _break_ties(model, search, max(started + time_limit - time.monotonic(), 1.0), whole)
    z = _whole_changes(model, search, started + time_limit) if whole else None
    if z is None and whole and integer:
        raise SolverError(
            "No adjustment in whole numbers was found for the best directions. Raise "
            "`time_limit`, or pass integer=False."
        )
    whole = z is not None
    deadline = started + time_limit
    squares: SquaresBound | None = None
    if distance == "L2":
        z, squares = _least_squares(model, search, fixed, deadline)
    elif distance == "Linf":
        z = _least_sum(model, search, fixed, deadline)
    elif z is None:
        z = _refined(model, _snapped(model, model.changes(search.best.x)))
    if variance:
        z = _with_variance(model, z, variance[0], deadline)
    kept: list[PreservedRow | PreservedVariance] = [
        *rows,
        *(statistic.kept(problem) for statistic in variance),
    ]
    certificate, bound = (
        (squares, squares.verify()) if squares else _certificate(model, search, fixed)
    )
    result = Adjustment(
        problem=problem,
        values=problem.table.values + z,
        weights=cost,
        room=room,
        preserved=tuple(kept),
        bound_certificate=certificate,
        bound=bound,
        seconds=time.monotonic() - started,
        integer=whole,
        notes=tuple(search.notes),
        distance=distance,
    )
    result.verify()
    return result


def _adjust_parts(
    problem: ProtectionProblem, chosen: _Choices, room: Room, part: Integers, time_limit: float
) -> Adjustment:
    """Adjust parts that no relation connects, and put them together."""
    started = time.monotonic()
    cost = _cost(problem, chosen.weights)
    interrupted = threading.Event()

    def adjusted(alone: ProtectionProblem, seconds: float) -> Adjustment:
        return _adjust(
            alone, replace(chosen, weights=cost), 0.0 if interrupted.is_set() else seconds
        )

    def stop() -> None:
        interrupted.set()
        for search in chosen.searches:
            search.stop()

    found = adjust_parts(problem, part, adjusted, time_limit, stop)
    values = problem.table.values.copy()
    own_room = [array.copy() for array in (room.up, room.down, room.up_level, room.down_level)]
    for number, result in found:
        own = part == number
        values[own] = result.values[own]
        of_part = (result.room.up, result.room.down, result.room.up_level, result.room.down_level)
        for array, those in zip(own_room, of_part, strict=True):
            array[own] = those[own]
    room = Room(*own_room)
    certificate = PartsBound(
        problem, room, np.array([number for number, _ in found]), _own_certificates(found)
    )
    joined = Adjustment(
        problem=problem,
        values=values,
        weights=cost,
        room=room,
        preserved=(),
        bound_certificate=certificate,
        bound=sum(result.bound for _, result in found),
        seconds=time.monotonic() - started,
        integer=all(result.integer for _, result in found),
        notes=(
            f"{len(found)} parts that no relation connects were adjusted apart",
            *(["interrupted: best adjustment so far"] if interrupted.is_set() else []),
        ),
        distance=chosen.distance,
    )
    joined.verify()
    return joined


def _own_certificates(
    found: list[tuple[int, Adjustment]],
) -> tuple[DistanceBound | SquaresBound, ...]:
    certificates = [result.bound_certificate for _, result in found]
    return tuple(one for one in certificates if not isinstance(one, PartsBound))


def _are_free(directions: Directions) -> bool:
    return isinstance(directions, str) and directions == "search"


def _check(
    problem: ProtectionProblem,
    distance: Distance,
    sensitive_limit: float | None,
    integer: bool | None,
    variance: list[Variance],
) -> None:
    """Refuse what does not go together."""
    known = get_args(Distance)
    if distance not in known:
        raise InputError(f"`distance` is {distance!r}.{suggestion(str(distance), known)}")
    if distance != "L1" and integer:
        raise InputError("Whole numbers are offered for the distance L1 only.")
    if integer and not problem.table.integer:
        raise InputError("`integer` asks for whole numbers, but the true values are not whole.")
    if sensitive_limit is not None and not sensitive_limit >= 1:
        raise InputError(f"`sensitive_limit` must be at least 1. Got {sensitive_limit!r}.")
    if len(variance) > 1:
        raise InputError("Only one variance can be preserved; the slope of any number of subsets.")
    if variance and integer:
        raise InputError(
            "A variance cannot be preserved in whole numbers. Leave out `integer`, or preserve "
            "the slope instead."
        )
    if variance and distance != "L1":
        raise InputError(
            "A variance is preserved with the distance L1 only; the slope with all of them."
        )


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
    sensitive = np.flatnonzero(model.problem.sensitive)
    if signs.shape != sensitive.shape or not np.all(np.abs(signs) == 1):
        raise InputError(
            f"`directions` must hold +1 or -1 for each of the {len(sensitive)} sensitive cells."
        )
    each = np.zeros(model.problem.table.n_cells)
    each[sensitive] = signs
    y = model.directions_of(each)
    together = np.zeros(model.n_groups)
    together[model.sensitive] = np.where((y < low) | (y > high), 0.0, 2 * y - 1)
    moved = model.coupled.spread @ together
    wrong = sensitive[(moved != each)[sensitive] & (model.coupled.group[sensitive] >= 0)]
    if len(wrong):
        raise ModelError(
            f"{len(wrong)} sensitive cells cannot move in the given direction as far as their "
            f"levels ask, or not together with cells that relations couple them with: "
            f"{listed(model.problem.table.labels(wrong[:5]))}.",
            cells=wrong,
        )
    return y


def _infeasible(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None
) -> TablecloakError:
    """Return the error that fits: proved infeasible, or merely not found."""
    program = model.program
    if fixed is not None:
        program = model.directed(fixed)
    found = find_infeasibility(program)
    if not found.confirmed and search.bound == np.inf:
        return ModelError(
            "No choice of directions satisfies all levels, bounds, capacities and statistics "
            "(proved by a complete search). Raise `sensitive_limit`, widen bounds or capacities, "
            "or preserve fewer statistics.",
            cells=np.flatnonzero(model.problem.sensitive),
        )
    if not found.confirmed:
        return SolverError(
            "No adjustment was found, and none was proved to be impossible. Raise `time_limit`, "
            "or relax `preserve`, capacities or levels."
        )
    worst = np.argsort(-found.shortfall)[:5]
    worst = worst[found.shortfall[worst] > 1e-7]
    touched = np.unique(program.matrix[worst, :].indices)
    n = model.n_groups
    groups = touched[touched < 2 * n] % n
    cells = np.flatnonzero(np.isin(model.coupled.group, groups))
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


def _least_sum(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None, deadline: float
) -> Floats:
    """Of all adjustments with the maximum found, one with a small sum."""
    assert search.best is not None
    found = model.changes(search.best.x)
    weights, room = model.weights, model.room
    largest = (1 + MAXIMUM_SLACK) * float(np.max(weights * np.abs(found), initial=0.0))
    reach = np.full(len(weights), np.inf)
    reach[weights > 0] = largest / weights[weights > 0]
    near = replace(room, up=np.minimum(room.up, reach), down=np.minimum(room.down, reach))
    second = AdjustmentModel(model.problem, weights, near, model.preserved, free=fixed is None)
    again = DirectionSearch(second, max(deadline, time.monotonic() + 1.0))
    again.given(model.directions(search.best.x))
    if fixed is None:
        again.start()
        again.improve(for_proof=False)
    z = found if again.best is None else second.changes(again.best.x)
    return _refined(second, _snapped(second, z))


def _least_squares(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None, deadline: float
) -> tuple[Floats, SquaresBound]:
    """Least squares, from directions that are best for sums, or all alike."""
    assert search.best is not None
    known = float(np.dot(model.weights, model.changes(search.best.x) ** 2))
    squares = SquaresModel(model.problem, model.weights, model.room, model.preserved, known)
    low, high = model.allowed()
    starts = [model.directions(search.best.x), high, low] if fixed is None else [fixed]
    found = minimise_squares(squares, starts, (low, high), free=fixed is None, deadline=deadline)
    if found is None:
        raise SolverError(
            "The quadratic program was not solved in time. Raise `time_limit`, or take the "
            "distance L1."
        )
    z, certificate, note = found
    search.notes.append(note)
    return _refined(model, _snapped(model, z)), certificate


def _break_ties(
    model: AdjustmentModel, search: DirectionSearch, time_limit: float, whole: bool
) -> None:
    """Of equally good tables prefer one in which sensitive cells move least, but a whole one."""
    assert search.best is not None
    found = search.with_broken_ties(time_limit)
    if found is None:
        return
    old, new = (_snapped(model, model.changes(x)) for x in (search.best.x, found.x))
    was_whole = whole and _is_whole_solution(model, old, np.rint(old))
    if not was_whole or _is_whole_solution(model, new, np.rint(new)):
        search.best = found


def _whole_changes(
    model: AdjustmentModel, search: DirectionSearch, deadline: float
) -> Floats | None:
    """Changes in whole numbers for the best directions; None if none were found."""
    assert search.best is not None
    z = _snapped(model, model.changes(search.best.x))
    rounded = np.rint(z)
    if _is_whole_solution(model, z, rounded):
        return rounded
    search.notes.append("whole numbers needed a program of their own")
    found = search.whole(max(deadline - time.monotonic(), 10.0))
    if found is None:
        search.notes.append("no adjustment in whole numbers was found")
        return None
    return np.rint(model.changes(found.x))


def _snapped(model: AdjustmentModel, z: Floats) -> Floats:
    """Set changes that are at a level, at the end of their room or at 0 exactly there."""
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
    kept = all(row.error(model.problem, rounded) <= 1e-9 for row in model.preserved)
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
    worse = any(row.error(problem, better) > 1e-9 for row in rows)
    smaller = np.max(np.abs(problem.table.relations @ better)) < np.max(np.abs(residual))
    return z if worse or not smaller else better


def _with_variance(
    model: AdjustmentModel, z: Floats, variance: Variance, deadline: float
) -> Floats:
    """Change what was found so that the variance stays, with its directions or others.

    With fixed directions the adjustments form a convex set, so that on the line between one
    with too large and one with too small a variance there is one that keeps it.
    """
    problem = model.problem
    kept = variance.kept(problem)
    best: Floats | None = None
    for directions in _choices(model, z, variance, deadline):
        found = _on_line(model, directions, variance, kept, deadline)
        if found is not None and (best is None or _loss(model, found) < _loss(model, best)):
            best = found
    if best is None:
        raise SolverError(
            "No adjustment that preserves the variance was found. Raise `time_limit` or "
            "`sensitive_limit`, widen bounds or capacities, or preserve the slope instead."
        )
    return best


def _loss(model: AdjustmentModel, z: Floats) -> float:
    return float(np.dot(model.weights, np.abs(z)))


def _choices(
    model: AdjustmentModel, z: Floats, variance: Variance, deadline: float
) -> list[Floats]:
    """Directions of what was found, and of what is best with some slopes.

    At a slope of 1 the variance grows by V = Var(z) / Var(a); at 1 - V / 2 it would stay if
    Var(z) did. What is needed lies near.
    """
    kept = variance.kept(model.problem)
    choices = {model.directions_of(z).tobytes(): z}
    growth = 0.0
    for number, factor in enumerate(VARIANCE_SHIFTS):
        rows = [*model.preserved, variance.slope_row(model.problem, -factor * growth)]
        level = AdjustmentModel(model.problem, model.weights, model.room, rows, like=model)
        left = max(deadline - time.monotonic(), 1.0)
        search = DirectionSearch(
            level, time.monotonic() + left / (len(VARIANCE_SHIFTS) + 1 - number)
        )
        search.start()
        search.improve(for_proof=False)
        if search.best is None:
            continue
        found = level.changes(search.best.x)
        choices.setdefault(model.directions_of(found).tobytes(), found)
        if not number:
            growth = max(kept.excess(model.problem, found), 0.0)
    return [model.directions_of(found) for found in choices.values()]


def _on_line(
    model: AdjustmentModel,
    directions: Floats,
    variance: Variance,
    kept: PreservedVariance,
    deadline: float,
) -> Floats | None:
    """Return an adjustment with given directions that keeps the variance."""
    problem = model.problem

    def solved(rows: list[PreservedRow]) -> Floats | None:
        local = AdjustmentModel(
            problem, model.weights, model.room, [*model.preserved, *rows], like=model
        )
        found = DirectionSearch(local, deadline).fixed(directions)
        return None if found is None else _refined(local, _snapped(local, local.changes(found.x)))

    start = solved([])
    if start is None:
        return None
    first = kept.excess(problem, start)
    if abs(first) <= kept.tolerance:
        return start
    cells = kept.cells
    shift = moments(problem.table.values[cells], (problem.table.values + start)[cells]).slope - 1
    # Without a change of Var(z) half of the excess would do; twice as much each time.
    near, step = (shift, start), -first / 2
    far: tuple[float, Floats] | None = None
    for _ in range(VARIANCE_TURNS):
        width = abs(step if far is None else far[0] - near[0])
        if width <= VARIANCE_WIDTH or (far is not None and time.monotonic() > deadline):
            break
        target = near[0] + step if far is None else (near[0] + far[0]) / 2
        found = solved([variance.slope_row(problem, target)])
        if found is None:
            step /= 4
        elif kept.excess(problem, found) * first > 0:
            near, step = (target, found), 2 * step
        else:
            far = (target, found)
    return None if far is None else _between(near[1], far[1], lambda z: kept.excess(problem, z))


def _between(near: Floats, far: Floats, excess: Callable[[Floats], float]) -> Floats:
    """Return the point between two at which the excess vanishes, on the side of the second."""
    sign = np.sign(excess(near))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = excess(near + middle * (far - near)) * sign > 0
        low, high = (middle, high) if inside else (low, middle)
    return near + high * (far - near)


def _certificate(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None
) -> tuple[DistanceBound, float]:
    """The best proof of a lower bound, and what it is expected to prove."""
    proved, solution = search.proved, search.root
    if search.tree is not None:
        return DistanceBound(proved, search.tree, np.empty(0)), model.loss(search.bound)
    program = proved.program if fixed is None else model.directed(fixed)
    if solution is None:
        solution = LinearSolver(program).solve()
    return DistanceBound(proved, None, solution.duals, fixed), model.loss(solution.bound)
