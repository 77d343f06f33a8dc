"""File formats: reading and writing lose nothing."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.tables.formats import read_frame, write_frame

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
