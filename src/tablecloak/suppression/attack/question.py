"""The question put to a pattern: how far sensitive cells must move, and for which intruders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tablecloak.arrays import Floats
from tablecloak.suppression.attack.external_bounds import with_intervals
from tablecloak.suppression.attack.hold import Hold
from tablecloak.suppression.attack.intruder import Intruder, parse_intruders
from tablecloak.suppression.attack.intruders.integers import with_whole_numbers
from tablecloak.suppression.system.needs import Needs, needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.problem import ProtectionProblem


@dataclass(frozen=True, eq=False)
class Question:
    """A problem with everything that is computed from it before any cell is suppressed.

    Searches and audits receive the question, so that these values are computed once.

    Parameters
    ----------
    problem : ProtectionProblem
        The problem as given, to which certificates refer. Its external bounds may be infinite.
    requirement : Requirement
    needs : Needs
        Distances to which every sensitive cell must be able to move.
    intruders : sequence of Intruder
        Intruders besides the external one; "integers" is among them if everybody knows that values
        are whole.
    named : tuple of str
        Names of the kinds of intruders that the caller gave.
    hold : Hold
        Whether a pattern must hold against these.
    """

    problem: ProtectionProblem
    requirement: Requirement
    needs: Needs
    intruders: Sequence[Intruder]
    named: tuple[str, ...]
    hold: Hold

    @property
    def must_hold(self) -> bool:
        """Whether a proof against all insiders is required.

        If not, it suffices that no intruder who knows that values are whole is known to attack.
        """
        return bool(self.named) and self.hold.is_strict

    @property
    def is_best_effort(self) -> bool:
        """Whether a pattern is to hold against insiders as far as possible."""
        return bool(self.named) and not self.hold.is_strict

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        require: Requirement | str,
        intruders: Intruder | str | Sequence[Intruder | str],
        hold: Hold | str = "strict",
    ) -> Question:
        """Return the question for the arguments of a caller, with the needs of each cell.

        Raises
        ------
        InputError
            If the requirement, an intruder, or the way to hold against intruders is unknown.
        ModelError
            If external bounds alone break a protection level.
        """
        requirement, hold = Requirement.parse(require), Hold.parse(hold)
        given = parse_intruders(intruders)
        named = given if hold.is_asked else []
        kinds = with_whole_numbers(named, problem)
        needs = needs_of(problem, requirement)
        names = tuple(kind.name_of_kind for kind in named if not kind.is_everybody)
        return cls(problem, requirement, needs, kinds, names, hold)

    def knowing(self, lower: Floats, upper: Floats) -> Question:
        """Return the question if everybody also knows published intervals, shape (n_cells,).

        Raises
        ------
        InputError
            If an interval does not contain the true value.
        """
        return replace(self, problem=with_intervals(self.problem, lower, upper))
