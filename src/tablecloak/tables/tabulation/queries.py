"""Questions to the engine: what leaves add up to, and who contributes to them and to margins.

What comes back are cells, not records. A contributor that stands in one leaf only is whole in each
margin above it. One that stands in several must be counted once in each margin, with all that it
contributes there: the engine groups by contributor once more for each margin, or hands over these
contributors one by one where they are few.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import AnyIntegers, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.figures import Figures, Largest
from tablecloak.tables.tabulation.levels import levels_of
from tablecloak.tables.tabulation.records import (
    CheckedRecords,
    ColumnRoles,
    Overview,
    table_of,
)

QUERY_SECONDS = {"pyspark": 1.0}
"""What a query costs before it looks at a record; for other engines `QUICK_QUERY`."""

QUICK_QUERY = 0.04

ROW_HERE, ROW_THERE = 1.4e-6, 0.15e-6
"""Seconds that a row costs for each margin, in numpy and in the engine."""

MANY_RECORDS = 6
"""Records of a contributor beyond which those of the same leaf are added up first."""

GROUPS_AT_ONCE = 2_500_000
"""Groups that DuckDB holds at once: it keeps a list of the largest for each cell."""

MOST_PARTS = 8
"""Parts in which they are asked for; a further one would read all rows once more."""

MOST_CELLS_OF_A_KEY = 2**52
"""Combinations of codes in one whole number, which engines divide as a double."""


@dataclass(frozen=True)
class Leaves:
    """What the engine gave back: sums of each leaf, and contributors by attribute of `Table`.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy
    overview : Overview
    positions : numpy.ndarray of int, shape (n_leaves, n_dimensions)
        Of each leaf among those of its hierarchy.
    values, totals : numpy.ndarray of int, shape (n_leaves, n_words)
        Weighted sums of the value, and of that by which contributors are ranked; see `ExactSum`.
    grouped : mapping of str to Grouped
    """

    hierarchies: Mapping[str, Hierarchy]
    overview: Overview
    positions: AnyIntegers
    values: Integers
    totals: Integers
    grouped: Mapping[str, Grouped]

    @cached_property
    def levels(self) -> dict[str, list[AnyIntegers]]:
        """Levels of each hierarchy."""
        return {name: levels_of(tree) for name, tree in self.hierarchies.items()}

    def axes(self, names: Iterable[str]) -> list[int]:
        """Return the columns of `positions` that belong to dimensions."""
        listed = list(self.hierarchies)
        return [listed.index(name) for name in names]


@dataclass(frozen=True)
class Spanning:
    """Contributors in several leaves, one by one; rows of the same contributor are neighbours.

    Parameters
    ----------
    positions : numpy.ndarray of int, shape (n_rows, n_dimensions)
    contributor : numpy.ndarray of int, shape (n_rows,)
    signed : numpy.ndarray of int, shape (n_rows, n_words)
        Words of the contribution.
    weight : numpy.ndarray of float, shape (n_rows,)
    request : numpy.ndarray of float, shape (n_rows, 0 or 1)
        Request codes.
    marks : numpy.ndarray of float, shape (n_rows, 0 or 2)
    """

    positions: AnyIntegers
    contributor: Integers
    signed: Integers
    weight: Floats
    request: Floats
    marks: Floats


@dataclass(frozen=True)
class Grouped:
    """Contributors after grouping by one identifier.

    Parameters
    ----------
    leaves : Figures, or None
        Of those that stand in one leaf only, at the positions of leaves.
    spanning : Spanning, or None
        Those that stand in several.
    cells : mapping of tuple of str to list of Figures
        For the dimensions of a table what the engine found of its cells, at positions of codes.
    names : array of str or int
    """

    leaves: Figures | None
    spanning: Spanning | None
    cells: Mapping[tuple[str, ...], list[Figures]]
    names: Any
    n_largest: int
    has_requests: bool
    has_waivers: bool


def aggregated(
    records: CheckedRecords, roles: ColumnRoles, n_largest: int, tables: Sequence[Sequence[str]]
) -> Leaves:
    """Aggregate the records for tables, each given by the names of its dimensions."""
    table, sums = records.table, records.overview.sums
    key = _Key.of(table, dict(enumerate(records.axes)), records.sizes)
    words = {"value": sums["value"].words(table.value * table.weight)}
    if roles.shadow != roles.value:
        words["total"] = sums["total"].words(table.shadow * table.weight)
    names = {term: [f"{term}{i}" for i in range(len(of))] for term, of in words.items()}
    columns = {
        name: word for term in words for name, word in zip(names[term], words[term], strict=True)
    }
    who = "contributor" if roles.contributor else None
    units = {"contributions": _Units(records, roles, who, n_largest)}
    if roles.holding:
        units["holdings"] = _Units(records, roles, "holding", n_largest)
    grouped: dict[str, Grouped] = {}
    count = records.overview.count
    if not who and not units["contributions"].is_quicker_there(min(count, key.n_cells), count):
        # One question for both: the contributors of a leaf are its records.
        answer, grouped["contributions"] = units.pop("contributions").of_records(tables, columns)
    else:
        added = {name: word.sum() for name, word in columns.items()}
        answer = key.table.group_by(key.names).agg(**added).to_pyarrow()
    positions = key.positions(answer)
    for attribute, of in units.items():
        grouped[attribute] = of.grouped(tables, len(positions))
    values = _columns(answer, names["value"], np.int64)
    totals = _columns(answer, names["total"], np.int64) if "total" in names else values
    return Leaves(records.hierarchies, records.overview, positions, values, totals, grouped)


@dataclass(frozen=True)
class _Key:
    """Codes of several columns as few whole numbers, by which an engine groups."""

    table: Any
    names: list[str]
    words: list[list[tuple[int, int]]]
    """For each number the axes that it holds, and how many codes they have."""
    n_axes: int

    @classmethod
    def of(cls, table: Any, columns: Mapping[int, str], sizes: Sequence[int]) -> _Key:
        """Pack columns, by axis; axes without a column have one code only."""
        import ibis

        words: list[list[tuple[int, int]]] = [[]]
        for axis in columns:
            if math.prod(size for _, size in words[-1]) * sizes[axis] >= MOST_CELLS_OF_A_KEY:
                words.append([])
            words[-1].append((axis, sizes[axis]))
        packed = {}
        for number, word in enumerate(words):
            is_short = math.prod(size for _, size in word) < 2**31
            kind = "int32" if is_short else "int64"
            key = ibis.literal(0).cast(kind)
            for axis, size in word:
                key = (key * size + table[columns[axis]]).cast(kind)
            packed[f"key{number}"] = key
        return cls(table.mutate(**packed), list(packed), words, len(sizes))

    def positions(self, answer: Any) -> AnyIntegers:
        """Return the codes of the cells in an answer, 0 on axes without a column."""
        positions = np.zeros((answer.num_rows, self.n_axes), dtype=np.int32)
        for name, word in zip(self.names, self.words, strict=True):
            key = answer.column(name).to_numpy()
            for axis, size in reversed(word):
                key, positions[:, axis] = np.divmod(key, size)
        return positions

    def part(self, number: int, n_parts: int) -> _Key:
        """Return one of several parts of the records, with cells that no other part has."""
        return replace(self, table=self.table.filter(self.table[self.names[0]] % n_parts == number))

    def codes(self, table: Any, named: Mapping[int, str]) -> dict[str, Any]:
        """Return the codes of all axes as columns of a table that has the numbers."""
        columns = {}
        for name, word in zip(self.names, self.words, strict=True):
            rest = math.prod(size for _, size in word)
            for axis, size in word:
                rest //= size
                columns[named[axis]] = ((table[name] // rest) % size).cast("int32")
        return columns

    @property
    def n_cells(self) -> int:
        """Number of cells that could occur."""
        return math.prod(size for word in self.words for _, size in word)


class _Units:
    """Contributors, or holdings, as the engine holds them.

    Its tables have a row for each record, or for each contributor that stands in one leaf: columns
    d0.. with positions of leaves, who, word0.. and what else is known of a contributor.
    """

    def __init__(
        self, records: CheckedRecords, roles: ColumnRoles, level: str | None, n_largest: int
    ) -> None:
        import ibis

        self.records, self.level, self.k = records, level, n_largest
        self.count = records.overview.count
        self.levels = {name: levels_of(tree) for name, tree in records.hierarchies.items()}
        self.all_leaves = dict.fromkeys(range(len(self.levels)), 0)
        """Level 0 of each axis."""
        self.exact = records.overview.sums["shadow"]
        self.weights = records.overview.sums["weight"] if roles.weight else None
        self.engine = ibis.get_backend(records.table).name
        self.marks = ["unwaived", "own_p"] if roles.has_waivers else []
        self.known = [
            *(["weight"] if roles.weight else []),
            *(["request"] if roles.request else []),
            *self.marks,
        ]
        self.words = [f"word{number}" for number in range(self.exact.n_words)]
        self.identified: Any = None
        self.spanning: Any = None
        """Contributors that stand in several leaves, each with all that it contributes."""
        self.added: list[str] = []
        """Columns that are added up for each cell besides."""
        self.bits = 0
        """Bits of a number of a contributor that follow its size in one whole number, if any."""
        self._maps: dict[tuple[int, int], Any] = {}

    def of_records(
        self, tables: Sequence[Sequence[str]], added: Mapping[str, Any]
    ) -> tuple[Any, Grouped]:
        """Take each record for a contributor, for the roll-up here.

        Parameters
        ----------
        added : mapping of str to ibis.Column
            What else is added up for each leaf.

        Returns
        -------
        answer : pyarrow.Table
            A row for each leaf.
        grouped : Grouped
        """
        import pyarrow as pa

        self.added = list(added)
        # Exact sums leave room for it: see `ExactSum.fitting`.
        self._number_beside(0)
        rows = self._rows("row", **added)
        answers, parts = zip(*self._figures(rows, self.count, self.all_leaves, True), strict=True)
        cells: dict[tuple[str, ...], list[Figures]] = {tuple(names): [] for names in tables}
        return pa.concat_tables(answers), self._named(Figures.joined(parts), None, cells)

    def grouped(self, tables: Sequence[Sequence[str]], n_leaves: int) -> Grouped:
        """Find the contributors of all cells of tables, in the engine or for the roll-up here."""
        if self.level is None:
            # They are asked for once for each margin: codes as text would take more room.
            alone, n_alone = self.records.cached(self._rows("row")), self.count
            several, n_several = None, 0
            self._number_beside(0)
        else:
            alone, n_alone, several, n_several = self._set_apart(self.level)
        cells: dict[tuple[str, ...], list[Figures]] = {tuple(names): [] for names in tables}
        leaves = spanning = None
        for rows, here, n_rows in (
            (alone, n_leaves, n_alone),
            (several, n_several, n_several),
        ):
            if not n_rows:
                continue
            if self.is_quicker_there(here, n_rows):
                for names in cells:
                    cells[names] += self._cells(rows, n_rows, names, is_whole=rows is alone)
            elif rows is alone:
                parts = self._figures(rows, n_rows, self.all_leaves, is_whole=True)
                leaves = Figures.joined([part for _, part in parts])
            else:
                spanning = self._one_by_one(rows)
        return self._named(leaves, spanning, cells)

    def _number_beside(self, largest: int) -> None:
        """Rank by one whole number, if sizes up to so many units and numbers fit into it."""
        bits = self.count.bit_length()
        if self.engine == "duckdb" and len(self.words) == 1 and not self.known:
            self.bits = bits if (largest + 1) << bits < 2**63 else 0

    def is_quicker_there(self, rows_here: int, rows_there: int) -> bool:
        """Whether the engine takes less time for a margin than the roll-up in numpy."""
        query = QUERY_SECONDS.get(self.engine, QUICK_QUERY)
        return rows_here * ROW_HERE > query + rows_there * ROW_THERE

    # -- what the engine holds --------------------------------------------------------------

    def _rows(self, who: str, **more: Any) -> Any:
        """Select what is needed of each record, and more columns by name."""
        table = self.records.table
        words = dict(zip(self.words, self.exact.words(table.shadow), strict=True))
        return table.select(*self.records.axes, *self.known, who=table[who], **words, **more)

    def _set_apart(self, level: str) -> tuple[Any, int, Any, int]:
        """Add up contributors that stand in one leaf, and list the records of the others.

        Returns
        -------
        alone, n_alone, several, n_several
            Tables and their numbers of rows.
        """
        import ibis

        axes = self.records.axes
        rows = self._rows(level)
        lightest = {"lightest": rows.weight.min()} if self.weights else {}
        # A leaf as few numbers: its codes one by one would take twice the memory.
        key = _Key.of(rows, dict(enumerate(axes)), self.records.sizes)
        contributors = key.table.group_by("who").agg(
            **{name: key.table[name].min() for name in key.names},
            **{f"last_{name}": key.table[name].max() for name in key.names},
            **self._added(rows),
            **lightest,
        )
        if self.engine == "duckdb":
            # Grouping by a number costs less than by text, and as many times as there are margins.
            # In the order of names, it also decides between contributors that are alike.
            kind = "int32" if self.count < 2**31 else "int64"
            number = ibis.row_number().over(order_by="name").cast(kind)
            contributors = contributors.rename(name="who").mutate(who=number)
        contributors = self.records.cached(contributors)
        if self.weights:
            _check_weights(contributors, level, "name" if "name" in contributors.columns else "who")
        self.identified = contributors
        is_alone = ibis.and_(*(contributors[k] == contributors[f"last_{k}"] for k in key.names))
        counts = contributors.agg(
            alone=ibis.ifelse(is_alone, 1, 0).sum(),
            several=ibis.ifelse(is_alone, 0, 1).sum(),
            largest=contributors[self.words[0]].max(),
        )
        n = {name: int(of[0]) for name, of in counts.to_pyarrow().to_pydict().items()}
        if not self.records.overview.negative:
            self._number_beside(n["largest"])
        codes = key.codes(contributors, dict(enumerate(axes)))
        alone = contributors.filter(is_alone).select(*self.known, *self.words, "who", **codes)
        if not n["several"]:
            return alone, n["alone"], None, 0
        self.spanning = spanning = contributors.filter(~is_alone)
        if "name" in contributors.columns:
            numbers = spanning.select("name", number="who")
            several = rows.join(numbers, rows.who == numbers.name).drop("who", "name")
            several = several.rename(who="number")
        else:
            several = rows.semi_join(spanning, "who")
        several = self.records.cached(several)
        n_rows = int(several.count().to_pyarrow().as_py())
        if n_rows > MANY_RECORDS * n["several"]:
            added = several.group_by([*axes, "who"]).agg(**self._added(several))
            several, records = self.records.cached(added), several
            records.release()
            n_rows = int(several.count().to_pyarrow().as_py())
        return alone, n["alone"], several, n_rows

    def _added(self, rows: Any) -> dict[str, Any]:
        """Return what records of one contributor are together."""
        # DuckDB adds whole numbers up to ones of 128 bits, which cost more time and memory. Ibis
        # leaves out a cast that changes no type of its own.
        summed = {word: rows[word].sum().cast("!int64") for word in self.words}
        return summed | {column: rows[column].max() for column in self.known}

    # -- margins ----------------------------------------------------------------------------

    def _cells(self, rows: Any, n_rows: int, names: Sequence[str], is_whole: bool) -> list[Figures]:
        """Ask for all cells of a table, one combination of levels after the other."""
        listed = list(self.levels)
        axes = [listed.index(name) for name in names]
        figures = []
        for combination in itertools.product(*(range(len(self.levels[name])) for name in names)):
            chosen = dict(zip(axes, combination, strict=True))
            for _, part in self._figures(rows, n_rows, chosen, is_whole):
                figures.append(part.of_codes(chosen, self.levels))
        return figures

    def _figures(
        self, rows: Any, n_rows: int, chosen: Mapping[int, int], is_whole: bool
    ) -> Iterator[tuple[Any, Figures]]:
        """Ask for the cells on one level of each of some axes; give the answers with what they say.

        Parameters
        ----------
        rows : ibis.Table
        n_rows : int
            How many there are: many are asked for in parts, each with cells of its own.
        chosen : mapping of int to int
            The level of each axis.
        is_whole : bool
            Whether each row is a contributor that is whole in every cell.
        """
        key = self._key(rows, chosen)
        if not is_whole and not any(key.words):
            # What they contribute to all records together is known already.
            key, is_whole = self._key(self.spanning, chosen), True
        n_groups = min(n_rows, key.n_cells) if is_whole else n_rows
        n_parts = 1
        if self.engine == "duckdb":
            n_parts = min(-(-n_groups // GROUPS_AT_ONCE), MOST_PARTS, key.n_cells)
        for number in range(n_parts):
            part = key if n_parts == 1 else key.part(number, n_parts)
            units = self._units(part.table, key.names, is_whole)
            if self.engine != "duckdb":
                # Ranks and sums from one place: rows travel once to the cell they belong to.
                units = self._ranked(units, key.names)
            answer = self._grouped_by(units, key.names).to_pyarrow()
            yield answer, self._read(key, answer)

    def _key(self, rows: Any, chosen: Mapping[int, int]) -> _Key:
        sizes, columns = list(self.records.sizes), {}
        for axis, (level, maps) in enumerate(
            (chosen.get(axis, 0), of) for axis, of in enumerate(self.levels.values())
        ):
            if axis not in chosen or (level and np.all(maps[level] == maps[level][0])):
                continue
            columns[axis] = f"d{axis}"
            if level:
                columns[axis] = f"above{axis}"
                sizes[axis] = int(maps[level].max()) + 1
                rows = rows.join(self._map(axis, level), f"d{axis}")
        return _Key.of(rows, columns, sizes)

    def _map(self, axis: int, level: int) -> Any:
        """Return codes of a level above leaves as a table of the engine."""
        if (axis, level) not in self._maps:
            above = list(self.levels.values())[axis][level]
            leaf = np.flatnonzero(above >= 0)
            self._maps[axis, level] = table_of(
                {f"d{axis}": leaf.astype(np.int32), f"above{axis}": above[leaf].astype(np.int32)}
            )
        return self._maps[axis, level]

    def _units(self, rows: Any, keys: list[str], is_whole: bool) -> Any:
        """Return a row for each contributor of each cell, with its size."""
        if not is_whole:
            rows = rows.group_by([*keys, "who"]).agg(**self._added(rows))
        signed = self.exact.joined([rows[word] for word in self.words])
        units = {name: rows[name] for name in (*keys, *self.known, *self.added, "who")}
        if self.bits:
            word, last = rows[self.words[0]].abs().cast("int64"), 2**self.bits - 1
            units["code"] = word * 2**self.bits + (last - rows.who)
        return rows.select(**units, size=signed.abs())

    def _grouped_by(self, units: Any, keys: list[str]) -> Any:
        """Count the contributors of each cell, list the largest, and so on."""
        import ibis

        size = units["size"]
        figures: dict[str, Any] = {name: units[name].sum() for name in self.added}
        figures["count"] = units.count()
        if self.weights:
            words = enumerate(self.weights.words(units.weight))
            figures |= {f"weight{i}": word.sum() for i, word in words}
        if "request" in self.known:
            for code in (1, 2):
                asked = ibis.ifelse(units.request == code, size, 0.0).max()
                figures[f"request_{code}"] = asked
        if self.marks:
            is_full = (units.unwaived <= 0) & (units.own_p <= 0)
            figures["full"] = ibis.ifelse(is_full, 1, 0).sum()
            figures["largest_unwaived"] = ibis.ifelse(units.unwaived > 0, size, 0.0).max()
            figures["largest_own_p"] = units.own_p.max()
        if "rank" in units.columns:
            top = units["rank"] < self.k
            for name in ("size", "who", *self.known):
                figures[f"top_{name}"] = units[name].collect(where=top)
        elif self.bits:
            figures["top"] = _largest(units.code, self.k)
        else:
            # Structures are compared field by field, as `_ranked` orders.
            order = [name for name in self.known if name != "request"]
            fields = {name: units[name] for name in ("size", *order)} | {"before": -units.who}
            fields |= {name: units[name] for name in self.known if name == "request"}
            figures["top"] = _largest(ibis.struct(fields), self.k)
        return units.group_by(keys).agg(**figures)

    def _ranked(self, units: Any, keys: list[str]) -> Any:
        """Rank those of each cell; what identifies them decides between those alike."""
        import ibis

        # As in `Largest`, which joins them with others.
        order = [units[name].desc() for name in ("size", *self.known) if name != "request"]
        rank = ibis.row_number().over(group_by=keys, order_by=[*order, units.who.asc()])
        return units.mutate(rank=rank)

    def _unfolded(self, key: _Key, answer: Any) -> Any:
        """Return the lists of the largest of each cell as rows."""
        import pyarrow as pa

        if self.engine != "duckdb":
            names = ("size", "who", *self.known)
            lists = {name: answer.column(f"top_{name}").combine_chunks() for name in names}
            starts, columns = lists["size"].offsets, {n: of.flatten() for n, of in lists.items()}
        else:
            top = answer.column("top").combine_chunks()
            starts, flat = top.offsets, top.flatten()
            if self.bits:
                word, left = np.divmod(flat.to_numpy(), 2**self.bits)
                size, who = self.exact.joined([word]), 2**self.bits - 1 - left
            else:
                size, who = flat.field("size"), -flat.field("before").to_numpy()
            columns = {"size": size, "who": who}
            columns |= {name: flat.field(name) for name in self.known}
        cell = pa.array(np.repeat(np.arange(answer.num_rows), np.diff(np.asarray(starts))))
        keys = {name: answer.column(name).take(cell) for name in key.names}
        return pa.table(keys | columns)

    def _read(self, key: _Key, answer: Any) -> Figures:
        """Read an answer and the largest of each of its cells."""
        top = self._unfolded(key, answer)
        counted, greatest = ["count"], []
        if self.weights:
            counted += [f"weight{i}" for i in range(self.weights.n_words)]
        if "request" in self.known:
            greatest += ["request_1", "request_2"]
        if self.marks:
            counted.append("full")
            greatest += ["largest_unwaived", "largest_own_p"]
        counts = _columns(answer, counted, np.int64)
        maxima = _columns(answer, greatest, np.float64)
        ones = np.broadcast_to(1.0, top.num_rows)
        largest = Largest(
            key.positions(top),
            _array(top, "size", np.float64),
            _array(top, "weight", np.float64) if self.weights else ones,
            top.column("who").to_numpy(),
            _columns(top, self.marks, np.float64),
        )
        return Figures(key.positions(answer), counts, maxima, largest)

    # -- one by one, and names --------------------------------------------------------------

    def _one_by_one(self, rows: Any) -> Spanning:
        answer = rows.order_by("who").to_pyarrow()
        return Spanning(
            _columns(answer, self.records.axes, np.int64),
            answer.column("who").to_numpy(),
            _columns(answer, self.words, np.int64),
            _array(answer, "weight", np.float64) if self.weights else np.ones(answer.num_rows),
            _columns(answer, [name for name in self.known if name == "request"], np.float64),
            _columns(answer, self.marks, np.float64),
        )

    def _named(
        self,
        leaves: Figures | None,
        spanning: Spanning | None,
        cells: Mapping[tuple[str, ...], list[Figures]],
    ) -> Grouped:
        """Number the contributors that were found in the order of what identifies them."""
        figures = [*([leaves] if leaves else []), *itertools.chain(*cells.values())]
        identifiers = [part.largest.contributor for part in figures]
        identifiers += [spanning.contributor] if spanning else []
        flat = np.concatenate(identifiers)
        if self.identified is not None and "name" in self.identified.columns:
            number = np.zeros(flat.max() + 1, dtype=np.int32)
            number[flat] = 1
            wanted = table_of({"who": np.flatnonzero(number)})
            listed = self.identified.semi_join(wanted, "who").select("who", "name")
            listed = listed.order_by("name").to_pyarrow()
            self.identified.release()
            number[listed.column("who").to_numpy()] = np.arange(listed.num_rows)
            # Text as Arrow holds it takes a fifth of the memory of as many objects.
            codes, names = number[flat], listed.column("name").to_pandas().array
        else:
            codes, names = pd.factorize(flat, sort=True)
        ends = np.cumsum([len(part) for part in identifiers])[:-1]
        numbers = np.split(codes, ends)
        if spanning:
            spanning = replace(spanning, contributor=numbers.pop())
        renumbered = (
            replace(part, largest=replace(part.largest, contributor=of))
            for part, of in zip(figures, numbers, strict=True)
        )
        return Grouped(
            next(renumbered) if leaves else None,
            spanning,
            {names: list(itertools.islice(renumbered, len(of))) for names, of in cells.items()},
            names,
            self.k,
            "request" in self.known,
            bool(self.marks),
        )


def _largest(column: Any, number: int) -> Any:
    """Aggregate to a list of the largest, by a function of DuckDB's own."""
    import ibis
    import ibis.expr.datatypes as dt

    def largest(entries: Any, number: Any) -> Any: ...

    signature = ((column.type(), dt.int64), dt.Array(column.type()))
    return ibis.udf.agg.builtin(largest, name="max", signature=signature)(column, number)


def _array(answer: Any, name: str, kind: Any) -> Any:
    return answer.column(name).to_numpy().astype(kind, copy=False)


def _columns(answer: Any, names: Iterable[str], kind: Any) -> Any:
    """Return columns side by side, shape (n_rows, n_names)."""
    columns = (_array(answer, name, kind) for name in names)
    return np.column_stack([np.zeros((answer.num_rows, 0), dtype=kind), *columns])


def _check_weights(units: Any, level: str, who: str) -> None:
    uneven = units.filter(units.lightest < units.weight).order_by(who).limit(1).to_pandas()
    if len(uneven):
        raise uneven_weights(level, *uneven[[who, "lightest", "weight"]].iloc[0])


def uneven_weights(level: str, name: Any, lightest: float, heaviest: float) -> InputError:
    """Return the error for a contributor whose records have several weights."""
    return InputError(
        f"Records of {level} {name!r} have different weights, {lightest:g} and {heaviest:g}. A "
        f"record of weight w counts as w contributors of its size, so that all records of a "
        f"contributor, and of a holding, need the same weight. Where they differ, give the product "
        f"of value and weight as `value`, and no `weight`: sums are the same, and rules take what "
        f"each adds with its weights, which protects more."
    )
