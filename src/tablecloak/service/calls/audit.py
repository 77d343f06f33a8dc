"""A release, whoever made it, attacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tablecloak.jobs.load import insiders_of, load_data
from tablecloak.protection import usual_way
from tablecloak.protections.of_table import RequirementName
from tablecloak.publish.audit import audit
from tablecloak.service.answers import AuditVerdict, Columns, audited, frame_of
from tablecloak.service.call import CALLS, SOURCE, Call, CallQuestion
from tablecloak.solve.solver import using_solver


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class AuditCall(Call):
    """Attack a release, whoever made it, and say whether every sensitive cell is protected."""

    name: ClassVar[str] = "audit"
    assumed: ClassVar[tuple[str, ...]] = (usual_way().name,)
    sections: ClassVar[tuple[str, ...]] = (*SOURCE, "published", "between", "audit", *assumed)

    release: Annotated[
        Columns,
        Field(
            description="The release: codes and status (published or suppressed), or codes and "
            "value, which is null where it is suppressed."
        ),
    ]
    require: Annotated[RequirementName, Field(description="What counts as protected.")] = (
        "two-sided"
    )
    made: Annotated[
        str | None,
        Field(
            description="How values without gaps were made, if readers know it, with the base: "
            "rounding:5 or small_counts:3. Without it they are those of an adjusted table."
        ),
    ] = None
    detail: Annotated[
        Literal["verdict", "intervals"],
        Field(description="Whether to compute the exact interval of each sensitive cell."),
    ] = "verdict"

    def answer(self, question: CallQuestion) -> AuditVerdict:
        """Return the verdict, and all sensitive cells, worst first."""
        job = question.job
        release = frame_of(self.release, "release").convert_dtypes()
        with using_solver(job.solver):
            loaded = load_data(job)
            found = audit(
                loaded.problem,
                release,
                require=self.require,
                intruders=insiders_of(job, loaded.problem),
                groups=job.group_rules if job.audit.groups else (),
                published=loaded.published or (),
                made=self.made,
                detail=self.detail,
                time_limit=job.audit.time_limit,
                seed=job.seed,
                threads=job.threads,
                progress=question.progress,
            )
        return audited(found)
