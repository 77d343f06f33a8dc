"""From lines of metadata to the plan: contained tables, clusters and their reasons."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tablecloak.errors import InputError, TablecloakWarning, listed, suggestion
from tablecloak.planning.clusters import Scope, clusters_of, scopes_of
from tablecloak.planning.dimensions import planned_dimensions
from tablecloak.planning.equations import read_equations, spelled
from tablecloak.planning.formulas import read_formulas
from tablecloak.planning.lines import (
    PublishedTable,
    Spanning,
    in_one_spelling,
    natural,
    read_lines,
)
from tablecloak.planning.plan import Cluster, Plan
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
    variable, or variables that an equation or a link joins: cells then have values in common, or
    follow from each other, so that tables protected apart could reveal each other. An equation
    between variables of a link counts instead of it; the link then joins the others alone. Neither
    the order of lines nor that of dimensions plays a part.
    """
    lines, totals = _lines(metadata, template, formulas, totals or {}, field, variable)
    lines = _with_hierarchies(lines, levels or {})
    dimensions = planned_dimensions(lines, levels or {})
    spelling = {line.variable.casefold(): line.variable for line in lines}
    asked = [spelled(each, spelling) for each in read_equations(equations)]
    scopes = scopes_of(lines, dimensions, asked)
    placed = [(scope, cluster) for scope in scopes for cluster in clusters_of(scope)]
    notes = [
        *_of_equations(asked, scopes), *_of_overruled(scopes), *_of_sums(placed),
        *_of_tables(scopes),
    ]  # fmt: skip
    for note in notes:
        warnings.warn(note, TablecloakWarning, stacklevel=2)
    return Plan(
        tuple(cluster for _, cluster in placed), tuple(lines), dimensions, tuple(notes), totals
    )


def _lines(
    metadata: object,
    template: object,
    formulas: object,
    totals: Totals,
    field: str | Sequence[str],
    variable: str,
) -> tuple[list[PublishedTable], Totals]:
    """Return the tables of all descriptions, each name once, and the codes of totals."""
    if metadata is None and template is None and formulas is None:
        raise InputError("Give `metadata`, a `template` or `formulas`: nothing says which tables.")
    lines = [] if metadata is None else read_lines(metadata)
    if template is not None:
        asked, of_template = read_template(template, totals, field, variable)
        lines, totals = lines + asked, {**of_template, **totals}
    lines += [] if formulas is None else read_formulas(formulas)
    names = [line.name for line in lines]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"Table {twice!r} is described twice. Give each table a name of its own.")
    return in_one_spelling(lines), totals


def _with_hierarchies(
    lines: Sequence[PublishedTable], levels: Mapping[str, Sequence[str]]
) -> list[PublishedTable]:
    """Give levels the hierarchy to which `levels` counts them, where a line names none."""
    tree = {level: name for name, given in levels.items() for level in given}
    return [
        replace(
            line,
            spannings=tuple(
                each if each.hierarchy else Spanning(each.level, tree.get(each.level, ""))
                for each in line.spannings
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
            left = sorted(joined.difference(*(each.variables for each in overruling)), key=natural)
            if overruling:
                yield (
                    f"{link} links variables of {scope.name} for which there is an equation, "
                    f"{listed([each.label for each in overruling])}: the equation counts"
                    f"{f', and {listed(left)} are not joined with its variables' if left else ''}"
                )


def _of_sums(placed: Sequence[tuple[Scope, Cluster]]) -> Iterator[str]:
    """Tell of links of which no equation and no name says how their variables add up."""
    for scope, cluster in placed:
        for link in cluster.links:
            if cluster.equations or not cluster.total:
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
        name: each
        for scope in scopes
        for name, each in scope.known.items()
        if not each.is_ordered and name != scope.field_dimension
    }
    for name, each in sorted(unordered.items()):
        yield (
            f"dimension {name}: it is not known which of the levels {listed(each.levels)} is "
            f"coarser. Give them in `levels`, coarsest first"
        )
