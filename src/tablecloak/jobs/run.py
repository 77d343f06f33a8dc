"""A whole job from one file: data, dimensions, rules, methods, and two folders of results.

``release/`` holds what may be published: one folder for each method, alternatives of which only
one may be published. ``internal/`` (readable by the owner only) holds the true table, statuses,
intervals, certificates and the report.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tablecloak.budget import Budget, Progress
from tablecloak.cta.adjust import adjust
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.cta.result.decimals import in_decimals
from tablecloak.cta.search.conditions import SearchedStatistic
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.statistics.preserve import parse
from tablecloak.errors import InputError, ModelError, SolverError
from tablecloak.history import History
from tablecloak.jobs.files import RESULT
from tablecloak.jobs.load import Loaded, load_data, read_job
from tablecloak.jobs.noisy import NoisyResult, noisy, write_noisy
from tablecloak.jobs.perturbed import PerturbedResult, perturbed, write_perturbed
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import AdjustmentSpec, Job
from tablecloak.jobs.write import write_results
from tablecloak.publish.adjusted_audit import AdjustedAudit
from tablecloak.publish.audit import audit
from tablecloak.solve.solver import using_solver
from tablecloak.storage import replacing_folder, require_own_folder
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.hold import Hold
from tablecloak.suppression.attack.intruder import INTRUDERS, usual_intruders
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.suppress import suppress
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.formats import FORMATS
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.sums import Groups

__all__ = ["insiders_of", "run_job"]

ROUNDING = 0.1
"""Least share of the time limit of an adjustment for rounding it to the digits of the table.

Nothing can be published without rounding, so that time is kept for it even where the search uses up
its own. See docs/decisions.md.
"""


def run_job(
    job: Job | str | Path,
    out: str | Path | None = None,
    *,
    engine: str = "duckdb",
    progress: Progress | None = None,
) -> JobResult | PerturbedResult | NoisyResult:
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
    JobResult, PerturbedResult or NoisyResult
        Each release has been verified by its certificate and audited as a stranger would; a
        `PerturbedResult` of a job with a section ``[perturbation]`` has been attacked, and of a
        `NoisyResult` of a job with a section ``[noise]`` the risk has been measured.
    """
    job = job if isinstance(job, Job) else read_job(job)
    # Taken before the data are read, so that changes made while the job runs are noticed.
    fingerprint = "" if out is None else job.fingerprint()
    if out is not None:
        require_own_folder(out, RESULT)
    for name in job.output.formats:
        FORMATS[name].require()
    with using_solver(job.solver):
        result: JobResult | PerturbedResult | NoisyResult
        if job.perturbation is not None:
            result = perturbed(job, job.perturbation, engine, progress)
        elif job.noise is not None:
            result = noisy(job, job.noise, engine)
        else:
            result = _done(job, load_data(job, engine), progress)
    if out is not None:
        out = Path(out)
        with replacing_folder(out) as folder:
            if isinstance(result, PerturbedResult):
                write_perturbed(job, result, folder, fingerprint)
            elif isinstance(result, NoisyResult):
                write_noisy(job, result, folder, fingerprint)
            else:
                write_results(job, result, folder, fingerprint)
        result.files[:] = [out / path.relative_to(folder) for path in result.files]
    return result


def _done(job: Job, loaded: Loaded, progress: Progress | None) -> JobResult:
    """Protect the table by each method that the job asks for, and audit what they give."""
    if job.transmission is not None:
        job.transmission.check(loaded.problem, job.every_rule)
    histories = {name: History(progress) for name in ("suppression", "adjustment")}
    failures: dict[str, str] = {}
    pattern = _suppressed(job, loaded, histories["suppression"])
    try:
        adjusted = _adjusted(job, loaded, histories["adjustment"])
    except (ModelError, SolverError) as error:
        # The result of the other method is kept.
        if pattern is None:
            raise
        adjusted, failures = None, {"adjustment": str(error)}
    return JobResult(
        problem=loaded.problem,
        parts=loaded.parts,
        pattern=pattern,
        pattern_audit=_audited(job, _problem_of(loaded, pattern), pattern, Audit),
        adjustment=adjusted,
        adjustment_audit=_audited(job, loaded.problem, adjusted, AdjustedAudit),
        files=[],
        histories=histories,
        failures=failures,
    )


def _problem_of(loaded: Loaded, pattern: SuppressionPattern | None) -> ProtectionProblem:
    """Return the problem by which a pattern is judged: with earlier releases, unfrozen cells."""
    if pattern is None or (pattern.before is None and pattern.unfrozen is None):
        return loaded.problem
    return pattern.problem


