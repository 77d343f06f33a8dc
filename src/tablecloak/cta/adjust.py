"""From a problem to an adjusted table that is checked before anybody sees it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tablecloak.cta.additive import additive_changes, is_near_whole, published_values, whole_changes
from tablecloak.cta.adjustment import Adjustment, DistanceBound
from tablecloak.cta.distances.distance import DISTANCES, names_with
from tablecloak.cta.formulation import AdjustmentModel, room_of
from tablecloak.cta.moments import moments
from tablecloak.cta.parts import PartsBound, adjust_parts, parts_of
from tablecloak.cta.precision import (
    check_required,
    from_units,
    in_last_digits,
    last_digit,
    last_unit,
)
from tablecloak.cta.preserve import parse
from tablecloak.cta.question import Question, finite_room
from tablecloak.cta.repair import Repair, find_repair
from tablecloak.cta.search.directions import DirectionSearch
from tablecloak.cta.squares import SquaresBound, SquaresModel, minimise_squares
from tablecloak.cta.statistics.statistic import Condition, PreservedRow, Statistic
from tablecloak.cta.statistics.variance import PreservedVariance, Variance
from tablecloak.errors import (
    InputError,
    ModelError,
    SolverError,
    TablecloakError,
    listed,
)
from tablecloak.solve.bounds import proves_infeasible
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights.rule import WeightRule

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
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Adjustment:
    """Move sensitive cells to safe values and the rest as little as possible.

    min sum w_i |x_i - a_i| (or another distance) over additive tables x within their bounds,
    with each sensitive cell at least LPL below or UPL above its true value. A side on which the
    level is 0 does not count: there the true value itself would do.

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
        Where no adjustment exists, lower as few levels and raise as few capacities as possible,
        by as little as possible, and say so in the notes. Cells with lowered levels are *less*
        protected than asked for: an audit against the given problem names them.
    time_limit : float, default=60
        Seconds after which the search ends with the best adjustment found.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

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
        If both levels of a sensitive cell are 0. If there is no such table: confirmed by an
        elastic program, which names the cells that
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
    check_required(problem)
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
    distance: str
    preserve: Sequence[Statistic | str]
    sensitive_limit: float | None
    directions: Directions
    integer: bool | None
    progress: Progress | None
    searches: list[DirectionSearch] = field(default_factory=list)
    """All that were begun, so that they can be stopped."""


def _repair(problem: ProtectionProblem, chosen: _Choices, time_limit: float) -> Repair:
    whole = chosen.integer is not False and bool(problem.table.integer)
    rows = [
        row for kept in parse(chosen.preserve, problem) for row in kept.rows(problem, integer=whole)
    ]
    room = room_of(problem, limit=chosen.sensitive_limit, strict=False)
    return find_repair(problem, finite_room(problem, room), rows, time_limit=time_limit)


@dataclass(frozen=True, eq=False)
class Answer:
    """Changes that answer a question, with a proof.

    Parameters
    ----------
    changes : numpy.ndarray of longdouble, shape (n_cells,)
        In the unit of the question.
    is_whole : bool
        Whether they are whole numbers.
    certificate : DistanceBound or SquaresBound or PartsBound
    notes : tuple of str
    """

    changes: npt.NDArray[np.longdouble]
    is_whole: bool
    certificate: DistanceBound | SquaresBound | PartsBound
    notes: tuple[str, ...]


def _adjust(problem: ProtectionProblem, chosen: _Choices, time_limit: float) -> Adjustment:
    """Adjust in multiples of the last digit, or else in real numbers."""
    deadline = time.monotonic() + time_limit
    statistics = parse(chosen.preserve, problem)
    variance = [statistic for statistic in statistics if isinstance(statistic, Variance)]
    _check(problem, chosen, variance)
    decimals = _decimals(problem, chosen, bool(variance))
    if decimals is not None:
        try:
            return _adjust_in(problem, chosen, statistics, decimals, deadline)
        except ModelError:
            rounding_mattered = not _is_in_last_digits(problem, chosen, decimals)
            if chosen.integer or not rounding_mattered:
                raise
    return _adjust_in(problem, chosen, statistics, None, deadline)


def _decimals(problem: ProtectionProblem, chosen: _Choices, has_variance: bool) -> int | None:
    """Last digit of the adjusted values; None for real numbers."""
    if chosen.integer:
        return 0
    if chosen.integer is False or has_variance:
        return None
    if not DISTANCES[chosen.distance].has_whole_numbers:
        return None
    return last_digit(problem.table)


