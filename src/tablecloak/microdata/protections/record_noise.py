"""Noise of records: the values of each contributor are multiplied before they are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Progress
from tablecloak.comparison.figures import notes
from tablecloak.comparison.intervals import are_wide
from tablecloak.comparison.side_by_side import compare
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.errors import suggestion
from tablecloak.microdata.multipliers import Least, Most, Shape, Sizes
from tablecloak.microdata.noise_risk import insiders, insiders_guess, outsiders_guess, windows
from tablecloak.microdata.noisy_tables import NoisyTable, noisy_table
from tablecloak.protection import PROTECTIONS, Attackers, Material, Product, Protection, Search
from tablecloak.render.heat_map import Drawing, add_heat_map, labels_of
from tablecloak.render.page import Page, Square, as_number
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_decimals
from tablecloak.tables.tabulation.contributed import Contributed


@dataclass(frozen=True, eq=False)
class MeasuredNoise:
    """Risk and utility of noise of records, in place of an audit.

    Parameters
    ----------
    figures : dict of str to float
        As `tablecloak.compare` measures them.
    n_unchanged : int
        Number of sensitive cells that are published as they are, since their noise cancels.
    """

    figures: dict[str, float]
    n_unchanged: int

    @property
    def is_safe(self) -> bool:
        """Whether no sensitive value is published as it is."""
        return not self.n_unchanged

    def summary(self) -> str:
        """Say in one line what can be inferred."""
        figures = self.figures
        return (
            f"an outsider guesses {100 * figures['guessed']:.3g} % of the sensitive cells to "
            f"within their level, a second largest contributor "
            f"{100 * figures['insider_guessed']:.3g} %"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return all figures. Secret."""
        return pd.DataFrame({"figure": list(self.figures), "value": self.figures.values()})


@PROTECTIONS.register
class RecordNoise(Protection):
    """Multiply the values of each contributor by a number near 1 before they are added up."""

    name: ClassVar[str] = "noise"
    releases: ClassVar[tuple[type, ...]] = (NoisyTable,)
    makers: ClassVar[str] = "tables of `noisy_table`"
    place: ClassVar[int] = 7
    noun: ClassVar[str] = "noise of records"
    is_alone: ClassVar[bool] = True
    is_proved: ClassVar[bool] = False
    note: ClassVar[str] = (
        "window, insider_window: with noise of records, the share of the sensitive cells whose "
        "possible values reach as far as the levels ask for, for an outsider and for the second "
        "largest contributor, who knows its own contribution and multiplier. insider_guessed: "
        "share that this contributor guesses to within the level. All are told everything but the "
        "seed and the sizes of cells, and guess the value that most other seeds point to."
    )

    least: Least = 0.05
    most: Most = 0.15
    shape: Shape = "ramp"
    balance: list[str] = Field(
        [], description="Dimensions within whose most detailed codes directions are balanced."
    )
    keep: list[str] = Field([], description="Dimensions whose totals stay as they are.")

    @model_validator(mode="after")
    def _bounds(self) -> RecordNoise:
        Sizes(self.least, self.most, self.shape)
        return self

    def check(self, job: Any) -> None:
        """Refuse a job that noise of records does not fit."""
        if job.variables:
            raise ValueError("[noise] is for one variable; leave out [variables]")
        if job.data.kind == "table" or job.data.value is None:
            raise ValueError("[noise] needs microdata, and the column of values to add up")
        for name in (*self.balance, *self.keep):
            if name not in job.dimensions:
                raise ValueError(
                    f"[noise] names the dimension {name!r}.{suggestion(name, job.dimensions)}"
                )

    def prepare(self, material: Material) -> Search:
        """Tabulate the records, and return what multiplies them."""
        return partial(
            self._multiplied,
            material.problem,
            material.contributions(),
            material.secret_seed,
        )

    def _multiplied(
        self,
        problem: ProtectionProblem,
        records: Contributed,
        seed: int | None,
        *,
        progress: Progress | None = None,
    ) -> NoisyTable:
        del progress
        return noisy_table(problem, records, seed=seed, **self.model_dump())

    def audited(
        self, release: NoisyTable, material: Material, attackers: Attackers
    ) -> MeasuredNoise:
        """Measure risk and utility."""
        del material, attackers
        row = compare(release.problem, {self.noun: release}).table
        row = row.drop(columns=["kind", "level_factor"])
        figures = row.astype(np.float64).to_numpy()[0]
        names = map(str, row.columns)
        unchanged = np.count_nonzero(release.changes[release.problem.sensitive] == 0)
        return MeasuredNoise(dict(zip(names, figures.tolist(), strict=True)), int(unchanged))

    @classmethod
    def values(cls, release: NoisyTable) -> Floats:
        """Return the noisy values."""
        return release.values

    @classmethod
    def leaving(cls, release: NoisyTable) -> Leaving:
        """Return the noisy values, in which totals are the sums of their parts."""
        table, released = release.problem.table, release.release()
        return Leaving(
            released=released,
            hierarchies=table.hierarchies,
            measure=table.name,
            unit=table.unit,
            decimals=published_decimals(release.values, table.decimals),
            method={
                "method": "multiplicative noise of records",
                "reading": "The values of each contributor were multiplied by a number near 1 "
                "before they were added up, to protect them. Totals are the sums of their parts.",
            },
            hidden=table.values[release.changes != 0].tolist(),
        )

    @classmethod
    def secrets(
        cls, product: Product
    ) -> Iterator[tuple[str, pd.DataFrame | Callable[[Path], object]]]:
        """Yield true values, and the figures of risk and utility."""
        yield "noise_cells.csv", product.release.to_frame()
        yield "noise_figures.csv", product.audit.to_frame()

    @classmethod
    def lines(cls, product: Product) -> Iterator[str]:
        """Yield what was done, what is lost, and what can be inferred."""
        figures = product.audit.figures
        yield product.release.summary()
        yield product.audit.summary()
        yield (
            f"windows as wide as the levels ask for: {100 * figures['window']:.3g} % for an "
            f"outsider, {100 * figures['insider_window']:.3g} % for a second largest contributor"
        )
        yield (
            f"mean change {100 * figures['mean_change']:.3g} %, slope of published on true values "
            f"{figures['slope']:.4g}"
        )

    @classmethod
    def summary(cls, product: Product) -> str:
        """Return all lines in one."""
        return "; ".join(cls.lines(product))

    @classmethod
    def statements(cls, product: Product) -> Iterator[str]:
        """Say what is promised."""
        del product
        yield (
            "No sensitive value is published as it is, and cells of one contributor keep their "
            "distance. Nothing else is proved."
        )

    @classmethod
    def refusal(cls, product: Product) -> str:
        """Say how many sensitive values stand in the release."""
        return (
            f"NOT SAFE: {product.audit.n_unchanged} sensitive cells are published as they are, "
            "since their noise cancels."
        )

    @classmethod
    def report(cls, product: Product, title: str, settings: pd.DataFrame, source: str) -> Page:
        """Return the page on what was lost, and what can be inferred."""
        is_safe = product.audit.is_safe
        verdict = list(cls.statements(product)) if is_safe else [cls.refusal(product)]
        made, page = product.release, Page(title or product.release.problem.table.name)
        table = made.problem.table
        page.heading("What was multiplied")
        for line in filter(None, [*cls.lines(product), *verdict]):
            page.text(line)
        page.legend({"up": "raised", "down": "lowered", "": "not changed"})
        add_heat_map(page, table.keys, table.hierarchies, _squares(made))
        page.heading("Risk and utility")
        page.table(product.audit.to_frame(), index=False)
        for line in notes():
            page.text(line)
        page.close_with(settings, source)
        return page

    @classmethod
    def methods_for_records(
        cls, records: Contributed
    ) -> Mapping[str, Callable[[ProtectionProblem], NoisyTable]]:
        """Return noise with directions by chance, and balanced within the most detailed cells."""
        names = tuple(records.hierarchies)
        return {
            "noise of records": partial(noisy_table, records=records),
            "balanced noise of records": partial(noisy_table, records=records, balance=names),
        }

    @classmethod
    def protects(
        cls, problem: ProtectionProblem, release: NoisyTable, lower: Floats, upper: Floats
    ) -> bool:
        """Compare the windows of outsider and insider with what the levels ask for."""
        release = replace(release, problem=problem)
        return bool(np.all(_outsider(problem, release)) and np.all(_insider(problem, release)))

    @classmethod
    def figures(cls, problem: ProtectionProblem, release: NoisyTable) -> dict[str, float]:
        """Return the shares of windows that are wide enough, and of an insider's right guesses."""
        release = replace(release, problem=problem)
        insider = insiders(release)
        right = _right(problem, insider.cells, insiders_guess(release, insider))
        n = max(problem.n_sensitive, 1)
        return {
            "window": np.count_nonzero(_outsider(problem, release)) / n,
            "insider_window": 1 - np.count_nonzero(~_insider(problem, release)) / n,
            "insider_guessed": np.count_nonzero(right) / n,
        }

    @classmethod
    def guesses(
        cls, release: NoisyTable, shown: Floats, *, knows: str, time_limit: float
    ) -> TruthGuesses:
        """Guess what most other seeds point to."""
        del shown, knows, time_limit
        return TruthGuesses(release.problem, outsiders_guess(release))


