"""Rules and protection levels against the formulas of the field, worked out by hand."""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import tablecloak as tc
from margins import with_margins
from tablecloak.app.fields import options_of
from tablecloak.protection import PROTECTIONS
from tablecloak.tables.rules.rule import RULES, default_bounds, not_zero


def one_cell(values, **columns):
    """A table of the total and one code, so that cell 1 holds exactly these contributions."""
    frame = pd.DataFrame({"d": "a", "v": np.asarray(values, dtype=float), **columns})
    roles = {name: name for name in columns}
    return tc.tabulate(frame, ["d"], "v", n_largest=5, **roles)


def verdict(table, *rules, **options):
    problem = table.protect(*rules, **options)
    return problem.status[1], problem.lower_protection[1], problem.upper_protection[1]


@pytest.mark.parametrize(
    ("values", "status", "level"),
    [
        # X = 100: x1 + x2 = 95, the rest 5 is less than 10 % of 80; U = 8 + 95 = 103.
        ([80, 15, 5], "u", 3.0),
        # The rest is exactly 10 % of the largest: safe, for the rule asks for less.
        ([50, 20, 5], "s", 0.0),
        ([50, 20, 4], "u", 1.0),  # U = 5 + 70 = 75, X = 74
        ([10, 10, 10, 10], "s", 0.0),
        ([7], "u", 1.0),  # U - X = 0.7, but the floor is 1
    ],
)
def test_p_percent(values, status, level):
    assert verdict(one_cell(values), tc.PPercent(10)) == (status, level, pytest.approx(level))


@pytest.mark.parametrize(
    ("n", "k", "status", "level"),
    [
        (1, 80.0, "s", 0.0),  # exactly 80 %: the rule is strict
        (1, 75.0, "u", 80 / 0.75 - 100),
        (2, 90.0, "u", 95 / 0.90 - 100),
        (3, 95.0, "u", 100 / 0.95 - 100),
    ],
)
def test_dominance(n, k, status, level):
    found = verdict(one_cell([80, 15, 5]), tc.Dominance(n, k))
    assert found == (status, pytest.approx(level), pytest.approx(level))


def test_prior_posterior_is_the_p_percent_rule_with_p_over_q():
    table = one_cell([80, 15, 6])
    # (20/100) 80 + (50/100) (95 - 101) = 13 > 0; U = (20/50) 80 + 95 = 127, X = 101.
    assert verdict(table, tc.PriorPosterior(20, 50)) == ("u", pytest.approx(26), pytest.approx(26))
    assert verdict(table, tc.PriorPosterior(10, 50)) == verdict(table, tc.PPercent(20))


def test_coalition_of_two_adds_one_more_contributor():
    table = one_cell([50, 20, 20, 3])
    assert verdict(table, tc.PPercent(10))[0] == "s"
    # rest after x1 + x2 + x3 is 3 < 5; U = 5 + 90 = 95, X = 93.
    assert verdict(table, tc.PPercent(10, coalition=2)) == ("u", 2.0, pytest.approx(2.0))


@pytest.mark.parametrize(
    ("margin", "lower", "upper"),
    [
        (0, 80 / 0.75 - 100, 80 / 0.75 - 100),
        (20, 20, 20),
        ((5, 30), 80 / 0.75 - 100, 30),
        ((30, 5), 30, 80 / 0.75 - 100),
    ],
)
def test_with_several_rules_the_largest_level_counts_and_the_first_names_the_reason(
    margin, lower, upper
):
    rules = [tc.MinimumFrequency(5, range=margin), tc.PPercent(10), tc.Dominance(1, 75)]
    for order in itertools.permutations(rules):
        problem = one_cell([80, 15, 5]).protect(*order)
        assert problem.reasons[1] == "dominance"
        assert problem.lower_protection[1] == pytest.approx(lower)
        assert problem.upper_protection[1] == pytest.approx(upper)


