"""From lines of metadata to the plan: contained tables, clusters and their reasons."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tablecloak.errors import InputError, TablecloakWarning, listed, suggestion
from tablecloak.graph import joined_names
from tablecloak.planning.equations import equation_of, read_equations, spelled, total_of
from tablecloak.planning.figures import Linking, variables_of
from tablecloak.planning.formulas import read_formulas
from tablecloak.planning.lines import (
    PublishedTable,
    Spanning,
    in_one_spelling,
    natural,
    read_lines,
)
from tablecloak.planning.plan import Cluster, Plan, PlannedDimension, ProtectedTable
from tablecloak.planning.template import Totals, read_template
from tablecloak.tables.equations import Equation


def plan(
    metadata: object = None,
    *,
    equations: object = None,
    template: object = None,
    formulas: object = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    totals: Totals | None = None,
    field: str | Sequence[str] = (),
    variable: str = "",
    derived: Sequence[Linking] = (),
) -> Plan:
    """Plan a publication: which tables need protection, and which of them together.

    Parameters
    ----------
    metadata : DataFrame, str or Path
        One line for each table to publish, as a frame or a file (CSV, Parquet, Excel): the columns
        ``table_name``, ``field`` (population, year, region), ``indicator`` (the variable),
        ``spanning_1``, ``hrc_spanning_1`` and so on (each dimension, and the hierarchy of which it
        is a level); optional ``hrc_field`` and ``hrc_indicator`` (what links fields, or variables)
        and ``file`` (of a table that is ready).
    equations : DataFrame, str, Path, or a sequence or mapping of str or Equation, optional
        Equations between variables, such as ``to_lettuce = to_batavia + to_arugula``; a file has
        the columns ``eq_name``, ``eq_indicator``, ``unit``.
    template : DataFrame, str or Path, optional
        What another authority asks for, a row for each cell: tables follow from which dimensions
        are broken down together.
    formulas : str, or a sequence or mapping of str, optional
        Tables as users of R write them, such as ``~ nation + age * continent``.
    levels : mapping of str to sequence of str, optional
        Levels of dimensions or hierarchies, coarsest first, where numbers at the end of their names
        (as in a10, a21) do not tell.
    totals : mapping of str to str or sequence of str, optional
        Codes of the total of dimensions, where it is not ``_T`` or ``Total``.
    field, variable : str, optional
        Columns of the template that tell field and variable: by default ``TIME_PERIOD`` and
        ``INDICATOR``. Several columns may tell the field.
    derived : sequence of DerivedFigure, or of mapping as a job gives them, default=()
        Figures beside the tables, such as ``[tc.Ratio("turnover / employees")]``: variables of one
        figure are protected together.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        Where the description is faulty; names the line.

    Warns
    -----
    TablecloakWarning
        For each of the notes of the plan.

    Notes
    -----
    A table is contained in another one of the same field and variable if its dimensions are some of
    those of the other, on the same or coarser levels. Tables whose dimensions are levels of the
    same hierarchies are one table. Tables of a field are in one cluster if they have the same
    variable, or variables that an equation, a link or a derived figure joins: cells then have
    values in common, or follow from each other, so that tables protected apart could reveal each
    other. An equation
    between variables of a link counts instead of it; the link then joins the others alone. Neither
    the order of lines nor that of dimensions plays a part.
    """
    lines, totals, trees = _lines(metadata, template, formulas, totals or {}, field, variable)
    lines = _with_hierarchies(lines, levels or {})
    dimensions = planned_dimensions(lines, levels or {})
    spelling = {line.variable.casefold(): line.variable for line in lines}
    between = [spelled(equation, spelling) for equation in read_equations(equations)]
    scopes = scopes_of(lines, dimensions, between)
    placed = [(scope, cluster) for scope in scopes for cluster in clusters_of(scope, derived)]
    notes = [
        *_of_equations(between, scopes), *_of_overruled(scopes), *_of_sums(placed),
        *_of_tables(scopes),
    ]  # fmt: skip
    for note in notes:
        warnings.warn(note, TablecloakWarning, stacklevel=2)
    return Plan(
        tuple(cluster for _, cluster in placed),
        tuple(lines),
        dimensions,
        tuple(notes),
        totals,
        trees,
    )


def _lines(
    metadata: object,
    template: object,
    formulas: object,
    totals: Totals,
    field: str | Sequence[str],
    variable: str,
) -> tuple[list[PublishedTable], Totals, dict[str, dict[str, Any]]]:
    """Return the tables of all descriptions, each name once, codes of totals, and hierarchies."""
    if metadata is None and template is None and formulas is None:
        raise InputError("Give `metadata`, a `template` or `formulas`: nothing says which tables.")
    lines = [] if metadata is None else read_lines(metadata)
    trees: dict[str, dict[str, Any]] = {}
    if template is not None:
        template_lines, of_template, trees = read_template(template, totals, field, variable)
        lines, totals = lines + template_lines, {**of_template, **totals}
    lines += [] if formulas is None else read_formulas(formulas)
    names = [line.name for line in lines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Table {twice!r} is described twice. Give each table a name of its own.")
    return in_one_spelling(lines), totals, trees


def _with_hierarchies(
    lines: Sequence[PublishedTable], levels: Mapping[str, Sequence[str]]
) -> list[PublishedTable]:
    """Give levels the hierarchy to which `levels` counts them, where a line names none."""
    tree = {level: name for name, given in levels.items() for level in given}
    return [
        replace(
            line,
            spannings=tuple(
                spanning
                if spanning.hierarchy
                else Spanning(spanning.level, tree.get(spanning.level, ""))
                for spanning in line.spannings
            ),
        )
        for line in lines
    ]


def _of_equations(equations: Sequence[Equation], scopes: Sequence[Scope]) -> Iterator[str]:
    """Tell of equations whose variables are not all published."""
    published = sorted({name for scope in scopes for name in scope.variables})
    for equation in equations:
        unknown = [name for name in equation.variables if name not in published]
        if unknown:
            yield (
                f"equation {equation.label}: no table shows {listed(unknown)}."
                f"{suggestion(unknown[0], published)} Its values could follow from the others"
            )
        for scope in scopes:
            missing = [name for name in scope.unpublished(equation) if name not in unknown]
            if missing and equation in scope.equations:
                yield (
                    f"equation {equation.label}: no table of {scope.name} shows "
                    f"{listed(missing)}, whose values could follow from the others"
                )


def _of_overruled(scopes: Sequence[Scope]) -> Iterator[str]:
    """Tell of links that an equation replaces, and of variables that it leaves out."""
    for scope in scopes:
        for link, joined in sorted(scope.linked.items()):
            overruling = scope.overruling(link)
            left = sorted(
                joined.difference(*(equation.variables for equation in overruling)), key=natural
            )
            if overruling:
                yield (
                    f"{link} links variables of {scope.name} for which there is an equation, "
                    f"{listed([equation.label for equation in overruling])}: the equation counts"
                    f"{f', and {listed(left)} are not joined with its variables' if left else ''}"
                )


def _of_sums(placed: Sequence[tuple[Scope, Cluster]]) -> Iterator[str]:
    """Tell of links of which no equation and no name says how their variables add up."""
    for scope, cluster in placed:
        for link in cluster.links:
            is_named = any(equation.name == link for equation in cluster.equations)
            if not is_named and (cluster.equations or not cluster.total):
                joined = sorted(scope.links[link], key=natural)
                yield (
                    f"cluster {cluster.name}: it is not known which of {listed(joined)}, linked "
                    f"by {link}, is the sum of the others. Give the equation"
                )


def _of_tables(scopes: Sequence[Scope]) -> Iterator[str]:
    """Tell of tables that are margins only, and of levels whose order is not known."""
    for scope in scopes:
        for line in scope.lines:
            if not scope.dimensions[line.name]:
                yield f"table {line.name!r} has no dimension: it is margins only, a single total"
    unordered = {
        name: dimension
        for scope in scopes
        for name, dimension in scope.named.items()
        if not dimension.is_ordered and name != scope.field_dimension
    }
    for name, dimension in sorted(unordered.items()):
        yield (
            f"dimension {name}: it is not known which of the levels {listed(dimension.levels)} is "
            f"coarser. Give them in `levels`, coarsest first"
        )


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
    spannings = {spanning for table in tables for spanning in table.spannings}
    group = joined_names(
        (
            f"level {spanning.level}",
            f"tree {spanning.hierarchy}" if spanning.hierarchy else f"level {spanning.level}",
        )
        for spanning in spannings
    )
    members: dict[str, set[Spanning]] = {}
    for spanning in spannings:
        members.setdefault(group[f"level {spanning.level}"], set()).add(spanning)
    names = _names(members)
    given_levels = {key: list(value) for key, value in levels.items()}
    dimensions = {
        spanning: dimension
        for key, spannings in members.items()
        for dimension in [_dimension(names[key], spannings, given_levels)]
        for spanning in spannings
    }
    if given_levels:
        odd = next(iter(given_levels))
        trees = {
            tree
            for dimension in dimensions.values()
            for tree in (dimension.name, *dimension.hierarchies)
        }
        raise InputError(f"`levels`: there is no dimension {odd!r}.{suggestion(odd, trees)}")
    _check_levels(tables, dimensions)
    return dimensions


def _names(members: Mapping[str, set[Spanning]]) -> dict[str, str]:
    """Name each dimension after its hierarchy; with ``hrc_`` where the rest is taken."""
    full = {}
    for key, spannings in members.items():
        trees = sorted(
            {spanning.hierarchy for spanning in spannings if spanning.hierarchy}, key=natural
        )
        full[key] = trees[0] if trees else min(spanning.level for spanning in spannings)
    short = {key: re.sub(r"^hrc[_ ]", "", name, flags=re.IGNORECASE) for key, name in full.items()}
    count = Counter(short.values())
    return {key: short[key] if short[key] and count[short[key]] == 1 else full[key] for key in full}


def _dimension(
    name: str, spannings: set[Spanning], given_levels: dict[str, list[str]]
) -> PlannedDimension:
    trees = tuple(
        sorted({spanning.hierarchy for spanning in spannings if spanning.hierarchy}, key=natural)
    )
    levels = sorted({spanning.level for spanning in spannings}, key=natural)
    given = next((given_levels.pop(key) for key in (name, *trees) if key in given_levels), None)
    if given is not None:
        missing = [level for level in levels if level not in given]
        if missing:
            raise InputError(
                f"`levels` of {name!r} leave out {listed(missing)}, which a table uses. Give all, "
                f"coarsest first."
            )
        return PlannedDimension(name, tuple(given), trees, True)
    stems = {re.sub(r"\d+$", "", level) for level in levels}
    is_ordered = len(levels) == 1 or (
        len(stems) == 1 and all(re.search(r"\d+$", level) for level in levels)
    )
    return PlannedDimension(name, tuple(levels), trees, is_ordered)


def _check_levels(
    tables: Sequence[PublishedTable], dimensions: Mapping[Spanning, PlannedDimension]
) -> None:
    for table in tables:
        names = [dimensions[spanning].name for spanning in table.spannings]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"Table {table.name!r} (line {table.line}) has two levels of dimension {twice!r}. "
                f"A table shows all levels above its most detailed one; name that one only."
            )


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
    named: Mapping[str, PlannedDimension],
    variable_dimension: str,
) -> list[ProtectedTable]:
    """Return the tables to protect of one cluster.

    Parameters
    ----------
    lines : sequence of PublishedTable
        Those of the cluster, by name.
    levels : mapping of str to mapping of str to str
        For each table, the level on which it has each dimension.
    named : mapping of str to PlannedDimension
        Each dimension, by name.
    variable_dimension : str
        Name of the dimension whose codes are the variables; if empty, each variable has its own
        tables.
    """
    variables = sorted({line.variable for line in lines}, key=natural)
    outer = _outermost(lines, levels, named)
    into = {
        line.name: next((whole for whole in outer if _is_within(line, whole, levels, named)), None)
        for line in lines
    }
    shapes = {variable: shapes_of(lines, levels, variable) for variable in variables}
    placed: dict[tuple[str, Shape], list[PublishedTable]] = {}
    for line in lines:
        # A table that lies in another one goes with that one; any other lies in the first shape
        # that has its dimensions.
        whole = into[line.name] or line
        mine = set(levels[whole.name])
        shape = next(shape for shape in shapes[line.variable] if mine.issubset(shape))
        key = "" if variable_dimension else line.variable
        placed.setdefault((key, shape), []).append(line)
    return [
        _protected(members, shape, variable_dimension, into)
        for (_, shape), members in sorted(placed.items(), key=lambda item: natural(str(item[0])))
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
    lines: Sequence[PublishedTable], levels: Levels, named: Mapping[str, PlannedDimension]
) -> list[PublishedTable]:
    """Return the tables that are contained in no other, in their order."""
    outer: list[PublishedTable] = []
    # A table with more dimensions contains many of the others, which then need no comparison.
    for line in sorted(lines, key=lambda line: -len(levels[line.name])):
        if not any(_is_within(line, whole, levels, named) for whole in outer):
            outer = [part for part in outer if not _is_within(part, line, levels, named)]
            outer.append(line)
    names = {line.name for line in outer}
    return [line for line in lines if line.name in names]


def _is_within(
    line: PublishedTable,
    other: PublishedTable,
    levels: Levels,
    named: Mapping[str, PlannedDimension],
) -> bool:
    """Whether all cells of a table are cells of another; of two that are equal, the first is it."""
    if line is other or line.variable != other.variable:
        return False
    mine, theirs = levels[line.name], levels[other.name]
    if mine == theirs:
        return (natural(other.name), other.name) < (natural(line.name), line.name)
    return all(
        name in theirs and named[name].is_within(level, theirs[name])
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
    named : mapping of str to PlannedDimension
        Each dimension, by name.
    equations : tuple of Equation
        Those of which at least two variables are published here.
    field_dimension : str
        Name of the dimension whose codes are the fields, if there are several.
    """

    name: str
    lines: tuple[PublishedTable, ...]
    dimensions: Mapping[str, Mapping[str, str]]
    named: Mapping[str, PlannedDimension]
    equations: tuple[Equation, ...]
    field_dimension: str = ""

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """All variables that are published here."""
        return tuple(sorted({line.variable for line in self.lines}, key=natural))

    @cached_property
    def links(self) -> dict[str, set[str]]:
        """Variables that each link joins: two or more, for which no equation counts instead."""
        joins = {}
        for link, joined in self.linked.items():
            left = joined.difference(*(equation.variables for equation in self.overruling(link)))
            if len(left) > 1:
                joins[link] = left
        return joins

    @cached_property
    def linked(self) -> dict[str, set[str]]:
        """Variables for which the lines name each link."""
        joins: dict[str, set[str]] = {}
        for line in self.lines:
            if line.variable_link:
                joins.setdefault(line.variable_link, set()).add(line.variable)
        return joins

    def overruling(self, link: str) -> list[Equation]:
        """Equations that count instead of a link.

        One that also has other variables says nothing of how those of the link belong together,
        unless it has them all.
        """
        joined = self.linked[link]
        return [
            equation
            for equation in self.equations
            if not self.unpublished(equation)
            and (joined.issubset(equation.variables) or joined.issuperset(equation.variables))
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
    for line in sorted(lines, key=lambda line: (natural(line.name), line.name)):
        members.setdefault(group[f"field {line.field}"], []).append(line)
    scopes = []
    for inside in members.values():
        named = {
            dimension.name: dimension
            for line in inside
            for dimension in _of(line, dimensions).values()
        }
        levels = {
            line.name: {dimension.name: level for level, dimension in _of(line, dimensions).items()}
            for line in inside
        }
        fields = sorted({line.field for line in inside}, key=natural)
        links = sorted({line.field_link for line in inside if line.field_link}, key=natural)
        name = links[0] if len(fields) > 1 else fields[0]
        field_dimension = ""
        if len(fields) > 1:
            field_dimension = _free(without_prefix(name), named)
            named[field_dimension] = PlannedDimension(
                field_dimension, tuple(fields), tuple(links), is_ordered=False
            )
            for line in inside:
                levels[line.name][field_dimension] = line.field
        published = {line.variable for line in inside}
        touching = [e for e in equations if len(published.intersection(e.variables)) > 1]
        scopes.append(Scope(name, tuple(inside), levels, named, tuple(touching), field_dimension))
    return sorted(scopes, key=lambda scope: natural(scope.name))


def _of(
    line: PublishedTable, dimensions: Mapping[Spanning, PlannedDimension]
) -> dict[str, PlannedDimension]:
    return {spanning.level: dimensions[spanning] for spanning in line.spannings}


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name for a dimension of fields or variables that no other dimension has."""
    return name if name not in taken else f"{name}_codes"


def clusters_of(scope: Scope, derived: Sequence[Linking] = ()) -> Iterator[Cluster]:
    """Return the clusters of a field, by name; variables of a derived figure are in one."""
    joined_by_sums = [
        [name for name in equation.variables if name in scope.variables]
        for equation in scope.equations
    ]
    groups = _groups(scope, [*joined_by_sums, *scope.links.values()])
    joined_by_figures = [variables_of(figure) & set(scope.variables) for figure in derived]
    every = [*groups, *filter(None, joined_by_figures)]
    clusters = [
        _cluster(scope, names, [group for group in groups if group[0] in names], derived)
        for names in _groups(scope, every)
    ]
    yield from sorted(clusters, key=lambda cluster: natural(cluster.name))


def _groups(scope: Scope, joined: Iterable[Collection[str]]) -> list[list[str]]:
    """Return the variables of a field in groups, of which each holds all that is joined."""
    pairs = [(name, name) for name in scope.variables]
    pairs += [(min(names), name) for names in joined for name in names]
    members: dict[str, list[str]] = {}
    for name, key in joined_names(pairs).items():
        members.setdefault(key, []).append(name)
    return [sorted(names, key=natural) for names in members.values()]


def _cluster(
    scope: Scope, variables: list[str], groups: list[list[str]], derived: Sequence[Linking]
) -> Cluster:
    """Return a cluster of groups of variables, which figures join; each group is joined by sums."""
    lines = [line for line in scope.lines if line.variable in variables]
    parts = [_sums(scope, group) for group in groups]
    touching = [equation for part in parts for equation in part.touching]
    equations = [equation for part in parts for equation in part.equations]
    links = sorted({link for part in parts for link in part.links}, key=natural)
    total, dimension = (parts[0].total, parts[0].dimension) if len(parts) == 1 else ("", "")
    if len(parts) > 1:
        # The variables are no codes of one dimension: sums that only names tell are written down.
        equations += [part.named_sum for part in parts if part.total and not part.equations]
    tables = tables_over(lines, scope.dimensions, scope.named, dimension)
    title = total if touching else (links[0] if links else variables[0])
    return Cluster(
        name=f"{scope.name}.{title or _root(touching)}".removeprefix("."),
        fields=tuple(sorted({line.field for line in lines}, key=natural)),
        variables=tuple(variables),
        tables=tuple(tables),
        equations=tuple(equations),
        total=total,
        links=tuple(links),
        reasons=(*_reasons(scope, lines, touching), *_of_figures(lines, derived)),
    )


@dataclass(frozen=True)
class _Sums:
    """What joins variables that add up: equations, links, and the dimension that they may be."""

    variables: list[str]
    touching: list[Equation]
    equations: list[Equation]
    links: list[str]
    total: str
    dimension: str

    @property
    def named_sum(self) -> Equation:
        """The sum that the names of linked variables tell."""
        return equation_of(self.total, self.variables, self.links[0])


def _sums(scope: Scope, variables: list[str]) -> _Sums:
    touching = [e for e in scope.equations if set(e.variables).intersection(variables)]
    equations = [equation for equation in touching if not scope.unpublished(equation)]
    links = sorted((n for n, v in scope.links.items() if v.intersection(variables)), key=natural)
    total, dimension = _variable_dimension(scope, variables, equations, touching, links)
    return _Sums(variables, touching, equations, links, total, dimension)


def _of_figures(lines: Sequence[PublishedTable], derived: Sequence[Linking]) -> Iterator[str]:
    """Say which tables figures join."""
    for figure in derived:
        named = variables_of(figure)
        inside = [line.name for line in lines if line.variable in named]
        if len({line.variable for line in lines} & named) > 1:
            yield f"{listed(inside)} share a derived figure of {listed(sorted(named))}"


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
        joined = {name for equation in equations for name in equation.variables}
        if total is None or joined != set(variables):
            return "", ""
        return total, _free(total, scope.named)
    stem = without_prefix(links[0]).casefold()
    if len(links) > 1:
        return "", ""
    ending = re.compile(rf"(.*[_\W])?{re.escape(stem)}")
    alike = [name for name in variables if ending.fullmatch(name.casefold())]
    total = alike[0] if len(alike) == 1 and len(variables) > 2 else ""
    return total, _free(without_prefix(links[0]), scope.named)


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
        inside = [line.name for line in lines if line.variable in equation.variables]
        yield f"{listed(inside)} share the equation {equation.label}"
    for link, joined in sorted(scope.links.items()):
        inside = [line.name for line in lines if line.variable in joined]
        if inside:
            yield f"{listed(inside)} are of variables that {link} links"
    for variable in sorted({line.variable for line in lines}, key=natural):
        inside = [line.name for line in lines if line.variable == variable]
        if len(inside) > 1:
            yield f"{listed(inside)} share the variable {variable}"
    for name in sorted({name for line in lines for name in scope.dimensions[line.name]}):
        names_of_levels = {scope.dimensions[line.name].get(name, "") for line in lines} - {""}
        levels = sorted(names_of_levels, key=natural)
        inside = [line.name for line in lines if name in scope.dimensions[line.name]]
        if len(levels) > 1:
            trees = listed(scope.named[name].hierarchies) or name
            yield f"{listed(inside)} are on levels of {trees}: {listed(levels)}"
