"""Tables in which many nodes of a hierarchy have a single child, with and without these levels.

A table of regions, activities and sizes, in which a third of the nodes of the tree of regions have
one child. The same table without these levels asks for the same protection: every cell of a node
with a single child is the cell of that child once more. Weights are shared out between copies, so
that both lose the same for the same pattern.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

import tablecloak as tc

Tree = dict[str, "Tree"]

SHARE = 1 / 3
"""Share of the nodes that have a single child."""


def grown(prefix: str, branching: tuple[int, ...]) -> Tree:
    """Return a tree with the given number of children on each level."""
    if not branching:
        return {}
    names = (f"{prefix}{number:x}" for number in range(branching[0]))
    return {name: grown(name, branching[1:]) for name in names}


def with_single_children(tree: Tree, random: np.random.Generator) -> Tree:
    """Put a level between some nodes and their children, or below a leaf."""
    found = {}
    for name, children in tree.items():
        below = with_single_children(children, random)
        # Of n nodes, n / 2 get a further node below them, of 3 n / 2 in all.
        found[name] = {f"{name}_": below} if random.random() < SHARE / (1 - SHARE) else below
    return found


def pairs(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield each leaf with the leaf of the tree without the levels that were put in."""
    for name, children in tree.items():
        if children:
            yield from pairs(children)
        else:
            yield name, name.rstrip("_")


def single_child_problem(
    *,
    removed: bool = False,
    seed: int = 1,
    regions: tuple[int, ...] = (3, 4, 3),
    others: int = 8,
    firms: float = 1.5,
    zeros_published: bool = True,
) -> tc.ProtectionProblem:
    """Return a table with the levels of single children, or without them.

    Parameters
    ----------
    removed : bool, default=False
        Whether the levels of single children are left out.
    seed : int, default=1
    regions : tuple of int
        Children of each node of the tree of regions, before levels are put in.
    others : int
        Codes of each of the two other dimensions.
    firms : float
        Mean number of firms for each combination of codes.
    zeros_published : bool, default=True
        See `tablecloak.Table.protect`.
    """
    random = np.random.default_rng(seed)
    plain = grown("r", regions)
    full = with_single_children(plain, random)
    leaves = list(pairs(full))
    chosen = random.integers(0, len(leaves), int(firms * len(leaves) * others**2))
    frame = pd.DataFrame(
        {
            "region": [leaves[number][int(removed)] for number in chosen],
            "activity": [f"a{code}" for code in random.integers(0, others, len(chosen))],
            "size": [f"s{code}" for code in random.integers(0, others, len(chosen))],
            "turnover": np.ceil(random.lognormal(4, 1.5, len(chosen))),
        }
    )
    trees = {
        "region": tc.Hierarchy.from_dict(plain if removed else full),
        "activity": None,
        "size": None,
    }
    problem = tc.tabulate(frame, trees, "turnover", decimals=0).protect(
        tc.PPercent(10), zeros_published=zeros_published
    )
    region = problem.table.keys.region.astype(str)
    is_child = region.str.endswith("_")
    copies = np.where(is_child | region.isin(region[is_child].str.rstrip("_")), 2, 1)
    return problem.with_changes(weights=problem.weights / copies)
