"""Several releases side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import tablecloak as tc
from hand_tables import one_row
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.comparison import hidden_intervals, utility
from tablecloak.comparison.figures import notes
from tablecloak.comparison.side_by_side import Comparison
from tablecloak.executors import ProcessExecutor

PROBLEM = one_row([50, 60, 70], {"a": (3, 5)}, bounds=(0, 1000))


def of(rows: dict[str, tuple[float, float, bool]], limit: float = 0.2, **failures) -> Comparison:
    """A comparison with given shares of right guesses, of value lost, and safety."""
    table = pd.DataFrame(
        {
            "guessed": [row[0] for row in rows.values()],
            "value_lost": [row[1] for row in rows.values()],
            "safe": [row[2] for row in rows.values()],
            "exact": 0.5,
            "slope": 1.0,
            "correlation": 0.9,
        },
        index=list(rows),
    )
    return Comparison(PROBLEM, {}, table, failures, limit)


def test_of_the_safe_releases_with_a_tolerable_risk_the_least_lossy_is_taken():
    found = of({"a": (0.1, 0.5, True), "b": (0.1, 0.3, True), "c": (0.9, 0.0, True)})
    assert found.verdict().startswith("Take b: of the 2 methods with a risk of at most 0.2")


def test_a_risk_that_no_attack_measured_is_not_taken_for_none():
    found = of({"a": (0.1, 0.5, True), "b": (np.nan, 0.1, True)})
    assert found.verdict().startswith("Take a: the only method")
    assert "so that no risk is known: b." in found.verdict()
    alone = of({"b": (np.nan, 0.1, True)})
    assert alone.verdict().startswith("No risk of a release that protects every cell is known.")


def test_an_attack_that_gives_no_guess_leaves_the_risk_unknown(monkeypatch):
    def fails(*args, **options):
        raise tc.ModelError("no table lies that far from the published one")

    monkeypatch.setattr("tablecloak.protections.adjustment.attack_adjustment", fails)
    methods = {"adjustment": tc.adjust, "suppression": tc.suppress}
    found = tc.compare(tc.examples.cox_rounded(), methods)
    assert np.isnan(found.table.loc["adjustment", "guessed"])
    assert found.verdict().split(":")[0] != "Take adjustment"


def test_what_chance_admits_is_the_least_risk_whatever_one_draw_gave():
    methods = {"by chance": partial(tc.adjust, recovery=0.9, seed=1)}
    found = tc.compare(tc.examples.cox_rounded(), methods)
    attack = tc.attack_adjustment(found.releases["by chance"])
    assert attack.share_recovered < 0.9
    assert found.table.loc["by chance", "guessed"] == attack.risk == 0.9


def test_an_unsafe_release_is_not_taken_however_good():
    found = of({"a": (0.1, 0.5, True), "b": (0.0, 0.0, False)})
    assert found.verdict().startswith("Take a")
    assert "Not protected as required: b." in found.verdict()


def test_where_none_is_safe_none_is_taken():
    verdict = of({"b": (0.0, 0.0, False)}).verdict()
    assert verdict.startswith("No release protects every sensitive cell as required.")


def test_where_no_risk_is_tolerable_the_least_is_named():
    verdict = of({"a": (0.8, 0.5, True), "b": (0.6, 0.9, True)}).verdict()
    assert verdict.startswith("No method keeps the risk at or below 0.2; the least is 0.6, by b.")


def test_where_no_risk_is_tolerable_a_proved_release_is_not_contradicted():
    made = {"s": tc.suppress(PROBLEM), "a": tc.adjust(PROBLEM)}
    found = replace(of({"s": (0.5, 0.5, True), "a": (1.0, 0.1, True)}), releases=made)
    verdict = found.verdict()
    assert verdict.startswith("No method keeps the risk at or below 0")
    assert "The rules are met all the same by s: every sensitive cell keeps an interval" in verdict
    assert "Risk: the share of the sensitive cells that an attack guesses" in verdict


def test_a_page_explains_the_figures_that_it_shows_and_no_others():
    told = notes(tc.compare(PROBLEM, {"s": tc.suppress}).table.columns)
    names = [line.split(":")[0] for line in told]
    assert "guessed" in names and "dimension" in names
    assert not any("window" in name or "mean_width" in name for name in names)
    losses = next(line for line in told if line.startswith("loss, bound:"))
    assert "losses of two methods cannot be compared" in losses


def test_a_method_that_failed_is_named_with_its_reason():
    verdict = of({"a": (0.0, 0.1, True)}, b="no additive table").verdict()
    assert verdict.endswith("No release: b: no additive table")


def test_the_map_sets_right_guesses_against_the_value_that_is_left():
    found = of({"a": (0.1, 0.5, True), "b": (0.3, 0.2, True), "c": (0.4, 0.6, True)}).map.table
    assert found["utility"].tolist() == pytest.approx([0.5, 0.8, 0.4])
    assert found["frontier"].tolist() == [True, True, False]


def test_a_method_is_applied_once_for_each_factor_of_the_levels():
    levels = []

    def method(problem):
        levels.append(float(problem.lower_protection[0]))
        return tc.adjust(problem, weights="unit")

    found = tc.compare(PROBLEM, {"m": method}, level_factors=[1, 2])
    assert sorted(levels) == [3, 6]
    assert list(found.table.index) == ["m, levels x 1", "m, levels x 2"]
    assert found.table["safe"].all()
    # A finished release stays as it is.
    fixed = tc.compare(PROBLEM, {"r": tc.adjust(PROBLEM)}, level_factors=[1, 2])
    assert list(fixed.table.index) == ["r"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"releases": {}}, "give at least one release or method"),
        ({"level_factors": []}, "`level_factors` must be greater than 0"),
        ({"level_factors": [1, 0]}, "`level_factors` must be greater than 0"),
    ],
)
def test_nothing_to_compare_is_an_error(options, message):
    with pytest.raises(tc.InputError, match=message):
        tc.compare(PROBLEM, **options)


def test_a_release_of_another_table_is_refused_by_its_name():
    other = tc.adjust(one_row([51, 60, 70], {"a": (3, 5)}))
    with pytest.raises(tc.InputError, match="'x' is a release of another table"):
        tc.compare(PROBLEM, {"x": other})


def test_the_frame_is_a_copy():
    found = of({"a": (0.1, 0.5, True)})
    copied = found.to_frame()
    copied.loc["a", "guessed"] = 9.0
    assert found.table.loc["a", "guessed"] == 0.1
    assert np.isfinite(found.table["guessed"]).all()


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def cox():
    problem = tc.examples.cox_rounded()
    return tc.compare(problem, time_limit=20)


def test_figures_of_coxs_table_are_those_computed_by_hand(cox):
    problem = cox.problem
    a, sensitive = problem.table.values, problem.sensitive
    row = cox.table.loc["suppression"]
    hidden = cox.releases["suppression"].suppressed
    assert hidden.sum() == 12
    assert row["exact"] == pytest.approx(1 - 12 / len(a))
    assert row["value_lost"] == pytest.approx(3076 / a.sum())
    for name in ("adjustment", "adjustment with statistics"):
        row, x = cox.table.loc[name], cox.releases[name].values
        assert row["value_lost"] == pytest.approx(np.abs(x - a).sum() / a.sum())
        assert row["exact"] == pytest.approx(np.mean(np.abs(x - a) < 1e-6))
        assert row["correlation"] == pytest.approx(np.corrcoef(a, x)[0, 1])
        slope = np.cov(a[sensitive], x[sensitive])[0, 1] / np.var(a[sensitive], ddof=1)
        assert row["sensitive_slope"] == pytest.approx(slope)
        assert row["variance_ratio"] == pytest.approx(np.var(x) / np.var(a))
    # The published finding: plain adjustment attenuates, with statistics the slope is 1.
    assert cox.table.loc["adjustment", "sensitive_slope"] < 0.9
    assert cox.table.loc["adjustment with statistics", "sensitive_slope"] == pytest.approx(
        1, abs=0.01
    )


def test_who_knows_the_levels_undoes_plain_adjustment_but_not_suppression(cox):
    assert cox.table.loc["adjustment", "guessed"] == 1
    assert cox.table.loc["suppression", "guessed"] == 0
    # Adjustment by random distances may be guessed less than that as well; it depends on the draw.
    assert cox.map.best(0.2)[0] in ("suppression", "adjustment by chance")
    assert cox.verdict().startswith("Take ")


def test_intervals_of_suppressed_cells_equal_those_of_scipy():
    for seed in range(4):
        problem = random_problem(seed)
        pattern = tc.suppress(problem)
        lower, upper = hidden_intervals(pattern)
        a, hidden = problem.table.values, pattern.suppressed
        bounds = [
            (low, high) if free else (value, value)
            for low, high, value, free in zip(
                problem.lower_bound, problem.upper_bound, a, hidden, strict=True
            )
        ]
        equations = problem.table.relations.toarray()
        for cell in range(len(a)):
            cost = np.zeros(len(a))
            cost[cell] = 1.0
            for sign, end in ((1, lower[cell]), (-1, upper[cell])):
                found = linprog(
                    sign * cost, A_eq=equations, b_eq=problem.table.right_hand_side, bounds=bounds
                )
                assert sign * found.fun == pytest.approx(end, abs=1e-5)
        shown = utility(pattern)
        midpoints = (lower + upper) / 2
        assert shown["mean_change"] == pytest.approx(np.mean(np.abs(midpoints - a) / a))


def test_given_releases_functions_and_failures():
    problem = tc.examples.cox_rounded()

    def impossible(problem):
        raise tc.ModelError("no such table")

    found = tc.compare(
        problem,
        {
            "rounded": lambda p: tc.controlled_rounding(p, base=100),
            "pattern": tc.suppress(problem),
            "impossible": impossible,
        },
    )
    assert list(found.table["kind"]) == ["rounding", "suppression"]
    assert found.failures == {"impossible": "no such table"}
    assert list(found.releases) == ["rounded", "pattern"]
    assert "impossible: no such table" in found.verdict()
    rounded = found.releases["rounded"].values
    truth = problem.table.values
    assert found.table.loc["rounded", "value_lost"] == pytest.approx(
        np.abs(rounded - truth).sum() / truth.sum()
    )


def test_a_sweep_over_levels_is_judged_by_the_levels_that_are_needed():
    problem = tc.examples.cox_rounded()
    methods = {
        "adjustment": lambda p: tc.adjust(p, time_limit=5),
        "suppression": lambda p: tc.suppress(p, time_limit=5),
    }
    found = tc.compare(problem, methods, level_factors=[0.5, 1, 3])
    assert len(found.table) + len(found.failures) == 6
    table = found.table
    for kind in ("adjustment", "suppression"):
        rows = table[table["kind"] == kind].sort_values("level_factor")
        # More protection never costs the analyst less.
        assert rows["value_lost"].is_monotonic_increasing
    # Half the levels are not what is required, and the verdict does not propose them.
    assert list(table["safe"]) == list(table["level_factor"] >= 1)
    assert "x 0.5" not in found.verdict().split("Not protected")[0]
    half = found.releases["adjustment, levels x 0.5"]
    errors = np.abs(half.changes[problem.sensitive])
    assert np.all(errors >= 0.5 * problem.upper_protection[problem.sensitive] - 1e-6)
    # With half the levels the published value itself is a right guess.
    assert np.mean(errors < problem.upper_protection[problem.sensitive]) > 0.5
    # Who runs a threefold adjustment backwards still ends near the truth.
    assert table.loc["adjustment, levels x 1", "guessed"] == 1
    with pytest.raises(tc.InputError, match="greater than 0"):
        tc.compare(problem, methods, level_factors=[0])


def test_a_sweep_is_the_same_in_processes():
    problem = random_problem(3)
    one = tc.compare(problem, level_factors=[1, 1.5], time_limit=1000)
    two = tc.compare(problem, level_factors=[1, 1.5], time_limit=1000, executor=ProcessExecutor(2))
    assert list(one.table.index) == list(two.table.index)
    columns = [name for name in one.table.columns if name != "seconds"]
    # What is left to chance differs each time.
    rows = [name for name in one.table.index if "chance" not in name]
    assert one.table.loc[rows, columns].equals(two.table.loc[rows, columns])


def test_the_command_compares_a_job_and_writes_one_private_page(tmp_path):
    page, measures = tmp_path / "page.html", tmp_path / "measures.csv"
    problem = tmp_path / "cox.jj"
    tc.write_jj(tc.examples.cox_rounded(), problem)
    command = ["compare", str(problem), "--report", str(page), "-o", str(measures)]
    done = CliRunner().invoke(app, [*command, "--time-limit", "10"])
    assert done.exit_code == 0, done.output
    assert "Take suppression" in done.output or "Take adjustment by chance" in done.output
    assert set(pd.read_csv(measures)["release"]) >= {"suppression", "adjustment"}
    for path in (page, measures):
        assert path.stat().st_mode & 0o077 == 0
    text = page.read_text()
    assert "Take suppression" in text or "Take adjustment by chance" in text
    assert not re.search(r"<script|<link|@import", text)


def test_enterprises_are_compared_from_their_job():
    from tablecloak.jobs.job_file import read_job
    from tablecloak.jobs.load import load_problem

    problem = load_problem(read_job(EXAMPLES / "enterprises" / "job.toml"))
    found = tc.compare(problem, time_limit=0.4)
    # How many cells stay exact depends on how far the search gets in its time.
    assert 0 < found.table.loc["suppression", "exact"] < 1
    assert found.table.loc["adjustment", "correlation"] > 0.9
