"""How long it takes to judge a pattern against every contributor, and what holding costs.

    python benchmarks/insiders.py --firms 5000 20000 --time-limit 600
    python benchmarks/insiders.py --two-way 1 2 3 4 5 --time-limit 60

Firms are drawn into regions by industries, both with two levels of totals. A pattern that holds
against outsiders is attacked by each contributor in turn. With --two-way the tables are those of
two_way.py, of 712 to 843 cells, and a pattern is also asked to hold against contributors as far as
possible. Seconds are those of the processor, also of limits, so that other work on the machine does
not count; one thread.
"""

from __future__ import annotations

import argparse
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
from enterprises import SHAPES, enterprises
from two_way import ENTERPRISES, ProcessorClock

import tablecloak as tc
import tablecloak.budget

RULES = (tc.PPercent(10), tc.MinimumFrequency(3))


def drawn(n_firms: int, seed: int = 1) -> tc.ProtectionProblem:
    """Turnover of firms by 40 regions and 60 industries, most of them in few."""
    random = np.random.default_rng(seed)
    regions = [f"R{i}{j}{k}" for i in range(4) for j in range(5) for k in range(2)]
    industries = [f"I{i}{j}{k}" for i in range(5) for j in range(4) for k in range(3)]
    frame = pd.DataFrame(
        {
            "region": random.choice(
                regions, n_firms, p=random.dirichlet(np.full(len(regions), 0.7))
            ),
            "industry": random.choice(
                industries, n_firms, p=random.dirichlet(np.full(len(industries), 0.5))
            ),
            "turnover": np.round(random.lognormal(4, 1.8, n_firms)),
            "firm": [f"f{number}" for number in range(n_firms)],
        }
    )
    dimensions = {"region": nested(regions), "industry": nested(industries)}
    table = tc.tabulate(frame, dimensions, "turnover", contributor="firm")
    return table.protect(*RULES)


def nested(codes: list[str]) -> tc.Hierarchy:
    """The hierarchy in which the first two and three letters of a code are its totals."""
    tree: dict[str, dict[str, dict[str, dict]]] = {}
    for code in codes:
        tree.setdefault(code[:2], {}).setdefault(code[:3], {})[code] = {}
    return tc.Hierarchy.from_dict(tree)


def two_way(seed: int) -> tc.ProtectionProblem:
    """One of the tables of two_way.py; every enterprise has a name."""
    frame, trees = enterprises(SHAPES["two-way"][0], ENTERPRISES, seed)
    frame["firm"] = [f"f{number}" for number in range(len(frame))]
    return tc.tabulate(frame, trees, "v", contributor="firm").protect(*RULES)


def judged(problem: tc.ProtectionProblem, pattern: tc.SuppressionPattern, seconds: float) -> str:
    """Attack a pattern as every contributor, without a limit: a row of a table."""
    audit = tc.audit(problem, pattern, intruders="contributors", groups=RULES[:1], threads=1)
    tried, found = audit.intruders["contributors"], audit.attacks
    return (
        f"{pattern.loss:,.0f} | {int(pattern.suppressed.sum())} | "
        f"{len({one.intruder for one in found})} of {tried} ({len(found)} attacks, "
        f"{audit.n_not_judged} open) | {len(audit.groups)} | {seconds:.1f}"
    )


def held(seed: int, time_limit: float) -> None:
    """Protect one table against everybody, and against contributors as far as possible."""
    problem = two_way(seed)
    name = f"{seed} | {problem.table.n_cells} | {problem.n_sensitive}"
    for hold in ("off", "possible"):
        started = time.process_time()
        pattern = tc.suppress(
            problem, protect_against="contributors", hold=hold, time_limit=time_limit, threads=1
        )
        row = judged(problem, pattern, time.process_time() - started)
        print(f"| {name} | {hold} | {row} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--firms", nargs="+", type=int, default=[])
    parser.add_argument("--two-way", nargs="+", type=int, default=[], metavar="SEED")
    parser.add_argument("--time-limit", type=float, default=600.0)
    options = parser.parse_args()
    tablecloak.budget.time = SimpleNamespace(monotonic=ProcessorClock())
    for seed in options.two_way:
        held(seed, options.time_limit)
    for n_firms in options.firms or ([] if options.two_way else [5000]):
        problem = drawn(n_firms)
        pattern = tc.suppress(problem, method="sequential", time_limit=30, threads=1)
        started = time.process_time()
        audit = tc.audit(
            problem,
            pattern,
            intruders="contributors",
            time_limit=options.time_limit,
            threads=1,
        )
        seconds = time.process_time() - started
        print(
            f"{n_firms} firms, {problem.table.n_cells} cells, {problem.n_sensitive} sensitive, "
            f"{int(pattern.suppressed.sum())} hidden: {seconds:.1f} s; {audit.summary()}",
            flush=True,
        )


if __name__ == "__main__":
    main()
