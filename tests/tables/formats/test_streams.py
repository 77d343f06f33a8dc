"""Files of records of which some columns change: the rest is copied as it stands."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.formats import read_columns, replace_columns, streams


@pytest.fixture
def records() -> pd.DataFrame:
    n = 23
    return pd.DataFrame(
        {
            "code": [f"{i % 7:02d}" for i in range(n)],
            "note": ["NA", "", 'a "quoted", text', "0010", "1e5"] * 4 + ["x", "y", "z"],
            "value": np.arange(n) / 7,
        }
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_other_columns_are_copied_as_they_stand(records, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(streams, "PIECE", 5)
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    if ending == "csv":
        records.to_csv(source, index=False)
    else:
        records.to_parquet(source, index=False)
    changed = read_columns(source, ["value"])
    np.testing.assert_array_equal(changed["value"], records["value"])
    replace_columns(source, target, changed[::-1].reset_index(drop=True))
    if ending == "csv":
        read = pd.read_csv(target, dtype=str, keep_default_na=False)
        before = pd.read_csv(source, dtype=str, keep_default_na=False)
    else:
        read, before = pd.read_parquet(target), pd.read_parquet(source)
    assert read[["code", "note"]].equals(before[["code", "note"]])
    assert read.columns.tolist() == ["code", "note", "value"]
    np.testing.assert_array_equal(read["value"].astype(float), records["value"][::-1])


def test_types_are_kept_from_one_format_to_the_other(records, tmp_path):
    records.to_csv(tmp_path / "in.csv", index=False)
    changed = read_columns(tmp_path / "in.csv", ["code"], as_text=True)
    replace_columns(tmp_path / "in.csv", tmp_path / "out.parquet", changed)
    read = pd.read_parquet(tmp_path / "out.parquet")
    assert read["value"].dtype == float
    assert read["code"].tolist() == records["code"].tolist()


def test_a_file_that_changed_meanwhile_is_not_mixed_up(records, tmp_path):
    records.to_csv(tmp_path / "in.csv", index=False)
    changed = read_columns(tmp_path / "in.csv", ["value"])
    for other in (records[:-1], pd.concat([records, records[:1]])):
        other.to_csv(tmp_path / "in.csv", index=False)
        with pytest.raises(tc.InputError, match="number of records has changed"):
            replace_columns(tmp_path / "in.csv", tmp_path / "out.csv", changed)
        assert not (tmp_path / "out.csv").exists()


def test_missing_files_and_columns_are_named(records, tmp_path):
    with pytest.raises(tc.InputError, match="does not exist"):
        read_columns(tmp_path / "none.csv", ["a"])
    records.to_csv(tmp_path / "in.csv", index=False)
    with pytest.raises(tc.InputError, match=r"no column 'valu'. Did you mean 'value'"):
        read_columns(tmp_path / "in.csv", ["valu"])
