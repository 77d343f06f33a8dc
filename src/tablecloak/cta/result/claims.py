"""The claims of an adjusted table as plain arrays, for the stand-alone verifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.certificates.claim import (
    Claim,
    Released,
    joined,
    loss_claim,
    rows_of,
    starts_of,
)
from tablecloak.certificates.tree import Multipliers, bound_claim, proved
from tablecloak.certificates.verifier import MEASURES, NO_DECIMALS
from tablecloak.cta.model.answer import LossProof
from tablecloak.cta.result.adjusted_table import AdjustedTable
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.search.statistics.two_variables import Association
from tablecloak.cta.search.statistics.variance import PreservedVariance
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import VerificationError

Arrays = dict[str, npt.NDArray[Any]]

NAMED = ("mean", "slope", "covariance", "variance")
"""Statistics whose meaning the verifier knows; others are sums with given coefficients."""


def claims_of(adjustment: AdjustedTable) -> tuple[Claim, ...]:
    """Return the claims of an adjusted table, each with its proof.

    Parameters
    ----------
    adjustment : Adjustment
    """
    problem, released = adjustment.problem, _released(adjustment)
    statistics = _statistic_claims(adjustment, released)
    associations = _association_claims(adjustment, released)
    claims = (Claim("protection", released), Claim("additivity", released), *statistics)
    claims = (*claims, *associations)
    loss = loss_claim(released, adjustment.distance, adjustment.weights, adjustment.loss)
    arrays = bound_arrays(adjustment)
    bound = bound_claim(loss, problem, adjustment.bound, arrays, statistics)
    return (*claims, loss, bound)


def _released(adjustment: AdjustedTable) -> Released:
    limit = adjustment.sensitive_limit
    decimals = NO_DECIMALS if adjustment.decimals is None else adjustment.decimals
    return Released(
        "adjustment",
        {
            "published": np.asarray(adjustment.values, dtype=np.float64),
            "decimals": np.array(decimals, dtype=np.int64),
            "sensitive_limit": np.array(np.inf if limit is None else limit, dtype=np.float64),
            "capacity_up": adjustment.problem.capacity_up,
            "capacity_down": adjustment.problem.capacity_down,
        },
    )


def _statistic_claims(adjustment: AdjustedTable, released: Released) -> tuple[Claim, ...]:
    if all(isinstance(kept, Association) for kept in adjustment.preserved):
        return ()
    return (Claim("statistics", released, _statistics(adjustment)),)


def _association_claims(adjustment: AdjustedTable, released: Released) -> tuple[Claim, ...]:
    kept = [entry for entry in adjustment.preserved if isinstance(entry, Association)]
    if not kept:
        return ()
    arrays = {
        "association_kind": np.array([entry.kind for entry in kept], dtype="U"),
        "association_tolerance": np.array([entry.tolerance for entry in kept], dtype=np.float64),
        "association_starts": starts_of([entry.first for entry in kept]),
        "association_first": joined([entry.first for entry in kept], np.int64),
        "association_second": joined([entry.second for entry in kept], np.int64),
    }
    return (Claim("association", released, arrays),)


def _statistics(adjustment: AdjustedTable) -> Arrays:
    kinds, slacks, targets, rows = [], [], [], []
    for row in adjustment.preserved:
        if isinstance(row, PreservedRow):
            kinds.append(row.name if row.name in NAMED[:-1] else "sum")
            slacks.append(row.slack)
            targets.append(row.target)
            rows.append(row.coefficients)
        elif isinstance(row, PreservedVariance):
            kinds.append("variance")
            slacks.append(row.tolerance)
            targets.append(0.0)
            rows.append(row.cells.astype(np.float64))
    matrix = np.array(rows).reshape(len(rows), adjustment.problem.table.n_cells)
    return {
        "statistic_kind": np.array(kinds, dtype="U"),
        "statistic_slack": np.array(slacks, dtype=np.float64),
        "statistic_target": np.array(targets, dtype=np.float64),
        **rows_of("statistic", csr_array(matrix)),
    }


def proved_bound(adjustment: AdjustedTable) -> float:
    """Return the lower bound on the loss of any adjustment that the claim proves; 0 if none.

    A distance that the verifier does not know is treated as its nearest base class that it does
    know. The verifier compares losses, so that it proves nothing if the loss is measured otherwise.
    """
    measures = [getattr(kind, "name", "") for kind in DISTANCES[adjustment.distance].__mro__]
    measures_checked = [name for name in measures if name in MEASURES["adjustment"]]
    if not measures_checked:
        return 0.0
    released = _released(adjustment)
    loss = loss_claim(released, measures_checked[0], adjustment.weights, adjustment.loss)
    statistics = _statistic_claims(adjustment, released)
    if measures_checked[0] != adjustment.distance:
        try:
            loss.verify(adjustment.problem)
        except VerificationError:
            return 0.0
    return proved(loss, adjustment.problem, bound_arrays(adjustment), statistics)


def bound_arrays(adjustment: AdjustedTable) -> Arrays:
    """Return the proof of the bound of an adjustment."""
    certificate = adjustment.bound_certificate
    if certificate is None:
        none = np.zeros(adjustment.problem.table.n_cells, dtype=np.int64)
        return LossProof.of_root(Multipliers.of([]), none).arrays()
    changes = np.asarray(adjustment.changes / adjustment.unit, dtype=np.float64)
    return certificate.loss_proof(adjustment.space, changes).arrays()
