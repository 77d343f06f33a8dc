"""Engines side by side: the same table from each, and what it costs."""

import hashlib
import shutil
import sys
import tempfile
import warnings
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from made_records import dimensions, generate, records

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

SHAPES = ((10**6, 31, 0.05, "abc"), (10**7, 31, 0.05, "abc"), (10**7, 31, 1.0, "abc"))


def digest(table):
    """A number for all that a table says: keys, sums, contributors."""
    parts = [table.keys.to_csv().encode(), table.values.tobytes()]
    for level in (table.contributions, table.holdings):
        parts += [level.to_frame().to_csv().encode()] if level is not None else []
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Files:
    """An engine that opens files."""

    def __init__(self, name):
        self.name = name

    def __call__(self, data, setting):
        if isinstance(data, Path):
            return measured([(data, dimensions(data), {"contributor": "firm"})], self.tabulate)
        with tempfile.TemporaryDirectory() as folder:
            asked = []
            for seed in data:
                frame, trees, options = random_file(seed)
                path = Path(folder) / f"{seed}.parquet"
                frame.to_parquet(path)
                asked.append((path, trees, options))
            return measured(asked, self.tabulate)

    def tabulate(self, path, trees, options):
        import tablecloak as tc

        return tc.tabulate(path, trees, "v", engine=self.name, **options)


def postgresql(data, setting):
    """In a server that is started for it; loading the records is not counted."""
    from postgres_server import NoServerError, postgres_server

    try:
        with postgres_server() as address:
            return in_database(address, data)
    except NoServerError as error:
        return {"message": str(error)}


def in_database(address, data):
    """Load records into a database, and tabulate them there."""
    import ibis
    import pandas as pd

    import tablecloak as tc

    connection = ibis.connect(address)
    asked = []
    if isinstance(data, Path):
        connection.create_table("records", pd.read_parquet(data))
        asked.append(("records", dimensions(data), {"contributor": "firm"}))
    else:
        for seed in data:
            frame, trees, options = random_file(seed)
            connection.create_table(f"r{seed}", frame)
            asked.append((f"r{seed}", trees, options))
    found = measured(
        asked, lambda name, trees, more: tc.tabulate(connection.table(name), trees, "v", **more)
    )
    connection.disconnect()
    return found


def with_java(method, data, setting):
    """Ask Spark, and stop it."""
    if not shutil.which("java"):
        return {"message": "no Java on this machine"}
    figures = method(data, setting)
    from pyspark.sql import SparkSession

    if session := SparkSession.getActiveSession():
        session.stop()
    return figures


def spark_by_hand(data, setting):
    """Sum, number of contributors and three largest contributions, by a statement each margin."""
    from pyspark.sql import SparkSession

    if not isinstance(data, Path):
        return {"message": "asked for large files only"}

    def cube():
        builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "8")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
        session.read.parquet(str(data)).createOrReplaceTempView("records")
        cells, names = 0, dimensions(data)
        for count in range(len(names) + 1):
            for margin in combinations(names, count):
                keys = "".join(f"{name}, " for name in margin)
                answer = session.sql(
                    f"""
                    SELECT {keys}sum(x), count(*), max_by(firm, x, 3) FROM (
                        SELECT {keys}firm, sum(CAST(round(v * 100) AS BIGINT)) AS x
                        FROM records GROUP BY {keys}firm
                    ) {f"GROUP BY {', '.join(margin)}" if margin else ""}
                    """
                )
                cells += answer.toArrow().num_rows
        return cells

    cells, spent = timed(cube)
    return {"cells": cells, "seconds": spent["seconds"]}


def random_file(seed):
    from random_records import random_records

    return random_records(seed)


def measured(asked, tabulate):
    """Tabulate one after the other; all figures of all tables as one number."""
    warnings.simplefilter("ignore")
    tables, spent = timed(lambda: [tabulate(*each) for each in asked])
    whole = hashlib.sha256("".join(map(digest, tables)).encode()).hexdigest()[:12]
    cells = sum(table.n_cells for table in tables)
    return {"cells": cells, "seconds": spent["seconds"], "digest": whole}


def remark(found):
    """Say whether all engines gave the same figures."""
    lines = []
    for name in dict.fromkeys(each.instance for each in found):
        digests = {r.method: r.figures["digest"] for r in found
                   if r.instance == name and "digest" in r.figures}  # fmt: skip
        alike = len(set(digests.values())) == 1
        lines.append(f"{name}: {'the same' if alike else 'DIFFERENT'} from {', '.join(digests)}.")
    return "All figures of the tables, to the last digit: " + " ".join(lines) if lines else ""


def shape(count, codes, spanning, letters):
    name = f"10^{round(np.log10(count))}, {len(letters)} dimensions, {spanning:.0%} in two"
    return Instance(
        name, partial(records, generate, count, codes, spanning=spanning, letters=letters)
    )


CLAIM = Claim(
    name="engines",
    title="Engines",
    text="""The records of the claim on tabulation, and 50 random files with weights, holdings, waivers, negative values, decimals and
thirds. Each engine reads the file itself; PostgreSQL is started, and loaded, before the seconds begin. Seconds are those of the wall
on all cores; Java runs before they begin, and a session of Spark starts after. The SQL by hand asks Spark for each margin by a statement.""",
    said_in=("docs/tabulation.md",),
    methods=(
        Method("duckdb", Files("duckdb")),
        Method("pandas", Files("pandas")),
        Method("postgresql", postgresql),
        Method("spark", partial(with_java, Files("spark"))),
        Method("Spark SQL by hand", partial(with_java, spark_by_hand)),
    ),
    instances=lambda folder: [
        Instance("50 random files", partial(list, range(50))),
        *(shape(*each) for each in SHAPES),
    ],
    smallest=Instance("1 random file", partial(list, range(1))),
    columns=(
        Column("cells", "cells", ",d"),
        Column("seconds", "seconds of the wall", ".1f"),
        Column("digest", "all figures as one number"),
        Column("message", "message"),
    ),
    limits=(600.0,),
    clock="wall",
    remark=remark,
)
