"""Cells of several variables that add up the same records: the relations between them.

A variable may be limited to some of the records of another one. Its total by region is then that
of these records in the other table, and whoever has both reads one from the other. A cell adds up
the records whose codes lie in a set for each column; two cells with the same sets are one sum, and
a cell of which another table shows the parts is theirs. Where one cell holds another one and no
table shows what lies between, the difference is a sum that nobody tabulated: it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.errors import InputError, listed
from tablecloak.tables.equations import Equation
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.keys import are_rests
from tablecloak.tables.problem import ProtectionProblem

Sets = tuple[frozenset[str], ...]
"""The codes that records of a cell have in each column that some variable limits."""


@dataclass(frozen=True)
class RecordSum:
    """What a variable adds up.

    Parameters
    ----------
    of : object
        The column of which records; variables with equal ones can have a sum in common.
    only : mapping of str to frozenset of str
        The codes to which records are limited, by column.
    trees : mapping of str to Hierarchy
        Its dimensions.
    tables : sequence of frozenset of str
        The dimensions of each of its tables.
    """

    of: Any
    only: Mapping[str, frozenset[str]]
    trees: Mapping[str, Hierarchy]
    tables: Sequence[frozenset[str]]


@dataclass(frozen=True, eq=False)
class _Cell:
    """A cell: its variable, its number, and the codes of its records in the limited columns."""

    variable: str
    number: int
    sets: Sets

    def is_within(self, sets: Sets) -> bool:
        return all(one <= other for one, other in zip(self.sets, sets, strict=True))

    def has_common(self, other: _Cell) -> bool:
        """Whether a record can be in both."""
        return all(one & two for one, two in zip(self.sets, other.sets, strict=True))

    @property
    def size(self) -> int:
        return int(np.prod([len(one) for one in self.sets]))


def with_shared_records(
    problem: ProtectionProblem,
    sums: Mapping[str, RecordSum],
    columns: Mapping[str, str],
    codes: Mapping[str, frozenset[str]],
    equations: Sequence[Equation] = (),
) -> ProtectionProblem:
    """Return the problem of several variables with the relations between their common sums.

    Parameters
    ----------
    problem : ProtectionProblem
        Of `tablecloak.join`.
    sums : mapping of str to RecordSum
        What each variable adds up.
    columns : mapping of str to str
        The column of each dimension.
    codes : mapping of str to frozenset of str
        What records have in each column to which some variable is limited.
    equations : sequence of Equation, default=()
        Those between the variables: where one names two of them, their cells are related by it.

    Raises
    ------
    InputError
        If a cell holds the records of another one, and no table tells the difference; names both
        variables.
    """
    table, rows = problem.table, list[dict[int, float]]()
    assert table.variables is not None
    released = ~are_rests(table.keys)
    for of in dict.fromkeys(one.of for one in sums.values()):
        names = [name for name, one in sums.items() if one.of == of]
        if len(names) > 1:
            chosen = released & table.keys[table.variables.dimension].isin(names).to_numpy()
            family = {name: sums[name] for name in names}
            rows += _Family(problem, family, columns, codes, equations).relations(chosen)
    if not rows:
        return problem
    entries = [(row, cell, sign) for row, terms in enumerate(rows) for cell, sign in terms.items()]
    row, cell, sign = map(np.array, zip(*entries, strict=True))
    further = csr_array((sign.astype(float), (row, cell)), shape=(len(rows), table.n_cells))
    larger = replace(
        table,
        relations=csr_array(vstack([table.relations, further], format="csr")),
        # Each variable may be rounded to its own digits.
        right_hand_side=np.append(table.right_hand_side, further @ table.values),
    )
    return replace(problem, table=larger)


@dataclass(frozen=True, eq=False)
class _Family:
    """Variables that add up the same column of the same records."""

    problem: ProtectionProblem
    sums: Mapping[str, RecordSum]
    columns: Mapping[str, str]
    codes: Mapping[str, frozenset[str]]
    equations: Sequence[Equation]

    @cached_property
    def limited(self) -> tuple[str, ...]:
        """Columns to which some variable is limited."""
        return tuple(dict.fromkeys(name for summed in self.sums.values() for name in summed.only))

    @cached_property
    def ranges(self) -> dict[str, Sets]:
        """The codes of all records of each variable."""
        return {
            name: tuple(
                summed.only.get(column, self.codes[column]) & self.codes[column]
                for column in self.limited
            )
            for name, summed in self.sums.items()
        }

    def relations(self, chosen: Any) -> Iterator[dict[int, float]]:
        """Yield the relations between cells of different variables, as coefficients by cell."""
        keys = self.problem.table.keys[chosen]
        assert self.problem.table.variables is not None
        variable = self.problem.table.variables.dimension
        others = [
            name
            for name in map(str, keys.columns)
            if name != variable and self.columns[name] not in self.limited
        ]
        cells = [_Cell(name, number, sets) for name, number, sets in self._sets(keys, variable)]
        groups: dict[tuple[str, ...], list[_Cell]] = {}
        for cell, key in zip(cells, keys[others].itertuples(index=False, name=None), strict=True):
            if all(cell.sets):
                groups.setdefault(key, []).append(cell)
        for key, group in groups.items():
            if len({cell.variable for cell in group}) > 1:
                yield from self._within(group, dict(zip(others, key, strict=True)))

    def _sets(self, keys: pd.DataFrame, variable: str) -> Iterator[tuple[str, int, Sets]]:
        """Yield variable, number and codes of each cell."""
        shown = list(map(str, keys.columns.drop(variable)))
        shown = [name for name in shown if self.columns[name] in self.limited]
        below = {
            (name, dimension): leaves_below(tree)
            for name, summed in self.sums.items()
            for dimension, tree in summed.trees.items()
            if dimension in shown
        }
        rows = keys[[variable, *shown]].itertuples(index=True, name=None)
        for number, name, *codes in rows:
            sets = dict(zip(self.limited, self.ranges[name], strict=True))
            for dimension, code in zip(shown, codes, strict=True):
                # A dimension that the variable does not have stands at its total.
                if (name, dimension) in below:
                    sets[self.columns[dimension]] &= below[name, dimension][code]
            yield name, number, tuple(sets.values())

    def _within(self, group: list[_Cell], key: dict[str, str]) -> Iterator[dict[int, float]]:
        """Yield the relations between cells that differ in limited columns only."""
        of_variable: dict[str, dict[Sets, _Cell]] = {}
        for cell in group:
            of_variable.setdefault(cell.variable, {}).setdefault(cell.sets, cell)
        shown_in: dict[int, set[str]] = {cell.number: {cell.variable} for cell in group}
        for cell in group:
            for name, shown in of_variable.items():
                if name == cell.variable:
                    continue
                same = shown.get(cell.sets)
                if same is not None:
                    parts = [same] if cell.number < same.number else []
                elif self._shows(name, cell, key):
                    parts = _parts(cell, shown.values())
                else:
                    continue
                shown_in[cell.number].add(name)
                if parts:
                    yield {cell.number: -1.0, **{part.number: 1.0 for part in parts}}
        self._refuse_differences(group, shown_in, key)

    def _shows(self, name: str, cell: _Cell, key: Mapping[str, str]) -> bool:
        """Whether a variable has a table in which the records of a cell are some of its cells."""
        tables, everything = self.sums[name].tables, self.ranges[name]
        if not cell.is_within(everything):
            return False
        needed = {name for name, code in key.items() if not self._is_total(name, code)}
        narrower = [
            column
            for column, codes, every in zip(self.limited, cell.sets, everything, strict=True)
            if codes != every
        ]
        return any(
            needed <= table
            and all(any(self.columns[name] == column for name in table) for column in narrower)
            for table in tables
        )

    def _is_total(self, dimension: str, code: str) -> bool:
        trees = (summed.trees.get(dimension) for summed in self.sums.values())
        return any(tree is not None and tree.total == code for tree in trees)

    def _refuse_differences(
        self, group: list[_Cell], shown_in: Mapping[int, set[str]], key: Mapping[str, str]
    ) -> None:
        """Refuse a cell that holds another one where nothing relates the two.

        Raises
        ------
        InputError
            Names both variables.
        """
        related = [
            set(equation.variables)
            for equation in self.equations
            if all(key.get(name, codes[0]) in codes for name, codes in equation.where.items())
        ]
        open_cells = [cell for cell in group if shown_in[cell.number] != set(self.sums)]
        for cell in open_cells:
            for larger in open_cells:
                one, other = shown_in[cell.number], shown_in[larger.number]
                if one & other or not cell.is_within(larger.sets):
                    continue
                if not any(names & one and names & other for names in related):
                    raise self._difference(cell, larger)

    def _difference(self, cell: _Cell, larger: _Cell) -> InputError:
        table = self.problem.table
        limits = [
            f"{column} = {listed(sorted(codes))}"
            for column, codes, every in zip(self.limited, cell.sets, larger.sets, strict=True)
            if codes != every
        ]
        several = [column for column in self.limited if column in self.sums[cell.variable].only]
        return InputError(
            f"Variables {cell.variable!r} and {larger.variable!r} add up the same records. Of "
            f"those of {table.label(larger.number)} the first has only the ones with "
            f"{' and '.join(limits)}: both cells tell the sum of the others, which no table has "
            f"and nothing protects. Instead of `only`, add the dimension "
            f"{' and '.join(several or self.limited)} to the table of {larger.variable!r}; or add "
            f"a variable of the other records, and the equation {larger.variable} = "
            f"{cell.variable} + others.",
            cells=[cell.number, larger.number],
        )


def _parts(cell: _Cell, others: Any) -> list[_Cell]:
    """Return the largest cells of a variable that have no record in common and make up a cell."""
    inside = [other for other in others if other.is_within(cell.sets)]
    parts = list[_Cell]()
    for other in sorted(inside, key=lambda other: -other.size):
        if not any(other.has_common(part) for part in parts):
            parts.append(other)
    return parts


def leaves_below(tree: Hierarchy) -> dict[str, frozenset[str]]:
    """Return the most detailed codes below each code."""
    closure, leaves = tree.closure(), np.array(tree.leaves, dtype=object)
    ends = zip(closure.indptr[:-1], closure.indptr[1:], strict=True)
    return {
        code: frozenset(leaves[closure.indices[start:end]])
        for code, (start, end) in zip(tree.codes, ends, strict=True)
    }
