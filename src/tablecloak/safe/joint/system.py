"""All figures of one variable, over classes of records that no output tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.factor import Factor

__all__ = ["Part", "System"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DRAWS = 3
"""Random moves of the records. One is enough but for an accident of probability 0; more of them
tell sums of two classes that are 0 from those that happen to be small."""


@dataclass(frozen=True, eq=False)
class Part:
    """One `Figures` of an output within a system.

    Parameters
    ----------
    figures : Figures
    sums : csr_array, shape (f, g)
    kept : array of int
        The figures that do not follow from earlier ones.
    """

    figures: Figures
    sums: csr_array
    kept: Ints


@dataclass(frozen=True, eq=False)
class System:
    """Figures of one variable as sums over classes of records.

    Two records are in one class if every output has them in the same group, so that no computation
    tells them apart.

    Parameters
    ----------
    class_of : (n,) array of int
        Class of each record of the project.
    size : (c,) array of int
        Number of records of each class.
    parts : tuple of Part
    groups : (parts, c) array of int
        In which group of each part a class is; -1 for none.
    factor : Factor
    """

    class_of: Ints
    size: Ints
    parts: tuple[Part, ...]
    groups: npt.NDArray[np.int32]
    factor: Factor

    @classmethod
    def empty(cls, n_records: int) -> System:
        """Return the system without figures: all records are one class."""
        return cls(
            np.zeros(n_records, dtype=np.int64),
            np.array([n_records]),
            (),
            np.empty((0, 1), dtype=np.int32),
            Factor(),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.size)

    def parents(self, later: System) -> Ints:
        """Return in which class of this system the records of each class of a later one are."""
        parent = np.zeros(later.n_classes, dtype=np.int64)
        parent[later.class_of] = self.class_of
        return parent

    def grown(self, n_records: int) -> System:
        """Return the system with further records that stand in no figure so far."""
        fresh = n_records - len(self.class_of)
        if not fresh:
            return self
        class_of = np.append(self.class_of, np.full(fresh, self.n_classes))
        groups = np.pad(self.groups, ((0, 0), (0, 1)), constant_values=-1)
        return System(class_of, np.append(self.size, fresh), self.parts, groups, self.factor)

    def extended(self, figures: Figures) -> System:
        """Return the system with further figures."""
        group_of = np.full(len(self.class_of), -1, dtype=np.int64)
        group_of[figures.records] = figures.group
        n_groups = figures.sums.shape[1]
        code = self.class_of * (n_groups + 1) + group_of + 1
        class_of, distinct = pd.factorize(code)
        parent, group = np.divmod(distinct, n_groups + 1)
        size = np.bincount(class_of, minlength=len(distinct))
        groups = np.vstack([self.groups[:, parent], (group - 1).astype(np.int32)])
        sums = csr_array(figures.sums, dtype=float)
        beside = [
            sums @ _shared(groups[-1], groups[number], size, sums, part.sums) @ part.sums[part.kept].T
            for number, part in enumerate(self.parts)
        ]
        held = np.bincount(groups[-1] + 1, size, minlength=n_groups + 1)[1:]
        within = (sums * held) @ sums.T
        left = np.hstack(beside) if beside else np.empty((sums.shape[0], 0))
        factor, kept = self.factor.extended(left, within.toarray())
        part = Part(figures, sums, kept)
        return System(class_of.astype(np.int64), size, (*self.parts, part), groups, factor)

    # -- products with the figures ----------------------------------------------------------

    def totals(self, amounts: Floats) -> Floats:
        """Return all independent figures of amounts of the classes, (c, k) to (m, k)."""
        found = []
        for part, group in zip(self.parts, self.groups, strict=True):
            is_in = group >= 0
            chosen = csr_array(
                (np.ones(is_in.sum()), (group[is_in], np.flatnonzero(is_in))),
                shape=(part.sums.shape[1], len(group)),
            )
            found.append(part.sums[part.kept] @ (chosen @ amounts))
        return np.vstack(found) if found else np.empty((0, amounts.shape[1]))

    def weights(self, multipliers: Floats) -> Floats:
        """Return what multipliers of the figures give each record of a class, (m, k) to (c, k)."""
        total = np.zeros((self.n_classes, multipliers.shape[1]))
        start = 0
        for part, group in zip(self.parts, self.groups, strict=True):
            end = start + len(part.kept)
            by_group = part.sums[part.kept].T @ multipliers[start:end]
            padded = np.vstack([by_group, np.zeros((1, by_group.shape[1]))])
            total += padded[group]
            start = end
        return total

    def moves(self, generator: np.random.Generator) -> Floats:
        """Return random moves of the classes that change no figure, shape (c, DRAWS).

        Whatever follows from the figures is a sum of classes that no such move changes; whatever
        does not is changed by a random one with probability 1.
        """
        spread = np.sqrt(self.size)[:, None]
        moved = spread * generator.standard_normal((self.n_classes, DRAWS))
        # Twice: the second time removes what rounding left of the first.
        for _ in range(2):
            multipliers = self.factor.solve(self.totals(moved))
            moved = moved - self.size[:, None] * self.weights(multipliers)
        return moved


def _shared(
    rows: npt.NDArray[np.int32],
    columns: npt.NDArray[np.int32],
    size: Ints,
    sums: csr_array,
    other: csr_array,
) -> Floats:
    """Return how many records each pair of groups shares."""
    shape = (sums.shape[1], other.shape[1])
    both = (rows >= 0) & (columns >= 0)
    code = rows[both].astype(np.int64) * shape[1] + columns[both]
    return np.bincount(code, size[both], minlength=shape[0] * shape[1]).reshape(shape)


def rows_of(parts: Sequence[Part], groups: Sequence[npt.NDArray[Any]]) -> csr_array:
    """Return the matrix of all figures of some parts, one row for each class, (c, figures)."""
    from scipy.sparse import hstack

    columns = []
    for part, group in zip(parts, groups, strict=True):
        is_in = group >= 0
        chosen = csr_array(
            (np.ones(is_in.sum()), (np.flatnonzero(is_in), group[is_in])),
            shape=(len(group), part.sums.shape[1]),
        )
        columns.append(chosen @ part.sums.T)
    return csr_array(hstack(columns, format="csr"))
