"""The page and the files of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.planning.picture import picture
from tablecloak.planning.plan import Plan
from tablecloak.render.page import Page
from tablecloak.storage import require_writable, write_text
from tablecloak.tables.formats import write_frame
from tablecloak.toml_file import toml_text

__all__ = ["plan_page", "write_jobs", "write_plan"]


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
    """Write the job file of each cluster into a folder, and return their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, job in jobs.items():
        paths.append(folder / f"{name}.toml")
        write_text(paths[-1], toml_text(job))
    return paths