def test_levels_are_the_largest_of_those_that_each_broken_rule_alone_asks_for():
    for seed in range(4):
        random, n = np.random.default_rng(seed), 60
        frame = pd.DataFrame(
            {
                "d": random.choice(list("abcdefghij"), n),
                "v": np.round(random.lognormal(3, 1.5, n)) * (random.random(n) < 0.8),
                "asks": random.choice([0, 1, 2], n, p=[0.8, 0.1, 0.1]),
            }
        )
        frame.loc[frame.d == "j", "v"] = 0.0
        table = tc.tabulate(frame, ["d"], "v", request="asks", n_largest=4)
        rules = [
            tc.Dominance(1, 60),
            tc.Dominance(2, 85),
            tc.PPercent(15),
            tc.Request(20, minimum=5, range=(10, 40)),
            tc.MinimumFrequency(8, range=(35, 5)),
            tc.MinimumFrequency(5, range=12),
            tc.ZeroUnsafe(6),
        ]
        options = {"lower_factor": 0.7, "external_bounds": (-1e6, 1e6)}
        alone = [table.protect(rule, **options) for rule in rules]
        both = table.protect(*random.permutation(np.array(rules, dtype=object)).tolist(), **options)
        for side in ("lower_protection", "upper_protection"):
            largest = np.max([getattr(problem, side) for problem in alone], axis=0)
            np.testing.assert_allclose(getattr(both, side), largest)
        broken = np.sum([problem.sensitive for problem in alone], axis=0)
        assert (broken >= 2).sum() >= 4
        first = [
            [p.reasons[cell] for p in alone if p.sensitive[cell]] for cell in range(len(broken))
        ]
        assert both.reasons.tolist() == [names[0] if names else "" for names in first]


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=6),
    st.integers(1, 50),
    st.integers(1, 3),
    st.integers(51, 99),
)
def test_levels_make_the_cell_just_safe(values, p, n, k):
    """Raising the total by the level, in contributions too small to rank, makes the cell safe."""
    x = sorted(map(float, values), reverse=True)
    total = sum(x)
    unsafe_p = p / 100 * x[0] + sum(x[:2]) - total > 1e-9
    unsafe_n = 100 * sum(x[:n]) > k * total * (1 + 1e-12)
    status, lower, upper = verdict(
        one_cell(values), tc.PPercent(p), tc.Dominance(n, k), floor=0.0, external_bounds=(-1e9, 1e9)
    )
    assert (status == "u") == (unsafe_p or unsafe_n)
    if status == "u":
        raised = total + upper
        assert p / 100 * x[0] + sum(x[:2]) - raised <= 1e-6
        assert 100 * sum(x[:n]) <= k * raised * (1 + 1e-9)
        assert lower == upper


def test_minimum_frequency_takes_its_level_from_the_range():
    table = one_cell([40, 60])
    assert verdict(table, tc.MinimumFrequency(3, range=30)) == ("u", 30.0, 30.0)
    assert verdict(table, tc.MinimumFrequency(3, range=(10, 30))) == ("u", 10.0, 30.0)
    assert verdict(table, tc.MinimumFrequency(2))[0] == "s"


def test_weights_count_as_so_many_contributors_of_the_same_size():
    """(100, weight 4) and (10, weight 7): total 470, the two largest are 100 and 100."""
    table = one_cell([100, 10], weight=[4.0, 7.0])
    found = table.contributions
    assert table.values[1] == 470
    assert [found.sum_of_largest(n)[1] for n in (1, 2, 4, 5, 11)] == [100, 200, 400, 410, 470]
    # p%: the rest after the two largest is 270, more than 10 % of 100.
    assert verdict(table, tc.PPercent(10))[0] == "s"
    assert verdict(table, tc.MinimumFrequency(11))[0] == "s"
    assert verdict(table, tc.MinimumFrequency(12))[0] == "u"


def test_weights_enter_fractionally_at_the_end():
    table = one_cell([100, 10], weight=[1.5, 4.0])
    assert table.contributions.sum_of_largest(2)[1] == pytest.approx(1.5 * 100 + 0.5 * 10)


