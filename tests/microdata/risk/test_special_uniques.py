"""Special uniques, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata.risk.special_uniques import (
    MANY_KEYS,
    special_unique_risk,
)


def test_scores_of_four_records_by_hand():
    """Three keys. The last record is alone by a and by b; the first two only by a and c."""
    frame = pd.DataFrame(
        [(1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2), (3, 2, 1)], columns=list("abc")
    )
    # A single key that is unique scores (K - 1)(K - 2) = 2, a pair K - 2 = 1, all three 1.
    assert special_unique_risk(frame, list("abc")).score.tolist() == [1, 1, 1, 1, 2 + 2]


def test_supersets_of_a_unique_do_not_count_again():
    frame = pd.DataFrame([(1, 1), (1, 2), (1, 2), (2, 2), (2, 2)], columns=list("ab"))
    # Only record 0 is alone, by b; the pair (a, b) contains that.
    assert special_unique_risk(frame, list("ab")).score.tolist() == [1, 0, 0, 0, 0]


def test_only_subsets_up_to_a_size_are_looked_at():
    frame = pd.DataFrame([(1, 1), (1, 2), (2, 1), (2, 2)], columns=list("ab"))
    assert special_unique_risk(frame, list("ab")).score.tolist() == [1, 1, 1, 1]
    assert special_unique_risk(frame, list("ab"), largest=1).score.tolist() == [0, 0, 0, 0]


def test_records_that_are_all_alike_stand_out_nowhere():
    frame = pd.DataFrame(np.ones((6, 3), dtype=int), columns=list("abc"))
    assert not special_unique_risk(frame, list("abc")).score.any()


def test_too_many_keys_are_refused():
    names = [f"k{i}" for i in range(MANY_KEYS + 1)]
    frame = pd.DataFrame(np.zeros((2, len(names)), dtype=int), columns=names)
    with pytest.raises(tc.InputError, match=f"{MANY_KEYS + 1} keys have too many subsets"):
        special_unique_risk(frame, names)


# The tests of sdcMicro: suda2, example of the guideline for its users.
GUIDELINE = pd.DataFrame(
    {
        "residence": list("UUUURUUUUU"),
        "gender": list("FFFMFMFMFF"),
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labor": ["E", "E", "N", "E", "U", "E", "N", "U", "N", "N"],
    }
)


def test_scores_of_the_guideline_of_sdcmicro():
    found = special_unique_risk(GUIDELINE, list(GUIDELINE))
    assert found.score.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_contributions_of_keys_are_those_of_sdcmicro():
    frame = pd.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    found = special_unique_risk(frame, list("abc"))
    assert found.score.tolist() == [2, 4, 2]
    assert found.per_key().tolist() == [0.5, 0.375, 0.375]
    assert found.contribution[1].tolist() == [0, 0.5, 0.5]


def test_disclosure_of_equal_scores_is_that_of_all_uniques():
    """Two uniques with one score each and one pair: DIS = 2 f / (2 f + 2 (1 - f)) = f."""
    frame = pd.DataFrame([(1, 1, 1), (2, 2, 2), (3, 3, 3), (3, 3, 3)], columns=list("abc"))
    found = special_unique_risk(frame, list("abc"), fraction=0.2)
    assert found.score.tolist() == [6, 6, 0, 0]
    assert found.disclosure.tolist() == pytest.approx([0.2, 0.2, 0, 0])


def test_disclosure_grows_with_the_score_and_is_the_formula_of_sdcmicro():
    found = special_unique_risk(GUIDELINE, list(GUIDELINE), fraction=0.1)
    count = GUIDELINE.value_counts().to_numpy()
    unique, paired = (count == 1).sum(), 2 * (count == 2).sum()
    dis = unique * 0.1 / (unique * 0.1 + paired * 0.9)
    score = found.score[found.score > 0]
    power = score ** (1 + 4 / 20)
    expected = 1 / (1 + (unique / dis - unique) / (power * (1 / power).sum()))
    assert found.disclosure[found.score > 0] == pytest.approx(expected)
    assert np.all(np.diff(found.disclosure[np.argsort(found.score)]) >= 0)
    assert "4 of 10 records, largest score 12" in found.summary()


def test_without_pairs_every_unique_match_is_right():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1, 1, 1]})
    assert special_unique_risk(frame, ["a", "b"]).disclosure.tolist() == [1, 1, 1]


def test_a_missing_value_makes_nobody_unique():
    frame = pd.DataFrame({"a": [1, 1, np.nan], "b": [1, 1, 2]})
    assert special_unique_risk(frame, ["a", "b"]).score.tolist() == [0, 0, 1]
    assert special_unique_risk(frame, ["a"]).score.tolist() == [0, 0, 0]


@pytest.mark.parametrize("fraction", [0, 1, -0.1])
def test_sampling_fractions_out_of_range_are_refused(fraction):
    with pytest.raises(tc.InputError, match="`fraction` must lie between 0 and 1"):
        special_unique_risk(GUIDELINE, ["gender"], fraction=fraction)
