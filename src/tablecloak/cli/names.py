"""Names that users choose from: asked of a registry when they are typed, and when help is shown.

No command has a list of its own. What is registered at run time is accepted at once, and listed.
Registries are imported when they are needed: the command line itself starts without them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

from tablecloak.errors import InputError, suggestion
from tablecloak.registry import Registry


@dataclass(frozen=True)
class Names:
    """The values that an option or argument accepts.

    Parameters
    ----------
    noun : str
        What one value is called in messages.
    load : callable
        Returns all names, each with a summary or nothing.
    read : callable, optional
        Raises an error for a value that is not accepted; by default a value must be a name.
    """

    noun: str
    load: Callable[[], Mapping[str, str]]
    read: Callable[[str], Any] | None = None

    @property
    def placeholder(self) -> str:
        """Placeholder in a help text, replaced by the names."""
        return f"{{{self.noun}}}"

    def listed(self) -> str:
        """Return all names with their summaries, for help."""
        names = self.load()
        shown = [
            f"{name}: {text.removesuffix('.')}" if text else name for name, text in names.items()
        ]
        return ("; " if any(names.values()) else ", ").join(shown)

    def option(self, *flags: str, text: str = "", writable: bool = False) -> Any:
        """Declare an option: `text`, then the names; `writable` if it is a file to write."""
        return typer.Option(
            *flags, help=self._help(text), callback=self._callback(), writable=writable
        )

    def argument(self, text: str = "") -> Any:
        """Declare an argument: `text`, then the names."""
        return typer.Argument(help=self._help(text), callback=self._callback())

    def _help(self, text: str) -> str:
        return f"{text} {self.placeholder}".strip()

    def _callback(self) -> Callable[[Any], Any]:
        def checked(value: Any) -> Any:
            for each in value if isinstance(value, list | tuple) else [value]:
                if each is not None:
                    self._check(str(each))
            return value

        return checked

    def _check(self, value: str) -> None:
        if self.read is not None:
            try:
                self.read(value)
            except InputError as error:
                raise typer.BadParameter(str(error)) from None
            return
        names = self.load()
        if value not in names:
            raise typer.BadParameter(
                f"There is no {self.noun} {value!r}.{suggestion(value, names)}"
            )


class LiveCommand(TyperCommand):
    """A command whose help lists what is registered when it is asked for."""

    names: ClassVar[tuple[Names, ...]] = ()
    """Further names of which its options and arguments speak, besides `ALL`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Put the names into the texts of options and arguments, and write the help."""
        parts: list[Any] = [part for part in self.params if getattr(part, "help", None)]
        texts = [part.help for part in parts]
        for part in parts:
            for names in (*ALL, *self.names):
                if names.placeholder in part.help:
                    part.help = part.help.replace(names.placeholder, names.listed())
        super().format_help(ctx, formatter)
        for part, text in zip(parts, texts, strict=True):
            part.help = text


def _registry(module: str, name: str) -> Registry[Any]:
    registry: Registry[Any] = getattr(importlib.import_module(f"tablecloak.{module}"), name)
    return registry


def _names_of(
    module: str, name: str, only: Callable[[Any], bool] = lambda each: True
) -> dict[str, str]:
    registry = _registry(module, name)
    return {each.name: registry.summary(each.name) for each in registry if only(each)}


def _forms_of(module: str, name: str) -> dict[str, str]:
    """Names with the arguments that they can have, such as ``threads:2``."""
    registry = _registry(module, name)
    return {", ".join(each.forms): registry.summary(each.name) for each in registry}


def _statistics() -> dict[str, str]:
    return _names_of("cta.statistics.statistic", "STATISTICS", lambda each: each.is_named)


def _read_statistic(text: str) -> None:
    name, names = text.partition(":")[0], _statistics()
    if name not in names:
        raise InputError(f"There is no statistic {name!r}.{suggestion(name, names)}")


def _insiders() -> dict[str, str]:
    return _names_of("suppression.attack.intruder", "INTRUDERS", lambda each: not each.is_everybody)


def _solvers() -> dict[str, str]:
    registry = _registry("solve.solver", "SOLVERS")
    return {each.name: "not installed" * bool(each.missing()) for each in registry}


def _read_engine(text: str) -> None:
    from tablecloak.tables.tabulation.engines import engine_named

    engine_named(text)


def _read_executor(text: str) -> None:
    from tablecloak.executors import executor_named

    executor_named(text)


def _problem_files() -> dict[str, str]:
    from tablecloak.tables.formats import ProblemFormat, formats_holding

    return {each.suffixes[0]: "" for each in formats_holding(ProblemFormat)}


def _read_problem_name(name: str) -> None:
    from tablecloak.tables.formats import ProblemFormat, format_of

    format_of(name, ProblemFormat)


def _frame_files() -> dict[str, str]:
    from tablecloak.tables.formats import FrameFormat, formats_holding

    return {each.suffixes[0]: "" for each in formats_holding(FrameFormat)}


def _releases() -> dict[str, str]:
    from tablecloak.tables.formats import ReleaseFormat, formats_holding

    return {each.name: "" for each in formats_holding(ReleaseFormat)}


def _totals() -> dict[str, str]:
    from typing import get_args

    from tablecloak.tables.formats.layouts import TotalsPlace

    return dict.fromkeys(get_args(TotalsPlace), "")


WEIGHTS = Names("weight rule", partial(_names_of, "tables.weights", "WEIGHT_RULES"))
SEARCH_METHODS = Names(
    "search method", partial(_names_of, "suppression.search.method", "SEARCH_METHODS")
)
REQUIREMENTS = Names(
    "requirement", partial(_names_of, "suppression.system.requirement", "REQUIREMENTS")
)
INSIDERS = Names("intruder", _insiders)
HOLDS = Names(
    "way to hold against insiders", partial(_names_of, "suppression.attack.hold", "HOLDS")
)
DISTANCES = Names("distance", partial(_names_of, "cta.search.distance", "DISTANCES"))
NEARNESS = Names(
    "distance of reconciliation", partial(_names_of, "reconciliation.distances", "NEARNESS")
)
STATISTICS = Names("statistic", _statistics, _read_statistic)
SOLVERS = Names("solver", _solvers)
ENGINES = Names("engine", partial(_forms_of, "tables.tabulation.engines", "ENGINES"), _read_engine)
EXECUTORS = Names("executor", partial(_forms_of, "executors", "EXECUTORS"), _read_executor)
PROBLEM_FILES = Names("problem file", _problem_files, _read_problem_name)
FRAME_FILES = Names("result file", _frame_files, lambda name: None)
RELEASES = Names("format of releases", _releases)
TOTALS = Names("place of totals", _totals)
KNOWLEDGE = Names("knowledge", partial(_names_of, "cta.risk.guesser", "GUESSERS"))
CALLS = Names("call", partial(_names_of, "service.call", "CALLS"))
EXAMPLES = Names("example", partial(_names_of, "examples.files", "EXAMPLES"))

ALL = (
    WEIGHTS,
    SEARCH_METHODS,
    REQUIREMENTS,
    INSIDERS,
    HOLDS,
    DISTANCES,
    NEARNESS,
    STATISTICS,
    SOLVERS,
    ENGINES,
    EXECUTORS,
    PROBLEM_FILES,
    FRAME_FILES,
    RELEASES,
    TOTALS,
    KNOWLEDGE,
    CALLS,
    EXAMPLES,
)
