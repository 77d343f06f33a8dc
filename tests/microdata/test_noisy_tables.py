"""Tables of records with multiplicative noise: what holds of each, whatever the records."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from multiplied import by_continued_fraction

DIMENSIONS = {"region": ["part", "region"], "industry": None}


@cache
def records(n: int = 300) -> pd.DataFrame:
    """Firms, every third of which has a branch elsewhere, and one region of a single firm."""
    firms = tc.examples.firms(n, seed=4)
    branches = firms.iloc[::3].assign(region=firms.region.iloc[::-3].to_numpy()[: len(firms[::3])])
    branches = branches.assign(part=branches.region.str[0], turnover=branches.turnover // 2 + 1)
    lonely = firms.iloc[[0]].assign(firm="z", part="E", region="E1", turnover=977)
    return pd.concat([firms, branches, lonely], ignore_index=True)


@cache
def contributed() -> tc.Contributed:
    return tc.contributed(records(), DIMENSIONS, "turnover", contributor="firm")


@cache
def problem(decimals: int | None = 0) -> tc.ProtectionProblem:
    table = tc.tabulate(
        records(), DIMENSIONS, "turnover", contributor="firm", decimals=decimals, n_largest=3
    )
    return table.protect(tc.PPercent(10))


def by_hand(factors: dict[str, float], **codes: str) -> float:
    """The sum of the multiplied records of some codes."""
    frame = records()
    chosen = np.ones(len(frame), dtype=bool)
    for name, code in codes.items():
        chosen &= (frame[name] == code).to_numpy()
    return float((frame.turnover * frame.firm.map(factors))[chosen].sum())


def value(noisy: tc.NoisyTable, region: str = "Total", industry: str = "Total") -> float:
    keys = noisy.problem.table.keys
    here = (keys.region == region) & (keys.industry == industry)
    return float(noisy.values[here.to_numpy(bool)][0])


def test_every_cell_is_the_sum_of_its_multiplied_records():
    noisy = tc.noisy_table(problem(None), contributed(), seed=1)
    rounding = len(contributed().leaves)
    factors = dict(zip(contributed().names, 1 + noisy.multipliers.changes, strict=True))
    assert value(noisy) == pytest.approx(by_hand(factors), abs=rounding, rel=0)
    assert value(noisy, "N") == pytest.approx(by_hand(factors, part="N"), abs=rounding, rel=0)
    assert value(noisy, "N1", "food") == pytest.approx(
        by_hand(factors, region="N1", industry="food"), abs=1, rel=0
    )


@pytest.mark.parametrize("options", [{}, {"balance": ["region"]}, {"keep": ["industry"]}])
@pytest.mark.parametrize("seed", range(2))
def test_the_table_adds_up_in_whole_numbers_and_cells_of_one_contributor_keep_their_distance(
    seed, options
):
    noisy = tc.noisy_table(problem(), contributed(), least=0.08, most=0.2, seed=seed, **options)
    table = noisy.problem.table
    assert np.array_equal(noisy.values, np.rint(noisy.values))
    assert np.abs(table.relations @ noisy.values).max() < 1e-6
    alone = noisy.alone
    assert alone.sum() >= 3
    assert np.all(np.abs(noisy.changes[alone]) >= 0.08 * table.values[alone] * (1 - 1e-12))
    noisy.verify()


@pytest.mark.parametrize("seed", range(2))
def test_totals_that_are_kept_are_true_unless_they_are_sensitive(seed):
    noisy = tc.noisy_table(problem(), contributed(), keep=["industry"], seed=seed)
    keys, sensitive = noisy.problem.table.keys, noisy.problem.sensitive
    totals = ((keys.region == "Total") & (keys.industry != "Total")).to_numpy(bool)
    assert np.array_equal(noisy.kept_cells, totals & ~sensitive)
    assert np.all(noisy.changes[noisy.kept_cells] == 0)
    assert np.all(noisy.changes[totals & sensitive] != 0)
    assert f"{len(noisy.kept)} of {len(noisy.kept)} totals stay true" in noisy.summary()


def test_the_true_total_of_a_sensitive_cell_is_never_kept():
    """Not even where it is the sum of totals that are kept: all of E is one firm."""
    noisy = tc.noisy_table(problem(), contributed(), keep=["region", "industry"], seed=2)
    assert noisy.problem.sensitive.sum() >= 5
    assert not np.any(noisy.kept_cells & noisy.problem.sensitive)
    assert noisy.kept_cells.sum() >= 10
    assert np.all(noisy.changes[noisy.kept_cells] == 0)


def test_a_changed_cell_of_one_contributor_or_a_broken_sum_does_not_pass_the_check():
    noisy = tc.noisy_table(problem(), contributed(), seed=1)
    near = noisy.values.copy()
    near[noisy.alone] = noisy.problem.table.values[noisy.alone]
    with pytest.raises(tc.VerificationError, match="off by"):
        replace(noisy, values=near).verify()
    with pytest.raises(tc.VerificationError, match="has one contributor and changed by 0 only"):
        replace(noisy, values=noisy.problem.table.values).verify()


def test_a_sampling_weight_stands_for_others_without_noise():
    frame = pd.DataFrame({"firm": ["a", "b"], "region": ["N", "S"], "sold": [100.0, 100.0]})
    frame = frame.assign(weight=[1.0, 5.0])
    table = tc.tabulate(frame, ["region"], "sold", contributor="firm", weight="weight")
    given = tc.contributed(frame, ["region"], "sold", contributor="firm", weight="weight")
    noisy = tc.noisy_table(table.protect(tc.MinimumFrequency(2)), given, seed=3)
    assert noisy.problem.table.values.tolist() == [600, 100, 500]
    assert np.all(np.abs(noisy.changes[1:]) <= 15)
    assert np.all(np.abs(noisy.changes[1:]) >= 5)


def test_a_table_without_records_is_told_that_it_needs_them():
    with pytest.raises(tc.InputError, match="a table without contributors cannot get it"):
        tc.noisy_table(tc.examples.cox(), None)


def test_records_of_another_table_are_refused():
    other = tc.contributed(records().iloc[:-1], DIMENSIONS, "turnover", contributor="firm")
    with pytest.raises(tc.InputError, match="not one of these records: cell .* but its records"):
        tc.noisy_table(problem(), other)
    both = tc.join({"one": problem(), "two": problem()})
    with pytest.raises(tc.InputError, match="Take the table of each variable"):
        tc.noisy_table(both, contributed())
    keys = problem().table.keys.copy()
    keys.loc[3, "region"] = "nowhere"
    odd = replace(problem(), table=replace(problem().table, keys=keys))
    with pytest.raises(tc.InputError, match="no combination of codes that records can have"):
        tc.noisy_table(odd, contributed())
    with pytest.raises(tc.InputError, match="Give the dimensions of the table"):
        tc.noisy_table(tc.examples.cox(), contributed())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"balance": ["regoin"]}, "`balance` names 'regoin'. Did you mean 'region'"),
        ({"keep": "region"}, "`keep` must be a list of dimensions"),
        ({"least": 0.2, "most": 0.1}, "`least` must lie above 0 and below `most`"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(tc.InputError, match=message):
        tc.noisy_table(problem(), contributed(), **options)


def test_linked_tables_of_the_same_records_agree_and_a_cell_may_have_no_record():
    linked = tc.tabulate(
        records(),
        DIMENSIONS,
        "turnover",
        contributor="firm",
        decimals=0,
        tables=[["region"], ["industry"]],
        empty_cells=True,
    ).protect(tc.PPercent(10))
    apart = tc.noisy_table(linked, contributed(), seed=6)
    whole = tc.noisy_table(problem(), contributed(), seed=6)
    keys = linked.table.keys
    for region, industry, shown in zip(keys.region, keys.industry, apart.values, strict=True):
        assert value(whole, region, industry) == shown


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.filterwarnings("ignore:Some c:tablecloak.errors.TablecloakWarning")
def test_mixed_signs_lose_at_most_rounding_of_their_distance(seed):
    """One firm that gains in one region and loses in another, rounded away in both."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "firm": ["a", "a", "b", "b", "c"],
            "region": list("NSNSS"),
            "industry": list("uuvvw"),
            "profit": random.integers(-900, 900, 5).astype(float),
        }
    )
    table = tc.tabulate(frame, ["region", "industry"], "profit", contributor="firm", decimals=0)
    given = tc.contributed(frame, ["region", "industry"], "profit", contributor="firm")
    noisy = tc.noisy_table(table.protect(tc.Manual([1])), given, seed=seed)
    assert np.abs(table.relations @ noisy.values).max() < 1e-9
    assert np.all(np.abs(noisy.changes) >= noisy.least_distance * (1 - 1e-12))


