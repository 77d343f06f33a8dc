"""Where microdata are read and aggregated: DuckDB in this process, Spark, or a database."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file

__all__ = ["engine_errors", "open_database", "open_file"]

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
    path = existing_file(path)
    try:
        if engine == "duckdb":
            return _in_duckdb(path, text_columns)
        if engine == "spark" or engine.startswith("spark://"):
            return _in_spark(path, text_columns, engine)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path}: cannot be read as a table. {_explained(error)}") from None
    raise InputError(
        f"There is no engine {engine!r}.{suggestion(engine, ['duckdb', 'spark', 'spark://'])}"
    )


@contextmanager
def engine_errors(data: Any) -> Iterator[None]:
    """Turn errors of an engine while it works into ones of ours that hold nothing of a record.

    Engines look at the first records only when they open a file; what comes later is found when
    it is read.

    Raises
    ------
    InputError
        Names line and column where the engine does.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _ENGINES:
            raise
        source = data if isinstance(data, str | Path) else "The data"
        raise InputError(f"{source}: cannot be read as a table. {_explained(error)}") from None


_ENGINES = ("duckdb", "_duckdb", "ibis", "pyarrow", "pyspark", "py4j", "psycopg", "sqlglot")


def _explained(error: Exception) -> str:
    """Say what an engine found, without the record that its message quotes."""
    text = str(error)
    line = re.search(r"on Line: (\d+)", text)
    column = re.search(r'converting column "([^"]*)"', text)
    found = [f"line {line.group(1)}"] if line else []
    found += [f"column {column.group(1)!r}"] if column else []
    width = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if width:
        what = f"{width.group(2)} entries were found where the header has {width.group(1)}"
    elif column:
        what = "an entry is no number, or not of the kind of those before it; look for text such as"
        what += " '-' or 'x'"
    else:
        what = (
            f"the engine reports {type(error).__name__}; check that the file is what its name says"
        )
    where = ", ".join(found)
    return f"{where[:1].upper()}{where[1:]}: {what}." if found else f"{what[0].upper()}{what[1:]}."


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

    _require_database(address)
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


def _require_database(address: str) -> None:
    """Refuse the name of a database file that is not there: opening it would create it."""
    scheme, _, rest = address.partition("://")
    file = unquote(rest.partition("?")[0])
    if scheme in ("duckdb", "sqlite") and file not in ("", ":memory:"):
        existing_file(file)


def _in_duckdb(path: Path, text_columns: Sequence[str]) -> Any:
    import ibis

    aside = tempfile.mkdtemp(prefix="tablecloak-")
    connection = ibis.duckdb.connect(memory_limit=MEMORY_LIMIT, temp_directory=aside)
    weakref.finalize(connection, shutil.rmtree, aside, ignore_errors=True)
    # Brackets and stars in a name are no pattern, and folders such as v=1 are no columns.
    name, options = _GLOB.sub(r"[\1]", str(path)), {"hive_partitioning": False}
    if ".parquet" in path.suffixes:
        return connection.read_parquet(name, **options)
    header = connection.read_csv(name, **options).columns
    types = {c: "VARCHAR" for c in text_columns if c in header}
    return connection.read_csv(name, types=types, **options)


_GLOB = re.compile(r"([*?\[])")


def _in_spark(path: Path, text_columns: Sequence[str], engine: str) -> Any:
    try:
        import ibis
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            "Spark is not installed: install tablecloak with its extra `spark`, and Java 17."
        ) from None
    if re.search(r"[*?\[\]{}]", str(path)):
        raise InputError(
            f"{path}: Spark takes this name for a pattern of names. Rename the file, or take the "
            f"engine duckdb."
        )
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