def test_holdings_are_added_up_before_the_rule():
    firms = one_cell([30, 30, 30, 8], contributor=list("abcd"), holding=list("HHHI"))
    assert verdict(firms, tc.PPercent(10, level="contributor"))[0] == "s"
    # The holding H has 90 of 98: with I it knows everything. U = 9 + 98 = 107.
    for level in ("holding", "auto"):
        assert verdict(firms, tc.PPercent(10, level=level)) == ("u", 9.0, pytest.approx(9.0))
        assert verdict(firms, tc.MinimumFrequency(3, level=level))[0] == "u"
    assert verdict(firms, tc.MinimumFrequency(3, level="contributor"))[0] == "s"
    assert tc.PPercent(10).level == tc.MinimumFrequency(3).level == "auto"


def test_firms_of_one_owner_that_fill_a_cell_make_it_sensitive_by_every_rule_that_counts():
    firms = one_cell([30, 31, 32, 33], contributor=list("abcd"), holding=list("HHHH"))
    strangers = one_cell([30, 31, 32, 33], contributor=list("abcd"))
    for rule in (tc.PPercent(10), tc.Dominance(2, 85), tc.MinimumFrequency(3)):
        assert (verdict(firms, rule)[0], verdict(strangers, rule)[0]) == ("u", "s")


def test_holdings_with_weights_are_refused():
    table = one_cell([3, 2], contributor=["a", "b"], holding=["H", "I"], weight=[2.0, 2.0])
    with pytest.raises(tc.InputError, match="not defined for weighted data"):
        table.protect(tc.PPercent(10, level="holding"))
    with pytest.raises(tc.InputError, match="members of one holding then count as strangers"):
        table.protect(tc.PPercent(10))


@pytest.mark.parametrize(
    ("request_codes", "rule", "status"),
    [
        ([1, 0, 0], tc.Request(25), "u"),  # 30 of 100 exceeds 25 %
        ([1, 0, 0], tc.Request(30), "s"),  # not more than 30 %
        ([2, 0, 0], tc.Request(40, 20), "u"),
        ([2, 0, 0], tc.Request(20, 40), "s"),
        ([0, 0, 1], tc.Request(90, minimum=4), "u"),  # asked, and fewer than four
        ([0, 0, 0], tc.Request(1, minimum=4), "s"),  # nobody asked
    ],
)
def test_request(request_codes, rule, status):
    table = one_cell([30, 40, 30], request=request_codes)
    found = verdict(table, rule)
    assert found[0] == status
    if status == "u":
        assert found[1:] == (20.0, 20.0)


def test_zero_with_contributors_gets_an_upper_level_only():
    frame = pd.DataFrame({"d": ["a", "a", "b"], "v": [0.0, 0.0, 50.0]})
    problem = tc.tabulate(frame, ["d"], "v").protect(tc.ZeroUnsafe(7))
    cell = problem.table.cell(d="a")
    levels = problem.lower_protection[cell], problem.upper_protection[cell]
    assert (problem.status[cell], *levels) == ("u", 0.0, 7.0)


def test_what_a_person_says_overrules_the_rules():
    table = one_cell([80, 15, 5])
    total = {"d": "Total"}
    free = tc.Manual([total], "safe")
    frozen = tc.Manual([total], "frozen")
    assert table.protect(tc.PPercent(10)).status.tolist() == ["u", "u"]
    assert table.protect(tc.PPercent(10), free).status.tolist() == ["s", "u"]
    assert table.protect(tc.PPercent(10), frozen).status.tolist() == ["z", "u"]
    unsafe = table.protect(tc.Manual([total], range=(5, 10)))
    assert unsafe.status.tolist() == ["u", "s"]
    assert (unsafe.lower_protection[0], unsafe.upper_protection[0]) == (5.0, 10.0)


def test_levels_are_cut_at_the_default_bounds_of_one_interval_for_the_table():
    problem = one_cell([100]).protect(tc.PPercent(80))
    # Zeros are published: a whole number that is hidden is at least 1.
    assert (problem.lower_bound[1], problem.upper_bound[1]) == (1.0, 150.0)
    assert (problem.lower_protection[1], problem.upper_protection[1]) == (80.0, 50.0)


