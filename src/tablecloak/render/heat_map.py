"""A table as squares: rows and columns by two dimensions, further dimensions folded away."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.render.page import GRID_STYLE, Grid, Page, Square

__all__ = [
    "ADJUSTMENT",
    "SENSITIVITY",
    "SUPPRESSION",
    "add_heat_map",
    "adjustment_squares",
    "as_number",
    "for_notebook",
    "labels_of",
    "sensitivity_squares",
    "suppression_squares",
]

Drawing = Callable[[int], Square]
"""Draws the cell with this number."""

SENSITIVITY = {"": "safe", "primary": "sensitive"}
SUPPRESSION = {"": "published", "primary": "primary", "secondary": "secondary", "none": "must be "
               "published"}  # fmt: skip
ADJUSTMENT = {"": "unchanged", "up": "raised", "down": "lowered", "sensitive": "sensitive"}
"""What the styles of squares mean."""

UNCHANGED = 1e-9
"""Change, as a share of the median protection level, that does not count."""

MOST_ROWS, MOST_COLUMNS = 120, 24
"""Codes shown; of larger dimensions those nearest to the total."""

MOST_FOLDED = 12
"""Further parts of a table with more than two dimensions."""


class Tree(Protocol):
    """What is needed of a hierarchy."""

    @property
    def total(self) -> str: ...

    @property
    def groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]: ...


def add_heat_map(
    page: Page, keys: pd.DataFrame, hierarchies: Mapping[str, Tree], square: Drawing
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
    """
    names = list(map(str, keys.columns))
    codes = {name: _codes(keys[name], hierarchies.get(name)) for name in names}
    # Long dimensions make rows, short ones columns.
    axes = sorted(names, key=lambda name: -len(codes[name]))
    rows, columns, further = axes[0], axes[1] if len(axes) > 1 else None, axes[2:]
    left = _nearest(codes[rows], MOST_ROWS)
    above = _nearest(codes[columns], MOST_COLUMNS) if columns else [("value", 0)]
    index = pd.MultiIndex.from_frame(keys[[*axes]]) if len(axes) > 1 else pd.Index(keys[rows])
    number = {key: at for at, key in enumerate(index.tolist())}
    where = f"{rows} in the rows" + (f", {columns} in the columns" if columns else "")
    left_out = [
        f"{len(codes[name])} codes of {name}, of which {len(shown)} are shown"
        for name, shown in ((rows, left), (columns, above))
        if name is not None and len(shown) < len(codes[name])
    ]
    page.text(f"{where}.{''.join(f' {text[0].upper()}{text[1:]}.' for text in left_out)}")
    slices = list(itertools.islice(itertools.product(*(_top(codes[n]) for n in further)), 200))
    drawn = 0
    for chosen in slices:
        squares = [
            [
                square(number[key]) if (key := _key(row, column, chosen, columns)) in number
                else Square("", "none", "empty")
                for column, _ in above
            ]
            for row, _ in left
        ]  # fmt: skip
        if drawn and all(item.kind == "none" for line in squares for item in line):
            continue
        title = ", ".join(f"{name} = {code}" for name, code in zip(further, chosen, strict=True))
        page.grid(Grid(left, above, squares), folded=title if drawn else "")
        drawn += 1
        if drawn > MOST_FOLDED:
            break


def for_notebook(
    summary: str,
    keys: pd.DataFrame,
    hierarchies: Mapping[str, Tree],
    square: Drawing,
    legend: Mapping[str, str],
) -> str:
    """Return a heat map for a notebook: the summary, the legend and the squares."""
    page = Page("")
    page.legend(legend)
    add_heat_map(page, keys, hierarchies, square)
    style = "<style>:root { --line: rgb(136 136 136 / .4); }" + GRID_STYLE + "</style>"
    return f"{style}<p>{escape(summary)}</p>{''.join(page.parts)}"


