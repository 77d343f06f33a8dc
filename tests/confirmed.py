"""Explanations confirmed by hand: sums added up again, ends by scipy, other releases audited.

What is checked is the dictionary of an explanation, as a reader of the JSON has it. Nothing here
shares code with the package but tables and `tc.audit`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
from scipy.optimize import linprog

import tablecloak as tc

NEAR = 1e-6
"""Accepted difference of two numbers, as a share of the larger or of the unit of the table."""


def is_near(one: float, other: float, unit: float) -> bool:
    return abs(one - other) <= NEAR * max(abs(one), abs(other), unit)


def end_of(table: tc.Table, low: np.ndarray, high: np.ndarray, cell: int, sign: int,
           side: np.ndarray | None = None) -> float:  # fmt: skip
    """Largest (sign = 1) or smallest value of a cell that agrees with all that is known."""
    cost = np.zeros(table.n_cells)
    cost[cell] = -sign
    side = table.right_hand_side if side is None else side
    found = linprog(cost, A_eq=table.relations, b_eq=side, bounds=np.column_stack([low, high]))
    assert found.status in (0, 3)
    return sign * np.inf if found.status == 3 else -sign * found.fun


def confirm_sum(
    table: tc.Table, told: dict[str, Any], cell: int, low: np.ndarray, high: np.ndarray,
    unit: float, *, side: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Add a stated sum up again, from its relations and from its terms, and attack the cell."""
    sign = 1 if told["bound"] == "at most" else -1
    assert told["is_exact"]
    attained = end_of(table, low, high, cell, sign, side)
    if told["limit"] is None:
        assert np.isinf(attained)
        return
    assert is_near(told["limit"], attained, unit)
    side = table.right_hand_side if side is None else side
    left = np.zeros(table.n_cells)
    left[cell] = sign
    constant = 0.0
    for relation in told["relations"]:
        row, y = relation["relation"], relation["multiplier"]
        left -= y * table.relations[[row], :].toarray()[0]
        constant += y * side[row]
    stated = np.zeros(table.n_cells)
    for term in told["terms"]:
        at = table.cell(**term["cell"])
        stated[at] += sign * term["coefficient"]
        end = high[at] if sign * term["coefficient"] > 0 else low[at]
        assert is_near(term["value"], end, unit)
        assert term["is_known"] == bool(low[at] == high[at])
    assert np.allclose(stated, left, atol=NEAR)
    total = sum(term["coefficient"] * term["value"] for term in told["terms"])
    assert is_near(total + sign * constant, told["limit"], unit)


def confirm_interval(problem: tc.ProtectionProblem, told: dict[str, Any], cell: int,
                     low: np.ndarray, high: np.ndarray) -> None:  # fmt: skip
    """Confirm both sums of an interval, and the verdict by what the levels ask."""
    for name in ("lower", "upper"):
        assert told[name] == told[f"{name}_sum"]["limit"]
        confirm_sum(problem.table, told[f"{name}_sum"], cell, low, high, problem.unit)
    assert told["is_protected"] == (cell not in exposed(problem, low, high, only=[cell]))


