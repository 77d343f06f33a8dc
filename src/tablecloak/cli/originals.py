"""The true problem of a command: a file, or a job from whose data it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tablecloak.errors import InputError

if TYPE_CHECKING:
    from tablecloak.jobs.schema import Job
    from tablecloak.tables.problem import ProtectionProblem
    from tablecloak.tables.rules.rule import Rule


def read_original(
    path: Path, tolerance: float, *, groups: bool
) -> tuple[ProtectionProblem, Sequence[Rule]]:
    """Return the problem of a file; if `groups`, also the rules of the job for sums of cells.

    Raises
    ------
    InputError
        If the rules are asked for, and the file is no job or has none that applies to sums.
    """
    problem, job = _read(path, tolerance)
    rules = job.group_rules if groups and job is not None else ()
    if groups and not rules:
        from tablecloak.tables.sums import rules_for_sums

        raise InputError(
            f"{path}: --groups needs a job (.toml) with a rule that applies to sums of cells: "
            f"{rules_for_sums()}. Name such a job, or leave --groups out."
        )
    return problem, rules


def read_original_as_asked(
    path: Path, tolerance: float
) -> tuple[ProtectionProblem, list[Rule], list[str]]:
    """Return the problem of a file; of a job also its rules, and its insiders by name."""
    problem, job = _read(path, tolerance)
    if job is None:
        return problem, [], []
    from tablecloak.jobs.load import material_of

    material = material_of(job, problem)
    insiders = [name for way in job.ways.values() for name in way.protects_against(material)]
    return problem, job.rules, list(dict.fromkeys(insiders))


def _read(path: Path, tolerance: float) -> tuple[ProtectionProblem, Job | None]:
    from tablecloak.jobs.job_file import read_job
    from tablecloak.jobs.load import load_problem
    from tablecloak.tables.formats import read_problem

    if path.suffix == ".toml":
        job = read_job(path)
        return load_problem(job), job
    return read_problem(path, tolerance=tolerance), None
