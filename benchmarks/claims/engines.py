"""Tabulation by Spark in local mode, against DuckDB."""

import time
from functools import partial

from bench.claims import Claim, Column, Instance, Method
from made_records import dimensions, generate, records


def through(engine, path, setting):
    """Processor seconds of a table; those of the machine of Java are counted as well."""
    import tablecloak as tc

    del setting
    started, before = time.monotonic(), _spent()
    table = tc.tabulate(path, dimensions(path), "v", contributor="firm", engine=engine)
    return {
        "cells": table.n_cells,
        "cpu": _spent() - before,
        "seconds": time.monotonic() - started,
    }


def _spent():
    """Processor seconds of this process and of those below it that still run."""
    import psutil

    mine = psutil.Process()
    spent = [each.cpu_times() for each in (mine, *mine.children(recursive=True))]
    return sum(each.user + each.system for each in spent)


CLAIM = Claim(
    name="engines",
    title="Tabulation by Spark",
    text="""The same records as for tabulation, 31 codes, three dimensions, 5 % of the firms in two cells, from Parquet. Spark runs
on this machine and its processor seconds, start included, are counted with those of its machine of Java.""",
    said_in=("docs/tabulation.md",),
    methods=(
        Method("duckdb", partial(through, "duckdb")),
        Method("spark", partial(through, "spark")),
    ),
    instances=lambda folder: [
        Instance("10^6", partial(records, generate, 10**6, 31)),
        Instance("10^7", partial(records, generate, 10**7, 31)),
    ],
    smallest=Instance("1,000", partial(records, generate, 1_000, 3, apart=False)),
    columns=(
        Column("cells", "cells", ",d"),
        Column("cpu", "CPU s of the table", ".1f"),
        Column("seconds", "s", ".1f"),
    ),
    limits=(600.0,),
)
