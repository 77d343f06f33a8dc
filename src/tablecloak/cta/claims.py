"""The claims of an adjusted table as plain arrays, which a stranger checks.

The search proves its bounds by multipliers of a program, which is laid out in coupled cells and
scaled. A certificate has none of that: multipliers of relations, statistics, discrepancy and
balance rows are all that is kept, and the verifier prices every cell by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tablecloak.certificates.claim import Claim, Released, loss_claim, rows_of
from tablecloak.certificates.tree import ROOT, Forest, Multipliers, Node, bound_claim, tree_of
from tablecloak.certificates.verifier import MEASURES, NO_DECIMALS
from tablecloak.cta.adjusted import Adjusted
from tablecloak.cta.answer import LossBound
from tablecloak.cta.bounds import DistanceBound, PartsBound, SquaresBound
from tablecloak.cta.model import AdjustmentModel
from tablecloak.cta.parts import parts_of
from tablecloak.cta.question import Question
from tablecloak.cta.squares import SquaresForm
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.cta.statistics.variance import PreservedVariance
from tablecloak.cta.tight import TightForm

__all__ = ["bound_arrays", "claims_of"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]
Tree = tuple[list[Node], dict[int, Multipliers]]

RELATION, STATISTIC, DISCREPANCY, BALANCE, SHARE = range(5)
"""Kinds of multipliers, as the verifier numbers them."""

NAMED = ("mean", "slope", "covariance", "variance")
"""Statistics whose meaning the verifier knows; others are sums with given coefficients."""


def claims_of(adjustment: Adjusted) -> tuple[Claim, ...]:
    """Return what an adjusted table claims, each with its proof.

    Parameters
    ----------
    adjustment : Adjustment
    """
    problem, limit = adjustment.problem, adjustment.sensitive_limit
    decimals = NO_DECIMALS if adjustment.decimals is None else adjustment.decimals
    released = Released(
        "adjustment",
        {
            "published": np.asarray(adjustment.values, dtype=np.float64),
            "decimals": np.array(decimals, dtype=np.int64),
            "sensitive_limit": np.array(np.inf if limit is None else limit, dtype=np.float64),
            "capacity_up": problem.capacity_up,
            "capacity_down": problem.capacity_down,
        },
    )
    claims = [Claim("protection", released), Claim("additivity", released)]
    statistics: list[Claim] = []
    if adjustment.preserved:
        statistics = [Claim("statistics", released, _statistics(adjustment))]
    claims += statistics
    if adjustment.distance not in MEASURES["adjustment"]:
        return tuple(claims)
    loss = loss_claim(released, adjustment.distance, adjustment.weights, adjustment.loss)
    arrays = bound_arrays(adjustment)
    bound = bound_claim(loss, problem, adjustment.bound, arrays, statistics)
    return (*claims, loss, bound)


def _statistics(adjustment: Adjusted) -> Arrays:
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


def bound_arrays(adjustment: Adjusted) -> Arrays:
    """Return the proof of the bound of an adjustment."""
    question, certificate = adjustment.question, adjustment.bound_certificate
    n = adjustment.problem.table.n_cells
    part, direction = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    changes = np.asarray(adjustment.changes / adjustment.unit, dtype=np.float64)
    trees: list[Tree] = []
    if certificate is None:
        trees.append(([ROOT], {}))
    elif isinstance(certificate, PartsBound):
        own_part = parts_of(question.problem, question.room)
        part[:] = -1
        for number, own in zip(certificate.numbers, certificate.certificates, strict=True):
            inside = own_part == number
            part[inside] = len(trees)
            alone = np.where(inside, changes, 0.0)
            trees.append(_tree(own, question.part(inside), alone, direction))
    else:
        trees.append(_tree(certificate, question, changes, direction))
    return {**Forest(tuple(trees)).arrays(), "part": part, "direction": direction}


def _tree(
    certificate: LossBound,
    question: Question,
    changes: Floats,
    direction: Integers,
) -> Tree:
    """Return the tree of one part; set the directions to which it refers."""
    rows = _statistic_numbers(question)
    if isinstance(certificate, SquaresBound):
        known = float(np.dot(question.weights, changes**2))
        squares = SquaresForm(question.model(certificate.independent), known)
        _set_directions(squares.model, certificate.directions, direction)
        used, duals = len(squares.model.independent), certificate.duals * squares.objective
        duals = duals / squares.length
        parts = [(RELATION, squares.model.independent, -1, duals[:used])]
        parts.append((STATISTIC, rows, -1, duals[used:]))
        return [ROOT], {0: Multipliers.of(parts)}
    assert isinstance(certificate, DistanceBound)
    form = certificate.form(question)
    _set_directions(form.model, certificate.directions, direction)
    reader = _Rows(form, rows)
    if certificate.tree is None:
        return [ROOT], {0: reader.multipliers(certificate.duals)}
    first = _representatives(form.model)

    def limits(column: int, is_lower: bool, limit: float) -> tuple[int, bool, int]:
        return int(first[column - form.direction_columns[0]]), is_lower, int(limit)

    return tree_of(certificate.tree, limits, reader.multipliers)


def _statistic_numbers(question: Question) -> Integers:
    """Positions of the rows among all statistics: conditions that are no rows come last."""
    return np.arange(len(question.preserved))


def _representatives(model: AdjustmentModel) -> Integers:
    """First sensitive cell of each group, which moves as the group does."""
    cells = np.flatnonzero(model.problem.sensitive & (model.coupled.group >= 0))
    _, first = np.unique(model.coupled.group[cells], return_index=True)
    return np.asarray(cells[first], dtype=np.int64)


def _set_directions(model: AdjustmentModel, directions: Floats | None, direction: Integers) -> None:
    if directions is not None:
        direction[_representatives(model)] = np.where(directions > 0, 1, -1)


class _Rows:
    """Knows which multiplier of a program belongs to which row of the table.

    Parameters
    ----------
    form : TightForm
    statistics : numpy.ndarray of int
        Numbers of the statistics that are rows.
    """

    def __init__(self, form: TightForm, statistics: Integers) -> None:
        self._form, self._statistics = form, statistics
        model = form.model
        matrix = csr_array(abs(model.relations))
        relation = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self._balance_row, group = relation[form.balance], matrix.indices[form.balance]
        any_cell = np.zeros(model.n_groups, dtype=np.int64)
        cells = np.flatnonzero(model.coupled.group >= 0)
        any_cell[model.coupled.group[cells[::-1]]] = cells[::-1]
        self._balance_cell = any_cell[group]
        # Balance rows are divided by powers of two: by how much, their own entry tells.
        first = form.program.n_rows - len(form.balance)
        rows = csr_array(form.program.matrix[first:, :])
        entry = np.abs(np.asarray(rows[np.arange(len(group)), group]).reshape(-1))
        size = matrix.data[form.balance] * form.scaling.column[group]
        self._balance_scale = form.scaling.objective * entry / size if len(group) else np.zeros(0)
        # Of a group the cell with the largest weight is the one that its maximum is about.
        self._heaviest = np.zeros(model.n_groups, dtype=np.int64)
        order = cells[np.argsort(model.weights[cells], kind="stable")]
        self._heaviest[model.coupled.group[order]] = order

    def multipliers(self, duals: Floats) -> Multipliers:
        """Return what a certificate keeps of the multipliers of a program."""
        form, model = self._form, self._form.model
        base = len(form.scaling.row)
        duals = np.concatenate([duals, np.zeros(max(form.program.n_rows - len(duals), 0))])
        raw = form.scaling.duals(duals[:base])
        blocks = self._blocks(raw)
        balance = np.maximum(duals[base:] * self._balance_scale, 0.0)
        parts: list[tuple[int, Any, Any, Any]] = [
            (RELATION, model.independent, -1, blocks[0]),
            (STATISTIC, self._statistics, -1, blocks[1]),
            (DISCREPANCY, form.discrepancy, -1, np.maximum(blocks[3], 0.0)),
        ]
        if not form.is_maximum:
            return Multipliers.of(
                [*parts, (BALANCE, self._balance_row, self._balance_cell, balance)]
            )
        shares = np.maximum(-blocks[4], 0.0)
        # Shares that rounding left above 1 in all: bounds hold for any multiple of multipliers.
        total = float(shares.sum()) * (1 + 1e-15 * len(shares))
        least = 1.0 if total <= 1 else 1 / total
        scaled = [(kind, row, cell, least * data) for kind, row, cell, data in parts]
        scaled.append((BALANCE, self._balance_row, self._balance_cell, least * balance))
        return Multipliers.of([*scaled, (SHARE, -1, self._heaviest, least * shares)])

    def _blocks(self, raw: Floats) -> list[Floats]:
        """Relations, statistics, directions, discrepancies, and shares in the maximum."""
        form, model = self._form, self._form.model
        free = len(form.discrepancy)
        sizes = [
            len(model.independent),
            len(model.preserved),
            2 * len(model.sensitive) if form.is_free else 0,
            free,
            model.n_groups if form.is_maximum else 0,
        ]
        ends = np.cumsum(sizes)
        return np.split(raw, ends[:-1])
