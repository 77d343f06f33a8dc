"""Whether a pattern must hold against insiders: three answers, declared once."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.registry import Registry

__all__ = ["HOLDS", "Hold"]


class Hold:
    """How firmly a pattern is asked to hold against insiders."""

    name: ClassVar[str]

    is_asked: ClassVar[bool] = True
    """Whether anything is done against insiders."""

    is_strict: ClassVar[bool] = False
    """Whether a pattern that does not hold against all of them is an error."""

    @classmethod
    def parse(cls, given: Hold | str) -> Hold:
        """Accept one of them or its name.

        Raises
        ------
        InputError
            For an unknown name, with the likely one.
        """
        return HOLDS.parse(given, Hold, "`hold` is")


HOLDS: Registry[Hold] = Registry("way to hold against insiders")
"""All of them by name."""


@HOLDS.register
class AsFarAsPossible(Hold):
    """As far as possible: what cannot be hidden from somebody, or not in time, is told."""

    name: ClassVar[str] = "possible"


@HOLDS.register
class Strict(Hold):
    """Against all of them, or no pattern at all."""

    name: ClassVar[str] = "strict"
    is_strict: ClassVar[bool] = True


@HOLDS.register
class Off(Hold):
    """Not at all: against everybody only."""

    name: ClassVar[str] = "off"
    is_asked: ClassVar[bool] = False
