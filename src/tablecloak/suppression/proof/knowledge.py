"""What an intruder knows of suppressed cells beyond what is published."""

from __future__ import annotations

from dataclasses import dataclass

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
