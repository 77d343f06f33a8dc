"""Proofs of lower bounds as plain arrays: search trees with multipliers at their leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats, Integers
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import (
    Claim,
    UnknownClaimError,
    arrays_of,
    joined,
    refused,
    starts_of,
)
from tablecloak.errors import CHANGED, VerificationError
from tablecloak.tables.problem import ProtectionProblem

RELATION, STATISTIC, DISCREPANCY, BALANCE, SHARE = range(5)
"""Kinds of multipliers of adjustments, as the verifier numbers them."""

CLAIMED = 1e-9
"""Share of the loss by which a claimed bound may exceed what is proved."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a search tree: those releases of its parent that keep one more limit.

    Parameters
    ----------
    parent : int
        Position in the tree; -1 for the root, which comes first.
    cell : int
        Cell whose choice is limited; -1 for the root. A choice is: hidden or not (0, 1),
        whether it goes up (0 or 1), or the multiple of the base to which it is rounded.
    is_lower : bool
        Whether the limit is the smallest or the largest choice left.
    limit : int
    """

    parent: int
    cell: int
    is_lower: bool
    limit: int


Tree = tuple[Sequence[Node], Mapping[int, "Multipliers"]]
"""Nodes, of which the first is the root, and multipliers of leaves by the number of their node."""

ROOT = Node(-1, -1, False, 0)
"""The root of every tree: all releases."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of one leaf, for entries that kind, row and cell name (see the verifier)."""

    kind: Integers
    row: Integers
    cell: Integers
    data: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[int, Any, Any, Any]]) -> Multipliers:
        """Join multipliers of several kinds: kind, rows, cells (one number for all, or each)."""
        kinds, rows, cells, data = [], [], [], []
        for kind, row, cell, numbers in parts:
            values = np.asarray(numbers, dtype=np.float64)
            kinds.append(np.full(len(values), kind, dtype=np.int64))
            rows.append(np.broadcast_to(np.asarray(row, dtype=np.int64), values.shape))
            cells.append(np.broadcast_to(np.asarray(cell, dtype=np.int64), values.shape))
            data.append(values)
        columns = [joined(part, np.int64) for part in (kinds, rows, cells)]
        values = joined(data, np.float64)
        order = np.lexsort(columns[::-1])
        order = order[values[order] != 0]
        kind_, row_, cell_ = (column[order] for column in columns)
        return cls(kind_, row_, cell_, values[order])


