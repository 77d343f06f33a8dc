"""Small-count rounding: no published count lies between 0 and the base.

Counts from 1 to base - 1 go to 0 or to the base; all others move as little as is needed for the
table to stay additive, and none of them becomes a small count. This is an adjustment in which the
small counts are the sensitive cells, each with exactly two possible values.

References
----------
.. [1] Langsrud, Heldal: An algorithm for small count rounding of tabular data, Privacy in
   Statistical Databases 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Progress
from tablecloak.certificates.claim import Claim, Released, loss_claim
from tablecloak.certificates.tree import bound_claim
from tablecloak.cta.adjust import adjust
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.result.claims import bound_arrays
from tablecloak.cta.rounding.rounded_table import RoundedCounts, require_none
from tablecloak.cta.rounding.task import check_whole
from tablecloak.errors import InputError, listed
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule


@dataclass(frozen=True, eq=False, repr=False)
class SmallCountTable(RoundedCounts):
    """A table of counts without small ones, with its certificate.

    Parameters
    ----------
    problem : ProtectionProblem
        Problem of the true counts. Its sensitive cells are the small counts; its levels require
        that a reader cannot tell one small count from another.
    base : int
    adjustment : Adjustment
    given : ProtectionProblem
        The one that was rounded, with the cells that rules find sensitive.
    """

    problem: ProtectionProblem
    base: int
    adjustment: Adjustment
    given: ProtectionProblem

    @property
    def _problems(self) -> list[ProtectionProblem]:
        """Small counts, and the cells that rules find sensitive if there are any."""
        return [self.problem, *[self.given] * bool(self.given.n_sensitive)]

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return the claims made of the rounded table, each with its proof. Secret."""
        adjusted = self.adjustment
        arrays = {
            "published": self.values.astype(np.float64),
            "base": np.array(self.base, dtype=np.int64),
        }
        released = Released("small counts", arrays)
        loss = loss_claim(released, "L1", adjusted.weights, adjusted.loss)
        bound = bound_claim(loss, self.problem, adjusted.bound, bound_arrays(adjusted))
        return Claim("protection", released), Claim("additivity", released), loss, bound

    @property
    def loss(self) -> float:
        """Loss of the adjustment: weighted sum of all changes."""
        return self.adjustment.loss

    @property
    def bound(self) -> float:  # type: ignore[override]
        """Proved lower bound on the loss of any such table."""
        return self.adjustment.bound

    @property
    def unavoidable(self) -> float:
        """Loss that the small counts cost in any such table."""
        return self.adjustment.unavoidable

    @property
    def seconds(self) -> float:  # type: ignore[override]
        """Seconds that the search took."""
        return self.adjustment.seconds

    @property
    def values(self) -> Integers:  # type: ignore[override]
        """Return the published counts, shape (n_cells,)."""
        return np.rint(self.adjustment.values).astype(np.int64)

    @property
    def time_limit(self) -> float:  # type: ignore[override]
        """Seconds that the search might take."""
        return self.adjustment.time_limit

    @property
    def ran_out(self) -> bool:  # type: ignore[override]
        """Whether the search ended for lack of time."""
        return self.adjustment.ran_out

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return remarks on the search."""
        return self.adjustment.notes

    @property
    def most_moved(self) -> int:
        """Largest change of any count; to be published with the table."""
        return max(int(np.max(np.abs(self.adjustment.changes), initial=0)), self.base - 1)

    def verify(self) -> None:
        """Check the table again; no solver is called.

        Guarantee: if this returns, every relation holds exactly, no published count lies
        between 0 and the base, small counts are 0 or the base, and zeros are unchanged.

        Raises
        ------
        VerificationError
            If a condition fails; the message names it and the cells.
        """
        self.adjustment.verify()
        x, a = self.values, np.rint(self.problem.table.values).astype(np.int64)
        small = (a > 0) & (a < self.base)
        for bad, what in (
            ((x > 0) & (x < self.base), "are small counts"),
            ((x < 0) | ((a == 0) & (x != 0)), "are negative, or zeros that changed"),
            (small & (x != 0) & (x != self.base), "are neither 0 nor the base"),
        ):
            require_none(self.problem, bad, what)

    def intervals(self) -> tuple[Floats, Floats]:
        """Smallest and largest true count that a published one alone leaves possible.

        Everybody knows the base and the largest change. The relations can narrow the intervals
        further; ``tablecloak.audit(rounded.problem, rounded)`` computes by how much.
        """
        x = self.values.astype(np.float64)
        return ends_of_counts(self.problem, x, self.base, float(self.most_moved))

    def summary(self) -> str:
        """Say in one line what was rounded, and how good that is."""
        adjusted = self.adjustment
        return (
            f"small counts rounded to 0 or {self.base}: {self.problem.n_sensitive} small counts, "
            f"changes up to {self.most_moved}, loss {adjusted.loss:,.9g}, "
            f"bound {adjusted.bound:,.9g}, {self._gaps()}, {adjusted.seconds:.1f} s"
        )


def ends_of_counts(
    problem: ProtectionProblem, values: Floats, base: int, most: float
) -> tuple[Floats, Floats]:
    """Return the ends of the true counts, of published ones without small counts.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
    base : int
    most : float
        Largest change of any count, which everybody knows.
    """
    moved, frozen = values >= base, problem.frozen & (values == problem.table.values)
    lower = np.where(moved, np.maximum(values - most, 1.0), 0.0)
    upper = np.where(moved, values + most, base - 1.0)
    return np.where(frozen, values, lower), np.where(frozen, values, upper)


def small_count_rounding(
    problem: ProtectionProblem,
    *,
    base: int = 3,
    weights: WeightRule | str | npt.ArrayLike = WeightRule.UNIT,
    time_limit: float = 60.0,
    progress: Progress | None = None,
    solver: str | None = None,
    threads: int | None = None,
) -> SmallCountTable:
    """Round small counts to 0 or to a base, so that the table stays additive.

    Parameters
    ----------
    problem : ProtectionProblem
        Problem of a table of counts. Of its statuses only "frozen" has an effect: such cells stay
        as they are. Whether the others are protected is found by an attack; see `verdict()`.
    base : int, default=3
        At least 2; counts from 1 to base - 1 disappear.
    weights : WeightRule, str or array, default="unit"
        Cost of moving a count by one.
    time_limit : float, default=60
        Seconds after which the best table found is verified and returned. It holds for the first
        table too, and is exceeded by at most 5 % or 1 s, whichever is larger.
    progress : callable, optional
        Called with stage, loss, bound and number of open nodes.
    solver, threads
        As for `adjust`.

    Returns
    -------
    SmallCountTable
        Verified.

    Raises
    ------
    InputError
        If the table has fractions or negative values, the base is not a whole number of 2 or more,
        or a frozen cell is a small count.
    ModelError
        If no such table exists; the message names cells that conflict.
    SolverError
        If no such table was found in time.
    """
    _check(problem, base)
    counts = _with_small_counts(problem, base)
    a, small = problem.table.values, counts.sensitive
    # Zeros are frozen here only: to a reader a true zero looks like a count that was rounded to 0.
    moved = counts.with_changes(
        status=np.where(a == 0, CellStatus.FROZEN.value, counts.status),
        lower_protection=np.where(small, a, 0.0),
        upper_protection=np.where(small, base - a, 0.0),
    )
    adjusted = adjust(
        moved,
        weights=weights,
        sensitive_limit=1.0,
        integer=True,
        time_limit=time_limit,
        progress=progress,
        solver=solver,
        threads=threads,
    )
    result = SmallCountTable(counts, int(base), adjusted, problem)
    result.verify()
    return result


def _check(problem: ProtectionProblem, base: int) -> None:
    table, a = problem.table, problem.table.values
    check_whole("base", base, 2)
    if not table.integer or np.any(a < 0):
        raise InputError(
            "Small-count rounding needs a table of counts: whole numbers from 0. Tabulate without "
            "`value` to count records, or take another method."
        )
    held = np.flatnonzero((a > 0) & (a < base) & problem.frozen)
    if len(held):
        raise InputError(
            f"{len(held)} small counts must be published as they are (status z): "
            f"{listed(table.labels(held[:5]))}. Give them another status."
        )


def _with_small_counts(problem: ProtectionProblem, base: int) -> ProtectionProblem:
    """Return the problem whose sensitive cells are the small counts."""
    a = problem.table.values
    small, none = (a > 0) & (a < base), np.zeros(len(a))
    status = np.where(problem.frozen, CellStatus.FROZEN.value, CellStatus.SAFE.value)
    return problem.with_changes(
        status=np.where(small, CellStatus.SENSITIVE.value, status),
        lower_protection=np.where(small, a - 1, 0.0),
        upper_protection=np.where(small, base - 1 - a, 0.0),
        sliding_protection=none,
        lower_bound=none,
        upper_bound=np.full(len(a), np.inf),
        capacity_down=np.where(small, a, a - base * (a >= base)),
        capacity_up=np.full(len(a), np.inf),
    )
