"""Folders of G-Confid: what it wrote is understood as it understands it, and written as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.publish.released_cells import read_release
from tablecloak.tables.formats.gconfid import GConfidTables, gconfid_tables

THEIRS = Path(__file__).parents[2] / "data" / "gconfid"
TABLES = ("outcell", "outconstraint", "outsuppress")

# G-Confid keeps values beside its statuses.
pytestmark = pytest.mark.filterwarnings("ignore:.* rows say suppressed but show a value")


@pytest.fixture(scope="module")
def problem() -> tc.ProtectionProblem:
    return tc.read_problem(THEIRS)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.stem in TABLES}


def test_a_folder_of_g_confid_is_written_again_byte_for_byte(problem, tmp_path):
    tc.write_problem(problem, tmp_path / "back.gconfid")
    assert contents(tmp_path / "back.gconfid") == contents(THEIRS)
    done = CliRunner().invoke(app, ["convert", str(THEIRS), str(tmp_path / "again.gconfid")])
    assert done.exit_code == 0, done.output
    assert contents(tmp_path / "again.gconfid") == contents(THEIRS)
    for path in (tmp_path / "back.gconfid", *(tmp_path / "back.gconfid").iterdir()):
        assert is_private(path)


def test_cells_and_aggregates_are_those_that_g_confid_protects(problem):
    cells = pd.read_csv(THEIRS / "outcell.csv")
    assert problem.table.n_cells == len(cells) == 20
    assert (problem.sensitive == (cells.Status == "S")).all()
    assert (problem.table.values == cells.TotalVar).all()
    aggregates = (cells.Type == "A").to_numpy()
    assert (problem.table.rests == aggregates).all()
    assert list(problem.table.keys.columns) == ["region", "branch"]
    release = tc.suppress(problem, time_limit=1000).release()
    assert len(release) == (~aggregates).sum()
    assert not release.region.str.startswith("~").any()


def test_intervals_of_the_pattern_are_those_of_the_audit_of_g_confid(problem):
    theirs = pd.read_csv(THEIRS / "outaudit.csv").set_index("CellId")
    audit = tc.audit(problem, THEIRS / "outsuppress.csv", detail="intervals")
    assert audit.is_safe
    found = audit.to_frame()
    cells = pd.read_csv(THEIRS / "outcell.csv")
    sensitive = theirs.loc[cells.CellId[cells.Status == "S"]]
    assert len(found) == len(sensitive) == 8
    for row in found.itertuples():
        cell = cells.CellId[row.Index]
        expected = sensitive.loc[cell]
        assert row.reached_lower == pytest.approx(expected.MinValue)
        assert row.reached_upper == pytest.approx(expected.MaxValue)
        assert row.required_lower == pytest.approx(expected.LTolerance)
        assert row.required_upper == pytest.approx(expected.UTolerance)


def test_no_pattern_hides_less_than_the_one_of_g_confid(problem):
    theirs, _ = read_release(problem, THEIRS / "outsuppress.csv")
    ours = tc.suppress(problem, time_limit=1000)
    assert ours.is_optimal
    assert ours.loss == problem.weights[theirs].sum() == 1509
    assert np.array_equal(gconfid_tables(problem).suppressed(), theirs)


def test_a_pattern_of_ours_becomes_outsuppress_and_comes_back(problem, tmp_path):
    pattern = tc.suppress(problem, time_limit=1000)
    moves = abs(pattern.certificate.deviations).max(axis=0).toarray().ravel()
    tables = gconfid_tables(problem).with_pattern(pattern.suppressed, moves)
    tables.write(tmp_path / "ours.gconfid")
    frame = pd.read_csv(tmp_path / "ours.gconfid" / "outsuppress.csv")
    assert ((frame.OutStatus == "X") == pattern.suppressed).all()
    assert (frame.NetVariation[frame.OutStatus == "P"] == 0).all()
    suppressed, _ = read_release(problem, tmp_path / "ours.gconfid" / "outsuppress.csv")
    assert np.array_equal(suppressed, pattern.suppressed)
    assert np.array_equal(
        GConfidTables.read(tmp_path / "ours.gconfid").suppressed(), pattern.suppressed
    )
    others = contents(tmp_path / "ours.gconfid")
    assert {name: others[name] for name in ("outcell.csv", "outconstraint.csv")} == {
        name: raw for name, raw in contents(THEIRS).items() if name != "outsuppress.csv"
    }


def test_a_change_of_one_cell_changes_its_row_alone(problem, tmp_path):
    frozen = np.where(np.arange(20) == 2, "z", problem.status)
    tc.write_problem(problem.with_changes(status=frozen), tmp_path / "back.gconfid")
    before = (THEIRS / "outcell.csv").read_text().splitlines()
    after = (tmp_path / "back.gconfid" / "outcell.csv").read_text().splitlines()
    assert [row for row, line in enumerate(after) if line != before[row]] == [3]
    assert after[3] == before[3].replace(",V,", ",P,")
    assert not (tmp_path / "back.gconfid" / "outsuppress.csv").exists()
    assert (tc.read_problem(tmp_path / "back.gconfid").status == frozen).all()


@pytest.mark.parametrize("kind", ["crossed", "nested", "uneven", "coupled"])
def test_problems_of_ours_come_back_with_levels_bounds_and_weights(kind, tmp_path):
    problem = random_problem(3, kind=kind)
    tc.write_problem(problem, tmp_path / "ours.gconfid")
    back = tc.read_problem(tmp_path / "ours.gconfid")
    assert back.table.keys.equals(problem.table.keys)
    for name in ("status", "lower_protection", "upper_protection", "weights", "upper_bound"):
        assert np.array_equal(getattr(back, name), getattr(problem, name))


def test_what_g_confid_can_say_itself_needs_no_column_of_ours(problem, tmp_path):
    plain = tc.ProtectionProblem(
        problem.table, problem.status, problem.lower_protection, problem.upper_protection,
        problem.sliding_protection, problem.lower_bound, problem.upper_bound, problem.weights,
    )  # fmt: skip
    tc.write_problem(plain, tmp_path / "ours.gconfid")
    ours, theirs = (
        pd.read_csv(folder / "outcell.csv") for folder in (tmp_path / "ours.gconfid", THEIRS)
    )
    assert set(ours.columns) < set(theirs.columns)
    sensitive = theirs.Status == "S"
    assert (ours.Sensitivity[sensitive] == theirs.Sensitivity[sensitive]).all()
    for column in ("CellId", "TotalVar", "Status", "Type", "TotalNoise"):
        assert (ours[column] == theirs[column]).all()


def spoilt(tmp_path, name: str, old: str, new: str) -> Path:
    folder = tmp_path / "spoilt"
    shutil.copytree(THEIRS, folder)
    path = folder / f"{name}.csv"
    path.chmod(0o600)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return folder


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("outcell", "Sensitivity", "Sense", "column 'Sensitivity' is missing"),
        ("outcell", ",18.0,S,", ",x,S,", "row 1: Sensitivity is 'x', which is no number"),
        ("outcell", ",18.0,S,", ",18.0,Q,", "row 1: Status is 'Q'"),
        ("outcell", ",18.0,S,", ",18.0,P,", "row 1: the cell is sensitive, but its status P"),
        ("outcell", ",18.0,S,C", ",18.0,S,B", "row 1: Type is 'B'"),
        ("outcell", "2.0,0.0", "1.0,0.0", "CellId 1 is given twice"),
        ("outconstraint", "1.0,11.0", "1.0,99.0", "row 1: outcell has no cell 99.0"),
        ("outconstraint", "1.0,11.0,1.0", "1.0,11.0,2.0", "does not hold|not add up|off by"),
    ],
)
def test_what_is_wrong_is_named_with_table_and_row(tmp_path, name, old, new, message):
    with pytest.raises(tc.InputError, match=message):
        tc.read_problem(spoilt(tmp_path, name, old, new))


def test_a_sensitivity_counts_more_than_a_letter_as_in_g_confid(tmp_path):
    safe = tc.read_problem(spoilt(tmp_path, "outcell", ",18.0,S,", ",-18.0,S,"))
    assert safe.status[0] == "s"
    hidden = tc.read_problem(spoilt(tmp_path / "2", "outcell", ",-61.0,V,", ",-61.0,X,"))
    assert hidden.status[2] == "m"


def test_groups_that_were_protected_one_by_one_are_one_table_here(problem, tmp_path):
    """BY variables stand in front, and name aggregates, too."""
    folder = tmp_path / "by"
    folder.mkdir()
    parts = {name: [] for name in TABLES}
    for number, group in enumerate(("turnover", "wages")):
        for name in TABLES:
            frame = pd.read_csv(THEIRS / f"{name}.csv", dtype={"region": str, "branch": str})
            for column, step in (("CellId", 20), ("ConstraintId", 12)):
                if column in frame:
                    frame[column] += number * step
            frame.insert(0, "Question", group)
            parts[name].append(frame)
    for name in TABLES:
        pd.concat(parts[name]).to_csv(folder / f"{name}.csv", index=False)
    both = tc.read_problem(folder)
    assert list(both.table.keys.columns) == ["Question", "region", "branch"]
    assert (both.table.n_cells, both.n_sensitive) == (40, 16)
    assert int(both.table.rests.sum()) == 8
    assert both.table.n_relations == 2 * problem.table.n_relations
    assert tc.audit(both, folder / "outsuppress.csv").is_safe
    tc.write_problem(both, tmp_path / "back.gconfid")
    assert contents(tmp_path / "back.gconfid") == contents(folder)


def test_a_pattern_alone_holds_the_cells_as_well(problem, tmp_path):
    for name in ("outsuppress", "outconstraint"):
        shutil.copy(THEIRS / f"{name}.csv", tmp_path)
    back = tc.read_problem(tmp_path)
    assert back.table.keys.equals(problem.table.keys)
    assert np.array_equal(back.upper_protection, problem.upper_protection)


def test_amounts_never_become_codes(tmp_path):
    folder = tmp_path / "cost"
    shutil.copytree(THEIRS, folder)
    path = folder / "outcell.csv"
    path.chmod(0o600)
    cells = pd.read_csv(path, dtype=str)
    cells.assign(Cost=cells.TotalVar.astype(float) + 0.5).to_csv(path, index=False)
    problem = tc.read_problem(folder)
    assert list(problem.table.keys.columns) == ["region", "branch"]
    assert "Cost" in gconfid_tables(problem).cells.columns


def test_tables_of_sas_are_read_as_those_in_csv(problem, tmp_path, monkeypatch):
    for name in TABLES:
        (tmp_path / f"{name}.sas7bdat").write_bytes(b"a table of SAS")

    def read(path: Path, encoding: str) -> pd.DataFrame:
        # pandas reads numbers as doubles, and empty text as missing.
        return pd.read_csv(THEIRS / f"{path.stem}.csv", dtype={"region": str, "branch": str})

    monkeypatch.setattr(pd, "read_sas", read)
    back = tc.read_problem(tmp_path)
    assert back.table.keys.equals(problem.table.keys)
    for name in ("status", "upper_protection", "weights"):
        assert np.array_equal(getattr(back, name), getattr(problem, name))


def test_the_command_writes_a_pattern_into_the_folder(problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hidden = str(THEIRS / "outsuppress.csv")
    done = CliRunner().invoke(app, ["convert", str(THEIRS), "out.gconfid", "--pattern", hidden])
    assert done.exit_code == 0, done.output
    written = pd.read_csv("out.gconfid/outsuppress.csv")
    assert written.OutStatus.tolist() == pd.read_csv(hidden).OutStatus.tolist()
    assert (tmp_path / "out.gconfid" / "outcell.csv").read_bytes() == (
        THEIRS / "outcell.csv"
    ).read_bytes()
