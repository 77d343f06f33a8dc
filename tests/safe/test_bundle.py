"""The bundle: what SACRO-Viewer reads, with nothing in it that must stay."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections import defaultdict
from datetime import datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.errors import InputError
from tablecloak.safe import Outcome, Project, Reason
from tablecloak.safe.decisions import Bundle

SECRET = 91817161


@pytest.fixture
def project(tmp_path):
    """A table with a gap, one with two lines of headers, a plot, and an output without files."""
    project = Project({"safe_threshold": 5})
    table = pd.DataFrame(
        {"N": [120.0, np.nan], "S": [30.0, 44.0]}, index=pd.Index(["=1+1", "b"], name="kind")
    )
    found = table.astype(str).where(table.notna(), "threshold").replace(r"\d.*", "ok", regex=True)
    reason = Reason("fail", "threshold", "1 cell has fewer than 5 contributors", ("b, N",))
    project.record(
        "table",
        "crosstab(kind, region)",
        Outcome((reason,), ("1 cell is hidden",), found),
        frames=[table, table * 2],
        cells={"threshold": [[1, 0]]},
        properties={"method": "crosstab"},
    )
    columns = pd.MultiIndex.from_product([["N", "S"], [1, 2]], names=["region", "size"])
    rows = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")], names=["kind", "sort"])
    deep = pd.DataFrame([[1.5, 2, 3, np.nan], [5, 6, 7, 8]], index=rows, columns=columns)
    project.record("table", "pivot_table()", Outcome(), frames=[deep], cells={"p-ratio": [[0, 3]]})
    (tmp_path / "plot.png").write_bytes(b"\x89PNG picture")
    project.custom_output(tmp_path / "plot.png", "the plot of the paper")
    project.record("regression", "ols()", Outcome((Reason("fail", "threshold", "too few"),)))
    return project


def viewer(folder):
    """Do what SACRO-Viewer does on opening a folder, and check what it then shows.

    Restated from github.com/AI-SDC/SACRO-Viewer at 73690f0: `find_acro_metadata`, `ACROOutputs`
    (`sacro/models.py`), `check_version` (`sacro/versioning.py`, 0.4 in `sacro/settings.py`), and
    the fields that `sacro/templates/index.html` and `assets/src/scripts/_output-click.js` use.
    """
    assert not (folder / "outputs.json").exists()
    valid = []
    for path in folder.glob("*.json"):
        found = json.loads(path.read_text())
        results = found.get("results") if "version" in found else None
        if results is not None and all(
            each.get("files") and all("name" in file for file in each["files"])
            for each in results.values()
        ):
            valid.append(path)
    (path,) = valid
    opened = json.loads(path.read_text())
    assert [int(part) for part in opened["version"].split(".")[:2]] >= [0, 4]
    assert isinstance(json.loads((folder / "config.json").read_text()), dict)
    for uid, output in opened["results"].items():
        assert output["uid"] == uid
        assert output["status"] in ("pass", "review", "fail")
        for key in ("type", "summary", "command", "exception"):
            assert isinstance(output[key], str)
        assert isinstance(output["properties"]["method"], str)
        assert all(isinstance(comment, str) for comment in output["comments"])
        assert datetime.fromisoformat(output["timestamp"]).tzinfo
        for file in output["files"]:
            said = (folder / "checksums" / f"{file['name']}.txt").read_text(encoding="utf8")
            assert said == hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()
            file["index"] = defaultdict(list)
            for flag, places in file.get("sdc", {}).get("cells", {}).items():
                for x, y in places:
                    file["index"][f"{x},{y}"].append(flag)
    return opened["results"]


def test_the_viewer_opens_a_bundle_and_finds_every_checksum_right(project, tmp_path):
    results = viewer(project.finalise(tmp_path / "out"))
    assert list(results) == ["output_0", "output_1", "output_2", "output_3"]
    assert [each["status"] for each in results.values()] == ["fail", "pass", "review", "fail"]
    first = results["output_0"]
    assert [file["name"] for file in first["files"]] == ["output_0_0.csv", "output_0_1.csv"]
    assert first["summary"].split("; ")[0] == "fail"
    assert first["outcome"]["N"]["b"] == "threshold"
    assert first["files"][0]["sdc"]["summary"] == {"threshold": 1}
    assert first["files"][0]["index"] == {"1,0": ["threshold"]}
    assert first["files"][1]["index"] == {}
    keys = "uid status type properties files outcome command summary timestamp comments exception"
    for each in results.values():
        assert set(keys.split()) <= set(each)
        assert each["properties"]["method"]
    assert results["output_2"]["comments"] == ["the plot of the paper"]
    assert (tmp_path / "out" / "plot.png").read_bytes() == b"\x89PNG picture"


@pytest.mark.parametrize("output", ["output_0", "output_1"])
def test_the_squares_that_the_viewer_colours_are_the_gaps(project, tmp_path, output):
    """It colours line x + 1 after the first, and column y + 2 counted from 1."""
    folder = project.finalise(tmp_path / "out")
    file = viewer(folder)[output]["files"][0]
    lines = [line.split(",") for line in (folder / file["name"]).read_text().splitlines()][1:]
    coloured = {tuple(map(int, place.split(","))) for place in file["index"]}
    assert coloured
    for x, y in coloured:
        assert lines[x][y + 1] == ""


def test_gaps_are_empty_and_text_is_no_formula(project, tmp_path):
    folder = project.finalise(tmp_path / "out")
    assert (folder / "output_0_0.csv").read_text() == "kind,N,S\n'=1+1,120,30\nb,,44\n"


def test_the_names_of_keys_are_no_formulas_either(tmp_path):
    project = Project()
    rows = pd.Index(["a", "b"], name='=HYPERLINK("x")')
    deep = pd.MultiIndex.from_product([["N"], [1, 2]], names=["+size", "sort"])
    for columns in (pd.Index(["N", "S"], name="@kind"), deep):
        frame = pd.DataFrame([[20, 30], [40, 50]], index=rows, columns=columns)
        project.record("table", "crosstab()", Outcome(), frames=[frame])
    folder = project.finalise(tmp_path / "out")
    for path in folder.glob("*.csv"):
        for entry in path.read_text().replace("\n", ",").split(","):
            assert not entry.strip('"').startswith(("=", "+", "@")), (path.name, entry)


def test_every_file_of_the_bundle_has_a_checksum(project, tmp_path):
    folder = project.finalise(tmp_path / "out", "xlsx")
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert {"results.json", "checks.json", "config.json", "results.xlsx"} < names
    assert {path.name for path in (folder / "checksums").iterdir()} == {f"{n}.txt" for n in names}
    for name in names:
        digits = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        assert (folder / "checksums" / f"{name}.txt").read_text() == digits
    checks = json.loads((folder / "checks.json").read_text())
    assert checks["appetite"]["safe_threshold"] == 5
    assert checks["outputs"]["output_0"]["reasons"][0]["cells"] == ["b, N"]
    assert json.loads((folder / "config.json").read_text())["safe_threshold"] == 5


def test_the_workbook_has_a_sheet_for_each_output_with_figures(project, tmp_path):
    project.rename_output("output_1", "a name that is longer than the thirty-one of Excel")
    folder = project.finalise(tmp_path / "out", "xlsx")
    book = openpyxl.load_workbook(folder / "results.xlsx")
    assert book.sheetnames == ["description", "output_0", "a name that is longer than the "]
    cells = [cell.value for row in book["output_0"].iter_rows() for cell in row]
    assert 120 in cells
    assert "'=1+1" in cells
    assert not any(cell.data_type == "f" for row in book["output_0"].iter_rows() for cell in row)


def test_what_is_kept_for_later_audits_is_in_no_file(tmp_path):
    """Values behind gaps and places of records are known to the project and stay there."""
    from scipy import sparse

    from tablecloak.safe.output import Figures

    project = Project()
    figures = Figures(
        np.array([SECRET]), np.array([0]), sparse.csr_array(np.eye(1)), ("a",), np.array([7.5e11])
    )
    hidden = pd.DataFrame({"N": [np.nan], "S": [7.0]}, index=["a"])
    project.record("table", "crosstab()", Outcome(), frames=[hidden], figures=[figures])
    folder = project.finalise(tmp_path / "out", "xlsx")
    for path in folder.rglob("*"):
        content = b""
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as archive:
                content = b"".join(map(archive.read, archive.namelist()))
        elif path.is_file():
            content = path.read_bytes()
        for secret in (str(SECRET), "7.5e+11", "750000000000"):
            assert secret.encode() not in content


def test_a_bundle_is_not_written_over_unless_asked_for(project, tmp_path):
    folder = project.finalise(tmp_path / "out")
    before = (folder / "results.json").read_bytes()
    with pytest.raises(InputError, match="out exists already: choose another folder"):
        project.finalise(folder)
    project.remove_output("output_1")
    project.remove_output("output_2")
    project.finalise(folder, overwrite=True)
    assert (folder / "results.json").read_bytes() != before
    # Nothing of the older bundle is left over, unchecked.
    assert not (folder / "plot.png").exists()
    assert not (folder / "output_1_0.csv").exists()
    assert len(list((folder / "checksums").iterdir())) == len(list(folder.iterdir())) - 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("notes.txt", "what is not of a bundle"), ("decisions.json", "has decisions of a checker")],
)
def test_a_folder_with_other_things_is_never_replaced(project, tmp_path, name, message):
    folder = project.finalise(tmp_path / "out")
    (folder / name).write_text("{}")
    with pytest.raises(InputError, match=message):
        project.finalise(folder, overwrite=True)
    assert (folder / name).exists()


def test_a_bundle_that_fails_leaves_nothing_behind(project, tmp_path):
    (tmp_path / "plot.png").unlink()
    with pytest.raises(InputError, match="is not there any more"):
        project.finalise(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["drawing.SVG", "graph.gph"])
def test_files_of_blocked_kinds_are_refused(tmp_path, name):
    (tmp_path / name).write_text("drawing")
    with pytest.raises(InputError, match="may not leave.*blocked_extensions"):
        Project().custom_output(tmp_path / name)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "c:\\d", "ends."])
def test_names_that_lead_out_of_the_bundle_are_refused(project, name):
    with pytest.raises(InputError, match="cannot be the name of a file"):
        project.rename_output("output_0", name)


def test_two_files_of_one_name_are_both_there(tmp_path):
    project = Project()
    for part in "ab":
        (tmp_path / part).mkdir()
        (tmp_path / part / "plot.png").write_text(part)
        project.custom_output(tmp_path / part / "plot.png")
    folder = project.finalise(tmp_path / "out")
    assert (folder / "plot.png").read_text() == "a"
    assert (folder / "output_1_plot.png").read_text() == "b"


def test_a_project_without_outputs_and_an_unknown_form_are_refused(project, tmp_path):
    with pytest.raises(InputError, match="no outputs"):
        Project().finalise(tmp_path / "out")
    with pytest.raises(InputError, match="choose 'json' or 'xlsx'"):
        project.finalise(tmp_path / "out", "pdf")


def test_exceptions_are_asked_for_where_an_output_did_not_pass(project, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or "for the paper")
    folder = project.finalise(tmp_path / "out", interactive=True)
    told = json.loads((folder / "checks.json").read_text())["outputs"]
    assert [each["exception"] for each in told.values()] == [
        "for the paper", "", "for the paper", "for the paper"
    ]  # fmt: skip
    assert len(asked) == 3


def test_outputs_are_printed_with_their_reasons(project, capsys):
    told = project.print_outputs()
    assert "fail (threshold): 1 cell has fewer than 5 contributors" in told
    assert told in capsys.readouterr().out


def test_a_researcher_reads_what_a_checker_decided_and_wrote(project, tmp_path):
    bundle = Bundle(project.finalise(tmp_path / "b1"))
    first, second = list(bundle.outputs)[:2]
    bundle.decide(first, "rejected", comment="give p95 instead", who="Ada")
    bundle.decide(second, comment="which year?", who="Ada")
    bundle.write()
    told = project.print_outputs()
    assert "checker: rejected, Ada: give p95 instead. It is left out of further bundles" in told
    assert "checker: not decided yet, Ada: which year?" in told


def test_nothing_is_released_into_the_bundle_and_nothing_at_all_is_said(project, tmp_path):
    folder = project.finalise(tmp_path / "b1")
    bundle = Bundle(folder)
    for name in bundle.outputs:
        bundle.decide(name, "rejected")
    bundle.write()
    inside = CliRunner().invoke(app, ["safe", "check", str(folder), "--release", f"{folder}/out"])
    assert inside.exit_code == 2 and "lies in the bundle" in inside.output
    outside = CliRunner().invoke(app, ["safe", "check", str(folder), "--release", f"{tmp_path}/o"])
    assert outside.exit_code == 0 and "no output is approved" in outside.output


def test_why_a_figure_is_hidden_does_not_tell_how_few_stand_behind_it(tmp_path):
    """A histogram without three records, beside one of all: the bin they were in is hidden."""
    ages = pd.Series(np.repeat([25.0, 35.0, 45.0], 40), name="age")
    project = Project()
    project.histogram(ages, bins=[20, 30, 40, 50])
    project.histogram(ages.drop(index=[0, 1, 2]), bins=[20, 30, 40, 50])
    second = project.output("output_1")
    assert second.cells["differencing"]
    project.finalise(tmp_path / "bundle", "json")
    said = [path.read_text("utf-8") for path in (tmp_path / "bundle").glob("*.json")]
    assert any("together with output_0" in text for text in said)
    assert not any("3 contributors" in text for text in said)
