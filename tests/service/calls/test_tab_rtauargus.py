"""One table with the arguments of rtauargus."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from rtauargus import ACT_SIZE, EXAMPLE, FOUR, PRIMARIES, ask, hierarchies, insee
from tablecloak.service.answers import columns_of


def statuses(**change) -> dict[tuple[str, str], str]:
    found = ask("tab_rtauargus", **{**EXAMPLE, **change})["Status"]
    return dict(zip(zip(ACT_SIZE["ACTIVITY"], ACT_SIZE["SIZE"], strict=True), found, strict=True))


def test_the_example_of_its_readme_has_the_primaries_of_tau_argus_and_as_few_others():
    found = statuses()
    assert {cell: letter for cell, letter in found.items() if letter in "ABC"} == PRIMARIES
    # tau-ARGUS hides (02, tr2) and (06, tr1): each row and column with a hidden cell has two.
    assert {cell for cell, letter in found.items() if letter == "D"} == {
        ("02", "tr2"), ("06", "tr1"),
    }  # fmt: skip


def test_cells_that_the_user_found_unsafe_are_hidden_with_others():
    secret = [cell in PRIMARIES for cell in statuses()]
    own = {"tabular": {**ACT_SIZE, "secret": secret}, "secret_var": "secret"}
    found = statuses(**own, safety_rules="MAN(10)", maxscore=None)
    assert {cell for cell, letter in found.items() if letter == "B"} == set(PRIMARIES)
    assert list(found.values()).count("D") == 2


def test_few_contributors_are_named_where_no_rule_on_amounts_names_the_cell():
    """(02, tr1) has two contributors, one of whom gives 67 %; (06, tr2) has six."""
    both = "NK(1,60)|FREQ(3,10)", "FREQ(3,10)|NK(1,60)"
    assert {statuses(safety_rules=rules)["02", "tr1"] for rules in both} == {"B"}
    flagged = {"tabular": {**ACT_SIZE, "secret": [True] * 12}, "secret_var": "secret"}
    found = statuses(**flagged, safety_rules="FREQ(3,10)", maxscore=None)
    assert {cell for cell, letter in found.items() if letter == "A"} == {("02", "tr1")}


def test_costs_decide_which_cells_are_hidden_besides():
    rows = [*zip(ACT_SIZE["ACTIVITY"], ACT_SIZE["SIZE"], strict=True)]
    cost = [1 if row[0] in ("01", "02") else 1000 for row in rows]
    secret = [row == ("02", "tr1") for row in rows]
    table = {**ACT_SIZE, "cost": cost, "secret": secret}
    found = statuses(
        tabular=table, cost_var="cost", secret_var="secret", safety_rules=None, maxscore=None
    )
    assert {row for row, letter in found.items() if letter != "V"} == {
        ("01", "tr1"), ("01", "tr2"), ("02", "tr1"), ("02", "tr2"),
    }  # fmt: skip


def test_cells_and_values_are_counted_by_status():
    stats = ask("tab_rtauargus", **EXAMPLE, summary_secret=True)["stats"]
    assert stats["status"] == ["primary suppr.", "secondary suppr.", "published", "total"]
    assert stats["nb_cells"] == [2, 2, 8, 12]
    assert stats["value"] == [70, 80, 1050, 1200]
    assert stats["pourc_cells"] == [16.67, 16.67, 66.67, 100]


def test_a_table_of_insee_with_its_hierarchy_is_safe_for_an_audit_of_its_own():
    frame = insee("act_size")
    tree = hierarchies("ACTIVITY")
    answer = ask(
        "tab_rtauargus", tabular=columns_of(frame), explanatory_vars=FOUR["act_size"], hrc=tree,
        value="TOT", freq="N_OBS", secret_var="is_secret_prim", time_limit=1,
    )  # fmt: skip
    assert answer["is_safe"]
    status = np.array(answer["Status"])
    assert set(status[frame.is_secret_prim]) == {"B"}
    release = frame[["ACTIVITY", "SIZE"]].assign(status=np.where(status == "V", "published", "x"))
    audit = ask(
        "audit", release=columns_of(release),
        data={"kind": "table", "file": "t.csv", "value": "TOT", "flags": "is_secret_prim",
              "flags_range": 10, "tolerance": 1},
        dimensions={"ACTIVITY": {"hierarchy": "a.hrc"}, "SIZE": {}},
        files={"t.csv": columns_of(frame), "a.hrc": tree["ACTIVITY"]},
    )  # fmt: skip
    assert audit["is_safe"]
    open_ = ask(
        "audit", release=columns_of(release.assign(status="published")),
        data={"kind": "table", "file": "t.csv", "value": "TOT", "flags": "is_secret_prim",
              "tolerance": 1},
        dimensions={"ACTIVITY": {"hierarchy": "a.hrc"}, "SIZE": {}},
        files={"t.csv": columns_of(frame), "a.hrc": tree["ACTIVITY"]},
    )  # fmt: skip
    assert not open_["is_safe"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": "VALL"}, "tabular: there is no column 'VALL'. Did you mean 'VAL'?"),
        ({"explanatory_vars": ["ACTIVITY", "SIZ"]}, "no column 'SIZ'. Did you mean 'SIZE'?"),
        ({"totcode": ["Total"]}, "totcode: 1 codes for 2 variables"),
        ({"totcode": {"SIZE": "Total"}}, "totcode: no code for ACTIVITY"),
        ({"totcode": "All"}, "All"),
        ({"hrc": {"ACTIVTY": "01\n"}}, "hrc: .*Did you mean 'ACTIVITY'?"),
        ({"maxscore": None}, r"maxscore: FREQ\(3,10\)\|NK\(1,85\) looks at the 1 largest"),
        ({"freq": None}, "freq: rules need the number of contributors"),
        ({"safety_rules": None}, "secret_var: nothing says which cells are unsafe"),
        ({"safety_rules": "MAN(10)"}, "secret_var: nothing says which cells are unsafe"),
        ({"safety_rules": "REQ(1,2,3,4)"}, "safety_rules: .*other rules need records"),
        ({"safety_rules": "NK(1"}, "safety_rules: .*cannot be applied"),
        ({"safety_rules": "NK(1,x)"}, "safety_rules: .*numbers between commas"),
        ({"safety_rules": "NK(1)"}, "safety_rules"),
        ({"safety_rules": "FREQ(3)"}, "safety_rules"),
        ({"suppress": "RND(1,5)"}, "suppress: 'RND.* is none of GH, MOD, OPT, NET"),
        ({"output_type": 2}, "output_type: 2 is written by a batch alone"),
        ({"totcod": "Total"}, "totcod: unknown key. Did you mean 'totcode'?"),
        ({"ip": -1}, "ip: must be a number of 0 or more"),
    ],
)
def test_a_wrong_argument_is_named_with_the_remedy(change, words):
    with pytest.raises(tc.InputError, match=words):
        statuses(**change)


def test_a_cell_that_is_there_twice_with_other_values_is_refused():
    twice = pd.DataFrame(ACT_SIZE).iloc[[0, *range(12)]].reset_index(drop=True)
    twice.loc[0, "VAL"] = 4
    with pytest.raises(tc.InputError, match="01") as refused:
        statuses(tabular=columns_of(twice))
    assert "tabular" in str(refused.value)
    assert "csv" not in str(refused.value)


def test_a_fault_names_the_table_and_its_row_or_the_hierarchy_and_no_file_of_ours():
    missing = pd.DataFrame(ACT_SIZE).assign(VAL=[*ACT_SIZE["VAL"][:4], "x", *ACT_SIZE["VAL"][5:]])
    with pytest.raises(tc.InputError, match="^tabular, row 5: column 'VAL' must hold numbers"):
        statuses(tabular=columns_of(missing))
    with pytest.raises(tc.InputError, match="^tabular: hrc of 'ACTIVITY', line 2: code '02' is on"):
        statuses(hrc={"ACTIVITY": "01\n@@02\n"})


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
def test_a_wrong_argument_of_several_tables_is_named_with_the_remedy(change, words):
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
