"""Releases that list every combination of codes: read back, whoever published them."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.tables.formats.format import ReleaseFormat, TableFormat
from tablecloak.tables.formats.layouts import MOST_SQUARES


@dataclass(frozen=True)
class CubeDimension:
    """One dimension of a cube.

    Parameters
    ----------
    names : sequence of str
        What it is called: its name, and what readers see if that is another.
    codes, texts : sequence of str
        In one order; texts are what readers see.
    """

    names: Sequence[str]
    codes: Sequence[str]
    texts: Sequence[str]

    def code_list(self, wanted: Collection[str]) -> Sequence[str]:
        """Return codes as the table spells them, which may be those that readers see."""
        is_by_text = not set(self.codes) & set(wanted) and set(self.texts) & set(wanted)
        return self.texts if is_by_text else self.codes


@dataclass(frozen=True)
class Cube:
    """A release as it stands in a file.

    Parameters
    ----------
    dimensions : sequence of CubeDimension
    values : sequence of float
        Of all combinations, the last dimension fastest; nan where the file gives none.
    """

    dimensions: Sequence[CubeDimension]
    values: Sequence[float]

    def frame(self, wanted: Mapping[str, Collection[str]], source: object) -> pd.DataFrame:
        """Return a row for each combination.

        Parameters
        ----------
        wanted : mapping of str to collection of str
            The codes of the dimensions of the table that it is a release of.
        source : object
            The file, for messages.

        Returns
        -------
        pandas.DataFrame
            Columns of the dimensions, and ``value``.

        Raises
        ------
        InputError
            If the file has further dimensions with several codes, or lacks entries.
        """
        count = math.prod(len(of.codes) for of in self.dimensions)
        if count != len(self.values) or count > MOST_SQUARES:
            raise InputError(
                f"{source}: its codes have {count:,} combinations, and its data "
                f"{len(self.values):,} entries. It needs one for each, and at most "
                f"{MOST_SQUARES:,}."
            )
        spelt = {name.casefold(): name for name in wanted}
        names, lists = [], []
        for of in self.dimensions:
            given = [spelt[name.casefold()] for name in of.names if name.casefold() in spelt]
            if not given and len(of.codes) > 1:
                raise InputError(
                    f"{source}: {of.names[0]!r} is no dimension of the table, and has the codes "
                    f"{listed(list(of.codes), 5)}. Give a file with one of them."
                )
            names.append(given[0] if given else "")
            lists.append(of.code_list(wanted[given[0]]) if given else of.codes)
        frame = pd.DataFrame(itertools.product(*lists), columns=names, dtype=str)
        values = np.asarray(self.values, dtype=np.float64)
        return frame[[name for name in names if name]].assign(value=values)


class CubeFormat(TableFormat, ReleaseFormat):
    """A format that lists every combination of codes, and can be read back."""

    holds = "releases"

    @abstractmethod
    def read_cube(self, path: Path) -> Cube:
        """Read a file.

        Raises
        ------
        InputError
            If it is of another kind.
        """
