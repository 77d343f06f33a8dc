"""Several tables with the arguments of rtauargus.

All four tables of INSEE, with every call of the R package:

    PYTHONPATH=tests python tests/service/calls/test_tab_multi_manager.py
"""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from rtauargus import FOUR, ask, hierarchies, insee
from tablecloak.service.columns import columns_of

ONE = {
    "region": ["N", "S", "Total"] * 3,
    "size": ["small"] * 3 + ["large"] * 3 + ["Total"] * 3,
    "n": [3, 20, 23, 30, 40, 70, 33, 60, 93],
    "secret": [True] + 8 * [False],
}
TWO = {
    "region": ["N", "S", "Total"] * 3,
    "form": ["LL"] * 3 + ["PA"] * 3 + ["Total"] * 3,
    "n": [13, 50, 63, 20, 10, 30, 33, 60, 93],
    "secret": 9 * [False],
}
BOTH = {
    "list_tables": {"one": ONE, "two": TWO},
    "list_explanatory_vars": {"one": ["region", "size"], "two": ["region", "form"]},
    "value": "n",
    "freq": None,
    "secret_var": "secret",
}


def test_cells_that_two_tables_show_have_one_status():
    answer = ask("tab_multi_manager", **BOTH, summary_secret=True)
    assert answer["is_safe"]
    one, two = (pd.DataFrame(answer["tables"][name]) for name in ("one", "two"))
    assert one.Status[0] == "B"
    shared = one.Status[6:].tolist()
    assert shared == two.Status[6:].tolist()
    assert one.is_secret_1.tolist() == (one.Status != "V").tolist()
    assert answer["stats"]["one"]["nb_cells"][-1] == 9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"list_tables": {}}, "list_tables: there is no table"),
        ({"list_explanatory_vars": {"one": ["region", "size"]}}, "no variables for the table two"),
        ({"alt_hrc": {"one": {"region": "N\n"}}}, "alt_hrc: Other hierarchies .* Refused"),
        ({"alt_totcode": {"one": {"region": "All"}}}, "alt_totcode: Other totals .* Refused"),
        ({"secret_var": "secrt"}, "one: there is no column 'secrt'. Did you mean 'secret'?"),
        ({"num_iter_max": 0}, "num_iter_max: must be a whole number >= 1"),
    ],
)
def test_a_wrong_argument_is_named_with_the_remedy(change, words):
    with pytest.raises(tc.InputError, match=words):
        ask("tab_multi_manager", **{**BOTH, **change})


def all_four() -> None:
    """Protect the four tables of INSEE together, and print what was found."""
    frames = {name: insee(name) for name in FOUR}
    answer = ask(
        "tab_multi_manager",
        list_tables={name: columns_of(frame) for name, frame in frames.items()},
        list_explanatory_vars=FOUR,
        hrc=hierarchies("ACTIVITY", "NUTS"),
        value="TOT",
        freq="N_OBS",
        summary_secret=True,
        time_limit=10,
    )
    assert answer["is_safe"]
    print(answer["summary"])
    cells: dict[tuple[str, ...], set[str]] = {}
    for name, frame in frames.items():
        status = answer["tables"][name]["Status"]
        assert all(letter == "B" for letter in pd.Series(status)[frame.is_secret_prim])
        print(
            name,
            dict(zip(*(answer["stats"][name][key] for key in ("status", "nb_cells")), strict=True)),
        )
        for row, letter in zip(frame[FOUR[name]].to_numpy().tolist(), status, strict=True):
            named = zip(FOUR[name], row, strict=True)
            cells.setdefault(tuple(sorted(p for p in named if p[1] != "Total")), set()).add(letter)
    assert all(len(letters) == 1 for letters in cells.values())
    print(len(cells), "cells, each with one status")


if __name__ == "__main__":
    all_four()
