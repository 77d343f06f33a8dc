"""Fields of a job whose names and parameters come from a registry.

A registry is looked up when a job is read, not when the schema is declared. Classes registered at
run time are therefore accepted, and listed in the JSON schema of a job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic.functional_validators import ModelWrapValidatorHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from tablecloak.registry import Registry


@dataclass(frozen=True)
class NameIn:
    """Marks a text that must be the name of something registered.

    Parameters
    ----------
    registry : Registry
    only : callable, optional
        Which classes can be asked for in a job; by default all.
    end : str, optional
        Where the name ends, if more may follow.
    """

    registry: Registry[Any]
    only: Callable[[type[Any]], bool] | None = None
    end: str = ""

    @property
    def names(self) -> list[str]:
        """All names that are accepted now."""
        return [each.name for each in self.registry if self.only is None or self.only(each)]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Check the name when a job is read."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """List the names."""
        if self.end:
            names = "|".join(map(re.escape, self.names))
            return {"pattern": f"^({names})({re.escape(self.end)}.*)?$", "type": "string"}
        return {"enum": self.names, "type": "string"}

    def _checked(self, given: Any) -> Any:
        names = self.names
        name = given.partition(self.end)[0] if self.end and isinstance(given, str) else given
        if name not in names:
            *first, last = map(repr, names)
            expected = f"{', '.join(first)} or {last}" if first else last
            raise PydanticCustomError(
                "literal_error",
                "Input should be {expected}",
                {"expected": expected, "known": names},
            )
        return given


def named_in(field: FieldInfo) -> NameIn | None:
    """Return what a field of a model must name, itself or in a list; None if nothing registered."""
    inner = get_args(field.annotation) if get_origin(field.annotation) is list else ()
    marks = [*field.metadata, *(mark for part in inner for mark in get_args(part)[1:])]
    return next((mark for mark in marks if isinstance(mark, NameIn)), None)


class _BuiltWhenRead:
    """Annotation of what is checked when a job is read, and built then."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._built,
            serialization=core_schema.plain_serializer_function_ser_schema(self._described),
        )

    def _built(self, given: Any) -> Any:
        """Return the thing for what stands in the job."""
        raise NotImplementedError

    def _described(self, built: Any) -> Any:
        """Return what would stand in a job for the thing."""
        raise NotImplementedError


@dataclass(frozen=True)
class SiblingIn(_BuiltWhenRead):
    """Marks a table of a job file that describes something registered: its name and parameters.

    The value of the field is the thing itself.

    Parameters
    ----------
    registry : Registry
    key : str
        Under which its name is given.
    """

    registry: Registry[Any]
    key: str

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """List all kinds with their parameters."""
        kinds = [
            self.registry.model(name, self.key).model_json_schema() for name in self.registry.names
        ]
        return {"anyOf": kinds}

    def _built(self, given: Any) -> Any:
        if not isinstance(given, Mapping):
            if getattr(type(given), "name", None) in self.registry:
                return given
            raise PydanticCustomError("table_type", "Input should be a table of keys and values")
        if self.key not in given:
            raise missing(self.key, given)
        name = given[self.key]
        if not isinstance(name, str) or name not in self.registry:
            raise PydanticCustomError(
                "union_tag_invalid", "There is no {noun} {tag}",
                {"noun": self.registry.noun, "tag": name, "known": self.registry.names},
            )  # fmt: skip
        model = self.registry.model(name, self.key)
        try:
            checked = with_given_kinds(given, model(**given))
        except ValidationError as error:
            raise PydanticCustomError("within", "{what}", _inner(telling(error), (name,))) from None
        values = {each: getattr(checked, each) for each in model.model_fields if each != self.key}
        return self.registry[name](**values)

    def _described(self, sibling: Any) -> dict[str, Any]:
        parameters = self.registry.parameters(sibling.name)
        return {self.key: sibling.name} | {
            each.name: getattr(sibling, each.name) for each in parameters
        }


@dataclass(frozen=True)
class SectionsOf(_BuiltWhenRead):
    """Marks a field with sections of a job file, each of them that of something registered.

    The value of the field is a mapping of names to the things themselves, in the order of the
    registry. They have `of_section`, `section_schema` and `as_section`.

    Parameters
    ----------
    registry : Registry
    """

    registry: Registry[Any]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """List all sections."""
        return {"type": "object", "properties": self.schemas(), "additionalProperties": False}

    def schemas(self) -> dict[str, dict[str, Any]]:
        """Return the JSON schema of each section."""
        return {sibling.name: sibling.section_schema() for sibling in self.registry}

    def _built(self, given: Any) -> dict[str, Any]:
        built = {}
        for name in self.registry.names:
            if given.get(name) is not None:
                try:
                    built[name] = self.registry[name].of_section(given[name])
                except ValidationError as error:
                    inner = _inner(telling(error), (name,))
                    raise PydanticCustomError("within", "{what}", inner) from None
        return built

    def _described(self, siblings: Mapping[str, Any]) -> dict[str, Any]:
        return {name: sibling.as_section() for name, sibling in siblings.items()}


class Section(BaseModel):
    """A table of a job file: no key is unknown, no number infinite, and none is text."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _with_given_kinds(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        return with_given_kinds(given, handler(given))


M = TypeVar("M", bound=BaseModel)


def with_given_kinds(given: Any, made: M) -> M:
    """Return what was made of a table, unless text or a truth value was taken for a number.

    Raises
    ------
    PydanticCustomError
        Names the key, and what was found.
    """
    for key, value in given.items() if isinstance(given, Mapping) else ():
        if _is_mistaken(value, getattr(made, key, None)):
            meant = json.dumps(getattr(made, key), default=str)
            fault: ErrorDetails = {
                "type": "kind", "loc": (key,), "input": value,
                "msg": f"Input should be written as {meant}",
            }  # fmt: skip
            raise PydanticCustomError("within", "{what}", _inner(fault, ()))
    return made


def _is_mistaken(value: Any, made: Any) -> bool:
    """Whether a number or a truth value was something else before; also within lists."""
    if isinstance(value, list) and isinstance(made, list | tuple):
        return any(map(_is_mistaken, value, made))
    if isinstance(value, Mapping) and isinstance(made, Mapping):
        return any(_is_mistaken(part, made.get(key)) for key, part in value.items())
    if isinstance(made, bool):
        return isinstance(value, str)
    return isinstance(made, int | float) and isinstance(value, str | bool)


def missing(key: str, given: Any) -> PydanticCustomError:
    """Return the error that a key is missing, as pydantic itself reports it."""
    fault: ErrorDetails = {
        "type": "missing", "loc": (key,), "msg": "Field required", "input": given
    }  # fmt: skip
    return PydanticCustomError("within", "Field required", _inner(fault, ()))


def _inner(error: ErrorDetails, location: tuple[str, ...]) -> dict[str, Any]:
    moved = {**error, "loc": (*location, *error["loc"])}
    return {"what": error["msg"], "error": moved}


def telling(error: ValidationError) -> ErrorDetails:
    """Return the most helpful error: an unknown key is often a misspelt one that is required."""
    faults = error.errors()
    return next((each for each in faults if each["type"] == "extra_forbidden"), faults[0])


def innermost(error: ErrorDetails) -> ErrorDetails:
    """Return the error within an error of `SiblingIn`, with its whole location."""
    while error["type"] == "within":
        inner: ErrorDetails = error["ctx"]["error"]
        error = {**inner, "loc": (*error["loc"], *inner["loc"])}
    return error
