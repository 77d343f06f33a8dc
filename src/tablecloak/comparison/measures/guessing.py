"""Risk: an intruder guesses each sensitive cell."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.comparison.measure import RISKS, RiskMeasure
from tablecloak.cta.risk.risk import TruthGuesses


@RISKS.register
class Guessed(RiskMeasure):
    """Share of right guesses."""

    name: ClassVar[str] = "guessed"
    place: ClassVar[int] = 1
    note: ClassVar[str] = (
        "guessed: share of the sensitive cells whose value an intruder guesses to within their "
        "protection level. From a suppressed table the guess is the midpoint of what follows from "
        "the published cells, from an adjusted one the table found by running the method "
        "backwards, from a rounded one the rounded value. The intruder does not know which "
        "guesses are right."
    )

    def figures(self, guesses: TruthGuesses) -> dict[str, float]:
        """Return ``guessed``."""
        return {"guessed": guesses.share_recovered}


@RISKS.register
class Errors(RiskMeasure):
    """Errors of the guesses as multiples of the level."""

    name: ClassVar[str] = "errors"
    place: ClassVar[int] = 2
    note: ClassVar[str] = (
        "worst_error, mean_error: distance of guess and truth, in protection levels."
    )

    def figures(self, guesses: TruthGuesses) -> dict[str, float]:
        """Return ``worst_error`` and ``mean_error``, NaN if no cell has a level."""
        levels = np.where(guesses.levels > 0, guesses.levels, np.nan)
        relative = np.abs(guesses.errors) / levels
        known = relative[np.isfinite(relative)]
        return {
            "worst_error": float(known.min()) if len(known) else np.nan,
            "mean_error": float(known.mean()) if len(known) else np.nan,
        }
