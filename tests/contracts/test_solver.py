"""Solvers that are installed keep the contract; wrong ones are told what they do wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak.contracts.solver as solver_contract
from tablecloak.contracts import check_solver
from tablecloak.solve.pulp import Cbc
from tablecloak.solve.solver import SOLVERS, SolveStatus


class Upside(Cbc):
    """CBC with multipliers of the wrong sign."""

    def run(self, program, request):
        claim = super().run(program, request)
        return type(claim)(claim.status, claim.x, -claim.duals)


class NeverInfeasible(Cbc):
    """CBC that calls what it cannot solve unknown."""

    def run(self, program, request):
        claim = super().run(program, request)
        if claim.status is SolveStatus.INFEASIBLE:
            return type(claim)(SolveStatus.UNKNOWN, None, np.empty(0))
        return claim


class Shifted(Cbc):
    """CBC whose points are a little off."""

    def run(self, program, request):
        claim = super().run(program, request)
        return claim if claim.x is None else type(claim)(claim.status, claim.x + 1e-3, claim.duals)


class Unfinished(Cbc):
    """CBC that breaks down."""

    def run(self, program, request):
        raise KeyError("licence")


@pytest.mark.parametrize("solver", [each for each in SOLVERS if not each.missing()])
def test_every_solver_that_is_installed_keeps_the_contract(solver):
    check_solver(solver())


@pytest.mark.parametrize(
    ("solver", "sentence"),
    [
        (Upside, "A binding lower side has a positive multiplier|Point, value and"),
        (NeverInfeasible, "A program without a feasible point is called infeasible"),
        (Shifted, "Point, value and bound of a linear program are correct"),
        (Unfinished, "It raised KeyError: 'licence'"),
    ],
)
def test_a_wrong_solver_is_told_which_fact_it_breaks(solver, sentence):
    with pytest.raises(
        AssertionError, match=f"The solver 'cbc' breaks its contract: .*({sentence})"
    ):
        check_solver(solver())


def test_without_assertions_the_contract_is_not_called_kept(monkeypatch):
    monkeypatch.setattr(solver_contract, "_assertions_run", lambda: False)
    with pytest.raises(RuntimeError, match="run Python without -O"):
        check_solver(SOLVERS.build("highs"))
