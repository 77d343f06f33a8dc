"""A table of counts, rounded so that it stays additive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.cta.rounding.small_counts import small_count_rounding
from tablecloak.jobs.load import load_problem
from tablecloak.protections.of_table import WeightName
from tablecloak.publish.audit import audit
from tablecloak.service.answers import Rounded, of_rounding
from tablecloak.service.call import CALLS, SOURCE, Call, Question
from tablecloak.solve.solver import using_solver


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Round(Call):
    """Round a table of counts to multiples of a base so that it stays additive, and audit it."""

    name: ClassVar[str] = "round"
    sections: ClassVar[tuple[str, ...]] = SOURCE
    assumed: ClassVar[tuple[str, ...]] = ("suppression",)

    base: Annotated[int, Field(ge=2, description="Values become multiples of it.")] = 5
    max_steps: Annotated[
        int, Field(ge=1, description="Most steps of the base by which a value may move.")
    ] = 3
    small_counts: Annotated[bool, Field(description="Round counts below the base only.")] = False
    weights: Annotated[WeightName, Field(description="What moving a cell by one costs.")] = "unit"
    time_limit: Annotated[float, Field(gt=0, description="Seconds for the search.")] = 60.0

    def answer(self, question: Question) -> Rounded:
        """Return the rounded table; its release is left out if it is not safe."""
        job = question.job
        limits: Any = {"time_limit": self.time_limit, "progress": question.progress}
        with using_solver(job.solver):
            problem = load_problem(job)
            given: Any = {"base": self.base, "weights": self.weights, **limits}
            if self.small_counts:
                rounded: Any = small_count_rounding(problem, threads=job.threads, **given)
            else:
                rounded = controlled_rounding(problem, max_steps=self.max_steps, **given)
            found = audit(rounded.problem, rounded, threads=job.threads, **limits)
        return of_rounding(rounded, found)
