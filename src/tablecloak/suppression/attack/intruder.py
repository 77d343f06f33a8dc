"""Who attacks, and what each intruder knows beyond what is published.

Every intruder knows all published cells, all relations and the external bounds. Each kind is a
class that says what its members know besides: for a pattern it returns the bounds by which they
know more than everybody. Exact definitions and proofs: docs/guarantees.md, section 4.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import ClassVar

from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.registry import Registry
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem


class Intruder(ABC):
    """A kind of intruder, such as contributors, whose members know the same sort of thing."""

    name: ClassVar[str]

    is_everybody: ClassVar[bool] = False
    """Whether this kind knows no more than everybody, and therefore always attacks."""

    knows_whole_numbers: ClassVar[bool] = False
    """Whether this kind attacks with integer programs."""

    knows_by_cell: ClassVar[bool] = False
    """Whether knowledge of a hidden cell does not depend on what else is hidden. If it does, a
    pattern that hides fewer cells may tell an intruder more, and is audited anew."""

    usual_with: ClassVar[str] = ""
    """Role of a column of microdata, such as contributor, whose presence makes jobs protect against
    this kind by default."""

    @property
    def name_of_kind(self) -> str:
        """Name of the members of this kind in reports."""
        return self.name

    def lacking(self, problem: ProtectionProblem) -> str:
        """Return a message if the table lacks what this intruder needs; empty if it does not."""
        del problem
        return ""

    def is_also(self, name: str) -> tuple[str, str]:
        """Return the kind and the name under which a member may attack as another kind as well.

        If the name is another, the member is of that kind; else only if that has such a member.
        """
        return self.name_of_kind, name

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
        """Return one entry for each member that knows more of a suppressed cell than everybody.

        It is called only if `lacking` returns an empty text.
        """


def insiders_of(
    kinds: Sequence[Intruder], problem: ProtectionProblem, suppressed: Flags
) -> list[tuple[str, Knowledge]]:
    """Return each insider of some kinds once, with the name of its kind.

    A contributor in no holding is a holding of its own, and a holding with the name of a
    contributor is that contributor. Where contributors and holdings attack, it is one contributor,
    who knows what both levels tell: of a cell with many contributors the table may name it on one
    level only. Numbers may be those of two lists: there a holding is taken for the contributor only
    if one of them knows no more than the other.
    """
    members = [(kind, kind.members(problem, suppressed)) for kind in kinds]
    named = {(kind.name_of_kind, one.name): one for kind, ones in members for one in ones}
    asked = {kind.name_of_kind for kind in kinds}
    insiders: list[tuple[str, Knowledge]] = []
    place: dict[tuple[str, str], int] = {}
    for kind, ones in members:
        before = len(insiders)
        for one in ones:
            who = kind.is_also(one.name)
            if who[0] not in asked or (who[1] == one.name and not _are_one(named.get(who), one)):
                who = kind.name_of_kind, one.name
            at = place.setdefault(who, len(insiders))
            # Two members of one kind are two insiders, whatever their names.
            if at < before:
                insiders[at] = who[0], insiders[at][1].joined(one)
            else:
                insiders.append((who[0], replace(one, name=who[1])))
    return insiders


def _are_one(other: Knowledge | None, one: Knowledge) -> bool:
    """Return whether two insiders of one name are the same; there may be no other."""
    if other is None:
        return False
    joined = other.joined(one)
    return not one.name.isdecimal() or joined.equals(other) or joined.equals(one)


INTRUDERS: Registry[Intruder] = Registry("intruder", "tablecloak.suppression.attack.intruders")
"""All kinds of intruders by name."""


def parse_intruders(given: Intruder | str | Sequence[Intruder | str]) -> list[Intruder]:
    """Accept intruders or their names, such as contributors.

    Raises
    ------
    InputError
        If a name is unknown; suggests the likely one.
    """
    listed = [given] if isinstance(given, Intruder | str) else list(given)
    return [INTRUDERS.parse(entry, Intruder, "`intruders` names") for entry in listed]


def usual_intruders(roles: Collection[str]) -> list[str]:
    """Return the names of the intruders against whom jobs protect by default.

    Parameters
    ----------
    roles : collection of str
        Roles of the columns of the microdata, such as contributor and holding.
    """
    return [kind.name for kind in INTRUDERS if kind.usual_with in roles and kind.usual_with]
