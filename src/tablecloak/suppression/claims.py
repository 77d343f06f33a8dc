"""The claims of patterns and intervals as plain arrays, which a stranger checks.

A bound is kept as the multipliers that prove each row of the master problem, and a search tree over
the cells that are free to be hidden; nothing of the program itself is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tablecloak.certificates.claim import Claim, Released, joined, loss_claim, rows_of, starts_of
from tablecloak.certificates.tree import ROOT, Forest, Multipliers, Node, bound_claim, tree_of

if TYPE_CHECKING:
    from tablecloak.suppression.intervals import IntervalPattern
    from tablecloak.suppression.knowledge import Knowledge
    from tablecloak.suppression.pattern import SuppressionPattern
    from tablecloak.suppression.proof import ProtectionCertificate
    from tablecloak.suppression.search.master import BoundCertificate, Row
    from tablecloak.tables.problem import ProtectionProblem

__all__ = ["interval_claims", "pattern_claims", "protection_claim"]

Arrays = dict[str, npt.NDArray[Any]]
Side = tuple[npt.NDArray[Any], npt.NDArray[Any]] | None

UP, DOWN, WIDTH, BRIDGE = range(4)
"""Kinds of cuts, as the verifier numbers them."""

MOST_LETTERS = 200
"""Length of the name of an insider from which on it is shortened."""


def protection_claim(certificate: ProtectionCertificate) -> Claim:
    """Return the claim that a pattern protects.

    Parameters
    ----------
    certificate : ProtectionCertificate
    """
    released = Released(
        "suppression",
        {
            "requirement": np.array(certificate.requirement.value),
            "suppressed": certificate.suppressed.astype(bool),
        },
    )
    return Claim("protection", released, _witness_arrays(certificate))


def pattern_claims(pattern: SuppressionPattern, protection: Claim) -> tuple[Claim, ...]:
    """Return what a pattern claims: protection, its loss, and a bound if one was proved.

    Parameters
    ----------
    pattern : SuppressionPattern
    protection : Claim
        Of the same pattern: its own, or that of an audit, which holds against more insiders.
    """
    problem, released = pattern.problem, protection.released
    loss = loss_claim(released, "weights", problem.weights, pattern.loss)
    if pattern.bound_certificate is None:
        return protection, loss
    certificate = pattern.bound_certificate
    arrays = {**_cut_arrays(certificate.rows, problem), **_tree_arrays(certificate)}
    return protection, loss, bound_claim(loss, problem, pattern.bound, arrays)


def interval_claims(pattern: IntervalPattern) -> tuple[Claim, ...]:
    """Return what published intervals claim.

    Parameters
    ----------
    pattern : IntervalPattern
    """
    problem, certificate = pattern.problem, pattern.bound_certificate
    released = Released(
        "intervals",
        {
            "requirement": np.array(pattern.requirement.value),
            "published_lower": np.asarray(pattern.lower, dtype=np.float64),
            "published_upper": np.asarray(pattern.upper, dtype=np.float64),
        },
    )
    protection = Claim("protection", released, _witness_arrays(pattern.certificate))
    if not np.isfinite(pattern.loss):
        return (protection,)
    loss = loss_claim(released, "widths", problem.weights, pattern.loss)
    numbers = certificate.loss_multipliers()
    multipliers = Multipliers.of([(0, np.arange(len(numbers)), -1, numbers)])
    arrays = {
        **_cut_arrays(certificate.rows, problem),
        **Forest((([ROOT], {0: multipliers}),)).arrays(),
    }
    return protection, loss, bound_claim(loss, problem, pattern.bound, arrays)


def _tree_arrays(certificate: BoundCertificate) -> Arrays:
    free, scale = certificate.free_cells()

    def limits(column: int, is_lower: bool, limit: float) -> tuple[int, bool, int]:
        return int(free[column]), is_lower, int(limit)

    def multipliers(duals: npt.NDArray[np.float64]) -> Multipliers:
        return Multipliers.of([(0, np.arange(len(duals)), -1, np.maximum(duals, 0.0) * scale)])

    tree: tuple[list[Node], dict[int, Multipliers]]
    tree = tree_of(certificate.tree, limits, multipliers)
    return Forest((tree,)).arrays()


def _cut_arrays(rows: Sequence[Row], problem: ProtectionProblem) -> Arrays:
    """Return rows of a master problem by the multipliers that prove them."""
    sensitive = np.flatnonzero(problem.sensitive)
    kinds, cells = [], []
    sides: dict[str, list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]] = {"up": [], "down": []}
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    for row in rows:
        kind, cell, up, down = _cut(row, sensitive)
        kinds.append(kind)
        cells.append(cell)
        sides["up"].append(nothing if up is None else _sorted(*up))
        sides["down"].append(nothing if down is None else _sorted(*down))
    arrays: Arrays = {
        "cut_kind": np.array(kinds, dtype=np.int64),
        "cut_cell": np.array(cells, dtype=np.int64),
    }
    for name, parts in sides.items():
        arrays[f"{name}_starts"] = starts_of([part[0] for part in parts])
        arrays[f"{name}_relations"] = joined([part[0] for part in parts], np.int64)
        arrays[f"{name}_data"] = joined([part[1] for part in parts], np.float64)
    return arrays


def _cut(row: Row, sensitive: npt.NDArray[np.int64]) -> tuple[int, int, Side, Side]:
    """Return kind and cell of a row, and the multipliers that prove it upwards and downwards."""
    # Told apart by what they hold: importing them would close a circle.
    proof: Any = row
    if hasattr(proof, "multipliers"):
        return BRIDGE, int(proof.cell), (proof.relations, proof.multipliers), None
    cell = int(sensitive[proof.index])
    if proof.up is None:
        return DOWN, cell, None, proof.down
    return UP if proof.down is None else WIDTH, cell, proof.up, proof.down


def _sorted(
    relations: npt.NDArray[Any], multipliers: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Each relation once, in order; of several multipliers the last one counts."""
    last = dict(zip(relations.tolist(), multipliers.tolist(), strict=True))
    kept = sorted(relation for relation, multiplier in last.items() if multiplier != 0)
    return np.array(kept, dtype=np.int64), np.array([last[relation] for relation in kept])


def _witness_arrays(certificate: ProtectionCertificate) -> Arrays:
    """Return witnesses and insiders as plain arrays."""
    problem = certificate.problem
    insiders = [claim for claim in certificate.insiders if _knows_more(claim.knowledge, problem)]
    knowledge = [claim.knowledge for claim in insiders]
    return {
        **rows_of("witness", certificate.deviations),
        "upper_witness": certificate.upper_witness.astype(np.int64),
        "lower_witness": certificate.lower_witness.astype(np.int64),
        "intruder_names": np.array(_distinct([one.name for one in knowledge]), "U"),
        "intruder_starts": starts_of([one.cells for one in knowledge]),
        "intruder_cells": joined([one.cells for one in knowledge], np.int64),
        "intruder_lower": joined([one.lower for one in knowledge], np.float64),
        "intruder_upper": joined([one.upper for one in knowledge], np.float64),
        "claim_starts": starts_of([claim.index for claim in insiders]),
        "claim_index": joined([claim.index for claim in insiders], np.int64),
        "claim_upper": joined([claim.upper_witness for claim in insiders], np.int64),
        "claim_lower": joined([claim.lower_witness for claim in insiders], np.int64),
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
