"""A table of counts, rounded so that it stays additive."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.cta.rounding.small_counts import small_count_rounding
from tablecloak.jobs.load import load_problem
from tablecloak.parameters import parameters_of
from tablecloak.protection import usual_way
from tablecloak.protections.rounding import ControlledRounding
from tablecloak.publish.audit import audit
from tablecloak.service.answers import Rounded, of_rounding
from tablecloak.service.call import CALLS, SOURCE, Call, CallQuestion
from tablecloak.solve.solver import using_solver

PARAMETERS = parameters_of(ControlledRounding)

_Rounding: Any = make_dataclass(
    "_Rounding",
    [(each.name, each.annotation, field(default=each.default)) for each in PARAMETERS],
    bases=(Call,),
    frozen=True,
    kw_only=True,
)


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Round(_Rounding):  # type: ignore[misc]
    """Round a table of counts to multiples of a base so that it stays additive, and audit it."""

    name: ClassVar[str] = "round"
    sections: ClassVar[tuple[str, ...]] = SOURCE
    assumed: ClassVar[tuple[str, ...]] = (usual_way().name,)

    small_counts: Annotated[bool, Field(description="Round counts below the base only.")] = False

    def answer(self, question: CallQuestion) -> Rounded:
        """Return the rounded table; its release is left out if it is not safe."""
        job = question.job
        asked: Any = {parameter.name: getattr(self, parameter.name) for parameter in PARAMETERS}
        limits: Any = {"time_limit": self.time_limit, "progress": question.progress}
        with using_solver(job.solver):
            problem = load_problem(job)
            if self.small_counts:
                del asked["max_steps"]
                rounded: Any = small_count_rounding(problem, threads=job.threads, **asked | limits)
            else:
                rounded = controlled_rounding(problem, **asked | limits)
            found = audit(rounded.problem, rounded, threads=job.threads, **limits)
        return of_rounding(rounded, found)
