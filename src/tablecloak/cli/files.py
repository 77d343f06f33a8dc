"""Files that several commands read and write: true problems, earlier releases, results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tablecloak.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tablecloak.arrays import Flags
    from tablecloak.jobs.schema import Job
    from tablecloak.tables.changes.earlier_releases import Published
    from tablecloak.tables.problem import ProtectionProblem
    from tablecloak.tables.rules.rule import Rule


def read_original(path: Path, tolerance: float) -> tuple[ProtectionProblem, Job | None]:
    """Return the problem of a file, and the job if it is one."""
    from tablecloak.jobs.job_file import read_job
    from tablecloak.jobs.load import load_problem
    from tablecloak.tables.formats import read_problem

    if path.suffix == ".toml":
        job = read_job(path)
        return load_problem(job), job
    return read_problem(path, tolerance=tolerance), None


def read_with_group_rules(
    path: Path, tolerance: float, *, groups: bool
) -> tuple[ProtectionProblem, Sequence[Rule], Job | None]:
    """Return the problem of a file, the job if it is one, and if `groups` its rules for sums.

    Raises
    ------
    InputError
        If the rules are asked for, and the file is no job or has none that applies to sums.
    """
    problem, job = read_original(path, tolerance)
    rules = job.group_rules if groups and job is not None else ()
    if groups and not rules:
        from tablecloak.tables.sums import rules_for_sums

        raise InputError(
            f"{path}: --groups needs a job (.toml) with a rule that applies to sums of cells: "
            f"{rules_for_sums()}. Name such a job, or leave --groups out."
        )
    return problem, rules, job


def read_original_as_asked(
    path: Path, tolerance: float
) -> tuple[ProtectionProblem, list[Rule], list[str]]:
    """Return the problem of a file; of a job also its rules, and its insiders by name.

    Raises
    ------
    InputError
        If a job has earlier releases.
    """
    problem, job = read_original(path, tolerance)
    if job is None:
        return problem, [], []
    refuse_earlier(path, job)
    return problem, job.rules, insiders_of_job(problem, job)


def insiders_of_job(
    problem: ProtectionProblem, job: Job | None, *, required: bool = False
) -> list[str]:
    """Return the insiders of a job, or those alone against whom its releases must hold."""
    if job is None:
        return []
    from tablecloak.jobs.load import insiders_of

    return insiders_of(job, problem, required=required)


def note_idle(
    problem: ProtectionProblem, job: Job | None, attackers: Collection[str], why: str
) -> None:
    """Say which insiders of a job are not among the attackers of a command, and why."""
    idle = [name for name in insiders_of_job(problem, job) if name not in attackers]
    if idle:
        typer.echo(f"note: {', '.join(idle)} did not attack: {why}", err=True)


def levels_of(job: Job | None) -> dict[str, float]:
    """Return how the levels of sums follow from rules: as those of cells do in a job."""
    if job is None:
        return {}
    return {"floor": job.protection.floor, "lower_factor": job.protection.lower_factor}


def held_against(
    problem: ProtectionProblem, job: Job | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return against whom a pattern is to hold, and how: as typed, else as the job of it says."""
    typed = {name: asked[name] for name in ("protect_against", "hold") if name in asked}
    if job is None or "protect_against" in typed:
        return {"hold": "strict", **typed}
    from tablecloak.jobs.load import material_of
    from tablecloak.protection import usual_way

    way: Any = (job.suppression or usual_way()()).model_copy(update=typed)
    return {"hold": way.hold, "protect_against": way.protects_against(material_of(job, problem))}


def read_pattern(problem: ProtectionProblem, path: Path) -> Flags:
    """Return which cells a file hides; of other releases and figures in it the job knows itself.

    Raises
    ------
    InputError
        If it holds a value for every cell.
    """
    from tablecloak.publish.released_cells import read_release

    suppressed, _ = read_release(problem, path, of_table=True)
    if suppressed is None:
        raise InputError(
            f"{path}: has a value in every cell. Give a suppression pattern; releases of other "
            f"methods come from `tablecloak protect`, or from `tc.write_release` in Python."
        )
    return suppressed


Earlier = Annotated[
    list[str] | None,
    typer.Option(
        "--published",
        help="Earlier release that everybody has: its file, or FILE=PROBLEM with the true table of "
        "that time, if cells or hidden values were others; FILE=PROBLEM=PERIOD for another period, "
        "FILE=PROBLEM=PERIOD=rounding:5 for rounded values (PERIOD may be empty). Repeat.",
    ),
]
Between = Annotated[
    list[str] | None,
    typer.Option(
        "--between",
        help="Equation between releases, such as 'now = q1 + q2', where now is the new one and the "
        "others have the names of their files. Repeat.",
    ),
]


def refuse_earlier(path: Path, job: Job | None) -> None:
    """Refuse a job with earlier releases, for commands that look at one release alone.

    Raises
    ------
    InputError
    """
    if job is not None and (job.published or job.registered is not None):
        raise InputError(
            f"{path}: the job has earlier releases, which tell of its cells as well. This command "
            f"looks at one release alone: take `tablecloak protect` or `tablecloak audit`, or the "
            f"pages in the internal folder of the job."
        )


def read_earlier(
    problem: ProtectionProblem,
    given: Sequence[str] | None,
    between: Sequence[str] | None,
    job: Job | None = None,
) -> Published | tuple[()]:
    """Read the releases of a job and of ``--published``, and the equations of ``--between``.

    Raises
    ------
    InputError
        If two files have one name, or a file cannot be read.
    """
    from tablecloak.publish.released_cells import read_published
    from tablecloak.tables.changes.earlier_releases import Published
    from tablecloak.tables.formats import read_problem

    of_job = None
    if job is not None:
        from tablecloak.jobs.load import published_beside

        of_job = published_beside(job, problem)
    if not given and of_job is None:
        if between:
            raise InputError("--between needs the releases of --published. Add them.")
        return ()
    releases: dict[str, Any] = {**of_job.releases} if of_job else {}  # type: ignore[dict-item]
    periods = dict(of_job.periods) if of_job else {}
    for each in given or ():
        file, truth, period, made = (*each.split("="), "", "", "")[:4]
        name = Path(file).stem
        if name in releases:
            raise InputError(
                f"--published {each}: there is a release {name!r} already. Rename the file."
            )
        releases[name] = read_published(
            file,
            read_problem(truth) if truth else problem,
            revised=not truth,
            made=made or None,
        )
        if period:
            periods[name] = period
    equations = (*(of_job.equations if of_job else ()), *(between or ()))
    return Published(releases, equations, periods)


def require_writable_result(output: Path | None, *others: Path | None) -> None:
    """Refuse names under which nothing can be written, before work that may take long.

    Parameters
    ----------
    output : Path or None
        Must end like a format of rows and columns.
    *others : Path or None

    Raises
    ------
    InputError
        Names the file.
    """
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import FrameFormat, format_of

    require_writable(output, *others)
    if output is not None:
        format_of(output, FrameFormat)


def write_result(
    result: Any,
    frame: pd.DataFrame,
    output: Path,
    certificate: Path | None,
    *,
    secret: bool = False,
) -> None:
    """Write a release, and before it all proofs of it if they are asked for.

    Parameters
    ----------
    result : result
        What `tablecloak.certificates.file.write_certificate` accepts.
    frame : pandas.DataFrame
    output : Path
    certificate : Path or None
    secret : bool, default=False
        Whether the release is readable by its owner alone.
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.tables.formats import write_frame

    if certificate is not None:
        write_certificate(result, certificate)
    write_frame(frame, output, secret=secret)
