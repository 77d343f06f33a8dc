"""The commands on cell keys, as a user types them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from private import is_private
from tablecloak.cellkey import PERTURBATIONS
from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(1)
    pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(300)],
            "region": random.choice(list("NES"), 300),
            "sex": random.choice(["f", "m"], 300),
            "savings": random.integers(0, 5000, 300),
        }
    ).to_csv(tmp_path / "people.csv", index=False)
    assert _run("secret", tmp_path / "office.key").exit_code == 0
    keyed = ["people.csv", "-o", "keyed.csv", "--id", "person", "--secret", "office.key"]
    assert _run("keys", *_placed(tmp_path, keyed)).exit_code == 0
    assert _run("design", "-o", tmp_path / "ptable.csv", "--shuffle", 3).exit_code == 0
    return tmp_path


def _placed(folder, words):
    return [folder / word if "." in str(word) else word for word in words]


def _run(*words):
    return RUN.invoke(app, ["cellkey", *map(str, words)])


def _count(folder, *more):
    words = ["keyed.csv", "-o", "counts.csv", "--ptable", "ptable.csv", "--inside", "inside.csv"]
    return _run("count", *_placed(folder, words), "--by", "region", "--by", "sex", *more)


def test_counts_of_one_file_are_perturbed_and_the_truth_stays_inside(folder):
    result = _count(folder)
    assert result.exit_code == 0 and "Cell keys: 12 cells" in result.output
    released = pd.read_csv(folder / "counts.csv")
    inside = pd.read_csv(folder / "inside.csv")
    assert list(released.columns) == ["region", "sex", "count"]
    assert released["count"].tolist() == inside.perturbed.tolist()
    assert (inside.perturbed != inside.true_count).any()
    assert is_private(folder / "inside.csv")


def test_an_attack_on_the_written_table_holds_the_truth_in_its_intervals(folder):
    _count(folder)
    words = ["counts.csv", "--ptable", "ptable.csv", "-o", "intervals.csv"]
    result = _run("attack", *_placed(folder, words), "--by", "region", "--by", "sex")
    assert "of 12 published counts follow exactly" in result.output
    assert result.exit_code == (0 if " 0 of 12" in result.output else 1)
    found = pd.read_csv(folder / "intervals.csv").merge(pd.read_csv(folder / "inside.csv"))
    assert len(found) == 12
    assert found.true_count.between(found.lower, found.upper).all()


def test_sums_are_perturbed_by_a_table_with_steps(folder):
    from tablecloak.cellkey import design_magnitude_table, write_perturbations

    write_perturbations(design_magnitude_table(5, 2, [1, 3, 5]), folder / "sums.csv")
    words = ["keyed.csv", "savings", "-o", "savings.csv", "--ptable", "sums.csv"]
    by = ["--by", "sex", "--by", "region", "--epsilon", 1, "--epsilon", 0.5]
    result = _run("sum", *_placed(folder, words), *by)
    assert result.exit_code == 0, result.output
    released = pd.read_csv(folder / "savings.csv").set_index(["sex", "region"]).savings
    people = pd.read_csv(folder / "people.csv")
    true = people.groupby(["sex", "region"]).savings.sum()
    # The secret is drawn: one sum alone may stay as it is.
    changes = released[true.index] - true
    assert changes.abs().max() < 5000
    assert changes.any()
    assert abs(released["Total", "Total"] - people.savings.sum()) < 5000


def test_keys_are_never_replaced_by_others(folder):
    words = ["keyed.csv", "-o", "again.csv", "--id", "person"]
    result = _run("keys", *_placed(folder, words))
    assert result.exit_code == 2
    assert "has a column 'record_key' already" in result.output
    assert not (folder / "again.csv").exists()


def test_a_dimension_that_is_named_twice_is_refused(folder):
    result = _count(folder, "--by", "sex")
    assert result.exit_code == 2
    assert "--by sex: give each dimension once" in result.output


def test_a_kind_of_perturbation_registered_at_run_time_has_a_command():
    class Twice(PERTURBATIONS["counts"]):
        """Counts that are changed twice."""

        name = "counts-twice"
        command = ""

    assert "counts-twice" not in _run("--help").output
    with PERTURBATIONS.including(Twice):
        assert "counts-twice" in _run("--help").output
        assert "--ptable" in _run("counts-twice", "--help").output
