"""The page and the files of a plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.planning.picture import picture
from tablecloak.planning.plan import Plan
from tablecloak.render.page import Page
from tablecloak.storage import readable, require_writable, write_text
from tablecloak.tables.formats import write_frame
from tablecloak.toml_file import toml_text

__all__ = ["plan_page", "require_ours", "write_jobs", "write_plan"]

MARK = "# Written by tablecloak plan. If you change this file, it is not written over: "
"""Begin of the first line of a job file; a digest of all others follows."""

DIGITS = 16


def plan_page(plan: Plan, title: str = "Plan of a publication") -> Page:
    """Return a page: each cluster with its tables, its picture and its reasons."""
    page = Page(title, secret=False)
    page.text(plan.summary().partition("\n")[0] + ".")
    for note in plan.notes:
        page.text(f"Note: {note}.")
    for cluster in plan.clusters:
        page.heading(f"Cluster {cluster.name}")
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


def write_plan(plan: Plan, out: str | Path, title: str = "Plan of a publication") -> list[Path]:
    """Write ``plan.html`` and ``plan.csv`` into a folder, and return their paths."""
    out = Path(out)
    require_writable(out / "plan.html")
    out.mkdir(parents=True, exist_ok=True)
    plan_page(plan, title).write(out / "plan.html")
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