def sensitivity_squares(problem: Any) -> Drawing:
    """Draw a problem: which cells are sensitive, and why. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values

    def square(cell: int) -> Square:
        text = as_number(values[cell])
        kind = "primary" if problem.sensitive[cell] else ""
        hover = f"{labels[cell]}: {text}" + _needs(problem, cell) + _contributors(problem, cell)
        return Square(text, kind, hover)

    return square


def suppression_squares(problem: Any, statuses: npt.NDArray[np.str_]) -> Drawing:
    """Draw a suppression pattern: published, primary and secondary cells. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values

    def square(cell: int) -> Square:
        text, status = as_number(values[cell]), str(statuses[cell])
        hover = f"{labels[cell]}: {text}, {status}"
        hover += _needs(problem, cell) + _contributors(problem, cell)
        kind = status if status != "published" else "none" * int(problem.frozen[cell])
        return Square(text, kind, hover)

    return square


def adjustment_squares(problem: Any, adjusted: npt.NDArray[np.float64]) -> Drawing:
    """Draw an adjusted table: how far and which way each cell was moved. Secret."""
    labels, values = labels_of(problem.table.keys), problem.table.values
    changes = adjusted - values
    relative = np.abs(changes) / np.maximum(np.abs(values), problem.unit)

    def square(cell: int) -> Square:
        change = changes[cell]
        hover = (
            f"{labels[cell]}: {as_number(values[cell])} published as "
            f"{as_number(adjusted[cell])} ({'+' if change > 0 else ''}{as_number(change)})"
        )
        hover += _needs(problem, cell) + _contributors(problem, cell)
        moved = abs(change) > UNCHANGED * problem.unit
        kind = ("up" if change > 0 else "down") if moved else ""
        kind += " sensitive" * int(problem.sensitive[cell])
        # The square root lets small changes be seen as well.
        share = float(np.sqrt(min(relative[cell], 1.0)))
        return Square(as_number(adjusted[cell]), kind.strip(), hover, share)

    return square


def _needs(problem: Any, cell: int) -> str:
    if not problem.sensitive[cell]:
        return ""
    return (
        f" ({problem.reasons[cell] or 'given'}); protection levels "
        f"{as_number(problem.lower_protection[cell])} below, "
        f"{as_number(problem.upper_protection[cell])} above"
    )


def _contributors(problem: Any, cell: int) -> str:
    known = problem.table.contributions
    return "" if known is None else f"; {known.count[cell]} contributors"


def as_number(value: float) -> str:
    """Write a value for people: thousands apart, no more than six significant digits behind."""
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.1f}"


def labels_of(keys: pd.DataFrame) -> list[str]:
    """Name each cell by its codes."""
    named = [f"{name}=" + keys[name].astype(str) for name in keys.columns]
    text = named[0]
    for column in named[1:]:
        text = text + ", " + column
    return [str(label) for label in text]


def _key(row: str, column: str, chosen: Sequence[str], columns: str | None) -> object:
    return (row, column, *chosen) if columns else row


def _codes(column: pd.Series, tree: Tree | None) -> list[tuple[str, int]]:
    """Codes in the order of the hierarchy, each with its depth."""
    present = set(column)
    if tree is None:
        return [(code, 0) for code in dict.fromkeys(column)]
    below: dict[str, list[str]] = {}
    for parent, parts in tree.groups:
        below.setdefault(parent, []).extend(parts)
    found: dict[str, int] = {}
    waiting = deque([(tree.total, 0)])
    while waiting:
        code, depth = waiting.popleft()
        if code in found:
            continue
        found[code] = depth
        waiting.extendleft((part, depth + 1) for part in reversed(below.get(code, [])))
    return [(code, depth) for code, depth in found.items() if code in present]


def _nearest(codes: list[tuple[str, int]], most: int) -> list[tuple[str, int]]:
    """At most so many codes, by whole levels from the total down, then the first of the next."""
    if len(codes) <= most:
        return codes
    order = sorted(range(len(codes)), key=lambda at: (codes[at][1], at))
    return [codes[at] for at in sorted(order[:most])]


def _top(codes: list[tuple[str, int]]) -> list[str]:
    return [code for code, _ in sorted(codes, key=lambda entry: entry[1])]
