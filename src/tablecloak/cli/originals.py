"""The true problem of a command: a file, or a job from whose data it is computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tablecloak.jobs.schema import Job
    from tablecloak.tables.problem import ProtectionProblem
    from tablecloak.tables.rules.rule import Rule

__all__ = ["read_original", "read_original_as_asked"]


def read_original(path: Path, tolerance: float) -> tuple[ProtectionProblem, list[Rule]]:
    """Return the problem of a file, and the rules of a job that apply to sums of cells."""
    problem, job = _read(path, tolerance)
    return problem, [] if job is None else job.group_rules


def read_original_as_asked(
    path: Path, tolerance: float
) -> tuple[ProtectionProblem, list[Rule], list[str]]:
    """Return the problem of a file; of a job also its rules, and its insiders by name."""
    problem, job = _read(path, tolerance)
    if job is None:
        return problem, [], []
    from tablecloak.jobs.run import insiders_of

    return problem, job.rules, insiders_of(job, problem)


def _read(path: Path, tolerance: float) -> tuple[ProtectionProblem, Job | None]:
    from tablecloak.jobs.load import load_problem, read_job
    from tablecloak.tables.formats import read_problem

    if path.suffix == ".toml":
        job = read_job(path)
        return load_problem(job), job
    return read_problem(path, tolerance=tolerance), None
