"""Earlier releases as knowledge: what was published before stands beside what is published now.

An intruder has all releases. Their cells are therefore further cells of the problem, which are
never published with the new release: those published before are frozen, those hidden before stay
hidden, with the levels they had. A cell that still has its value is the same cell, so that a
relation makes the two equal; one whose value was revised is another, since nobody knows by how much
it was revised. Equations join releases over time, as in ``now = q1 + q2 + q3 + q4``. In a release
of another period no cell is one of the new table, even where both have the same value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, csr_array, vstack

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.contributions import LEVELS
from tablecloak.tables.equations import Equation, match
from tablecloak.tables.keys import (
    EARLIER,
    are_earlier,
    are_figures,
    are_rests,
    number_rows,
    without_later_marks,
)
from tablecloak.tables.link import completed_keys, linked_hierarchies, stacked_contributions
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import MOST_DECIMALS, common_decimals
from tablecloak.tables.table import Table

NOW = "now"
"""Name of the release that is made now, in equations."""

PERIOD = "period of a release"
"""Column beside the codes of cells that are compared; no dimension is called so."""

SAME = 1e-9
"""Relative difference up to which a value counts as unrevised."""


@runtime_checkable
class PublishedResult(Protocol):
    """A release, as far as others need to know what it tells."""

    problem: ProtectionProblem

    def told(self) -> tuple[Floats, Floats]:
        """Return the ends of what the release tells of each cell, shape (n_cells,) each."""


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """What an earlier release tells of each of its cells. Secret.

    Parameters
    ----------
    problem : ProtectionProblem
        Its true table at that time, with the levels of its sensitive cells.
    lower, upper : numpy.ndarray of float, shape (n_cells,)
        Ends of what was published of each cell: equal where its value was.
    stands : mapping of str to str, default={}
        Codes at which a table that lacks these dimensions stands, where that is not their total.
    """

    problem: ProtectionProblem
    lower: Floats
    upper: Floats
    stands: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, release: EarlierRelease | PublishedResult) -> EarlierRelease:
        """Return what a release of this package tells.

        Raises
        ------
        InputError
            If it is no release.
        """
        if isinstance(release, EarlierRelease):
            return release
        if not isinstance(release, PublishedResult):
            raise InputError(
                f"`published` must hold earlier releases, such as patterns of `suppress`. Got "
                f"{type(release).__name__}; read files with `tc.read_published`."
            )
        values, (lower, upper) = release.problem.table.values, release.told()
        return cls(release.problem, np.minimum(lower, values), np.maximum(upper, values))

    @property
    def is_shown(self) -> Flags:
        """Which values were published, shape (n_cells,)."""
        shown: Flags = self.lower == self.upper
        return shown


@dataclass(frozen=True, eq=False)
class Published:
    """All earlier releases that an intruder has, and how they belong together with the new one.

    Parameters
    ----------
    releases : mapping of str to release, or sequence of releases
        By name; those of a sequence are called "release 1", "release 2", and so on.
    equations : sequence of Equation or str, default=()
        Equations between releases, wherever their cells have the same codes, in which ``now`` is
        the new one: ``now = q1 + q2 + q3 + q4``. A release that stands in no equation is compared
        with the new one cell by cell: equal values are taken to be the same, others to be revised.
    periods : mapping of str to str, default={}
        Periods of releases that are of another one than the new table. Only cells of one period can
        be the same, whatever their values. `tablecloak.with_derived` takes each release to which a
        growth rate or an index refers for a period of its own, unless it is given here.

    Raises
    ------
    InputError
        If there is no release, or one has a name that is taken.
    """

    releases: (
        Mapping[str, EarlierRelease | PublishedResult] | Sequence[EarlierRelease | PublishedResult]
    )
    equations: Sequence[Equation | str] = field(default=())
    periods: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.releases
        if not isinstance(given, Mapping):
            given = {f"release {number + 1}": release for number, release in enumerate(given)}
        releases = {str(name): EarlierRelease.of(release) for name, release in given.items()}
        if NOW in releases or not all(releases):
            raise InputError(
                f"An earlier release cannot be called {NOW!r}, which is the new one, and needs a "
                f"name. Rename it."
            )
        object.__setattr__(self, "releases", releases)
        object.__setattr__(self, "equations", tuple(map(Equation.of, self.equations)))

    @classmethod
    def parse(cls, given: object) -> Published | None:
        """Return earlier releases that were given as such, alone, or in a sequence or mapping."""
        if isinstance(given, Published):
            return given if given.releases else None
        if isinstance(given, EarlierRelease | PublishedResult):
            return cls([given])
        if isinstance(given, Mapping | list | tuple):
            return cls(given) if given else None
        raise InputError(
            f"`published` must be a release, several, or `tc.Published`. Got "
            f"{type(given).__name__}; read files with `tc.read_published`."
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the earlier releases."""
        return tuple(self._known)

    @property
    def _known(self) -> dict[str, EarlierRelease]:
        assert isinstance(self.releases, dict)
        return self.releases

    def beside(self, problem: ProtectionProblem) -> Change:
        """Return the change to a problem with the cells of earlier releases, the last ones.

        Parameters
        ----------
        problem : ProtectionProblem
            Of the new table.

        Returns
        -------
        Change
            Cells of earlier releases weigh nothing. Those published then are frozen; those hidden
            then must stay hidden, and what was sensitive has the levels it had, as far as what was
            told of the cell itself leaves them.

        Raises
        ------
        InputError
            If the tables do not fit together, or an equation does not hold.
        """
        earlier = list(self._known.values())
        table = _joined_table(problem.table, self)
        joint = ProtectionProblem.of(table, problem.stacked(map(_as_further_cells, earlier)))
        return Change.within(problem, joint, relations=None)

    def kept_beside(self, problem: ProtectionProblem) -> Change:
        """Return the change to the problem of an adjustment that contradicts no earlier release.

        Values published before stay as they are, and with them the same cells of the new table;
        values hidden before may be whatever the earlier relations allow.
        """
        change = self.beside(problem)
        joint, n = change.problem, problem.table.n_cells
        hidden = np.where(joint.frozen, CellStatus.FROZEN.value, CellStatus.SAFE.value)
        status = np.where(np.arange(len(joint.status)) < n, joint.status, hidden)
        return replace(change, problem=joint.with_changes(status=status))

    def hidden_beside(self, hidden: Flags) -> Flags:
        """Return which cells are hidden: those of the new release, then of the earlier ones."""
        return np.concatenate([hidden, *(~release.is_shown for release in self._known.values())])

    def ends_beside(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the ends of what is published of each cell, of the new release first."""
        releases = self._known.values()
        return (
            np.concatenate([lower, *(release.lower for release in releases)]),
            np.concatenate([upper, *(release.upper for release in releases)]),
        )


def _as_further_cells(release: EarlierRelease) -> ProtectionProblem:
    """Return the problem of an earlier release with what is asked of its cells now."""
    problem, shown, values = release.problem, release.is_shown, release.problem.table.values
    asked = problem.sensitive & ~shown
    low = np.where(shown, problem.lower_bound, np.maximum(problem.lower_bound, release.lower))
    high = np.where(shown, problem.upper_bound, np.minimum(problem.upper_bound, release.upper))
    status = np.select(
        [shown, asked],
        [CellStatus.FROZEN.value, CellStatus.SENSITIVE.value],
        CellStatus.FORCED.value,
    )
    return problem.with_changes(
        status=status,
        lower_protection=np.minimum(problem.lower_protection, values - low) * asked,
        upper_protection=np.minimum(problem.upper_protection, high - values) * asked,
        sliding_protection=np.minimum(problem.sliding_protection, high - low) * asked,
        lower_bound=low,
        upper_bound=high,
        weights=0.0,
        capacity_down=np.inf,
        capacity_up=np.inf,
    )


def _joined_table(table: Table, published: Published) -> Table:
    """Return the new table with the cells and relations of the earlier ones, and those between."""
    releases, equations = published._known, tuple(map(Equation.of, published.equations))
    tables = {NOW: table, **{name: member.problem.table for name, member in releases.items()}}
    every = list(tables.values())
    hierarchies = linked_hierarchies(every)
    stands = {name: code for member in releases.values() for name, code in member.stands.items()}
    keys = dict(zip(tables, comparable_keys(every, stands), strict=True))
    equated = {name for equation in equations for name in equation.variables} - {NOW}
    compared = np.repeat([name not in equated for name in tables], [one.n_cells for one in every])
    periods = published.periods
    one_each = pd.concat(
        [codes.assign(**{PERIOD: periods.get(name, "")}) for name, codes in keys.items()]
    )
    marked = _marked(table, keys)
    values = np.concatenate([member.values for member in every])
    _refuse_second_names(marked, values, list(releases))
    compared &= ~are_rests(one_each)
    _refuse_other_units(one_each, compared, every, list(releases))
    between = [
        _equalities(one_each, compared, every),
        _equalities(without_later_marks(marked), are_earlier(marked), every),
        *_equated(tables, keys, equations),
    ]
    contributions: dict[str, Any] = {
        level: stacked_contributions(every, level) if getattr(table, level) else None
        for level in LEVELS.values()
    }
    rows = [block_diag([member.relations for member in every], format="csr")]
    sides = [member.right_hand_side for member in every]
    sides += [side for _, side in between]
    return replace(
        table,
        keys=marked,
        values=values,
        relations=csr_array(vstack([*rows, *(more for more, _ in between)], format="csr")),
        right_hand_side=np.concatenate(sides),
        hierarchies={name: hierarchies[name] for name in table.hierarchies},
        integer=bool(all(member.integer for member in every)),
        decimals=_fitting(table.decimals, every),
        **contributions,
    )


def _refuse_second_names(marked: pd.DataFrame, values: Floats, names: Sequence[str]) -> None:
    """Refuse a release that another one, which was protected beside it, holds by another name.

    Nothing would tell that both are one, and what both tell of its hidden cells would be lost.

    Raises
    ------
    InputError
        Says which name to give it.
    """
    if not any(str(code).count(EARLIER) > 1 for n in marked.columns for code in marked[n].unique()):
        return
    keys = without_later_marks(marked)[are_earlier(marked) & ~are_figures(marked)]
    text = keys.agg("\0".join, axis=1)
    name = text.str.extract(f"{EARLIER}(.*?): ", expand=False)
    bare = text.str.replace(f"{EARLIER}.*?: ", "", n=1, regex=True)
    cell_values = pd.Series(list(zip(bare, values[keys.index], strict=True)), keys.index)
    cells = {str(held): set(cell_values[name == held]) for held in name.unique()}
    for held in cells.keys() - set(names):
        for given in names:
            if cells[held] <= cells.get(given, set()):
                raise InputError(
                    f"The earlier release {given!r} has all cells of {held!r}, which another one "
                    f"was protected beside. Call it {held!r} here as well."
                )


def comparable_keys(tables: Sequence[Table], stands: Mapping[str, str]) -> list[pd.DataFrame]:
    """Return the keys of each table over the dimensions of all, so that equal keys mean one cell.

    A dimension that a table lacks stands at its total there, or at another code that `stands` has
    for it. Where one table holds several variables, each of the others holds the variable that it
    is named after.

    Raises
    ------
    InputError
        If the total of a dimension that a table lacks is not known.
    """
    column = next((table.variables.dimension for table in tables if table.variables), None)
    keys = completed_keys([table.keys for table in tables], _totals(tables, column, stands))
    if column is None:
        return keys
    return [
        codes if column in table.keys else codes.assign(**{column: table.name})
        for table, codes in zip(tables, keys, strict=True)
    ]


def _totals(
    tables: Sequence[Table], variable: str | None, stands: Mapping[str, str]
) -> dict[str, str]:
    """Return the total of each dimension that some table lacks.

    Where no table has a hierarchy, as those read from files of problems, it is the code that is the
    total of relations and never a part. The dimension of variables has none.
    """
    trees = linked_hierarchies(tables)
    totals = {**{name: tree.total for name, tree in trees.items()}, **stands}
    for name in dict.fromkeys(name for table in tables for name in table.keys.columns):
        holders = [table for table in tables if name in table.keys.columns]
        if name in totals or len(holders) == len(tables):
            continue
        tops = {""} if name == variable else set.union(*(_tops(table, name) for table in holders))
        if len(tops) != 1:
            raise InputError(
                f"Dimension {name!r} is missing in one of the releases, and its total is not "
                f"known. Give the hierarchy of each dimension."
            )
        totals[name] = tops.pop()
    return totals


def totals_of(table: Table) -> dict[str, str]:
    """Return the code of the total of each dimension; a dimension without one has an empty one."""
    totals = {}
    for name in map(str, table.keys.columns):
        tops = _tops(table, name)
        tree = table.hierarchies.get(name)
        totals[name] = tree.total if tree else tops.pop() if len(tops) == 1 else ""
    return totals


def _tops(table: Table, name: str) -> set[str]:
    """Return the codes that are totals along a dimension, and never parts."""
    entries = table.relations.tocoo()
    row, cell = entries.coords
    of_table = ~np.isin(row, row[table.rests[cell]])
    row, cell, data = row[of_table], cell[of_table], entries.data[of_table]
    codes = table.keys[name].to_numpy(dtype=object)
    total = np.full(table.n_relations, None, dtype=object)
    total[row[data < 0]] = codes[cell[data < 0]]
    part = data > 0
    differs = codes[cell[part]] != total[row[part]]
    return set(total[row[part]][differs]) - set(codes[cell[part]][differs])


def _equalities(
    keys: pd.DataFrame, compared: Flags, tables: Sequence[Table]
) -> tuple[csr_array, Floats]:
    """Return the relations that make cells of the same codes and the same value one cell.

    Releases are compared with each other as well: two that tell little of a cell apart may tell all
    of it together, whether or not the new one has it. Of m copies m - 1 relations are enough, each
    between neighbours when copies are ordered by value.
    """
    values = np.concatenate([table.values for table in tables])
    tolerance = np.repeat([one.tolerance for one in tables], [one.n_cells for one in tables])
    units = half_units([digits_of(one.values, one.decimals) for one in tables],
                       [one.decimals for one in tables])  # fmt: skip
    room = np.concatenate([
        unit * detail_cells(one) if unit else np.zeros(one.n_cells)
        for unit, one in zip(units, tables, strict=True)
    ])  # fmt: skip
    cells = np.flatnonzero(compared)
    _, number = number_rows(keys.iloc[cells])
    order = np.lexsort((values[cells], number))
    number, cells = number[order], cells[order]
    one, other = cells[:-1], cells[1:]
    a, b = values[one], values[other]
    near = (
        np.abs(a - b)
        <= SAME * np.maximum(np.abs(a), np.abs(b))
        + np.maximum(tolerance[one], tolerance[other])
        + room[one]
        + room[other]
    )
    same = (number[:-1] == number[1:]) & near
    one, other = one[same], other[same]
    n = len(one)
    entries = np.concatenate([np.ones(n), -np.ones(n)])
    rows, columns = np.tile(np.arange(n), 2), np.concatenate([one, other])
    return csr_array((entries, (rows, columns)), shape=(n, len(values))), a[same] - b[same]


def digits_of(values: Floats, declared: int | None) -> int:
    """Return how many digits after the decimal point a table has."""
    digits = common_decimals(values) if declared is None else declared
    return MOST_DECIMALS if digits is None else digits


def half_units(digits: Sequence[int], declared: Sequence[int | None]) -> list[float]:
    """Return half a unit of the last digit of each table whose values may be rounded, 0 of others.

    A table may be rounded if it has fewer digits than another one of the same cells, or as many as
    a job asks for: what has two digits because the records have is not rounded.
    """
    finest = max(digits, default=0)
    return [0.5 * 10.0**-count if count < finest or count in declared else 0.0 for count in digits]


def detail_cells(table: Table) -> Floats:
    """Return of how many cells without parts each cell is the sum, shape (n_cells,).

    Most detailed cells are rounded before they are added up, so that sums are off by as much more.
    """
    rows = table.relations
    totals = (rows < 0).astype(np.int64)
    of_table = (abs(rows) @ table.rests.astype(float) == 0) & (totals.sum(axis=1) == 1)
    kept = np.flatnonzero(of_table)
    total, first = np.unique(totals[kept].tocoo().coords[1], return_index=True)
    parts = rows[kept[first]].maximum(0) != 0
    counts, is_open = np.ones(table.n_cells), np.zeros(table.n_cells, dtype=bool)
    is_open[total] = True
    while len(ready := np.flatnonzero(is_open[total] & (parts @ is_open.astype(float) == 0))):
        counts[total[ready]] = parts[ready] @ counts
        is_open[total[ready]] = False
    return counts


def _refuse_other_units(
    keys: pd.DataFrame, compared: Flags, tables: Sequence[Table], names: Sequence[str]
) -> None:
    """Refuse a release whose values are those of the new table in another unit.

    Raises
    ------
    InputError
        Names it, and how many times as large its values are.
    """
    _, number = number_rows(keys)
    number = np.where(compared, number, -1)
    ends = np.cumsum([table.n_cells for table in tables])
    numbers = np.split(number, ends[:-1])
    for name, table, place in zip(names, tables[1:], numbers[1:], strict=True):
        here, there, both = np.intersect1d(numbers[0], place, return_indices=True)
        a, b = tables[0].values[there], table.values[both]
        is_cell = (here >= 0) & (a != 0) & (b != 0)
        if is_cell.sum() < FEWEST_SHARED:
            continue
        ratio = float(np.median(b[is_cell] / a[is_cell]))
        power = round(np.log10(abs(ratio)))
        total = float(np.abs(b[is_cell]).sum() / np.abs(a[is_cell]).sum())
        if power and abs(total / 10.0**power - 1) < UNIT_ERROR:
            raise InputError(
                f"Values of the earlier release {name!r} are {10.0**power:g} times those of the "
                f"new table in the same cells: they have another unit, so that nothing could be "
                f"compared. Make both tables in one unit."
            )


FEWEST_SHARED = 3
"""Fewest common cells that tell a unit."""

UNIT_ERROR = 0.01
"""Largest relative error of a unit, which rounding leaves."""


def _equated(
    tables: Mapping[str, Table], keys: Mapping[str, pd.DataFrame], equations: Sequence[Equation]
) -> list[tuple[csr_array, Floats]]:
    """Return the relations of the equations between releases."""
    if not equations:
        return []
    column = "release"
    stacked = pd.concat(
        [codes.assign(**{column: name}) for name, codes in keys.items()], ignore_index=True
    )
    relations = [match(equation, tables, stacked, column) for equation in equations]
    return [(rows.relations, rows.residual) for rows in relations]


def _marked(table: Table, keys: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the keys of all cells; those of earlier releases are marked in one dimension.

    Codes of dimensions that the new table lacks stand in the mark as well.
    """
    dimensions = list(table.keys.columns)
    variable = None if table.variables is None else table.variables.dimension
    column = next(name for name in dimensions if name != variable)
    parts = [table.keys]
    for release, codes in keys.items():
        if release == NOW:
            continue
        others = [name for name in codes.columns if name not in dimensions]
        marks = reduce(
            lambda text, name: text + ", " + name + "=" + codes[name].astype(str),
            others,
            f"{EARLIER}{release}: " + codes[column].astype(str),
        )
        parts.append(codes[dimensions].assign(**{column: marks}))
    return pd.concat(parts, ignore_index=True)


def _fitting(decimals: int | None, tables: Sequence[Table]) -> int | None:
    """Return the declared digits of the new table if earlier values have no more."""
    if decimals is None:
        return None
    unit = 10.0**-decimals
    rest = [np.abs(member.values / unit - np.rint(member.values / unit)) for member in tables]
    return decimals if all(np.all(off <= 1e-6) for off in rest) else None
