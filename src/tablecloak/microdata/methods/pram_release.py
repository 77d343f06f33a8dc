"""What post-randomisation gives, whatever its matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["PRAMRelease"]


@dataclass(frozen=True, eq=False)
class PRAMRelease:
    """Records with changed keys, and what was done. Which records moved is secret.

    Parameters
    ----------
    frame : pandas.DataFrame
    moved : numpy.ndarray of bool, shape (n_records,)
        Which records have other keys than before.
    report : dict
        What may be told: see `summary`.
    """

    frame: pd.DataFrame
    moved: npt.NDArray[np.bool_]
    report: dict[str, Any]

    def summary(self) -> str:
        """Say in one line what was done."""
        return "PRAM: " + ", ".join(f"{name}: {value}" for name, value in self.report.items())

    def __repr__(self) -> str:
        return f"<{self.summary()}>"
