"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.tables.formats.format import FIELD_END, FORMATS, FilePart
from tablecloak.tables.formats.frame_format import Appender, FrameFormat


@FORMATS.register
class Parquet(FrameFormat):
    """Typed columns, packed."""

    name = "parquet"
    suffixes = (".parquet", ".pq")
    engine_kind = "parquet"
    signature = b"PAR1"
    libraries = ("pyarrow",)

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; its types are its own."""
        del text_columns
        return pd.read_parquet(path)

    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Write a whole frame."""
        frame.to_parquet(path, index=False)

    def column_names(self, path: Path) -> list[str]:
        """Read the schema alone."""
        import pyarrow.parquet

        return list(map(str, pyarrow.parquet.read_schema(path).names))

    def read_columns(
        self, path: Path, columns: Sequence[str], *, as_text: bool = False
    ) -> pd.DataFrame:
        """Read some columns of the file."""
        del as_text
        return pd.read_parquet(path, columns=list(columns))

    def pieces(self, path: Path, size: int, *, typed: bool) -> Iterator[pd.DataFrame]:
        """Yield typed rows piece by piece."""
        import pyarrow.parquet

        del typed
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(size):
                yield batch.to_pandas()

    def appender(self, path: Path) -> Appender:
        """Begin a file with the types of the first piece."""
        return _ParquetAppender(self, path)

    def parts(self, path: Path, content: bytes) -> Iterator[FilePart]:
        """Yield all bytes, and what is in them column by column, with the metadata."""
        import pyarrow.parquet

        yield FilePart("pages", content, is_packed=True)
        opened = pyarrow.parquet.ParquetFile(path)
        for group in range(opened.metadata.num_row_groups):
            for number in range(opened.metadata.num_columns):
                # Smallest and largest value; the rest are lengths and positions in the file.
                statistics = opened.metadata.row_group(group).column(number).statistics
                yield FilePart("statistics", str(statistics).encode())
        for key, text in (opened.schema_arrow.metadata or {}).items():
            yield FilePart(f"metadata {key.decode(errors='replace')}", text)
        for name, entries in zip(opened.schema_arrow.names, opened.read().columns, strict=True):
            text = FIELD_END.join(map(str, entries.to_pylist()))
            yield FilePart(f"column {name}", text.encode())


class _ParquetAppender(Appender):
    """Each piece is a group of rows."""

    file: Any = None

    def add(self, frame: pd.DataFrame) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        if self.file is None:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            self.file = pyarrow.parquet.ParquetWriter(self.path, table.schema)
        else:
            table = pa.Table.from_pandas(frame, schema=self.file.schema, preserve_index=False)
        self.file.write_table(table)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
