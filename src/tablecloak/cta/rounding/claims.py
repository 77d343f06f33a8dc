"""The claims of rounded tables as plain arrays, for a check without tablecloak."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.certificates.claim import Claim, Released, loss_claim
from tablecloak.certificates.tree import (
    ROOT,
    Forest,
    Multipliers,
    Tree,
    bound_claim,
    proved,
    tree_of,
)
from tablecloak.cta.result.adjusted import Adjusted
from tablecloak.cta.result.claims import bound_arrays
from tablecloak.cta.rounding.model import whole_relations
from tablecloak.solve.branch import BranchTree
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["proved_bound", "rounding_claims", "small_count_claims"]


class TreeOrMultipliers(Protocol):
    """The parts of the proof of a rounding that are kept."""

    @property
    def tree(self) -> BranchTree | None:
        """Search tree, if there is one."""

    @property
    def duals(self) -> Floats:
        """Multipliers of the relaxation."""


class RoundedCounts(Protocol):
    """The attributes that both kinds of rounded tables share."""

    @property
    def problem(self) -> ProtectionProblem:
        """True table."""

    @property
    def values(self) -> Integers:
        """Published values."""

    @property
    def base(self) -> int:
        """The number that values are multiples of, or the smallest count that is published."""


class Rounded(RoundedCounts, Protocol):
    """A table rounded to multiples of a base, of which claims are made."""

    @property
    def steps(self) -> int:
        """Largest change in multiples."""

    @property
    def weights(self) -> Floats:
        """Cost of moving each cell by one."""

    @property
    def loss(self) -> float:
        """Weighted sum of all changes."""

    @property
    def bound(self) -> float:
        """Proved lower bound."""

    @property
    def bound_certificate(self) -> TreeOrMultipliers:
        """Proof of the bound."""


class SmallCounts(RoundedCounts, Protocol):
    """A table without small counts, of which claims are made."""

    @property
    def adjustment(self) -> Adjusted:
        """The adjustment that gave the table."""


def rounding_claims(rounded: Rounded) -> tuple[Claim, ...]:
    """Return the claims of a table that was rounded to multiples of a base.

    Parameters
    ----------
    rounded : Rounded
    """
    released = _released(rounded)
    loss = loss_claim(released, "L1", rounded.weights, rounded.loss)
    bound = bound_claim(loss, rounded.problem, rounded.bound, _tree(rounded).arrays())
    return Claim("additivity", released), loss, bound


def proved_bound(rounded: Rounded) -> float:
    """Return the bound on the loss that the claim proves."""
    loss = loss_claim(_released(rounded), "L1", rounded.weights, rounded.loss)
    return proved(loss, rounded.problem, _tree(rounded).arrays())


def _released(rounded: Rounded) -> Released:
    return Released(
        "rounding",
        {
            "published": rounded.values.astype(np.float64),
            "base": np.array(rounded.base, dtype=np.int64),
            "steps": np.array(rounded.steps, dtype=np.int64),
        },
    )


def small_count_claims(rounded: SmallCounts) -> tuple[Claim, ...]:
    """Return the claims of a table without small counts.

    Parameters
    ----------
    rounded : SmallCounts
    """
    adjustment = rounded.adjustment
    released = Released(
        "small counts",
        {
            "published": rounded.values.astype(np.float64),
            "base": np.array(rounded.base, dtype=np.int64),
        },
    )
    loss = loss_claim(released, "L1", adjustment.weights, adjustment.loss)
    bound = bound_claim(loss, rounded.problem, adjustment.bound, bound_arrays(adjustment))
    return Claim("protection", released), Claim("additivity", released), loss, bound


def _tree(rounded: Rounded) -> Forest:
    """Return the search tree with limits on multiples of the base instead of limits on steps.

    The program's columns are steps: whether a value goes to the multiple above it, then how many
    steps each cell goes further, and how many back. A limit on steps is a limit on the multiple.
    """
    certificate, base = rounded.bound_certificate, rounded.base
    true = np.rint(rounded.problem.table.values).astype(np.int64)
    floor, above = true // base, -(-true // base)
    up, further = np.flatnonzero(true % base), np.flatnonzero(~rounded.problem.frozen)
    positive = rounded.weights[rounded.weights > 0]
    # Costs of the program are measured in the median weight of a step.
    unit = float(np.median(positive)) if len(positive) else 1.0
    # Rows of the program have whole coefficients.
    _, scale = whole_relations(rounded.problem.table.relations)

    def limits(column: int, is_lower: bool, limit: float) -> tuple[int, bool, int]:
        steps = int(limit)
        if column < len(up):
            cell = int(up[column])
            return cell, is_lower, int(floor[cell]) + steps
        column -= len(up)
        cell = int(further[column % len(further)])
        if column < len(further):
            return cell, is_lower, int(above[cell]) + steps
        return cell, not is_lower, int(floor[cell]) - steps

    def multipliers(duals: Floats) -> Multipliers:
        return Multipliers.of([(0, np.arange(len(duals)), -1, duals * scale[: len(duals)] * unit)])

    tree: Tree
    if certificate.tree is None:
        tree = [ROOT], {0: multipliers(certificate.duals)}
    else:
        tree = tree_of(certificate.tree, limits, multipliers)
    return Forest((tree,))
