"""The figures of an output as sums over records: what the joint audit works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import AnyIntegers, Floats


@dataclass(frozen=True)
class Figures:
    """Published sums of one variable over groups of records.

    A mean is two of these: its sum and its count.

    Parameters
    ----------
    records : (n,) array of int
        Positions of the records in the project (`Project.positions`), each at most once.
    group : (n,) array of int
        In which of the g groups each of them is; -1 for none.
    sums : (f, g) sparse matrix of 0 and 1
        Which groups each published figure adds up; figures that are hidden have no row.
    labels : tuple of str
        What each published figure is called, f of them: "region N, industry C".
    amounts : (n,) array of float, optional
        What each record adds; without them figures count records.
    variable : str, default="records"
        What is added up, for people. Figures of the same amounts are one variable, whatever
        they are called.
    """

    records: AnyIntegers
    group: AnyIntegers
    sums: Any
    labels: tuple[str, ...]
    amounts: Floats | None = None
    variable: str = "records"

    def __post_init__(self) -> None:
        # A project keeps the figures of hundreds of outputs over the same records.
        width = np.int16 if self.sums.shape[1] < np.iinfo(np.int16).max else np.int32
        object.__setattr__(self, "records", np.asarray(self.records, dtype=np.int32))
        object.__setattr__(self, "group", np.asarray(self.group, dtype=width))

    @property
    def is_count(self) -> bool:
        """Whether the figures count records."""
        return self.amounts is None
