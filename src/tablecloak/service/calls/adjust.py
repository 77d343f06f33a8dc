"""A table protected by moving values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.service.answers import Found
from tablecloak.service.call import CALLS, SOURCE, Call, Question
from tablecloak.service.calls.protect import done


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Adjust(Call):
    """Move sensitive cells to safe values and the others as little as possible, and audit it."""

    name: ClassVar[str] = "adjust"
    sections: ClassVar[tuple[str, ...]] = (*SOURCE, "adjustment", "audit")
    assumed: ClassVar[tuple[str, ...]] = ("adjustment",)

    def answer(self, question: Question) -> Found:
        """Return the adjusted table."""
        found: Found = done(question)["adjustment"]
        return found
