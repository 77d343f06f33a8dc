"""Options of a command from the parameters of a class, and their values from what was typed.

A list is an option that is repeated; a list of lists is repeated with commas; a mapping is repeated
as NAME=NUMBER; an array is a CSV file without header.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from annotated_types import Ge, Le
from typer.main import get_command_from_info
from typer.models import CommandInfo

from tablecloak.cli.names import LiveCommand, Names
from tablecloak.cli.options import options_of, with_options
from tablecloak.errors import InputError
from tablecloak.parameters import Parameter
from tablecloak.registered import named_in


@dataclass(frozen=True)
class TypedOption:
    """One parameter as an option.

    Parameters
    ----------
    parameter : Parameter
        Its option has its name, or that under the key "option" of its field.
    """

    parameter: Parameter

    @property
    def name(self) -> str:
        """Name of the option as a Python identifier, without the leading dashes."""
        extra = self.parameter.field.json_schema_extra
        own = extra.get("option") if isinstance(extra, Mapping) else None
        return str(own or self.parameter.name)

    @property
    def declared(self) -> inspect.Parameter:
        """The declaration that typer reads."""
        kind, is_repeated = self._typed()
        default: Any = inspect.Parameter.empty
        if not self.parameter.is_required:
            default = self.parameter.default if kind in (bool, int, float, str) else None
            if isinstance(kind, type) and issubclass(kind, StrEnum):
                default = kind(self.parameter.default)
        text = self.parameter.help
        if is_repeated:
            kind, text = list[str], text.removesuffix(".") + "; repeat."
            default = None if default is not inspect.Parameter.empty else default
        if default is None:
            kind = kind | None
        checks: dict[str, Any] = self._limits()
        named = named_in(self.parameter.field)
        if named is not None:
            names = Names.of(named)
            text, checks = f"{text} {names.listed()}", {"callback": names.checked}
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, typer.Option(help=text, **checks)],
        )

    def value(self, typed: Any) -> Any:
        """Return the value of the parameter.

        Raises
        ------
        InputError
            If an entry of a mapping has no number, or a file no array.
        """
        match self._shape():
            case "groups":
                return [entry.split(",") for entry in typed]
            case "mapping":
                of_numbers = get_args(_bare(self.parameter.field.annotation))[1] is float
                entries = [self._entry(entry, of_numbers) for entry in typed]
                names = [name for name, _ in entries]
                twice = next((name for name in names if names.count(name) > 1), None)
                if twice is not None:
                    option = self.name.replace("_", "-")
                    raise InputError(f"--{option}: {twice!r} is given twice. Give it once.")
                return dict(entries)
            case "array":
                return _read_array(typed)
            case "choice":
                return typed.value
        return typed

    def _shape(self) -> str:
        kind = _bare(self.parameter.field.annotation)
        origin = get_origin(kind)
        if origin is Literal:
            return "choice"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return "mapping"
        if isinstance(origin, type) and issubclass(origin, Sequence):
            inner = get_origin(get_args(kind)[0])
            return "groups" if isinstance(inner, type) and issubclass(inner, Sequence) else "list"
        return "plain" if kind in (bool, int, float, str, Path) else "array"

    def _typed(self) -> tuple[Any, bool]:
        """Type of one entry, and whether the option can be repeated."""
        shape = self._shape()
        if shape == "choice":
            choices = get_args(_bare(self.parameter.field.annotation))
            return StrEnum(self.name, {choice: choice for choice in choices}), False
        if shape in ("groups", "mapping", "list"):
            return str, True
        return (Path if shape == "array" else _bare(self.parameter.field.annotation)), False

    def _limits(self) -> dict[str, Any]:
        """Limits that typer can check; all others are checked by the class."""
        found: dict[str, Any] = {}
        for limit in self.parameter.field.metadata if self._shape() == "plain" else ():
            match limit:
                case Ge(low):
                    found["min"] = low
                case Le(high):
                    found["max"] = high
                case _:
                    return {}
        return found

    def _entry(self, entry: str, of_numbers: bool) -> tuple[str, float | str]:
        option = self.name.replace("_", "-")
        if of_numbers:
            name, _, value = entry.rpartition("=")
            try:
                return name, float(value)
            except ValueError:
                raise InputError(f"--{option} {entry!r} must look like sex=0.2.") from None
        name, sign, text = entry.partition("=")
        if not (name and sign and text):
            raise InputError(f"--{option} {entry!r} must look like region=region.hrc.")
        return name, text


def values_of(options: Sequence[TypedOption], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters for what was typed; others keep their defaults."""
    return {
        option.parameter.name: option.value(typed[option.name])
        for option in options
        # Lists that were left out are empty, or None, by the version of typer.
        if typed[option.name] not in (None, [])
    }


def made_command(
    name: str,
    run: Callable[..., None],
    options: Sequence[TypedOption],
    *,
    text: str,
    panel: str | None = None,
) -> Any:
    """Return a command whose options are its own and those of a class, which stand between.

    Parameters
    ----------
    name : str
    run : callable
        Its declared parameters are options as typer reads them: the first two are files. Those of
        the class come as further keywords, where they were typed or have a default.
    options : sequence of TypedOption
        Those that are required come first.
    text : str
        Its help.
    panel : str, optional
        What help lists the command under.
    """
    shared = options_of(run)
    of_class = sorted(
        (option.declared for option in options),
        key=lambda declared: declared.default is not inspect.Parameter.empty,
    )

    def run_typed(**typed: Any) -> None:
        given = values_of(options, typed)
        run(**{option.name: typed[option.name] for option in shared}, **given)

    command = with_options(run_typed, [*shared[:2], *of_class, *shared[2:]])
    return get_command_from_info(
        CommandInfo(name=name, cls=LiveCommand, callback=command, help=text, rich_help_panel=panel),
        pretty_exceptions_short=True,
        rich_markup_mode="markdown",
    )


def _bare(kind: Any) -> Any:
    """Return the type without None; of several, the first."""
    if get_origin(kind) in (Union, UnionType):
        plain = [part for part in get_args(kind) if part is not NoneType]
        return plain[0] if plain[0] in (bool, int, float, str) or len(plain) == 1 else object
    return kind


def _read_array(path: Path) -> Any:
    import numpy as np

    from tablecloak.storage import existing_file

    try:
        return np.loadtxt(existing_file(path), delimiter=",", ndmin=2)
    except ValueError as error:
        raise InputError(
            f"{path}: expected rows of numbers with commas between ({error})."
        ) from None
