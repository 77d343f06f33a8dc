"""Tabulation: time and peak memory against SQL by hand, polars and pandas.

python benchmarks/tabulation.py --records 1e6 --codes 31 [--methods tablecloak sql polars pandas]

Each method runs in a process of its own and gives the sum, the number of contributors and the
three largest contributions of each cell of the most detailed level after grouping by contributor;
tablecloak also rolls them up to all margins.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = ["tablecloak", "sql", "polars", "pandas"]


def generate(path: Path, records: int, codes: int, spanning: float) -> None:
    """Two records for each firm, in one cell but for a share of the firms; skewed cells."""
    import duckdb

    def code(letter: str, number: int) -> str:
        # A firm's home follows from its number.
        home = f"(hash(range // 2 + {number} * 1000003) % 1000003) / 1000003"
        place = f"CASE WHEN elsewhere THEN random() ELSE {home} END"
        text = f"CAST(floor(power({place}, 2) * {codes}) AS INT)::VARCHAR"
        return f"'{letter}' || lpad({text}, 3, '0') AS {letter}"

    columns = ", ".join(code(letter, number) for number, letter in enumerate("abc"))
    duckdb.sql("SELECT setseed(0.5)")
    duckdb.sql(
        f"""
        COPY (
            SELECT {columns}, 'f' || CAST(range // 2 AS VARCHAR) AS firm,
                   round(exp(6 * random() + 2 * random()), 2) AS v
            FROM (SELECT range, range % 2 = 1 AND random() < {spanning} AS elsewhere
                  FROM range({records}))
        ) TO '{path}' (FORMAT parquet)
        """
    )


def tablecloak(path: Path) -> int:
    import tablecloak as tc

    return tc.tabulate(path, ["a", "b", "c"], "v", contributor="firm").n_cells


def sql(path: Path) -> int:
    import duckdb

    rows = duckdb.sql(
        f"""
        WITH units AS (
            SELECT a, b, c, firm, sum(v) AS v FROM read_parquet('{path}') GROUP BY ALL
        ), ranked AS (
            SELECT a, b, c, v, row_number() OVER (PARTITION BY a, b, c ORDER BY abs(v) DESC) AS rank
            FROM units
        )
        SELECT a, b, c, sum(v), count(*),
               max(v) FILTER (rank = 1), max(v) FILTER (rank = 2), max(v) FILTER (rank = 3)
        FROM ranked GROUP BY ALL
        """
    ).df()
    return len(rows)


def polars(path: Path) -> int:
    import polars as pl

    units = pl.scan_parquet(path).group_by("a", "b", "c", "firm").agg(pl.col("v").sum())
    cells = units.group_by("a", "b", "c").agg(
        pl.col("v").sum(), pl.len().alias("n"), pl.col("v").abs().top_k(3).alias("top")
    )
    return len(cells.collect())


def pandas(path: Path) -> int:
    import pandas as pd

    frame = pd.read_parquet(path)
    units = frame.groupby(["a", "b", "c", "firm"], as_index=False)["v"].sum()
    units["size"] = units["v"].abs()
    units = units.sort_values("size", ascending=False)
    grouped = units.groupby(["a", "b", "c"])
    units["rank"] = grouped.cumcount()
    top = units[units["rank"] < 3].pivot_table(index=["a", "b", "c"], columns="rank", values="size")
    return len(grouped["v"].agg(["sum", "count"]).join(top))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=float, default=1e6)
    parser.add_argument("--codes", type=int, default=31, help="on each of three dimensions")
    parser.add_argument("--spanning", type=float, default=0.05, help="share in two cells")
    parser.add_argument("--methods", nargs="*", default=METHODS)
    parser.add_argument("--run", nargs=2, metavar=("METHOD", "FILE"), help="for the processes")
    options = parser.parse_args()
    if options.run:
        started = time.perf_counter()
        cells = globals()[options.run[0]](Path(options.run[1]))
        seconds = time.perf_counter() - started
        status = Path("/proc/self/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
        print(f"{seconds:.1f} {peak:.0f} {cells}")
        return
    print(
        f"{options.records:.0e} records, {options.codes}^3 combinations of codes, ",
        f"{100 * options.spanning:g} % of firms in two cells",
        sep="",
    )
    print("| method | seconds | peak MiB | cells |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        generate(path, int(options.records), options.codes, options.spanning)
        for method in options.methods:
            done = subprocess.run(
                [sys.executable, __file__, "--run", method, str(path)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"| {method} | failed: {done.stderr.strip().splitlines()[-1:]} |", flush=True)
                continue
            print(f"| {method} | {' | '.join(done.stdout.split())} |", flush=True)


if __name__ == "__main__":
    main()
