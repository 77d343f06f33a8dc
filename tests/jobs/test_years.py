"""Several years of one table in one plan: each year beside the releases of those before it."""

from __future__ import annotations

import itertools
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from ratio_systems import Printed, exposed
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job

YEARS = ["2023", "2024", "2025"]

JOB = """title = "Sales"
[publication]
metadata = "metadata.csv"
field_column = "year"
fields = "in order"
[data]
file = "panel.csv"
contributor = "firm"
[[rules]]
rule = "p-percent"
p = 15
[[derived]]
figure = "growth"
variable = "sales"
since = "previous"
[[derived]]
figure = "index"
variable = "sales"
base = "2023"
decimals = 0
[suppression]
method = "sequential"
time_limit = 0.3
hold = "off"
[output]
report = false
"""

METADATA = "table_name,field,indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("years")
    random = np.random.default_rng(3)
    rows = []
    for firm, (region, industry) in enumerate(itertools.product("NSWNSW", "ABCABCABC")):
        size = float(np.exp(random.normal(4, 1.8)))
        for year in YEARS:
            sales = round(size * random.uniform(0.9, 1.2)) + 1
            rows.append((year, f"f{firm}", region, industry, sales))
    columns = ["year", "firm", "region", "industry", "sales"]
    pd.DataFrame(rows, columns=columns).to_csv(place / "panel.csv", index=False)
    lines = "".join(f"T{year},{year},sales,region,,industry,\n" for year in YEARS)
    (place / "metadata.csv").write_text(METADATA + lines)
    (place / "job.toml").write_text(JOB)
    return place


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    result = tc.run_publication(folder / "job.toml", out)
    assert result.is_safe, result.summary()
    return out


def exposed_by(problems, hidden, figures) -> list[int]:
    """Sensitive cells that all tables and printed figures of all years expose."""
    bare = tc.join(problems)
    n, values = len(hidden) // len(YEARS), bare.table.values
    printed = []
    for row in figures.itertuples():
        number = YEARS.index(row.year)
        cell = problems[row.year].table.cell(region=row.region, industry=row.industry)
        before, terms = (0, (0, 100, 0)) if "index" in row.figure else (number - 1, (1, 100, -100))
        printed.append(Printed.of(values, number * n + cell, before * n + cell, *terms))
        assert np.isnan(row.value) or float(printed[-1].value) == pytest.approx(row.value)
    return exposed(bare, hidden, printed)


def released(out, name) -> pd.DataFrame:
    """A file of the releases of all years that have it."""
    files = {year: out / f"{year}.sales/release/suppression/{name}" for year in YEARS}
    frames = [pd.read_csv(path).assign(year=year) for year, path in files.items() if path.exists()]
    return pd.concat(frames, ignore_index=True)


