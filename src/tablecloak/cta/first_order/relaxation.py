"""Tables in which sensitive cells have two values each, by their relaxation.

Where a sensitive cell goes to one of two values and no farther, such as a small count that becomes
0 or the base, its cost grows evenly from one to the other. Whatever multipliers of relations pull,
such a cell lies best at one of its two values, so that multipliers prove a bound for free
directions wherever both values do not cost the same. Discrepancy rows add to it (see `tight`).

From the optimum of this relaxation, costs that grow with the distance from both values drive each
cell to one of them, while the multipliers go on pulling cells towards the relations.

References
----------
.. [1] Pock, Chambolle: Diagonal preconditioning for first order primal-dual algorithms in convex
   optimization, ICCV 2011.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.certificates.tree import DISCREPANCY, RELATION, Multipliers
from tablecloak.cta.first_order.layout import CHARGED_ROUNDS, NEARLY, FirstOrderLayout, row_least
from tablecloak.cta.first_order.primal_dual import SAFE_STEP
from tablecloak.cta.model.model import AdjustmentModel
from tablecloak.cta.model.tight import discrepancies_of

LOOK = 100
"""Steps between two proofs."""

RESTARTS = (400, 800, 1600, 3200)
"""Steps after which the averages of the multipliers begin anew."""

MOST_STEPS = 5000
"""Most steps of the relaxation."""

GAIN = 1e-4
"""Relative gain over `PATIENCE` proofs below which the bound counts as found."""

PATIENCE = 3
"""Proofs over which the gain is measured."""

LAST_PUSH = 8.0
"""Largest push towards one of both values, in costs of the cell; see docs/decisions, "Small counts
are driven to their values"."""

UNEVEN = 0.01
"""Spread of the places from which both values push, as a share of the distance between them."""


def has_two_values(model: AdjustmentModel) -> bool:
    """Whether no sensitive group can go beyond its levels."""
    at, moves = model.sensitive, model.moves
    return bool(np.all((moves.up[at] <= model.up_level) & (moves.down[at] <= model.down_level)))


@dataclass(frozen=True, eq=False)
class RelaxationBound:
    """Multipliers that no group gains from, and the bound that they prove.

    Parameters
    ----------
    bound : float
    relations : numpy.ndarray of float, shape (n_rows,)
        Multipliers of the rows of the layout.
    discrepancy : numpy.ndarray of float, shape (n_discrepancies,)
        Multipliers >= 0 of the discrepancy rows.
    """

    bound: float
    relations: Floats
    discrepancy: Floats


