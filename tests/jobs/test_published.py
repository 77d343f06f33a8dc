"""Jobs and commands that know what was published before."""

from __future__ import annotations

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.tables.keys import are_earlier

JOB = """\
[data]
file = "{file}"
value = "turnover"
contributor = "firm"
decimals = 0
[dimensions.region]
[dimensions.{other}]
{published}[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
hold = "off"
time_limit = 20
[output]
report = false
"""
PUBLISHED = """\
[[published]]
file = "first/release/suppression/table.csv"
problem = "first/internal/problem.csv"
name = "first"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two jobs on the same firms, one after the other."""
    folder = tmp_path_factory.mktemp("jobs")
    firms = tc.examples.firms(60, seed=2)
    firms.to_csv(folder / "firms.csv", index=False)
    for name, other, published in (("first", "industry", ""), ("second", "size", PUBLISHED)):
        text = JOB.format(file="firms.csv", other=other, published=published)
        (folder / f"{name}.toml").write_text(text)
        done = tc.run_job(folder / f"{name}.toml", folder / name)
        assert done.is_safe
    return folder


def test_a_job_protects_together_with_the_release_of_another(folder):
    release = pd.read_csv(folder / "second" / "release" / "suppression" / "table.csv")
    assert set(release["size"]) <= {"Total", "small", "medium", "large"}
    done = CliRunner().invoke(app, ["verify", *proof(folder / "second" / "internal")])
    assert done.exit_code == 0, done.output
    told = pd.read_csv(folder / "second" / "internal" / "suppression_published_before.csv")
    assert list(told.columns) == ["cell", "lower", "upper", "how"]


def proof(internal):
    return [str(internal / f"suppression_{name}") for name in ("certificate.npz", "problem.jj")]


def test_nothing_that_leaves_names_cells_of_earlier_releases(folder):
    for path in (folder / "second" / "release").rglob("*"):
        if path.is_file():
            assert b"earlier" not in path.read_bytes(), path


def test_commands_know_earlier_releases_too(folder, tmp_path):
    first, now = folder / "first", folder / "second" / "internal" / "problem.csv"
    table = first / "release" / "suppression" / "table.csv"
    known = ["--published", f"{table}={first / 'internal' / 'problem.csv'}"]
    out = tmp_path / "pattern.csv"
    done = CliRunner().invoke(app, ["suppress", str(now), "-o", str(out), "--verbose", *known])
    assert done.exit_code == 0, done.output
    assert "together with table" in done.output
    assert len(pd.read_csv(out)) == len(pd.read_csv(now))
    done = CliRunner().invoke(app, ["audit", str(now), str(out), *known])
    assert done.exit_code == 0, done.output


def test_a_release_of_another_period_has_no_cell_in_common(folder, tmp_path):
    problem = folder / "first" / "internal" / "problem.csv"
    release = folder / "first" / "release" / "suppression" / "table.csv"
    everything = tmp_path / "everything.csv"
    tc.read_problem(problem).table.to_frame().assign(status="published").to_csv(everything)
    exit_codes = []
    for period in ("", "=2024"):
        known = ["--published", f"{everything}={problem}{period}"]
        done = CliRunner().invoke(app, ["audit", str(problem), str(release), *known])
        exit_codes.append(done.exit_code)
    assert exit_codes == [1, 0]
    published = PUBLISHED.replace("first/release/suppression/table.csv", str(everything))
    (folder / "late.toml").write_text((folder / "first.toml").read_text() + published)
    (said,) = (line for line in tc.run_job(folder / "late.toml").report() if "Earlier" in line)
    n = tc.read_problem(problem).n_sensitive
    assert f"tell too much of {n} sensitive cells" in said


def test_two_releases_of_one_name_and_equations_without_releases_are_refused(folder, tmp_path):
    text = (folder / "second.toml").read_text()
    (folder / "twice.toml").write_text(text.replace(PUBLISHED, 2 * PUBLISHED))
    with pytest.raises(tc.InputError, match="two releases 'first'"):
        tc.run_job(folder / "twice.toml")
    (folder / "bare.toml").write_text('between = ["now = q1"]\n' + text.replace(PUBLISHED, ""))
    with pytest.raises(tc.InputError, match="between joins releases"):
        tc.run_job(folder / "bare.toml")


def test_an_earlier_release_may_be_rounded(folder, tmp_path):
    """A job and a command know what follows from the values and the base."""
    problem = tc.read_problem(folder / "first/internal/problem.csv")
    table, file = problem.table, tmp_path / "rounded.csv"
    table.keys.assign(value=50 * (table.values / 50).round()).to_csv(file, index=False)
    made = PUBLISHED.replace("first/release/suppression/table.csv", file.as_posix())
    made += 'made = "rounding:50"\n'
    text = JOB.format(file="firms.csv", other="size", published=made)
    (folder / "rounded.toml").write_text(text)
    told = tc.run_job(folder / "rounded.toml").pattern.problem
    earlier = are_earlier(told.table.keys)
    width = told.upper_bound[earlier] - told.lower_bound[earlier]
    assert len(width) == table.n_cells
    assert width.max() <= 50
    (folder / "rounded.toml").write_text(
        text.replace('problem = "first/internal/problem.csv"\n', "")
    )
    with pytest.raises(tc.InputError, match="Give the true table of that release"):
        tc.run_job(folder / "rounded.toml")
    now, out = folder / "second/internal/problem.csv", tmp_path / "pattern.csv"
    known = f"{file}={folder / 'first/internal/problem.csv'}==rounding:"
    codes = {}
    for base in (50, 7):
        words = ["suppress", str(now), "-o", str(out), "--published", f"{known}{base}"]
        codes[base] = CliRunner().invoke(app, words)
    assert codes[50].exit_code == 0, codes[50].output
    assert "Give the base that was used" in " ".join(codes[7].output.split())
