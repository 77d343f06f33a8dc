"""The two folders of results of a job."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from tablecloak.certificates.claim import Certificate
from tablecloak.certificates.file import write_certificate
from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.jobs.files import JobFiles, ReleaseWriter
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import Job
from tablecloak.publish.publication import write_release
from tablecloak.render.page import Page
from tablecloak.render.report import Finding, internal_report
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.waivers_saved import saved_by_waivers
from tablecloak.tables.formats import write_problem

__all__ = ["write_results"]


def write_results(job: Job, result: JobResult, out: Path, fingerprint: str) -> None:
    """Write both folders, and add their files to those of the result.

    Parameters
    ----------
    job : Job
    result : JobResult
        What cannot be released is noted in it.
    out : Path
        An empty folder.
    fingerprint : str
        That of the job when its data were read.
    """
    files = JobFiles(out, result.files, result.withheld)
    files.begin()
    if result.pattern is not None and result.pattern_audit is not None:
        files.release("suppression", _written(job, result.pattern))
        files.secret("suppression_statuses.csv", result.pattern.to_frame())
        files.secret("suppression_audit.csv", result.pattern_audit.to_frame())
        if result.pattern.before is not None:
            files.secret("suppression_published_before.csv", result.pattern.before.to_frame())
            files.written("suppression_problem.jj", partial(write_problem, result.pattern.problem))
        if result.pattern.insiders is not None and result.pattern.insiders.open:
            files.secret("suppression_insiders.csv", result.pattern.insiders.to_frame())
        if result.pattern_audit.is_safe:
            proof = _proof(result.pattern, result.pattern_audit)
            files.written("suppression_certificate.npz", partial(write_certificate, proof))
            if job.transmission is not None:
                files.written("transmission.csv", partial(_transmitted, job, result.pattern))
    if result.adjustment is not None and result.adjustment_audit is not None:
        files.release("adjustment", _written(job, result.adjustment))
        files.secret("adjustment_changes.csv", result.adjustment.to_frame())
        files.secret("adjustment_audit.csv", result.adjustment_audit.to_frame())
        files.written("adjustment_certificate.npz", partial(write_certificate, result.adjustment))
    waivers = _waivers(job, result)
    if waivers is not None:
        files.secret("waivers.csv", waivers)
    files.written("problem.csv", partial(write_problem, result.problem))
    files.written("problem.jj", partial(write_problem, result.problem))
    files.state(fingerprint, result.is_safe, result.summary())
    if job.output.report:
        files.written("report.html", _report(job, result, waivers).write)


def _proof(pattern: SuppressionPattern, audit: Audit) -> Certificate:
    """Return the audit's own proof, which covers all insiders that it tried.

    Where it tried none, the proof of the search covers those against whom the pattern holds.
    """
    if pattern.insiders is not None and not audit.intruders:
        return Certificate(pattern.problem, pattern.certificates)
    protection = audit.certificate().certificates[0]
    return Certificate(pattern.problem, pattern.claims_beside(protection))


def _transmitted(job: Job, pattern: SuppressionPattern, path: Path) -> None:
    """Write what another authority is sent. Secret: it holds the hidden values."""
    assert job.transmission is not None
    job.transmission.write(pattern.problem, pattern.suppressed, job.every_rule, path)


def _written(job: Job, found: SuppressionPattern | Adjustment) -> ReleaseWriter:
    return partial(
        write_release, found, title=job.title, formats=job.output.formats,
        report=job.output.report, layout=job.output.laid_out,
    )  # fmt: skip


def _waivers(job: Job, result: JobResult) -> pd.DataFrame | None:
    """Return what each waiver saves, in each variable; None where nobody could waive. Secret."""
    if not (job.data.waiver or job.data.waiver_p):
        return None
    pattern, first, frames = result.pattern, 0, []
    for alone, problem in zip(job.alone, result.parts, strict=True):
        last = first + problem.table.n_cells
        hidden = None if pattern is None else pattern.suppressed[first:last]
        frames.append(saved_by_waivers(problem, alone.rules, hidden))
        first = last
    if not job.variables:
        return frames[0]
    return pd.concat(frames, keys=job.variables, names=["variable"]).reset_index("variable")


def _report(job: Job, result: JobResult, waivers: pd.DataFrame | None) -> Page:
    """Return the internal report. Secret: it shows true values and sensitive cells."""
    findings = [
        Finding(release, found, result.histories.get(name))
        for name, release, found in (
            ("suppression", result.pattern, result.pattern_audit),
            ("adjustment", result.adjustment, result.adjustment_audit),
        )
        if release is not None
    ]
    return internal_report(
        job.title or result.problem.table.name,
        result.problem,
        findings,
        waivers=waivers,
        settings={"seed": job.seed}
        | {f"no {name}": why for name, why in result.failures.items()}
        | {f"withheld {name}": why for name, why in result.withheld.items()},
        source=job.source,
    )
