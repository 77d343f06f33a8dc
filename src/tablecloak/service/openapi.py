"""The OpenAPI description, derived from what calls and sections of jobs declare."""

from __future__ import annotations

import math
from typing import Any

from pydantic import TypeAdapter

from tablecloak import __version__
from tablecloak.jobs.schema import Job
from tablecloak.service.call import CALLS, Call
from tablecloak.service.faults import Fault
from tablecloak.service.request import Files
from tablecloak.service.work import JobState

PLACE = "#/components/schemas/{model}"

WAIT = {
    "name": "wait",
    "in": "query",
    "description": "Seconds to wait for the end of the job; its state is returned anyway.",
    "schema": {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
}

JOB = {"name": "job", "in": "path", "required": True, "schema": {"type": "string"}}


def description(address: str) -> dict[str, Any]:
    """Return the description of all addresses, in OpenAPI 3.1.

    Parameters
    ----------
    address : str
        Of the server.
    """
    schemas: dict[str, Any] = {}
    sections = _schema(Job, schemas)["properties"]
    files = _schema(Files, schemas)["properties"]
    for model in (JobState, Fault):
        schemas[model.__name__] = _schema(model, schemas)
    schemas["Error"] = {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"$ref": PLACE.format(model="Fault")}},
    }
    paths: dict[str, Any] = {}
    for kind in CALLS:
        schemas[f"{kind.name}.request"] = _request(kind, sections, files, schemas)
        schemas[f"{kind.name}.job"] = _job(kind, schemas)
        paths[f"/v1/{kind.name}"] = {"post": _ask(kind)}
    found: dict[str, Any] = _cleaned(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "tablecloak",
                "version": __version__,
                "summary": "Protects statistical tables before they are published.",
            },
            "servers": [{"url": address}],
            "security": [{"token": []}],
            "paths": paths | _of_jobs(),
            "components": {
                "schemas": schemas,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )
    return found


def _schema(model: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a model; what it refers to is added to the others."""
    found: dict[str, Any] = model.model_json_schema(ref_template=PLACE)
    schemas.update(found.pop("$defs", {}))
    return found


def _request(
    kind: type[Call], sections: dict[str, Any], files: dict[str, Any], schemas: dict[str, Any]
) -> dict[str, Any]:
    """Return the schema of the requests of a call: parameters, sections of a job, and files."""
    found = _schema(CALLS.model(kind.name), schemas)
    found["title"] = f"{kind.name}.request"
    properties = found.setdefault("properties", {})
    properties.update({key: sections[key] for key in kind.of_job()})
    if kind.of_job():
        properties.update(files)
        # The schema of a job asks for no more of a section than that it is there.
        found["required"] = [*found.get("required", []), "data", "dimensions"]
    return found


def _job(kind: type[Call], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a job of a call: a job, and what its answer is."""
    found: TypeAdapter[Any] = TypeAdapter(kind.answer_type())
    answer = found.json_schema(ref_template=PLACE)
    schemas.update(answer.pop("$defs", {}))
    schemas[f"{kind.name}.answer"] = answer
    there = {"$ref": PLACE.format(model=f"{kind.name}.answer")}
    return {
        "allOf": [{"$ref": PLACE.format(model="JobState")}],
        "properties": {"answer": there},
    }


def _ask(kind: type[Call]) -> dict[str, Any]:
    job = f"{kind.name}.job"
    return {
        "operationId": kind.name,
        "summary": CALLS.summary(kind.name),
        "parameters": [WAIT],
        "requestBody": {
            "required": True,
            "content": _json(f"{kind.name}.request"),
        },
        "responses": {
            "200": {"description": "The job has ended.", "content": _json(job)},
            "202": {"description": "The job waits or runs.", "content": _json(job)},
            "default": _error(),
        },
    }


def _of_jobs() -> dict[str, Any]:
    job = {"200": {"description": "The job.", "content": _json("JobState")}, "default": _error()}
    listed = {
        "type": "object",
        "properties": {
            "jobs": {"type": "array", "items": {"$ref": PLACE.format(model="JobState")}}
        },
    }
    gone = {"200": {"description": "It is forgotten."}, "default": _error()}
    every = {
        "200": {"description": "All jobs.", "content": {"application/json": {"schema": listed}}}
    }
    return {
        "/v1/jobs": {"get": {"operationId": "jobs", "summary": "All jobs.", "responses": every}},
        "/v1/jobs/{job}": {
            "parameters": [JOB],
            "get": {
                "operationId": "job",
                "summary": "State of a job, and its answer.",
                "parameters": [WAIT],
                "responses": job | {"202": job["200"]},
            },
            "delete": {
                "operationId": "delete",
                "summary": "Stop a job and forget its answer.",
                "responses": gone,
            },
        },
        "/v1/jobs/{job}/stop": {
            "parameters": [JOB],
            "post": {
                "operationId": "stop",
                "summary": "End a search: its answer is the best that is proved by then.",
                "parameters": [WAIT],
                "responses": job | {"202": job["200"]},
            },
        },
    }


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": PLACE.format(model=model)}}}


def _error() -> dict[str, Any]:
    return {"description": "What went wrong, where, and what to do.", "content": _json("Error")}


def _cleaned(given: Any) -> Any:
    """Leave out defaults that JSON cannot hold, such as infinity for no time limit."""
    if isinstance(given, dict):
        return {
            key: _cleaned(value)
            for key, value in given.items()
            if not (isinstance(value, float) and not math.isfinite(value))
        }
    return [_cleaned(each) for each in given] if isinstance(given, list) else given
