"""What is found, in types of JSON. The OpenAPI description is made of these types."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

# TypedDict of the standard library tells pydantic too little before Python 3.12.
from typing_extensions import TypedDict

from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.publish.adjusted_audit import AdjustedAudit
from tablecloak.service.columns import columns_of, finite
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Found",
    "Measured",
    "Protected",
    "Rounded",
    "Table",
    "Verdict",
    "audited",
    "measured",
    "of_adjustment",
    "of_pattern",
    "of_rounding",
]

Table = dict[str, list[Any]]

IsSafe = Annotated[bool, Field(description="Whether every release passed its audit.")]
Release = Annotated[
    Table, Field(description="May be published: codes and values, null where suppressed.")
]


class Measured(TypedDict):
    """Figures that all results share. Secret: losses are sums of hidden values."""

    summary: str
    loss: float | None
    bound: Annotated[float | None, Field(description="Proved lower bound on any loss.")]
    gap: Annotated[float | None, Field(description="(loss - bound) / loss; 0: proved optimal.")]
    is_optimal: bool
    seconds: float | None
    notes: list[str]


class Found(Measured):
    """A pattern, or an adjusted table."""

    is_safe: IsSafe
    audit: str
    release: Release
    cells: Annotated[Table, Field(description="Every cell with its true value. Secret.")]


class Rounded(Measured):
    """A rounded table."""

    is_safe: IsSafe
    audit: str
    sensitive: Annotated[Table, Field(description="Sensitive cells, worst first. Secret.")]
    release: Annotated[Table | None, Field(description="Null if it is not safe.")]


class Protected(TypedDict, total=False):
    """Results of all methods that were asked for."""

    is_safe: IsSafe
    failures: Annotated[dict[str, str], Field(description="Methods without a release, and why.")]
    suppression: Found
    adjustment: Found


class Verdict(TypedDict):
    """What an audit says."""

    is_safe: IsSafe
    summary: str
    sensitive: Annotated[Table, Field(description="Sensitive cells, worst first. Secret.")]


def measured(result: SuppressionPattern | Adjustment | RoundedTable) -> Measured:
    """Return the figures that all results share."""
    return {
        "summary": result.summary(),
        "loss": finite(result.loss),
        "bound": finite(result.bound),
        "gap": finite(result.gap),
        "is_optimal": bool(result.is_optimal),
        "seconds": finite(result.seconds),
        "notes": list(result.notes),
    }


def audited(found: Audit | AdjustedAudit) -> Verdict:
    """Return the verdict of an audit."""
    return {
        "is_safe": bool(found.is_safe),
        "summary": found.summary(),
        "sensitive": columns_of(found.to_frame()),
    }


def of_pattern(
    problem: ProtectionProblem, pattern: SuppressionPattern, found: Audit | None
) -> Found:
    """Return a pattern.

    Parameters
    ----------
    problem : ProtectionProblem
        As it was asked. That of the pattern may have sums of hidden cells besides.
    pattern : SuppressionPattern
    found : Audit or None
    """
    table = problem.table
    frame = table.to_frame().assign(
        status=pattern.statuses()[pattern.given_cells], reason=np.asarray(problem.reasons)
    )
    return {
        **measured(pattern),
        "is_safe": found is not None and bool(found.is_safe),
        "audit": "" if found is None else found.summary(),
        "release": columns_of(pattern.release()),
        "cells": columns_of(frame[~table.rests]),
    }


def of_adjustment(adjusted: Adjustment, found: AdjustedAudit | None) -> Found:
    """Return an adjusted table."""
    frame = adjusted.to_frame()
    return {
        **measured(adjusted),
        "is_safe": found is not None and bool(found.is_safe),
        "audit": "" if found is None else found.summary(),
        "release": columns_of(adjusted.release()),
        "cells": columns_of(frame[~adjusted.problem.table.rests]),
    }


def of_rounding(rounded: RoundedTable, found: Audit | AdjustedAudit) -> Rounded:
    """Return a rounded table; its release is left out if it is not safe."""
    verdict = audited(found)
    return {
        **measured(rounded),
        "is_safe": verdict["is_safe"],
        "audit": verdict["summary"],
        "sensitive": verdict["sensitive"],
        "release": columns_of(rounded.release()) if found.is_safe else None,
    }
