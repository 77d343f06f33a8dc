"""A table as squares: rows and columns by two dimensions, further dimensions folded away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from math import prod

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Floats, Texts
from tablecloak.graph import children_of, parents_first
from tablecloak.render.page import NOTEBOOK_STYLE, Page, Square, SquareGrid, as_number
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.leaving import UNLISTED
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import common_decimals
from tablecloak.tables.table import Table

Drawing = Callable[[int], Square]
"""Draws the cell with this number."""

SENSITIVITY = {"": "safe", "primary": "sensitive"}
SUPPRESSION = {"": "published", "primary": "primary", "secondary": "secondary",
               "frozen": "must be published"}  # fmt: skip
ADJUSTMENT = {"": "unchanged", "up": "raised", "down": "lowered", "sensitive": "sensitive"}
"""What the styles of squares mean."""

UNCHANGED = 1e-9
"""Change, as a share of the median protection level, that counts as none."""

MOST_SQUARES = 120_000
"""Squares of a page: a browser opens them in 2 s. Of more, those nearest to the totals."""

MOST_IN_NOTEBOOK = 4_000
"""Squares of one output of a notebook, which keeps all outputs."""

MOST_COLUMNS = 1_000
"""Most codes beside each other."""


def add_heat_map(
    page: Page,
    keys: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    square: Drawing,
    unlisted: str = UNLISTED,
    most: int = MOST_SQUARES,
) -> None:
    """Add a table to a page.

    Parameters
    ----------
    page : Page
    keys : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    hierarchies : mapping of str to Hierarchy
        Empty for a table that was given by its relations alone.
    square : callable
        Given the number of a cell, draws it.
    unlisted : str, default=UNLISTED
        What is said of combinations of codes without a cell.
    most : int, default=MOST_SQUARES
        Squares that are drawn.
    """
    axes = _Axes.of(keys, hierarchies, most)
    # Readers of a release are told above the table.
    has_blanks = page.secret and len(keys) < prod(map(len, axes.codes.values()))
    page.text(axes.caption() + f" Blank cells are {unlisted}." * has_blanks)
    number = {key: cell for cell, key in enumerate(axes.keys(keys))}
    tree = hierarchies.get(axes.rows)
    left = [(tree.labelled(code) if tree else code, depth) for code, depth in axes.left]
    slices = axes.slices(keys)
    shown = slices[: max(most // (len(axes.left) * len(axes.above)), 1)]
    if len(shown) < len(slices):
        # Without a number: pages of releases are searched for hidden values.
        page.text("Of the combinations of further codes, those nearest to the totals are shown.")
    for part, (codes, title) in enumerate(shown):
        squares = [
            [
                square(number[key]) if key in number else Square("", "none", unlisted)
                for key in axes.line(row, codes)
            ]
            for row, _ in axes.left
        ]
        caption = ": ".join(filter(None, [page.section, title]))
        grid = SquareGrid(left, axes.above, squares, caption)
        page.grid(grid, folded=title if part else "")


@dataclass(frozen=True)
class _Axes:
    """Which dimensions make rows and columns, and which codes of them are shown.

    Parameters
    ----------
    names : list of str
        All dimensions: that of the rows, that of the columns, further ones.
    codes : dict of str to list of (str, int)
        All codes of each dimension, with their depths.
    left, above : list of (str, int)
        Those that are shown as rows and as columns.
    """

    names: list[str]
    codes: dict[str, list[tuple[str, int]]]
    left: list[tuple[str, int]]
    above: list[tuple[str, int]]

    @classmethod
    def of(cls, keys: pd.DataFrame, hierarchies: Mapping[str, Hierarchy], most: int) -> _Axes:
        """Let long dimensions make rows, and short ones columns."""
        names = list(map(str, keys.columns))
        codes = {name: _codes(keys[name], hierarchies.get(name)) for name in names}
        names = sorted(names, key=lambda name: -len(codes[name]))
        width = min(MOST_COLUMNS, most)
        above = _nearest(codes[names[1]], width) if len(names) > 1 else [("value", 0)]
        return cls(names, codes, _nearest(codes[names[0]], most // len(above)), above)

    @property
    def rows(self) -> str:
        """Dimension of the rows."""
        return self.names[0]

    def keys(self, keys: pd.DataFrame) -> list[object]:
        """Return the key of each cell: its codes in the order of the dimensions here."""
        if len(self.names) == 1:
            return list(keys[self.rows])
        return pd.MultiIndex.from_frame(keys[self.names]).tolist()

    def caption(self) -> str:
        """Say which dimensions are where, and what is left out."""
        columns = self.names[1:2]
        where = f"{self.rows} in the rows" + "".join(f", {name} in the columns" for name in columns)
        left_out = [
            f" {len(self.codes[name])} codes of {name}, of which {len(shown)} are shown."
            for name, shown in zip(self.names, (self.left, self.above), strict=False)
            if len(shown) < len(self.codes[name])
        ]
        return f"{where}.{''.join(left_out)}"

    def slices(self, keys: pd.DataFrame) -> list[tuple[tuple[str, ...], str]]:
        """Return codes of the further dimensions with cells, the totals first, and their titles."""
        further = self.names[2:]
        # By depth: the total of each dimension comes first.
        place = [
            {code: (depth, number) for number, (code, depth) in enumerate(self.codes[name])}
            for name in further
        ]
        chosen = set(keys[further].itertuples(index=False, name=None))
        return [
            (codes, ", ".join(map(" = ".join, zip(further, map(str, codes), strict=True))))
            for codes in sorted(chosen, key=lambda codes: list(map(dict.get, place, codes)))
        ]

    def line(self, row: str, further: tuple[str, ...]) -> list[object]:
        """Return the keys of the cells in a row."""
        if len(self.names) == 1:
            return [row]
        return [(row, column, *further) for column, _ in self.above]


def for_notebook(summary: str, table: Table, square: Drawing, legend: Mapping[str, str]) -> str:
    """Return a heat map of true values for a notebook: the summary, the legend and the squares."""
    page = Page("")
    page.legend(legend)
    add_heat_map(page, table.keys, table.hierarchies, square, most=MOST_IN_NOTEBOOK)
    lines = "<br>".join(escape(summary).splitlines())
    style = f"<style>{NOTEBOOK_STYLE}</style>"
    return f"{showing.SECRET}{style}<p>{lines}</p>{''.join(page.parts)}"


def with_digits_of(values: Floats) -> Callable[[float], str]:
    """Return how values of a table are written, all with as many digits behind the point."""
    digits = common_decimals(values)
    return as_number if digits is None else lambda value: f"{value + 0.0:,.{digits}f}"


def sensitivity_squares(problem: ProtectionProblem) -> Drawing:
    """Draw a problem: which cells are sensitive, and why. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values
    written = with_digits_of(values)

    def square(cell: int) -> Square:
        text = written(values[cell])
        kind = "primary" if problem.sensitive[cell] else ""
        return Square(text, kind, f"{labels[cell]}: {text}{_details(problem, cell)}")

    return square


