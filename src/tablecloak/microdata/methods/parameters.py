"""Parameters of methods: their names as options, ranges in words, and those that several share.

Both are declared with the parameter: ``rate: Annotated[float, Field(ge=0, le=1)]``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import Field
from pydantic.fields import FieldInfo

from tablecloak.errors import InputError
from tablecloak.microdata.anonymity.levels import HierarchyLike
from tablecloak.parameters import parameters_of

LARGEST = 10**100
"""Largest size of a number: products of larger ones become infinite."""


def option(name: str, description: str, **limits: Any) -> Any:
    """Declare a parameter whose option on the command line has another name.

    Parameters
    ----------
    name : str
        Name of the option, such as "column" for a list of columns: it is given once for each.
    description : str
        Help of one line.
    **limits
        Limits as in `pydantic.Field`.
    """
    return Field(description=description, json_schema_extra={"option": name}, **limits)


def require_in_range(thing: Any) -> None:
    """Check that each parameter of a dataclass lies in its declared range.

    Raises
    ------
    InputError
        Names the parameter, its range and the given value.
    """
    for name, field in _declared(thing.__class__):
        value = getattr(thing, name)
        expected = None if value is None else _unmet(field, value) or _odd(value)
        if expected:
            raise InputError(f"`{name}` {expected}. Got {value!r}.")


@cache
def _declared(kind: type[Any]) -> tuple[tuple[str, FieldInfo], ...]:
    return tuple((each.name, each.field) for each in parameters_of(kind))


def _unmet(field: FieldInfo, value: Any) -> str:
    """Return the requirement that a value does not meet, in words; empty if it meets all."""
    kinds = (field.annotation, *get_args(field.annotation))
    choices = [choice for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if choices:
        return "" if value in choices else f"must be {_either(choices)}"
    if any(isinstance(limit, MinLen) for limit in field.metadata):
        is_list = isinstance(value, Collection) and not isinstance(value, str) and len(value) > 0
        if is_list and len({*map(repr, value)}) < len(value):
            return "must be a list of one or more names, none of them twice"
        return "" if is_list else "must be a list of one or more names"
    if float in kinds or int in kinds:
        return _number_unmet(field, value, is_whole=float not in kinds)
    return ""


def _odd(value: Any) -> str:
    """Return what no parameter may hold, in words: a name twice, or a number beyond all use."""
    if isinstance(value, list | tuple):
        texts = [each for each in value if isinstance(each, str)]
        if len(set(texts)) < len(texts):
            return "must be a list of one or more names, none of them twice"
        return next(filter(None, map(_odd, value)), "")
    if isinstance(value, Mapping):
        return next(filter(None, map(_odd, value.values())), "")
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and abs(value) > LARGEST:
        return f"must be at most {LARGEST:g} in size"
    return ""


def _number_unmet(field: FieldInfo, value: Any, *, is_whole: bool) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        # A list with one number for each record is checked by the method.
        return ""
    is_inside = isinstance(value, Integral if is_whole else Real) and math.isfinite(value)
    for limit in field.metadata:
        match limit:
            case Ge(low):
                is_inside = is_inside and value >= low
            case Gt(low):
                is_inside = is_inside and value > low
            case Le(high):
                is_inside = is_inside and value <= high
            case Lt(high):
                is_inside = is_inside and value < high
    return "" if is_inside else _range_in_words(field, is_whole=is_whole)


def _range_in_words(field: FieldInfo, *, is_whole: bool) -> str:
    low: Any = None
    high: Any = None
    is_open = False
    for limit in field.metadata:
        match limit:
            case Ge(value):
                low = value
            case Gt(value):
                low, is_open = value, True
            case Le(value) | Lt(value):
                high = value
    number = "a whole number" if is_whole else "a finite number"
    if low is None or high is None:
        return f"must be {number}" + ("" if low is None else f" {'>' if is_open else '>='} {low}")
    if (low, high) == (0, 1) and not is_open:
        return "is a share between 0 and 1"
    return f"must lie between {_written(low)} and {_written(high)}"


def _written(number: Any) -> str:
    """Return a number as text, thirds and sevenths as fractions."""
    short = f"{number:g}"
    return short if len(short) < 5 else str(Fraction(number).limit_denominator(100))


def _either(choices: list[Any]) -> str:
    *first, last = map(repr, choices)
    return f"{', '.join(first)} or {last}" if first else last


GroupKeys = Annotated[Sequence[str], option("key", "Attribute known to an intruder.", min_length=1)]
GroupSize = Annotated[int, Field(ge=2, description="Smallest number of records in a group.")]
KeyHierarchies = Annotated[
    Mapping[str, HierarchyLike] | None,
    option("hierarchy", "Hierarchy of a key: age=5/10/20 for bands, or region=region.hrc."),
]
Subsets = Annotated[
    int | None,
    Field(ge=1, description="Ask for all combinations of this many keys; default: all keys."),
]
SensitiveAttribute = Annotated[
    str | None, Field(description="Attribute whose values must differ within each group.")
]
DifferentValues = Annotated[
    float | None,
    Field(ge=1, description="Different sensitive values in each group (l-diversity)."),
]
Closeness = Annotated[
    float | None,
    Field(
        ge=0,
        le=1,
        description="Largest distance of the sensitive values of a group from those of the "
        "file (t-closeness).",
    ),
]
MissingMeaning = Annotated[
    Literal["k", "1-k"],
    Field(
        description="k equal released records, as an outsider counts; or (1,k): k true records "
        "that agree with each released one, where one record alone may fit a person."
    ),
]
SearchSeconds = Annotated[float, Field(gt=0, description="Seconds for the search.")]
