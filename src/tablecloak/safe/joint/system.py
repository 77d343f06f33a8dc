"""All figures of one variable, over classes of records that no output tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.output import Figures

DEPENDENT = 1e-7
"""Squared distance, in records, up to which a figure follows from those before it. Figures count
whole records; the rounding errors of 10^4 figures of 10^6 records stay below 1e-8."""


DRAWS = 3
"""Random moves of the records. One would be enough but for accidents; among 10^12 pairs of classes
three tell sums that are 0 from those that happen to be small."""

BLOCK = 8192
"""Classes over which figures are combined at once."""

PACKED, SEEN = 4096, 20_000
"""Combinations of groups of several outputs that are looked up as one, and classes by which the
number of combinations is guessed."""

SETTLED = 1e-9
"""Figure of a move, beside the root of its records, up to which it counts as 0."""

STILL = 1e-8
"""Change of a figure that was not kept, up to which it counts as none."""


@dataclass(frozen=True)
class FactorBlock:
    """Rows of the factor that one output added: left of the diagonal, and on it."""

    left: Floats
    diagonal: Floats


@dataclass(frozen=True)
class Factor:
    """The factor L of G = L L', where G says how many records two figures share.

    A factor is never changed: `extended` returns a new one that shares the blocks so far, so that
    what an output would add can be looked at and thrown away.

    Parameters
    ----------
    blocks : tuple of Block
    """

    blocks: tuple[FactorBlock, ...] = ()

    @property
    def size(self) -> int:
        """Number of independent figures."""
        return sum(len(block.diagonal) for block in self.blocks)

    def forward(self, right: Floats, first: Floats | None = None) -> Floats:
        """Solve L y = right; `first` are rows of y that are solved already, of whole blocks."""
        solved = np.empty_like(right)
        start, n_first = 0, 0 if first is None else len(first)
        solved[:n_first] = first if n_first else 0.0
        for block in self.blocks:
            end = start + len(block.diagonal)
            if end > n_first:
                rest = right[start:end] - block.left @ solved[:start]
                solved[start:end] = _solved(block.diagonal, rest)
            start = end
        return solved

    def backward(self, right: Floats) -> Floats:
        """Solve L' x = right."""
        rest = right.copy()
        end = len(rest)
        for block in reversed(self.blocks):
            start = end - len(block.diagonal)
            part = _solved(block.diagonal, rest[start:end], 1)
            rest[start:end] = part
            rest[:start] -= block.left.T @ part
            end = start
        return rest

    def solve(self, right: Floats) -> Floats:
        """Solve G x = right."""
        return self.backward(self.forward(right))

    def extended(self, beside: Floats, within: Floats) -> tuple[Factor, Integers]:
        """Add the figures of one output, but those that follow from others.

        Parameters
        ----------
        beside : (f, size) array
            Records that each new figure shares with each figure of the factor.
        within : (f, f) array
            Records that new figures share with each other.

        Returns
        -------
        factor : Factor
        kept : array of int
            Which of the new figures were added.
        """
        left = self.forward(np.ascontiguousarray(beside.T)).T
        rest = within - left @ left.T
        lower, pivots, rank, _ = dpstrf(rest, tol=DEPENDENT, lower=1)
        # The routine takes the first pivot however small it is.
        rank = int(rank) if len(rest) and lower[0, 0] ** 2 > DEPENDENT else 0
        order = pivots[:rank].astype(np.int64) - 1
        diagonal = np.tril(lower[:rank, :rank])
        block = FactorBlock(np.ascontiguousarray(left[order]), diagonal)
        return Factor((*self.blocks, block)), order


def _solved(lower: Floats, right: Floats, trans: Literal[0, 1] = 0) -> Floats:
    solution = solve_triangular(lower, right, lower=True, trans=trans, check_finite=False)
    return np.asarray(solution, dtype=np.float64)


