"""Reports of a bench: performance profiles, gaps over time, and a summary.

References
----------
.. [1] Dolan, Moré: Benchmarking optimization software with performance profiles, Mathematical
   Programming 91 (2002).
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.records import source_here
from bench.runner import Bench
from tablecloak.errors import TablecloakWarning
from tablecloak.extras import how_to_install, is_installed
from tablecloak.render.plotting import new_figure
from tablecloak.storage import replacing, write_text
from tablecloak.tables.formats import write_frame

__all__ = ["gap_over_time", "performance_profile", "summary", "write_bench"]

SHIFT = 1.0
"""Seconds added to each time before the geometric mean, so that tiny times do not dominate it."""


def performance_profile(table: pd.DataFrame) -> pd.DataFrame:
    """Return for each solver the share of questions that it solves within a factor of the best.

    Parameters
    ----------
    table : pandas.DataFrame
        As in `Bench`: needs ``instance``, ``question``, ``solver``, ``verdict``, ``seconds``.

    Returns
    -------
    pandas.DataFrame
        Columns ``solver``, ``factor`` (>= 1, increasing) and ``share``; Dolan and Moré [1]_, with
        infinite time for questions that were not solved. Questions that no solver solved count too.
    """
    seconds = table["seconds"].where(table["verdict"] == "solved", np.inf)
    times = table.assign(seconds=seconds).pivot_table(
        index=["instance", "question"], columns="solver", values="seconds"
    )
    best = times.min(axis=1)
    rows = []
    for solver in times.columns:
        asked = times[solver].notna()
        with np.errstate(invalid="ignore"):
            ratio = (times[solver] / best)[asked].to_numpy(dtype=float)
        ratio = np.sort(ratio[np.isfinite(ratio)])
        share = np.arange(1, len(ratio) + 1) / max(int(asked.sum()), 1)
        rows.append(pd.DataFrame({"solver": solver, "factor": ratio, "share": share}))
    return pd.concat(rows, ignore_index=True)


def plot_profile(table: pd.DataFrame, title: str) -> Any:
    """Draw a performance profile."""
    profile = performance_profile(table)
    figure, axes = new_figure(7, 4.5)
    end = max(float(profile["factor"].max()) if len(profile) else 1.0, 2.0) * 1.1
    for solver in sorted(table["solver"].unique()):
        part = profile[profile["solver"] == solver]
        factor = np.concatenate([[1.0], part["factor"], [end]])
        last = part["share"].iloc[-1] if len(part) else 0.0
        share = np.concatenate([[0.0], part["share"], [last]])
        axes.step(factor, share, where="post", label=solver)
    axes.set(xscale="log", xlim=(1, end), ylim=(0, 1.02))
    axes.set_xlabel("time as a multiple of the fastest solver's")
    axes.set_ylabel("share of its questions solved")
    axes.set_title(title)
    axes.legend(fontsize=8)
    return figure


def gap_over_time(bench: Bench, instance: str, question: str) -> Any:
    """Draw value and bound of each solver over time."""
    figure, axes = new_figure(7, 4)
    chosen = bench.history[
        (bench.history["instance"] == instance) & (bench.history["question"] == question)
    ]
    for number, (solver, part) in enumerate(chosen.groupby("solver")):
        for name, style in (("value", "-"), ("bound", "--")):
            known = part[["seconds", name]][np.isfinite(part[name].astype(float))]
            axes.step(
                known["seconds"],
                known[name],
                style,
                where="post",
                color=f"C{number}",
                label=f"{solver}, {name}",
            )
    axes.set_xlabel("seconds")
    axes.set_ylabel("objective")
    axes.set_title(f"{instance}: {question}")
    if axes.has_data():
        axes.legend(fontsize=8)
    return figure


def summary(bench: Bench) -> str:
    """Return a page in Markdown: machine, versions, a table for each question, what is wrong."""
    table, source = bench.table, source_here("python -m benchmarks")
    lines = [
        "# Solvers side by side",
        "",
        f"{source.machine}, {source.versions}; {bench.time_limit:g} s for each answer, one "
        f"thread. Every answer is checked against the program and against the other answers.",
    ]
    for question, part in table.groupby("question", sort=False):
        lines += ["", f"## {question}", ""]
        lines += ["| solver | asked | solved | limit | failed | wrong | mean seconds | most MiB |"]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for solver, own in part.groupby("solver", sort=False):
            counts = own["verdict"].value_counts()
            numbers = [int(counts.get(v, 0)) for v in ("solved", "limit", "failed", "wrong")]
            spent = own["seconds"].fillna(bench.time_limit).clip(lower=0)
            mean = float(np.exp(np.mean(np.log(spent + SHIFT))) - SHIFT)
            lines.append(
                f"| {solver} | {len(own)} | {' | '.join(map(str, numbers))} | {mean:.2f} | "
                f"{own['memory'].max():.0f} |"
            )
    wrong = table[table["verdict"] == "wrong"]
    lines += ["", "## Wrong answers", ""]
    lines += [
        f"- {row.instance}, {row.question}, {row.solver}: {row.why}" for row in wrong.itertuples()
    ] or ["None."]
    lines += ["", f"Mean seconds: geometric mean, each time plus {SHIFT:g} s.", ""]
    return "\n".join(lines)


def write_bench(bench: Bench, folder: str | Path) -> list[Path]:
    """Write answers.parquet, history.parquet, summary.md, and plots if matplotlib is installed.

    Returns
    -------
    list of Path
    """
    folder = Path(folder)
    files = [folder / name for name in ("answers.parquet", "history.parquet", "summary.md")]
    write_frame(bench.table, files[0])
    write_frame(bench.history, files[1])
    write_text(files[2], summary(bench))
    if is_installed("matplotlib"):
        files += _plots(bench, folder)
    else:
        warnings.warn(
            f"The answers are written without plots, which need the library matplotlib. "
            f"{how_to_install('matplotlib')}",
            TablecloakWarning,
            stacklevel=2,
        )
    return files


def _plots(bench: Bench, folder: Path) -> list[Path]:
    """Draw a profile for each question with several solvers, and slow answers over time."""
    files = []
    for question in bench.table["question"].unique():
        part = bench.table[bench.table["question"] == question]
        if len(set(part["solver"])) > 1:
            files.append(_saved(plot_profile(part, question), folder / f"profile-{question}.svg"))
    pairs = bench.history[["instance", "question"]].drop_duplicates()
    for pair in pairs.itertuples(index=False):
        slow = bench.table[
            (bench.table["instance"] == pair.instance) & (bench.table["question"] == pair.question)
        ]
        # An answer found at once has no history to show.
        if slow["seconds"].max() >= 1.0:
            figure = gap_over_time(bench, str(pair.instance), str(pair.question))
            files.append(_saved(figure, folder / f"course-{pair.question}-{pair.instance}.svg"))
    return files


def _saved(figure: Any, path: Path) -> Path:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    return path
