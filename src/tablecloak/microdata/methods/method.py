"""The base class of methods for records, and their registry.

A method is one class: its name, its parameters with their ranges and help, and `protect`. Commands
and docs are derived from it::

    @METHODS.register
    @dataclass(frozen=True)
    class Rounding(Method):
        "Round a column of numbers."

        name: ClassVar[str] = "round-values"
        column: Annotated[str, Field(description="Column of numbers.")]
        base: Annotated[float, Field(gt=0, description="Released values are multiples of it.")]

        def uses(self, known): return Columns(changed=[self.column], numbers=[self.column])
        def protect(self, frame, *, seed=None): ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pandas as pd

from tablecloak.microdata.methods.parameters import require_in_range
from tablecloak.registry import Registry

__all__ = ["METHODS", "Columns", "Method", "Release"]


class Release(Protocol):
    """The result of a method."""

    @property
    def frame(self) -> pd.DataFrame:
        """The protected records, in the order of the original."""

    def summary(self) -> str:
        """Return one line on the changes that were made."""


@dataclass(frozen=True)
class Columns:
    """The columns of a file that a method reads and changes.

    Parameters
    ----------
    changed : sequence of str
        Columns that it changes.
    categories : sequence of str, default=()
        Columns that it reads as text, so that "01" stays "01".
    numbers : sequence of str, default=()
        Columns that it reads in their own type, numbers as numbers.
    keys : sequence of str, default=()
        Columns by which an intruder may know a record, for the report on a release.
    unit : str, optional
        Column of the units that change as a whole, such as the household; by default each record
        is a unit.
    """

    changed: Sequence[str]
    categories: Sequence[str] = ()
    numbers: Sequence[str] = ()
    keys: Sequence[str] = ()
    unit: str | None = None


class Method(ABC):
    """A way to protect records. Its parameters are those of its constructor.

    The command's help is the first line of the docstring and `guide`.
    """

    name: ClassVar[str]
    """Name of the command, and in the registry."""

    guide: ClassVar[str] = ""
    """Further help of the command: its output, and an example."""

    def __post_init__(self) -> None:
        require_in_range(self)

    @abstractmethod
    def protect(self, frame: pd.DataFrame, *, seed: Any = None) -> Release:
        """Return the protected records; without a seed, random numbers differ at each call."""

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the columns that the method reads and changes, by default all of them.

        Parameters
        ----------
        known : sequence of str
            All columns of the file.
        """
        return Columns(changed=known, numbers=known)


METHODS: Registry[Method] = Registry("method", "tablecloak.microdata.methods")
"""All methods by name: ``METHODS.build("noise", columns=["wage"], noise=0.1).protect(frame)``."""
