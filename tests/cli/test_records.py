"""Commands for microdata, as a user types them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from private import is_private
from tablecloak.cli.main import app


def run(words):
    return CliRunner().invoke(app, ["records", *words])


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
    command += ["--keep-order"]
    done = run([*command, "--equal-on", "region", "--key", "age", "--key", "sex"])
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
    command += ["--keep-order"]
    done = run([*command, "--block", "region", "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert "guarantee: 0.75" in done.output
    assert text(output).region.equals(text(people).region)
    refused = run([*command, "--xi", "0.2"])
    assert refused.exit_code != 0
    assert "between 3/7 and 1" in refused.output


@pytest.mark.parametrize("invariant", [[], ["--invariant"]])
def test_a_matrix_stands_in_the_report(people, tmp_path, invariant):
    output, report, matrix = (tmp_path / name for name in ("out.csv", "out.html", "matrix.csv"))
    matrix.write_text("0.8,0.1,0.1\n0.1,0.8,0.1\n0.1,0.1,0.8\n", encoding="utf-8")
    command = ["pram-by-matrix", str(people), "-o", str(output), "--attribute", "age"]
    done = run([*command, "--matrix", str(matrix), "--report", str(report), *invariant])
    assert done.exit_code == 0, done.output
    assert "0.8" in report.read_text(encoding="utf-8")


def test_noise_and_neighbours(people, tmp_path):
    output = tmp_path / "masked.parquet"
    command = ["noise", str(people), "-o", str(output), "--column", "wage", "--share", "0.1"]
    done = run(command)
    assert done.exit_code == 0, done.output
    assert "variances grow by 10 %" in done.output
    assert (pd.read_parquet(output).wage != pd.read_csv(people).wage).all()
    output = tmp_path / "masked.csv"
    command = ["neighbours", str(people), "-o", str(output), "--eps", "0.8", "--column", "wage"]
    done = run([*command, "--column", "sex", "--weight", "sex=0.1"])
    assert done.exit_code == 0, done.output
    assert "200 of 200 records masked" in done.output
    assert set(pd.read_csv(output).wage) <= set(pd.read_csv(people).wage)
    wrong = run([*command, "--weight", "wage"])
    assert wrong.exit_code != 0
    assert "must look like sex=0.2" in wrong.output


def test_nothing_is_written_if_the_method_refuses(people, tmp_path):
    output = tmp_path / "swapped.csv"
    command = ["swap", str(people), "-o", str(output), "--attribute", "sex", "--rate", "1"]
    done = run([*command, "--must-change", "all"])
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
    done = run([name, str(people), *more, *options])
    assert done.exit_code == 0, done.output
    page = report.read_text()
    assert is_private(report)
    assert "918273645" not in page
    for place in re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", page):
        assert place.startswith(("#", "data:"))
    assert not re.search(r"@import|<script|<link|url\(\s*['\"]?http", page)
    before, after = pd.read_csv(people), pd.read_csv(output)
    assert f"{before['wage'].mean():,.6g}" in page
    assert f"{after['wage'].mean():,.6g}" in page


def test_households_are_swapped_by_command(tmp_path):
    random = np.random.default_rng(2)
    home = np.repeat(np.arange(150), 2)
    frame = pd.DataFrame({"home": home, "state": random.integers(1, 3, 150)[home]})
    frame["town"] = random.integers(1, 4, 150)[home]
    frame["job"] = random.choice(list("abcdefghij"), 300)
    frame.to_csv(tmp_path / "census.csv", index=False)
    command = ["swap-households", str(tmp_path / "census.csv"), "-o", str(tmp_path / "out.csv")]
    command += ["--keep-order"]
    command += ["--hierarchy", "state", "--hierarchy", "town", "--household", "home"]
    done = run([*command, "--risk", "job", "--report", str(tmp_path / "page.html")])
    assert done.exit_code == 0, done.output
    assert "households in pairs" in done.output
    after = pd.read_csv(tmp_path / "out.csv")
    assert after[["home", "job"]].equals(frame[["home", "job"]])
    assert not after["town"].equals(frame["town"])


def in_order(tmp_path, **columns) -> pd.DataFrame:
    """Records sorted by age, some of them swapped by hand."""
    random = np.random.default_rng(7)
    n = 400
    frame = pd.DataFrame(
        {"age": np.sort(random.integers(18, 90, n)), "sex": random.choice(["m", "f"], n)}
    ).assign(wage=random.lognormal(8, 0.4, n).round(2), **columns)
    frame.to_csv(tmp_path / "sorted.csv", index=False)
    return frame


SWAP = ["--attribute", "age", "--rate", "0.2", "--key", "sex", "--key", "age"]


def out_of_place(ages) -> int:
    """Records whose age lies outside those of their neighbours: what a reader of the file sees."""
    middle = ages[1:-1]
    return int(np.sum((middle < ages[:-2]) & (middle < ages[2:])
                      | (middle > ages[:-2]) & (middle > ages[2:])))  # fmt: skip


@pytest.mark.parametrize("piece", [50, 200_000])
def test_swapped_ages_of_a_sorted_file_do_not_stand_out(tmp_path, piece, monkeypatch):
    from tablecloak.tables.formats import files

    monkeypatch.setattr(files, "PIECE", piece)
    frame = in_order(tmp_path)
    output = tmp_path / "out.csv"
    command = ["swap", str(tmp_path / "sorted.csv"), "-o", str(output), *SWAP, "--seed", "3"]
    done = run(command)
    assert done.exit_code == 0, done.output
    after = pd.read_csv(output)
    # In random order a third of the records on either side lie outside their neighbours.
    assert out_of_place(after.age.to_numpy()) > 0.5 * len(frame)
    kept = frame.sort_values(["wage", "sex"])[["sex", "wage"]]
    found = after.sort_values(["wage", "sex"])[["sex", "wage"]]
    assert np.array_equal(kept.to_numpy(), found.to_numpy())
    assert sorted(after.age) == sorted(frame.age)
    first = output.read_bytes()
    assert run(command).exit_code == 0
    assert output.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("words", [["swap", *SWAP], ["noise", "--column", "age", "--share", "0.1"]])
def test_the_order_of_a_sorted_file_is_not_kept(tmp_path, words):
    in_order(tmp_path)
    output = tmp_path / "out.csv"
    command = [words[0], str(tmp_path / "sorted.csv"), "-o", str(output), *words[1:]]
    refused = run([*command, "--keep-order"])
    assert refused.exit_code == 2
    assert "'age' is sorted in the file" in " ".join(refused.output.split())
    assert not output.exists()


def test_a_column_that_numbers_the_records_of_a_sorted_file_is_refused(tmp_path):
    in_order(tmp_path, number=np.arange(400), name=[f"p{n}" for n in range(400)])
    output = tmp_path / "out.csv"
    refused = run(["swap", str(tmp_path / "sorted.csv"), "-o", str(output), *SWAP])
    assert refused.exit_code == 2
    assert "'number' numbers the records" in " ".join(refused.output.split())
    assert not output.exists()


def test_households_sorted_by_place_are_refused_if_their_numbers_tell_the_order(tmp_path):
    random = np.random.default_rng(2)
    home = np.repeat(np.arange(150), 2)
    frame = pd.DataFrame({"home": home, "town": np.sort(random.integers(1, 9, 150))[home]})
    frame["job"] = random.choice(list("abcdefghij"), 300)
    path = tmp_path / "census.csv"
    frame.to_csv(path, index=False)
    command = ["swap-households", str(path), "-o", str(tmp_path / "out.csv"), "--hierarchy", "town"]
    command += ["--household", "home", "--risk", "job"]
    refused = run(command)
    assert refused.exit_code == 2
    assert "'home' numbers the records" in " ".join(refused.output.split())
    frame.assign(home=random.permutation(150)[home]).to_csv(path, index=False)
    assert run(command).exit_code == 0


@pytest.mark.parametrize("entry", ["inf", "-inf", "1e400"])
def test_one_infinite_value_is_refused_and_named(people, tmp_path, entry):
    frame = text(people)
    frame.loc[6, "wage"] = entry
    frame.to_csv(people, index=False)
    command = ["noise", str(people), "-o", str(tmp_path / "out.csv"), "--column", "wage"]
    done = run([*command, "--share", "0.1"])
    assert done.exit_code == 2
    assert "'wage' has an infinite value in row 8" in " ".join(done.output.split())
    assert not (tmp_path / "out.csv").exists()


def test_the_report_of_a_command_knows_its_sensitive_attribute(people, tmp_path):
    output, report = tmp_path / "out.csv", tmp_path / "out.html"
    command = ["local-suppression", str(people), "-o", str(output), "--key", "age", "--key", "sex"]
    done = run([*command, "--sensitive", "region", "--diversity", "2", "--report", str(report)])
    assert done.exit_code == 0, done.output
    assert "no sensitive attribute is named" not in report.read_text(encoding="utf-8")
