"""Every kind of thing is declared once: a class registered at run time is known everywhere.

One section for each kind. A toy sibling is added by `Registry.including`, found in the job schema,
in ``--help``, in the form of the app and in the table of the docs, and run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field
from scipy.optimize import linprog
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.bench.solvers import contestants
from tablecloak.cli.main import app
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.solve.conformance import conforms
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SOLVERS, Claim, Request, Solver, SolveStatus

# -- sensitivity rules --------------------------------------------------------------------

# -- weight rules -------------------------------------------------------------------------

# -- formats, engines, executors ----------------------------------------------------------

# -- solvers ------------------------------------------------------------------------------


class Linprog(Solver):
    """The linear programs of SciPy: neither multipliers nor whole numbers nor hot starts."""

    name: ClassVar[str] = "linprog"

    def run(self, program: Program, request: Request) -> Claim:
        equal = program.row_lower == program.row_upper
        matrix = program.matrix.toarray()
        low = ~equal & np.isfinite(program.row_lower)
        high = ~equal & np.isfinite(program.row_upper)
        done = linprog(
            program.cost,
            A_ub=np.vstack([matrix[high], -matrix[low]]),
            b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
            A_eq=matrix[equal],
            b_eq=program.row_lower[equal],
            bounds=np.column_stack([program.lower, program.upper]),
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        states = {0: SolveStatus.OPTIMAL, 2: SolveStatus.INFEASIBLE, 3: SolveStatus.UNBOUNDED}
        return Claim(states.get(done.status, SolveStatus.UNKNOWN), done.x)


def test_a_solver_registered_at_run_time_is_an_option_and_runs(tmp_path):
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    run = CliRunner().invoke
    words = [str(tmp_path / "cox.jj"), "--solver", "linprog", "-o", str(tmp_path / "out.csv")]
    with SOLVERS.including(Linprog):
        conforms(Linprog())
        assert "The linear programs of SciPy" in SOLVERS.table()
        assert "linprog" in contestants()
        for command in ("suppress", "adjust", "audit", "intervals", "round"):
            shown = run(app, [command, "--help"], env={"COLUMNS": "200"}).output
            assert "linprog" in " ".join(shown.split()), command
        done = run(app, ["suppress", *words, "--method", "exact"])
        assert done.exit_code == 0, done.output
        assert "loss 3076" in done.output.replace(",", "")
        done = run(app, ["adjust", *words])
        assert done.exit_code == 0, done.output
    done = run(app, ["suppress", *words])
    assert done.exit_code == 2
    assert "There is no solver 'linprog'" in done.output


# -- distances and statistics -------------------------------------------------------------

# -- search methods, intruders, requirements ----------------------------------------------

# -- microdata methods --------------------------------------------------------------------


@dataclass(frozen=True)
class RoundedRelease:
    frame: pd.DataFrame

    def summary(self) -> str:
        return f"rounding: {len(self.frame)} values"


@dataclass(frozen=True)
class Rounding(Method):
    """Round a column of numbers to multiples of a base."""

    name: ClassVar[str] = "round-values"
    column: Annotated[str, Field(description="Column of numbers.")]
    base: Annotated[float, Field(ge=1, description="What values are multiples of.")] = 10

    def uses(self, known: Any) -> Columns:
        return Columns(changed=[self.column], numbers=[self.column])

    def protect(self, frame: pd.DataFrame, *, seed: Any = None) -> RoundedRelease:
        rounded = (frame[self.column] / self.base).round() * self.base
        return RoundedRelease(frame.assign(**{self.column: rounded}))


def test_a_microdata_method_registered_at_run_time_is_a_command_and_runs(tmp_path):
    pd.DataFrame({"who": list("abc"), "wage": [34, 11, 18]}).to_csv(
        tmp_path / "in.csv", index=False
    )
    words = ["round-values", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")]
    words += ["--keep-order", "--column", "wage", "--base"]
    run = CliRunner().invoke
    with METHODS.including(Rounding):
        assert METHODS.build("round-values", column="wage") == Rounding("wage", 10)
        assert "Round a column of numbers to multiples of a base." in METHODS.table()
        listed = " ".join(run(app, ["--help"], env={"COLUMNS": "200"}).output.split())
        assert "round-values Round a column of numbers" in listed
        shown = " ".join(
            run(app, ["round-values", "--help"], env={"COLUMNS": "200"}).output.split()
        )
        assert "--base" in shown
        assert "What values are multiples of." in shown
        done = run(app, [*words, "20"])
        assert done.exit_code == 0, done.output
        assert "rounding: 3 values" in done.output
        assert pd.read_csv(tmp_path / "out.csv").wage.tolist() == [40, 20, 20]
        assert run(app, [*words, "0.5"]).exit_code == 2
    assert run(app, [*words, "20"]).exit_code == 2
