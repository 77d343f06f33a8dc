"""Claims on small problems with coefficients and values of any size, against programs in fractions.

Each seed of `benchmarks/attack_optima.py` is a problem; here are a few of each family, the
smallest problems that an engine with cut rooms answers wrongly, and the programs themselves.
"""

from __future__ import annotations

import importlib
import math
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import tablecloak as tc

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
attacks: Any = importlib.import_module("attack_optima")
programs: Any = importlib.import_module("exact_programs")

PROBLEMS, SECONDS = 20, 0.2
LEAST_COMPARED = 6
FAR = math.inf


@pytest.mark.parametrize("family", attacks.ATTACKS)
def test_claims_on_problems_of_all_scales_are_true(family):
    findings = attacks.Findings()
    for seed in range(PROBLEMS):
        attacks.attack_seed(family, seed, SECONDS, findings)
    assert not findings.faults
    compared = [
        number
        for what, number in findings.done.items()
        if any(
            word in what for word in ("bounds compared", "numbers compared", "verdicts compared")
        )
    ]
    assert sum(compared) >= LEAST_COMPARED
    assert findings.done[f"{family}: problems"] == PROBLEMS


def case(family: str, rows: list, values: list, status: str, **given: Any) -> Any:
    """A problem by its numbers; levels of 1, weights of 1 and no bounds if nothing else is said."""
    n = len(values)
    level = [float(letter == "u") for letter in status]
    rows, values = [[float(c) for c in row] for row in rows], [float(v) for v in values]
    numbers = {
        "lower_levels": level, "upper_levels": level, "low": [-FAR] * n, "high": [FAR] * n,
        "weights": [1.0] * n,
    }  # fmt: skip
    options = {name: what for name, what in given.items() if name not in numbers}
    numbers |= {name: list(map(float, given[name])) for name in numbers if name in given}
    sides = attacks.sides_of(rows, values)
    assert sides is not None
    return attacks.Case(family, rows, values, sides, status, **numbers, options=options)


KILOGRAMS = [[1000, -1]]
"""A cell in tonnes, and the same in kilograms."""

CHAIN = [[-1, 1, 0.01, 0], [-1000, 0, 0, -1]]

