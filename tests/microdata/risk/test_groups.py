"""Measures of groups equal published examples, and the definitions on random files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

import tablecloak as tc
from tablecloak.microdata import group_diversity, group_likeness
from tablecloak.microdata.risk.groups import Histograms

# Li, Li and Venkatasubramanian 2007, table 3 and section 4.3: salaries in thousands.
SALARIES = pd.DataFrame(
    {"group": [1] * 3 + [2] * 3 + [3] * 3, "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10]}
)


def test_distances_of_salaries_are_those_of_the_paper():
    found = group_diversity(SALARIES, ["group"], "salary")
    assert found.closeness[0] == pytest.approx(0.375)
    assert found.closeness[3] == pytest.approx(1 / 6)
    assert found.t == pytest.approx(0.375)
    assert (found.k, found.distinct_l, found.entropy_l) == (3, 3, pytest.approx(3))


def random_file(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 80))
    return pd.DataFrame({"key": random.integers(0, 6, n), "value": random.integers(0, 7, n)})


@pytest.mark.parametrize("seed", range(8))
def test_measures_equal_their_definitions(seed):
    frame = random_file(seed)
    rank = frame.value.rank(method="dense").astype(int) - 1
    m = max(int(rank.max()), 1)
    ordered = group_diversity(frame, ["key"], "value")
    other = group_diversity(frame, ["key"], "value", ordered=False)
    whole = rank.value_counts(normalize=True)
    gains, deltas, enhanced, recursive = [], [], [], []
    for key, part in frame.groupby("key"):
        at = int(np.flatnonzero(frame.key == key)[0])
        share = rank[part.index].value_counts(normalize=True)
        assert ordered.size[at] == len(part)
        assert ordered.distinct[at] == part.value.nunique()
        assert ordered.entropy[at] == pytest.approx(np.exp(-np.sum(share * np.log(share))))
        assert ordered.most_frequent[at] == pytest.approx(share.max())
        assert ordered.closeness[at] == pytest.approx(
            wasserstein_distance(rank[part.index], rank) / m
        )
        gap = share.reindex(whole.index, fill_value=0) - whole
        assert other.closeness[at] == pytest.approx(gap.abs().sum() / 2)
        relative = share / whole[share.index] - 1
        gains.append(relative.max())
        deltas.append(np.abs(np.log(share / whole[share.index])).max())
        enhanced.append((relative <= -np.log(whole[share.index]) + 1e-12).all())
        counts = np.sort(part["value"].value_counts())[::-1]
        recursive.append(counts[0] / counts[1:].sum() if len(counts) > 1 else np.inf)
    found = group_likeness(frame, ["key"], "value")
    assert found.beta == pytest.approx(max(gains))
    assert found.delta == pytest.approx(max(deltas))
    assert found.alpha == pytest.approx(ordered.most_frequent.max())
    assert found.recursive(2) == pytest.approx(max(recursive))
    assert found.enhanced_beta == (pytest.approx(max(gains)) if all(enhanced) else np.inf)


def test_recursive_diversity_is_the_first_count_over_the_last_ones():
    counts = {0: [5, 3, 2, 2], 1: [4, 1], 2: [9]}
    group = np.repeat([0, 1, 2], [4, 2, 1])
    value = np.array([3, 0, 1, 2, 0, 1, 2])
    found = Histograms.of(group, value, np.concatenate(list(counts.values())).astype(float), 3, 4)
    assert found.recursive(2).tolist() == [5 / 7, 4.0, np.inf]
    assert found.recursive(3).tolist() == [5 / 4, np.inf, np.inf]
    assert found.recursive(1).tolist() == [5 / 12, 4 / 5, 1.0]


def test_text_has_no_order_and_one_value_has_no_distance():
    frame = pd.DataFrame({"key": [1, 1, 2, 2], "illness": list("abca"), "same": [1] * 4})
    assert group_diversity(frame, ["key"], "illness").t == pytest.approx(0.25)
    assert group_diversity(frame, ["key"], "same").t == 0
    assert "1 records" not in group_diversity(frame, ["key"], "illness").summary()


@pytest.mark.parametrize("seed", range(3))
def test_an_open_key_puts_a_record_with_all_that_have_its_other_keys(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 3, (50, 3)).astype(float), columns=list("abc"))
    frame = frame.mask(random.random(frame.shape) < 0.25).assign(value=random.integers(0, 4, 50))
    found = group_diversity(frame, list("abc"), "value", ordered=False, missing="open")
    like = group_likeness(frame, list("abc"), "value", missing="open")
    keys, gains = frame[list("abc")].to_numpy(), []
    whole = frame["value"].value_counts(normalize=True)
    for at, row in enumerate(keys):
        part = frame["value"][np.all((keys == row) | np.isnan(row), axis=1)]
        share = part.value_counts(normalize=True)
        assert (found.size[at], found.distinct[at]) == (len(part), part.nunique())
        assert found.most_frequent[at] == pytest.approx(share.max())
        gap = share.reindex(whole.index, fill_value=0) - whole
        assert found.closeness[at] == pytest.approx(gap.abs().sum() / 2)
        gains.append((share / whole[share.index] - 1).max())
    assert like.beta == pytest.approx(max(gains))
    assert like.k == found.k


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


@pytest.mark.parametrize("measure", [group_diversity, group_likeness])
def test_a_sensitive_key_is_refused(measure):
    with pytest.raises(tc.InputError, match="'value' is also a key"):
        measure(random_file(0), ["key", "value"], "value")
