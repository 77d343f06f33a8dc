"""File formats: one sibling for each, and what reads and writes files by their names."""

from tablecloak.tables.formats.files import (
    FilePath,
    column_names,
    read_columns,
    read_frame,
    read_problem,
    record_endings,
    replace_columns,
    write_frame,
    write_problem,
)
from tablecloak.tables.formats.format import (
    FORMATS,
    Format,
    ProblemFormat,
    ReleaseFormat,
    can_hold,
    format_of,
    formats_holding,
)
from tablecloak.tables.formats.frame_format import FrameFormat, RecordFormat
from tablecloak.tables.formats.jj import read_jj, write_jj
from tablecloak.tables.formats.office_workbook import OfficeWorkbook
from tablecloak.tables.formats.spreadsheet_text import harmless, original_codes

__all__ = [
    "FORMATS",
    "FilePath",
    "Format",
    "FrameFormat",
    "OfficeWorkbook",
    "ProblemFormat",
    "RecordFormat",
    "ReleaseFormat",
    "can_hold",
    "column_names",
    "format_of",
    "formats_holding",
    "harmless",
    "original_codes",
    "read_columns",
    "read_frame",
    "read_jj",
    "read_problem",
    "record_endings",
    "replace_columns",
    "write_frame",
    "write_jj",
    "write_problem",
]
