"""The release of both methods of post-randomisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tablecloak.arrays import Flags

__all__ = ["PRAMRelease"]


@dataclass(frozen=True, eq=False)
class PRAMRelease:
    """Records with changed keys, and a report. Which records moved is secret.

    Parameters
    ----------
    frame : pandas.DataFrame
    moved : numpy.ndarray of bool, shape (n_records,)
        Whether each record moved to another cell; its keys differ then.
    report : dict
        Figures that may be published.
    """

    frame: pd.DataFrame
    moved: Flags
    report: dict[str, Any]

    def summary(self) -> str:
        """Return the report in one line."""
        return "PRAM: " + ", ".join(f"{name}: {value}" for name, value in self.report.items())

    def __repr__(self) -> str:
        return f"<{self.summary()}>"
