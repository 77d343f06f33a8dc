"""The codes of a dimension: how they are specified, read, and checked to add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.graph import children_of, parts_first
from tablecloak.packed import unpacked
from tablecloak.tables.classifications import CLASSIFICATIONS
from tablecloak.tables.number_codes import as_codes, lost_zeros
from tablecloak.tables.number_ranges import in_order

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Group = tuple[str, tuple[str, ...]]
"""A parent code and the child codes that add up to it."""

NestedCodes = Mapping[str, Any] | Sequence[str]


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
    labels : mapping of str to str, default={}
        What codes stand for, shown beside them; two hierarchies may differ in them and be equal.

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
    labels: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

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
        groups: list[Group] = []
        waiting: list[tuple[str, NestedCodes]] = [(total, nested)]
        while waiting:
            parent, below = waiting.pop()
            if isinstance(below, str) or not isinstance(below, Mapping | Sequence):
                raise InputError(
                    f"Hierarchy: below {parent!r} stands {below!r}. Expected a list of codes, or "
                    f"codes with the codes below each."
                )
            groups.append((parent, tuple(str(code) for code in below)))
            if isinstance(below, Mapping):
                deeper = [(str(code), inner) for code, inner in below.items() if _is_filled(inner)]
                # A stack: the last code pushed is visited first.
                waiting.extend(reversed(deeper))
        return cls._of_tree(total, groups)

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
        if not lead:
            raise InputError(f"{path}: the lead string of the hierarchy is empty. Usual is '@'.")
        children: dict[str, list[str]] = {total: []}
        ancestors = [total]
        for number, line in enumerate(_read_lines(Path(path), encoding), start=1):
            text = line.rstrip()
            if not text:
                continue
            depth = 0
            while text.startswith(lead):
                text, depth = text[len(lead) :], depth + 1
            if depth >= len(ancestors):
                raise InputError(
                    f"{path}, line {number}: code {text!r} is on level {depth + 1}, but the line "
                    f"above is on level {len(ancestors) - 1}, so its parent is missing (orphan). "
                    f"A line may go down by one level only."
                )
            if not text:
                raise InputError(
                    f"{path}, line {number}: after {lead!r} there is no code. Add one, or remove "
                    f"the line."
                )
            if text in children:
                raise InputError(
                    f"{path}, line {number}: code {text!r} is listed twice. Each code may stand "
                    f"in one place only; give the second one another name or remove it."
                )
            children[ancestors[depth]].append(text)
            children[text] = []
            ancestors[depth + 1 :] = [text]
        if not children[total]:
            raise InputError(f"{path}: no code found. An .hrc file lists one code per line.")
        groups = [(parent, tuple(below)) for parent, below in children.items() if below]
        return cls._of_tree(total, groups, str(path))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        parent: str = "parent",
        child: str = "child",
        total: str = "",
        label: str = "",
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
        label : str, default=""
            Name of a column with the labels of the child codes.
        """
        _check_columns(frame, parent=parent, child=child, **({"label": label} if label else {}))
        children: dict[str, list[str]] = {}
        codes = as_codes(frame[child])
        for above, below in zip(as_codes(frame[parent]), codes, strict=True):
            children.setdefault(above, []).append(below)
        everyone = {code for below in children.values() for code in below}
        roots = [code for code in children if code not in everyone]
        if not total:
            if not roots:
                raise InputError(
                    "Hierarchy: every code has a parent, so the codes form a cycle. "
                    "Remove one pair of it."
                )
            total = roots[0]
        orphans = [code for code in roots if code != total]
        if orphans:
            raise InputError(
                f"Hierarchy: {listed(orphans)} has no parent and is not the total {total!r} "
                f"(orphan). Add a row that gives it a parent."
            )
        groups = [(above, tuple(below)) for above, below in children.items()]
        texts = frame[label].fillna("").astype(str) if label else ()
        labels = dict(zip(codes, texts, strict=bool(label)))
        return cls._of_tree(total, groups, labels=labels)

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
        _check_columns(frame, level=level, name=name)
        depths = frame[level].astype(str).str.strip()
        odd = np.flatnonzero(~depths.str.fullmatch("@+"))
        if len(odd) or not len(frame):
            raise InputError(
                f"Hierarchy: row {odd[0] + 1 if len(odd) else 1} has no level of @. Write one @ "
                f"for the total, and one more for each level below."
            )
        path: list[str] = []
        children: dict[str, list[str]] = {}
        rows = zip(depths.str.len(), frame[name].astype(str), strict=True)
        for row, (depth, code) in enumerate(rows):
            if depth > len(path) + 1 or (depth == 1) != (row == 0):
                raise InputError(
                    f"Hierarchy: row {row + 1}, code {code!r}, is on level {depth}, but the row "
                    f"above is on level {len(path)}. The first row is the total, alone on its "
                    f"level."
                )
            if code in children:
                raise InputError(
                    f"Hierarchy: row {row + 1}: code {code!r} is listed twice. Remove one of the "
                    f"rows."
                )
            children[code] = []
            if depth > 1:
                children[path[depth - 2]].append(code)
            path[depth - 1 :] = [code]
        total = next(iter(children))
        groups = [(parent, tuple(below)) for parent, below in children.items() if below]
        return cls._of_tree(total, groups)

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
        distinct = frame[list(columns)].apply(as_codes).drop_duplicates()
        distinct = distinct.sort_values(list(columns), key=_places)
        parent_of: dict[str, str] = {}
        children: dict[str, list[str]] = {total: []}
        for row in distinct.itertuples(index=False, name=None):
            above = total
            for column, code in zip(columns, row, strict=True):
                if code == above:
                    continue
                if parent_of.setdefault(code, above) != above:
                    raise InputError(
                        f"Hierarchy: code {code!r} of column {column!r} stands below "
                        f"{parent_of[code]!r} and below {above!r}. Each code needs one parent."
                    )
                if code not in children:
                    children[code] = []
                    children[above].append(code)
                above = code
        groups = [(parent, tuple(below)) for parent, below in children.items() if below]
        return cls._of_tree(total, groups)

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
        labels = {code: text for tree in hierarchies for code, text in tree.labels.items()}
        return cls(first.total, tuple(groups), labels)

    @classmethod
    def _of_tree(
        cls,
        total: str,
        groups: Sequence[Group],
        source: str = "Hierarchy",
        labels: Mapping[str, str] | None = None,
    ) -> Hierarchy:
        """Return the hierarchy of one tree as it was read; no code may have two parents."""
        topological_order(total, dict(groups))
        parent_of: dict[str, str] = {}
        for parent, children in groups:
            for code in children:
                if parent_of.setdefault(code, parent) != parent:
                    raise InputError(
                        f"{source}: code {code!r} has two parents, {parent_of[code]!r} and "
                        f"{parent!r}. If the groupings do not nest, read each tree on its own "
                        f"and join them with Hierarchy.combine."
                    )
        return cls(total, tuple(groups), labels or {})

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

    def labelled(self, code: str) -> str:
        """Return a code with its label, if it has one."""
        return f"{code} {self.labels.get(code, '')}".rstrip()

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


