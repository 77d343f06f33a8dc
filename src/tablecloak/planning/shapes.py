"""Tables to protect: published tables over the same dimensions, with those they contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tablecloak.planning.dimensions import PlannedDimension
from tablecloak.planning.lines import PublishedTable, natural
from tablecloak.planning.plan import ProtectedTable

__all__ = ["shapes_of", "tables_over"]

Levels = Mapping[str, Mapping[str, str]]
Shape = tuple[str, ...]


def shapes_of(lines: Sequence[PublishedTable], levels: Levels, variable: str) -> list[Shape]:
    """Return the dimensions of the tables of a variable; those that lie in others are left out.

    Parameters
    ----------
    lines : sequence of PublishedTable
    levels : mapping of str to mapping of str to str
        For each table, the level on which it has each dimension.
    variable : str
    """
    every = {frozenset(levels[line.name]) for line in lines if line.variable == variable}
    largest = [shape for shape in every if not any(shape < other for other in every)]
    return sorted(tuple(sorted(shape, key=natural)) for shape in largest)


def tables_over(
    lines: Sequence[PublishedTable],
    levels: Levels,
    known: Mapping[str, PlannedDimension],
    variable_dimension: str,
) -> list[ProtectedTable]:
    """Return the tables to protect of one cluster.

    Parameters
    ----------
    lines : sequence of PublishedTable
        Those of the cluster, by name.
    levels : mapping of str to mapping of str to str
        For each table, the level on which it has each dimension.
    known : mapping of str to PlannedDimension
        Each dimension, by name.
    variable_dimension : str
        Name of the dimension whose codes are the variables; if empty, each variable has its own
        tables.
    """
    variables = sorted({line.variable for line in lines}, key=natural)
    outer = _outermost(lines, levels, known)
    into = {
        line.name: next((each for each in outer if _is_within(line, each, levels, known)), None)
        for line in lines
    }
    shapes = {variable: shapes_of(lines, levels, variable) for variable in variables}
    placed: dict[tuple[str, Shape], list[PublishedTable]] = {}
    for line in lines:
        # A table that lies in another one goes with that one; any other lies in the first shape
        # that has its dimensions.
        whole = into[line.name] or line
        own = set(levels[whole.name])
        shape = next(each for each in shapes[line.variable] if own.issubset(each))
        key = "" if variable_dimension else line.variable
        placed.setdefault((key, shape), []).append(line)
    return [
        _protected(members, shape, variable_dimension, into)
        for (_, shape), members in sorted(placed.items(), key=lambda each: natural(str(each[0])))
    ]


def _protected(
    members: Sequence[PublishedTable],
    shape: Shape,
    variable_dimension: str,
    into: Mapping[str, PublishedTable | None],
) -> ProtectedTable:
    contained = {
        line.name: whole.name for line in members if (whole := into[line.name]) is not None
    }
    outer = [line.name for line in members if line.name not in contained]
    return ProtectedTable(
        name="+".join(outer),
        variables=tuple(sorted({line.variable for line in members}, key=natural)),
        dimensions=shape,
        variable_dimension=variable_dimension,
        members=tuple(line.name for line in members),
        contained=contained,
    )


def _outermost(
    lines: Sequence[PublishedTable], levels: Levels, known: Mapping[str, PlannedDimension]
) -> list[PublishedTable]:
    """Return the tables that are contained in no other, in their order."""
    outer: list[PublishedTable] = []
    # A table with more dimensions contains many of the others, which then need no comparison.
    for line in sorted(lines, key=lambda line: -len(levels[line.name])):
        if not any(_is_within(line, each, levels, known) for each in outer):
            outer = [each for each in outer if not _is_within(each, line, levels, known)] + [line]
    names = {line.name for line in outer}
    return [line for line in lines if line.name in names]


def _is_within(
    line: PublishedTable,
    other: PublishedTable,
    levels: Levels,
    known: Mapping[str, PlannedDimension],
) -> bool:
    """Whether all cells of a table are cells of another; of two that are equal, the first is it."""
    if line is other or line.variable != other.variable:
        return False
    mine, theirs = levels[line.name], levels[other.name]
    if mine == theirs:
        return (natural(other.name), other.name) < (natural(line.name), line.name)
    return all(
        name in theirs and known[name].is_within(level, theirs[name])
        for name, level in mine.items()
    )
