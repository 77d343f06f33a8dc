"""Jobs for records: methods one after the other, from one file.

``release/`` holds the protected records, ``internal/`` the report on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablecloak.errors import InputError
from tablecloak.jobs.job_file import JOB_KINDS, JobKind, in_words
from tablecloak.jobs.schema import HowRead
from tablecloak.jobs.write import RESULT, JobFiles
from tablecloak.microdata.assessment import Assessment, assess
from tablecloak.microdata.assessment_report import shown_parameters, write_report
from tablecloak.microdata.chain import Chain, ChainRelease
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.record_files import RecordFiles, WrittenRecords
from tablecloak.registered import Section, SiblingIn
from tablecloak.storage import (
    checksum,
    existing_file,
    replacing_folder,
    require_own_folder,
)
from tablecloak.tables.formats import FrameFormat, can_hold, record_endings
from tablecloak.toml_file import read_toml


class _RecordsPart(Section, BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)


class RecordsSpec(HowRead):
    """``[data]`` of a job for records."""

    file: Path


class ReportSpec(_RecordsPart):
    """``[report]`` of a job for records: what an intruder may know, as in `assess`."""

    keys: list[str] | None = None
    numbers: list[str] | None = None
    sensitive: list[str] = []
    weight: str | None = None
    household: str | None = None


class WrittenSpec(_RecordsPart):
    """``[output]`` of a job for records."""

    keep_order: bool = False
    drop: list[str] = []


class StepsJob(_RecordsPart):
    """All that a job file with ``[[steps]]`` says; see docs/job-file.md."""

    title: str = ""
    seed: int | None = Field(None, ge=0)
    data: RecordsSpec
    steps: list[Annotated[Method[Any], SiblingIn(METHODS, "method")]] = Field(min_length=1)
    report: ReportSpec = ReportSpec()
    output: WrittenSpec = WrittenSpec()

    def fingerprint(self, text: str) -> str:
        """Return a hash of all that the results depend on, given the text of the job file."""
        digest = hashlib.sha256(f"{version('tablecloak')}\0{text}".encode())
        digest.update(bytes.fromhex(checksum(existing_file(self.data.file))))
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class StepsResult:
    """What a job for records gave.

    Parameters
    ----------
    release : ChainRelease
    assessment : Assessment
        Risk before and after, and utility.
    files : list of Path
        All files that were written.
    """

    release: ChainRelease
    assessment: Assessment
    files: list[Path] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the steps could not do."""
        return self.release.notes

    def lines(self) -> Iterator[str]:
        """Say what each step did, and what risk is left."""
        for number, step in enumerate(self.release.steps, start=1):
            yield f"step {number}:  {step.summary()}"
        yield self.assessment.summary()

    def summary(self) -> str:
        """Return the summaries of all steps in one line."""
        return self.release.summary()


def read_steps(path: str | Path) -> StepsJob:
    """Read a job file with ``[[steps]]``. Paths in it are relative to the file.

    Raises
    ------
    InputError
        Names file, line, key and remedy.
    """
    path = Path(path)
    text, raw = read_toml(path)
    if isinstance(raw.get("steps"), list):
        raw["steps"] = [_with_paths(step, path.parent) for step in raw["steps"]]
    try:
        job = StepsJob.model_validate(raw)
    except ValidationError as error:
        raise InputError(in_words(path, text, error, StepsJob)) from None
    job.data.file = path.parent / job.data.file
    return job


def run_steps(path: str | Path, out: str | Path) -> StepsResult:
    """Protect the records of a job by its steps, and write both folders.

    Parameters
    ----------
    path : str or Path
        Job file with ``[[steps]]``.
    out : str or Path
        Folder for ``release/`` and ``internal/``.

    Raises
    ------
    InputError
        If the job is wrong, or records cannot be read or protected.
    """
    path, out = Path(path), Path(out)
    job = read_steps(path)
    fingerprint = job.fingerprint(read_toml(path)[0])
    require_own_folder(out, RESULT)
    method = Chain(job.steps)
    with replacing_folder(out) as folder:
        written: list[Path] = []
        files = JobFiles(folder, written, {})
        files.begin()
        output = folder / "release" / f"records{_ending(job.data.file)}"
        source = job.data.of(existing_file(job.data.file))
        records = RecordFiles(
            source, output, job.output.keep_order, job.seed, tuple(job.output.drop)
        )
        assessments: list[Assessment] = []
        made = records.protect(method, partial(_report, job, files, assessments))
        release = made.release
        assert isinstance(release, ChainRelease)
        written.append(output)
        # Only a release that can be checked promises something.
        promises = any(hasattr(step, "verify") for step in release.steps)
        is_safe = False if release.notes or made.warnings else promises or None
        files.state(fingerprint, is_safe, made.summary())
    return StepsResult(release, assessments[0], [out / p.relative_to(folder) for p in written])


def _report(
    job: StepsJob,
    files: JobFiles,
    assessments: list[Assessment],
    original: pd.DataFrame,
    released: pd.DataFrame,
    made: WrittenRecords,
    columns: Columns,
) -> None:
    """Measure the release and write the report; the assessment is added to `assessments`."""
    settings = job.report
    assessment = assess(
        original,
        released,
        keys=columns.keys if settings.keys is None else settings.keys,
        numbers=settings.numbers,
        sensitive=settings.sensitive or columns.sensitive,
        weight=settings.weight or columns.weight,
        household=settings.household or columns.unit,
    )
    assessments.append(assessment)
    files.secret("assessment.csv", assessment.to_frame())
    steps = {
        f"step {number} ({step.name})": _in_words(step.get_params())
        for number, step in enumerate(job.steps, start=1)
    }
    write = partial(
        write_report,
        original=original,
        released=released,
        title=job.title or job.data.file.name,
        summary=made.summary(),
        parameters=steps,
        assessment=assessment,
    )
    files.written("report.html", write)


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in shown_parameters(parameters).items())


def _with_paths(step: Any, folder: Path) -> Any:
    """Return a step in which texts that name a file beside the job file are its path."""
    if isinstance(step, Mapping):
        return {name: _with_paths(value, folder) for name, value in step.items()}
    if isinstance(step, str) and "." in step and (folder / step).is_file():
        return str(folder / step)
    return step


def _ending(path: Path) -> str:
    """Return the ending of a file's name by which its format is known; CSV for one only read."""
    if not can_hold(path, FrameFormat):
        return ".csv"
    name = path.name.lower()
    endings = [ending for ending in record_endings() if name.endswith(ending)]
    return max(endings, key=len, default=path.suffix)


@JOB_KINDS.register
class Steps(JobKind):
    """Methods for records, one after the other."""

    name: ClassVar[str] = "steps"
    guide: ClassVar[str] = (
        "protects records, step by step, not a table. Run it alone with `tablecloak protect`."
    )
    run = staticmethod(run_steps)
