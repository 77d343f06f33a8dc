"""Job files: read, checked, and their faults said in words with file, line, key and remedy."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Protocol, get_args

from pydantic import BaseModel, ValidationError

from tablecloak.errors import InputError, suggestion
from tablecloak.jobs.schema import Job
from tablecloak.parameters import Parameter
from tablecloak.protection import PROTECTIONS
from tablecloak.registered import SiblingIn, innermost, telling
from tablecloak.registry import Registry
from tablecloak.tables.tabulation.records import database_below
from tablecloak.toml_file import read_toml


class KindReport(Protocol):
    """What is told of a job of another kind."""

    @property
    def files(self) -> Sequence[Path]:
        """All files that were written."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What may not go unsaid."""
        ...

    def lines(self) -> Iterable[str]:
        """Say how it went."""
        ...


class JobKind(ABC):
    """A kind of job files that protect something else than tables.

    Siblings are registered in `JOB_KINDS`: wings add theirs, which the core does not import.
    """

    name: ClassVar[str]
    """Section that only their files have."""
    guide: ClassVar[str]
    """What such a file does, and how to run it: how a message goes on that names the file."""

    @classmethod
    @abstractmethod
    def run(cls, path: Path, out: Path) -> KindReport:
        """Do the job of a file, and write its results into a folder."""


JOB_KINDS: Registry[JobKind] = Registry("kind of job", "tablecloak.microdata.steps_job")
"""All kinds but the one that protects tables."""


def kind_of_job(path: str | Path) -> type[JobKind] | None:
    """Return the kind of a job file; None if it protects tables."""
    raw = read_toml(path)[1]
    return next((kind for kind in JOB_KINDS if kind.name in raw), None)


def read_job(path: str | Path) -> Job:
    """Read and check a job file (TOML). Paths in it are relative to the file.

    Raises
    ------
    InputError
        Names file, line, key and remedy; for a misspelt key or rule also the likely one.
    """
    path = Path(path)
    text, raw = read_toml(path)
    if "publication" in raw:
        raise InputError(
            f"{path}: describes a whole publication, not one job. Run it with `tablecloak "
            f"protect`, or write the job of each cluster with `tablecloak plan`."
        )
    for kind in JOB_KINDS:
        if kind.name in raw:
            raise InputError(f"{path}: {kind.guide}")
    return job_of(raw, path, text)


def job_of(raw: dict[str, Any], path: Path, text: str) -> Job:
    """Check the tables of a job file. Paths in it are relative to the file.

    Parameters
    ----------
    raw : dict
    path : Path
        The file, for messages.
    text : str
        What stands in it, for the report.
    """
    try:
        job = Job.model_validate(raw)
    except ValidationError as error:
        raise InputError(in_words(path, text, error)) from None
    _make_paths_absolute(job, path.parent)
    job.source = text
    return job


def _make_paths_absolute(job: Job, folder: Path) -> None:
    if job.data.file is not None:
        job.data.file = folder / job.data.file
    if job.data.connection is not None:
        job.data.connection = database_below(job.data.connection, folder)
    job.ways = {name: way.below(folder) for name, way in job.ways.items()}
    for name in ("template", "structure"):
        if getattr(job.transmission, name, None) is not None:
            setattr(job.transmission, name, folder / getattr(job.transmission, name))
    if job.registered is not None:
        job.registered.folder = folder / job.registered.folder
    for each in job.published:
        each.file = folder / each.file
        each.problem = folder / each.problem if each.problem is not None else None
    for variable in job.variables.values():
        if variable.file is not None:
            variable.file = folder / variable.file
    for table in job.every_table:
        if table.file is not None:
            table.file = folder / table.file
    for spec in job.dimensions.values():
        if isinstance(spec.hierarchy, Path):
            spec.hierarchy = folder / spec.hierarchy


WAYS = "ways"
"""Field of a job that gathers the sections of ways to protect; no part of any place in a file."""

NEAR = " Did"
"""Beginning of a suggestion of one name; otherwise it lists all names, as the message does."""


def in_words(
    path: Path,
    text: str,
    error: ValidationError,
    job: type[BaseModel] = Job,
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
    """
    fault, siblings = innermost(telling(error)), _siblings(job)
    location = list(fault["loc"])
    if location[:1] == [WAYS]:
        del location[0]
    names = [part for part in location if not isinstance(part, int)]
    names = [str(part) for part in names if not _is_sibling(location, part, siblings)]
    parameter = _parameter(location, siblings)
    if parameter is not None:
        # The rest of the location names the types that were tried.
        names = [str(location[0]), parameter.name]
    where = ".".join(names) or "the file"
    line = _line_of(text, location, fault)
    place = f"{path}, line {line}" if line else str(path)
    if fault["type"] == "extra_forbidden":
        key = str(location[-1])
        keys = _keys(location[:-1], job, siblings)
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


Siblings = Mapping[str, tuple[str, Registry[Any]]]
"""Sections of something registered: the key of its name, and the registry."""


def _siblings(job: type[BaseModel]) -> Siblings:
    lists = {
        name: (mark.key, mark.registry)
        for name, field in job.model_fields.items()
        for mark in chain.from_iterable(map(get_args, get_args(field.annotation)))
        if isinstance(mark, SiblingIn)
    }
    return lists | {way.name: way.kinds for way in PROTECTIONS if way.kinds is not None}


def _parameter(location: Sequence[Any], siblings: Siblings) -> Parameter | None:
    """Return the parameter of a rule or perturbation where a fault was found, if it was in one."""
    place = (n for n, part in enumerate(location) if _is_sibling(location, part, siblings))
    number = next(place, None)
    if number is None or len(location) < number + 2:
        return None
    parameters = siblings[str(location[0])][1].parameters(location[number])
    return next((p for p in parameters if p.name == location[number + 1]), None)


def _is_sibling(location: Sequence[Any], part: Any, siblings: Siblings) -> bool:
    """Whether a part of a location is the name of something registered."""
    section = str(location[0]) if location else ""
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


def _keys(location: Sequence[Any], job: type[BaseModel], siblings: Siblings) -> list[str]:
    """Keys that are allowed where an unknown one was found."""
    name = next((part for part in location if _is_sibling(location, part, siblings)), None)
    if name is not None:
        key, registry = siblings[str(location[0])]
        return list(registry.model(name, key).model_fields)
    ways = PROTECTIONS.names if WAYS in job.model_fields else []
    if location:
        return list(_model(job, str(location[0])).model_fields)
    return [*(name for name in _fields(job) if name != WAYS), *ways]


def _model(job: type[BaseModel], section: str) -> type[BaseModel]:
    """Return the model of a section, or that of each of its parts; that of the job without one."""
    if WAYS in job.model_fields and section in PROTECTIONS:
        way = PROTECTIONS[section]
        return way if way.kinds is None else job
    field = _fields(job).get(section)
    return (field and _model_within(field.annotation)) or job


def _fields(job: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a model by their keys in a file."""
    return {field.alias or name: field for name, field in job.model_fields.items()}


def _model_within(annotation: Any) -> type[BaseModel] | None:
    """Return the model that an annotation names, itself or as the parts of a list or mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_within, get_args(annotation))), None)