def test_asymmetric_levels_and_a_floor_in_the_unit_of_the_table():
    table = one_cell([0.080, 0.015, 0.005])
    assert verdict(table, tc.PPercent(10), floor=0.0) == (
        "u", pytest.approx(0.003), pytest.approx(0.003)
    )  # fmt: skip
    assert verdict(table, tc.PPercent(10), floor=0.001, lower_factor=0.5) == (
        "u", pytest.approx(0.0015), pytest.approx(0.003)
    )  # fmt: skip


def test_negative_contributions_are_ranked_by_absolute_value_with_a_warning():
    with pytest.warns(tc.TablecloakWarning, match="contributions are negative"):
        table = one_cell([-50, 30, 25])
    assert table.contributions.largest[1].tolist() == [50, 30, 25, 0, 0]
    assert table.contributions.total[1] == 5
    # (10/100) 50 + (80 - 5) > 0
    assert verdict(table, tc.PPercent(10))[0] == "u"


@pytest.mark.parametrize("values", [[-10], [-10, 2], [-50, 30, -25], [5, -5]])
def test_dominance_finds_totals_of_zero_or_less_unsafe(values):
    # x1 > (k/100) X: who divides by a negative total turns the rule round.
    with pytest.warns(tc.TablecloakWarning):
        assert verdict(one_cell(values), tc.Dominance(1, 75))[0] == "u"


def test_dominance_of_contributions_of_zero_finds_nothing():
    assert verdict(one_cell([0, 0]), tc.Dominance(1, 75))[0] == "s"


@pytest.mark.filterwarnings("ignore::tablecloak.TablecloakWarning")
@pytest.mark.parametrize("values", [[1000, -1000], [0.1, 0.2, -0.3], [1000, -999.9]])
def test_levels_of_contributions_that_cancel_are_as_wide_as_they_are_large(values):
    """Of a value of 0 a share is 0, but who gives 1,000 of it must not learn the -1,000."""
    x = sorted(np.abs(values), reverse=True)
    for rule, safe in (
        (tc.Dominance(1, 75), x[0] / 0.75),
        (tc.PPercent(10), 0.1 * x[0] + sum(x[:2])),
    ):
        options = {"floor": 0, "external_bounds": (-1e5, 1e5)}
        status, lower, upper = verdict(one_cell(values), rule, **options)
        assert status == "u"
        assert lower == upper == pytest.approx(safe - sum(values))


def test_shadow_variable_is_ranked_while_the_value_is_published():
    frame = pd.DataFrame({"d": "a", "v": [10.0, 10.0, 10.0], "wages": [90.0, 5.0, 5.0]})
    table = tc.tabulate(frame, ["d"], "v", shadow="wages")
    problem = table.protect(tc.PPercent(10))
    # On wages U = 9 + 95 = 104, X = 100; the level is 4 % of the published 30, at least 1.
    assert table.values[1] == 30
    assert problem.upper_protection[1] == pytest.approx(30 * 0.04)


def test_rules_on_amounts_are_refused_for_counts():
    table = tc.tabulate(pd.DataFrame({"d": ["a", "b"]}), ["d"])
    with pytest.raises(tc.InputError, match="table of counts"):
        table.protect(tc.PPercent(10))


@pytest.mark.parametrize(
    ("rule", "arguments", "message"),
    [
        (tc.PPercent, {"p": 0}, "`p` must be a percentage above 0"),
        (tc.Dominance, {"n": 0, "k": 80}, "`n` must be a whole number"),
        (tc.Dominance, {"n": 1, "k": 100}, "`k` must be a percentage between"),
        (tc.PriorPosterior, {"p": 20, "q": 10}, "`q` must be a percentage above p"),
        (tc.MinimumFrequency, {"minimum": 0}, "`minimum` must be"),
    ],
)
def test_rules_with_impossible_parameters(rule, arguments, message):
    with pytest.raises(tc.InputError, match=message):
        rule(**arguments)


