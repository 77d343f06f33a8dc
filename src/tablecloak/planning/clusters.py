"""Clusters of tables: those that share a variable, an equation or a link, in one field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tablecloak.errors import listed
from tablecloak.graph import joined_names
from tablecloak.planning.dimensions import PlannedDimension
from tablecloak.planning.equations import total_of
from tablecloak.planning.lines import PublishedTable, Spanning, natural
from tablecloak.planning.plan import Cluster, ProtectedTable
from tablecloak.tables.equations import Equation

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


def without_prefix(link: str) -> str:
    """Return the name of a link or hierarchy without ``hrc_``."""
    return re.sub(r"^hrc[_ ]", "", link, flags=re.IGNORECASE) or link


@dataclass(frozen=True, eq=False)
class Scope:
    """A field, or several that are linked, with all its tables and the equations that touch it.

    Parameters
    ----------
    name : str
    lines : tuple of PublishedTable
    dimensions : mapping of str to mapping of str to str
        For each table, the level on which it has each dimension.
    known : mapping of str to PlannedDimension
        Each dimension, by name.
    equations : tuple of Equation
        Those of which at least two variables are published here.
    field_dimension : str
        Name of the dimension whose codes are the fields, if there are several.
    """

    name: str
    lines: tuple[PublishedTable, ...]
    dimensions: Mapping[str, Mapping[str, str]]
    known: Mapping[str, PlannedDimension]
    equations: tuple[Equation, ...]
    field_dimension: str = ""

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All variables that are published here."""
        return tuple(sorted({line.variable for line in self.lines}, key=natural))

    @cached_property
    def links(self) -> dict[str, set[str]]:
        """Variables that each link joins: two or more, for which no equation counts instead."""
        found = {}
        for link, joined in self.linked.items():
            left = joined.difference(*(each.variables for each in self.overruling(link)))
            if len(left) > 1:
                found[link] = left
        return found

    @cached_property
    def linked(self) -> dict[str, set[str]]:
        """Variables for which the lines name each link."""
        found: dict[str, set[str]] = {}
        for line in self.lines:
            if line.variable_link:
                found.setdefault(line.variable_link, set()).add(line.variable)
        return found

    def overruling(self, link: str) -> list[Equation]:
        """Equations that count instead of a link.

        One that also has other variables says nothing of how those of the link belong together,
        unless it has them all.
        """
        joined = self.linked[link]
        return [
            each
            for each in self.equations
            if not self.unpublished(each)
            and (joined.issubset(each.variables) or joined.issuperset(each.variables))
        ]

    def unpublished(self, equation: Equation) -> list[str]:
        """Variables of an equation that no table of this field shows."""
        return [name for name in equation.variables if name not in self.variables]


def scopes_of(
    lines: Sequence[PublishedTable],
    dimensions: Mapping[Spanning, PlannedDimension],
    equations: Sequence[Equation],
) -> list[Scope]:
    """Return the fields, those that a link joins as one; a linked field is a dimension."""
    group = joined_names(
        (
            f"field {line.field}",
            f"link {line.field_link}" if line.field_link else f"field {line.field}",
        )
        for line in lines
    )
    members: dict[str, list[PublishedTable]] = {}
    for line in sorted(lines, key=lambda each: (natural(each.name), each.name)):
        members.setdefault(group[f"field {line.field}"], []).append(line)
    scopes = []
    for inside in members.values():
        known = {each.name: each for line in inside for each in _of(line, dimensions).values()}
        levels = {
            line.name: {each.name: level for level, each in _of(line, dimensions).items()}
            for line in inside
        }
        fields = sorted({line.field for line in inside}, key=natural)
        links = sorted({line.field_link for line in inside if line.field_link}, key=natural)
        name = links[0] if len(fields) > 1 else fields[0]
        own = ""
        if len(fields) > 1:
            own = _free(without_prefix(name), known)
            known[own] = PlannedDimension(own, tuple(fields), tuple(links), is_ordered=False)
            for line in inside:
                levels[line.name][own] = line.field
        published = {line.variable for line in inside}
        touching = [e for e in equations if len(published.intersection(e.variables)) > 1]
        scopes.append(Scope(name, tuple(inside), levels, known, tuple(touching), own))
    return sorted(scopes, key=lambda scope: natural(scope.name))


