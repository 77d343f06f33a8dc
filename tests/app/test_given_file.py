"""Files that are uploaded, named, or invented."""

from __future__ import annotations

import io
import os
import stat

import flask
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.app.given_file import LONGEST_NAME, given_file, kind_of
from tablecloak.examples.files import write_sheet


def given(folder, **data):
    with flask.Flask("test").test_request_context("/open", method="POST", data=data):
        return given_file(folder)


def test_what_a_file_holds_is_told_by_its_ending_its_columns_and_its_codes(tmp_path):
    firms = tc.examples.firms(300)
    table = tc.tabulate(firms, ["region", "industry"], "turnover", contributor="firm")
    firms.to_csv(tmp_path / "records.csv", index=False)
    firms.to_excel(tmp_path / "records.xlsx", index=False)
    firms.drop(columns="firm").to_csv(tmp_path / "nameless.csv", index=False)
    table.to_frame().to_csv(tmp_path / "long.csv", index=False)
    table.to_frame().pivot_table("turnover", "region", "industry", sort=False).to_csv(
        tmp_path / "wide.csv"
    )
    write_sheet(tmp_path / "titled.xlsx")
    tc.write_problem(table.protect(tc.PPercent(10)), tmp_path / "cells.csv")
    told = {
        name: kind_of(tc.DataFile(tmp_path / name)).name
        for name in ("records.csv", "records.xlsx", "nameless.csv", "long.csv", "wide.csv",
                     "titled.xlsx", "cells.csv", "job.toml", "batch.arb")
    }  # fmt: skip
    assert list(told.values()) == ["records"] * 3 + ["table"] * 3 + ["problem"] * 3


def uploaded(folder, name: str, content: bytes = b"a,v\nx,1\n"):
    return given(folder, upload=(io.BytesIO(content), name))


def test_an_invented_file_holds_the_example_firms(tmp_path):
    path = given(tmp_path, example="1")
    assert path.name == "firms.csv"
    assert len(pd.read_csv(path)) == len(tc.examples.firms())


@pytest.mark.parametrize(
    ("name", "kept"),
    [("a.csv", "a.csv"), ("../../etc/a.csv", "a.csv"), ("noending", "noending.csv"),
     ("B.PARQUET", "B.PARQUET"), ("x" * 200 + ".csv", "x" * LONGEST_NAME + ".csv"),
     (".csv", "csv.csv")],
)  # fmt: skip
def test_an_upload_keeps_its_name_but_stays_in_a_folder_of_its_own(tmp_path, name, kept):
    path = uploaded(tmp_path, name)
    assert path.name == kept
    assert path.parent.parent == tmp_path / "uploads"
    assert path.read_bytes() == b"a,v\nx,1\n"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_two_uploads_of_one_name_do_not_meet(tmp_path):
    one, other = uploaded(tmp_path, "a.csv"), uploaded(tmp_path, "a.csv", b"b,v\n")
    assert one != other
    assert one.read_bytes() != other.read_bytes()


@pytest.mark.parametrize("name", ["a.doc", "a.csv.exe", "a.zip"])
def test_an_upload_of_an_unknown_kind_is_refused(tmp_path, name):
    with pytest.raises(tc.InputError, match="unknown kind of file. Choose a file whose name ends"):
        uploaded(tmp_path, name)


def test_a_typed_path_is_taken_where_it_lies(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,v\n")
    assert given(tmp_path, path=f" {path} ") == path


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Choose a file, or type the path of one"),
        ("/nowhere/x.csv", "does not exist"),
        ("a\0b.csv", "does not exist"),
        ("~nobody-of-that-name/x.csv", "cannot be read|does not exist"),
    ],
)
def test_a_path_that_leads_nowhere_is_explained(tmp_path, typed, message):
    with pytest.raises(tc.InputError, match=message):
        given(tmp_path, path=typed)


def test_a_folder_and_a_pipe_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path, tmp_path / "pipe.csv"):
        with pytest.raises(tc.InputError, match="this is no file"):
            given(tmp_path, path=str(path))
