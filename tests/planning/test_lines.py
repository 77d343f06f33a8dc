"""Lines of metadata: what is faulty is told with its line."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.planning.lines import natural, read_lines

GOOD = """table_name,field,hrc_field,indicator,hrc_indicator,\
spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2
T1,F,,turnover,,nuts2,hrc_nuts,size,
T2,F,,turnover,,nuts3,hrc_nuts,,
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("indicator,hrc", "variable,hrc", "line 1: column 'indicator' is missing"),
        ("table_name", "table", "line 1: column 'table_name' is missing"),
        (",field", ",population", "line 1: column 'field' is missing"),
        ("spanning_1,hrc_spanning_1", "one,two", "line 1: column 'spanning_1' is missing"),
        (",hrc_spanning_2", ",x", "line 1: column 'spanning_2' has no column 'hrc_spanning_2'"),
        (",spanning_2", ",x", "line 1: column 'hrc_spanning_2' has no column 'spanning_2'"),
        ("hrc_indicator", "hrc_indicater", "line 1: column 'hrc_indicater' is unknown. Did you"),
        ("T2,F", ",F", "line 3: the table has no name"),
        ("T2,F", "T1,F", "line 3: table 'T1' is described on line 2 already"),
        ("T2,F,,turnover", "T2,F,,NA", "line 3: table 'T2' has no indicator"),
        ("T2,F", "T2,", "line 3: table 'T2' has no field"),
        ("size,", ",hrc_size", "line 2: table 'T1' has 'hrc_spanning_2' = 'hrc_size', but"),
        ("size,", "nuts2,", "line 2: table 'T1' has the dimension 'nuts2' twice"),
        ("size,", "nuts3,hrc_nuts", "line 2: table 'T1' has the hierarchy 'hrc_nuts' twice"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path, old, new, message):
    path = tmp_path / "metadata.csv"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(tc.InputError, match=f"metadata.csv, {message}"):
        tc.plan(path)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    path = tmp_path / "metadata.csv"
    path.write_text(GOOD.replace("T2,F,", "\n,,,,,,,,\n,F,"))
    with pytest.raises(tc.InputError, match="line 5: the table has no name"):
        read_lines(path)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".xlsx", "semicolons.csv"])
def test_metadata_is_read_from_every_kind_of_file(tmp_path, ending):
    lines = pd.read_csv(pd.io.common.StringIO(GOOD), dtype=str)
    path = tmp_path / f"metadata{ending}"
    if ending == ".parquet":
        lines.to_parquet(path)
    elif ending == ".xlsx":
        lines.to_excel(path, index=False)
    else:
        lines.to_csv(path, index=False, sep=";" if "semi" in ending else ",")
    assert [line.name for line in read_lines(path)] == ["T1", "T2"]
    assert tc.plan(path).tables[0].name == "T1+T2"


def test_years_stay_whole_numbers_and_what_is_missing_is_empty():
    lines = pd.DataFrame(
        {"table_name": [1, 2], "field": [2023.0, 2023.0], "indicator": "x",
         "spanning_1": ["a", None], "hrc_spanning_1": [float("nan"), pd.NA]}
    )  # fmt: skip
    first, second = read_lines(lines)
    assert (first.name, first.field, second.spannings) == ("1", "2023", ())


@pytest.mark.parametrize("given", [3, None, pd.DataFrame({"table_name": []})])
def test_what_is_no_table_is_refused(given):
    with pytest.raises(tc.InputError, match="metadata"):
        read_lines(given)


def test_numbers_within_names_are_sorted_as_numbers():
    assert sorted(["T10", "T2", "u1", "T1b"], key=natural) == ["T1b", "T2", "T10", "u1"]
