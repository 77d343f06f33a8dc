"""Tables of made-up farms, from 5,184 to a million cells.

The largest grid has the shape of the main tables of the Integrated Farm Statistics of the European
Union: 287 regions, 23 types of farm, 10 economic sizes and 12 sizes of area, that is 792,120 cells,
and as many farms, 9.1 million. Smaller grids keep fewer regions, types and sizes, and as many farms
for each cell. Regions and types differ in size by lognormal shares, and each region has its own
mixture of types and its own scale, so that most combinations are rare and many are empty. The value
is the area; it follows the economic size. Primary cells: fewer than four farms, or p% with p = 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

import tablecloak as tc

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Tree = dict[str, "Tree"]


@dataclass(frozen=True)
class Shape:
    """The grid of a table.

    Parameters
    ----------
    regions : tuple of int
        Codes on the levels below the total, the coarsest first.
    types : tuple of int
        The same of the types of farm.
    sizes, areas : int
        Codes of economic size and of area, without their totals.
    ages : int, default=0
        Codes of a fifth dimension, the age of the farmer, without its total; 0 for none.
    """

    regions: tuple[int, ...]
    types: tuple[int, ...]
    sizes: int
    areas: int
    ages: int = 0

    @property
    def dimensions(self) -> dict[str, Tree]:
        """The codes of each dimension below its total."""
        trees = {"region": levelled("R", self.regions), "type": levelled("T", self.types)}
        trees |= {"size": levelled("S", (self.sizes,)), "area": levelled("A", (self.areas,))}
        return trees | ({"age": levelled("G", (self.ages,))} if self.ages else {})

    @property
    def n_cells(self) -> int:
        """Cells of the grid, margins and empty cells included."""
        counts = [1 + sum(self.regions), 1 + sum(self.types), 1 + self.sizes, 1 + self.areas]
        return int(np.prod([*counts, *([1 + self.ages] if self.ages else [])]))


SHAPES = {
    "5k": Shape((2, 9), (3, 4), 5, 9),
    "25k": Shape((4, 19), (4, 7), 7, 10),
    "100k": Shape((8, 48), (6, 10), 9, 10),
    "300k": Shape((14, 108), (8, 14), 9, 11),
    "792k": Shape((27, 259), (8, 14), 9, 11),
    "5-D": Shape((9, 71), (6, 12), 9, 10, 5),
}
"""Grids of 5,184 to 792,120 cells, and one of five dimensions with 1,015,740."""

FARMS_PER_CELL = 11.5
"""Farms for each cell of the grid: 9.1 million in the Union of 2020, over 792,120 cells."""


def levelled(prefix: str, counts: tuple[int, ...]) -> Tree:
    """A tree with given numbers of codes on its levels, spread unevenly over their parents."""
    tree: Tree = {}
    level = [tree]
    for depth, count in enumerate(counts):
        # Each parent has a child; the others go to the first parents more often than to the last.
        weight = np.sqrt(np.arange(len(level), 0, -1))
        share = np.floor((count - len(level)) * weight / weight.sum()).astype(int) + 1
        share[: count - share.sum()] += 1
        below: list[Tree] = []
        for number, (parent, children) in enumerate(zip(level, share.tolist(), strict=True)):
            for child in range(children):
                parent[f"{prefix}{depth}.{number}.{child}"] = {}
            below += list(parent.values())
        level = below
    return tree


def leaves_of(tree: Tree) -> list[str]:
    """Codes without children, in their order."""
    found: list[str] = []
    for code, below in tree.items():
        found += leaves_of(below) if below else [code]
    return found


def farms(shape: Shape, seed: int) -> pd.DataFrame:
    """One row for each farm."""
    random = np.random.default_rng(seed)
    trees = shape.dimensions
    leaves = {name: np.array(leaves_of(tree)) for name, tree in trees.items()}
    n_regions, n_types = len(leaves["region"]), len(leaves["type"])
    n_farms = int(FARMS_PER_CELL * shape.n_cells)
    size_of_region = random.lognormal(0, 1.2, n_regions)
    # Mixtures of types differ from region to region: olives do not grow everywhere.
    mixture = random.lognormal(0, 1, n_types) * random.lognormal(0, 1.2, (n_regions, n_types))
    share = (size_of_region / size_of_region.sum())[:, None] * _shares(mixture)
    drawn = random.choice(share.size, n_farms, p=share.ravel())
    region, kind = np.divmod(drawn, n_types)
    scale = random.normal(0, 0.6, n_regions)[region] + random.normal(0, 0.8, n_types)[kind]
    economic = scale + random.normal(0, 1.6, n_farms)
    area = 2.5 + 0.7 * economic + random.normal(0, 1.1, n_farms)
    columns = {
        "region": leaves["region"][region],
        "type": leaves["type"][kind],
        "size": leaves["size"][_classes(economic, shape.sizes)],
        "area": leaves["area"][_classes(area, shape.areas)],
    }
    if shape.ages:
        columns["age"] = leaves["age"][_classes(random.normal(0, 1, n_farms), shape.ages)]
    return pd.DataFrame(columns).assign(hectares=np.ceil(np.exp(area) * 10))


def _shares(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _classes(numbers: Floats, count: int) -> Integers:
    """Classes with fixed limits: equal steps over the middle, the tails in the first and last."""
    middle, spread = float(np.mean(numbers)), float(np.std(numbers))
    limits = middle + spread * np.linspace(-1.6, 2.2, count - 1)
    classes: Integers = np.searchsorted(limits, numbers).astype(np.int64)
    return classes


def problem_of(name: str, seed: int = 1) -> tc.ProtectionProblem:
    """The table of a shape with its primary cells."""
    shape = SHAPES[name]
    table = tc.tabulate(farms(shape, seed), shape.dimensions, "hectares", decimals=0)
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(4))
