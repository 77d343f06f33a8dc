"""A drawing of a cluster: published tables, the tables to protect, and what joins them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from tablecloak.planning.plan import Cluster, ProtectedTable

__all__ = ["picture"]

ROW, GAP = 26, 14
"""Height of a published table, and space between two tables to protect, in pixels."""

LETTER = 7.2
"""Width in pixels of a letter of 12 pixels, on average; texts that are wider are cut."""

LEFT, MIDDLE, WIDTH = 220, 300, 760
"""Where published tables end, where the tables to protect begin, and the width of a drawing."""


def picture(cluster: Cluster) -> str:
    """Draw a cluster as SVG: published tables left, those to protect right, joined by lines.

    Tables that are contained in another one are dashed. A line along the right side joins tables
    that are protected together.
    """
    heights = [max(1, len(table.members)) * ROW for table in cluster.tables]
    tops = [GAP + sum(heights[:number]) + GAP * number for number in range(len(heights))]
    height = GAP + sum(heights) + GAP * len(heights)
    parts = [
        part
        for table, top, tall in zip(cluster.tables, tops, heights, strict=True)
        for part in _table(table, top, tall)
    ]
    if len(cluster.tables) > 1:
        middles = [top + tall / 2 for top, tall in zip(tops, heights, strict=True)]
        parts.append(
            f'<path d="M{WIDTH - 20} {middles[0]:g}V{middles[-1]:g}" stroke-width="3" fill="none"/>'
        )
        parts += [f'<path d="M{WIDTH - 40} {y:g}h20" stroke-width="3"/>' for y in middles]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" style="max-width:100%" font-size="12" '
        f'stroke="currentColor" fill="none">{"".join(parts)}</svg>'
    )


def _table(table: ProtectedTable, top: float, height: float) -> Iterator[str]:
    """Draw a table to protect, and what it is made of."""
    middle = top + height / 2
    for number, name in enumerate(table.members):
        y = top + number * ROW
        into = table.contained.get(name)
        dashed = ' stroke-dasharray="4 3"' if into else ""
        label = f"{name} (in {into})" if into else name
        yield f'<rect x="10" y="{y + 2:g}" width="{LEFT - 10}" height="{ROW - 4}"{dashed}/>'
        yield _text(18, y + ROW / 2, label, LEFT - 26)
        yield f'<path d="M{LEFT} {y + ROW / 2:g}L{MIDDLE} {middle:g}"{dashed}/>'
    wide = WIDTH - 40 - MIDDLE
    yield (
        f'<rect x="{MIDDLE}" y="{top + 2:g}" width="{wide}" height="{height - 4:g}" '
        f'stroke-width="2"/>'
    )
    shape = " x ".join(table.shape) or "no dimension"
    shown = f"{shape}: {', '.join(table.variables)}"
    yield _text(MIDDLE + 10, middle, shown, wide - 20)


def _text(x: float, y: float, text: str, width: float) -> str:
    """Write a text, cut where it is too wide; all of it is shown when it is pointed at."""
    most = int(width / LETTER)
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return (
        f'<text x="{x:g}" y="{y:g}" dominant-baseline="central" stroke="none" '
        f'fill="currentColor"><title>{escape(text)}</title>{escape(cut)}</text>'
    )
