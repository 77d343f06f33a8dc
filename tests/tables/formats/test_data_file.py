"""Files as offices have them: semicolons, decimal commas, other encodings, sheets."""

from __future__ import annotations

import struct

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import Topcoding
from tablecloak.microdata.record_files import RecordFiles
from tablecloak.tables.formats import column_names, read_frame, write_frame

TEXT = "Region;Zweig;Umsatz;Tag\nNord;01;1.234,5;31.12.2025\nSüd;02;12,25;\nSüd;01;1.000;1.1.2026\n"


@pytest.fixture
def german(tmp_path):
    (tmp_path / "a.csv").write_bytes(TEXT.encode("cp1252"))
    return tc.DataFile(tmp_path / "a.csv", decimal=",", encoding="cp1252")


def test_decimal_commas_points_of_thousands_and_letters_are_read_and_days_stay_text(german):
    frame = read_frame(german, ("Zweig",))
    assert frame["Umsatz"].tolist() == [1234.5, 12.25, 1000.0]
    assert frame["Zweig"].tolist() == ["01", "02", "01"]
    assert frame["Tag"].tolist()[::2] == ["31.12.2025", "1.1.2026"]
    table = tc.tabulate(german, ["Region", "Zweig"], "Umsatz")
    assert table.values[table.cell(Region="Süd", Zweig="Total")] == 1012.25
    assert set(table.keys["Zweig"]) == {"Total", "01", "02"}


def test_a_point_that_separates_no_thousands_makes_a_column_no_numbers(tmp_path):
    """12.5 for 12,5 would else be taken for 125."""
    (tmp_path / "a.csv").write_text("r;v\nN;12.5\nS;3,5\n")
    with pytest.raises(tc.InputError, match="'v' must hold numbers"):
        tc.tabulate(tc.DataFile(tmp_path / "a.csv", decimal=","), ["r"], "v")


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_the_separator_is_told_by_the_header(tmp_path, sep):
    (tmp_path / "a.csv").write_text(sep.join(['"a,b;c"', "v"]) + "\n" + sep.join(["x", "1"]) + "\n")
    assert column_names(tmp_path / "a.csv") == ["a,b;c", "v"]


def test_letters_of_another_encoding_and_unknown_signs_are_told_with_the_remedy(german):
    with pytest.raises(tc.InputError, match='encoding = "cp1252"'):
        read_frame(german.path)
    with pytest.raises(tc.InputError, match="There is no encoding 'cp1253x'"):
        tc.DataFile("a.csv", encoding="cp1253x")
    with pytest.raises(tc.InputError, match="`decimal` is ';'"):
        tc.DataFile("a.csv", decimal=";")


def test_tables_of_files_with_other_signs_name_the_remedy(tmp_path):
    text = "firm;land;v\na;Köln;1,5\nb;Köln;2,5\n"
    for encoding, remedy in (("cp1252", "encoding='cp1252'"), ("utf-8", "decimal=','")):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(text.encode(encoding))
        with pytest.raises(tc.InputError, match=rf"tc\.DataFile\(path, {remedy}\)"):
            tc.tabulate(path, ["land"], "v")


def test_records_go_out_as_they_came_in(tmp_path):
    frame = tc.examples.people(300).assign(zip=[f"0{n}" for n in range(300)], share=0.5)
    frame.to_csv(tmp_path / "in.csv", sep=";", decimal=",", index=False)
    source = tc.DataFile(tmp_path / "in.csv", decimal=",")
    RecordFiles(source, tmp_path / "out.csv", seed=1).protect(Topcoding(["wage"], quantile=0.9))
    one, other = ((tmp_path / name).read_text().splitlines() for name in ("in.csv", "out.csv"))
    assert one[0] == other[0]
    assert sorted(line.split(";")[-2:] for line in one) == sorted(
        line.split(";")[-2:] for line in other
    )


