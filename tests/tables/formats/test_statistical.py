"""Files of SAS and Stata: whole codes, labels, and letters come through to a release."""

from __future__ import annotations

import json
import struct

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.errors import InputError
from tablecloak.tables.formats import read_frame

ENGINES = ("duckdb", "pandas")
REGIONS = {1: "Nord", 2: "Süd", 3: "Ost"}


def stata(path):
    frame = pd.DataFrame({
        "region": np.repeat([1, 2, 3], 4),
        "size": [1.0, 1, 2, 2] * 3,
        "firm": np.arange(12.0),
        "turnover": np.arange(1.0, 13),
    })  # fmt: skip
    frame.to_stata(path, write_index=False, version=118, value_labels={"region": REGIONS})
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_labels_of_stata_come_through_to_the_table(tmp_path, engine):
    path = stata(tmp_path / "firms.dta")
    table = tc.tabulate(path, ["region", "size"], "turnover", contributor="firm", engine=engine)
    assert table.hierarchies["region"].leaves == ("1", "2", "3")
    assert table.hierarchies["region"].labels == {str(c): text for c, text in REGIONS.items()}
    assert table.hierarchies["size"].leaves == ("1", "2")
    assert not table.hierarchies["size"].labels


def test_labels_of_stata_stand_in_a_release(tmp_path):
    problem = tc.tabulate(stata(tmp_path / "firms.dta"), ["region", "size"], "turnover").protect(
        tc.MinimumFrequency(3)
    )
    tc.write_release(tc.suppress(problem), tmp_path / "release", formats=["json-stat"])
    content = json.loads((tmp_path / "release" / "table.json").read_text(encoding="utf-8"))
    assert content["dimension"]["region"]["category"]["label"]["2"] == "Süd"


def test_a_hierarchy_of_the_job_with_labels_keeps_its_own(tmp_path):
    tree = tc.Hierarchy("Total", (("Total", ("1", "2", "3")),), {"1": "north"})
    table = tc.tabulate(stata(tmp_path / "firms.dta"), {"region": tree}, "turnover")
    assert table.hierarchies["region"].labels == {"1": "north"}


def ibm(number: float) -> bytes:
    """Write a positive number below 256 as SAS does in transport files."""
    if not number:
        return bytes(8)
    exponent = 65 if number < 16 else 66
    fraction = int(number / 16.0 ** (exponent - 64) * 2**56)
    return struct.pack(">Q", exponent << 56 | fraction)


def transport(path, encoding: str):
    """Write towns, regions and turnover as a transport file of version 5."""
    rows = [(town, region, 10 * at + 1) for at, (town, region) in
            enumerate([("Zürich", 1), ("Genève", 2), ("Bern", 10)] * 4)]  # fmt: skip
    stamp, library = b"28NOV26:09:00:00", b"SAS     SAS     SASLIB  9.1     Linux   "

    def record(text: bytes) -> bytes:
        return text.ljust(-(-len(text) // 80) * 80)

    parts = [
        record(b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!" + b"0" * 30),
        record(library + b" " * 24 + stamp), record(stamp),
        record(b"HEADER RECORD*******MEMBER  HEADER RECORD!!!!!!!" + b"0" * 17 + b"1600000000140"),
        record(b"HEADER RECORD*******DSCRPTR HEADER RECORD!!!!!!!" + b"0" * 30),
        record(b"SAS     FIRMS   SASDATA 9.1     Linux   " + b" " * 24 + stamp),
        record(stamp + b" " * 64),
        record(b"HEADER RECORD*******NAMESTR HEADER RECORD!!!!!!!000000" + b"0003" + b"0" * 20),
    ]  # fmt: skip
    names, place = b"", 0
    for number, (name, length) in enumerate([("town", 10), ("region", 8), ("turnover", 8)], 1):
        kind = 2 if name == "town" else 1
        head = struct.pack(">hhhh8s40s", kind, 0, length, number, name.ljust(8).encode(), b" " * 40)
        shape = struct.pack(">8shhh2s8shhl52s", b" " * 8, 0, 0, 0, b"", b" " * 8, 0, 0, place, b"")
        names, place = names + head + shape, place + length
    lines = [town.encode(encoding).ljust(10) + ibm(region) + ibm(value)
             for town, region, value in rows]  # fmt: skip
    parts += [
        record(names),
        record(b"HEADER RECORD*******OBS     HEADER RECORD!!!!!!!" + b"0" * 30),
    ]
    path.write_bytes(b"".join([*parts, record(b"".join(lines))]))
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_of_a_transport_file_have_no_point_and_nobody_is_warned(tmp_path, engine):
    path = transport(tmp_path / "firms.xpt", "utf-8")
    table = tc.tabulate(path, ["town", "region"], "turnover", engine=engine)
    assert table.hierarchies["town"].leaves == ("Bern", "Genève", "Zürich")
    assert set(table.hierarchies["region"].leaves) == {"1", "2", "10"}


def test_whole_numbers_of_a_transport_file_are_copied_without_a_point(tmp_path):
    frame = read_frame(transport(tmp_path / "firms.xpt", "utf-8"))
    frame.to_csv(tmp_path / "firms.csv", index=False)
    assert (tmp_path / "firms.csv").read_text(encoding="utf-8").splitlines()[1] == "Zürich,1,1"


def test_letters_of_a_transport_file_are_read_as_is_said(tmp_path):
    path = transport(tmp_path / "firms.xpt", "cp1252")
    with pytest.raises(InputError, match="letters are not UTF-8.* encoding"):
        read_frame(path)
    assert "Zürich" in set(read_frame(tc.DataFile(path, encoding="cp1252"))["town"])


def test_a_transport_file_of_another_version_is_refused_with_what_to_write(tmp_path):
    path = tmp_path / "firms.xpt"
    path.write_bytes(b"HEADER RECORD*******LIBV8   HEADER RECORD!!!!!!!".ljust(400, b"0"))
    with pytest.raises(InputError, match="no transport file of version 5.*proc copy"):
        read_frame(path)
