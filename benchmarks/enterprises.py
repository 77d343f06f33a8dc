"""Tables of made-up enterprises, from two hierarchies to linked tables.

Codes are drawn with lognormal shares, values lognormal (sigma 1.8) and rounded up; p% rule with
p = 10, and fewer than three contributors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import tablecloak as tc

SHAPES = {
    "two-way": ({"a": (4, 6), "b": (5, 5)}, 3_000),
    "three-way": ({"a": (6, 6), "b": (5, 6), "c": (4, 6)}, 30_000),
    "three-way-large": ({"a": (10, 10), "b": (10, 10), "c": (10, 10)}, 300_000),
}
"""Branches on both levels of each hierarchy, and the usual number of enterprises."""


def enterprises(
    shape: dict[str, tuple[int, int]], n: int, seed: int
) -> tuple[pd.DataFrame, dict[str, dict[str, list[str]]]]:
    """One row for each enterprise, and the hierarchies."""
    random = np.random.default_rng(seed)
    columns, trees = {}, {}
    for name, (outer, inner) in shape.items():
        groups = {
            f"{name}{i:02d}": [f"{name}{i:02d}{j:02d}" for j in range(inner)] for i in range(outer)
        }
        codes = [code for group in groups.values() for code in group]
        share = random.lognormal(0, 1, len(codes))
        columns[name] = random.choice(codes, n, p=share / share.sum())
        trees[name] = groups
    frame = pd.DataFrame(columns)
    return frame.assign(v=np.ceil(random.lognormal(4, 1.8, n))), trees


RULES = (tc.PPercent(10), tc.MinimumFrequency(3))


def table(
    shape: dict[str, tuple[int, int]], n: int, seed: int, *, named: bool = False, **protect: bool
) -> tc.ProtectionProblem:
    """All dimensions of made-up enterprises in one table; `named` tells contributors apart."""
    frame, trees = enterprises(shape, n, seed)
    names = {"contributor": "firm"} if named else {}
    if named:
        frame["firm"] = [f"f{number}" for number in range(len(frame))]
    return tc.tabulate(frame, trees, "v", **names).protect(*RULES, **protect)


def two_way(seed: int, *, named: bool = False) -> tc.ProtectionProblem:
    """Two hierarchies, 4,000 enterprises: 712 to 843 cells."""
    return table(SHAPES["two-way"][0], 4_000, seed, named=named)


def linked(seed: int) -> tc.ProtectionProblem:
    """Two tables that share a hierarchy, over the same enterprises."""
    frame, trees = enterprises({"a": (4, 5), "b": (4, 4), "c": (3, 5)}, 2_000, seed)
    tables = [
        tc.tabulate(frame, {name: trees[name] for name in names}, "v") for names in ("ab", "ac")
    ]
    return tc.link(*tables).protect(*RULES)
