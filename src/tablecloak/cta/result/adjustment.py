"""An adjusted table with its certificate and its release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats
from tablecloak.certificates.claim import Claim
from tablecloak.cta.model.answer import LATE, AdjustmentAnswer
from tablecloak.cta.model.refinement import published_values
from tablecloak.cta.model.room import near_bound
from tablecloak.cta.model.space import AdjustmentSpace
from tablecloak.cta.result.adjusted_table import AdjustedTable, AdjustmentErrors, check_adjusted
from tablecloak.cta.result.claims import claims_of, proved_bound
from tablecloak.cta.result.decimals import decimals_of, in_decimals
from tablecloak.cta.search.task import AdjustmentTask
from tablecloak.cta.statistics.moments import ValueMoments, moments, select
from tablecloak.cta.statistics.statistic import PreservedRow
from tablecloak.errors import CHANGED, SolverError, VerificationError
from tablecloak.tables.protected_table import ProtectedTable
from tablecloak.tables.published import published_column, published_order, published_rows

TOLERABLE_RISK = 0.2
"""Share of the sensitive cells that may be guessed before a verdict warns, and beyond which a
comparison takes no method. Chosen."""


@dataclass(frozen=True, eq=False, repr=False)
class Adjustment(AdjustedTable, ProtectedTable):
    """An adjusted table: additive, safe, and the nearest to the true one that was found.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
        Adjusted values.
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of changing each cell by one unit.
    sensitive_limit : float or None
        Largest change of a sensitive cell, as a multiple of its level.
    preserved : tuple of PreservedRow or Condition
        Rows on changes in units of the last digit.
    bound_certificate : LossBound or None
        None if the bound is 0, which holds since no weight is negative.
    bound : float
        Proved lower bound on the loss of any adjustment with the same room and statistics.
    seconds : float
    decimals : int or None
        Levels were rounded up and rooms down to multiples of 10^-decimals; None if not.
    integer : bool
        Whether all values had to be such multiples: for decimals = 0, whole numbers.
    notes : tuple of str
    distance : str, default="L1"
        Name of the distance that was minimised.
    chance : Chance, optional
        How far chance moved sensitive cells, where distances were left to it. The bound is then
        that of the least adjustment.
    reach : numpy.ndarray of float, optional
        Farthest that the search moved each cell, with which the program of its multipliers is laid
        out again. What they prove does not rest on it.
    """

    promise: ClassVar[str] = (
        "It is proved that every sensitive cell is published at least its level away from its true "
        "value, and that the table adds up. It is not proved that the truth cannot be guessed: who "
        "knows the method and the levels may compute backwards, as `attack_adjustment` does."
    )
    price: ClassVar[str] = "changed beyond the least that the levels ask"
    saving: ClassVar[str] = "no table that keeps the same levels changes less"

    @classmethod
    def of(
        cls, task: AdjustmentTask, space: AdjustmentSpace, answer: AdjustmentAnswer
    ) -> Adjustment:
        """Bring an answer back to the problem of a task, prove its bound, and check it.

        Parameters
        ----------
        task : AdjustmentTask
        space : AdjustmentSpace
            In which the answer was found.
        answer : AdjustmentAnswer

        Raises
        ------
        SolverError
            If what was found is no table: a solver keeps relations up to its tolerance, and there
            need not be a table next to what it found.
        """
        digits = task.digits
        if answer.is_whole and digits.is_needed:
            multiples = space.problem.table.values.astype(np.longdouble) + answer.changes
            values = digits.values(multiples.astype(np.float64))
        else:
            values = published_values(task.problem, answer.changes * digits.unit)
        preserved: Sequence[PreservedRow] = space.preserved
        proof, reach = answer.certificate, space.reach
        if task.decimals is not None and not answer.is_whole:
            # The values have more digits, so that nothing is said of a last one. Multipliers of
            # rows prove a bound whatever the unit.
            if proof is not None:
                proof = proof.loss_proof(space, answer.changes.astype(np.float64))
            reach = reach * digits.unit
            task = task.in_real_numbers()
            preserved = task.rows(task.problem, whole=False)
        unproved = cls(
            problem=task.problem,
            values=values,
            weights=task.weights,
            sensitive_limit=task.sensitive_limit,
            preserved=(*preserved, *task.conditions),
            bound_certificate=proof,
            bound=0.0,
            seconds=0.0,
            decimals=task.decimals,
            # Without a last digit no value has to be a multiple of it, even if all are whole.
            integer=answer.is_whole and task.decimals is not None,
            notes=(*answer.notes, *task.notes),
            distance=task.distance.name,
            reach=reach,
        )
        adjusted = replace(unproved, bound=unproved.proved_bound())
        try:
            check_adjusted(adjusted, adjusted.bound)
        except VerificationError as error:
            raise SolverError(
                f"No adjustment was found, and none was proved to be impossible. What the search "
                f"found is none: {str(error).removesuffix(CHANGED).strip()} Relax `preserve`, "
                f"capacities or levels, or measure cells in units in which the coefficients of a "
                f"relation are alike."
            ) from None
        return adjusted

    def or_better(self, other: Adjustment) -> Adjustment:
        """Return the one of two adjustments that loses less, with the higher bound of the two."""
        kept, left = (other, self) if other.loss < self.loss else (self, other)
        if kept.decimals != left.decimals:
            return kept
        with_other = replace(kept, bound_certificate=left.bound_certificate, reach=left.reach)
        proved = with_other.proved_bound()
        return kept if proved <= kept.bound else replace(with_other, bound=proved)

    @property
    def is_changed(self) -> Flags:
        """Which values differ from the true ones by more than their own rounding."""
        changed: Flags = np.abs(self.changes) > near_bound(self.values, self.values)
        return changed

    @property
    def unavoidable(self) -> float:
        """Loss if each sensitive cell moved by its smaller level and nothing else had to move."""
        levels = [self.problem.lower_protection, self.problem.upper_protection]
        # A side on which the level is 0 does not count.
        least = np.min([np.where(level > 0, level, np.inf) for level in levels], axis=0)
        moves = self.problem.sensitive & np.isfinite(least)
        return self._loss_of(np.where(moves, least, 0.0))

    def moments(self, subset: object = "sensitive") -> ValueMoments:
        """Compare adjusted with original values over a subset of cells."""
        cells = select(self.problem, subset)  # type: ignore[arg-type]
        return moments(self.problem.table.values[cells], self.values[cells])

    @cached_property
    def certificates(self) -> tuple[Claim, ...]:
        """Return what is claimed of the adjusted table, each claim with its proof. Secret."""
        return claims_of(self)

    @cached_property
    def guessed(self) -> Any:
        """What one guesses who knows the method and the levels; None if there is no guess. Secret.

        An `AdjustmentRisk`, of an attack of some seconds. Verdicts rest on it.
        """
        return showing.attacked(self, self.problem)

    def told(self) -> tuple[Floats, Floats]:
        """Return the external bounds: an adjusted value is near the truth, and bounds nothing."""
        problem, values = self.problem, self.problem.table.values
        return (
            np.where(problem.frozen, values, problem.lower_bound),
            np.where(problem.frozen, values, problem.upper_bound),
        )

    def proved_bound(self) -> float:
        """Return the bound on the loss that the claim of it proves; no solver is called.

        Built anew from the problem and plain arrays by the stand-alone verifier, cell by cell.
        """
        return proved_bound(self)

    def verify(self) -> AdjustmentErrors:
        """Check table, levels, statistics and bound again; no solver is called.

        Guarantee: if this returns, the values satisfy every relation and every bound, frozen
        cells are unchanged, and each sensitive cell lies at least its upper level above or its
        lower level below the true value, on a side whose level is not 0. Where the table has a
        last digit, relations hold exactly in it and levels up to 1e-9 of themselves; else a
        relation may be off by 4 units in the last binary place of its own terms, and a bound by
        4 of its value. Proof: docs/guarantees.md, section 3.

        Raises
        ------
        VerificationError
            Names the condition that fails, the cells, and by how much.
        """
        return check_adjusted(self, self.proved_bound())

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell with true and adjusted value. Secret."""
        return self.problem.table.to_frame().assign(adjusted=self.values, change=self.changes)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and adjusted values.

        Nothing tells which cells are sensitive or how much was changed. All values have the
        digits of the true table: see `in_decimals`, which looks for such a table if this is none.

        Raises
        ------
        SolverError
            If the values have more digits and no such table is found near them.
        """
        table, values = self.problem.table, in_decimals(self).values
        order = published_order(table)
        digits = decimals_of(self)
        decimals = None if digits is None else max(digits, 0)
        return published_rows(table, **{table.name: published_column(values[order], decimals)})

    def summary(self) -> str:
        """Say in one line what was changed, and how good the table is."""
        changed = int(np.sum(self.is_changed))
        compared = self.moments() if self.problem.n_sensitive > 1 else None
        statistics = (
            f", sensitive cells: slope {compared.slope:.2f}, correlation {compared.correlation:.2f}"
            if compared
            else ""
        )
        return (
            f"adjustment: loss {self.loss:,.9g}, bound {self.bound:,.9g}, {self._gaps()}"
            f", {changed} cells changed, {self.problem.n_sensitive} sensitive cells far enough"
            f"{statistics}, {self.seconds:.1f} s{f' ({LATE})' if LATE in self.notes else ''}"
        )

    def _safety(self) -> Iterator[str]:
        n, guesses = self.problem.n_sensitive, f"{self._guesses()}{self._chance()}."
        if self._is_guessed:
            yield f"WARNING: {guesses}"
        yield (
            f"Protected against all who take the published values for true: proved for {n} of {n} "
            f"sensitive cells, each of which is at least its level away from its true value; the "
            f"table adds up."
        )
        if not self._is_guessed:
            yield guesses

    def _guesses(self) -> str:
        """Say how many sensitive cells are guessed by one who runs the method backwards."""
        if self.guessed is None:
            return (
                "Not known: how many sensitive cells are guessed by one who knows the method and "
                "the levels; running the method backwards gave no guess"
            )
        others = "" if self._is_guessed else "; other attacks may guess more"
        which = " (`tablecloak audit --knows levels` tells which)" * bool(
            self.guessed.recovered.any()
        )
        return (
            f"{self._n_guessed()} are guessed to within their protection levels by one who knows "
            f"the method and these levels, and runs the method backwards{which}{others}"
        )

    def _n_guessed(self) -> str:
        recovered = self.guessed.recovered
        return f"{int(recovered.sum())} of {len(recovered)} sensitive cells"

    @property
    def _is_guessed(self) -> bool:
        """Whether more sensitive cells are guessed than anybody asked for, or tolerates."""
        asked = TOLERABLE_RISK if self.chance is None else max(TOLERABLE_RISK, self.chance.recovery)
        return self.guessed is not None and self.guessed.share_recovered > asked

    def _chance(self) -> str:
        """Say what is proved of distances that were left to chance."""
        if self.chance is None:
            return ""
        return (
            f". A cell by itself is guessed with a probability of at most "
            f"{100 * self.chance.recovery:g} %; what relations add to that is not proved"
        )

    def _quality(self) -> str:
        if self.chance is None or self.is_optimal:
            return super()._quality()
        return (
            f"How good: chance costs at most {100 * self.avoidable_gap:.0f} % of what is "
            f"{self.price}; a larger `recovery` costs less."
        )

    @property
    def _is_open(self) -> bool:
        return self.chance is None and super()._is_open

    def _release_advice(self) -> str:
        if self.guessed is None or not np.any(self.guessed.recovered):
            return super()._release_advice()
        if not self._is_guessed:
            return f"publish its release if it does no harm that {self._n_guessed()} are guessed"
        other = (
            "leave distances to chance (`recovery = 0.1` in [adjustment] of a job, `--recovery "
            "0.1` of `tablecloak adjust`)"
            if self.chance is None
            else "lower `recovery`"
        )
        return (
            f"{other}, or take cell suppression, which protects every sensitive cell; publish this "
            f"release only if nobody can learn the levels"
        )

    def _extent(self) -> str:
        return self._changed(self.values, self.is_changed)
