"""Cell suppression: sensitive cells are hidden, and others so that no sum gives them away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from tablecloak.arrays import Flags, Floats
from tablecloak.budget import Progress
from tablecloak.certificates.claim import Certificate
from tablecloak.comparison.intervals import counts_within, hidden_intervals, protects
from tablecloak.errors import InputError
from tablecloak.explaining.pattern_question import PatternQuestion
from tablecloak.protection import PROTECTIONS, Attackers, Judgement, Material, Product, Search
from tablecloak.protections.of_table import RequirementName, Seconds, TableProtection, WeightName
from tablecloak.publish.figures import lacking_figures
from tablecloak.publish.released_cells import read_previous
from tablecloak.registered import NameIn
from tablecloak.render.heat_map import SUPPRESSION, add_heat_map, suppression_squares
from tablecloak.render.page import Page
from tablecloak.render.pattern_parts import add_pattern
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.hold import HOLDS, Hold
from tablecloak.suppression.attack.intruder import INTRUDERS, usual_intruders
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.search.method import SEARCH_METHODS
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.changes.derived_figures import of_other_periods, with_derived
from tablecloak.tables.formats import write_problem
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.sums import Groups, rules_for_sums

MethodName = Annotated[str, NameIn(SEARCH_METHODS)]
InsiderName = Annotated[str, NameIn(INTRUDERS, only=lambda intruder: not intruder.is_everybody)]
HoldName = Annotated[str, NameIn(HOLDS)]


@PROTECTIONS.register
class Suppression(TableProtection):
    """Hide the cells whose loss is least, so that no sensitive value can be inferred."""

    name: ClassVar[str] = "suppression"
    releases: ClassVar[tuple[type, ...]] = (SuppressionPattern,)
    makers: ClassVar[str] = "patterns of `suppress`"
    place: ClassVar[int] = 1
    function: ClassVar[str] = "suppress"
    command: ClassVar[str] = "suppress"
    target: ClassVar[str] = "pattern"
    sections: ClassVar[tuple[str, ...]] = ("published", "transmission", "derived", "registered")
    is_suggested: ClassVar[bool] = True
    is_on_bench: ClassVar[bool] = True
    note: ClassVar[str] = (
        "dimension: how many hidden values an intruder must learn before all others follow. "
        "told_by_one: the largest number of sensitive cells that follow from one hidden value."
    )

    method: Annotated[MethodName, Field(description="How to search.")] = "auto"
    require: Annotated[RequirementName, Field(description="What counts as protected.")] = (
        "two-sided"
    )
    weights: Annotated[WeightName, Field(description="What hiding a cell costs.")] = "value"
    cost: Annotated[
        str | None, Field(description="Column of the data whose sums are the costs.")
    ] = None
    protect_against: list[InsiderName] = Field(
        [], description="Insiders against whom the pattern must protect as well."
    )
    hold: Annotated[
        HoldName,
        Field(
            description="Whether protection against insiders is a must; if none is named, these "
            "are contributors and holdings, where the data tell them."
        ),
    ] = "possible"
    groups: Annotated[
        bool, Field(description="Protect sums of hidden cells by the rules of a job as well.")
    ] = False
    secondary_room: Annotated[
        float,
        Field(
            ge=0,
            le=100,
            description="Per cent of its value by which each hidden cell that is not sensitive "
            "must be able to move as well, up and down.",
        ),
    ] = 0.0
    unfreeze: Annotated[
        bool,
        Field(
            description="Suppress the fewest frozen cells where sensitive ones cannot be protected "
            "else."
        ),
    ] = False
    previous: Annotated[
        Path | None,
        Field(
            description="File with codes and status: last period's pattern, whose cells become "
            "cheaper. A wish for stability; releases of the same values are given by `published`."
        ),
    ] = None
    discount: Annotated[
        float, Field(ge=0, le=1, description="Share by which cells of `previous` become cheaper.")
    ] = 0.5
    time_limit: Seconds = 60.0

    @model_validator(mode="after")
    def _hold_against_whom(self) -> Suppression:
        if self.protect_against and self.hold == "off":
            raise ValueError(
                'hold = "off" protects against no insider; leave out protect_against or hold'
            )
        if self.protect_against and "hold" not in self.model_fields_set:
            # Insiders named in the job must be protected against, unless it says how firmly.
            self.hold = "strict"
        return self

    @property
    def paths(self) -> list[Path]:
        """Last period's pattern."""
        return [] if self.previous is None else [self.previous]

    def below(self, folder: Path) -> Suppression:
        """Return the same with the path of the pattern relative to a folder."""
        if self.previous is not None:
            self.previous = folder / self.previous
        return self

    def check(self, job: Any) -> None:
        """Refuse rules for sums that there are not, and a cost of several variables."""
        if job.variables and self.cost:
            raise ValueError("[suppression] cost: a cost is a column of one variable; use weights")
        if self.groups and not job.group_rules:
            raise ValueError(
                f"[suppression] groups: needs contributors of each cell and a rule that applies "
                f"to sums of cells: {rules_for_sums()}. Add one under [[rules]], or leave groups "
                f"out"
            )

    @classmethod
    def program(cls, options: dict[str, Any], roles: Sequence[str]) -> dict[str, Any]:
        """Return the arguments with the insiders that a job holds against by itself."""
        hold = options.get("hold", cls.model_fields["hold"].default)
        names = options.get("protect_against") or usual_intruders(roles)
        against = {"protect_against": names, "hold": hold}
        others = {key: given for key, given in options.items() if key not in against}
        return others | against if names and HOLDS[hold].is_asked else others

    def prepare(self, material: Material) -> Search:
        """Read costs, the last pattern and earlier releases."""
        problem = material.problem
        if self.cost is not None:
            problem = problem.with_changes(weights=material.sums(self.cost))
        previous = None if self.previous is None else read_previous(problem, self.previous)
        return self._search(material, problem, None if self.cost else self.weights, previous)

    def on_bench(
        self, material: Material, before: SuppressionPattern | None, progress: Progress
    ) -> SuppressionPattern:
        """Search by the costs of the problem; what the pattern before hides costs less."""
        pattern: SuppressionPattern = self._search(material, material.problem, None, before)(
            progress=progress
        )
        return pattern

    def _search(
        self,
        material: Material,
        problem: ProtectionProblem,
        weights: str | None,
        previous: SuppressionPattern | Flags | None,
    ) -> Search:
        """Return the search beside earlier releases, against all who are to be kept out."""
        published = material.published or ()
        figures = problem.table.figures
        statistics = [figure for figure in figures if figure.needs_contributions]
        if statistics:
            problem = with_derived(problem, statistics, contributions=material.contributions())
        if published and figures:
            published = of_other_periods(published, figures)
        search = self.call(
            material,
            problem,
            weights=weights,
            protect_against=self.protects_against(material),
            published=published,
            previous=previous,
            seed=material.seed,
            groups=self._groups(material) or (),
        )
        return partial(_with_judged_groups, search, material)

    def _groups(self, material: Material) -> Groups | None:
        """Return which sums of hidden cells are protected.

        Raises
        ------
        InputError
            If they are asked for, and the data have no contributors.
        """
        table = material.problem.table
        if not self.groups:
            return Groups.asked((), secondary_room=self.secondary_room)
        if table.contributions or table.holdings:
            return Groups(
                list(material.group_rules),
                floor=material.floor,
                lower_factor=material.lower_factor,
                secondary_room=self.secondary_room,
            )
        raise InputError(
            "[suppression] groups = true needs contributors of each cell, which the data do not "
            "have. Leave it out, or tabulate from records."
        )

    def protects_against(self, material: Material) -> list[str]:
        """Return the insiders against whom the pattern is to hold, as firmly as it is asked.

        Raises
        ------
        InputError
            If it must hold against contributors, and the data do not tell who contributed what.
        """
        if not Hold.parse(self.hold).is_asked:
            return []
        if self.protect_against:
            return list(self.protect_against)
        usual = usual_intruders(material.roles)
        if usual or "hold" not in self.model_fields_set:
            return usual
        # Without such a column each record is one contributor, as for the rules.
        names = usual_intruders(["contributor"])
        reasons = [
            why for name in names if (why := INTRUDERS.build(name).lacking(material.problem))
        ]
        if reasons and Hold.parse(self.hold).is_strict:
            raise InputError(reasons[0])
        return [] if reasons else names

    def kept_out(self, material: Material, attackers: Attackers) -> list[str]:
        """Return those of the audit, and those against whom the pattern must hold."""
        promised = self.protects_against(material) if Hold.parse(self.hold).is_strict else []
        return list(dict.fromkeys([*attackers.intruders, *promised]))

    def audited(
        self, release: SuppressionPattern, material: Material, attackers: Attackers
    ) -> Judgement:
        """Attack the pattern, also by insiders against whom it must hold."""
        intruders = self.kept_out(material, attackers)
        return self.attacked(
            release, material, attackers, intruders, release.requirement, release.problem
        )

    @classmethod
    def hidden(cls, release: SuppressionPattern) -> Flags:
        """Return the suppressed cells."""
        return release.suppressed

    @classmethod
    def searched(cls, release: SuppressionPattern) -> ProtectionProblem:
        """Return the problem with sums of hidden cells, and cells of earlier releases."""
        return release.problem

    @classmethod
    def leaving(cls, release: SuppressionPattern) -> Leaving:
        """Return the published values."""
        return Leaving.of_pattern(release.problem, release.suppressed)

    @classmethod
    def certificate(cls, product: Product) -> Any:
        """Return the audit's own proof, which covers all insiders that it tried.

        Where it tried none, the proof of the search covers those against whom the pattern holds.
        Without a safe audit there is none.
        """
        pattern, audit = product.release, product.audit
        if audit is None or not audit.is_safe:
            return None
        if pattern.insiders is not None and not audit.intruders:
            return Certificate(pattern.problem, pattern.certificates)
        protection = audit.certificate().certificates[0]
        return Certificate(pattern.problem, pattern.claims_beside(protection))

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield statuses, what earlier releases disclose, and open insiders besides."""
        pattern = product.release
        yield "suppression_statuses.csv", pattern.to_frame()
        yield from super().secrets(product)
        if pattern.before is not None:
            yield "suppression_published_before.csv", pattern.before.to_frame()
        if pattern.before is not None or pattern.problem.table.figures:
            for name in ("suppression_problem.jj", "suppression_problem.csv"):
                yield name, partial(write_problem, pattern.problem)
        if pattern.insiders is not None and pattern.insiders.open:
            yield "suppression_insiders.csv", pattern.insiders.to_frame()

    @classmethod
    def statements(cls, product: Product) -> Iterator[str]:
        """Yield beside what and against which insiders the pattern is proved safe, and is not."""
        pattern, audit = product.release, product.audit
        if pattern.problem.table.figures:
            yield "It is proved safe together with the derived figures beside it."
        yield from lacking_figures(pattern.problem.table)
        if pattern.before is not None and pattern.before.disclosed:
            yield (
                f"Earlier releases tell too much of {len(pattern.before.disclosed)} sensitive "
                f"cells whatever this one hides; no more than they leave is asked of these. See "
                f"suppression_published_before.csv."
            )
        insiders = pattern.insiders
        counted = () if insiders is None else insiders.intruders
        others = [] if audit is None else [name for name in audit.intruders if name not in counted]
        if others:
            yield f"The suppression is also proved safe against: {', '.join(others)}."
        tried = 0 if insiders is None else sum(insiders.intruders.values())
        if insiders is not None and tried:
            safe = tried - insiders.successful - insiders.unsettled
            names = ", ".join(insiders.intruders)
            yield f"It is proved safe against {safe} of {tried} insiders ({names})."
            yield from insiders.statements()

    @classmethod
    def describe(cls, page: Page, problem: ProtectionProblem, product: Product) -> None:
        """Draw the pattern, and say what it withstands and why cells are hidden."""
        pattern, table = product.release, problem.table
        page.legend(SUPPRESSION)
        squares = suppression_squares(problem, pattern.statuses())
        add_heat_map(page, table.keys, table.hierarchies, squares)
        audit = product.audit if isinstance(product.audit, Audit) else None
        add_pattern(page, problem, pattern, audit)

    @classmethod
    def answer(cls, product: Product, problem: ProtectionProblem) -> pd.DataFrame:
        """Return every cell with its status and the reason of a sensitive one. Secret."""
        table = problem.table
        frame = table.to_frame().assign(
            status=product.release.statuses()[product.release.given_cells[: table.n_cells]],
            reason=np.asarray(problem.reasons),
        )
        return frame[~table.rests]

    @classmethod
    def open_insiders(cls, release: SuppressionPattern) -> int:
        """Return how many insiders the pattern leaves open."""
        return release.open_insiders

    @classmethod
    def insiders(cls, release: SuppressionPattern) -> Sequence[str]:
        """Return the kinds of insiders against whom the pattern was asked to protect."""
        return () if release.insiders is None else tuple(release.insiders.intruders)

    @classmethod
    def question(
        cls, release: SuppressionPattern, intruders: Sequence[Any], budget: Any
    ) -> PatternQuestion:
        """Return the question with the requirement and the proofs of the pattern."""
        return PatternQuestion.of(release, intruders, budget)

    @classmethod
    def methods(
        cls, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], SuppressionPattern]]:
        """Return suppression."""
        return {"suppression": partial(suppress, time_limit=time_limit)}

    @classmethod
    def ends(cls, release: SuppressionPattern) -> tuple[Floats, Floats]:
        """Return what follows from the published cells."""
        return hidden_intervals(release)

    @classmethod
    def protects(
        cls,
        problem: ProtectionProblem,
        release: SuppressionPattern,
        lower: Floats,
        upper: Floats,
    ) -> bool:
        """Compare the intervals with what the levels ask for."""
        return protects(problem, lower, upper)

    @classmethod
    def possible(
        cls, release: SuppressionPattern, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Floats, Floats]:
        """Return the whole numbers within the intervals that fit together."""
        return counts_within(release.problem, lower, upper, time_limit)

    @classmethod
    def figures(cls, problem: ProtectionProblem, release: SuppressionPattern) -> dict[str, float]:
        """Return how many hidden values tell all others, and what one of them tells."""
        del problem
        robustness = release.robustness
        return {"dimension": robustness.dimension, "told_by_one": robustness.most_told}

    @classmethod
    def lost(cls, release: SuppressionPattern, shown: Floats) -> tuple[Flags, Floats]:
        """Return the published cells, and the values of the others."""
        del shown
        lost = np.where(release.suppressed, np.abs(release.problem.table.values), 0.0)
        return ~release.suppressed, lost


def _with_judged_groups(
    search: Callable[..., SuppressionPattern], material: Material, *, progress: Progress | None
) -> SuppressionPattern:
    """Search, and judge what insiders learn of sums of hidden cells."""
    pattern = search(progress=progress)
    insiders, rules = pattern.insiders, list(material.group_rules)
    if insiders is None or not rules or material.problem.table.contributions is None:
        return pattern
    return replace(pattern, insiders=replace(insiders, groups=insiders.judged(rules)))
