"""Measures of groups equal published examples, and the definitions on random files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

import tablecloak as tc
from tablecloak.microdata import group_diversity, group_likeness
from tablecloak.microdata.risk.diversity import Histograms

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


@pytest.mark.parametrize("seed", range(30))
def test_measures_equal_their_definitions(seed):
    frame = random_file(seed)
    rank = frame.value.rank(method="dense").astype(int) - 1
    m = max(int(rank.max()), 1)
    ordered = group_diversity(frame, ["key"], "value")
    other = group_diversity(frame, ["key"], "value", ordered=False)
    whole = rank.value_counts(normalize=True)
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


@pytest.mark.parametrize("seed", range(5))
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


def test_a_sensitive_key_is_refused():
    with pytest.raises(tc.InputError, match="'value' is also a key"):
        group_diversity(random_file(0), ["key", "value"], "value")
