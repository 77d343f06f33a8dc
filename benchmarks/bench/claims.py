"""Claims that are measured, with their instances, methods, limits and figures.

A claim is a file with one constant in a folder of specifications, such as `benchmarks/claims` in
the repository. A new file there is found without any other change::

    CLAIM = Claim(
        name="suppression",
        title="Suppression on published tables",
        ...
    )
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.records import Record, commit_of
from tablecloak.errors import InputError, suggestion

__all__ = [
    "NOT_MEASURED",
    "Claim",
    "Column",
    "Figures",
    "Instance",
    "Method",
    "Setting",
    "chosen",
    "claims_in",
]

NOT_MEASURED = ("app", "argus", "cli", "contracts", "planning", "render", "service", "web")
"""Parts of the package that next to no figure depends on."""

Figures = dict[str, Any]
"""What a run measured: numbers, words or truth values by name."""


@dataclass(frozen=True)
class Setting:
    """The conditions of a run.

    Parameters
    ----------
    limit : float
        Time limit in seconds, by the clock of the run.
    seed : int, default=0
    folder : Path, optional
        Folder of the instances that are files.
    peers : str, optional
        Python interpreter in which the tools to compare with are installed.
    """

    limit: float
    seed: int = 0
    folder: Path | None = None
    peers: str | None = None


@dataclass(frozen=True)
class Instance:
    """A problem to measure methods on; it is built in the process that is measured.

    Parameters
    ----------
    name : str
    build : callable
        Builds the problem; takes no arguments.
    limits : sequence of float, optional
        Usual limits, if they differ from those of the claim.
    """

    name: str
    build: Callable[[], Any]
    limits: Sequence[float] = ()


@dataclass(frozen=True)
class Method:
    """A method that is measured.

    Parameters
    ----------
    name : str
    run : callable
        Takes what an instance builds, and a `Setting`; returns the figures.
    about : str
        Description of the method, in a phrase.
    limits : sequence of float, optional
        Usual limits, if they differ from those of the instance and the claim.
    """

    name: str
    run: Callable[[Any, Setting], Figures]
    about: str = ""
    limits: Sequence[float] = ()


@dataclass(frozen=True)
class Column:
    """A column of figures in the page of results.

    Parameters
    ----------
    figure : str
        Name of the figure.
    heading : str
    form : str, default=",g"
        How numbers are written, as in `format`.
    """

    figure: str
    heading: str
    form: str = ",g"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the project, and how it is measured.

    Parameters
    ----------
    name : str
        As on the command line.
    title, text : str
        Heading and first paragraph of its section in the page of results.
    said_in : sequence of str
        Files of the repository that quote the figures.
    methods : sequence of Method
    instances : callable
        Takes the folder of instance files, or None; returns the instances.
    smallest : Instance
        An instance that every method answers within a second; the tests run it once.
    columns : sequence of Column
    limits : sequence of float, default=(60,)
        Usual limits in seconds.
    clock : {"processor", "wall"}
        Clock of limits and times. The processor's clock does not depend on how busy a machine is.
    remark : callable, optional
        Returns a paragraph computed from the latest records.
    draw : callable, optional
        Draws the latest records into the folder of the page.
    page : str, optional
        Page of the repository that shows the figures instead of a table in the page of results.
    findings : str
        Explanation of the figures.
    apart : sequence of str
        Parts of the package that the figures do not depend on.
    """

    name: str
    title: str
    text: str
    said_in: Sequence[str]
    methods: Sequence[Method]
    instances: Callable[[Path | None], Iterable[Instance]]
    smallest: Instance
    columns: Sequence[Column]
    limits: Sequence[float] = (60.0,)
    clock: str = "processor"
    remark: Callable[[Sequence[Record]], str] | None = field(default=None, compare=False)
    draw: Callable[[Sequence[Record], Path], None] | None = field(default=None, compare=False)
    page: str | None = None
    findings: str = ""
    apart: Sequence[str] = (*NOT_MEASURED, "safe")

    @cached_property
    def commit(self) -> str:
        """The last commit that changed what the claim measures."""
        return commit_of(self.apart)


def claims_in(folder: Path) -> dict[str, Claim]:
    """Return the claims of a folder of specifications by name, in the order of their files.

    Parameters
    ----------
    folder : Path
        Its parent is searched first for modules that the specifications share.

    Raises
    ------
    InputError
        If there is no such folder, a file holds no claim, or two claims share a name.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: this folder of benchmark specifications does not exist. Call the command "
            "from the root of the repository, or name the folder above it with --folder."
        )
    if str(folder.resolve().parent) not in sys.path:
        sys.path.insert(0, str(folder.resolve().parent))
    found: dict[str, Claim] = {}
    for path in sorted(folder.glob("[a-z]*.py")):
        claim = _loaded(path)
        if claim.name in found:
            raise InputError(
                f"{path}: the claim {claim.name!r} stands in another file as well. Rename one."
            )
        found[claim.name] = claim
    return found


def _loaded(path: Path) -> Claim:
    name = f"tablecloak_claim_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    claim = getattr(module, "CLAIM", None)
    if not isinstance(claim, Claim):
        raise InputError(
            f"{path}: holds no constant `CLAIM` that is a claim. Add CLAIM = Claim(...)."
        )
    return claim


def chosen(noun: str, wanted: Sequence[str], known: Mapping[str, Any]) -> list[Any]:
    """Return the known objects with the wanted names, or all of them.

    Raises
    ------
    InputError
        If a name is unknown; the message suggests a similar one.
    """
    for name in wanted:
        if name not in known:
            raise InputError(f"There is no {noun} {name!r}.{suggestion(name, known)}")
    return [each for name, each in known.items() if not wanted or name in wanted]
