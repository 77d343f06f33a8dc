"""Files without a record, and codes that are blank or differ in blanks: the same error anywhere."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs.beginning import guess
from tablecloak.microdata.methods.swapping import DataSwapping
from tablecloak.microdata.record_files import RecordFiles

ENGINES = ("duckdb", "pandas")
SOURCES = ("csv", "parquet", "xlsx", "dta", "frame")


def given(frame: pd.DataFrame, kind: str, folder: Path) -> Path | pd.DataFrame:
    """Return the frame, or a file with it."""
    path = folder / f"firms.{kind}"
    match kind:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case "xlsx":
            frame.to_excel(path, index=False)
        case "dta":
            frame.to_stata(path, write_index=False)
        case _:
            return frame
    return path


def firms(region=("N", "S", "N", "S"), firm=("a", "b", "c", "d")) -> pd.DataFrame:
    return pd.DataFrame({"region": region, "firm": firm, "turnover": [1, 2, 3, 4]})


def tabulated(data, engine: str):
    return tc.tabulate(data, ["region"], "turnover", contributor="firm", engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_a_file_with_names_of_columns_alone_holds_no_record(tmp_path, kind, engine):
    file = given(firms().iloc[:0], kind, tmp_path)
    with pytest.raises(tc.InputError, match="holds no record.*Give the one with the records"):
        tabulated(file, engine)
    with pytest.raises(tc.InputError, match="holds no record.*Give the one with the records"):
        guess(tc.DataFile(file))
    with pytest.raises(tc.InputError, match=f"firms.{kind}: .*holds no record"):
        (tmp_path / "job.toml").write_text(
            f'[data]\nfile = "firms.{kind}"\nvalue = "turnover"\n[dimensions.region]\n'
            '[[rules]]\nrule = "minimum-frequency"\nminimum = 3\n[suppression]\n'
        )
        tc.run_job(tmp_path / "job.toml")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frame_without_rows_holds_no_record(engine):
    with pytest.raises(tc.InputError, match="holds no record"):
        tabulated(firms().iloc[:0], engine)


def test_methods_for_records_name_the_file_that_holds_none(tmp_path):
    firms().iloc[:0].to_csv(tmp_path / "firms.csv", index=False)
    files = RecordFiles(tmp_path / "firms.csv", tmp_path / "out.csv")
    with pytest.raises(tc.InputError, match="firms.csv: holds no record"):
        files.protect(DataSwapping(["turnover"], rate=0.1))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_of_0_bytes_is_empty(tmp_path, engine):
    file = tmp_path / "firms.csv"
    file.touch()
    for read in (lambda: tabulated(file, engine), lambda: guess(tc.DataFile(file)),
                 lambda: tc.propose(file), lambda: tc.read_problem(file)):  # fmt: skip
        with pytest.raises(tc.InputError, match="firms.csv: this file is empty"):
            read()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_code_is_missing_and_so_is_a_blank_contributor(tmp_path, kind, engine, blank):
    with pytest.raises(tc.InputError, match="'region' is missing, as in 2 rows in all") as error:
        tabulated(given(firms(region=("N", blank, "S", blank)), kind, tmp_path), engine)
    assert error.value.row == 1
    with pytest.raises(tc.InputError, match="'firm' is missing, but must be an identifier"):
        tabulated(given(firms(firm=("a", blank, "b", "c")), kind, tmp_path), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_blanks_of_a_coarser_level_are_no_code(engine):
    frame = firms(region=("N1", "S1", "N2", "S1")).assign(part=["N", "S", "", "S"])
    with pytest.raises(tc.InputError, match="'N2' of dimension 'region'"):
        tc.tabulate(frame, {"region": ["part", "region"]}, "turnover", engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", SOURCES)
def test_codes_that_differ_in_blanks_are_refused_with_a_remedy(tmp_path, kind, engine):
    with pytest.raises(tc.InputError, match=r"'N ' and 'N' .*differ in blanks only.*strip\(\)"):
        tabulated(given(firms(region=("N", "N ", "S", "S")), kind, tmp_path), engine)
    with pytest.raises(tc.InputError, match=r"'firm' .*differ in blanks only.*strip\(\)"):
        tabulated(given(firms(firm=("a", "a ", "b", "c")), kind, tmp_path), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_codes_that_all_end_in_blanks_are_codes(engine):
    """Columns of fixed width fill up all of their entries."""
    table = tabulated(firms(tuple("NSNS"), ("a ", "b ", "c ", "d ")).replace({"N": "N "}), engine)
    assert set(table.keys["region"]) == {"Total", "N ", "S"}
    with pytest.raises(tc.InputError, match=r"'N ' .*not in its hierarchy.*blanks"):
        tc.tabulate(
            firms(region=("N ", "S", "S", "S")),
            {"region": {"N": None, "S": None}},
            "turnover",
            engine=engine,
        )


def test_a_sheet_may_have_squares_without_a_code(tmp_path):
    """Most firms are in no holding."""
    frame = firms().assign(group=["g", None, "g", None])
    file = given(frame, "xlsx", tmp_path)
    table = tc.tabulate(file, ["region"], "turnover", contributor="firm", holding="group")
    assert table.holdings is not None