def _suppressed(job: Job, loaded: Loaded, progress: Progress) -> SuppressionPattern | None:
    options = job.suppression
    if options is None:
        return None
    pattern = suppress(
        loaded.to_suppress,
        method=options.method,
        require=options.require,
        weights=None if options.cost else options.weights,
        protect_against=insiders_of(job, loaded.problem),
        hold=options.hold,
        unfreeze=options.unfreeze,
        published=loaded.published or (),
        previous=loaded.previous,
        discount=options.discount,
        time_limit=options.time_limit,
        seed=job.seed,
        threads=job.threads,
        progress=progress,
        groups=_groups(job, loaded.problem) or (),
    )
    told, rules = pattern.insiders, job.group_rules
    if told is None or not rules or loaded.problem.table.contributions is None:
        return pattern
    return replace(pattern, insiders=replace(told, groups=told.counted(rules)))


def _groups(job: Job, problem: ProtectionProblem) -> Groups | None:
    """Return which sums of hidden cells the job protects.

    Raises
    ------
    InputError
        If the job asks for it, and the data have no contributors.
    """
    options, table = job.suppression, problem.table
    if options is None or not options.groups:
        return None
    if table.contributions or table.holdings:
        given = job.protection
        return Groups(job.group_rules, floor=given.floor, lower_factor=given.lower_factor)
    raise InputError(
        "[suppression] groups = true needs contributors of each cell, which the data do not have. "
        "Leave it out, or tabulate from records."
    )


def insiders_of(job: Job, problem: ProtectionProblem) -> list[str]:
    """Return the insiders against whom the suppression is to hold, as firmly as the job says.

    Raises
    ------
    InputError
        If it must hold against contributors, and the data do not tell who contributed what.
    """
    options = job.suppression
    if options is None or not Hold.parse(options.hold).is_asked:
        return []
    if options.protect_against:
        return list(options.protect_against)
    usual = usual_intruders(job.data.roles)
    if usual or "hold" not in options.model_fields_set:
        return usual
    # Without such a column each record is one contributor, as for the rules.
    names = usual_intruders(["contributor"])
    lacking = [why for name in names if (why := INTRUDERS.build(name).lacking(problem))]
    if lacking and Hold.parse(options.hold).is_strict:
        raise InputError(lacking[0])
    return [] if lacking else names


def _adjusted(job: Job, loaded: Loaded, progress: Progress) -> Adjustment | None:
    chosen = job.adjustment
    if chosen is None:
        return None
    budget = Budget.of(chosen.time_limit)
    whole = _whole(loaded.problem, chosen)
    found = adjust(
        loaded.to_adjust,
        weights=chosen.weights if loaded.cost is None else loaded.cost,
        preserve=chosen.preserve,
        distance=chosen.distance,
        sensitive_limit=chosen.sensitive_limit,
        integer=whole,
        repair=chosen.repair,
        recovery=chosen.recovery,
        # A seed that is the same in every job would be known to everybody.
        seed=job.seed if "seed" in job.model_fields_set else None,
        time_limit=chosen.time_limit,
        threads=job.threads,
        progress=progress,
    )
    # Audit and report refer to the table as it is published.
    return in_decimals(found, time_limit=budget.at_least(ROUNDING * chosen.time_limit).left)


def _whole(problem: ProtectionProblem, chosen: AdjustmentSpec) -> bool | None:
    """Whole numbers for a table of these; else the last digit of the table, where there is one."""
    if chosen.integer is not None:
        return chosen.integer
    # Such statistics are kept in real numbers, which are rounded to digits afterwards.
    searched = any(isinstance(each, SearchedStatistic) for each in parse(chosen.preserve))
    may_be_whole = DISTANCES[chosen.distance].has_whole_numbers and not searched
    return True if problem.table.integer and may_be_whole else None


def _audited(job: Job, problem: ProtectionProblem, found: Any, kind: type[Any]) -> Any:
    if found is None:
        return None
    pattern = isinstance(found, SuppressionPattern)
    require = found.requirement if pattern else Requirement.TWO_SIDED
    options = job.audit
    groups = job.group_rules if options.groups else []
    strict = job.suppression is not None and Hold.parse(job.suppression.hold).is_strict
    promised = insiders_of(job, problem) if strict else []
    intruders = list(dict.fromkeys([*options.intruders, *promised]))
    result = audit(
        # The problem of a pattern has the sums of hidden cells that it protects.
        found.problem if pattern else problem,
        found,
        require=require,
        intruders=intruders,
        groups=groups,
        time_limit=options.time_limit,
        seed=job.seed,
        threads=job.threads,
    )
    assert isinstance(result, kind)
    return result
