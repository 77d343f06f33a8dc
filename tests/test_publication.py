"""What leaves the house: no hidden value in any file, and nothing that depends on one."""

from __future__ import annotations

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import tablecloak as tc
from random_tables import random_problem
from tablecloak.leaks import find_leaks
from tablecloak.publication import write_release

FORMATS = ["csv", "parquet", "excel"]


def large_numbers(seed: int) -> tc.ProtectionProblem:
    """A table whose values are too long to occur by chance."""
    problem = random_problem(seed, (4, 5), 4)
    table = problem.table
    scaled = tc.Table(
        table.keys, 7919 * table.values, table.relations, table.right_hand_side, table.hierarchies
    )
    return tc.ProtectionProblem(
        table=scaled,
        status=problem.status,
        lower_protection=7919 * problem.lower_protection,
        upper_protection=7919 * problem.upper_protection,
        sliding_protection=problem.sliding_protection,
        lower_bound=problem.lower_bound,
        upper_bound=7919 * problem.upper_bound,
        weights=scaled.values,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", [tc.suppress, tc.adjust])
def test_no_file_of_a_release_holds_a_hidden_value(tmp_path, seed, method):
    problem = large_numbers(seed)
    found = method(problem, time_limit=5)
    files = write_release(found, tmp_path, title="Turnover 2026", formats=FORMATS)
    names = {path.name for path in files}
    assert names == {"table.csv", "table.parquet", "table.xlsx", "about.json", "report.html"}
    if method is tc.suppress:
        hidden, shown = found.suppressed, problem.table.values[~found.suppressed]
    else:
        hidden, shown = problem.sensitive, found.values
    values = problem.table.values[hidden]
    assert len(values) >= 4
    assert find_leaks([tmp_path], values, shown.tolist()) == []
    # The search is not blind: it sees published values in every file with the table.
    seen = find_leaks([tmp_path], shown[-3:], problem.table.keys.to_numpy().ravel())
    assert {leak.file.name for leak in seen} == names - {"about.json"}


SECRET = 1234567.0
SEEDED = [
    "1234567", "1,234,567", "1.234.567", "1 234 567", "1\u202f234\u202f567", "1'234'567",
    "1234567.0", "1234567,00", "1.234567e6", "1.234567E+06", "a,1234567,b", '{"x":1234567}',
    'data-x="1234567"', "-1234567", "12, 1234567, 13", "<v>1234567</v>",
]  # fmt: skip


@pytest.mark.parametrize("text", SEEDED)
def test_a_seeded_leak_is_found_in_any_spelling(tmp_path, text):
    (tmp_path / "page.html").write_text(f"<script>var x = [{text}];</script>", encoding="utf-8")
    leaks = find_leaks([tmp_path], [SECRET, 8765432.0])
    assert {leak.value for leak in leaks} == {SECRET}
    assert "1234567" not in str(leaks[0])
    assert find_leaks([tmp_path], [SECRET], [1234567]) == []


def test_a_seeded_leak_is_found_in_archives_metadata_and_bytes(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/comments.xml", "<t>was 1234567</t>")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"1234567"))
    frame = pd.DataFrame({"v": [1.0, SECRET, 2.0]})
    frame.to_parquet(tmp_path / "c.parquet", compression="none")
    import pyarrow as pa
    import pyarrow.parquet as pq

    noted = pa.table({"v": [1.0]}).replace_schema_metadata({"note": "dropped 1234567"})
    pq.write_table(noted, tmp_path / "d.parquet")
    (tmp_path / "e.bin").write_bytes(b"abc\0" + np.float64(SECRET).tobytes())
    (tmp_path / "f.csv").write_text("21234567,12345678,0.1234567,1234568\n")
    found = find_leaks([tmp_path], [SECRET])
    assert {leak.file.name for leak in found} == {
        "a.xlsx", "b.gz", "c.parquet", "d.parquet", "e.bin",
    }  # fmt: skip
    assert "metadata note" in {leak.part for leak in found}


def test_a_hidden_value_among_the_codes_is_no_leak_but_in_a_name_it_is(tmp_path, monkeypatch):
    problem = large_numbers(1)
    pattern = tc.suppress(problem, time_limit=5)
    value = problem.table.values[problem.sensitive][0]
    from tablecloak import publication

    original = publication._method
    monkeypatch.setattr(
        publication, "_method", lambda f: {**original(f), "reading": f"{value:.0f}"}
    )
    with pytest.raises(tc.VerificationError, match="hidden value was found") as error:
        write_release(pattern, tmp_path, formats=FORMATS)
    assert f"{value:.0f}" not in str(error.value)
    assert not list(tmp_path.iterdir())


def another_table(problem: tc.ProtectionProblem, hidden: np.ndarray, seed: int) -> np.ndarray:
    """Other whole numbers in the hidden cells that fit all that is published."""
    random = np.random.default_rng(seed)
    a, relations = problem.table.values, problem.table.relations
    found = milp(
        random.normal(size=len(a)),
        constraints=LinearConstraint(relations, relations @ a, relations @ a),
        bounds=Bounds(np.where(hidden, 0, a), np.where(hidden, problem.upper_bound, a)),
        integrality=np.ones(len(a)),
    )
    return np.rint(found.x)


@pytest.mark.parametrize("seed", range(3))
def test_a_release_does_not_depend_on_hidden_values(tmp_path, seed):
    """Two truths with the same published cells give the same files, to the last byte."""
    problem = random_problem(seed, (4, 5), 4)
    pattern = tc.suppress(problem, time_limit=5)
    other = another_table(problem, pattern.suppressed, seed)
    assert np.any(other != problem.table.values)
    folders = []
    for number, values in enumerate((problem.table.values, other)):
        table = tc.Table(
            problem.table.keys,
            values,
            problem.table.relations,
            problem.table.right_hand_side,
            problem.table.hierarchies,
        )
        same = tc.ProtectionProblem(
            table=table,
            status=problem.status,
            lower_protection=0 * values,
            upper_protection=0 * values,
            sliding_protection=0 * values,
            lower_bound=problem.lower_bound,
            upper_bound=np.maximum(problem.upper_bound, values),
            weights=values,
        )
        released = tc.SuppressionPattern(
            same, pattern.suppressed, pattern.requirement, pattern.certificate, None, 0.0, "", 0.0
        )
        folders.append(tmp_path / str(number))
        write_release(released, folders[-1], formats=FORMATS)
    for path in sorted(folders[0].iterdir()):
        one, two = path.read_bytes(), (folders[1] / path.name).read_bytes()
        if path.suffix == ".xlsx":
            assert workbook(path) == workbook(folders[1] / path.name)
        else:
            assert one == two, path.name


def workbook(path) -> dict[str, bytes]:
    """Contents of a workbook but for the time of writing."""
    with zipfile.ZipFile(path) as archive:
        return {n: archive.read(n) for n in archive.namelist() if n != "docProps/core.xml"}


def test_excel_shows_statuses_as_styles_and_calculates_nothing(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    codes = ["=1+1", "+A", "-B", "@SUM(A1)"]
    table = tc.tabulate(pd.DataFrame({"a": codes, "b": "x", "v": [5.0, 7, 9, 11]}), ["a", "b"], "v")
    status = np.where((table.keys.a == "=1+1") & (table.keys.b == "x"), "u", "s")
    level = np.where(status == "u", 1.0, 0.0)
    problem = tc.ProtectionProblem(
        table, status, level, level, 0 * level, 0 * level, 0 * level + 100, table.values
    )
    pattern = tc.suppress(problem)
    write_release(pattern, tmp_path, formats=["excel"])
    sheet = openpyxl.load_workbook(tmp_path / "table.xlsx")["table"]
    rows = list(sheet.iter_rows(min_row=2))
    assert {row[0].value for row in rows} == {*codes, "Total"}
    assert all(square.data_type != "f" for row in rows for square in row)
    grey = [row for row in rows if row[2].fill.fill_type == "solid"]
    assert len(grey) == pattern.suppressed.sum()
    assert {row[2].value for row in grey} == {"x"}
