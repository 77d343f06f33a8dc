"""Small groups of records whose figure follows from published ones: of all outputs, or of two.

A group follows if its indicator, over classes of records, is a combination of the published
figures. Classes with enough contributors of their own are in no small group, so that they only
restrict the combinations; what is left is a small mixed-integer program.

From two outputs, such groups are cuts of the graph of what these share. The groups of either output
are nodes; a class of records is an edge between its two groups, as heavy as it has contributors. A
combination of figures gives every node a potential and every edge the difference of its two, 0 or
1. So a group of records that follows is a cut of the graph, and nodes between which every cut is
heavy have the same potential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import SolverError
from tablecloak.graph import components, spanning_forest
from tablecloak.safe.joint.question import SearchWork
from tablecloak.solve.mixed import solve
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SolveStatus

MOST_CLASSES = 1500
"""Classes beyond which no program is laid out. Chosen by trial."""

MOST_NODES = 5_000
"""Nodes of the search of one program."""

MOST_GROUPS = 20
"""Groups that are looked for in one question; hiding figures against these mends most others."""

MOST_KNOWN = 200
"""Groups that follow from earlier outputs alone and are passed over before a search ends."""

EXACT = 1e-5
"""How far a combination may be from 0 and 1: more than rounding, less than any that is not both."""

EDGES_PER_NODE = 12
"""Heaviest edges that are looked at for each node, when nodes are tied. Fewer edges tie less, but
never too much."""

REACH = 1000.0
"""Largest potential. Those of a smallest cut are 0 and 1 where every group has a figure."""


@dataclass(frozen=True, eq=False)
class SmallGroups:
    """A search for groups of classes of records with few contributors whose figure follows.

    Both searches return numbers of classes, the groups with the fewest contributors first, none
    contained in another; and whether all of them were found.

    Parameters
    ----------
    contributors : (c,) array of int
        Number of contributors of each class.
    members : tuple of array of int, optional
        Codes of the contributors of each class, where one may be in several classes.
    threshold : int
        Number of contributors that is enough.
    is_known : callable
        Whether a group (numbers of classes) follows without what is asked about.
    work : SearchWork
    """

    contributors: Integers
    members: tuple[Integers, ...] | None
    threshold: int
    is_known: Callable[[Integers], bool]
    work: SearchWork

    def of_all(self, figures: csr_array) -> tuple[list[Integers], bool]:
        """Search groups that follow from all figures.

        Parameters
        ----------
        figures : csr_array, shape (c, f)
            1 where a class stands in a figure.
        """
        is_small = self.contributors < self.threshold
        small = np.flatnonzero(is_small)
        if not small.size:
            return [], True
        large = figures[np.flatnonzero(~is_small)]
        moved = figures[small] @ null_space((large.T @ large).toarray())
        touched = np.abs(moved).max(axis=1, initial=0) > EXACT
        small, moved = small[touched], moved[touched]
        if not small.size:
            return [], True
        # An orthonormal basis keeps multipliers as small as the group is.
        left, sizes, _ = np.linalg.svd(moved, full_matrices=False)
        given = csr_array(left[:, sizes > EXACT * sizes.max()])
        none = csr_array((0, given.shape[1]))
        return self._of_multipliers(small, given, none, len(small) ** 0.5)

    def of_two(
        self, groups: tuple[Integers, Integers], never_told: tuple[Floats, Floats]
    ) -> tuple[list[Integers], bool]:
        """Search groups that follow from two sets of figures.

        Parameters
        ----------
        groups : two (c,) arrays of int
            Group of each class in either output; -1 for none. For a single output, -1 throughout
            in the second.
        never_told : two arrays
            `FigurePart.never_told` of either.
        """
        n_rows, n_columns = len(never_told[0]), len(never_told[1])
        # Node 0 is all that is outside of an output: nobody knows a figure of it.
        one = np.where(groups[0] < 0, 0, groups[0] + 1)
        other = np.where(groups[1] < 0, 0, groups[1] + 1 + n_rows)
        n = 1 + n_rows + n_columns
        may_add = self.members is None
        component = tied(one, other, self.contributors, n, self.threshold, may_add=may_add)
        crosses = component[one] != component[other]
        small = np.flatnonzero(crosses & (self.contributors < self.threshold))
        if not small.size:
            return [], True
        # One potential for each component, 0 for that of node 0; together they must be told.
        shape = (n, component.max() + 1)
        potential = csr_array((np.ones(n), (np.arange(n), component)), shape=shape)
        inside = np.delete(np.arange(potential.shape[1]), component[0])
        potential = csr_array(potential[:, inside])
        rows = slice(1, 1 + n_rows), slice(1 + n_rows, n)
        untold = vstack([csr_array(never_told[k].T) @ potential[rows[k]] for k in (0, 1)])
        given = csr_array(potential[one[small]] - potential[other[small]])
        return self._of_multipliers(small, given, csr_array(untold), REACH)

    def _of_multipliers(
        self, small: Integers, given: csr_array, none: csr_array, reach: float
    ) -> tuple[list[Integers], bool]:
        """Find the groups that some multipliers give, the smallest first.

        Parameters
        ----------
        small : (n,) array of int
            Classes that may be in a group.
        given : csr_array, shape (n, d)
            What multipliers give each of these classes: 1 if it is in the group, 0 if not.
        none : csr_array, shape (k, d)
            What multipliers must make 0.
        reach : float
            Largest multiplier.
        """
        if len(small) > MOST_CLASSES:
            return [], False
        n, d = given.shape
        members, n_members = self._members(small)
        # Variables: z of classes, y of multipliers, u of contributors of several classes.
        counted = np.zeros(n) if n_members else self.contributors[small].astype(float)
        cost = np.concatenate([counted, np.zeros(d), np.ones(n_members)])
        width = len(cost)
        rows = [
            hstack([-eye_array(n), given, csr_array((n, n_members))]),
            hstack([csr_array((none.shape[0], n)), none, csr_array((none.shape[0], n_members))]),
            csr_array(cost[None, :]),
            csr_array(np.concatenate([np.ones(n), np.zeros(width - n)])[None, :]),
        ]
        zeros = np.zeros(n + none.shape[0])
        lower = [zeros, np.zeros(1), np.ones(1)]
        upper = [zeros, np.array([self.threshold - 1.0]), np.array([float(n)])]
        if n_members:
            number = np.repeat(np.arange(n), [len(codes) for codes in members])
            entry = np.arange(len(number))
            in_class = csr_array(
                (-np.ones(len(number)), (entry, number)), shape=(len(entry), n + d)
            )
            counts = csr_array(
                (np.ones(len(number)), (entry, np.concatenate(members))),
                shape=(len(entry), n_members),
            )
            rows.append(hstack([in_class, counts]))
            lower.append(np.zeros(len(entry)))
            upper.append(np.full(len(entry), np.inf))
        is_whole = np.concatenate([np.ones(n), np.zeros(d), np.ones(n_members)]) > 0
        least = np.concatenate([np.zeros(n), np.full(d, -reach), np.zeros(n_members)])
        most = np.concatenate([np.ones(n), np.full(d, reach), np.ones(n_members)])
        groups: list[Integers] = []
        n_passed = 0
        while len(groups) < MOST_GROUPS and n_passed < MOST_KNOWN:
            if self.work.is_over():
                return groups, False
            program = Program(
                cost,
                csr_array(vstack(rows, format="csr")),
                np.concatenate(lower),
                np.concatenate(upper),
                least,
                most,
                is_whole,
            )
            try:
                answer = solve(program, nodes=MOST_NODES)
            except SolverError:
                return groups, False
            if not len(answer.x):
                # Infeasible: there are no more. Anything else is a search that broke off.
                return groups, answer.status is SolveStatus.INFEASIBLE
            point = answer.x[:n] > 0.5
            chosen = np.flatnonzero(point)
            multipliers = answer.x[n : n + d]
            off = max(
                np.abs(given @ multipliers - point).max(initial=0),
                np.abs(none @ multipliers).max(initial=0),
            )
            cut = np.zeros((1, width))
            cut[0, chosen] = 1
            if off > EXACT:
                # The solver's tolerance let it through: only this very point is cut off.
                cut[0, :n] -= ~point
                n_passed += 1
            elif self.is_known(small[chosen]):
                n_passed += 1
            else:
                groups.append(small[chosen])
            rows.append(csr_array(cut))
            lower.append(np.full(1, -np.inf))
            upper.append(np.array([len(chosen) - 1.0]))
        return groups, False

    def _members(self, small: Integers) -> tuple[list[Integers], int]:
        if self.members is None:
            return [], 0
        lengths = [len(self.members[number]) for number in small]
        codes, code = np.unique(
            np.concatenate([self.members[number] for number in small]), return_inverse=True
        )
        return np.split(code, np.cumsum(lengths)[:-1]), len(codes)


def tied(
    one: Integers, other: Integers, weight: Integers, n: int, least: int, *, may_add: bool
) -> Integers:
    """Tie nodes that no cut lighter than `least` separates, and return the component of each.

    Parameters
    ----------
    one, other : (e,) array of int
        Nodes of each edge; its potential may only fall from the one to the other.
    weight : (e,) array of int
    n : int
        Number of nodes.
    least : int
    may_add : bool
        Whether weights of edges add up: not where a contributor may be in several.

    Notes
    -----
    After least - 1 spanning forests were taken out of a graph, each from what the former left, the
    two ends of an edge that remains are joined by a path in each of them and by the edge itself:
    Nagamochi and Ibaraki (1992), Algorithmica 7, 583-596.
    """
    component = np.arange(n)
    while True:
        start, end = component[one], component[other]
        crosses = start != end
        if not crosses.any():
            return component
        n_left = int(component.max()) + 1
        start, end, heavy = start[crosses], end[crosses], weight[crosses]
        # No potential falls along an edge by less than 0, so that all of a cycle have the same.
        joined = components(start, end, n_left, strong=True)
        if may_add:
            both = csr_array(
                (heavy, (np.minimum(start, end), np.maximum(start, end))), shape=(n_left, n_left)
            )
            both.sum_duplicates()
            ends = both.tocoo()
            start, end, heavy = ends.row, ends.col, ends.data
        ties = heavy >= least
        if may_add and not ties.any() and joined.max() + 1 == n_left:
            ties = _joined_by_forests(start, end, heavy, least)
        if not ties.any() and joined.max() + 1 == n_left:
            return component
        found = components(joined[start[ties]], joined[end[ties]], n_left)
        component = np.unique(found[joined][component], return_inverse=True)[1].reshape(-1)


def _joined_by_forests(low: Integers, high: Integers, weight: Integers, least: int) -> Flags:
    """Return which edges remain after the forests are taken out."""
    nodes, renamed = np.unique(np.concatenate([low, high]), return_inverse=True)
    one, other = np.split(renamed.reshape(-1), 2)
    most = EDGES_PER_NODE * len(nodes)
    chosen = np.argsort(-weight, kind="stable")[:most]
    left = weight[chosen].astype(float)
    one, other = one[chosen], other[chosen]
    for _ in range(least - 1):
        remains = np.flatnonzero(left > 0)
        if not len(remains):
            break
        # Heavy edges are taken last: the light ones are used up, and the heavy ones remain.
        forest = spanning_forest(one[remains], other[remains], left[remains], len(nodes))
        left[remains[forest]] -= 1
    joins = np.zeros(len(weight), dtype=bool)
    joins[chosen] = left > 0
    return joins
