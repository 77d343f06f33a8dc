"""What ways have in common that protect a table which is tabulated already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

import tablecloak
from tablecloak.arrays import Floats
from tablecloak.certificates.file import write_certificate
from tablecloak.protection import Attackers, Judgement, Material, Product, Protection, Search
from tablecloak.publish.audit import audit
from tablecloak.registered import NameIn
from tablecloak.render.heat_map import ADJUSTMENT, add_heat_map, adjustment_squares
from tablecloak.render.page import Page
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WEIGHT_RULES

WeightName = Annotated[str, NameIn(WEIGHT_RULES, only=lambda rule: rule.is_of_table)]
RequirementName = Annotated[str, NameIn(REQUIREMENTS)]
Seconds = Annotated[float, Field(gt=0, description="Seconds for the search.")]


class TableProtection(Protection):
    """A way to protect a table that is tabulated already."""

    def prepare(self, material: Material) -> Search:
        """Return the search; its seed is one that nobody knows unless one was chosen."""
        return self.call(material, material.problem)

    def call(self, material: Material, problem: ProtectionProblem, **given: Any) -> Search:
        """Return a call of `function`.

        Parameters
        ----------
        material : Material
        problem : ProtectionProblem
        **given
            What differs from the section; its other keys are arguments where `function` has them.
        """
        search = getattr(tablecloak, self.function)
        options = {name: getattr(self, name) for name in type(self).model_fields}
        options |= {"threads": material.threads, "seed": material.secret_seed, **given}
        taken = signature(search).parameters
        options = {name: option for name, option in options.items() if name in taken}
        return partial(search, problem, **options)

    def audited(self, release: Any, material: Material, attackers: Attackers) -> Judgement:
        """Attack the release as everybody can who has it."""
        return self.attacked(release, material, attackers, attackers.intruders)

    @classmethod
    def attacked(
        cls,
        release: Any,
        material: Material,
        attackers: Attackers,
        intruders: Sequence[str],
        require: Requirement = Requirement.TWO_SIDED,
        problem: ProtectionProblem | None = None,
    ) -> Judgement:
        """Attack a release; on a problem of its own if that has more sensitive cells."""
        return audit(
            material.problem if problem is None else problem,
            release,
            require=require,
            intruders=list(intruders),
            groups=attackers.groups,
            time_limit=attackers.time_limit,
            seed=material.seed,
            threads=material.threads,
        )

    @classmethod
    def certificate(cls, product: Product) -> Any:
        """Return the release itself, which has all its claims."""
        return product.release

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield the audit and the certificate."""
        if hasattr(product.audit, "to_frame"):
            yield f"{cls.name}_audit.csv", product.audit.to_frame()
        proof = cls.certificate(product)
        if proof is not None:
            yield f"{cls.name}_certificate.npz", partial(write_certificate, proof)

    @classmethod
    def describe(cls, page: Page, problem: ProtectionProblem, product: Product) -> None:
        """Draw how far each value was moved."""
        table, values = problem.table, cls.values(product.release)
        if values is not None:
            page.legend(ADJUSTMENT)
            add_heat_map(page, table.keys, table.hierarchies, adjustment_squares(problem, values))


def are_wide_enough(problem: ProtectionProblem, intervals: tuple[Floats, Floats]) -> bool:
    """Whether an intruder who knows both ends of each cell comes too near to no sensitive one."""
    wide = np.asarray(intervals[1] > intervals[0])
    return audit_pattern(problem, wide, intervals=intervals).is_safe
