"""The codes of one dimension: one or more trees over the same leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tablecloak.errors import InputError, listed
from tablecloak.graph import children_of
from tablecloak.tables import trees
from tablecloak.tables.trees import Group, NestedCodes, topological_order

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Hierarchy:
    """The codes of one dimension and the groups of codes that add up to another.

    Parameters
    ----------
    total : str
        Code of the total, the root of every tree.
    groups : tuple of (str, tuple of str)
        Each parent with the children that add up to it. A parent may appear with several
        groups: then the dimension has several trees over the same leaves, nested or not.

    Raises
    ------
    InputError
        If a tree has a cycle, if a code cannot be reached from the total, if two trees do
        not cover the same leaves, or if a group counts a leaf twice.

    Examples
    --------
    >>> regions = Hierarchy.from_dict({"North": ["N1", "N2"], "South": []})
    >>> regions.leaves
    ('N1', 'N2', 'South')
    >>> regions.groups
    (('Total', ('North', 'South')), ('North', ('N1', 'N2')))
    """

    total: str
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        order = topological_order(self.total, children_of(self.groups))
        mentioned = {code for parent, below in self.groups for code in (parent, *below)}
        unreachable = sorted(mentioned - set(order))
        if unreachable:
            raise InputError(
                f"Hierarchy: {listed(unreachable)} cannot be reached from the total "
                f"{self.total!r} (orphan). Give each code a parent that leads to the total."
            )
        object.__setattr__(self, "_codes", tuple(order))
        self._check_groups()

    # -- construction ---------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = "Total") -> Hierarchy:
        """Return the hierarchy in which all `codes` add up directly to `total`."""
        return cls(total, ((total, tuple(codes)),))

    @classmethod
    def from_dict(cls, nested: NestedCodes, total: str = "Total") -> Hierarchy:
        """Read nested dictionaries or lists; an empty value marks a leaf.

        Parameters
        ----------
        nested : mapping or sequence of str
            Codes below the total, each with the codes below it.
        total : str, default="Total"
            Code of the total.

        Raises
        ------
        InputError
            If something else than codes stands below a code.
        """
        return cls.of_tree(trees.nested(nested, total))

    @classmethod
    def from_hrc(
        cls, path: str | Path, total: str = "Total", lead: str = "@", encoding: str = "utf-8"
    ) -> Hierarchy:
        """Read an ``.hrc`` file: one code per line, one lead string per level below the first.

        Parameters
        ----------
        path : str or Path
            File to read; the total itself is not listed in it.
        total : str, default="Total"
            Code of the total.
        lead : str, default="@"
            String repeated in front of a code, once for each level below the first.
        encoding : str, default="utf-8"
            Encoding of the file.

        Raises
        ------
        InputError
            If the file cannot be read, is empty, lists a code twice, or goes down by more
            than one level from one line to the next; if `lead` is empty.
        """
        return cls.of_tree(trees.hrc(Path(path), total, lead, encoding))

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, parent: str = "parent", child: str = "child", total: str = ""
    ) -> Hierarchy:
        """Read a frame with one row for each pair of a parent code and a child code.

        Parameters
        ----------
        frame : pandas.DataFrame
            At least the two named columns.
        parent, child : str
            Names of these columns.
        total : str, default=""
            Code of the total; by default the only code that is never a child.
        """
        return cls.of_tree(trees.pairs(frame, parent, child, total))

    @classmethod
    def from_sdc_hierarchies(
        cls, frame: pd.DataFrame, level: str = "level", name: str = "name"
    ) -> Hierarchy:
        """Read a table of the R package sdcHierarchies: ``@`` is the total, ``@@`` below it.

        Parameters
        ----------
        frame : pandas.DataFrame
            In the order of the tree.
        level, name : str
            Names of the columns.

        Raises
        ------
        InputError
            If a level is skipped, or the first row is not the only total.
        """
        return cls.of_tree(trees.sdc_hierarchies(frame, level, name))

    @classmethod
    def from_levels(
        cls, frame: pd.DataFrame, columns: Sequence[str], total: str = "Total"
    ) -> Hierarchy:
        """Read the tree from columns that hold one level each, coarsest first.

        A code that repeats its parent's name on the next level adds no level of its own.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with these columns: microdata or a correspondence table.
        columns : sequence of str
            Names of the columns, coarsest first.
        total : str, default="Total"
            Code of the total.
        """
        return cls.of_tree(trees.levels(frame, columns, total))

    @classmethod
    def combine(cls, *hierarchies: Hierarchy) -> Hierarchy:
        """Join several trees over the same leaves into one dimension.

        The trees may group the leaves in ways that do not nest; a code that occurs in two
        of them must stand for the same leaves.
        """
        first = hierarchies[0]
        for other in hierarchies[1:]:
            if other.total != first.total:
                raise InputError(
                    f"Hierarchy: the totals are called {first.total!r} and {other.total!r}. "
                    f"Trees over the same leaves need the same total."
                )
            odd = sorted(set(other.leaves) ^ set(first.leaves))
            if odd:
                raise InputError(
                    f"Hierarchy: {listed(odd)} is a leaf in one tree but not in the other. "
                    f"All trees of a dimension need the same leaves."
                )
        groups = dict.fromkeys(group for tree in hierarchies for group in tree.groups)
        return cls(first.total, tuple(groups))

    @classmethod
    def of_tree(cls, tree: trees.Tree) -> Hierarchy:
        """Return the hierarchy of one tree as it was read; no code may have two parents."""
        topological_order(tree.total, dict(tree.groups))
        trees.check_parents(tree)
        return cls(tree.total, tuple(tree.groups))

    # -- what it says ---------------------------------------------------------------------

    @property
    def codes(self) -> tuple[str, ...]:
        """All codes, the total first and every parent before its children."""
        codes: tuple[str, ...] = self._codes  # type: ignore[attr-defined]
        return codes

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes that have no children."""
        parents = {parent for parent, _ in self.groups}
        return tuple(code for code in self.codes if code not in parents)

    @cached_property
    def position(self) -> dict[str, int]:
        """Position of each code in `codes`."""
        return {code: index for index, code in enumerate(self.codes)}

    def closure(self) -> csr_array:
        """Return the 0/1 matrix of which leaf counts towards which code.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_codes, n_leaves)
            Rows in the order of `codes`, columns in the order of `leaves`.
        """
        from scipy.sparse import csr_array

        row_of_leaf = self._leaf_sets()
        pairs = [(row, leaf) for row, leaves in enumerate(row_of_leaf) for leaf in sorted(leaves)]
        rows, columns = np.array(pairs, dtype=np.int64).T
        shape = (len(self.codes), len(self.leaves))
        return csr_array((np.ones(len(pairs)), (rows, columns)), shape=shape)

    def _leaf_sets(self) -> list[frozenset[int]]:
        """Leaves under each code, found from the bottom up."""
        leaf_number = {leaf: number for number, leaf in enumerate(self.leaves)}
        found: dict[str, frozenset[int]] = {
            leaf: frozenset((number,)) for leaf, number in leaf_number.items()
        }
        first_group = dict(reversed(self.groups))
        for code in reversed(self.codes):
            if code not in found:
                found[code] = frozenset().union(*(found[child] for child in first_group[code]))
        return [found[code] for code in self.codes]

    def _check_groups(self) -> None:
        """Every group of a parent must count each of the parent's leaves exactly once."""
        leaves = dict(zip(self.codes, self._leaf_sets(), strict=True))
        for parent, below in self.groups:
            counted = [leaf for code in below for leaf in leaves[code]]
            if len(counted) != len(set(counted)) or set(counted) != leaves[parent]:
                raise InputError(
                    f"Hierarchy: the group {parent!r} = {' + '.join(below)} does not count each "
                    f"leaf of {parent!r} exactly once. Check the codes in this group."
                )
