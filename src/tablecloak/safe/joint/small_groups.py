"""Small groups of records whose figure follows from all published ones.

A group follows if its indicator, over classes of records, is a combination of the published
figures. Most classes are proved to be in no small group (`leverage`); what is left is a small
mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import SolverError
from tablecloak.safe.joint.leverage import confined
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.system import FigureSystem
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


@dataclass(frozen=True, eq=False)
class SmallGroups:
    """A search for groups of classes of records with few contributors whose figure follows.

    The search returns numbers of classes, the groups with the fewest contributors first, none
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

    def of_all(
        self, system: FigureSystem, weights: Floats | None = None
    ) -> tuple[list[Integers], bool]:
        """Search groups that follow from all figures of a system.

        Parameters
        ----------
        system : FigureSystem
        weights : (c,) array of float, optional
            Weights of classes that add up to no more than any group of them has contributors; by
            default their numbers of records.
        """
        is_small = np.flatnonzero(self.contributors < self.threshold)
        found = confined(system, is_small, self.threshold - 1, weights)
        if found is None:
            return [], False
        return self.of_combinations(*found)

    def of_combinations(self, small: Integers, basis: Floats) -> tuple[list[Integers], bool]:
        """Find the groups that some multipliers give, the smallest first.

        Parameters
        ----------
        small : (n,) array of int
            Classes that may be in a group.
        basis : (n, d) array
            What multipliers give each of these classes: 1 if it is in the group, 0 if not. They
            are what they give d of the classes.
        """
        if not small.size or len(small) > MOST_CLASSES:
            return [], not small.size
        given = csr_array(basis)
        n, d = given.shape
        members, n_members = self._members(small)
        # Variables: z of classes, y of multipliers, u of contributors of several classes.
        counted = np.zeros(n) if n_members else self.contributors[small].astype(float)
        cost = np.concatenate([counted, np.zeros(d), np.ones(n_members)])
        width = len(cost)
        rows = [
            hstack([-eye_array(n), given, csr_array((n, n_members))]),
            csr_array(cost[None, :]),
            csr_array(np.concatenate([np.ones(n), np.zeros(width - n)])[None, :]),
        ]
        zeros = np.zeros(n)
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
                np.zeros(width),
                np.ones(width),
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
            off = np.abs(given @ multipliers - point).max(initial=0)
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
