"""Attack random tables with figures beside them by a program of the tests.

    python benchmarks/attack_figures.py --systems 100 --seed 0

Each system has two or three variables or years, small numbers, negative numerators, denominators of
0 that everybody knows, and 5 to 50 ratios or growth rates. The intruder is a linear program over
the cells of the tables, which reads the printed digits. Prints how many sensitive cells he exposes
if the totals are protected without the figures, and together with them; exit code 1 if the latter
are any.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import tablecloak as tc

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ratio_systems import Printed, System, exposed, table_of
from tablecloak.tables.keys import are_derived


def system_of(random: np.random.Generator) -> System:
    """Return a random system with 5 to 50 figures."""
    names = ["then", "now", "staff"][: random.integers(2, 4)]
    shape = tuple(random.integers(2, 5, 2).tolist())
    low = {"then": 0 if random.random() < 0.5 else 3, "now": int(random.choice([-20, 1])),
           "staff": 0}  # fmt: skip
    parts = {}
    for name in names:
        table = table_of(random, name, shape, low[name], int(random.choice([15, 60, 900])))
        inner = np.flatnonzero((table.keys != "Total").all(axis=1) & (table.values != 0))
        chosen = random.choice(inner, min(2, len(inner)), replace=False).tolist()
        bounds = (-1e4, 1e5) if low[name] < 0 else None
        rule = tc.Manual([] if name == "staff" else chosen, range=15)
        parts[name] = table.protect(rule, external_bounds=bounds)
    bare = tc.join(parts)
    decimals = int(random.integers(0, 3))
    figures: list[tc.Ratio | tc.Growth] = [tc.Growth("now", since="then", decimals=decimals)]
    if len(names) == 3:
        figures.append(tc.Ratio("now / staff", decimals=decimals))
    printed = []
    for figure in figures:
        quotients = figure.quotients(bare.table)
        quotients = quotients.chosen(quotients.denominators(bare.table.values) > 0)
        terms = (figure.scale, figure.offset)
        pairs = zip(quotients.numerator.tolist(), quotients.denominator.tolist(), strict=True)
        printed += [
            Printed.of(bare.table.values, above, below, decimals, *terms) for above, below in pairs
        ]
    return System(bare, tuple(figures), tc.with_derived(bare, figures), tuple(printed))


def main() -> int:
    """Attack, print and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    n_systems = n_figures = n_sensitive = n_apart = n_together = n_published = n_refused = 0
    while n_systems < options.systems:
        system = system_of(random)
        if not 5 <= len(system.printed) <= 50:
            continue
        n_systems += 1
        n, problem = system.bare.table.n_cells, system.problem
        try:
            apart = tc.suppress(system.bare, method="sequential", time_limit=1).suppressed
            together = tc.suppress(problem, method="sequential", time_limit=1).suppressed
        except tc.ModelError:
            n_refused += 1
            continue
        n_figures += len(system.printed)
        n_sensitive += int(system.bare.sensitive.sum())
        n_apart += len(exposed(system.bare, apart, system.printed))
        n_together += len(exposed(system.bare, together[:n], system.told(together)))
        n_published += int(np.sum(~together[are_derived(problem.table.keys)]))
    print(
        f"{n_systems} systems ({n_refused} cannot be protected), {n_figures} figures, "
        f"{n_sensitive} sensitive cells: {n_apart} exposed apart, {n_together} together, "
        f"{n_published} figures published"
    )
    return int(n_together > 0)


if __name__ == "__main__":
    sys.exit(main())
