"""File formats: one sibling for each."""

from tablecloak.tables.formats.excel import write_workbook
from tablecloak.tables.formats.exchange import (
    sdmx_names,
    write_json_stat,
    write_px,
    write_sdmx_csv,
)
from tablecloak.tables.formats.frames import (
    existing,
    harmless,
    original_codes,
    read_frame,
    read_problem,
    write_frame,
    write_problem,
)
from tablecloak.tables.formats.jj import read_jj, write_jj
from tablecloak.tables.formats.streams import column_names, read_columns, replace_columns

__all__ = [
    "column_names",
    "existing",
    "harmless",
    "original_codes",
    "read_columns",
    "read_frame",
    "read_jj",
    "read_problem",
    "replace_columns",
    "sdmx_names",
    "write_frame",
    "write_jj",
    "write_json_stat",
    "write_problem",
    "write_px",
    "write_sdmx_csv",
    "write_workbook",
]
