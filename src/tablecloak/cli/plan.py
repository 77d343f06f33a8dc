"""``tablecloak plan``: which tables of a publication must be protected together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.errors import InputError, TablecloakWarning, listed

if TYPE_CHECKING:
    from tablecloak.planning.page import ClusterState
    from tablecloak.planning.plan import Plan

Metadata = Annotated[
    Path | None,
    typer.Argument(help="One line for each table to publish: CSV, Parquet or Excel (.xlsx)."),
]
Equations = Annotated[
    Path | None, typer.Option(help="Equations between variables: eq_name, eq_indicator, unit.")
]
TemplateFile = Annotated[
    Path | None, typer.Option(help="Transmission template: one row for each cell to publish.")
]
Formula = Annotated[
    list[str] | None,
    typer.Option("--formula", help="Such as '~ nation + age * continent'; repeat."),
]
Levels = Annotated[
    list[str] | None,
    typer.Option("--levels", help="DIMENSION=LEVEL,LEVEL: coarsest first; repeat."),
]
Total = Annotated[
    list[str] | None, typer.Option("--total", help="DIMENSION=CODE: code of its total; repeat.")
]
Field = Annotated[
    list[str] | None, typer.Option("--field", help="Column of the template with the field; repeat.")
]
Variable = Annotated[str, typer.Option(help="Column of the template with the variable.")]
JobFile = Annotated[
    Path | None, typer.Option("--job", help="Job file with what all jobs share: data, rules.")
]
FieldColumn = Annotated[str, typer.Option(help="Column of the records whose codes are the fields.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for plan.html, plan.csv and jobs/.", writable=True),
]


def plan(
    metadata: Metadata = None,
    equations: Equations = None,
    template: TemplateFile = None,
    formula: Formula = None,
    levels: Levels = None,
    total: Total = None,
    field: Field = None,
    variable: Variable = "",
    job: JobFile = None,
    field_column: FieldColumn = "",
    out: Out = None,
) -> None:
    """Plan a publication: which tables need protection, and which of them together.

    METADATA has the columns table_name, field (population, year), indicator (the variable), and for
    each dimension spanning_1 and hrc_spanning_1 (its column, and the hierarchy of which that is a
    level), spanning_2 and so on; optional hrc_indicator, hrc_field (links between variables, or
    fields) and file (of a table that is ready).

    A table contained in another needs no protection of its own. Tables that share a variable, an
    equation, a link or a figure of [[derived]] are a cluster: one problem. With --out a job file
    for each is written into OUT/jobs; `tablecloak protect` runs it. What all share comes from
    --job; without it, fill in data and rules. METADATA may be a job file with a section
    [publication], which `tablecloak protect` does in one step.

    Example: tablecloak plan metadata.csv --equations equations.csv --out plan

    Example: tablecloak plan --template template.csv --total ACTIVITY=BTSXO_S94

    Example: tablecloak plan --formula "~ nation + age * continent"
    """
    import tablecloak as tc
    from tablecloak.storage import require_writable
    from tablecloak.toml_file import read_toml

    require_writable(None if out is None else out / "plan.html")
    codes: dict[str, list[str]] = {}
    for name, code in _pairs("--total", total):
        codes.setdefault(name, []).append(code)
    known = {name: text.split(",") for name, text in _pairs("--levels", levels)}
    with warnings.catch_warnings():
        # The plan has them as notes, which are printed once.
        warnings.simplefilter("ignore", TablecloakWarning)
        if metadata is not None and metadata.suffix == ".toml":
            options = (equations, template, formula, codes, known, field, variable, job)
            found, jobs, states = _given(metadata, options, out)
        else:
            shared = {} if job is None else read_toml(job)[1]
            found = tc.plan(
                metadata,
                equations=equations,
                template=template,
                formulas=formula or None,
                levels=known,
                totals=dict(codes),
                field=field or [],
                variable=variable,
                derived=shared.get("derived", []),
            )
            jobs = _drafted(found, shared, field_column) if out or job else {}
            states = {}
    written = []
    if out is not None:
        # Paths of a draft are relative to where the command runs.
        source = job or (metadata if metadata and metadata.suffix == ".toml" else None)
        written = _written(found, jobs, source.parent if source else Path(), out, states)
    typer.echo(found.summary())
    for name, state in states.items():
        figures = [f"{key} {figure:.6g}" for key, figure in state.figures.items()]
        typer.echo(f"{name}: {listed(figures) if figures else state.verdict}")
    for path in written:
        typer.echo(f"written: {path}")


def _given(
    path: Path, options: Sequence[object], out: Path | None
) -> tuple[Plan, dict[str, Any], dict[str, ClusterState]]:
    """Return plan, jobs and sizes of problems of a file with a section ``[publication]``."""
    from tablecloak.jobs.publication import planned, read_publication

    if any(options):
        raise InputError(f"{path}: says itself which tables there are. Give no option but --out.")
    results = out or path.parent
    return *planned(path, results), read_publication(path, results).sizes()


def _drafted(plan: Plan, shared: dict[str, Any], field_column: str) -> dict[str, Any]:
    """Return the jobs, from what all share or from a draft."""
    from tablecloak.planning.jobs import DRAFT, JobWriter

    is_draft = not shared
    shared = shared or DRAFT
    if is_draft and any(line.file for line in plan.lines):
        shared = {**DRAFT, "data": {"kind": "table"}}
    is_told = any(line.field_codes for line in plan.lines)
    if is_draft and len(plan.fields) > 1 and not is_told:
        field_column = field_column or "field"
    return JobWriter(plan, shared, field_column=field_column).jobs()


def _written(
    plan: Plan, jobs: dict[str, Any], folder: Path, out: Path, states: dict[str, ClusterState]
) -> list[Path]:
    """Write page, table and jobs, whose paths are relative to a folder."""
    from tablecloak.planning.jobs import moved
    from tablecloak.planning.page import require_ours, write_jobs, write_plan

    to = out / "jobs"
    placed = {name: moved(job, folder, to) for name, job in jobs.items()}
    require_ours(to / f"{name}.toml" for name in placed)
    return [*write_plan(plan, out, states=states), *write_jobs(placed, to)]


def _pairs(option: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    pairs = []
    for entry in given or ():
        left, sign, right = entry.partition("=")
        if not left or not sign or not right:
            raise InputError(f"{option} {entry}: give it as NAME=TEXT.")
        pairs.append((left, right))
    return pairs
