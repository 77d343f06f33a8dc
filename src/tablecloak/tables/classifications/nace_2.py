"""NACE Rev. 2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tablecloak.tables.classifications.classification import CLASSIFICATIONS
from tablecloak.tables.classifications.isic_4 import ISIC4


@CLASSIFICATIONS.register
class NACE2(ISIC4):
    """Economic activities in the European Union before 2025; labels of sections and divisions."""

    name = "nace-2"
    title = "NACE Rev. 2"
    source = "Regulation (EC) 1893/2006, whose sections and divisions are those of ISIC Rev. 4"
    further = r"\d\d\.\d\d?"

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, str]]:
        """Sections and divisions; groups and classes follow from their codes."""
        return {code: entry for code, entry in super().entries.items() if len(code) < 3}
