"""A rounded table with its certificate, and the part of it that may be published."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats, Integers, median_of_positive
from tablecloak.certificates.claim import Arrays, Claim, Released, loss_claim
from tablecloak.certificates.tree import (
    ROOT,
    Multipliers,
    Tree,
    bound_claim,
    check_bound,
    proved,
    tree_arrays,
    tree_of,
)
from tablecloak.cta.model.precision import off_by
from tablecloak.cta.rounding.task import RoundingTask, WholeRelations
from tablecloak.errors import CHANGED, VerificationError, listed
from tablecloak.solve.branch import BranchTree
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.protected_table import ProtectedTable
from tablecloak.tables.published import published_order, published_rows


@dataclass(frozen=True, eq=False)
class RoundingBound:
    """Proof of the bound on the loss of any rounding, as a search keeps it.

    Parameters
    ----------
    tree : BranchTree or None
        None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
        Multipliers of the relations.
    """

    tree: BranchTree | None
    duals: Floats


@dataclass(frozen=True, eq=False)
class RoundingAnswer:
    """A rounded table, and the proof of how near to the truth it is.

    Parameters
    ----------
    values : numpy.ndarray of int, shape (n_cells,)
    proof : RoundingBound
    steps : int
        Every value is less than so many times the base away from the truth.
    notes : tuple of str, default=()
    """

    values: Integers
    proof: RoundingBound
    steps: int
    notes: tuple[str, ...] = ()


class RoundedCounts(ProtectedTable):
    """A table rounded to multiples of a base, or without small counts.

    The search looks at no rule, so that its verdict rests on an attack on every sensitive cell.
    """

    promise: ClassVar[str] = (
        "It is proved that the table adds up, how far values were moved, and what that loses. "
        "Rounding looks at no rule: whether it protects is found by an attack on every sensitive "
        "cell, by somebody who knows the rounded values, the base, all sums and the external "
        "bounds; the verdict says how many cells withstand it."
    )
    price: ClassVar[str] = "moved beyond the nearest values"
    saving: ClassVar[str] = "no such rounding moves less"

    base: int
    values: Integers
    """Rounded values, shape (n_cells,)."""

    @abstractmethod
    def intervals(self) -> tuple[Floats, Floats]:
        """Smallest and largest true value that the rounded value alone leaves possible."""

    @property
    def _problems(self) -> Sequence[ProtectionProblem]:
        """The problems whose sensitive cells it has to protect."""
        return [self.problem]

    @cached_property
    def attacks(self) -> tuple[Any, ...]:
        """Audits of the sensitive cells by everybody who has the release. Secret."""
        made = {id(problem): audit for problem, audit in self._made}
        return tuple(
            made.get(id(problem)) or showing.attacked(self, problem) for problem in self._problems
        )

    @cached_property
    def _made(self) -> list[tuple[ProtectionProblem, Any]]:
        return []

    def judged(self, problem: ProtectionProblem, audit: Any) -> None:
        """Take an attack by everybody that was made already, so that a verdict needs no other."""
        self._made.append((problem, audit))

    @property
    def is_safe(self) -> bool:
        """Whether every sensitive cell withstands the attack."""
        return all(audit.is_safe for audit in self.attacks)

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell."""
        return self.intervals()

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and rounded values."""
        table = self.problem.table
        return published_rows(table, **{table.name: self.values[published_order(table)]})

    def _safety(self) -> Iterator[str]:
        """Say how many sensitive cells are protected; if there are two problems, of the worse."""
        audit = min(self.attacks, key=lambda audit: audit.n_protected / max(len(audit.verdicts), 1))
        n = len(audit.verdicts)
        left = {
            "can be estimated too closely": audit.n_attackable,
            "are not settled": n - audit.n_protected - audit.n_attackable,
        }
        others = "".join(f", {number} {words}" for words, number in left.items() if number)
        judged = "Safe" if self.is_safe else "NOT SAFE"
        yield (
            f"{judged} against all who know the rounded values, the base, their sums and the "
            f"external bounds: {audit.n_protected} of {n} sensitive cells are "
            f"protected{others}."
        )

    def _extent(self) -> str:
        true = self.problem.table.values
        most = np.abs(self.values - true).max(initial=0)
        detail = f" each by at most {most:g},"
        return self._changed(self.values.astype(np.float64), self.values != true, detail)

    def _next_step(self) -> str:
        if self.is_safe:
            return super()._next_step()
        return (
            "Next: do not publish it; a larger base protects more, and cell suppression protects "
            "every sensitive cell."
        )


@dataclass(frozen=True, eq=False, repr=False)
class RoundedTable(RoundedCounts):
    """A rounded table with its certificate.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of int, shape (n_cells,)
        Multiples of the base.
    base : int
    steps : int
        K: every value is less than K times the base away from the truth.
    weights : numpy.ndarray of float, shape (n_cells,)
    bound_certificate : RoundingBound
    bound : float
        Proved lower bound on the loss of any rounding with the same base and steps.
    seconds : float
    notes : tuple of str
    """

    problem: ProtectionProblem
    values: Integers
    base: int
    steps: int
    weights: Floats
    bound_certificate: RoundingBound
    bound: float
    seconds: float
    notes: tuple[str, ...] = field(default=())
    time_limit: float = np.inf
    ran_out: bool = False

    @classmethod
    def of(cls, task: RoundingTask, rounding: RoundingAnswer) -> RoundedTable:
        """Return a rounding with what is proved of it, and verify it.

        Parameters
        ----------
        task : RoundingTask
        rounding : RoundingAnswer
        """
        unproved = cls(
            problem=task.problem,
            values=rounding.values,
            base=task.base,
            steps=rounding.steps,
            weights=task.weights,
            bound_certificate=rounding.proof,
            bound=0.0,
            seconds=0.0,
            notes=rounding.notes,
        )
        rounded = replace(unproved, bound=min(unproved.proved_bound(), unproved.loss))
        rounded.verify()
        return rounded

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return the claims made of the rounded table, each with its proof. Secret."""
        released = self._released()
        loss = loss_claim(released, "L1", self.weights, self.loss)
        bound = bound_claim(loss, self.problem, self.bound, _tree(self))
        return Claim("additivity", released), loss, bound

    def _released(self) -> Released:
        arrays = {
            "published": self.values.astype(np.float64),
            "base": np.array(self.base, dtype=np.int64),
            "steps": np.array(self.steps, dtype=np.int64),
        }
        return Released("rounding", arrays)

    @property
    def loss(self) -> float:
        """Return sum w_i |x_i - a_i|."""
        return float(np.dot(self.weights, np.abs(self.values - self.problem.table.values)))

    @property
    def unavoidable(self) -> float:
        """Loss if every value went to its nearest multiple, whatever the relations say."""
        over = np.mod(np.abs(self.problem.table.values), self.base)
        nearest = np.where(self.problem.frozen, 0.0, np.minimum(over, self.base - over))
        return float(np.dot(self.weights, nearest))

    @property
    def exceptions(self) -> int:
        """Number of cells that are not at one of the two multiples around their true value."""
        return int(np.count_nonzero(self._is_exception()))

    @property
    def zero_restricted(self) -> float:
        """Share of cells at one of the two multiples around their true value, from 0 to 1."""
        return 1 - float(np.mean(self._is_exception()))

    def _is_exception(self) -> Flags:
        true = np.rint(self.problem.table.values).astype(np.int64)
        is_multiple = true % self.base == 0
        moved = np.abs(self.values - true)
        is_exception: Flags = np.where(is_multiple, moved > 0, moved >= self.base)
        return is_exception

    def verify(self) -> None:
        """Check the table and its bound again, in whole numbers; no solver is called.

        Guarantee: if this returns, every value is a multiple of the base less than `steps`
        times the base away from the truth, multiples of the base are unchanged if `steps` is
        1, frozen cells are unchanged, no value has changed its sign, and every relation holds
        exactly; one whose coefficients are not decimal numbers within some last binary places.

        Raises
        ------
        VerificationError
            If a condition fails; the message names it and the cells.
        """
        table, x = self.problem.table, self.values
        a = np.rint(table.values).astype(np.int64)
        moved = x - a
        kept = self.problem.frozen | ((a % self.base == 0) & (self.steps == 1))
        for bad, what in (
            (x % self.base != 0, "are not multiples of the base"),
            (np.abs(moved) >= self.steps * self.base, "are too far from the truth"),
            (kept & (moved != 0), "had to stay as they are"),
            (x * np.sign(a) < 0, "have changed their sign"),
        ):
            require_none(self.problem, bad, what)
        off = off_by(table, x)
        if np.any(off):
            raise VerificationError(
                f"A relation of the rounded table is off by {np.max(off):g}: "
                f"{table.describe_relation(int(np.argmax(off)))}. {CHANGED}"
            )
        check_bound(self.bound, self.proved_bound(), self.loss)

    def proved_bound(self) -> float:
        """Return the bound on the loss that its claim proves; no solver is called."""
        loss = loss_claim(self._released(), "L1", self.weights, self.loss)
        return proved(loss, self.problem, _tree(self))

    def intervals(self) -> tuple[Floats, Floats]:
        """Smallest and largest true value that the rounded value alone leaves possible.

        Everybody knows the base and the number of steps. The relations can narrow the intervals
        further; ``tablecloak.audit(problem, rounded)`` computes by how much.
        """
        reach = float(self.steps * self.base - 1)
        return ends_of_multiples(self.problem, self.values.astype(np.float64), reach)

    def summary(self) -> str:
        """Say in one line what was rounded, and how good that is."""
        how = f"up to {self.steps} steps, {self.exceptions} cells with more than one"
        if self.steps == 1:
            how = "zero-restricted"
        return (
            f"rounding to base {self.base}, {how}: loss {self.loss:,.9g}, bound {self.bound:,.9g}, "
            f"{self._gaps()}, {self.seconds:.1f} s"
        )