@dataclass(frozen=True)
class Dimension:
    """One dimension of a table and where its codes come from.

    Parameters
    ----------
    column : str
        Column of the data with the most detailed code.
    hierarchy : Hierarchy, str, Path, mapping or None, default=None
        A hierarchy, the path of an ``.hrc`` file, the name of a classification such as
        ``"nace-2.1"``, or nested dictionaries. None: the codes
        found in the data, each directly below the total.
    levels : sequence of str, default=()
        Columns that hold one level each, coarsest first, the last being `column`; the
        hierarchy is then read from the data.
    total : str, default="Total"
        Code of the total.
    labels : mapping of str to str, default={}
        What codes are called, where the hierarchy has no labels.
    """

    column: str
    hierarchy: Hierarchy | str | Path | Mapping[str, Any] | None = None
    levels: Sequence[str] = ()
    total: str = "Total"
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.hierarchy, Hierarchy | str | Path | Mapping | None):
            raise InputError(
                f"Dimension {self.column!r}: {self.hierarchy!r} is no hierarchy. Give a Hierarchy, "
                f"the path of an .hrc file, nested dictionaries, or nothing for a flat list."
            )

        if not isinstance(self.total, str) or not self.total.strip():
            raise InputError(
                f"Dimension {self.column!r}: the code of the total is {self.total!r}. It needs one."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that are needed."""
        return tuple(self.levels) or (self.column,)

    def resolve(self, distinct: pd.DataFrame) -> Hierarchy:
        """Return the hierarchy, given the distinct codes of `columns` in the data."""
        tree = self._tree(distinct)
        labels = {code: self.labels[code] for code in tree.codes if code in self.labels}
        return Hierarchy(tree.total, tree.groups, labels) if labels and not tree.labels else tree

    def _tree(self, distinct: pd.DataFrame) -> Hierarchy:
        if isinstance(self.hierarchy, Hierarchy):
            return self.hierarchy
        if isinstance(self.hierarchy, str | Path):
            if str(self.hierarchy) in CLASSIFICATIONS:
                classification = CLASSIFICATIONS[str(self.hierarchy)]()
                present = as_codes(distinct[self.column].dropna())
                groups, labels = classification.tree(present, self.total)
                return Hierarchy(self.total, tuple(groups), labels)
            return Hierarchy.from_hrc(self.hierarchy, self.total)
        if self.hierarchy is not None:
            return Hierarchy.from_dict(self.hierarchy, self.total)
        if self.levels:
            return Hierarchy.from_levels(distinct, self.levels, self.total)
        codes = in_order(set(as_codes(distinct[self.column].dropna())) - {self.total})
        if not codes:
            raise InputError(
                f"Dimension {self.column!r}: the data has no code besides the total "
                f"{self.total!r}. Give the hierarchy or the right column."
            )
        return Hierarchy.flat(codes, total=self.total)


def _places(column: pd.Series) -> pd.Series:
    """Return the place of each code among those of a level."""
    return column.map(
        {code: place for place, code in enumerate(in_order(column.dropna().unique()))}
    )


def as_dimensions(dimensions: Mapping[str, Any] | Sequence[str]) -> dict[str, Dimension]:
    """Bring any accepted specification of dimensions into one form.

    Parameters
    ----------
    dimensions : mapping of str to specification, or sequence of str
        For each name a `Dimension`, a `Hierarchy`, a path, nested dictionaries, a list of
        level columns, or None.
    """
    if isinstance(dimensions, str):
        raise InputError(f"`dimensions` must be a list or a mapping, not the text {dimensions!r}.")
    if not isinstance(dimensions, Mapping):
        dimensions = dict.fromkeys(dimensions)
    if not dimensions:
        raise InputError("`dimensions` is empty; a table needs at least one dimension.")
    resolved = {}
    for name, given in dimensions.items():
        if isinstance(given, Dimension):
            resolved[name] = given
        elif isinstance(given, list | tuple):
            resolved[name] = Dimension(given[-1], levels=tuple(given))
        else:
            resolved[name] = Dimension(name, hierarchy=given)
    return resolved


def read_dimensions(
    dimensions: Mapping[str, Any] | Sequence[str], codes: Mapping[str, pd.Series]
) -> dict[str, Hierarchy]:
    """Resolve the dimensions of a table that is already tabulated.

    Parameters
    ----------
    dimensions : mapping or sequence
        See `as_dimensions`; columns of levels are refused here.
    codes : mapping of str to pandas.Series
        The code of each cell, totals included.
    """
    hierarchies = {}
    for name, dimension in as_dimensions(dimensions).items():
        if dimension.levels:
            raise InputError(
                f"Dimension {name!r}: level columns {listed(list(dimension.levels))} work for "
                f"microdata only; a tabulated file has its totals in one column."
            )
        tree = dimension.resolve(pd.DataFrame({dimension.column: codes[name]}))
        if dimension.hierarchy is None and tree.total not in set(codes[name]):
            raise InputError(
                f"Dimension {name!r}: no row has the code {tree.total!r} of the total. Add the "
                f"totals, or name their code as `total` of this dimension, in Python "
                f"Dimension({name!r}, total=...)."
            )
        hierarchies[name] = tree
    for name, column in codes.items():
        unknown = ~column.isin(hierarchies[name].codes)
        if unknown.any():
            row = int(np.flatnonzero(unknown.to_numpy())[0])
            zeros = lost_zeros(name, column[unknown].unique(), hierarchies[name].codes)
            raise InputError(
                f"code {column.iloc[row]!r} of dimension {name!r} is not in its "
                f"hierarchy (unknown are {listed(sorted(column[unknown].unique()))}). Add the code "
                f"to the hierarchy or correct the data.{zeros}",
                row=row,
            )
    return hierarchies


def _check_columns(frame: pd.DataFrame, **columns: str) -> None:
    for column in columns.values():
        if column not in frame.columns:
            parameters = " and ".join(f"`{parameter}`" for parameter in columns)
            raise InputError(
                f"Hierarchy: the frame has no column {column!r}; it has "
                f"{listed(list(frame.columns))}. Name the columns with {parameters}."
            )


def topological_order(total: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    """Codes with every parent before its children; a cycle is an error that shows it."""
    if total not in children:
        raise InputError(
            f"Hierarchy: the total {total!r} is not the parent of any code. Name the code of "
            f"the total with `total`."
        )
    if not children[total]:
        raise InputError(
            f"Hierarchy: there is no code below the total {total!r}. Add the codes that are its "
            "parts."
        )
    _check_acyclic(children)
    # From the last child on: reversed, the first child then comes first.
    order = parts_first(total, {code: below[::-1] for code, below in children.items()})
    return order[::-1]


def _check_acyclic(children: Mapping[str, Sequence[str]]) -> None:
    try:
        TopologicalSorter(children).prepare()
    except CycleError as error:
        # Each code of the list lies below the next one, and the last one is the first.
        cycle = error.args[1][:0:-1]
        start = cycle.index(next(code for code in children if code in cycle))
        cycle = [*cycle[start:], *cycle[: start + 1]]
        raise InputError(
            f"Hierarchy: the codes {' > '.join(cycle)} form a cycle. Remove one of these pairs."
        ) from None


def _is_filled(below: Any) -> bool:
    """Whether there is something below a code; an empty value marks a leaf."""
    return below is not None and not (hasattr(below, "__len__") and len(below) == 0)


def _read_lines(path: Path, encoding: str) -> list[str]:
    try:
        text = unpacked(path).decode(encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    # Editors on Windows write a byte-order mark in front; it is no part of the first code.
    return text.removeprefix("\ufeff").splitlines()
