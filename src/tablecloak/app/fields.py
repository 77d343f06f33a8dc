"""Inputs of the form, derived from declared parameters and registered names, and their values."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, Union, get_args, get_origin

import tablecloak
from tablecloak.app.own_words import field_name
from tablecloak.errors import InputError
from tablecloak.parameters import Parameter
from tablecloak.protection import PROTECTIONS
from tablecloak.registered import NameIn, named_in
from tablecloak.registry import Registry


@dataclass(frozen=True)
class FormField:
    """One input of the form.

    Parameters
    ----------
    name : str
        Name in the form, such as ``dominance:k``.
    parameter : Parameter
    """

    name: str
    parameter: Parameter

    @property
    def kind(self) -> Literal["number", "choice", "flag", "pair", "names", "text"]:
        """Kind of input: a pair is one number or two, and text is written as in a job file."""
        kind, default = self.parameter.type, self.parameter.default
        if self.parameter.choices:
            return "choice"
        if kind is bool:
            return "flag"
        if get_origin(kind) is Union and not isinstance(default, tuple):
            is_pair = any(get_origin(part) is tuple for part in get_args(kind))
            return "pair" if is_pair else "text"
        if get_origin(kind) is Sequence and get_args(kind) == (str,):
            return "names"
        return "number" if kind in (int, float) else "text"

    @property
    def second(self) -> str:
        """Name in the form of the second number of a pair."""
        return f"{self.name}:second"

    @property
    def step(self) -> str:
        """The HTML attribute `step`: "1" for whole numbers, "any" for others."""
        return "1" if self.parameter.type is int else "any"

    @property
    def shown(self) -> str:
        """Initial content: the default, or an example for a required parameter."""
        given = self.parameter.example if self.parameter.is_required else self.parameter.default
        if self.kind == "names":
            return ", ".join(given or ())
        if isinstance(given, tuple | list):
            given = list(given) or None
        return "" if given is None else f"{given:g}" if isinstance(given, float) else str(given)

    def read(self, form: Mapping[str, str]) -> Any:
        """Return the value of the input; None for an empty input that is not required.

        Raises
        ------
        InputError
            If the input cannot be read.
        """
        text = form.get(self.name, "").strip()
        if self.kind == "flag":
            return bool(text)
        if self.kind == "pair" and form.get(self.second, "").strip():
            return [number(form, self.name), number(form, self.second)]
        if not text and not self.parameter.is_required:
            return None
        if self.kind == "names":
            return [part.strip() for part in text.split(",") if part.strip()]
        if self.kind in ("number", "pair"):
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
class FormChoice:
    """A registered class that can be ticked in the form, with its parameters.

    Parameters
    ----------
    name, summary : str
    fields : list of FormField
    is_suggested : bool
        Whether it is ticked when the form is first shown.
    kind : type
    """

    name: str
    summary: str
    fields: list[FormField]
    is_suggested: bool
    kind: type

    def example(self) -> Any:
        """Return one with what the form shows at first."""
        return self.kind(**self.read({each.name: each.shown for each in self.fields}))

    def read(self, form: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of all required parameters, and of others that are not the default.

        Raises
        ------
        InputError
            If one cannot be; names the rule and the field.
        """
        given = {each.parameter.name: (each.parameter, each.read(form)) for each in self.fields}
        values = {
            name: value
            for name, (parameter, value) in given.items()
            if value is not None and (parameter.is_required or value != parameter.default)
        }
        try:
            self.kind(**values)
        except InputError as error:
            message = re.sub(
                r"^\w+: `(\w+)`", lambda key: f"“{field_name(key[1])}” of {self.name}", str(error)
            )
            raise InputError(message) from None
        return values


def choices_of(registry: Registry[Any]) -> list[FormChoice]:
    """Return a choice for each registered class, in the order of the registry."""
    return [
        FormChoice(
            sibling.name,
            registry.summary(sibling.name),
            [FormField(f"{sibling.name}:{p.name}", p) for p in registry.parameters(sibling.name)],
            getattr(sibling, "is_suggested", False),
            sibling,
        )
        for sibling in registry
    ]


def number(form: Mapping[str, str], name: str) -> float:
    """Return the number in an input, as int if it is whole.

    A decimal comma is read as well, and thousands apart where it is clear what they are.

    Raises
    ------
    InputError
        If the input is not a finite number, or may be two.
    """
    text = form.get(name, "").strip()
    *section, key = name.split(":")
    name = " of ".join([f"“{field_name(key)}”", *section])
    plain = re.sub(r"(?<=\d)[\s'\u2019](?=\d{3})", "", text)
    if re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", plain):
        raise InputError(
            f"{name}: {text!r} may be a thousand or a decimal fraction. Type it without a sign "
            f"between thousands, such as {plain.replace(',', '')} or {plain.replace(',', '.')}."
        )
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+", plain):
        plain = plain.replace(".", "").replace(",", ".")
    try:
        given = float(plain)
    except ValueError:
        raise InputError(
            f"{name}: {text!r} is not a number. Type one such as 10, 2.5 or 2,5 into this field."
        ) from None
    if not math.isfinite(given):
        raise InputError(f"{name}: {text!r} is not a finite number. Type one such as 10 or 2.5.")
    return int(given) if given == int(given) else given


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


@dataclass(frozen=True)
class Filled:
    """What inputs of a page hold: what was sent from it last, or else what it proposes.

    Parameters
    ----------
    form : mapping of str to str
        What was sent; empty if nothing was.
    """

    form: Mapping[str, str]

    def text(self, name: str, otherwise: object = "") -> object:
        """Return the text of an input."""
        return self.form.get(name, otherwise)

    def checked(self, name: str, otherwise: object = False) -> str:
        """Return the attribute of a box that is ticked."""
        return " checked" if (name in self.form if self.form else otherwise) else ""

    def selected(self, name: str, value: object, otherwise: object = None) -> str:
        """Return the attribute of an option that is chosen."""
        return " selected" if self.form.get(name, otherwise) == value else ""