def tree_arrays(trees: Sequence[Tree]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of search trees, each of which proves a bound.

    Parameters
    ----------
    trees : sequence of Tree
        Leaves without multipliers prove what the weights alone prove.
    """
    nothing = Multipliers.of([])
    nodes: list[tuple[int, int, bool, int, int]] = []
    proofs: list[Multipliers] = []
    number: dict[int, int] = {}
    starts = [0]
    for tree, multipliers in trees:
        inner = {node.parent for node in tree}
        for at, node in enumerate(tree):
            proof = -1
            if at not in inner:
                proof_of_leaf = multipliers.get(at, nothing)
                # Leaves often share the multipliers of an ancestor, which are stored once.
                proof = number.setdefault(id(proof_of_leaf), len(proofs))
                if proof == len(proofs):
                    proofs.append(proof_of_leaf)
            parent = node.parent + starts[-1] if node.parent >= 0 else -1
            nodes.append((parent, node.cell, node.is_lower, node.limit, proof))
        starts.append(len(nodes))
    names, wholes = ("parent", "cell", "is_lower", "limit", "proof"), zip(*nodes, strict=True)
    columns = {
        f"node_{name}": np.array(one, np.int64) for name, one in zip(names, wholes, strict=True)
    }
    return columns | {
        "tree_starts": np.array(starts, dtype=np.int64),
        "node_is_lower": columns["node_is_lower"].astype(bool),
        "proof_starts": starts_of([proof.data for proof in proofs]),
        "proof_kind": joined([proof.kind for proof in proofs], np.int64),
        "proof_row": joined([proof.row for proof in proofs], np.int64),
        "proof_cell": joined([proof.cell for proof in proofs], np.int64),
        "proof_data": joined([proof.data for proof in proofs], np.float64),
    }


def tree_of(
    tree: Any,
    limits: Callable[[int, bool, float], tuple[int, bool, int]],
    multipliers: Callable[[Floats], Multipliers],
) -> tuple[list[Node], dict[int, Multipliers]]:
    """Return a search tree over the columns of a program as one over the cells of a table.

    Parameters
    ----------
    tree : BranchTree
    limits : callable
        From a column, whether its limit is a lower one, and that limit, to cell, is_lower, limit.
    multipliers : callable
        From multipliers of rows of the program to those of a certificate.
    """
    nodes = [ROOT]
    for entry in tree.nodes[1:]:
        nodes.append(Node(entry.parent, *limits(entry.column, entry.is_lower, entry.limit)))
    converted: dict[int, Multipliers] = {}
    leaves: dict[int, Multipliers] = {}
    inner = {node.parent for node in nodes}
    for node, duals in tree.multipliers.items():
        if node not in inner:
            if id(duals) not in converted:
                converted[id(duals)] = multipliers(duals)
            leaves[node] = converted[id(duals)]
    return nodes, leaves


def bound_claim(
    loss: Claim,
    problem: ProtectionProblem,
    bound: float,
    arrays: Mapping[str, npt.NDArray[Any]],
    rests_on: Sequence[Claim] = (),
) -> Claim:
    """Return the claim of a bound: as much of the given one as the arrays prove.

    Where the verifier has no check for the loss, the claim holds the given bound and is refused.

    Parameters
    ----------
    loss : Claim
    problem : ProtectionProblem
    bound : float
    arrays : mapping of str to numpy.ndarray
        Trees and multipliers.
    rests_on : sequence of Claim
        Further claims to which the proof refers, such as statistics.

    Raises
    ------
    VerificationError
        If the arrays prove nothing.
    """
    try:
        claimed = np.array(min(float(bound), _proved(loss, problem, arrays, rests_on)))
    except UnknownClaimError:
        # The claim is kept, so that the verdict names what is not proved.
        claimed = np.array(float(bound))
    return Claim("bound", loss.released, {**arrays, "bound": claimed}, (*rests_on, loss))


def proved(
    loss: Claim,
    problem: ProtectionProblem,
    arrays: Mapping[str, npt.NDArray[Any]],
    rests_on: Sequence[Claim] = (),
) -> float:
    """Return the bound that trees and multipliers prove, at most the loss itself; 0 if none.

    A proof that the verifier refuses counts as the bound 0, which holds since no weight is
    negative: the release is kept without its bound. `bound_claim` says why a proof is refused.

    Parameters
    ----------
    loss, problem, arrays, rests_on
        As for `bound_claim`.
    """
    try:
        return _proved(loss, problem, arrays, rests_on)
    except VerificationError:
        return 0.0


def check_bound(claimed: float, proved: float, loss: float) -> None:
    """Compare a claimed bound with what its proof supports, and with the loss of the release.

    Raises
    ------
    VerificationError
        If less is proved than claimed, or more than a release that exists allows.
    """
    noise = CLAIMED * abs(loss)
    if not claimed <= proved + noise:
        raise VerificationError(
            f"The bound {claimed:g} is claimed, but only {proved:g} is proved. {CHANGED}"
        )
    if not max(claimed, proved) <= loss + noise:
        raise VerificationError(
            f"The bound {proved:g} exceeds the loss {loss:g} of a table that exists. {CHANGED}"
        )


def _proved(
    loss: Claim,
    problem: ProtectionProblem,
    arrays: Mapping[str, npt.NDArray[Any]],
    rests_on: Sequence[Claim],
) -> float:
    basis = (*rests_on, loss)
    claim = Claim("bound", loss.released, {**arrays, "bound": np.array(0.0)}, basis)
    try:
        return float(verifier.proved(arrays_of([*basis, claim], problem), minutes=np.inf))
    except verifier.RefusedError as error:
        raise refused(error, "The proof of the bound is not accepted") from error
