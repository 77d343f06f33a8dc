"""Certificates on disk: one ``.npz`` file that the stand-alone verifier reads.

The file holds the whole problem, the pattern, the witnesses and the intruders, as arrays
without pickled objects; docs/certificate.md lists them. It is secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.certificates.verifier import RefusedError, Relations, check_additive, read, verify
from tablecloak.errors import VerificationError
from tablecloak.storage import replacing
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.suppression.witness import ProtectionCertificate
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

__all__ = ["write_certificate"]

VERSION = 2

MOST_LETTERS = 200
"""Length of the name of an insider from which on it is shortened."""


def write_certificate(certificate: ProtectionCertificate, path: str | Path) -> None:
    """Write a certificate for ``python -m tablecloak.certificates.verifier``.

    Parameters
    ----------
    certificate : ProtectionCertificate
    path : str or Path
        A name in ``.npz``.

    Raises
    ------
    VerificationError
        If it does not verify, here or by the stand-alone verifier; nothing is written then.
    """
    certificate.verify()
    problem, table = certificate.problem, certificate.problem.table
    names = ("lower_bound", "upper_bound", "lower_protection", "upper_protection",
             "sliding_protection")  # fmt: skip
    insiders = [claim for claim in certificate.insiders if _knows_more(claim.knowledge, problem)]
    arrays = {
        "format": np.array("tablecloak suppression certificate"),
        "version": np.array(VERSION, dtype=np.int64),
        "requirement": np.array(certificate.requirement.value),
        "tolerance": np.array(_tolerance(table), dtype=np.float64),
        "values": table.values,
        "right_hand_side": table.right_hand_side,
        **{name: getattr(problem, name) for name in names},
        "status": problem.status.astype("<U1"),
        "suppressed": certificate.suppressed.astype(bool),
        **_sparse("relation", table.relations),
        **_sparse("witness", certificate.deviations),
        "upper_witness": certificate.upper_witness.astype(np.int64),
        "lower_witness": certificate.lower_witness.astype(np.int64),
        "intruder_names": np.array(_distinct([claim.knowledge.name for claim in insiders]), "U"),
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
        file.flush()
        # Nobody is given a certificate that a stranger would refuse.
        try:
            verify(read(temporary))  # type: ignore[no-untyped-call]
        except RefusedError as error:
            raise VerificationError(
                f"{path}: the certificate is not written, because the stand-alone verifier refuses "
                f"it ({error})."
            ) from error


def _tolerance(table: Table) -> float:
    """Return what the relations of the true table are off by, as far as the user or reading allows.

    A table whose decimals do not quite add up is read if they are off by 1e-9 of their terms; its
    certificate says so.
    """
    arrays = {
        "values": table.values,
        "right_hand_side": table.right_hand_side,
        **_sparse("relation", table.relations),
    }
    try:
        relations = Relations(arrays)  # type: ignore[no-untyped-call]
        check_additive(relations, table.values, table.right_hand_side, table.tolerance)  # type: ignore[no-untyped-call]
    except RefusedError:
        off = np.abs(table.relations @ table.values - table.right_hand_side)
        return max(table.tolerance, float(off.max()))
    return table.tolerance


def _sparse(name: str, matrix: Any) -> dict[str, Any]:
    """Rows with increasing columns, each once, and no entry of 0."""
    rows = csr_array(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return {
        f"{name}_data": rows.data,
        f"{name}_cells": rows.indices.astype(np.int64),
        f"{name}_starts": rows.indptr.astype(np.int64),
    }


def _knows_more(knowledge: Knowledge, problem: ProtectionProblem) -> bool:
    """Whether an insider knows a bound that not everybody knows; its claim is empty otherwise."""
    cells = knowledge.cells
    narrower = knowledge.lower > problem.lower_bound[cells]
    narrower |= knowledge.upper < problem.upper_bound[cells]
    return bool(np.any(narrower))


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of bounded length, numbered where several insiders would share one."""
    used: dict[str, None] = {}
    for name in names:
        # A file of fixed length cannot hold a 0 at the end of a text.
        full = name.rstrip("\0") or "unnamed"
        text, number = full[:MOST_LETTERS], 1
        while text in used:
            number += 1
            end = f" ({number})"
            text = full[: MOST_LETTERS - len(end)] + end
        used[text] = None
    return list(used)


def _starts(parts: Sequence[Any]) -> Any:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)


def _joined(parts: Sequence[Any], kind: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
