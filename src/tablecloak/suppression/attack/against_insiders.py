"""Protection of a pattern against insiders: the pairs left open, and the cost of protection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Flags, Integers
from tablecloak.errors import counted
from tablecloak.suppression.attack.groups import SensitiveGroup, sensitive_groups
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule


class WhyOpen(Enum):
    """Why the protection of a sensitive cell against an insider is not claimed."""

    HOPELESS = "no pattern hides it"
    """This insider comes too close even if every cell that may be hidden is hidden."""
    ATTACKABLE = "attack succeeds"
    """This insider comes too close, and time ended before a pattern was found that prevents it."""
    UNDECIDED = "not settled in time"
    """Neither a proof nor an attack was found; treat it as attackable."""


class OpenPair(NamedTuple):
    """An insider and a sensitive cell for which no protection is claimed. Secret.

    Parameters
    ----------
    insider : str
    cell : int
    why : WhyOpen
    """

    insider: str
    cell: int
    why: WhyOpen


@dataclass(frozen=True, eq=False)
class OpenPairs:
    """All insiders and sensitive cells for which no protection is claimed. Secret.

    Parameters
    ----------
    names : numpy.ndarray of str
        Names of insiders, each once.
    insider, cell : numpy.ndarray of int, shape (n_pairs,)
        Position of the name of the insider, and number of the cell; by insider and cell.
    why : numpy.ndarray of WhyOpen, shape (n_pairs,)
    """

    names: npt.NDArray[np.object_]
    insider: Integers
    cell: Integers
    why: npt.NDArray[np.object_]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        insider: npt.ArrayLike,
        cell: npt.ArrayLike,
        reasons: Mapping[tuple[str, int], WhyOpen] = MappingProxyType({}),
    ) -> OpenPairs:
        """Return pairs; those without a reason are undecided.

        Parameters
        ----------
        names : sequence of str
            Name of each insider; several may share one.
        insider, cell : array_like of int, shape (n_pairs,)
        reasons : mapping of (str, int) to WhyOpen, optional
            By name of the insider and number of the cell.
        """
        of_name, distinct = pd.factorize(np.array(names, dtype=object), sort=True)
        cells = np.asarray(cell, dtype=np.int64)
        size = int(cells.max(initial=0)) + 1
        keys = np.unique(of_name[np.asarray(insider, dtype=np.int64)] * size + cells)
        why = np.full(len(keys), WhyOpen.UNDECIDED, dtype=object)
        numbers = {name: number for number, name in enumerate(distinct)}
        for (name, number), reason in reasons.items():
            key = numbers.get(name, -1) * size + number
            place = int(np.searchsorted(keys, key))
            why[place : place + int(np.append(keys, -1)[place] == key)] = reason
        return cls(distinct, keys // size, keys % size, why)

    def __len__(self) -> int:
        return len(self.cell)

    def __iter__(self) -> Iterator[OpenPair]:
        names = self.names[self.insider]
        return map(OpenPair, names.tolist(), self.cell.tolist(), self.why.tolist())

    def count(self, where: Flags) -> tuple[int, int]:
        """Return the number of insiders, and of cells, in some of the pairs."""
        return len(np.unique(self.insider[where])), len(np.unique(self.cell[where]))


@dataclass(frozen=True, eq=False)
class AgainstInsiders:
    """Protection against insiders, compared with the pattern for outsiders alone. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
        The problem with the weights of the search.
    intruders : dict of str to int
        Number of insiders of each kind.
    suppressed, outsiders : numpy.ndarray of bool, shape (n_cells,)
        The pattern, and the one from which it began, which protects against outsiders only.
    successful_before : int
        Number of insiders known to attack the pattern for outsiders.
    unsettled_before : int
        Number of insiders whose attack on that pattern was not settled.
    open : OpenPairs
        Pairs of an insider and a cell for which nothing is claimed.
    unjudged : int
        Number of insiders not tried in time: nothing is claimed against them.
    groups : tuple of two lists of SensitiveGroup, optional
        Sums of hidden cells that a rule finds unsafe, in the pattern for outsiders and in this one.
    """

    problem: ProtectionProblem
    intruders: dict[str, int]
    suppressed: Flags
    outsiders: Flags
    successful_before: int
    unsettled_before: int
    open: OpenPairs = field(default_factory=lambda: OpenPairs.of([], [], []))
    unjudged: int = 0
    groups: tuple[list[SensitiveGroup], list[SensitiveGroup]] | None = None

    @property
    def loss(self) -> float:
        """Weight of the cells that the pattern hides."""
        return float(self.problem.weights[self.suppressed].sum())

    @property
    def loss_before(self) -> float:
        """Weight of the cells that the pattern for outsiders hides."""
        return float(self.problem.weights[self.outsiders].sum())

    @property
    def _cells(self) -> tuple[float, float]:
        """Number of hidden cells of both patterns, without rests, which no release shows."""
        shown = ~self.problem.table.rests
        return float((self.outsiders & shown).sum()), float((self.suppressed & shown).sum())

    @property
    def successful(self) -> int:
        """Number of insiders known to attack the pattern."""
        return self.open.count(self.open.why != WhyOpen.UNDECIDED)[0]

    @property
    def unsettled(self) -> int:
        """Number of insiders whose attack is not settled."""
        every, _ = self.open.count(np.ones(len(self.open), dtype=bool))
        return self.unjudged + every - self.successful

    def count(self, why: WhyOpen) -> tuple[int, int]:
        """Return the number of insiders, and of cells, in pairs that are open for a reason."""
        return self.open.count(self.open.why == why)

    def judged(self, rules: Sequence[Rule]) -> tuple[list[SensitiveGroup], list[SensitiveGroup]]:
        """Return the unsafe sums of hidden cells before, and now.

        Parameters
        ----------
        rules : sequence of Rule
            Rules that apply to sums.
        """
        before, now = (
            sensitive_groups(self.problem, hidden, rules)
            for hidden in (self.outsiders, self.suppressed)
        )
        return before, now

    def costs(self) -> pd.DataFrame:
        """Return loss, cells and successful insiders of both patterns, one column each. Secret."""
        rows: dict[str, tuple[float, float]] = {
            "loss": (self.loss_before, self.loss),
            "cells hidden": self._cells,
            "insiders who succeed": (self.successful_before, self.successful),
            "insiders not settled": (self.unsettled_before, self.unsettled),
        }
        if self.groups is not None:
            rows["sensitive groups"] = (len(self.groups[0]), len(self.groups[1]))
        columns = ["for outsiders alone", "as published"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def summary(self) -> str:
        """Return the cost and the gaps of protection in one line. Names no insider."""
        tried = ", ".join(f"{number} {name}" for name, number in self.intruders.items())
        told = [
            f"against {tried or 'insiders, of whom there are none'}",
            f"successful {_change(self.successful_before, self.successful)}",
            f"loss {_change(self.loss_before, self.loss)}",
            f"cells {_change(*self._cells)}",
        ]
        if self.unsettled_before or self.unsettled:
            told.insert(2, f"not settled {_change(self.unsettled_before, self.unsettled)}")
        if self.groups is not None:
            told.append(f"sensitive groups {_change(*map(len, self.groups))}")
        return ", ".join(told)

    def statements(self) -> list[str]:
        """Return a sentence for each reason why protection against insiders is not claimed."""
        told = []
        for why, words in (
            (WhyOpen.HOPELESS, "no pattern hides"),
            (WhyOpen.ATTACKABLE, "in the time given no pattern was found that hides"),
            (WhyOpen.UNDECIDED, "in the time given it was not settled whether the pattern hides"),
        ):
            insiders, cells = self.count(why)
            if insiders:
                told.append(
                    f"From {counted(insiders, 'insider')} {words} "
                    f"{counted(cells, 'sensitive cell')}: nothing is claimed of these."
                )
        if self.unjudged:
            told.append(
                f"{counted(self.unjudged, 'insider')} did not attack in the time given: nothing "
                f"is claimed against them."
            )
        return told

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each open pair: codes of the cell, insider, and why. Secret."""
        keys = self.problem.table.keys.iloc[self.open.cell]
        return keys.assign(
            insider=self.open.names[self.open.insider],
            open=[why.value for why in self.open.why],
        )


def _change(before: float, now: float) -> str:
    return f"{before:,.12g}" if before == now else f"{before:,.12g} -> {now:,.12g}"