def _is_in_last_digits(problem: ProtectionProblem, chosen: _Choices, decimals: int) -> bool:
    """Whether levels and rooms are multiples of the last digit as they are."""
    try:
        fine = room_of(problem, limit=chosen.sensitive_limit, strict=False)
        coarse = room_of(
            in_last_digits(problem, decimals),
            limit=chosen.sensitive_limit,
            whole=True,
            strict=False,
        )
    except ModelError:
        return False
    unit = last_unit(decimals)
    pairs = (
        (fine.up, coarse.up), (fine.down, coarse.down),
        (fine.up_level, coarse.up_level), (fine.down_level, coarse.down_level),
    )  # fmt: skip
    return all(np.allclose(one, other * unit, rtol=1e-12, atol=1e-9 * unit) for one, other in pairs)


def _adjust_in(
    problem: ProtectionProblem,
    chosen: _Choices,
    statistics: list[Statistic],
    decimals: int | None,
    deadline: float,
) -> Adjustment:
    started = time.monotonic()
    cost = _cost(problem, chosen.weights)
    work = problem if decimals is None else in_last_digits(problem, decimals)
    whole = decimals is not None
    rows = [row for statistic in statistics for row in statistic.rows(work, integer=whole)]
    kept: list[PreservedRow | Condition] = [
        *rows,
        *(condition for entry in statistics for condition in entry.conditions(problem)),
    ]
    question = Question.of(
        problem,
        decimals=decimals,
        weights=cost,
        limit=chosen.sensitive_limit,
        preserved=rows,
        distance=chosen.distance,
    )
    answer = _answered(question, chosen, statistics, deadline)
    unit = 1.0 if decimals is None else last_unit(decimals)
    changes = np.zeros(len(cost), dtype=np.longdouble) if answer is None else answer.changes
    is_whole = whole if answer is None else answer.is_whole
    if is_whole:
        assert decimals is not None
        multiples = (work.table.values.astype(np.longdouble) + changes).astype(np.float64)
        values = from_units(multiples, decimals)
    else:
        values = published_values(problem, changes * unit)
    result = Adjustment(
        problem=problem,
        values=values,
        weights=cost,
        sensitive_limit=chosen.sensitive_limit,
        preserved=tuple(kept),
        bound_certificate=None if answer is None else answer.certificate,
        bound=0.0,
        seconds=0.0,
        decimals=decimals,
        integer=is_whole,
        notes=() if answer is None else answer.notes,
        distance=chosen.distance,
    )
    proved = result.proved_bound()
    # The table itself shows that no bound is above its loss.
    result = replace(result, bound=min(proved, result.loss))
    result.check(proved)
    return replace(result, seconds=time.monotonic() - started)


def _answered(
    question: Question, chosen: _Choices, statistics: list[Statistic], deadline: float
) -> Answer | None:
    """Answer a question, in parts if there are any; None if nothing has to change."""
    problem = question.problem
    kept = all(abs(row.target) <= row.slack for row in question.preserved)
    if not problem.n_sensitive and kept:
        return None
    if _are_free(chosen.directions) and DISTANCES[question.distance].adds_up and not statistics:
        part = parts_of(problem, question.room)
        if len(np.unique(part[problem.sensitive & (part >= 0)])) > 1:
            return _answered_in_parts(question, chosen, part, deadline)
    return _answer(question, chosen, statistics, deadline)


def _answer(
    question: Question, chosen: _Choices, statistics: Sequence[Statistic], deadline: float
) -> Answer:
    started = time.monotonic()
    distance, directions = question.distance, chosen.directions
    variance = [statistic for statistic in statistics if isinstance(statistic, Variance)]
    whole = bool(question.problem.table.integer) and chosen.integer is not False
    whole &= distance == "L1" and not variance
    model = AdjustmentModel(
        question.problem,
        question.weights,
        question.room,
        question.preserved,
        free=_are_free(directions),
        maximum=distance == "Linf",
    )
    searched = 1 - WHOLE_SHARE if whole else FIRST_SHARE[distance]
    seconds = searched * (deadline - started)
    search = DirectionSearch(model, started + seconds, chosen.progress)
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
        raise _infeasible(question, model, search, fixed, deadline)
    z: npt.NDArray[np.longdouble] | Integers | None = None
    squares: SquaresBound | None = None
    if distance == "L1" and not variance:
        _break_ties(model, search, max(deadline - time.monotonic(), 1.0))
        z = _whole_changes(model, search, deadline) if whole else None
        if z is None and chosen.integer:
            raise SolverError(
                "No adjustment in whole numbers was found for the best directions. Raise "
                "`time_limit`, or pass integer=False."
            )
    is_whole = z is not None
    if distance == "L2":
        z, squares = _least_squares(model, search, fixed, deadline)
    elif distance == "Linf":
        z = _least_sum(model, search, fixed, deadline)
    elif z is None:
        z = additive_changes(model, model.changes(search.best.x), deadline)
    if variance:
        near = np.asarray(z, dtype=np.float64)
        z = _with_variance(model, near, variance[0], fixed, deadline).astype(np.longdouble)
    certificate = squares or _certificate(model, search, fixed)
    return Answer(np.asarray(z, dtype=np.longdouble), is_whole, certificate, tuple(search.notes))


