"""Variables of a table that holds several: their units, and which of them share a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers

__all__ = ["Variables"]


@dataclass(frozen=True, eq=False)
class Variables:
    """The variables of a joined table (`tablecloak.join`).

    Parameters
    ----------
    dimension : str
        Column of the keys that tells the variable of each cell.
    units : mapping of str to str
        Unit of each variable, for people.
    measures : mapping of str to int
        Number of the measure of each variable: variables with the same number can be added up.
    """

    dimension: str
    units: Mapping[str, str]
    measures: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables."""
        return tuple(self.units)

    def of_cells(self, keys: pd.DataFrame) -> Integers:
        """Return the number of the variable of each cell, shape (n_cells,).

        Sums over several variables have the number after the last one.
        """
        position = {name: number for number, name in enumerate(self.units)}
        found = keys[self.dimension].map(position).fillna(len(position))
        return found.to_numpy().astype(np.int64)

    def comparable(self, weights: Floats, keys: pd.DataFrame) -> Floats:
        """Return weights of which those of each measure have the mean 1.

        Parameters
        ----------
        weights : numpy.ndarray of float, shape (n_cells,)
            Weights of suppressed cells, each in the unit of its variable.
        keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)

        Returns
        -------
        numpy.ndarray of float, shape (n_cells,)
            As they are if all variables share one measure.

        Notes
        -----
        The mean, not the sum, is made the same: otherwise each cell of a variable with few cells
        would weigh more than any cell of a variable with many.
        """
        if len(set(self.measures.values())) < 2:
            return weights
        known = np.array([*(self.measures[name] for name in self.units), len(self.units)])
        measure = known[self.of_cells(keys)]
        counted = weights > 0
        number = np.bincount(measure[counted], minlength=len(known))
        total = np.bincount(measure, weights, minlength=len(known))
        factor = np.divide(number, total, out=np.ones(len(number)), where=total > 0)
        scaled: Floats = weights * factor[measure]
        return scaled
