"""A picture of loss over time: ours within each limit, and each other tool where it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.records import Record
from peer_tools.page import OURS, by_table, is_safe

COLUMNS = 4
"""Tables side by side."""

SECONDS, LOSSES = (0.3, 1, 3, 10, 30), (0.5, 1, 1.2, 1.5, 2, 3, 4)
"""Numbers at the axes."""

MARKS = ("s", "^", "D", "v", "P")
"""One for each other tool; hollow where a cell is attackable."""


def draw_anytime(records: Sequence[Record], to: Path) -> None:
    """Draw loss over seconds of the processor, one field for each table.

    Losses are multiples of our loss within the last limit, so that all fields have one scale.

    Parameters
    ----------
    records : sequence of Record
        Of the claim "peers".
    to : pathlib.Path
        An SVG file.
    """
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "anytime"
    from matplotlib import pyplot

    tables = {
        name: rows for name, table in by_table(records).items() if (rows := _drawn(table["rows"]))
    }
    if not tables:
        return
    others = sorted({row["tool"] for rows in tables.values() for row in rows} - {OURS})
    height = -(-len(tables) // COLUMNS)
    figure, fields = pyplot.subplots(
        height,
        COLUMNS,
        figsize=(3 * COLUMNS, 2.4 * height),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for field in fields.flat[len(tables) :]:
        field.axis("off")
    for field, (name, rows) in zip(fields.flat, tables.items(), strict=False):
        ours = [row for row in rows if row["tool"] == OURS]
        last = ours[-1]["loss"]
        seconds = [row["seconds"] for row in ours]
        field.loglog(seconds, [row["loss"] / last for row in ours], "o-", label=OURS)
        for mark, tool in zip(np.resize(MARKS, len(others)), others, strict=True):
            for row in (row for row in rows if row["tool"] == tool):
                filled = {} if is_safe(row) else {"markerfacecolor": "none"}
                place = [row["seconds"]], [row["loss"] / last]
                field.plot(*place, mark, color="0.3", label=tool, **filled)
        field.set_title(name, fontsize=9)
        field.set_xticks(SECONDS, [f"{second:g}" for second in SECONDS])
        field.set_yticks(LOSSES, [f"{loss:g}" for loss in LOSSES])
        field.minorticks_off()
    named: dict[str, Any] = {}
    for field in fields.flat:
        lines, labels = field.get_legend_handles_labels()
        named |= dict(zip(labels, lines, strict=True))
    figure.legend(named.values(), named.keys(), loc="lower center", ncols=len(named), fontsize=8)
    figure.supxlabel("seconds of the processor", y=0.06, fontsize=9)
    figure.supylabel("loss, ours within the last limit = 1", fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    to.parent.mkdir(exist_ok=True)
    figure.savefig(to, metadata={"Date": None})
    pyplot.close(figure)


def _drawn(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs with a pattern against outsiders, of a table on which ours has a safe one."""
    kept = [
        row
        for row in rows
        if "loss" in row
        and (is_safe(row) if row["tool"] == OURS else not row["tool"].startswith(OURS))
    ]
    return kept if any(row["tool"] == OURS for row in kept) else []
