"""The programs that solvers are asked mean what the methods mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import tablecloak as tc
from bench.answers import judge_programs
from bench.instances import generated
from bench.programs import PROGRAMS
from bench.solvers import ask


def test_the_complete_formulation_has_the_optimum_of_the_exact_method():
    problem = generated((4, 4), 0.2)
    program = PROGRAMS["suppression-complete"](problem)
    found = milp(
        program.cost,
        constraints=LinearConstraint(program.matrix, program.row_lower, program.row_upper),
        bounds=Bounds(program.lower, program.upper),
        integrality=program.integral.astype(int),
    )
    pattern = tc.suppress(problem, method="exact")
    assert pattern.is_optimal
    chosen = np.rint(found.x[: problem.table.n_cells]) > 0
    assert problem.weights[chosen].sum() == pytest.approx(pattern.loss)


def test_the_complete_formulation_asks_for_no_widths():
    problem = generated((4, 4), 0.2)
    wide = problem.with_changes(sliding_protection=problem.upper_protection)
    assert PROGRAMS["suppression-complete"](wide) is None


def test_every_solver_gives_the_same_optimum_of_every_program():
    problem = generated((4, 4), 0.2)
    # The complete formulation is solved by another test.
    assert "suppression-complete" in PROGRAMS
    for name in set(PROGRAMS) - {"suppression-complete"}:
        program = PROGRAMS[name](problem)
        solvers = [
            "tablecloak",
            "highs-mip" if program.is_mixed_integer else "highs-simplex",
            "cbc",
        ]
        answers = {solver: ask(solver, program, name, 20) for solver in solvers}
        found = judge_programs(program, answers)
        assert {judged.verdict for judged in found.values()} == {"solved"}, name
        assert np.ptp([judged.value for judged in found.values()]) < 1e-4, name
