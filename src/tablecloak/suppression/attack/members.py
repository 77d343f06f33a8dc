"""All members of all kinds of insiders, and the cells of which each knows more than everybody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.system.system import System
from tablecloak.tables.keys import are_sums

__all__ = ["Members"]


class Members:
    """The members of all kinds of insiders, found by the cells of which they know more.

    Parameters
    ----------
    question : Question
    suppressed : numpy.ndarray of bool, shape (n_cells,)
        The pattern, on which the knowledge of some insiders depends.

    Attributes
    ----------
    counts : dict of str to int
        Number of members of each kind of intruder that knows more than everybody.
    know_whole_numbers : bool
        Whether some intruder knows that values are whole numbers.
    named : list of Knowledge
        Knowledge of each member. Its position is the number by which other objects refer to it.
    excused : numpy.ndarray of bool, shape (n_cells,)
        Sums of hidden cells. The rule already counts what a contributor knows of them, so that
        nothing is claimed of them against members.
    """

    def __init__(self, question: Question, suppressed: Flags) -> None:
        kinds = question.intruders
        found = [
            (kind.name_of_kind, knowledge)
            for kind in kinds
            for knowledge in kind.members(question.problem, suppressed)
        ]
        self.know_whole_numbers = any(kind.knows_whole_numbers for kind in kinds)
        self.counts = {
            kind.name_of_kind: sum(name == kind.name_of_kind for name, _ in found)
            + kind.knows_whole_numbers
            for kind in kinds
            if not kind.is_everybody
        }
        self.n_sensitive = len(question.needs.cells)
        self.excused = are_sums(question.problem.table.keys)
        self.named = [
            replace(knowledge, name=f"{name}: {knowledge.name}") for name, knowledge in found
        ]
        count = [len(knowledge.cells) for knowledge in self.named]
        self.owner = np.repeat(np.arange(len(self.named)), count)
        cells = [knowledge.cells for knowledge in self.named]
        self.cell = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
        values = question.problem.table.values[self.cell]
        lower = [knowledge.lower for knowledge in self.named]
        upper = [knowledge.upper for knowledge in self.named]
        self.low = np.concatenate([np.zeros(0), *lower]) - values
        self.high = np.concatenate([np.zeros(0), *upper]) - values

    def judged_in(self, system: System) -> Flags:
        """Return which needs of a system are claimed against members, shape (n_needs,)."""
        judged: Flags = ~self.excused[system.cells[system.needs.cells]]
        return judged

    def within(self, system: System) -> list[tuple[int, Integers, Floats, Floats]]:
        """Return number, positions, and room of each member that knows cells of a system."""
        at = np.searchsorted(system.cells, self.cell)
        at = np.minimum(at, system.n_unknown - 1)
        inside = np.flatnonzero(system.cells[at] == self.cell)
        ends = np.flatnonzero(np.diff(self.owner[inside])) + 1
        return [
            (int(self.owner[chosen[0]]), at[chosen], self.low[chosen], self.high[chosen])
            for chosen in np.split(inside, ends)
            if len(chosen)
        ]
