"""Derived figures as they leave: from patterns, from changed values, and from whole jobs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from ratio_systems import exposed, random_system, table_of
from tablecloak.certificates import verifier
from tablecloak.protection import Product
from tablecloak.publish.figures import covered_figures, lacking_figures
from tablecloak.publish.publication import write_release
from tablecloak.publish.released_cells import read_published
from tablecloak.tables.figures.figure import FIGURES
from tablecloak.tables.keys import are_derived

RATIO = tc.Ratio("turnover / employees", decimals=1)


@pytest.fixture(scope="module")
def business() -> tc.ProtectionProblem:
    records = tc.examples.businesses()
    return tc.join(
        {
            name: tc.tabulate(
                records, ["region", "industry"], name, contributor="business"
            ).protect(tc.PPercent(10))
            for name in ("turnover", "employees")
        }
    )


def values_of(frame: pd.DataFrame, name: str, column: str) -> pd.Series:
    rows = frame[frame["variable"] == name]
    return rows.set_index(["region", "industry"])[column].astype(float)


def test_figures_beside_a_pattern_are_published_where_the_pattern_says_so(business):
    problem = tc.with_derived(business, [RATIO])
    pattern = tc.suppress(problem, method="sequential", time_limit=1)
    figures = tc.released_figures(pattern)
    hidden = pattern.suppressed[are_derived(problem.table.keys)]
    assert (figures["status"] == "suppressed").sum() == hidden.sum() > 0
    assert np.array_equal(figures["value"].isna(), figures["status"] == "suppressed")
    shown = figures[figures["status"] == "published"].set_index(["region", "industry"])["value"]
    true = problem.table.to_frame()
    ratio = values_of(true, "turnover", "value") / values_of(true, "employees", "value")
    assert np.all(np.abs(shown - ratio.loc[shown.index]) <= 0.05 + 1e-9)
    # The table itself has no rows for them.
    assert len(pattern.release()) == business.table.n_cells


def test_cells_whose_denominator_is_0_are_named():
    both = tc.join({"turnover": tc.examples.cox_rounded(), "staff": tc.examples.cox_rounded()})
    problem = tc.with_derived(both, [tc.Ratio("turnover / staff")])
    (said,) = lacking_figures(problem.table)
    assert said.startswith("turnover / staff: 5 do not exist, since their denominator is 0: varia")


def test_figures_beside_adjusted_values_are_those_of_the_adjusted_values(business):
    adjusted = tc.adjust(business, time_limit=1)
    figures = tc.released_figures(adjusted, [RATIO]).set_index(["region", "industry"])["value"]
    release = adjusted.release()
    name = business.table.name
    ratio = values_of(release, "turnover", name) / values_of(release, "employees", name)
    assert np.all(np.abs(figures - ratio.loc[figures.index]) <= 0.05 + 1e-9)


def test_figures_that_were_not_protected_are_refused_beside_a_pattern(business):
    pattern = tc.suppress(business, method="sequential", time_limit=0.5)
    with pytest.raises(tc.InputError, match="not protected together"):
        tc.released_figures(pattern, [RATIO])
    with pytest.raises(tc.InputError, match="no derived figures"):
        tc.released_figures(pattern)


def test_other_methods_refuse_figures_as_cells(business):
    problem = tc.with_derived(business, [RATIO])
    for method in (tc.adjust, tc.controlled_rounding, tc.publish_intervals):
        with pytest.raises(tc.InputError, match="without derived figures"):
            method(problem)


def test_growth_on_a_release_that_left_is_protected_together_with_it():
    n_apart = 0
    for seed in (1, 4):
        system = random_system(seed)
        keys = system.bare.table.keys
        years = {}
        for name in ("then", "now"):
            cells = np.flatnonzero((keys["variable"] == name).to_numpy())
            frame = keys.iloc[cells].drop(columns="variable")
            table = tc.Table.from_frame(
                frame.assign(sales=system.bare.table.values[cells]), ["d0", "d1"], "sales"
            )
            chosen = np.flatnonzero(system.bare.sensitive[cells])
            codes = [table.cell(**frame.iloc[cell].to_dict()) for cell in chosen.tolist()]
            years[name] = (table.protect(tc.Manual(codes, range=15)), cells)
        last_year = tc.suppress(years["then"][0], method="sequential", time_limit=0.3)
        growth = tc.Growth("sales", since="2024", decimals=system.figures[0].decimals)
        problem = tc.with_derived(years["now"][0], [growth], published={"2024": last_year})

        def both(hidden: np.ndarray, years=years, last_year=last_year, system=system) -> np.ndarray:
            """The cells of both years that are hidden, by the cells of the joined table."""
            flags = np.zeros(system.bare.table.n_cells, dtype=bool)
            for name, pattern in (("then", last_year.suppressed), ("now", hidden)):
                one, cells = years[name]
                found = one.table.keys.merge(
                    system.bare.table.keys.iloc[cells].reset_index(), on=["d0", "d1"]
                )
                flags[found["index"].to_numpy()] = pattern[: one.table.n_cells]
            return flags

        alone = tc.suppress(years["now"][0], method="sequential", time_limit=0.3).suppressed
        n_apart += len(exposed(system.bare, both(alone), system.printed))
        pattern = tc.suppress(problem, method="sequential", time_limit=0.5)
        shown = tc.released_figures(pattern)["status"] == "published"
        told = [
            figure
            for figure, key in zip(system.printed, labels(system), strict=True)
            if key in set(tc.released_figures(pattern)[shown][["d0", "d1"]].itertuples(
                index=False, name=None))
        ]  # fmt: skip
        assert len(told) > 0
        assert exposed(system.bare, both(pattern.suppressed), told) == []
    assert n_apart > 0


def test_an_earlier_release_is_read_from_files_with_its_variables_and_the_figures_beside_it(
    tmp_path,
):
    system = random_system(0)
    pattern = tc.suppress(system.problem, method="sequential", time_limit=0.3)
    files = write_release(pattern, tmp_path, report=False)
    truths = []
    for name, problem in (("with", pattern.problem), ("bare", system.bare)):
        tc.write_problem(problem, tmp_path / f"{name}.csv")
        truths.append(tc.read_problem(tmp_path / f"{name}.csv"))
    told = tc.read_published(files[0], truths[0])
    assert told.is_shown.tolist() == (~pattern.suppressed).tolist()
    # One row of the release for each cell, and what it printed of both variables last year.
    growth = tc.Growth("x", since="2024")
    later = tc.with_derived(system.bare, [growth], published={"2024": told})
    assert len(growth.quotients(later.table)) == 16
    with pytest.raises(tc.InputError, match=r"figures.csv: \d+ published figures are in no row"):
        tc.read_published(files[0], truths[1])
    with pytest.raises(tc.InputError, match="in no row"):
        tc.read_published(files[0], truths[1], revised=True)
    (tmp_path / "figures.csv").unlink()
    with pytest.raises(tc.InputError, match="it is not told whether"):
        tc.read_published(files[0], truths[0])


@pytest.mark.parametrize("seed", [0, 8])
def test_an_audit_settles_what_a_search_proved_beside_figures_of_small_numbers(seed):
    # A sensitive count can just reach its level, with the rooms of figures at both ends.
    random, parts = np.random.default_rng(seed), {}
    for name, most in (("staff", 6), ("sales", 90)):
        table = table_of(random, name, (3, 3), 1 if name == "staff" else 20, most)
        inner = np.flatnonzero((table.keys != "Total").all(axis=1)).tolist()
        parts[name] = table.protect(tc.Manual(inner, range=25))
    figures = [tc.Share("staff", of="d0"), tc.Ratio("sales / staff", decimals=2)]
    problem = tc.with_derived(tc.join(parts), figures)
    hidden = tc.suppress(problem, method="sequential", time_limit=0.3).suppressed
    assert tc.audit(problem, hidden).is_safe


def labels(system) -> list[tuple[str, str]]:
    keys = system.bare.table.keys[["d0", "d1"]]
    return [tuple(keys.iloc[figure.numerator]) for figure in system.printed]


def test_a_job_publishes_the_figures_of_each_release_and_certifies_them(tmp_path):
    tc.examples.write("derived", tmp_path)
    job = tmp_path / "derived.toml"
    text = job.read_text().replace(
        "time_limit = 30", "time_limit = 1\n\n[adjustment]\ntime_limit=1"
    )
    job.write_text(text)
    result = tc.run_job(job, tmp_path / "out")
    assert result.is_safe
    release, internal = tmp_path / "out" / "release", tmp_path / "out" / "internal"
    hidden = pd.read_csv(release / "suppression" / "figures.csv")
    changed = pd.read_csv(release / "adjustment" / "figures.csv")
    assert len(hidden) == len(changed) > 100
    assert 0 < hidden["value"].isna().sum() < len(hidden)
    assert not changed["value"].isna().any()
    assert set(hidden["figure"]) == {
        "turnover / employees",
        "growth of turnover since turnover_2024",
    }
    files = internal / "suppression_certificate.npz", internal / "suppression_problem.jj"
    assert verifier.main([str(path) for path in files]) == 0


def test_a_job_names_what_is_wrong_with_a_figure(tmp_path):
    tc.examples.write("derived", tmp_path)
    job = tmp_path / "derived.toml"
    text = job.read_text()
    job.write_text(text.replace('figure = "ratio"', 'figure = "ration"'))
    with pytest.raises(tc.InputError, match="ratio"):
        tc.run_job(job)
    job.write_text(text.replace("turnover / employees", "turnover / staff"))
    with pytest.raises(tc.InputError, match="no variable 'staff'"):
        tc.run_job(job)
    assert "ratio" in FIGURES


def test_a_job_publishes_medians_and_refuses_standard_deviations(tmp_path):
    tc.examples.write("derived", tmp_path)
    job = tmp_path / "derived.toml"
    head, rest = job.read_text().split("[variables.turnover]")
    head = head.replace('contributor = "business"', 'contributor = "business"\nvalue = "turnover"')
    rules = rest[rest.index("[[rules]]") : rest.index("[[derived]]")]
    industries = tc.examples.businesses()["industry"].unique().tolist()
    median = f"""
