"""File formats: reading and writing lose nothing."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.formats import (
    files,
    read_columns,
    read_frame,
    replace_columns,
    write_frame,
)

ARRAYS = (
    "status",
    "lower_protection",
    "upper_protection",
    "sliding_protection",
    "lower_bound",
    "upper_bound",
    "weights",
)


def assert_same(one: tc.ProtectionProblem, other: tc.ProtectionProblem) -> None:
    assert np.array_equal(one.table.values, other.table.values)
    assert np.array_equal(one.table.right_hand_side, other.table.right_hand_side)
    assert (one.table.relations != other.table.relations).nnz == 0
    for name in ARRAYS:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("name", ["targus", "table8", "osorio", "table7", "hier13x7x7d"])
def test_castros_files_come_back_with_the_same_numbers(instances, tmp_path, name):
    path = instances / f"castro-cta-jj/{name}.jj.gz"
    problem = tc.read_jj(path)
    tc.write_jj(problem, tmp_path / "back.jj.gz")
    assert_same(problem, tc.read_jj(tmp_path / "back.jj.gz"))
    header = gzip.decompress(path.read_bytes()).split(maxsplit=2)
    assert int(header[1]) == problem.table.n_cells


def right_hand_sides(path) -> list[str]:
    """First word of each relation of a JJ file."""
    text = path.read_bytes()
    lines = (gzip.decompress(text) if path.suffix == ".gz" else text).decode().splitlines()
    return [line.split()[0] for line in lines[int(lines[1]) + 3 :] if line.strip()]


@pytest.mark.parametrize("name", ["targus", "table8", "osorio", "hier13x7x7d"])
def test_right_hand_sides_of_castros_files_are_written_as_they_were(instances, tmp_path, name):
    path = instances / f"castro-cta-jj/{name}.jj.gz"
    tc.write_jj(tc.read_jj(path), tmp_path / "back.jj")
    found, given = right_hand_sides(tmp_path / "back.jj"), right_hand_sides(path)
    assert list(map(float, found)) == list(map(float, given))


@pytest.mark.parametrize("right_hand_side", ["0", "12", "-0.5", "1e-9"])
def test_dust_of_decimal_sums_is_not_written_as_a_right_hand_side(tmp_path, right_hand_side):
    random = np.random.default_rng(4)
    for digits in range(1, 5):
        parts = np.round(random.lognormal(8, 3, 30), digits)
        total = round(float(np.sum(parts)) - float(right_hand_side), digits + 9)
        lines = [f"{at} {value!r} 1 s -1e15 1e15 0 0 0" for at, value in
                 enumerate([total, *parts.tolist()])]  # fmt: skip
        ends = " ".join(f"{at} (1)" for at in range(1, 31))
        text = "\n".join(["0", "31", *lines, "1", f"{right_hand_side} 31 : 0 (-1) {ends}"])
        (tmp_path / "a.jj").write_text(text + "\n")
        problem = tc.read_jj(tmp_path / "a.jj")
        tc.write_jj(problem, tmp_path / "b.jj")
        (found,) = right_hand_sides(tmp_path / "b.jj")
        # A number as small as the dust of these sums cannot be told from 0.
        assert float(found) == pytest.approx(float(right_hand_side), abs=2e-9)
        if right_hand_side != "1e-9":
            assert found == right_hand_side
        assert_same(problem, tc.read_jj(tmp_path / "b.jj"))


@pytest.mark.parametrize("name", ["p.jj", "p.jj.gz", "p.csv", "p.parquet"])
def test_awkward_numbers_survive_every_format(tmp_path, name):
    values = np.array([1 / 3 + 1e9, 1 / 3, 1e9])
    table = tc.Table(
        keys=pd.DataFrame({"cell": ["0", "1", "2"]}),
        values=values,
        relations=np.array([[-1.0, 1.0, 1.0]]),
        right_hand_side=np.zeros(1),
    )
    problem = tc.ProtectionProblem(
        table=table,
        status=np.array(["s", "u", "z"]),
        lower_protection=np.array([0, 0.1, 0]),
        upper_protection=np.array([0, 2 / 3, 0]),
        sliding_protection=np.zeros(3),
        lower_bound=np.array([-1e-5, -np.pi, 0]),
        upper_bound=np.array([1e12, 7.25, 1e10]),
        weights=np.array([0.1, 1e-7, 3]),
    )
    tc.write_problem(problem, tmp_path / name)
    assert_same(problem, tc.read_problem(tmp_path / name))


def test_codes_capacities_and_reasons_survive_csv(tmp_path):
    frame = pd.DataFrame({"d": ["01", "02", "02"], "v": [5.0, 6.0, 7.0]})
    problem = tc.tabulate(frame, ["d"], "v").protect(tc.MinimumFrequency(2))
    problem = problem.with_changes(capacity_up=np.array([1.0, np.inf, 2.5]))
    tc.write_problem(problem, tmp_path / "p.csv")
    back = tc.read_problem(tmp_path / "p.csv")
    assert_same(problem, back)
    assert back.table.keys["d"].tolist() == ["Total", "01", "02"]
    assert back.reasons.tolist() == ["", "minimum-frequency", ""]
    assert np.array_equal(back.capacity_up, problem.capacity_up)


def test_writing_replaces_only_complete_files(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(AttributeError):
        write_frame("no frame", path)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_frame_with_text_columns_keeps_them_as_text(tmp_path):
    write_frame(pd.DataFrame({"cell": ["007"], "value": [7]}), tmp_path / "f.csv")
    assert read_frame(tmp_path / "f.csv", ("cell",))["cell"].tolist() == ["007"]


SMALL_JJ = """0
3
0 30 30 s 0 60 0 0 0
1 12 12 u 0 60 3 3 0
2 18 18 s 0 60 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""


