"""Lines with an entry too many, and files that are no text."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.jobs.beginning import first_records

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0\x4bm)\xdc"


def lines(n: int, odd: int) -> str:
    """Return records of firms, of which the one in line `odd` has a comma in a name."""
    rows = [f"f{k},{'NS'[k % 2]},{k}.5" for k in range(2, n + 2)]
    rows[odd - 2] = f"Miller, Smith,{rows[odd - 2].partition(',')[2]}"
    return "\n".join(["firm,region,turnover", *rows, ""])


@pytest.mark.parametrize("odd", [2, 3, 40, 1500])
@pytest.mark.parametrize("engine", ["duckdb", "pandas", ""])
def test_a_line_with_an_entry_too_many_is_named_with_both_numbers(tmp_path, odd, engine):
    path = tmp_path / "firms.csv"
    path.write_text(lines(2000, odd))
    said = rf"firms.csv, line {odd}: it has 4 entries, but the header names 3 .* in quotes"
    with pytest.raises(tc.InputError, match=said) as error:
        if engine:
            tc.tabulate(path, ["region"], "turnover", engine=engine)
        else:
            first_records(tc.DataFile(path))
    assert "UTF-8" not in str(error.value)


def test_rows_that_are_all_wider_than_the_header_are_said_to_be(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2,\n3,4,\n5,6,\n")
    with pytest.raises(tc.InputError, match="rows have more entries than its header"):
        first_records(tc.DataFile(tmp_path / "a.csv"))


@pytest.mark.parametrize("start", [PNG, b"PK\3\4\0\0", b"\xd0\xcf\x11\xe0\0"])
@pytest.mark.parametrize("read", [first_records, tc.propose], ids=["records", "table"])
def test_a_picture_or_a_workbook_is_no_text(tmp_path, read, start):
    (tmp_path / "picture.csv").write_bytes(start)
    with pytest.raises(tc.InputError, match="picture.csv: this is no text.*name the file as what"):
        read(tc.DataFile(tmp_path / "picture.csv"))


def test_lines_of_old_machines_are_read_and_endless_entries_refused(tmp_path):
    (tmp_path / "a.csv").write_text("region,v\rN,1\rS,2\rAll,3\r", newline="")
    assert tc.propose(tmp_path / "a.csv").trees["region"].total == "All"
    (tmp_path / "b.csv").write_text(f"region,v\nN,{'9' * 200_000}\n")
    with pytest.raises(tc.InputError, match="b.csv: cannot be read"):
        tc.propose(tmp_path / "b.csv")


def test_a_finished_table_is_read_as_is_said(tmp_path):
    text = "Note|on|this|line\nRégion|v\nN|1\nS|2\nAll|3\n"
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16-le"))
    told = tc.DataFile(tmp_path / "a.csv", sep="|", encoding="utf-16-le", header=2)
    found = tc.propose(told)
    assert (found.trees["Région"].total, found.frame["v"].tolist()) == ("All", [1, 2, 3])
