"""Certificates on disk: one ``.npz`` file that the stand-alone verifier reads.

The file holds the whole problem, the release and the proofs of all claims about it, as arrays
without pickled objects; docs/certificate.md lists them. It is secret.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.certificates.claim import Certified, UnknownClaimError, arrays_of
from tablecloak.certificates.verifier import RefusedError, UnknownError, read, verify
from tablecloak.errors import VerificationError
from tablecloak.storage import replacing


def write_certificate(result: Certified, path: str | Path) -> None:
    """Write all claims of a result for ``python -m tablecloak.certificates.verifier``.

    Parameters
    ----------
    result : Certified
        A pattern, an adjustment, intervals, a rounded table, or the certificate of an audit.
    path : str or Path
        A name in ``.npz``. Only its owner may read the file.

    Raises
    ------
    VerificationError
        If the stand-alone verifier refuses it; nothing is written then. If it has no check for a
        requirement or distance that a user registered, the file is written once all other claims
        are proved; verifying it ends in a refusal that names the claims without a check.
    """
    arrays: dict[str, Any] = arrays_of(result.certificates, result.problem)
    with replacing(path, secret=True) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
        file.flush()
        # A certificate that the stand-alone verifier refuses is never written.
        try:
            verify(read(temporary), minutes=np.inf)  # type: ignore[no-untyped-call]
        except UnknownError:
            _prove_others(result)
        except RefusedError as error:
            raise VerificationError(
                f"{path}: the certificate is not written, because the stand-alone verifier refuses "
                f"it ({error})."
            ) from error


def _prove_others(result: Certified) -> None:
    """Verify the claims for which there is a check, one by one."""
    for claim in result.certificates:
        with contextlib.suppress(UnknownClaimError):
            claim.verify(result.problem)
