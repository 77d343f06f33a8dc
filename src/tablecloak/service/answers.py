"""What is found, in types of JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak.cta.adjustment import Adjustment
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.publish.adjusted_audit import AdjustedAudit
from tablecloak.service.columns import columns_of, finite
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

Measured = SuppressionPattern | Adjustment | RoundedTable

__all__ = ["audited", "measured", "of_adjustment", "of_pattern"]


def measured(result: Measured) -> dict[str, Any]:
    """Return the figures that all results share. Secret: losses are sums of hidden values."""
    return {
        "summary": result.summary(),
        "loss": finite(result.loss),
        "bound": finite(result.bound),
        "gap": finite(result.gap),
        "is_optimal": bool(result.is_optimal),
        "seconds": finite(result.seconds),
        "notes": list(result.notes),
    }


def audited(found: Audit | AdjustedAudit) -> dict[str, Any]:
    """Return the verdict of an audit, and the sensitive cells, worst first. Secret."""
    return {
        "is_safe": bool(found.is_safe),
        "summary": found.summary(),
        "sensitive": columns_of(found.to_frame()),
    }


def of_pattern(
    problem: ProtectionProblem, pattern: SuppressionPattern, found: Audit | None
) -> dict[str, Any]:
    """Return a pattern: `release` may be published, all else is secret.

    Parameters
    ----------
    problem : ProtectionProblem
        As it was asked. That of the pattern may have sums of hidden cells besides.
    pattern : SuppressionPattern
    found : Audit or None
    """
    table = problem.table
    frame = table.to_frame().assign(
        status=pattern.statuses()[: table.n_cells], reason=np.asarray(problem.reasons)
    )
    return {
        **measured(pattern),
        "is_safe": found is not None and bool(found.is_safe),
        "audit": "" if found is None else found.summary(),
        "release": columns_of(pattern.release()),
        "cells": columns_of(frame[~table.rests]),
    }


def of_adjustment(adjusted: Adjustment, found: AdjustedAudit | None) -> dict[str, Any]:
    """Return an adjustment: `release` may be published, all else is secret."""
    frame = adjusted.to_frame()
    return {
        **measured(adjusted),
        "is_safe": found is not None and bool(found.is_safe),
        "audit": "" if found is None else found.summary(),
        "release": columns_of(adjusted.release()),
        "cells": columns_of(frame[~adjusted.problem.table.rests]),
    }
