"""What a kind of output is: the base class of all kinds, what it is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import sparse

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.parameters import take_parameters
from tablecloak.registry import Registry
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.output import Figures, Outcome, Reason, rules_by_cell

Place = tuple[int, int]


def finite_numbers(column: pd.Series[Any], user: str) -> Floats:
    """Return the values of a column, which `user` needs to be finite numbers.

    Raises
    ------
    InputError
        If it has none, texts, or values that are no numbers.
    """
    try:
        values = column.to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{column.name}: {user} finite numbers ({error})") from error
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f"{column.name}: {user} finite numbers")
    return values


@dataclass(frozen=True)
class OutputRecords:
    """The records of an output.

    Parameters
    ----------
    frame : DataFrame
        A row for each record.
    positions : (n,) array of int
        Where the records stand in the project.
    contributor : (n,) array of int
        Code of who stands behind each record.
    appetite : Appetite
    """

    frame: pd.DataFrame
    positions: Integers
    contributor: Integers
    appetite: Appetite

    def part(self, chosen: Flags) -> OutputRecords:
        """Return some of the records."""
        return OutputRecords(
            self.frame[chosen], self.positions[chosen], self.contributor[chosen], self.appetite
        )

    def complete(self) -> tuple[OutputRecords, list[Reason], list[str]]:
        """Return the records without missing values, and what is said of the others."""
        missing = np.asarray(self.frame.isna().any(axis=1), dtype=np.bool_)
        return self.part(~missing), *self.missing(int(missing.sum()))

    def numbers(self, user: str) -> tuple[str, Floats]:
        """Return name and values of the only column, which `user` needs to be finite numbers."""
        return str(self.frame.columns[0]), finite_numbers(self.frame.iloc[:, 0], user)

    def n_contributors(self, chosen: Flags | None = None) -> int:
        """Return how many contributors stand behind some records; behind all without a choice."""
        if self.is_single:
            return len(self.contributor) if chosen is None else int(np.count_nonzero(chosen))
        return len(np.unique(self.contributor if chosen is None else self.contributor[chosen]))

    @cached_property
    def is_single(self) -> bool:
        """Whether each record is a contributor of its own."""
        return len(np.unique(self.contributor)) == len(self.contributor)

    def n_by_group(self, group: Integers, n_groups: int) -> Integers:
        """Return how many contributors stand behind each group of records; -1 is no group."""
        inside = group >= 0
        group, codes = group[inside], self.contributor[inside]
        if not self.is_single:
            width = int(codes.max(initial=0)) + 1
            group = np.unique(group * width + codes) // width
        return np.bincount(group, minlength=n_groups).astype(np.int64)

    def missing(self, left_out: int) -> tuple[list[Reason], list[str]]:
        """Return what is said of records that were left out for their missing values."""
        if not left_out:
            return [], []
        text = f"{left_out} records are left out, because values are missing"
        if self.appetite.check_missing_values:
            return [Reason("review", "missing", text)], []
        return [], [text]


@dataclass(frozen=True)
class Counts:
    """Counts of an output over groups of its records, for the joint audit.

    Parameters
    ----------
    records, group : (n,) array of int
        As in `Figures`.
    sums : (f, g) array of 0 and 1
    labels : tuple of str
    places : tuple of (int, int) or None
        Where each count stands in the frame; None if it cannot be hidden.
    amounts : (n,) array of float, optional
    variable : str, default="records"
    """

    records: Integers
    group: Integers
    sums: Integers
    labels: tuple[str, ...]
    places: tuple[Place | None, ...]
    amounts: Floats | None = None
    variable: str = "records"

    @property
    def is_of_part(self) -> bool:
        """Whether a sum leaves out records."""
        return bool((self.sums == 0).any())

    def shown(self, hidden: set[Place]) -> tuple[Figures, list[Place | None]]:
        """Return the counts that are not hidden, and where they stand."""
        kept = [at for at, place in enumerate(self.places) if place not in hidden]
        figures = Figures(
            self.records,
            self.group,
            sparse.csr_array(self.sums[kept].astype(np.float64)),
            tuple(self.labels[at] for at in kept),
            self.amounts,
            self.variable,
        )
        return figures, [self.places[at] for at in kept]


@dataclass(frozen=True)
class Checked:
    """What a kind answers: the figures that may leave, and what is said of them.

    Parameters
    ----------
    frames : tuple of DataFrame
        Hidden figures are missing values.
    reasons : tuple of Reason
        What speaks against the figures as they are.
    notes : tuple of str
    broken : dict of str to list of (int, int)
        For each rule, the places of the first frame that broke it.
    counts : tuple of Counts
        What of it is a count or a sum over records.
    properties : dict
    are_groups : bool, default=False
        Whether each line counts a group: those in which nobody is do not leave, nor hidden ones.
    has_whole_rows : bool, default=False
        Whether the figures of a line tell each other, so that they are hidden together.
    chained : str, default=""
        Column that multiplies up the lines: it starts anew after a hidden one, which it would tell.
    base : str, default=""
        How other outputs get the same records, where nothing can be hidden.
    conditional : tuple of Counts
        Sums that follow for whoever knows other columns of the records.
    """

    frames: tuple[pd.DataFrame, ...]
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    broken: dict[str, list[Place]] = field(default_factory=dict)
    counts: tuple[Counts, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    are_groups: bool = False
    has_whole_rows: bool = False
    chained: str = ""
    base: str = ""
    conditional: tuple[Counts, ...] = ()

    def hiding(self, places: list[Place], rule: str, *notes: str) -> Checked:
        """Return the answer with some figures of the first frame hidden, and notes if there are."""
        if not places:
            return self
        first = self.frames[0].copy()
        if self.has_whole_rows:
            rows = sorted({row for row, _ in places})
            if self.chained:
                values = first[self.chained].to_numpy(dtype=np.float64, copy=True)
                for row in rows:
                    gaps = np.flatnonzero(np.isnan(values[row + 1 :]))
                    until = row + 1 + int(gaps[0]) if gaps.size else len(values)
                    values[row + 1 : until] /= values[row]
                first[self.chained] = values
                notes = (*notes, "after a hidden line, survival starts anew: of those at risk then")
            places = [(row, column) for row in rows for column in range(first.shape[1])]
        for row, column in places:
            name = first.columns[column]
            if not pd.api.types.is_float_dtype(first.dtypes.iloc[column]):
                first[name] = first[name].astype(np.float64)
            first.iloc[row, column] = np.nan
        known = self.broken.get(rule, [])
        broken = {**self.broken, rule: [*known, *(at for at in places if at not in known)]}
        return replace(
            self,
            frames=(first, *self.frames[1:]),
            notes=(*self.notes, *notes),
            broken=broken,
        )

    @property
    def hidden(self) -> set[Place]:
        """Places of the first frame without a figure."""
        found = np.argwhere(self.frames[0].isna().to_numpy()).tolist() if self.frames else []
        return {(row, column) for row, column in found}

    @property
    def lines(self) -> tuple[Integers, Integers] | None:
        """Rows and columns of the first frame that leave; None for all."""
        if not self.are_groups:
            return None
        frame = self.frames[0]
        return np.flatnonzero((frame.fillna(0) != 0).any(axis=1)), np.arange(frame.shape[1])

    @property
    def outcome(self) -> Outcome:
        """The verdict, with what was found of each figure of the first frame."""
        if not self.frames:
            return Outcome(self.reasons, self.notes)
        return Outcome(self.reasons, self.notes, rules_by_cell(self.frames[0], self.broken))


@dataclass(frozen=True)
class Kind:
    """Base class of all kinds of outputs.

    A kind has a name, a `label` and `check`. The first line of its docstring is what users read
    about it; its parameters are those of its constructor.
    """

    name: ClassVar[str] = ""
    label: ClassVar[str] = "table"
    """What viewers call it."""

    def __post_init__(self) -> None:
        take_parameters(self, type(self).name)

    def check(self, records: OutputRecords) -> Checked:
        """Return what may leave, and what is said of it."""
        raise NotImplementedError


KINDS: Registry[Kind] = Registry("kind of output", "tablecloak.safe.other")
"""All kinds of outputs other than tables, by name."""