@dataclass(eq=False)
class SolvedRows:
    """What was solved forward for classes of records, kept for the next output.

    Rows of y in L y = v stay as they are when an output adds a block to L. Classes are told by
    their first record: an output may divide a class, and records stay.

    Parameters
    ----------
    blocks : tuple of FactorBlock
        Those of L when it was solved.
    records : (c,) array of int
        In ascending order.
    rows : (figures, c) array
    """

    blocks: tuple[FactorBlock, ...] = ()
    records: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def solve(self, factor: Factor, records: Integers, right: Floats) -> Floats:
        """Solve L y = right for classes by their first records, in ascending order."""
        pairs = zip(factor.blocks, self.blocks, strict=False)
        same = [block for block, _ in takewhile(lambda pair: pair[0] is pair[1], pairs)]
        height = sum(len(block.diagonal) for block in same)
        place = np.searchsorted(self.records, records)
        place[place == len(self.records)] = 0
        is_solved = np.zeros(len(records), dtype=np.bool_)
        if height:
            is_solved = self.records[place] == records
        rows = np.empty_like(right)
        for chosen, first in ((~is_solved, None), (is_solved, self.rows[:height])):
            done = None if first is None else first[:, place[chosen]]
            rows[:, chosen] = factor.forward(np.ascontiguousarray(right[:, chosen]), done)
        self.blocks, self.records, self.rows = factor.blocks, records, rows
        return rows


Groups = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class FigurePart:
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
    kept: Integers

    @cached_property
    def rows(self) -> csr_array:
        """The sums that are kept."""
        return csr_array(self.sums[self.kept])

    @cached_property
    def dropped(self) -> csr_array:
        """The sums that follow from earlier ones."""
        return csr_array(self.sums[np.setdiff1d(np.arange(self.sums.shape[0]), self.kept)])

    @cached_property
    def held(self) -> Floats:
        """Number of records of each group."""
        n_groups = self.sums.shape[1]
        return np.bincount(self.figures.group + 1, minlength=n_groups + 1)[1:].astype(np.float64)


