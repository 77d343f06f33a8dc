"""Rests of groups: what is left of a group without some of its parts.

A group p of persons and a part c of it, such as all persons of a region and those in good health,
leave the rest p - c. Who learns that the rest is small learns that nearly everybody of the group is
in the part. Such a rest is a cell of the problem with a relation p = c + rest: it is sensitive,
must be able to grow, weighs nothing, and is never published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, diags_array, vstack

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers, Texts
from tablecloak.errors import InputError, ModelError, listed, require_known, suggestion
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.sums import with_further_cells
from tablecloak.tables.keys import REST, label_of
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

Combination = Mapping[str, Sequence[str]]
"""Codes of one dimension that mean something together, such as {"health": ["bad", "very bad"]}."""


@dataclass(frozen=True, eq=False)
class Rests:
    """Rests of groups, each a sum of cells that must be able to grow.

    Parameters
    ----------
    keys : pandas.DataFrame of str, shape (n_rests, n_dimensions)
        Codes of the group, with the mark of a rest and the part in the dimension that divides it.
    cells : scipy.sparse.csr_array, shape (n_rests, n_cells)
        1 for each cell of the rest.
    growth : numpy.ndarray of float, shape (n_rests,)
        By how much the rest must be able to be larger than it is.
    """

    keys: pd.DataFrame
    cells: csr_array
    growth: Floats

    def chosen(self, kept: AnyIntegers) -> Rests:
        """Return some of the rests."""
        keys = self.keys.iloc[kept].reset_index(drop=True)
        return Rests(keys, csr_array(self.cells[kept, :]), self.growth[kept])


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups, each a sum of cells along one dimension.

    `parts` holds 1 for each cell of a group, `like` a cell with the other codes of the group, and
    `dimension` the number of the dimension that divides it.
    """

    parts: csr_array
    like: Integers
    dimension: Integers

    def chosen(self, kept: AnyIntegers) -> _Groups:
        """Return some of the groups, or one of them several times."""
        return _Groups(csr_array(self.parts[kept, :]), self.like[kept], self.dimension[kept])


def find_rests(
    table: Table,
    most: int,
    attributes: Sequence[str] = (),
    combinations: Sequence[Combination] = (),
) -> Rests:
    """Find the groups that leave a small rest without a part that is not empty.

    Parameters
    ----------
    table : Table
        Counts.
    most : int
        Largest rest that tells too much of the group.
    attributes : sequence of str, default=()
        Dimensions by which groups are divided; by default all of them.
    combinations : sequence of mapping of str to sequence of str, default=()
        Codes that mean something together: a part of each group that holds them, and a group of
        their own.

    Returns
    -------
    Rests
        Each must be able to grow to `most + 1`.

    Raises
    ------
    InputError
        If a dimension or a code is unknown, or codes of a combination are not parts of one group.

    Notes
    -----
    Only a group and its parts in one relation are compared. For a part m of a group p and a part c
    of m, p - c = (p - m) + (m - c). No term is negative: if the sum is small, both are, and if one
    of them can grow to `most + 1`, so can the sum.
    """
    for name in attributes:
        _require_dimension(table, name)
    groups = _groups_of(table, attributes)
    small_rests = [_without_each(table, groups, most)]
    for combination in combinations:
        for name, codes in combination.items():
            around, inside = _together(table, groups, name, codes)
            joined = "+".join(codes)
            small_rests.append(_without(table, around, inside.parts, joined, most))
            small_rests.append(_without_each(table, inside, most, f"~in~{joined}"))
    every = _stacked(small_rests)
    # Of a group that is divided in two ways, a part leaves the same rest in both.
    return every.chosen(np.flatnonzero(~every.keys.duplicated().to_numpy()))


def _require_dimension(table: Table, name: str) -> None:
    if name not in table.keys.columns:
        near = suggestion(name, map(str, table.keys.columns))
        raise InputError(f"The table has no dimension {name!r}.{near}")


