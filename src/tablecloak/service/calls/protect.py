"""Records or a finished table, protected by each way that is asked for, or by one alone.

Each way that has a command has a call of the same name, with its section among the keys, unless a
module of this folder defines that call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, get_type_hints

from typing_extensions import TypedDict

from tablecloak.extras import is_installed
from tablecloak.jobs.run import run_job
from tablecloak.protection import PROTECTIONS, Protection
from tablecloak.service.answers import AuditedRelease, AuditedReleases, of_product
from tablecloak.service.call import CALLS, SOURCE, Call, CallQuestion


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Protect(Call):
    """Tabulate records or take a finished table, and protect it by each method asked for."""

    name: ClassVar[str] = "protect"
    sections: ClassVar[tuple[str, ...]] = (*SOURCE, "published", "between", "audit")

    @classmethod
    def of_job(cls) -> tuple[str, ...]:
        """Return all sections, those of all ways to protect a table among them."""
        return (*cls.sections, *_ways())

    @classmethod
    def answer_type(cls) -> Any:
        """Return the results of all ways to protect a table, each under its name."""
        results = dict.fromkeys(_ways(), AuditedRelease)
        shared = get_type_hints(AuditedReleases, include_extras=True)
        # A type made at run time: ways may have been registered since.
        typed: Any = TypedDict
        return typed("AuditedReleases", {**shared, **results}, total=False)

    def answer(self, question: CallQuestion) -> Mapping[str, Any]:
        """Return the results of all ways."""
        return done(question)


def _ways() -> list[str]:
    """Return the names of ways to protect a table; others change records."""
    return [way.name for way in PROTECTIONS if not way.is_alone]


def done(question: CallQuestion) -> dict[str, Any]:
    """Run the job of a question and return the results of its ways, each with its audit."""
    result = run_job(question.job, progress=question.progress)
    answer: dict[str, Any] = {"is_safe": result.is_safe, "failures": result.failures}
    for name, product in result.products.items():
        answer[name] = of_product(result.problem, product)
    return answer


def _call_of(way: type[Protection]) -> type[Call]:
    """Return the call that protects in one way."""
    published = ("published", "between") if "published" in way.sections else ()

    @dataclass(frozen=True, kw_only=True)
    class OneWay(Call):
        name: ClassVar[str] = way.command
        sections: ClassVar[tuple[str, ...]] = (*SOURCE, *published, way.name, "audit")
        assumed: ClassVar[tuple[str, ...]] = (way.name,)

        def answer(self, question: CallQuestion) -> AuditedRelease:
            found: AuditedRelease = done(question)[way.name]
            return found

    OneWay.__doc__ = f"{PROTECTIONS.summary(way.name).removesuffix('.')}, and audit the release."
    return OneWay


for _way in PROTECTIONS:
    if _way.command and not is_installed(f"{__package__}.{_way.command}"):
        CALLS.register(_call_of(_way))
