"""A class that is registered once is known everywhere by its name and its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
from pydantic import Field, ValidationError

import tablecloak as tc
from tablecloak.registry import Registry
from tablecloak.suppression.attack.intruder import INTRUDERS


class Spice:
    """Base of all spices."""

    name: ClassVar[str]


@dataclass(frozen=True)
class Pepper(Spice):
    """Hot.

    More about it.
    """

    name: ClassVar[str] = "pepper"
    grains: Annotated[int, Field(ge=1, description="How many.")]
    colour: Annotated[str, Field(description="Of the shell.")] = "black"


class Salt(Spice):
    """Salty."""

    name: ClassVar[str] = "salt"


@pytest.fixture
def spices():
    registry: Registry[Spice] = Registry("spice")
    registry.register(Pepper)
    registry.register(Salt)
    return registry


def test_names_summaries_and_parameters_come_from_the_class(spices):
    assert spices.names == ["pepper", "salt"]
    assert spices.summary("pepper") == "Hot."
    grains, colour = spices.parameters("pepper")
    assert (grains.name, grains.is_required, grains.help) == ("grains", True, "How many.")
    assert (colour.default, colour.help) == ("black", "Of the shell.")
    assert spices.parameters("salt") == []


def test_a_thing_or_its_name_is_accepted_and_a_misspelt_one_corrected(spices):
    own = Pepper(3)
    assert spices.parse(own, Spice, "`spice` is") is own
    assert isinstance(spices.parse("salt", Spice, "`spice` is"), Salt)
    with pytest.raises(tc.InputError, match="^`spice` is 'slat'. Did you mean 'salt'"):
        spices.parse("slat", Spice, "`spice` is")
    with pytest.raises(tc.InputError, match="needs the parameter 'grains'"):
        spices.parse("pepper", Spice, "`spice` is")
    with pytest.raises(tc.InputError, match="^`spice` is 5"):
        spices.parse(5, Spice, "`spice` is")


def test_things_are_built_from_checked_parameters(spices):
    assert spices.build("pepper", grains=3) == Pepper(3)
    assert isinstance(spices.build("salt"), Salt)


@pytest.mark.parametrize(
    "name, given, message",
    [
        ("peper", {}, "There is no spice 'peper'. Did you mean 'pepper'"),
        ("pepper", {}, "The spice 'pepper' needs the parameter 'grains'"),
        ("pepper", {"grains": 0}, "grains of the spice 'pepper': .*greater than or equal to 1.*0"),
        ("pepper", {"grain": 1}, "has no parameter 'grain'. Did you mean 'grains'"),
    ],
)
def test_errors_name_the_parameter_and_the_remedy(spices, name, given, message):
    if "grain" in given:
        given = {"grains": 1, **given}
    with pytest.raises(tc.InputError, match=message):
        spices.build(name, **given)


def test_the_schema_asks_for_the_name_under_a_key(spices):
    schema = spices.model("pepper", key="spice")
    assert schema(spice="pepper", grains=2).grains == 2
    assert schema.model_json_schema()["properties"]["grains"]["minimum"] == 1
    with pytest.raises(ValidationError):
        schema(spice="salt", grains=2)


def test_a_name_is_registered_once_and_a_guest_leaves_again(spices):
    class Other(Spice):
        name: ClassVar[str] = "pepper"

    with pytest.raises(ValueError, match="registered twice"):
        spices.register(Other)

    class Guest(Spice):
        """Passes by."""

        name: ClassVar[str] = "guest"

    with spices.including(Guest):
        assert "guest" in spices
    assert "guest" not in spices


def test_the_table_of_the_docs_lists_all(spices):
    assert "| `pepper` | `grains`, `colour` = 'black' | Hot. |" in spices.table()


def test_fields_inherited_from_another_module_are_parameters():
    kinds = {each.name: each for each in INTRUDERS.parameters("pairs")}
    assert list(kinds) == ["together", "level", "everywhere"]
    assert kinds["together"].default == 2
    assert kinds["level"].help == "Who is meant."