def _outsider(problem: ProtectionProblem, release: NoisyTable) -> Flags:
    """Which sensitive cells have a window as wide as the levels ask for."""
    lower, upper = windows(release)
    cells = np.flatnonzero(problem.sensitive)
    if not release.kept_cells.any():
        return are_wide(problem, cells, lower[cells], upper[cells])
    # True totals narrow the windows of the cells that add up to them.
    audit = audit_pattern(problem, upper > lower, intervals=(lower, upper))
    return np.array([verdict is Verdict.PROTECTED for verdict in audit.verdicts], dtype=bool)


def _insider(problem: ProtectionProblem, release: NoisyTable) -> Flags:
    """Which cells with a second largest contributor have a window that is wide enough for it."""
    insider = insiders(release)
    return are_wide(problem, insider.cells, insider.lower, insider.upper)


def _right(problem: ProtectionProblem, cells: Integers, guesses: Floats) -> Flags:
    """Which guesses of some sensitive cells lie within the level."""
    all_of = problem.table.values[problem.sensitive].copy()
    place = np.searchsorted(np.flatnonzero(problem.sensitive), cells)
    all_of[place] = guesses
    return np.asarray(TruthGuesses(problem, all_of).recovered[place])


def _squares(made: NoisyTable) -> Drawing:
    """Draw each cell as published; pointing at it shows the true value."""
    true, labels = made.problem.table.values, labels_of(made.problem.table.keys)

    def square(cell: int) -> Square:
        change = float(made.changes[cell])
        kind = "up" if change > 0 else "down" if change < 0 else ""
        hover = f"{labels[cell]}: {as_number(true[cell])} became {as_number(made.values[cell])}"
        share = float(np.sqrt(min(abs(change) / max(abs(true[cell]), 1.0), 1.0)))
        return Square(as_number(made.values[cell]), kind, hover, share)

    return square
