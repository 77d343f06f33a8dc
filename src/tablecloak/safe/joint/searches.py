"""The searches of a joint audit: classes, pairs and larger groups that follow from figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.budget import Budget
from tablecloak.safe.joint.question import Question
from tablecloak.safe.joint.small_groups import Classes, small_groups
from tablecloak.safe.joint.system import Overlap
from tablecloak.safe.joint.two_parts import small_groups_of_two

__all__ = [
    "dominated_classes",
    "groups_of_all",
    "groups_of_one",
    "groups_of_two",
    "pairs_of_classes",
    "single_classes",
]

NEAR = 1e-6
"""Move of the sum of two small classes, in records, up to which it counts as none."""

SECONDS = 1.0
"""Limit of each search for small groups."""


def single_classes(question: Question) -> Iterable[Flags]:
    """Return small classes whose figure follows from all outputs together."""
    is_small = question.counted < question.appetite.safe_threshold
    for number in np.flatnonzero(question.still & is_small):
        group = question.flags(number)
        if not question.is_known(group):
            yield group


def pairs_of_classes(question: Question) -> Iterable[Flags]:
    """Return pairs of small classes whose sum follows from all outputs together."""
    is_small = question.counted < question.appetite.safe_threshold
    small = np.flatnonzero(~question.still & is_small)
    move = question.after.moves[small]
    order = np.argsort(move[:, 0])
    ahead = move[order, 0]
    first = np.searchsorted(ahead, -move[:, 0] - NEAR, side="left")
    length = np.searchsorted(ahead, -move[:, 0] + NEAR, side="right") - first
    one = np.repeat(np.arange(len(small)), length)
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    other = order[np.repeat(first, length) + within]
    is_still = np.abs(move[one] + move[other]).max(axis=1, initial=0) <= NEAR
    for a, b in zip(small[one[is_still]], small[other[is_still]], strict=True):
        if a < b:
            group = question.flags(a, b)
            if question.is_few(group) and not question.is_known(group):
                yield group


def groups_of_all(question: Question) -> tuple[list[Flags], bool]:
    """Return small groups of any number of classes that follow from all outputs together."""
    system = question.after
    kinds = np.arange(system.n_classes)
    classes = Classes(question.counted, question.members(kinds, system.n_classes))
    return _flagged(
        question,
        lambda: kinds,
        lambda is_known: small_groups(
            system.figures,
            classes,
            question.appetite.safe_threshold,
            is_known,
            Budget.begun(SECONDS),
        ),
    )


def groups_of_one(question: Question, one: int) -> tuple[list[Flags], bool]:
    """Return small groups that follow from a new part alone."""
    group = question.after.groups[one]
    size = np.bincount(group + 1, question.after.size)
    rows = np.flatnonzero(size) - 1
    nowhere = np.full(len(rows), -1)
    return groups_of_two(
        question, one, None, Overlap(rows, nowhere, size[rows + 1].astype(np.int64))
    )


def groups_of_two(
    question: Question, one: int, other: int | None, overlap: Overlap
) -> tuple[list[Flags], bool]:
    """Return small groups that follow from a new part and another one."""
    # Worked out where something is found, or where contributors have to be counted.
    kinds = cache(partial(_kinds, question, one, other, overlap))
    classes = Classes(overlap.records)
    if question.contributors is not None:
        n = len(overlap.records)
        classes = Classes(question.counted_by(kinds(), n), question.members(kinds(), n))
    untold = [question.after.parts[one].never_told, np.empty((0, 0))]
    if other is not None:
        untold[1] = question.after.parts[other].never_told
    return _flagged(
        question,
        kinds,
        lambda is_known: small_groups_of_two(
            (overlap.rows, overlap.columns),
            (untold[0], untold[1]),
            classes,
            question.appetite.safe_threshold,
            is_known,
            Budget.begun(SECONDS),
        ),
    )


def _kinds(question: Question, one: int, other: int | None, overlap: Overlap) -> Integers:
    """Return in which entry of an overlap each class is."""
    width = int(overlap.columns.max(initial=-1)) + 2
    column = question.after.groups[other] if other is not None else np.int32(-1)
    code = (question.after.groups[one].astype(np.int64) + 1) * width + column + 1
    return np.searchsorted((overlap.rows + 1) * width + overlap.columns + 1, code)


def _flagged(
    question: Question,
    kinds: Callable[[], Integers],
    searched: Callable[[Callable[[Integers], bool]], tuple[list[Integers], bool]],
) -> tuple[list[Flags], bool]:
    """Search among kinds of classes, and return groups of classes."""
    if question.budget.is_over:
        return [], False
    found, is_complete = searched(lambda some: question.is_known(np.isin(kinds(), some)))
    groups = [np.isin(kinds(), some) for some in found]
    # What a solver says to follow must leave every move at 0.
    return [group for group in groups if question.follows(group)], is_complete


def dominated_classes(question: Question) -> Iterable[Flags]:
    """Return classes with enough contributors that follow, and break a rule on amounts."""
    if (question.amounts == 1).all():
        return
    many = question.counted >= question.appetite.safe_threshold
    for number in np.flatnonzero(question.still & many):
        group = question.flags(number)
        if question.broken(group) and not question.is_known(group):
            yield group
