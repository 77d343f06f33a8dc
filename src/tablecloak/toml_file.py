"""Reading TOML files: every fault is one message."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError
from tablecloak.storage import existing_file

__all__ = ["read_toml"]

MOST_LEVELS = 100
"""Largest depth of tables within tables: deeper ones exhaust the stack of recursive readers."""

MOST_BYTES = 1 << 24


def read_toml(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Read a TOML file.

    Returns
    -------
    text : str
    tables : dict

    Raises
    ------
    InputError
        If the file is not there, is no TOML, too large or too deeply nested.
    """
    path = existing_file(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: larger than {MOST_BYTES >> 20} MiB; is it the right file?")
        # Editors on Windows write a byte-order mark in front.
        text = path.read_text(encoding="utf-8-sig")
        tables = tomllib.loads(text)
    except RecursionError:
        raise InputError(_too_deep(path)) from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error}). Check the path and the encoding (UTF-8)."
        ) from None
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML: {error}.") from None
    if _levels(tables) > MOST_LEVELS:
        raise InputError(_too_deep(path))
    return text, tables


def _too_deep(path: Path) -> str:
    return f"{path}: more than {MOST_LEVELS} tables or lists lie within each other. Nest less."


def _levels(tables: dict[str, Any]) -> int:
    """Count how deep tables and lists lie within each other, without recursion."""
    levels = 0
    layer: list[dict[str, Any] | list[Any]] = [tables]
    while layer:
        levels += 1
        inner: list[Any] = []
        for part in layer:
            inner.extend(part.values() if isinstance(part, dict) else part)
        layer = [part for part in inner if isinstance(part, dict | list)]
    return levels
