"""The command line, as a user types it."""

from __future__ import annotations

import stat
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture
def cox(tmp_path) -> Path:
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    return tmp_path / "cox.jj"


def test_suppress_writes_a_status_for_every_cell_in_file_order(cox, tmp_path):
    result = RUN.invoke(app, ["suppress", str(cox), "-o", str(tmp_path / "s.csv")])
    assert result.exit_code == 0
    assert "loss 3076, bound 3076, gap 0.00 %" in result.output
    frame = pd.read_csv(tmp_path / "s.csv")
    assert list(frame.columns) == ["cell", "status"]
    assert frame.cell.tolist() == list(range(50))
    assert frame.status.value_counts().to_dict() == {"published": 38, "primary": 7, "secondary": 5}


def test_audit_accepts_the_pattern_and_refuses_it_with_one_cell_less(cox, tmp_path):
    path = tmp_path / "s.csv"
    RUN.invoke(app, ["suppress", str(cox), "-o", str(path)])
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 0
    frame = pd.read_csv(path)
    frame.loc[frame.index[frame.status == "secondary"][0], "status"] = "published"
    frame.to_csv(path, index=False)
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 1


def test_adjust_writes_a_value_for_every_cell_and_audit_accepts_it(cox, tmp_path):
    path = tmp_path / "a.csv"
    result = RUN.invoke(app, ["adjust", str(cox), "-o", str(path), "--weights", "unit"])
    assert result.exit_code == 0
    assert list(pd.read_csv(path).columns) == ["cell", "value"]
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 0
    true = pd.DataFrame({"cell": range(50), "value": tc.read_jj(cox).table.values})
    true.to_csv(path, index=False)
    assert RUN.invoke(app, ["audit", str(cox), str(path)]).exit_code == 1


@pytest.mark.parametrize("name", ["cox.csv", "cox.parquet"])
def test_convert_there_and_back_gives_the_same_file(cox, tmp_path, name):
    RUN.invoke(app, ["convert", str(cox), str(tmp_path / name)])
    RUN.invoke(app, ["convert", str(tmp_path / name), str(tmp_path / "back.jj")])
    assert (tmp_path / "back.jj").read_text() == cox.read_text()


def test_a_missing_file_is_named_and_nothing_is_written(tmp_path):
    out = tmp_path / "out.csv"
    result = RUN.invoke(app, ["suppress", str(tmp_path / "none.jj"), "-o", str(out)])
    assert result.exit_code == 2
    assert "none.jj: this file does not exist" in result.output
    assert not out.exists()


JOB = """
[data]
file = "firms.csv"
value = "turnover"
[dimensions.region]
[dimensions.branch]
[[rules]]
rule = "p-percent"
p = 20
[suppression]
[adjustment]
"""


def test_protect_keeps_hidden_values_out_of_every_released_file(tmp_path):
    rows = [
        (region, branch, 1000 + 137 * r + 71 * b + 13 * firm)
        for r, region in enumerate("NESW")
        for b, branch in enumerate(["food", "steel", "wood"])
        for firm in range(1 if (r + b) % 5 == 0 else 6)
    ]
    frame = pd.DataFrame(rows, columns=["region", "branch", "turnover"])
    frame.to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    out = tmp_path / "out"
    result = RUN.invoke(app, ["protect", str(tmp_path / "job.toml"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    status = pd.read_csv(out / "internal" / "suppression_statuses.csv")
    hidden = status.turnover[status.status != "published"].astype(int)
    assert len(hidden) >= 3
    released = [path for path in (out / "release" / "suppression").rglob("*") if path.is_file()]
    assert released
    for path in released:
        text = path.read_text()
        assert not [value for value in hidden if str(value) in text]
        assert "primary" not in text
    secret = list((out / "internal").iterdir())
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in secret)
