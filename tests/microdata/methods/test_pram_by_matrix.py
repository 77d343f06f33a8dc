"""Post-randomisation by a given matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import ClassicalPRAM
from tablecloak.microdata.methods.pram_by_matrix import _drawn

FRAME = pd.DataFrame({"sex": list("fmfmffmmfm") * 3, "age": range(30)})


def test_the_identity_moves_nobody():
    release = ClassicalPRAM("sex", np.eye(2)).protect(FRAME, seed=1)
    assert release.frame.equals(FRAME)
    assert not release.moved.any()
    assert release.report["moves"] == 0


def test_a_matrix_that_exchanges_all_moves_everybody():
    release = ClassicalPRAM("sex", [[0, 1], [1, 0]]).protect(FRAME, seed=1)
    assert release.moved.all()
    assert np.array_equal(release.frame["sex"] == "f", FRAME["sex"] == "m")
    assert release.frame["age"].equals(FRAME["age"])


def test_each_record_is_drawn_from_the_row_of_its_category():
    matrix = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.0, 0.4]])
    codes = np.repeat([0, 1, 2], 20_000)
    found = _drawn(matrix, codes, np.random.default_rng(1))
    for code in range(3):
        shares = np.bincount(found[codes == code], minlength=3) / 20_000
        # Five standard deviations of a share are at most 0.018.
        assert shares == pytest.approx(matrix[code], abs=0.018)
        assert not shares[matrix[code] == 0].any()


def test_the_report_tells_the_diagonal_that_was_applied_beside_the_one_asked_for():
    matrix = [[0.9, 0.1], [0.3, 0.7]]
    release = ClassicalPRAM("sex", matrix, invariant=True).protect(FRAME, seed=1)
    report = release.report
    assert report["smallest diagonal asked for"] == 0.7
    assert report["smallest diagonal applied"] < 0.7
    assert release.summary().startswith("PRAM: attribute: sex, moves: ")


def test_the_matrix_must_have_a_row_for_each_category():
    with pytest.raises(tc.InputError, match=r"`matrix` is 3 x 3, but 'sex' has 2 categories"):
        ClassicalPRAM("sex", np.eye(3)).protect(FRAME)


def test_a_seed_gives_the_same_release():
    method = ClassicalPRAM("sex", [[0.5, 0.5], [0.5, 0.5]])
    assert method.protect(FRAME, seed=4).frame.equals(method.protect(FRAME, seed=4).frame)
    assert not method.protect(FRAME, seed=4).frame.equals(method.protect(FRAME, seed=5).frame)
