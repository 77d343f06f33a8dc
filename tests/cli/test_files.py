"""Writing what a command found: names are checked first, proofs come before the release."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from private import is_private
from tablecloak.cli.files import require_writable_result, write_result
from tablecloak.errors import InputError, VerificationError

FRAME = pd.DataFrame({"cell": [0, 1], "value": [3.0, 4.5]})


def test_a_result_needs_the_name_of_a_format_of_rows_and_columns(tmp_path):
    require_writable_result(tmp_path / "a.csv", tmp_path / "proof.npz", None)
    require_writable_result(None)
    with pytest.raises(InputError, match=r"Expected a name in \.csv or \.parquet"):
        require_writable_result(tmp_path / "a.jj")
    with pytest.raises(InputError, match="is a folder"):
        require_writable_result(tmp_path / "a.csv", tmp_path)


@pytest.mark.parametrize("secret", [False, True])
def test_a_release_is_public_unless_it_is_said_otherwise(tmp_path, secret):
    path = tmp_path / "a.csv"
    write_result(None, FRAME, path, None, secret=secret)
    pd.testing.assert_frame_equal(pd.read_csv(path), FRAME)
    if secret:
        assert is_private(path)
    assert path.read_bytes() == b"cell,value\n0,3.0\n1,4.5\n"


def test_without_a_proof_that_was_asked_for_there_is_no_release(tmp_path, monkeypatch):
    def failing(result, path):
        raise VerificationError("Cell 3 is not proved.")

    monkeypatch.setattr("tablecloak.certificates.file.write_certificate", failing)
    with pytest.raises(VerificationError):
        write_result(None, FRAME, tmp_path / "a.csv", tmp_path / "proof.npz")
    assert not (tmp_path / "a.csv").exists()


def test_a_proof_is_for_the_owner_alone(tmp_path):
    pattern = tc.suppress(tc.examples.cox_rounded())
    write_result(pattern, FRAME, tmp_path / "a.csv", tmp_path / "proof.npz")
    assert is_private(tmp_path / "proof.npz")
    assert (tmp_path / "a.csv").exists()
