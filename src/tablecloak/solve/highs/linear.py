"""A linear program in the memory of HiGHS, with hot starts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.solve.highs.instance import highspy, new_instance, pass_program, run
from tablecloak.solve.program import Program
from tablecloak.solve.solver import Claim, LoadedProgram, Method

__all__ = ["HighsProgram"]

OPTIONS: dict[Method, dict[str, Any]] = {
    Method.COLD: {},
    Method.PRESOLVED: {"presolve": "on", "simplex_strategy": 1},
    Method.INTERIOR: {"presolve": "on", "solver": "ipx", "run_crossover": "on"},
    Method.CENTRAL: {"presolve": "on", "solver": "ipx", "run_crossover": "off"},
}
"""Options of each method that starts from scratch."""


class HighsProgram(LoadedProgram):
    """One instance of HiGHS that holds a linear program.

    Parameters
    ----------
    program : Program
    primal : bool, default=False
        Start with the primal simplex method.
    """

    fallbacks: ClassVar[tuple[Method, ...]] = (Method.COLD, Method.PRESOLVED, Method.INTERIOR)

    def __init__(self, program: Program, *, primal: bool = False) -> None:
        self._options: dict[str, Any] = {
            "presolve": "off",
            "solver": "choose",
            "simplex_strategy": 4 if primal else 1,
        }
        self._highs = new_instance()
        self._set(self._options)
        pass_program(self._highs, program)

    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns; the last basis stays primal feasible."""
        self._highs.changeColsCost(len(columns), np.asarray(columns, np.int32), costs)

    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns; the last basis stays dual feasible."""
        self._highs.changeColsBounds(len(columns), np.asarray(columns, np.int32), lower, upper)

    def change_sides(self, rows: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the sides of some rows; the last basis stays dual feasible."""
        for row, low, high in zip(rows.tolist(), lower, upper, strict=True):
            self._highs.changeRowBounds(row, low, high)

    def add_rows(self, matrix: csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""
        self._highs.addRows(
            matrix.shape[0],
            lower,
            upper,
            matrix.nnz,
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )

    def drop_rows(self, rows: Integers) -> None:
        """Remove some rows; the last basis stays usable if they were slack."""
        self._highs.deleteRows(len(rows), np.asarray(rows, np.int32))

    def run(
        self,
        seconds: float,
        method: Method = Method.WARM,
        *,
        cutoff: float = np.inf,
        iterations: int | None = None,
        duals: bool = True,
    ) -> Claim:
        """Solve the program as it stands, by default from the last basis."""
        changed = self._prepare(method, cutoff, iterations)
        try:
            status = run(self._highs, seconds)
        finally:
            self._set(changed)
        raw = self._highs.getSolution()
        return Claim(
            status,
            np.array(raw.col_value, dtype=np.float64) if raw.value_valid else None,
            np.array(raw.row_dual, dtype=np.float64) if duals else np.empty(0),
            is_beyond=cutoff < np.inf and self._is_beyond(),
        )

    def _is_beyond(self) -> bool:
        """Whether the last run ended because its objective reached the cutoff."""
        return bool(self._highs.getModelStatus() == highspy().HighsModelStatus.kObjectiveBound)

    @property
    def basis(self) -> Any:
        """The last basis of the simplex method."""
        return self._highs.getBasis()

    @basis.setter
    def basis(self, basis: Any) -> None:
        self._highs.setBasis(basis)

    def _prepare(self, method: Method, cutoff: float, iterations: int | None) -> dict[str, Any]:
        """Set the options of one run; return the settings to restore afterwards."""
        before: dict[str, Any] = {}
        if method is not Method.WARM:
            self._highs.clearSolver()
            self._set(OPTIONS[method])
            before |= self._options
        if cutoff < np.inf:
            self._highs.setOptionValue("objective_bound", cutoff)
            before["objective_bound"] = np.inf
        if iterations is not None:
            self._highs.setOptionValue("simplex_iteration_limit", iterations)
            before["simplex_iteration_limit"] = int(np.iinfo(np.int32).max)
        return before

    def _set(self, options: dict[str, Any]) -> None:
        for name, setting in options.items():
            self._highs.setOptionValue(name, setting)
