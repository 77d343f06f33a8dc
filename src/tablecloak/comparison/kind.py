"""Kinds of releases that can be compared: what a reader sees of each, and whether it is safe."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tablecloak.cta.risk import Guesses
from tablecloak.errors import InputError
from tablecloak.registry import Registry
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["KINDS", "UNCHANGED", "ReleaseKind", "kind_of"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
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

    def own_figures(self, release: R) -> dict[str, float]:
        """Return figures that only releases of this kind have; others have NaN."""
        del release
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