def ends_of(problem: tc.ProtectionProblem, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a pattern tells of each cell."""
    values = problem.table.values
    return (
        np.where(hidden, problem.lower_bound, values),
        np.where(hidden, problem.upper_bound, values),
    )


def exposed(problem: tc.ProtectionProblem, low: np.ndarray, high: np.ndarray,
            only: list[int] | None = None) -> set[int]:  # fmt: skip
    """Sensitive cells that come too close, by two programs each."""
    found = set()
    for cell in np.flatnonzero(problem.sensitive).tolist() if only is None else only:
        ends = [end_of(problem.table, low, high, cell, sign) for sign in (-1, 1)]
        value, slack = problem.table.values[cell], NEAR * problem.unit
        levels = problem.lower_protection[cell], problem.upper_protection[cell]
        # A cell whose levels are all 0 must still not be computed exactly.
        least = 1.0 if problem.table.integer else 2 * slack
        width = problem.sliding_protection[cell] or (0.0 if any(levels) else least)
        if (
            ends[0] > value - levels[0] + slack
            or ends[1] < value + levels[1] - slack
            or ends[1] - ends[0] < width - slack
        ):
            found.add(cell)
    return found


def confirm_hidden(problem: tc.ProtectionProblem, hidden: np.ndarray, cell: int,
                   told: dict[str, Any], count: Counter) -> None:  # fmt: skip
    """Confirm who needs a secondary suppression, the attacks without it, and its price."""
    table = problem.table
    without = hidden.copy()
    without[cell] = False
    named = {table.cell(**codes) for codes in told["needed_by"]}
    ends = ends_of(problem, without)
    assert named == exposed(problem, *ends)
    for attack in told["attacks"]:
        assert not attack["is_protected"]
        confirm_interval(problem, attack, table.cell(**attack["cell"]), *ends)
        count["attacks without a cell"] += 1
    other = told["alternative"]
    count[f"alternatives: {other['outcome']}"] += 1
    if other["outcome"] == "impossible":
        free = ~problem.frozen
        free[cell] = False
        target = table.cell(**other["attack"]["upper_sum"]["of"])
        assert not other["attack"]["is_protected"]
        confirm_interval(problem, other["attack"], target, *ends_of(problem, free))
    elif other["loss"] is not None:
        changed = hidden.copy()
        changed[[table.cell(**codes) for codes in other["publishes"]]] = False
        changed[[table.cell(**codes) for codes in other["also_hides"]]] = True
        assert not changed[cell]
        assert tc.audit(problem, changed).is_safe
        assert is_near(other["loss"], problem.weights[changed].sum(), 1.0)
        assert is_near(other["cost"], other["loss"] - problem.weights[hidden].sum(), 1.0)
        assert other["bound"] <= other["loss"] * (1 + NEAR)
        if other["outcome"] == "cheapest":
            assert is_near(other["bound"], other["loss"], 1.0)


def rooms_of(problem: tc.ProtectionProblem, directions: np.ndarray) -> tuple:
    """Least and largest change of each cell if each sensitive cell takes a direction, 0 for any."""
    values, sensitive = problem.table.values, problem.sensitive
    capacity = np.where(sensitive, np.inf, problem.capacity_down)
    low = np.maximum(problem.lower_bound - values, -capacity)
    capacity = np.where(sensitive, np.inf, problem.capacity_up)
    high = np.minimum(problem.upper_bound - values, capacity)
    low, high = np.where(problem.frozen, 0.0, low), np.where(problem.frozen, 0.0, high)
    low = np.where(sensitive & (directions > 0), problem.upper_protection, low)
    high = np.where(sensitive & (directions < 0), -problem.lower_protection, high)
    return low, high


def least_loss(problem: tc.ProtectionProblem, weights: np.ndarray, directions: np.ndarray) -> float:
    """Least sum of weighted changes if each sensitive cell takes a direction; inf if none does."""
    low, high = rooms_of(problem, directions)
    if np.any(low > high):
        return np.inf
    a, n = problem.table.relations.toarray(), problem.table.n_cells
    parts = np.vstack([np.column_stack([high.clip(0) * 0, high.clip(0)]),
                       np.column_stack([low.clip(None, 0) * 0, -low.clip(None, 0)])])  # fmt: skip
    parts[:n, 0] = low.clip(0)
    parts[n:, 0] = (-high).clip(0)
    found = linprog(np.tile(weights, 2), A_eq=np.hstack([a, -a]), b_eq=np.zeros(len(a)),
                    bounds=parts)  # fmt: skip
    return np.inf if found.x is None else found.fun


def all_directions(problem: tc.ProtectionProblem) -> list[np.ndarray]:
    """Every choice of a direction for each sensitive cell."""
    cells = np.flatnonzero(problem.sensitive)
    chosen = []
    for signs in itertools.product((1, -1), repeat=len(cells)):
        directions = np.zeros(problem.table.n_cells)
        directions[cells] = signs
        chosen.append(directions)
    return chosen


def confirm_adjusted(adjusted: tc.Adjustment, cell: int, told: dict[str, Any],
                     count: Counter) -> None:  # fmt: skip
    """Confirm the least change of a cell, and what other adjustments cost."""
    problem, changes = adjusted.problem, adjusted.changes
    assert is_near(told["change"], changes[cell], problem.unit)
    if not told["change"]:
        count["cells that stayed"] += 1
        assert told["least_sum"] is None
        return
    directions = np.where(problem.sensitive, np.sign(changes), 0.0)
    low, high = rooms_of(problem, directions)
    side, unit = np.zeros(problem.table.n_relations), problem.unit
    if told["least_sum"] is None:
        sign = np.sign(told["change"])
        end = end_of(problem.table, low, high, cell, -sign, side)
        assert sign * end <= NEAR * unit
        count["changes that nothing forces"] += 1
    else:
        confirm_sum(problem.table, told["least_sum"], cell, low, high, unit, side=side)
        count["least changes"] += 1
    assert told["least_distance"] <= abs(told["change"]) * (1 + NEAR)
    forcing = {problem.table.cell(**codes) for codes in told["forced_by"]}
    assert all(problem.sensitive[each] and each != cell for each in forcing)
    if told["least_anywhere"] is not None:
        only = np.zeros(problem.table.n_cells)
        only[cell] = 1.0
        best = min(least_loss(problem, only, each) for each in all_directions(problem))
        assert is_near(told["least_anywhere"], best, unit)
        count["least moves in any direction"] += 1
    other, staying = told["other_way"], told["staying"]
    if other is not None and other["is_excluded"]:
        turned = np.where(np.arange(len(changes)) == cell, 0.0, directions)
        ends = rooms_of(problem, turned)
        confirm_sum(problem.table, other["sum"], cell, *ends, unit, side=side)
        count["directions excluded"] += 1
    elif other is not None and other["loss"] is not None:
        turned = np.where(np.arange(len(changes)) == cell, -directions, directions)
        assert is_near(other["loss"], least_loss(problem, adjusted.weights, turned), 1e-3)
        count["directions priced"] += 1
    if staying is not None and staying["loss"] is not None:
        status = problem.status.copy()
        status[cell] = "z"
        held = problem.with_changes(status=status)
        best = min(least_loss(held, adjusted.weights, each) for each in all_directions(held))
        assert is_near(staying["loss"], best, 1e-3)
        count["stays priced"] += 1
