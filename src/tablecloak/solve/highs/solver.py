"""HiGHS as a class in the registry of solvers."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.solve.highs.linear import HighsProgram
from tablecloak.solve.highs.mixed import run_once
from tablecloak.solve.highs.quadratic import run_quadratic
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SOLVERS, Capability, Claim, LoadedProgram, Request, Solver

__all__ = ["Highs"]


@SOLVERS.register
class Highs(Solver):
    """HiGHS, in this process: hot starts, integers, least squares. Fastest, and the default."""

    name = "highs"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)
    algorithms: ClassVar[tuple[str, ...]] = ("simplex", "ipm", "pdlp")
    packages: ClassVar[tuple[str, ...]] = ("highspy",)

    def run(self, program: Program, request: Request) -> Claim:
        """Solve a program once, from scratch."""
        if request.curvature is not None:
            return run_quadratic(program, request.curvature, request)
        if program.is_mixed_integer or request.algorithm or request.as_shipped:
            return run_once(program, request)
        return HighsProgram(program).run(request.seconds, request.method)

    def load(self, program: Program, *, primal: bool = False) -> LoadedProgram:
        """Keep a linear program in an instance of HiGHS."""
        return HighsProgram(program, primal=primal)
