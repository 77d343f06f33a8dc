"""The page and the files of a plan, with a drawing of each cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.planning.jobs import file_names
from tablecloak.planning.plan import Cluster, Plan, ProtectedTable
from tablecloak.render.page import Page
from tablecloak.storage import readable, require_writable, write_text
from tablecloak.tables.formats import write_frame
from tablecloak.toml_file import toml_text

ROW, GAP = 26, 14
"""Height of a published table, and space between two tables to protect, in pixels."""

LETTER = 7.2
"""Width in pixels of a letter of 12 pixels, on average; texts that are wider are cut."""

LEFT, MIDDLE, WIDTH = 220, 300, 760
"""Where published tables end, where the tables to protect begin, and the width of a drawing."""

MARK = "# Written by tablecloak plan. If you change this file, it is not written over: "
"""Begin of the first line of a job file; a digest of all others follows."""

DIGITS = 16


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


@dataclass(frozen=True)
class ClusterState:
    """What a page says of a cluster besides its tables.

    Parameters
    ----------
    figures : mapping of str to float
        Such as ``cells``, ``relations``, ``expected seconds``, ``loss``.
    verdict : str, default=""
        How its protection went; empty before.
    report : str, default=""
        Path of its report, relative to the page.
    """

    figures: Mapping[str, float]
    verdict: str = ""
    report: str = ""


def plan_page(
    plan: Plan,
    title: str = "Plan of a publication",
    states: Mapping[str, ClusterState] | None = None,
) -> Page:
    """Return a page: each cluster with its tables, its picture and its reasons.

    Parameters
    ----------
    plan : Plan
    title : str
    states : mapping of str to ClusterState, optional
        By the names of the folders of clusters. A page with verdicts is secret, as losses are.
    """
    states = states or {}
    page = Page(title, secret=any(state.verdict for state in states.values()))
    page.text(plan.summary().partition("\n")[0] + ".")
    for note in plan.notes:
        page.text(f"Note: {note}.")
    if states:
        page.table(pd.DataFrame(
            {"cluster": name, "verdict": state.verdict} | dict(state.figures)
            for name, state in states.items()
        ), index=False)  # fmt: skip
    for name, cluster in zip(file_names(plan.clusters), plan.clusters, strict=True):
        page.heading(f"Cluster {cluster.name}")
        if name in states and states[name].report:
            page.link("Report of its protection", states[name].report)
        for reason in cluster.reasons:
            page.text(f"Tables {reason}.")
        caption = "Published tables (left) and tables to protect as one problem (right)"
        page.drawing(picture(cluster), caption)
        rows = [
            {
                "table to protect": table.name,
                "dimensions": " x ".join(table.shape),
                "variables": ", ".join(table.variables),
                "contains": ", ".join(table.contained),
            }
            for table in cluster.tables
        ]
        page.table(pd.DataFrame(rows), index=False)
    page.heading("Tables to publish")
    page.table(plan.to_frame(), index=False)
    return page


def write_plan(
    plan: Plan,
    out: str | Path,
    title: str = "Plan of a publication",
    states: Mapping[str, ClusterState] | None = None,
) -> list[Path]:
    """Write ``plan.html`` and ``plan.csv`` into a folder, and return their paths."""
    out = Path(out)
    require_writable(out / "plan.html")
    out.mkdir(parents=True, exist_ok=True)
    plan_page(plan, title, states).write(out / "plan.html")
    write_frame(plan.to_frame(), out / "plan.csv")
    return [out / "plan.html", out / "plan.csv"]


def write_jobs(jobs: Mapping[str, Mapping[str, Any]], folder: str | Path) -> list[Path]:
    """Write the job file of each cluster into a folder, and return their paths.

    Raises
    ------
    InputError
        If somebody has worked on one of these files since it was written, or wrote it: nothing is
        written then.
    """
    folder = Path(folder)
    texts = {folder / f"{name}.toml": toml_text(job) for name, job in jobs.items()}
    require_ours(texts)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_text(path, f"{MARK}{_digest(text)}\n{text}")
    return list(texts)


def require_ours(paths: Iterable[Path]) -> None:
    """Refuse to write over job files that differ from what was written there.

    Raises
    ------
    InputError
        Names the file.
    """
    for path in paths:
        if not path.exists():
            continue
        content = readable(path).read_bytes().decode("utf-8", "replace")
        first, _, text = content.partition("\n")
        if first != f"{MARK}{_digest(text)}":
            raise InputError(
                f"{path}: was changed since it was planned, or is somebody's own. Move it to "
                f"another folder, or give another --out."
            )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