def test_a_rule_that_needs_more_contributors_than_were_kept_says_so():
    frame = pd.DataFrame({"d": "a", "v": [5.0, 4, 3, 2, 1]})
    with pytest.raises(tc.InputError, match="n_largest=4"):
        tc.tabulate(frame, ["d"], "v").protect(tc.Dominance(4, 90))


def test_frequency_and_largest_columns_of_a_ready_table_serve_the_same_rules():
    rows = [("Total", 150, 5, 80, 40), ("a", 100, 3, 80, 15), ("b", 50, 2, 40, 10)]
    frame = pd.DataFrame(rows, columns=["d", "v", "f", "x1", "x2"])
    table = tc.Table.from_frame(frame, ["d"], "v", frequency="f", largest=["x1", "x2"])
    problem = table.protect(tc.PPercent(10))
    assert problem.status.tolist() == ["s", "u", "u"]
    assert problem.upper_protection.tolist() == [0, pytest.approx(3), pytest.approx(4)]


def test_rules_on_random_microdata_equal_a_plain_loop_over_cells():
    for seed in range(5):
        random = np.random.default_rng(seed)
        n = 300
        frame = pd.DataFrame(
            {
                "r": random.choice(list("NESW"), n),
                "b": random.choice(list("abcdef"), n),
                "v": np.ceil(random.lognormal(3, 1.5, n)),
            }
        )
        problem = tc.tabulate(frame, ["r", "b"], "v").protect(
            tc.PPercent(15), tc.MinimumFrequency(3)
        )
        for r, b in itertools.product(["Total", *"NESW"], ["Total", *"abcdef"]):
            inside = frame[(frame.r == r) | (r == "Total")]
            inside = inside[(inside.b == b) | (b == "Total")]
            assert not inside.empty
            x = np.sort(inside.v.to_numpy())[::-1]
            total = x.sum()
            safe_total = 0.15 * x[0] + x[:2].sum()
            if safe_total > total:
                expected = max(safe_total - total, 1.0)
            elif len(x) < 3:
                expected = max(0.2 * total, 1.0)
            else:
                expected = 0.0
            assert problem.upper_protection[problem.table.cell(r=r, b=b)] == pytest.approx(expected)


def test_the_table_of_rules_in_the_docs_is_that_of_the_registry():
    page = Path(__file__).parents[3] / "docs" / "job-file.md"
    assert RULES.table() in page.read_text("utf-8")


def test_a_table_is_protected_by_rules_or_not_at_all():
    table = one_cell([80, 15, 5])
    with pytest.raises(tc.InputError, match="needs at least one rule, such as PPercent"):
        table.protect()
    with pytest.raises(tc.InputError, match="needs at least one rule, such as PPercent"):
        tc.protect(table)


def test_of_two_persons_the_one_who_calls_a_cell_safe_counts():
    table = one_cell([80, 15, 5])
    safe, unsafe = tc.Manual([1], "safe"), tc.Manual([1], "unsafe")
    for rules in ((safe, unsafe), (unsafe, safe)):
        problem = table.protect(*rules)
        assert (problem.status[1], problem.reasons[1]) == ("s", "")
        assert problem.upper_protection[1] == 0
    with pytest.raises(tc.InputError, match="there is no cell 7; the table has 2"):
        table.protect(tc.Manual([7]))


def test_every_name_that_a_job_can_give_is_in_the_docs():
    page = (Path(__file__).parents[3] / "docs" / "job-file.md").read_text("utf-8")
    names = [name for section in PROTECTIONS.names for option in options_of(section)
             for name in option.named.names]  # fmt: skip
    assert len(names) > 20
    assert [name for name in names if name not in page] == []


