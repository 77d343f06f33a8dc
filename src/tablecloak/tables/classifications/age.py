"""Age classes."""

from __future__ import annotations

import re

from tablecloak.errors import InputError
from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification

OLDEST = 85
"""Age from which there are no classes of five years, as in Eurostat's tables."""

BROAD = {"0-14": 14, "15-64": 64, "65+": 999}
"""The broad classes, with the last year of each."""


@CLASSIFICATIONS.register
class Age(Classification):
    """Years of age, classes of five years such as 25-29 to 85+, and 0-14, 15-64 and 65+."""

    name = "age"
    title = "age classes"
    source = "Classes of five years and broad classes as in Eurostat's tables"
    licence = "none is needed"

    def parent(self, code: str) -> str:
        """Return the class above; the broad ones lie below the total."""
        if code in BROAD:
            return ""
        year = re.fullmatch(r"(\d{1,3})(-\d{1,3}|\+)?", code)
        first = int(year[1]) if year else 0
        above = f"{OLDEST}+"
        if first < OLDEST:
            above = f"{first // 5 * 5}-{first // 5 * 5 + 4}"
        if year is None or (year[2] and above != code):
            raise InputError(
                f"{code!r} is no age class. Expected years, 0-4 to {OLDEST - 5}-{OLDEST - 1} and "
                f"{OLDEST}+, or {', '.join(BROAD)}."
            )
        return next(b for b, last in BROAD.items() if first <= last) if year[2] else above
