"""Names that users choose from: asked of a registry when they are typed, and when help is shown.

No command has a list of its own. What is registered at run time is accepted at once, and listed.
Registries are imported when they are needed: the command line itself starts without them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import typer
from typer.core import TyperCommand

from tablecloak.errors import InputError, suggestion

if TYPE_CHECKING:
    from tablecloak.registered import NameIn


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

    @classmethod
    def of(cls, named: NameIn) -> Names:
        """Return the names that a parameter accepts, each before what may follow it."""

        def read(text: str) -> None:
            name = text.partition(named.end)[0] if named.end else text
            if name not in named.names:
                near = suggestion(name, named.names)
                raise InputError(f"There is no {named.registry.noun} {name!r}.{near}")

        def load() -> dict[str, str]:
            return {name: named.registry.summary(name) for name in named.names}

        return cls(named.registry.noun, load, read)

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
        return typer.Option(*flags, help=self._help(text), callback=self.checked, writable=writable)

    def argument(self, text: str = "") -> Any:
        """Declare an argument: `text`, then the names."""
        return typer.Argument(help=self._help(text), callback=self.checked)

    def checked(self, value: Any) -> Any:
        """Return what was typed for an option or argument, if all of it is accepted."""
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not None:
                self._check(str(each))
        return value

    def _help(self, text: str) -> str:
        return f"{text} {self.placeholder}".strip()

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


def _loaded(module: str, name: str) -> Any:
    """Import what is needed when names are asked for."""
    return getattr(importlib.import_module(f"tablecloak.{module}"), name)


def _names_of(
    module: str,
    name: str,
    only: Callable[[Any], bool] = lambda each: True,
    label: Callable[[Any], str] = attrgetter("name"),
) -> dict[str, str]:
    """Return the names in a registry with their summaries."""
    registry = _loaded(module, name)
    return {label(each): registry.summary(each.name) for each in registry if only(each)}


def _forms(each: Any) -> str:
    """Return the name with the arguments that it can have, such as ``threads:2``."""
    return ", ".join(each.forms)


def _solvers() -> dict[str, str]:
    registry = _loaded("solve.solver", "SOLVERS")
    return {each.name: "not installed" * bool(each.missing()) for each in registry}


def _read(module: str, name: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        return _loaded(module, name)(text)

    return read


def _read_problem_name(name: str) -> None:
    _loaded("tables.formats", "format_of")(name, _loaded("tables.formats", "ProblemFormat"))


def _formats(kind: str, label: Callable[[Any], str]) -> dict[str, str]:
    """Return the formats that derive from a class."""
    holding = _loaded("tables.formats", "formats_holding")
    return {label(each): "" for each in holding(_loaded("tables.formats", kind))}


def _ending(each: Any) -> str:
    return str(each.suffixes[0])


def _totals() -> dict[str, str]:
    return dict.fromkeys(get_args(_loaded("tables.formats.layouts", "TotalsPlace")), "")


REQUIREMENTS = Names(
    "requirement", partial(_names_of, "suppression.system.requirement", "REQUIREMENTS")
)
ATTACKERS = Names("intruder", partial(_names_of, "suppression.attack.intruder", "INTRUDERS"))
NEARNESS = Names(
    "distance of reconciliation", partial(_names_of, "reconciliation.distances", "NEARNESS")
)
SOLVERS = Names("solver", _solvers)
ENGINES = Names(
    "engine",
    partial(_names_of, "tables.tabulation.engines", "ENGINES", label=_forms),
    _read("tables.tabulation.engines", "engine_named"),
)
EXECUTORS = Names(
    "executor",
    partial(_names_of, "executors", "EXECUTORS", label=_forms),
    _read("executors", "executor_named"),
)
PROBLEM_FILES = Names(
    "problem file", partial(_formats, "ProblemFormat", _ending), _read_problem_name
)
RECORD_FILES = Names(
    "file of records", partial(_formats, "RecordFormat", _ending), lambda name: None
)
FRAME_FILES = Names("result file", partial(_formats, "FrameFormat", _ending), lambda name: None)
RELEASES = Names("format of releases", partial(_formats, "ReleaseFormat", attrgetter("name")))
TOTALS = Names("place of totals", _totals)
KNOWLEDGE = Names("knowledge", partial(_names_of, "cta.risk.risk", "GUESSERS"))
MADE = Names(
    "way to make values",
    partial(
        _names_of,
        "protection",
        "PROTECTIONS",
        attrgetter("told_with"),
        lambda way: f"{way.name}:{way.told_with}",
    ),
    _read("protection", "made_by"),
)
CALLS = Names("call", partial(_names_of, "service.call", "CALLS"))
EXAMPLES = Names("example", partial(_names_of, "examples.files", "EXAMPLES"))

ALL = tuple(named for named in list(globals().values()) if isinstance(named, Names))
"""All lists of names, which stand in the help of commands."""
