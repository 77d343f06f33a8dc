"""Plans of publications: which tables are contained, and which belong together."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc

LETTUCE = "to_lettuce = to_batavia + to_arugula"

FOUR = {
    frozenset({"T8", "T10", "T12"}): {"naf", "cj"},
    frozenset({"T7", "T9", "T11"}): {"naf", "size"},
    frozenset({"T1", "T2"}): {"nuts", "size"},
    frozenset({"T3", "T4", "T5", "T6"}): {"naf", "nuts"},
}
"""The tables to protect of pizza and lettuce, without the dimension of the variables."""


@pytest.fixture(scope="module")
def pizza() -> pd.DataFrame:
    from instances import Instances

    path = Instances() / "rtauargus/metadata_pizza_lettuce.csv.gz"
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def lines_of(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    """Metadata of name, variable and levels such as ``a10 cj``; ``hrc:level`` names a hierarchy."""
    described = []
    for name, variable, levels in rows:
        line = {"table_name": name, "field": "f", "indicator": variable}
        for number in range(5):
            each = (levels.split() + [""] * 5)[number]
            tree, _, level = each.rpartition(":")
            line |= {f"spanning_{number + 1}": level, f"hrc_spanning_{number + 1}": tree}
        described.append(line)
    return pd.DataFrame(described)


def members_of(plan: tc.Plan) -> dict[frozenset[str], set[str]]:
    return {frozenset(table.members): set(table.dimensions) for table in plan.tables}


def clusters_of(plan: tc.Plan) -> set[frozenset[str]]:
    return {frozenset(cluster.members) for cluster in plan.clusters}


def quietly(*args: object, **options: object) -> tc.Plan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tc.TablecloakWarning)
        return tc.plan(*args, **options)


def test_twelve_tables_of_pizza_and_lettuce_are_four_to_protect_in_two_clusters(pizza):
    plan = tc.plan(pizza)
    assert [cluster.name for cluster in plan.clusters] == [
        "france_entreprises_2023.hrc_lettuce",
        "france_entreprises_2023.to_pizza",
    ]
    assert members_of(plan) == FOUR
    assert plan.contained == {"T1": "T2", "T3": "T6", "T4": "T6", "T5": "T6"}
    lettuce, pizzas = plan.clusters
    assert {table.variable_dimension for table in lettuce.tables} == {"lettuce"}
    assert lettuce.total == "to_lettuce"
    assert {table.variable_dimension for table in pizzas.tables} == {""}


def test_an_equation_in_place_of_a_link_gives_the_same_tables_and_clusters(pizza):
    equation = pd.DataFrame({"eq_name": ["eq1"], "eq_indicator": [LETTUCE], "unit": ["EUR"]})
    plan = tc.plan(pizza.assign(hrc_indicator=""), equations=equation)
    assert members_of(plan) == FOUR
    assert clusters_of(plan) == clusters_of(tc.plan(pizza))
    lettuce = plan.clusters[0]
    assert lettuce.total == "to_lettuce"
    assert {table.variable_dimension for table in lettuce.tables} == {"to_lettuce"}


def test_an_equation_wins_over_a_link_with_a_warning(pizza):
    with pytest.warns(tc.TablecloakWarning, match="hrc_lettuce links .*: the equation counts"):
        plan = tc.plan(pizza, equations=[LETTUCE])
    assert members_of(plan) == FOUR
    assert {t.variable_dimension for t in plan.clusters[0].tables} == {"to_lettuce"}


def test_a_link_joins_no_variables_for_which_an_equation_counts_instead():
    names = ["energy", "gas", "heat", "staff", "staff_f", "staff_m"]
    lines = lines_of([(f"T{name}", name, "a10") for name in names])
    with pytest.warns(tc.TablecloakWarning) as told:
        plan = tc.plan(lines.assign(hrc_indicator="hrc_firm"), equations=["energy = gas + heat"])
    energy, staff = plan.clusters
    assert energy.variables == ("energy", "gas", "heat")
    assert (energy.total, energy.links) == ("energy", ())
    assert not any("hrc_firm" in reason for reason in energy.reasons)
    assert staff.variables == ("staff", "staff_f", "staff_m")
    assert staff.links == ("hrc_firm",)
    overruled, unknown = [str(warning.message) for warning in told]
    assert overruled.endswith(
        "the equation counts, and staff, staff_f, staff_m are not joined with its variables"
    )
    assert "which of staff, staff_f, staff_m, linked by hrc_firm, is the sum" in unknown


def test_an_equation_that_says_nothing_of_a_link_leaves_it_as_it_is(pizza):
    """The sum of lettuce and pizza does not tell that lettuce is batavia and arugula."""
    salads = tc.plan(pizza).cluster_of("T7")
    with pytest.warns(tc.TablecloakWarning) as told:
        plan = tc.plan(
            pd.concat([pizza, pizza[:1].assign(table_name="T0", indicator="to_food")]),
            equations=["to_food = to_lettuce + to_pizza"],
        )
    (note,) = [str(warning.message) for warning in told]
    assert "to_arugula, to_batavia, to_lettuce, linked by hrc_lettuce" in note
    (cluster,) = plan.clusters
    assert set(salads.variables) < set(cluster.variables)
    assert cluster.links == ("hrc_lettuce",)


def test_a_link_counts_in_the_fields_where_the_equation_is_not_published():
    lines = lines_of([(f"T{name}", name, "a10") for name in ["A", "B", "C"]])
    both = pd.concat([lines, lines[1:].assign(field="g", table_name=["UB", "UC"])])
    plan = quietly(both.assign(hrc_indicator="hrc_link"), equations=["A = B + C"])
    assert clusters_of(plan) == {frozenset({"TA", "TB", "TC"}), frozenset({"UB", "UC"})}
    assert plan.cluster_of("TA").links == ()
    assert plan.cluster_of("UB").links == ("hrc_link",)


def test_a_table_of_coarser_regions_is_contained_in_that_of_finer_ones(pizza):
    plan = tc.plan(pizza[:2])
    assert members_of(plan) == {frozenset({"T1", "T2"}): {"nuts", "size"}}
    assert plan.tables[0].name == "T2"
    assert plan.contained == {"T1": "T2"}


def test_a_copy_without_a_dimension_is_contained(pizza):
    copy = pizza[:1].assign(table_name="copy", spanning_2="")
    plan = tc.plan(pd.concat([copy, pizza[:1]]))
    assert members_of(plan) == {frozenset({"T1", "copy"}): {"nuts", "size"}}
    assert plan.contained == {"copy": "T1"}


def test_chains_of_equations_join_and_a_variable_may_stand_in_several():
    lines = lines_of([(f"T{name}", name, "a10") for name in "ABCDEFGXYSZ"])
    plan = tc.plan(lines, equations=["A = B + C", "A = D + E", "D = F + G", "Z = X + Y + S"])
    assert {frozenset(cluster.variables) for cluster in plan.clusters} == {
        frozenset("ABCDEFG"), frozenset("XYSZ"),
    }  # fmt: skip
    whole = plan.cluster_of("TZ")
    assert whole.total == "Z"
    assert len(whole.tables) == 1
    # A has parts in two ways, which are no parts of each other: not one dimension.
    assert {table.variable_dimension for table in plan.cluster_of("TA").tables} == {""}


def test_an_equation_over_different_dimensions_keeps_tables_apart_in_one_cluster():
    lines = lines_of([("x", "A", "a10"), ("y", "B", "a10"), ("z", "C", "cj")])
    plan = tc.plan(lines, equations=["A = B + C"])
    assert clusters_of(plan) == {frozenset("xyz")}
    assert set(members_of(plan)) == {frozenset("x"), frozenset("y"), frozenset("z")}
    assert [str(equation) for equation in plan.clusters[0].equations] == ["'A = B + C'"]


def test_units_that_differ_keep_variables_from_being_one_dimension():
    lines = lines_of([(name, name, "a10") for name in "ABCDE"])
    equations = pd.DataFrame({"eq_indicator": ["A = B + C", "B = D + E"], "unit": ["TOE", "EUR"]})
    plan = tc.plan(lines, equations=equations)
    assert len(plan.clusters) == 1
    assert len(plan.tables) == 5


def test_neither_the_order_of_lines_nor_that_of_columns_changes_the_plan(pizza):
    expected = tc.plan(pizza).to_frame()
    rng = np.random.default_rng(1)
    for _ in range(5):
        turned = pizza.sample(frac=1, random_state=int(rng.integers(1000)))
        turned = turned[rng.permutation(turned.columns)]
        swap = {"spanning_1": "spanning_2", "spanning_2": "spanning_1"}
        swap |= {f"hrc_{one}": f"hrc_{other}" for one, other in swap.items()}
        found = tc.plan(turned.rename(columns=swap)).to_frame()
        columns = [name for name in expected if name != "levels"]
        pd.testing.assert_frame_equal(found[columns], expected[columns])


def test_other_names_give_the_same_plan(pizza):
    named = pizza.assign(
        table_name="tab " + pizza.table_name,
        indicator=pizza.indicator.str.replace("to_", "Umsatz "),
        field="Ünited Kingdom; 2023",
    )
    plan = quietly(named)
    expected = {frozenset(f"tab {name}" for name in each) for each in FOUR}
    assert set(members_of(plan)) == expected


def test_capital_letters_and_spaces_do_not_part_tables(pizza):
    loud = pizza.rename(columns=lambda name: f" {name.upper().replace('_', ' ')} ")
    loud[" INDICATOR "] = [f" {name.upper()}" if number % 2 else name
                           for number, name in enumerate(pizza.indicator)]  # fmt: skip
    assert members_of(tc.plan(loud)) == FOUR


def test_columns_that_may_be_missing_may_be_missing(pizza):
    plan = tc.plan(pizza[:6].drop(columns=["hrc_field", "hrc_indicator"]))
    assert len(plan.tables) == 2


def test_tables_of_different_fields_are_apart_unless_the_fields_are_linked(pizza):
    lines = pd.concat(
        [pizza[1:2], pizza[1:2].assign(table_name="other", field="france_entreprises_2024")]
    )
    assert len(tc.plan(lines).clusters) == 2
    linked = tc.plan(lines.assign(hrc_field="hrc_years"))
    assert len(linked.clusters) == 1
    assert set(linked.tables[0].dimensions) == {"nuts", "size", "years"}


def test_dimensions_of_one_hierarchy_on_levels_of_unknown_order_are_one_table_with_a_warning():
    lines = lines_of([("a", "v", "geo:nation"), ("b", "v", "geo:continent")])
    with pytest.warns(tc.TablecloakWarning, match="not known which of the levels"):
        plan = tc.plan(lines)
    assert members_of(plan) == {frozenset("ab"): {"geo"}}
    assert not plan.contained
    known = tc.plan(lines, levels={"geo": ["continent", "nation"]})
    assert known.contained == {"b": "a"}


def test_a_level_without_hierarchy_is_the_same_as_with_one():
    lines = lines_of([("a", "v", "nuts2"), ("b", "v", "hrc_nuts:nuts2 size")])
    assert tc.plan(lines).contained == {"a": "b"}


def test_links_without_an_equation_say_that_the_sum_is_not_known():
    lines = lines_of([("a", "x", "a10"), ("b", "y", "a10")]).assign(hrc_indicator="hrc_pair")
    with pytest.warns(tc.TablecloakWarning, match="Give the equation"):
        plan = tc.plan(lines)
    assert clusters_of(plan) == {frozenset("ab")}


def test_a_variable_of_an_equation_that_no_table_shows_is_told():
    lines = lines_of([("a", "total", "a10"), ("b", "part", "a10")])
    with pytest.warns(tc.TablecloakWarning, match="no table shows rest"):
        plan = tc.plan(lines, equations=["total = part + rest"])
    assert clusters_of(plan) == {frozenset("ab")}
    assert plan.clusters[0].equations == ()


def test_an_equation_with_a_misspelt_variable_is_told_and_does_not_replace_the_link(pizza):
    with pytest.warns(tc.TablecloakWarning) as told:
        plan = tc.plan(pizza, equations=[LETTUCE.replace("lettuce", "letuce")])
    assert any(
        "no table shows to_letuce. Did you mean 'to_lettuce'" in str(w.message) for w in told
    )
    assert not any("the equation counts" in str(w.message) for w in told)
    assert clusters_of(plan) == clusters_of(tc.plan(pizza))


def test_an_equation_may_be_solved_for_any_variable(pizza):
    plan = tc.plan(
        pizza.assign(hrc_indicator=""), equations=["to_arugula = to_lettuce - to_batavia"]
    )
    assert members_of(plan) == FOUR
    assert plan.clusters[0].total == "to_lettuce"


def test_an_equation_with_coefficients_joins_variables_that_stay_apart(pizza):
    equations = [LETTUCE, "to_pizza = 0.5*to_lettuce"]
    (cluster,) = tc.plan(pizza.assign(hrc_indicator=""), equations=equations).clusters
    assert len(cluster.tables) == 8
    assert len(cluster.equations) == 2


def test_five_dimensions_and_their_margins_are_one_table():
    levels = "hrc_a:a1 b c d e"
    lines = lines_of(
        [("T0", "v", levels), ("T1", "v", "a1 e"), ("T2", "v", "b d"), ("T3", "v", "")]
    )
    with pytest.warns(tc.TablecloakWarning, match="margins only"):
        plan = tc.plan(lines)
    assert plan.contained == dict.fromkeys(["T1", "T2", "T3"], "T0")


def test_218_tables_with_75_equations_are_planned():
    """In the size of energy statistics; all dimensions of a fuel are those of its total."""
    rows, equations = [], []
    for fuel in range(24):
        parts = [f"use{fuel}_{number}" for number in range(8)]
        for number, name in enumerate([f"fuel{fuel}", *parts]):
            rows.append((f"T{fuel}_{number}", name, "hrc_nace:a10 hrc_nuts:nuts2"))
        equations.append(f"fuel{fuel} = {' + '.join(parts)}")
    rows += [("S1", "fuel0", "hrc_nace:a21 hrc_nuts:nuts2"), ("S2", "fuel1", "hrc_nuts:nuts3")]
    plan = tc.plan(lines_of(rows[:218]), equations=equations)
    assert len(plan.lines) == 218
    assert len(plan.clusters) == 24


def test_clusters_of_random_publications_are_those_that_a_graph_gives():
    """Nodes are tables; edges join those with a variable or an equation in common."""
    import networkx as nx

    for seed in range(10):
        rng = np.random.default_rng(seed)
        names = [f"v{number}" for number in range(9)]
        rows = [
            (f"T{number}", str(rng.choice(names)),
             " ".join(rng.permutation(["hrc_a:a10", "hrc_a:a21", "b", "c"])[:2]).replace(
                 "hrc_a:a10 hrc_a:a21", "b").replace("hrc_a:a21 hrc_a:a10", "c"))
            for number in range(12)
        ]  # fmt: skip
        equations = [" = ".join([x, f"{y} + {z}"]) for x, y, z in
                     (rng.choice(names, 3, replace=False) for _ in range(2))]  # fmt: skip
        graph = nx.Graph()
        variable = {name: of for name, of, _ in rows}
        graph.add_nodes_from(variable)
        joined = [set(each.replace("=", "+").replace(" ", "").split("+")) for each in equations]
        for (one, its), (other, others) in itertools.combinations(variable.items(), 2):
            if its == others or any({its, others} <= names for names in joined):
                graph.add_edge(one, other)
        plan = quietly(lines_of(rows), equations=equations)
        assert clusters_of(plan) == {frozenset(part) for part in nx.connected_components(graph)}
        assert sorted(name for table in plan.tables for name in table.members) == sorted(variable)