def _groups_of(table: Table, attributes: Sequence[str]) -> _Groups:
    """Return the groups that are divided by these dimensions: totals of relations, by parts."""
    relations = table.relations
    row = np.repeat(np.arange(table.n_relations), np.diff(relations.indptr))
    is_total = relations.data == -1
    plain = np.bincount(row[is_total], minlength=table.n_relations) == 1
    odd = np.bincount(row[~is_total & (relations.data != 1)], minlength=table.n_relations)
    plain &= (odd == 0) & (table.right_hand_side == 0)
    total = np.zeros(table.n_relations, dtype=np.int64)
    total[row[is_total]] = relations.indices[is_total]
    names = list(map(str, table.keys.columns))
    codes = np.column_stack([pd.factorize(table.keys[name])[0] for name in names])
    differs = codes[relations.indices] != codes[total[row]]
    along = np.column_stack(
        [np.bincount(row[column], minlength=table.n_relations) > 0 for column in differs.T]
    )
    dimension = np.argmax(along, axis=1)
    asked = np.isin(np.array(names), list(attributes)) if attributes else np.ones(len(names), bool)
    plain &= (along.sum(axis=1) == 1) & asked[dimension]
    parts = relations.copy()
    parts.data = np.where(is_total, 0.0, parts.data)
    parts.eliminate_zeros()
    groups = _Groups(parts, total, dimension).chosen(np.flatnonzero(plain))
    return groups.chosen(np.flatnonzero(_can_be_divided(table, groups)))


def _can_be_divided(table: Table, groups: _Groups) -> Flags:
    """Return which groups have several parts, empty ones that the table does not list included."""
    several: Flags = np.diff(groups.parts.indptr) > 1
    for axis, name in enumerate(table.keys.columns):
        tree = table.hierarchies.get(name)
        divided = [] if tree is None else [code for code, parts in tree.groups if len(parts) > 1]
        mine = groups.dimension == axis
        several[mine] |= table.keys[name].iloc[groups.like[mine]].isin(divided).to_numpy()
    return several


def _together(
    table: Table, groups: _Groups, name: str, codes: Sequence[str]
) -> tuple[_Groups, _Groups]:
    """Return the groups of which these codes are parts, and the parts together as groups."""
    _require_dimension(table, name)
    _check_combination(table, name, codes)
    column = table.keys[name]
    meant = column.isin(list(codes)).to_numpy() * 1.0
    inside = csr_array(groups.parts @ diags_array(meant))
    inside.eliminate_zeros()
    axis = list(table.keys.columns).index(name)
    n_inside, n_parts = np.diff(inside.indptr), np.diff(groups.parts.indptr)
    # Without a hierarchy, a group has no parts but those that the table lists.
    is_part = (n_inside > 0) & ((n_inside < n_parts) | (name in table.hierarchies))
    kept = np.flatnonzero((groups.dimension == axis) & is_part)
    around = groups.chosen(kept)
    return around, replace(around, parts=csr_array(inside[kept, :]))


def _check_combination(table: Table, name: str, codes: Sequence[str]) -> None:
    """Refuse codes that are unknown, or no combination of some parts of one group."""
    tree = table.hierarchies.get(name)
    valid_codes = list(tree.codes) if tree else table.keys[name].unique().tolist()
    for code in codes:
        require_known(code, valid_codes, f"A combination names the code {code!r} of {name!r}.")
    around = [set(parts) for _, parts in tree.groups if set(codes) <= set(parts)] if tree else []
    if (tree and not around) or len(set(codes)) < 2 or set(codes) in around:
        raise InputError(
            f"The codes {listed(list(codes))} of {name!r} are no combination. Give two or more "
            f"parts of one group, but not all of them."
        )


def _without_each(table: Table, groups: _Groups, most: int, where: str = "") -> Rests:
    """Return the small rests of groups without one cell."""
    values = table.values
    block = groups.parts.tocoo()
    row, cell = (numbers.astype(np.int64) for numbers in block.coords)
    small = (values[cell] > 0) & ((groups.parts @ values)[row] - values[cell] <= most)
    row, cell = row[small], cell[small]
    shape = (len(cell), table.n_cells)
    part = csr_array((np.ones(len(cell)), (np.arange(len(cell)), cell)), shape=shape)
    chosen = groups.chosen(row)
    codes = table.keys.to_numpy(dtype=object)[cell, chosen.dimension]
    return _rests(table, chosen, part, [f"{code}{where}" for code in codes], most)


