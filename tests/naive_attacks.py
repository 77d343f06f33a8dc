"""Attacks on what is published of a problem that share no code with the package.

An attack is two linear programs for each sensitive cell, straight from the definition. So that they
hold at every scale, each is measured in what its own cell needs, and rooms are capped: a deviation
that moves a cell falls apart into circuits, none of which moves any cell much farther than it.
Before any program, hidden cells that are alone in a relation are peeled off, in whole numbers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

import tablecloak as tc
from naive_programs import Reach

FAR = 1e4
"""Farthest move of any cell, in needs of the cell under attack."""

ENOUGH = 1 - 1e-6
"""Share of a need that counts as met: the tolerance of the programs."""


# -- attacks ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exposed:
    """A cell that an intruder comes too close to."""

    cell: int
    above: float
    below: float


def intervals_of(problem: tc.ProtectionProblem, hidden: np.ndarray) -> tuple:
    """What the intruder knows of a pattern: published values, and bounds of the rest."""
    a = problem.table.values
    return np.where(hidden, problem.lower_bound, a), np.where(hidden, problem.upper_bound, a)


def ends_of(problem: tc.ProtectionProblem, release: pd.DataFrame) -> tuple:
    """Both ends of every cell in the order of the table, as they are released."""
    keys = problem.table.keys
    ends = keys.merge(release, how="left", on=list(keys.columns))
    return ends["lower"].to_numpy(dtype=float), ends["upper"].to_numpy(dtype=float)


def exposed(
    problem: tc.ProtectionProblem, low: np.ndarray, high: np.ndarray, require: str = "two-sided"
) -> list[Exposed]:
    """Sensitive cells whose interval is narrower than required; stops at none."""
    low, high = np.maximum(low, problem.lower_bound), np.minimum(high, problem.upper_bound)
    known = peeled(problem, low, high)
    found = []
    for p in np.flatnonzero(problem.sensitive):
        up, down, width = required(problem, int(p), require)
        # Whoever knows the cell exactly must never be said not to.
        scale = max(up, down, width)
        if scale == 0:
            scale = width = max(last_digit(problem), 1e-8 * abs(problem.table.values[p]))
        above, below = reaches(problem, low, high, known, int(p), scale)
        if above < up * ENOUGH or below < down * ENOUGH or above + below < width * ENOUGH:
            found.append(Exposed(int(p), above, below))
    return found


def required(problem: tc.ProtectionProblem, p: int, require: str) -> tuple[float, float, float]:
    up, down = float(problem.upper_protection[p]), float(problem.lower_protection[p])
    width = float(problem.sliding_protection[p])
    if require == "width":
        return 0.0, 0.0, max(up + down, width)
    return (up, 0.0, 0.0) if require == "upper" else (up, down, width)


def last_digit(problem: tc.ProtectionProblem) -> float:
    """One unit of the last decimal of the table."""
    a = problem.table.values
    return next((10.0**-d for d in range(7) if np.array_equal(a, np.round(a, d))), 1e-7)


def peeled(problem: tc.ProtectionProblem, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Cells that follow from the others without any program: alone in a relation, and so on."""
    known = low == high
    relations = problem.table.relations
    while True:
        left = [
            cells[~known[cells]] for cells in np.split(relations.indices, relations.indptr[1:-1])
        ]
        alone = [int(cells[0]) for cells in left if len(cells) == 1]
        if not alone:
            return known
        known[alone] = True


def reaches(problem, low, high, known, cell: int, scale: float) -> tuple[float, float]:
    """How far a cell can move up and down, up to FAR times a scale."""
    if known[cell]:
        return 0.0, 0.0
    a, free = problem.table.values, np.flatnonzero(~known)
    relations = problem.table.relations[:, free]
    relations = relations[np.diff(relations.indptr) > 0, :]
    room = [np.clip((end[free] - a[free]) / scale, -FAR, FAR) for end in (low, high)]
    programs, column = Reach(relations, *room), int(np.searchsorted(free, cell))
    return programs.farthest(column, 1) * scale, programs.farthest(column, -1) * scale


def determined(problem: tc.ProtectionProblem, hidden: np.ndarray) -> list[int]:
    """Hidden cells that are neither sensitive nor forced and follow exactly from the others."""
    low, high = intervals_of(problem, hidden)
    known = peeled(problem, low, high)
    found = []
    for cell in np.flatnonzero(hidden & ~problem.sensitive & ~problem.forced).tolist():
        scale = last_digit(problem)
        if max(reaches(problem, low, high, known, cell, scale)) < 1e-6 * scale:
            found.append(cell)
    return found


def least_loss(problem: tc.ProtectionProblem, require: str) -> float:
    """Loss of the cheapest protected pattern, by trying all; inf if there is none."""
    must = problem.sensitive | problem.forced
    free = np.flatnonzero(~must & ~problem.frozen)
    weights = problem.weights[free]
    choices = np.array(list(itertools.product([False, True], repeat=len(free))), dtype=bool)
    losses = choices @ weights
    if exposed(problem, *intervals_of(problem, ~problem.frozen), require):
        return np.inf
    for number in np.argsort(losses, kind="stable"):
        hidden = must.copy()
        hidden[free[choices[number]]] = True
        if not exposed_any(problem, hidden, require):
            return float(losses[number] + problem.weights[must].sum())
    return np.inf


def exposed_any(problem: tc.ProtectionProblem, hidden: np.ndarray, require: str) -> bool:
    """Whether a pattern leaves any sensitive cell exposed; most fail without a program."""
    low, high = intervals_of(problem, hidden)
    if np.any(peeled(problem, low, high) & problem.sensitive):
        return True
    return bool(exposed(problem, low, high, require))


def naive_audit(problem: tc.ProtectionProblem, suppressed: np.ndarray) -> bool:
    """Whether every sensitive cell keeps its interval: two linear programs for each."""
    a, relations = problem.table.values, problem.table.relations
    low = np.where(suppressed, problem.lower_bound, a)
    high = np.where(suppressed, problem.upper_bound, a)
    programs = Reach(relations, low, high, side=relations @ a)
    for p in np.flatnonzero(problem.sensitive).tolist():
        lowest, highest = -programs.farthest(p, -1), programs.farthest(p, 1)
        slack = 1e-6 * max(1.0, problem.upper_protection[p])
        if lowest > a[p] - problem.lower_protection[p] + slack:
            return False
        if highest < a[p] + problem.upper_protection[p] - slack:
            return False
        if highest - lowest < problem.sliding_protection[p] - slack:
            return False
    return True