def suppression_squares(problem: ProtectionProblem, statuses: Texts) -> Drawing:
    """Draw a suppression pattern: published, primary and secondary cells. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values
    written = with_digits_of(values)

    def square(cell: int) -> Square:
        text, status = written(values[cell]), str(statuses[cell])
        hover = f"{labels[cell]}: {text}, {status}{_details(problem, cell)}"
        kind = status if status != "published" else "frozen" * int(problem.frozen[cell])
        return Square(text, kind, hover)

    return square


def adjustment_squares(problem: ProtectionProblem, adjusted: Floats) -> Drawing:
    """Draw an adjusted table: how far and which way each cell was moved. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values
    changes, written = adjusted - values, with_digits_of(np.concatenate([values, adjusted]))
    relative = np.abs(changes) / np.maximum(np.abs(values), problem.unit)

    def square(cell: int) -> Square:
        change = changes[cell]
        hover = (
            f"{labels[cell]}: {written(values[cell])} published as "
            f"{written(adjusted[cell])} ({'+' if change > 0 else ''}{as_number(change)})"
            f"{_details(problem, cell)}"
        )
        moved = abs(change) > UNCHANGED * problem.unit
        kind = ("up" if change > 0 else "down") if moved else ""
        kind += " sensitive" * int(problem.sensitive[cell])
        # The square root makes small changes visible as well.
        share = float(np.sqrt(min(relative[cell], 1.0)))
        return Square(written(adjusted[cell]), kind.strip(), hover, share)

    return square


def _details(problem: ProtectionProblem, cell: int) -> str:
    """Return what a cell needs, if it is sensitive, and how many contributors it has."""
    text = ""
    if problem.sensitive[cell]:
        text = (
            f" ({problem.reasons[cell] or 'given'}); protection levels "
            f"{as_number(problem.lower_protection[cell])} below, "
            f"{as_number(problem.upper_protection[cell])} above"
        )
    contributions = problem.table.contributions
    return text if contributions is None else f"{text}; {contributions.count[cell]} contributors"


def labels_of(keys: pd.DataFrame) -> list[str]:
    """Name each cell by its codes."""
    columns = [f"{name}=" + keys[name].astype(str) for name in keys.columns]
    return list(map(", ".join, zip(*columns, strict=True)))


def _codes(column: pd.Series, tree: Hierarchy | None) -> list[tuple[str, int]]:
    """Codes in the order of the hierarchy, each with its depth."""
    present = set(column)
    if tree is None:
        return [(code, 0) for code in dict.fromkeys(column)]
    depths: dict[str, int] = {}
    for code, depth in parents_first([tree.total], children_of(tree.groups)):
        depths.setdefault(code, depth)
    return [(code, depth) for code, depth in depths.items() if code in present]


def _nearest(codes: list[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """At most so many codes, by whole levels from the total down, then the first of the next."""
    if len(codes) <= most:
        return codes
    order = sorted(range(len(codes)), key=lambda at: (codes[at][1], at))
    return [codes[at] for at in sorted(order[:most])]
