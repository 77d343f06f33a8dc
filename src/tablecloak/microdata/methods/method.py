"""What every method for records has in common, and the registry of all of them.

A method is one class: its name, its parameters with their ranges and help, and `protect`. The
commands and the docs are made of it::

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
    """What a method gives."""

    @property
    def frame(self) -> pd.DataFrame:
        """The protected records, in the order of the original."""

    def summary(self) -> str:
        """Say in one line what was done."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a file a method looks at.

    Parameters
    ----------
    changed : sequence of str
        Columns that it changes.
    categories : sequence of str, default=()
        Columns that it reads as text, so that "01" stays "01".
    numbers : sequence of str, default=()
        Columns that it reads as they are: numbers as numbers.
    keys : sequence of str, default=()
        Columns by which an intruder may know a record, for the page on a release.
    unit : str, optional
        Column of those who change as one, such as the household; by default each record is alone.
    """

    changed: Sequence[str]
    categories: Sequence[str] = ()
    numbers: Sequence[str] = ()
    keys: Sequence[str] = ()
    unit: str | None = None


class Method(ABC):
    """A way to protect records. Its parameters are those of its constructor.

    What a user reads of it is the first line of its docstring and `guide`.
    """

    name: ClassVar[str]
    """Of the command and in the registry."""

    guide: ClassVar[str] = ""
    """What the help of the command adds: what is printed, and an example."""

    def __post_init__(self) -> None:
        require_in_range(self)

    @abstractmethod
    def protect(self, frame: pd.DataFrame, *, seed: Any = None) -> Release:
        """Return the protected records; without a seed, one is drawn anew."""

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the columns that are read and changed, by default all as they are.

        Parameters
        ----------
        known : sequence of str
            All columns of the file.
        """
        return Columns(changed=known, numbers=known)


METHODS: Registry[Method] = Registry("method", "tablecloak.microdata.methods")
"""All methods by name: ``METHODS.build("noise", columns=["wage"], noise=0.1).protect(frame)``."""
