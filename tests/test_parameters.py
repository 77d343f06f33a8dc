"""Parameters say what they must be in words, and check it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field

from tablecloak.parameters import ASKED, parameters_of, percent

Share = Annotated[float, Field(ge=0)]


@dataclass
class Oven:
    degrees: Annotated[float, Field(gt=0, lt=300, examples=[180])]
    trays: Annotated[int, Field(ge=1)]
    steam: Annotated[float | None, percent("Of the air.", ge=0)] = None
    fan: bool = False
    mode: Literal["top", "bottom", "both"] = "both"
    margin: Annotated[Share | tuple[Share, Share], percent("Around it.")] = 5.0
    minutes: Annotated[float, Field(gt=0), ASKED] = 60.0


BY_NAME = {each.name: each for each in parameters_of(Oven)}


@pytest.mark.parametrize(
    ("name", "expected", "good", "bad"),
    [
        ("degrees", "a number between 0 and 300", 180, 300),
        ("trays", "a whole number >= 1", np.int64(2), 1.5),
        ("steam", "a percentage of 0 or more", None, -1),
        ("fan", "true or false", True, "perhaps"),
        ("mode", "'top', 'bottom' or 'both'", "top", "side"),
        ("margin", "a percentage of 0 or more, or two of them", (1, 2), (1, 2, 3)),
        ("minutes", "a number above 0", 30, float("nan")),
    ],
)
def test_what_is_expected_is_what_is_accepted(name, expected, good, bad):
    parameter = BY_NAME[name]
    assert parameter.expected == expected
    assert parameter.accepts(good)
    assert not parameter.accepts(bad)


def test_help_unit_example_and_choices_come_from_the_declaration():
    assert (BY_NAME["steam"].help, BY_NAME["steam"].unit) == ("Of the air.", "%")
    assert BY_NAME["degrees"].example == 180
    assert BY_NAME["mode"].choices == ("top", "bottom", "both")


def test_users_are_asked_for_what_programs_may_leave_out():
    assert Oven(200, 1).minutes == 60
    assert BY_NAME["minutes"].is_required
    assert not BY_NAME["margin"].is_required