def ends_of_multiples(
    problem: ProtectionProblem, values: Floats, reach: float
) -> tuple[Floats, Floats]:
    """Return the ends of the true values, of rounded ones that everybody knows to be so near."""
    lower, upper = values - reach, values + reach
    if np.all(problem.table.values >= 0):
        lower = np.maximum(lower, 0.0)
    frozen = problem.frozen & (values == problem.table.values)
    return np.where(frozen, values, lower), np.where(frozen, values, upper)


def _tree(rounded: RoundedTable) -> Arrays:
    """Return the search tree with limits on multiples of the base instead of limits on steps.

    The program's columns are steps: whether a value goes to the multiple above it, then how many
    steps each cell goes further, and how many back. A limit on steps is a limit on the multiple.
    """
    certificate, base = rounded.bound_certificate, rounded.base
    true = np.rint(rounded.problem.table.values).astype(np.int64)
    floor, above = true // base, -(-true // base)
    up, further = np.flatnonzero(true % base), np.flatnonzero(~rounded.problem.frozen)
    # Costs of the program are measured in the median weight of a step.
    unit = median_of_positive(rounded.weights)
    # Rows of the program have whole coefficients.
    scale = WholeRelations.of(rounded.problem.table.relations).scale

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
    return tree_arrays([tree])


def require_none(problem: ProtectionProblem, bad: Flags, what: str) -> None:
    """Refuse a rounded table in which any cell is bad.

    Raises
    ------
    VerificationError
        If there are bad cells; the message names them.
    """
    cells = np.flatnonzero(bad)
    if len(cells):
        raise VerificationError(
            f"{len(cells)} rounded cells {what}: {listed(problem.table.labels(cells[:5]))}. "
            f"{CHANGED}",
            cells=cells,
        )