def test_weight_rules_are_found_by_name_by_attribute_and_by_iteration():
    assert tc.WeightRule("relative") is tc.WeightRule.RELATIVE
    assert tc.WeightRule(tc.WeightRule.LOG) is tc.WeightRule.LOG
    assert [rule.value for rule in tc.WeightRule] == ["file", "log", "relative", "unit", "value"]
    assert pickle.loads(pickle.dumps(tc.WeightRule.UNIT)) is tc.WeightRule.UNIT
    with pytest.raises(tc.InputError, match=r"no weight rule 'relativ'. Did you mean 'relative'"):
        tc.WeightRule("relativ")
    with pytest.raises(AttributeError, match="HEAVY"):
        _ = tc.WeightRule.HEAVY


COUNTS = {
    ("N", "a"): 9,
    ("N", "b"): 15,
    ("E", "b"): 12,
    ("E", "c"): 12,
    ("S", "a"): 2,
    ("S", "c"): 12,
}
ROWS = [codes for codes, number in COUNTS.items() for _ in range(number)]
TABLE = tc.tabulate(pd.DataFrame(ROWS, columns=["r", "c"]), ["r", "c"], empty_cells=True)
ZEROS = TABLE.values == 0


def test_public_zeros_are_frozen_and_a_hidden_count_is_at_least_one():
    problem = TABLE.protect(tc.MinimumFrequency(3))
    assert np.array_equal(problem.frozen, ZEROS)
    assert np.all(problem.lower_bound[~ZEROS] >= 1)


def test_zeros_as_candidates_may_be_hidden_and_are_not_sensitive():
    problem = TABLE.protect(tc.MinimumFrequency(3), zeros="candidates")
    assert not problem.frozen.any()
    assert not problem.sensitive[ZEROS].any()
    assert not problem.lower_bound.any()
    assert problem.weights[ZEROS].tolist() == [1.0] * 3


def test_protected_zeros_are_sensitive_and_must_be_able_to_be_one():
    problem = TABLE.protect(tc.MinimumFrequency(3), zeros="protected")
    assert problem.sensitive[ZEROS].all()
    assert set(problem.reasons[ZEROS]) == {"protected-zero"}
    assert problem.upper_protection[ZEROS].tolist() == [1.0] * 3
    assert not problem.lower_protection[ZEROS].any()
    assert tc.audit(problem, tc.suppress(problem), intruders="integers").is_safe


def test_zeros_that_everybody_expects_stay_published():
    expected = tc.Manual([{"r": "N", "c": "c"}], status="frozen")
    problem = TABLE.protect(tc.MinimumFrequency(3), expected, zeros="protected")
    cell = TABLE.cell(r="N", c="c")
    assert problem.frozen[cell]
    assert problem.sensitive.sum() == ZEROS.sum() - 1 + 1  # two zeros and the count of 2
    assert not tc.suppress(problem).suppressed[cell]


def test_zeros_as_candidates_lower_the_proved_loss():
    public, candidates = (
        tc.suppress(TABLE.protect(tc.MinimumFrequency(3), zeros=zeros), protect_against="integers")
        for zeros in ("public", "candidates")
    )
    assert public.is_optimal
    assert candidates.is_optimal
    assert (public.loss, candidates.loss) == (49, 37)


def test_counts_of_one_and_two_are_sensitive_in_a_ready_table_without_contributors():
    frame = pd.DataFrame({"r": ["Total", *"abcde"], "count": [10, 0, 1, 2, 3, 4]})
    table = tc.Table.from_frame(frame, ["r"], "count")
    problem = table.protect(tc.MinimumFrequency(3), zeros="candidates")
    assert problem.table.values[problem.sensitive].tolist() == [1.0, 2.0]
    amounts = tc.Table.from_frame(frame.rename(columns={"count": "wage"}), ["r"], "wage")
    with pytest.raises(tc.InputError, match="needs the contributors"):
        amounts.protect(tc.MinimumFrequency(3))


def test_a_zero_of_counts_weighs_one_and_a_zero_of_amounts_nothing():
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "count": [3, 0, 3], "wage": [3, 0, 3]})
    for name, weights in (("count", [3, 1, 3]), ("wage", [3, 0, 3])):
        problem = tc.Table.from_frame(frame, ["r"], name).protect(tc.Manual([{"r": "b"}]))
        assert problem.weights.tolist() == weights


