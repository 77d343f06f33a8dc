"""From the JSON of a request to a question: files written, job read, parameters checked."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from tablecloak.budget import Progress
from tablecloak.errors import InputError, TablecloakError, suggestion
from tablecloak.jobs.job_file import in_words, job_of
from tablecloak.jobs.schema import Job
from tablecloak.registered import innermost, telling, with_given_kinds
from tablecloak.service.answers import Columns, frame_of
from tablecloak.service.call import CALLS, Call, CallQuestion
from tablecloak.service.faults import told_of
from tablecloak.storage import existing_file, require_writable, write_text
from tablecloak.toml_file import MOST_LEVELS, levels_of

FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$"
"""Names of files in a request: no folders, so that they stay within the folder of the request."""

JOB = "request"
"""What messages about sections of a job begin with, where those of a job file name the file."""

SHOWN = 40
"""Most characters of a wrong value that a message repeats."""


class RequestError(InputError):
    """A request cannot be read; `place` names the key where the fault is, such as ``data.file``."""

    def __init__(self, message: str, place: str = "", *, cells: Iterable[int] = ()) -> None:
        is_told = not place or message.startswith((JOB, place))
        super().__init__(message if is_told else f"{place}: {message}", cells=cells)
        self.place = place


def _plain_name(name: str) -> str:
    if not re.fullmatch(FILE_NAME, name):
        raise ValueError(
            f"{name[:SHOWN]!r} is no name of a file here. Take letters, digits, dots, dashes and "
            f"underscores, without folders."
        )
    return name


FileName = Annotated[
    str,
    AfterValidator(_plain_name),
    WithJsonSchema({"type": "string", "pattern": FILE_NAME}),
]


class Files(BaseModel):
    """Tables and texts that come with a request."""

    model_config = ConfigDict(extra="forbid")

    files: Annotated[
        dict[FileName, str | Columns],
        Field(
            description="Tables and texts by name, such as firms.csv or nace.hrc: a table as its "
            "columns, anything else as text. Sections of the job name them; files of this machine "
            "are not read."
        ),
    ] = {}


def read_json(body: bytes) -> dict[str, Any]:
    """Read the body of a request.

    Raises
    ------
    RequestError
        Names line and column if it is no JSON, and a key that is there twice.
    """
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise RequestError(f"byte {error.start} is no UTF-8. Send JSON in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise RequestError(
            f"line {error.lineno}, column {error.colno}: no JSON ({error.msg}). Send one object "
            f"with the keys of the call."
        ) from None
    except RecursionError:
        raise RequestError(
            "too deeply nested. Send one object with the keys of the call."
        ) from None
    except ValueError as error:
        if isinstance(error, RequestError):
            raise
        raise RequestError("a number has too many digits. Send it in scientific form.") from None
    if levels_of(found) > MOST_LEVELS:
        raise RequestError(
            f"more than {MOST_LEVELS} objects or lists lie within each other. Nest less."
        )
    if not isinstance(found, dict):
        raise RequestError("a request is one object, in braces, with the keys of the call.")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RequestError(f"the key {key!r} is there twice. Send it once.")
        found[key] = value
    return found


def _no_number(word: str) -> Any:
    raise RequestError(f"{word} is no number of JSON. Send null for a missing value.")


def keys_of(kind: type[Call]) -> list[str]:
    """Return all keys that a request of a call may have."""
    own = [each.name for each in CALLS.parameters(kind.name)]
    return [*own, *kind.of_job(), *(["files"] if kind.of_job() else [])]


def asked(
    kind: type[Call], body: Mapping[str, Any], folder: Path, progress: Progress | None = None
) -> tuple[Call, CallQuestion]:
    """Check a request and return the call with its parameters, and the question.

    Parameters
    ----------
    kind : type of Call
    body : mapping
        The request.
    folder : Path
        Private folder, into which the files of the request are written.
    progress : callable, optional

    Raises
    ------
    InputError
        Names the place in the request, what is wrong, and what to do.
    """
    known = keys_of(kind)
    for key in body:
        if key not in known:
            raise RequestError(f"unknown key.{suggestion(key, known)}", str(key))
    names = {each.name for each in CALLS.parameters(kind.name)}
    model = CALLS.model(kind.name)
    own = _checked(kind, model, {key: body[key] for key in body if key in names})
    values = {each: getattr(own, each) for each in model.model_fields}
    if not kind.of_job():
        return kind(**values), CallQuestion(folder, None, progress)
    files = _checked(kind, Files, {key: body[key] for key in ("files",) if key in body})
    write_files(files.files, folder)
    job = _job(kind, body, folder, set(files.files))
    return kind(**values), CallQuestion(folder, job, progress)


def write_files(files: Mapping[str, Any], folder: Path) -> None:
    """Write the files of a request: tables as CSV, texts as they are."""
    for name, content in files.items():
        path = folder / name
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif path.suffix == ".csv":
            frame_of(content, f"files.{name}").to_csv(path, index=False)
        else:
            raise RequestError("a table has a name that ends in .csv. Rename it.", f"files.{name}")


def _job(kind: type[Call], body: Mapping[str, Any], folder: Path, sent: set[str]) -> Job:
    """Return the job that the sections of a request describe."""
    raw = {key: body[key] for key in kind.of_job() if key in body}
    for section in kind.assumed:
        raw.setdefault(section, {})
    try:
        Job.model_validate(raw)
    except ValidationError as error:
        keys = [str(part) for part in innermost(telling(error))["loc"]]
        raise RequestError(in_words(Path(JOB), "", error), ".".join(keys)) from None
    job = job_of(raw, folder / JOB, "")
    if job.data.connection is not None:
        raise RequestError(
            "a request brings its own data. Leave it out, and send the table in files.",
            "data.connection",
        )
    for path in job.paths:
        if path.parent != folder or path.name not in sent:
            near = suggestion(path.name, sent) if sent else ""
            raise RequestError(
                f"names {path.name!r}, which is not in files.{near} Send it there.", "files"
            )
    return job


def _checked(kind: type[Call], model: type[BaseModel], given: Mapping[str, Any]) -> Any:
    """Check the parameters of a call, or its files.

    Raises
    ------
    RequestError
        Names the first place that is wrong.
    """
    try:
        made = model.model_validate(given)
        return made if model is Files else with_given_kinds(given, made)
    except (ValidationError, PydanticCustomError) as error:
        fault: Any
        if isinstance(error, ValidationError):
            fault = innermost(telling(error))
        else:
            fault = (error.context or {})["error"]
        # Types that were tried, such as "list[str]", are no keys.
        keys = [str(part) for part in fault["loc"] if re.fullmatch(r"[\w.-]+", str(part))]
        raise RequestError(_said(kind, keys, fault), ".".join(keys)) from None


def _said(kind: type[Call], keys: list[str], fault: Any) -> str:
    """Say what is wrong with a key, and what to do."""
    given, context = fault["input"], fault.get("ctx", {})
    known = {each.name: each for each in CALLS.parameters(kind.name)}
    if fault["type"] == "missing":
        return f"is missing. Add it: {known[keys[0]].help}"
    if fault["type"] == "value_error":
        return str(context["error"])
    shown = repr(given) if len(repr(given)) <= SHOWN else f"{type(given).__name__}"
    if fault["type"] == "literal_error":
        near = suggestion(str(given), context["known"]) if "known" in context else ""
        return f"is {shown}; expected {context['expected']}.{near}"
    if len(keys) == 1 and keys[0] in known:
        return f"must be {known[keys[0]].expected}. Found {shown}. {known[keys[0]].help}"
    return f"{fault['msg']}. Found {shown}. /openapi.json says what it can be."


def answer_file(
    name: str, request: Path, output: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Answer the request in a file, and write the answer. It is secret.

    Parameters
    ----------
    name : str
        Of the call.
    request : Path
        JSON, as the server takes it.
    output : Path
        The answer alone, without the job around it.
    progress : callable, optional

    Raises
    ------
    TablecloakError
        Names the file, the place in it, and the remedy. Nothing was written.
    """
    kind = CALLS[name]
    require_writable(output)
    body = existing_file(request).read_bytes()
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as temporary:
        folder = Path(temporary)
        try:
            call, question = asked(kind, read_json(body), folder, progress)
            answer = dict(call.answer(question))
        except TablecloakError as error:
            text = told_of(error, folder).removeprefix(f"{JOB}: ")
            raise type(error)(f"{request}: {text}", cells=error.cells) from None
    write_text(output, json.dumps(answer, allow_nan=False, ensure_ascii=False), secret=True)
    return answer
