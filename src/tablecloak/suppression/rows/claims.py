"""The claims of patterns and intervals as plain arrays, for the stand-alone verifier.

The claim of a bound holds the multipliers that prove each row of the master problem, and a search
tree over the cells that are free to be hidden. It does not hold the program itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.certificates.claim import Claim, Released, joined, loss_claim, starts_of
from tablecloak.certificates.tree import (
    ROOT,
    Multipliers,
    Tree,
    bound_claim,
    proved,
    tree_arrays,
    tree_of,
)
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.rows.bridges import BridgeRow
from tablecloak.suppression.rows.master import (
    BoundCertificate,
    CapacityRow,
    PatternBound,
    RoundedRow,
    Row,
    UnknownRowError,
)
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem

Arrays = dict[str, npt.NDArray[Any]]
Side = tuple[npt.NDArray[Any], npt.NDArray[Any]] | None

UP, DOWN, WIDTH, BRIDGE, ROUNDED = range(5)
"""Kinds of rows, as the verifier numbers them."""


def pattern_claims(
    protection: Claim, problem: ProtectionProblem, loss: float,
    bound: float, certificate: PatternBound | None,
) -> tuple[Claim, ...]:  # fmt: skip
    """Return the claims of a pattern: protection, its loss, and a bound if one was proved.

    Parameters
    ----------
    protection : Claim
        Claim of the pattern itself, or of an audit of it, which covers more insiders.
    problem : ProtectionProblem
    loss, bound : float
    certificate : BoundCertificate, PartedBound or None
        Proof of the bound.
    """
    of_loss = loss_claim(protection.released, "weights", problem.weights, loss)
    if certificate is None:
        return protection, of_loss
    arrays = _bound_arrays(certificate, problem)
    return protection, of_loss, bound_claim(of_loss, problem, bound, arrays)


def interval_claims(
    proof: ProtectionCertificate, ends: tuple[Floats, Floats], problem: ProtectionProblem,
    loss: float, bound: float, rows: Sequence[Row], multipliers: Floats,
) -> tuple[Claim, ...]:  # fmt: skip
    """Return the claims of published intervals.

    Parameters
    ----------
    proof : ProtectionCertificate
    ends : tuple of numpy.ndarray of float, shape (n_cells,)
        Published lower and upper ends.
    problem : ProtectionProblem
    loss, bound : float
    rows : sequence of CapacityRow
        Rows of the master problem that proves the bound.
    multipliers : numpy.ndarray of float
        Multipliers of these rows, in the unit of the loss.
    """
    released = _intervals(proof.requirement, ends)
    protection = Claim("protection", released, proof.arrays())
    if not np.isfinite(loss):
        return (protection,)
    of_loss = loss_claim(released, "widths", problem.weights, loss)
    arrays = _widths_arrays(rows, multipliers, problem)
    return protection, of_loss, bound_claim(of_loss, problem, bound, arrays)


def proved_pattern_bound(
    suppressed: Flags, problem: ProtectionProblem, certificate: PatternBound
) -> float:
    """Return the lower bound on the loss of any protected pattern that the claim proves.

    Parameters
    ----------
    suppressed : numpy.ndarray of bool, shape (n_cells,)
        The cells that a protected pattern suppresses.
    problem : ProtectionProblem
    certificate : BoundCertificate or PartedBound
    """
    asked = _as_two_sided(problem, certificate.requirement)
    released = _pattern(Requirement.TWO_SIDED, suppressed)
    loss = float(problem.weights[suppressed].sum())
    of_loss = loss_claim(released, "weights", problem.weights, loss)
    arrays = _bound_arrays(certificate, problem)
    return proved(of_loss, asked, arrays)


def proved_widths_bound(
    ends: tuple[Floats, Floats], problem: ProtectionProblem, requirement: Requirement,
    loss: float, rows: Sequence[Row], multipliers: Floats,
) -> float:  # fmt: skip
    """Return the lower bound on the loss of any protected intervals that the claim proves.

    Parameters
    ----------
    ends, problem, requirement, loss, rows, multipliers
        As for `interval_claims`.
    """
    if not np.isfinite(loss):
        return 0.0
    asked = _as_two_sided(problem, requirement)
    released = _intervals(Requirement.TWO_SIDED, ends)
    of_loss = loss_claim(released, "widths", problem.weights, loss)
    return proved(of_loss, asked, _widths_arrays(rows, multipliers, problem))


def _as_two_sided(problem: ProtectionProblem, requirement: Requirement) -> ProtectionProblem:
    """Return a problem whose two-sided levels express a requirement.

    This allows bounds to be checked for requirements that the verifier does not know, and for
    the least widths of cells without levels.
    """
    needs, n = needs_of(problem, requirement), problem.table.n_cells
    levels = {}
    for name, need in (
        ("upper_protection", needs.upper),
        ("lower_protection", needs.lower),
        ("sliding_protection", needs.width),
    ):
        levels[name] = np.zeros(n)
        levels[name][needs.cells] = need
    return problem.with_changes(**levels)


def _pattern(requirement: Requirement, suppressed: Flags) -> Released:
    arrays = {"requirement": np.array(requirement.value), "suppressed": suppressed.astype(bool)}
    return Released("suppression", arrays)


def _intervals(requirement: Requirement, ends: tuple[Floats, Floats]) -> Released:
    return Released(
        "intervals",
        {
            "requirement": np.array(requirement.value),
            "published_lower": np.asarray(ends[0], dtype=np.float64),
            "published_upper": np.asarray(ends[1], dtype=np.float64),
        },
    )


def _widths_arrays(rows: Sequence[Row], multipliers: Floats, problem: ProtectionProblem) -> Arrays:
    numbers = Multipliers.of([(0, np.arange(len(multipliers)), -1, multipliers)])
    return {**_row_arrays(rows, problem), **tree_arrays([([ROOT], {0: numbers})])}


def _bound_arrays(certificate: PatternBound, problem: ProtectionProblem) -> Arrays:
    """Return the proofs of the rows that count in some node of a tree, and the trees.

    Of the ten thousands of rows that a search finds, some thousand have a multiplier.
    """
    rows: list[Row] = []
    used = [_used(one) for one in certificate.trees]
    for one, counts in zip(certificate.trees, used, strict=True):
        rows += [one.rows[row] for row in np.flatnonzero(counts).tolist()]
    place = _with_parents(rows)[1]
    ends = np.cumsum([counts.sum() for counts in used])[:-1]
    places = np.split(place, ends.astype(np.int64))
    trees = [_tree(*one) for one in zip(certificate.trees, used, places, strict=True)]
    arrays = {**_row_arrays(rows, problem), **tree_arrays(trees)}
    if certificate.part is None:
        return arrays
    part = np.full(problem.table.n_cells, -1, dtype=np.int64)
    part[: len(certificate.part)] = certificate.part
    return {**arrays, "part": part}


def _used(certificate: BoundCertificate) -> Flags:
    """Flag the rows that have a multiplier in some node."""
    used = np.zeros(len(certificate.rows), dtype=bool)
    for duals in certificate.tree.multipliers.values():
        used[: len(duals)] |= duals > 0
    return used


def _tree(certificate: BoundCertificate, used: Flags, places: Integers) -> Tree:
    """Return one tree; `places` are the positions of its used rows among all that are stored."""
    free, scale = certificate.free_cells()
    place = np.zeros(len(used), dtype=np.int64)
    place[used] = places

    def limits(column: int, is_lower: bool, limit: float) -> tuple[int, bool, int]:
        return int(free[column]), is_lower, int(limit)

    def multipliers(duals: Floats) -> Multipliers:
        counted = np.flatnonzero(duals > 0)
        return Multipliers.of([(0, place[counted], -1, duals[counted] * scale)])

    return tree_of(certificate.tree, limits, multipliers)


def _row_arrays(rows: Sequence[Row], problem: ProtectionProblem) -> Arrays:
    """Return the proofs of rows of a master problem, and of the rows that are added up in them."""
    rows, _ = _with_parents(rows)
    sensitive = np.flatnonzero(problem.sensitive)
    kinds, cells = [], []
    sides: dict[str, list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]] = {"up": [], "down": []}
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    for row in rows:
        kind, cell, up, down = _proof_of(row, sensitive)
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
    return {**arrays, **_sum_arrays(rows)}


def _with_parents(rows: Sequence[Row]) -> tuple[list[Row], Integers]:
    """Return rows, each after the rows of which it is a sum, and their positions."""
    ordered: list[Row] = []
    place: dict[int, int] = {}
    for row in rows:
        waiting = [row]
        while waiting:
            missing = [one for one in _parents(waiting[-1]) if id(one) not in place]
            if missing:
                waiting.extend(missing)
                continue
            last = waiting.pop()
            if id(last) not in place:
                place[id(last)] = len(ordered)
                ordered.append(last)
    return ordered, np.array([place[id(row)] for row in rows], dtype=np.int64)


def _parents(row: Row) -> tuple[Row, ...]:
    return row.parents if isinstance(row, RoundedRow) else ()


def _sum_arrays(rows: Sequence[Row]) -> Arrays:
    """Return the rows and factors of sums of rows; nothing if there are none."""
    if not any(isinstance(row, RoundedRow) for row in rows):
        return {}
    place = {id(row): at for at, row in enumerate(rows)}
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0))
    sums, turned = [], []
    for row in rows:
        if isinstance(row, RoundedRow):
            summands = np.array([place[id(parent)] for parent in row.parents], dtype=np.int64)
            sums.append(_sorted(summands, row.multipliers))
            turned.append(np.unique(row.turned))
        else:
            sums.append(nothing)
            turned.append(nothing[0])
    return {
        "sum_starts": starts_of([part[0] for part in sums]),
        "sum_cuts": joined([part[0] for part in sums], np.int64),
        "sum_data": joined([part[1] for part in sums], np.float64),
        "turned_starts": starts_of(turned),
        "turned_cells": joined(turned, np.int64),
    }


def _proof_of(row: Row, sensitive: Integers) -> tuple[int, int, Side, Side]:
    """Return kind and cell of a row, and the multipliers that prove it upwards and downwards."""
    if isinstance(row, RoundedRow):
        return ROUNDED, 0, None, None
    if isinstance(row, BridgeRow):
        return BRIDGE, int(row.cell), (row.relations, row.multipliers), None
    if not isinstance(row, CapacityRow):
        raise UnknownRowError(row)
    cell = int(sensitive[row.index])
    if row.up is None:
        return DOWN, cell, None, row.down
    return UP if row.down is None else WIDTH, cell, row.up, row.down


def _sorted(
    relations: npt.NDArray[Any], multipliers: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return each relation once, in order; if it has several multipliers the last one counts."""
    last = dict(zip(relations.tolist(), multipliers.tolist(), strict=True))
    kept = sorted(relation for relation, multiplier in last.items() if multiplier != 0)
    return np.array(kept, dtype=np.int64), np.array([last[relation] for relation in kept])
