"""The witnesses of a pattern as plain arrays, for the stand-alone verifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.arrays import Integers
from tablecloak.certificates.claim import joined, rows_of, starts_of
from tablecloak.suppression.proof.insider_claim import InsiderClaim
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["witness_arrays"]

Arrays = dict[str, npt.NDArray[Any]]

MOST_LETTERS = 200
"""Most letters of the name of an insider; longer names are shortened."""


def witness_arrays(
    problem: ProtectionProblem,
    deviations: csr_array,
    upper_witness: Integers,
    lower_witness: Integers,
    insiders: Sequence[InsiderClaim],
) -> Arrays:
    """Return witnesses and insiders as plain arrays; see `ProtectionCertificate`."""
    insiders = [claim for claim in insiders if _knows_more(claim.knowledge, problem)]
    knowledge = [claim.knowledge for claim in insiders]
    left_out = {
        "open_starts": starts_of([claim.open for claim in insiders]),
        "open_index": joined([claim.open for claim in insiders], np.int64),
    }
    return {
        **rows_of("witness", deviations),
        "upper_witness": upper_witness.astype(np.int64),
        "lower_witness": lower_witness.astype(np.int64),
        "intruder_names": np.array(_distinct([one.name for one in knowledge]), "U"),
        "intruder_starts": starts_of([one.cells for one in knowledge]),
        "intruder_cells": joined([one.cells for one in knowledge], np.int64),
        "intruder_lower": joined([one.lower for one in knowledge], np.float64),
        "intruder_upper": joined([one.upper for one in knowledge], np.float64),
        "claim_starts": starts_of([claim.index for claim in insiders]),
        "claim_index": joined([claim.index for claim in insiders], np.int64),
        "claim_upper": joined([claim.upper_witness for claim in insiders], np.int64),
        "claim_lower": joined([claim.lower_witness for claim in insiders], np.int64),
        **(left_out if len(left_out["open_index"]) else {}),
    }


def _knows_more(knowledge: Knowledge, problem: ProtectionProblem) -> bool:
    """Whether an insider knows a bound that not everybody knows; without one its claim is empty."""
    cells = knowledge.cells
    narrower = knowledge.lower > problem.lower_bound[cells]
    narrower |= knowledge.upper < problem.upper_bound[cells]
    return bool(np.any(narrower))


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of bounded length, numbered where several insiders would share one."""
    used: dict[str, None] = {}
    for name in names:
        # Texts of fixed length in a file cannot end in a 0 character.
        full = name.rstrip("\0") or "unnamed"
        text, number = full[:MOST_LETTERS], 1
        while text in used:
            number += 1
            end = f" ({number})"
            text = full[: MOST_LETTERS - len(end)] + end
        used[text] = None
    return list(used)
