"""What counts as protected: base class and registry of the requirements on sensitive cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tablecloak.arrays import Floats, Integers
from tablecloak.registry import Registry
from tablecloak.tables.problem import ProtectionProblem


class Requirement(ABC):
    """The least interval that an intruder must be left with, for a sensitive cell p of value a_p.

    max x_p and min x_p are taken over all tables that agree with the published cells and with the
    external bounds. If the levels that count are 0, the interval must still be at least as wide as
    one unit of the table's last decimal: no sensitive cell may be computed exactly.
    """

    name: ClassVar[str]
    _only: ClassVar[Requirement]

    TWO_SIDED: ClassVar[_Standard]
    """max x_p >= a_p + UPL_p, min x_p <= a_p - LPL_p and max - min >= SPL_p. The default."""
    WIDTH: ClassVar[_Standard]
    """max x_p - min x_p >= max(UPL_p + LPL_p, SPL_p): weaker, one side may be close."""
    UPPER: ClassVar[_Standard]
    """max x_p >= a_p + UPL_p only: weaker, nothing is asked of the lower side."""

    def __new__(cls) -> Requirement:
        """Return the one instance of a class, so that requirements can be compared with `is`."""
        if "_only" not in vars(cls):
            cls._only = super().__new__(cls)
        return cls._only

    @property
    def value(self) -> str:
        """The name, as in job files and on the command line."""
        return self.name

    @property
    def caveat(self) -> str:
        """What a sentence on safety has to add where less than the default is required."""
        return "" if self is Requirement.TWO_SIDED else f", but only {self.value} is required"

    @abstractmethod
    def distances(
        self, problem: ProtectionProblem, cells: Integers
    ) -> tuple[Floats, Floats, Floats]:
        """Return the distances that cells need, from their protection levels.

        Parameters
        ----------
        problem : ProtectionProblem
        cells : numpy.ndarray of int

        Returns
        -------
        upper, lower, width : numpy.ndarray of float, shape of `cells`
            Required distance above and below the true value, and between both ends.
        """

    @classmethod
    def parse(cls, given: Requirement | str) -> Requirement:
        """Accept a requirement or its name.

        Raises
        ------
        InputError
            If the name is unknown; suggests the likely one.
        """
        return REQUIREMENTS.parse(given, Requirement, "`require` is")

    def __repr__(self) -> str:
        return f"<Requirement {self.name!r}>"


REQUIREMENTS: Registry[Requirement] = Registry(
    "requirement", "tablecloak.suppression.system.requirements"
)
"""All requirements by name."""


class _Standard:
    """A requirement as an attribute of `Requirement`, looked up in the registry on access."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Requirement:
        return Requirement.parse(self.name)


Requirement.TWO_SIDED = _Standard("two-sided")
Requirement.WIDTH = _Standard("width")
Requirement.UPPER = _Standard("upper")
