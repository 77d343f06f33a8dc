"""The two folders of results of a job."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from tablecloak.certificates.claim import Certificate
from tablecloak.certificates.file import write_certificate
from tablecloak.cta.adjustment import Adjustment
from tablecloak.errors import TablecloakError
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import Job
from tablecloak.publish.publication import write_release
from tablecloak.render.page import Page
from tablecloak.render.report import Finding, internal_report
from tablecloak.storage import write_text
from tablecloak.suppression.audit.audit import Audit
from tablecloak.suppression.pattern import SuppressionPattern
from tablecloak.tables.formats import write_frame, write_problem

__all__ = ["RESULT", "write_results"]

RESULT = "result.json"
"""Internal file that says how a job went, and of which inputs its results are."""


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
    files = _Files(job, result, out)
    # Made even if nothing is released, so that releases of an older run are removed.
    (out / "release").mkdir()
    files.internal.mkdir(parents=True, exist_ok=True)
    files.internal.chmod(0o700)
    if result.pattern is not None and result.pattern_audit is not None:
        files.release("suppression", result.pattern)
        files.secret("suppression_statuses.csv", result.pattern.to_frame())
        files.secret("suppression_audit.csv", result.pattern_audit.to_frame())
        if result.pattern.insiders is not None and result.pattern.insiders.open:
            files.secret("suppression_insiders.csv", result.pattern.insiders.to_frame())
        if result.pattern_audit.is_safe:
            proof = _proof(result.pattern, result.pattern_audit)
            files.written("suppression_certificate.npz", partial(write_certificate, proof))
    if result.adjustment is not None and result.adjustment_audit is not None:
        files.release("adjustment", result.adjustment)
        files.secret("adjustment_changes.csv", result.adjustment.to_frame())
        files.secret("adjustment_audit.csv", result.adjustment_audit.to_frame())
        files.written("adjustment_certificate.npz", partial(write_certificate, result.adjustment))
    files.secret("problem.csv", result.problem.to_frame())
    files.written("problem.jj", partial(write_problem, result.problem))
    state = {"fingerprint": fingerprint, "is_safe": result.is_safe, "message": result.summary()}
    text = json.dumps(state, indent=2) + "\n"
    files.written(RESULT, lambda path: write_text(path, text, secret=True))
    if job.output.report:
        files.written("report.html", _report(job, result).write)


def _proof(pattern: SuppressionPattern, audit: Audit) -> Certificate:
    """Return the audit's own proof, which covers all insiders that it tried.

    Where it tried none, the proof of the search covers those against whom the pattern holds.
    """
    if pattern.insiders is not None and not audit.intruders:
        return Certificate(pattern.problem, pattern.certificates)
    protection = audit.certificate().certificates[0]
    return Certificate(pattern.problem, pattern.claims_beside(protection))


@dataclass(frozen=True)
class _Files:
    """Writes files of a job and records their paths."""

    job: Job
    result: JobResult
    out: Path

    @property
    def internal(self) -> Path:
        """Folder that may not be published."""
        return self.out / "internal"

    def written(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file of the internal folder; `write` sees to it that only its owner reads it."""
        write(self.internal / name)
        self.result.files.append(self.internal / name)

    def secret(self, name: str, content: pd.DataFrame) -> None:
        """Write a frame into the internal folder."""
        self.written(name, lambda path: write_frame(content, path, secret=True))

    def release(self, method: str, found: SuppressionPattern | Adjustment) -> None:
        """Write what may be published of one method, or say why it is withheld."""
        folder = self.out / "release" / method
        try:
            written = write_release(
                found,
                folder,
                title=self.job.title,
                formats=self.job.output.formats,
                report=self.job.output.report,
                withheld=self.internal / "withheld" / method,
            )
        except TablecloakError as error:
            # The proofs are kept even if the files of the release are withheld.
            self.result.withheld[method] = str(error)
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self.result.files.extend(written)


def _report(job: Job, result: JobResult) -> Page:
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
        settings={"seed": job.seed}
        | {f"no {name}": why for name, why in result.failures.items()}
        | {f"withheld {name}": why for name, why in result.withheld.items()},
        source=job.source,
    )
