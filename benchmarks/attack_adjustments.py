"""Attacks on adjusted and rounded tables, by arithmetic that shares nothing with the methods.

python benchmarks/attack_adjustments.py --count 1000 --seed 0

Draws random tables over 12 orders of magnitude, with and without a last digit, with zeros, levels
of 0, frozen cells, capacities, statistics and distances, and rounded tables of counts. Each answer
is checked in fractions: every relation, every sensitive cell, bounds, frozen cells; and where all
directions can be tried, the optimum by exact linear programs, and that of a rounding by trying all
of them. Preserved statistics are computed anew. Ends with code 1 after any failure.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import traceback
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from watchdog import Watchdog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import tablecloak as tc
from margins import with_margins
from tablecloak.cta.model.precision import last_digit

SHAPES = [(2, 3), (3, 3), (3, 4), (4, 5), (2, 2, 3), (2, 3, 3), (6, 6)]
SCALES = ["plain", "spread", "block", "huge", "negative"]
STATISTICS = ["mean", "slope", "regression", "variance"]
ENUMERATED_CELLS = 12
ENUMERATED_DIRECTIONS = 4
ENUMERATED_ROUNDINGS = 12


def random_table(random: np.random.Generator, scale: str, digits: int | None) -> tc.Table:
    """Tabulate random leaves: multiples of 10^-digits, or any numbers if that is None."""
    shape = SHAPES[random.integers(len(SHAPES))]
    codes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    names = [f"d{axis}" for axis in range(len(shape))]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    n = len(frame)
    if scale == "spread":
        leaves = 10 ** random.uniform(0, 12, n)
    elif scale == "block":
        small = (frame["d0"] == "00") | (frame["d1"] == "10")
        leaves = np.where(small, random.integers(5, 31, n), random.uniform(1e10, 9e10, n))
    elif scale == "huge":
        leaves = np.where(random.random(n) < 0.2, 1e14, 1.0) * random.uniform(1, 9, n)
    else:
        leaves = random.integers(1, 300, n) * random.uniform(0.5, 1, n)
    leaves = np.where(random.random(n) < 0.1, 0.0, leaves)
    if scale == "negative":
        leaves = leaves * random.choice([-1, 1], n)
    if digits is not None:
        while digits and np.abs(leaves).sum() * 10.0**digits > 2.0**52:
            digits -= 1
        leaves = np.round(leaves, digits)
    return random_tables(random, frame.assign(v=leaves), names, digits)


def random_tables(
    random: np.random.Generator, frame: pd.DataFrame, names: list[str], digits: int | None
) -> tc.Table:
    """One table over all dimensions, or two linked ones over two of three each."""
    if len(names) > 2 and random.random() < 0.4:
        parts = (with_margins(frame, some, "v", digits=digits) for some in (names[:2], names[1:]))
        return tc.link(*parts)
    return with_margins(frame, names, "v", digits=digits)


def random_problem(random: np.random.Generator) -> tuple[tc.ProtectionProblem, str]:
    """A table with sensitive cells; and what kind it is."""
    scale = SCALES[random.integers(len(SCALES))]
    digits = [0, 0, 1, 2, 3, None][random.integers(6)]
    table = random_table(random, scale, digits)
    n, size = table.n_cells, np.abs(table.values)
    count = int(random.integers(0, min(n, 6)))
    sensitive = np.zeros(n, dtype=bool)
    sensitive[random.choice(n, count, replace=False)] = True
    level = size * random.choice([0.01, 0.1, 0.2, 1.0]) * random.uniform(0.5, 1, n)
    level = np.maximum(level, random.choice([0.0, 1.0, 1e-3]))
    if digits == 0 and random.random() < 0.5:
        level = np.ceil(level)
    upper = np.where(sensitive, level, 0.0)
    lower = np.where(sensitive, level * random.choice([1.0, 1.0, 0.5]), 0.0)
    kind = f"{scale} {'real' if digits is None else f'{digits} digits'}"
    if random.random() < 0.3:
        lower = np.where(random.random(n) < 0.5, 0.0, lower)
        upper = np.where(random.random(n) < 0.2, 0.0, upper)
        kind += ", zero levels"
    status = np.where(sensitive, "u", "s")
    if random.random() < 0.3:
        status = np.where(~sensitive & (random.random(n) < 0.2), "z", status)
        kind += ", frozen"
    top = float(size.max())
    low = np.full(n, -2 * top) if np.any(table.values < 0) else np.zeros(n)
    high = np.full(n, 3 * top + 10) if random.random() < 0.8 else np.full(n, np.inf)
    capacity = np.full(n, np.inf)
    if random.random() < 0.2:
        capacity = size * random.choice([0.0, 0.5, 2.0], n, p=[0.1, 0.4, 0.5]) + 2
    problem = tc.ProtectionProblem(
        table=table, status=status, lower_protection=lower, upper_protection=upper,
        sliding_protection=np.zeros(n), lower_bound=low, upper_bound=high, weights=np.ones(n),
        capacity_down=capacity, capacity_up=capacity,
    )  # fmt: skip
    return problem, kind


def random_options(random: np.random.Generator, problem: tc.ProtectionProblem) -> dict[str, object]:
    """Options of `adjust`."""
    options: dict[str, object] = {
        "weights": str(random.choice(["relative", "unit", "value", "log"])),
        "distance": str(random.choice(["L1", "L1", "L1", "L2", "Linf"])),
        "time_limit": 1.0,
    }
    if random.random() < 0.25:
        subset = ":all" if random.random() < 0.5 else ""
        options["preserve"] = [str(random.choice(STATISTICS)) + subset]
    if options["distance"] == "L1":
        options["integer"] = [None, None, False, True][random.integers(4)]
    if random.random() < 0.2:
        options["sensitive_limit"] = float(random.choice([1.0, 2.0, 3.0]))
    if random.random() < 0.15:
        options["directions"] = str(random.choice(["up", "down"]))
    if random.random() < 0.05:
        options["repair"] = True
        options.pop("directions", None)
    return options


# -- naive arithmetic ---------------------------------------------------------------------


def as_fractions(values: np.ndarray, digits: int | None) -> list[Fraction]:
    """The numbers that are meant: decimals if there is a last digit, else doubles as they are."""
    if digits is None:
        return [Fraction(float(value)) for value in values]
    return [Fraction(round(Fraction(float(v)) * 10**digits), 10**digits) for v in values]


def faults(adjusted: tc.Adjustment, problem: tc.ProtectionProblem) -> list[str]:
    """All promises that an adjusted table breaks."""
    found = []
    digits = last_digit(problem.table) if adjusted.integer else None
    true = as_fractions(problem.table.values, digits)
    values = as_fractions(adjusted.values, digits)
    if digits is not None and any(
        float(x) != v for x, v in zip(values, adjusted.values, strict=True)
    ):
        found.append("a value has more digits than the table")
    changes = [x - a for x, a in zip(values, true, strict=True)]
    relations = problem.table.relations
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms = [
            (Fraction(float(c)), cell)
            for c, cell in zip(relations.data[part], relations.indices[part], strict=True)
        ]
        off = abs(sum(c * changes[cell] for c, cell in terms))
        size = sum(abs(c) * max(abs(values[cell]), abs(true[cell])) for c, cell in terms)
        if off > (0 if digits is not None else 4 * size / 2**52):
            found.append(f"relation {row} is off by {float(off):g}")
    share = 1 - Fraction(1000001, 10**15)  # a level is met up to 1e-9 of it, in doubles
    for cell in np.flatnonzero(problem.sensitive).tolist():
        up = Fraction(float(problem.upper_protection[cell]))
        down = Fraction(float(problem.lower_protection[cell]))
        above = up > 0 and changes[cell] >= up * share
        below = down > 0 and -changes[cell] >= down * share
        if not (above or below):
            found.append(f"cell {cell} moved by {float(changes[cell]):g} only")
    for cell in range(problem.table.n_cells):
        x = float(adjusted.values[cell])
        slack = 4 * float(np.spacing(max(abs(x), 1e-300)))
        if not problem.lower_bound[cell] - slack <= x <= problem.upper_bound[cell] + slack:
            found.append(f"cell {cell} is out of its bounds")
        if problem.status[cell] == "z" and changes[cell] != 0:
            found.append(f"frozen cell {cell} changed")
        if problem.status[cell] == "s":
            most = problem.capacity_up[cell] if changes[cell] > 0 else problem.capacity_down[cell]
            if np.isfinite(most) and abs(changes[cell]) > most * (1 + 1e-9) + slack:
                found.append(f"cell {cell} moved beyond its capacity")
    z = np.array([float(change) for change in changes])
    if adjusted.bound > adjusted.loss * (1 + 1e-9):
        found.append(f"bound {adjusted.bound:g} above the loss {adjusted.loss:g}")
    weighted = adjusted.weights * np.abs(z)
    loss = {
        "L1": weighted.sum(),
        "L2": (weighted * np.abs(z)).sum(),
        "Linf": weighted.max(initial=0),
    }
    if abs(loss[adjusted.distance] - adjusted.loss) > 1e-6 * adjusted.loss + 1e-12 * weighted.sum():
        found.append("the loss is not that of the table")
    return found


def broken_statistics(
    adjusted: tc.Adjustment, problem: tc.ProtectionProblem, wanted: list[str]
) -> list[str]:
    """Statistics that were to stay and did not, from their definitions in fractions."""
    found = []
    true = as_fractions(problem.table.values, None)
    changes = [x - a for x, a in zip(as_fractions(adjusted.values, None), true, strict=True)]
    for name in wanted:
        everywhere = name.endswith(":all")
        cells = range(len(true)) if everywhere else np.flatnonzero(problem.sensitive).tolist()
        a, z = [true[cell] for cell in cells], [changes[cell] for cell in cells]
        mean = sum(a) / len(a)
        centred = [x - mean for x in a]
        kind = name.split(":")[0]
        dust = sum(Fraction(float(np.spacing(abs(float(x))))) for x in a)
        if kind in ("mean", "regression"):
            size = sum(abs(c) for c in z)
            if abs(sum(z)) > size / 10**6 + 4 * dust:
                found.append(f"the mean of {name} moved by {float(sum(z) / len(z)):g}")
        products = [c * d for c, d in zip(centred, z, strict=True)]
        most = max(abs(c) for c in centred)
        # Whole changes meet the slope to half a unit of one cell.
        half = most * Fraction(1, 2 * 10 ** (adjusted.decimals or 0)) if adjusted.integer else 0
        if kind in ("slope", "regression"):
            size = sum(abs(c) for c in products)
            if abs(sum(products)) > size / 10**6 + half + 4 * dust * most:
                found.append(f"the slope of {name} is off by {float(sum(products)):g}")
        if kind == "variance" and (spread := sum(c * c for c in centred)):
            shift = sum(z) / len(z)
            after = sum((c + d - shift) ** 2 for c, d in zip(centred, z, strict=True))
            if abs(after / spread - 1) > Fraction(101, 10**6):
                found.append(
                    f"the variance of {name} is {float(after / spread):.9g} of what it was"
                )
    return found


def optimum(
    problem: tc.ProtectionProblem, weights: np.ndarray, limit: float | None
) -> Fraction | None:
    """Least sum of weighted changes over all directions, in fractions; None if there is none."""
    true = as_fractions(problem.table.values, None)
    relations = problem.table.relations.toarray()
    cells = np.flatnonzero(problem.sensitive).tolist()
    best: Fraction | None = None
    for signs in itertools.product([1, -1], repeat=len(cells)):
        low, high = [], []
        for cell in range(problem.table.n_cells):
            down = _less(true[cell], problem.lower_bound[cell])
            up = _less(problem.upper_bound[cell], true[cell])
            if problem.status[cell] == "s":
                up = _least(up, problem.capacity_up[cell])
                down = _least(down, problem.capacity_down[cell])
            if problem.status[cell] == "z":
                up = down = Fraction(0)
            low.append(None if down is None else -down)
            high.append(up)
        possible = True
        for cell, sign in zip(cells, signs, strict=True):
            level = (problem.upper_protection if sign > 0 else problem.lower_protection)[cell]
            exact = Fraction(float(level))
            possible &= level > 0
            if sign > 0:
                low[cell] = exact
                high[cell] = high[cell] if limit is None else _least(high[cell], limit * level)
            else:
                low[cell] = low[cell] if limit is None else _most(low[cell], -limit * level)
                high[cell] = -exact
        if possible:
            found = exact_minimum(relations, [Fraction(float(w)) for w in weights], low, high)
            if found is not None and (best is None or found < best):
                best = found
    return best


def _less(a: object, b: object) -> Fraction | None:
    if any(isinstance(x, float | np.floating) and np.isinf(x) for x in (a, b)):
        return None
    return Fraction(a) - Fraction(b)  # type: ignore[arg-type]


def _least(a: Fraction | None, b: float) -> Fraction | None:
    return a if np.isinf(b) else Fraction(float(b)) if a is None else min(a, Fraction(float(b)))


def _most(a: Fraction | None, b: float) -> Fraction | None:
    return Fraction(float(b)) if a is None else max(a, Fraction(float(b)))


def exact_minimum(
    relations: np.ndarray, weights: list[Fraction], low: list, high: list
) -> Fraction | None:
    """Minimise sum w |z| over A z = 0, low <= z <= high, by the simplex method in fractions.

    z = start + p - q with p, q >= 0 from the end next to 0, upper limits as rows of their own;
    Bland's rule, two phases.
    """
    n = len(weights)
    start, columns, limits, costs = [], [], [], []
    constant = Fraction(0)
    for cell in range(n):
        bottom, top = low[cell], high[cell]
        if bottom is not None and top is not None and bottom > top:
            return None
        at = (
            bottom
            if bottom is not None and bottom > 0
            else top
            if top is not None and top < 0
            else Fraction(0)
        )
        start.append(at)
        constant += weights[cell] * abs(at)
        for sign, end in ((1, top), (-1, bottom)):
            span = None if end is None else sign * (end - at)
            if span == 0:
                continue
            away = sign if at == 0 else sign * (1 if at > 0 else -1)
            columns.append((cell, sign))
            limits.append(span)
            costs.append(weights[cell] * (away if at != 0 else 1))
    matrix = [[Fraction(int(c)) for c in row] for row in relations.tolist()]
    rows, sides = [], []
    for row in matrix:
        rows.append([row[cell] * sign for cell, sign in columns])
        sides.append(-sum((c * a for c, a in zip(row, start, strict=True)), Fraction(0)))
    slack_of = [k for k, span in enumerate(limits) if span is not None]
    for k in slack_of:
        rows.append([Fraction(int(j == k)) for j in range(len(columns))])
        sides.append(limits[k])
    total = len(columns) + len(slack_of)
    for number, row in enumerate(rows):
        slack = number - len(matrix)
        row += [Fraction(int(slack == j)) for j in range(len(slack_of))]
        if sides[number] < 0:
            rows[number] = [-c for c in row]
            sides[number] = -sides[number]
    basis = []
    for number in range(len(rows)):
        slack = number - len(matrix)
        basis.append(len(columns) + slack if slack >= 0 else total + number)
    m = len(matrix)
    tableau = [
        row + [Fraction(int(number == j)) for j in range(m)] + [side]
        for number, (row, side) in enumerate(zip(rows, sides, strict=True))
    ]
    first = [Fraction(0)] * total + [Fraction(1)] * m
    if _simplex(tableau, basis, first, total + m) > 0:
        return None
    second = costs + [Fraction(0)] * (len(slack_of) + m)
    return constant + _simplex(tableau, basis, second, total)


def _simplex(tableau: list, basis: list, cost: list, allowed: int) -> Fraction:
    while True:
        entering = None
        for j in range(allowed):
            reduced = cost[j] - sum(
                (cost[basis[i]] * row[j] for i, row in enumerate(tableau) if row[j]), Fraction(0)
            )
            if reduced < 0:
                entering = j
                break
        if entering is None:
            return sum((cost[basis[i]] * row[-1] for i, row in enumerate(tableau)), Fraction(0))
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(tableau)
            if row[entering] > 0 or (basis[i] >= allowed and row[entering] != 0 and row[-1] == 0)
        ]
        _, _, leaving = min(ratios)
        pivot = tableau[leaving]
        scale = pivot[entering]
        tableau[leaving] = pivot = [c / scale for c in pivot]
        for i, row in enumerate(tableau):
            if i != leaving and row[entering]:
                times = row[entering]
                tableau[i] = [c - times * p for c, p in zip(row, pivot, strict=True)]
        basis[leaving] = entering


# -- the loop -----------------------------------------------------------------------------


def attack_adjustment(random: np.random.Generator, counts: Counter[str]) -> list[str]:
    """Adjust one random table and check what comes out."""
    problem, kind = random_problem(random)
    options = random_options(random, problem)
    counts[kind.split(",")[0]] += 1
    counts[str(options["distance"])] += 1
    for word in ("zero levels", "frozen"):
        counts[word] += word in kind
    counts["linked"] += len(problem.table.keys.columns) > 2 and not _is_one_table(problem)
    for name in options.get("preserve", ()):
        counts[f"preserved {name}"] += 1
    idle = problem.sensitive & (problem.upper_protection <= 0) & (problem.lower_protection <= 0)
    started = time.monotonic()
    try:
        adjusted = tc.adjust(problem, **options)
    except tc.ModelError as error:
        counts["refused: impossible"] += 1
        text = str(error)
        if np.any(idle) != ("level 0 on both sides" in text):
            return [f"{kind}: {text}"]
        plain = "preserve" not in options and "directions" not in options
        if not np.any(idle) and plain and options.get("integer") is not True and _is_small(problem):
            counts["impossible in fractions"] += 1
            cost = np.ones(problem.table.n_cells)
            if optimum(problem, cost, options.get("sensitive_limit")) is not None:
                return [f"{kind}: called impossible, but a table exists: {text[:200]}"]
        return []
    except tc.InputError as error:
        counts["refused: input"] += 1
        known = ("has no cell", "does not go", "only", "whole", "variance")
        return [] if any(word in str(error) for word in known) else [f"{kind}: {error}"]
    except tc.SolverError as error:
        counts["not found"] += 1
        counts[f"not found, {options['distance']}{', statistics' * ('preserve' in options)}"] += 1
        if counts["verbose"]:
            print(kind, options, error)
        return []
    seconds = time.monotonic() - started
    counts["late"] += seconds > 6
    counts["answers"] += 1
    counts["answers in last digits"] += adjusted.integer
    counts["answers proved optimal"] += adjusted.is_optimal
    if np.any(idle) and not options.get("repair"):
        return [f"{kind}: levels of 0 on both sides were accepted"]
    asked = adjusted.problem if options.get("repair") else problem
    found = [f"{kind}: {fault}" for fault in faults(adjusted, asked)]
    wanted = list(options.get("preserve", ()))
    found += [f"{kind}: {fault}" for fault in broken_statistics(adjusted, asked, wanted)]
    counts["cells checked"] += asked.table.n_cells
    counts["sensitive cells checked"] += asked.n_sensitive
    counts["statistics checked"] += len(wanted)
    adjusted.verify()
    if not options.get("repair") and not tc.audit(problem, adjusted).is_safe:
        found.append(f"{kind}: the audit does not find it safe")
    plain = (
        options["distance"] == "L1" and "preserve" not in options and "directions" not in options
    )
    if plain and adjusted.problem.n_sensitive != 0 and _is_small(asked):
        counts["optimum in fractions"] += 1
        best = optimum(asked, adjusted.weights, options.get("sensitive_limit"))
        if best is None and not adjusted.integer:
            # Bounds may be met up to the rounding of the values themselves.
            counts["met by rounding only"] += 1
        elif best is not None:
            best_loss = float(best)
            # Without a last digit values are the doubles nearest to what was meant.
            ulps = 0.0 if adjusted.integer else 4 * np.spacing(np.abs(adjusted.values))
            rounding = float(np.sum(adjusted.weights * ulps))
            if adjusted.decimals is None and adjusted.bound > best_loss * (1 + 1e-9):
                found.append(f"{kind}: bound {adjusted.bound!r} above the optimum {best_loss!r}")
            if adjusted.loss < best_loss * (1 - 2e-9) - rounding:
                found.append(f"{kind}: loss {adjusted.loss!r} below the optimum {best_loss!r}")
            if adjusted.decimals is None and adjusted.is_optimal:
                counts["claimed optima checked"] += 1
                if adjusted.loss > best_loss * (1 + 2e-6) + rounding:
                    found.append(f"{kind}: {adjusted.loss!r} is called optimal, {best_loss!r} is")
    return found


def _is_one_table(problem: tc.ProtectionProblem) -> bool:
    """Whether there is a cell with a code of its own on every dimension."""
    return bool((problem.table.keys != "Total").all(axis=1).any())


def _is_small(problem: tc.ProtectionProblem) -> bool:
    few = problem.n_sensitive <= ENUMERATED_DIRECTIONS
    return few and problem.table.n_cells <= ENUMERATED_CELLS


def attack_rounding(random: np.random.Generator, counts: Counter[str]) -> list[str]:
    """Round one random table of counts and check what comes out."""
    shape = SHAPES[random.integers(len(SHAPES))]
    names = [f"d{axis}" for axis in range(len(shape))]
    frame = pd.DataFrame(list(itertools.product(*(range(s) for s in shape))), columns=names)
    top = int(random.choice([5, 50, 10**9, 10**14]))
    frame = frame.astype(str).assign(v=random.integers(0, top, len(frame)).astype(float))
    table = random_tables(random, frame, names, 0)
    n, zero = table.n_cells, np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )
    base = int(random.choice([2, 3, 5, 10, 10**6]))
    is_small = base < 10 and top <= 50 and random.random() < 0.5
    counts["small counts" if is_small else "rounding"] += 1
    least = None if is_small else least_rounding(problem, base)
    try:
        if is_small:
            rounded = tc.small_count_rounding(problem, base=base, time_limit=3)
        else:
            rounded = tc.controlled_rounding(problem, base=base, time_limit=3)
    except (tc.ModelError, tc.SolverError) as error:
        counts["not rounded"] += 1
        if least is not None and isinstance(error, tc.ModelError):
            return [f"rounding called impossible, but one exists: {str(error)[:150]}"]
        return []
    rounded.verify()
    counts["rounded cells checked"] += n
    x = [int(value) for value in rounded.values]
    a = [int(value) for value in table.values]
    found = []
    for row in table.relations.toarray().astype(int).tolist():
        if sum(c * value for c, value in zip(row, x, strict=True)):
            found.append("rounding: a relation is off")
    if rounded.bound > rounded.loss * (1 + 1e-9):
        found.append("rounding: the bound is above the loss")
    if is_small:
        found += ["a small count is left"] * any(0 < value < base for value in x)
        found += ["a zero changed"] * any(v and not t for v, t in zip(x, a, strict=True))
        return found
    found += ["not a multiple of the base"] * any(value % base for value in x)
    most = rounded.steps * base
    found += ["too far"] * any(abs(v - t) >= most for v, t in zip(x, a, strict=True))
    if least is not None:
        counts["roundings compared with all others"] += 1
        if rounded.steps > 1:
            found.append(f"{rounded.steps} steps, but one is enough")
        elif rounded.bound > least * (1 + 1e-9) or rounded.loss < least * (1 - 1e-9):
            found.append(
                f"rounding: loss {rounded.loss!r}, bound {rounded.bound!r}, best {least!r}"
            )
        elif rounded.is_optimal and rounded.loss > least * (1 + 2e-6):
            found.append(f"rounding: {rounded.loss!r} is called optimal, {least!r} is")
    return found


def least_rounding(problem: tc.ProtectionProblem, base: int) -> float | None:
    """Least sum of changes where each value goes to one of the multiples around it, by trying all.

    None if there is no such table, or if there are too many to be tried.
    """
    a = [int(value) for value in problem.table.values]
    free = [cell for cell, value in enumerate(a) if value % base]
    if len(free) > ENUMERATED_ROUNDINGS or max(a) + base > 2**53:
        return None
    choices = np.array(list(itertools.product([0, 1], repeat=len(free))), dtype=np.int64)
    x = np.tile(np.array([value - value % base for value in a], dtype=np.int64), (len(choices), 1))
    x[:, free] += base * choices
    relations = problem.table.relations.toarray().astype(np.int64)
    additive = x[~np.any(x @ relations.T, axis=1)]
    losses = np.abs(additive - np.array(a, dtype=np.int64)).sum(axis=1)
    return float(losses.min()) if len(losses) else None


def main() -> int:
    """Run the loop; return 1 after any failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=np.inf, help="end after these")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    warnings.simplefilter("ignore", tc.TablecloakWarning)
    started = time.monotonic()

    def report() -> None:
        for name, count in sorted(counts.items()):
            print(f"{count:7,} {name}")
        print(f"{len(failures)} failures, {time.monotonic() - started:.0f} s", flush=True)

    watchdog = Watchdog(report)
    for number in range(options.seed, options.seed + options.count):
        if time.monotonic() - started > options.seconds:
            break
        watchdog.watch(number)
        counts["problems"] += 1
        random = np.random.default_rng(number)
        attack = attack_rounding if random.random() < 0.1 else attack_adjustment
        try:
            found = attack(random, counts)
        except Exception as error:
            place = traceback.format_tb(error.__traceback__)[-1].strip().replace("\n", " ")
            found = [f"{type(error).__name__}: {error} {place}"]
        for fault in found:
            failures.append(fault)
            print(f"FAILURE, seed {number}: {fault}", flush=True)
    report()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
