"""The job of each cluster, as the tables of a job file."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.planning.equations import equation_of
from tablecloak.planning.figures import variables_of
from tablecloak.planning.formulas import VALUE
from tablecloak.planning.lines import PublishedTable
from tablecloak.planning.plan import Cluster, Plan, PlannedDimension
from tablecloak.tables.classifications import CLASSIFICATIONS

Tables = dict[str, Any]

DRAFT: Tables = {
    "data": {"file": "records.csv"},
    "rules": [{"rule": "p-percent", "p": 10}],
    "suppression": {},
}
"""What a job says where nothing is given: a beginning, for the office to fill in."""


FILES = (
    ("data", "file"), ("suppression", "previous"), ("transmission", "template"),
    ("transmission", "structure"),
    ("register", "folder"), ("perturbation", "ptable"), ("perturbation", "small_cells"),
)  # fmt: skip
"""Keys of a job that are paths, besides those of tables, variables and dimensions."""


def moved(job: Mapping[str, Any], before: Path, after: Path) -> Tables:
    """Return a job with its paths relative to another folder.

    Parameters
    ----------
    job : mapping of str to object
    before, after : Path
        Folder to which its paths are relative, and the one to which they are to be.
    """
    tables_of_job: Tables = copy.deepcopy(dict(job))
    variables = list(tables_of_job.get("variables", {}).values())
    tables = [place for spec in variables for place in spec.get("tables", [])]
    places = [(tables_of_job[section], key) for section, key in FILES if section in tables_of_job]
    places += [(place, "file") for place in (*variables, *tables, *tables_of_job.get("tables", []))]
    places += [
        (place, key) for place in tables_of_job.get("published", []) for key in ("file", "problem")
    ]
    places += [(place, "hierarchy") for place in tables_of_job.get("dimensions", {}).values()]
    for place, key in places:
        given = place.get(key) if isinstance(place, dict) else None
        if isinstance(given, str) and given not in CLASSIFICATIONS:
            path = os.path.relpath(before.resolve() / place[key], after.resolve())
            place[key] = Path(path).as_posix()
    return tables_of_job


def file_names(clusters: Sequence[Cluster]) -> list[str]:
    """Return a name for the folder and the job file of each cluster, each once."""
    names: list[str] = []
    for cluster in clusters:
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in cluster.name)
        plain = plain.strip("._") or "cluster"
        taken = {name.casefold() for name in names}
        numbers = (f"{plain}_{number}" for number in range(2, len(names) + 3))
        free = plain if plain.casefold() not in taken else next(
            name for name in numbers if name.casefold() not in taken
        )  # fmt: skip
        names.append(free)
    return names


@dataclass(frozen=True)
class JobWriter:
    """Makes the job of each cluster from what all of them share.

    Parameters
    ----------
    plan : Plan
    shared : mapping of str to object
        A job file without tables, variables and equations: data, rules, methods, and what is known
        of dimensions, by their names in the plan.
    columns : mapping of str to str, default={}
        Column with the values of each variable; by default the variable is the column.
    field_column : str, default=""
        Column of records whose codes are the fields; by default those of a template.

    Raises
    ------
    InputError
        If `shared` describes a dimension that the plan does not have, several fields have one
        source, or a ready table has no file.
    """

    plan: Plan
    shared: Mapping[str, Any] = field(default_factory=lambda: DRAFT)
    columns: Mapping[str, str] = field(default_factory=dict)
    field_column: str = ""

    def __post_init__(self) -> None:
        dimensions: dict[str, PlannedDimension] = {}
        for cluster in self.plan.clusters:
            dimensions |= self._named(cluster)
        names = {alias for dimension in dimensions.values() for alias in _aliases(dimension)}
        for name in self.shared.get("dimensions", {}):
            if name not in names:
                raise InputError(
                    f"[dimensions.{name}]: no table of the plan has it."
                    f"{suggestion(name, dimensions)}"
                )
        variables = {line.variable for line in self.plan.lines}
        for name in (*self.columns, *self.shared.get("variables", {})):
            if name not in variables:
                raise InputError(
                    f"No table of the plan has a variable {name!r}.{suggestion(name, variables)}"
                )
        for figure in self.shared.get("derived", []):
            names = variables_of(figure) & variables
            if names and not any(names <= set(cluster.variables) for cluster in self.plan.clusters):
                raise InputError(
                    f"[[derived]]: no cluster has {listed(sorted(names))}, so that nothing would "
                    f"protect a figure of them. Give the plan the figure as `derived`, publish "
                    f"them for the same field, or leave the figure out."
                )
        lacking = sorted({line.field for line in self.plan.lines if not line.field_codes})
        if self._chooses_records and lacking and not self.field_column:
            raise InputError(
                f"The plan has several fields, {listed(self.plan.fields)}, and one file of "
                f"records. Say which column tells the field, with field_column."
            )

    @property
    def _chooses_records(self) -> bool:
        """Whether the records of a cluster are some of those of a file for several fields."""
        return not self._is_ready and (len(self.plan.fields) > 1 or bool(self.field_column))

    @property
    def _is_ready(self) -> bool:
        return bool(self.shared.get("data", {}).get("kind") == "table")

    def jobs(self) -> dict[str, Tables]:
        """Return the job of each cluster, by the name of its file; none for a single total."""
        names = file_names(self.plan.clusters)
        made = {n: self._job(c) for n, c in zip(names, self.plan.clusters, strict=True)}
        return {name: job for name, job in made.items() if job}

    def _job(self, cluster: Cluster) -> Tables:
        dimensions = self._named(cluster)
        job = {k: value for k, value in self.shared.items() if k not in ("dimensions", "variables")}
        title = str(self.shared.get("title", ""))
        job = {**job, "title": f"{title}: {cluster.name}" if title else cluster.name}
        job = {"title": job.pop("title"), **job}
        tables = {name: self._tables(cluster, name, dimensions) for name in cluster.variables}
        tables = {name: linked for name, linked in tables.items() if linked}
        if not tables:
            return {}
        job["data"] = self._data(cluster)
        # Figures of other variables stand beside the release of another cluster.
        others = {line.variable for line in self.plan.lines} - set(cluster.variables)
        figures = [f for f in job.pop("derived", []) if not variables_of(f) & others]
        job |= {"derived": figures} if figures else {}
        if len(tables) == 1:
            ((name, job["tables"]),) = tables.items()
            job |= self._alone(name, job["data"])
        else:
            job |= self._several(cluster, tables)
        used = {
            name for linked in tables.values() for table in linked for name in table["dimensions"]
        }
        job["dimensions"] = {
            name: self._dimension(dimensions[name], cluster) for name in dimensions if name in used
        }
        return job

    def _alone(self, variable: str, data: Tables) -> Tables:
        """Return what is said of the only variable of a job, in the sections of the job itself."""
        given = dict(self.shared.get("variables", {}).get(variable, {}))
        sections = {key: given.pop(key) for key in ("rules", "protection") if key in given}
        return {**sections, "data": {**data, **self._valued(variable), **given}}

    def _valued(self, variable: str) -> Tables:
        """Return the column of a variable as a key of a job; nothing if it counts records."""
        column = self._column(variable)
        return {"value": column} if column else {}

    def _several(self, cluster: Cluster, tables: Mapping[str, list[Tables]]) -> Tables:
        """Return the variables of a cluster, and the equations between those that have tables."""
        given = self.shared.get("variables", {})
        variables = {
            name: {**self._valued(name), **given.get(name, {}), "tables": linked}
            for name, linked in tables.items()
        }
        between = list(cluster.equations)
        if cluster.total and not between:
            between = [equation_of(cluster.total, cluster.variables, cluster.links[0])]
        equations: list[Tables] = [
            {"equation": str(equation.text)}
            | {key: text for key in ("name", "unit") if (text := getattr(equation, key))}
            for equation in between
            if set(equation.variables) <= set(tables)
        ]
        return {"variables": variables} | ({"equations": equations} if equations else {})

    def _data(self, cluster: Cluster) -> Tables:
        data = {key: value for key, value in self.shared.get("data", {}).items() if key != "value"}
        if self._chooses_records:
            data["only"] = {**data.get("only", {}), **self._field_codes(cluster)}
        return data

    def _field_codes(self, cluster: Cluster) -> dict[str, list[str]]:
        """Return the columns that tell the fields of a cluster, with their codes."""
        if self.field_column:
            return {self.field_column: list(cluster.fields)}
        mine = [line for line in self.plan.lines if line.name in cluster.members]
        pairs = dict.fromkeys(pair for line in mine for pair in line.field_codes)
        codes: dict[str, list[str]] = {}
        for column, code in pairs:
            codes.setdefault(column, []).append(code)
        return codes

    def _column(self, variable: str) -> str:
        """Return the column of a variable; a formula names none, so that it is that of the data."""
        if variable == VALUE and variable not in self.columns:
            return str(self.shared.get("data", {}).get("value", ""))
        return self.columns.get(variable, variable)

    def _named(self, cluster: Cluster) -> dict[str, PlannedDimension]:
        """Return the dimensions of a cluster, by name."""
        planned = {dimension.name: dimension for dimension in self.plan.dimensions.values()}
        fields = [name for name in cluster.dimensions if name not in planned]
        return {
            name: planned.get(name) or PlannedDimension(name, cluster.fields, (), is_ordered=False)
            for name in (*(n for n in cluster.dimensions if n not in fields), *fields)
        }

    def _tables(
        self, cluster: Cluster, variable: str, dimensions: Mapping[str, PlannedDimension]
    ) -> list[Tables]:
        """Return the linked tables of one variable."""
        mine = [table for table in cluster.tables if variable in table.variables]
        if not self._is_ready:
            return [{"dimensions": list(table.dimensions)} for table in mine if table.dimensions]
        lines = {line.name: line for line in self.plan.lines}
        entries = []
        for table in mine:
            members = [lines[name] for name in table.members if lines[name].variable == variable]
            whole = [line for line in members if line.name not in table.contained]
            lacking = [line.name for line in whole if not line.file]
            if lacking:
                raise InputError(
                    f"Table {lacking[0]!r} is ready, but its file is not known. Give it in a "
                    f"column 'file' of the metadata."
                )
            entries += [
                self._ready(line, dimensions) for line in members if line.file and line.spannings
            ]
        return entries

    def _ready(self, line: PublishedTable, dimensions: Mapping[str, PlannedDimension]) -> Tables:
        """Return the entry of a table that lies in a file."""
        names = {self.plan.dimensions[spanning].name: spanning.level for spanning in line.spannings}
        columns = {name: level for name, level in names.items() if len(dimensions[name].levels) > 1}
        entry: Tables = {"file": line.file, "dimensions": list(names)}
        return entry | ({"columns": columns} if columns else {})

    def _dimension(self, dimension: PlannedDimension, cluster: Cluster) -> Tables:
        """Return what the job says of a dimension: what is given, and its column or levels."""
        given = self.shared.get("dimensions", {})
        spec = dict(next((given[n] for n in _aliases(dimension) if n in given), {}))
        totals = self.plan.totals
        total = next((totals[name] for name in _aliases(dimension) if name in totals), None)
        if total is not None and "total" not in spec:
            spec["total"] = total if isinstance(total, str) else next(iter(total))
        if {"column", "levels"} & set(spec):
            return spec
        trees = self.plan.trees
        tree = next((trees[name] for name in _aliases(dimension) if name in trees), None)
        if tree is not None:
            spec.setdefault("hierarchy", tree)
        if dimension.name not in {planned.name for planned in self.plan.dimensions.values()}:
            return {"column": self.field_column or dimension.name} | spec
        if "hierarchy" in spec or self._is_ready:
            # The codes of a hierarchy that is given go down to its most detailed level.
            return {"column": dimension.levels[-1]} | spec
        levels = self._levels(dimension, cluster)
        return ({"column": levels[0]} if len(levels) == 1 else {"levels": levels}) | spec

    def _levels(self, dimension: PlannedDimension, cluster: Cluster) -> list[str]:
        """Return the levels down to the most detailed one that a table of the cluster shows."""
        used = {
            spanning.level
            for line in self.plan.lines
            if line.name in cluster.members
            for spanning in line.spannings
            if self.plan.dimensions[spanning].name == dimension.name
        }
        if not dimension.is_ordered:
            return [level for level in dimension.levels if level in used]
        last = max(dimension.levels.index(level) for level in used)
        return list(dimension.levels[: last + 1])


def _aliases(dimension: PlannedDimension) -> list[str]:
    """Return the names under which a job may describe a dimension."""
    return [dimension.name, *dimension.hierarchies, *dimension.levels]