@dataclass(frozen=True, eq=False)
class GroupPack:
    """In which groups of some parts classes are.

    Outputs of the same keys share their combinations of groups: there are few packs, however many
    outputs there are, and what is looked up for all classes is looked up once for each.

    Parameters
    ----------
    numbers : tuple of int
        The parts.
    groups : (d, parts) array of int
        The combinations of groups that there are; -1 for none.
    code : (c,) array of int
        The combination of each class.
    """

    numbers: tuple[int, ...]
    groups: Groups
    code: Groups

    @classmethod
    def alone(cls, number: int, part_groups: Groups) -> GroupPack:
        """Return the pack of one part."""
        code, groups = pd.factorize(part_groups)
        return cls((number,), groups.astype(np.int32)[:, None], code.astype(np.int32))

    def growth(self, part_groups: Groups) -> float:
        """Return by how many times a further part would have more combinations, of some classes."""
        step = max(len(part_groups) // SEEN, 1)
        some = self.code[::step]
        return len(pd.unique(self._joint(part_groups, step))) / max(len(pd.unique(some)), 1)

    def beside(self, number: int, part_groups: Groups) -> GroupPack | None:
        """Return the pack with a further part; None if it has too many combinations."""
        code, distinct = pd.factorize(self._joint(part_groups))
        if len(distinct) > max(PACKED, len(self.groups)):
            return None
        before, group = np.divmod(distinct, int(part_groups.max(initial=-1)) + 2)
        groups = np.column_stack([self.groups[before], group.astype(np.int32) - np.int32(1)])
        return GroupPack((*self.numbers, number), groups, code.astype(np.int32))

    def _joint(self, part_groups: Groups, step: int = 1) -> Integers:
        n_groups = np.int64(part_groups.max(initial=-1)) + 2
        return np.asarray(self.code[::step] * n_groups + part_groups[::step] + 1, dtype=np.int64)

    def of(self, classes: Integers) -> GroupPack:
        """Return the pack of other classes, each taken from one of these."""
        return replace(self, code=self.code[classes])

    def grown(self) -> GroupPack:
        """Return the pack with a class that is in no group."""
        nothing = np.full((1, len(self.numbers)), -1, dtype=np.int32)
        code = np.append(self.code, np.int32(len(self.groups)))
        return replace(self, groups=np.vstack([self.groups, nothing]), code=code)


@dataclass(frozen=True, eq=False)
class FigureSystem:
    """Figures of one variable as sums over classes of records.

    Two records are in one class if every output has them in the same group, so that no computation
    tells them apart. Random moves of the records that change no figure tell what follows: a sum of
    classes follows from the figures if no such move changes it, and a random one changes all
    others with probability 1.

    Parameters
    ----------
    class_of : (n,) array of int
        Class of each record of the project.
    size : (c,) array of int
        Number of records of each class.
    parts : tuple of Part
    packs : tuple of GroupPack
        In which groups of the parts classes are.
    factor : Factor
    draws : (n, DRAWS) array
        Random moves of the records.
    weights : (c, DRAWS) array
        What is taken from the draw of each record of a class, so that no figure changes.
    parent : (c,) array of int
        Class of the system before the last part that each class was part of.
    leeway : FigureSystem, optional
        The same figures where each record counts by the square of how far it may move: `size` is
        the sum of these squares. Of its parts it holds the figures alone that this system keeps.
    solved : SolvedRows
        What was solved for this system, or one with more or fewer figures.
    """

    class_of: Integers
    size: Integers
    parts: tuple[FigurePart, ...]
    packs: tuple[GroupPack, ...]
    factor: Factor
    draws: Floats
    weights: Floats
    parent: Integers | None = None
    leeway: FigureSystem | None = None
    solved: SolvedRows = field(default_factory=SolvedRows)

    @classmethod
    def empty(cls, n_records: int) -> FigureSystem:
        """Return the system without figures: all records are one class."""
        empty = cls(
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            (),
            (),
            Factor(),
            np.empty((0, DRAWS)),
            np.empty((0, DRAWS)),
        )
        return empty.grown(n_records)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.size)

    @property
    def n_figures(self) -> int:
        """Number of figures, those that follow from others included."""
        return sum(part.sums.shape[0] for part in self.parts)

    @property
    def figures(self) -> csr_array:
        """Which figures each class stands in, shape (c, figures)."""
        if not self.parts:
            return csr_array((self.n_classes, 0))
        return figures_of_classes(self.parts, [self.group(n) for n in range(len(self.parts))])

    @cached_property
    def moves(self) -> Floats:
        """Random moves of the classes that change no figure, shape (c, DRAWS)."""
        return _by_class(self.class_of, self.draws, self.n_classes) - (
            self.size[:, None] * self.weights
        )

    def weighted(self, weights: Floats) -> FigureSystem:
        """Return the system whose factor counts classes by weights instead of records."""
        kept = [replace(part, sums=part.rows) for part in self.parts]
        figures = figures_of_classes(kept, [self.group(n) for n in range(len(kept))])
        shared = (figures.T @ (figures * weights[:, None])).toarray()
        block = FactorBlock(np.empty((len(shared), 0)), np.linalg.cholesky(shared))
        return replace(self, factor=Factor((block,)))

    def grown(self, n_records: int) -> FigureSystem:
        """Return the system with further records that stand in no figure so far."""
        known = len(self.class_of)
        fresh = n_records - known
        if not fresh:
            return self
        # Any seed will do; records that come later draw numbers of their own.
        drawn = np.random.default_rng((1, known)).standard_normal((fresh, DRAWS))
        return FigureSystem(
            np.append(self.class_of, np.full(fresh, self.n_classes)),
            np.append(self.size, fresh),
            self.parts,
            tuple(pack.grown() for pack in self.packs),
            self.factor,
            np.vstack([self.draws, drawn]),
            np.vstack([self.weights, np.zeros((1, DRAWS))]),
            leeway=None if self.leeway is None else self.leeway.grown(n_records),
            solved=self.solved,
        )

    def extended(self, figures: Figures, leeway: Floats | None = None) -> FigureSystem:
        """Return the system with further figures.

        Parameters
        ----------
        figures : Figures
        leeway : (n,) array of float, optional
            How far each record of the project may move; with it the system has a `leeway`.
        """
        n_groups = figures.sums.shape[1]
        group_of = np.full(len(self.class_of), -1, dtype=np.int64)
        group_of[figures.records] = figures.group
        code = self.class_of * (n_groups + 1) + group_of + 1
        class_of, distinct = pd.factorize(code)
        parent, group = np.divmod(distinct, n_groups + 1)
        packs, weights = self.packs, self.weights
        if len(distinct) > self.n_classes or (parent != np.arange(len(parent))).any():
            packs = tuple(pack.of(parent) for pack in packs)
            weights = weights[parent]
        size = np.bincount(class_of, minlength=len(distinct))
        split = replace(
            self, class_of=class_of.astype(np.int64), size=size, packs=packs, weights=weights,
            parent=parent,
        )  # fmt: skip
        sums = csr_array(figures.sums, dtype=float)
        part_groups = (group - 1).astype(np.int32)
        after = split._with_part(figures, sums, part_groups)
        past = self.leeway if self.parts else self
        if leeway is None or past is None:
            return replace(after, leeway=None)
        weighted = replace(
            split,
            size=np.bincount(class_of, leeway**2, minlength=len(distinct)),
            parts=past.parts,
            factor=past.factor,
            draws=np.copysign(leeway[:, None], self.draws),
            weights=past.weights[parent],
            leeway=None,
        )
        kept = csr_array(sums[after.parts[-1].kept])
        return replace(after, leeway=weighted._with_part(figures, kept, part_groups))

    def _with_part(self, figures: Figures, sums: csr_array, part_groups: Groups) -> FigureSystem:
        """Return the system, which tells groups of further figures apart already, with these."""
        n_groups = sums.shape[1]
        beside = [np.zeros((sums.shape[0], 0))] * len(self.parts)
        for pack in self.packs:
            shared = sums @ _shared(part_groups, pack, self.size, n_groups)
            for column, number in enumerate(pack.numbers):
                part = self.parts[number]
                choice = members_of(pack.groups[:, column], part.sums.shape[1])
                beside[number] = (shared @ choice.T @ part.rows.T).toarray()
        held = np.bincount(part_groups + 1, self.size, minlength=n_groups + 1)[1:]
        within = (sums * held) @ sums.T
        left = np.hstack(beside) if beside else np.empty((sums.shape[0], 0))
        factor, kept = self.factor.extended(left, within.toarray())
        return replace(
            self,
            parts=(*self.parts, FigurePart(figures, sums, kept)),
            packs=self._packed(part_groups),
            factor=factor,
        )._settled(part_groups)

    def _packed(self, part_groups: Groups) -> tuple[GroupPack, ...]:
        """Return the packs with the groups of a further part, where it adds fewest combinations."""
        number = len(self.parts)
        growths = [pack.growth(part_groups) for pack in self.packs]
        for best in np.argsort(growths)[:1].tolist():
            joined = self.packs[best].beside(number, part_groups)
            if joined is not None:
                return (*self.packs[:best], joined, *self.packs[best + 1 :])
        return (*self.packs, GroupPack.alone(number, part_groups))

    def group(self, number: int, classes: Integers | slice = slice(None)) -> Groups:
        """Return in which group of a part classes are; -1 for none."""
        pack = next(pack for pack in self.packs if number in pack.numbers)
        return pack.groups[:, pack.numbers.index(number)][pack.code[classes]]

    def _settled(self, group: Groups) -> FigureSystem:
        """Return the system whose moves leave the last part unchanged as well."""
        part = self.parts[-1]
        choice = members_of(group, part.sums.shape[1])
        figures = part.rows
        scale = np.sqrt(np.maximum(figures @ (choice @ self.size), 1))[:, None]
        drawn = _by_class(self.class_of, self.draws, self.n_classes)
        weights = self.weights
        # A second round only where rounding left something of the first.
        for _ in range(3):
            off = figures @ (choice @ (drawn - self.size[:, None] * weights))
            if not off.size or np.abs(off / scale).max() <= SETTLED:
                break
            weights = weights + self._combined(off)
        return replace(self, weights=weights)

    def _combined(self, off: Floats) -> Floats:
        """Return the combination of figures that takes `off` from those of the last part."""
        right = np.zeros((self.factor.size, off.shape[1]))
        diagonal = self.factor.blocks[-1].diagonal
        right[len(right) - len(off) :] = _solved(diagonal, off)
        return self.combined(self.factor.backward(right))

    def near(self, classes: Integers, moves: Floats) -> Floats:
        """Return the moves of all classes that change no figure, nearest to moves of some of them.

        Parameters
        ----------
        classes : (n,) array of int
        moves : (n, k) array

        Returns
        -------
        (c, k) array
        """
        sums = [np.zeros((0, moves.shape[1]))]
        for number, part in enumerate(self.parts):
            group = self.group(number, classes)
            by_group = _by_class(group + 1, moves, part.sums.shape[1] + 1)
            sums.append(part.rows @ by_group[1:])
        multipliers = self.factor.solve(np.vstack(sums))
        nearest = -self.size[:, None] * self.combined(multipliers)
        nearest[classes] += moves
        return nearest

    def is_unchanged(self, moves: Floats) -> Flags:
        """Return which moves of classes, shape (c, k), leave the figures alone that were not kept.

        Where nothing moves that a figure adds up, it was not kept.
        """
        unchanged = np.ones(moves.shape[1], dtype=np.bool_)
        for number, part in enumerate(self.parts):
            rows = part.dropped
            if rows.shape[0]:
                group, n_groups = self.group(number), rows.shape[1] + 1
                unchanged &= [
                    bool(np.abs(rows @ np.bincount(group + 1, move, n_groups)[1:]).max() <= STILL)
                    for move in moves.T
                ]
        return unchanged

    def combined(self, multipliers: Floats, classes: Integers | slice = slice(None)) -> Floats:
        """Return what combinations of figures are at each class.

        Parameters
        ----------
        multipliers : (figures of the factor, k) array
        classes : array of int, optional
            Classes that are asked about; by default all.

        Returns
        -------
        (c, k) array
        """
        chosen = np.arange(self.n_classes)[classes]
        total, end = np.empty((len(chosen), multipliers.shape[1])), 0
        for block in self._combined_in_blocks(multipliers, chosen):
            start, end = end, end + len(block)
            total[start:end] = block
        return total

    def squares(self, multipliers: Floats, classes: Integers) -> Floats:
        """Return the squared length of what combinations of figures are at each class."""
        blocks = self._combined_in_blocks(multipliers, classes)
        return np.concatenate([np.zeros(0), *((block**2).sum(axis=1) for block in blocks)])

    def _combined_in_blocks(self, multipliers: Floats, chosen: Integers) -> Iterator[Floats]:
        ends = np.cumsum([len(part.kept) for part in self.parts])
        tables = []
        for pack in self.packs:
            table = np.zeros((len(pack.groups), multipliers.shape[1]))
            for number, groups in zip(pack.numbers, pack.groups.T, strict=True):
                part = self.parts[number]
                by_group = part.rows.T @ multipliers[ends[number] - len(part.kept) : ends[number]]
                # A class that is in no group of the part takes the last row.
                table += np.vstack([by_group, np.zeros((1, multipliers.shape[1]))])[groups]
            tables.append(table)
        # A block stays in the processor's memory for all parts, which is 2 to 4 times as fast.
        for start in range(0, len(chosen), BLOCK):
            some = chosen[start : start + BLOCK]
            block = np.zeros((len(some), multipliers.shape[1]))
            for table, pack in zip(tables, self.packs, strict=True):
                block += table.take(pack.code[some], axis=0)
            yield block

    def solved_rows(self, classes: Integers) -> Floats:
        """Return `kept_figures` of classes, solved forward by the factor."""
        first = np.empty(self.n_classes, dtype=np.int64)
        first[self.class_of[::-1]] = np.arange(len(self.class_of))[::-1]
        order = np.argsort(first[classes])
        rows = np.empty((self.factor.size, len(classes)))
        right = self.kept_figures(classes[order])
        rows[:, order] = self.solved.solve(self.factor, first[classes[order]], right)
        return rows

    def kept_figures(self, classes: Integers) -> Floats:
        """Return which figures of the factor each class stands in, shape (figures, c)."""
        rows = [np.zeros((0, len(classes)))]
        for number, part in enumerate(self.parts):
            group = self.group(number, classes)
            held = group >= 0
            rows.append(np.zeros((len(part.kept), len(classes))))
            rows[-1][:, held] = part.rows[:, group[held]].toarray()
        return np.vstack(rows)