def _of(
    line: PublishedTable, dimensions: Mapping[Spanning, PlannedDimension]
) -> dict[str, PlannedDimension]:
    return {each.level: dimensions[each] for each in line.spannings}


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name for a dimension of fields or variables that no other dimension has."""
    return name if name not in taken else f"{name}_codes"


def clusters_of(scope: Scope) -> Iterator[Cluster]:
    """Return the clusters of a field, by name."""
    pairs = [(name, name) for name in scope.variables]
    for equation in scope.equations:
        first, *rest = [name for name in equation.variables if name in scope.variables]
        pairs += [(first, name) for name in rest]
    for joined in scope.links.values():
        pairs += [(min(joined), name) for name in joined]
    members: dict[str, list[str]] = {}
    for name, key in joined_names(pairs).items():
        members.setdefault(key, []).append(name)
    found = [_cluster(scope, sorted(each, key=natural)) for each in members.values()]
    yield from sorted(found, key=lambda cluster: natural(cluster.name))


def _cluster(scope: Scope, variables: list[str]) -> Cluster:
    lines = [line for line in scope.lines if line.variable in variables]
    touching = [e for e in scope.equations if set(e.variables).intersection(variables)]
    equations = [each for each in touching if not scope.unpublished(each)]
    links = sorted((n for n, v in scope.links.items() if v.intersection(variables)), key=natural)
    total, dimension = _variable_dimension(scope, variables, equations, touching, links)
    tables = tables_over(lines, scope.dimensions, scope.known, dimension)
    title = total if touching else (links[0] if links else variables[0])
    return Cluster(
        name=f"{scope.name}.{title or _root(touching)}".removeprefix("."),
        fields=tuple(sorted({line.field for line in lines}, key=natural)),
        variables=tuple(variables),
        tables=tuple(tables),
        equations=tuple(equations),
        total=total,
        links=tuple(links),
        reasons=tuple(_reasons(scope, lines, touching)),
    )


def _variable_dimension(
    scope: Scope,
    variables: list[str],
    equations: list[Equation],
    touching: list[Equation],
    links: list[str],
) -> tuple[str, str]:
    """Return total and name of the dimension whose codes are the variables, if they can be."""
    shapes = {frozenset(shapes_of(scope.lines, scope.dimensions, name)) for name in variables}
    if len(variables) == 1 or len(shapes) > 1 or len(equations) < len(touching):
        return "", ""
    if equations:
        total = total_of(equations)
        joined = {name for each in equations for name in each.variables}
        if total is None or joined != set(variables):
            return "", ""
        return total, _free(total, scope.known)
    stem = without_prefix(links[0]).casefold()
    if len(links) > 1:
        return "", ""
    ending = re.compile(rf"(.*[_\W])?{re.escape(stem)}")
    alike = [name for name in variables if ending.fullmatch(name.casefold())]
    total = alike[0] if len(alike) == 1 and len(variables) > 2 else ""
    return total, _free(without_prefix(links[0]), scope.known)


def _root(equations: Sequence[Equation]) -> str:
    """Return the first of the variables that are part of no other."""
    sums = {name for e in equations for name, size in e.terms.items() if size < 0}
    parts = {name for e in equations for name, size in e.terms.items() if size > 0}
    names = sums - parts or sums | parts
    return min(names, key=natural)


def _reasons(
    scope: Scope, lines: Sequence[PublishedTable], equations: Sequence[Equation]
) -> Iterator[str]:
    """Say why the tables belong together."""
    for equation in equations:
        inside = [each.name for each in lines if each.variable in equation.variables]
        yield f"{listed(inside)} share the equation {equation.label}"
    for link, joined in sorted(scope.links.items()):
        inside = [each.name for each in lines if each.variable in joined]
        if inside:
            yield f"{listed(inside)} are of variables that {link} links"
    for variable in sorted({line.variable for line in lines}, key=natural):
        inside = [each.name for each in lines if each.variable == variable]
        if len(inside) > 1:
            yield f"{listed(inside)} share the variable {variable}"
    for name in sorted({name for each in lines for name in scope.dimensions[each.name]}):
        found = {scope.dimensions[line.name].get(name, "") for line in lines} - {""}
        levels = sorted(found, key=natural)
        inside = [each.name for each in lines if name in scope.dimensions[each.name]]
        if len(levels) > 1:
            trees = listed(scope.known[name].hierarchies) or name
            yield f"{listed(inside)} are on levels of {trees}: {listed(levels)}"
