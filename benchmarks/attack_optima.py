"""Attack claimed optima, bounds and impossibilities where coefficients and values differ widely.

    python benchmarks/attack_optima.py --count 300 --seed 0
    python benchmarks/attack_optima.py --count 100 --seed 7 --family intervals --seconds 5
    python benchmarks/attack_optima.py --family adjustment --only 12

Each seed draws a small problem: coefficients from 1e-4 to 1e4 (tonnes and kilograms, currencies,
one large one), values to 1e12, bounds near, far and infinite, weights from 1e-6 to 1e6 and 0. All
that is claimed of the answer is compared with programs in fractions that cut nothing off: a claim
counts as false where a concrete release loses less, or exists although none is said to.
Certificates go through the stand-alone verifier together with the problem file. Prints what was
exercised, and each fault with the seed that repeats it; ends with 1 if there was any.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import math
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tablecloak as tc
from exact_programs import (
    Ends,
    Numbers,
    Program,
    UnboundedError,
    least_squares,
    whole_solution,
)
from forged_certificates import VERDICTS
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from watchdog import Watchdog

Random = np.random.Generator

CLAIMED = Fraction(1000001, 1000000)
"""Factor by which a claim may miss the truth: what counts as proved optimal."""

NODES = 150
"""Nodes of a search for whole numbers; what it has found by then exists all the same."""

DIGITS = 15
"""Digits that a number of the problem may have, so that it is stored as it is meant."""

ZERO, ONE = Fraction(0), Fraction(1)

# -- problems -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A small problem by its numbers, and what is asked of it."""

    family: str
    relations: list[list[float]]
    values: list[float]
    sides: list[float]
    status: str
    lower_levels: list[float]
    upper_levels: list[float]
    low: list[float]
    high: list[float]
    weights: list[float]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of cells."""
        return len(self.values)

    def problem(self) -> tc.ProtectionProblem:
        """Return the problem as a file holds it."""
        table = tc.Table(
            keys=pd.DataFrame({"cell": [f"c{i}" for i in range(self.n)]}),
            values=np.array(self.values),
            relations=csr_array(np.array(self.relations)),
            right_hand_side=np.array(self.sides),
        )
        return tc.ProtectionProblem(
            table=table, status=np.array(list(self.status)),
            lower_protection=np.array(self.lower_levels),
            upper_protection=np.array(self.upper_levels),
            sliding_protection=np.zeros(self.n),
            lower_bound=np.array(self.low), upper_bound=np.array(self.high),
            weights=np.array(self.weights),
        )  # fmt: skip

    def text(self) -> str:
        """Write the numbers in one line."""
        return json.dumps(asdict(self))


def exact(number: float) -> Fraction:
    """The decimal number that is meant."""
    return Fraction(repr(float(number)))


def end(number: float) -> Fraction | None:
    """The same of a bound; None where there is none."""
    return None if math.isinf(number) else exact(number)


def few_digits(number: float, digits: int = 4) -> float:
    """A number with few digits."""
    return float(f"{number:.{digits}g}")


def random_relations(random: Random, n: int) -> list[list[float]]:
    """Draw one to three relations of a random style between n cells, some of them repeated."""
    style = str(
        random.choice(
            ["plain", "tonnes", "shares", "currency", "one large", "any", "mixed", "two units"]
        )
    )
    if style == "two units" and n >= 5:
        return two_units(float(random.choice([1e-4, 1e-3, 0.01, 100.0, 1e3, 1e4])), n)
    rows = []
    for number in range(int(random.integers(1, min(n - 1, 3) + 1))):
        kind = style
        if style == "mixed":
            kind = str(random.choice(["plain", "tonnes", "currency", "any"]))
        count = int(random.integers(2, min(n, 4) + 1))
        cells = random.choice(n, count, replace=False)
        if number == 0 and random.random() < 0.5:
            cells = np.arange(count)
        row = [0.0] * n
        for place, cell in enumerate(cells.tolist()):
            row[cell] = _coefficient(random, kind, place)
        rows.append(row)
    if random.random() < 0.9:
        for cell in np.flatnonzero(~np.any(rows, axis=0)).tolist():
            rows[int(random.integers(len(rows)))][cell] = _coefficient(random, style, 1)
    if random.random() < 0.15:
        factor = float(random.choice([1.0, -1.0, 2.0, 1000.0]))
        rows.append([factor * coefficient for coefficient in rows[0]])
    return rows


def two_units(factor: float, n: int) -> list[list[float]]:
    """Two cells and their sum, and the first of these once more in another unit, as many as fit."""
    rows = [[1.0, 1.0, -1.0] + [0.0] * (n - 3)]
    for cell in range(min(3, n - 3)):
        row = [0.0] * n
        row[cell], row[3 + cell] = factor, -1.0
        rows.append(row)
    return rows


def _coefficient(random: Random, kind: str, place: int) -> float:
    """Draw a coefficient; the first of a relation is that of its total."""
    if kind == "plain":
        return -1.0 if place == 0 else 1.0
    if kind == "tonnes":
        return float(random.choice([1000.0, 100.0, 1000.0])) if place == 0 else -1.0
    if kind == "shares":
        return -1.0 if place == 0 else float(random.choice([0.001, 0.01, 0.0001, 1.0]))
    if kind == "currency":
        return -1.0 if place == 0 else few_digits(10 ** random.uniform(-2, 2), 5)
    if kind == "one large":
        sign = random.choice([-1.0, 1.0])
        return few_digits(10 ** random.uniform(1, 4), 3) if place == 0 else float(sign)
    return float(random.choice([-1, 1])) * few_digits(10 ** random.uniform(-4, 4), 4)


def random_values(random: Random, n: int, *, whole: bool) -> tuple[list[float], int]:
    """Draw values, and the digits that they have behind the point."""
    digits = 0 if whole else int(random.choice([0, 0, 1, 2, 3]))
    style = str(random.choice(["zero", "small", "spread", "huge", "thousands", "negative"]))
    top = {"zero": 0.0, "small": 2.0, "spread": 12.0, "huge": 12.0, "thousands": 5.0}
    values = 10 ** random.uniform(11 if style == "huge" else 0, top.get(style, 6.0), n)
    if style == "zero":
        values = np.zeros(n)
    if style == "negative":
        values *= random.choice([-1, 1], n)
    if random.random() < 0.3:
        values = np.where(random.random(n) < 0.4, 0.0, values)
    return [round(few_digits(v, DIGITS - 3), digits) for v in values.tolist()], digits


def sides_of(relations: list[list[float]], values: list[float]) -> list[float] | None:
    """Return A a, if numbers can hold it."""
    sides = []
    for row in relations:
        side = sum((exact(c) * exact(v) for c, v in zip(row, values, strict=True)), ZERO)
        if exact(float(side)) != side or abs(side) > 2**50:
            return None
        sides.append(float(side))
    return sides


def random_case(random: Random, family: str) -> Case:
    """Draw a problem of a family."""
    options = OPTIONS[family](random)
    whole = family in ("rounding", "small counts")
    n = int(random.integers(3, 6 if family in ("intervals", "suppression") else 7))
    relations, values, sides, digits = _table(random, n, whole, options)
    while sides is None:
        relations, values, sides, digits = _table(random, n, whole, options)
    sensitive = random.choice(n, int(random.integers(1, 3)), replace=False)
    flags = np.isin(np.arange(n), sensitive)
    status = np.where(flags, "u", "s")
    if random.random() < 0.25:
        status = np.where(~flags & (random.random(n) < 0.25), "z", status)
    if family in ("suppression", "intervals") and random.random() < 0.2:
        status = np.where((status == "s") & (random.random(n) < 0.25), "m", status)
    levels = _levels(random, values, digits)
    upper = np.where(flags, levels, 0.0)
    lower = upper * (1.0 if random.random() < 0.7 else 0.5)
    if random.random() < 0.2:
        lower = np.where(flags, _levels(random, values, digits), 0.0)
    if family == "adjustment" and random.random() < 0.15:
        lower = np.zeros(n)
    low, high = _bounds(random, values, upper)
    weights = _weights(random, values)
    case = Case(
        family, relations, values, sides, "".join(status.tolist()), lower.tolist(),
        upper.tolist(), low, high, weights,
    )  # fmt: skip
    if "directions" in options:
        options["directions"] = options["directions"][: len(sensitive)]
    return replace(case, options=options)


def _table(
    random: Random, n: int, whole: bool, options: dict[str, Any]
) -> tuple[list[list[float]], list[float], list[float] | None, int]:
    """Draw relations and values; no right-hand sides if numbers, or steps of a base, miss them."""
    relations = random_relations(random, n)
    values, digits = random_values(random, n, whole=whole)
    if whole:
        values = [float(min(abs(v), 10**9) if v > 50 else abs(v) % 12) for v in values]
    sides = sides_of(relations, values)
    if sides is not None and any(side % options.get("base", 1) for side in sides):
        sides = None if "max_steps" in options else sides
    return relations, values, sides, digits


def _levels(random: Random, values: list[float], digits: int) -> np.ndarray:
    """Draw levels from a share of the value to far beyond it, none below the precision."""
    size = np.abs(values)
    style = str(random.choice(["share", "one", "tiny", "huge", "any"]))
    n = len(values)
    found = {
        "share": size * 0.1 + 1.0,
        "one": np.full(n, 1.0),
        "tiny": np.full(n, 10.0 ** -int(random.integers(0, 4))),
        "huge": 10 ** random.uniform(4, 9, n),
        "any": 10 ** random.uniform(-3, 6, n),
    }[style]
    found = np.maximum(found, size * 1e-8)
    if random.random() < 0.6:
        found = np.maximum(np.round(found, digits), 10.0**-digits)
    return np.array([few_digits(level, 6) for level in found])


def _bounds(
    random: Random, values: list[float], levels: np.ndarray
) -> tuple[list[float], list[float]]:
    """Draw bounds: none, zero and none, far, or near."""
    style = str(random.choice(["none", "half", "far", "far", "near", "mixed"]))
    low, high = [], []
    most = float(max(levels.max(), 1.0))
    for value in values:
        kind = style if style != "mixed" else str(random.choice(["none", "far", "near"]))
        if kind in ("none", "half"):
            low.append(-math.inf if kind == "none" or value < 0 else 0.0)
            high.append(math.inf)
            continue
        exponent = random.uniform(4, 9) if kind == "far" else random.uniform(0.2, 3)
        reach = few_digits(most * 10**exponent + abs(value) * (kind == "far"), 3)
        low.append(float(exact(few_digits(value - reach, 12))))
        high.append(float(exact(few_digits(value + reach, 12))))
        if value >= 0 and random.random() < 0.5:
            low[-1] = 0.0
    pairs = zip(low, high, values, strict=True)
    return [min(a, v) for a, _, v in pairs], [max(b, v) for b, v in zip(high, values, strict=True)]


def _weights(random: Random, values: list[float]) -> list[float]:
    """Draw weights: all 1, by the value, or from 1e-6 to 1e6 with some of 0."""
    n = len(values)
    style = str(random.choice(["one", "any", "any", "zeros", "relative"]))
    found = np.ones(n)
    if style in ("any", "zeros"):
        found = 10 ** random.uniform(-6, 6, n)
    if style == "zeros":
        found = np.where(random.random(n) < 0.3, 0.0, found)
    if style == "relative":
        found = 1 / np.maximum(np.abs(values), 1.0)
    return [few_digits(weight, 4) for weight in found.tolist()]


def _adjustment_options(random: Random) -> dict[str, Any]:
    options: dict[str, Any] = {"distance": str(random.choice(["L1", "L1", "L1", "Linf", "L2"]))}
    if options["distance"] == "L1":
        options["integer"] = [None, False, False][random.integers(3)]
    if random.random() < 0.15:
        options["sensitive_limit"] = float(random.choice([1.0, 2.0, 5.0]))
    if random.random() < 0.1:
        options["directions"] = random.choice([1, -1], 2).tolist()
    return options


def _pattern_options(random: Random) -> dict[str, Any]:
    return {
        "require": str(random.choice(["two-sided", "two-sided", "width", "upper"])),
        "method": str(random.choice(["exact", "exact", "auto"])),
    }


OPTIONS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "adjustment": _adjustment_options,
    "rounding": lambda random: {
        "base": int(random.choice([2, 3, 5, 10])),
        "max_steps": int(random.choice([1, 2, 2])),
        "weights": str(random.choice(["unit", "file", "relative"])),
    },
    "small counts": lambda random: {"base": int(random.choice([3, 5]))},
    "intervals": lambda random: {
        "require": str(random.choice(["two-sided", "two-sided", "width", "upper"]))
    },
    "suppression": _pattern_options,
    "audit": lambda random: {
        "require": str(random.choice(["two-sided", "width", "upper"])),
        "hidden": (random.random(12) < 0.7).tolist(),
    },
    "frozen": lambda random: {"require": "two-sided"},
    "reconciliation": lambda random: {"distance": str(random.choice(["L1", "L2", "Linf"]))},
}
"""What is asked for, by family."""

# -- what is found ------------------------------------------------------------------------


@dataclass
class Findings:
    """What was exercised, and what is wrong."""

    done: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)

    def fault(self, kind: str, text: str) -> None:
        """Note a fault."""
        self.faults.append((kind, text))


def shown(x: Iterable[Fraction]) -> str:
    """Write a release."""
    return "[" + ", ".join(f"{float(v):.12g}" for v in x) + "]"


def check_bound(
    findings: Findings, result: Any, least: Fraction | None, release: str, what: str
) -> None:
    """Compare a bound and the claim of an optimum with a release that exists."""
    if least is None:
        return
    findings.done[f"{what}: bounds compared"] += 1
    findings.done[f"{what}: claimed optima compared"] += result.is_optimal
    slack = Fraction(result.loss) / 10**9
    if Fraction(result.bound) > least * CLAIMED + slack:
        kind = "false optimum" if result.is_optimal else "false bound"
        findings.fault(
            kind,
            f"bound {result.bound!r}, loss {result.loss!r}, but {release} loses {float(least)!r}",
        )


def check_certificate(findings: Findings, result: Any, path: Path, what: str) -> None:
    """Let the stand-alone verifier check an answer together with its problem."""
    target = path.with_suffix(".npz")
    try:
        write_certificate(result, target)
    except tc.VerificationError as error:
        findings.fault("refused certificate", str(error)[:300])
        return
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = verifier.main([str(target), str(path)])
    if code == 1 or not said.getvalue().startswith(VERDICTS.get(code, "\n")):
        findings.fault("refused certificate", said.getvalue().strip()[:300])
    findings.done[f"{what}: certificates proved"] += code != 1


def impossible(
    findings: Findings, error: tc.ModelError, release: Numbers | None, what: str
) -> None:
    """Compare the claim that there is no release with one that exists."""
    if "precision" in str(error):
        findings.done[f"{what}: levels below the precision"] += 1
    elif release is not None:
        findings.fault("false impossibility", f"{str(error)[:250]} But {shown(release)} is one")
    else:
        findings.done[f"{what}: impossible, confirmed"] += 1


def check_named(case: Case, error: tc.ModelError, require: str, findings: Findings) -> None:
    """Require that each cell of which an error says so cannot be protected, all others aside."""
    if "cannot be protected" not in str(error):
        return
    low, high = hidden_rooms(case, [letter != "z" for letter in case.status])
    for cell in error.cells:
        findings.done[f"{case.family}: named cells compared"] += 1
        above, below = (reach(case, low, high, cell, sign) for sign in (1, -1))
        if case.status[cell] != "u" or not is_short(
            required(case, cell, require), above, below, ONE
        ):
            findings.fault("false impossibility", f"{str(error)[:250]} But cell {cell} can be")


def given_up(findings: Findings, error: tc.SolverError, what: str, exists: bool) -> None:
    """Count what was not solved; it is no fault, since nothing is claimed."""
    end = "a release exists" if exists else "no release is known"
    findings.done[f"{what}: given up, {end}: {str(error)[:50]}"] += 1


# -- adjustment ---------------------------------------------------------------------------


def rooms(case: Case, limit: float | None = None) -> tuple[Ends, Ends]:
    """How far each cell may move down (below 0) and up."""
    low: Ends = []
    high: Ends = []
    for i, letter in enumerate(case.status):
        bottom, top, a = end(case.low[i]), end(case.high[i]), exact(case.values[i])
        down = None if bottom is None else bottom - a
        up = None if top is None else top - a
        if limit is not None and letter == "u":
            most = exact(limit) * exact(case.upper_levels[i])
            least = -exact(limit) * exact(case.lower_levels[i])
            up = most if up is None else min(up, most)
            down = least if down is None else max(down, least)
        low.append(ZERO if letter == "z" else down)
        high.append(ZERO if letter == "z" else up)
    return low, high


def choices_of(
    case: Case, low: Ends, high: Ends, directions: list[int] | None
) -> Iterator[tuple[Ends, Ends]]:
    """All directions of the sensitive cells, or the given ones, as rooms."""
    cells = [i for i, letter in enumerate(case.status) if letter == "u"]
    choices = itertools.product([1, -1], repeat=len(cells)) if directions is None else [directions]
    for choice in choices:
        bottom, top = list(low), list(high)
        for i, sign in zip(cells, choice, strict=True):
            level = exact((case.upper_levels if sign > 0 else case.lower_levels)[i])
            if level == 0:
                break
            if sign > 0:
                bottom[i] = level
            else:
                top[i] = -level
        else:
            yield bottom, top


def with_relations(case: Case, program: Program, columns: list[int], unit: Fraction = ONE) -> None:
    """Add A z = 0."""
    for row in case.relations:
        program.equal({columns[i]: exact(c) * unit for i, c in enumerate(row) if c})


def count_both_ways(program: Program, column: int, weight: Fraction) -> None:
    """Let a column cost its size, whichever its sign."""
    up, down = (program.column(ZERO, None, weight) for _ in range(2))
    program.equal({column: ONE, up: -ONE, down: ONE})


def changes_of(
    case: Case, weights: Numbers, bottom: Ends, top: Ends, distance: str, unit: Fraction | None
) -> Numbers | None:
    """Return the changes of least loss within rooms, or of little loss in multiples of a unit."""
    step = ONE if unit is None else unit
    low = [None if v is None else v / step for v in bottom]
    high = [None if v is None else v / step for v in top]
    if unit is not None:
        low = [None if v is None else Fraction(math.ceil(v)) for v in low]
        high = [None if v is None else Fraction(math.floor(v)) for v in high]
    program = Program()
    if distance == "L2":
        columns = [program.column(a, b) for a, b in zip(low, high, strict=True)]
        with_relations(case, program, columns)
        return least_squares(program, weights)
    columns = [program.column(a, b) for a, b in zip(low, high, strict=True)]
    with_relations(case, program, columns, step)
    largest = program.column(ZERO, None, ONE) if distance == "Linf" else -1
    for i, column in enumerate(columns):
        if distance == "Linf":
            for sign in (1, -1):
                if weights[i]:
                    program.at_most({column: sign * weights[i], largest: -ONE})
        elif low[i] is not None and low[i] >= 0:  # type: ignore[operator]
            program.cost[column] = weights[i]
        elif high[i] is not None and high[i] <= 0:  # type: ignore[operator]
            program.cost[column] = -weights[i]
        elif weights[i]:
            up, down = (
                program.column(ZERO, None, weights[i]),
                program.column(ZERO, None, weights[i]),
            )
            program.equal({column: ONE, up: -ONE, down: ONE})
    x = program.solution()
    if unit is not None and x is not None:
        x, _ = whole_solution(program, columns, NODES)
    return None if x is None else [x[column] * step for column in columns]


def moved(case: Case, z: Numbers) -> Numbers:
    """Return the values after changes."""
    return [exact(a) + d for a, d in zip(case.values, z, strict=True)]


def loss_of(weights: Numbers, z: Numbers, distance: str) -> Fraction:
    """Return the loss of changes."""
    parts = [w * (v * v if distance == "L2" else abs(v)) for w, v in zip(weights, z, strict=True)]
    return max(parts, default=ZERO) if distance == "Linf" else sum(parts, ZERO)


def best_changes(
    case: Case, weights: Numbers, unit: Fraction | None
) -> tuple[Numbers | None, Fraction | None]:
    """Return the best changes over all directions that are found, and their loss."""
    options = case.options
    distance = str(options.get("distance", "L1"))
    low, high = rooms(case, options.get("sensitive_limit"))
    best: Numbers | None = None
    least: Fraction | None = None
    for bottom, top in choices_of(case, low, high, options.get("directions")):
        z = changes_of(case, weights, bottom, top, distance, unit)
        if z is not None and (least is None or loss_of(weights, z, distance) < least):
            best, least = z, loss_of(weights, z, distance)
    return best, least


def broken_promises(case: Case, adjusted: Any) -> str:
    """Say which promise an adjusted table breaks; empty if none."""
    x = [exact(v) for v in adjusted.values.tolist()]
    z = [new - exact(old) for new, old in zip(x, case.values, strict=True)]
    for row in case.relations:
        terms = [abs(exact(c) * max(abs(v), abs(v - d))) for c, v, d in zip(row, x, z, strict=True)]
        off = abs(sum((exact(c) * d for c, d in zip(row, z, strict=True)), ZERO))
        if off > 8 * sum(terms) / 2**52:
            return f"a relation is off by {float(off)!r}"
    share = 1 - Fraction(1, 10**8)
    for i, letter in enumerate(case.status):
        dust = Fraction(4 * float(np.spacing(abs(case.values[i]) + abs(float(z[i])))))
        up, down = exact(case.upper_levels[i]), exact(case.lower_levels[i])
        risen = up > 0 and z[i] + dust >= up * share
        fallen = down > 0 and dust - z[i] >= down * share
        if letter == "u" and not (risen or fallen):
            return f"cell {i} moved by {float(z[i])!r} only"
        if letter == "z" and z[i]:
            return f"frozen cell {i} moved by {float(z[i])!r}"
        bottom, top = end(case.low[i]), end(case.high[i])
        if (bottom is not None and x[i] < bottom - dust) or (top is not None and x[i] > top + dust):
            return f"cell {i} is out of its bounds"
    return ""


def attack_adjustment(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Adjust a problem, and look for a better table, or for one at all."""
    problem = tc.read_jj(path)
    weights = [exact(w) for w in case.weights]
    what = f"adjustment {case.options['distance']}"
    try:
        adjusted = tc.adjust(
            problem, weights=np.array(case.weights), time_limit=seconds, threads=1, **case.options
        )
    except tc.ModelError as error:
        best, _ = best_changes(case, weights, None)
        impossible(findings, error, best and moved(case, best), what)
        return
    except tc.SolverError as error:
        exists = best_changes(case, weights, None)[0] is not None
        given_up(findings, error, what, exists)
        return
    adjusted.verify()
    broken = broken_promises(case, adjusted)
    if broken:
        findings.fault("broken promise", broken)
    unit = None
    if adjusted.integer and adjusted.decimals is not None:
        unit = Fraction(10) ** -adjusted.decimals
        what += " in last digits"
    best, least = best_changes(case, weights, unit)
    if best is not None:
        release = shown(moved(case, best))
        check_bound(findings, adjusted, least, release, what)
    else:
        findings.done[f"{what}: not compared"] += 1
    check_certificate(findings, adjusted, path, what)


