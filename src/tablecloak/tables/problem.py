"""The protection problem: sensitive cells, protection levels, and an intruder's prior knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak import showing
from tablecloak.arrays import Flags, Floats, median_of_positive
from tablecloak.errors import InputError, ModelError, listed
from tablecloak.tables.cell_arrays import CellArrays, CellStatus
from tablecloak.tables.figures.figure import numerators_of
from tablecloak.tables.table import LARGEST_TERM, Table
from tablecloak.tables.weights import WeightRule


def require_problem(given: object) -> None:
    """Raise if what is to be protected does not say what is sensitive.

    Raises
    ------
    InputError
        Says how a problem is made of what was given.
    """
    if isinstance(given, ProtectionProblem):
        return
    if isinstance(given, Table):
        raise InputError(
            "`problem` is a table, which does not say which cells are sensitive. Call protect "
            "first, as in problem = table.protect(tc.PPercent(10)), and give its result."
        )
    raise InputError(
        f"`problem` must be a ProtectionProblem, found {type(given).__name__}. Make a table with "
        f"tc.tabulate, call its protect with rules, and give the result."
    )


@dataclass(frozen=True, eq=False)
class _OfTable:
    table: Table


@dataclass(frozen=True, eq=False)
class ProtectionProblem(CellArrays, _OfTable):
    """A table with its sensitive cells, their protection levels, and the intruder's bounds.

    Every array has one entry for each cell and is read-only. Levels are distances >= 0.

    Parameters
    ----------
    table : Table
    status, reasons : numpy.ndarray of str, shape (n_cells,)
    lower_protection, upper_protection, sliding_protection, lower_bound, upper_bound, weights, \
