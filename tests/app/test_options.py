"""Options of the methods on the form, made of the keys of a job file."""

from __future__ import annotations

import pytest

from tablecloak.app.choices import ways
from tablecloak.app.options import options_of
from tablecloak.protection import PROTECTIONS


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
