"""Linear programs of a naive attack, handed to HiGHS as they are; no code of the package.

`scipy.optimize.linprog` spends ten times as long on checking its arguments as on such a program,
and an attack is hundreds of them that differ in their costs only.
"""

from __future__ import annotations

import highspy
import numpy as np
from scipy.sparse import csr_array


class Reach:
    """How far single columns move over A x = 0, low <= x <= high.

    Parameters
    ----------
    relations : array or sparse array, shape (n_rows, n_columns)
    low, high : array_like, shape (n_columns,)
        May be infinite.
    side : array_like, shape (n_rows,), optional
        Right-hand side, by default 0.
    """

    def __init__(self, relations, low, high, side=None) -> None:
        matrix = csr_array(relations, dtype=np.float64)
        program = highspy.HighsLp()
        program.num_row_, program.num_col_ = matrix.shape
        program.col_cost_ = np.zeros(matrix.shape[1])
        program.col_lower_ = np.asarray(low, dtype=np.float64)
        program.col_upper_ = np.asarray(high, dtype=np.float64)
        side = np.zeros(matrix.shape[0]) if side is None else np.asarray(side, dtype=np.float64)
        program.row_lower_ = program.row_upper_ = side
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        program.a_matrix_.index_ = matrix.indices.astype(np.int32)
        program.a_matrix_.value_ = matrix.data
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("threads", 1)
        self.highs.passModel(program)
        self.priced = 0

    def farthest(self, column: int, sign: int) -> float:
        """Largest value of sign * x of one column; inf if nothing bounds it."""
        self.highs.changeColCost(self.priced, 0.0)
        self.highs.changeColCost(column, -float(sign))
        self.priced = column
        self.highs.run()
        status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kUnknown:
            self.highs.clearSolver()
            self.highs.run()
            status = self.highs.getModelStatus()
        if status == highspy.HighsModelStatus.kUnbounded:
            return np.inf
        assert status == highspy.HighsModelStatus.kOptimal, status
        return -float(self.highs.getObjectiveValue())
