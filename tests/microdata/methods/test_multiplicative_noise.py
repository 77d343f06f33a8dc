"""Multiplied records: one multiplier for all values of a contributor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from multiplied import by_continued_fraction, compatible
from tablecloak.microdata import MultiplicativeNoise

FIRMS = tc.examples.firms(400, seed=2)
BRANCHES = pd.concat([FIRMS, FIRMS.assign(turnover=3 * FIRMS.turnover + 1)], ignore_index=True)


def factors(release, frame: pd.DataFrame, column: str = "turnover") -> pd.Series:
    return release.frame[column] / frame[column]


def test_all_values_of_a_contributor_have_its_multiplier():
    frame = BRANCHES.assign(wages=(BRANCHES.turnover / 7 + 2).round(3))
    noise = MultiplicativeNoise(["turnover", "wages"], contributor="firm", least=0.1, most=0.2)
    release = noise.protect(frame, seed=1)
    expected = frame.firm.map(release.multipliers)
    for column, unit in (("turnover", 1), ("wages", 0.001)):
        off = (release.frame[column] - frame[column] * expected).abs()
        assert off.max() <= 2 * unit
        assert np.all((factors(release, frame, column) - 1).abs() >= 0.1 - 1e-9)
    assert (release.multipliers - 1).abs().between(0.1, 0.2).all()
    assert release.frame.drop(columns=["turnover", "wages"]).equals(
        frame.drop(columns=["turnover", "wages"])
    )
    assert release.summary() == (
        "multiplicative noise: 800 records of 400 contributors; turnover in multiples of 1, wages "
        "in multiples of 0.001"
    )


def test_without_a_column_of_contributors_each_record_is_one():
    release = MultiplicativeNoise(["turnover"]).protect(FIRMS, seed=1)
    assert release.multipliers.nunique() == len(FIRMS)


def test_totals_that_are_kept_are_those_of_the_original():
    noise = MultiplicativeNoise(["turnover"], contributor="firm", keep=["region"])
    release = noise.protect(BRANCHES, seed=3)
    before, after = (each.groupby("region").turnover.sum() for each in (BRANCHES, release.frame))
    assert after.to_numpy() == pytest.approx(before.to_numpy())
    assert "6 of 6 totals stay true" in release.summary()


def test_balancing_takes_most_noise_out_of_large_cells():
    off = {}
    for name, options in (("plain", {}), ("balanced", {"balance": ["region", "industry"]})):
        release = MultiplicativeNoise(["turnover"], **options).protect(FIRMS, seed=5)
        cells = [each.groupby(["region", "industry"]).turnover for each in (FIRMS, release.frame)]
        large = cells[0].size() >= 10
        off[name] = (cells[1].sum() / cells[0].sum() - 1)[large].abs().mean()
    assert off["balanced"] < off["plain"] / 3


def test_rounding_never_restores_small_values():
    release = MultiplicativeNoise(["turnover"]).protect(FIRMS.assign(turnover=1), seed=1)
    assert not np.any(release.frame.turnover == 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"contributor": "frim"}, "There is no column 'frim'. Did you mean 'firm'"),
        ({"balance": ["regoin"]}, "There is no column 'regoin'"),
        ({"keep": "region"}, "`keep` must be a list of one or more names"),
        ({"least": 0.3}, "`least` must lie above 0 and below `most`"),
        ({"shape": "round"}, "`shape` must be 'ramp' or 'uniform'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(tc.InputError, match=message):
        MultiplicativeNoise(["turnover"], **options).protect(FIRMS)


def test_a_record_without_a_contributor_is_named():
    frame = FIRMS.assign(firm=FIRMS.firm.where(FIRMS.index != 7))
    with pytest.raises(tc.InputError, match="Column 'firm' has no entry in row 7"):
        MultiplicativeNoise(["turnover"], contributor="firm").protect(frame)


AMOUNTS = pd.DataFrame(
    np.random.default_rng(11).lognormal(10, 0.7, (300, 2)).round(2), columns=["income", "wealth"]
)


@pytest.mark.parametrize("unit", [0.01, 1, 100])
def test_the_ratio_of_two_amounts_gives_neither(unit):
    """A ratio of whole numbers in lowest terms names both, unless it is known roughly."""
    frame = (np.rint(AMOUNTS / unit) * unit).round(2)
    frame = frame if unit < 1 else frame.astype(int)
    released = MultiplicativeNoise(["income", "wealth"]).protect(frame, seed=1).frame
    told = [by_continued_fraction(*pair, unit, 0.15) for pair in released.to_numpy().tolist()]
    right = np.array([np.nan if one is None else one for one in told]) * unit
    assert np.sum(np.isclose(right, frame.income)) <= 3
    assert (released.dtypes == frame.dtypes).all()
    assert np.allclose(released / unit, np.rint(released / unit), rtol=0, atol=1e-6)


@pytest.mark.parametrize("columns", [2, 3])
def test_every_amount_of_a_contributor_has_hundreds_of_candidates(columns):
    """Counted by brute force over whole numbers and multipliers, for amounts of 2,000 to 10,000."""
    true = np.random.default_rng(columns).integers(2_000, 10_000, (3, columns))
    frame = pd.DataFrame(true, columns=[f"x{n}" for n in range(columns)])
    released = MultiplicativeNoise(list(frame.columns)).protect(frame, seed=2).frame
    for row, amounts in zip(released.to_numpy().tolist(), true.tolist(), strict=True):
        candidates = compatible(tuple(row), 0.05, 0.15)
        named = {amount for amount, _, _ in candidates}
        assert amounts[0] in named
        assert len(named) >= 0.1 * amounts[0]


def test_no_multiplier_below_1_is_refuted_by_any_number_of_amounts():
    """Whatever it is, whole numbers exist that it takes to all that was released."""
    frame = pd.DataFrame(np.random.default_rng(3).integers(1_000, 10**9, (50, 40)))
    frame.columns = [f"x{n}" for n in range(40)]
    released = MultiplicativeNoise(list(frame.columns)).protect(frame, seed=3).frame.to_numpy()
    for thousandths in range(850, 951):
        amounts = -(-released * 1000 // thousandths)
        assert np.array_equal(amounts * thousandths // 1000, released)


def test_released_values_are_written_with_the_digits_of_the_column():
    frame = AMOUNTS.assign(firm=np.arange(len(AMOUNTS)) // 2)
    released = MultiplicativeNoise(["income"], contributor="firm").protect(frame, seed=1).frame
    assert released.income.map(lambda x: len(repr(x).split(".")[1])).max() <= 2
    coarse = MultiplicativeNoise(["income"], decimals=-2).protect(frame, seed=1)
    assert np.all(coarse.frame.income % 100 == 0)
    assert "income in multiples of 100" in coarse.summary()
    with pytest.raises(tc.InputError, match="Take 2 or less"):
        MultiplicativeNoise(["income"], decimals=3).protect(frame)


def test_kept_totals_of_whole_numbers_stay_to_the_last_unit():
    noise = MultiplicativeNoise(["turnover"], contributor="firm", keep=["region"])
    release = noise.protect(BRANCHES, seed=3)
    before, after = (each.groupby("region").turnover.sum() for each in (BRANCHES, release.frame))
    assert before.tolist() == after.tolist()
    off = (release.frame.turnover - BRANCHES.turnover).abs()
    assert np.all(off >= 0.05 * BRANCHES.turnover * (1 - 1e-9))


def test_numbers_near_the_end_of_their_type_do_not_overflow():
    frame = pd.DataFrame({"staff": np.arange(200, 256, dtype=np.uint8)})
    released = MultiplicativeNoise(["staff"]).protect(frame, seed=1).frame.staff
    assert np.all((released / frame.staff - 1).abs() <= 0.16)
