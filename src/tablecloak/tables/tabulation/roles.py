"""Which column of the data plays which part."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NO", "YES", "Roles"]

YES = ("yes", "y", "true", "t", "1", "1.0")
"""Entries of a column of waivers that say yes, in small letters; numbers as engines write them."""

NO = ("", "no", "n", "false", "f", "0", "0.0")
"""Entries of a column of waivers that say no; an empty one does."""


@dataclass(frozen=True)
class Roles:
    """Columns of the data, by their parts; None where there is none."""

    value: str | None
    contributor: str | None
    holding: str | None
    weight: str | None
    shadow: str | None
    request: str | None
    record_key: str | None = None
    has_whole_keys: bool = False
    waiver: str | None = None
    waiver_p: str | None = None

    @property
    def has_waivers(self) -> bool:
        """Whether contributors can waive protection."""
        return bool(self.waiver or self.waiver_p)

    def columns(self) -> list[str]:
        """Return the columns that are given."""
        return [column for column in self.__dict__.values() if isinstance(column, str)]
