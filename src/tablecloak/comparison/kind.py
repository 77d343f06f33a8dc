"""Kinds of releases that can be compared: what a reader sees of each, and whether it is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cta.risk.risk import Guesses
from tablecloak.errors import InputError
from tablecloak.registry import Registry
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.tabulation.contributed import Contributed

__all__ = ["KINDS", "UNCHANGED", "ReleaseKind", "kind_of"]

R = TypeVar("R", bound=Any)
"""Class of the releases of a kind; each has its `problem`."""

UNCHANGED = 1e-9
"""Change, as a share of the median level, below which a value counts as published exactly."""


class ReleaseKind(ABC, Generic[R]):
    """One kind of releases."""

    name: ClassVar[str]

    made: ClassVar[type]
    """Class of its releases."""

    made_by: ClassVar[str]
    """Functions that make such releases, for messages."""

    place: ClassVar[int]
    """Position among the kinds that are compared by default."""

    note: ClassVar[str] = ""
    """What its own figures mean, for the page."""

    def methods(self, time_limit: float) -> Mapping[str, Callable[[ProtectionProblem], R]]:
        """Return the methods that are compared by default, by their names."""
        return {}

    def methods_for_counts(
        self, time_limit: float
    ) -> Mapping[str, Callable[[ProtectionProblem], R]]:
        """Return the methods that are compared as well if the table is one of counts."""
        del time_limit
        return {}

    def methods_for_records(
        self, records: Contributed
    ) -> Mapping[str, Callable[[ProtectionProblem], R]]:
        """Return the methods that are compared as well if the records of the table are given."""
        del records
        return {}

    @abstractmethod
    def ends(self, release: R) -> tuple[Floats, Floats]:
        """Return between which values each cell lies for a reader, shape (n_cells,) each."""

    @abstractmethod
    def is_safe(self, problem: ProtectionProblem, release: R, lower: Floats, upper: Floats) -> bool:
        """Tell whether a release protects every sensitive cell as a problem asks.

        Parameters
        ----------
        problem : ProtectionProblem
            Its levels count, also if the release was made for others.
        release : release
        lower, upper : numpy.ndarray of float, shape (n_cells,)
            What `ends` returns.
        """

    @abstractmethod
    def published(self, release: R, shown: Floats) -> tuple[Flags, Floats]:
        """Return which cells are published exactly, and how much of each value is lost.

        Parameters
        ----------
        release : release
        shown : numpy.ndarray of float, shape (n_cells,)
            What the analyst sees.
        """

    def possible(
        self, release: R, lower: Floats, upper: Floats, time_limit: float
    ) -> tuple[Integers, Integers] | tuple[Floats, Floats] | None:
        """Return between which whole numbers each true count lies for an intruder.

        Parameters
        ----------
        release : release
            Of a table of counts.
        lower, upper : numpy.ndarray of float, shape (n_cells,)
            What `ends` returns.
        time_limit : float
            Seconds.

        Returns
        -------
        lower, upper : numpy.ndarray of int, shape (n_cells,)
            Only those of sensitive cells need be narrow. None if the method tells nothing of how
            far true counts can lie from published ones.
        """
        del release, lower, upper, time_limit
        return None

    def own_figures(self, problem: ProtectionProblem, release: R) -> dict[str, float]:
        """Return figures that only releases of this kind have; others have NaN.

        Parameters
        ----------
        problem : ProtectionProblem
            Its levels count, also if the release was made for others.
        release : release
        """
        del problem, release
        return {}

    def guesses(self, release: R, shown: Floats, *, knows: str, time_limit: float) -> Guesses:
        """Return an intruder's guesses of the sensitive cells; by default what the analyst sees."""
        return Guesses(release.problem, shown[release.problem.sensitive])


KINDS: Registry[ReleaseKind[Any]] = Registry(
    "kind of release", "tablecloak.comparison.kinds", order=lambda kind: kind.place
)
"""All kinds by name."""


def kind_of(release: object) -> ReleaseKind[Any]:
    """Return the kind of a release.

    Raises
    ------
    InputError
        If it cannot be compared.
    """
    for kind in KINDS:
        if isinstance(release, kind.made):
            return kind()
    *first, last = [kind.made_by for kind in KINDS]
    raise InputError(
        f"A {type(release).__name__} cannot be compared; give {', '.join(first)}, or {last}."
    )
