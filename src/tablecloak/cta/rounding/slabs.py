"""Slabs of a table: all cells with one code on a dimension, which move like a smaller table.

Take a table of three dimensions or more, and a leaf k of one of them. If the cells of its slab move
by a table z that adds up over the other dimensions, and every slab above k moves by the same z, the
whole table still adds up. The same holds for z on k and -z on another leaf, where slabs above both
stay as they are. With two other dimensions, z is a two-way table; if one of them has no hierarchy,
the best z is a network program, whose corners are whole numbers.

References
----------
.. [1] Causey, Cox, Ernst: Applications of transportation theory to statistical problems, JASA 80
   (1985).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.cta.model.precision import exact_products
from tablecloak.solve.exact import whole_rows
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.table import Table

ABSENT = -1
"""Stands for a cell that the table does not have, and for the slab of a relation across slabs."""

ANY_COUNT = 1000
"""Counts below this, drawn at random, show whether relations hold for all tables or only one."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Cells that a table z moves, and the relations that z has to satisfy.

    Parameters
    ----------
    cells : tuple of numpy.ndarray of int, each of shape (n_places,)
        The cells of each slab that moves, by place: the codes on the other dimensions.
    sign : tuple of int
        How often z is added to each slab.
    relations : scipy.sparse.csr_array, shape (n_relations, n_places)
        z must satisfy relations @ z = 0.
    """

    cells: tuple[Integers, ...]
    sign: tuple[int, ...]
    relations: csr_array


@dataclass(frozen=True, eq=False)
class Dimension:
    """The slabs of one dimension.

    Parameters
    ----------
    leaves : numpy.ndarray of int
        Codes without parts.
    above : scipy.sparse.csr_array of int, shape (n_codes, n_leaves)
        To which codes a leaf adds.
    cell : numpy.ndarray of int, shape (n_codes, n_places)
        The cell of a code at each place, or `ABSENT`.
    slab : numpy.ndarray of int, shape (n_relations,)
        The code that all cells of a relation share, or `ABSENT`.
    family : numpy.ndarray of int, shape (n_leaves,)
        The smallest code above each leaf.
    """

    leaves: Integers
    above: csr_array
    cell: Integers
    slab: Integers
    family: Integers

    @classmethod
    def of(cls, table: Table, codes: Sequence[Integers], at: int, tree: Hierarchy) -> Dimension:
        """Lay out the slabs of one dimension.

        Parameters
        ----------
        table : Table
        codes : sequence of numpy.ndarray of int
            The number of the code of each cell on each dimension.
        at : int
            Which dimension.
        tree : Hierarchy
        """
        others = np.zeros(table.n_cells, dtype=np.int64)
        for number, code in enumerate(codes):
            if number != at:
                others = others * (int(code.max()) + 1) + code
        places, place = np.unique(others, return_inverse=True)
        cell = np.full((len(tree.codes), len(places)), ABSENT, dtype=np.int64)
        cell[codes[at], place] = np.arange(table.n_cells)
        relations, of_entry = table.relations, codes[at][table.relations.indices]
        least = np.minimum.reduceat(of_entry, relations.indptr[:-1])
        most = np.maximum.reduceat(of_entry, relations.indptr[:-1])
        position = {code: place for place, code in enumerate(tree.codes)}
        leaves = np.array([position[leaf] for leaf in tree.leaves], dtype=np.int64)
        above = csr_array(tree.closure()).astype(np.int64)
        slab = np.where(least == most, least, ABSENT)
        return cls(leaves, above, cell, slab, _smallest_above(above, leaves))

    def neighbours(self, random: np.random.Generator) -> Integers:
        """Return all leaves in random order, with those of one family side by side.

        Parameters
        ----------
        random : numpy.random.Generator
        """
        rank = random.permutation(int(self.family.max()) + 1)[self.family]
        found: Integers = np.lexsort((random.random(len(self.leaves)), rank))
        return found


def _smallest_above(above: csr_array, leaves: Integers) -> Integers:
    """Return the code with the fewest leaves that each leaf adds to, other than itself."""
    number = np.diff(above.indptr)
    entries = above.tocoo()
    size = np.where(entries.row == leaves[entries.col], np.inf, number[entries.row])
    order = np.lexsort((size, entries.col))
    first = np.unique(entries.col[order], return_index=True)[1]
    found: Integers = entries.row[order[first]].astype(np.int64)
    return found


class Slabs:
    """The slabs of all dimensions of a table, in steps of a base.

    Parameters
    ----------
    table : Table
    dimensions : sequence of Dimension
    """

    def __init__(self, table: Table, dimensions: Sequence[Dimension]) -> None:
        self.table, self.dimensions = table, tuple(dimensions)
        self.relations, _ = whole_rows(table.relations)
        self._rows = [
            [np.flatnonzero(d.slab == leaf) for leaf in d.leaves] for d in self.dimensions
        ]
        is_leaf = np.ones(table.n_cells, dtype=bool)
        for dimension in self.dimensions:
            below = np.zeros(table.n_cells, dtype=bool)
            cells = dimension.cell[dimension.leaves]
            below[cells[cells != ABSENT]] = True
            is_leaf &= below
        self.is_leaf = is_leaf

    @classmethod
    def of(cls, table: Table) -> Slabs | None:
        """Return the slabs of a table that is the sum of its most detailed cells, or None.

        Parameters
        ----------
        table : Table
        """
        trees, keys = table.hierarchies, table.keys
        if len(trees) < 3 or not table.n_relations:
            return None
        numbers = {name: {c: i for i, c in enumerate(tree.codes)} for name, tree in trees.items()}
        found = [keys[name].map(numbers[name]).to_numpy(dtype=np.float64) for name in trees]
        if np.isnan(found).any() or np.any(np.diff(table.relations.indptr) == 0):
            return None
        codes = [code.astype(np.int64) for code in found]
        slabs = cls(
            table,
            [Dimension.of(table, codes, at, tree) for at, tree in enumerate(trees.values())],
        )
        return slabs if slabs._are_sound() else None

    def _are_sound(self) -> bool:
        """Whether the table is the sum of its leaves, and other leaves make one that adds up."""
        n_cells = self.table.n_cells
        if any(np.count_nonzero(d.cell != ABSENT) != n_cells for d in self.dimensions):
            return False
        values = np.rint(self.table.values).astype(np.int64)
        others = np.random.default_rng(0).integers(0, ANY_COUNT, n_cells)
        is_sum = np.array_equal(self.added_up(values), values)
        return is_sum and self.adds_up(self.added_up(others))

    def added_up(self, numbers: Integers) -> Integers:
        """Return the table of the sums of its most detailed cells.

        Parameters
        ----------
        numbers : numpy.ndarray of int, shape (n_cells,)
            Only the most detailed cells are looked at.
        """
        found = np.where(self.is_leaf, numbers, 0)
        for dimension in self.dimensions:
            exists = dimension.cell != ABSENT
            parts = np.where(exists, found[dimension.cell], 0)[dimension.leaves]
            found[dimension.cell[exists]] = (dimension.above @ parts)[exists]
        return found

    def adds_up(self, numbers: Integers) -> bool:
        """Whether whole numbers satisfy every relation."""
        return not np.any(exact_products(self.relations, numbers))

    def shift(self, at: int, leaf: int, back: int | None = None) -> Shift | None:
        """Return what moves if z is added to a leaf, and taken from another one; None if nothing.

        Parameters
        ----------
        at : int
            Which dimension.
        leaf, back : int
            Positions in the leaves of the dimension.
        """
        dimension = self.dimensions[at]
        times = dimension.above[:, [leaf]].toarray().ravel()
        exists = dimension.cell[dimension.leaves[leaf]] != ABSENT
        if back is not None:
            times = times - dimension.above[:, [back]].toarray().ravel()
            exists &= dimension.cell[dimension.leaves[back]] != ABSENT
        places = np.flatnonzero(exists)
        moving = np.flatnonzero(times)
        if not len(places) or not len(moving):
            return None
        rows = self.relations[self._rows[at][leaf], :]
        return Shift(
            cells=tuple(dimension.cell[code, places] for code in moving),
            sign=tuple(int(times[code]) for code in moving),
            relations=rows[:, dimension.cell[dimension.leaves[leaf], places]],
        )
