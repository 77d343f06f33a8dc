"""Faults of a job file in words: file, line, key and remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from tablecloak.errors import suggestion
from tablecloak.jobs.schema import Job, sections
from tablecloak.parameters import Parameter
from tablecloak.protection import PROTECTIONS
from tablecloak.registered import innermost, telling
from tablecloak.registry import Registry
from tablecloak.tables.rules.rule import RULES

WAYS = "ways"
"""Field of a job that gathers the sections of ways to protect; no part of any place in a file."""

NEAR = " Did"
"""Beginning of a suggestion of one name; otherwise it lists all names, as the message does."""


LISTS: dict[str, tuple[str, Registry[Any]]] = {"rules": ("rule", RULES)}
"""Sections that list something registered: the key of its name, and the registry. Models of other
files add theirs."""


def _siblings() -> dict[str, tuple[str, Registry[Any]]]:
    """Return sections of something registered: the key of its name, and the registry."""
    return LISTS | {way.name: way.kinds for way in PROTECTIONS if way.kinds is not None}


def in_words(
    path: Path,
    text: str,
    error: ValidationError,
    job: type[BaseModel] = Job,
    known: Mapping[str, type[BaseModel]] | None = None,
) -> str:
    """Turn the first of pydantic's errors into a sentence with line and remedy.

    Parameters
    ----------
    path : Path
        The job file, of which `text` is the content.
    text : str
    error : ValidationError
    job : type
        The model of the whole file.
    known : mapping of str to type, optional
        The models of its sections, for names of keys; by default those of a job on tables.
    """
    fault = innermost(telling(error))
    location = list(fault["loc"])
    if location[:1] == [WAYS]:
        del location[0]
    names = [part for part in location if not isinstance(part, int)]
    names = [str(part) for part in names if not _is_sibling(location, part)]
    parameter = _parameter(location)
    if parameter is not None:
        # The rest of the location names the types that were tried.
        names = [str(location[0]), parameter.name]
    where = ".".join(names) or "the file"
    line = _line_of(text, location, fault)
    place = f"{path}, line {line}" if line else str(path)
    if fault["type"] == "extra_forbidden":
        key = str(location[-1])
        keys = _known_keys(location[:-1], job, sections() if known is None else known)
        section = f" in {'.'.join(names[:-1])}" if names[:-1] else ""
        return f"{place}: unknown key {key!r}{section}.{suggestion(key, keys)}"
    return f"{place}: {_what(fault, where, location, parameter)}"


def _what(fault: Any, where: str, location: list[Any], parameter: Parameter | None) -> str:
    """Say what is wrong with the key `where`, and what to do."""
    given, context = fault["input"], fault.get("ctx", {})
    match fault["type"]:
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
    # Without a location the whole job was found.
    return f"{said}. Found {given!r}." if location else f"{said}."


def _parameter(location: Sequence[Any]) -> Parameter | None:
    """Return the parameter of a rule or perturbation where a fault was found, if it was in one."""
    at = next((at for at, part in enumerate(location) if _is_sibling(location, part)), None)
    if at is None or len(location) < at + 2:
        return None
    known = _siblings()[str(location[0])][1].parameters(location[at])
    return next((each for each in known if each.name == location[at + 1]), None)


def _is_sibling(location: Sequence[Any], part: Any) -> bool:
    """Whether a part of a location is the name of something registered."""
    section = str(location[0]) if location else ""
    siblings = _siblings()
    return section in siblings and part != section and part in siblings[section][1]


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


def _known_keys(
    location: Sequence[Any], job: type[BaseModel], models: Mapping[str, type[BaseModel]]
) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    name = next((part for part in location if _is_sibling(location, part)), None)
    if name is not None:
        key, registry = _siblings()[str(location[0])]
        return list(registry.model(name, key).model_fields)
    if location:
        return list(models.get(str(location[0]), job).model_fields)
    ways = PROTECTIONS.names if WAYS in job.model_fields else []
    return [*(name for name in job.model_fields if name != WAYS), *ways]
