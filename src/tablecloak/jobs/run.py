"""A whole job from one file: data, dimensions, rules, methods, and two folders of results.

``release/`` holds what may be published: one folder for each way to protect, alternatives of which
only one may be published. ``internal/`` (readable by the owner only) holds the true table,
statuses, intervals, certificates and the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.budget import Budget, Progress
from tablecloak.errors import ModelError, SolverError, TablecloakError
from tablecloak.history import History
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_data
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import Job
from tablecloak.jobs.write import RESULT, write_results
from tablecloak.protection import Attackers, Material, Product, Protection
from tablecloak.publish.audit import known_ends, told_by_result
from tablecloak.publish.besides import besides
from tablecloak.publish.records import restriction
from tablecloak.publish.register import Entry, OvertakenError, Register
from tablecloak.solve.solver import using_solver
from tablecloak.storage import replacing_folder, require_own_folder
from tablecloak.tables.changes.derived_figures import with_derived
from tablecloak.tables.formats import FORMATS
from tablecloak.tables.problem import ProtectionProblem


def run_job(
    job: Job | str | Path,
    out: str | Path | None = None,
    *,
    engine: str = "duckdb",
    progress: Progress | None = None,
) -> JobResult:
    """Run a job and write its results.

    Parameters
    ----------
    job : Job, str or Path
        A job, or the path of a job file.
    out : str or Path, optional
        Folder for ``release/`` and ``internal/``. Without it nothing is written.
    engine : str, default="duckdb"
        What reads microdata from a file; see `tablecloak.tabulate`.
    progress : callable, optional
        Called with stage, loss, bound and what is still open.

    Returns
    -------
    JobResult
        Each release has been verified by its certificate and audited as a stranger would. One
        made by cell keys has been attacked, and of noise of records the risk has been measured.
    """
    job = job if isinstance(job, Job) else read_job(job)
    # Taken before the data are read, so that changes made while the job runs are noticed.
    fingerprint = "" if out is None else job.fingerprint()
    if out is not None:
        require_own_folder(out, RESULT)
    for name in job.output.formats:
        FORMATS[name].require()
    attempts = 1
    while True:
        try:
            return _run(job, out, engine, progress, fingerprint)
        except OvertakenError:
            if attempts == ATTEMPTS:
                raise
            attempts += 1


ATTEMPTS = 5
"""Most searches of a job while others enter releases that share cells with it. Chosen."""


def _run(
    job: Job, out: str | Path | None, engine: str, progress: Progress | None, fingerprint: str
) -> JobResult:
    """Protect and audit, write both folders, and enter the release in the register."""
    registered = job.registered
    last = 0 if registered is None else Register(registered.folder).last
    with using_solver(job.solver):
        material = replace(load_data(job, engine), progress=progress)
        _tell(progress, "adding up records" if job.data.kind == "microdata" else "reading")
        if job.transmission is not None:
            job.transmission.check(material.problem, job.every_rule)
        result = protected(job.ways, material, job.attackers)
    if out is not None:
        out = Path(out)
        _tell(progress, "writing files")
        # What was searched for minutes is not lost by a Ctrl-C that comes while it is written.
        with Budget.of().undisturbed(), replacing_folder(out) as folder:
            write_results(job, result, folder, fingerprint)
            if registered is not None and result.is_safe:
                # Before the results are seen: what is killed in between is entered, but unknown.
                ((name, product),) = result.products.items()
                content = _entered(product, material)
                further = besides(material.variables, job.derived)
                files = sorted((folder / "release").iterdir())
                entry = enter_release(
                    job, job.title or name, *content, files, besides=further, after=last
                )
                result.entries.append(entry)
        result.files[:] = [out / path.relative_to(folder) for path in result.files]
    return result


def _tell(progress: Progress | None, stage: str) -> None:
    """Report work of which there are no figures."""
    if progress is not None:
        progress(stage, math.inf, -math.inf, 0)


def enter_release(
    job: Job,
    title: str,
    problem: ProtectionProblem,
    ends: tuple[Floats, Floats],
    is_bounded: bool,
    files: Sequence[Path],
    *,
    besides: Sequence[str],
    after: int,
) -> Entry:
    """Enter a release of a job with a section ``[register]``.

    Other parameters are as of `Register.enter`.

    Parameters
    ----------
    besides : sequence of str
        What the release tells besides its cells, as `tablecloak.publish.besides.besides` says.
    """
    registered = job.registered
    assert registered is not None
    entry = Entry(
        kind="release",
        title=title,
        receiver=registered.receiver,
        series=job.series,
        only=restriction(job.data.only),
        is_bounded=is_bounded,
        besides=tuple(besides) or None,
    )
    return Register(registered.folder).enter(entry, problem, ends, files, after=after)


def _entered(
    product: Product, material: Material
) -> tuple[ProtectionProblem, tuple[Floats, Floats], bool]:
    """Return the table that the register keeps, with its figures, and what is told of each cell.

    Cells of other releases, which the search knew, are not part of it.
    """
    way, release, problem = product.way, product.release, material.problem
    figures, hidden, joint = problem.table.figures, way.hidden(release), way.searched(release)
    if not figures or hidden is None or joint is None:
        return problem, *known_ends(problem, told_by_result(problem, way, release))
    given = any(figure.needs_contributions for figure in figures)
    contributions = material.contributions() if given else None
    problem = with_derived(problem, figures, contributions=contributions)
    searched = pd.MultiIndex.from_frame(joint.table.keys)
    places = searched.get_indexer(pd.MultiIndex.from_frame(problem.table.keys))
    return problem, problem.ends(hidden[places]), True


def protected(
    ways: Mapping[str, Protection], material: Material, attackers: Attackers
) -> JobResult:
    """Protect in each way that is asked for, and audit what that gives.

    All that a way reads is read before any search starts. If a way finds no release, those of the
    others are kept.

    Raises
    ------
    ModelError, SolverError
        If none of the ways gives a release.
    """
    searches = {name: way.prepare(material) for name, way in ways.items()}
    result, errors = JobResult(material, {}), list[TablecloakError]()
    for name, search in searches.items():
        history = History(material.progress)
        try:
            release = search(progress=history)
        except (ModelError, SolverError) as error:
            result.failures[name] = str(error)
            errors.append(error)
        else:
            audit = ways[name].audited(release, material, attackers)
            result.products[name] = Product(release, audit, history)
    if not result.products:
        raise errors[0]
    return result
