"""One colour for each status of a cell, the same in the app, in reports, notebooks and plots.

The colours stay apart for readers who cannot tell red from green, or blue from yellow, and text on
them can be read: the tests measure both. Styles mark a status by its form as well.
"""

from __future__ import annotations

from collections.abc import Iterable

PAPER, INK = ("#ffffff", "#16181c"), ("#1a1c1f", "#f2f2f2")
"""Background and text of pages, by day and by night."""

STATUS = {
    "suppressed": ("#cfcfcf", "#55585e"),
    "primary": ("#f29a66", "#994312"),
    "secondary": ("#a9cdee", "#1b52b8"),
    "up": ("#cb8fe2", "#7b4484"),
    "down": ("#86ecba", "#0a4d33"),
    "forced": ("#b5ae9c", "#68655d"),
}
"""Backgrounds of cells by their status, by day and by night."""

VERDICTS = {"protected": "#009e73", "attackable": "#d55e00", "undecided": "#e69f00"}
LOSS, BOUND = "#d55e00", "#0072b2"
"""Colours of points and lines in plots; these and the former are those of Okabe and Ito (2008)."""

PUBLIC = ("suppressed",)
"""Statuses that readers of a release see. Their pages do not contain the names of others."""


def colours(statuses: Iterable[str] = STATUS) -> str:
    """Return the colours of statuses, paper and ink as properties of a style sheet."""
    shown = {"paper": PAPER, "ink": INK} | {name: STATUS[name] for name in statuses}
    day, night = (
        "".join(f"--{name}: {pair[time]}; " for name, pair in shown.items()) for time in (0, 1)
    )
    return f":root {{ {day}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {night}}} }}\n"
