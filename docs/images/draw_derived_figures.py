"""Draw ``derived-figures.svg``: turnover with turnover per employee, protected apart and together.

Run from any folder: ``python docs/images/draw_derived_figures.py``. The firms are those of
``draw_protected_table.py``. Patterns and intervals are computed here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from draw_protected_table import COLUMNS, ROWS, TURNOVER, text

import tablecloak as tc

WIDTH, HEIGHT = 92, 58
"""Size of a cell."""

BEGINS = {"apart": (70, 100), "together": (590, 100)}
"""Upper left corner of the two tables."""

COLOURS = {"published": "#ffffff", "primary": "#e57373", "secondary": "#f9c396"}


def main() -> None:
    """Protect the tables and write the picture beside this file."""
    firms = [
        (f"firm {number}", *codes, value, 1 + value // 3 + number % 4)
        for number, (codes, value) in enumerate(
            (codes, value) for codes, values in TURNOVER.items() for value in values
        )
    ]
    names = ["firm", "region", "industry", "turnover", "employees"]
    records = pd.DataFrame(firms, columns=names)
    rules = {"turnover": [tc.PPercent(10), tc.MinimumFrequency(3)], "employees": [tc.Manual([])]}
    totals = tc.join(
        {
            name: tc.tabulate(records, ["region", "industry"], name, contributor="firm").protect(
                *given
            )
            for name, given in rules.items()
        }
    )
    frozen = np.where(totals.table.keys["variable"] == "employees", "z", totals.status)
    totals = totals.with_changes(status=frozen)
    problem = tc.with_derived(totals, [tc.Ratio("turnover / employees", decimals=1)])
    alone = tc.suppress(totals, time_limit=20)
    apart = np.append(alone.suppressed, problem.forced[totals.table.n_cells :])
    pattern = tc.suppress(problem, time_limit=20)
    assert tc.audit(problem, pattern).is_safe
    assert not tc.audit(problem, apart).is_safe
    hidden = {"apart": apart, "together": pattern.suppressed}
    Path(__file__).with_name("derived-figures.svg").write_text(
        drawing(problem, hidden), encoding="utf-8"
    )


def intervals(problem, hidden):
    """Return what the published totals and ratios tell of each hidden turnover."""
    asked = hidden & (problem.table.keys["variable"] == "turnover").to_numpy()
    status = np.where(asked, "u", np.where(problem.sensitive, "s", problem.status))
    level = np.where(asked, 1.0, 0.0)
    changed = replace(problem, status=status, lower_protection=level, upper_protection=level)
    found = tc.audit(changed, hidden, detail="intervals").to_frame()
    found = found[found.intruder == "external"]
    return {
        (row.region, row.industry): (row.reached_lower, row.reached_upper)
        for row in found.itertuples()
    }


def drawing(problem, patterns) -> str:
    """Return the picture: each cell with its turnover and its turnover per employee."""
    keys = problem.table.keys
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1070 420" role="img" '
        'font-family="system-ui, sans-serif" font-size="16" fill="#222222">',
        "<title>Turnover and turnover per employee, protected apart and together</title>",
        '<rect width="1070" height="420" rx="8" fill="#fafafa"/>',
    ]
    titles = {"apart": "Ratios added to protected totals", "together": "Totals and ratios together"}
    for name, hidden in patterns.items():
        left, top = BEGINS[name]
        reached = intervals(problem, hidden)
        parts.append(text(left, 40, titles[name], size=20, weight="bold", anchor="start"))
        for j, column in enumerate(COLUMNS):
            parts.append(text(left + (j + 0.5) * WIDTH, top - 14, column))
        for i, row in enumerate(ROWS):
            parts.append(text(left - 10, top + (i + 0.6) * HEIGHT, row, anchor="end"))
            for j, column in enumerate(COLUMNS):
                here = (keys.region == row) & (keys.industry == column)
                above, below, figure = (
                    int(np.flatnonzero(here & (keys.variable == variable))[0])
                    for variable in ("turnover", "employees", "~derived~turnover / employees")
                )
                is_hidden = bool(hidden[above])
                colour = "published"
                if is_hidden:
                    colour = "primary" if problem.sensitive[above] else "secondary"
                x, y = left + j * WIDTH, top + i * HEIGHT
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" '
                    f'fill="{COLOURS[colour]}" stroke="#bbbbbb"/>'
                )
                value = problem.table.values[above]
                ratio = value / problem.table.values[below]
                shown = f"{value:.0f}"
                if is_hidden:
                    least, largest = reached[row, column]
                    shown = f"{least:.0f} to {largest:.0f}"
                parts.append(text(x + WIDTH / 2, y + 24, shown))
                is_told = not hidden[figure]
                small = f"{ratio:.1f} per head" if is_told else "\N{MULTIPLICATION SIGN}"
                parts.append(text(x + WIDTH / 2, y + 46, small, size=13))
    notes = {
        "apart": [
            "The numbers of employees are published, so that each printed",
            "ratio gives a hidden turnover away.",
        ],
        "together": [
            "Where turnover is hidden its ratio is hidden as well.",
            "Intervals are all that can be computed of a hidden turnover.",
        ],
    }
    for name, lines in notes.items():
        for line, words in enumerate(lines):
            parts.append(text(BEGINS[name][0], 368 + 24 * line, words, size=15, anchor="start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
