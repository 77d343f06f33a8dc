"""Eight tables of made-up enterprises whose shapes are drawn: nobody chose them for a search.

A seed draws the number of dimensions (3 to 5), the hierarchies (1 to 3 levels, some with single
children), how skewed codes and values are, how many enterprises there are for each cell, and the
rule. Only the number of cells is asked for.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import tablecloak as tc

Tree = dict[str, "Tree"]

SIZES = (1_000, 2_000, 4_000, 6_000, 12_000, 25_000, 50_000, 100_000)
"""Cells asked for; a table has 0.7 to 1.5 times as many combinations of codes."""

RULES = (
    (tc.PPercent(10),),
    (tc.PPercent(15), tc.MinimumFrequency(3)),
    (tc.Dominance(1, 75), tc.MinimumFrequency(3)),
    (tc.Dominance(2, 85),),
)

SINGLE = (0.0, 0.15, 0.35)
"""Shares of the nodes of the first hierarchy with a single child."""


def tree(random: np.random.Generator, prefix: str, depth: int, most: int, single: float) -> Tree:
    """Return a hierarchy with 2 to `most` children of a node, or a single one."""
    if not depth:
        return {}
    size = 1 if random.random() < single else int(random.integers(2, most + 1))
    names = (f"{prefix}{number:x}" for number in range(size))
    return {name: tree(random, name, depth - 1, most, single) for name in names}


def leaves(of: Tree) -> list[str]:
    """Return the codes without children."""
    return [leaf for code, below in of.items() for leaf in (leaves(below) if below else [code])]


def n_codes(of: Tree) -> int:
    """Return the number of codes, without the total."""
    return sum(1 + n_codes(below) for below in of.values())


def trees_of(random: np.random.Generator, cells: int) -> dict[str, Tree]:
    """Draw hierarchies until their combinations are as many as asked for."""
    while True:
        n_dimensions = int(random.integers(3, 6))
        single = float(random.choice(SINGLE))
        trees: dict[str, Tree] = {}
        for number, name in enumerate("abcde"[:n_dimensions]):
            depth = int(random.integers(1, 4 if number < 2 else 3))
            drawn: Tree = {}
            while len(leaves(drawn)) < 2:
                most = int(random.integers(3, 9 if n_dimensions == 3 else 6))
                drawn = tree(random, name, depth, most, single if number == 0 else 0.0)
            trees[name] = drawn
        combinations = np.prod([1 + n_codes(drawn) for drawn in trees.values()])
        if 0.7 * cells <= combinations <= 1.5 * cells:
            return trees


def drawn_table(number: int) -> tc.ProtectionProblem:
    """Return one of the tables.

    Parameters
    ----------
    number : int
        Position in `SIZES`.
    """
    random = np.random.default_rng(100 + number)
    trees = trees_of(random, SIZES[number])
    codes = {name: leaves(drawn) for name, drawn in trees.items()}
    for_each = np.exp(random.uniform(np.log(0.5), np.log(8)))
    n = int(np.prod([len(names) for names in codes.values()]) * for_each)
    skew = float(random.uniform(1.0, 2.5))
    columns = {}
    for name, names in codes.items():
        share = random.lognormal(0, float(random.uniform(0.3, 1.5)), len(names))
        columns[name] = random.choice(names, n, p=share / share.sum())
    frame = pd.DataFrame(columns).assign(v=np.ceil(random.lognormal(4, skew, n)))
    rules = RULES[int(random.integers(len(RULES)))]
    hierarchies = {name: tc.Hierarchy.from_dict(drawn) for name, drawn in trees.items()}
    table = tc.tabulate(frame, hierarchies, "v", decimals=0)
    return table.protect(*rules, zeros_published=bool(random.random() < 0.5))
