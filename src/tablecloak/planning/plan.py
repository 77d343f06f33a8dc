"""The plan of a publication: tables to protect, and clusters that are one problem each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tablecloak.errors import counted
from tablecloak.planning.lines import PublishedTable, Spanning, natural
from tablecloak.tables.equations import Equation


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


@dataclass(frozen=True)
class ProtectedTable:
    """A table that needs protection.

    Parameters
    ----------
    name : str
        The published table that contains all others of it, or the names of all that make it up.
    variables : tuple of str
        More than one if `variable_dimension` is given.
    dimensions : tuple of str
        Names of the dimensions, without that of the variables.
    variable_dimension : str
        Name of the dimension whose codes are variables; empty if there is none.
    members : tuple of str
        Names of the published tables whose cells it has.
    contained : mapping of str to str
        Members that are contained in a single other one, and in which.
    """

    name: str
    variables: tuple[str, ...]
    dimensions: tuple[str, ...]
    variable_dimension: str
    members: tuple[str, ...]
    contained: Mapping[str, str]

    @property
    def shape(self) -> tuple[str, ...]:
        """All dimensions, with that of the variables."""
        last = (self.variable_dimension,) if self.variable_dimension else ()
        return (*self.dimensions, *last)

    def __str__(self) -> str:
        return f"{', '.join(self.members)} over {' x '.join(self.shape) or 'no dimension'}"


@dataclass(frozen=True)
class Cluster:
    """Tables that must be protected as one problem.

    Parameters
    ----------
    name : str
        Field and what the tables share, joined by a point.
    fields : tuple of str
    variables : tuple of str
    tables : tuple of ProtectedTable
    equations : tuple of Equation
        Those whose variables are all published here.
    total : str
        Variable to which the others add up, where they are the codes of a dimension.
    links : tuple of str
        Links of its variables (``hrc_indicator``).
    reasons : tuple of str
        Why its tables belong together.
    """

    name: str
    fields: tuple[str, ...]
    variables: tuple[str, ...]
    tables: tuple[ProtectedTable, ...]
    equations: tuple[Equation, ...]
    total: str
    links: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def members(self) -> tuple[str, ...]:
        """Names of all its published tables."""
        return tuple(sorted({name for t in self.tables for name in t.members}, key=natural))

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of all dimensions of its tables, without that of the variables."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.dimensions))

    def table_of(self, member: str) -> ProtectedTable:
        """Return the table to protect that has the cells of a published one."""
        return next(table for table in self.tables if member in table.members)


@dataclass(frozen=True, eq=False)
class Plan:
    """Which tables of a publication need protection, and which of them together.

    Parameters
    ----------
    clusters : tuple of Cluster
        Each is one problem.
    lines : tuple of PublishedTable
        The tables to publish.
    dimensions : mapping of Spanning to PlannedDimension
        The dimension of each level that a line names.
    notes : tuple of str
        What the reader should know; also given as warnings.
    totals : mapping of str to str or sequence of str
        Codes of the total of dimensions, where they are known; by default it is "Total".
    trees : mapping of str to nested mappings of str
        Hierarchies of dimensions that the codes of a template show.

    Examples
    --------
    >>> import pandas as pd
    >>> import tablecloak as tc
    >>> lines = pd.DataFrame({
    ...     "table_name": ["T1", "T2"], "field": "2023", "indicator": "turnover",
    ...     "spanning_1": ["nuts2", "nuts3"], "hrc_spanning_1": "hrc_nuts",
    ...     "spanning_2": "size", "hrc_spanning_2": "",
    ... })
    >>> print(tc.plan(lines).summary())
    2 tables to publish: 1 to protect in 1 cluster
    cluster 2023.turnover: 1 table to protect
      T2 over nuts x size, contains T1
      because T1, T2 share the variable turnover
      because T1, T2 are on levels of hrc_nuts: nuts2, nuts3
    """

    clusters: tuple[Cluster, ...]
    lines: tuple[PublishedTable, ...]
    dimensions: Mapping[Spanning, PlannedDimension]
    notes: tuple[str, ...] = ()
    totals: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    trees: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[ProtectedTable, ...]:
        """All tables that need protection."""
        return tuple(table for cluster in self.clusters for table in cluster.tables)

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields, in order."""
        return tuple(sorted({line.field for line in self.lines}, key=natural))

    @property
    def contained(self) -> dict[str, str]:
        """Published tables that are contained in another, and in which."""
        return {name: into for t in self.tables for name, into in t.contained.items()}

    def cluster_of(self, table: str) -> Cluster:
        """Return the cluster of a published table."""
        return next(cluster for cluster in self.clusters if table in cluster.members)

    def summary(self) -> str:
        """Say which tables are to be protected, in clusters, and why these belong together."""
        lines = [
            f"{counted(len(self.lines), 'table')} to publish: {len(self.tables)} to protect in "
            f"{counted(len(self.clusters), 'cluster')}"
        ]
        for cluster in self.clusters:
            number = counted(len(cluster.tables), "table")
            lines.append(f"cluster {cluster.name}: {number} to protect")
            lines += [f"  {_said(table)}" for table in cluster.tables]
            lines += [f"  because {reason}" for reason in cluster.reasons]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each table to publish.

        Returns
        -------
        pandas.DataFrame
            ``table``, ``field``, ``variable``, ``levels`` (as its line names them), ``cluster``,
            ``protected_in`` (the table to protect), ``dimensions`` (of that table) and
            ``contained_in`` (empty where it is contained in no single other table).
        """
        rows = []
        for line in sorted(self.lines, key=lambda each: natural(each.name)):
            cluster = self.cluster_of(line.name)
            table = cluster.table_of(line.name)
            rows.append(
                {
                    "table": line.name,
                    "field": line.field,
                    "variable": line.variable,
                    "levels": " x ".join(each.level for each in line.spannings),
                    "cluster": cluster.name,
                    "protected_in": table.name,
                    "dimensions": " x ".join(table.shape),
                    "contained_in": table.contained.get(line.name, ""),
                }
            )
        return pd.DataFrame(rows)


def _said(table: ProtectedTable) -> str:
    inside = sorted(table.contained, key=natural)
    kept = [name for name in table.members if name not in table.contained]
    shape = " x ".join(table.shape) or "no dimension"
    return f"{', '.join(kept)} over {shape}" + (f", contains {', '.join(inside)}" if inside else "")
