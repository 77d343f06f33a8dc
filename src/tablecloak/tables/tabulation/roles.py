"""Which column of the data plays which part."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Roles"]


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

    def columns(self) -> list[str]:
        """Return the columns that are given."""
        return [column for column in self.__dict__.values() if isinstance(column, str)]
