"""Inputs of the form, and what is typed into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

import tablecloak as tc
from tablecloak.app.choices import ways
from tablecloak.app.fields import FormField, choices_of, number, options_of
from tablecloak.parameters import parameters_of
from tablecloak.protection import PROTECTIONS
from tablecloak.registry import Registry
from tablecloak.tables.rules.rule import RULES

Least = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Sample:
    """A thing with one parameter of each kind."""

    name: ClassVar[str] = "sample"
    needed: Annotated[float, Field(description="A number.", examples=[12.5])]
    count: Annotated[int, Field(description="A whole number.")] = 3
    kind: Annotated[Literal["a", "b"], Field(description="One of two.")] = "a"
    strict: Annotated[bool, Field(description="Yes or no.")] = False
    label: Annotated[str, Field(description="A text.")] = "x"
    range: Annotated[list[float] | None, Field(description="Two numbers.")] = None
    level: Annotated[Least | tuple[Least, Least], Field(description="One or two.")] = 20.0
    columns: Annotated[Sequence[str], Field(description="Names.")] = ()


FIELDS = {each.name: FormField(f"sample:{each.name}", each) for each in parameters_of(Sample)}


def typed(name: str, text: str):
    return FIELDS[name].read({f"sample:{name}": text})


@pytest.mark.parametrize(
    ("name", "kind"),
    [("needed", "number"), ("count", "number"), ("kind", "choice"), ("strict", "flag"),
     ("label", "text"), ("range", "text"), ("level", "pair"), ("columns", "names")],
)  # fmt: skip
def test_a_parameter_is_asked_for_by_its_type(name, kind):
    assert FIELDS[name].kind == kind


def test_only_whole_numbers_can_be_typed_for_a_whole_number():
    assert (FIELDS["count"].step, FIELDS["needed"].step) == ("1", "any")


@pytest.mark.parametrize(
    ("text", "value"),
    [("2,5", 2.5), ("2.5", 2.5), (",5", 0.5), ("1.234,5", 1234.5), ("1,234.5", 1234.5),
     ("12 000", 12000), ("1,234,567", 1234567), ("-2,5", -2.5), ("1'000", 1000),
     ("0,125", 0.125), ("1e3", 1000)],
)  # fmt: skip
def test_numbers_are_read_as_files_of_all_countries_write_them(text, value):
    assert number({"p": text}, "p") == value


def test_a_number_that_may_be_two_is_refused_in_one_line():
    with pytest.raises(tc.InputError, match="such as 1000 or 1.000") as refused:
        number({"p": "1,000"}, "p")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("needed", "12.5"),
        ("count", "3"),
        ("label", "x"),
        ("range", ""),
        ("level", "20"),
        ("columns", ""),
    ],
)
def test_the_default_or_an_example_stands_in_it_at_first(name, shown):
    assert FIELDS[name].shown == shown


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("needed", " 10 ", 10),
        ("needed", "1e2", 100),
        ("count", "", None),
        ("kind", "b", "b"),
        ("strict", "1", True),
        ("strict", "", False),
        ("label", "[1]", "[1]"),
        ("range", "[10, 20.5]", [10, 20.5]),
        ("range", "", None),
        ("level", "15", 15),
        ("columns", "sex, age ", ["sex", "age"]),
        ("columns", "", None),
    ],
)
def test_what_was_typed_is_read_as_it_would_be_in_a_job(name, text, value):
    assert typed(name, text) == value


def test_two_numbers_are_two_fields_of_which_the_second_may_stay_empty():
    level = FIELDS["level"]
    assert level.read({"sample:level": "10", level.second: "20.5"}) == [10, 20.5]
    assert level.read({"sample:level": "10", level.second: " "}) == 10
    with pytest.raises(tc.InputError, match="“level” of sample: '' is not a number"):
        level.read({"sample:level": "", level.second: "5"})


def test_no_rule_needs_the_words_of_a_job_file_for_numbers_and_names():
    texts = {each.name for rule in choices_of(RULES) for each in rule.fields if each.kind == "text"}
    # Lists of cells and of codes by dimensions have no plain field.
    assert {name.partition(":")[2] for name in texts} == {"cells", "combinations"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("needed", "", "“needed” of sample: '' is not a number"),
        ("needed", "ten", "'ten' is not a number"),
        ("needed", "inf", "'inf' is not a finite number"),
        ("range", "[1", "cannot be read. Two numbers."),
        ("range", "[" * 5000, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_explained(name, text, message):
    with pytest.raises(tc.InputError, match=message):
        typed(name, text)


def test_all_that_is_registered_can_be_ticked_with_its_parameters():
    registry: Registry = Registry("sample")
    with registry.including(Sample):
        choice = next(each for each in choices_of(registry) if each.name == "sample")
    assert choice.summary.startswith("A thing with one parameter")
    assert not choice.is_suggested
    form = {"sample:needed": "5", "sample:count": "3", "sample:kind": "b", "sample:label": "x"}
    # Defaults are left out, so that a job says only what was chosen.
    assert choice.read(form) == {"needed": 5, "kind": "b"}


def test_a_whole_number_is_an_int_and_others_are_floats():
    assert isinstance(number({"x": "2.0"}, "x"), int)
    assert number({"x": "2.5"}, "x") == 2.5


def option(section: str, key: str):
    return next(each for each in options_of(section) if each.key == key)


@pytest.mark.parametrize("section", [way.name for way in ways()])
def test_every_key_that_names_something_registered_is_on_the_form(section):
    keys = [each.key for each in options_of(section)]
    assert keys
    assert set(keys) <= set(PROTECTIONS[section].model_fields)
    for each in options_of(section):
        assert each.named.names
        assert each.help


def test_a_single_name_is_chosen_and_the_default_stands_where_none_is():
    found = option("suppression", "hold")
    assert not found.is_list
    assert found.read({}) == found.default
    other = next(name for name in found.named.names if name != found.default)
    assert found.read({"suppression:hold": other}) == other


def test_several_names_are_ticked_one_by_one():
    found = option("suppression", "protect_against")
    first = found.named.names[0]
    assert found.is_list
    assert found.read({}) == []
    assert found.read({f"suppression:protect_against:{first}": "1"}) == [first]


def test_names_with_something_behind_them_are_typed_with_commas():
    found = option("adjustment", "preserve")
    assert found.is_open
    form = {"adjustment:preserve": " mean:all , regression,, "}
    assert found.read(form) == ["mean:all", "regression"]


def test_each_name_says_what_it_is():
    found = option("adjustment", "distance")
    assert all(found.summary(name) for name in found.named.names)
