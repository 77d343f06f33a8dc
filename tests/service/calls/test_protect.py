"""Finished tables with statuses of cells, earlier releases, several ways or one in a request."""

from __future__ import annotations

from rtauargus import ask
from serving import CELLS, RECORDS, TABLE


def hidden(answer) -> set[tuple[str, str]]:
    """Codes of the cells that are not published."""
    cells = answer["cells"]
    rows = zip(cells["region"], cells["size"], cells["status"], strict=True)
    return {(region, size) for region, size, status in rows if status != "published"}


def test_cells_are_set_by_hand_by_their_codes():
    free = hidden(ask("suppress", **TABLE))
    # (N, 01) is flagged; the pattern within the table needs the three others.
    assert free == {("N", "01"), ("N", "02"), ("S", "01"), ("S", "02")}
    stays = {"rule": "manual", "status": "frozen", "cells": [{"region": "N", "size": "02"}]}
    held = hidden(ask("suppress", **TABLE, rules=[stays]))
    assert ("N", "01") in held
    assert ("N", "02") not in held
    goes = {"rule": "manual", "cells": [{"region": "S", "size": "Total"}], "range": 5}
    assert {("N", "01"), ("S", "Total")} <= hidden(ask("suppress", **TABLE, rules=[goes]))


def test_an_earlier_release_comes_with_the_request_and_counts():
    first = ask("suppress", **TABLE)
    again = ask(
        "suppress",
        **{**TABLE, "files": {"cells.csv": CELLS, "first.csv": first["release"]}},
        published=[{"file": "first.csv"}],
    )
    assert hidden(again) == hidden(first)
    assert again["is_safe"]


def test_a_hierarchy_comes_as_nested_codes_or_as_a_file():
    cells = {
        "place": ["A", "a1", "a2", "B", "Total"],
        "value": [30, 10, 20, 40, 70],
        "secret": [False, True, False, False, False],
    }
    body = {"data": TABLE["data"], "files": {"cells.csv": cells, "place.hrc": "A\n@a1\n@a2\nB\n"}}
    nested = ask(
        "suppress", **body, dimensions={"place": {"hierarchy": {"A": ["a1", "a2"], "B": []}}}
    )
    file = ask("suppress", **body, dimensions={"place": {"hierarchy": "place.hrc"}})
    assert nested["cells"] == file["cells"]
    assert file["cells"]["status"].count("primary") == 1


def test_both_methods_of_one_request_protect_the_same_table():
    answer = ask("protect", **RECORDS, suppression={"hold": "off"}, adjustment={})
    assert answer["is_safe"]
    assert answer["failures"] == {}
    pattern, adjusted = answer["suppression"], answer["adjustment"]
    assert pattern["cells"]["turnover"] == adjusted["cells"]["turnover"]
    assert None in pattern["release"]["turnover"]
    assert None not in adjusted["release"]["turnover"]


def test_intervals_can_be_asked_for_alone():
    answer = ask("intervals", **TABLE, intervals={"blur": 0.5})
    assert answer["is_safe"]
    assert answer["release"].keys() == {"region", "size", "lower", "upper"}


def test_an_audit_lets_the_insiders_of_the_request_attack_as_the_command_does():
    """The only firm of (N, large) computes (N, small), whose cells are hidden in a square."""
    sizes = {("N", "small"): (60, 50, 4), ("N", "large"): (90,)}
    sizes |= {("S", "small"): (45, 40, 30), ("S", "large"): (50, 40, 30)}
    firms = [(*cell, size) for cell, every in sizes.items() for size in every]
    columns = dict(zip(("region", "size", "v"), map(list, zip(*firms, strict=True)), strict=True))
    request = {
        "data": {"file": "records.csv", "value": "v", "contributor": "firm"},
        "dimensions": {"region": {}, "size": {}},
        "rules": [{"rule": "p-percent", "p": 20}],
        "files": {"records.csv": {**columns, "firm": list("abcdefghij")}},
    }
    release = ask("suppress", **request, suppression={"hold": "off"})["release"]
    assert release["status"].count("suppressed") == 4
    usual = ask("audit", **request, release=release)
    assert not usual["is_safe"] and "contributors: 10 tried" in usual["summary"]
    outsiders = ask("audit", **request, release=release, suppression={"hold": "off"})
    assert outsiders["is_safe"] and "contributors" not in outsiders["summary"]


def test_rounded_values_are_attacked_by_what_their_base_leaves_possible():
    rounded = ask("round", **TABLE, base=10)
    assert rounded["is_safe"]
    request = {**TABLE, "release": rounded["release"]}
    audited = ask("audit", **request, made="rounding:10")
    assert audited["is_safe"] and audited["sensitive"] == rounded["sensitive"]
    # Values of which nothing is said may be those of an adjustment, which keeps distances.
    assert "adjusted table" in ask("audit", **request)["summary"]


def test_an_answer_says_what_is_proved_of_its_release_and_no_more():
    answer = ask("protect", **RECORDS, suppression={}, adjustment={})
    assert "nobody who knows the published cells" in answer["suppression"]["promise"]
    assert "not proved that the truth cannot be guessed" in answer["adjustment"]["promise"]
    assert "attack" in ask("round", **TABLE, base=10)["promise"]
