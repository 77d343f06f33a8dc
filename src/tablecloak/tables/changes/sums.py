"""Sums of cells as further cells of a problem, each with a relation of its own.

A further cell is never published, weighs nothing, and may be anything that its cells may be. So it
tells nothing new of these: what is proved of them beside it holds without it.

`SumsAsCells` adds those that must be protected as if each were a cell. Which sums these are depends
on what a pattern hides, so that this change is made again, with more sums, when a search has hidden
more; `tablecloak.tables.sums` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import AnyIntegers, Floats, Texts
from tablecloak.tables.changes.change import Change
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.keys import SUM
from tablecloak.tables.problem import ProtectionProblem


def with_further_cells(
    problem: ProtectionProblem, keys: pd.DataFrame, cells: csr_array, **arrays: Any
) -> Change:
    """Return the change to a problem with sums of its cells as further cells, the last ones.

    Parameters
    ----------
    problem : ProtectionProblem
    keys : pandas.DataFrame of str, shape (n_new, n_dimensions)
    cells : scipy.sparse.csr_array, shape (n_new, n_cells)
        1 for each cell of a sum.
    **arrays : numpy.ndarray, shape (n_new,)
        Levels and reasons of the sums; see `CellArrays.extended`.
    """
    table = problem.table
    n, values = len(keys), cells @ table.values
    more = hstack([cells, diags_array(-np.ones(n))], format="csr")
    old = hstack([table.relations, csr_array((table.n_relations, n))], format="csr")
    contributions, holdings = (
        Contributions.concatenate([each, _of_nobody(each, cells)]) if each else None
        for each in (table.contributions, table.holdings)
    )
    larger = replace(
        table,
        keys=pd.concat([table.keys, keys], ignore_index=True),
        values=np.concatenate([table.values, values]),
        relations=csr_array(vstack([old, more], format="csr")),
        right_hand_side=np.concatenate([table.right_hand_side, np.zeros(n)]),
        contributions=contributions,
        holdings=holdings,
    )
    return Change.within(problem, ProtectionProblem.of(larger, problem.extended(cells, **arrays)))


def _of_nobody(like: Contributions, cells: csr_array) -> Contributions:
    """Return the contributions to sums of cells, of which it is known only how many there are.

    What a contributor knows of a sum follows from what it knows of the cells in it.
    """
    return replace(
        Contributions.unknown(cells @ like.total).padded(like.largest.shape[1]),
        count=np.rint(cells @ like.count).astype(np.int64),
        weighted_count=cells @ like.weighted_count,
        names=like.names,
    )


@dataclass(frozen=True, eq=False)
class SumsOfCells:
    """Sums of cells that must be able to move as if each were a cell.

    Parameters
    ----------
    cells : scipy.sparse.csr_array, shape (n_sums, n_cells)
        1 for each cell of the sum.
    lower, upper : numpy.ndarray of float, shape (n_sums,)
        Protection levels.
    reasons : numpy.ndarray of str, shape (n_sums,)
        Name of the rule that finds each sum unsafe.
    """

    cells: csr_array
    lower: Floats
    upper: Floats
    reasons: Texts

    def __len__(self) -> int:
        return len(self.lower)

    def chosen(self, kept: AnyIntegers) -> SumsOfCells:
        """Return some of the sums."""
        cells = csr_array(self.cells[kept, :])
        return SumsOfCells(cells, self.lower[kept], self.upper[kept], self.reasons[kept])

    def joined(self, other: SumsOfCells) -> SumsOfCells:
        """Return these sums, and those of the other that are not among them."""
        known = set(set_names(self.cells))
        new = [row for row, name in enumerate(set_names(other.cells)) if name not in known]
        more = other.chosen(np.array(new, dtype=np.int64))
        return SumsOfCells(
            csr_array(vstack([self.cells, more.cells], format="csr")),
            np.concatenate([self.lower, more.lower]),
            np.concatenate([self.upper, more.upper]),
            np.concatenate([self.reasons, more.reasons]),
        )


@dataclass(frozen=True, eq=False)
class SumsAsCells(Change):
    """A problem with sums of its cells as further sensitive cells, which weigh nothing.

    Parameters
    ----------
    given, problem, cells, relations
        See `Change`.
    sums : SumsOfCells
    """

    sums: SumsOfCells = field(kw_only=True)

    @classmethod
    def of(cls, problem: ProtectionProblem, sums: SumsOfCells) -> Self:
        """Return the change to a problem with these sums, the last cells."""
        if not len(sums):
            return cls.within(problem, problem, sums=sums)
        change = with_further_cells(
            problem, _keys(problem.table.keys, sums.cells), sums.cells,
            lower_protection=sums.lower, upper_protection=sums.upper, reasons=sums.reasons,
        )  # fmt: skip
        return cls.within(problem, change.problem, sums=sums)

    def again(self, sums: SumsOfCells) -> Self:
        """Return the change of the same problem with more sums, those here first."""
        return self.of(self.given, self.sums.joined(sums))


def set_names(cells: csr_array) -> list[bytes]:
    """Return for each row something that only rows with the same cells have."""
    ordered = cells.sorted_indices()
    if not cells.shape[0]:
        return []
    return [part.tobytes() for part in np.split(ordered.indices, ordered.indptr[1:-1])]


def _keys(keys: pd.DataFrame, cells: csr_array) -> pd.DataFrame:
    """Return codes of sums: those that its cells share, or the mark of a sum and those of each.

    A sum of one cell has the mark everywhere, since the cell itself has its codes.
    """
    codes = keys.to_numpy(dtype=object)
    ordered = cells.sorted_indices()
    rows = []
    for members in np.split(ordered.indices, ordered.indptr[1:-1]):
        own = codes[members]
        same = (own == own[0]).all(axis=0) & (len(members) > 1)
        told = [SUM + "+".join(map(str, own[:, axis])) for axis in range(own.shape[1])]
        rows.append(np.where(same, own[0], np.array(told, dtype=object)))
    return pd.DataFrame(np.array(rows, dtype=object), columns=keys.columns)
