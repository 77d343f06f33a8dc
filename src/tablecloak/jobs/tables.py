"""``[[tables]]`` of a job: linked tables; those that are ready have files of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, model_validator

from tablecloak.registered import Section


class TableSpec(Section, BaseModel):
    """``[[tables]]``: one of several linked tables: its dimensions; a ready one also has a file."""

    dimensions: list[str] = Field(min_length=1)
    file: Path | None = None
    columns: dict[str, str] = {}

    @model_validator(mode="after")
    def _columns_of_a_file(self) -> TableSpec:
        if self.columns and self.file is None:
            raise ValueError("columns are those of the table's own file; leave them out")
        odd = [name for name in self.columns if name not in self.dimensions]
        if odd:
            raise ValueError(f"columns: {odd[0]!r} is none of its dimensions")
        return self


def check_files(tables: Iterable[TableSpec], *, ready: bool) -> None:
    """Refuse ready tables without a file, and records with one for each table.

    Raises
    ------
    ValueError
        Says what to do.
    """
    lacking = {table.file is None for table in tables}
    if ready and True in lacking:
        raise ValueError(
            "a table that is ready has no [[tables]] but those with a file of their own; leave "
            "them out, or give each its file"
        )
    if not ready and False in lacking:
        raise ValueError("[[tables]] of records have no file of their own; leave it out")


def refuse_twice(tables: Iterable[TableSpec]) -> None:
    """Refuse a table that is named twice, in any order of its dimensions.

    Raises
    ------
    ValueError
        Names the table.
    """
    named = set()
    for table in tables:
        key = frozenset(table.dimensions), table.file, frozenset(table.columns.items())
        if key in named:
            raise ValueError(
                f"[[tables]] names the table over {', '.join(table.dimensions)} twice; leave one "
                f"out"
            )
        named.add(key)


def with_own_file(given: Any) -> Any:
    """Return a job as it was typed; ``[data]`` gets the first file of variables or tables.

    It then needs none of its own: each variable, or each ready table, names one.
    """
    if not isinstance(given, dict):
        return given
    variables, tables, data = (given.get(name) for name in ("variables", "tables", "data"))
    specs = list(variables.values()) if isinstance(variables, dict) else []
    files = [_own_file(spec) for spec in specs if isinstance(spec, dict)]
    if not specs and isinstance(tables, list):
        files = [spec["file"] for spec in tables if isinstance(spec, dict) and "file" in spec]
    has_source = not isinstance(data, dict) or bool({"file", "connection"} & set(data))
    if has_source or not isinstance(data, dict) or not files or None in files:
        return given
    return given | {"data": data | {"file": files[0]}}


def _own_file(spec: dict[str, Any]) -> Any:
    """Return the file of a variable, or that of its first table."""
    tables = spec.get("tables")
    first = tables[0] if isinstance(tables, list) and tables else None
    return spec.get("file") or (first.get("file") if isinstance(first, dict) else None)
