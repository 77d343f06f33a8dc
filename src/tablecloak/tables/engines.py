"""Where microdata are read and aggregated: DuckDB in this process, Spark, or a database."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError, suggestion

__all__ = ["open_database", "open_file"]

MEMORY_LIMIT = "3GB"
"""Beyond it DuckDB puts what it holds on disk, into a private folder."""


def open_file(path: str | Path, text_columns: Sequence[str], engine: str = "duckdb") -> Any:
    """Open a CSV or Parquet file as an Ibis table.

    Parameters
    ----------
    path : str or path
    text_columns : sequence of str
        Columns that are text whatever they look like, so that "01" stays "01".
    engine : str, default="duckdb"
        "duckdb"; "spark" for Spark in this process; or "spark://host:7077" for a cluster whose
        workers can read the file under the same path.

    Raises
    ------
    InputError
        If the file does not exist or cannot be read, or the engine is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: this file does not exist. Check the path.")
    try:
        if engine == "duckdb":
            return _in_duckdb(path, text_columns)
        if engine == "spark" or engine.startswith("spark://"):
            return _in_spark(path, text_columns, engine)
    except InputError:
        raise
    except Exception as error:
        # DuckDB names file, line and column in its own message.
        raise InputError(f"{path}: cannot be read as a table. {error}") from error
    raise InputError(
        f"There is no engine {engine!r}.{suggestion(engine, ['duckdb', 'spark', 'spark://'])}"
    )


def open_database(address: str, table: str) -> Any:
    """Open a table of a database as an Ibis table; it is aggregated where it lies.

    Parameters
    ----------
    address : str
        Such as ``postgresql://user@host/database``; a password belongs into the environment
        (``PGPASSWORD``), not into a file.
    table : str

    Raises
    ------
    InputError
        If it cannot be opened.
    """
    import ibis

    try:
        return ibis.connect(address).table(table)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{address.split(':', maxsplit=1)[0]} needs {error.name}: install tablecloak with its "
            f"extra `postgres`, or the extra of ibis-framework for another database."
        ) from error
    except Exception as error:
        # The address may hold a password.
        raise InputError(
            f"Table {table!r} cannot be opened in the database: {type(error).__name__}."
        ) from error


def _in_duckdb(path: Path, text_columns: Sequence[str]) -> Any:
    import ibis

    aside = tempfile.mkdtemp(prefix="tablecloak-")
    connection = ibis.duckdb.connect(memory_limit=MEMORY_LIMIT, temp_directory=aside)
    weakref.finalize(connection, shutil.rmtree, aside, ignore_errors=True)
    if ".parquet" in path.suffixes:
        return connection.read_parquet(path)
    header = connection.read_csv(path).columns
    return connection.read_csv(path, types={c: "VARCHAR" for c in text_columns if c in header})


def _in_spark(path: Path, text_columns: Sequence[str], engine: str) -> Any:
    try:
        import ibis
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            "Spark is not installed: install tablecloak with its extra `spark`, and Java 17."
        ) from None
    # Workers on this machine need the same Python.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("tablecloak").config("spark.ui.enabled", "false")
    if engine == "spark":
        builder = builder.master("local[*]").config("spark.sql.shuffle.partitions", "8")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1")
    else:
        builder = builder.master(engine)
    with warnings.catch_warnings():
        # What Spark says about versions of pandas is no matter of ours.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        connection = ibis.pyspark.connect(session)
        if ".parquet" in path.suffixes:
            return connection.read_parquet(str(path.resolve()))
        table = connection.read_csv(str(path.resolve()), header=True)
        return table.mutate(
            **{
                name: table[name].try_cast("float64")
                for name in table.columns
                if name not in text_columns
            }
        )
