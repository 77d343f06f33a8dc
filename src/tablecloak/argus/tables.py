"""Tables of a batch: made of records, or read from a file of cells with or without its totals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tablecloak.argus.lines import BatchRule, Specification
from tablecloak.argus.metadata import Metadata, Variable
from tablecloak.argus.rules import is_active, is_for_holdings, n_largest, numbers_of
from tablecloak.arrays import Flags, Texts
from tablecloak.errors import InputError, NotAdditiveError, listed
from tablecloak.graph import parents_of, path_to_root
from tablecloak.tables.contributions import Contributions, implausible
from tablecloak.tables.hierarchy import Dimension, Hierarchy
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.tabulate import tabulate

Trees = dict[str, Hierarchy]

MOST_CONTRIBUTORS = 10
"""Largest contributions that are kept of each cell, or more if a rule looks at more."""

FEWEST = " (fewest contributors)"
"""End of the name of a column that counts contributors of cells that came without."""

EMPTY_LETTERS = ("E", "", "14")


def counts(wanted: Specification, metadata: Metadata, is_microdata: bool) -> bool:
    """Whether the table counts contributors instead of adding up a response."""
    name = wanted.response.lower()
    if not is_microdata:
        return name == "<freq>"
    is_named = any(variable.name.lower() == name for variable in metadata.variables)
    return name in ("<freq>", "freq") and not is_named


# -- records ------------------------------------------------------------------------------


def from_records(
    frame: pd.DataFrame,
    wanted: Specification,
    rules: list[BatchRule],
    metadata: Metadata,
    trees: Trees,
) -> Table:
    """Add up records whose codes were recoded already."""
    is_weighted = any(numbers[0] for numbers in numbers_of(rules, "WGT"))
    weight = metadata.with_tag("WEIGHT") if is_weighted else []
    holding, request = metadata.with_tag("HOLDING"), metadata.with_tag("REQUEST")
    if is_weighted and not any(is_for_holdings(rules, rule) for rule in rules):
        # Without rules on holdings, records of one holding may have different weights.
        holding = []
    asks = bool(request and numbers_of(rules, "REQ"))
    if asks:
        marks = {mark: at for at, mark in enumerate(request[0].tags["REQUEST"], start=1)}
        asked = frame[request[0].name].str.strip().map(marks).fillna(0).astype(int)
        frame = frame.assign(**{request[0].name: asked})
    is_count = counts(wanted, metadata, is_microdata=True)
    return tabulate(
        frame,
        {name: Dimension(name, tree) for name, tree in trees.items()},
        None if is_count else metadata.variable(wanted.response).name,
        holding=holding[0].name if holding else None,
        weight=weight[0].name if weight else None,
        shadow=metadata.variable(wanted.shadow).name if wanted.shadow else None,
        request=request[0].name if asks else None,
        n_largest=max(MOST_CONTRIBUTORS, n_largest(rules)),
    )


# -- cells --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TableCells:
    """A file of cells, as far as one table needs it.

    Parameters
    ----------
    metadata : Metadata
    frame : pandas.DataFrame
        Cells that are not empty, with their codes, totals by the codes of the metadata.
    response : Variable
    trees : dict of str to Hierarchy
    frequency, shadow : str
        Names of columns, empty if there are none; the shadow is the response then.
    largest : list of str
    """

    metadata: Metadata
    frame: pd.DataFrame
    response: Variable
    trees: Trees
    frequency: str
    shadow: str
    largest: list[str]

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return list(self.trees)

    @property
    def is_leaf(self) -> Flags:
        """Which cells are on the most detailed level of every dimension."""
        leaf = np.ones(len(self.frame), dtype=bool)
        for name, tree in self.trees.items():
            leaf &= self.frame[name].isin(tree.leaves).to_numpy()
        return leaf

    @classmethod
    def of(
        cls, metadata: Metadata, cells: pd.DataFrame, wanted: Specification, rules: list[BatchRule]
    ) -> TableCells:
        """Pick the columns of one table and check them.

        Raises
        ------
        InputError
            Names the variable or the cell that does not fit.
        """
        dimensions = [metadata.variable(name) for name in wanted.dimensions]
        for tag in ("STATUS", "FREQUENCY", "MAXSCORE", "LOWERPL", "UPPERPL"):
            for variable in metadata.with_tag(tag):
                if variable in dimensions:
                    raise InputError(
                        f"{metadata.path}: {variable.name!r} is a dimension and has <{tag}> too."
                    )
        frequency = metadata.with_tag("FREQUENCY")
        is_count = counts(wanted, metadata, is_microdata=False)
        if is_count and not frequency:
            raise InputError(f"{metadata.path}: <freq> needs a variable with <FREQUENCY>.")
        response = frequency[0] if is_count else metadata.variable(wanted.response)
        for variable in dimensions:
            codes = cells[variable.name].replace("", variable.total)
            cells = cells.assign(**{variable.name: codes})
        trees = {v.name: metadata.hierarchy(v, set(cells[v.name]) - {v.total}) for v in dimensions}
        names = [v.name for v in dimensions]
        filled = _without_empty(cells, names, response.name, metadata).drop_duplicates()
        twice = filled[filled[names].duplicated()]
        if len(twice):
            raise InputError(
                f"The cell {_label(twice, names, 0)} is listed twice ({len(twice)} such lines). "
                "Remove one of the lines."
            )
        found = cls(
            metadata,
            filled.reset_index(drop=True),
            response,
            trees,
            frequency[0].name if frequency else "",
            _shadow(metadata, wanted, is_count),
            [] if is_count else [v.name for v in metadata.with_tag("MAXSCORE")],
        )
        if any(is_active(rule) for rule in rules):
            if not frequency:
                found = found.with_fewest_contributors()
            found.check(n_largest(rules))
        elif frequency:
            return found.if_plausible()
        return found

    def if_plausible(self) -> TableCells:
        """Leave out impossible contributors, where no rule uses them."""
        frame, name = self.frame, self.response.name
        odd = implausible(
            frame[self.frequency].to_numpy(dtype=np.float64),
            frame[self.shadow or name].to_numpy(dtype=np.float64),
            frame[self.largest].to_numpy(dtype=np.float64).reshape(len(frame), -1),
        )
        return self if odd is None else replace(self, frequency="", largest=[])

    def with_fewest_contributors(self) -> TableCells:
        """Return the same cells, each with the smallest number of contributors that is possible.

        Rules on the largest contributions hold for any number that is possible.
        """
        frame, name = self.frame, f"{self.response.name}{FEWEST}"
        total = np.abs(frame[self.shadow or self.response.name].to_numpy(dtype=np.float64))
        top = np.abs(frame[self.largest].to_numpy(dtype=np.float64).reshape(len(frame), -1))
        top = np.nan_to_num(top)
        rest = np.maximum(total - top.sum(axis=1), 0.0)
        # Others contribute at most as much as the last of the largest.
        smallest = top[:, -1] if top.shape[1] else np.zeros(len(frame))
        rest = np.where(rest > 1e-9 * total, rest, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(smallest > 0, np.ceil(rest / smallest * (1 - 1e-9)), rest > 0)
        count = np.maximum((top > 0).sum(axis=1) + others, total > 0)
        return replace(self, frame=frame.assign(**{name: count}), frequency=name)

    def check(self, wanted: int) -> None:
        """Check what the rules look at.

        Raises
        ------
        InputError
            Names the cell whose contributors are not what they must be.
        """
        frame = self.frame
        count = frame[self.frequency].to_numpy(dtype=np.float64)
        value = frame[self.response.name].to_numpy(dtype=np.float64)
        total = frame[self.shadow or self.response.name].to_numpy(dtype=np.float64)
        self._refuse(np.isnan(count), f"has no number of contributors ({self.frequency})")
        self._refuse((count < 0) | (count % 1 != 0), f"has an odd number of {self.frequency}")
        self._refuse((value != 0) & (count == 0), "has a value but no contributor")
        self._refuse(np.isnan(total), f"has no value of {self.shadow}")
        top = frame[self.largest].to_numpy(dtype=np.float64).reshape(len(frame), -1)
        needed = np.arange(top.shape[1]) < np.minimum(count, wanted)[:, None]
        blank = np.any(np.isnan(top) & needed, axis=1)
        self._refuse(blank, "lacks one of its largest contributions")
        top = np.nan_to_num(top)
        self._refuse(
            np.any(np.diff(top, axis=1) > 0, axis=1),
            "has largest contributions that are not in order of size",
        )
        over = top.sum(axis=1) > total + 1e-9 * np.maximum(1.0, np.abs(total))
        self._refuse(over & (top.shape[1] > 0), "has contributions above its value")

    def _refuse(self, cells: Flags, what: str) -> None:
        if np.any(cells):
            label = _label(self.frame, self.names, int(np.flatnonzero(cells)[0]))
            raise InputError(
                f"The cell {label} {what} ({int(np.sum(cells))} such cells), but a rule "
                f"needs it. Correct the file."
            )


def _label(frame: pd.DataFrame, names: list[str], row: int) -> str:
    return ", ".join(str(code) for code in frame[names].iloc[row])


def _shadow(metadata: Metadata, wanted: Specification, is_count: bool) -> str:
    """Name of the column by which contributors are measured; the tag says which."""
    tagged = metadata.with_tag("SHADOW")
    if is_count:
        return ""
    named = metadata.variable(wanted.shadow) if wanted.shadow else None
    if named is not None and tagged and named is not tagged[0]:
        raise InputError(
            f"The shadow is {named.name!r} by SPECIFYTABLE and {tagged[0].name!r} by <SHADOW> in "
            f"{metadata.path}. They must be the same."
        )
    found = named or (tagged[0] if tagged else None)
    return found.name if found else ""


def _without_empty(
    cells: pd.DataFrame, names: list[str], response: str, metadata: Metadata
) -> pd.DataFrame:
    """Drop empty cells; a value with the status empty, or the reverse, is an error."""
    empty = cells[response].isna()
    status = metadata.with_tag("STATUS")
    if status:
        letter = cells[status[0].name].str.upper()
        says_empty = letter.isin(EMPTY_LETTERS)
        odd = says_empty & ~empty & (cells[response] != 0)
        odd |= empty & letter.isin([metadata.letters["UNSAFE"].upper(), "M"])
        if odd.any():
            raise InputError(
                f"The cell {_label(cells[odd], names, 0)} has a value and the status of an empty "
                f"cell, or the reverse ({int(odd.sum())} such cells). Correct value or status."
            )
        empty |= says_empty
    if empty.all():
        raise InputError("Every cell is empty. Check the column of the response.")
    return cells[~empty]


def from_cells(cells: TableCells, mode: str) -> Table:
    """Make a table of a file of cells.

    Parameters
    ----------
    cells : TableCells
    mode : str
        "0" totals must add up, as far as rounded numbers do; "2" they need not; "1" and "1T" they
        are made of the most detailed cells, with their contributors.
    """
    frame, name = cells.frame, cells.response.name
    if mode.startswith("1"):
        frame = _rolled_up(cells)
    # Rounded values add up to within half a unit for each part.
    widest = max(len(tree.leaves) for tree in cells.trees.values())
    slack = 0.5 * 10.0**-cells.response.decimals * (widest + 1) if mode == "0" else 0.0
    tolerance = float(np.abs(frame[name]).sum()) if mode == "2" else slack
    try:
        table = Table.from_frame(frame, cells.trees, name, tolerance=tolerance)
    except NotAdditiveError as error:
        raise InputError(
            f"{error.finding} Correct the file, or write READTABLE 1 (make the totals anew) or 2 "
            f"(take them as they are).",
            cells=error.cells,
        ) from None
    if not cells.frequency:
        return table
    by_cell = table.keys.merge(frame, on=cells.names, how="left")
    given = (
        by_cell[cells.frequency].to_numpy(dtype=np.float64),
        by_cell[cells.shadow or name].to_numpy(dtype=np.float64),
        by_cell[cells.largest].to_numpy(dtype=np.float64).reshape(len(by_cell), -1),
        slack,
    )
    odd = implausible(*given)
    if odd is not None:
        raise InputError(f"The cell {table.label(odd[0])}: its contributors are {odd[1]}")
    return replace(table, contributions=Contributions.from_largest(*given))


def _rolled_up(cells: TableCells) -> pd.DataFrame:
    """Return all cells, added up from the most detailed ones with their contributors.

    Contributors of different cells are different ones: the largest of a total are the largest
    of its parts.
    """
    names, largest = cells.names, cells.largest
    leaves = cells.frame[cells.is_leaf]
    if not len(leaves):
        raise InputError(
            "There is no cell on the most detailed level: no total can be made. Add these cells, "
            "or read the totals of the file (READTABLE 0)."
        )
    sums = list(dict.fromkeys(filter(None, (cells.response.name, cells.frequency, cells.shadow))))
    spread = leaves[[*names, *sums, *largest]]
    for name, tree in cells.trees.items():
        above = parents_of(tree.groups)
        spread = spread.assign(**{name: spread[name].map(lambda c, up=above: path_to_root(c, up))})
        spread = spread.explode(name, ignore_index=True)
    added = spread.groupby(names, sort=False)[sums].sum().reset_index()
    for column in sums:
        added[column] = np.round(added[column], _digits(leaves[column]))
    if not largest:
        return added
    # Positions are used instead of names: a dimension may be called like a column here.
    axes = list(range(len(names)))
    tops = pd.concat(
        [spread[names].set_axis(axes, axis=1).assign(size=spread[top]) for top in largest]
    ).fillna({"size": 0.0})
    tops = tops.sort_values("size", ascending=False, kind="stable")
    tops["rank"] = tops.groupby(axes, sort=False).cumcount()
    kept = tops[tops["rank"] < len(largest)].set_index([*axes, "rank"])["size"].unstack()  # noqa: PD010
    kept = kept.set_axis(largest, axis=1).reset_index().set_axis([*names, *largest], axis=1)
    joined: pd.DataFrame = added.merge(kept, on=names)
    return joined


def _digits(values: pd.Series) -> int:
    """Fewest decimals, up to 12, with which all values are written exactly."""
    return next((d for d in range(12) if np.array_equal(values.round(d), values)), 12)


def read_statuses(cells: TableCells, table: Table) -> tuple[Texts, pd.DataFrame]:
    """Return the letters s, u, m, z of the cells of a table, and their rows in the file.

    Raises
    ------
    InputError
        For a status that the metadata do not name.
    """
    by_cell = table.keys.merge(cells.frame, on=cells.names, how="left")
    letters = {key: letter.upper() for key, letter in cells.metadata.letters.items()}
    column = cells.metadata.with_tag("STATUS")[0].name
    letter = by_cell[column].fillna(letters["SAFE"]).astype(str).str.upper()
    codes = {letters["UNSAFE"]: "u", letters["PROTECT"]: "z", letters["SAFE"]: "s"}
    codes = {"M": "m", **codes}
    odd = letter[~letter.isin(codes)]
    if len(odd):
        raise InputError(
            f"Status {odd.iloc[0]!r} of cell {table.label(int(odd.index[0]))} is not known; the "
            f"metadata name "
            f"{listed(list(cells.metadata.letters.values()))}."
        )
    return letter.map(codes).to_numpy(dtype=str), by_cell
