"""The dual of a linear program, for solvers that return no multipliers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack

from tablecloak.arrays import Floats
from tablecloak.solve.program import Program

__all__ = ["dual_program"]


def dual_program(program: Program) -> tuple[Program, Callable[[Floats], Floats]]:
    """Return the dual as a program, and the function from its points to row multipliers.

    The dual has one column for each finite side of a row and each finite bound of a column::

        min -(L.y+ - U.y- + l.r+ - u.r-)   subject to   A'(y+ - y-) + r+ - r- = c,   all >= 0

    Parameters
    ----------
    program : Program
        Whole-number conditions are left out.
    """
    rows = eye_array(program.n_rows, format="csc")
    bounds = eye_array(program.n_columns, format="csc")
    transposed = program.matrix.T.tocsc()
    low, high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    above, below = np.isfinite(program.lower), np.isfinite(program.upper)
    parts = [transposed[:, low], -transposed[:, high], bounds[:, above], -bounds[:, below]]
    cost = np.concatenate(
        [
            -program.row_lower[low],
            program.row_upper[high],
            -program.lower[above],
            program.upper[below],
        ]
    )
    dual = Program(
        cost=cost,
        matrix=csr_array(hstack(parts, format="csr")),
        row_lower=program.cost,
        row_upper=program.cost,
        lower=np.zeros(len(cost)),
        upper=np.full(len(cost), np.inf),
    )
    n_low, n_high = int(low.sum()), int(high.sum())
    back = csr_array(hstack([rows[:, low], -rows[:, high]], format="csr"))
    return dual, lambda x: back @ x[: n_low + n_high]
