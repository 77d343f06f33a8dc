"""Records of firms as a Parquet file, for tabulation."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.isolated import isolated
from bench.measure import timed


def records(
    made_by: Callable[..., None],
    count: int,
    codes: int,
    *,
    spanning: float = 0.05,
    letters: str = "abc",
    apart: bool = True,
) -> Path:
    """A file; made in another process, the memory for it does not count here."""
    folder = tempfile.mkdtemp(prefix="tablecloak-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "records.parquet"
    if apart:
        isolated(made_by, path, count, codes, spanning, letters)
    else:
        made_by(path, count, codes, spanning, letters)
    return path


def dimensions(path: Path) -> list[str]:
    """The dimensions of a file of records, each named by a letter."""
    import pyarrow.parquet

    names = pyarrow.parquet.read_schema(path).names
    return [name for name in names if name in "abcd"]


def number_of_cells(method: Callable[[Path], int], path: Path, setting: Any) -> dict[str, Any]:
    """The cells that a method tabulates, and its time."""
    del setting
    cells, spent = timed(lambda: method(path))
    return {"cells": cells, **spent}


def generate_keyed(
    path: Path, records: int, codes: int, spanning: float, letters: str = "abc"
) -> None:
    """The same records, each with a record key of eight digits."""
    key = ", (hash(range) % 100000000) / 1e8 AS record_key"
    generate(path, records, codes, spanning, letters, key)


def generate(
    path: Path, records: int, codes: int, spanning: float, letters: str = "abc", more: str = ""
) -> None:
    """Two records for each firm, in one cell but for a share of the firms; skewed cells."""
    import duckdb

    def code(letter: str, number: int) -> str:
        # A firm's home follows from its number.
        home = f"(hash(range // 2 + {number} * 1000003) % 1000003) / 1000003"
        place = f"CASE WHEN elsewhere THEN random() ELSE {home} END"
        text = f"CAST(floor(power({place}, 2) * {codes}) AS INT)::VARCHAR"
        return f"'{letter}' || lpad({text}, 3, '0') AS {letter}"

    columns = ", ".join(code(letter, number) for number, letter in enumerate(letters))
    # Threads would draw from the seed in an order of their own.
    connection = duckdb.connect(config={"threads": 1})
    # A relation that nobody fetches would not be executed.
    connection.sql("SELECT setseed(0.5)").fetchall()
    connection.sql(
        f"""
        COPY (
            SELECT {columns}, 'f' || CAST(range // 2 AS VARCHAR) AS firm,
                   round(exp(6 * random() + 2 * random()), 2) AS v{more}
            FROM (SELECT range, range % 2 = 1 AND random() < {spanning} AS elsewhere
                  FROM range({records}))
        ) TO '{path}' (FORMAT parquet)
        """
    )
