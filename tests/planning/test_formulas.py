"""Tables named by formulas, as users of R write them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.planning.formulas import terms_of


def sets(*terms: str) -> set[frozenset[str]]:
    return {frozenset(term.split(":")) for term in terms}


def test_formulas_mean_what_they_mean_in_r():
    for formula, terms in [
        ("~ nation + age * continent", sets("nation", "age", "continent", "age:continent")),
        ("~ (sex + lms) : hst", sets("sex:hst", "lms:hst")),
        ("a*b*c - a:b:c", sets("a", "b", "c", "a:b", "a:c", "b:c")),
        ("~ a*b:c", sets("a", "b:c", "a:b:c")),
        ("~ 1 + a - 1", sets("a")),
        ("~ a:(b + 1) - `b`", sets("a:b", "a")),
        ("~ a:a + `two words`", sets("a", "two words")),
        ("~ a + b - (a + c)", sets("b")),
        ("~ (((a)))", sets("a")),
    ]:
        assert set(terms_of(formula)) == terms


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ a +", "a dimension is missing at character 6"),
        ("~ a b", "'b' is not expected at character 5"),
        ("~ (a + b", r"'\)' is missing at character 9"),
        ("~ a ^ 2", r"'\^' cannot be read at character 5"),
        ("~ a - a", "has no term"),
        ("~", "a dimension is missing at character 2"),
        ("", "a dimension is missing at character 1"),
        ("a ~ b ~ c", "'~' is not expected"),
    ],
)
def test_a_fault_of_a_formula_is_told_with_its_place(formula, message):
    with pytest.raises(tc.InputError, match=message):
        tc.plan(formulas=formula)


def test_the_first_group_of_the_census_of_2021_is_four_tables():
    plan = tc.plan(formulas="~ sex*age*(lms + hst + fst) + sex*lms*hst")
    assert {table.dimensions for table in plan.tables} == {
        ("age", "lms", "sex"), ("age", "hst", "sex"), ("age", "fst", "sex"), ("hst", "lms", "sex"),
    }  # fmt: skip
    assert len(plan.clusters) == 1
    assert plan.contained["sex"] in {"age:fst:sex", "age:hst:sex", "age:lms:sex", "hst:lms:sex"}


def test_levels_of_one_hierarchy_are_one_dimension_of_formulas_too():
    plan = tc.plan(
        formulas="turnover ~ nation + age*continent", levels={"geo": ["continent", "nation"]}
    )
    (table,) = plan.tables
    assert table.dimensions == ("age", "geo")
    assert plan.clusters[0].variables == ("turnover",)
    assert set(plan.contained) == {"turnover~age", "turnover~continent"}


def test_formulas_of_two_variables_are_two_clusters_and_names_tell_formulas_apart():
    plan = tc.plan(formulas={"one": "n ~ a*b", "two": "m ~ a"})
    assert [cluster.name for cluster in plan.clusters] == ["m", "n"]
    assert {line.name for line in plan.lines} == {"one.n~a", "one.n~b", "one.n~a:b", "two.m~a"}


def test_products_of_random_sums_are_all_pairs_of_their_terms():
    """`(A):(B)` and `(A)*(B)` from the definition, for sums of random terms."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sides = [
            [rng.choice(list("abcde"), rng.integers(1, 4), replace=False) for _ in range(3)]
            for _ in range(2)
        ]
        texts = [" + ".join(":".join(term) for term in side) for side in sides]
        one, other = ({frozenset(term) for term in side} for side in sides)
        crossed = {x | y for x, y in itertools.product(one, other)}
        assert set(terms_of(f"~ ({texts[0]}):({texts[1]})")) == crossed
        assert set(terms_of(f"~ ({texts[0]}) * ({texts[1]})")) == one | other | crossed
        assert set(terms_of(f"~ {texts[0]} - ({texts[1]}) + zz")) == (one - other) | {
            frozenset(["zz"])
        }


def test_a_plan_needs_some_description_of_tables():
    with pytest.raises(tc.InputError, match="nothing says which tables"):
        tc.plan()
    with pytest.raises(tc.InputError, match="`formulas` must be a text"):
        tc.plan(formulas=3)


@pytest.mark.parametrize(
    ("formula", "count"),
    [
        ("*".join(f"d{number}" for number in range(40)), "1,099,511,627,775"),
        (":".join(["(a + b + c)"] * 12), "531,441"),
    ],
)
def test_a_product_is_counted_before_it_is_made(formula, count):
    with pytest.raises(tc.InputError, match=f"asks for {count} tables; at most 10,000"):
        terms_of(f"~ {formula}")


def test_a_product_of_thirteen_dimensions_has_all_its_tables():
    assert len(terms_of("*".join(f"d{number}" for number in range(13)))) == 2**13 - 1


def test_brackets_may_not_lie_too_deep():
    assert terms_of("(" * 100 + "a" + ")" * 100) == [frozenset({"a"})]
    with pytest.raises(tc.InputError, match="more than 100 brackets"):
        terms_of("(" * 2000 + "a" + ")" * 2000)
