"""One parameter of a registered class: its type, its range, and both in words.

Parameters are declared once, in the constructor of their class, as
``p: Annotated[float, percent("Precision.", gt=0)]``. All code that shows, reads or checks them
calls this module.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from tablecloak.errors import InputError

REQUIRED = inspect.Parameter.empty

PER_CENT = "%"

ASKED = object()
"""Mark of a parameter that users are asked for although programs may leave it out."""

_CHECKED = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)


def percent(description: str, **limits: Any) -> Any:
    """Describe a parameter that is a percentage; limits and examples as in `pydantic.Field`."""
    return Field(description=description, json_schema_extra={"unit": PER_CENT}, **limits)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a class, as its constructor declares it.

    Parameters
    ----------
    name : str
    annotation : object
        Type with its constraints, as in ``Annotated[float, Field(gt=0)]``.
    default : object
        `REQUIRED` if there is none.
    """

    name: str
    annotation: Any
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def field(self) -> FieldInfo:
        """Type, range, default and help as pydantic sees them."""
        if self.is_required:
            return FieldInfo.from_annotation(self.annotation)
        return FieldInfo.from_annotated_attribute(self.annotation, self.default)

    @property
    def help(self) -> str:
        """One line for people."""
        return self.field.description or ""

    @property
    def unit(self) -> str:
        """Unit of a number, such as ``%``."""
        extra = self.field.json_schema_extra
        return str(extra.get("unit", "")) if isinstance(extra, Mapping) else ""

    @property
    def example(self) -> Any:
        """A usual value; None if the declaration names none."""
        examples = self.field.examples
        return examples[0] if examples else None

    @property
    def type(self) -> Any:
        """Type without None and constraints."""
        return _bare(self.field)

    @property
    def choices(self) -> tuple[str, ...]:
        """All values, if there are only a few; else nothing."""
        kind = self.type
        return get_args(kind) if get_origin(kind) is Literal else ()

    @property
    def expected(self) -> str:
        """What it must be, in words: "a percentage above 0"."""
        return _in_words(self.field, self.unit)

    def accepted(self, given: Any) -> Any:
        """Return a value in its declared type.

        Raises
        ------
        ValueError
            If the type or the range is another.
        """
        return self._adapter.validate_python(given)

    def accepts(self, given: Any) -> bool:
        """Whether a value has the declared type and lies in the range."""
        try:
            self.accepted(given)
        except ValidationError:
            return False
        return True

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation, config=_CHECKED)


def parameters_of(sibling: type[Any]) -> list[Parameter]:
    """Return the parameters of a class, in the order of its constructor."""
    if sibling not in _KNOWN:
        _KNOWN[sibling] = _declared(sibling)
    return list(_KNOWN[sibling])


def take_parameters(owner: object, name: str) -> None:
    """Check the parameters of a frozen object, and keep each as its declared type takes it.

    Parameters
    ----------
    owner : object
        Its attributes are the parameters of its class.
    name : str
        What the class is called in messages.

    Raises
    ------
    InputError
        Names the first parameter that has not its type or range.
    """
    for parameter in parameters_of(type(owner)):
        given = getattr(owner, parameter.name)
        if not parameter.accepts(given):
            raise InputError(
                f"{name}: `{parameter.name}` must be {parameter.expected}. Got {given!r}."
            )
        object.__setattr__(owner, parameter.name, parameter.accepted(given))


_KNOWN: WeakKeyDictionary[type[Any], tuple[Parameter, ...]] = WeakKeyDictionary()
"""Parameters of the classes that were asked about: resolving annotations takes a millisecond."""


def _declared(sibling: type[Any]) -> tuple[Parameter, ...]:
    if issubclass(sibling, BaseModel):
        return tuple(
            Parameter(name, _annotated(field), REQUIRED if field.is_required() else field.default)
            for name, field in sibling.model_fields.items()
        )
    # Annotations of inherited fields are resolved in the module of the parent.
    annotated = sibling if is_dataclass(sibling) else sibling.__init__
    hints = get_type_hints(annotated, include_extras=True)
    parameters = []
    # A class with a `__new__` of its own does not declare its parameters in the constructor.
    _, *declared = inspect.signature(sibling.__init__).parameters.values()
    for each in declared:
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            annotation = hints.get(each.name, Any)
            is_asked = ASKED in getattr(annotation, "__metadata__", ())
            parameters.append(
                Parameter(each.name, annotation, REQUIRED if is_asked else each.default)
            )
    return tuple(parameters)


def _annotated(field: FieldInfo) -> Any:
    """Return the type of a field of a model with its constraints and help."""
    told = Field(description=field.description, examples=field.examples)
    return Annotated[(field.annotation, *field.metadata, told)]


def _bare(field: FieldInfo) -> Any:
    """Return the type without None and constraints."""
    kind = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kept = [part for part in get_args(kind) if part is not NoneType]
        return kept[0] if len(kept) == 1 else Union[tuple(kept)]  # noqa: UP007
    return kind


def _in_words(field: FieldInfo, unit: str) -> str:
    kind = _bare(field)
    if get_origin(kind) is Annotated:
        return _in_words(FieldInfo.from_annotation(kind), unit)
    if get_origin(kind) is Literal:
        *first, last = [repr(value) for value in get_args(kind)]
        return f"{', '.join(first)} or {last}" if first else last
    if get_origin(kind) in (Union, UnionType):
        first_kind, *others = get_args(kind)
        words = _in_words(FieldInfo.from_annotation(first_kind), unit)
        two = any(get_origin(other) is tuple for other in others)
        return f"{words}, or two of them" if two else words
    if kind in (int, float):
        noun = "percentage" if unit == PER_CENT else "number"
        return _number_in_words("whole number" if kind is int else noun, field)
    return {bool: "true or false", str: "text"}.get(kind, "of the type that its help says")


def _number_in_words(noun: str, field: FieldInfo) -> str:
    limits: dict[type, Any] = {type(each): each for each in field.metadata}
    low, high = limits.get(Ge, limits.get(Gt)), limits.get(Le, limits.get(Lt))
    if isinstance(low, Gt) and isinstance(high, Lt):
        return f"a {noun} between {low.gt} and {high.lt}"
    words = [f"a {noun}"]
    if isinstance(low, Gt):
        words.append(f"above {low.gt}")
    if isinstance(low, Ge):
        words.append(f">= {low.ge}" if noun == "whole number" else f"of {low.ge} or more")
    if isinstance(high, Lt | Le):
        words.append(f"and below {high.lt}" if isinstance(high, Lt) else f"and at most {high.le}")
    return " ".join(words).replace(f"a {noun} and", f"a {noun}")
