"""What figures print, and what their digits tell."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from margins import with_margins
from tablecloak.tables.figures.figure import FIGURES, numerators_of
from tablecloak.tables.keys import are_derived

CODES = [("N", "A"), ("N", "B"), ("S", "A"), ("S", "B")]


def table_of(name: str, values, **options) -> tc.Table:
    frame = pd.DataFrame(CODES, columns=["region", "industry"]).assign(**{name: values})
    return with_margins(frame, ["region", "industry"], name, **options)


def problem_of(name: str, values, **options) -> tc.ProtectionProblem:
    return table_of(name, values, **options).protect(tc.Manual([]))


@pytest.fixture
def business() -> tc.ProtectionProblem:
    """Turnover of four groups and their employees."""
    return tc.join(
        {
            "turnover": problem_of("turnover", [1000.0, 70.0, 333.0, 5.0]),
            "employees": problem_of("employees", [7.0, 3.0, 12.0, 4.0]),
        }
    )


def printed(problem: tc.ProtectionProblem, figure) -> dict[tuple[str, ...], float]:
    """Figures by the codes of their numerators."""
    quotients = figure.quotients(problem.table)
    keys = problem.table.keys.iloc[quotients.numerator]
    names = [name for name in keys.columns if name != "variable"]
    digits = figure.printed(quotients, problem.table.values)
    values = [number / 10**figure.decimals for number in digits]
    return dict(zip(keys[names].itertuples(index=False, name=None), values, strict=True))


def test_a_ratio_is_rounded_to_its_last_digit(business):
    ratios = printed(business, tc.Ratio("turnover / employees", decimals=2))
    assert len(ratios) == 9
    assert ratios["N", "A"] == 142.86
    assert ratios["S", "B"] == 1.25
    assert ratios["Total", "Total"] == round(1408 / 26, 2)


def test_a_ratio_per_thousand_is_a_thousand_times_as_large(business):
    assert printed(business, tc.Ratio("employees / turnover", per=1000))["N", "A"] == 7.0


def test_shares_are_per_cent_of_the_total_of_their_dimension(business):
    shares = printed(business, tc.Share("turnover", of="industry", decimals=0))
    assert len(shares) == 6
    assert shares["N", "A"] == 93
    assert shares["Total", "B"] == 5


def test_growth_and_index_compare_two_periods():
    both = tc.join(
        {
            "then": problem_of("then", [100.0, 200.0, 300.0, 400.0]),
            "now": problem_of("now", [110.0, 150.0, 300.0, 403.0]),
        }
    )
    growth = printed(both, tc.Growth("now", since="then", decimals=1))
    index = printed(both, tc.Index("now", base="then", decimals=1))
    assert growth["N", "A"] == 10.0
    assert growth["N", "B"] == -25.0
    assert index["S", "B"] == 100.8
    assert printed(both, tc.Growth("now", since="then", per_cent=False))["N", "B"] == -0.2


def test_an_average_divides_by_the_number_of_contributors():
    records = pd.DataFrame(
        {"r": list("NNNSS"), "firm": list("abcde"), "v": [1.0, 2.0, 4.0, 10.0, 20.0]}
    )
    table = tc.tabulate(records, ["r"], "v", contributor="firm")
    averages = printed(table.protect(tc.Manual([])), tc.Average("v", decimals=2))
    assert averages == {("Total",): 7.4, ("N",): 2.33, ("S",): 15.0}


@pytest.mark.parametrize("decimals", range(4))
def test_the_rows_of_a_figure_hold_for_just_the_values_that_would_be_printed_alike(
    business, decimals
):
    figure = tc.Ratio("turnover / employees", decimals=decimals)
    problem = tc.with_derived(business, [figure])
    table, n = problem.table, business.table.n_cells
    figures, numerators = numerators_of(table)
    assert np.array_equal(numerators, figure.quotients(business.table).numerator)
    assert np.array_equal(figures, np.flatnonzero(are_derived(table.keys)))
    quotients = figure.quotients(business.table)
    for row, (x, y) in enumerate(
        zip(quotients.numerator.tolist(), quotients.denominator.tolist(), strict=True)
    ):
        digits = figure.printed(quotients, business.table.values)[row]
        first = business.table.n_relations + row
        entries = table.relations[[first], :].toarray()[0]
        half = Fraction(1, 2)
        for offset in (-2, -1, 0, 1, 2):
            other = business.table.values[y]
            least = (digits - half) * Fraction(other) / 10**decimals
            most = (digits + half) * Fraction(other) / 10**decimals
            number = Fraction(math.floor(least) if offset < 0 else math.ceil(most)) + offset
            room = int(entries[x]) * number + int(entries[y]) * Fraction(other)
            assert (0 <= room <= 2 * Fraction(other)) == (least <= number <= most)
    assert table.n_cells == n + 3 * len(quotients)
    assert np.all(table.values[n:] >= 0)


def test_a_figure_weighs_a_multiple_of_its_numerator_by_every_weight_rule(business):
    problem = tc.with_derived(business, [tc.Ratio("turnover / employees", weight=3.0)])
    figures, numerators = numerators_of(problem.table)
    for rule in ("unit", "value", "log"):
        weighed = problem.with_weights(rule)
        assert np.allclose(weighed.weights[figures], 3 * weighed.weights[numerators])


def test_a_denominator_of_zero_has_no_figure_and_nobody_learns_the_zero(business):
    """Of a 0 that may be hidden, the release says what it says of other figures: suppressed."""
    parts = {
        "turnover": problem_of("turnover", [1000.0, 70.0, 333.0, 5.0]),
        "employees": problem_of("employees", [7.0, 0.0, 12.0, 4.0]),
    }
    both = tc.join(parts)
    zero = both.table.cell(variable="employees", region="N", industry="B")
    may_go = both.with_changes(status=np.where(np.arange(18) == zero, "s", both.status))
    ratio, must = (tc.Ratio("turnover / employees", frozen=frozen) for frozen in (False, True))
    with pytest.raises(tc.InputError, match='is 0 .*without = {region = "N", industry = "B"}'):
        tc.with_derived(may_go, [must])
    left = tc.Ratio("turnover / employees", frozen=True, without={"region": "N", "industry": "B"})
    named = tc.Ratio("turnover / employees", where=[{"region": "S"}, {"industry": ["A", "Total"]}])
    for figure, n_figures in ((ratio, 8), (left, 8), (named, 7)):
        table = tc.with_derived(may_go, [figure]).table
        assert int(are_derived(table.keys).sum()) == n_figures
    assert ratio.nonexistent(both.table).tolist() == [
        both.table.cell(variable="turnover", region="N", industry="B")
    ]
    for hidden, status in ((True, ["suppressed"]), (False, [])):
        table = tc.with_derived(may_go, [ratio]).table
        cells = np.where(np.arange(table.n_cells) == zero, hidden, False)
        rows = ratio.released(table, table.values, cells)
        here = rows.region.eq("N") & rows.industry.eq("B")
        assert rows.status[here].tolist() == status
    # Where everybody knows the zero, there is no figure.
    known = both.with_changes(status=np.where(np.arange(18) == zero, "z", both.status))
    assert int(are_derived(tc.with_derived(known, [tc.Ratio("turnover / employees")]).table.keys)
               .sum()) == 8  # fmt: skip


def test_a_denominator_that_is_or_may_be_negative_is_refused_and_named():
    profit = problem_of("profit", [7.0, -3.0, 12.0, 4.0])
    both = tc.join({"turnover": problem_of("turnover", [1000.0, 70.0, 333.0, 5.0]),
                    "profit": profit})  # fmt: skip
    with pytest.raises(tc.InputError, match="profit, region=N, industry=B is -3"):
        tc.with_derived(both, [tc.Ratio("turnover / profit")])
    others = {"region": ["S"]}
    with pytest.raises(tc.InputError, match="may be negative"):
        tc.with_derived(
            both.with_changes(lower_bound=-1000.0, status="s"),
            [tc.Ratio("turnover / profit", where=others)],
        )
    # A numerator may be negative.
    assert printed(both, tc.Ratio("profit / turnover", decimals=2))["N", "B"] == -0.04


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (lambda: tc.Ratio("turnover"), "no quotient of two variables"),
        (lambda: tc.Ratio("turnover / employes"), "Did you mean 'employees'"),
        (lambda: tc.Share("turnover", of="industri"), "Did you mean 'industry'"),
        (lambda: tc.Growth("turnover", since="2023"), "neither a variable nor an earlier release"),
        (lambda: tc.Average("turnover"), "number of contributors"),
        (lambda: tc.Ratio("turnover / employees", where={"region": ["E"]}), "no code 'E'"),
        (lambda: tc.Ratio("turnover / employees", decimals=10), "`decimals` must be"),
        (lambda: tc.Ratio("turnover / employees", decimals=9), "too many digits"),
    ],
)
def test_figures_that_make_no_sense_are_refused_in_words(business, figure, message):
    with pytest.raises(tc.InputError, match=message):
        tc.with_derived(business, [figure()])


def test_every_kind_is_registered_with_its_parameters():
    assert {"average", "growth", "index", "median", "ratio", "share"} < set(FIGURES.names)
    for name in FIGURES.names:
        assert {"decimals", "weight", "frozen", "where"} <= {
            parameter.name for parameter in FIGURES.parameters(name)
        }
