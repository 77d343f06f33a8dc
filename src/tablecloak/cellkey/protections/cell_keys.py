"""Cell keys: every cell is perturbed by itself, the same in every table it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Progress
from tablecloak.cellkey.attack import CountAttack
from tablecloak.cellkey.perturbation import PERTURBATIONS, Perturbation, PerturbedTables
from tablecloak.cellkey.perturbed_problem import PerturbedProblem, perturb_problem
from tablecloak.comparison.intervals import protects
from tablecloak.errors import InputError
from tablecloak.protection import (
    PROTECTIONS,
    UNCHANGED,
    Attackers,
    Material,
    Product,
    Protection,
    Records,
    Search,
)
from tablecloak.registered import SiblingIn
from tablecloak.registry import Registry
from tablecloak.render.heat_map import Drawing, add_heat_map, labels_of
from tablecloak.render.page import Page, Square, as_number
from tablecloak.tables.leaving import NOT_LISTED, Leaving
from tablecloak.tables.problem import ProtectionProblem

MEANING = (
    "d1 is the absolute distance of true and perturbed values, d2 the distance as a share of the "
    "true value, d3 the distance of the square roots. Values that became 0 are counted apart."
)


MOST_ATTACKED = 20_000
"""Largest number of cells of a grid that a job attacks, and for which it waits
`ATTACK_SECONDS` at most. Larger tables can be attacked by `tablecloak cellkey attack`."""

ATTACK_SECONDS = 60.0
"""Time limit of the attack if the job sets none for its audit."""

SECTION: TypeAdapter[Perturbation] = TypeAdapter(
    Annotated[Perturbation, SiblingIn(PERTURBATIONS, "kind")]
)
"""Reads and writes the section: one of the kinds of perturbation."""


def _describe_attack(page: Page, attack: CountAttack, cells: pd.DataFrame) -> None:
    """Say how closely true counts follow from the release."""
    page.heading("What an intruder can infer")
    page.text(
        "The intruder knows the perturbation table, and that true counts are whole, at least 0, "
        "and add up. The release and this knowledge leave an interval of each true count."
    )
    width = (attack.upper - attack.lower)[attack.listed]
    share = f"{100 * attack.determined_share:.3g} %"
    page.text(
        f"Share of published counts that follow exactly: {share}; mean width of the intervals: "
        f"{attack.mean_width:.3g}."
    )
    names = list(attack.codes.columns)
    known = attack.codes.merge(cells[[*names, "true_count"]], on=names, how="left")
    true = known["true_count"].fillna(0).to_numpy(np.int64)
    page.text(
        f"The most likely count, by the chances of the perturbation table within each interval, is "
        f"the true one for {100 * attack.best_guess_share(true):.3g} % of the published counts."
    )
    widths, cells = np.unique(width, return_counts=True)
    page.table(pd.DataFrame({"width": widths, "published counts": cells}), index=False)


def _squares(
    keys: pd.DataFrame, cells: pd.DataFrame, measure: str, attack: CountAttack | None
) -> Drawing:
    """Draw each cell as published; pointing at it shows the true value and its interval."""
    labels = labels_of(keys)
    true = cells["true_count" if "true_count" in cells else measure].to_numpy(float)
    shown = cells["perturbed"].to_numpy(float)
    inferred = _intervals(keys, attack)

    def square(cell: int) -> Square:
        change = shown[cell] - true[cell]
        hover = f"{labels[cell]}: {as_number(true[cell])} perturbed to {as_number(shown[cell])}"
        kind = "up" if change > 0 else "down" if change < 0 else ""
        share = float(np.sqrt(min(abs(change) / max(abs(true[cell]), 1.0), 1.0)))
        return Square(as_number(shown[cell]), kind, hover + inferred[cell], share)

    return square


def _intervals(keys: pd.DataFrame, attack: CountAttack | None) -> list[str]:
    """Return what is said of the interval of each cell."""
    if attack is None:
        return [""] * len(keys)
    found = keys.merge(attack.to_frame(), on=list(keys.columns), how="left")
    ends = zip(found["lower"], found["upper"], strict=True)
    return [f"; inferred: {low:g} to {high:g}" for low, high in ends]


@dataclass(frozen=True, eq=False)
class PerturbedRelease:
    """Perturbed tables with what readers are told of them.

    Parameters
    ----------
    tables : PerturbedTables
    design : Perturbation
    unit : str, default=""
    """

    tables: PerturbedTables
    design: Perturbation
    unit: str = ""

    def release(self) -> pd.DataFrame:
        """Return what may be published."""
        return self.tables.release()

    def summary(self) -> str:
        """Say in one line what was perturbed."""
        return self.tables.summary()


@dataclass(frozen=True, eq=False)
class InferredCounts:
    """What an intruder who knows the perturbation table infers, in place of an audit.

    Parameters
    ----------
    attack : CountAttack or None
        None if the release was not attacked.
    why_not : str, default=""
        Why there is no attack.
    """

    attack: CountAttack | None
    why_not: str = ""

    @property
    def is_safe(self) -> bool:
        """Whether no published count is determined exactly, as far as that is known."""
        return self.attack is None or self.attack.determined_share == 0

    def summary(self) -> str:
        """Say in one line what is inferred."""
        if self.attack is None:
            return self.why_not
        return f"{self.attack.summary()}; mean width {self.attack.mean_width:.3g}"


@PROTECTIONS.register
class CellKeys(Protection):
    """Perturb each cell by a number that its records fix, whichever table it stands in."""

    name: ClassVar[str] = "perturbation"
    releases: ClassVar[tuple[type, ...]] = (PerturbedProblem, PerturbedRelease)
    makers: ClassVar[str] = "tables of `perturb_problem`"
    place: ClassVar[int] = 6
    noun: ClassVar[str] = "cell keys"
    command: ClassVar[str] = "cellkey"
    is_alone: ClassVar[bool] = True
    is_proved: ClassVar[bool] = False
    needs_rules: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, Registry[Any]] | None] = ("kind", PERTURBATIONS)

    design: Perturbation

    @classmethod
    def of_section(cls, given: Any) -> CellKeys:
        """Read one of the kinds of perturbation."""
        return given if isinstance(given, cls) else cls(design=SECTION.validate_python(given))

    @classmethod
    def section_schema(cls) -> dict[str, Any]:
        """Return the schema of all kinds of perturbation."""
        return SECTION.json_schema()

    def as_section(self) -> dict[str, Any]:
        """Return what `of_section` reads."""
        section: dict[str, Any] = SECTION.dump_python(self.design, mode="json")
        return section

    @property
    def paths(self) -> list[Path]:
        """Perturbation tables."""
        return list(self.design.files.values())

    def below(self, folder: Path) -> CellKeys:
        """Return the same with the paths of its files relative to a folder."""
        return CellKeys(design=self.design.below(folder))

    def check(self, job: Any) -> None:
        """Refuse what perturbation by cell keys does not use."""
        if job.data.kind == "table":
            raise ValueError("[perturbation] needs microdata with record keys")
        unused = [role for role in job.data.roles if role != "weight"]
        if unused:
            raise ValueError(f"[perturbation] does not use {unused[0]}; leave it out of [data]")
        if job.variables:
            raise ValueError("[perturbation] is for one variable; leave out [variables]")

    def prepare(self, material: Material) -> Search:
        """Return what perturbs the records."""
        records = material.records()
        self.design.check(records)
        return partial(self._perturbed, records, material)

    def _perturbed(
        self, records: Records, material: Material, *, progress: Progress | None = None
    ) -> PerturbedRelease:
        del progress
        try:
            tables = self.design.perturb(records)
        except InputError as error:
            named = [material.file, *self.paths]
            if material.file is None or str(error).startswith(tuple(map(str, named))):
                raise
            raise error.of(material.file) from None
        return PerturbedRelease(tables, self.design, material.unit)

    def audited(
        self, release: PerturbedRelease, material: Material, attackers: Attackers
    ) -> InferredCounts:
        """Attack the release, as one who knows the perturbation table."""
        size = float(np.prod([len(tree.codes) for tree in release.tables.hierarchies.values()]))
        if size > MOST_ATTACKED:
            return InferredCounts(
                None, f"Not attacked: the table has more than {MOST_ATTACKED:,} cells."
            )
        limit = attackers.time_limit
        attack = self.design.attack(
            release.tables, limit if np.isfinite(limit) else ATTACK_SECONDS, material.progress
        )
        return InferredCounts(attack, "" if attack else self.design.not_attacked)

    @classmethod
    def values(cls, release: PerturbedProblem) -> Floats:
        """Return the perturbed counts."""
        return np.asarray(release.values, dtype=np.float64)

    @classmethod
    def answer(cls, product: Product, problem: ProtectionProblem) -> pd.DataFrame:
        """Return true and perturbed values with the keys of the cells. Secret."""
        del problem
        tables: PerturbedTables = product.release.tables
        return tables.to_frame()

    @classmethod
    def leaving(cls, release: PerturbedRelease) -> Leaving:
        """Return the perturbed values; totals may differ from the sums of their parts."""
        released, tables, unlisted = release.release(), release.tables, release.design.unlisted
        reading = f"{release.design.reading} {NOT_LISTED} {unlisted}."
        return Leaving(
            released=released,
            hierarchies=tables.hierarchies,
            measure=tables.measure,
            unit=release.unit,
            decimals=tables.digits,
            method={"method": "cell-key perturbation", "reading": reading},
            hidden=tables.secrets(),
            unlisted=unlisted,
        )

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield true values, keys and what is inferred."""
        yield "perturbation_cells.csv", product.release.tables.to_frame()
        if product.audit.attack is not None:
            yield "perturbation_attack.csv", product.audit.attack.to_frame()

    @classmethod
    def lines(cls, product: Product) -> Iterator[str]:
        """Yield what was done, what is lost, and what an intruder infers."""
        utility = product.release.tables.utility()
        yield product.release.summary()
        mean = utility.distances.loc["mean"]
        yield (
            f"mean distances: d1 {mean['d1']:.3g}, d2 {100 * mean['d2']:.3g} %, d3 "
            f"{mean['d3']:.3g}; {utility.false_zeros:,} false zeros, "
            f"{utility.false_nonzeros:,} false counts above 0"
        )
        yield product.audit.summary()

    @classmethod
    def summary(cls, product: Product) -> str:
        """Return all lines in one."""
        return "; ".join(cls.lines(product))

    @classmethod
    def statements(cls, product: Product) -> Iterator[str]:
        """Say that nothing follows exactly, if the release was attacked."""
        if product.audit.attack is not None:
            yield "No true count follows exactly from the release."

    @classmethod
    def refusal(cls, product: Product) -> str:
        """Say that some counts follow."""
        del product
        return "NOT SAFE: some true counts follow from the release."

    @classmethod
    def report(cls, product: Product, title: str, settings: pd.DataFrame, source: str) -> Page:
        """Return the page on what was lost, and what can be inferred."""
        tables, attack = product.release.tables, product.audit.attack
        page = Page(title or tables.measure)
        page.heading("What was perturbed")
        for line in cls.lines(product):
            page.text(line)
        cells = tables.to_frame()
        page.legend({"up": "raised", "down": "lowered", "": "not changed"})
        keys = cells[list(tables.hierarchies)]
        square = _squares(keys, cells, tables.measure, attack)
        add_heat_map(page, keys, tables.hierarchies, square)
        utility = tables.utility()
        page.heading("Utility")
        page.text(MEANING)
        page.table(utility.distances.dropna(axis=1, how="all"))
        counted = {
            "false zeros": utility.false_zeros,
            "empty cells above 0": utility.false_nonzeros,
        }
        page.table(pd.DataFrame({"cells": counted}))
        if attack is not None:
            _describe_attack(page, attack, cells)
        page.close_with(settings, source)
        return page

    @classmethod
    def methods_for_counts(
        cls, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], PerturbedProblem]]:
        """Return perturbation with the usual perturbation table."""
        return {"cell keys": partial(perturb_problem, time_limit=time_limit)}

    @classmethod
    def protects(
        cls, problem: ProtectionProblem, release: PerturbedProblem, lower: Floats, upper: Floats
    ) -> bool:
        """Compare the intervals that an intruder infers with what the levels ask for."""
        low, high = release.intervals
        return protects(problem, low.astype(np.float64), high.astype(np.float64))

    @classmethod
    def possible(
        cls, release: PerturbedProblem, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Integers, Integers]:
        """Return what follows from all perturbed counts together."""
        return release.intervals

    @classmethod
    def lost(cls, release: PerturbedProblem, shown: Floats) -> tuple[Flags, Floats]:
        """Return the counts that were not changed, and how far the others moved."""
        change = np.abs(shown - release.problem.table.values)
        return change <= UNCHANGED, change
