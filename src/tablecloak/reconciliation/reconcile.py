"""``reconcile``: a table whose cells do not add up, made additive with least change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Budget, Progress
from tablecloak.errors import InputError, ModelError, SolverError, listed, suggestion
from tablecloak.reconciliation.distances import NEARNESS, Nearness, settled
from tablecloak.reconciliation.least_squares import NearestPoint
from tablecloak.reconciliation.problem import WHOLE, ReconciliationProblem
from tablecloak.reconciliation.reconciled_table import ACCEPTED, Pass, ReconciledTable
from tablecloak.solve.feasibility import find_infeasibility
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus, on_chosen_solver
from tablecloak.tables.keys import label_of
from tablecloak.tables.published import common_decimals
from tablecloak.tables.table import ReadyCells, read_cells
from tablecloak.tables.text_numbers import numbers_of

LATER = 1e-6
"""Factor of the weights of cells of later passes, so that they hardly affect earlier ones."""

CLOSE, SURE = 1e-6, 0.25
"""Share of the last digit within which a value counts as a multiple of it, but for the errors of a
solver; and largest share that roundings of large values may explain."""

MORE_DECIMALS = 4
"""Decimals beyond those of the given values in which a best point may lie, such as sixteenths."""

DUST = 1e-14
"""Roundings of the terms of a relation, as a share of their sum."""

EXACT = 2.0**53
"""Sums of whole numbers below this are exact."""

MOST_NAMED = 5
"""Largest number of cells and relations that an error names."""


TRUTHS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}
"""Entries of a column that says for each cell whether it is chosen."""

LEAST_SECONDS = 1.0
"""Time limit in seconds of one program after the time is over: without it there is no answer."""


@on_chosen_solver
def reconcile(
    frame: pd.DataFrame,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str = "value",
    *,
    distance: str = "L2",
    variance: str | npt.ArrayLike | None = None,
    lower: str | float | None = None,
    upper: str | float | None = None,
    fixed: Mapping[str, Any] | str | npt.ArrayLike | None = None,
    order: Sequence[Mapping[str, Any]] = (),
    whole: bool = False,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
) -> ReconciledTable:
    """Make a table additive with least change.

    Use it for tables with noise from a privacy mechanism, cell keys, seasonal adjustment, or
    survey weights: each cell is a good estimate, but totals differ from the sums of their parts.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each cell, totals included. A combination of codes that does not occur is 0.
    dimensions : mapping of str to hierarchy, or sequence of str
        As for `Table.from_frame`.
    value : str, default="value"
        Column with the values.
    distance : str, default="L2"
        "L2", the sum of squares; "L1", the sum of absolute changes; "Linf", the largest change.
    variance : str or array_like, optional
        Column, or array by rows, with the variance of the noise of each cell; all equal by
        default. L2 weights squares by 1 / variance, L1 and Linf changes by 1 / standard deviation.
    lower, upper : str or float, optional
        Bounds of all cells, or columns with the bound of each; none by default.
    fixed : mapping, str or array_like, optional
        Cells that must keep their values (invariants): codes such as ``{"region": "Total"}`` or
        lists of codes; a column of truth values; or an array of truth values by rows.
    order : sequence of mapping, default=()
        Cells in order of importance, by codes as in `fixed`. Each pass makes the changes of its
        cells small and then fixes them; a last pass adjusts all other cells.
    whole : bool, default=False
        Whether the last step makes whole numbers, each within 1 of the real number. Bounds are then
        the outermost whole numbers within the given ones.
    time_limit : float, default=60
        Seconds.
    progress : callable, optional
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    ReconciledTable
        Verified.

    Raises
    ------
    InputError
        If the frame cannot be read, a bound or variance is not valid, or no table of whole numbers
        lies within 1.
    ModelError
        If no additive table meets bounds and fixed cells; the message names cells that contradict
        each other.
    SolverError
        If no additive table was found in time.

    Notes
    -----
    A privacy guarantee of the noise still holds: reconciling uses only values that may be published
    anyway (post-processing). It does not hold for cells that are fixed at their true values.

    Examples
    --------
    >>> noisy = pd.DataFrame({"region": ["Total", "N", "S"], "value": [12.0, 4.0, 5.0]})
    >>> reconcile(noisy, ["region"]).values.round(6).tolist()
    [11.0, 5.0, 6.0]
    """
    del solver
    budget = Budget.begun(time_limit, progress=progress)
    measure = NEARNESS[distance]()
    frame = frame.reset_index(drop=True)
    cells = _read(frame, dimensions, value)
    spread = _numbers_of(frame, variance, 1.0, "variance")
    odd = np.flatnonzero(~((spread > 0) & np.isfinite(spread)))
    if len(odd):
        raise InputError(
            f"`variance` is {spread[odd[0]]:g}, but must be a finite number "
            f"above 0. Name exact cells in `fixed`.",
            row=int(odd[0]),
        )
    problem = ReconciliationProblem(
        values=cells.values,
        weights=1.0 / spread if distance == "L2" else 1.0 / np.sqrt(spread),
        relations=cells.relations,
        sides=np.zeros(cells.relations.shape[0]),
        lower=_numbers_of(frame, lower, -np.inf, "lower"),
        upper=_numbers_of(frame, upper, np.inf, "upper"),
    ).fixed_at(_chosen(frame, fixed), cells.values)
    _check_bounds(problem, cells.keys, whole=False)
    if whole:
        problem = problem.in_whole_numbers()
        _check_bounds(problem, cells.keys, whole=True)
    groups = [_chosen(frame, codes) for codes in order]
    passes, values = _in_order(problem, groups, measure, whole, cells.keys, budget)
    result = ReconciledTable(
        codes=cells.keys,
        hierarchies=cells.hierarchies,
        name=value,
        given=cells.values,
        values=values,
        distance=distance,
        passes=passes,
        is_whole=whole,
        seconds=budget.elapsed,
    )
    result.verify()
    return result


def _read(
    frame: pd.DataFrame, dimensions: Mapping[str, Any] | Sequence[str], value: str
) -> ReadyCells:
    """Return the table with its cells in the order of the rows."""
    cells = read_cells(frame, dimensions, value, frequency=None, largest=(), tolerance=0.0)
    if len(cells.values) < len(frame):
        names = list(cells.keys.columns)
        again = frame[frame.astype(dict.fromkeys(names, str)).duplicated(names)]
        raise InputError(
            f"the cell {again.iloc[0][names].to_dict()} occurs twice "
            f"({len(frame) - len(cells.values)} such rows). Each cell needs one row: remove the "
            "others.",
            row=int(again.index[0]),
        )
    wrong = np.flatnonzero(~np.isfinite(cells.values))
    if len(wrong):
        raise InputError(
            f"column {value!r} must hold a finite number. Fill it in, or leave the row out.",
            row=int(wrong[0]),
        )
    return cells


def _in_order(
    problem: ReconciliationProblem,
    groups: Sequence[Flags],
    measure: Nearness,
    whole: bool,
    keys: pd.DataFrame,
    budget: Budget,
) -> tuple[tuple[Pass, ...], Floats]:
    """Answer pass after pass; later passes keep the values of the cells of earlier ones."""
    done = np.zeros(problem.n_cells, dtype=bool)
    passes: list[Pass] = []
    values = problem.values
    for group in [*groups, np.ones(problem.n_cells, dtype=bool)]:
        done = done | group
        weights = np.where(done, 1.0, LATER) * problem.weights
        weighted = replace(problem, weights=weights)
        point = measure.nearest(weighted, budget)
        if point.residual > ACCEPTED or _is_seen(weighted, point.x):
            x = settled(weighted, point.x, budget)
            point = replace(point, x=x, residual=weighted.worst(x))
        point = _without_dust(weighted, point)
        _require_table(weighted, point, keys, budget)
        loss = measure.loss(weighted, point.x)
        bound = min(measure.bound(weighted, point.multipliers, loss), loss)
        passes.append(Pass(weighted, point.x, point.multipliers, loss, bound))
        values = whole_table(weighted, point.x, budget) if whole else point.x
        problem = problem.fixed_at(done, values)
    return tuple(passes), values


def _without_dust(problem: ReconciliationProblem, point: NearestPoint) -> NearestPoint:
    """Return the point in the decimals of the given values or a few more, or without binary dust.

    Cells become multiples of the last digit where they differ from these by a solver's errors or
    the roundings of their relations alone. If all do, the relations have to hold exactly.
    """
    decimals = common_decimals(problem.values)
    if decimals is None:
        return point
    dust = DUST * (abs(problem.relations).T @ problem.scale())
    for places in range(decimals, decimals + MORE_DECIMALS + 1):
        rounded, is_near = _multiples(problem, point.x, places, dust)
        if np.all(is_near) and _adds_up(problem, rounded, places):
            return replace(point, x=rounded, residual=0.0)
    rounded, is_near = _multiples(problem, point.x, decimals, dust)
    x = np.where(is_near, rounded, point.x)
    residual = problem.worst(x)
    return point if residual > max(point.residual, DUST) else replace(point, x=x, residual=residual)


def _multiples(
    problem: ReconciliationProblem, x: Floats, decimals: int, dust: Floats
) -> tuple[Floats, Flags]:
    """Return the nearest multiples of a last digit, and which cells differ by nothing more."""
    step, rounded = 10.0**-decimals, np.round(x, decimals)
    is_near = np.abs(rounded - x) <= np.clip(dust, CLOSE * step, SURE * step)
    return rounded, is_near & (rounded >= problem.lower) & (rounded <= problem.upper)


def _is_seen(problem: ReconciliationProblem, x: Floats) -> bool:
    """Whether a relation is off by half a last digit of the given values or more.

    Beside large values that is less than a solver's errors, but a reader sees it.
    """
    decimals = common_decimals(problem.values)
    if decimals is None:
        return False
    return bool(np.any(np.abs(problem.residual(x)) >= 0.5 * 10.0**-decimals))


def _adds_up(problem: ReconciliationProblem, x: Floats, decimals: int) -> bool:
    """Whether all relations hold exactly for multiples of a last digit."""
    scale = 10.0**decimals
    whole, sides = np.rint(x * scale), np.rint(problem.sides * scale)
    terms = abs(problem.relations) @ np.abs(whole) + np.abs(sides)
    return bool(np.all(terms < EXACT) and np.array_equal(problem.relations @ whole, sides))


def _numbers_of(
    frame: pd.DataFrame, given: str | npt.ArrayLike | None, default: float, name: str
) -> Floats:
    """Return one number for each row: from a column, from an array, or the same for all."""
    if given is None:
        return np.full(len(frame), default)
    if isinstance(given, str):
        found = numbers_of(_column(frame, given, f"which `{name}` names")).to_numpy()
    else:
        found = np.broadcast_to(np.asarray(given, dtype=np.float64), len(frame)).copy()
    missing = np.flatnonzero(np.isnan(found))
    if len(missing):
        raise InputError(f"`{name}` has no number there. Fill it in.", row=int(missing[0]))
    return found


def _column(frame: pd.DataFrame, name: str, what_for: str) -> pd.Series:
    if name not in frame:
        near = suggestion(str(name), map(str, frame.columns))
        raise InputError(f"The data has no column {name!r}, {what_for}.{near}")
    return frame[name]


def _chosen(frame: pd.DataFrame, given: Mapping[str, Any] | str | npt.ArrayLike | None) -> Flags:
    """Return the rows that are chosen by codes, by a column, or by truth values."""
    if given is None:
        return np.zeros(len(frame), dtype=bool)
    if isinstance(given, str):
        return _truths_of(_column(frame, given, "which chooses cells"), given)
    if not isinstance(given, Mapping):
        return np.broadcast_to(np.asarray(given, dtype=bool), len(frame)).copy()
    chosen = np.ones(len(frame), dtype=bool)
    for name, codes in given.items():
        wanted = [codes] if isinstance(codes, str) else list(codes)
        column = _column(frame, name, "by which cells are chosen").astype(str)
        chosen &= column.isin([str(code) for code in wanted]).to_numpy()
    if not chosen.any():
        raise InputError(
            f"No cell has the codes {dict(given)}. Check their spelling, and that the data have "
            "a row with all of them."
        )
    return chosen


def _truths_of(column: pd.Series, name: str) -> Flags:
    """Return a column of true and false; a word such as "no" must not count as true."""
    found = column.astype(str).str.strip().str.lower().map(TRUTHS)
    odd = np.flatnonzero(found.isna())
    if len(odd):
        raise InputError(
            f"column {name!r} chooses cells and must be true or false, but is "
            f"{column.iloc[odd[0]]}. Correct it.",
            row=int(odd[0]),
        )
    return found.to_numpy(dtype=bool)


def _check_bounds(problem: ReconciliationProblem, keys: pd.DataFrame, *, whole: bool) -> None:
    """Refuse bounds between which some cell has no value, or no whole number."""
    crossed = np.flatnonzero(problem.lower > problem.upper)
    if not len(crossed):
        return
    cell, n_such = int(crossed[0]), f"({len(crossed)} such cells)"
    if whole:
        raise InputError(
            f"Cell {label_of(keys, cell)}: no whole number lies within its bounds, or the value "
            f"{problem.values[cell]:.15g} at which it is fixed is not whole {n_such}. Correct "
            f"`lower`, `upper` or `fixed`, or leave out `whole`."
        )
    raise InputError(
        f"Cell {label_of(keys, cell)}: its lower bound {problem.lower[cell]:g} is above its "
        f"upper bound {problem.upper[cell]:g} {n_such}. Correct `lower` or `upper`."
    )


def _require_table(
    problem: ReconciliationProblem, point: NearestPoint, keys: pd.DataFrame, budget: Budget
) -> None:
    """Refuse a table that does not add up; if it is proved that none does, say why."""
    is_accepted = point.residual <= ACCEPTED
    if is_accepted and not _is_seen(problem, point.x):
        return
    in_units, _, _ = problem.of_changes()
    try:
        found = find_infeasibility(in_units.program(), time_limit=max(budget.left, 10.0))
    except SolverError:
        if is_accepted:
            return
        raise
    if not found.confirmed:
        if is_accepted:
            return
        raise SolverError(
            f"No additive table was found in time: a relation is off by {point.residual:.2g} of "
            f"its terms. Raise `time_limit`."
        )
    price = np.abs(problem.relations.T @ found.duals)
    concerned = np.flatnonzero(price > 1e-9 * max(float(price.max()), 1e-300))
    fixed = [int(cell) for cell in concerned if not problem.free[cell]]
    named = fixed or [int(cell) for cell in concerned]
    labels = listed([f"({label_of(keys, cell)})" for cell in named[:MOST_NAMED]])
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    what = "fixed cells and bounds" if fixed else "bounds"
    raise ModelError(
        f"No additive table meets the {what} (proved): {labels}{more} contradict each other. Free "
        f"some of these cells, or widen their bounds."
    )


def whole_table(problem: ReconciliationProblem, real: Floats, budget: Budget) -> Floats:
    """Return whole numbers that add up, each less than 1 from the real number if possible.

    Parameters
    ----------
    problem : ReconciliationProblem
        Its bounds and sides are whole numbers.
    real : numpy.ndarray of float, shape (n_cells,)
        The real table.
    budget : Budget

    Returns
    -------
    numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    InputError
        If no whole table lies within 1 of the real one.
    SolverError
        If none was found in time.

    Notes
    -----
    The two whole numbers next to each value are tried first. In two dimensions they always suffice
    (Cox and Ernst 1982) and a linear program finds them. In more dimensions they may not suffice;
    then a value that is whole already may also change, by 1 at most.
    """
    found, is_certain = _nearest(problem, real, budget)
    if found is None and np.any(np.abs(problem.residual(real)) > WHOLE):
        # Large numbers add up to within some units only, and no whole table is near such a one.
        found, is_certain = _nearest(problem, settled(problem, real, budget), budget)
    if found is not None:
        return found
    if is_certain:
        raise InputError(
            "No table of whole numbers lies within 1 of the real one (proved). Allow more by "
            "fixing fewer cells, or take the table of real numbers."
        )
    raise SolverError(
        "No table of whole numbers was found in time. Raise `time_limit`, or take the table of "
        "real numbers."
    )


def _nearest(
    problem: ReconciliationProblem, real: Floats, budget: Budget
) -> tuple[Floats | None, bool]:
    """Return whole numbers within 1 of real ones, or None and whether it is certain."""
    near = np.where(np.abs(real - np.rint(real)) <= WHOLE, np.rint(real), real)
    tightest = np.floor(near), np.ceil(near)
    widest = np.ceil(near - 1.0), np.floor(near + 1.0)
    bounds, is_certain = problem.in_whole_numbers(), True
    for ends in (tightest, widest):
        low, high = np.maximum(ends[0], bounds.lower), np.minimum(ends[1], bounds.upper)
        if np.any(low > high):
            continue
        steps, is_settled = _solved(_program(problem, near, low, high), budget)
        if steps is not None:
            return low + steps, True
        is_certain &= is_settled
    return None, is_certain


def _program(problem: ReconciliationProblem, near: Floats, low: Floats, high: Floats) -> Program:
    """Return the program min sum w (low + t - x)^2, linear in t, which is exact for t in {0, 1}."""
    slope = problem.weights * (2 * (low - near) + (high - low))
    side = problem.sides - problem.relations @ low
    return Program(
        cost=slope / max(float(np.median(np.abs(slope[slope != 0]))), 1e-12)
        if np.any(slope)
        else slope,
        matrix=csr_array(problem.relations),
        row_lower=side,
        row_upper=side,
        lower=np.zeros(len(low)),
        upper=high - low,
        integral=np.ones(len(low), dtype=bool),
    )


def _solved(program: Program, budget: Budget) -> tuple[Floats | None, bool]:
    """Return the steps above the lower whole numbers or None, and whether that is settled."""
    relaxed = LinearSolver(program).solve(max(budget.left, LEAST_SECONDS))
    if relaxed.status is SolveStatus.INFEASIBLE:
        return None, True
    if len(relaxed.x) and np.all(np.abs(relaxed.x - np.rint(relaxed.x)) <= WHOLE):
        return np.rint(relaxed.x), True
    found = solve(program, time_limit=max(budget.left, LEAST_SECONDS), gap=0.05)
    if len(found.x):
        return np.rint(found.x), True
    return None, found.status is SolveStatus.INFEASIBLE