# -- rounding -----------------------------------------------------------------------------


def least_rounding(
    case: Case, weights: Numbers, base: int, steps: int
) -> tuple[list[int] | None, Fraction | None]:
    """Try all roundings."""
    scale = 10**12
    rows = [[int(exact(c) * scale) for c in row] for row in case.relations]
    sides = [int(exact(side) * scale) for side in case.sides]
    ways = []
    for value, letter in zip(case.values, case.status, strict=True):
        below, above = int(value) // base, -(-int(value) // base)
        spare = 0 if letter == "z" else steps - 1
        # Counts are not negative, and a rounding does not change their signs.
        ways.append([base * k for k in range(max(below - spare, 0), above + spare + 1)])
    best, least = None, None
    for x in itertools.product(*ways):
        loss = sum(
            (w * abs(v - int(a)) for w, v, a in zip(weights, x, case.values, strict=True)), ZERO
        )
        if least is not None and loss >= least:
            continue
        if all(
            sum(c * v for c, v in zip(row, x, strict=True)) == side
            for row, side in zip(rows, sides, strict=True)
        ):
            best, least = list(x), loss
    return best, least


def attack_rounding(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Round a table, and compare with all roundings."""
    problem, base = tc.read_jj(path), case.options["base"]
    what = "rounding"
    most = case.options["max_steps"]
    try:
        rounded = tc.controlled_rounding(problem, time_limit=seconds, **case.options)
    except tc.ModelError as error:
        best, _ = least_rounding(case, [ONE] * case.n, base, most)
        impossible(findings, error, None if best is None else list(map(Fraction, best)), what)
        return
    rounded.verify()
    weights = [exact(w) for w in rounded.weights.tolist()]
    best, least = least_rounding(case, weights, base, rounded.steps)
    check_bound(findings, rounded, least, str(best), what)
    for steps in range(1, rounded.steps):
        fewer, _ = least_rounding(case, weights, base, steps)
        findings.done["rounding: fewer steps impossible, compared"] += 1
        if fewer is not None and any("impossible" in note for note in rounded.notes):
            findings.fault("false impossibility", f"{rounded.notes}, but {fewer} has {steps} steps")
    check_certificate(findings, rounded, path, what)


def small_counts(case: Case, base: int) -> tuple[Numbers | None, Fraction | None]:
    """Return the best table without small counts that is found, and its loss."""
    low: Ends = []
    high: Ends = []
    small = []
    for i, (value, letter) in enumerate(zip(case.values, case.status, strict=True)):
        a = Fraction(int(value))
        is_small = 0 < a < base
        if is_small:
            small.append(i)
        still = letter == "z" or a == 0
        low.append(ZERO if still else Fraction(base) - a)
        high.append(ZERO if still else None)
    best: Numbers | None = None
    least: Fraction | None = None
    weights = [ONE] * case.n
    for choice in itertools.product([0, base], repeat=len(small)):
        bottom, top = list(low), list(high)
        for i, x in zip(small, choice, strict=True):
            bottom[i] = top[i] = Fraction(x - int(case.values[i]))
        z = changes_of(case, weights, bottom, top, "L1", ONE)
        if z is not None and (least is None or loss_of(weights, z, "L1") < least):
            best, least = z, loss_of(weights, z, "L1")
    return best, least


def attack_small_counts(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Round small counts away, and look for a better table."""
    problem, base = tc.read_jj(path), case.options["base"]
    best, least = small_counts(case, base)
    try:
        rounded = tc.small_count_rounding(problem, base=base, time_limit=seconds, threads=1)
    except tc.ModelError as error:
        impossible(findings, error, best and moved(case, best), "small counts")
        return
    rounded.verify()
    if best is not None:
        release = shown(moved(case, best))
        check_bound(findings, rounded, least, release, "small counts")
    check_certificate(findings, rounded, path, "small counts")


# -- suppression --------------------------------------------------------------------------


def required(case: Case, cell: int, require: str) -> tuple[Fraction, Fraction, Fraction]:
    """What a cell needs above, below and together."""
    up, down = exact(case.upper_levels[cell]), exact(case.lower_levels[cell])
    if require == "width":
        return ZERO, ZERO, up + down
    return (up, ZERO, ZERO) if require == "upper" else (up, down, ZERO)


def reach(case: Case, low: Ends, high: Ends, cell: int, sign: int) -> Fraction | None:
    """How far a cell can move up or down within rooms; None: for ever."""
    program = Program()
    columns = [program.column(a, b) for a, b in zip(low, high, strict=True)]
    with_relations(case, program, columns)
    program.cost[cell] = Fraction(-sign)
    try:
        x = program.solution()
    except UnboundedError:
        return None
    assert x is not None
    return sign * x[cell]


def hidden_rooms(case: Case, hidden: Iterable[bool]) -> tuple[Ends, Ends]:
    """Rooms of an intruder who knows what is not hidden."""
    low, high = rooms(replace(case, status="s" * case.n))
    hidden = list(hidden)
    return (
        [a if h else ZERO for a, h in zip(low, hidden, strict=True)],
        [b if h else ZERO for b, h in zip(high, hidden, strict=True)],
    )


def is_short(
    needs: tuple[Fraction, Fraction, Fraction],
    above: Fraction | None,
    below: Fraction | None,
    share: Fraction,
) -> bool:
    """Say whether a cell that moves so far lacks a share of what it needs."""
    up, down, width = (share * need for need in needs)
    short = (above is not None and above < up) or (below is not None and below < down)
    return short or (above is not None and below is not None and above + below < width)


def exposed(case: Case, low: Ends, high: Ends, require: str, share: Fraction = ONE) -> str:
    """Say which sensitive cell is not protected; empty if all are."""
    for cell in np.flatnonzero(np.array(list(case.status)) == "u").tolist():
        above, below = (reach(case, low, high, cell, sign) for sign in (1, -1))
        if is_short(required(case, cell, require), above, below, share):
            return f"cell {cell} moves {distance(above)} up and {distance(below)} down"
    return ""


def distance(reached: Fraction | None) -> str:
    """Write a distance."""
    return "any distance" if reached is None else repr(float(reached))


def cheapest_pattern(
    case: Case, require: str, weights: Numbers
) -> tuple[list[bool] | None, Fraction | None]:
    """Try all patterns, the cheapest first."""
    must = [letter in "um" for letter in case.status]
    free = [i for i, letter in enumerate(case.status) if letter == "s"]
    patterns = []
    for choice in itertools.product([False, True], repeat=len(free)):
        hidden = list(must)
        for i, h in zip(free, choice, strict=True):
            hidden[i] = h
        patterns.append((sum((w for w, h in zip(weights, hidden, strict=True) if h), ZERO), hidden))
    everything = [letter != "z" for letter in case.status]
    if exposed(case, *hidden_rooms(case, everything), require):
        return None, None
    for loss, hidden in sorted(patterns):
        if not exposed(case, *hidden_rooms(case, hidden), require):
            return hidden, loss
    return None, None


def attack_suppression(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Suppress cells, attack the pattern, and compare it with all others."""
    problem, require = tc.read_jj(path), case.options["require"]
    weights = [exact(w) for w in case.weights]
    best, least = cheapest_pattern(case, require, weights)
    try:
        pattern = tc.suppress(problem, time_limit=seconds, threads=1, **case.options)
    except tc.ModelError as error:
        check_named(case, error, require, findings)
        if best is not None:
            best_text = [Fraction(int(h)) for h in best]
            impossible(findings, error, best_text, "suppression")
        else:
            impossible(findings, error, None, "suppression")
        return
    pattern.verify()
    open_ = exposed(case, *hidden_rooms(case, pattern.suppressed.tolist()), require, 1 / CLAIMED)
    if open_:
        findings.fault("false protection", open_)
    check_bound(findings, pattern, least, f"the pattern {best}", "suppression")
    check_certificate(findings, pattern, path, "suppression")


def attack_frozen(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Freeze what is not sensitive, and try all choices of cells to unfreeze."""
    case = replace(case, status=case.status.replace("s", "z"))
    tc.write_jj(case.problem(), path)
    problem, require = tc.read_jj(path), case.options["require"]
    frozen = [i for i, letter in enumerate(case.status) if letter == "z"]
    fewest: int | None = None
    choice: tuple[int, ...] = ()
    for count in range(len(frozen) + 1):
        for cells in itertools.combinations(frozen, count):
            hidden = [letter == "u" or i in cells for i, letter in enumerate(case.status)]
            if fewest is None and not exposed(case, *hidden_rooms(case, hidden), require):
                fewest, choice = count, cells
    try:
        unfrozen = tc.fewest_to_unfreeze(problem, require=require, time_limit=seconds, threads=1)
    except tc.ModelError as error:
        release = None if fewest is None else [Fraction(i) for i in choice]
        impossible(findings, error, release, "frozen")
        return
    findings.done["frozen: numbers compared"] += fewest is not None
    if fewest is not None and unfrozen.fewest > fewest:
        findings.fault(
            "false bound", f"{unfrozen.summary()}, but unfreezing {list(choice)} suffices"
        )
    hidden = [letter == "u" or i in unfrozen.cells for i, letter in enumerate(case.status)]
    open_ = exposed(case, *hidden_rooms(case, hidden), require, 1 / CLAIMED)
    if open_:
        findings.fault("false protection", f"{unfrozen.summary()}, but {open_}")


def attack_audit(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Compare the ends of an audit with exact ones."""
    problem, require = tc.read_jj(path), case.options["require"]
    hidden = [
        letter in "um" or (letter == "s" and chosen)
        for letter, chosen in zip(case.status, case.options["hidden"], strict=False)
    ]
    try:
        audit = tc.audit(
            problem, np.array(hidden), require=require, detail="intervals",
            time_limit=seconds, threads=1,
        )  # fmt: skip
    except tc.ModelError as error:
        low, high = hidden_rooms(case, [letter != "z" for letter in case.status])
        is_open = exposed(case, low, high, require)
        impossible(findings, error, None if is_open else [ZERO], "audit")
        return
    low, high = hidden_rooms(case, hidden)
    for place, cell in enumerate(np.flatnonzero(problem.sensitive).tolist()):
        above, below = (reach(case, low, high, cell, sign) for sign in (1, -1))
        sides = (
            ("above", above, audit.above[place], audit.limit_above[place]),
            ("below", below, audit.below[place], audit.limit_below[place]),
        )
        for side, true, witness, limit in sides:
            findings.done["audit: ends compared"] += 1
            text = f"{side} cell {cell} the end is {distance(true)}, but"
            if math.isfinite(limit) and (true is None or Fraction(limit) * CLAIMED < true):
                findings.fault("false interval", f"{text} at most {float(limit)!r} is said")
            dust = Fraction(4 * float(np.spacing(abs(case.values[cell]))))
            if true is not None and Fraction(witness) > true * CLAIMED + dust:
                findings.fault("false interval", f"{text} a witness reaches {float(witness)!r}")
        verdict, needs = audit.verdicts[place], required(case, cell, require)
        findings.done[f"audit: verdicts compared, {verdict.value}"] += 1
        if verdict is tc.Verdict.PROTECTED and is_short(needs, above, below, 1 / CLAIMED):
            findings.fault(
                "false protection", f"cell {cell} moves {distance(above)}, {distance(below)} only"
            )
        if verdict is tc.Verdict.ATTACKABLE and not is_short(needs, above, below, CLAIMED):
            findings.fault(
                "false disclosure",
                f"cell {cell} is called attackable, but moves {distance(above)} up and "
                f"{distance(below)} down",
            )


def narrowest(case: Case, require: str, weights: Numbers) -> tuple[Numbers, Fraction] | None:
    """Return the reaches above and below each cell of the narrowest protected intervals."""
    low, high = rooms(case)
    program = Program()
    free = [i for i, letter in enumerate(case.status) if letter != "z"]
    up = {i: program.column(ZERO, None, weights[i]) for i in free}
    down = {i: program.column(ZERO, None, weights[i]) for i in free}

    def witness() -> list[int]:
        columns = []
        for i in range(case.n):
            columns.append(program.column(low[i], high[i]))
            if i in up:
                program.at_most({columns[i]: ONE, up[i]: -ONE})
                program.at_most({columns[i]: -ONE, down[i]: -ONE})
        with_relations(case, program, columns)
        return columns

    for cell, letter in enumerate(case.status):
        if letter != "u":
            continue
        above, below, width = required(case, cell, require)
        if width:
            program.at_most({witness()[cell]: -ONE, witness()[cell]: ONE}, -width)
        for need, sign in ((above, 1), (below, -1)):
            if need:
                column = witness()[cell]
                if sign > 0:
                    program.low[column] = need
                else:
                    program.high[column] = -need
    x = program.solution()
    if x is None:
        return None
    return [x[up[i]] if i in up else ZERO for i in range(case.n)] + [
        x[down[i]] if i in down else ZERO for i in range(case.n)
    ], program.price(x)


def attack_intervals(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Publish intervals, attack them, and compare them with the narrowest."""
    problem, require = tc.read_jj(path), case.options["require"]
    # What must be hidden shows its external bounds, whatever it weighs.
    weights = [
        ZERO if s == "m" else exact(w) for s, w in zip(case.status, case.weights, strict=True)
    ]
    best = narrowest(case, require, weights)
    try:
        found = tc.publish_intervals(
            problem, weights=None, blur=0.0, time_limit=seconds, seed=0, **case.options
        )
    except tc.ModelError as error:
        check_named(case, error, require, findings)
        impossible(findings, error, None if best is None else best[0], "intervals")
        return
    low, high = rooms(case)
    a = [exact(v) for v in case.values]
    for i in range(case.n):
        bottom, top = end(float(found.lower[i])), end(float(found.upper[i]))
        if (bottom is not None and bottom > a[i]) or (top is not None and top < a[i]):
            findings.fault("false protection", f"the interval of cell {i} does not hold its value")
        if bottom is not None:
            low[i] = bottom - a[i] if low[i] is None else max(low[i], bottom - a[i])  # type: ignore[type-var]
        if top is not None:
            high[i] = top - a[i] if high[i] is None else min(high[i], top - a[i])  # type: ignore[type-var]
    open_ = exposed(case, low, high, require, 1 / CLAIMED)
    if open_:
        findings.fault("false protection", open_)
    if best is not None:
        text = f"{shown(best[0][: case.n])} above and {shown(best[0][case.n :])} below"
        check_bound(findings, found, best[1], text, "intervals")
    check_certificate(findings, found, path, "intervals")


# -- reconciliation -----------------------------------------------------------------------


def attack_reconciliation(case: Case, path: Path, seconds: float, findings: Findings) -> None:
    """Reconcile a table that does not add up: a total and its parts, one of which has parts."""
    distance = case.options["distance"]
    what = f"reconciliation {distance}"
    names = ["Total", "A", "B", "A1", "A2"][: 5 if case.n >= 5 else 3]
    tree: Any = {"A": {"A1": {}, "A2": {}}, "B": {}} if case.n >= 5 else None
    rows = [[-1.0, 1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 1.0, 1.0]] if tree else [[-1.0, 1.0, 1.0]]
    n = len(names)
    case = replace(
        case, relations=rows, values=case.values[:n], low=case.low[:n], high=case.high[:n],
        weights=case.weights[:n], status=case.status[:n],
    )  # fmt: skip
    fixed = [letter == "z" for letter in case.status]
    variance = [1.0 / w if w else 1.0 for w in case.weights]
    frame = pd.DataFrame(
        {"d": names, "value": case.values, "lo": case.low, "hi": case.high, "variance": variance}
    )
    low: Ends = []
    high: Ends = []
    for i in range(n):
        a = exact(case.values[i])
        bottom, top = end(case.low[i]), end(case.high[i])
        low.append(ZERO if fixed[i] else None if bottom is None else bottom - a)
        high.append(ZERO if fixed[i] else None if top is None else top - a)
    weights = [exact(1.0 / v if distance == "L2" else 1.0 / math.sqrt(v)) for v in variance]
    z = _nearest(case, weights, low, high, distance)
    try:
        result = tc.reconcile(
            frame, {"d": tree}, distance=distance, variance="variance", lower="lo", upper="hi",
            fixed=np.array(fixed), time_limit=seconds,
        )  # fmt: skip
    except tc.ModelError as error:
        impossible(findings, error, z and moved(case, z), what)
        return
    result.verify()
    if z is not None:
        least = loss_of(weights, z, distance)
        release = shown(moved(case, z))
        check_bound(findings, result, least, release, what)


def _nearest(case: Case, weights: Numbers, low: Ends, high: Ends, distance: str) -> Numbers | None:
    """Return the changes of least loss after which the table adds up."""
    program = Program()
    columns = [program.column(a, b) for a, b in zip(low, high, strict=True)]
    for row in case.relations:
        side = sum((exact(c) * exact(v) for c, v in zip(row, case.values, strict=True)), ZERO)
        program.equal({i: exact(c) for i, c in enumerate(row) if c}, -side)
    if distance == "L2":
        return least_squares(program, weights)
    largest = program.column(ZERO, None, ONE) if distance == "Linf" else -1
    for i, column in enumerate(columns):
        if distance == "Linf":
            program.at_most({column: weights[i], largest: -ONE})
            program.at_most({column: -weights[i], largest: -ONE})
        else:
            up, down = (
                program.column(ZERO, None, weights[i]),
                program.column(ZERO, None, weights[i]),
            )
            program.equal({column: ONE, up: -ONE, down: ONE})
    x = program.solution()
    return None if x is None else x[: case.n]


ATTACKS: dict[str, Callable[[Case, Path, float, Findings], None]] = {
    "adjustment": attack_adjustment,
    "rounding": attack_rounding,
    "small counts": attack_small_counts,
    "suppression": attack_suppression,
    "frozen": attack_frozen,
    "intervals": attack_intervals,
    "audit": attack_audit,
    "reconciliation": attack_reconciliation,
}
"""The attack on each family."""


def attack(case: Case, seconds: float, findings: Findings) -> None:
    """Answer a problem, and check all that is claimed of the answer."""
    started, before = time.monotonic(), len(findings.faults)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        path = Path(folder) / "problem.jj"
        try:
            tc.write_jj(case.problem(), path)
            ATTACKS[case.family](case, path, seconds, findings)
        except tc.InputError as error:
            findings.done[f"{case.family}: refused, {str(error)[:60]}"] += 1
        except tc.SolverError as error:
            findings.done[f"{case.family}: given up, {str(error)[:60]}"] += 1
        except tc.VerificationError as error:
            findings.fault("failed verification", str(error)[:300])
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            findings.fault("crash", f"{type(error).__name__} in {where}: {str(error)[:200]}")
    taken = time.monotonic() - started
    if len(findings.faults) == before:
        findings.done[f"{case.family}: problems without a fault"] += 1
    findings.done[f"{case.family}: problems"] += 1
    findings.done[f"{case.family}: slower than {5 * seconds:g} s"] += taken > 5 * seconds


def attack_seed(family: str, seed: int, seconds: float, findings: Findings) -> Case:
    """Draw one problem of a family and attack it."""
    case = random_case(np.random.default_rng([seed, list(ATTACKS).index(family)]), family)
    attack(case, seconds, findings)
    return case


def main() -> int:
    """Attack problems of all families, or of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="problems of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=list(ATTACKS))
    parser.add_argument("--seconds", type=float, default=2.0, help="time limit of each problem")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long")
    parser.add_argument("--only", type=int, help="repeat one seed, and print its problem")
    options = parser.parse_args()
    families = [options.family] if options.family else list(ATTACKS)
    seeds = range(options.seed, options.seed + options.count)
    if options.only is not None:
        seeds = range(options.only, options.only + 1)
    findings, started = Findings(), time.monotonic()

    def report() -> None:
        for what, number in sorted((+findings.done).items()):
            print(f"{number:6d}  {what}")
        for kind, number in sorted(Counter(kind for kind, _ in findings.faults).items()):
            print(f"{number:6d}  FAULTS: {kind}")
        print(f"{len(findings.faults)} faults, {time.monotonic() - started:.0f} s", flush=True)

    watchdog = Watchdog(report)
    for seed, family in itertools.product(seeds, families):
        if time.monotonic() - started > 60 * options.minutes:
            break
        watchdog.watch(seed)
        before = len(findings.faults)
        case = attack_seed(family, seed, options.seconds, findings)
        for kind, text in findings.faults[before:]:
            print(f"{family}, seed {seed}: {kind}: {text}", flush=True)
        if options.only is not None:
            print(case.text())
    report()
    return int(bool(findings.faults))


if __name__ == "__main__":
    sys.exit(main())
