"""Inputs of the form, made from what parameters say of themselves, and what is typed into them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tablecloak.errors import InputError
from tablecloak.parameters import Parameter
from tablecloak.registry import Registry

__all__ = ["Choice", "FormField", "choices_of", "number", "whole"]


@dataclass(frozen=True)
class FormField:
    """One input.

    Parameters
    ----------
    name : str
        In the form, such as ``dominance:k``.
    parameter : Parameter
    """

    name: str
    parameter: Parameter

    @property
    def kind(self) -> Literal["number", "choice", "flag", "text"]:
        """How it is asked for. Text is what would stand in a job file, such as ``[10, 20]``."""
        if self.parameter.choices:
            return "choice"
        if self.parameter.type is bool:
            return "flag"
        return "number" if self.parameter.type in (int, float) else "text"

    @property
    def step(self) -> str:
        """Which numbers can be typed."""
        return "1" if self.parameter.type is int else "any"

    @property
    def shown(self) -> str:
        """What stands in it at first: the default, or an example."""
        given = self.parameter.example if self.parameter.is_required else self.parameter.default
        return "" if given is None else f"{given:g}" if isinstance(given, float) else str(given)

    def read(self, form: Mapping[str, str]) -> Any:
        """Return what was typed, None if nothing was although nothing had to be.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        text = form.get(self.name, "").strip()
        if self.kind == "flag":
            return bool(text)
        if not text and not self.parameter.is_required:
            return None
        if self.kind == "number":
            return number(form, self.name)
        return text if self.kind == "choice" or self.parameter.type is str else self._toml(text)

    def _toml(self, text: str) -> Any:
        try:
            return tomllib.loads(f"given = {text}")["given"]
        except (tomllib.TOMLDecodeError, RecursionError, KeyError):
            raise InputError(
                f"{self.name}: {text!r} cannot be read. {self.parameter.help}"
            ) from None


@dataclass(frozen=True)
class Choice:
    """Something registered that can be ticked, with its parameters.

    Parameters
    ----------
    name, summary : str
    fields : list of FormField
    is_suggested : bool
        Whether it is ticked at first.
    """

    name: str
    summary: str
    fields: list[FormField]
    is_suggested: bool

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the parameters that were given and differ from their defaults."""
        given = {each.parameter.name: (each.parameter, each.read(form)) for each in self.fields}
        return {
            name: value
            for name, (parameter, value) in given.items()
            if value is not None and (parameter.is_required or value != parameter.default)
        }


def choices_of(registry: Registry[Any]) -> list[Choice]:
    """Return all that is registered now, in the order of the registry."""
    return [
        Choice(
            sibling.name,
            registry.summary(sibling.name),
            [FormField(f"{sibling.name}:{p.name}", p) for p in registry.parameters(sibling.name)],
            getattr(sibling, "is_suggested", False),
        )
        for sibling in registry
    ]


def number(form: Mapping[str, str], name: str) -> float:
    """Return a number; a whole one as int."""
    text = form.get(name, "").strip()
    try:
        given = float(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is not a number.") from None
    if not math.isfinite(given):
        raise InputError(f"{name}: {text!r} is not a finite number.")
    return int(given) if given == int(given) else given


def whole(form: Mapping[str, str], name: str) -> str:
    """Return a whole number as text; empty if none is given."""
    text = form.get(name, "").strip()
    if text and not text.removeprefix("-").isdecimal():
        raise InputError(f"{name}: {text!r} is not a whole number.")
    return text
