"""NUTS."""

from __future__ import annotations

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification


@CLASSIFICATIONS.register
class NUTS(Classification):
    """Regions of Europe of any version: countries to NUTS 3, as DE111; without labels."""

    name = "nuts"
    title = "NUTS"
    source = "Regulation (EC) 1059/2003: each level adds a character to the code of the country"
    licence = "none is needed: the codes are those of the data"
    further = "[A-Z]{2}[0-9A-Z]{0,3}"

    def parent(self, code: str) -> str:
        """Return the region above; countries lie below the total."""
        above = super().parent(code)
        return above if len(above) > 1 else ""
