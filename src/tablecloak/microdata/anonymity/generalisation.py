"""Levels of a key: its values as they are, grouped more and more, and at last all in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError, listed
from tablecloak.graph import path_to_root
from tablecloak.microdata.columns import row_label
from tablecloak.tables.hierarchy import Hierarchy

HierarchyLike = Hierarchy | Sequence[float] | str
"""A hierarchy, rising widths of bands such as [5, 10], or on the command line either as text."""

TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class KeyLevels:
    """The levels of one key.

    Parameters
    ----------
    name : str
    codes : tuple of numpy.ndarray of int, each of shape (n_values,)
        For each level, the code of each value of the file; level 0 leaves values as they are, and
        the last level gives all of them the same code.
    labels : tuple of numpy.ndarray of str
        For each level, the text of each code.
    """

    name: str
    codes: tuple[Integers, ...]
    labels: tuple[npt.NDArray[np.object_], ...]

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.codes)

    def lost(self, level: int) -> Floats:
        """Return the loss of each value at a level: (n - 1) / (N - 1) [1]_.

        n is the number of values of the file that share its code, N that of all values, so that the
        loss is 0 for a value as it is and 1 in the total.

        References
        ----------
        .. [1] Iyengar: Transforming data to satisfy privacy constraints, 2002.
        """
        code = self.codes[level]
        n = len(code)
        together = np.bincount(code)[code]
        return (together - 1) / max(n - 1, 1)

    def texts(self, column: pd.Series, level: int) -> npt.NDArray[np.object_]:
        """Return the text of each value of a column at a level; None where it is missing."""
        code = pd.factorize(column, sort=True)[0]
        text = np.append(self.labels[level][self.codes[level]], [None])[code]
        return np.asarray(text, dtype=object)

    @classmethod
    def of(cls, column: pd.Series, source: Hierarchy | Sequence[float] | None) -> KeyLevels:
        """Return the levels of a column.

        Parameters
        ----------
        column : pandas.Series
            Missing values have no code.
        source : Hierarchy, sequence of float or None
            None: values as they are, or all in one.

        Raises
        ------
        InputError
            If a value is not a leaf of the hierarchy, or widths do not nest.
        """
        values = np.asarray(pd.factorize(column, sort=True)[1], dtype=object)
        as_is = np.array([str(value) for value in values], dtype=object)
        if source is None:
            steps = []
        elif isinstance(source, Hierarchy):
            steps = _of_tree(column, as_is, source)
        else:
            steps = _of_widths(column, values, source)
        steps = [as_is, *steps, np.full(len(as_is), TOTAL, dtype=object)]
        codes: list[Integers] = []
        labels: list[npt.NDArray[np.object_]] = []
        for step in steps:
            code, label = pd.factorize(step, sort=False)
            # A step that groups nothing, such as the total of one value, is no level of its own.
            if not codes or len(label) < len(labels[-1]):
                codes.append(code.astype(np.int64))
                labels.append(np.asarray(label, dtype=object))
        return cls(str(column.name), tuple(codes), tuple(labels))


def read_hierarchy(given: HierarchyLike) -> Hierarchy | Sequence[float]:
    """Return a hierarchy or widths; text such as "5/10" holds widths, other text is a path.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    if not isinstance(given, str):
        return given
    try:
        return [float(word) for word in given.split("/")]
    except ValueError:
        return Hierarchy.from_hrc(Path(given), total=TOTAL)


def key_levels(
    frame: pd.DataFrame, keys: Sequence[str], hierarchies: Mapping[str, HierarchyLike] | None
) -> tuple[KeyLevels, ...]:
    """Return the levels of each key in a file; keys without a hierarchy have their values alone."""
    given = hierarchies or {}
    return tuple(
        KeyLevels.of(frame[name], read_hierarchy(given[name]) if name in given else None)
        for name in keys
    )


def keys_in_bands(hierarchies: Mapping[str, HierarchyLike] | None) -> list[str]:
    """Return the keys whose hierarchy is widths of bands, so that they are numbers."""
    read = {name: read_hierarchy(each) for name, each in (hierarchies or {}).items()}
    return [name for name, each in read.items() if not isinstance(each, Hierarchy)]


def _of_tree(
    column: pd.Series, as_is: npt.NDArray[np.object_], tree: Hierarchy
) -> list[npt.NDArray[np.object_]]:
    """Cut a tree at each depth, from the deepest parents up to the children of the total."""
    parent: dict[str, str] = {}
    for above, below in tree.groups:
        for code in below:
            if parent.setdefault(code, above) != above:
                raise InputError(
                    f"The hierarchy of {column.name!r} puts {code!r} below {parent[code]!r} and "
                    f"{above!r}. Recoding needs one tree: give each code one parent."
                )
    leaves = set(tree.leaves)
    odd = [text for text in as_is.tolist() if text not in leaves]
    if odd:
        at = int(np.flatnonzero((column.astype(str) == odd[0]).to_numpy())[0])
        row = row_label(column.to_frame(), at)
        raise InputError(
            f"Column {column.name!r} has values that are no leaves of its hierarchy: "
            f"{listed(odd)}, the first in row {row}. Add them to the hierarchy."
        )
    paths = []
    for text in as_is.tolist():
        paths.append(path_to_root(text, parent)[::-1])
    deepest = max(len(path) for path in paths)
    return [
        np.array([path[min(depth, len(path) - 1)] for path in paths], dtype=object)
        for depth in range(deepest - 2, 0, -1)
    ]


def _of_widths(
    column: pd.Series, values: npt.NDArray[np.object_], widths: Sequence[float]
) -> list[npt.NDArray[np.object_]]:
    """Put numbers into bands, each of several of the bands before."""
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError(
            f"Column {column.name!r} has widths of bands but no numbers: its type is "
            f"{column.dtype}. Give a hierarchy instead."
        )
    if not all(1e-100 <= width <= 1e100 for width in widths):
        raise InputError(
            f"Widths of bands of {column.name!r} must be above 0, from 1e-100 to 1e+100. "
            f"Got {widths!r}."
        )
    for fine, coarse in pairwise(widths):
        if coarse <= fine or not float(coarse / fine).is_integer():
            raise InputError(
                f"Bands of {column.name!r} must nest: {coarse:g} is no multiple of {fine:g}."
            )
    numbers = values.astype(np.float64)
    is_whole = bool(np.all(numbers == np.rint(numbers)))
    steps = []
    for width in widths:
        low = np.floor(numbers / width) * width
        # Bands of whole numbers name their last number, others the end that they leave out.
        whole = is_whole and float(width).is_integer()
        high = low + width - 1 if whole else low + width
        join = "-" if whole else " to below "
        texts = [f"{a:g}{join}{b:g}" for a, b in zip(low, high, strict=True)]
        steps.append(np.array(texts, dtype=object))
    return steps
