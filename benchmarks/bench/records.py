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

__all__ = ["Record", "Source", "add_records", "latest", "read_records", "source_here"]

NOT_RECORDED = "not recorded"

PACKAGES = ("highspy", "numpy", "scipy", "pulp", "pyscipopt")
"""Packages whose version can change the figures."""


@dataclass(frozen=True)
class Source:
    """The origin of figures; "not recorded" for an entry that nobody wrote down.

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

    machine: str = NOT_RECORDED
    versions: str = NOT_RECORDED
    commit: str = NOT_RECORDED
    command: str = NOT_RECORDED
    date: str = NOT_RECORDED


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of one run.

    Parameters
    ----------
    claim, instance, method : str
    limit : float or None
        Seconds; None if there was none.
    seed : int or None
        None if it was not recorded.
    clock : str
        "processor", "wall", or "not recorded".
    figures : dict
    cpu_seconds, peak_mib : float or None
        CPU time and peak memory of the process and those it started; None if not recorded.
    source : Source
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


def latest(records: Sequence[Record]) -> dict[tuple[Any, ...], list[Record]]:
    """Return the records of each question, the latest first."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        found[record.key] = [record, *found.get(record.key, [])]
    return found


def source_here(command: str) -> Source:
    """Return what is known of this machine, this installation and this commit.

    Of absolute paths in the command only the last name is kept: it says nothing of the machine.
    """
    commit = _git("rev-parse", "--short=7", "HEAD") or NOT_RECORDED
    changed = "+" if _git("status", "--porcelain", "--untracked-files=no", "--", "src") else ""
    words = [Path(word).name if Path(word).is_absolute() else word for word in command.split(" ")]
    return Source(
        _machine(), _versions(), commit + changed, " ".join(words), f"{datetime.now(UTC):%Y-%m-%d}"
    )


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
