"""All results report a gap with one tolerance, and the gap on what could be avoided."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.results import OPTIMAL, Result


def results():
    problem = tc.examples.cox_rounded()
    yield tc.suppress(problem)
    yield tc.suppress(problem, method="sequential")
    yield tc.publish_intervals(problem, blur=0, weights="unit")
    yield tc.adjust(problem, weights="unit")
    yield tc.adjust(problem, distance="L2")
    yield tc.adjust(problem, distance="Linf")
    yield tc.controlled_rounding(problem, base=5)
    yield tc.small_count_rounding(tc.examples.cox_rounded(), base=3)


@pytest.fixture(scope="module")
def all_results():
    return list(results())


def test_all_are_results_and_say_both_gaps(all_results):
    assert len(all_results) == 8
    for result in all_results:
        assert isinstance(result, Result)
        assert repr(result) == f"<{result.summary()}>"
        assert 0 <= result.gap <= result.avoidable_gap + OPTIMAL <= 1 + OPTIMAL
        assert result.is_optimal == (result.gap <= OPTIMAL)
        assert result.unavoidable <= result.searched_loss * (1 + 1e-9)


def test_the_gap_on_secondaries_leaves_the_primaries_out():
    problem = tc.examples.cox_rounded()
    best = tc.suppress(problem)
    primaries = float(problem.weights[problem.sensitive].sum())
    secondaries = float(problem.weights[best.secondary].sum())
    assert best.loss == primaries + secondaries
    half = replace(best, bound=primaries + secondaries / 2)
    assert half.avoidable_gap == pytest.approx(0.5)
    assert half.gap == pytest.approx(0.5 * secondaries / best.loss)
    assert f"({100 * half.avoidable_gap:.2f} % of what could be avoided)" in half.summary()


def test_no_adjustment_costs_less_than_what_is_called_unavoidable():
    """By trying all whole-number tables of 2 x 2 cells that move each cell by at most 4."""
    frame = pd.DataFrame({"row": list("aabb"), "column": list("xyxy"), "value": [5, 7, 9, 4]})
    table = tc.tabulate(frame, ["row", "column"], "value")
    cells = [table.cell(row="a", column="x"), table.cell(row="b", column="y")]
    problem = table.protect(tc.Manual([table.keys.iloc[cell].to_dict() for cell in cells], range=0))
    levels = np.zeros(table.n_cells)
    levels[cells] = 2.0, 3.0
    problem = problem.with_changes(lower_protection=levels, upper_protection=levels)
    for distance, cost in (("L1", np.sum), ("L2", lambda z: np.sum(z**2)), ("Linf", np.max)):
        result = tc.adjust(problem, weights="unit", distance=distance)
        losses = [
            cost(np.abs([a, b, a + b, c, d, c + d, a + c, b + d, a + b + c + d]))
            for a, b, c, d in itertools.product(range(-4, 5), repeat=4)
            if abs(a) >= 2 and abs(d) >= 3
        ]
        assert 0 < result.unavoidable <= min(losses)
