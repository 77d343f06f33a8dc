"""Two-way and linked tables of 700 to 1,000 cells: patterns, bounds and proofs against CPU time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from enterprises import SHAPES, enterprises

import tablecloak as tc

ENTERPRISES = 4_000
"""Behind each of the five tables; they have 712 to 843 cells."""


def two_way(seed: int) -> tc.ProtectionProblem:
    """Two hierarchies, p% and frequency rule."""
    frame, trees = enterprises(SHAPES["two-way"][0], ENTERPRISES, seed)
    return tc.tabulate(frame, trees, "v").protect(tc.PPercent(10), tc.MinimumFrequency(3))


def linked(seed: int) -> tc.ProtectionProblem:
    """Two tables that share a hierarchy, over the same enterprises."""
    shape = {"a": (4, 5), "b": (4, 4), "c": (3, 5)}
    frame, trees = enterprises(shape, 2_000, seed)
    tables = [
        tc.tabulate(frame, {name: trees[name] for name in names}, "v") for names in ("ab", "ac")
    ]
    return tc.link(*tables).protect(tc.PPercent(10), tc.MinimumFrequency(3))


def activities(folder: Path) -> tc.ProtectionProblem:
    """Turnover by activity and size, and by activity and legal form: (1, 85) and frequency 3."""
    codes = pd.read_csv(folder / "activity_corr_table.csv.gz", dtype=str)
    tree: dict = {}
    for path in codes.itertuples(index=False):
        at = tree
        for code in dict.fromkeys(path):
            at = at.setdefault(code, {})
    tables = []
    for name in ("size", "cj"):
        frame = pd.read_csv(folder / f"turnover_act_{name}.csv.gz", dtype={"ACTIVITY": str})
        column = name.upper()
        classes = sorted(set(frame[column]) - {"Total"})
        tables.append(
            tc.Table.from_frame(
                frame,
                {
                    "ACTIVITY": tc.Hierarchy.from_dict(tree, total="Total"),
                    column: tc.Hierarchy.from_dict({code: {} for code in classes}, total="Total"),
                },
                "TOT",
                frequency="N_OBS",
                largest=["MAX"],
                tolerance=1e-3,
            )
        )
    return tc.link(*tables).protect(tc.Dominance(1, 85), tc.MinimumFrequency(3))


def instances(folder: str) -> dict[str, tc.ProtectionProblem]:
    """All tables by name."""
    found = {f"two-way {seed}": two_way(seed) for seed in range(1, 6)}
    found["linked"] = linked(11)
    found["activities"] = activities(Path(folder))
    return found
