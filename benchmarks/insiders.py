"""How long it takes to judge a pattern against every contributor.

    python benchmarks/insiders.py --firms 5000 20000 --time-limit 600

Firms are drawn into regions by industries, both with two levels of totals. A pattern that holds
against outsiders is attacked by each contributor in turn. Seconds are those of the processor, so
that other work on the machine does not count; the limit is one of wall time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import tablecloak as tc


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
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(3))


def nested(codes: list[str]) -> tc.Hierarchy:
    """The hierarchy in which the first two and three letters of a code are its totals."""
    tree: dict[str, dict[str, dict[str, dict]]] = {}
    for code in codes:
        tree.setdefault(code[:2], {}).setdefault(code[:3], {})[code] = {}
    return tc.Hierarchy.from_dict(tree)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--firms", nargs="+", type=int, default=[5000])
    parser.add_argument("--time-limit", type=float, default=600.0)
    options = parser.parse_args()
    for n_firms in options.firms:
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
