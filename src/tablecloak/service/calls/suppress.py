"""A table protected by hiding cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tablecloak.service.answers import Found
from tablecloak.service.call import CALLS, SOURCE, Call, Question
from tablecloak.service.calls.protect import done


@CALLS.register
@dataclass(frozen=True, kw_only=True)
class Suppress(Call):
    """Find a suppression pattern of a table, prove it and audit it."""

    name: ClassVar[str] = "suppress"
    sections: ClassVar[tuple[str, ...]] = (*SOURCE, "published", "between", "suppression", "audit")
    assumed: ClassVar[tuple[str, ...]] = ("suppression",)

    def answer(self, question: Question) -> Found:
        """Return the pattern."""
        found: Found = done(question)["suppression"]
        return found
