"""Whether a pattern must protect against insiders: the three choices, declared once."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.registry import Registry


class Hold:
    """Whether protection against insiders is required, attempted, or not attempted."""

    name: ClassVar[str]

    is_asked: ClassVar[bool] = True
    """Whether the search protects against insiders at all."""

    is_strict: ClassVar[bool] = False
    """Whether the search fails if a pattern is not protected against some insider."""

    @classmethod
    def parse(cls, given: Hold | str) -> Hold:
        """Accept a way to hold, or its name.

        Raises
        ------
        InputError
            If the name is unknown; suggests the likely one.
        """
        return HOLDS.parse(given, Hold, "`hold` is")


HOLDS: Registry[Hold] = Registry("way to hold against insiders")
"""All ways to hold against insiders, by name."""


@HOLDS.register
class AsFarAsPossible(Hold):
    """As far as possible: cells that cannot be hidden from an insider in time are reported."""

    name: ClassVar[str] = "possible"


@HOLDS.register
class Strict(Hold):
    """Against all of them; without such a pattern the search fails."""

    name: ClassVar[str] = "strict"
    is_strict: ClassVar[bool] = True


@HOLDS.register
class Off(Hold):
    """Against the external intruder only."""

    name: ClassVar[str] = "off"
    is_asked: ClassVar[bool] = False
