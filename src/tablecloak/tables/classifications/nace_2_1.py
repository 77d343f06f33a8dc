"""NACE Rev. 2.1."""

from __future__ import annotations

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification


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
