"""The entry of all commands: every error becomes one message and an exit code."""

from __future__ import annotations

import inspect
import io
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints

import typer
from typer.core import TyperGroup

from tablecloak.cli.display import BAD_INPUT, INTERNAL, INTERRUPTED, NOT_SAFE, say, show_warning
from tablecloak.errors import (
    InterruptedSearch,
    ModelError,
    TablecloakError,
    TablecloakWarning,
    VerificationError,
    where_raised,
)
from tablecloak.roles import run_with
from tablecloak.storage import readable

SHOW_TRACEBACK = "TABLECLOAK_TRACEBACK"
"""Name of the environment variable that lets tracebacks through."""

USAGE: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""Errors in the words of a command, which typer prints. Some versions of typer contain click,
others import the one that is installed."""


def made_later(make: Callable[[], Any], command: Callable[..., Any]) -> Callable[[], None]:
    """Return what stands for a command that is made when it is asked for."""

    def later() -> None:
        raise NotImplementedError

    later.__name__, later.__doc__ = command.__name__, command.__doc__
    later.make = make  # type: ignore[attr-defined]
    return later


class Commands(TyperGroup):
    """A group of commands; some are made of a registry. Options that are numbers are finite."""

    former: ClassVar[str] = ""
    """Name that the group had in an earlier release."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        guard(*self.commands.values())
        self._has_made = False

    @staticmethod
    def made() -> Mapping[str, Any]:
        """Return the commands that are made of a registry, by their names.

        Called when a command is not among the others, or all are listed: registries load slowly.
        """
        return {}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; one that is not defined yet is made from a registry."""
        if cmd_name not in self.commands:
            self._make()
        command = super().get_command(ctx, cmd_name)
        make = getattr(getattr(command, "callback", None), "make", None)
        if make is not None:
            command = self.commands[cmd_name] = make()
            guard(command)
        return command

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those from registries last."""
        self._make()
        return super().list_commands(ctx)

    def _make(self) -> None:
        if self._has_made:
            return
        self._has_made = True
        for name, command in self.made().items():
            if name not in self.commands:
                guard(command)
                self.commands[name] = command


class Program(Commands):
    """All commands, behind one handler of errors."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; one of a group also by its name alone, with a hint.

        Commands of groups had no group in earlier releases.
        """
        words = self._words_of(ctx, args[0])
        if words != args[:1] and not ctx.resilient_parsing:
            say(f"Hint: write `tablecloak {' '.join(words)}`. The old name is kept for a while.")
        return super().resolve_command(ctx, [*words, *args[1:]])

    def _words_of(self, ctx: Any, name: str) -> list[str]:
        """Return what calls a command of this name now."""
        if self.get_command(ctx, name) is None:
            for at, group in self.commands.items():
                if isinstance(group, Commands) and name == group.former:
                    return [at]
                if isinstance(group, Commands) and group.get_command(ctx, name) is not None:
                    return [at, name]
        return [name]

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the program; letters that the terminal cannot show are replaced."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
                stream.reconfigure(errors="replace")
        return super().main(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        try:
            with errors_as_messages():
                return super().invoke(ctx)
        except (USAGE, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            say(_last_words(error))
            raise typer.Exit(INTERNAL) from None


class CommandLine(typer.Typer):
    """The program: Ctrl-C while its commands are still built is one message as well."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Build the commands and run the one that was called."""
        try:
            return super().__call__(*arguments, **options)
        except KeyboardInterrupt:
            say("Interrupted; nothing was written.")
            sys.exit(INTERRUPTED)


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Print errors of ours as one message without a traceback, and warnings likewise.

    The first Ctrl-C during a search ends that search with the best that is proved; see
    `Budget.interruptible`. A Ctrl-C handled here interrupted reading or writing, or was the second.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", TablecloakWarning)
        shown = set[str]()

        def show_once(message: Warning | str, *where: object, **how: object) -> None:
            # What holds for each of several variables or jobs is said once.
            if str(message) not in shown:
                shown.add(str(message))
                show_warning(message, *where, **how)

        warnings.showwarning = show_once
        try:
            yield
        except TablecloakError as error:
            say(f"{'Impossible' if isinstance(error, ModelError) else 'Error'}: {error}")
            codes = {VerificationError: NOT_SAFE, InterruptedSearch: INTERRUPTED}
            code = next((codes[kind] for kind in codes if isinstance(error, kind)), BAD_INPUT)
            raise typer.Exit(code) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            # A file or folder that may not be used is no fault of ours, wherever it is met.
            if error.filename is None:
                raise
            say(
                f"Error: {error.filename}: {error.strerror}. Check the path, who may use it, and "
                f"the room on the disk."
            )
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("Interrupted; nothing was written.")
            raise typer.Exit(INTERRUPTED) from None


def _last_words(error: Exception) -> str:
    """Say where an internal error arose, without its own message, which may be confidential."""
    # Threads need memory for their stacks; Python has no error of its own for that.
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        return "Error: there is not enough memory for this. Take a smaller problem."
    place = where_raised(error)
    return (
        f"Internal error: {type(error).__name__}{place}. This is a fault of tablecloak: please "
        f"report it with the command. {SHOW_TRACEBACK}=1 shows all of it; that may be confidential."
    )


def guard(*commands: Any) -> None:
    """Let commands refuse numbers that are not finite, which no range excludes, and mixed files."""
    for command in commands:
        for option in command.params:
            option.callback = option.callback or _finite
        if command.callback is not None:
            command.callback = _with_files_apart(command.callback)


def _with_files_apart(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command of which no output is an input or another output.

    What it reads and writes is told by its declaration: paths that are `writable` are outputs.
    """

    @wraps(command)
    def run(**given: Any) -> Any:
        paths: dict[bool, list[Path]] = {False: [], True: []}
        for name, declared in get_type_hints(inspect.unwrap(command), include_extras=True).items():
            parts = list(parts_of(declared))
            is_output = any(getattr(part, "writable", False) for part in parts)
            values = given.get(name) if Path in parts else None
            for value in values if isinstance(values, list | tuple) else [values]:
                if value is not None:
                    paths[is_output].append(readable(value))
        with run_with(inputs=paths[False], outputs=paths[True]):
            return command(**given)

    return run


def parts_of(kind: Any) -> Iterator[Any]:
    """Yield a type, and all types and annotations within it."""
    yield kind
    for part in get_args(kind):
        yield from parts_of(part)


def _finite(ctx: typer.Context, option: Any, value: Any) -> Any:
    for number in value if isinstance(value, list | tuple) else [value]:
        if isinstance(number, float) and not math.isfinite(number):
            raise typer.BadParameter(f"{number} is not a finite number.", ctx, option)
    return value
