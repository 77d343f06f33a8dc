"""The report for those who made a table with noise of records: what was lost, what is inferred."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.comparison.figures import notes
from tablecloak.microdata.noisy_table import NoisyTable
from tablecloak.render.heat_map import Drawing, add_heat_map, as_number, labels_of
from tablecloak.render.page import Page, Square


def noise_report(
    title: str,
    made: NoisyTable,
    lines: Sequence[str],
    figures: pd.DataFrame,
    settings: pd.DataFrame,
    source: str,
) -> Page:
    """Describe a noisy table to those who made it. Secret.

    Parameters
    ----------
    title : str
    made : NoisyTable
    lines : sequence of str
        What was found, a paragraph each.
    figures : pandas.DataFrame
        Measures of risk and utility by name.
    settings : pandas.DataFrame
    source : str
        The job file.
    """
    page, table = Page(title), made.problem.table
    page.heading("What was multiplied")
    for line in filter(None, lines):
        page.text(line)
    page.legend({"up": "raised", "down": "lowered", "": "not changed"})
    add_heat_map(page, table.keys, table.hierarchies, _squares(made))
    page.heading("Risk and utility")
    page.table(figures, index=False)
    for line in notes():
        page.text(line)
    page.heading("How it was done")
    page.table(settings, index=False)
    if source:
        page.code(source)
    return page


def _squares(made: NoisyTable) -> Drawing:
    """Draw each cell as published; pointing at it shows the true value."""
    true, labels = made.problem.table.values, labels_of(made.problem.table.keys)

    def square(cell: int) -> Square:
        change = float(made.changes[cell])
        kind = "up" if change > 0 else "down" if change < 0 else ""
        hover = f"{labels[cell]}: {as_number(true[cell])} became {as_number(made.values[cell])}"
        share = float(np.sqrt(min(abs(change) / max(abs(true[cell]), 1.0), 1.0)))
        return Square(as_number(made.values[cell]), kind, hover, share)

    return square