def jj(tmp_path, text: str) -> tc.ProtectionProblem:
    (tmp_path / "p.jj").write_text(text)
    return tc.read_jj(tmp_path / "p.jj")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1 (1)", "1 (1e999)", r"line 7: the coefficient of cell 1 in relation 0 is '1e999'"),
        ("1 (1)", "1 (1_0)", r"line 7: the coefficient of cell 1 in relation 0 is '1_0'"),
        ("0 3 :", "1e400 3 :", r"line 7: the right-hand side of relation 0 of 1 is '1e400'"),
        ("1 12 12", "2 12 12", r"line 4: expected the cell with index 1, found '2'"),
        ("1 (1)", "01 (1)", r"line 7: relation 0 names the cell '01'"),
        ("1 (1)", "-1 (1)", r"line 7: relation 0 names the cell '-1'"),
        ("1 (1)", f"{2**64} (1)", r"line 7: relation 0 names the cell '18446744073709551616'"),
        ("2 (1)\n", "2 (1)\nrest\n", r"line 8: the file goes on with 'rest'"),
        ("\n1\n0 3", "\n1000000000\n0 3", "1000000000 relations are announced"),
        ("0 3 :", "0 1000000000 :", "the file ends in the middle of relation 0"),
        ("\n3\n", "\n1000000000\n", "the file ends in the middle of cell"),
        ("12 12 u", "nan 12 u", r"line 4: value of cell 1 is 'nan'"),
        ("12 12 u", "1_2 12 u", r"line 4: value of cell 1 is '1_2'"),
        ("0 60 3 3", "nan 60 3 3", r"line 4: lb of cell 1 is 'nan'"),
        ("0 60 3 3", "0 60 inf 3", r"line 4: lpl of cell 1 is 'inf'"),
    ],
)  # fmt: skip
def test_jj_file_that_is_not_one_is_refused_where_it_is_wrong(tmp_path, old, new, message):
    assert old in SMALL_JJ
    with pytest.raises(tc.InputError, match=message):
        jj(tmp_path, SMALL_JJ.replace(old, new, 1))


def test_jj_file_may_have_infinite_bounds(tmp_path):
    problem = jj(tmp_path, SMALL_JJ.replace("0 60 3", "-inf inf 3"))
    assert problem.upper_bound[1] == np.inf == -problem.lower_bound[1]


