"""A pattern under question: what everybody knows of it, what each cell needs, who attacks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.explaining.derivation import CellRanges, Derivation, derived
from tablecloak.explaining.explanation import shown
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.system.needs import Needs, asked_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Interval:
    """The interval of a cell for somebody, and whether it is wide enough.

    Parameters
    ----------
    lower, upper : Derivation
    required_lower, required_upper, required_width : float
        Ends that the interval must reach and its least width, for a sensitive cell.
    """

    lower: Derivation
    upper: Derivation
    required_lower: float
    required_upper: float
    required_width: float
    value: float

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return float(self.lower.limit), float(self.upper.limit)

    @property
    def is_point(self) -> bool:
        """Whether both sums are the same, read from either side: the value is computed exactly."""
        return self.lower.limit == self.upper.limit and self.lower.terms == self.upper.terms

    @property
    def is_too_narrow(self) -> bool:
        """Whether the attack succeeds: an end is too near, or both are too near each other."""
        low, high = self.ends
        slack = 1e-9 * max(abs(self.value), self.required_width, high - low)
        return (
            high < self.required_upper - slack
            or low > self.required_lower + slack
            or high - low < self.required_width - slack
        )

    @property
    def share(self) -> float:
        """Reach as a share of the need, on the side that is worse; below 1 the attack succeeds."""
        low, high = self.ends
        pairs = (
            (high - self.value, self.required_upper - self.value),
            (self.value - low, self.value - self.required_lower),
            (high - low, self.required_width),
        )
        return min((reach / need for reach, need in pairs if need > 0), default=np.inf)

    def failing(self) -> list[Derivation]:
        """Return the sums that show why the attack succeeds; both where the width is too small."""
        if self.is_point:
            return [self.upper]
        low, high = self.ends
        found = [self.lower] * (low > self.required_lower)
        found += [self.upper] * (high < self.required_upper)
        return found or [self.lower, self.upper]

    def lines(self, who: str) -> list[str]:
        """Return what somebody can compute, as sums, and whether that is too close."""
        low, high = self.ends
        lies = f"exactly: {shown(low)}" if low == high else f"that it lies {self.span()}"
        head = f"{who} can compute {'it ' * (low == high)}{lies}."
        if self.is_point:
            return [head, *self.upper.lines("exactly"), self.verdict()]
        return [head, *self.upper.lines(), *self.lower.lines(), self.verdict()]

    def span(self) -> str:
        """Return from where to where the cell can lie, in words."""
        low, high = self.ends
        if math.isfinite(low) and math.isfinite(high):
            return f"from {shown(low)} to {shown(high)}"
        if math.isfinite(high):
            return f"at most at {shown(high)}"
        return f"at least at {shown(low)}" if math.isfinite(low) else "anywhere"

    def verdict(self) -> str:
        """Say whether the interval is as wide as required."""
        least = self.required_width
        wider = least > self.required_upper - self.required_lower
        required = (
            f"required: from {shown(self.required_lower)} to {shown(self.required_upper)}"
            f"{f', and at least {shown(least)} wide' if wider else ''}"
        )
        return f"{'This is too close' if self.is_too_narrow else 'Protected'} ({required})."

    def facts(self) -> dict[str, Any]:
        """Return the interval, its sums and what is required as plain numbers."""
        low, high = (end if math.isfinite(end) else None for end in self.ends)
        return {
            "lower": low,
            "upper": high,
            "required_lower": self.required_lower,
            "required_upper": self.required_upper,
            "required_width": self.required_width,
            "is_protected": not self.is_too_narrow,
            "lower_sum": self.lower.to_dict(),
            "upper_sum": self.upper.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class PatternQuestion:
    """A pattern, or published intervals, and all that an explanation asks of it.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        What the release tells of each cell: equal where the value is published.
    hidden : numpy.ndarray of bool, shape (n_cells,)
    requirement : Requirement
    intruders : sequence of Intruder
        Insiders besides the external intruder.
    budget : Budget
    witnesses : tuple of (numpy.ndarray of int, numpy.ndarray of float), default=()
        Cells and moves of the witnesses that prove the pattern: those that do not move a cell still
        hold if it is published.
    """

    problem: ProtectionProblem
    lower: Floats
    upper: Floats
    hidden: Flags
    requirement: Requirement
    intruders: Sequence[Intruder]
    budget: Budget
    witnesses: tuple[tuple[Integers, Floats], ...] = ()

    @classmethod
    def of(
        cls, pattern: SuppressionPattern, intruders: Sequence[Intruder], budget: Budget
    ) -> PatternQuestion:
        """Return the question for a pattern of a search, with the witnesses that prove it."""
        moves = csr_array(pattern.certificate.deviations)
        ends = moves.indptr[1:-1]
        cells = np.split(moves.indices.astype(np.int64), ends)
        return cls(
            pattern.problem,
            *pattern.told(),
            pattern.suppressed,
            pattern.requirement,
            intruders,
            budget,
            tuple(zip(cells, np.split(moves.data, ends), strict=True)),
        )

    @cached_property
    def ranges(self) -> CellRanges:
        """All that the external intruder knows."""
        problem = self.problem
        return CellRanges(
            problem.table,
            np.maximum(self.lower, problem.lower_bound),
            np.minimum(self.upper, problem.upper_bound),
            problem.table.values,
            problem.unit,
        )

    @cached_property
    def needs(self) -> Needs:
        """Distances that the levels ask for."""
        return asked_of(self.problem, self.requirement)

    @property
    def is_of_intervals(self) -> bool:
        """Whether the release tells more of a hidden cell than everybody knows before."""
        narrow = (self.lower > self.problem.lower_bound) | (self.upper < self.problem.upper_bound)
        return bool(np.any(narrow & self.hidden))

    def publishing(self, cell: int) -> PatternQuestion:
        """Return the question if one cell were published with its true value."""
        value = self.problem.table.values[cell]
        low, high, hidden = self.lower.copy(), self.upper.copy(), self.hidden.copy()
        low[cell] = high[cell] = value
        hidden[cell] = False
        return replace(self, lower=low, upper=high, hidden=hidden)

    def knowing(self, knowledge: Knowledge) -> CellRanges:
        """Return all that an insider knows."""
        cells = knowledge.cells
        lower = np.maximum(self.ranges.lower[cells], knowledge.lower)
        upper = np.minimum(self.ranges.upper[cells], knowledge.upper)
        return self.ranges.with_ends(cells, lower, upper)

    def interval(self, cell: int, knowledge: Knowledge | None = None) -> Interval:
        """Return what everybody, or an insider, can compute of a cell, as two sums.

        Of an insider no more is asked than its own knowledge of the cell leaves, as in the proof: a
        contributor alone in a cell attacks others, not itself.
        """
        ranges, least, most = self.ranges, -math.inf, math.inf
        if knowledge is not None:
            ranges = self.knowing(knowledge)
            if cell in knowledge.cells:
                least, most = float(ranges.lower[cell]), float(ranges.upper[cell])
        place = int(np.searchsorted(self.needs.cells, cell))
        is_needed = place < len(self.needs.cells) and self.needs.cells[place] == cell
        value = float(self.problem.table.values[cell])
        needs = self.needs
        low, high = value, value
        if is_needed:
            low = max(value - float(needs.lower[place]), least)
            high = min(value + float(needs.upper[place]), most)
        return Interval(
            lower=derived(ranges, cell, -1, self.budget.left),
            upper=derived(ranges, cell, 1, self.budget.left),
            required_lower=low,
            required_upper=high,
            required_width=min(float(needs.width[place]), most - least) if is_needed else 0.0,
            value=value,
        )
