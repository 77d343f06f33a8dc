"""What is asked of one variable: its figures before and after, and groups of its classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.system import Overlap
from tablecloak.safe.joint.variables import Variable, Variables

WHOLE_CLASSES, WHOLE_FIGURES = 400, 400
"""Size up to which all outputs are searched at once for small groups of any number of classes.
Beyond, single classes and pairs of them are searched in all outputs at once, larger groups in each
two outputs. Chosen by trial."""

STILL = 1e-6
"""Move of a class, in standard deviations, up to which it counts as none."""

SECONDS_OF_ALL = 2.5
"""Limit of all searches for small groups of one variable."""


class Question:
    """What is asked of one variable.

    Parameters
    ----------
    appetite : Appetite
    variables : Variables
    variable : Variable
        One of them, or a new one.
    asked : sequence of Figures
        Figures of the variable in the new output.
    contributors : array of int, optional
        Code of the contributor of each record.
    names : mapping
        Output and number of each `Figures`, by its identity.
    """

    def __init__(
        self,
        appetite: Appetite,
        variables: Variables,
        variable: Variable,
        asked: Sequence[Figures],
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
        self.overlaps: list[tuple[Overlap, ...]] = []
        for figures in asked:
            self.after = variables.extended(self.after, figures)
            self.amounts = variable.learned(self.amounts, figures)
            assert self.after.parent is not None
            self.parent = self.parent[self.after.parent]
            self.overlaps.append(self.after.overlaps)
        n = len(self.before.parts)
        self.asked = range(n, n + len(asked))
        self.contributors = _repeated(contributors)
        self.counted = _distinct(self.after.class_of, self.contributors, self.after.n_classes)
        self.undecided: list[str] = []
        self.budget = Budget.begun(SECONDS_OF_ALL)

    @property
    def is_small(self) -> bool:
        """Whether everything can be searched in all outputs at once."""
        return self.after.n_classes <= WHOLE_CLASSES and self.after.n_figures <= WHOLE_FIGURES

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

    def counted_by(self, kind: Integers, n_kinds: int) -> Integers:
        """Return the number of contributors of each kind of classes."""
        if self.contributors is None:
            return np.bincount(kind, self.after.size, minlength=n_kinds).astype(np.int64)
        return _distinct(kind[self.after.class_of], self.contributors, n_kinds)

    def members(self, kind: Integers, n_kinds: int) -> tuple[Integers, ...] | None:
        """Return the contributors of each kind of classes; None if each has one record."""
        if self.contributors is None:
            return None
        pairs = pd.DataFrame({"kind": kind[self.after.class_of], "who": self.contributors})
        pairs = pairs.drop_duplicates().sort_values("kind", kind="stable")
        ends = np.searchsorted(pairs["kind"].to_numpy(), np.arange(1, n_kinds))
        return tuple(np.split(pairs["who"].to_numpy(), ends))

    def broken(self, group: Flags) -> str:
        """Return the rule on amounts that a group breaks, or nothing."""
        records = self.records(group)
        amounts = self.amounts[records]
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
