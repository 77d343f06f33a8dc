"""Jobs for records: methods one after the other, from one file.

``release/`` holds the protected records, ``internal/`` the report on them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tablecloak.errors import InputError
from tablecloak.jobs.faults import LISTS, in_words
from tablecloak.jobs.files import RESULT, JobFiles
from tablecloak.jobs.record_files import RecordFiles
from tablecloak.microdata.assessment import Assessment, assess
from tablecloak.microdata.assessment_report import write_report
from tablecloak.microdata.chain import Chain, ChainRelease
from tablecloak.microdata.methods.method import METHODS, Columns, Method, Release
from tablecloak.registered import Section, SiblingIn
from tablecloak.storage import existing_file, replacing_folder, require_own_folder
from tablecloak.tables.formats import record_endings
from tablecloak.toml_file import read_toml


class _Part(Section, BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)


class RecordsSpec(_Part):
    """``[data]`` of a job for records."""

    file: Path


class ReportSpec(_Part):
    """``[report]`` of a job for records: what an intruder may know, as in `assess`."""

    keys: list[str] | None = None
    numbers: list[str] | None = None
    sensitive: list[str] = []
    weight: str | None = None
    household: str | None = None


class WrittenSpec(_Part):
    """``[output]`` of a job for records."""

    keep_order: bool = False


class StepsJob(_Part):
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
        with existing_file(self.data.file).open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
        return digest.hexdigest()


LISTS["steps"] = ("method", METHODS)

SECTIONS: dict[str, type[BaseModel]] = {
    "data": RecordsSpec,
    "report": ReportSpec,
    "output": WrittenSpec,
}
"""The model of each section of a job for records."""


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
        raw["steps"] = [_with_paths(each, path.parent) for each in raw["steps"]]
    try:
        job = StepsJob.model_validate(raw)
    except ValidationError as error:
        raise InputError(in_words(path, text, error, StepsJob, SECTIONS)) from None
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
        records = RecordFiles(existing_file(job.data.file), output, job.output.keep_order, job.seed)
        found: list[Assessment] = []
        release = records.protect(method, partial(_report, job, files, found))
        assert isinstance(release, ChainRelease)
        written.append(output)
        files.state(fingerprint, not release.notes, release.summary())
    return StepsResult(release, found[0], [out / each.relative_to(folder) for each in written])


def _report(
    job: StepsJob,
    files: JobFiles,
    found: list[Assessment],
    original: pd.DataFrame,
    released: pd.DataFrame,
    release: Release,
    columns: Columns,
) -> None:
    """Measure the release and write the report; the assessment is added to `found`."""
    asked = job.report
    assessment = assess(
        original,
        released,
        keys=columns.keys if asked.keys is None else asked.keys,
        numbers=asked.numbers,
        sensitive=asked.sensitive,
        weight=asked.weight,
        household=asked.household or columns.unit,
    )
    found.append(assessment)
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
        summary=release.summary(),
        parameters=steps,
        assessment=assessment,
    )
    files.written("report.html", write)


def _in_words(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value}" for name, value in parameters.items() if value not in (None, (), [], {})
    )


def _with_paths(step: Any, folder: Path) -> Any:
    """Return a step in which texts that name a file beside the job file are its path."""
    if isinstance(step, Mapping):
        return {name: _with_paths(value, folder) for name, value in step.items()}
    if isinstance(step, str) and "." in step and (folder / step).is_file():
        return str(folder / step)
    return step


def _ending(path: Path) -> str:
    """Return the ending of a file's name by which its format is known."""
    name = path.name.lower()
    known = [ending for ending in record_endings() if name.endswith(ending)]
    return max(known, key=len, default=path.suffix)
