"""What an engine is, and how one is found by its name."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tablecloak.errors import InputError, InterruptedSearch, suggestion
from tablecloak.extras import is_installed
from tablecloak.registry import Registry
from tablecloak.storage import existing_file
from tablecloak.tables.formats import RecordFormat, format_of
from tablecloak.tables.formats.format import not_utf_8, require_few_columns, uneven


class Engine(ABC):
    """Reads and aggregates files of microdata; siblings are registered in `ENGINES`.

    Parameters
    ----------
    address : str, default=""
        Where it runs, for engines on other machines.
    """

    name: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]] = ()
    """How addresses of it begin, such as ``spark://``."""
    forms: ClassVar[tuple[str, ...]]
    """How it is written, with an example of an address."""
    has_ibis: ClassVar[bool] = True
    """Whether it opens tables of Ibis; else frames of pandas."""

    def __init__(self, address: str = "") -> None:
        self.address = address

    @abstractmethod
    def open(
        self, path: Path, file_format: RecordFormat, text_columns: Sequence[str]
    ) -> tuple[Any, bool]:
        """Open a file that is there; see `open_file`."""

    def close(self, table: Any) -> None:
        """Close what `open` opened, after the last question to it."""
        del table

    def open_file(
        self, path: str | os.PathLike[str], text_columns: Sequence[str]
    ) -> tuple[Any, bool]:
        """Open a file of records as a table.

        Parameters
        ----------
        path : str, path or DataFile
            Names without a known ending are taken for CSV.
        text_columns : sequence of str
            Columns that are text whatever they look like, so that "01" stays "01".

        Returns
        -------
        table : ibis.Table or pandas.DataFrame
        is_quick : bool
            Whether reading it again costs little.

        Raises
        ------
        InputError
            If the file does not exist or cannot be read, or the engine is not installed.
        """
        file_format = format_of(path, RecordFormat, otherwise="csv")
        path = existing_file(path)
        _require_no_database(path)
        try:
            require_few_columns(path)
            file_format.column_names(path)
            return self.open(path, file_format, text_columns)
        except InputError:
            raise
        except Exception as error:
            raise interruption(error) or unreadable(path, error) from None


def _require_no_database(path: Path) -> None:
    with path.open("rb") as stream:
        start = stream.read(16)
    name = {b"DUCK": "duckdb", b"at 3": "sqlite"}.get(start[8:12])
    if name is not None:
        raise InputError(
            f"{path} is a database. Give its address and a table: in a job file connection = "
            f"'{name}://{path}' and table, in Python a table of Ibis, as "
            f"ibis.{name}.connect({str(path)!r}).table(...)."
        )


ENGINES: Registry[Engine] = Registry("engine", "tablecloak.tables.tabulation.engines")
"""All engines."""


def engine_named(name: str) -> Engine:
    """Return an engine by its name or its address; pandas where DuckDB is not installed.

    Raises
    ------
    InputError
        If there is none.
    """
    if name == "duckdb" and not is_installed("ibis"):
        name = "pandas"
    if name in ENGINES:
        return ENGINES[name]()
    for each in ENGINES:
        if name.startswith(each.schemes):
            return each(name)
    known = [word for each in ENGINES for word in (each.name, *each.schemes)]
    raise InputError(f"There is no engine {name!r}.{suggestion(name, known)}")


def interruption(error: Exception) -> InterruptedSearch | None:
    """Return our error for what DuckDB makes of Ctrl-C; none for any other error."""
    if isinstance(error, RuntimeError) and "interrupted" in str(error).lower():
        return InterruptedSearch("Interrupted while records were read.")
    return None


def unreadable(source: Any, error: Exception) -> InputError:
    """Return our error for one of an engine that reads a source."""
    if named := uneven(source, error):
        return named
    if isinstance(error, UnicodeDecodeError) or "not utf-8" in str(error).lower():
        return not_utf_8(source)
    return InputError(f"{source}: cannot be read as a table. {explained(error)}")


def explained(error: Exception) -> str:
    """Say what an engine found, without the record that its message quotes."""
    text = str(error)
    line = re.search(r"(?:on Line: |in line )(\d+)", text)
    column = re.search(r'converting column "([^"]*)"', text)
    places = [f"line {line.group(1)}"] if line else []
    places += [f"column {column.group(1)!r}"] if column else []
    if "Maximum line size" in text:
        what = "too long; look for a quote that is not closed, or an entry that is no code"
    elif column:
        what = "an entry is no number, or not of the kind of those before it; look for text such as"
        what += " '-' or 'x'"
    else:
        what = (
            f"the engine reports {type(error).__name__}; check that the file is what its name says"
        )
    where = ", ".join(places)
    return f"{where[:1].upper()}{where[1:]}: {what}." if places else f"{what[0].upper()}{what[1:]}."
