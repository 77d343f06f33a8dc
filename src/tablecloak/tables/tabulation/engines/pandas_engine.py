"""pandas, which is always there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tablecloak.tables.formats import RecordFormat
from tablecloak.tables.tabulation.engines.engine import ENGINES, Engine


@ENGINES.register
class Pandas(Engine):
    """In this process, with all records in memory; where DuckDB is not installed."""

    name = "pandas"
    forms = ("pandas",)
    has_ibis = False

    def open(
        self, path: Path, file_format: RecordFormat, text_columns: Sequence[str]
    ) -> tuple[pd.DataFrame, bool]:
        """Read a file."""
        return file_format.records(path, text_columns), True
