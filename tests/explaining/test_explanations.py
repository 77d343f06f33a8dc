"""Explanations of random tables, each confirmed independently; many: run this file on its own.

python tests/explaining/test_explanations.py --tables 50
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import tablecloak as tc
from confirmed import confirm_adjusted, confirm_hidden, confirm_interval, ends_of
from random_tables import random_problem

SHAPES = [(3, 3), (2, 3), (3, 4), (2, 2, 2)]


def table_number(seed: int) -> tc.ProtectionProblem:
    """Crossed tables; every fourth one with cells that may not move or hide."""
    problem = random_problem(seed, SHAPES[seed % len(SHAPES)], n_sensitive=2 + seed % 3)
    if seed % 4:
        return problem
    random = np.random.default_rng(seed)
    frozen = ~problem.sensitive & (random.random(problem.table.n_cells) < 0.25)
    return problem.with_changes(status=np.where(frozen, "z", problem.status))


def confirm_pattern(problem: tc.ProtectionProblem, count: Counter) -> None:
    """Explain every cell that a pattern hides, and confirm each statement."""
    pattern = tc.suppress(problem, time_limit=1000)
    for cell in np.flatnonzero(pattern.suppressed).tolist():
        told = tc.explain(problem, pattern, cell, time_limit=1000).to_dict()
        if problem.sensitive[cell]:
            confirm_interval(problem, told["external"], cell, *ends_of(problem, pattern.suppressed))
            count["intervals of sensitive cells"] += 1
        else:
            confirm_hidden(problem, pattern.suppressed, cell, told, count)
            count["secondary suppressions"] += 1


def confirm_adjustment(problem: tc.ProtectionProblem, count: Counter) -> None:
    """Explain every cell of an adjustment, and confirm each statement."""
    adjusted = tc.adjust(problem, integer=False, time_limit=1000)
    for cell in range(problem.table.n_cells):
        told = tc.explain(problem, adjusted, cell, time_limit=1000).to_dict()
        confirm_adjusted(adjusted, cell, told, count)


def confirmed(seed: int) -> Counter:
    """Confirm all explanations of one random table."""
    count: Counter = Counter(tables=1)
    problem = table_number(seed)
    for confirm in (confirm_pattern, confirm_adjustment):
        try:
            confirm(problem, count)
        except tc.ModelError:
            count[f"tables that cannot be protected: {confirm.__name__}"] += 1
    return count


def test_every_explanation_of_a_random_table_is_confirmed():
    count = confirmed(1)
    assert count["intervals of sensitive cells"] >= 2
    assert count["attacks without a cell"] >= 2
    assert count["alternatives: cheapest"] >= 2
    assert count["least changes"] >= 2
    assert count["stays priced"] >= 2


def main() -> None:
    """Confirm many tables and print what was confirmed."""
    given = argparse.ArgumentParser()
    given.add_argument("--tables", type=int, default=50)
    total: Counter = Counter()
    for seed in range(given.parse_args().tables):
        total += confirmed(seed)
    for what, number in sorted(total.items()):
        print(f"{number:6d} {what}")


if __name__ == "__main__":
    main()
