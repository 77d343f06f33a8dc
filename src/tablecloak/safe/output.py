"""One output of a project: what was asked, what would leave, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.safe.figures import Figures
from tablecloak.safe.outcome import Outcome


@dataclass(eq=False)
class Output:
    """One output, with everything a checker needs.

    Parameters
    ----------
    name : str
        "output_0" and so on, until the researcher renames it.
    kind : str
        "table", "regression", "histogram", "survival plot", "quantiles", "custom", ...
    command : str
        The call as the researcher would write it.
    outcome : Outcome
    frames : tuple of DataFrame
        What would leave, as it would leave: hidden cells are missing values.
    figures : tuple of Figures
        The same as sums over records, for the audit of later outputs.
    files : tuple of Path
        Files that would leave: plots and custom outputs.
    properties : dict
        Method and settings: ``{"method": "crosstab"}``.
    cells : dict of str to list
        For each rule, the [row, column] places (from 0, within the first frame) that broke it.
    comments : list of str
    exception : str
        Why the researcher asks for the output although it did not pass.
    timestamp : str
        When it was made, ISO format.
    """

    name: str
    kind: str
    command: str
    outcome: Outcome
    frames: tuple[pd.DataFrame, ...] = ()
    figures: tuple[Figures, ...] = ()
    files: tuple[Path, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, list[list[int]]] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    exception: str = ""
    timestamp: str = ""

    def told(self) -> str:
        """Return what a researcher reads about the output."""
        lines = [f"{self.name}: {self.kind}, {self.outcome.status}", f"  {self.command}"]
        for reason in self.outcome.reasons:
            lines.append(f"  {reason.status} ({reason.rule}): {reason.text}")
        lines += [f"  note: {note}" for note in self.outcome.notes]
        lines += [f"  comment: {comment}" for comment in self.comments]
        if self.exception:
            lines.append(f"  exception asked for: {self.exception}")
        lines += [f"  file: {path.name}" for path in self.files]
        return "\n".join(["\n".join(lines), *(frame.to_string() for frame in self.frames)])
