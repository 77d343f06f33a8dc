"""All methods, whatever they do: names, parameters, ranges, commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tablecloak as tc
from people import people
from tablecloak.microdata import NeighbourhoodSampling
from tablecloak.microdata.methods.method import METHODS

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "microdata.md"


def test_a_radius_for_each_record_may_be_an_array():
    frame = people()[["wage", "hours"]]
    eps = np.linspace(0.3, 0.8, len(frame))
    built = METHODS.build("neighbours", eps=eps).protect(frame, seed=4)
    direct = NeighbourhoodSampling(eps).protect(frame, seed=4)
    assert built.frame.equals(direct.frame)


def test_the_docs_list_all_methods_with_their_parameters():
    assert METHODS.table() in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("swap", {"attributes": ["job"], "rate": 2}, "`rate` is a share between 0 and 1. Got 2"),
        ("swap", {"attributes": "job", "rate": 0}, "`attributes` must be a list of one or more"),
        ("pram", {"keys": ["job"], "xi": 0.4}, "`xi` must lie between 3/7 and 1. Got 0.4"),
        ("topcode", {"column": "wage", "replace_by": "x"}, "must be 'threshold' or 'mean'"),
        ("microaggregate", {"columns": ["wage"], "k": 1}, "`k` must be a whole number >= 2"),
        ("noise", {"columns": ["wage"], "noise": -1}, "`noise` must be a finite number >= 0"),
        ("noise", {"columns": ["wage"]}, "The method 'noise' needs the parameter 'noise'"),
        (
            "pram",
            {"keys": ["job"], "bloks": ["x"]},
            "no parameter 'bloks'. Did you mean 'blocks'",
        ),
        ("noises", {}, "There is no method 'noises'. Did you mean 'noise'"),
    ],
)
def test_what_is_out_of_range_is_refused_in_the_words_of_the_method(name, given, message):
    with pytest.raises(tc.InputError, match=message):
        METHODS.build(name, **given)
