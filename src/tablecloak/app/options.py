"""Inputs of the form for the ways to protect: registered names, numbers and truth values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, get_origin

import tablecloak
from tablecloak.app.fields import FormField
from tablecloak.protection import PROTECTIONS
from tablecloak.registered import NameIn, named_in


@dataclass(frozen=True)
class Option:
    """A key of a section whose value is a registered name, or a list of such names.

    Parameters
    ----------
    section, key : str
    named : NameIn
    is_list : bool
    default, example : object
        The example is taken where a name must be typed, and none is.
    help : str
    """

    section: str
    key: str
    named: NameIn
    is_list: bool
    default: Any
    example: Any
    help: str

    @property
    def name(self) -> str:
        """Name of the input in the form."""
        return f"{self.section}:{self.key}"

    @property
    def is_open(self) -> bool:
        """Whether a name may have an argument, such as ``mean:all``, and must be typed."""
        return bool(self.named.end)

    def summary(self, name: str) -> str:
        """One line about one of the names, for the form."""
        return self.named.registry.summary(name)

    def read(self, form: Mapping[str, str]) -> Any:
        """Return the chosen name or names; without a choice, the default."""
        if self.is_open:
            parts = form.get(self.name, "").split(",")
            return [part.strip() for part in parts if part.strip()]
        if self.is_list:
            return [name for name in self.named.names if form.get(f"{self.name}:{name}")]
        return form.get(self.name, "") or self.default


def options_of(section: str) -> list[Option]:
    """Return the options of a way to protect that name something registered, in its order."""
    options = []
    for key, field in PROTECTIONS[section].model_fields.items():
        named, is_list = named_in(field), get_origin(field.annotation) is list
        if named is not None:
            example, text = (field.examples or [None])[0], field.description or ""
            options.append(Option(section, key, named, is_list, field.get_default(), example, text))
    return options


SHARED = ("time_limit", "groups")
"""Parameters with an input that all ways share, and those that need the rules of a job."""


def fields_of(section: str) -> list[FormField]:
    """Return the numbers and truth values of a way to protect that its function takes as well."""
    way = PROTECTIONS[section]
    taken = signature(getattr(tablecloak, way.function)).parameters if way.function else None
    return [
        FormField(f"{section}:{parameter.name}", parameter)
        for parameter in PROTECTIONS.parameters(section)
        if parameter.type in (int, float, bool)
        and parameter.name not in SHARED
        and not (parameter.type is bool and parameter.default is None)
        and (taken is None or parameter.name in taken)
    ]
