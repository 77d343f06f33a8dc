"""Columns that stay in a release and tell what was hidden or swapped in others."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.microdata import DataSwapping, LocalSuppression, TellingColumnWarning
from tablecloak.microdata.telling_columns import Telling, telling_columns


def people(n: int = 3000) -> pd.DataFrame:
    """Persons of households of one to four, in random order; bands follow from ages."""
    random = np.random.default_rng(5)
    home = np.repeat(np.arange(n), random.integers(1, 5, n))[:n]
    regions = random.choice(["N", "S", "W"], n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"home": [f"H{one:04d}" for one in home], "region": regions[home]})
    frame["age"] = random.integers(20, 60, n)
    frame["band"] = (frame.age // 10 * 10).astype(str) + "s"
    frame["sex"] = random.choice(["m", "f"], n)
    frame["job"] = random.choice(["a", "b", "c", "d"], n)
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def told(before, after, changed) -> list[Telling]:
    others = [name for name in before.columns if name not in changed]
    return telling_columns(before, after, changed, others, after.__getitem__)


def test_a_column_from_which_a_key_follows_tells_every_hidden_one():
    frame = people()
    hidden = frame.assign(band=frame.band.where(frame.index % 5 > 0))
    assert told(frame, hidden, ["band"]) == [Telling("band", "age", 600, 600)]


def test_members_of_a_household_tell_the_swapped_region_as_counted_by_hand():
    frame = people()
    swapped = DataSwapping(["region"], 0.1, keys=["region"])
    with pytest.warns(TellingColumnWarning, match="'home' tells"):
        after = swapped.protect(frame, seed=2).frame
    changed = frame.region != after.region
    right = 0
    for home, before in frame[changed].groupby("home"):
        shown = after.region[after.home == home].value_counts()
        sure = len(shown) == 1 or shown.iloc[0] > shown.iloc[1]
        right += int(sum(before.region == shown.index[0])) if sure else 0
    assert told(frame, after, ["region"]) == [Telling("region", "home", int(changed.sum()), right)]
    assert 0 < right < changed.sum()


def test_columns_without_a_relation_and_keys_that_are_whole_tell_nothing():
    frame = people()
    hidden = frame.assign(job=frame.job.where(frame.index % 5 > 0))
    assert told(frame, hidden, ["job"]) == []
    assert told(frame, frame, ["region", "band"]) == []


def test_numbers_that_all_change_and_whole_households_that_move_tell_nothing():
    frame = people()
    noisy = frame.assign(age=frame.age + np.random.default_rng(1).normal(size=len(frame)))
    assert told(frame, noisy, ["age"]) == []
    moved = frame.assign(region=frame.region.mask(frame.home < "H0100", "W"))
    assert told(frame, moved, ["region"]) == []


def test_a_key_that_stays_beside_another_key_tells_it():
    frame = people()
    hidden = frame.assign(band=frame.band.where(frame.index % 5 > 0))
    assert told(frame, hidden, ["band", "age"]) == [Telling("band", "age", 600, 600)]


def test_a_method_warns_and_the_file_without_the_column_does_not():
    method = LocalSuppression(["band", "sex", "job"], k=18, time_limit=1)
    with pytest.warns(TellingColumnWarning, match="'age' tells"):
        method.protect(people(600).drop(columns="home"), seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.protect(people(600).drop(columns=["home", "age"]), seed=1)


def run(words):
    return CliRunner().invoke(app, ["records", *map(str, words)])


def test_the_command_names_the_column_and_leaves_it_out_when_asked(tmp_path):
    source, output = tmp_path / "people.csv", tmp_path / "out.csv"
    people().to_csv(source, index=False)
    words = ["swap", source, "-o", output, "--attribute", "region", "--rate", "0.1"]
    words += ["--key", "region"]
    done = run(words)
    assert done.exit_code == 0, done.output
    assert "The released column 'home' tells" in done.output
    assert "--drop home" in done.output
    done = run([*words, "--drop", "home", "--drop", "age"])
    assert done.exit_code == 0, done.output
    assert "tells" not in done.output
    assert list(pd.read_csv(output).columns) == ["region", "band", "sex", "job"]
    refused = run([*words, "--drop", "region"])
    assert refused.exit_code != 0
    assert "'region' is what the method changes" in refused.output
    refused = run([*words, "--drop", "hom"])
    assert "There is no column 'hom'" in refused.output