@pytest.mark.parametrize("decimals", [None, 2])
def test_cells_of_one_firm_have_a_ratio_that_gives_neither(decimals):
    """Who knows which firm is alone in two cells, but no value, finds none of them."""
    random = np.random.default_rng(8)
    frame = pd.DataFrame(
        [
            (f"f{firm}", f"r{firm}", industry, round(random.lognormal(12, 1), 2))
            for firm in range(40)
            for industry in ("food", "hotels")
        ],
        columns=["firm", "region", "industry", "sold"],
    )
    names = ["region", "industry"]
    table = tc.tabulate(frame, names, "sold", contributor="firm", decimals=decimals)
    given = tc.contributed(frame, names, "sold", contributor="firm")
    released = tc.noisy_table(table.protect(tc.PPercent(10)), given, seed=1).release()
    assert released.sold.map(lambda x: len(repr(float(x)).split(".")[1])).max() <= 2
    sold = released.set_index(names).sold
    right = [
        (told := by_continued_fraction(sold[region, "food"], sold[region, "hotels"], 0.01, 0.15))
        and abs(told / 100 - true) < 0.005
        for region, true in frame[frame.industry == "food"].set_index("region").sold.items()
    ]
    assert not any(right)


def test_a_weighted_cell_shows_no_more_digits_than_contributions_have():
    frame = pd.DataFrame({"firm": list("abcd"), "region": list("NNSS"), "sold": [103, 207, 55, 91]})
    frame = frame.assign(weight=[1.37, 2.113, 1.0, 3.19])
    table = tc.tabulate(frame, ["region"], "sold", contributor="firm", weight="weight")
    given = tc.contributed(frame, ["region"], "sold", contributor="firm", weight="weight")
    noisy = tc.noisy_table(table.protect(tc.PPercent(10)), given, seed=3)
    assert np.array_equal(noisy.values, np.rint(noisy.values))
