"""Whole steps from a starting point, as a program."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.cta.model.steps import StepBlock, StepProgram


def test_moves_of_blocks_add_up_and_keep_the_rows():
    matrix = csr_array(np.array([[1.0, 1.0, -1.0]]))
    up = StepBlock(np.array([0, 1]), 1, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    down = StepBlock(np.array([1, 2]), -1, np.array([5.0, 6.0]), np.array([7.0, 8.0]))
    steps = StepProgram.of(matrix, np.zeros(1), np.zeros(1), [up, down])
    assert steps.program.cost.tolist() == [1, 2, 5, 6]
    assert steps.program.upper.tolist() == [3, 4, 7, 8]
    assert steps.program.integral.all()
    x = np.array([2.0, 1.0, 3.0, 0.0])
    assert steps.moves(x).tolist() == [2, -2, 0]
    assert np.array_equal(steps.program.matrix @ x, matrix @ steps.moves(x))


def test_a_program_without_steps_moves_nothing():
    none = StepBlock(np.empty(0, dtype=np.int64), 1, np.empty(0), np.empty(0))
    steps = StepProgram.of(csr_array((1, 2)), np.zeros(1), np.zeros(1), [none])
    assert steps.moves(np.empty(0)).tolist() == [0, 0]
