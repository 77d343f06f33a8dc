"""Several variables joined are one problem: cells side by side, equations as relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.suppression.attack.intruders.contributors import Contributors
from tablecloak.tables.contributions import Contributions

REGIONS = {"N": {"n1": {}, "n2": {}}, "S": {"s1": {}, "s2": {}}}
FIRMS = pd.DataFrame(
    [("n1", "a", 3.0, 7.0), ("n1", "b", 1.0, 4.0), ("n2", "a", 0.0, 5.0), ("s1", "b", 2.0, 6.0),
     ("s2", "a", 4.0, 9.0), ("s2", "b", 5.0, 1.0)],
    columns=["region", "legal", "births", "survivors"],
).assign(active=lambda frame: frame.births + frame.survivors)  # fmt: skip
TREES = {"region": REGIONS, "legal": None}
ACTIVE = "active = births + survivors"


def tables_of(frame: pd.DataFrame = FIRMS) -> dict[str, tc.Table]:
    names = ("births", "survivors", "active")
    return {name: with_margins(frame, TREES, name) for name in names}


def safe(table: tc.Table, **changes: object) -> tc.ProtectionProblem:
    zero = np.zeros(table.n_cells)
    high = np.full(table.n_cells, 1000 + 2 * table.values.max())
    status = np.full(table.n_cells, "s")
    problem = tc.ProtectionProblem(table, status, zero, zero, zero, zero, high, table.values)
    return problem.with_changes(**changes)


def trees_of(tables: Mapping[str, tc.Table]) -> dict[str, tc.Hierarchy]:
    return dict(tables["active"].hierarchies)


def problems_of(tables: Mapping[str, tc.Table]) -> dict[str, tc.ProtectionProblem]:
    return {name: safe(table) for name, table in tables.items()}


def test_a_cell_is_a_variable_and_codes_and_keeps_what_was_decided_for_it():
    given = problems_of(tables_of())
    births = given["births"]
    given["births"] = births.with_changes(
        status=np.where(births.table.values == 1, "u", "s"), upper_bound=50, capacity_up=7
    )
    both = tc.join(given, [ACTIVE])
    assert list(both.table.keys.columns) == ["variable", "region", "legal"]
    cell = both.table.cell(variable="births", region="n1", legal="b")
    assert both.status[cell] == "u"
    assert (both.upper_bound[cell], both.capacity_up[cell], both.weights[cell]) == (50, 7, 1)
    other = both.table.cell(variable="active", region="n1", legal="b")
    assert (both.status[other], both.upper_bound[other], both.table.values[other]) == ("s", 1094, 5)


def test_an_equation_is_a_relation_at_each_combination_of_codes():
    tables = tables_of()
    both = tc.join(problems_of(tables), [ACTIVE]).table
    own = sum(table.n_relations for table in tables.values())
    assert both.n_relations == own + tables["active"].n_cells
    assert np.all(both.relations @ both.values == 0)
    assert both.describe_relation(own).count("variable=births") == 1


def test_coefficients_and_limits_of_equations_are_kept():
    toe = FIRMS.assign(active=np.where(FIRMS.region.str.startswith("n"), 2 * FIRMS.births, 50))
    tables = tables_of(toe)
    equation = tc.Equation("active = 2*births", where={"region": ["N", "n1", "n2"]})
    both = tc.join(problems_of(tables), [equation]).table
    rows = both.relations[sum(table.n_relations for table in tables.values()) :]
    assert set(rows.data) == {-1, 2}
    assert set(both.keys.region[rows.indices]) == {"N", "n1", "n2"}


def test_an_equation_that_does_not_hold_is_refused_with_the_cell_and_both_sides():
    tables = tables_of(FIRMS.assign(active=FIRMS.active + 2 * (FIRMS.region == "s1")))
    with pytest.raises(tc.InputError) as refused:
        tc.join(problems_of(tables), [ACTIVE])
    where = "does not hold at (region=Total, legal=Total): "
    assert f"{where}active = 49, but births + survivors = 47 (6 such" in str(refused.value)


def test_rounded_values_need_a_tolerance_and_then_are_not_whole_together():
    tables = tables_of(FIRMS.assign(active=FIRMS.active + (FIRMS.region == "s1")))
    problems = problems_of(tables)
    with pytest.raises(tc.InputError, match="accept rounding errors with its `tolerance`"):
        tc.join(problems, [tc.Equation(ACTIVE, tolerance=0.5)])
    both = tc.join(problems, [tc.Equation(ACTIVE, tolerance=1)]).table
    assert not both.integer
    assert tc.join(problems).table.integer
    assert np.all(both.relations @ both.values == both.right_hand_side)
    assert set(both.right_hand_side) == {0, -1}


def test_a_combination_that_does_not_occur_is_zero_where_the_equation_then_holds(recwarn):
    tables = tables_of(FIRMS.assign(births=np.where(FIRMS.region == "n2", 0, FIRMS.births)))
    frame = tables["births"].to_frame()
    sparse = tc.Table.from_frame(frame[frame.births > 0], trees_of(tables), "births")
    assert sparse.n_cells < tables["births"].n_cells
    both = tc.join(problems_of(tables | {"births": sparse}), [ACTIVE]).table
    own = sum(t.n_relations for t in (tables | {"births": sparse}).values())
    # The combination n2 x a has survivors and active enterprises only.
    lone = [row for row in range(own, both.n_relations) if len(both.relations[[row]].data) == 2]
    assert {both.keys.region[both.relations[[row]].indices[0]] for row in lone} == {"n2"}
    assert not recwarn.list


def test_a_variable_that_is_missing_where_others_are_published_is_reported():
    tables = tables_of()
    frame = tables["births"].to_frame()
    coarse = tc.Table.from_frame(
        frame[frame.legal == "Total"].drop(columns="legal"),
        {"region": trees_of(tables)["region"]},
        "births",
    )
    with pytest.warns(tc.TablecloakWarning) as said:
        both = tc.join(problems_of(tables | {"births": coarse}), [ACTIVE]).table
    assert len(said) == 1
    assert "Variable 'births' is not published for 11 combinations" in str(said[0].message)
    assert "(region=Total, legal=a)" in str(said[0].message)
    assert "Tabulate 'births' there too" in str(said[0].message)
    # At the totals of the dimension that births lack, the equation holds.
    own = sum(t.n_relations for t in (tables | {"births": coarse}).values())
    assert both.n_relations == own + coarse.n_cells


def test_two_variables_that_are_missing_hide_each_other(recwarn):
    tables = tables_of()
    coarse = {}
    for name in ("births", "survivors"):
        frame = tables[name].to_frame()
        coarse[name] = tc.Table.from_frame(
            frame[frame.legal == "Total"].drop(columns="legal"),
            {"region": trees_of(tables)["region"]},
            name,
        )
    tc.join(problems_of(tables | coarse), [ACTIVE])
    assert not recwarn.list


@pytest.mark.parametrize(
    ("equation", "fault"),
    [
        ("active = births + deaths", "there is no variable 'deaths'"),
        (tc.Equation("active = births", where={"regio": ["N"]}), "Did you mean 'region'"),
        (tc.Equation("active = births", where={"region": ["n9"]}), "'region' has no code 'n9'"),
        (tc.Equation("active = births", where={"variable": ["a"]}), "no dimension 'variable'"),
    ],
)
def test_an_equation_of_unknown_things_is_refused(equation, fault):
    with pytest.raises(tc.InputError, match=fault):
        tc.join(problems_of(tables_of()), [equation])


def test_a_dimension_with_the_name_of_the_column_of_variables_is_refused():
    with pytest.raises(tc.InputError, match="has a dimension 'region' of its own"):
        tc.join(problems_of(tables_of()), dimension="region")
    with pytest.raises(tc.InputError, match="must be a ProtectionProblem"):
        tc.join({"births": tables_of()["births"]})
    with pytest.raises(tc.InputError, match="at least one variable"):
        tc.join({})


def with_unit(table: tc.Table, unit: str, factor: float = 1.0) -> tc.Table:
    frame = table.to_frame().assign(**{table.name: table.values * factor})
    return tc.Table.from_frame(frame, table.hierarchies, table.name, unit=unit)


def test_weights_stay_as_they_are_where_variables_can_be_added_up():
    tables = tables_of()
    both = tc.join(problems_of(tables), [ACTIVE])
    assert np.array_equal(both.weights, both.table.values)
    # Without an equation nobody knows whether they can be added up, unless they have one unit.
    apart = tc.join(problems_of(tables))
    assert not np.array_equal(apart.weights, apart.table.values)
    same = {name: with_unit(table, "enterprises") for name, table in tables.items()}
    assert np.array_equal(tc.join(problems_of(same)).weights, both.weights)


def test_weights_in_different_units_are_made_comparable_also_by_a_rule():
    tables = tables_of()
    energy = {
        "gas": with_unit(tables["births"], "GWh"),
        "sales": with_unit(tables["survivors"], "EUR", 1e6),
    }
    both = tc.join(problems_of(energy))
    gas = (both.table.keys.variable == "gas").to_numpy()
    for rule in ("value", "log", "unit"):
        weights = both.with_weights(rule).weights
        for mine in (gas, ~gas):
            assert np.mean(weights[mine & (weights > 0)]) == pytest.approx(1)
    given = both.with_changes(weights=np.where(gas, 3.0, 1.0))
    assert set(given.with_weights("file").weights) == {3.0, 1.0}


def contributed(who: list[str], n_largest: int, count: int = 1) -> Contributions:
    """Contributions of 5 by one contributor to each cell, of as many as `count`."""
    frame = pd.DataFrame({"count": count, "weighted_count": 1.0}, index=range(len(who)))
    frame = frame.assign(total=5.0, request_1=0.0, request_2=0.0, shortfall=0.0)
    for rank in range(1, n_largest + 1):
        frame[f"contributor_{rank}"] = who if rank == 1 else ""
        frame[f"largest_{rank}"] = 5.0 * (rank == 1)
        frame[f"weight_{rank}"] = 1.0 * (rank == 1)
    return Contributions.from_frame(frame)


def test_a_contributor_is_the_same_in_all_variables():
    tables = tables_of()
    n = tables["active"].n_cells
    one = replace(tables["active"], contributions=contributed(["A", *["B"] * (n - 1)], 1))
    two = replace(tables["active"], contributions=contributed(["B"] * n, 2))
    both = tc.join({"one": safe(one), "two": safe(two), "three": safe(tables["active"])}).table
    known = both.contributions
    assert known is not None
    names = [known.name_of(who) if who >= 0 else "" for who in known.largest_contributor[:, 0]]
    assert names == ["A", *["B"] * (2 * n - 1), *[""] * n]
    assert known.largest_contributor.shape == (3 * n, 2)


def test_counts_stay_counts_and_digits_the_most_of_all():
    leaves = FIRMS.assign(count=FIRMS.births)
    counts = safe(with_margins(leaves, TREES, "count"))
    both = tc.join({"births": counts, "again": counts}, ["births = again"]).table
    assert both.name == "count"
    assert both.is_count
    fine = safe(with_margins(FIRMS.assign(v=FIRMS.births + 0.5), TREES, "v", decimals=1))
    coarse = safe(with_margins(FIRMS, TREES, "births", decimals=0))
    assert tc.join({"fine": fine, "coarse": coarse}).table.decimals == 1
    assert tc.join({"fine": fine, "counts": counts}).table.decimals is None


def test_rules_are_for_one_variable_each():
    with pytest.raises(tc.InputError, match="protect the table of each variable, and then join"):
        tc.join(problems_of(tables_of())).table.protect(tc.MinimumFrequency(3))


def test_a_variable_that_may_be_negative_does_not_take_knowledge_of_others_away():
    n = tables_of()["active"].n_cells
    table = tables_of()["active"]
    given = replace(contributed(["A"] * n, 2, count=2), total=table.values)
    known = replace(table, contributions=given)
    profit = safe(known, lower_bound=-100.0)
    both = tc.join({"sales": safe(known), "profit": profit})
    (insider,) = Contributors().members(both, np.ones(2 * n, dtype=bool))
    of = both.table.keys.variable.to_numpy()[insider.cells]
    assert set(of) == {"sales"}
    assert set(insider.lower) == {5.0}
