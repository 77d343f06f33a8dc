"""Random tables of all magnitudes: each ends in a verified table, or in what scipy confirms.

As a script it tries as many tables as it is told, 1,000 by default.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import tablecloak as tc
from tablecloak.tables.table import read_cells


def random_table(seed: int) -> tuple[pd.DataFrame, dict[str, Any], int]:
    """A noisy table with its options, and the number of its decimals."""
    random = np.random.default_rng(seed)
    shape = random.integers(1, 4, 2)
    axes = [
        ["Total", *(f"{name}{i}" for i in range(n))] for name, n in zip("rc", shape, strict=True)
    ]
    frame = pd.DataFrame(list(product(*axes)), columns=["r", "c"])
    n, scale, digits = len(frame), 10.0 ** random.integers(-2, 12), int(random.integers(0, 4))
    values = np.round(random.normal(10, 3, n) * scale, digits)
    options: dict[str, Any] = {"distance": str(random.choice(["L1", "L2", "Linf"]))}
    frame = frame.assign(value=values, low=-np.inf, high=np.inf, variance=1.0, fixed=False)
    if random.random() < 0.5:
        some = random.random(n) < 0.3
        frame["low"] = np.where(some, values - random.random(n) * scale, -np.inf)
        frame["high"] = np.where(some, values + 2 * scale * random.random(n), np.inf)
    if random.random() < 0.4:
        frame["variance"] = 10 ** random.uniform(-4, 4, n)
    if random.random() < 0.3:
        frame["fixed"] = random.random(n) < 0.2
    if random.random() < 0.2:
        options["order"] = [{"r": "Total"}]
    options["whole"] = bool(random.random() < 0.35)
    if options["whole"]:
        # Fixed at what is not whole, no table could be whole.
        frame["value"] = np.where(frame.fixed, np.rint(values), values)
    columns = {"lower": "low", "upper": "high", "variance": "variance", "fixed": "fixed"}
    return frame, options | columns, digits


def outcome(seed: int) -> str:
    """Reconcile one table; what is said of it has been checked."""
    frame, options, _ = random_table(seed)
    try:
        found = tc.reconcile(frame, ["r", "c"], time_limit=1000, **options)
    except (tc.ModelError, tc.InputError):
        assert not has_a_table(frame, whole=options["whole"])
        return "refused"
    found.verify()
    scale = np.abs(found.given).max()
    assert np.all(found.values >= frame.low - 1e-9 * scale)
    assert np.all(found.values <= frame.high + 1e-9 * scale)
    if options["whole"]:
        assert np.array_equal(found.values, np.rint(found.values))
        return "whole"
    return str(options["distance"])


def has_a_table(frame: pd.DataFrame, *, whole: bool) -> bool:
    """Whether a table within bounds adds up, by a program of its own in units of the values."""
    cells = read_cells(frame, ["r", "c"], "value", frequency=None, largest=(), tolerance=0.0)
    low = np.where(frame.fixed, frame.value, frame.low)
    high = np.where(frame.fixed, frame.value, frame.high)
    if whole:
        # Relations of a table with two dimensions are totally unimodular: corners are whole.
        low, high = np.ceil(low), np.floor(high)
    size = max(1.0, np.abs(frame.value).max())
    relations = cells.relations.toarray()
    sides, bounds = np.zeros(len(relations)), np.column_stack([low, high]) / size
    if np.any(low > high):
        return False
    return linprog(np.zeros(len(frame)), A_eq=relations, b_eq=sides, bounds=bounds).status == 0


def test_tables_of_all_magnitudes_end_in_a_verified_table_or_a_true_refusal():
    counted = Counter(outcome(seed) for seed in range(30))
    assert counted.total() == 30
    assert all(counted[kind] for kind in ("L1", "L2", "Linf", "whole", "refused")), counted


def test_the_least_sum_of_changes_keeps_the_decimals_of_the_table():
    """Without bounds some best table of L1 is a corner, a multiple of the last digit."""
    for seed in range(6):
        frame, _, digits = random_table(seed)
        found = tc.reconcile(frame, ["r", "c"], distance="L1")
        last = 10.0**digits
        assert np.array_equal(found.values, np.round(found.values, digits))
        problem = found.passes[-1].problem
        assert not np.any(problem.relations @ np.rint(found.values * last))


def test_least_squares_that_end_in_sixteenths_are_written_as_these():
    """In a square of three by three with totals each change is a multiple of a sixteenth."""
    for seed in range(8):
        random = np.random.default_rng(seed)
        codes = ["a", "b", "c", "Total"]
        values = random.integers(0, 90, (4, 4)).astype(float)
        frame = pd.DataFrame(list(product(codes, repeat=2)), columns=["r", "c"])
        found = tc.reconcile(frame.assign(value=values.ravel()), ["r", "c"])
        assert np.array_equal(16 * found.values, np.rint(16 * found.values)), found.values.tolist()


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(Counter(outcome(seed) for seed in range(number)))
