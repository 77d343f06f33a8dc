"""Ranges of parameters, in the words of their declaration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field

import tablecloak as tc
from tablecloak.microdata.methods.parameters import option, require_in_range


@dataclass(frozen=True)
class Sample:
    share: Annotated[float, Field(ge=0, le=1)] = 0.5
    count: Annotated[int, Field(ge=2)] = 3
    noise: Annotated[float, Field(gt=0)] = 0.1
    angle: Annotated[float, Field(gt=-90, lt=90)] = 0.0
    third: Annotated[float, Field(ge=3 / 7, lt=1)] = 0.75
    kind: Literal["one", "two", "three"] = "one"
    columns: Annotated[Sequence[str], option("column", "Columns.", min_length=1)] = ("a",)
    limit: Annotated[float | None, Field(ge=0)] = None
    plain: float = 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 1.5}, "`share` is a share between 0 and 1. Got 1.5"),
        ({"share": float("nan")}, "`share` is a share between 0 and 1. Got nan"),
        ({"share": "half"}, "`share` is a share between 0 and 1. Got 'half'"),
        ({"count": 1}, "`count` must be a whole number >= 2. Got 1"),
        ({"count": 2.5}, "`count` must be a whole number >= 2. Got 2.5"),
        ({"noise": 0.0}, "`noise` must be a finite number > 0. Got 0.0"),
        ({"noise": float("inf")}, "`noise` must be a finite number > 0"),
        ({"angle": 90.0}, "`angle` must lie between -90 and 90. Got 90.0"),
        ({"third": 0.4}, "`third` must lie between 3/7 and 1. Got 0.4"),
        ({"kind": "four"}, "`kind` must be 'one', 'two' or 'three'. Got 'four'"),
        ({"columns": []}, "`columns` must be a list of one or more names"),
        ({"columns": "a"}, "`columns` must be a list of one or more names. Got 'a'"),
        ({"limit": -1.0}, "`limit` must be a finite number >= 0. Got -1.0"),
        ({"plain": float("inf")}, "`plain` must be a finite number. Got inf"),
    ],
)
def test_what_lies_outside_is_refused_with_its_range(given, message):
    with pytest.raises(tc.InputError, match=message):
        require_in_range(Sample(**given))


@pytest.mark.parametrize(
    "given",
    [{}, {"share": 0}, {"share": 1}, {"count": np.int64(5)}, {"noise": np.float64(2)},
     {"third": 3 / 7}, {"limit": None}, {"columns": ("a", "b")}, {"share": np.array([0.1, 0.2])}],
)  # fmt: skip
def test_what_lies_inside_is_accepted(given):
    require_in_range(Sample(**given))