def test_a_sheet_is_read_by_its_name_and_codes_and_days_stay_as_they_are(german, tmp_path):
    frame = read_frame(german, ("Zweig",)).assign(Tag=pd.to_datetime(["2025-12-31"] * 3))
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        pd.DataFrame({"note": [1]}).to_excel(book, sheet_name="Notiz", index=False)
        frame.to_excel(book, sheet_name="Umsätze", index=False)
    sheet = tc.DataFile(tmp_path / "a.xlsx", sheet="Umsätze")
    table = tc.tabulate(sheet, ["Zweig", "Tag"], "Umsatz")
    assert set(table.keys["Zweig"]) == {"Total", "01", "02"}
    assert set(table.keys["Tag"]) == {"Total", "2025-12-31"}
    with pytest.raises(tc.InputError, match="no sheet 'Umsatze'. Did you mean 'Umsätze'"):
        read_frame(tc.DataFile(tmp_path / "a.xlsx", sheet="Umsatze"))


def test_a_file_of_stata_is_read_with_its_codes(tmp_path):
    frame = pd.DataFrame({"code": ["01", "A"], "v": [1.5, np.nan], "n": [3, 4]})
    labelled = frame.assign(sex=[1, 2])
    labels = {"sex": {1: "men", 2: "women"}}
    labelled.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    back = read_frame(tmp_path / "a.dta", ("code",))
    pd.testing.assert_frame_equal(back, labelled, check_dtype=False)
    with pytest.raises(tc.InputError, match="unknown kind of file"):
        write_frame(frame, tmp_path / "b.dta")


def transport_file(rows: list[tuple[str, float]]) -> bytes:
    """A transport file of SAS (version 5) with `code`, of 8 letters, and the number `v`."""

    def header(kind: str, numbers: str = "0" * 30) -> bytes:
        return f"HEADER RECORD*******{kind:<8}HEADER RECORD!!!!!!!{numbers}  ".encode()

    def variable(number: int, name: str) -> bytes:
        start = struct.pack(">hhhh8s40s", 2 - (number == 1), 0, 8, number + 1, name.encode(), b"")
        return (start.ljust(84, b" ") + struct.pack(">i", 8 * number)).ljust(140, b"\0")

    def ibm(value: float) -> bytes:
        fraction, exponent = value, 0
        while fraction >= 1:
            fraction, exponent = fraction / 16, exponent + 1
        return struct.pack(">Q", (exponent + 64) << 56 | int(fraction * 2**56))

    day = "01JAN26:00:00:00"
    sas = f"{'SAS':<8}{'SAS':<8}{'SASLIB':<8}{'6.06':<8}{'':<32}{day}{day:<80}".encode()
    data = f"{'SAS':<8}{'A':<8}{'SASDATA':<8}{'6.06':<8}{'':<32}{day}{day:<80}".encode()
    cells = b"".join(code.ljust(8).encode() + ibm(value) for code, value in rows)
    return b"".join(
        [
            header("LIBRARY"), sas, header("MEMBER", "000000000000000001600000000140"),
            header("DSCRPTR"), data, header("NAMESTR", f"{2:010d}" + "0" * 20),
            (variable(0, "code    ") + variable(1, "v       ")).ljust(320), header("OBS"),
            cells.ljust(-(-len(cells) // 80) * 80),
        ]
    )  # fmt: skip


def test_a_transport_file_of_sas_is_read(tmp_path):
    rows = [("01", 1234.5), ("A", 0.25), ("01", 7.0), ("B", 1e6)]
    (tmp_path / "a.xpt").write_bytes(transport_file(rows))
    table = tc.tabulate(tmp_path / "a.xpt", ["code"], "v")
    assert dict(zip(table.keys["code"], table.values, strict=True)) == {
        "Total": 1001241.75, "01": 1241.5, "A": 0.25, "B": 1e6,
    }  # fmt: skip


def test_a_job_says_how_its_data_are_read(german, tmp_path):
    job = """
    [data]
    file = "a.csv"
    value = "Umsatz"
    decimal = ","
    encoding = "cp1252"
    [dimensions.Region]
    [[rules]]
    rule = "minimum-frequency"
    minimum = 1
    [suppression]
    time_limit = 5
    """
    (tmp_path / "job.toml").write_text(job)
    assert tc.run_job(tmp_path / "job.toml").problem.table.values.max() == 2246.75
    (tmp_path / "job.toml").write_text(job.replace('","', '";"'))
    with pytest.raises(tc.InputError, match="`decimal` is ';'; expected '.', ','"):
        tc.run_job(tmp_path / "job.toml")