class Relaxation:
    """Changes and multipliers of the relaxation, improved step by step.

    Parameters
    ----------
    layout : FirstOrderLayout
        Of a model whose sensitive groups have two values each.

    Attributes
    ----------
    changes : numpy.ndarray of float, shape (n_groups,)
    """

    def __init__(self, layout: FirstOrderLayout) -> None:
        self.layout, model = layout, layout.model
        at, (low, high) = model.sensitive, model.allowed
        self._is_free = np.ones(model.n_groups, dtype=bool)
        self._is_free[at] = False
        numbers, deltas = discrepancies_of(model)
        self._discrepant: Integers = np.searchsorted(layout.rows, numbers)
        self._delta, none = deltas, np.zeros(len(deltas))
        self._charging = csr_array(layout.size[self._discrepant, :] * self._is_free[None, :])
        self._charging.eliminate_zeros()
        self._charged = csr_array(self._charging.T)
        self._swing = model.up_level + model.down_level
        self._middle = (model.up_level - model.down_level) / 2
        self._push = 2 * model.cost[at] / self._swing
        self._slope = self._push * self._middle
        self._ends = (
            np.where(low > 0, model.up_level, -model.down_level),
            np.where(high < 1, -model.down_level, model.up_level),
        )
        price = layout.price[self._discrepant]
        reach = layout.size_transposed @ layout.price + self._charged @ price
        step = layout.change / np.where(reach > 0, reach, layout.price.min(initial=1))
        self._step = SAFE_STEP * step
        self._price_step = SAFE_STEP * layout.price / (layout.size @ layout.change)
        moved = self._charging @ layout.change
        self._charge_step = SAFE_STEP * price / np.where(moved > 0, moved, 1.0)
        self.changes = np.zeros(model.n_groups)
        self._moved = np.zeros(model.n_groups)
        self.relations, self.discrepancy = np.zeros(len(layout.rows)), none

    def step(self, push: float = 0.0) -> None:
        """Make one step.

        Parameters
        ----------
        push : float, default=0
            How much cheaper a sensitive group is at one of its values than between them.
        """
        model, layout, at = self.layout.model, self.layout, self.layout.model.sensitive
        paid, charge = layout.transposed @ self.relations, self._charged @ self.discrepancy
        # Changes up and down apart: a discrepancy row pays for their sum.
        half = self._step / 2
        up = (self._moved + self.changes) / 2 - half * (model.cost - charge - paid)
        down = (self._moved - self.changes) / 2 - half * (model.cost - charge + paid)
        up, down = np.clip(up, 0.0, model.moves.up), np.clip(down, 0.0, model.moves.down)
        changes, moved = up - down, up + down
        here = self.changes[at]
        slope = self._slope - push * self._push * (here - self._middle)
        changes[at] = np.clip(here - self._step[at] * (slope - paid[at]), *self._ends)
        moved[at] = np.abs(changes[at])
        self.relations -= self._price_step * (layout.matrix @ (2 * changes - self.changes))
        lacking = self._delta - self._charging @ (2 * moved - self._moved)
        self.discrepancy = np.maximum(self.discrepancy + self._charge_step * lacking, 0.0)
        self.changes, self._moved = changes, moved

    def proved(self, relations: Floats, discrepancy: Floats) -> RelaxationBound:
        """Return smaller multipliers, at which moving farther pays for no group, with their bound.

        Parameters
        ----------
        relations, discrepancy : numpy.ndarray of float
            As those of `RelaxationBound`.
        """
        layout, model, at = self.layout, self.layout.model, self.layout.model.sensitive
        for _ in range(CHARGED_ROUNDS):
            share = self._unpaid(relations, discrepancy)
            if np.all(share >= NEARLY):
                break
            least = row_least(layout.matrix, share[layout.matrix.indices])
            relations, discrepancy = relations * least, discrepancy * least[self._discrepant]
        lowest = np.min(self._unpaid(relations, discrepancy), initial=1.0)
        relations, discrepancy = relations * lowest, discrepancy * lowest
        paid, cost = (layout.transposed @ relations)[at], model.cost[at]
        ends = [cost * np.abs(end) - paid * end for end in self._ends]
        bound = np.sum(np.minimum(*ends)) + np.dot(discrepancy, self._delta)
        return RelaxationBound(float(bound), relations, discrepancy)

    def _unpaid(self, relations: Floats, discrepancy: Floats) -> Floats:
        """Return the share of what is paid for each group at which no farther move pays."""
        cost = self.layout.model.cost
        gain = np.abs(self.layout.transposed @ relations) + self._charged @ discrepancy
        over: Flags = self._is_free & (gain > cost)
        share: Floats = np.where(over, cost / np.where(over, gain, 1.0), 1.0)
        return share

    def multipliers(self, proof: RelaxationBound) -> Multipliers:
        """Return multipliers as a certificate keeps them."""
        rows, used = self.layout.rows, np.flatnonzero(proof.discrepancy > 0)
        charged = rows[self._discrepant[used]]
        return Multipliers.of(
            [
                (RELATION, rows, -1, proof.relations),
                (DISCREPANCY, charged, -1, proof.discrepancy[used]),
            ]
        )

    def driven(self, steps: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Drive each sensitive group to one of its values; this relaxation stays where it is.

        Parameters
        ----------
        steps : int
            In which the push grows.
        random : numpy.random.Generator
            Decides for groups that nothing else draws to either value.

        Returns
        -------
        changes : numpy.ndarray of float, shape (n_groups,)
            Relations need not hold.
        multipliers : numpy.ndarray of float, shape (n_rows,)
            Of relations, from which to go on.
        """
        end, at = copy(self), self.layout.model.sensitive
        end.relations = self.relations.copy()
        end._middle = self._middle + UNEVEN * self._swing * random.normal(size=len(at))
        for number in range(steps):
            end.step(LAST_PUSH * number / steps)
        changes, is_up = end.changes.copy(), end.changes[at] > self._middle
        changes[at] = np.where(is_up, self._ends[1], self._ends[0])
        return changes, end.relations


def relaxed(relaxation: Relaxation, budget: Budget) -> RelaxationBound:
    """Improve a relaxation, and return the multipliers that prove most on the way.

    Parameters
    ----------
    relaxation : Relaxation
        Left where the steps end.
    budget : Budget
        A first proof is found in any case.
    """
    best = relaxation.proved(0 * relaxation.relations, 0 * relaxation.discrepancy)
    history = [best.bound]
    sums, since = [0 * relaxation.relations, 0 * relaxation.discrepancy], 0
    for steps in range(1, MOST_STEPS + 1):
        relaxation.step()
        sums = [sums[0] + relaxation.relations, sums[1] + relaxation.discrepancy]
        if steps % LOOK and not budget.is_over:
            continue
        averages = [part / (steps - since) for part in sums]
        for pair in ((relaxation.relations, relaxation.discrepancy), averages):
            best = max(best, relaxation.proved(*pair), key=lambda proof: proof.bound)
        history.append(best.bound)
        gain = best.bound - history[-1 - PATIENCE] if len(history) > PATIENCE else np.inf
        if budget.is_over or gain <= GAIN * abs(best.bound):
            break
        if steps in RESTARTS:
            sums, since = [0 * part for part in sums], steps
    return best
