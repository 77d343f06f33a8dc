"""What a finished table seems to be: dimensions, totals, hierarchies, figures; to be confirmed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, listed
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.proposals.code_sums import CodeTree, code_tree
from tablecloak.tables.proposals.crosstab import Crosstab, as_number, read_crosstab, read_squares
from tablecloak.tables.table import Table

FREQUENCY = re.compile(
    r"n|n_?\w{0,6}|freq\w*|count\w*|number\w*|contributors?|firms?|enterprises?|respondents?|obs\w*",
    re.IGNORECASE,
)
LARGEST = re.compile(r"(max|largest|top|biggest|x)[ _-]?(\d*)|(largest|maximum).*", re.IGNORECASE)
VALUE = re.compile(r"values?|turnover|amount|sum|total|sales|revenue|obs_value", re.IGNORECASE)
STATUS = re.compile(r"(conf_?|obs_?)?(status|flags?)|sensitive|primary|secret", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A reading of a finished table, to be confirmed by a person.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each cell: codes, figures, and text beside them.
    trees : dict of str to CodeTree
        For each dimension which codes add up to which; a tree may be incomplete.
    figures : tuple of str
        Columns with numbers.
    value : str
        The figure that is to be published.
    frequency : str
        The number of contributors; empty if no column looks like it.
    largest : tuple of str
        The largest contributions, the largest first.
    status : str
        Column that says which cells are sensitive; empty if there is none.
    tolerance : float
        By how much sums may be off, because figures were rounded one by one.
    title, name, sheet : str
    sheets : tuple of str
    notes : tuple of str
        What was left out or is doubtful.
    labels : dict of str to dict of str to str
        For a dimension what its codes are called, if a column says it.
    """

    frame: pd.DataFrame
    trees: dict[str, CodeTree]
    figures: tuple[str, ...]
    value: str
    frequency: str = ""
    largest: tuple[str, ...] = ()
    status: str = ""
    tolerance: float = 0.0
    title: str = ""
    name: str = ""
    sheets: tuple[str, ...] = ("",)
    notes: tuple[str, ...] = field(default=())
    labels: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether every code of every dimension has its place."""
        return all(tree.groups and tree.total and not tree.unplaced for tree in self.trees.values())

    def table(self, hierarchies: Mapping[str, Hierarchy] | None = None) -> Table:
        """Return the table.

        Parameters
        ----------
        hierarchies : mapping of str to Hierarchy, optional
            Replaces those that were found.

        Raises
        ------
        InputError
            If a code has no place, or the table is not additive.
        """
        given = dict(hierarchies or {})
        for name, tree in self.trees.items():
            if name not in given:
                if not tree.groups and not tree.unplaced:
                    raise InputError(
                        f"{self.name}: {name!r} has the code {tree.total!r} alone, so nothing adds "
                        f"up. Give a table with its totals."
                    )
                if not tree.total or tree.unplaced:
                    raise InputError(
                        f"{self.name}: the figures do not tell where "
                        f"{listed(list(tree.unplaced[:8]))} of {name!r} belong. Say it with "
                        f"`hierarchies={{{name!r}: tc.Hierarchy(...)}}`."
                    )
                given[name] = tree.hierarchy
        return Table.from_frame(
            self.frame,
            {name: given[name] for name in self.trees},
            self.value,
            frequency=self.frequency or None,
            largest=self.largest,
            tolerance=self.tolerance,
        )

    def summary(self) -> str:
        """Return what was found in a few lines."""
        lines = [
            f"{self.name}: {len(self.frame)} cells, {self.value!r} by {' x '.join(self.trees)}"
        ]
        for name, tree in self.trees.items():
            depth = f"{len(tree.groups)} group{'s' if len(tree.groups) != 1 else ''}"
            lost = f"; without a place: {listed(list(tree.unplaced[:5]))}" if tree.unplaced else ""
            lines.append(f"  {name}: total {tree.total!r}, {depth}{lost}")
        roles = {
            "contributors": self.frequency,
            "status": self.status,
            "largest": ", ".join(self.largest),
        }
        lines += [f"  {role}: {column}" for role, column in roles.items() if column]
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return f"<Proposal: {self.summary()}>"


def propose(given: pd.DataFrame | str | Path, *, sheet: str = "") -> Proposal:
    """Read a finished table of any layout and propose its dimensions, totals and hierarchies.

    Parameters
    ----------
    given : DataFrame, str or Path
        A table with all its totals: one row for each cell, or codes on the left and above, in
        Excel (.xlsx), CSV (any separator) or Parquet. Several columns of codes and several lines
        of headers, merged squares, titles and notes are understood.
    sheet : str, optional
        Sheet of a workbook; by default the first one with numbers.

    Returns
    -------
    Proposal
        Look at it before you use it: `Proposal.summary`, `Proposal.trees`.

    Raises
    ------
    InputError
        If there are no figures or no codes, or a square holds something else than a number.

    Notes
    -----
    Totals and hierarchies are told by the figures: a code is a parent if in every column it is
    the sum of its children, up to rounding. Names of columns only decide which of several
    figures is the value, the number of contributors, or a status.

    Examples
    --------
    >>> import pandas as pd
    >>> wide = pd.DataFrame({"region": ["N", "S", "All"], "small": [1, 2, 3], "all": [4, 6, 10],
    ...                      "large": [3, 4, 7]})
    >>> found = propose(wide)
    >>> found.trees["region"].total, found.trees["columns"].total
    ('All', 'all')
    """
    squares = read_squares(given, sheet)
    cross = read_crosstab(squares)
    long, axes, measures, texts = _split(cross)
    dims = [axis.name for axis in axes]
    figures = tuple(measures)
    roles = _roles(figures, texts)
    value = roles.value
    filled = long[long[value].notna()].reset_index(drop=True)
    trees, tolerance = _trees(filled, axes, value)
    notes = [*cross.notes]
    if cross.beside and not texts:
        notes.append(f"Left out: {listed([*cross.beside])}, which says something of whole rows.")
    if len(filled) < len(long):
        notes.append(f"Left out: {len(long) - len(filled)} rows without {value!r}.")
    if tolerance:
        notes.append(f"Sums are off by up to {tolerance:g}: figures were rounded one by one.")
    return Proposal(
        frame=filled, trees={name: trees[name] for name in dims}, figures=figures, value=value,
        tolerance=tolerance, title=cross.title, name=squares.name, sheets=squares.sheets,
        notes=tuple(notes), labels=cross.labels, frequency=roles.frequency,
        largest=roles.largest, status=roles.status,
    )  # fmt: skip


@dataclass(frozen=True)
class _Codes:
    name: str
    depths: dict[str, int]


def _split(cross: Crosstab) -> tuple[pd.DataFrame, list[_Codes], list[str], list[str]]:
    """Return the long frame, its dimensions, its figures, and its texts.

    An axis of headers is a dimension if its codes add up; otherwise it names different figures.
    """
    long, names = cross.long(), cross.names
    axes = [*cross.rows, *cross.columns]
    codes = [_Codes(name, axis.depths) for name, axis in zip(names, axes, strict=False)]
    rows, above = codes[: len(cross.rows)], codes[len(cross.rows) :]
    texts = names[len(codes) :]
    kinds = [axis for axis in above if not _adds_up(long.drop(columns=texts), axis)]
    dims = [axis for axis in codes if axis not in kinds]
    _require_single(long, names[: len(codes)], cross.squares.name)
    if not kinds:
        return long.drop(columns=texts), dims, ["value"], []
    keys = [axis.name for axis in dims]
    which = long[[axis.name for axis in kinds]].agg(" ".join, axis=1)
    order = list(dict.fromkeys(which))
    wide = long.assign(which=which).pivot_table(
        index=keys, columns="which", values="value", aggfunc="first", sort=False
    )
    frame = wide[order].reset_index().rename_axis(columns=None)
    if len(dims) == len(rows) + 1 and "columns" not in keys:
        # The other lines of headers name figures.
        frame = frame.rename(columns={keys[-1]: "columns"})
        return frame, [*dims[:-1], _Codes("columns", dims[-1].depths)], order, []
    if len(dims) == len(rows):
        told = long.drop_duplicates(keys)[[*keys, *texts]]
        return frame.merge(told, on=keys, how="left"), dims, order, texts
    return frame, dims, order, []


def _require_single(long: pd.DataFrame, keys: Sequence[str], name: str) -> None:
    repeated = long.duplicated(keys).to_numpy()
    if repeated.any():
        row = dict(long[list(keys)].iloc[int(repeated.argmax())])
        raise InputError(
            f"{name}: cell {row} is given twice. Give each cell once, or add the column that tells "
            f"them apart."
        )


def _adds_up(long: pd.DataFrame, axis: _Codes) -> bool:
    """Whether some code of an axis is the sum of all others, or the axis is a tree."""
    if len(axis.depths) < 3:
        return False
    values, codes = _matrix(long, axis, "value")
    return any(
        code_tree(values, codes, rounding=unit).groups for unit in {0.0, _unit(long["value"])}
    )


def _matrix(frame: pd.DataFrame, axis: _Codes, value: str) -> tuple[Floats, list[str]]:
    """Return one row for each code of an axis, one column for each combination of the others."""
    figures = [each for each in frame.columns if pd.api.types.is_numeric_dtype(frame[each])]
    others = [each for each in frame.columns if each != axis.name and each not in figures]
    codes = list(axis.depths)
    rows = pd.Categorical(frame[axis.name], categories=codes).codes
    if others:
        columns, _ = pd.factorize(pd.MultiIndex.from_frame(frame[others].astype(str)))
    else:
        columns = np.zeros(len(frame), dtype=np.intp)
    values = np.zeros((len(codes), int(columns.max(initial=-1)) + 1))
    values[rows, columns] = frame[value].to_numpy(dtype=np.float64)
    return values, codes


def _trees(
    frame: pd.DataFrame, axes: Sequence[_Codes], value: str
) -> tuple[dict[str, CodeTree], float]:
    """Return the tree of each dimension, and how far sums may be off."""
    unit = _unit(frame[value])
    found, tolerance = {}, 0.0
    plain = frame[[*(axis.name for axis in axes), value]]
    for axis in axes:
        values, codes = _matrix(plain, axis, value)
        depths = list(axis.depths.values())
        tree = code_tree(values, codes, depths)
        if not tree.total or tree.unplaced:
            rounded = code_tree(values, codes, depths, rounding=unit)
            if len(rounded.unplaced) < len(tree.unplaced) or (rounded.total and not tree.total):
                tree = rounded
                tolerance = max(tolerance, _off(values, codes, rounded))
        found[axis.name] = tree
    return found, tolerance


def _off(values: Floats, codes: Sequence[str], tree: CodeTree) -> float:
    """Return by how much the largest difference of a parent and its children is off."""
    at = {code: number for number, code in enumerate(codes)}
    gaps = [
        np.abs(values[at[parent]] - values[[at[child] for child in children]].sum(axis=0)).max()
        for parent, children in tree.groups
    ]
    return float(np.ceil(max(gaps, default=0.0) * 1e6) / 1e6)


def _unit(figures: pd.Series) -> float:
    """Return the last digit in which figures differ, at most 1."""
    values = figures.dropna().to_numpy(dtype=np.float64)
    for digits in range(7):
        if np.allclose(values, np.round(values, digits), rtol=0, atol=1e-9 * 10**-digits):
            return float(10.0**-digits)
    return 0.0


@dataclass(frozen=True)
class _Roles:
    value: str
    frequency: str
    largest: tuple[str, ...]
    status: str


def _roles(figures: Sequence[str], beside: Sequence[str]) -> _Roles:
    """Guess from their names what columns hold; see `Proposal`."""
    frequency = next((name for name in figures[1:] or () if FREQUENCY.fullmatch(name)), "")
    if len(figures) > 1 and not frequency and FREQUENCY.fullmatch(figures[0]):
        frequency = figures[0]
    largest = [name for name in figures if LARGEST.fullmatch(name) and name != frequency]
    status = next((name for name in (*beside, *figures[1:]) if STATUS.fullmatch(name)), "")
    rest = [name for name in figures if name not in (frequency, status, *largest)] or [*figures]
    value = next((name for name in rest if VALUE.fullmatch(name)), rest[0])
    order = sorted(largest, key=lambda name: as_number("".join(re.findall(r"\d+", name))) or 0)
    frequency = "" if frequency == value else frequency
    known = tuple(name for name in order if name != value) if frequency else ()
    return _Roles(value, frequency, known, status)
