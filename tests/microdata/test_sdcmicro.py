"""Figures of sdcMicro 5.8.1 on its own files, as sdcmicro.R beside this file prints them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.microdata import (
    LocalSuppression,
    Microaggregation,
    eigenvalue_loss,
    group_diversity,
    household_risk,
    information_loss,
    interval_disclosure,
    key_risk,
    special_unique_risk,
)

# Household numbers of its files tell some of the hidden values, of which sdcMicro does not warn.
pytestmark = pytest.mark.filterwarnings("ignore::tablecloak.microdata.TellingColumnWarning")

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
COLUMNS = {
    "CASCrefmicrodata": ["AGI", "FEDTAX", "PTOTVAL", "INTVAL"],
    "EIA": ["RESREVENUE", "RESSALES", "COMREVENUE", "COMSALES"],
}


def read(instances, name: str) -> pd.DataFrame:
    return pd.read_csv(instances / f"microdata/{name}.csv.gz")


def test_risks_of_persons_and_households(instances):
    frame = read(instances, "testdata")
    risk = key_risk(frame, KEYS, weight="sampling_weight")
    assert risk.share == pytest.approx(0.00235334037527)
    assert risk.expected == pytest.approx(10.77829891873484)
    assert risk.individual.max() == pytest.approx(0.0465168705655)
    found = household_risk(frame, KEYS, household="ori_hid", weight="sampling_weight")
    assert found.share == pytest.approx(0.01131286625239)
    assert found.expected == pytest.approx(51.81292743596069)


def test_scores_of_special_uniques(instances):
    found = special_unique_risk(read(instances, "testdata"), KEYS)
    assert (found.score.sum(), found.score.max()) == (4890, 720)
    # sdcMicro rounds what a score stands for.
    assert found.disclosure.sum() == pytest.approx(9.831091570114, rel=1e-6)
    assert found.disclosure.max() == pytest.approx(0.678142571106, rel=1e-6)


def test_diversity_of_groups(instances):
    found = group_diversity(read(instances, "testdata"), ["urbrur", "roof", "sex"], "walls")
    assert found.distinct.sum() == 13534
    assert found.entropy.sum() == pytest.approx(8202.034687014)


@pytest.mark.parametrize(("k", "theirs", "least"), [(2, 157, 157), (3, 293, 283), (5, 500, 461)])
def test_no_more_values_are_missing_than_after_local_suppression_there(instances, k, theirs, least):
    """By true records, as (1,k) asks; their files have 4, 18 and 56 records below k by it."""
    frame = read(instances, "testdata")
    ours = LocalSuppression(KEYS, k=k, anonymity="1-k").protect(frame)
    assert ours.suppressed.sum() == ours.bound == least <= theirs


def test_nobody_is_alone_in_released_groups_and_80_persons_are_where_true_records_count(instances):
    """sdcMicro leaves 53 persons whom one released record alone fits, at 293 values."""
    frame = read(instances, "testdata")
    groups = LocalSuppression(KEYS, k=3, time_limit=10).protect(frame)
    assert groups.fitting(frame).min() >= 3
    assert 340 <= groups.bound <= groups.loss <= 365
    true_records = LocalSuppression(KEYS, k=3, anonymity="1-k").protect(frame)
    assert (true_records.loss, int(np.sum(true_records.fits == 1))) == (283, 80)


@pytest.mark.parametrize(
    ("name", "k", "lost", "disclosed", "difference", "eigen"),
    [
        ("CASCrefmicrodata", 3, 0.0144114419708, 0.151851851852, 219.921595914, 0.162472891649),
        ("CASCrefmicrodata", 10, 0.0518196160812, 0.0324074074074, 402.582654296, 0.445370166490),
        ("Tarragona", 3, 0.101892448377, 0.370503597122, 284.803521765, 0.994382654933),
        ("Tarragona", 5, 0.16084356418, 0.262589928058, 375.478204104, 1.29287586287),
        ("Tarragona", 10, 0.253122943416, 0.169064748201, 470.705057078, 1.84444132253),
        ("EIA", 3, 0.00315196528181, 0.80303030303, 240.186475961, 0.240532199172),
        ("EIA", 5, 0.00623676801696, 0.737781036168, 340.937522279, 0.39378268719),
    ],
)
def test_microaggregation_and_its_measures(instances, name, k, lost, disclosed, difference, eigen):
    frame = read(instances, name)
    columns = COLUMNS.get(name, list(frame.columns[:5]))
    frame = frame[columns].astype(np.float64)
    release = Microaggregation(columns, k, grouping="mdav").protect(frame)
    assert release.loss == pytest.approx(lost)
    assert interval_disclosure(frame, release.frame, columns) == pytest.approx(disclosed)
    assert information_loss(frame, release.frame, columns) == pytest.approx(difference)
    assert eigenvalue_loss(frame, release.frame, columns) == pytest.approx(eigen)
