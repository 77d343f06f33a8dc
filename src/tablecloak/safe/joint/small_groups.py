"""Small groups of records whose figure follows from published ones.

A group follows if its indicator, over classes of records, is a combination of the published
figures. Classes with enough contributors of their own are in no small group, so that they only
restrict the combinations; what is left is a small mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

__all__ = ["Classes", "search", "small_groups"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_CLASSES = 1500
"""Classes beyond which no program is laid out. Chosen by trial."""

MOST_GROUPS = 20
"""Groups that are looked for in one question; hiding figures against these mends most others."""

MOST_KNOWN = 200
"""Groups that follow from earlier outputs alone and are passed over before a search ends."""

EXACT = 1e-7
"""How far a combination may be from 0 and 1."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of records beside the figures that they stand in.

    Parameters
    ----------
    figures : csr_array, shape (c, f)
        1 where a class stands in a figure.
    contributors : (c,) array of int
        Number of contributors of each class.
    members : tuple of array of int, optional
        Codes of the contributors of each class, where one may be in several classes.
    """

    figures: csr_array
    contributors: Ints
    members: tuple[Ints, ...] | None = None


def small_groups(
    classes: Classes,
    threshold: int,
    is_known: Callable[[Ints], bool],
    seconds: float,
) -> tuple[list[Ints], bool]:
    """Return groups of classes with fewer contributors than the threshold that follow.

    Parameters
    ----------
    classes : Classes
    threshold : int
    is_known : callable
        Whether a group (numbers of classes) follows without what is asked about.
    seconds : float
        Limit.

    Returns
    -------
    groups : list of array of int
        Numbers of classes, the groups with the fewest contributors first; none is contained in
        another.
    is_complete : bool
        Whether all of them were found.
    """
    is_small = classes.contributors < threshold
    small = np.flatnonzero(is_small)
    if not small.size:
        return [], True
    moved = classes.figures[small] @ _zero_on(classes.figures[np.flatnonzero(~is_small)])
    return search(classes, small, moved, threshold, is_known, seconds)


def _zero_on(figures: csr_array) -> Floats:
    """Return a basis of the combinations of figures that are 0 on all given classes."""
    if not figures.shape[0]:
        return np.eye(figures.shape[1])
    return np.asarray(null_space((figures.T @ figures).toarray()))


def _orthogonal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of columns."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, sizes > EXACT * sizes.max(initial=1)])


def search(
    classes: Classes,
    small: Ints,
    moved: Floats,
    threshold: int,
    is_known: Callable[[Ints], bool],
    seconds: float,
) -> tuple[list[Ints], bool]:
    """Find the 0-1 vectors of a subspace with few contributors, the smallest first.

    Parameters
    ----------
    classes : Classes
    small : array of int
        Classes that may be in a group.
    moved : (len(small), d) array
        Vectors that span the subspace, one entry for each of these classes.
    threshold, is_known, seconds
        As in `small_groups`.

    Returns
    -------
    groups : list of array of int
    is_complete : bool
    """
    touched = np.abs(moved).max(axis=1, initial=0) > EXACT
    small, moved = small[touched], moved[touched]
    if not small.size:
        return [], True
    if len(small) > MOST_CLASSES:
        return [], False
    span = _orthogonal(moved)
    n, d = span.shape
    members, n_members = _members(classes, small)
    # Variables: z of classes, y of the span, u of contributors that stand in several classes.
    cost = np.concatenate([np.zeros(n) if n_members else classes.contributors[small], np.zeros(d)])
    cost = np.concatenate([cost, np.ones(n_members)]).astype(float)
    rows = [np.hstack([-np.eye(n), span, np.zeros((n, n_members))])]
    lower, upper = [np.zeros(n)], [np.zeros(n)]
    if n_members:
        for number, codes in enumerate(members):
            entry = np.zeros((len(codes), n + d + n_members))
            entry[:, number] = -1
            entry[np.arange(len(codes)), n + d + codes] = 1
            rows.append(entry)
            lower.append(np.zeros(len(codes)))
            upper.append(np.full(len(codes), np.inf))
    rows += [cost[None, :], np.concatenate([np.ones(n), np.zeros(d + n_members)])[None, :]]
    lower += [np.zeros(1), np.ones(1)]
    upper += [np.array([threshold - 1.0]), np.array([float(n)])]
    integrality = np.concatenate([np.ones(n), np.zeros(d), np.ones(n_members)])
    bounds = Bounds(
        np.concatenate([np.zeros(n), np.full(d, -np.inf), np.zeros(n_members)]),
        np.concatenate([np.ones(n), np.full(d, np.inf), np.ones(n_members)]),
    )
    groups: list[Ints] = []
    n_known = 0
    end = monotonic() + seconds
    while len(groups) < MOST_GROUPS and n_known < MOST_KNOWN:
        left = end - monotonic()
        if left <= 0:
            return groups, False
        answer = milp(
            cost,
            integrality=integrality,
            bounds=bounds,
            constraints=LinearConstraint(
                np.vstack(rows), np.concatenate(lower), np.concatenate(upper)
            ),
            options={"time_limit": left},
        )
        if answer.x is None:
            # 2: infeasible, so that there are no more; anything else is a search that broke off.
            return groups, answer.status == 2
        point = answer.x[:n] > 0.5
        chosen = np.flatnonzero(point)
        cut = np.zeros((1, n + d + n_members))
        cut[0, chosen] = 1
        if np.abs(span @ (span.T @ point) - point).max() > EXACT:
            # The solver's tolerance let it through: only this very point is cut off.
            cut[0, :n] -= ~point
            n_known += 1
        elif is_known(small[chosen]):
            n_known += 1
        else:
            groups.append(small[chosen])
        rows.append(cut)
        lower.append(np.zeros(1))
        upper.append(np.array([len(chosen) - 1.0]))
    return groups, False


def _members(classes: Classes, small: Ints) -> tuple[list[Ints], int]:
    if classes.members is None:
        return [], 0
    lengths = [len(classes.members[number]) for number in small]
    codes, code = np.unique(
        np.concatenate([classes.members[number] for number in small]), return_inverse=True
    )
    return np.split(code, np.cumsum(lengths)[:-1]), len(codes)
