"""Draw ``protected-table.svg``: a small table before and after suppression, with its intervals.

Run from any folder: ``python docs/images/draw_protected_table.py``. The firms are invented. The
pattern and the intervals are computed here, so that the picture shows what the package does.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

import tablecloak as tc

TURNOVER = {
    ("North", "Food"): [31, 24, 22, 18, 12],
    ("North", "Steel"): [36, 4],
    ("North", "Trade"): [40, 38, 27, 25, 20, 16],
    ("South", "Food"): [28, 27, 23, 19, 14, 9],
    ("South", "Steel"): [22, 21, 17, 15],
    ("South", "Trade"): [33, 30, 30, 26, 21],
    ("East", "Food"): [17, 15, 14, 11, 8],
    ("East", "Steel"): [19, 18, 16, 14, 11],
    ("East", "Trade"): [36, 31, 29, 22, 18, 17],
}
"""Turnover of each firm, by region and industry."""

ROWS, COLUMNS = ["North", "South", "East", "Total"], ["Food", "Steel", "Trade", "Total"]
WIDTH, HEIGHT = 92, 46
"""Size of a cell."""

BEGINS = {"true": (70, 100), "published": (590, 100)}
"""Upper left corner of the two tables."""

COLOURS = {"published": "#ffffff", "primary": "#e57373", "secondary": "#f9c396"}


def main() -> None:
    """Protect the table and write the picture beside this file."""
    firms = [
        (f"firm {number}", *codes, value)
        for number, (codes, value) in enumerate(
            (codes, value) for codes, values in TURNOVER.items() for value in values
        )
    ]
    records = pd.DataFrame(firms, columns=["firm", "region", "industry", "turnover"])
    table = tc.tabulate(
        records, dimensions=["region", "industry"], value="turnover", contributor="firm"
    )
    problem = table.protect(tc.PPercent(10), tc.MinimumFrequency(3))
    pattern = tc.suppress(problem, time_limit=20)
    pattern.verify()
    assert tc.audit(problem, pattern).is_safe
    Path(__file__).with_name("protected-table.svg").write_text(
        drawing(problem, pattern, intervals(problem, pattern)), encoding="utf-8"
    )


def intervals(problem, pattern):
    """Return what the published table still tells of each hidden cell: (least, largest)."""
    hidden = pattern.suppressed
    status = np.where(hidden, "u", problem.status)
    level = np.where(hidden, 1.0, 0.0)
    asked = replace(problem, status=status, lower_protection=level, upper_protection=level)
    found = tc.audit(asked, hidden, detail="intervals").to_frame()
    found = found[found.intruder == "external"]
    return {
        (row.region, row.industry): (row.reached_lower, row.reached_upper)
        for row in found.itertuples()
    }


def drawing(problem, pattern, reached) -> str:
    """Return the picture: the true table on the left, the published one on the right."""
    keys = zip(problem.table.keys.region, problem.table.keys.industry, strict=True)
    cells = dict(zip(keys, zip(problem.table.values, pattern.statuses(), strict=True), strict=True))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1070 370" role="img" '
        'font-family="system-ui, sans-serif" font-size="16" fill="#222222">',
        "<title>A small table before and after protection</title>",
        '<rect width="1070" height="370" rx="8" fill="#fafafa"/>',
    ]
    for name, title in (("true", "True table: stays inside"), ("published", "Published table")):
        left, top = BEGINS[name]
        parts.append(text(left, 40, title, size=20, weight="bold", anchor="start"))
        for j, column in enumerate(COLUMNS):
            parts.append(text(left + (j + 0.5) * WIDTH, top - 14, column))
        for i, row in enumerate(ROWS):
            parts.append(text(left - 10, top + (i + 0.62) * HEIGHT, row, anchor="end"))
            for j, column in enumerate(COLUMNS):
                value, status = cells[row, column]
                x, y = left + j * WIDTH, top + i * HEIGHT
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" '
                    f'fill="{COLOURS[status]}" stroke="#bbbbbb"/>'
                )
                if name == "true" or status == "published":
                    parts.append(text(x + WIDTH / 2, y + 28, f"{value:.0f}"))
                else:
                    least, largest = reached[row, column]
                    parts.append(text(x + WIDTH / 2, y + 20, "\N{MULTIPLICATION SIGN}"))
                    told = f"{least:.0f} to {largest:.0f}"
                    parts.append(text(x + WIDTH / 2, y + 38, told, size=13))
    notes = {
        "true": [
            "Red: two firms, 36 and 4. The smaller one subtracts itself",
            "and knows the turnover of its competitor.",
        ],
        "published": [
            "Orange: hidden as well, or red would follow from the totals.",
            "Small figures: all that can be computed of each hidden cell.",
        ],
    }
    for name, lines in notes.items():
        for line, words in enumerate(lines):
            parts.append(text(BEGINS[name][0], 318 + 24 * line, words, size=15, anchor="start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def text(x, y, words, *, size=16, weight="normal", anchor="middle") -> str:
    """Return a line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


if __name__ == "__main__":
    main()
