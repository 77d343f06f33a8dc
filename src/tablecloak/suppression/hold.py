"""Whether a pattern must protect against insiders: the three choices, declared once."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.registry import Registry

__all__ = ["HOLDS", "Hold"]


class Hold:
    """Whether protection of a pattern against insiders is a must, a wish, or not tried."""

    name: ClassVar[str]

    is_asked: ClassVar[bool] = True
    """Whether the search protects against insiders at all."""

    is_strict: ClassVar[bool] = False
    """Whether a pattern that leaves an insider unprotected against is an error."""

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
    """As far as possible: cells that cannot be hidden from an insider in time are reported."""

    name: ClassVar[str] = "possible"


@HOLDS.register
class Strict(Hold):
    """Against all of them; without such a pattern the search fails."""

    name: ClassVar[str] = "strict"
    is_strict: ClassVar[bool] = True


@HOLDS.register
class Off(Hold):
    """Against outsiders only."""

    name: ClassVar[str] = "off"
    is_asked: ClassVar[bool] = False
