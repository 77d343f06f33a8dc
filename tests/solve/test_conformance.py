"""Every solver that is installed passes the conformance suite; a solver that cannot does not."""

from __future__ import annotations

import numpy as np
import pytest

from mock_solver import MockSolver, optimal
from tablecloak.solve.conformance import CHECKS, conforms
from tablecloak.solve.pulp import Cbc
from tablecloak.solve.solver import SOLVERS, Capability


class LinearOnly(Cbc):
    """CBC as if it returned neither multipliers nor whole numbers."""

    capabilities = frozenset()


class Upside(Cbc):
    """CBC with multipliers of the wrong sign."""

    def run(self, program, request):
        claim = super().run(program, request)
        return type(claim)(claim.status, claim.x, -claim.duals)


INSTALLED = [each for each in SOLVERS if not each.missing()]


def test_highs_and_cbc_are_there():
    assert {"highs", "cbc"} <= {each.name for each in INSTALLED}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("solver", [*INSTALLED, LinearOnly], ids=lambda each: each.__name__)
def test_installed_solvers_conform(solver, check):
    check(solver())


def test_wrong_multipliers_do_not_conform():
    with pytest.raises(AssertionError):
        conforms(Upside())


def test_a_solver_that_knows_one_answer_does_not_conform():
    first = optimal(np.array([2.0, 1.5]), np.array([2.0]))
    with pytest.raises(AssertionError):
        conforms(MockSolver([first] * 1000))
    assert Capability.DUALS in MockSolver.capabilities
