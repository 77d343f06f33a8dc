"""What a classification is: the parent of each code, labels, source and licence."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import ClassVar

from tablecloak.errors import InputError
from tablecloak.registry import Registry


class Classification:
    """A classification; siblings are registered in `CLASSIFICATIONS`.

    Codes that are listed have the parent and the label that the list says. Further ones lie below
    the code that is left without their last character.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    """Who made it, and where the list comes from."""
    licence: ClassVar[str]
    listed: ClassVar[str] = ""
    """File beside this one, with the columns code, parent and label."""
    further: ClassVar[str] = ""
    """Regular expression of codes that need not be listed."""

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, str]]:
        """Parent and label of each listed code; the topmost ones have no parent."""
        return _entries(self.listed) if self.listed else {}

    def parent(self, code: str) -> str:
        """Return the code above another one, empty for one of the topmost.

        Raises
        ------
        InputError
            If it is no code of the classification.
        """
        if code in self.entries:
            return self.entries[code][0]
        if not re.fullmatch(self.further, code):
            raise InputError(f"{code!r} is no code of {self.title}. Correct it, or give a file.")
        return code[:-1].rstrip(".")

    def tree(
        self, codes: Iterable[str], total: str
    ) -> tuple[list[tuple[str, tuple[str, ...]]], dict[str, str]]:
        """Return the groups over some codes, and the labels of all codes in them.

        Parameters
        ----------
        codes : iterable of str
            Of any level; the codes above them are added.
        total : str

        Raises
        ------
        InputError
            If one is no code of the classification.
        """
        children: dict[str, set[str]] = {total: set()}
        for code in sorted(set(codes) - {total}):
            below = code
            while below != total:
                above = self.parent(below) or total
                children.setdefault(above, set()).add(below)
                below = above
        groups = [(above, tuple(sorted(below, key=_order))) for above, below in children.items()]
        labels = {
            code: self.entries[code][1]
            for _, below in groups
            for code in below
            if code in self.entries
        }
        return groups, labels


CLASSIFICATIONS: Registry[Classification] = Registry(
    "classification", "tablecloak.tables.classifications"
)
"""All classifications."""


@cache
def _entries(name: str) -> Mapping[str, tuple[str, str]]:
    text = (files("tablecloak.tables.classifications") / name).read_text("utf-8")
    return {code: (parent, label) for code, parent, label in csv.reader(text.splitlines()[1:])}


def _order(code: str) -> list[str | int]:
    """Order numbers within codes as numbers, so that 5-9 comes before 10-14."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", code)]