def test_cell_that_is_listed_twice_in_a_relation_counts_with_the_sum_of_the_decimals(tmp_path):
    twice = "0 6 : 0 (-1) 2 (0.1) 1 (1) 2 (0.2) 2 (0.7) 1 (0)"
    problem = jj(tmp_path, SMALL_JJ.replace("0 3 : 0 (-1) 1 (1) 2 (1)", twice))
    assert problem.table.relations.toarray().tolist() == [[-1.0, 1.0, 1.0]]
    gone = "0 6 : 0 (-1) 1 (1) 2 (1) 2 (0.1) 2 (0.2) 2 (-0.3)"
    problem = jj(tmp_path, SMALL_JJ.replace("0 3 : 0 (-1) 1 (1) 2 (1)", gone))
    assert problem.table.relations.toarray().tolist() == [[-1.0, 1.0, 1.0]]
    tc.write_problem(problem, tmp_path / "p.csv")
    rows = (tmp_path / "p.relations.csv").read_text().replace("0,2,1.0,", "0,2,0.1,").splitlines()
    rows += ["0,2,0.2,0.0", "0,2,0.7,0.0", "0,1,0.0,0.0"]
    (tmp_path / "p.relations.csv").write_text("\n".join(rows) + "\n")
    assert_same(problem, tc.read_problem(tmp_path / "p.csv"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0,1,1.0,0.0", "0,1,nan,0.0", "line 3: coefficient is missing or infinite"),
        ("0,1,1.0,0.0", "0,1,1e400,0.0", "line 3: coefficient is missing or infinite"),
        ("0,1,1.0,0.0", "0,1,1.0,nan", "line 3: right_hand_side is missing or infinite"),
        (
            "0,1,1.0,0.0",
            "0,1,1.0,7.0",
            "line 3: relation 0 has the right-hand side 7, but 0 before",
        ),
        ("0,1,1.0,0.0", "1000000000,1,1.0,0.0", "line 3: there is no relation 1e\\+09; .* 0 to 1"),
        ("0,1,1.0,0.0", "-1,1,1.0,0.0", "line 3: there is no relation -1"),
        ("0,1,1.0,0.0", "0.5,1,1.0,0.0", "line 3: there is no relation 0.5"),
        ("0,1,1.0,0.0", "0,3,1.0,0.0", "line 3: there is no cell 3"),
        ("0,1,1.0,0.0", "0,1,one,0.0", "line 3: coefficient is 'one'"),
        ("0,1,1.0,0.0", "0,1,1.0,0.0,5", "line 3: it has 5 entries, but the header names 4"),
        ("0,2,1.0,0.0\n", "0,2,1.0,0.0\nrest\n", "line 5: relation is 'rest'"),
    ],
)
def test_csv_relations_that_are_wrong_are_refused_in_their_row(tmp_path, old, new, message):
    tc.write_problem(jj(tmp_path, SMALL_JJ), tmp_path / "p.csv")
    text = (tmp_path / "p.relations.csv").read_text()
    assert old in text
    (tmp_path / "p.relations.csv").write_text(text.replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        tc.read_problem(tmp_path / "p.csv")


def test_csv_whose_rows_are_longer_than_its_header_is_refused(tmp_path):
    """Otherwise the first column would be taken for row names, and all others move by one."""
    tc.write_problem(jj(tmp_path, SMALL_JJ), tmp_path / "p.csv")
    head, *rows = (tmp_path / "p.relations.csv").read_text().splitlines()
    (tmp_path / "p.relations.csv").write_text("\n".join([head, *(f"9,{row}" for row in rows)]))
    with pytest.raises(tc.InputError, match="more entries than its header"):
        tc.read_problem(tmp_path / "p.csv")


def test_csv_cells_in_another_order_than_their_numbers_are_refused(tmp_path):
    """Relations name cells by their row: in another order they would mean other cells."""
    tc.write_problem(jj(tmp_path, SMALL_JJ), tmp_path / "p.csv")
    head, first, second, third = (tmp_path / "p.csv").read_text().splitlines()
    (tmp_path / "p.csv").write_text("\n".join([head, first, third, second]) + "\n")
    with pytest.raises(tc.InputError, match="line 3: it holds cell 2, but relations number"):
        tc.read_problem(tmp_path / "p.csv")


def test_relation_without_cells_leaves_no_gap_in_a_csv(tmp_path):
    text = SMALL_JJ.replace("\n1\n0 3", "\n3\n0 0 :\n0 3").replace("2 (1)\n", "2 (1)\n0 0 :\n")
    problem = jj(tmp_path, text)
    assert problem.table.n_relations == 3
    tc.write_problem(problem, tmp_path / "p.csv")
    assert tc.read_problem(tmp_path / "p.csv").table.n_relations == 1


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
    monkeypatch.setattr(files, "PIECE", 5)
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


def test_a_problem_that_a_spreadsheet_of_western_europe_saved_is_read_as_before(tmp_path):
    tc.examples.files.write("cells", tmp_path)
    path = tmp_path / "cells.csv"
    before = tc.read_problem(path)
    for each in tmp_path.glob("cells*.csv"):
        frame = pd.read_csv(each).rename(columns={"region": "région"})
        frame.to_csv(each, sep=";", decimal=",", encoding="cp1252", index=False)
    found = tc.read_problem(path)
    assert "région" in found.table.keys
    assert_same(before, found)
