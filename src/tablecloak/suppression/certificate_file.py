"""Certificates on disk: one ``.npz`` file that the stand-alone verifier reads.

The file holds the whole problem, the pattern, the witnesses and the intruders, as arrays
without pickled objects; docs/certificate.md lists them. It is secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.storage import replacing
from tablecloak.suppression.witness import ProtectionCertificate

__all__ = ["write_certificate"]

VERSION = 1


def write_certificate(certificate: ProtectionCertificate, path: str | Path) -> None:
    """Write a certificate for ``python -m tablecloak.verify_certificate``.

    Parameters
    ----------
    certificate : ProtectionCertificate
    path : str or Path
        A name in ``.npz``.

    Raises
    ------
    VerificationError
        If it does not verify; nothing is written then.
    """
    certificate.verify()
    problem, table = certificate.problem, certificate.problem.table
    names = ("lower_bound", "upper_bound", "lower_protection", "upper_protection",
             "sliding_protection", "status")  # fmt: skip
    insiders = certificate.insiders
    arrays = {
        "format": np.array("tablecloak suppression certificate"),
        "version": np.array(VERSION),
        "requirement": np.array(certificate.requirement.value),
        "values": table.values,
        "right_hand_side": table.right_hand_side,
        **{name: getattr(problem, name) for name in names},
        "suppressed": certificate.suppressed,
        **_sparse("relation", table.relations),
        **_sparse("witness", certificate.deviations),
        "upper_witness": certificate.upper_witness,
        "lower_witness": certificate.lower_witness,
        "intruder_names": np.array([claim.knowledge.name for claim in insiders], dtype=np.str_),
        "intruder_starts": _starts([claim.knowledge.cells for claim in insiders]),
        "intruder_cells": _joined([claim.knowledge.cells for claim in insiders], np.int64),
        "intruder_lower": _joined([claim.knowledge.lower for claim in insiders], np.float64),
        "intruder_upper": _joined([claim.knowledge.upper for claim in insiders], np.float64),
        "claim_starts": _starts([claim.index for claim in insiders]),
        "claim_index": _joined([claim.index for claim in insiders], np.int64),
        "claim_upper": _joined([claim.upper_witness for claim in insiders], np.int64),
        "claim_lower": _joined([claim.lower_witness for claim in insiders], np.int64),
    }
    with replacing(path, secret=True) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _sparse(name: str, matrix: Any) -> dict[str, Any]:
    return {
        f"{name}_data": matrix.data,
        f"{name}_cells": matrix.indices,
        f"{name}_starts": matrix.indptr,
    }


def _starts(parts: Sequence[Any]) -> Any:
    return np.cumsum([0, *(len(part) for part in parts)])


def _joined(parts: Sequence[Any], kind: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