@pytest.mark.parametrize("zeros", ["candidates", "protected"])
def test_zeros_of_amounts_are_not_hidden(zeros):
    frame = pd.DataFrame({"r": ["Total", "a", "b"], "wage": [30, 10, 20]})
    with pytest.raises(tc.InputError, match=f"zeros='{zeros}' needs a table of counts"):
        tc.Table.from_frame(frame, ["r"], "wage").protect(tc.Manual([0]), zeros=zeros)


def test_an_unknown_word_for_zeros_is_refused():
    with pytest.raises(tc.InputError, match=r"Got 'candidate'. Did you mean 'candidates'"):
        TABLE.protect(tc.MinimumFrequency(3), zeros="candidate")


def table_of(values, rows=None, **more) -> tc.Table:
    values = np.array(values, dtype=float)
    relations = csr_array(np.array(rows, dtype=float)) if rows else csr_array((0, len(values)))
    return tc.Table(
        keys=pd.DataFrame({"cell": [f"c{at}" for at in range(len(values))]}),
        values=values,
        relations=relations,
        right_hand_side=relations @ values,
        **more,
    )


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([2, 100, 40], (0, 150)),
        # Where values may be negative, so may those that an intruder considers.
        ([-20, 100], (-30, 150)),
        ([-20, -10], (-30, 0)),
        ([0, 0], (0, 0)),
    ],
)
def test_one_interval_for_the_table_reaches_half_beyond_its_extremes(values, bounds):
    assert default_bounds(table_of(values)) == bounds


def test_a_count_whose_zeros_are_published_is_at_least_one_where_it_is_hidden():
    low = not_zero(table_of([0, 1, 7]), np.zeros(3))
    assert low.tolist() == [0, 1, 1]


def test_a_total_is_at_least_the_number_of_its_parts_that_are_not_zero():
    low = not_zero(table_of([9, 4, 5, 0], [[-1, 1, 1, 1]]), np.zeros(4))
    assert low.tolist() == [2, 1, 1, 0]


def test_totals_of_totals_know_what_their_parts_know():
    rows = [[-1, 1, 0, 1, 0, 0], [0, -1, 0, 0, 1, 1], [0, 0, -1, 1, 0, 0]]
    low = not_zero(table_of([9, 5, 4, 4, 2, 3], rows), np.zeros(6))
    assert low.tolist() == [3, 2, 1, 1, 1, 1]


def test_a_known_bound_of_a_part_counts_in_its_total():
    low = not_zero(table_of([9, 4, 5], [[-1, 1, 1]]), np.array([0.0, 4.0, 0.0]))
    assert low.tolist() == [5, 4, 1]


def test_a_right_hand_side_moves_the_least_total():
    values = np.array([12.0, 4.0, 5.0])
    relations = csr_array(np.array([[-1.0, 1, 1]]))
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("abc")}),
        values=values,
        relations=relations,
        right_hand_side=relations @ values,
    )
    # The total is the sum of its parts and 3.
    assert not_zero(table, np.zeros(3)).tolist() == [5, 1, 1]


@pytest.mark.parametrize("values", [[0.5, 1.5], [-1, 3]])
def test_nothing_is_raised_where_values_are_fractions_or_negative(values):
    low = np.zeros(2)
    assert not_zero(table_of(values), low).tolist() == low.tolist()


def test_a_cell_that_may_be_negative_for_all_that_is_known_stays_so():
    assert not_zero(table_of([3, 4]), np.array([-2.0, 0.0])).tolist() == [-2, 1]


def test_a_relation_with_two_totals_says_nothing_of_either():
    low = not_zero(table_of([2, 3, 4, 1], [[-1, -1, 1, 1]]), np.zeros(4))
    assert low.tolist() == [1, 1, 1, 1]


