"""Programs that tests of solvers share."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.solve.program import Program


def small(upper: float = 2.0) -> Program:
    """min x + 2 y over x + y >= 3, 0 <= x <= 2, 0 <= y <= 5; the optimum is 4."""
    return Program(
        np.array([1.0, 2.0]),
        csr_array([[1.0, 1.0]]),
        np.array([3.0]),
        np.array([np.inf]),
        np.zeros(2),
        np.array([upper, 5.0]),
    )


def knapsack(seed: int) -> Program:
    """Twelve 0/1 columns in six covering rows."""
    random = np.random.default_rng(seed)
    matrix = csr_array(random.integers(0, 5, (6, 12)).astype(float))
    cost = random.integers(1, 50, 12).astype(float)
    low = np.asarray(matrix.sum(axis=1)).reshape(-1) * 0.4
    return Program(cost, matrix, low, np.full(6, np.inf), np.zeros(12), np.ones(12),
                   np.ones(12, dtype=bool))  # fmt: skip
