"""Commands for microdata, as a user types them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture
def people(tmp_path):
    random = np.random.default_rng(4)
    n = 200
    frame = pd.DataFrame(
        {
            "region": random.choice(["01", "02"], n),
            "sex": random.choice(["m", "f"], n),
            "age": random.choice(["young", "old", "middle"], n),
            "wage": random.lognormal(8, 0.4, n).round(2),
            "hours": random.normal(38, 5, n).round(1),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path


def text(path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str)


def test_swap_keeps_margins_and_leading_zeros(people, tmp_path):
    output = tmp_path / "swapped.csv"
    command = ["swap", str(people), "-o", str(output), "--attribute", "age", "--rate", "0.2"]
    done = RUN.invoke(app, [*command, "--equal-on", "region", "--key", "age", "--key", "sex"])
    assert done.exit_code == 0, done.output
    assert "40 of 200 records in pairs (20 %)" in done.output
    before, after = text(people), text(output)
    others = ["region", "sex", "wage", "hours"]
    assert before[others].equals(after[others])
    assert before.groupby(["region", "age"]).size().equals(after.groupby(["region", "age"]).size())
    assert (before.age != after.age).any()


def test_pram_names_its_guarantee(people, tmp_path):
    output = tmp_path / "released.csv"
    command = ["pram", str(people), "-o", str(output), "--key", "age", "--key", "sex"]
    done = RUN.invoke(app, [*command, "--block", "region", "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert "guarantee: 0.75" in done.output
    assert text(output).region.equals(text(people).region)
    refused = RUN.invoke(app, [*command, "--xi", "0.2"])
    assert refused.exit_code != 0
    assert "between 3/7 and 1" in refused.output


def test_noise_and_neighbours(people, tmp_path):
    output = tmp_path / "masked.parquet"
    command = ["noise", str(people), "-o", str(output), "--column", "wage", "--share", "0.1"]
    done = RUN.invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "variances grow by 10 %" in done.output
    assert (pd.read_parquet(output).wage != pd.read_csv(people).wage).all()
    output = tmp_path / "masked.csv"
    command = ["neighbours", str(people), "-o", str(output), "--eps", "0.8", "--column", "wage"]
    done = RUN.invoke(app, [*command, "--column", "sex", "--weight", "sex=0.1"])
    assert done.exit_code == 0, done.output
    assert "200 of 200 records masked" in done.output
    assert set(pd.read_csv(output).wage) <= set(pd.read_csv(people).wage)
    wrong = RUN.invoke(app, [*command, "--weight", "wage"])
    assert wrong.exit_code != 0
    assert "must look like sex=0.2" in wrong.output


def test_nothing_is_written_if_the_method_refuses(people, tmp_path):
    output = tmp_path / "swapped.csv"
    command = ["swap", str(people), "-o", str(output), "--attribute", "sex", "--rate", "1"]
    done = RUN.invoke(app, [*command, "--must-change", "all"])
    assert done.exit_code != 0
    assert "The highest rate is" in done.output
    assert not output.exists()


@pytest.mark.parametrize(
    "command",
    [
        ["swap", "--attribute", "age", "--rate", "0.2", "--key", "sex", "--key", "age"],
        ["pram", "--key", "age", "--key", "sex"],
        ["noise", "--column", "wage", "--column", "hours", "--share", "0.1"],
        ["neighbours", "--eps", "1.5", "--column", "wage", "--column", "hours"],
    ],
)
def test_a_report_is_one_file_that_fetches_nothing_and_is_private(people, tmp_path, command):
    output, report = tmp_path / "out.csv", tmp_path / "report.html"
    name, *options = command
    more = ["-o", str(output), "--report", str(report), "--seed", "918273645"]
    done = RUN.invoke(app, [name, str(people), *more, *options])
    assert done.exit_code == 0, done.output
    page = report.read_text()
    assert report.stat().st_mode & 0o077 == 0
    assert "918273645" not in page
    for place in re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", page):
        assert place.startswith(("#", "data:"))
    assert not re.search(r"@import|<script|<link|url\(\s*['\"]?http", page)
    before, after = pd.read_csv(people), pd.read_csv(output)
    assert f"{before['wage'].mean():.6g}" in page
    assert f"{after['wage'].mean():.6g}" in page


def test_households_are_swapped_by_command(tmp_path):
    random = np.random.default_rng(2)
    home = np.repeat(np.arange(150), 2)
    frame = pd.DataFrame({"home": home, "state": random.integers(1, 3, 150)[home]})
    frame["town"] = random.integers(1, 4, 150)[home]
    frame["job"] = random.choice(list("abcdefghij"), 300)
    frame.to_csv(tmp_path / "census.csv", index=False)
    command = ["swap-households", str(tmp_path / "census.csv"), "-o", str(tmp_path / "out.csv")]
    command += ["--hierarchy", "state", "--hierarchy", "town", "--household", "home"]
    done = RUN.invoke(app, [*command, "--risk", "job", "--report", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert "households in pairs" in done.output
    after = pd.read_csv(tmp_path / "out.csv")
    assert after[["home", "job"]].equals(frame[["home", "job"]])
    assert not after["town"].equals(frame["town"])
