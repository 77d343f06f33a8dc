"""Which dimensions of tables are the same: levels of one hierarchy are one dimension."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.graph import joined_names
from tablecloak.planning.lines import PublishedTable, Spanning, natural


@dataclass(frozen=True)
class PlannedDimension:
    """One dimension of a publication.

    Parameters
    ----------
    name : str
        That of its hierarchy without ``hrc_``, or of its only level.
    levels : tuple of str
        Columns with its codes, coarsest first if the order is known.
    hierarchies : tuple of str
        Names of its hierarchies.
    is_ordered : bool
        Whether the order of the levels is known.
    """

    name: str
    levels: tuple[str, ...]
    hierarchies: tuple[str, ...]
    is_ordered: bool

    def is_within(self, level: str, other: str) -> bool:
        """Whether the codes of a level are known to be sums over those of another."""
        if level == other:
            return True
        return self.is_ordered and self.levels.index(level) < self.levels.index(other)


def planned_dimensions(
    tables: Sequence[PublishedTable], levels: Mapping[str, Sequence[str]]
) -> dict[Spanning, PlannedDimension]:
    """Return the dimension of each spanning.

    Parameters
    ----------
    tables : sequence of PublishedTable
    levels : mapping of str to sequence of str
        Levels of a dimension or hierarchy, coarsest first. Without it, levels are ordered by the
        number at the end of their names, as in a10, a21.

    Raises
    ------
    InputError
        If `levels` names no dimension, leaves a level out, or a table has two levels of one
        dimension.
    """
    found = {each for table in tables for each in table.spannings}
    group = joined_names(
        (
            f"level {each.level}",
            f"tree {each.hierarchy}" if each.hierarchy else f"level {each.level}",
        )
        for each in found
    )
    members: dict[str, set[Spanning]] = {}
    for each in found:
        members.setdefault(group[f"level {each.level}"], set()).add(each)
    names = _names(members)
    known = {key: list(value) for key, value in levels.items()}
    dimensions = {
        spanning: dimension
        for key, spannings in members.items()
        for dimension in [_dimension(names[key], spannings, known)]
        for spanning in spannings
    }
    if known:
        odd = next(iter(known))
        trees = {tree for each in dimensions.values() for tree in (each.name, *each.hierarchies)}
        raise InputError(f"`levels`: there is no dimension {odd!r}.{suggestion(odd, trees)}")
    _check_levels(tables, dimensions)
    return dimensions


def _names(members: Mapping[str, set[Spanning]]) -> dict[str, str]:
    """Name each dimension after its hierarchy; with ``hrc_`` where the rest is taken."""
    full = {}
    for key, spannings in members.items():
        trees = sorted({each.hierarchy for each in spannings if each.hierarchy}, key=natural)
        full[key] = trees[0] if trees else min(each.level for each in spannings)
    short = {key: re.sub(r"^hrc[_ ]", "", name, flags=re.IGNORECASE) for key, name in full.items()}
    count = Counter(short.values())
    return {key: short[key] if short[key] and count[short[key]] == 1 else full[key] for key in full}


def _dimension(
    name: str, spannings: set[Spanning], known: dict[str, list[str]]
) -> PlannedDimension:
    trees = tuple(sorted({each.hierarchy for each in spannings if each.hierarchy}, key=natural))
    levels = sorted({each.level for each in spannings}, key=natural)
    given = next((known.pop(key) for key in (name, *trees) if key in known), None)
    if given is not None:
        missing = [each for each in levels if each not in given]
        if missing:
            raise InputError(
                f"`levels` of {name!r} leave out {listed(missing)}, which a table uses. Give all, "
                f"coarsest first."
            )
        return PlannedDimension(name, tuple(given), trees, True)
    stems = {re.sub(r"\d+$", "", each) for each in levels}
    is_ordered = len(levels) == 1 or (
        len(stems) == 1 and all(re.search(r"\d+$", each) for each in levels)
    )
    return PlannedDimension(name, tuple(levels), trees, is_ordered)


def _check_levels(
    tables: Sequence[PublishedTable], dimensions: Mapping[Spanning, PlannedDimension]
) -> None:
    for table in tables:
        names = [dimensions[each].name for each in table.spannings]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"Table {table.name!r} (line {table.line}) has two levels of dimension {twice!r}. "
                f"A table shows all levels above its most detailed one; name that one only."
            )