SMALLEST = {
    "an adjustment exists": case("adjustment", KILOGRAMS, [0, 0], "us", distance="L1"),
    "an adjustment of least largest change exists": case(
        "adjustment", [[1000, -1, -1]], [0, 0, 0], "uss", distance="Linf"
    ),
    "another unit is cheaper": case(
        "adjustment", [[1000, -1, -1]], [0, 0, 0], "uss", distance="L1", integer=False,
        weights=[1, 1, 1e-6], low=[-1e6] * 3, high=[1e6] * 3,
    ),
    "a chain of units is cheaper": case(
        "adjustment", CHAIN, [1, 1, 0, 0], "suss", distance="L1", integer=False,
        low=[0, 0, -FAR, 0], weights=[1, 1, 1, 4e-6],
    ),
    "one of many parts is cheaper": case(
        "adjustment", [[-1, -1, -1, -1, -1, 1000]], [0] * 6, "sssssu", distance="L1",
        integer=False, low=[0, -FAR, -FAR, 0, -FAR, -FAR], weights=[1, 1, 1, 1, 0.002, 1],
    ),
    "whole numbers and a price": case(
        "adjustment", [[1, 8.266, -1]], [0, 0, 0], "uss", distance="L1"
    ),
    "squares that cost nothing": case(
        "adjustment", [[1, -1]], [0, 0], "us", distance="L2", weights=[0, 0]
    ),
    "a frozen part holds its total": case(
        "adjustment", [[-1, 0, 1], [-1, 1, 0]], [0, 0, 0], "suz", distance="L1", integer=False
    ),
    "a cell that falls to its bound": case(
        "adjustment", [[1000, 0, 0, -1], [0, -1, 1000, -1]], [90.7, 0, 5492.9, 0], "suss",
        distance="L1", low=[0, 0, 0, -1.98e11], weights=[68470, 114300, 184300, 1.663e-6],
        high=[96700000090.7, 2.78e13, 20500005492.9, 1.98e11],
        upper_levels=[0, 302979, 0, 0], lower_levels=[0, 0, 0, 0],
    ),
    "small counts in tonnes": case("small counts", [[-1, 1000]], [8, 1], "ss", base=5),
    "a rounding that changes nothing": case(
        "rounding", [[0.9, -1]], [1e9, 1e9], "ss", base=2, max_steps=1
    ),
    "a rounding of shares": case(
        "rounding", [[1e-4, 1e-4, 1e-4, 1, -1]], [1e9, 1e9, 1e9, 1, 1e9], "sssss",
        base=3, max_steps=1,
    ),
    "a pattern exists": case("suppression", KILOGRAMS, [0, 0], "us", require="two-sided"),
    "a pattern within far bounds exists": case(
        "suppression", [[1, 0, 1], [0, 0.004825, 1]], [1, 0, 0], "ssu", require="two-sided",
        low=[0, -1e15, -1e15], high=[1e15] * 3,
    ),
    "a witness of shares": case(
        "suppression", [[1, 0.001, 0.0001], [-1, 1, 1]], [0, 0, 1], "ssu", require="two-sided",
        low=[-FAR, -FAR, 0], method="exact",
    ),
    "a witness of unlike parts": case(
        "suppression", [[1, 1, 1, 0], [0, 1, 0, 13.1], [50.9, 1, 1, 1]], [0] * 4, "ssus",
        require="width", low=[-FAR, -FAR, 0, -FAR],
    ),
    "a right-hand side of many digits": case(
        "suppression", [[-1, 0.030665, 2.9245, 2.1259]], [24372, 82922, 29458, 4724], "ssss",
        require="two-sided",
    ),
    "a right-hand side below huge values": case(
        "suppression", [[-1, 0.49317, 1]], [2e11, 1, 2e11], "sss", require="two-sided"
    ),
    "a cell to unfreeze": case("frozen", KILOGRAMS, [0, 0], "us", require="two-sided"),
    "cells to unfreeze within far bounds": case(
        "frozen", [[1, -1, 0], [1.278e-4, -1, -100]], [0, 0, 0], "sus", require="two-sided",
        low=[-1e15] * 3, high=[1e15] * 3,
    ),
    "intervals exist": case("intervals", KILOGRAMS, [0, 0], "us", require="two-sided"),
    "intervals within far bounds exist": case(
        "intervals", [[100, -1, 0], [0.309, 0, -10000]], [0, 54.3, 0], "uus", require="width",
        low=[-1e15, -1339945.7, -1e15], high=[1e15, 1340054.3, 1e15],
    ),
    "nothing bounds a cell in tonnes": case(
        "audit", KILOGRAMS, [0, 0], "us", require="two-sided", hidden=[True, True]
    ),
    "nothing bounds a total": case(
        "audit", [[-1, 1]], [0, 0], "su", require="two-sided", hidden=[True, True]
    ),
    "far bounds are the ends": case(
        "audit", [[-1, 1]], [0, 0], "su", require="two-sided", hidden=[True, True],
        low=[-1e15] * 2, high=[1e15] * 2,
    ),
}  # fmt: skip
"""The smallest problems of which something false was once claimed."""

UNSETTLED = {"a pattern within far bounds exists", "cells to unfreeze within far bounds"}
"""Problems with a cell that must move by exactly its level, and another by a fraction of it that no
float holds: no witness is found, and the error says that nothing is settled."""


@pytest.mark.parametrize("name", SMALLEST)
def test_claims_on_the_smallest_problems_with_far_answers_are_true(name):
    findings = attacks.Findings()
    attacks.attack(SMALLEST[name], 2.0, findings)
    assert not findings.faults
    assert findings.done[f"{SMALLEST[name].family}: problems"] == 1
    left = [what for what in findings.done if "given up" in what or "refused" in what]
    assert bool(left) == (name in UNSETTLED), left


# -- what the program notices -------------------------------------------------------------


def test_the_program_notices_a_bound_above_a_release():
    findings = attacks.Findings()
    claimed = SimpleNamespace(bound=2.0, loss=2.0, is_optimal=True)
    attacks.check_bound(findings, claimed, Fraction(1), "[1]", "adjustment")
    attacks.check_bound(findings, claimed, Fraction(2), "[2]", "adjustment")
    assert [kind for kind, _ in findings.faults] == ["false optimum"]


