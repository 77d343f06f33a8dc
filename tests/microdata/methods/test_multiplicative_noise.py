"""Multiplied records: one multiplier for all values of a contributor."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import MultiplicativeNoise

FIRMS = tc.examples.firms(400, seed=2)
BRANCHES = pd.concat([FIRMS, FIRMS.assign(turnover=3 * FIRMS.turnover + 1)], ignore_index=True)


def factors(release, frame: pd.DataFrame, column: str = "turnover") -> pd.Series:
    return release.frame[column] / frame[column]


def test_all_values_of_a_contributor_have_its_multiplier():
    frame = BRANCHES.assign(wages=BRANCHES.turnover / 7 + 2)
    noise = MultiplicativeNoise(["turnover", "wages"], contributor="firm", least=0.1, most=0.2)
    release = noise.protect(frame, seed=1)
    expected = frame.firm.map(release.multipliers)
    for column in ("turnover", "wages"):
        assert np.allclose(factors(release, frame, column), expected)
    assert (release.multipliers - 1).abs().between(0.1, 0.2).all()
    assert release.frame.drop(columns=["turnover", "wages"]).equals(
        frame.drop(columns=["turnover", "wages"])
    )
    assert release.summary() == "multiplicative noise: 800 records of 400 contributors"


def test_without_a_column_of_contributors_each_record_is_one():
    release = MultiplicativeNoise(["turnover"]).protect(FIRMS, seed=1)
    assert len(set(factors(release, FIRMS).round(12))) > 0.9 * len(FIRMS)


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


def test_whole_numbers_become_real_ones_since_rounding_would_restore_small_values():
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
