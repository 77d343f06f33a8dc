"""``tablecloak reconcile``, as a user types it."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture
def noisy(tmp_path):
    frame = pd.DataFrame({"a": ["Total", "x", "y"], "count": [12, 4, 5], "var": [1.0, 2.0, 2.0]})
    frame.assign(kept=[True, False, False]).to_csv(tmp_path / "noisy.csv", index=False)
    return tmp_path / "noisy.csv"


def _run(noisy, *more):
    words = ["reconcile", str(noisy), "-o", str(noisy.with_name("out.csv")), "--by", "a"]
    return RUN.invoke(app, [*words, "--value", "count", *more])


def test_the_written_table_adds_up_in_whole_numbers(noisy):
    result = _run(noisy, "--variance", "var", "--lower", "0", "--whole")
    assert result.exit_code == 0, result.output
    assert "reconciled (L2, whole numbers): 3 cells" in result.output
    values = pd.read_csv(noisy.with_name("out.csv")).set_index("a")["count"]
    assert values["Total"] == values["x"] + values["y"]


def test_fixed_cells_are_chosen_by_a_column(noisy):
    assert _run(noisy, "--fixed", "kept", "--distance", "L1").exit_code == 0
    values = pd.read_csv(noisy.with_name("out.csv")).set_index("a")["count"]
    assert values["Total"] == 12 == values["x"] + values["y"]


def test_a_contradiction_writes_nothing(noisy):
    frame = pd.read_csv(noisy)
    frame.assign(kept=True).to_csv(noisy, index=False)
    result = _run(noisy, "--fixed", "kept")
    assert result.exit_code == 2
    assert "(a=Total), (a=x), (a=y) contradict each other" in result.output
    assert not noisy.with_name("out.csv").exists()


def test_help_lists_the_distances(noisy):
    text = " ".join(RUN.invoke(app, ["reconcile", "--help"]).output.split())
    for word in ("L1", "L2", "Linf", "--whole"):
        assert word in text


def test_codes_that_look_like_numbers_stay_as_they_are(noisy):
    text = "a,count\nTotal,12\n01,4\n02,5\n"
    noisy.write_text(text)
    assert _run(noisy).exit_code == 0
    written = pd.read_csv(noisy.with_name("out.csv"), dtype=str)
    assert written["a"].tolist() == ["Total", "01", "02"]
