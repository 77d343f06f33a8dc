"""What engines say when they fail, in words of ours that hold nothing of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError


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
        if type(error).__module__.partition(".")[0] not in LIBRARIES:
            raise
        source = data if isinstance(data, str | Path) else "The data"
        raise InputError(f"{source}: cannot be read as a table. {explained(error)}") from None


LIBRARIES = ("duckdb", "_duckdb", "ibis", "pyarrow", "pyspark", "py4j", "psycopg", "sqlglot")


def explained(error: Exception) -> str:
    """Say what an engine found, without the record that its message quotes."""
    text = str(error)
    line = re.search(r"on Line: (\d+)", text)
    column = re.search(r'converting column "([^"]*)"', text)
    places = [f"line {line.group(1)}"] if line else []
    places += [f"column {column.group(1)!r}"] if column else []
    width = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if width:
        what = f"{width.group(2)} entries were found where the header has {width.group(1)}"
    elif "Maximum line size" in text:
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
