"""How a finished table is confirmed: outlines of codes, columns, sensitive cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.app.finished import Finished, offered_rules, outline, read_outline, unsafe_words
from tablecloak.examples.files import write_sheet


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("sheet") / "table.xlsx"
    write_sheet(path)
    return tc.propose(path)


@pytest.fixture
def form(found):
    trees = {f"tree:{name}": outline(tree) for name, tree in found.trees.items()}
    return {**trees, "value": "Turnover", "frequency": "Firms", "level": "15"}


def test_an_outline_is_read_back_as_the_tree_that_it_shows(found):
    for name, tree in found.trees.items():
        codes = list(dict.fromkeys(found.frame[name]))
        again = read_outline(outline(tree), name, codes)
        assert {(p, frozenset(c)) for p, c in again.groups} == {
            (p, frozenset(c)) for p, c in tree.groups
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T\n  a\n  b", "c has no line"),
        ("T\n  a\n  b\n  c\n  c", "line 5: 'c' is given twice"),
        ("T\n  a\n  b\n  d", "line 4: 'd' is no code of the table"),
        ("T\n  a\n  b\nc", "stand at the left"),
    ],
)
def test_an_outline_with_a_fault_is_refused_by_line_or_code(text, message):
    with pytest.raises(tc.InputError, match=message):
        read_outline(text, "size", ["T", "a", "b", "c"])


def test_the_confirmed_table_has_the_sensitive_cells_of_its_rule(found, form):
    told = {**form, "minimum-frequency": "1", "minimum-frequency:minimum": "3"}
    problem = Finished.of_form(found, told).problem()
    few = found.frame["Firms"].between(1, 2)
    assert problem.n_sensitive == few.sum() > 0
    assert problem.table.n_cells == len(found.frame)


def test_without_a_rule_no_cell_is_sensitive_as_yet(found, form):
    assert Finished.of_form(found, form).problem().n_sensitive == 0


def test_entries_of_a_status_column_make_cells_sensitive_with_their_level(found, form):
    from dataclasses import replace

    flags = np.where(found.frame["Firms"].between(1, 2), "c", "A")
    proposal = replace(found, frame=found.frame.assign(flag=flags), status="flag")
    assert unsafe_words(proposal) == "c"
    told = {**form, "status": "flag", "unsafe": "c", "level": "30", "frequency": ""}
    problem = Finished.of_form(proposal, told).problem()
    assert problem.n_sensitive == (flags == "c").sum() > 0
    levels = problem.upper_protection[problem.sensitive]
    assert np.allclose(levels, np.maximum(0.3 * problem.table.values[problem.sensitive], 1))


def test_a_rule_on_contributors_needs_their_number(found, form):
    with pytest.raises(tc.InputError, match="needs the number of contributors"):
        rule = {"minimum-frequency": "1", "minimum-frequency:minimum": "3"}
        Finished.of_form(found, {**form, **rule, "frequency": ""})


def test_rules_are_suggested_only_where_the_table_can_be_judged_by_them(found):
    suggested = {rule.name for rule, is_suggested in offered_rules(found) if is_suggested}
    assert suggested == {"minimum-frequency"}
    # One figure beside the value may be the number of contributors; without one no rule can judge.
    names = {rule.name for rule, _ in offered_rules(replace(found, figures=("value", "firms")))}
    assert "minimum-frequency" in names and not names & {"p-percent", "dominance"}
    assert not offered_rules(replace(found, figures=("value",)))


@pytest.fixture
def counts():
    """A table of counts, with totals."""
    frame = pd.DataFrame({"town": ["a", "b", "All"], "men": [1, 12, 13], "women": [4, 9, 13]})
    return tc.propose(frame.assign(all=frame["men"] + frame["women"]))


def test_counts_are_judged_by_the_smallest_number_and_rounded_to_the_base_that_is_chosen(counts):
    assert counts.frequency == counts.value == "value"
    assert {rule.name for rule, is_ticked in offered_rules(counts) if is_ticked} == {
        "minimum-frequency"
    }
    form = {f"tree:{name}": outline(tree) for name, tree in counts.trees.items()}
    form |= {"value": "value", "frequency": "value", "level": "15"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "3", "rounding:base": "10"}
    confirmed = Finished.of_form(counts, form)
    problem = confirmed.problem()
    assert problem.table.is_count
    assert problem.table.keys[problem.sensitive].to_numpy().tolist() == [["a", "men"]]
    assert confirmed.ways["rounding"].base == 10 and list(confirmed.ways) == ["rounding"]
    assert not Finished.of_form(counts, form | {"rounding:base": "5"}).ways
    with pytest.raises(tc.InputError, match="base of the way to protect 'rounding'.*Got 1"):
        Finished.of_form(counts, form | {"rounding:base": "1"})


def test_whole_amounts_are_no_counts(tmp_path):
    frame = pd.DataFrame({"town": ["a", "b", "All"], "turnover 2025": [1, 12, 13]})
    assert tc.propose(frame).frequency == ""
    assert tc.propose(frame.set_axis(["town", "staff"], axis=1)).frequency == "staff"
    (tmp_path / "a.csv").write_text("Sums (thousand EUR)\ntown;in 2025\na;1\nb;12\nAll;13\n")
    assert tc.propose(tmp_path / "a.csv").frequency == ""


def test_totals_that_a_table_lacks_are_made_of_its_cells():
    cells = pd.DataFrame(
        {"town": ["a", "a", "b", "c"], "sex": ["m", "f", "m", "f"], "number": [1, 2, 4, 8]}
    )
    found = tc.propose(cells)
    outlines = {name: outline(tree) for name, tree in found.trees.items()}
    assert outlines == {"town": "Total\n  a\n  b\n  c", "sex": "Total\n  m\n  f"}
    outlines["town"] = "All\n  East\n    a\n    b\n  c"
    form = {f"tree:{name}": text for name, text in outlines.items()} | {"level": "15"}
    form |= {"value": "number", "frequency": "number"}
    table = Finished.of_form(found, form).problem().table
    assert table.values[table.cell(town="East", sex="Total")] == 7
    assert table.values[table.cell(town="All", sex="Total")] == 15
    assert table.values[table.cell(town="All", sex="m")] == 5
    assert table.is_count
    with pytest.raises(tc.InputError, match="line 1: 'Al' is no code of the table"):
        Finished.of_form(found, form | {"tree:sex": "Al\nTotal\n  m\n  f"})


def test_largest_contributions_of_a_total_are_not_made():
    cells = pd.DataFrame({"town": list("abc"), "turnover": [7, 8, 9], "n": 3, "max": [4, 5, 6]})
    found = replace(tc.propose(cells), frequency="n", largest=("max",))
    with pytest.raises(tc.InputError, match="largest contributions to 'Total' of 'town' do not"):
        found.table({"town": tc.Hierarchy("Total", (("Total", ("a", "b", "c")),))})


def test_the_program_makes_the_same_problem(found, form, tmp_path):
    told = {**form, "minimum-frequency": "1", "minimum-frequency:minimum": "3"}
    finished = Finished.of_form(found, told)
    write_sheet(tmp_path / "table.xlsx")
    program = finished.python(tc.DataFile(tmp_path / "table.xlsx")).replace(
        "tc.suppress(problem)", "tc.suppress(problem, time_limit=1)"
    )
    names: dict[str, object] = {}
    exec(program, names)
    assert np.array_equal(names["problem"].sensitive, finished.problem().sensitive)
