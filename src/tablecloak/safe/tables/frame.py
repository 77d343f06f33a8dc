"""A table that may leave: a DataFrame with gaps that says what was found of it."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tablecloak.safe.outcome import Outcome

COLOURS = {"primary": "#f4b6b0", "secondary": "#fbe3a6", "rounded": "#cfe3f5"}


class SafeFrame(pd.DataFrame):
    """A table as pandas makes it, with missing values where cells are hidden.

    What is computed from it is a plain DataFrame.

    Attributes
    ----------
    outcome : Outcome
    output : str
        Name of the output in its project.
    marks : DataFrame of str
        "primary", "secondary", "rounded" or "" for each cell.
    """

    _metadata: ClassVar[list[str]] = ["outcome", "output", "marks"]
    outcome: Outcome
    output: str
    marks: pd.DataFrame

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    @classmethod
    def of(
        cls, frame: pd.DataFrame, outcome: Outcome, output: str, marks: pd.DataFrame
    ) -> SafeFrame:
        """Return a frame with what is said of it."""
        made = cls(frame)
        for name, value in (("outcome", outcome), ("output", output), ("marks", marks)):
            object.__setattr__(made, name, value)
        return made

    def __repr__(self) -> str:
        text = pd.DataFrame(self).__repr__()
        outcome = getattr(self, "outcome", None)
        return text if outcome is None else f"{text}\n{self.output}: {outcome.summary}"

    def _repr_html_(self) -> str:
        outcome = getattr(self, "outcome", None)
        plain = pd.DataFrame(self)
        if outcome is None:
            return str(plain._repr_html_())  # type: ignore[operator]
        colours = np.array(
            [
                [f"background-color: {COLOURS[mark]}" if mark else "" for mark in row]
                for row in self.marks.to_numpy().tolist()
            ]
        ).reshape(plain.shape)
        html = _html(plain, colours)
        return f"{html}\n<p>{escape(self.output)}: {escape(outcome.summary)}</p>"


def _html(frame: pd.DataFrame, colours: Any) -> str:
    """Draw the table as pandas does, with a colour behind each cell.

    pandas' own colouring needs a package for templates, so colours are put into its plain table:
    its cells come row by row.
    """
    parts = frame.to_html(na_rep="").split("<td>")
    wanted = colours.ravel().tolist()
    cells = [
        (f'<td style="{colour}">' if colour else "<td>") + part
        for colour, part in zip(wanted, parts[1:], strict=True)
    ]
    return parts[0] + "".join(cells)
