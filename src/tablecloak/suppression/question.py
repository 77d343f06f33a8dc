"""What is asked of a pattern: how far every sensitive cell must be able to move, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tablecloak.suppression.audit.intruder import Intruder, parse_intruders
from tablecloak.suppression.audit.intruders.integers import with_whole_numbers
from tablecloak.suppression.external_bounds import with_finite_bounds, with_intervals
from tablecloak.suppression.needs import Needs, needs_of
from tablecloak.suppression.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Question"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """A problem with all that follows from it before any cell is suppressed.

    Searches and audits are handed it, so that nothing below asks the problem again.

    Parameters
    ----------
    problem : ProtectionProblem
        As given: what certificates are about.
    finite : ProtectionProblem
        With finite external bounds: what programs are about.
    requirement : Requirement
    needs : Needs
        What every sensitive cell must be able to do.
    intruders : sequence of Intruder
        Who attacks besides the external intruder; "integers" is among them if everybody knows that
        values are whole.
    must_hold : bool
        Whether the caller named some of them, so that a proof against all is required. If not, a
        pattern that nobody is known to attack will do.
    """

    problem: ProtectionProblem
    finite: ProtectionProblem
    requirement: Requirement
    needs: Needs
    intruders: Sequence[Intruder]
    must_hold: bool

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        require: Requirement | str,
        intruders: Intruder | str | Sequence[Intruder | str],
    ) -> Question:
        """Read what a caller gave, and find out what it asks of each cell.

        Raises
        ------
        InputError
            For an unknown requirement or intruder.
        ModelError
            If external bounds alone break a protection level.
        """
        requirement = Requirement.parse(require)
        named = parse_intruders(intruders)
        kinds = with_whole_numbers(named, problem)
        finite = with_finite_bounds(problem)
        needs = needs_of(finite, requirement)
        return cls(problem, finite, requirement, needs, kinds, must_hold=bool(named))

    def knowing(self, lower: Floats, upper: Floats) -> Question:
        """Return the question where everybody also knows published intervals, shape (n_cells,).

        Raises
        ------
        InputError
            If an interval does not hold the true value.
        """
        known = with_intervals(self.finite, lower, upper)
        return replace(self, problem=known, finite=known)