@given(st.integers(0, 10**6))
def test_raised_bounds_hold_for_every_table_whose_zeros_are_the_same(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame([(row, column) for row in "abc" for column in "xyz"], columns=["r", "c"])
    trees = {"r": tc.Hierarchy.from_dict({"ab": {"a": {}, "b": {}}, "c": {}}),
             "c": tc.Hierarchy.flat(list("xyz"))}  # fmt: skip
    values = random.integers(0, 4, len(frame)) * random.integers(0, 2, len(frame))
    table = with_margins(frame.assign(v=values.astype(float)), trees, "v")
    low = not_zero(table, np.zeros(table.n_cells))
    assert np.all(low <= table.values)
    other = np.where(values > 0, random.integers(1, 4, len(frame)), 0)
    changed = with_margins(frame.assign(v=other.astype(float)), trees, "v")
    assert changed.keys.equals(table.keys)
    assert np.all(changed.values >= low)


def test_a_share_given_for_a_percentage_is_told():
    with pytest.warns(tc.TablecloakWarning, match=r"If a share was meant, take p = 10\."):
        tc.PPercent(0.1)


@pytest.mark.filterwarnings("ignore:Some c")
def test_the_lowest_value_cuts_no_level_of_a_table_with_negative_ones():
    """Nobody knows it: a level below is what the rule asks for, as of a table without them."""
    frame = pd.DataFrame({
        "r": list("aabbc"), "firm": list("pqrst"), "v": [9000.0, -9005.0, 40.0, 50.0, -220.0],
    })  # fmt: skip
    table = tc.tabulate(frame, ["r"], "v", contributor="firm", n_largest=2)
    rules = [tc.PPercent(10), tc.MinimumFrequency(3)]
    problem = table.protect(*rules)
    asked = table.protect(*rules, external_bounds=(-1e9, 1e9))
    assert np.array_equal(problem.lower_protection, asked.lower_protection)
    assert np.all(table.values - problem.lower_protection >= problem.lower_bound)
    assert np.any(table.values - problem.lower_protection < 1.5 * table.values.min())
    # Of a table without negative values everybody knows that none is below 0.
    plain = tc.tabulate(frame.assign(v=frame.v.abs()), ["r"], "v", contributor="firm")
    assert np.all(plain.protect(*rules).lower_bound >= 0)


def in_millions(**given):
    firms = tc.examples.firms(120)
    firms["turnover"] = firms["turnover"] / 1e6
    table = tc.tabulate(firms, ["region", "industry"], "turnover", contributor="firm", **given)
    assert table.values[0] < 1
    return table


def test_a_floor_of_many_times_the_levels_of_the_rules_is_named_with_unit_and_cure():
    table = in_millions(unit="million EUR")
    with pytest.warns(tc.TablecloakWarning) as said:
        most = table.protect(tc.PPercent(10), tc.MinimumFrequency(3))
    (text,) = [str(each.message) for each in said]
    assert "`floor` = 1 " in text and "(million EUR)" in text
    fitting = float(re.search(r"such as (\S+),", text)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = table.protect(tc.PPercent(10), tc.MinimumFrequency(3), floor=fitting)
    assert (few.sensitive == most.sensitive).all()
    assert few.upper_protection[few.sensitive].max() < 0.1 * table.values[0]


@pytest.mark.parametrize(
    ("factor", "floor"), [(1, 1.0), (0.5, 1.0), (1, 0.0), (1e-6, 0.0), (1e-6, 1e-5)]
)
def test_a_floor_that_fits_the_unit_is_not_talked_about(factor, floor):
    firms = tc.examples.firms(120)
    firms["turnover"] = firms["turnover"] * factor
    table = tc.tabulate(firms, ["region", "industry"], "turnover", contributor="firm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.protect(tc.PPercent(10), tc.MinimumFrequency(3), floor=floor).n_sensitive


@pytest.mark.parametrize("rules", [("p%",), (tc.PPercent(10), "p-percent"), (3,)])
def test_what_is_no_rule_is_named(rules):
    with pytest.raises(tc.InputError, match=f"{rules[-1]!r} is not a rule. Give rules such as"):
        tc.examples.cox_rounded().table.protect(*rules)
