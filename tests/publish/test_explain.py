"""`explain` on every kind of release: what is said of a cell is true, and complete."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from confirmed import end_of, ends_of
from contributors import with_contributors

COX = tc.examples.cox_rounded()


FIRMS = pd.DataFrame(
    [("N", "x", "Alpha", 90), ("N", "x", "Beta", 6), ("N", "x", "Gamma", 1),
     ("N", "y", "Beta", 20), ("N", "y", "Delta", 25), ("N", "y", "Eta", 22),
     ("S", "x", "Delta", 30), ("S", "x", "Eta", 26), ("S", "x", "Zeta", 29),
     ("S", "y", "Zeta", 41), ("S", "y", "Alpha", 44), ("S", "y", "Gamma", 39)],
    columns=["region", "branch", "firm", "v"],
)  # fmt: skip


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(COX, time_limit=1000)


def firms() -> tc.ProtectionProblem:
    """Two regions by two branches; in N, x one firm has nearly all."""
    return with_contributors(FIRMS, ["region", "branch"], "v", contributor="firm").protect(
        tc.PPercent(10)
    )


def test_a_sensitive_cell_names_its_rule_its_contributors_and_the_closest_insider():
    problem = firms()
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    for region, branch in (("N", "x"), ("N", "y"), ("S", "x"), ("S", "y")):
        hidden[problem.table.cell(region=region, branch=branch)] = True
    found = tc.explain(problem, hidden, "N, x", rules=[tc.PPercent(10)])
    text = found.text()
    assert "PPercent(p=10" in text
    assert "Largest contributors: Alpha 90; Beta 6; Gamma 1." in text
    assert "3 contributors, the largest with 92.8 % of the value" in text
    assert found.best_attacker.startswith("contributors: ")
    assert found.best.share < found.external.share
    assert text.startswith("SECRET")


def test_the_closest_insider_is_the_one_whose_own_contributions_leave_the_narrowest_interval():
    problem, table = firms(), firms().table
    hidden = (table.keys != "Total").all(axis=1).to_numpy()
    cell = table.cell(region="N", branch="x")
    told = tc.explain(problem, hidden, cell)
    shares = {}
    for firm in FIRMS["firm"].unique():
        low, high = ends_of(problem, hidden)
        for own in FIRMS[FIRMS.firm == firm].itertuples():
            low[table.cell(region=own.region, branch=own.branch)] = own.v
        ends = [end_of(table, low, high, cell, sign) for sign in (-1, 1)]
        value, level = table.values[cell], problem.upper_protection[cell]
        # What it knows of the cell from itself alone is no attack: no more is asked below.
        itself = FIRMS[(FIRMS.firm == firm) & (FIRMS.region == "N") & (FIRMS.branch == "x")].v.sum()
        below = (value - ends[0]) / min(level, value - itself)
        shares[firm] = min(below, (ends[1] - value) / level)
    assert told.best.share == pytest.approx(min(shares.values()))
    assert shares[told.best_attacker.removeprefix("contributors: ")] == min(shares.values())


def test_insiders_against_whom_a_pattern_holds_are_named_with_whom_they_would_attack():
    random = np.random.default_rng(4)
    frame = pd.DataFrame({
        "a": random.choice(list("wxyz"), 60), "b": random.choice(list("pqrs"), 60),
        "firm": random.choice([f"F{i}" for i in range(15)], 60),
        "v": np.ceil(random.lognormal(3, 1, 60)),
    })  # fmt: skip
    table = with_contributors(frame, ["a", "b"], "v", contributor="firm")
    problem = table.protect(tc.PPercent(15), tc.MinimumFrequency(3))
    pattern = tc.suppress(problem, protect_against="contributors", hold="possible",
                          time_limit=1000)  # fmt: skip
    attacks = {}
    for cell in [None, *np.flatnonzero(pattern.secondary).tolist()]:
        hidden = pattern.suppressed & (np.arange(table.n_cells) != cell)
        found = tc.audit(problem, hidden, intruders="contributors").attacks
        attacks[cell] = {(each.intruder, each.cell) for each in found}
    before = attacks.pop(None)
    told = {cell: tc.explain(problem, pattern, cell, alternative=False) for cell in attacks}
    named = {cell: set(each.insiders) for cell, each in told.items()}
    assert named == {cell: found - before for cell, found in attacks.items()}
    assert sum(map(len, named.values())) >= 4
    shown = [interval for each in told.values() for interval in each.insider_attacks.values()]
    assert shown
    assert all(interval.is_too_narrow for interval in shown)


def test_a_secondary_suppression_says_who_needs_it_and_what_publishing_costs(pattern):
    found = tc.explain(COX, pattern, "r2, c8", time_limit=1000)
    assert COX.table.labels(found.needed_by) == ["(row=r3, column=c8)"]
    assert "everybody could compute (row=r3, column=c8) = 300 exactly" in found.text()
    assert "2,588 (row=Total, column=c8) - 1,150 (row=r1, column=c8) - 1,138" in found.text()
    assert found.alternative.outcome.value == "cheapest"
    assert found.alternative.cost == 12
    assert not found.alternative.hidden[found.cell]
    assert tc.audit(COX, found.alternative.hidden).is_safe


def test_a_cell_without_which_no_pattern_protects_is_shown_by_the_attack_on_all_else(pattern):
    status = np.where(COX.sensitive | pattern.suppressed, COX.status, "z")
    problem = COX.with_changes(status=status)
    tight = tc.suppress(problem, time_limit=1000)
    cell = int(np.flatnonzero(tight.secondary)[0])
    found = tc.explain(problem, tight, cell)
    assert found.alternative.outcome.value == "impossible"
    assert found.alternative.attack.is_too_narrow
    assert "impossible" in found.text()


def test_a_cell_that_nobody_needs_is_told_apart_from_a_needed_one(pattern):
    wasteful = pattern.suppressed.copy()
    idle = COX.table.cell(row="r2", column="c7")
    wasteful[idle] = True
    found = tc.explain(COX, wasteful, idle, alternative=False)
    assert not found.is_needed
    assert "No sensitive cell needs it" in found.text()
    assert found.alternative.outcome.value == "not asked"
    assert "Publishing" not in found.text()


def test_cells_that_were_attackable_before_do_not_count_as_needing_a_cell():
    careless = COX.sensitive.copy()
    cell = COX.table.cell(row="r2", column="c8")
    careless[cell] = True
    found = tc.explain(COX, careless, cell, alternative=False)
    exposed = set(found.open_before)
    assert exposed
    assert not exposed & set(found.needed_by)


def test_a_sensitive_cell_that_is_published_and_a_safe_one_are_said_to_be(pattern):
    bare = np.zeros(COX.table.n_cells, dtype=bool)
    sensitive = int(np.flatnonzero(COX.sensitive)[0])
    found = tc.explain(COX, bare, sensitive)
    assert found.kind == "sensitive, but published"
    assert not found.to_dict()["external"]["is_protected"]
    published = int(np.flatnonzero(~pattern.suppressed)[0])
    assert "Hiding it would cost" in tc.explain(COX, pattern, published).text()


def test_a_moved_total_names_the_sensitive_cells_that_force_it():
    """Two parts that must rise, and one that cannot fall far: the total must rise."""
    frame = pd.DataFrame({"part": ["a", "b", "c", "Total"], "v": [10.0, 20.0, 5.0, 35.0]})
    table = tc.Table.from_frame(frame, ["part"], "v")
    cells = [table.cell(part=code) for code in "abc"]
    status = np.array(["s"] * 4)
    status[cells[:2]] = "u"
    levels = np.zeros(4)
    levels[cells[:2]] = [3.0, 4.0]
    low, high = np.zeros(4), np.full(4, 1000.0)
    low[cells[:2]] = [10.0, 20.0]
    low[cells[2]] = 4.0
    problem = tc.ProtectionProblem(
        table, status, np.zeros(4), levels, np.zeros(4), low, high, np.ones(4)
    )
    found = tc.explain(problem, tc.adjust(problem), "Total")
    assert found.least_distance == 6
    assert set(found.forced_by) == set(cells[:2])
    assert "4 (part=b, at least 4) + 3 (part=a, at least 3) - 1 (part=c, at least -1) = 6" in (
        found.text()
    )
    assert found.anywhere == pytest.approx(6)
    own = tc.explain(problem, tc.adjust(problem), "a")
    assert "Its own level is all that forces it: 3" in own.text()


def test_an_adjusted_table_of_somebody_else_is_explained_from_its_values():
    adjusted = tc.adjust(COX)
    cell = int(np.flatnonzero(COX.sensitive)[0])
    found = tc.explain(COX, adjusted.release(), cell)
    assert found.change == pytest.approx(adjusted.changes[cell])
    assert found.loss is None
    still = int(np.flatnonzero(~adjusted.is_changed)[0])
    assert tc.explain(COX, adjusted.values, still).kind == "not changed"


def test_a_rounded_cell_went_to_its_nearest_multiple_or_was_given_up_for_the_others():
    frame = pd.DataFrame({"c": ["a", "b", "c", "Total"], "v": [2.0, 2.0, 2.0, 6.0]})
    problem = tc.ProtectionProblem(
        tc.Table.from_frame(frame, ["c"], "v"), np.array(list("usss")), *[np.zeros(4)] * 3,
        np.zeros(4), np.full(4, 99.0), np.ones(4),
    )  # fmt: skip
    rounded = tc.controlled_rounding(problem, base=5)
    found = [tc.explain(problem, rounded, cell) for cell in range(4)]
    given_up = [each for each in found if not each.is_nearest]
    assert [each.rounded for each in given_up] == [5]
    assert "Its nearest multiple is 0" in given_up[0].text()
    assert [each.cell for each in found if each.interval is not None] == [0]


def test_published_intervals_are_explained_by_their_ends():
    published = tc.publish_intervals(COX, time_limit=1000, seed=1)
    wide = np.flatnonzero((published.upper > published.lower) & ~COX.sensitive)
    found = tc.explain(COX, published, int(wide[0]))
    assert found.kind == "published as an interval"
    assert "the release publishes intervals" in found.text()


def test_a_file_of_anybody_and_the_result_itself_give_the_same_explanation(pattern, tmp_path):
    path = tmp_path / "release.csv"
    pattern.release().to_csv(path, index=False)
    told = [
        tc.explain(COX, release, "r1, c4", alternative=False).to_dict()
        for release in (path, pattern.suppressed)
    ]
    assert told[0] == told[1]
    assert json.loads(json.dumps(told[0]))["secret"]


def test_a_search_cut_short_says_at_most_or_that_nothing_was_found(pattern):
    found = tc.explain(COX, pattern, "r2, c8", time_limit=0)
    assert found.alternative.outcome.value in ("found", "none found")
    assert "at most" in found.text() or "no other pattern was found within" in found.text()
