"""Likeness of groups: values of the package pycanon, and the definitions on random files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import group_diversity, group_likeness


def small(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 60))
    return pd.DataFrame({"key": random.integers(0, 5, n), "value": random.integers(0, 4, n)})


# Made with pycanon 1.3.6 (k_anonymity, alpha_k_anonymity, l_diversity, entropy_l_diversity,
# t_closeness, basic_beta_likeness, delta_disclosure), all columns of cps8d as text. Its recursive
# l-diversity is not compared: it sorts the counts of a group from the smallest, not from the
# largest, and its entropy l is rounded down.
CPS8D = [
    (["age", "edu", "race"], "empl", 8, 0.8514755684567006, 2, 1, 0.3716090101291362,
     2.728966254389983, 2.269119052343077),
    (["age", "sex", "race", "hours"], "edu", 26, 0.5039721946375373, 4, 3, 0.309935036863897,
     2.3449218153567033, 4.252728082715612),
    (["age", "sex"], "empl", 1905, 0.7884240190765228, 4, 2, 0.21948727179548808,
     1.4370492381031876, 1.9153285997186045),
]  # fmt: skip

# The same for the file adult, education as a number.
ADULT = [
    (["race", "sex"], "education_num", 155, 0.4105263157894737, 13, 6, 0.0907304704173084,
     6.878123134990403, 2.0640896946614458),
    (["race", "sex"], "workclass", 155, 0.7808764940239044, 6, 2, 0.23022896775814344,
     3.2324090121317153, 2.591469300787325),
    (["sex", "relationship"], "occupation", 1, 1.0, 1, 1, 0.8873101019614266,
     7.8739098837209305, 3.8885797144813075),
]  # fmt: skip


def check(frame, keys, sensitive, k, alpha, distinct, entropy, t, beta, delta):
    found, groups = group_likeness(frame, keys, sensitive), group_diversity(frame, keys, sensitive)
    assert (found.k, groups.k, groups.distinct_l) == (k, k, distinct)
    assert int(groups.entropy_l + 1e-9) == entropy
    assert found.alpha == pytest.approx(alpha)
    assert groups.t == pytest.approx(t)
    assert found.beta == pytest.approx(beta)
    assert found.delta == pytest.approx(delta)


@pytest.mark.parametrize("values", CPS8D, ids=lambda values: "-".join(values[0]))
def test_measures_equal_those_of_pycanon_on_a_shipped_file(instances, values):
    frame = pd.read_csv(instances / "microdata/cps8d.csv.gz", usecols=[*values[0], values[1]])
    check(frame.astype(str), *values)


@pytest.mark.parametrize("values", ADULT, ids=lambda values: values[1])
def test_measures_equal_those_of_pycanon_on_adult(instances, values):
    frame = pd.read_csv(instances / "microdata/adult.csv.gz", usecols=[*values[0], values[1]])
    check(frame, *values)


# The files of pycanon's examples, with its keys and sensitive values; of the larger one the records
# of each group of keys without and with a stroke are all that the measures depend on.
HOSPITAL = [
    ("Female Kerala", "Viral infection"), ("Female Kerala", "Heart-related"),
    ("Female Tamil Nadu", "Cancer"), ("Female Tamil Nadu", "TB"),
    ("Male Karnataka", "No illness"), ("Male Karnataka", "TB"), ("Male Karnataka", "Heart-related"),
    ("Male Kerala", "Cancer"), ("Male Kerala", "Heart-related"), ("Male Kerala", "Viral infection"),
    ("Male Tamil Nadu", "Cancer"), ("Male Tamil Nadu", "Cancer"), ("Male Tamil Nadu", "Cancer"),
]  # fmt: skip
STROKE_K25 = [
    (24, 9), (25, 6), (26, 1), (26, 7), (27, 0), (27, 6), (29, 0), (29, 6), (31, 0), (31, 2),
    (32, 0), (32, 2), (38, 5), (45, 4), (49, 7), (58, 4), (68, 6), (82, 1), (87, 1), (88, 7),
    (124, 7), (132, 0), (137, 0), (137, 1), (142, 2), (144, 8), (146, 0), (155, 0), (156, 9),
    (171, 9), (237, 4), (250, 1), (327, 19), (327, 21), (500, 21), (511, 25),
]  # fmt: skip


def test_measures_equal_those_of_pycanon_on_its_own_files():
    hospital = pd.DataFrame(HOSPITAL, columns=["key", "disease"])
    check(
        hospital, ["key"], "disease",
        2, 1.0, 1, 1, 0.6153846153846154, 3.333333333333333, 1.466337068793427,
    )  # fmt: skip
    without, within = np.array(STROKE_K25).T
    group = np.arange(len(STROKE_K25))
    stroke = pd.DataFrame(
        {
            "key": np.concatenate([np.repeat(group, without), np.repeat(group, within)]),
            "stroke": np.repeat([0, 1], [without.sum(), within.sum()]),
        }
    )
    check(
        stroke, ["key"], "stroke",
        27, 1.0, 1, 1, 0.22951076014933247, 5.310719131614653, 2.3839203179667625,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(15))
def test_measures_equal_their_definitions(seed):
    frame = small(seed)
    p = frame["value"].value_counts(normalize=True)
    gains, deltas, alphas, enhanced, recursive = [], [], [], [], []
    for _, part in frame.groupby("key"):
        q = part["value"].value_counts(normalize=True)
        relative = (q / p[q.index]) - 1
        gains.append(relative.max())
        deltas.append(np.abs(np.log(q / p[q.index])).max())
        alphas.append(q.max())
        enhanced.append((relative <= -np.log(p[q.index]) + 1e-12).all())
        counts = np.sort(part["value"].value_counts())[::-1]
        recursive.append(counts[0] / counts[1:].sum() if len(counts) > 1 else np.inf)
    found = group_likeness(frame, ["key"], "value")
    assert found.beta == pytest.approx(max(gains))
    assert found.delta == pytest.approx(max(deltas))
    assert found.alpha == pytest.approx(max(alphas))
    assert found.recursive(2) == pytest.approx(max(recursive))
    assert found.enhanced_beta == (pytest.approx(max(gains)) if all(enhanced) else np.inf)


def test_groups_that_are_like_the_file_tell_nothing():
    frame = pd.DataFrame({"key": [1, 1, 2, 2], "value": list("abab")})
    found = group_likeness(frame, ["key"], "value")
    assert (found.beta, found.enhanced_beta, found.delta, found.alpha) == (0, 0, 0, 0.5)
    assert found.is_complete
    assert "without values" not in found.summary()
    assert "without values" in group_likeness(frame.iloc[:3], ["key"], "value").summary()


def test_missing_values_are_a_category():
    frame = pd.DataFrame({"key": ["a", None, None], "value": ["x", "x", None]})
    found = group_likeness(frame, ["key"], "value")
    assert (found.k, found.alpha) == (1, 1.0)


def test_a_sensitive_key_is_refused():
    with pytest.raises(tc.InputError, match="'value' is also a key"):
        group_likeness(small(0), ["value"], "value")
