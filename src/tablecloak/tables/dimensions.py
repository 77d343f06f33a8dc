"""How a dimension may be specified: from a bare column name to a full hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tablecloak.errors import InputError, listed
from tablecloak.tables.hierarchy import Hierarchy


@dataclass(frozen=True)
class Dimension:
    """One dimension of a table and where its codes come from.

    Parameters
    ----------
    column : str
        Column of the data with the most detailed code.
    hierarchy : Hierarchy, str, Path, mapping or None, default=None
        A hierarchy, the path of an ``.hrc`` file, or nested dictionaries. None: the codes
        found in the data, each directly below the total.
    levels : sequence of str, default=()
        Columns that hold one level each, coarsest first, the last being `column`; the
        hierarchy is then read from the data.
    total : str, default="Total"
        Code of the total.
    """

    column: str
    hierarchy: Hierarchy | str | Path | Mapping[str, Any] | None = None
    levels: Sequence[str] = ()
    total: str = "Total"

    def __post_init__(self) -> None:
        if not isinstance(self.hierarchy, Hierarchy | str | Path | Mapping | None):
            raise InputError(
                f"Dimension {self.column!r}: {self.hierarchy!r} is no hierarchy. Give a Hierarchy, "
                f"the path of an .hrc file, nested dictionaries, or nothing for a flat list."
            )

        if not isinstance(self.total, str) or not self.total.strip():
            raise InputError(
                f"Dimension {self.column!r}: the code of the total is {self.total!r}. It needs one."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the data that are needed."""
        return tuple(self.levels) or (self.column,)

    def resolve(self, distinct: pd.DataFrame) -> Hierarchy:
        """Return the hierarchy, given the distinct codes of `columns` in the data."""
        if isinstance(self.hierarchy, Hierarchy):
            return self.hierarchy
        if isinstance(self.hierarchy, str | Path):
            return Hierarchy.from_hrc(self.hierarchy, self.total)
        if self.hierarchy is not None:
            return Hierarchy.from_dict(self.hierarchy, self.total)
        if self.levels:
            return Hierarchy.from_levels(distinct, self.levels, self.total)
        codes = sorted(set(distinct[self.column].dropna().astype(str)) - {self.total})
        if not codes:
            raise InputError(
                f"Dimension {self.column!r}: the data has no code besides the total "
                f"{self.total!r}. Give the hierarchy or the right column."
            )
        return Hierarchy.flat(codes, total=self.total)


def as_dimensions(dimensions: Mapping[str, Any] | Sequence[str]) -> dict[str, Dimension]:
    """Bring any accepted specification of dimensions into one form.

    Parameters
    ----------
    dimensions : mapping of str to specification, or sequence of str
        For each name a `Dimension`, a `Hierarchy`, a path, nested dictionaries, a list of
        level columns, or None.
    """
    if isinstance(dimensions, str):
        raise InputError(f"`dimensions` must be a list or a mapping, not the text {dimensions!r}.")
    if not isinstance(dimensions, Mapping):
        dimensions = dict.fromkeys(dimensions)
    if not dimensions:
        raise InputError("`dimensions` is empty; a table needs at least one dimension.")
    resolved = {}
    for name, given in dimensions.items():
        if isinstance(given, Dimension):
            resolved[name] = given
        elif isinstance(given, list | tuple):
            resolved[name] = Dimension(given[-1], levels=tuple(given))
        else:
            resolved[name] = Dimension(name, hierarchy=given)
    return resolved


def read_dimensions(
    dimensions: Mapping[str, Any] | Sequence[str], codes: Mapping[str, pd.Series]
) -> dict[str, Hierarchy]:
    """Resolve the dimensions of a table that is already tabulated.

    Parameters
    ----------
    dimensions : mapping or sequence
        See `as_dimensions`; columns of levels are refused here.
    codes : mapping of str to pandas.Series
        The code of each cell, totals included.
    """
    hierarchies = {}
    for name, dimension in as_dimensions(dimensions).items():
        if dimension.levels:
            raise InputError(
                f"Dimension {name!r}: level columns {listed(list(dimension.levels))} work for "
                f"microdata only; a tabulated file has its totals in one column."
            )
        tree = dimension.resolve(pd.DataFrame({dimension.column: codes[name]}))
        if dimension.hierarchy is None and tree.total not in set(codes[name]):
            raise InputError(
                f"Dimension {name!r}: no row has the code {tree.total!r} of the total. Add the "
                f"totals, or name their code in Dimension({name!r}, total=...)."
            )
        hierarchies[name] = tree
    return hierarchies