capacity_down, capacity_up : numpy.ndarray of float, shape (n_cells,)
        See `CellArrays`, which says what each array holds, and which may be left out.

    Raises
    ------
    InputError
        If shapes disagree, a number is not one, a level or weight is negative, or a value
        lies outside its external bounds.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_numbers()
        self._check_bounds()

    def _size(self) -> int:
        return self.table.n_cells

    def _made(self, arrays: Mapping[str, Any]) -> CellArrays:
        return CellArrays(**arrays)

    @classmethod
    def of(cls, table: Table, arrays: CellArrays) -> Self:
        """Return the problem of a table with arrays that were made for its cells."""
        return cls(table=table, **arrays.by_name())

    # -- masks ----------------------------------------------------------------------------

    @cached_property
    def sensitive(self) -> Flags:
        """Which cells are sensitive (primary)."""
        return self._has(CellStatus.SENSITIVE)

    @cached_property
    def forced(self) -> Flags:
        """Which cells must be suppressed although they are not sensitive."""
        return self._has(CellStatus.FORCED)

    @cached_property
    def frozen(self) -> Flags:
        """Which cells must be published as they are."""
        return self._has(CellStatus.FROZEN)

    @property
    def free(self) -> Flags:
        """Which cells may be suppressed or published."""
        free: Flags = ~(self.frozen | self.sensitive | self.forced)
        return free

    @property
    def n_sensitive(self) -> int:
        """Number of sensitive cells."""
        return int(self.sensitive.sum())

    def ends(self, hidden: Flags) -> tuple[Floats, Floats]:
        """Return both ends of what is told of each cell: its value, or if hidden its bounds."""
        values = self.table.values
        return (
            np.where(hidden, self.lower_bound, values),
            np.where(hidden, self.upper_bound, values),
        )

    @cached_property
    def unit(self) -> float:
        """Median positive protection level: the length by which programs are scaled."""
        levels = np.concatenate(
            [
                self.lower_protection[self.sensitive],
                self.upper_protection[self.sensitive],
                self.sliding_protection[self.sensitive],
            ]
        )
        return median_of_positive(levels)

    def _has(self, status: CellStatus) -> Flags:
        flags: Flags = self.status == status.value
        flags.flags.writeable = False
        return flags

    # -- variations -----------------------------------------------------------------------

    def with_changes(self, **changes: Any) -> ProtectionProblem:
        """Return the same problem with other statuses, levels, bounds, weights or capacities.

        Scalars are spread over all cells.
        """
        n, kinds = self.table.n_cells, self.kinds()
        arrays: dict[str, Any] = {
            name: np.broadcast_to(np.asarray(value), (n,)) if name in kinds else value
            for name, value in changes.items()
        }
        return replace(self, **arrays)

    def within(self, cells: Flags) -> ProtectionProblem:
        """Return the problem in which all other cells are published as they are.

        Parameters
        ----------
        cells : numpy.ndarray of bool, shape (n_cells,)
        """
        return self.with_changes(
            status=np.where(cells, self.status, CellStatus.FROZEN.value),
            lower_protection=np.where(cells, self.lower_protection, 0.0),
            upper_protection=np.where(cells, self.upper_protection, 0.0),
            sliding_protection=np.where(cells, self.sliding_protection, 0.0),
        )

    def with_weights(self, rule: WeightRule | str) -> ProtectionProblem:
        """Return the same problem with weights by a rule; rests of groups weigh nothing.

        Weights of variables with different units are made comparable, as in `tablecloak.join`.
        That of a derived figure stays the same multiple of the weight of its numerator.
        """
        chosen, table = WeightRule(rule), self.table
        weights = np.where(table.rests, 0.0, chosen.of(self))
        if table.variables is not None and chosen.is_of_table:
            weights = table.variables.comparable(weights, table.keys)
        figures, numerators = numerators_of(table)
        before = self.weights[numerators]
        share = np.divide(self.weights[figures], before, out=np.ones(len(before)), where=before > 0)
        weights[figures] = share * weights[numerators]
        return self.with_changes(weights=weights)

    def with_capacity(
        self,
        absolute: npt.ArrayLike | None = None,
        *,
        percent: npt.ArrayLike | None = None,
    ) -> ProtectionProblem:
        """Return the same problem with limits on how far an adjustment moves other cells.

        Parameters
        ----------
        absolute : float or array_like of float, shape (n_cells,), optional
            Largest change both ways, such as the measurement error of each cell.
        percent : float or array_like of float, shape (n_cells,), optional
            Largest change in per cent of the true value. With both the smaller one counts.

        Raises
        ------
        InputError
            If a limit is negative or not a number.
        """
        limit = np.full(self.table.n_cells, np.inf)
        if absolute is not None:
            limit = np.minimum(limit, np.asarray(absolute, dtype=np.float64))
        if percent is not None:
            share = np.asarray(percent, dtype=np.float64) / 100
            limit = np.minimum(limit, share * np.abs(self.table.values))
        return self.with_changes(capacity_down=limit, capacity_up=limit)

    # -- what it says ---------------------------------------------------------------------

    def summary(self) -> str:
        """Say in one line what is to be protected."""
        return (
            f"{self.table.n_cells:,} cells, {self.table.n_relations:,} relations, "
            f"{self.n_sensitive:,} sensitive, {int(self.frozen.sum()):,} frozen"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell with all that is known of it. Secret."""
        return self.table.keys.assign(value=self.table.values, **self.by_name())

    def __repr__(self) -> str:
        return f"<ProtectionProblem: {self.summary()}>"

    def _repr_html_(self) -> str:
        return showing.html(self)

    # -- checks ---------------------------------------------------------------------------

    def _check_numbers(self) -> None:
        letters = {status.value for status in CellStatus}
        unknown = [str(letter) for letter in np.unique(self.status) if letter not in letters]
        if unknown:
            raise InputError(
                f"Unknown cell status {unknown[0]!r}; expected s (safe), u (sensitive), m (must be "
                f"suppressed) or z (frozen)."
            )
        for name, kind in self.kinds().items():
            if kind.is_finite is None:
                continue
            array = getattr(self, name)
            no_number = ~(array >= 0) | (kind.is_finite & np.isinf(array))
            extreme = (array > LARGEST_TERM) | (array < 1 / LARGEST_TERM)
            extreme &= np.isfinite(array) & (array != 0)
            for odd, expected in (
                (no_number, f"a {'finite ' * kind.is_finite}number >= 0."),
                (
                    extreme,
                    f"0, or from {1 / LARGEST_TERM:g} to {LARGEST_TERM:g}; take another unit.",
                ),
            ):
                bad = np.flatnonzero(odd)
                if len(bad):
                    raise InputError(
                        f"`{name}` of cell {self.table.label(int(bad[0]))} is {array[bad[0]]:g} "
                        f"({len(bad)} such cells). It must be {expected}",
                        cells=bad,
                    )

    def _check_bounds(self) -> None:
        values = self.table.values
        outside = np.flatnonzero(~((self.lower_bound <= values) & (values <= self.upper_bound)))
        if len(outside):
            worst = int(outside[0])
            raise InputError(
                f"Cell {self.table.label(worst)} has the value {values[worst]:g}, outside its "
                f"external bounds [{self.lower_bound[worst]:g}, {self.upper_bound[worst]:g}] "
                f"({len(outside)} such cells). Widen the bounds or correct the value.",
                cells=outside,
            )

    def check_levels(self, lower: Floats, upper: Floats) -> None:
        """Raise if the external bounds alone already break a level.

        Parameters
        ----------
        lower, upper : numpy.ndarray of float, shape (n_cells,)
            Distances below and above its value that a sensitive cell must be able to reach.

        Raises
        ------
        ModelError
            Names the cells: the external bounds alone disclose them, without any table.
        """
        values = self.table.values
        # Bounds and levels come from decimal figures, so equality holds only up to rounding.
        slack = 1e-9 * np.maximum(np.abs(values), lower + upper)
        too_low = values - lower < self.lower_bound - slack
        too_high = values + upper > self.upper_bound + slack
        bad = np.flatnonzero(self.sensitive & (too_low | too_high))
        if not len(bad):
            return
        first = int(bad[0])
        raise ModelError(
            f"{len(bad)} sensitive cells have protection levels beyond their external bounds: "
            f"{listed(self.table.labels(bad[:5]))}{' and more' if len(bad) > 5 else ''}. Cell "
            f"{self.table.label(first)} = {values[first]:g} must be possible from "
            f"{values[first] - lower[first]:g} to {values[first] + upper[first]:g}, but everybody "
            f"knows that it lies in [{self.lower_bound[first]:g}, {self.upper_bound[first]:g}]. "
            f"Lower these levels or widen these bounds.",
            cells=bad,
        )
