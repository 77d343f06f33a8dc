"""The option ``--solver``, whose help lists what is registered."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

__all__ = ["CommandWithSolver", "SolverName"]

OPTION = "--solver"

SolverName = Annotated[
    str | None, typer.Option(OPTION, help="Solver of all linear programs; by default highs.")
]


class CommandWithSolver(TyperCommand):
    """A command whose help says which solvers there are; loaded only when help is asked for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Complete the help of the option, and write all of it."""
        from tablecloak.solve.solver import SOLVERS

        names = ", ".join(
            each.name + (" (not installed)" if each.missing() else "") for each in SOLVERS
        )
        for option in self.params:
            if OPTION in option.opts and hasattr(option, "help"):
                option.help = f"Solver of all linear programs, by default highs: {names}."
        super().format_help(ctx, formatter)
