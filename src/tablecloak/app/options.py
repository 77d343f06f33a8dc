"""Options of the two methods in the form: all keys of a job whose values are registered names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from tablecloak.jobs.registered import NameIn
from tablecloak.jobs.schema import SECTIONS

__all__ = ["Option", "options_of"]


@dataclass(frozen=True)
class Option:
    """A key of a section whose value is a registered name, or a list of such names.

    Parameters
    ----------
    section, key : str
    named : NameIn
    is_list : bool
    default : object
    help : str
    """

    section: str
    key: str
    named: NameIn
    is_list: bool
    default: Any
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
    """Return the options of a section of a job file, in its order."""
    model: type[BaseModel] = SECTIONS[section]
    options = []
    for key, field in model.model_fields.items():
        inner = get_args(field.annotation) if get_origin(field.annotation) is list else ()
        marks = [*field.metadata, *(mark for part in inner for mark in get_args(part)[1:])]
        named = next((mark for mark in marks if isinstance(mark, NameIn)), None)
        if named is not None:
            default, text = field.get_default(), field.description or ""
            options.append(Option(section, key, named, bool(inner), default, text))
    return options
