"""Tabulation: time and peak memory of the whole cube, against the same cube in SQL by hand."""

from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.claims import Claim, Column, Instance, Method
from made_records import dimensions, generate, number_of_cells, records

PICTURE = "docs/images/tabulation-growth.svg"


def tablecloak(path, engine="duckdb"):
    import tablecloak as tc

    return tc.tabulate(path, dimensions(path), "v", contributor="firm", engine=engine).n_cells


def by_hand(path):
    """Sum, number of contributors and three largest contributions, by a statement each margin."""
    import duckdb

    connection, cells, names = duckdb.connect(), 0, dimensions(path)
    for count in range(len(names) + 1):
        for margin in combinations(names, count):
            keys = "".join(f"{name}, " for name in margin)
            cube = connection.sql(
                f"""
                WITH units AS (
                    SELECT {keys}firm, sum(CAST(round(v * 100) AS BIGINT)) AS x
                    FROM read_parquet('{path}') GROUP BY {keys}firm
                )
                SELECT {keys}sum(x) / 100, count(*), max(abs(x), 3)
                FROM units {f"GROUP BY {', '.join(margin)}" if margin else ""}
                """
            )
            cells += cube.to_arrow_table().num_rows
    return cells


def shape(count, codes, spanning, letters):
    share = f"{spanning:.0%} in two"
    name = f"10^{round(np.log10(count))}, {codes} codes, {len(letters)} dimensions, {share}"
    build = partial(records, generate, count, codes, spanning=spanning, letters=letters)
    return Instance(name, build)


SHAPES = (
    (10**6, 31, 0.05, "abc"),
    (10**7, 31, 1.0, "ab"),
    (10**7, 31, 0.05, "abc"),
    (10**7, 31, 1.0, "abc"),
    (10**7, 136, 0.05, "abc"),
    (10**7, 136, 1.0, "abc"),
    (10**7, 31, 0.05, "abcd"),
    (10**7, 31, 1.0, "abcd"),
    (10**8, 31, 0.05, "abc"),
)


def remark(found):
    """Compare both methods on each instance that both have finished."""
    cost = {(r.instance, r.method): (r.figures.get("cpu"), r.peak_mib) for r in found}
    names = {r.instance for r in found}
    both = [(cost.get((n, "tablecloak")), cost.get((n, "SQL by hand"))) for n in names]
    pairs = [(ours, hand) for ours, hand in both if ours and hand and ours[0] and hand[0]]
    if not pairs:
        return ""
    time, memory = (sorted(ours[i] / hand[i] for ours, hand in pairs) for i in (0, 1))
    return (
        f"Of the SQL by hand, tablecloak takes {time[0]:.2f} to {time[-1]:.2f} times the processor "
        f"seconds and {memory[0]:.2f} to {memory[-1]:.2f} times the memory, on {len(pairs)} "
        f"shapes.\n\n![Seconds and memory over records, codes and dimensions](../{PICTURE})"
    )


def draw(found, folder):
    """Draw seconds and memory of tablecloak over records, cells and dimensions."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tabulation"
    from matplotlib import pyplot

    figure, both = pyplot.subplots(1, 2, figsize=(8, 3.5))
    ours = [r for r in found if r.method == "tablecloak" and "cpu" in r.figures]
    for axes, label, cost in zip(
        both,
        ("processor seconds", "MiB"),
        ([r.figures["cpu"] for r in ours], [r.peak_mib for r in ours]),
        strict=True,
    ):
        for record, height in zip(ours, cost, strict=True):
            count, *rest = record.instance.split(", ")
            axes.plot(10.0 ** int(count[3:]), height, "o", label=", ".join(rest))
        axes.set(xlabel="records", ylabel=label, xscale="log", yscale="log")
    both[1].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(Path(folder).parent / PICTURE, metadata={"Date": None})


METHODS = {"tablecloak": tablecloak, "SQL by hand": by_hand}

CLAIM = Claim(
    name="tabulation",
    title="Tabulation",
    text="""Two records for each firm, all or 5 % of the firms in two cells; Parquet. Both methods give all cells with all margins:
sum, number of contributors, and three largest contributions, each contributor once in every margin. The SQL by hand (DuckDB) asks
for each margin by a statement. tablecloak checks all records too, names the largest contributors, and adds exactly, so that the
result is the same for any number of threads and any engine.""",
    said_in=("docs/tabulation.md", "docs/decisions"),
    methods=tuple(
        Method(name, partial(number_of_cells, method)) for name, method in METHODS.items()
    ),
    instances=lambda folder: [shape(*each) for each in SHAPES],
    smallest=Instance("1,000", partial(records, generate, 1_000, 3, apart=False)),
    columns=(Column("cells", "cells", ",d"), Column("cpu", "CPU s of the cube", ".1f")),
    limits=(600.0,),
    remark=remark,
    draw=draw,
)
