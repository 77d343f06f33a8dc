"""TOML files: every fault of one that is read is one message."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tablecloak.data_file import about_batches
from tablecloak.errors import InputError
from tablecloak.storage import existing_file

MOST_LEVELS = 100
"""Largest depth of tables within tables: deeper ones exhaust the stack of recursive readers."""

MOST_BYTES = 1 << 24

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(
    rf"(?:^|[\[{{,])[ \t]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MOST_LEVELS}}}", re.MULTILINE
)
"""A key of more parts than there may be levels: each part is a table, and the reader of TOML takes
minutes and gigabytes for thousands of them."""


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
        if _LONG_KEY.search(text):
            raise InputError(_too_deep(path))
        tables = tomllib.loads(text)
    except InputError:
        raise
    except RecursionError:
        raise InputError(_too_deep(path)) from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error}). Check the path and the encoding (UTF-8)."
        ) from None
    except ValueError as error:
        job = "" if path.suffix == ".toml" else " A job is a file .toml; see `tablecloak init`."
        about = about_batches(path) or job
        raise InputError(f"{path}: not valid TOML: {error}.{about}") from None
    if levels_of(tables) > MOST_LEVELS:
        raise InputError(_too_deep(path))
    return text, tables


def toml_text(tables: Mapping[str, Any]) -> str:
    """Write tables as TOML: texts, numbers, lists, tables, and lists of tables.

    Examples
    --------
    >>> print(toml_text({"title": "T", "tables": [{"dimensions": ["a", "b"]}]}), end="")
    title = "T"
    <BLANKLINE>
    [[tables]]
    dimensions = ["a", "b"]
    """
    return "\n".join(_lines(tables, "")).lstrip("\n") + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the entries of a table, then the tables below it."""
    below = {key: value for key, value in table.items() if _is_section(value)}
    for key, value in table.items():
        if key not in below:
            yield f"{_key(key)} = {_inline(value)}"
    for key, value in below.items():
        name = f"{path}{_key(key)}"
        for each in [value] if isinstance(value, Mapping) else value:
            is_implied = (
                isinstance(value, Mapping) and each and all(map(_is_section, each.values()))
            )
            if not is_implied:
                yield f"\n[{name}]" if isinstance(value, Mapping) else f"\n[[{name}]]"
            yield from _lines(each, f"{name}.")


def _is_section(value: Any) -> bool:
    """Whether a value gets a heading: a table, or a list of tables."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, Mapping) for each in value)
    return isinstance(value, Mapping)


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(key)} = {_inline(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _too_deep(path: Path) -> str:
    return f"{path}: more than {MOST_LEVELS} tables or lists lie within each other. Nest less."


def levels_of(tables: Any) -> int:
    """Count how deep tables and lists lie within each other, without recursion."""
    levels = 0
    layer: list[dict[str, Any] | list[Any]] = [tables] if isinstance(tables, dict | list) else []
    while layer:
        levels += 1
        inner: list[Any] = []
        for part in layer:
            inner.extend(part.values() if isinstance(part, dict) else part)
        layer = [part for part in inner if isinstance(part, dict | list)]
    return levels