def _answered_in_parts(
    question: Question, chosen: _Choices, part: Integers, deadline: float
) -> Answer:
    """Answer for parts that no relation connects, and put the answers together."""
    interrupted = threading.Event()

    def answered(alone: Question, seconds: float) -> Answer:
        left = 0.0 if interrupted.is_set() else seconds
        return _answer(alone, chosen, (), time.monotonic() + left)

    def stop() -> None:
        interrupted.set()
        for search in chosen.searches:
            search.stop()

    found = adjust_parts(question, part, answered, deadline - time.monotonic(), stop)
    changes = np.zeros(len(part), dtype=np.longdouble)
    for number, answer in found:
        changes[part == number] = answer.changes[part == number]
    return Answer(
        changes,
        all(answer.is_whole for _, answer in found),
        PartsBound(tuple(number for number, _ in found), _own_certificates(found)),
        (
            f"{len(found)} parts that no relation connects were adjusted apart",
            *(["interrupted: best adjustment so far"] if interrupted.is_set() else []),
        ),
    )


def _own_certificates(
    found: list[tuple[int, Answer]],
) -> tuple[DistanceBound | SquaresBound, ...]:
    certificates = [answer.certificate for _, answer in found]
    return tuple(one for one in certificates if not isinstance(one, PartsBound))


def _are_free(directions: Directions) -> bool:
    return isinstance(directions, str) and directions == "search"


def _check(problem: ProtectionProblem, chosen: _Choices, variance: list[Variance]) -> None:
    """Refuse what does not go together."""
    distance, integer = chosen.distance, chosen.integer
    sensitive_limit = chosen.sensitive_limit
    kind = DISTANCES[distance]
    if integer and not kind.has_whole_numbers:
        raise InputError(
            f"Whole numbers are offered for the {names_with('has_whole_numbers')} only."
        )
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
    if variance and not kind.keeps_conditions:
        raise InputError(
            f"A variance is preserved with the {names_with('keeps_conditions')} only; the slope "
            f"with all of them."
        )


def _cost(problem: ProtectionProblem, weights: WeightRule | str | npt.ArrayLike) -> Floats:
    if isinstance(weights, WeightRule | str):
        return WeightRule(weights).of(problem)
    cost = np.asarray(weights, dtype=np.float64)
    if cost.shape != problem.table.values.shape or not np.all(np.isfinite(cost) & (cost >= 0)):
        raise InputError("`weights` must be a rule, or one finite number >= 0 for each cell.")
    return cost


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
    question: Question,
    model: AdjustmentModel,
    search: DirectionSearch,
    fixed: Floats | None,
    deadline: float,
) -> TablecloakError:
    """Return the error that fits: proved infeasible, or merely not found."""
    loosened = model.loosened()
    program = model.program if fixed is None else model.directed(fixed)
    if fixed is not None:
        loosened = model.directed(fixed, loosened)
    try:
        left = max(deadline - time.monotonic(), NAMING_SECONDS)
        found = find_infeasibility(program, time_limit=left)
    except SolverError:
        return _not_found()
    is_empty = proves_infeasible(loosened, found.duals)
    if not is_empty and search.bound == np.inf:
        # What is impossible for numbers loosened by their rounding is impossible.
        proof = DistanceBound.from_model(search.proved, search.tree, np.empty(0))
        if proof.verify(question) == np.inf:
            return ModelError(
                "No choice of directions satisfies all levels, bounds, capacities and statistics "
                "(proved by a complete search). Raise `sensitive_limit`, widen bounds or "
                "capacities, or preserve fewer statistics.",
                cells=np.flatnonzero(model.problem.sensitive),
            )
    if not is_empty:
        return _not_found()
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


