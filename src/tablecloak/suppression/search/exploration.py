"""What the exact method knows between its phases: rows, patterns, and bounds with proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.budget import Budget
from tablecloak.suppression.rows.candidate import Candidate
from tablecloak.suppression.rows.master import BoundCertificate, Master
from tablecloak.suppression.rows.separator import Separator
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Proof:
    """A bound on the scaled objective, with its certificate.

    Parameters
    ----------
    bound : float
    certificate : BoundCertificate
    """

    bound: float
    certificate: BoundCertificate


@dataclass(frozen=True, eq=False)
class Exploration:
    """What the exact method knows between its phases.

    Parameters
    ----------
    master : Master
    separator : Separator
        Keeps the best pattern and all rows; shared by all phases.
    step : float
        A number of which the loss of every pattern is a multiple; 0 if none is known.
    proofs : tuple of Proof
        One for each search of the tree.
    is_agreed : bool
        Whether a solver claims that no pattern is better. The claim proves nothing.
    """

    master: Master
    separator: Separator
    step: float
    proofs: tuple[Proof, ...] = ()
    is_agreed: bool = False

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        requirement: Requirement,
        start: Candidate,
        budget: Budget,
    ) -> Exploration:
        """Return the exploration of a problem before its first phase.

        Parameters
        ----------
        problem : ProtectionProblem
            With finite external bounds.
        requirement : Requirement
        start : Candidate
            A proved pattern.
        budget : Budget
            Of all phases together.
        """
        master = Master(problem, requirement)
        step = 1.0 if np.all(problem.weights == np.rint(problem.weights)) else 0.0
        return cls(master, Separator(master, start, budget), step)

    @property
    def proved(self) -> float:
        """The best bound so far, on the scaled objective."""
        return max((proof.bound for proof in self.proofs), default=-np.inf)

    def report(self, budget: Budget, bound: float, open_nodes: int) -> None:
        """Report the loss of the best pattern, and the best bound of all phases."""
        best = self.separator.best.loss
        bound = self.master.total_loss(max(self.proved, bound), self.step)
        budget.report("branch and bound", best, min(bound, best), open_nodes)
