"""What an intruder knows of suppressed cells beyond what is published."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What one intruder knows beyond what is published.

    Parameters
    ----------
    name : str
        Name of the intruder, for the internal report.
    cells : numpy.ndarray of int
        Suppressed cells of which the intruder knows more than the external bounds.
    lower, upper : numpy.ndarray of float
        Bounds on their values that the intruder knows.
    """

    name: str
    cells: Integers
    lower: Floats
    upper: Floats

    def equals(self, other: Knowledge) -> bool:
        """Return whether both know the same, whatever their names."""
        return all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("cells", "lower", "upper")
        )

    def joined(self, other: Knowledge) -> Knowledge:
        """Return what the same intruder knows who also knows what another one knows."""
        cells, place = np.unique(np.append(self.cells, other.cells), return_inverse=True)
        lower, upper = np.full(len(cells), -np.inf), np.full(len(cells), np.inf)
        np.maximum.at(lower, place, np.append(self.lower, other.lower))
        np.minimum.at(upper, place, np.append(self.upper, other.upper))
        return replace(self, cells=cells, lower=lower, upper=upper)
