"""Records or a finished table, protected by each method that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from tablecloak.jobs.result import JobResult
from tablecloak.jobs.run import run_job
from tablecloak.service.answers import Protected, of_adjustment, of_pattern
from tablecloak.service.call import CALLS, SOURCE, Call, Question

__all__ = ["Protect", "done"]


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Protect(Call):
    """Tabulate records or take a finished table, and protect it by each method asked for."""

    name: ClassVar[str] = "protect"
    sections: ClassVar[tuple[str, ...]] = (
        *SOURCE, "published", "between", "suppression", "adjustment", "audit",
    )  # fmt: skip

    def answer(self, question: Question) -> Protected:
        """Return the results of all methods."""
        return done(question)


def done(question: Question) -> Protected:
    """Run the job of a question and return the results of its methods, each with its audit."""
    # No call has the section of perturbation, whose result is another.
    result = cast(JobResult, run_job(question.job, progress=question.progress))
    answer: Protected = {"is_safe": result.is_safe, "failures": result.failures}
    if result.pattern is not None:
        answer["suppression"] = of_pattern(result.problem, result.pattern, result.pattern_audit)
    if result.adjustment is not None:
        answer["adjustment"] = of_adjustment(result.adjustment, result.adjustment_audit)
    return answer
