"""Certificates on disk: written only if a stranger would accept them, and for their owner alone."""

from __future__ import annotations

import stat
from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import Certificate, Claim, arrays_of
from tablecloak.certificates.file import write_certificate


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(tc.examples.cox_rounded())


def test_what_is_read_is_what_was_claimed(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    write_certificate(pattern, path)
    arrays = arrays_of(pattern.certificates, pattern.problem)
    found = verifier.read(path)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_only_the_owner_may_read_a_certificate(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    write_certificate(pattern, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def altered(pattern) -> Certificate:
    """The claims of a pattern with a witness that moves one cell farther."""
    claims = []
    for claim in pattern.certificates:
        if claim.kind == "protection":
            name = next(key for key in claim.arrays if key.endswith("_data"))
            data = claim.arrays[name].copy()
            data[0] += 1
            claims.append(replace(claim, arrays={**claim.arrays, name: data}))
        else:
            claims.append(claim)
    return Certificate(pattern.problem, tuple(claims))


def test_a_certificate_that_would_be_refused_is_not_written(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    with pytest.raises(tc.VerificationError, match=r"pattern\.npz: the certificate is not written"):
        write_certificate(altered(pattern), path)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_certificate_leaves_the_one_before_as_it_was(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    write_certificate(pattern, path)
    before = path.read_bytes()
    with pytest.raises(tc.VerificationError):
        write_certificate(altered(pattern), path)
    assert path.read_bytes() == before


def unknown_measure(pattern, loss: float) -> Certificate:
    """A pattern whose loss is measured as nobody knows, beside claims that can be checked."""
    released = pattern.certificates[0].released
    arrays = {
        "measure": np.array("taste"),
        "weights": pattern.problem.weights,
        "loss": np.array(loss),
    }
    protection = next(claim for claim in pattern.certificates if claim.kind == "protection")
    return Certificate(pattern.problem, (protection, Claim("loss", released, arrays)))


def test_claims_that_nobody_can_check_are_written_and_refused_when_they_are_read(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    write_certificate(unknown_measure(pattern, pattern.loss), path)
    with pytest.raises(verifier.UnknownError, match="taste"):
        verifier.verify(verifier.read(path))


def test_beside_them_every_other_claim_must_be_proved(pattern, tmp_path):
    path = tmp_path / "pattern.npz"
    wrong = unknown_measure(pattern, pattern.loss)
    false = altered(pattern).certificates
    protection = next(claim for claim in false if claim.kind == "protection")
    with pytest.raises(tc.VerificationError):
        write_certificate(Certificate(pattern.problem, (protection, wrong.certificates[1])), path)
    assert not path.exists()