def _without(table: Table, groups: _Groups, part: csr_array, codes: str, most: int) -> Rests:
    """Return the small rests of groups without a part of several cells."""
    inside = part @ table.values
    small = np.flatnonzero((inside > 0) & (groups.parts @ table.values - inside <= most))
    chosen = groups.chosen(small)
    return _rests(table, chosen, csr_array(part[small, :]), [codes] * len(small), most)


def _rests(
    table: Table, groups: _Groups, part: csr_array, codes: Sequence[str], most: int
) -> Rests:
    cells = csr_array(groups.parts - part)
    cells.eliminate_zeros()
    keys = table.keys.to_numpy(dtype=object)[groups.like]
    keys[np.arange(len(keys)), groups.dimension] = [f"{REST}{code}" for code in codes]
    frame = pd.DataFrame(keys, columns=table.keys.columns)
    return Rests(frame, cells, most + 1 - cells @ table.values)


def with_rests(problem: ProtectionProblem, by_rule: Mapping[str, Rests]) -> Change:
    """Return the change to a problem with rests as further sensitive cells, which weigh nothing.

    Parameters
    ----------
    problem : ProtectionProblem
    by_rule : mapping of str to Rests
        Rests by the name of the rule that found them. Of a rest that several rules found, the
        largest growth counts.

    Raises
    ------
    ModelError
        If all cells of a rest must be published, so that everybody can add them up.
    """
    rests = _stacked(list(by_rule.values()))
    reasons = np.repeat(list(by_rule), [len(some.keys) for some in by_rule.values()])
    order = np.argsort(-rests.growth, kind="stable")
    kept = np.sort(order[~rests.keys.iloc[order].duplicated().to_numpy()])
    rests, reasons = rests.chosen(kept), reasons[kept]
    if not len(kept):
        return Change.within(problem, problem)
    _require_room(problem, rests, reasons)
    return with_further_cells(
        problem, rests.keys, rests.cells, upper_protection=rests.growth, reasons=reasons
    )


def _stacked(parts: Sequence[Rests]) -> Rests:
    keys = pd.concat([part.keys for part in parts], ignore_index=True)
    cells = csr_array(vstack([part.cells for part in parts], format="csr"))
    return Rests(keys, cells, np.concatenate([part.growth for part in parts]))


def _require_room(problem: ProtectionProblem, rests: Rests, reasons: Texts) -> None:
    movable = (~problem.frozen).astype(np.float64)
    shut = np.flatnonzero(rests.cells @ movable == 0)
    if len(shut):
        labels = [f"({label_of(rests.keys, row)})" for row in shut[:5].tolist()]
        raise ModelError(
            f"{len(shut)} groups disclose by the rule {str(reasons[shut[0]])!r}, and all cells of "
            f"their rests are published: {listed(labels)}{' and more' if len(shut) > 5 else ''}. "
            f'Let zeros be suppressed (zeros = "candidates") in a table that lists its empty '
            f"cells, or unfreeze cells of these rests."
        )


def values_with_rests(table: Table, values: Floats) -> Floats:
    """Return values of all cells with those of the rests computed from the others.

    Parameters
    ----------
    table : Table
    values : numpy.ndarray of float, shape (n_cells,)
        Whatever they say of rests is replaced.
    """
    rests = np.flatnonzero(table.rests)
    if not len(rests):
        return values
    # A rest is in one relation only, of which it is the total.
    definitions = csr_array(table.relations[:, rests]).tocoo()
    row, rest = definitions.coords
    completed: Floats = np.where(table.rests, 0.0, values)
    completed[rests[rest]] = (table.relations[row, :] @ completed) - table.right_hand_side[row]
    return completed
