"""The base class of methods for records, and their registry.

A method is one class: its name, its parameters with their ranges and help, the columns that it
uses, and `apply`. Commands, jobs and docs are derived from it::

    @METHODS.register
    @dataclass(frozen=True)
    class Rounding(Method[RoundedRelease]):
        "Round a column of numbers."

        name: ClassVar[str] = "round-values"
        column: Annotated[str, Field(description="Column of numbers.")]
        base: Annotated[float, Field(gt=0, description="Released values are multiples of it.")]

        def uses(self, known): return Columns(changed=[self.column], numbers=[self.column])
        def apply(self, frame, random): ...
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from tablecloak.budget import generator
from tablecloak.errors import InputError
from tablecloak.microdata.columns import row_label
from tablecloak.microdata.library_frames import LibraryFrame
from tablecloak.microdata.methods.parameters import require_in_range
from tablecloak.microdata.samplers import LegacySampler
from tablecloak.microdata.telling_columns import warn_of_telling
from tablecloak.parameters import parameters_of
from tablecloak.registry import Registry


class Release(Protocol):
    """The result of a method."""

    @property
    def frame(self) -> Any:
        """The protected records, in the order of the original, as what the caller gave."""

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
    sensitive : sequence of str, default=()
        Attributes that must not be inferred, for the report.
    weight : str, optional
        Column of sampling weights, for the report.
    """

    changed: Sequence[str]
    categories: Sequence[str] = ()
    numbers: Sequence[str] = ()
    keys: Sequence[str] = ()
    unit: str | None = None
    sensitive: Sequence[str] = ()
    weight: str | None = None


R_co = TypeVar("R_co", bound=Release, covariant=True)
"""Release of a method."""


class Method(ABC, Generic[R_co]):
    """A way to protect records. Its parameters are those of its constructor.

    The command's help is the first line of the docstring and `guide`.
    """

    name: ClassVar[str]
    """Name of the command, and in the registry."""

    guide: ClassVar[str] = ""
    """Further help of the command: its output, and an example."""

    def __post_init__(self) -> None:
        require_in_range(self)

    def get_params(self) -> dict[str, Any]:
        """Return the parameters by name: ``type(method)(**method.get_params())`` is its equal."""
        return {each.name: getattr(self, each.name) for each in parameters_of(type(self))}

    def protect(self, records: Any, *, seed: Any = None) -> R_co:
        """Protect records.

        Parameters
        ----------
        records : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            They stay as they are. The release holds a frame of the same kind, in which only
            columns that the method changes differ. Missing values stay missing, unless the
            method exchanges values between records.
        seed : int, numpy.random.Generator or LegacySampler, optional
            By default drawn at random. Keep it secret, since it allows to undo the release.

        Raises
        ------
        InputError
            If the records are of another kind or there are none, a column does not exist, or its
            values do not suit the method; names column and row.
        """
        given = LibraryFrame(records)
        if not len(given.pandas):
            raise InputError("There are no records: the file or frame has no row. Give some.")
        random = seed if isinstance(seed, LegacySampler) else generator(seed)
        # What overflows is told below, by column and row.
        with np.errstate(over="ignore", invalid="ignore"):
            release = self.apply(given.pandas, random)
        self._require_numbers(given.pandas, release.frame)
        changed = self.uses([str(name) for name in given.pandas.columns]).changed
        warn_of_telling(given.pandas, release.frame, changed)
        if given.is_pandas:
            return release
        returned = copy.copy(release)
        # Releases are frozen for their readers.
        object.__setattr__(returned, "frame", given.back(release.frame, changed))
        return returned

    def _require_numbers(self, before: pd.DataFrame, after: pd.DataFrame) -> None:
        """Refuse a release in which numbers became infinite."""
        for name in self.uses([str(name) for name in before.columns]).changed:
            if not pd.api.types.is_float_dtype(after[name]):
                continue
            numbers = after[name].to_numpy(dtype=np.float64, na_value=np.nan)
            odd = np.flatnonzero(np.isinf(numbers))
            if len(odd):
                raise InputError(
                    f"Column {name!r}: {self.name} would release {numbers[odd[0]]} in row "
                    f"{row_label(before, odd[0])}. Its values or the parameters are too large: "
                    f"take another unit, or smaller parameters."
                )

    @abstractmethod
    def apply(self, frame: pd.DataFrame, random: Any) -> R_co:
        """Return the release of a frame of pandas whose labels occur once each.

        Parameters
        ----------
        frame : pandas.DataFrame
            It must stay as it is.
        random : numpy.random.Generator
            The only source of random numbers.
        """

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the columns that the method reads and changes: by default `columns`, or else all.

        Parameters
        ----------
        known : sequence of str
            All columns of the file.
        """
        named: Sequence[str] | None = getattr(self, "columns", None)
        chosen = known if named is None else named
        return Columns(changed=chosen, numbers=chosen)


METHODS: Registry[Method[Any]] = Registry("method", "tablecloak.microdata.methods")
"""All methods by name: ``METHODS.build("noise", columns=["wage"], noise=0.1).protect(frame)``."""
