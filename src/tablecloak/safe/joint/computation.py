"""The sum of published figures by which a group follows, with few terms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.safe.joint.system import System, figures_of_classes
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program

__all__ = ["Computation", "computation_of"]

EXACT = 1e-6
"""How far a combination may be from 0 and 1, and coefficient up to which a figure plays no part."""

RANK = 1e-11
"""Share of the largest singular value up to which figures depend on each other."""

ROWS_PER_FIGURE, SECONDS = 2, 1.0
"""Size of the first program, and limit for all of them."""

LEAST_SECONDS = 0.1
"""Limit of a program that begins just before the end."""

MOST_PARTS = 5
"""Outputs that a computation is built of before it is given up."""

Computation = list[tuple[int, int, float]]
"""(part, figure, coefficient), for each term."""


def computation_of(
    system: System, is_in: Flags, asked: Sequence[int], likely: Sequence[int] = ()
) -> Computation | None:
    """Return a sum of figures that gives a group of classes, with few terms.

    Parameters
    ----------
    system : System
    is_in : (c,) array of bool
        The group.
    asked : sequence of int
        Parts of the system that the sum may use in any case.
    likely : sequence of int, default=()
        Parts that are known to be enough together with those asked about.

    Notes
    -----
    Parts are added one by one, that one first which explains most of what is left of the group;
    among them, a linear program finds the sum with the least coefficients.
    """
    chosen = list(dict.fromkeys([*asked, *likely]))
    if not likely:
        found = _least(system, is_in, chosen)
        while found is None and len(chosen) < min(len(system.parts), len(asked) + MOST_PARTS):
            chosen.append(_next_part(system, is_in, chosen))
            found = _least(system, is_in, chosen)
        if found is not None:
            return found
        chosen = list(range(len(system.parts))) if len(system.parts) <= 2 * MOST_PARTS else chosen
    return _least(system, is_in, chosen)


def _told_apart(groups: Sequence[npt.NDArray[np.integer]]) -> tuple[Integers, Integers]:
    """Return one class of each kind that some parts tell apart, and the kind of each class."""
    kind = np.zeros(len(groups[0]), dtype=np.int64)
    for group in groups:
        kind = pd.factorize(kind * (int(group.max(initial=-1)) + 2) + group + 1)[0]
    _, first = np.unique(kind, return_index=True)
    return first, kind.astype(np.int64)


def _kinds(system: System, is_in: Flags, chosen: Sequence[int]) -> tuple[csr_array, Floats] | None:
    groups = [system.groups[number] for number in chosen]
    first, kind = _told_apart(groups)
    target = is_in[first].astype(float)
    if not np.array_equal(target[kind] > 0, is_in):
        return None
    figures = figures_of_classes(
        [system.parts[number] for number in chosen], [g[first] for g in groups]
    )
    return figures, target


def _least(system: System, is_in: Flags, chosen: Sequence[int]) -> Computation | None:
    laid_out = _kinds(system, is_in, chosen)
    if laid_out is None:
        return None
    figures, target = laid_out
    shared = (figures.T @ figures).toarray()
    found = np.linalg.lstsq(shared, figures.T @ target, rcond=RANK)[0]
    if np.abs(figures @ found - target).max() > EXACT:
        return None
    least = _least_sum(figures, target)
    # Where the program is too long, any combination is as true as the shortest.
    multipliers = found if least is None else least
    lengths = [system.parts[number].sums.shape[0] for number in chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    terms = []
    for number, (start, end) in zip(chosen, pairwise(starts.tolist()), strict=True):
        for figure in np.flatnonzero(np.abs(multipliers[start:end]) > EXACT):
            terms.append((number, int(figure), float(multipliers[start + figure])))
    return terms


def _least_sum(figures: csr_array, target: Floats) -> Floats | None:
    """Return the combination with the least coefficients; None if the program is too long.

    A few rows settle the combination; others are added while they are broken.
    """
    n = figures.shape[1]
    generator = np.random.default_rng(1)
    rows = np.flatnonzero(target)
    first = generator.permutation(len(target))[: ROWS_PER_FIGURE * n]
    rows = np.unique(np.concatenate([rows, first]))
    budget = Budget.begun(SECONDS)
    while not budget.is_over:
        some = figures[rows]
        program = Program(
            np.ones(2 * n),
            csr_array(hstack([some, -some])),
            target[rows],
            target[rows],
            np.zeros(2 * n),
            np.full(2 * n, np.inf),
        )
        answer = solve(program, time_limit=max(budget.left, LEAST_SECONDS))
        if not len(answer.x):
            return None
        found = answer.x[:n] - answer.x[n:]
        broken = np.flatnonzero(np.abs(figures @ found - target) > EXACT)
        if not broken.size:
            return np.asarray(found)
        rows = np.unique(np.concatenate([rows, broken[:n]]))
    return None


def _next_part(system: System, is_in: Flags, chosen: Sequence[int]) -> int:
    """Return the part whose groups explain most of what the chosen ones leave of a group."""
    left = is_in.astype(float)
    for number in chosen:
        left = left - _share(system, left, number)
    gains = [
        -np.inf if number in chosen else float(_share(system, left, number) ** 2 @ system.size)
        for number in range(len(system.parts))
    ]
    return int(np.argmax(gains))


def _share(system: System, amounts: Floats, number: int) -> Floats:
    """Return the mean of amounts over each group of a part, 0 outside."""
    group = system.groups[number]
    inside = group >= 0
    n_groups = system.parts[number].sums.shape[1]
    total = np.bincount(group[inside], (amounts * system.size)[inside], minlength=n_groups)
    size = np.bincount(group[inside], system.size[inside], minlength=n_groups)
    mean = total / np.maximum(size, 1)
    return np.where(inside, mean[group], 0.0)
