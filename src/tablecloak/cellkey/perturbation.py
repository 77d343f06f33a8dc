"""Kinds of perturbation that a job can ask for, and the perturbed tables that they make of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.budget import Progress
from tablecloak.cellkey.attack import CountAttack, attack_counts
from tablecloak.cellkey.counts import PerturbedCounts, perturb_counts
from tablecloak.cellkey.files import read_magnitude_tables, read_perturbations
from tablecloak.cellkey.magnitudes import (
    Flex,
    MagnitudeNoise,
    PerturbedMagnitudes,
    perturb_magnitudes,
)
from tablecloak.cellkey.utility import Utility, utility_of
from tablecloak.errors import InputError
from tablecloak.protection import Records
from tablecloak.registry import Registry
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.published import published_column, published_decimals

PerturbedTable = PerturbedCounts | PerturbedMagnitudes


@dataclass(frozen=True, eq=False)
class PerturbedTables:
    """One or several perturbed tables of the same records.

    A cell that belongs to several tables has the same value in each of them, because the same
    records stand behind it.

    Parameters
    ----------
    tables : tuple of PerturbedCounts or PerturbedMagnitudes
        At least one; all counts, or all sums of one variable.
    measure : str
        Name of the column of values in the release.
    decimals : int or None
        Digits behind the decimal point to publish; by default those of the true values.
    """

    tables: tuple[PerturbedTable, ...]
    measure: str
    decimals: int | None = None

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """Hierarchies of all dimensions."""
        return {name: tree for table in self.tables for name, tree in table.hierarchies.items()}

    @property
    def digits(self) -> int:
        """Digits behind the decimal point with which values are published."""
        if self.decimals is not None:
            return self.decimals
        return max(published_decimals(table.truth, None) for table in self.tables)

    def release(self) -> pd.DataFrame:
        """Return what may be published: each cell once, with the totals of other dimensions."""
        joined = self._joined([each.release() for each in self.tables])
        values = joined[self.measure].to_numpy(np.float64)
        return joined.assign(**{self.measure: published_column(values, self.digits)})

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell, true values and cell keys included. Secret."""
        return self._joined([each.to_frame() for each in self.tables])

    def utility(self) -> Utility:
        """Measure how far perturbed values lie from true ones, over each cell once."""
        frame = self.to_frame()
        true = frame["true_count"] if "true_count" in frame else frame[self.measure]
        # Sums never change their sign; the distance of square roots is that of absolute values.
        return utility_of(np.abs(true), np.abs(frame["perturbed"]))

    def secrets(self) -> Iterator[float]:
        """Yield what must not stand in a release: true values of changed cells, and cell keys."""
        for table in self.tables:
            is_changed = table.changes != 0
            yield from table.truth[is_changed].tolist()
            if isinstance(table, PerturbedCounts) and table.is_weighted:
                yield from table.weights[is_changed].tolist()
            yield from table.to_frame()["cell_key"].tolist()

    def summary(self) -> str:
        """Say in one line what was done, for each table."""
        return "; ".join(each.summary() for each in self.tables)

    def _joined(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        """Return all cells of all tables, each once, with the codes of all dimensions."""
        trees = self.hierarchies
        full = [
            frame.assign(**{name: tree.total for name, tree in trees.items() if name not in frame})
            for frame in frames
        ]
        joined = pd.concat(full, ignore_index=True).drop_duplicates(list(trees))
        others = [name for name in joined if name not in trees]
        return joined[[*trees, *others]].reset_index(drop=True)


class Perturbation(ABC):
    """One kind of perturbation by cell keys."""

    name: ClassVar[str]

    command: ClassVar[str] = ""
    """Name of its command, if that is another than its own."""

    guide: ClassVar[str] = ""
    """What the help of the command says besides, with an example."""

    by_rules: ClassVar[tuple[str, ...]] = ()
    """Parameters that have an effect only where rules say which cells are sensitive."""

    reading: ClassVar[str]
    """How readers must understand the release."""

    not_attacked: ClassVar[str]
    """Why there may be no attack on the release."""

    file_parameters: ClassVar[tuple[str, ...]] = ("ptable",)
    """Parameters that name files, if they are given."""

    @property
    def unlisted(self) -> str:
        """What readers are told of cells that the release does not list."""
        return "empty, or 0"

    @property
    def files(self) -> dict[str, Path]:
        """Files that it reads, by their parameters."""
        given = {name: getattr(self, name) for name in self.file_parameters}
        return {name: path for name, path in given.items() if path}

    @abstractmethod
    def check(self, records: Records) -> None:
        """Refuse records that this kind of perturbation cannot use.

        Raises
        ------
        InputError
        """

    @abstractmethod
    def perturb(self, records: Records) -> PerturbedTables:
        """Make the perturbed tables."""

    def attack(
        self, made: PerturbedTables, time_limit: float, progress: Progress | None = None
    ) -> CountAttack | None:
        """Infer true values from the release; None if no such attack is known."""
        del made, time_limit, progress
        return None

    def below(self, folder: Path) -> Perturbation:
        """Return the same with the paths of its files relative to a folder."""
        moved: Any = {name: folder / path for name, path in self.files.items()}
        return replace(self, **moved)  # type: ignore[type-var]


PERTURBATIONS: Registry[Perturbation] = Registry("kind of perturbation")
"""All kinds by name."""

Ptable = Annotated[Path, Field(description="Perturbation table: a file of ptable or the ONS.")]
Key = Annotated[
    str,
    Field(description="Column with the record keys.", json_schema_extra={"option": "key"}),
]
Share = Annotated[float, Field(gt=0, le=1)]


@PERTURBATIONS.register
@dataclass(frozen=True)
class CountPerturbation(Perturbation):
    """Counts of records, changed by whole numbers; weighted counts in proportion."""

    ptable: Ptable
    record_key: Key = "record_key"
    threshold: Annotated[
        int, Field(ge=0, description="Counts below it are not published; the ONS takes 10.")
    ] = 0
    name: ClassVar[str] = "counts"
    command: ClassVar[str] = "count"
    guide: ClassVar[str] = (
        "Cells that are not listed are 0 or below the threshold.\n\n"
        "Example: tablecloak cellkey count keyed.csv -o counts.csv --by region=region.hrc --by sex "
        "--ptable ptable.csv"
    )
    reading: ClassVar[str] = (
        "Counts were changed at random by small whole numbers to protect respondents, each one "
        "separately: totals may differ from the sums of their parts."
    )
    not_attacked: ClassVar[str] = "Not attacked: weighted counts are not whole."

    @property
    def unlisted(self) -> str:
        """See `Perturbation.unlisted`."""
        return f"0, or below {self.threshold}" if self.threshold > 1 else "0"

    def check(self, records: Records) -> None:
        """See `Perturbation.check`."""
        if records.value or records.rules:
            raise InputError(
                "The perturbation of counts needs neither a value nor rules: it counts records, "
                'and changes every cell. Leave them out, or choose the kind "magnitudes".'
            )

    def perturb(self, records: Records) -> PerturbedTables:
        """See `Perturbation.perturb`."""
        table = read_perturbations(self.ptable)
        made = tuple(
            perturb_counts(
                records.data,
                dimensions,
                table,
                record_key=self.record_key,
                weight=records.weight,
                threshold=self.threshold,
                engine=records.engine,
            )
            for dimensions in records.tables
        )
        return PerturbedTables(made, "count", records.decimals)

    def attack(
        self, made: PerturbedTables, time_limit: float, progress: Progress | None = None
    ) -> CountAttack | None:
        """See `Perturbation.attack`. The intruder knows the perturbation table."""
        counts = [each for each in made.tables if isinstance(each, PerturbedCounts)]
        if any(each.is_weighted for each in counts):
            return None
        return attack_counts(*counts, time_limit=time_limit, progress=progress)


@PERTURBATIONS.register
@dataclass(frozen=True)
class MagnitudePerturbation(Perturbation):
    """Sums of a variable, changed in proportion to the largest contributions of each cell."""

    ptable: Ptable
    record_key: Key = "record_key"
    small_cells: Annotated[
        Path | None, Field(description="Perturbation table of small contributions.")
    ] = None
    point: Annotated[float, Field(gt=0, description="Flex point, in the unit of the values.")] = (
        1000.0
    )
    small: Annotated[Share, Field(description="Share of noise below the flex point.")] = 0.3
    large: Annotated[Share, Field(description="Share of noise of the largest values.")] = 0.03
    power: Annotated[float, Field(ge=1, description="How fast the share falls (q).")] = 3.0
    base: Annotated[
        Literal["largest", "mean", "range", "sum"],
        Field(description="What the noise is in proportion to."),
    ] = "largest"
    epsilon: Annotated[
        tuple[float, ...], Field(description="Weights of the largest contributions, from 1 on.")
    ] = (1.0,)
    extra: Annotated[
        float, Field(ge=0, description="Extra noise of cells that a rule finds unsafe.")
    ] = 0.0
    name: ClassVar[str] = "magnitudes"
    command: ClassVar[str] = "sum"
    guide: ClassVar[str] = (
        "Example: tablecloak cellkey sum keyed.csv savings -o savings.csv --by sex --ptable "
        "sums.csv --epsilon 1 --epsilon 0.5"
    )
    by_rules: ClassVar[tuple[str, ...]] = ("extra",)
    file_parameters: ClassVar[tuple[str, ...]] = ("ptable", "small_cells")
    reading: ClassVar[str] = (
        "Values were changed at random to protect respondents, each one separately: totals may "
        "differ from the sums of their parts."
    )
    not_attacked: ClassVar[str] = (
        "Not attacked: the noise of a sum depends on contributions that the intruder does not know."
    )

    @property
    def noise(self) -> MagnitudeNoise:
        """The noise that these parameters describe."""
        tables = read_magnitude_tables(self.ptable)
        if self.small_cells is not None:
            own = read_magnitude_tables(self.small_cells)
            tables["small_cells"] = next(iter(own.values())).named("small_cells")
        return MagnitudeNoise(
            tables,
            Flex(self.point, self.small, self.large, self.power),
            base=self.base,
            weights=self.epsilon,
            extra=self.extra,
        )

    def check(self, records: Records) -> None:
        """See `Perturbation.check`."""
        if records.value is None:
            raise InputError(
                "The perturbation of magnitudes needs the `value` of the data, the column to add "
                'up. Name it, or choose the kind "counts".'
            )

    def perturb(self, records: Records) -> PerturbedTables:
        """See `Perturbation.perturb`."""
        noise, value = self.noise, str(records.value)
        made = tuple(
            perturb_magnitudes(
                records.data,
                dimensions,
                value,
                noise,
                record_key=self.record_key,
                weight=records.weight,
                sensitive_by=records.rules,
                engine=records.engine,
            )
            for dimensions in records.tables
        )
        return PerturbedTables(made, value, records.decimals)
