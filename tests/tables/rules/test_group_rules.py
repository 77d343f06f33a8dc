"""Rules on groups: what is left of a group without one of its parts must be able to grow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.cellkey.perturbed_problem import perturb_problem
from tablecloak.tables.changes.rests import values_with_rests


def counts(cells: dict[tuple[str, ...], int], names: str = "region health", **trees) -> tc.Table:
    """A table of persons with these numbers in the most detailed cells."""
    rows = [codes for codes, number in cells.items() for _ in range(number)]
    frame = pd.DataFrame(rows, columns=names.split())
    return tc.tabulate(frame, {name: trees.get(name) for name in names.split()}, empty_cells=True)


def rests_of(table: tc.Table, *rules, zeros: str = "candidates") -> dict[tuple[str, ...], float]:
    """The rests that rules find, with the distance by which each must be able to grow."""
    problem = table.protect(*rules, zeros=zeros)
    at = np.flatnonzero(problem.table.rests)
    assert np.all(problem.sensitive[at])
    assert not problem.lower_protection[at].any()
    assert not problem.weights[at].any()
    names = [tuple(codes) for codes in problem.table.keys.iloc[at].to_numpy().tolist()]
    return dict(zip(names, problem.upper_protection[at].tolist(), strict=True))


TWO = counts({("N", "ill"): 1, ("N", "well"): 9, ("S", "ill"): 4, ("S", "well"): 4})
HEALTH = ["health"]


@pytest.mark.parametrize(
    ("coalition", "expected"),
    [
        (0, {}),
        # Of 10 persons in N all but 1 are well.
        (1, {("N", "~not~well"): 1.0}),
        (3, {("N", "~not~well"): 3.0}),
        (4, {("N", "~not~well"): 4.0, ("S", "~not~ill"): 1.0, ("S", "~not~well"): 1.0}),
    ],
)
def test_a_part_that_holds_all_but_k_of_its_group_discloses(coalition, expected):
    assert rests_of(TWO, tc.KDisclosure(coalition, HEALTH)) == expected


def test_a_row_with_one_cell_that_is_not_zero_discloses_the_attribute():
    table = counts({("N", "ill"): 3, ("S", "ill"): 2, ("S", "well"): 2})
    rule = tc.AttributeDisclosure(attributes=HEALTH)
    assert rests_of(table, rule) == {("N", "~not~ill"): 1.0}
    assert rests_of(table, rule) == rests_of(table, tc.KDisclosure(0, HEALTH))


def test_nobody_is_disclosed_in_a_group_without_persons_or_by_a_part_without_persons():
    table = counts({("N", "ill"): 1, ("N", "well"): 1, ("N", "dead"): 8, ("S", "dead"): 5,
                    ("W", "ill"): 9, ("W", "well"): 9})  # fmt: skip
    found = rests_of(table, tc.KDisclosure(2, HEALTH))
    assert found == {("N", "~not~dead"): 1.0, ("S", "~not~dead"): 3.0}


def test_every_dimension_is_an_attribute_unless_some_are_named():
    table = counts({("N", "ill"): 9, ("N", "well"): 9, ("S", "ill"): 1, ("S", "well"): 6})
    everywhere = rests_of(table, tc.KDisclosure(1))
    assert everywhere == {("S", "~not~well"): 1.0, ("~not~N", "ill"): 1.0}
    assert rests_of(table, tc.KDisclosure(1, HEALTH)) == {("S", "~not~well"): 1.0}


def test_codes_that_mean_something_together_are_a_part_and_a_group():
    cells = {("N", "good"): 1, ("N", "bad"): 5, ("N", "very bad"): 4}
    table = counts({**cells, **{("S", code): 5 for code in ("good", "bad", "very bad")}})
    alone = tc.KDisclosure(1, HEALTH)
    assert rests_of(table, alone) == {}
    joined = tc.KDisclosure(1, HEALTH, [{"health": ["bad", "very bad"]}])
    assert rests_of(table, joined) == {("N", "~not~bad+very bad"): 1.0}
    known = tc.KDisclosure(4, HEALTH, [{"health": ["bad", "very bad"]}])
    found = rests_of(table, known)
    assert found[("N", "~not~bad~in~bad+very bad")] == 1.0
    assert ("N", "~not~very bad~in~bad+very bad") not in found


def test_a_chain_of_groups_is_covered_by_its_links():
    tree = {"ill": {"flu": {}, "cold": {}}, "well": {}}
    cells = {("N", "flu"): 8, ("N", "cold"): 1, ("S", "flu"): 6, ("S", "cold"): 6, ("S", "well"): 6}
    found = rests_of(counts(cells, health=tree), tc.KDisclosure(1, HEALTH))
    # All 9 persons of N are ill, and 8 of the ill have the flu; 8 of all 9 follows from these.
    assert found == {("N", "~not~ill"): 2.0, ("N", "~not~flu"): 1.0}


def test_of_two_rules_on_one_rest_the_stricter_counts():
    table = counts({("N", "ill"): 3, ("S", "ill"): 2, ("S", "well"): 2})
    rules = tc.AttributeDisclosure(HEALTH), tc.KDisclosure(1, HEALTH)
    assert rests_of(table, *rules)[("N", "~not~ill")] == 2.0
    problem = table.protect(*rules, zeros="candidates")
    assert problem.reasons[problem.table.rests].tolist() == ["k-disclosure"]


def test_a_dimension_with_one_code_tells_nothing_of_anybody():
    table = counts({("N", "ill"): 3, ("N", "well"): 3})
    assert rests_of(table, tc.AttributeDisclosure()) == {}


def test_groups_of_linked_tables_are_those_of_each():
    people = pd.DataFrame({"region": list("NNNS"), "sex": list("mfmf"), "ill": list("yyyn")})
    links = [["region", "ill"], ["region", "sex"]]
    table = tc.tabulate(people, ["region", "sex", "ill"], tables=links, empty_cells=True)
    found = rests_of(table, tc.AttributeDisclosure(["ill"]))
    assert found == {("N", "~not~y", "Total"): 1.0, ("S", "~not~n", "Total"): 1.0}


# -- rests are cells that nobody sees ------------------------------------------------------


def test_no_release_shows_a_rest():
    problem = TWO.protect(tc.KDisclosure(1, HEALTH), zeros="candidates")
    assert problem.table.rests.sum() == 1
    pattern, adjusted = tc.suppress(problem), tc.adjust(problem)
    for release in (pattern.release(), adjusted.release(), tc.publish_intervals(problem).release()):
        assert len(release) == TWO.n_cells
        assert not release.health.str.startswith("~").any()
        assert tc.audit(problem, release).is_safe
    assert pattern.n_suppressed == int((pattern.release().status == "suppressed").sum())
    assert "0 sensitive cells and 1 rests of groups proved in whole numbers" in pattern.summary()


def test_an_attack_that_judges_no_rests_counts_them_as_known():
    problem = TWO.protect(tc.KDisclosure(1, HEALTH), zeros="candidates")
    rests, perturbed = problem.table.rests, perturb_problem(problem)
    assert not set(perturbed.release().health) & set(problem.table.keys.health[rests])
    for ends in perturbed.intervals:
        assert np.array_equal(ends[rests], problem.table.values[rests])


def test_a_release_that_lets_the_rest_be_computed_is_attacked():
    problem = TWO.protect(tc.KDisclosure(1, HEALTH), zeros="candidates")
    careless = tc.suppress(problem).release().assign(status="published")
    careless["count"] = TWO.to_frame()["count"]
    assert tc.audit(problem, careless).count(tc.Verdict.ATTACKABLE) == 1


def test_an_adjusted_table_is_judged_by_the_rest_that_it_shows():
    problem = TWO.protect(tc.KDisclosure(1, HEALTH), zeros="candidates")
    true = TWO.to_frame().rename(columns={"count": "value"})
    assert not tc.audit(problem, true).is_safe
    changed = values_with_rests(problem.table, np.append(TWO.values + 1, -7))
    assert changed[-1] == TWO.values[TWO.cell(region="N", health="ill")] + 1


@pytest.mark.parametrize("file", ["cells.csv", "cells.parquet"])
def test_files_of_problems_keep_rests(tmp_path, file):
    problem = TWO.protect(tc.KDisclosure(1, HEALTH), zeros="candidates")
    tc.write_problem(problem, tmp_path / file)
    again = tc.read_problem(tmp_path / file)
    assert np.array_equal(again.table.rests, problem.table.rests)
    assert again.table.is_count
    assert len(tc.suppress(again).release()) == TWO.n_cells


def test_contributors_know_of_a_rest_what_they_know_of_its_cells():
    people = pd.DataFrame({"region": list("NNNNNNSSSSSS"), "health": list("iiwwwwiiiwww"),
                           "person": [f"p{n:02}" for n in range(12)]})  # fmt: skip
    table = tc.tabulate(people, ["region", "health"], contributor="person", empty_cells=True)
    problem = table.protect(tc.KDisclosure(2, HEALTH), zeros="candidates")
    pattern = tc.suppress(problem, protect_against="contributors")
    assert problem.table.rests.sum() == 1
    assert tc.audit(problem, pattern, intruders=["contributors", "integers"]).is_safe


# -- what cannot be protected, and what is wrong -------------------------------------------


def test_public_zeros_tell_that_a_row_has_one_cell():
    table = counts({("N", "ill"): 3, ("S", "ill"): 2, ("S", "well"): 2})
    with pytest.raises(
        tc.ModelError, match=r"1 groups disclose by the rule 'attribute-disclosure'"
    ):
        table.protect(tc.AttributeDisclosure(HEALTH))
    # A cell that the table does not list is known to be empty.
    people = table.to_frame().query("count > 0")
    listed = tc.Table.from_frame(people, ["region", "health"], "count")
    with pytest.raises(tc.ModelError, match=r"\(region=N, health=~not~ill\)"):
        listed.protect(tc.AttributeDisclosure(HEALTH), zeros="candidates")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (tc.KDisclosure(1, ["heath"]), "The table has no dimension 'heath'. Did you mean 'health'"),
        (tc.KDisclosure(1, [], [{"heath": ["ill"]}]), "The table has no dimension 'heath'"),
        (tc.KDisclosure(1, [], [{"health": ["il"]}]), "names the code 'il' of 'health'. Did you"),
        (tc.KDisclosure(1, [], [{"health": ["ill", "Total"]}]), "two or more parts of one group"),
        (tc.KDisclosure(1, [], [{"health": ["ill"]}]), "of 'health' are no combination"),
        (tc.KDisclosure(1, [], [{"health": ["ill", "well"]}]), "but not all of them"),
    ],
)
def test_unknown_names_are_refused(rule, message):
    with pytest.raises(tc.InputError, match=message.replace(".", r"\.")):
        TWO.protect(rule, zeros="candidates")


def test_sums_of_amounts_have_no_groups_of_persons():
    frame = pd.DataFrame({"region": ["N", "S"], "health": ["ill", "well"], "wage": [10, 20]})
    with pytest.raises(tc.InputError, match="'k-disclosure' needs a table of counts"):
        tc.tabulate(frame, ["region", "health"], "wage").protect(tc.KDisclosure())


@pytest.mark.parametrize("given", [{"coalition": -1}, {"coalition": 1.5}, {"attributes": 3}])
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(tc.InputError, match="KDisclosure: "):
        tc.KDisclosure(**given)
