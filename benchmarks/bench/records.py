"""Stored results: one line of JSON for each run, with everything needed to repeat it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tablecloak import __version__
from tablecloak.errors import InputError
from tablecloak.storage import write_text

__all__ = [
    "Record",
    "Source",
    "add_records",
    "commit_of",
    "latest",
    "read_records",
    "source_here",
]

PACKAGES = ("highspy", "numpy", "scipy", "pulp", "pyscipopt", "duckdb")
"""Packages whose version can change the figures."""


MEASURED = (":/src", ":/benchmarks/*.py")
"""Files of the repository that can change figures."""


@dataclass(frozen=True)
class Source:
    """The origin of figures; an entry that nobody wrote down is empty.

    Parameters
    ----------
    machine : str
        Processor, number of cores, system.
    versions : str
    commit : str
        Ends in "+" if files were changed after this commit.
    command : str
    date : str
        Day, as in 2026-11-23.
    """

    machine: str = ""
    versions: str = ""
    commit: str = ""
    command: str = ""
    date: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether figures from here can be measured again."""
        return all(asdict(self).values())


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of one run.

    Parameters
    ----------
    claim, instance, method : str
    limit : float or None
        Seconds; None if there was none.
    seed : int or None
        None if nobody wrote it down.
    clock : {"processor", "wall", ""}
    figures : dict
    cpu_seconds, peak_mib : float or None
        CPU time and peak memory of the process and those it started; None if nobody wrote it down.
    source : Source
    seconds : float, optional
        Seconds of the wall for the same process.
    """

    claim: str
    instance: str
    method: str
    limit: float | None
    seed: int | None
    clock: str
    figures: dict[str, Any]
    cpu_seconds: float | None
    peak_mib: float | None
    source: Source
    seconds: float | None = None

    @property
    def key(self) -> tuple[str, str, str, float | None]:
        """The question; it may have been answered at several commits."""
        return self.claim, self.instance, self.method, self.limit


def read_records(path: Path) -> list[Record]:
    """Return the records of a file, oldest first; none if there is no file.

    Raises
    ------
    InputError
        If a line is not a record; the message names the line.
    """
    found = []
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            found.append(Record(**{**told, "source": Source(**told["source"])}))
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}, line {number}: not a stored result ({error}).") from None
    return found


def add_records(path: Path, records: Iterable[Record]) -> None:
    """Add records to a file.

    For each question the last answer is kept, and the last one from an earlier commit, so that both
    can be compared.
    """
    kept: dict[tuple[Any, ...], list[Record]] = {}
    for record in [*read_records(path), *records]:
        before = [r for r in kept.get(record.key, []) if r.source.commit != record.source.commit]
        kept[record.key] = [*before[-1:], record]
    lines = [json.dumps(asdict(r), ensure_ascii=False) for group in kept.values() for r in group]
    write_text(path, "".join(f"{line}\n" for line in lines))


def latest(records: Sequence[Record]) -> list[Record]:
    """Return the last record of each question, of those that say where they come from."""
    return list({record.key: record for record in records if record.source.is_complete}.values())


def source_here(command: str) -> Source:
    """Return what is known of this machine and this installation; see `commit_of` for the rest.

    Of absolute paths in the command only the last name is kept: it says nothing of the machine.
    """
    words = [Path(word).name if Path(word).is_absolute() else word for word in command.split(" ")]
    return Source(
        _machine(), _versions(), command=" ".join(words), date=f"{datetime.now(UTC):%Y-%m-%d}"
    )


def commit_of(apart: Iterable[str]) -> str:
    """Return the last commit that changed the benchmarks, or the package but for some parts.

    Results that are committed while others are still measured, and the docs, change neither. It
    ends in "+" if such files were changed after it.

    Parameters
    ----------
    apart : iterable of str
        Parts of the package that the figures do not depend on.
    """
    files = [*MEASURED, *(f":(top,exclude)src/tablecloak/{part}" for part in apart)]
    commit = _git("log", "-1", "--format=%h", "--abbrev=7", "--", *files)
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", *files)
    return commit + "+" * bool(changed)


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def _machine() -> str:
    processor = platform.processor() or platform.machine()
    told = Path("/proc/cpuinfo")
    if told.exists():
        names = [line for line in told.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].partition(":")[2].strip() if names else processor
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}"


def _versions() -> str:
    # What an editable install once noted may be older than the code that runs.
    found = [f"Python {platform.python_version()}", f"tablecloak {__version__}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
