"""How closely somebody can estimate one contribution from all figures of a variable.

Amounts are not negative, so that published sums bound every class of records from above, though
none of them may tell it. Who contributed itself knows its own amounts. Source of the rule: p% rule,
Hundepool and others, Statistical Disclosure Control (2012), section 4.2.2: the upper estimate of a
contribution must exceed it by p per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.solve.linear import LinearSolver
from tablecloak.solve.program import Program

__all__ = ["Estimate", "Estimates"]

MOST_ATTACKERS = 20
"""Contributors that are tried against each other one, those with the largest amounts."""

CLOSE = 1e-6
"""Share of an amount by which an estimate may miss the rule."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A contribution that somebody estimates too closely.

    Parameters
    ----------
    number : int
        Class of the contribution.
    who : int
        Code of the contributor.
    excess : float
        By how much the estimate exceeds the contribution, as a share of it.
    attacker : int, optional
        Code of the contributor who can; None for everybody.
    multipliers : (f,) array of float
        The sum of figures that is the estimate, before the attacker's own amounts are taken off.
    """

    number: int
    who: int
    excess: float
    attacker: int | None
    multipliers: Floats


class Estimates:
    """Upper estimates of the largest contribution to each class.

    Parameters
    ----------
    figures : csr_array, shape (c, f)
        Which figures each class stands in.
    class_of, who : (n,) array of int
        Class and contributor of each record.
    amounts : (n,) array of float
        None negative.
    share : float
        By what an estimate must exceed a contribution, as a share of it.

    Notes
    -----
    Class by class a linear program asks for the largest total that agrees with all figures. A class
    whose other contributors, without the second largest, have enough between them is safe whatever
    is published, and is not asked for.
    """

    def __init__(
        self, figures: csr_array, class_of: Integers, who: Integers, amounts: Floats, share: float
    ) -> None:
        self.share = share
        self.n_figures = figures.shape[1]
        parts = pd.DataFrame({"number": class_of, "who": who, "amount": amounts})
        self.parts = parts.groupby(["number", "who"], as_index=False).sum()
        self.total = np.bincount(class_of, amounts, minlength=figures.shape[0])
        self.alone = np.bincount(self.parts["number"], minlength=figures.shape[0]) == 1
        positive = self.total[self.total > 0]
        # In units of a typical class, so that the solver's tolerances fit.
        self.unit = float(np.median(positive)) if positive.size else 1.0
        told = figures.T @ (self.total / self.unit)
        n = figures.shape[0]
        self.solver = LinearSolver(
            Program(np.zeros(n), csr_array(figures.T), told, told, np.zeros(n), np.full(n, np.inf)),
            primal=True,
        )
        by_size = self.parts.groupby("who")["amount"].sum().sort_values(ascending=False)
        self.attackers = by_size.index[:MOST_ATTACKERS].tolist()

    def close(self) -> Iterator[Estimate]:
        """Yield the contributions that somebody estimates too closely.

        In each class the largest comes first: where nobody comes too close to it, nobody does to
        the others.
        """
        ordered = self.parts.sort_values(["number", "amount"], ascending=[True, False])
        for _, part in ordered.groupby("number"):
            amounts = part["amount"].to_numpy()
            if amounts[0] <= 0 or amounts[2:].sum() >= self.share * amounts[0]:
                continue
            for number, who in part[["number", "who"]].to_numpy().tolist():
                found = self.of(number, who)
                if found is None:
                    break
                yield found

    def of(self, number: int, who: int) -> Estimate | None:
        """Return how somebody estimates the contribution of one contributor to a class.

        Parameters
        ----------
        number, who : int

        Returns
        -------
        Estimate or None
            None if nobody comes too close.
        """
        part = self.parts[self.parts["number"] == number].sort_values("amount", ascending=False)
        own = float(part.loc[part["who"] == who, "amount"].iloc[0])
        others = part.loc[part["who"] != who, "who"].tolist()[:1]
        attackers = dict.fromkeys([*others, *(one for one in self.attackers if one != who)])
        for attacker in [None, *attackers]:
            known = self.parts[self.parts["who"] == attacker] if attacker is not None else None
            found = self._asked(number, who, own, known, attacker)
            if found is not None:
                return found
        return None

    def _asked(
        self, number: int, who: int, own: float, known: pd.DataFrame | None, attacker: int | None
    ) -> Estimate | None:
        classes, least = np.empty(0, dtype=np.int64), np.empty(0)
        if known is not None:
            classes, least = known["number"].to_numpy(), known["amount"].to_numpy() / self.unit
        within = float(least[classes == number].sum())
        needed = ((1 + self.share) * own * (1 - CLOSE)) / self.unit + within
        column = np.array([number])
        # More than enough is not asked for: the program then has a finite answer.
        at_least = np.zeros(len(classes))
        # Where nobody else is in a class, its total is the attacker's own.
        self.solver.change_bounds(classes, least, np.where(self.alone[classes], least, np.inf))
        most = 2 * max(needed, self.total[number] / self.unit) + 1
        self.solver.change_bounds(column, np.array([within]), np.array([most]))
        self.solver.change_costs(column, np.array([-1.0]))
        answer = self.solver.solve()
        self.solver.change_costs(column, np.zeros(1))
        self.solver.change_bounds(classes, at_least, np.full(len(classes), np.inf))
        self.solver.change_bounds(column, np.zeros(1), np.full(1, np.inf))
        # Only a point that was checked against the figures shows that a contribution is safe.
        largest = -answer.value if len(answer.x) else -np.inf
        if largest >= needed:
            return None
        excess = (largest - within) * self.unit / own - 1
        multipliers = -answer.duals if len(answer.duals) else np.zeros(self.n_figures)
        return Estimate(number, who, max(excess, 0.0), attacker, multipliers)
