"""Spark, in this process or on a cluster."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.tables.formats import RecordFormat
from tablecloak.tables.tabulation.engines.engine import ENGINES, Engine


@ENGINES.register
class Spark(Engine):
    """In this process, or on a cluster whose workers read the file under the same path."""

    name = "spark"
    schemes = ("spark://",)
    forms = ("spark", "spark://host:7077")

    def open(
        self, path: Path, file_format: RecordFormat, text_columns: Sequence[str]
    ) -> tuple[Any, bool]:
        """Open a file; formats that Spark does not know are read here first."""
        required("pyspark", "Tables by the engine spark (which needs Java 17 as well)")
        import ibis
        from pyspark.sql import SparkSession

        if re.search(r"[*?\[\]{}]", str(path)):
            raise InputError(
                f"{path}: Spark takes this name for a pattern of names. Rename the file, or take "
                f"the engine duckdb."
            )
        # Workers on this machine need the same Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # What Spark says about versions of pandas, at each question, is no matter of ours.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            connection = ibis.pyspark.connect(self._builder(SparkSession).getOrCreate())
            match file_format.kind_for_engines:
                case "parquet":
                    return connection.read_parquet(str(path.resolve())), False
                case "csv":
                    table = connection.read_csv(str(path.resolve()), header=True)
                    return _with_numbers(table, text_columns), False
            return ibis.memtable(file_format.records(path, text_columns)), False

    def _builder(self, session: Any) -> Any:
        builder = session.builder.appName("tablecloak").config("spark.ui.enabled", "false")
        # Its own bars of progress would be written into ours.
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        if self.address:
            return builder.master(self.address)
        builder = builder.master("local[*]").config("spark.sql.shuffle.partitions", "8")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        return builder.config("spark.driver.host", "127.0.0.1")


def _with_numbers(table: Any, text_columns: Sequence[str]) -> Any:
    """Take columns for numbers where they are not text by their role."""
    numbers = [name for name in table.columns if name not in text_columns]
    return table.mutate(**{name: table[name].try_cast("float64") for name in numbers})
