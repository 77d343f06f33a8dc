"""DuckDB in this process."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tablecloak.budget import usable_cores
from tablecloak.tables.formats import RecordFormat
from tablecloak.tables.formats.format import UNNAMED
from tablecloak.tables.tabulation.engines.engine import ENGINES, Engine

MEMORY_LIMIT = "4500MB"
"""Beyond it DuckDB puts what it holds on disk, into a private folder."""

LONGEST_LINE = 1 << 16
"""Most bytes of a row of text: DuckDB tries kinds and separators on all of it, again and again."""

_GLOB = re.compile(r"([*?\[])")


@ENGINES.register
class DuckDB(Engine):
    """In this process, with data too large for memory on disk; the default."""

    name = "duckdb"
    forms = ("duckdb",)

    def open(
        self, path: Path, file_format: RecordFormat, text_columns: Sequence[str]
    ) -> tuple[Any, bool]:
        """Open a file; formats that DuckDB does not know are read here first."""
        connection = _connection()
        # Brackets and stars in a name are no pattern, and folders such as v=1 are no columns.
        name, options = _GLOB.sub(r"[\1]", str(path)), dict[str, Any](hive_partitioning=False)
        match file_format.kind_for_engines:
            case "parquet":
                return connection.read_parquet(name, **options), True
            case "csv":
                options["max_line_size"] = LONGEST_LINE
                header = connection.read_csv(name, **options).columns
                names = [c for c in file_format.column_names(path) if not UNNAMED.fullmatch(c)]
                if set(names) <= set(header):
                    types = {c: "VARCHAR" for c in text_columns if c in header}
                    return connection.read_csv(name, types=types, **options), False
                # A line with a fault can make another separator likely, or another header.
        return connection.create_table("records", file_format.records(path, text_columns)), True

    def close(self, table: Any) -> None:
        """Close the connection: memory that is free again goes back to the system only then."""
        import ibis

        ibis.get_backend(table).disconnect()


def _connection() -> Any:
    import ibis

    aside = tempfile.mkdtemp(prefix="tablecloak-")
    # DuckDB takes all cores of the machine, also where it may use one: its threads then wait for
    # each other, a third of the seconds.
    connection = ibis.duckdb.connect(
        memory_limit=MEMORY_LIMIT, temp_directory=aside, threads=usable_cores()
    )
    weakref.finalize(connection, shutil.rmtree, aside, ignore_errors=True)
    return connection
