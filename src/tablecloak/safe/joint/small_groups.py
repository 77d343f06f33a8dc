"""Small groups of records whose figure follows from published ones.

A group follows if its indicator, over classes of records, is a combination of the published
figures. Classes with enough contributors of their own are in no small group, so that they only
restrict the combinations; what is left is a small mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

__all__ = ["Classes", "may_hold_small", "small_groups"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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


def may_hold_small(
    rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], is_small: Flags
) -> bool:
    """Return whether two partitions of records can single out small classes at all.

    Parameters
    ----------
    rows, columns : (c,) array of int
        Group of each class in either partition; -1 for none.
    is_small : (c,) array of bool

    Notes
    -----
    A combination gives each group of either partition a multiplier, and each class the sum of its
    two. Classes that are not small must get 0, which ties the multipliers of their groups
    together; records outside have the multiplier 0. Where all groups are tied to each other, no
    class gets anything else. Classes within one tied component get 0 as well.
    """
    n_rows = int(rows.max(initial=-1)) + 2
    n_columns = int(columns.max(initial=-1)) + 2
    one, other = rows + 1, columns + 1 + n_rows
    # Nobody knows a figure of those outside: both outsides are one node, with the multiplier 0.
    other = np.where(columns < 0, 0, other)
    ties = csr_array(
        (np.ones((~is_small).sum()), (one[~is_small], other[~is_small])),
        shape=(n_rows + n_columns,) * 2,
    )
    _, component = connected_components(ties, directed=False)
    return bool((component[one[is_small]] != component[other[is_small]]).any())


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
    dense = classes.figures.toarray()
    large = np.unique(dense[~is_small], axis=0)
    free = null_space(large) if large.size else np.eye(dense.shape[1])
    small = np.flatnonzero(is_small)
    moved = dense[small] @ free
    touched = np.abs(moved).max(axis=1, initial=0) > EXACT
    small, moved = small[touched], moved[touched]
    if not small.size:
        return [], True
    return _search(classes, small, _orthogonal(moved), threshold, is_known, seconds)


def _orthogonal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of columns."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, sizes > EXACT * sizes.max(initial=1)]


def _search(
    classes: Classes,
    small: Ints,
    span: Floats,
    threshold: int,
    is_known: Callable[[Ints], bool],
    seconds: float,
) -> tuple[list[Ints], bool]:
    """Find 0-1 vectors of a subspace, the smallest first."""
    from time import monotonic

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
