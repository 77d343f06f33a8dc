"""Two-way and linked tables of 700 to 1,000 cells: patterns, bounds and proofs against CPU time.

    python benchmarks/two_way.py FOLDER --limits 1 3 10 [--peer PYTHON] [--only "two-way 1"]

FOLDER holds the tables of rtauargus; PYTHON is one that has pytauargus, whose optimal method then
runs on the same table right after ours. All seconds are those of the processor, one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
from enterprises import SHAPES, enterprises

import tablecloak as tc
import tablecloak.budget

ENTERPRISES = 4_000
"""Behind each of the five tables; they have 712 to 843 cells."""


def two_way(seed: int) -> tc.ProtectionProblem:
    """Two hierarchies, p% and frequency rule."""
    frame, trees = enterprises(SHAPES["two-way"][0], ENTERPRISES, seed)
    return tc.tabulate(frame, trees, "v").protect(tc.PPercent(10), tc.MinimumFrequency(3))


def linked(seed: int) -> tc.ProtectionProblem:
    """Two tables that share a hierarchy, over the same enterprises."""
    shape = {"a": (4, 5), "b": (4, 4), "c": (3, 5)}
    frame, trees = enterprises(shape, 2_000, seed)
    tables = [
        tc.tabulate(frame, {name: trees[name] for name in names}, "v") for names in ("ab", "ac")
    ]
    return tc.link(*tables).protect(tc.PPercent(10), tc.MinimumFrequency(3))


def activities(folder: Path) -> tc.ProtectionProblem:
    """Turnover by activity and size, and by activity and legal form: (1, 85) and frequency 3."""
    codes = pd.read_csv(folder / "activity_corr_table.csv.gz", dtype=str)
    tree: dict = {}
    for path in codes.itertuples(index=False):
        at = tree
        for code in dict.fromkeys(path):
            at = at.setdefault(code, {})
    tables = []
    for name in ("size", "cj"):
        frame = pd.read_csv(folder / f"turnover_act_{name}.csv.gz", dtype={"ACTIVITY": str})
        column = name.upper()
        classes = sorted(set(frame[column]) - {"Total"})
        tables.append(
            tc.Table.from_frame(
                frame,
                {
                    "ACTIVITY": tc.Hierarchy.from_dict(tree, total="Total"),
                    column: tc.Hierarchy.from_dict({code: {} for code in classes}, total="Total"),
                },
                "TOT",
                frequency="N_OBS",
                largest=["MAX"],
                tolerance=1e-3,
            )
        )
    return tc.link(*tables).protect(tc.Dominance(1, 85), tc.MinimumFrequency(3))


def instances(folder: Path) -> dict[str, tc.ProtectionProblem]:
    """All tables by name."""
    found = {f"two-way {seed}": two_way(seed) for seed in range(1, 6)}
    found["linked"] = linked(11)
    found["activities"] = activities(folder)
    return found


PEER = """
import sys, tempfile, time
from pytauargus import HiTaSCtrl
folder, started = tempfile.mkdtemp(), time.process_time()
code = HiTaSCtrl().full_jj(sys.argv[1], folder + "/out", int(sys.argv[2]), "", folder)
seconds = time.process_time() - started
with open(folder + "/out") as file:
    cells = [int(line.split()[0]) for line in file if line.strip()]
print("peer", code, seconds, *cells)
"""


class ProcessorClock:
    """Seconds of the processor, asked for a hundred times a second at most."""

    def __init__(self) -> None:
        self.asked, self.seconds = -1.0, 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        now = time.monotonic()
        if now - self.asked > 0.01:
            self.asked, self.seconds = now, time.process_time()
        return self.seconds


def ours(problem: tc.ProtectionProblem, limit: float) -> str:
    """One run under a limit: loss, bound and seconds."""
    started = time.process_time()
    pattern = tc.suppress(problem, time_limit=limit, threads=1)
    seconds = time.process_time() - started
    proved = "optimal" if pattern.is_optimal else f"{pattern.bound:,.0f}"
    return f"{pattern.loss:,.0f} ({proved}, {seconds:.1f} s)"


def peer(python: str, problem: tc.ProtectionProblem, minutes: int) -> str:
    """One run of the optimal method of pytauargus: loss, and seconds until it ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.jj"
        tc.write_jj(problem, path)
        try:
            told = subprocess.run(
                [python, "-c", PEER, str(path), str(minutes)],
                capture_output=True, text=True, timeout=600 * minutes, check=False,
            ).stdout  # fmt: skip
        except subprocess.TimeoutExpired:
            return "no answer"
    lines = [line.split() for line in told.splitlines() if line.startswith("peer ")]
    if not lines:
        return "no answer"
    _, code, seconds, *cells = lines[-1]
    hidden = problem.sensitive.copy()
    # The file lists what is hidden besides.
    hidden[[int(cell) for cell in cells]] = True
    loss = float(problem.weights[hidden].sum())
    return f"{loss:,.0f} (code {code}, {float(seconds):.1f} s)"


def main() -> None:
    """Print one row of a table for each problem."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="folder with turnover_act_size.csv.gz")
    parser.add_argument("--limits", type=float, nargs="*", default=[1, 3, 10])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--peer", help="a Python that has pytauargus")
    parser.add_argument("--minutes", type=int, default=1, help="limit of the peer")
    options = parser.parse_args()
    tablecloak.budget.time = SimpleNamespace(monotonic=ProcessorClock())
    for name, problem in instances(options.folder).items():
        if options.only and name not in options.only:
            continue
        parts = [name, f"{problem.table.n_cells:,}", f"{problem.n_sensitive:,}"]
        parts += [ours(problem, limit) for limit in options.limits]
        if options.peer:
            parts.append(peer(options.peer, problem, options.minutes))
        print(f"| {' | '.join(parts)} |", flush=True)


if __name__ == "__main__":
    main()
