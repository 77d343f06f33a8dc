"""Sums of cells that must be protected as if each were a cell.

Which sums these are depends on what a pattern hides, so that this change is made again, with more
sums, when a search has hidden more; `tablecloak.tables.sums` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import AnyIntegers, Floats, Texts
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.further_cells import with_further_cells
from tablecloak.tables.keys import SUM
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Sums:
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

    def chosen(self, kept: AnyIntegers) -> Sums:
        """Return some of the sums."""
        cells = csr_array(self.cells[kept, :])
        return Sums(cells, self.lower[kept], self.upper[kept], self.reasons[kept])

    def joined(self, other: Sums) -> Sums:
        """Return these sums, and those of the other that are not among them."""
        known = set(set_names(self.cells))
        new = [row for row, name in enumerate(set_names(other.cells)) if name not in known]
        more = other.chosen(np.array(new, dtype=np.int64))
        return Sums(
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
    sums : Sums
    """

    sums: Sums = field(kw_only=True)

    @classmethod
    def of(cls, problem: ProtectionProblem, sums: Sums) -> Self:
        """Return the change to a problem with these sums, the last cells."""
        if not len(sums):
            return cls.within(problem, problem, sums=sums)
        change = with_further_cells(
            problem, _keys(problem.table.keys, sums.cells), sums.cells,
            lower_protection=sums.lower, upper_protection=sums.upper, reasons=sums.reasons,
        )  # fmt: skip
        return cls.within(problem, change.problem, sums=sums)

    def again(self, sums: Sums) -> Self:
        """Return the change of the same problem with more sums, those here first."""
        return self.of(self.given, self.sums.joined(sums))


def set_names(cells: csr_array) -> list[bytes]:
    """Return for each row something that only rows with the same cells have."""
    ordered = cells.sorted_indices()
    if not cells.shape[0]:
        return []
    return [part.tobytes() for part in np.split(ordered.indices, ordered.indptr[1:-1])]


def _keys(keys: pd.DataFrame, cells: csr_array) -> pd.DataFrame:
    """Return codes of sums: those that its cells share, or the mark of a sum and those of each."""
    codes = keys.to_numpy(dtype=object)
    ordered = cells.sorted_indices()
    rows = []
    for members in np.split(ordered.indices, ordered.indptr[1:-1]):
        own = codes[members]
        same = (own == own[0]).all(axis=0)
        told = [SUM + "+".join(map(str, own[:, axis])) for axis in range(own.shape[1])]
        rows.append(np.where(same, own[0], np.array(told, dtype=object)))
    return pd.DataFrame(np.array(rows, dtype=object), columns=keys.columns)