def _shared(part_groups: Groups, pack: GroupPack, size: Integers, n_groups: int) -> csr_array:
    """Return how many records each group of a part shares with each combination of a pack."""
    width = len(pack.groups)
    counted = np.bincount(
        (part_groups + np.int64(1)) * width + pack.code, size, (n_groups + 1) * width
    )
    return csr_array(counted.reshape(-1, width)[1:])


def members_of(group: npt.NDArray[np.integer], n_groups: int) -> csr_array:
    """Return which classes are in each of the groups, shape (g, c)."""
    inside = np.flatnonzero(group >= 0)
    return csr_array((np.ones(len(inside)), (group[inside], inside)), shape=(n_groups, len(group)))


def _by_class(class_of: npt.NDArray[np.integer], amounts: Floats, n_classes: int) -> Floats:
    columns = [np.bincount(class_of, column, minlength=n_classes) for column in amounts.T]
    return np.asarray(columns, dtype=np.float64).reshape(len(columns), n_classes).T


def figures_of_classes(
    parts: Sequence[FigurePart], groups: Sequence[npt.NDArray[np.integer]]
) -> csr_array:
    """Return which figures of some parts each class stands in, shape (c, figures)."""
    columns = []
    for part, group in zip(parts, groups, strict=True):
        columns.append(members_of(group, part.sums.shape[1]).T @ part.sums.T)
    return csr_array(hstack(columns, format="csr"))
