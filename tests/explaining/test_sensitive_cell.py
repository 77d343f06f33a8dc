"""Sensitive cells: their rule in words, their contributors, and the insiders that are tried."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors
from tablecloak.budget import Budget
from tablecloak.explaining import sensitive_cell
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.explaining.sensitive_cell import (
    _members,
    explain_sensitive,
    largest_contributors,
    rule_text,
)
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.suppression.system.requirement import Requirement

FIRMS = pd.DataFrame(
    [("N", "x", "Alpha", 90), ("N", "x", "Beta", 6), ("N", "y", "Gamma", 31),
     ("N", "y", "Delta", 33), ("N", "y", "Eta", 30), ("S", "x", "Gamma", 41),
     ("S", "x", "Delta", 44), ("S", "x", "Beta", 39), ("S", "y", "Zeta", 5)],
    columns=["region", "branch", "firm", "v"],
)  # fmt: skip


def problem_of(*rules) -> tc.ProtectionProblem:
    table = with_contributors(FIRMS, ["region", "branch"], "v", contributor="firm")
    return table.protect(*rules)


def question_of(problem, *, insiders=(), seconds=1000.0) -> PatternQuestion:
    """A pattern that hides all inner cells."""
    hidden = (problem.table.keys != "Total").all(axis=1).to_numpy()
    values = problem.table.values
    low = np.where(hidden, problem.lower_bound, values)
    high = np.where(hidden, problem.upper_bound, values)
    return PatternQuestion(
        problem, low, high, hidden, Requirement.TWO_SIDED, insiders, Budget.begun(seconds)
    )


CONTRIBUTORS = (INTRUDERS.build("contributors"),)


def test_a_rule_is_told_with_its_parameters_where_the_job_knows_them():
    problem = problem_of(tc.PPercent(10))
    cell = problem.table.cell(region="N", branch="x")
    text = rule_text(problem, cell, [tc.PPercent(10)])
    assert "as PPercent(p=10" in text
    assert text.endswith("; 2 contributors, the largest with 93.8 % of the value")
    assert " as PPercent" not in rule_text(problem, cell)
    alone = problem.table.cell(region="S", branch="y")
    assert "; 1 contributor, the largest with 100 % of the value" in rule_text(problem, alone)


def test_the_rule_that_sets_the_level_is_told_before_the_first_that_finds_the_cell():
    few, large = tc.MinimumFrequency(3, range=50), tc.PPercent(10)
    problem = problem_of(large, few)
    cell = problem.table.cell(region="N", branch="x")
    assert problem.reasons[cell] == "p-percent"
    # p% asks for 10 % of 90, since nobody else is there but the two; the frequency for half of 96.
    assert problem.upper_protection[cell] == 48
    text = rule_text(problem, cell, [large, few])
    first, second, *_ = text.split("; ")
    assert "MinimumFrequency(minimum=3" in first
    assert first.endswith("which asks for the largest level, 48")
    assert second.startswith("also p% rule") and second.endswith("with 9")


@pytest.mark.parametrize("rules", [(), (tc.MinimumFrequency(3),)])
def test_of_rules_that_are_not_known_the_level_is_said_to_be_given(rules):
    """The file of a problem names the first rule, and another one may have set the level."""
    problem = problem_of(tc.PPercent(10), tc.MinimumFrequency(3, range=50))
    cell = problem.table.cell(region="N", branch="x")
    text = rule_text(problem, cell, rules)
    assert text.startswith("p% rule")
    assert "the first that found it; its level was given as 48 below and 48 above" in text
    unnamed = problem.with_changes(reasons=np.full(problem.table.n_cells, "", dtype=object))
    assert "a rule; its level was given as 48 below and 48 above" in rule_text(unnamed, cell)
    width = problem.with_changes(sliding_protection=np.where(problem.sensitive, 60.0, 0.0))
    assert "48 above, 60 in width" in rule_text(width, cell)


@pytest.mark.parametrize(
    ("reason", "words"),
    [("", "given as sensitive, without the name of a rule"), ("house rule", "rule 'house rule'")],
)
def test_a_cell_that_no_rule_of_ours_found_is_said_to_be_given(reason, words):
    problem = problem_of(tc.PPercent(10))
    reasons = np.full(problem.table.n_cells, reason, dtype=object)
    assert words in rule_text(problem.with_changes(reasons=reasons), 0)


def test_contributors_are_told_from_the_largest_on_with_names_where_they_are_kept():
    table = problem_of(tc.PPercent(10)).table
    told = largest_contributors(table, table.cell(region="N", branch="x"))
    assert [(each["name"], each["contribution"]) for each in told] == [("Alpha", 90), ("Beta", 6)]
    everywhere = largest_contributors(table, table.cell(region="Total", branch="Total"))
    sizes = [each["contribution"] for each in everywhere]
    assert sizes == sorted(sizes, reverse=True)
    assert everywhere[0] == {"name": "Alpha", "contribution": 90.0, "weight": 1.0}


def test_a_table_without_contributors_names_none():
    assert largest_contributors(tc.examples.cox_rounded().table, 0) == ()


def test_every_insider_who_knows_a_connected_cell_is_tried_once():
    problem = problem_of(tc.PPercent(10))
    question = question_of(problem, insiders=CONTRIBUTORS)
    cell = problem.table.cell(region="N", branch="x")
    found = explain_sensitive(question, cell, ())
    assert (found.tried, found.left) == (FIRMS["firm"].nunique(), 0)
    assert found.best.share < found.external.share
    assert any(line.startswith("Closer comes contributors: ") for line in found.lines())


def test_who_is_alone_in_a_cell_is_no_attacker_of_it():
    """It knows its own value, which nobody can keep from it."""
    problem = problem_of(tc.PPercent(10))
    cell = problem.table.cell(region="S", branch="y")
    question = question_of(problem, insiders=CONTRIBUTORS)
    (itself,) = (k for _, k in _members(problem, question, cell) if cell in k.cells)
    assert itself.lower[itself.cells == cell] == itself.upper[itself.cells == cell]
    assert not question.interval(cell, itself).is_too_narrow
    found = explain_sensitive(question, cell, ())
    assert itself.name not in found.best_attacker


def test_insiders_that_are_not_tried_are_counted(monkeypatch):
    problem = problem_of(tc.PPercent(10))
    cell = problem.table.cell(region="N", branch="x")
    monkeypatch.setattr(sensitive_cell, "MOST_INSIDERS", 2)
    question = question_of(problem, insiders=CONTRIBUTORS)
    found = explain_sensitive(question, cell, ())
    assert (found.tried, found.left) == (2, 4)
    # Those who stand in the cell itself come first.
    first, second, *_ = (knowledge.name for _, knowledge in _members(problem, question, cell))
    assert {first, second} == {"Alpha", "Beta"}
    assert "4 insiders were not tried: time or their number ended it." in found.lines()
    late = explain_sensitive(question_of(problem, insiders=CONTRIBUTORS, seconds=0.0), cell, ())
    assert (late.tried, late.left) == (0, 6)
    assert late.best_attacker == "external"


def test_where_nobody_comes_closer_than_everybody_that_is_said():
    """In a table of one hidden cell, everybody computes it already."""
    problem = problem_of(tc.PPercent(10))
    cell = problem.table.cell(region="N", branch="x")
    low = np.where(np.arange(problem.table.n_cells) == cell, 0.0, problem.table.values)
    high = np.where(np.arange(problem.table.n_cells) == cell, np.inf, problem.table.values)
    alone = PatternQuestion(
        problem, low, high, low != high, Requirement.TWO_SIDED, CONTRIBUTORS, Budget.of(1000)
    )
    found = explain_sensitive(alone, cell, ())
    assert found.external.is_point
    assert found.insider is None
    assert found.best is found.external
    assert f"None of {found.tried} insiders tried comes closer." in found.lines()
