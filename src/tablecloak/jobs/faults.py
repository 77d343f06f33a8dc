"""Faults of a job file in words: file, line, key and remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tablecloak.errors import suggestion
from tablecloak.jobs.registered import innermost, telling
from tablecloak.jobs.schema import SECTIONS, Job
from tablecloak.parameters import Parameter
from tablecloak.tables.rules.rule import RULES

__all__ = ["in_words"]

NEAR = " Did"
"""Beginning of a suggestion of one name; otherwise it lists all names, as the message does."""


def in_words(path: Path, text: str, error: ValidationError) -> str:
    """Turn the first of pydantic's errors into a sentence with line and remedy."""
    fault = innermost(telling(error))
    location = list(fault["loc"])
    names = [part for part in location if not isinstance(part, int) and part not in RULES]
    parameter = _parameter(location)
    if parameter is not None:
        # The rest of the location names the types that were tried.
        names = ["rules", parameter.name]
    where = ".".join(map(str, names)) or "the file"
    line = _line_of(text, location, fault)
    place = f"{path}, line {line}" if line else str(path)
    return f"{place}: {_what(fault, where, location, parameter)}"


def _what(fault: Any, where: str, location: list[Any], parameter: Parameter | None) -> str:
    """Say what is wrong with the key `where`, and what to do."""
    given, context = fault["input"], fault.get("ctx", {})
    match fault["type"]:
        case "extra_forbidden":
            key = str(location[-1])
            return f"unknown key {key!r} in {where}.{suggestion(key, _known_keys(location[:-1]))}"
        case "union_tag_invalid":
            tag = str(context["tag"])
            return f"unknown {context['noun']} {tag!r}.{suggestion(tag, context['known'])}"
        case "missing":
            return f"{where} is missing. Add it; see docs/job-file.md."
        case "literal_error":
            near = suggestion(str(given), context.get("known", ()))
            hint = near if near.startswith(NEAR) else ""
            return f"{where} is {given!r}; expected {context['expected']}.{hint}"
        case "value_error" if str(context["error"]).endswith("."):
            # Errors raised by this package are complete sentences already.
            return f"{where}: {context['error']}"
    if parameter is not None and fault["type"] != "value_error":
        said = f"{where} must be {parameter.expected}"
    else:
        said = f"{where}: {fault['msg'].removeprefix('Value error, ')}"
    return f"{said}. Found {given!r}."


def _parameter(location: Sequence[Any]) -> Parameter | None:
    """Return the parameter of a rule where a fault was found, if it was found in one."""
    if len(location) < 4 or location[0] != "rules" or location[2] not in RULES:
        return None
    known = RULES.parameters(location[2])
    return next((each for each in known if each.name == location[3]), None)


def _line_of(text: str, location: Sequence[Any], fault: Any) -> int | None:
    """Line of a key or, for an unknown rule, of its name; else that of its section."""
    lines = text.splitlines()
    if fault["type"] == "union_tag_invalid":
        return _first(lines, rf"=\s*[\"']{re.escape(str(fault['ctx']['tag']))}[\"']", 0)
    if fault["type"] == "missing":
        # A key of this name after the next header belongs to another table.
        location = location[:-1]
    line, start = None, 0
    for number, part in enumerate(location):
        if isinstance(part, int):
            line = _nth_table(lines, str(location[number - 1]), part) or line
        else:
            key = re.escape(str(part))
            pattern = rf"^\s*(\[+[^\]]*\b{key}\s*\]|[\"']?{key}[\"']?\s*=)"
            line = _first(lines, pattern, start) or line
        start = line - 1 if line else 0
    return line


def _first(lines: list[str], pattern: str, start: int) -> int | None:
    """Return the number of the first line from `start` on that fits, counted from 1."""
    found = (at for at in range(start, len(lines)) if re.search(pattern, lines[at]))
    line = next(found, None)
    return None if line is None else line + 1


def _nth_table(lines: list[str], name: str, number: int) -> int | None:
    """Return the line of the header ``[[name]]`` with a number, counted from 0."""
    pattern = rf"^\s*\[\[\s*{re.escape(name)}\s*\]\]"
    headers = [at + 1 for at, line in enumerate(lines) if re.search(pattern, line)]
    return headers[number] if number < len(headers) else None


def _known_keys(location: Sequence[Any]) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    rule = next((part for part in location if part in RULES), None)
    if rule is not None:
        return list(RULES.model(rule, "rule").model_fields)
    model = SECTIONS.get(str(location[0]), Job) if location else Job
    return list(model.model_fields)