@pytest.mark.parametrize(
    ("family", "method"),
    [("adjustment", "adjust"), ("suppression", "suppress"), ("intervals", "publish_intervals")],
)
def test_the_program_notices_a_false_impossibility(family, method, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise tc.ModelError("There is none.")

    monkeypatch.setattr(attacks.tc, method, refuse)
    findings = attacks.Findings()
    options = {"distance": "L1"} if family == "adjustment" else {"require": "two-sided"}
    attacks.attack(case(family, [[1, -1]], [3, 3], "us", **options), 1.0, findings)
    assert [kind for kind, _ in findings.faults] == ["false impossibility"]


def test_the_program_notices_a_pattern_that_protects_nothing():
    plain = case("suppression", [[1, -1, 0]], [3, 3, 1], "uss", require="two-sided")
    alone = attacks.hidden_rooms(plain, [True, False, False])
    both = attacks.hidden_rooms(plain, [True, True, False])
    assert attacks.exposed(plain, *alone, "two-sided")
    assert not attacks.exposed(plain, *both, "two-sided")


# -- the programs -------------------------------------------------------------------------


def random_program(random: np.random.Generator) -> tuple[Any, dict[str, Any]]:
    """A small program in fractions, and its numbers."""
    n, m = int(random.integers(2, 7)), int(random.integers(1, 4))
    matrix = random.integers(-3, 4, (m, n))
    low, high = random.integers(-6, 0, n).astype(float), random.integers(0, 6, n).astype(float)
    low[random.random(n) < 0.3], high[random.random(n) < 0.3] = -np.inf, np.inf
    cost, sides = random.integers(-3, 6, n), matrix @ random.integers(-3, 4, n)
    program = programs.Program()
    for a, b, c in zip(low.tolist(), high.tolist(), cost.tolist(), strict=True):
        program.column(attacks.end(a), attacks.end(b), Fraction(c))
    for row, side in zip(matrix.tolist(), sides.tolist(), strict=True):
        program.equal(dict(enumerate(map(Fraction, row))), Fraction(side))
    return program, {"c": cost, "A": matrix, "b": sides, "low": low, "high": high}


def optimum(program: Any) -> float | None:
    """Least costs in fractions; None if there are none."""
    try:
        x = program.solution()
    except programs.UnboundedError:
        return None
    return None if x is None else float(program.price(x))


def test_linear_programs_in_fractions_agree_with_another_solver():
    solved = 0
    for seed in range(30):
        program, numbers = random_program(np.random.default_rng(seed))
        bounds = np.column_stack([numbers["low"], numbers["high"]])
        other = linprog(numbers["c"], A_eq=numbers["A"], b_eq=numbers["b"], bounds=bounds)
        least = optimum(program)
        assert (least is None) == (other.status != 0)
        assert least is None or least == pytest.approx(other.fun, abs=1e-7)
        solved += least is not None
    assert solved >= 10


def test_whole_numbers_in_fractions_agree_with_another_solver():
    solved = 0
    for seed in range(20):
        program, numbers = random_program(np.random.default_rng(seed))
        if optimum(program) is None:
            continue
        n = len(numbers["c"])
        x, is_complete = programs.whole_solution(program, list(range(n)), 200)
        other = milp(
            numbers["c"],
            constraints=LinearConstraint(numbers["A"], numbers["b"], numbers["b"]),
            bounds=Bounds(numbers["low"], numbers["high"]),
            integrality=np.ones(n),
        )
        assert not is_complete or (x is None) == (other.status == 2)
        if x is not None and is_complete:
            solved += 1
            assert float(program.price(x)) == pytest.approx(other.fun, abs=1e-7)
    assert solved >= 5


def test_least_squares_in_fractions_have_no_better_neighbour():
    """No point on the way to any vertex of random costs is better: the problem is convex."""
    compared = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        program, numbers = random_program(random)
        weights = [Fraction(int(w)) for w in random.integers(1, 5, len(numbers["c"]))]
        x = programs.least_squares(program.priced([Fraction(0)] * len(weights)), weights)
        if x is None or optimum(program) is None:
            continue
        slope = [2 * w * v for w, v in zip(weights, x, strict=True)]
        towards = program.priced(slope)
        least = towards.solution()
        assert towards.price(least) == towards.price(x)
        compared += 1
    assert compared >= 8
