"""Fields of a job whose names come from registries, asked when a job is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
from pydantic import BaseModel, Field, ValidationError

from tablecloak.registered import NameIn, SiblingIn, innermost, telling
from tablecloak.registry import Registry


class Shape:
    """A kind for these tests."""

    name: ClassVar[str]


SHAPES: Registry[Shape] = Registry("shape")


@SHAPES.register
@dataclass(frozen=True)
class Circle(Shape):
    """Round."""

    name: ClassVar[str] = "circle"
    radius: Annotated[float, Field(gt=0)]


@SHAPES.register
@dataclass(frozen=True)
class Square(Shape):
    """Four sides."""

    name: ClassVar[str] = "square"
    side: float = 1.0


@dataclass(frozen=True)
class Star(Shape):
    """Registered later."""

    name: ClassVar[str] = "star"


class Drawing(BaseModel):
    """A job with a name, a name with an end, and a list of things."""

    name: Annotated[str, NameIn(SHAPES)] = "circle"
    round: Annotated[str, NameIn(SHAPES, only=lambda each: each is Circle)] = "circle"
    sized: Annotated[str, NameIn(SHAPES, end=":")] = "circle"
    shapes: list[Annotated[Shape, SiblingIn(SHAPES, "shape")]] = []


def fault(**given) -> dict:
    with pytest.raises(ValidationError) as caught:
        Drawing(**given)
    return innermost(telling(caught.value))


def test_a_name_must_be_registered_and_may_be_followed_by_more_where_it_has_an_end():
    assert Drawing(name="square", sized="circle:3").sized == "circle:3"
    assert fault(name="cube")["ctx"]["expected"] == "'circle' or 'square'"
    assert fault(round="square")["ctx"]["expected"] == "'circle'"
    assert fault(sized="cube:3")["ctx"]["known"] == ["circle", "square"]
    assert fault(name=3)["type"] == "literal_error"


def test_what_is_registered_later_is_accepted_at_once_and_listed():
    assert fault(name="star")
    with SHAPES.including(Star):
        assert Drawing(name="star", shapes=[{"shape": "star"}]).shapes == [Star()]
        names = Drawing.model_json_schema()["properties"]["name"]["enum"]
        assert names == ["circle", "square", "star"]
    assert fault(name="star")


def test_a_table_becomes_the_thing_that_it_describes_and_back():
    drawing = Drawing(shapes=[{"shape": "circle", "radius": 2}, {"shape": "square"}])
    assert drawing.shapes == [Circle(2.0), Square(1.0)]
    assert drawing.model_dump()["shapes"] == [
        {"shape": "circle", "radius": 2.0},
        {"shape": "square", "side": 1.0},
    ]
    assert Drawing(shapes=[Circle(3.0)]).shapes == [Circle(3.0)]


@pytest.mark.parametrize(
    ("given", "kind", "location"),
    [
        ({"shape": "cube"}, "union_tag_invalid", ("shapes", 0)),
        ({"radius": 1}, "missing", ("shapes", 0, "shape")),
        ({"shape": "circle"}, "missing", ("shapes", 0, "circle", "radius")),
        ({"shape": "circle", "radius": 0}, "greater_than", ("shapes", 0, "circle", "radius")),
        ({"shape": "square", "edge": 1}, "extra_forbidden", ("shapes", 0, "square", "edge")),
        ("circle", "table_type", ("shapes", 0)),
    ],
)
def test_a_fault_within_a_table_is_found_with_its_place(given, kind, location):
    found = fault(shapes=[given])
    assert (found["type"], found["loc"]) == (kind, location)


def test_an_unknown_key_tells_more_than_the_one_that_is_missing():
    assert fault(shapes=[{"shape": "circle", "radios": 1}])["type"] == "extra_forbidden"


def test_the_schema_of_names_with_an_end_is_a_pattern():
    found = Drawing.model_json_schema()["properties"]["sized"]
    assert found["pattern"] == "^(circle|square)(:.*)?$"
