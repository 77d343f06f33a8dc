"""Options of a command from the parameters of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import pytest
from pydantic import Field

from tablecloak.cli.method_options import TypedOption
from tablecloak.errors import InputError
from tablecloak.parameters import parameters_of


@dataclass(frozen=True)
class Everything:
    """One parameter of each shape."""

    name: ClassVar[str] = "everything"
    key: Annotated[Sequence[str], Field(description="Known columns.")]
    rate: Annotated[float, Field(ge=0, le=1, description="Share.")] = 0.5
    open: Annotated[float, Field(gt=0, description="Above 0.")] = 1.0
    count: Annotated[int | None, Field(description="How many.")] = None
    weights: Annotated[Mapping[str, float], Field(description="By column.")] = Field({})
    groups: Annotated[Sequence[Sequence[str]], Field(description="Profiles.")] = ((),)
    matrix: Annotated[Any, Field(description="Probabilities.")] = None
    shape: Annotated[Literal["round", "flat"], Field(description="Of the noise.")] = "round"
    loud: Annotated[bool, Field(description="Say more.")] = False


OPTIONS = {each.parameter.name: each for each in map(TypedOption, parameters_of(Everything))}


def declared(name: str) -> tuple[Any, Any, str, Any, Any]:
    """Type, default, help, least and largest value that typer is told."""
    found = OPTIONS[name].declared
    kind, option = get_args(found.annotation)
    return kind, found.default, option.help, option.min, option.max


def test_what_must_be_given_has_no_default():
    kind, default, text, *_ = declared("key")
    assert kind == list[str]
    assert default is OPTIONS["key"].declared.empty
    assert text == "Known columns; repeat."


def test_limits_that_include_their_ends_are_checked_by_the_command_line():
    assert declared("rate") == (float, 0.5, "Share.", 0, 1)
    # The class itself says what is wrong with 0.
    assert declared("open") == (float, 1.0, "Above 0.", None, None)


def test_what_may_be_left_out_may_be_nothing():
    kind, default, *_ = declared("count")
    assert kind == int | None
    assert default is None


def test_lists_groups_and_mappings_are_repeated():
    for name in ("weights", "groups"):
        kind, default, text, *_ = declared(name)
        assert (kind, default) == (list[str] | None, None)
        assert text.endswith("; repeat.")


def test_a_choice_has_names():
    kind, default, *_ = declared("shape")
    assert [each.value for each in kind] == ["round", "flat"]
    assert default.value == "round"
    assert OPTIONS["shape"].value(kind("flat")) == "flat"


def test_a_flag_is_a_flag():
    assert declared("loud")[:2] == (bool, False)


def test_typed_words_become_values_of_the_class():
    assert OPTIONS["groups"].value(["age,sex", "age"]) == [["age", "sex"], ["age"]]
    assert OPTIONS["weights"].value(["sex=0.2", "a=b=3"]) == {"sex": 0.2, "a=b": 3.0}
    assert OPTIONS["key"].value(["age"]) == ["age"]
    assert OPTIONS["rate"].value(0.25) == 0.25


def test_a_mapping_without_a_number_is_refused_with_an_example():
    with pytest.raises(InputError, match=r"--weights 'sex' must look like sex=0\.2"):
        OPTIONS["weights"].value(["sex"])


def test_an_array_is_a_file_of_rows(tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("0.9,0.1\n0.2,0.8\n")
    kind, *_ = declared("matrix")
    assert Path in get_args(kind)
    assert np.array_equal(OPTIONS["matrix"].value(path), [[0.9, 0.1], [0.2, 0.8]])
    path.write_text("0.9,much\n")
    with pytest.raises(InputError, match=r"matrix\.csv: expected rows of numbers with commas"):
        OPTIONS["matrix"].value(path)
    with pytest.raises(InputError, match="does not exist"):
        OPTIONS["matrix"].value(tmp_path / "none.csv")
