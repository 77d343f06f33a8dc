"""Fields that are years of the same tables: protected in order, or together as one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.planning.equations import spelled
from tablecloak.planning.jobs import Tables, file_names
from tablecloak.planning.lines import natural
from tablecloak.planning.plan import Cluster, Plan
from tablecloak.tables.equations import Equation
from tablecloak.tables.figures.figure import FIGURES
from tablecloak.tables.figures.ratios import parts_of

PREVIOUS = "previous"
"""What a figure compares with where the period before is meant, whichever that is."""


def in_order(plan: Plan, jobs: Mapping[str, Tables], results: Path) -> dict[str, Tables]:
    """Return the jobs of all fields, each beside the release of the field before.

    That release was protected beside those before it, and holds what they tell.

    Parameters
    ----------
    plan : Plan
    jobs : mapping of str to job
        By name, each field for itself. What a derived figure compares with is a field or
        ``previous``; a field lacks figures that compare with one that does not come before it.
    results : Path
        Folder in which the results of each job lie under its name.

    Raises
    ------
    InputError
        If a job does not suppress cells, or writes no CSV.
    """
    clusters, made = _clusters(plan, jobs), dict[str, Tables]()
    for names in _alike(clusters):
        fields = [_field(clusters[name]) for name in names]
        for number, name in enumerate(names):
            job = dict(jobs[name])
            formats = job.get("output", {}).get("formats", ["csv"])
            if "suppression" not in job or "csv" not in formats:
                raise InputError(
                    "Fields are protected in order by [suppression], with csv among the formats of "
                    "[output]: other ways to protect hide no values that earlier releases tell."
                )
            figures = [_compared(given, plan, fields[:number][::-1]) for given in _figures(job)]
            if figures:
                job["derived"] = [figure for figure in figures if figure]
            if number:
                last = names[number - 1]
                released = _released(made[last], results / last, fields[number - 1])
                job["published"] = [*job.get("published", []), released]
            made[name] = job
    return {name: made[name] for name in jobs}


def _released(job: Tables, folder: Path, field: str) -> Tables:
    """Return what a later job says of the release of one with these results."""
    release, problem = "release/suppression/table.csv", "internal/problem.csv"
    if job.get("derived") or job.get("published"):
        # Figures, and the releases before it, tell of its hidden cells as well.
        release, problem = (f"internal/suppression_{name}.csv" for name in ("statuses", "problem"))
    paths = {"file": str(folder / release), "problem": str(folder / problem)}
    return {**paths, "name": field, "period": field}


def together(plan: Plan, jobs: Mapping[str, Tables]) -> dict[str, Tables]:
    """Return one job for the same variables of all fields, each of which is a variable there.

    The turnover of 2024 is called ``turnover 2024``; figures and equations are those of each field.

    Parameters
    ----------
    plan, jobs
        As of `in_order`.
    """
    clusters, made = _clusters(plan, jobs), dict[str, Tables]()
    for names in _alike(clusters):
        fields = [_field(clusters[name]) for name in names]
        variables, equations, derived = dict[str, Tables](), list[Tables](), list[Tables]()
        dimensions: Tables = {}
        for number, (name, field) in enumerate(zip(names, fields, strict=True)):
            job, planned = jobs[name], clusters[name].variables
            renamed = {variable: f"{variable} {field}" for variable in planned}
            specs = _variables(job, planned[0])
            variables |= {renamed[variable]: spec for variable, spec in specs.items()}
            equations += [_equation_of(given, renamed) for given in job.get("equations", [])]
            figures = [_compared(given, plan, fields[:number][::-1]) for given in _figures(job)]
            derived += [_figure_of(figure, renamed) for figure in figures if figure]
            dimensions |= job["dimensions"]
        first, cluster = jobs[names[0]], clusters[names[0]]
        alike = replace(cluster, name=cluster.name.removeprefix(f"{fields[0]}."))
        data = {key: given for key, given in first["data"].items() if key not in ("value", "only")}
        given = {"variables": variables, "equations": equations, "derived": derived}
        joined = {
            **{key: section for key, section in first.items() if key not in ("tables", *given)},
            "title": first["title"].replace(cluster.name, alike.name),
            "data": data,
            "dimensions": dimensions,
            **{key: section for key, section in given.items() if section},
        }
        (free,) = file_names([alike])
        if len(names) == 1:
            made[names[0]] = first
        else:
            made[free if free not in made else names[0]] = joined
    return made


def _clusters(plan: Plan, jobs: Mapping[str, Tables]) -> dict[str, Cluster]:
    names = zip(file_names(plan.clusters), plan.clusters, strict=True)
    return {name: cluster for name, cluster in names if name in jobs}


def _alike(clusters: Mapping[str, Cluster]) -> list[list[str]]:
    """Return the jobs of the same variables, those of each field in order."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(clusters, key=lambda name: natural(_field(clusters[name]))):
        groups.setdefault(clusters[name].variables, []).append(name)
    return list(groups.values())


def _field(cluster: Cluster) -> str:
    return " ".join(cluster.fields)


def _figures(job: Tables) -> list[Tables]:
    return list(job.get("derived", []))


def _compared(figure: Tables, plan: Plan, before: Sequence[str]) -> Tables | None:
    """Return a figure with the field that it compares with; None if that does not come before."""
    key = FIGURES[str(figure.get("figure"))].compared_with
    period = figure.get(key)
    if period == PREVIOUS and before:
        return {**figure, key: before[0]}
    return figure if period in before or period not in (PREVIOUS, *plan.fields) else None


def _variables(job: Tables, name: str) -> dict[str, Tables]:
    """Return the variables of a job of one field, each with the records of that field."""
    only = {"only": job["data"]["only"]} if "only" in job["data"] else {}
    alone = {"value": job["data"].get("value", name), "tables": job.get("tables", [])}
    return {key: {**spec, **only} for key, spec in job.get("variables", {name: alone}).items()}


def _equation_of(given: Tables, renamed: Mapping[str, str]) -> Tables:
    spelling = {name.casefold(): new for name, new in renamed.items()}
    return {**given, "equation": spelled(Equation.of(given["equation"]), spelling).text}


def _figure_of(figure: Tables, renamed: Mapping[str, str]) -> Tables:
    """Return a figure of the variables of one field; it compares with those of another one."""
    key = FIGURES[str(figure["figure"])].compared_with
    made = dict(figure)
    if "variable" in figure:
        made["variable"] = renamed.get(figure["variable"], figure["variable"])
    if key:
        made[key] = f"{figure['variable']} {figure[key]}"
    if "formula" in figure:
        parts = parts_of(figure["formula"])
        made["formula"] = " / ".join(renamed.get(part, part) for part in parts)
    return made
