"""All methods, whatever they do: names, parameters, ranges, commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import NeighbourhoodSampling, OrderWarning
from tablecloak.microdata.methods.method import METHODS

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "microdata.md"

SOME = {
    "swap": {"attributes": ["job"], "rate": 0.2},
    "swap-households": {"hierarchy": ["state"], "household": "home", "risk_variables": ["job"]},
    "pram": {"keys": ["job"]},
    "pram-by-matrix": {"attribute": "job", "matrix": np.full((3, 3), 1 / 3)},
    "noise": {"columns": ["wage"], "noise": 0.1},
    "neighbours": {"eps": 0.5, "columns": ["wage", "hours"]},
    "microaggregate": {"columns": ["wage", "hours"]},
    "topcode": {"column": "wage", "quantile": 0.9},
}
"""Parameters with which each method runs on the records below."""


def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "home": random.permutation(120),
            "state": random.choice(["01", "02"], 120),
            "job": random.choice(["a", "b", "c"], 120),
            "wage": random.lognormal(8, 0.4, 120),
            "hours": random.normal(38, 5, 120),
        }
    )


@pytest.mark.parametrize("name", METHODS.names)
@pytest.mark.filterwarnings(f"ignore::{OrderWarning.__module__}.OrderWarning")
def test_every_method_runs_by_its_name_and_changes_only_what_it_says(name):
    frame = people()
    method = METHODS.build(name, **SOME[name])
    columns = method.uses(list(frame.columns))
    release = method.protect(frame[sorted({*columns.categories, *columns.numbers})], seed=3)
    assert release.summary()
    after = frame.assign(**{column: release.frame[column] for column in release.frame.columns})
    changed = [column for column in frame.columns if not after[column].equals(frame[column])]
    assert changed
    assert set(changed) <= set(columns.changed)


@pytest.mark.parametrize("name", METHODS.names)
def test_every_parameter_has_a_line_of_help(name):
    parameters = METHODS.parameters(name)
    assert parameters
    assert all(each.help.endswith(".") for each in parameters)
    assert METHODS.summary(name).endswith(".")


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
