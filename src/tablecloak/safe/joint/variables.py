"""Which figures add up the same amounts, whatever they are called."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.system import System

SAME = 1e-9
"""Relative difference up to which amounts are the same: they may come in another unit."""


@dataclass(eq=False)
class Variable:
    """Amounts of records, and all figures that add them up.

    Parameters
    ----------
    name : str
    amounts : (n,) array of float
        By position of the record; nan where no figure has told it so far.
    system : System
    """

    name: str
    amounts: Floats
    system: System

    def grow(self, n_records: int, *, is_count: bool) -> None:
        """Make room for records that were seen for the first time."""
        fresh = n_records - len(self.amounts)
        fill = 1.0 if is_count else np.nan
        self.amounts = np.append(self.amounts, np.full(fresh, fill))
        self.system = self.system.grown(n_records)

    def has(self, figures: Figures) -> bool:
        """Whether figures add up the same amounts, perhaps in another unit."""
        given = figures.amounts
        if given is None:
            given = np.ones(len(figures.records))
        known = self.amounts[figures.records]
        both = ~np.isnan(known)
        if not both.any():
            return figures.variable == self.name
        known, given = known[both], given[both]
        largest = int(np.argmax(np.abs(known)))
        if known[largest] == 0 or given[largest] == 0:
            return not known.any() and not given.any()
        scale = given[largest] / known[largest]
        limit = SAME * abs(given[largest])
        return bool(np.abs(given - scale * known).max() <= limit)

    def learned(self, amounts: Floats, figures: Figures) -> Floats:
        """Return amounts with those that figures add, in the unit of the variable."""
        if figures.amounts is None:
            return amounts
        known = amounts[figures.records]
        both = np.flatnonzero(~np.isnan(known) & (known != 0) & (figures.amounts != 0))
        scale = known[both[0]] / figures.amounts[both[0]] if both.size else 1.0
        found = amounts.copy()
        found[figures.records] = np.where(np.isnan(known), scale * figures.amounts, known)
        return found


@dataclass(eq=False)
class Variables:
    """All variables of a project; the first one counts records.

    Parameters
    ----------
    n_records : int
    """

    n_records: int
    known: list[Variable] = field(default_factory=list)
    done: list[Figures] = field(default_factory=list)
    asked: dict[tuple[int, int], tuple[System, Figures, System]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.n_records
        self.known = [Variable("records", np.ones(n), System.empty(n))]

    def grow(self, n_records: int) -> None:
        """Make room for records that were seen for the first time."""
        for number, variable in enumerate(self.known):
            variable.grow(n_records, is_count=number == 0)
        self.n_records = n_records

    def of(self, figures: Figures) -> Variable:
        """Return the variable of figures; a new one if they are the first of theirs."""
        if figures.is_count:
            return self.known[0]
        for variable in self.known:
            if variable.has(figures):
                return variable
        amounts = np.full(self.n_records, np.nan)
        amounts[figures.records] = figures.amounts
        return Variable(figures.variable, amounts, System.empty(self.n_records))

    def add(self, figures: Figures) -> None:
        """Take in figures of an output that was recorded."""
        variable = self.of(figures)
        if variable not in self.known:
            self.known.append(variable)
        variable.amounts = variable.learned(variable.amounts, figures)
        variable.system = self.extended(variable.system, figures)
        self.done.append(figures)

    def forget(self) -> None:
        """Let go of what was asked before, once it was recorded or not."""
        self.asked = {}

    def extended(self, system: System, figures: Figures) -> System:
        """Return a system with further figures; what was asked is not computed a second time."""
        key = (id(system), id(figures))
        if key not in self.asked:
            self.asked[key] = (system, figures, system.extended(figures))
        return self.asked[key][2]
