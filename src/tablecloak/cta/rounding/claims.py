"""The claims of rounded tables as plain arrays, which a stranger checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tablecloak.certificates.claim import Claim, Released, loss_claim
from tablecloak.certificates.tree import ROOT, Forest, Multipliers, Node, bound_claim, tree_of
from tablecloak.cta.claims import bound_arrays

if TYPE_CHECKING:
    from tablecloak.cta.rounding.controlled import RoundedTable
    from tablecloak.cta.rounding.small_counts import SmallCountTable

__all__ = ["rounding_claims", "small_count_claims"]

Floats = npt.NDArray[np.float64]


def rounding_claims(rounded: RoundedTable) -> tuple[Claim, ...]:
    """Return what a table claims that was rounded to multiples of a base.

    Parameters
    ----------
    rounded : RoundedTable
    """
    released = Released(
        "rounding",
        {
            "published": rounded.values.astype(np.float64),
            "base": np.array(rounded.base, dtype=np.int64),
            "steps": np.array(rounded.steps, dtype=np.int64),
        },
    )
    loss = loss_claim(released, "L1", rounded.weights, rounded.loss)
    bound = bound_claim(loss, rounded.problem, rounded.bound, _tree(rounded).arrays())
    return Claim("additivity", released), loss, bound


def small_count_claims(rounded: SmallCountTable) -> tuple[Claim, ...]:
    """Return what a table without small counts claims.

    Parameters
    ----------
    rounded : SmallCountTable
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


def _tree(rounded: RoundedTable) -> Forest:
    """Return the search tree over multiples of the base in place of steps from the truth.

    Columns of the program are steps: whether a value goes to the multiple above it, then how many
    steps cells go further, and how many back. Each limit on such steps is one on the multiple.
    """
    certificate, base = rounded.bound_certificate, rounded.base
    true = np.rint(rounded.problem.table.values).astype(np.int64)
    floor, above = true // base, -(-true // base)
    up, further = np.flatnonzero(true % base), np.flatnonzero(~rounded.problem.frozen)
    positive = rounded.weights[rounded.weights > 0]
    # Costs of the program are measured in the median weight of a step.
    unit = float(np.median(positive)) if len(positive) else 1.0

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
        return Multipliers.of([(0, np.arange(len(duals)), -1, duals * unit)])

    tree: tuple[list[Node], dict[int, Multipliers]]
    if certificate.tree is None:
        tree = [ROOT], {0: multipliers(certificate.duals)}
    else:
        tree = tree_of(certificate.tree, limits, multipliers)
    return Forest((tree,))
