"""All perturbed tables of one job: what may leave of them together, and what must stay inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.cellkey.counts import PerturbedCounts
from tablecloak.cellkey.magnitudes import PerturbedMagnitudes
from tablecloak.cellkey.utility import Utility, utility_of
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.published import published_column, published_decimals

PerturbedTable = PerturbedCounts | PerturbedMagnitudes


@dataclass(frozen=True, eq=False)
class PerturbedTables:
    """One or several perturbed tables of the same records.

    A cell that belongs to several tables has the same value in each of them, because the same
    records stand behind it.

    Parameters
    ----------
    tables : tuple of PerturbedCounts or PerturbedMagnitudes
        At least one; all counts, or all sums of one variable.
    measure : str
        Name of the column of values in the release.
    decimals : int or None
        Digits behind the decimal point to publish; by default those of the true values.
    """

    tables: tuple[PerturbedTable, ...]
    measure: str
    decimals: int | None = None

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Hierarchies of all dimensions."""
        found: dict[str, Hierarchy] = {}
        for each in self.tables:
            found |= _trees(each)
        return found

    @property
    def digits(self) -> int:
        """Digits behind the decimal point with which values are published."""
        if self.decimals is not None:
            return self.decimals
        return max(published_decimals(_truth(each), None) for each in self.tables)

    def release(self) -> pd.DataFrame:
        """Return what may be published: each cell once, with the totals of other dimensions."""
        joined = self._joined([each.release() for each in self.tables])
        values = joined[self.measure].to_numpy(np.float64)
        return joined.assign(**{self.measure: published_column(values, self.digits)})

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell, true values and cell keys included. Secret."""
        return self._joined([each.to_frame() for each in self.tables])

    def utility(self) -> Utility:
        """Measure how far perturbed values lie from true ones, over each cell once."""
        frame = self.to_frame()
        true = frame["true_count"] if "true_count" in frame else frame[self.measure]
        # Sums never change their sign; the distance of square roots is that of absolute values.
        return utility_of(np.abs(true), np.abs(frame["perturbed"]))

    def secrets(self) -> Iterator[float]:
        """Yield what must not stand in a release: true values of changed cells, and cell keys."""
        for each in self.tables:
            yield from _truth(each)[each.changes != 0].tolist()
            if isinstance(each, PerturbedCounts):
                changed = each.is_weighted & (each.changes != 0)
                yield from each.weights[changed].tolist()
                yield from np.asarray(each.cell_keys, dtype=np.float64).tolist()
            else:
                yield from each.to_frame()["cell_key"].tolist()

    def summary(self) -> str:
        """Say in one line what was done, for each table."""
        return "; ".join(each.summary() for each in self.tables)

    def _joined(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        """Return all cells of all tables, each once, with the codes of all dimensions."""
        trees = self.hierarchies
        full = [
            frame.assign(**{name: tree.total for name, tree in trees.items() if name not in frame})
            for frame in frames
        ]
        joined = pd.concat(full, ignore_index=True).drop_duplicates(list(trees))
        others = [name for name in joined if name not in trees]
        return joined[[*trees, *others]].reset_index(drop=True)


def _trees(table: PerturbedTable) -> Mapping[str, Hierarchy]:
    return table.hierarchies if isinstance(table, PerturbedCounts) else table.table.hierarchies


def _truth(table: PerturbedTable) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    counts = table.counts if isinstance(table, PerturbedCounts) else table.table.values
    return np.asarray(counts, dtype=np.float64)
