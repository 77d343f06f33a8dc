"""File formats: one sibling for each."""

from tablecloak.tables.formats.frames import read_frame, read_problem, write_frame, write_problem
from tablecloak.tables.formats.jj import read_jj, write_jj

__all__ = ["read_frame", "read_jj", "read_problem", "write_frame", "write_jj", "write_problem"]
