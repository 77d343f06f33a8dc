"""What leaves the house: no hidden value in any file, and nothing that depends on one."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.publish.leaks import find_leaks
from tablecloak.publish.publication import public_report, write_release
from tablecloak.publish.released_cells import read_release
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.leaving import NOT_LISTED, Leaving

FORMATS = ["csv", "parquet", "excel", "sdmx-csv", "json-stat", "px"]

TREE = {"town": tc.Hierarchy.flat(["a", "b"], "Total")}
ABOUT = {"measure": "sales", "unit": "EUR", "reading": "x is confidential", "method": "suppression"}


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


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", [tc.suppress, tc.adjust])
def test_no_file_of_a_release_holds_a_hidden_value(tmp_path, seed, method):
    problem = large_numbers(seed)
    found = method(problem, time_limit=5)
    files = write_release(found, tmp_path, title="Turnover 2026", formats=FORMATS)
    names = {path.name for path in files}
    tables = {f"table.{end}" for end in ("csv", "parquet", "xlsx", "sdmx.csv", "json", "px")}
    assert names == tables | {"about.json", "report.html"}
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
    # Some of these eight bytes are those of digits.
    odd = np.frombuffer(b"01234567"[:6] + b"\xf0\x40", dtype="<f8")[0]
    pd.DataFrame({"v": [1.5, odd]}).to_parquet(tmp_path / "g.parquet", compression="none")
    assert "eight bytes" in {leak.spelling for leak in find_leaks([tmp_path / "g.parquet"], [odd])}


def tell_readers(patch: pytest.MonkeyPatch, reading: str) -> None:
    """Let every pattern tell its readers something else than how to read it."""
    made = Leaving.of_pattern

    def of_pattern(*given):
        leaving = made(*given)
        return replace(leaving, method={**leaving.method, "reading": reading})

    patch.setattr(Leaving, "of_pattern", of_pattern)


@pytest.mark.parametrize("which", ["sensitive", "secondary"])
def test_a_hidden_value_among_the_codes_is_no_leak_but_in_a_name_it_is(
    tmp_path, monkeypatch, which
):
    """A secondary cell tells the sensitive ones as well: it is as secret as they are."""
    problem = large_numbers(1)
    pattern = tc.suppress(problem, time_limit=5)
    hidden = {"sensitive": problem.sensitive, "secondary": pattern.secondary}[which]
    value = problem.table.values[hidden][0]
    tell_readers(monkeypatch, f"{value:.0f}")
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


@pytest.mark.parametrize("seed", range(2))
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


def test_numbers_that_belong_to_the_formats_are_no_leaks(tmp_path):
    """Every value from 1,000 to 3,600 is hidden: years, places, lengths, colours among them."""
    n = 2600
    frame = pd.DataFrame({"a": [f"k{k}" for k in range(n)], "v": 1000 + np.arange(n)})
    table = tc.tabulate(frame, {"a": None}, "v", decimals=0)
    hidden = (table.keys.a != "Total").to_numpy()
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.full(table.n_cells, "s"), zero, zero, zero, zero, zero + 1e9, zero
    )
    pattern = tc.SuppressionPattern(
        problem, hidden, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0
    )
    files = write_release(pattern, tmp_path, title="T", formats=FORMATS)
    assert len(files) == len(FORMATS) + 2


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


def test_json_stat_tells_hidden_cells_from_those_that_no_table_has(tmp_path):
    """Linked tables: region by branch and region by size, with no cell of branch and size."""
    firms = tc.examples.firms(150, seed=3)
    tables = [
        tc.tabulate(firms, ["region", other], "turnover", contributor="firm")
        for other in ("industry", "size")
    ]
    problem = tc.link(*tables).protect(tc.PPercent(10))
    pattern = tc.suppress(problem, method="sequential")
    write_release(pattern, tmp_path, title="T", formats=["json-stat"])
    content = json.loads((tmp_path / "table.json").read_text())
    status, values = np.array(content["status"]), np.array(content["value"], dtype=float)
    assert ((status == "") == np.isfinite(values)).all()
    assert (status == "c").sum() == pattern.suppressed.sum() > 0
    assert (status == "m").sum() == len(status) - problem.table.n_cells > 0
    assert set(content["extension"]["status"]["label"]) == {"c", "m"}


def test_sdmx_json_stat_and_px_hold_the_published_values_and_flags(tmp_path):
    problem = large_numbers(2)
    pattern = tc.suppress(problem, time_limit=5)
    write_release(pattern, tmp_path, title="T", formats=["sdmx-csv", "json-stat", "px"])
    sdmx = pd.read_csv(tmp_path / "table.sdmx.csv", dtype=str)
    hidden = pattern.suppressed
    assert (sdmx["CONF_STATUS"] == np.where(hidden, "C", "F")).all()
    assert (sdmx["OBS_STATUS"] == np.where(hidden, "Q", "A")).all()
    assert sdmx["OBS_VALUE"].isna().equals(pd.Series(hidden))
    # What was written can be audited again.
    assert tc.audit(problem, tmp_path / "table.sdmx.csv").is_safe
    content = json.loads((tmp_path / "table.json").read_text())
    sizes, codes = content["size"], [
        content["dimension"][name]["category"]["index"] for name in content["id"]
    ]  # fmt: skip
    assert np.prod(sizes) == problem.table.n_cells
    for at, key in enumerate(itertools.product(*codes)):
        cell = problem.table.cell(**dict(zip(content["id"], key, strict=True)))
        if hidden[cell]:
            assert content["status"][at] == "c"
            assert content["value"][at] is None
        else:
            assert content["value"][at] == problem.table.values[cell]
    px = (tmp_path / "table.px").read_text()
    data = px.split("DATA=")[1].rstrip(";\n").split()
    assert data.count('".."') == hidden.sum()
    assert sum(float(entry) for entry in data if entry[0] != '"') == pytest.approx(
        problem.table.values[~hidden].sum()
    )


def test_no_text_of_a_csv_is_calculated_and_the_codes_come_back(tmp_path):
    codes = ["=1+1", "+A", "-B", "@SUM(A1)"]
    frame = pd.DataFrame({"a": codes, "b": "x", "v": [5.0, 7, 9, 11]})
    table = tc.tabulate(frame, ["a", "b"], "v")
    status = np.where((table.keys.a == "=1+1") & (table.keys.b == "x"), "u", "s")
    level = np.where(status == "u", 1.0, 0.0)
    zero = 0 * level
    problem = tc.ProtectionProblem(
        table, status, level, level, zero, zero, zero + 100, table.values
    )
    pattern = tc.suppress(problem)
    write_release(pattern, tmp_path)
    text = (tmp_path / "table.csv").read_text()
    assert "'=1+1" in text
    assert not re.search(r"(^|,)[=+@-]", text, re.M)
    assert tc.audit(problem, tmp_path / "table.csv").is_safe


def test_what_cannot_be_written_loses_nothing_and_says_so(tmp_path, monkeypatch):
    problem = random_problem(1)
    pattern = tc.suppress(problem)
    write_release(pattern, tmp_path / "out")
    before = (tmp_path / "out" / "table.csv").read_bytes()
    with pytest.raises(tc.InputError, match="no format|Unknown format 'xls'"):
        write_release(pattern, tmp_path / "out", formats=["xls"])

    # A full disk, in the middle of a file.
    def full(self, path, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(tc.InputError, match="No space left"):
        write_release(pattern, tmp_path / "out")
    assert (tmp_path / "out" / "table.csv").read_bytes() == before
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    with pytest.raises(tc.InputError, match="leads through the file"):
        write_release(pattern, tmp_path / "out" / "table.csv" / "below")


def firms_with_values(values: dict[str, float], **options) -> SuppressionPattern:
    """One dimension; all but the total is hidden."""
    frame = pd.DataFrame({"firm": list(values), "v": list(values.values())})
    table = tc.tabulate(frame, {"firm": None}, "v", decimals=0)
    hidden = (table.keys.firm != "Total").to_numpy()
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.where(hidden, "u", "s"), zero, zero, zero, zero, zero + 1e9, zero
    )
    return SuppressionPattern(problem, hidden, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0)


def test_numbers_of_the_structure_are_no_leaks(tmp_path):
    """2003 codes of firm beside hidden values near that number, and a page that shows all."""
    values = {f"f{at}": 10_000.0 + 7 * at for at in range(2000)} | {
        "f2000": 2001.0,
        "f2001": 2000.0,
    }
    files = write_release(firms_with_values(values), tmp_path, formats=FORMATS)
    assert len(files) == len(FORMATS) + 2
    page, _, about = (tmp_path / "report.html").read_text().rpartition("<table")
    assert page.count('<th scope="row"') == 2003 and "decimals" in about


def test_a_code_and_the_value_beside_it_are_not_one_number(tmp_path):
    """Code 47 and value 345 are not the hidden 47345, in any format."""
    frame = pd.DataFrame({"code": ["47", "48", "49"], "v": [345.0, 47345.0, 50000.0]})
    table = tc.tabulate(frame, {"code": None}, "v", decimals=0)
    hidden = table.keys.code.isin(["48", "49"]).to_numpy()
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.where(hidden, "u", "s"), zero, zero, zero, zero, zero + 1e9, zero
    )
    pattern = SuppressionPattern(
        problem, hidden, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0
    )
    assert len(write_release(pattern, tmp_path, formats=FORMATS)) == len(FORMATS) + 2
    # A field that holds both is still read, in a table and anywhere else.
    (tmp_path / "a.csv").write_text('x,"47 345"\n')
    (tmp_path / "b.txt").write_text("47,345\n")
    (tmp_path / "c.json").write_text('{"note": ["47,345"]}')
    (tmp_path / "d.csv").write_text('x,"47,345\n')
    leaks = find_leaks([tmp_path / name for name in ("a.csv", "b.txt", "c.json", "d.csv")], [47345])
    assert [leak.file.name for leak in leaks] == ["a.csv", "b.txt", "c.json", "d.csv"]


JOB = """\
title = "Turnover"
[data]
file = "data.csv"
value = "v"
decimals = 0
unit = "{unit}"
[dimensions.a]
[dimensions.b]
[[rules]]
rule = "manual"
cells = [{{a = "x", b = "p"}}]
[suppression]
"""


def test_a_withheld_release_does_not_lose_the_job(tmp_path):
    frame = pd.DataFrame(
        {"a": ["x", "x", "y", "y"], "b": ["p", "q"] * 2, "v": [1234.0, 4000, 5000, 8000]}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB.format(unit="1234 euros"))
    done = CliRunner().invoke(
        app, ["protect", str(tmp_path / "job.toml"), "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0  # The unit is published by the user's will.
    (tmp_path / "job.toml").write_text(JOB.format(unit="euros"))
    tc.run_job(tmp_path / "job.toml", tmp_path / "out2")
    assert (tmp_path / "out2/release/suppression/table.csv").exists()
    with pytest.MonkeyPatch.context() as patch:
        tell_readers(patch, "was 1,234")
        result = tc.run_job(tmp_path / "job.toml", tmp_path / "out2")
        done = CliRunner().invoke(
            app, ["protect", str(tmp_path / "job.toml"), "--out", str(tmp_path / "out3")]
        )
    assert done.exit_code == 1
    assert "WITHHELD" in done.output
    assert not result.is_safe
    assert list(result.withheld) == ["suppression"]
    assert result.audit("suppression").is_safe
    for out in (tmp_path / "out2", tmp_path / "out3"):
        # Nor does what an older job released stay beside this one.
        assert list((out / "release").iterdir()) == []
        kept = out / "internal/withheld/suppression/table.csv"
        assert is_private(kept)
        assert (out / "internal/suppression_certificate.npz").exists()
        assert (out / "internal/report.html").exists()


EVIL = '=HYPERLINK("http://x","y")'


def test_formulas_survive_nowhere_and_what_was_written_is_read_again(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame({EVIL: ["-1+1", "'=2", "plain"], "+b": "x", "v": [5.0, 7, 9]})
    table = tc.tabulate(frame, [EVIL, "+b"], "v")
    hidden = (table.keys[EVIL] == "-1+1").to_numpy() & (table.keys["+b"] == "x").to_numpy()
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(
        table, np.where(hidden, "u", "s"), zero, zero, zero, zero, zero + 1e9, zero
    )
    pattern = SuppressionPattern(
        problem, hidden, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0
    )
    write_release(pattern, tmp_path, formats=FORMATS)
    tc.write_problem(problem, tmp_path / "internal.csv")
    for path in tmp_path.glob("*.csv"):
        with path.open(newline="") as file:
            fields = [field for line in csv.reader(file) for field in line]
        assert not [f for f in fields if f[:1] in "=+-@" and f and not is_number(f)], path.name
    book = openpyxl.load_workbook(tmp_path / "table.xlsx")
    squares = [square for sheet in book for row in sheet.iter_rows() for square in row]
    assert EVIL in [square.value for square in squares]
    assert all(square.data_type != "f" for square in squares)
    again = tc.read_problem(tmp_path / "internal.csv")
    assert again.table.keys.equals(table.keys)
    for name in ("table.csv", "table.sdmx.csv"):
        suppressed, _ = read_release(problem, tmp_path / name)
        assert np.array_equal(suppressed, hidden)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("text", ["a\x1b[31mb", "\x9bx", "a\x07", "\x00", "a\x7f"])
def test_codes_that_steer_a_terminal_are_refused_and_never_printed(text):
    frame = pd.DataFrame({"a": [text, "y"], "v": [5.0, 7]})
    with pytest.raises(tc.InputError, match="control character") as error:
        tc.tabulate(frame, ["a"], "v")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", str(error.value))
    with pytest.raises(tc.InputError) as error:
        tc.tabulate(frame.rename(columns={"a": text}), [text], "missing")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", str(error.value))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", str(tc.InputError(f"code {text}")))


def test_dimensions_that_are_the_same_in_capitals_stay_apart_in_sdmx(tmp_path):
    frame = pd.DataFrame(
        {"a": ["x", "Total"], "A": ["p", "Total"], "obs_value": ["z", "Total"], "v": [5.0, 5.0]}
    )
    table = tc.Table.from_frame(frame, ["a", "A", "obs_value"], "v")
    hidden = np.zeros(table.n_cells, dtype=bool)
    zero = np.zeros(table.n_cells)
    problem = tc.ProtectionProblem(table, np.full(table.n_cells, "s"), *[zero] * 4, zero + 9, zero)
    pattern = SuppressionPattern(
        problem, hidden, tc.Requirement.TWO_SIDED, None, None, 0.0, "", 0.0
    )
    write_release(pattern, tmp_path, formats=["sdmx-csv"])
    header = (tmp_path / "table.sdmx.csv").read_text().splitlines()[0].split(",")
    assert header[1:4] == ["A", "A_2", "OBS_VALUE_2"]
    _, values = read_release(problem, tmp_path / "table.sdmx.csv")
    assert np.array_equal(values, table.values)


def test_a_release_without_any_value_tells_no_digits():
    frame = pd.DataFrame({"a": ["x", "y"], "v": [1.5, 2.25]})
    problem = tc.tabulate(frame, ["a"], "v").protect(tc.MinimumFrequency(5))
    assert Leaving.of_pattern(problem, np.array([False, True, True])).decimals == 2
    assert "decimals" not in Leaving.of_pattern(problem, np.ones(3, dtype=bool)).about("t")


def page(values, status=None, **about) -> str:
    frame = pd.DataFrame({"town": ["Total", "a", "b"], "sales": values})
    if status is not None:
        frame["status"] = status
    leaving = Leaving(frame, TREE, "sales", "EUR", 0, {}, [])
    return public_report("Sales <2020>", leaving, {**ABOUT, **about}).html()


def squares(text: str) -> list[str]:
    return re.findall(
        r"<td[^>]*>([^<]*)</td>", text.split("<tbody>")[1].split("</tbody>", maxsplit=1)[0]
    )


def test_hidden_cells_are_crosses_and_their_values_nowhere():
    text = page([30.0, None, None], ["published", "suppressed", "suppressed"])
    assert squares(text) == ["30", "x", "x"]
    assert "town=a: confidential" in text
    assert '<span class="suppressed">x: confidential, or protects others</span>' in text


def test_without_hidden_cells_nothing_is_called_confidential():
    text = page([30.0, 10.0, 20.0], reading="")
    assert "confidential" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(("decimals", "shown"), [(0, "1,235"), (1, "1,234.6"), (2, "1,234.56")])
def test_values_have_the_digits_that_are_declared(decimals, shown):
    assert squares(page([1234.56, 0, 1234.56], decimals=decimals))[0] == shown


def test_the_page_names_measure_unit_and_method_and_no_internal_word():
    text = page([30.0, 10.0, 20.0])
    assert "<h2>sales, EUR</h2>" in text
    assert "suppression" in text
    assert "Sales &lt;2020&gt;" in text
    for word in ("Internal", "primary", "secondary", "sensitive"):
        assert word not in text


def test_what_is_empty_is_not_told():
    text = page([30.0, 10.0, 20.0], unit="", source="")
    assert "<h2>sales</h2>" in text
    assert "<td>source</td>" not in text


def test_an_empty_cell_is_never_called_confidential_and_a_rounded_zero_is_told_from_it(tmp_path):
    firms = pd.DataFrame(
        {"region": ["N"] * 12 + ["S"] * 9, "size": ["big"] * 5 + ["small"] * 16, "n": [1] * 21}
    )
    firms = firms[~((firms.region == "S") & (firms["size"] == "big"))]
    firms = pd.concat([firms, pd.DataFrame({"region": ["W"], "size": ["small"], "n": [1]})])
    problem = tc.tabulate(firms, ["region", "size"]).protect(tc.MinimumFrequency(3))
    empty = f"{NOT_LISTED} empty (nobody contributes) or not part of"
    for name, release in (
        ("pattern", tc.suppress(problem)), ("rounded", tc.controlled_rounding(problem, base=5)),
        ("small", tc.small_count_rounding(problem, base=3)),
    ):  # fmt: skip
        write_release(release, tmp_path / name)
        told = json.loads((tmp_path / name / "about.json").read_text("utf-8"))["reading"]
        text = (tmp_path / name / "report.html").read_text("utf-8")
        assert empty in told and empty in text
        # Two regions have no big firm.
        assert text.count('<td class="none" title="empty (nobody contributes)') == 2
        assert ("a zero may stand for a small" in told) == (name != "pattern")
        assert ("confidential" in told) == (name == "pattern")


def test_a_release_that_its_verdict_calls_unsafe_is_written_to_a_private_folder_alone(tmp_path):
    problem = tc.tabulate(
        tc.examples.firms(60), ["region", "industry"], "turnover", contributor="firm", decimals=0
    ).protect(tc.PPercent(10))
    rounded = tc.controlled_rounding(problem, base=2)
    first = rounded.verdict().splitlines()[0]
    assert first.startswith("NOT SAFE")
    with pytest.raises(tc.VerificationError) as error:
        write_release(rounded, tmp_path / "out")
    assert str(error.value).startswith(first)
    assert "Nothing was written" in str(error.value) and "a larger base" in str(error.value)
    with pytest.raises(tc.VerificationError, match="NOT SAFE"):
        rounded.write(tmp_path / "table.csv")
    assert not list(tmp_path.iterdir())
    with pytest.raises(tc.VerificationError, match="Its files are in kept, inside"):
        write_release(rounded, tmp_path / "out", withheld=tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "kept").iterdir())


def test_a_release_that_leaves_insiders_open_is_written_with_a_warning(tmp_path, monkeypatch):
    pattern = tc.suppress(tc.examples.cox_rounded())
    monkeypatch.setattr(SuppressionPattern, "open_insiders", 2)
    with pytest.warns(tc.TablecloakWarning, match="NOT PROVED SAFE against 2 insiders"):
        write_release(pattern, tmp_path)


def test_a_format_is_suggested_by_the_ending_of_its_files(tmp_path):
    with pytest.raises(tc.InputError, match=r"'xlsx'\. Did you mean 'excel'"):
        write_release(tc.suppress(tc.examples.cox_rounded()), tmp_path, formats=["xlsx"])


def test_files_of_an_earlier_release_in_the_folder_are_named(tmp_path):
    pattern = tc.suppress(tc.examples.cox_rounded())
    (tmp_path / "notes.txt").write_text("mine")
    write_release(pattern, tmp_path, formats=["csv", "excel"])
    write_release(pattern, tmp_path, formats=["csv", "excel"])
    with pytest.warns(tc.TablecloakWarning, match=r"earlier .*: report\.html, table\.xlsx\."):
        write_release(pattern, tmp_path, report=False)