def _not_found() -> SolverError:
    return SolverError(
        "No adjustment was found, and none was proved to be impossible. Raise `time_limit`, "
        "or relax `preserve`, capacities or levels."
    )


def _least_sum(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None, deadline: float
) -> npt.NDArray[np.longdouble]:
    """Of all adjustments with the maximum found, one with a small sum."""
    assert search.best is not None
    found = model.changes(search.best.x)
    weights, room = model.weights, model.room
    largest = (1 + MAXIMUM_SLACK) * float(np.max(weights * np.abs(found), initial=0.0))
    reach = np.full(len(weights), np.inf)
    reach[weights > 0] = largest / weights[weights > 0]
    near = replace(room, up=np.minimum(room.up, reach), down=np.minimum(room.down, reach))
    try:
        second = AdjustmentModel(model.problem, weights, near, model.preserved, free=fixed is None)
        again = DirectionSearch(second, max(deadline, time.monotonic() + 1.0))
        again.given(second.directions_of(found))
        if fixed is None:
            again.start()
            again.improve(for_proof=False)
        if again.best is not None:
            return additive_changes(second, second.changes(again.best.x), deadline)
    except (ModelError, SolverError):
        # At the maximum itself there is no room for rounding.
        pass
    return additive_changes(model, found, deadline)


def _least_squares(
    model: AdjustmentModel, search: DirectionSearch, fixed: Floats | None, deadline: float
) -> tuple[npt.NDArray[np.longdouble], SquaresBound]:
    """Least squares, from directions that are best for sums, or all alike."""
    assert search.best is not None
    known = float(np.dot(model.weights, model.changes(search.best.x) ** 2))
    squares = SquaresModel(
        model.problem, model.weights, model.room, model.preserved, known, model.independent
    )
    low, high = model.allowed()
    starts = [model.directions(search.best.x), high, low] if fixed is None else [fixed]
    found = minimise_squares(squares, starts, (low, high), free=fixed is None, deadline=deadline)
    if found is None:
        # A table with a small sum is an answer too; without multipliers each cell proves its own.
        z = model.changes(search.best.x)
        search.notes.append("no quadratic program was solved: the table has a small sum instead")
        nothing = np.zeros(len(squares.row_lower))
        return additive_changes(model, z, deadline), SquaresBound(
            squares.independent, nothing, fixed
        )
    z, certificate, note = found
    search.notes.append(note)
    return additive_changes(model, z, deadline), certificate


def _break_ties(model: AdjustmentModel, search: DirectionSearch, time_limit: float) -> None:
    """Of equally good tables prefer one in which sensitive cells move least, but a whole one."""
    assert search.best is not None
    found = search.with_broken_ties(time_limit)
    if found is None:
        return
    before, after = (model.changes(x) for x in (search.best.x, found.x))
    if not is_near_whole(model, before) or is_near_whole(model, after):
        search.best = found


def _whole_changes(
    model: AdjustmentModel, search: DirectionSearch, deadline: float
) -> Integers | None:
    """Changes in whole numbers for the best directions; None if none were found."""
    assert search.best is not None
    z = model.changes(search.best.x)
    if not is_near_whole(model, z):
        search.notes.append("whole numbers needed a program of their own")
    found = whole_changes(model, z, max(deadline, time.monotonic() + 10.0))
    if found is None:
        search.notes.append("no adjustment in whole numbers was found")
    return found


def _with_variance(
    model: AdjustmentModel,
    z: Floats,
    variance: Variance,
    fixed: Floats | None,
    deadline: float,
) -> Floats:
    """Change what was found so that the variance stays, with its directions or others.

    With fixed directions the adjustments form a convex set, so that on the line between one
    with too large and one with too small a variance there is one that keeps it.
    """
    problem = model.problem
    kept = variance.kept(problem)
    best: Floats | None = None
    given = [] if fixed is None else [fixed]
    for directions in given or _choices(model, z, variance, deadline):
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
        if found is None:
            return None
        try:
            exact = additive_changes(local, local.changes(found.x), deadline)
        except SolverError:
            return None
        return exact.astype(np.float64)

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
) -> DistanceBound:
    """The best proof of a lower bound."""
    if search.tree is not None:
        return DistanceBound.from_model(search.proved, search.tree, np.empty(0))
    solution = search.root
    if solution is None:
        program = search.proved.program if fixed is None else model.directed(fixed)
        solution = LinearSolver(program).solve(NAMING_SECONDS)
    return DistanceBound.from_model(search.proved, None, solution.duals, fixed)
