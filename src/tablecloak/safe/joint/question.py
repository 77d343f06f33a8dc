"""The variables of a project, and what is asked of one: its figures before and after a new output.

Figures that add up the same amounts are of one variable, whatever they are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.copies import (
    AmountColumn,
    added_up,
    column_of,
    in_unit_of,
    is_copy,
)
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.system import FigureSystem
from tablecloak.safe.joint.weighted_sums import MOST_TRIED, tells_of_few, together
from tablecloak.safe.output import Figures

STILL = 1e-6
"""Move of a class, in standard deviations, up to which it counts as none."""

MOST_PROGRAMS = 400
"""Programs that all searches for small groups of one variable may take."""

MOST_ATTACKERS = 20
"""Contributors that are tried against each other one, those with the largest amounts."""

MOST_FIGURES, MOST_SHARED = 600, 2e7
"""Figures of a variable, and pairs of groups of classes, up to which it is looked at which of its
figures tell a group."""

FIRM = 5e-4
"""Share of the root of the mean square up to which an amount is held where it is: squares of
smaller ones are lost beside the others."""


@dataclass(eq=False)
class SummedVariable:
    """Amounts of records, and all figures that add them up.

    Parameters
    ----------
    name : str
    amounts : (n,) array of float
        By position of the record; nan where no figure has told it so far.
    system : FigureSystem
    leeway : (n,) array of float
        How far each record may move in searches for how much one contributor has at most: by its
        amount, but the largest and the smallest not at all. nan where no figure has told it so
        far; None if an amount is negative.
    """

    name: str
    amounts: Floats
    system: FigureSystem
    leeway: Floats | None = field(init=False)
    _unit: float = 0.0

    def __post_init__(self) -> None:
        self.leeway = np.full(len(self.amounts), np.nan)

    def grow(self, n_records: int, *, is_count: bool) -> None:
        """Make room for records that were seen for the first time."""
        fresh = n_records - len(self.amounts)
        fill = 1.0 if is_count else np.nan
        self.amounts = np.append(self.amounts, np.full(fresh, fill))
        if self.leeway is not None:
            self.leeway = np.append(self.leeway, np.full(fresh, np.nan))
        self.system = self.system.grown(n_records)

    def has(self, figures: Figures) -> bool:
        """Whether figures add up the same amounts, perhaps in another unit."""
        given = figures.amounts
        if given is None:
            given = np.ones(len(figures.records))
        known = self.amounts[figures.records]
        both = ~np.isnan(known) & (figures.group >= 0)
        if not both.any():
            return figures.variable == self.name
        return is_copy(known[both], given[both])

    def learned(self, amounts: Floats, figures: Figures) -> Floats:
        """Return amounts with those that figures add, in the unit of the variable."""
        if figures.amounts is None:
            return amounts
        known = amounts[figures.records]
        both = np.flatnonzero(~np.isnan(known) & (figures.group >= 0))
        summed = in_unit_of(known[both], figures.amounts[both], figures.amounts)
        found = amounts.copy()
        is_new = np.isnan(known) & (figures.group >= 0)
        found[figures.records[is_new]] = summed[is_new]
        return found

    def with_leeway(self, leeway: Floats | None, amounts: Floats) -> Floats | None:
        """Return how far records may move, where more amounts are known than had a leeway.

        A record keeps its leeway, so that figures of before stay as they are.
        """
        if leeway is None or np.nanmin(amounts, initial=0.0) < 0:
            return None
        is_fresh = np.isnan(leeway) & ~np.isnan(amounts)
        if not is_fresh.any():
            return leeway
        self._unit = self._unit or float(np.sqrt(np.nanmean(amounts**2))) or 1.0
        share = amounts / self._unit
        leeway = np.where(is_fresh, np.where(share > FIRM, share, 0.0), leeway)
        largest = largest_of(np.nan_to_num(amounts), MOST_ATTACKERS)
        leeway[largest[is_fresh[largest]]] = 0.0
        return leeway


@dataclass(eq=False)
class SummedVariables:
    """All variables of a project; the first one counts records.

    Parameters
    ----------
    n_records : int
    """

    n_records: int
    variables: list[SummedVariable] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    columns: list[AmountColumn] = field(default_factory=list)
    systems: dict[tuple[int, int], tuple[FigureSystem, Figures, FigureSystem]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        n = self.n_records
        self.variables = [SummedVariable("records", np.ones(n), FigureSystem.empty(n))]
        # Who counts is no contribution of which anybody might know too much.
        self.variables[0].leeway = None

    def grow(self, n_records: int) -> None:
        """Make room for records that were seen for the first time."""
        for number, variable in enumerate(self.variables):
            variable.grow(n_records, is_count=number == 0)
        for column in self.columns:
            column.grow(n_records)
        self.n_records = n_records

    def of(self, figures: Figures) -> SummedVariable:
        """Return the variable of figures; a new one if they are the first of theirs."""
        if figures.is_count:
            return self.variables[0]
        for variable in self.variables:
            if variable.has(figures):
                return variable
        amounts = np.full(self.n_records, np.nan)
        assert figures.amounts is not None
        there = figures.group >= 0
        amounts[figures.records[there]] = figures.amounts[there]
        return SummedVariable(figures.variable, amounts, FigureSystem.empty(self.n_records))

    def add(self, figures: Figures) -> None:
        """Take in figures of an output that was recorded, and what they tell beside copies."""
        self.figures.append(figures)
        for entry in (figures, *(entry for entry, _ in self.differences([figures])[0])):
            self._take_in(entry)
        if not figures.is_count:
            column = column_of(self.columns, figures)
            if column is None:
                column = AmountColumn(figures.variable, np.full(self.n_records, np.nan))
                self.columns.append(column)
            column.take_in(figures)

    def _take_in(self, figures: Figures) -> None:
        variable = self.of(figures)
        if variable not in self.variables:
            self.variables.append(variable)
        variable.amounts = variable.learned(variable.amounts, figures)
        variable.leeway = variable.with_leeway(variable.leeway, variable.amounts)
        variable.system = self.extended(variable.system, figures, variable.leeway)

    def differences(self, new: Sequence[Figures]) -> list[list[tuple[Figures, Figures]]]:
        """Return what sums of columns tell beside those of columns that mostly agree with them.

        A list for each of the new figures; the former ones are asked beside those that follow. With
        each difference come the figures that it was worked out from: the new or earlier ones.
        """
        found: list[list[tuple[Figures, Figures]]] = []
        for figures, _, column_with, others in self._with_columns(new):
            found.append([])
            if column_with is None:
                continue
            for column in others:
                summed = column.difference(figures, self.n_records)
                found[-1] += [(entry, figures) for entry in summed]
                multiple = column.in_its_terms(figures)
                found[-1] += [(multiple, figures)] if multiple is not None else []
                for old in column.figures:
                    summed = column_with.difference(old, self.n_records, figures)
                    if multiple is None and (again := column_with.in_its_terms(old)) is not None:
                        summed.append(again)
                    found[-1] += [(entry, old) for entry in summed]
        return found

    def _with_columns(
        self, new: Sequence[Figures]
    ) -> Iterator[tuple[Figures, AmountColumn | None, AmountColumn | None, list[AmountColumn]]]:
        """Yield new figures, their column without and with them, and the others.

        Those that count have no column.
        """
        columns = list(self.columns)
        for figures in new:
            if figures.is_count:
                yield figures, None, None, columns
                continue
            before = column_of(columns, figures)
            column_with = AmountColumn(figures.variable, np.full(self.n_records, np.nan))
            column_with = (column_with if before is None else before).with_figures(figures)
            others = [column for column in columns if column is not before]
            yield figures, before, column_with, others
            columns = [*others, column_with]

    def weighted_sums(
        self, new: Sequence[Figures], threshold: int, who: Integers | None
    ) -> Iterator[tuple[int, int, Integers, bool]]:
        """Yield where sums of several columns may tell of few contributors together.

        Which of the new figures, the figure within it, its records, and whether that was searched.
        """
        codes = np.arange(self.n_records) if who is None else who
        work = SearchWork(MOST_TRIED)
        for which, (figures, before, column_with, others) in enumerate(self._with_columns(new)):
            if column_with is None or not others:
                continue
            for row, records, sums in together(
                figures, before, column_with, others, self.n_records
            ):
                is_told = tells_of_few(sums, codes[records], threshold, work)
                if is_told is not False:
                    yield which, row, records, is_told is not None

    def sums_of_columns(
        self, new: Sequence[Figures], names: Mapping[int, tuple[str, int]]
    ) -> list[str]:
        """Return what is not searched: sums of a column beside sums of those that it adds up.

        Where all of them are told of the same groups, none tells more than the others.

        Parameters
        ----------
        new : sequence of Figures
        names : mapping
            Output and number of each `Figures`, by its identity.
        """
        undecided = []
        for figures, _, _, columns in self._with_columns(new):
            if figures.amounts is None:
                continue
            there = figures.group >= 0
            records = figures.records[there]
            if not len(records):
                continue
            # What copies tell is searched as one variable.
            others = [
                column
                for column in columns
                if column.knows_most(records) and not column.is_copy_of(figures)
            ]
            given = [column.amounts[records] for column in others]
            numbers, is_exact = added_up(figures.amounts[there], given)
            parts = [others[number] for number in numbers]
            tells = (part.tells(figures, self.n_records).all() for part in parts)
            if len(parts) > 1 and not (is_exact and all(tells)):
                outputs = [
                    list(dict.fromkeys(names[id(one)][0] or "this output" for one in p.figures))
                    for p in parts
                ]
                said = [
                    f"{p.name} of {listed(some)}" for p, some in zip(parts, outputs, strict=True)
                ]
                undecided.append(
                    f"{figures.variable} of this output is, for nearly all records, a sum of "
                    f"multiples of {' and '.join(said)}: what these outputs tell of few "
                    "contributors together was not searched"
                )
        return undecided

    def forget(self) -> None:
        """Let go of what was asked before, once it was recorded or not."""
        self.systems = {}

    def extended(
        self, system: FigureSystem, figures: Figures, leeway: Floats | None = None
    ) -> FigureSystem:
        """Return a system with further figures; what was asked is not computed a second time."""
        key = (id(system), id(figures))
        if key not in self.systems:
            leeway = None if leeway is None else np.nan_to_num(leeway)
            self.systems[key] = (system, figures, system.extended(figures, leeway))
        return self.systems[key][2]


class VariableQuestion:
    """What is asked of one variable.

    Parameters
    ----------
    appetite : Appetite
    variables : Variables
    variable : Variable
        One of them, or a new one.
    new : sequence of Figures
        Figures of the variable in the new output.
    contributors : array of int, optional
        Code of the contributor of each record.
    names : mapping
        Output and number of each `Figures`, by its identity.
    """

    def __init__(
        self,
        appetite: Appetite,
        variables: SummedVariables,
        variable: SummedVariable,
        new: Sequence[Figures],
        contributors: Integers | None,
        names: Mapping[int, tuple[str, int]],
    ) -> None:
        self.appetite = appetite
        self.variable = variable
        self.names = names
        self.before = variable.system
        self.after = self.before
        self.amounts = variable.amounts
        self.parent = np.arange(self.before.n_classes)
        leeway = variable.leeway
        for figures in new:
            self.amounts = variable.learned(self.amounts, figures)
            leeway = variable.with_leeway(leeway, self.amounts)
            self.after = variables.extended(self.after, figures, leeway)
            assert self.after.parent is not None
            self.parent = self.parent[self.after.parent]
        n = len(self.before.parts)
        self.new_parts = range(n, n + len(new))
        self.contributors = _repeated(contributors)
        self.counted = _distinct(self.after.class_of, self.contributors, self.after.n_classes)
        self.undecided: list[str] = []
        self.work = SearchWork(MOST_PROGRAMS)

    @property
    def is_count(self) -> bool:
        """Whether records are counted."""
        return bool((self.amounts == 1).all())

    def is_known(self, group: Flags) -> bool:
        """Whether a group follows from earlier outputs alone."""
        parents = np.unique(self.parent[group])
        if self.after.size[group].sum() != self.before.size[parents].sum():
            return False
        return _is_still(self.before.moves[parents].sum(axis=0), self.before.size[parents].sum())

    def follows(self, group: Flags) -> bool:
        """Return whether the figure of a group follows from all outputs together."""
        return _is_still(self.after.moves[group].sum(axis=0), self.after.size[group].sum())

    @cached_property
    def still(self) -> Flags:
        """Which classes have a figure that follows."""
        scale = np.sqrt(np.maximum(self.after.size, 1))
        return np.asarray(np.abs(self.after.moves).max(axis=1) <= STILL * scale)

    @cached_property
    def figures_and_products(self) -> tuple[csr_array, Floats] | None:
        """Which figures each class stands in, and their products; None if they are too many."""
        system = self.after
        n_shared = system.n_classes * len(system.parts) ** 2
        if system.n_figures > MOST_FIGURES or n_shared > MOST_SHARED:
            return None
        figures = system.figures
        return figures, (figures.T @ figures).toarray()

    def flags(self, *classes: np.integer) -> Flags:
        """Return the group of some classes."""
        group = np.zeros(self.after.n_classes, dtype=bool)
        group[np.array(classes)] = True
        return group

    def records(self, group: Flags) -> Integers:
        """Return the positions of the records of a group. For inside use only."""
        return np.flatnonzero(group[self.after.class_of])

    def n_contributors(self, group: Flags) -> int:
        """Return how many contributors stand behind a group."""
        records = self.records(group)
        return len(records if self.contributors is None else np.unique(self.contributors[records]))

    def is_few(self, group: Flags) -> bool:
        """Return whether a group has fewer contributors than the threshold."""
        return self.n_contributors(group) < self.appetite.safe_threshold

    @cached_property
    def most_records(self) -> float:
        """Most records that fewer contributors than the threshold have."""
        few = self.appetite.safe_threshold - 1
        if self.contributors is None:
            return float(few)
        return float(np.sort(np.bincount(self.contributors))[::-1][:few].sum())

    @property
    def shares(self) -> Floats | None:
        """For each class, which shares of the records of their contributors it has, added up.

        None if each contributor has one record.
        """
        if self.contributors is None:
            return None
        share = 1 / np.bincount(self.contributors)[self.contributors]
        added = np.bincount(self.after.class_of, share, minlength=self.after.n_classes)
        return np.asarray(added, dtype=np.float64)

    @property
    def members(self) -> tuple[Integers, ...] | None:
        """The contributors of each class; None if each has one record."""
        if self.contributors is None:
            return None
        pairs = pd.DataFrame({"number": self.after.class_of, "who": self.contributors})
        pairs = pairs.drop_duplicates().sort_values("number", kind="stable")
        ends = np.searchsorted(pairs["number"].to_numpy(), np.arange(1, self.after.n_classes))
        return tuple(np.split(pairs["who"].to_numpy(), ends))

    def broken(self, group: Flags) -> str:
        """Return the rule on amounts that a group breaks, or nothing."""
        records = self.records(group)
        amounts = self.amounts[records] - max(float(np.nanmin(self.amounts, initial=np.inf)), 0.0)
        if self.contributors is not None:
            who = pd.factorize(self.contributors[records])[0]
            amounts = np.bincount(who, amounts).astype(float)
        largest = np.sort(np.abs(amounts))[::-1]
        total = largest.sum()
        limits = self.appetite
        if largest[2:].sum() < limits.safe_pratio_p * largest[0]:
            return "p-ratio"
        if total and largest[: limits.safe_nk_n].sum() > limits.safe_nk_k * total:
            return "nk-rule"
        return ""


def largest_of(amounts: Floats, number: int) -> Integers:
    """Return the places of the largest amounts, in descending order; the first of equal ones."""
    limit = np.partition(amounts, -number)[-number] if len(amounts) > number else -np.inf
    places = np.flatnonzero(amounts >= limit)
    return places[np.argsort(-amounts[places], kind="stable")][:number]


def _is_still(move: Floats, n_records: float) -> bool:
    return bool(np.abs(move).max() <= STILL * max(n_records, 1) ** 0.5)


def _repeated(contributors: Integers | None) -> Integers | None:
    """Return codes of contributors if any of them has two records."""
    if contributors is None or not pd.Index(contributors).has_duplicates:
        return None
    return contributors


def _distinct(kind: Integers, contributors: Integers | None, n_kinds: int) -> Integers:
    """Return the number of contributors of each kind of records."""
    if contributors is None:
        return np.bincount(kind, minlength=n_kinds).astype(np.int64)
    code = kind * (int(contributors.max(initial=0)) + 1) + contributors
    first = pd.unique(code)
    return np.bincount(first // (int(contributors.max(initial=0)) + 1), minlength=n_kinds).astype(
        np.int64
    )
