"""Who attacks, and what each intruder knows beyond what is published.

Every intruder knows all published cells, all relations and the external bounds. Siblings of
the same shape say what else: each returns, for a pattern, the bounds that its members have
narrower than everybody else. Exact definitions and proofs: docs/guarantees.md, section 4.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError
from tablecloak.registry import Registry
from tablecloak.suppression.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["INTRUDERS", "Intruder", "parse_intruders", "usual_intruders"]

Flags = npt.NDArray[np.bool_]


class Intruder(ABC):
    """A kind of intruders. Its members know the same sort of thing."""

    name: ClassVar[str]

    is_everybody: ClassVar[bool] = False
    """Whether it knows no more than everybody, and therefore always attacks."""

    knows_whole_numbers: ClassVar[bool] = False
    """Whether it attacks with integer programs."""

    knows_by_cell: ClassVar[bool] = False
    """Whether it knows of a hidden cell what it knows, whatever else is hidden, so that a pattern
    that hides less tells it no more. If not, every such pattern is audited anew."""

    usual_with: ClassVar[str] = ""
    """Role of the column of microdata that makes jobs protect against it if nothing else is said,
    such as contributor."""

    @property
    def name_of_kind(self) -> str:
        """What to call its members in reports."""
        return self.name

    def lacking(self, problem: ProtectionProblem) -> str:
        """Say what the table does not tell although this intruder needs it; empty if nothing."""
        del problem
        return ""

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return what each intruder of this kind knows.

        Parameters
        ----------
        problem : ProtectionProblem
        suppressed : numpy.ndarray of bool, shape (n_cells,)

        Raises
        ------
        InputError
            If the table does not tell what this intruder knows.
        """
        lacking = self.lacking(problem)
        if lacking:
            raise InputError(lacking)
        return self.knowledge(problem, suppressed)

    @abstractmethod
    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one entry for each member that knows something of a suppressed cell.

        Called only if nothing is `lacking`.
        """


INTRUDERS: Registry[Intruder] = Registry("intruder", "tablecloak.suppression.audit.intruders")
"""All kinds of intruders by name."""


def parse_intruders(given: Intruder | str | Sequence[Intruder | str]) -> list[Intruder]:
    """Accept intruders or their names, such as contributors.

    Raises
    ------
    InputError
        For an unknown name, with the likely one.
    """
    listed = [given] if isinstance(given, Intruder | str) else list(given)
    return [INTRUDERS.parse(entry, Intruder, "`intruders` names") for entry in listed]


def usual_intruders(roles: Collection[str]) -> list[str]:
    """Return the names of those that jobs protect against if nothing else is said.

    Parameters
    ----------
    roles : collection of str
        Of the columns that the microdata have, such as contributor and holding.
    """
    return [kind.name for kind in INTRUDERS if kind.usual_with in roles and kind.usual_with]
