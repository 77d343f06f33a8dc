"""External bounds that programs can use: finite ones, and those of published intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["with_finite_bounds", "with_intervals"]

Floats = npt.NDArray[np.float64]


def with_finite_bounds(problem: ProtectionProblem) -> ProtectionProblem:
    """Return the problem with infinite external bounds replaced by distant finite ones.

    The finite bounds are so distant that they rarely matter. Where they do, they make the intruder
    stronger, so that every proof holds for the given bounds as well.
    """
    if np.all(np.isfinite(problem.lower_bound)) and np.all(np.isfinite(problem.upper_bound)):
        return problem
    levels = np.concatenate([problem.lower_protection, problem.upper_protection])
    levels = np.append(levels, problem.sliding_protection)
    far = 10 * float(np.abs(problem.table.values).max(initial=0)) + 100 * float(
        levels.max(initial=1)
    )
    values = problem.table.values
    return problem.with_changes(
        lower_bound=np.where(np.isinf(problem.lower_bound), values - far, problem.lower_bound),
        upper_bound=np.where(np.isinf(problem.upper_bound), values + far, problem.upper_bound),
    )


def with_intervals(problem: ProtectionProblem, lower: Floats, upper: Floats) -> ProtectionProblem:
    """Return the problem of an intruder who knows published intervals.

    Parameters
    ----------
    problem : ProtectionProblem
    lower, upper : numpy.ndarray of float, shape (n_cells,)

    Raises
    ------
    InputError
        If an interval does not contain the true value; names the first cell.
    """
    values = problem.table.values
    wrong = np.flatnonzero((lower > values) | (upper < values))
    if len(wrong):
        raise InputError(
            f"{len(wrong)} intervals do not hold the true value, the first is that of "
            f"{problem.table.label(int(wrong[0]))}. Widen them, or check that they belong to this "
            f"table."
        )
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, lower),
        upper_bound=np.minimum(problem.upper_bound, upper),
    )
