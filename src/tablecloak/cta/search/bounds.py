"""Proofs of bounds as a search keeps them: multipliers, and trees over directions.

The search proves its bounds by multipliers of a program, which is laid out in coupled cells and
scaled. A certificate has none of that: multipliers of relations, statistics, discrepancy and
balance rows are all that is kept, and the verifier prices every cell by itself. Nothing is checked
here: the bound that multipliers prove is computed by their claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.certificates.tree import (
    BALANCE,
    DISCREPANCY,
    RELATION,
    SHARE,
    STATISTIC,
    Multipliers,
    Tree,
    tree_of,
)
from tablecloak.cta.model.answer import LossBound, LossProof
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.model.squares import SquaresForm
from tablecloak.cta.model.tight import TightForm
from tablecloak.cta.search.balance import with_balance
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.search.state import DirectionState
from tablecloak.errors import CHANGED, VerificationError
from tablecloak.solve.branch import BranchTree
from tablecloak.solve.linear import LinearSolver


@dataclass(frozen=True, eq=False)
class DistanceBound:
    """Multipliers that bound the sum, or the maximum, of weighted changes.

    Parameters
    ----------
    independent : numpy.ndarray of int
        Relations to which the multipliers refer.
    balance : numpy.ndarray of int
        Balance rows after all others.
    tree : BranchTree or None
        Search tree over the directions; None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
        Multipliers of the relaxation; used without a tree.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    independent: Integers
    balance: Integers
    tree: BranchTree | None
    duals: Floats
    directions: Floats | None = None

    @classmethod
    def of(
        cls,
        form: TightForm,
        tree: BranchTree | None,
        duals: Floats,
        directions: Floats | None = None,
    ) -> DistanceBound:
        """Keep the parts of a form from which its program can be rebuilt."""
        return cls(form.model.independent, form.balance, tree, duals, directions)

    def form(self, space: AdjustmentSpace) -> TightForm:
        """Return the program to which the multipliers refer, built anew from a space."""
        form = TightForm.of(
            replace(space.model, selected=self.independent),
            free=self.directions is None,
            maximum=DISTANCES[space.distance].is_maximum,
        )
        return with_balance(form, self.balance) if len(self.balance) else form

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return one tree over the whole table; see `LossBound.loss_proof`."""
        del changes
        form = self.form(space)
        reader, direction = _Rows(form), form.model.signs_of(self.directions)
        if self.tree is None:
            return LossProof.of_root(reader.multipliers(self.duals), direction)
        first = form.model.representatives

        def limits(column: int, is_lower: bool, limit: float) -> tuple[int, bool, int]:
            return int(first[column - form.direction_columns[0]]), is_lower, int(limit)

        tree = tree_of(self.tree, limits, reader.multipliers)
        return LossProof((tree,), np.zeros_like(direction), direction)


@dataclass(frozen=True, eq=False)
class SquaresBound:
    """Multipliers that bound the sum of weighted squares.

    Parameters
    ----------
    independent : numpy.ndarray of int
        Relations to which the multipliers refer.
    duals : numpy.ndarray of float
        Multipliers of relations and statistics.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    independent: Integers
    duals: Floats
    directions: Floats | None = None

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return a tree of its root alone; see `LossBound.loss_proof`."""
        known = float(np.dot(space.weights, changes**2))
        form = SquaresForm(replace(space.model, selected=self.independent), known)
        duals = self.duals * form.objective / form.length
        used = len(self.independent)
        parts = [
            (RELATION, self.independent, -1, duals[:used]),
            (STATISTIC, np.arange(len(duals) - used), -1, duals[used:]),
        ]
        return LossProof.of_root(Multipliers.of(parts), form.model.signs_of(self.directions))


@dataclass(frozen=True, eq=False)
class PartsBound:
    """Multipliers for parts that no relation connects: their bounds add up.

    Parameters
    ----------
    numbers : tuple of int
        Parts with sensitive cells.
    certificates : tuple of LossBound
        One for each of them.
    """

    numbers: tuple[int, ...]
    certificates: tuple[LossBound, ...]

    def loss_proof(self, space: AdjustmentSpace, changes: Floats) -> LossProof:
        """Return a tree for each part; see `LossBound.loss_proof`.

        Raises
        ------
        VerificationError
            If a part was proved twice, or there is none of that number.
        """
        own = space.parts
        known = len(set(self.numbers)) == len(self.numbers) == len(self.certificates)
        if not known or not set(self.numbers) <= set(own[own >= 0].tolist()):
            raise VerificationError(
                f"The parts of the table are not those that were proved. {CHANGED}"
            )
        trees: list[Tree] = []
        combined: list[csr_array] = []
        part, direction = np.full_like(own, -1), np.zeros_like(own)
        for number, certificate in zip(self.numbers, self.certificates, strict=True):
            inside = own == number
            alone = np.where(inside, changes, 0.0)
            proof = certificate.loss_proof(space.part(inside), alone)
            part[inside] = len(trees)
            direction[inside] = proof.direction[inside]
            trees += proof.trees if proof.combined is None else _further(proof.trees, combined)
            combined += [] if proof.combined is None else [proof.combined]
        rows = csr_array(vstack(combined)) if combined else None
        return LossProof(tuple(trees), part, direction, rows)


def _further(trees: Sequence[Tree], known: Sequence[csr_array]) -> list[Tree]:
    """Return trees whose combined relations are numbered after those that are known."""
    more = sum(sums.shape[0] for sums in known)

    def moved(one: Multipliers) -> Multipliers:
        is_combined = (one.kind == BALANCE) & (one.row >= known[0].shape[1])
        return replace(one, row=one.row + np.where(is_combined, more, 0))

    if not more:
        return list(trees)
    return [(nodes, {at: moved(one) for at, one in leaves.items()}) for nodes, leaves in trees]


class _Rows:
    """Maps multipliers of a program to rows of the table.

    Parameters
    ----------
    form : TightForm
    """

    def __init__(self, form: TightForm) -> None:
        self._form, model = form, form.model
        matrix = csr_array(abs(model.relations))
        relation = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self._balance_row, group = relation[form.balance], matrix.indices[form.balance]
        cells = np.flatnonzero(model.coupled.group >= 0)
        self._balance_cell = model.members[group]
        # Balance rows are divided by powers of two; their own entry tells by which one.
        first = form.program.n_rows - len(form.balance)
        rows = csr_array(form.program.matrix[first:, :])
        entry = np.abs(np.asarray(rows[np.arange(len(group)), group]).reshape(-1))
        size = matrix.data[form.balance] * form.scaling.column[group]
        self._balance_scale = form.scaling.objective * entry / size if len(group) else np.zeros(0)
        # The maximum over a group is attained by its cell with the largest weight.
        self._heaviest = np.zeros(model.n_groups, dtype=np.int64)
        order = cells[np.argsort(model.weights[cells], kind="stable")]
        self._heaviest[model.coupled.group[order]] = order

    def multipliers(self, duals: Floats) -> Multipliers:
        """Return the multipliers of a program as a certificate keeps them."""
        form, model = self._form, self._form.model
        base = len(form.scaling.row)
        duals = np.concatenate([duals, np.zeros(max(form.program.n_rows - len(duals), 0))])
        raw = form.scaling.duals(duals[:base])
        blocks = self._blocks(raw)
        balance = np.maximum(duals[base:] * self._balance_scale, 0.0)
        parts: list[tuple[int, Any, Any, Any]] = [
            (RELATION, model.independent, -1, blocks[0]),
            (STATISTIC, np.arange(len(blocks[1])), -1, blocks[1]),
            (DISCREPANCY, form.discrepancy, -1, np.maximum(blocks[3], 0.0)),
        ]
        if not form.is_maximum:
            return Multipliers.of(
                [*parts, (BALANCE, self._balance_row, self._balance_cell, balance)]
            )
        shares = np.maximum(-blocks[4], 0.0)
        # Rounding may leave a sum of shares above 1: they are scaled, and still prove a bound.
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


ROOT_SECONDS = 5.0
"""Time limit in seconds for the relaxation's multipliers, if the search has not computed any."""


def search_bound(state: DirectionState, fixed: Floats | None) -> LossBound:
    """Return the bound with its proof: a tree of branch and bound, or else multipliers.

    Parameters
    ----------
    state : DirectionState
    fixed : numpy.ndarray of float or None
        Directions, if they were given.
    """
    if state.tree is not None:
        return DistanceBound.of(state.proved, state.tree, np.empty(0))
    if state.charged is not None:
        return state.charged
    solution = state.root
    if solution is None:
        program = state.proved.program if fixed is None else state.form.directed(fixed)
        solution = LinearSolver(program).solve(ROOT_SECONDS)
    return DistanceBound.of(state.proved, None, solution.duals, fixed)
