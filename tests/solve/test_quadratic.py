"""Quadratic programs: they end."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from tablecloak.solve.bounds import violation
from tablecloak.solve.program import Program
from tablecloak.solve.quadratic import solve_quadratic

DATA = Path(__file__).resolve().parents[1] / "data"


def test_a_program_on_which_the_active_set_method_circles_comes_to_an_end_without_a_limit():
    data = json.loads((DATA / "cycling_quadratic.json").read_text())
    matrix = csr_array((data["data"], (data["rows"], data["columns"])), shape=data["shape"])
    ends = (np.array(data[name]) for name in ("row_lower", "row_upper", "lower", "upper"))
    program = Program(np.zeros(matrix.shape[1]), matrix, *ends)
    x, _ = solve_quadratic(program, np.array(data["curvature"]))
    assert violation(program, x).worst <= 1e-6
