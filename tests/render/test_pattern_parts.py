"""A report says of the dearest secondary suppressions who needs them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak.protection import PROTECTIONS, Product
from tablecloak.render import pattern_parts
from tablecloak.render.page import Page
from tablecloak.render.pattern_parts import add_explanations, add_hidden_cells, add_pattern, by_rule
from tablecloak.render.report import internal_report


def explanations(pattern: tc.SuppressionPattern) -> list[str]:
    page = Page("report")
    add_explanations(page, pattern)
    return page.parts


def test_a_report_explains_the_dearest_secondary_suppressions_with_their_attacks(monkeypatch):
    monkeypatch.setattr(pattern_parts, "MOST_EXPLAINED", 2)
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, time_limit=1000)
    head, *found = explanations(pattern)
    assert "the 2 that cost most of 5." in head
    dearest = np.sort(problem.weights[pattern.secondary])[-2:]
    assert all(f"= {weight:,g}: secondary" in "".join(found) for weight in dearest)
    assert all("Needed by (" in each for each in found)
    assert all("too close" in each for each in found)


def test_a_cell_that_is_hidden_against_an_insider_alone_is_not_said_to_be_needed_by_nobody():
    dimensions = {"region": ["part", "region"], "industry": None}
    table = tc.tabulate(tc.examples.firms(), dimensions, "turnover", contributor="firm")
    problem = table.protect(tc.PPercent(10), tc.MinimumFrequency(3))
    pattern = tc.suppress(problem, protect_against="contributors", hold="possible", time_limit=5)
    _, *against_all = explanations(pattern)
    _, *against_outsiders = explanations(replace(pattern, insiders=None))
    useless = ["No sensitive cell needs it" in text for text in against_outsiders]
    needed = ["Needed against insiders" in text for text in against_all]
    assert sum(useless) > 0 and sum(needed) > 0
    # What is still called useless is so for all who were kept out.
    assert all("contributors" in text for text in against_all if "No sensitive cell" in text)


def test_a_report_without_secondary_suppressions_or_of_a_large_table_explains_none(monkeypatch):
    problem = random_problem(1, (2, 2), 4)
    assert explanations(tc.suppress(problem, time_limit=1000)) == []
    monkeypatch.setattr(pattern_parts, "EXPLAINED_CELLS", 10)
    assert explanations(tc.suppress(tc.examples.cox_rounded(), time_limit=1000)) == []


@pytest.fixture(scope="module")
def found():
    dimensions = {"region": ["part", "region"], "industry": None}
    table = tc.tabulate(tc.examples.firms(), dimensions, "turnover", contributor="firm")
    pattern = tc.suppress(table.protect(tc.PPercent(10), tc.MinimumFrequency(3)), time_limit=1000)
    return pattern, tc.audit(pattern.problem, pattern, detail="intervals")


def rows_of(page: Page) -> list[str]:
    return re.findall(r"<tr>\s*<td>.*?</tr>", page.html(), re.DOTALL)


def test_every_hidden_cell_is_listed_once_below_the_part_that_it_belongs_to(found):
    pattern, audit = found
    page = Page("t")
    add_hidden_cells(page, pattern, audit)
    assert len(rows_of(page)) == pattern.n_suppressed
    parts = re.findall(r"<summary>region (\w+): (\d+) hidden</summary>", page.html())
    assert {name for name, _ in parts} <= {"N", "S", "W", "Total"}
    assert sum(int(number) for _, number in parts) == pattern.n_suppressed


def test_rules_are_summed_up_with_what_their_cells_have_to_spare(found):
    pattern, audit = found
    told = by_rule(audit)
    assert told["sensitive cells"].sum() == told["protected"].sum() == pattern.problem.n_sensitive
    assert set(told.index) == set(pattern.problem.reasons[pattern.problem.sensitive])
    # Two-sided protection leaves every interval at least as wide as required.
    assert (told["least width / required"] >= 1 - 1e-9).all()
    assert (told["median width / required"] >= told["least width / required"]).all()


def test_of_very_many_those_that_matter_most_are_listed(found, monkeypatch):
    pattern, audit = found
    monkeypatch.setattr(pattern_parts, "MOST_LISTED", 4)
    page = Page("t")
    add_hidden_cells(page, pattern, audit)
    listed = rows_of(page)
    assert len(listed) == 4 and "The 4 that matter most" in page.html()
    sensitive = int(np.sum(pattern.problem.sensitive))
    assert sum("primary" in row for row in listed) == min(4, sensitive)


def test_without_hierarchies_cells_are_listed_in_parts_of_equal_length(monkeypatch):
    problem = tc.examples.cox_rounded()
    monkeypatch.setattr(pattern_parts, "LONG_PART", 5)
    pattern = tc.suppress(problem, time_limit=1000)
    page = Page("t")
    add_hidden_cells(page, pattern, None)
    assert len(rows_of(page)) == pattern.n_suppressed


def two_firms_in_each_cell(scale: float = 1.0) -> tc.ProtectionProblem:
    """A table by region and branch in which sums of two hidden cells are too well known."""
    rows = [("A", "x", 50), ("A", "y", 40), ("B", "x", 60), ("B", "y", 30)]
    rows += [(region, "z", 20 + number) for number, region in enumerate("AABBB")]
    frame = pd.DataFrame(rows, columns=["region", "branch", "v"])
    frame["firm"] = [f"f{number}" for number in range(len(frame))]
    frame["v"] *= scale
    table = tc.tabulate(frame, ["region", "branch"], "v", contributor="firm")
    return table.protect(tc.PPercent(5))


def inner_cells(problem: tc.ProtectionProblem) -> np.ndarray:
    return problem.table.keys.isin(["A", "B", "x", "y"]).all(axis=1).to_numpy()


def test_sensitive_groups_are_listed_by_their_cells_for_the_office_alone():
    problem = two_firms_in_each_cell()
    page = Page("internal")
    audit = tc.audit(problem, inner_cells(problem), groups=[tc.PPercent(5)])
    add_pattern(page, problem, tc.suppress(problem, time_limit=5), audit)
    assert "(region=A, branch=x) + (region=A, branch=y)" in page.html()


def test_sensitive_groups_of_an_earlier_release_are_listed_by_its_cells():
    last, problem = two_firms_in_each_cell(), two_firms_in_each_cell(2)
    status = np.where(inner_cells(last), "suppressed", "published")
    released = last.table.keys.assign(v=last.table.values, status=status)
    before = tc.Published({"2024": tc.read_published(released, last)}, periods={"2024": "2024"})
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    audit = tc.audit(problem, hidden, groups=[tc.PPercent(5)], published=before)
    page = Page("internal")
    add_pattern(page, problem, tc.suppress(problem, time_limit=5), audit)
    assert "2024: A, branch=x) + (region=" in page.html()


def test_the_legend_of_intervals_lies_below_the_bars_and_covers_none():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    problem = tc.examples.cox_rounded()
    figure = pattern_parts._intervals_figure(tc.audit(problem, tc.suppress(problem)))
    (axes,), (legend,) = figure.axes, figure.legends
    assert axes.get_legend() is None
    FigureCanvasAgg(figure).draw()
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0


def test_a_page_counts_the_same_insiders_in_its_verdict_its_audit_and_its_statements():
    random = np.random.default_rng(0)
    firms = pd.DataFrame(
        {
            "firm": [f"f{number}" for number in range(90)],
            "region": random.choice(list("ABCDEF"), 90),
            "size": random.choice(["0-9", "10-49", "50+"], 90),
            "sales": np.ceil(random.lognormal(4, 1.6, 90)),
        }
    )
    table = tc.tabulate(firms, ["region", "size"], "sales", contributor="firm")
    problem = table.protect(tc.PPercent(10))
    pattern = tc.suppress(problem, protect_against="contributors")
    audit = tc.audit(problem, pattern, intruders="contributors")
    number = audit.intruders["contributors"]
    assert audit.is_safe and f"against {number} contributors, of whom none" in pattern.verdict()
    page = internal_report("t", problem, [Product(pattern, audit)]).html()
    counted = {int(n) for n in re.findall(r"(\d+) contributors(?=, of whom|, successful)", page)}
    counted |= {int(n) for n in re.findall(r"contributors: (\d+) tried", page)}
    assert counted == {number}
    said = " ".join(PROTECTIONS["suppression"].statements(Product(pattern, audit)))
    assert said == f"It is proved safe against {number} of {number} insiders (contributors)."
