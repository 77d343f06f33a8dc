"""Every kind of thing is declared once: a class registered at run time is known everywhere.

One section for each kind. A toy sibling is added by `Registry.including`, found in the job schema,
in ``--help``, in the form of the app and in the table of the docs, and run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.microdata.methods.method import METHODS, Columns, Method

# -- sensitivity rules --------------------------------------------------------------------

# -- weight rules -------------------------------------------------------------------------

# -- formats, engines, executors ----------------------------------------------------------

# -- solvers ------------------------------------------------------------------------------

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