[[derived]]
figure = "median"
variable = "turnover"
base = 1000
where = {{ region = "Total", industry = {industries} }}

[suppression]
hold = "off"
time_limit = 5
"""
    job.write_text(head + rules + median)
    assert tc.run_job(job, tmp_path / "out").is_safe
    figures = pd.read_csv(tmp_path / "out" / "release" / "suppression" / "figures.csv")
    assert len(figures) == len(industries)
    assert (figures["status"] == "published").sum() == figures["value"].notna().sum() > 0
    # A later job reads what this one released. What medians tell is in the bounds of one problem.
    table = tmp_path / "out" / "release" / "suppression" / "table.csv"
    with pytest.raises(tc.InputError, match="suppression_problem.csv"):
        read_published(table, tc.read_problem(tmp_path / "out" / "internal" / "problem.csv"))
    known = tc.read_problem(tmp_path / "out" / "internal" / "suppression_problem.csv")
    assert len(read_published(table, known).lower) == known.table.n_cells
    beside = table.with_name("figures.csv")
    beside.write_text(beside.read_text().replace("1000.0", '"1000,0"'))
    with pytest.raises(tc.InputError, match="no number"):
        read_published(table, known)
    said = (tmp_path / "out" / "internal" / "report.html").read_text()
    for state in ("hidden by rule", "not asked for: publish none", "refused", "outside"):
        assert f">{state}</td>" in said
    for name in ("standard-deviation", "standard-error"):
        job.write_text(head + rules + median.replace('"median"', f'"{name}"'))
        with pytest.raises(tc.InputError, match="base|sum of squares"):
            tc.run_job(job, tmp_path / "out")


def test_beside_changed_values_quotients_follow_and_what_is_no_quotient_is_refused():
    problem = tc.examples.cox_rounded()
    for release, state in [
        (tc.controlled_rounding(problem, base=5), "computed from the released values"),
        (tc.publish_intervals(problem, time_limit=5), "refused"),
    ]:
        states = covered_figures(Product(release)).set_index("figure").iloc[:, 0]
        assert states["ratio"] == states["growth"] == state
        assert set(states[["median", "standard-deviation", "standard-error"]]) == {"refused"}


@pytest.mark.parametrize("n", [2, 3])
def test_an_estimate_and_its_standard_error_tell_what_others_of_a_small_sample_give(n):
    """Of N firms n are drawn without replacement; one of them, of three, knows its own."""
    population, given = 5, np.array([30.0, 700.0, 45.0])[:n]
    total = population * given.mean()
    error = population * np.sqrt((1 - n / population) * given.var(ddof=1) / n)
    known = given[2:]
    added = total * n / population - known.sum()
    squares = (error / population) ** 2 * n / (1 - n / population) * (n - 1)
    squares += n * (total / population) ** 2 - (known**2).sum()
    others = added / 2 + np.array([-1, 1]) * np.sqrt(squares / 2 - (added / 2) ** 2)
    assert others == pytest.approx(given[:2])