def test_years_in_order_withstand_a_reader_of_all_releases_and_years_apart_do_not(folder, done):
    problems = {y: tc.read_problem(done / f"{y}.sales/internal/problem.csv") for y in YEARS}
    alone = [tc.suppress(each, method="sequential", time_limit=0.3) for each in problems.values()]
    apart = np.concatenate([pattern.suppressed for pattern in alone])
    figures, table = released(done, "figures.csv"), released(done, "table.csv")
    assert figures.groupby(["year", "figure"]).ngroups == 4
    assert len(exposed_by(problems, apart, figures)) >= 2
    cells = [problems[row.year].table.cell(region=row.region, industry=row.industry)
             + YEARS.index(row.year) * len(table) // 3 for row in table.itertuples()]  # fmt: skip
    hidden = np.zeros(len(table), dtype=bool)
    hidden[cells] = table.status == "suppressed"
    shown = figures[figures.status == "published"]
    assert len(shown) >= 30
    assert exposed_by(problems, hidden, shown) == []


def test_a_year_stands_or_fails_with_the_release_before_it(folder, done):
    read_in_2025 = done / "2024.sales/internal/suppression_statuses.csv"
    before = read_in_2025.read_bytes()
    shutil.rmtree(done / "2024.sales")
    again = tc.run_publication(folder / "job.toml", done)
    has_changed = read_in_2025.read_bytes() != before
    assert [each.has_failed for each in again.outcomes.values()] == [False, False, has_changed]
    assert again.is_safe is not has_changed


def test_a_year_whose_earlier_one_fails_says_so(folder, tmp_path):
    records = pd.read_csv(folder / "panel.csv")
    for name in ("metadata.csv", "job.toml"):
        (tmp_path / name).write_text((folder / name).read_text())
    records[records.year > 2023].to_csv(tmp_path / "panel.csv", index=False)
    with pytest.raises(tc.InputError, match="reads the results of 2023.sales"):
        tc.run_publication(tmp_path / "job.toml", tmp_path / "out")


def test_planned_jobs_name_the_release_before_and_the_figures_that_compare_with_it(
    folder, tmp_path
):
    planned = CliRunner().invoke(app, ["plan", str(folder / "job.toml"), "-o", str(tmp_path)])
    assert planned.exit_code == 0, planned.output
    jobs = [read_job(tmp_path / f"jobs/{year}.sales.toml") for year in YEARS]
    assert [len(job.published) for job in jobs] == [0, 1, 1]
    assert [[getattr(f, f.compared_with) for f in job.derived] for job in jobs] == [
        [], ["2023", "2023"], ["2024", "2023"],
    ]  # fmt: skip
    (before,) = jobs[2].published
    assert before.problem.resolve() == tmp_path / "2024.sales/internal/suppression_problem.csv"


def test_years_together_are_variables_of_one_problem_with_their_figures(folder, tmp_path):
    text = (folder / "job.toml").read_text().replace('"in order"', '"together"')
    text += '[[derived]]\nfigure = "share"\nvariable = "sales"\nof = "region"\n'
    (folder / "together.toml").write_text(text)
    done = tc.run_publication(folder / "together.toml", tmp_path)
    assert done.is_safe, done.summary()
    assert list(done.outcomes) == ["sales"]
    figures = pd.read_csv(tmp_path / "sales/release/suppression/figures.csv")
    assert sorted(figures.figure.unique()) == [
        "growth of sales 2024 since sales 2023", "growth of sales 2025 since sales 2024",
        "index of sales 2024, sales 2023 = 100", "index of sales 2025, sales 2023 = 100",
        *(f"sales {year} in % of region" for year in YEARS),
    ]  # fmt: skip
    problem = tc.read_problem(tmp_path / "sales/internal/problem.csv")
    table = pd.read_csv(tmp_path / "sales/release/suppression/table.csv")
    assert set(table.variable) == {f"sales {year}" for year in YEARS}
    assert problem.n_sensitive >= 4


def test_a_release_stays_as_it_is_when_a_later_year_comes_and_is_told_where_it_cannot(
    folder, tmp_path
):
    # Readers keep the first release: another one of the same values beside it would disclose.
    panel = pd.read_csv(folder / "panel.csv").query("industry != 'C'")
    lines = (folder / "metadata.csv").read_text()

    def run(years, records, weights):
        records[records.year <= int(years[-1])].to_csv(tmp_path / "panel.csv", index=False)
        kept = [line for line in lines.splitlines() if line[1:5] in ("able", *years)]
        (tmp_path / "metadata.csv").write_text("\n".join(kept) + "\n")
        job = JOB.replace("[suppression]", f'[suppression]\nweights = "{weights}"')
        (tmp_path / "job.toml").write_text(job)
        return tc.run_publication(tmp_path / "job.toml", tmp_path / "out").outcomes

    def are_new(*args):
        return [outcome.is_new for outcome in run(*args).values()]

    assert are_new(YEARS[:1], panel, "value") == [True]
    assert are_new(YEARS[:2], panel, "unit") == [False, True]
    revised = panel.assign(sales=panel.sales + (panel.year == 2024))
    released = (tmp_path / "out/2024.sales/release/suppression/table.csv").read_bytes()
    refused = run(YEARS[:2], revised, "unit")["2024.sales"]
    assert refused.has_failed and "If it has not left, delete its folder" in refused.message
    assert (tmp_path / "out/2024.sales/release/suppression/table.csv").read_bytes() == released
    shutil.rmtree(tmp_path / "out/2024.sales")
    assert are_new(YEARS[:2], revised, "unit") == [False, True]
