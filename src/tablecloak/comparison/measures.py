"""Measures by which releases are compared: what an intruder gets, and what the analyst gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.cta.risk.risk import TruthGuesses
from tablecloak.cta.statistics.moments import moments
from tablecloak.registry import Registry


@dataclass(frozen=True, eq=False)
class AnalystView:
    """What an analyst has of a table.

    Parameters
    ----------
    truth, shown : numpy.ndarray of float, shape (n_cells,)
        True values, and what the analyst uses: midpoints of suppressed cells.
    sensitive, exact : numpy.ndarray of bool, shape (n_cells,)
    lost : numpy.ndarray of float, shape (n_cells,)
        How much of each value is suppressed, or changed.
    """

    truth: Floats
    shown: Floats
    sensitive: Flags
    exact: Flags
    lost: Floats


ViewT = TypeVar("ViewT")


class Measure(ABC, Generic[ViewT]):
    """What an intruder gets by guessing, or an analyst by looking."""

    name: ClassVar[str]
    note: ClassVar[str]
    """What the figures mean, for the page."""

    @abstractmethod
    def figures(self, view: ViewT) -> dict[str, float]:
        """Return the figures by their names."""


RISKS: Registry[Measure[TruthGuesses]] = Registry("measure of risk")
"""All measures of risk by name, in the order in which they are shown."""

UTILITIES: Registry[Measure[AnalystView]] = Registry("measure of utility")
"""All measures of utility by name, in the order in which they are shown."""


@RISKS.register
class RightGuesses(Measure[TruthGuesses]):
    """Share of right guesses."""

    name: ClassVar[str] = "guessed"
    note: ClassVar[str] = (
        "guessed: share of the sensitive cells whose value an intruder guesses to within their "
        "protection level. From a suppressed table the guess is the midpoint of what follows from "
        "the published cells, from an adjusted one the table found by running the method "
        "backwards, from a rounded one the rounded value. Where distances were left to chance, it "
        "is at least what chance admits, whatever one draw gave. The intruder does not know which "
        "guesses are right; another attack may guess more."
    )

    def figures(self, view: TruthGuesses) -> dict[str, float]:
        """Return ``guessed``."""
        return {"guessed": view.risk}


@RISKS.register
class GuessErrors(Measure[TruthGuesses]):
    """Errors of the guesses as multiples of the level."""

    name: ClassVar[str] = "errors"
    note: ClassVar[str] = (
        "worst_error, mean_error: smallest and mean distance of guess and truth over the sensitive "
        "cells, each in protection levels of its cell; a guess below 1 is right."
    )

    def figures(self, view: TruthGuesses) -> dict[str, float]:
        """Return ``worst_error`` and ``mean_error``, NaN if no cell has a level."""
        levels = np.where(view.levels > 0, view.levels, np.nan)
        relative = np.abs(view.errors) / levels
        finite = relative[np.isfinite(relative)]
        return {
            "worst_error": float(finite.min()) if len(finite) else np.nan,
            "mean_error": float(finite.mean()) if len(finite) else np.nan,
        }


@UTILITIES.register
class LostValue(Measure[AnalystView]):
    """Share of the cells that are exact, and of the total value that is lost."""

    name: ClassVar[str] = "lost"
    note: ClassVar[str] = (
        "exact: share of the cells, from 0 to 1, that are published exactly. value_lost: sum of "
        "the values that are suppressed, or of all changes, as a share of the sum of all values."
    )

    def figures(self, view: AnalystView) -> dict[str, float]:
        """Return ``exact`` and ``value_lost``."""
        total = float(np.abs(view.truth).sum())
        return {
            "exact": float(np.mean(view.exact)),
            "value_lost": float(view.lost.sum()) / total if total else 0.0,
        }


@UTILITIES.register
class RelativeChanges(Measure[AnalystView]):
    """Relative changes of the cells that are not 0."""

    name: ClassVar[str] = "changes"
    note: ClassVar[str] = (
        "mean_change, median_change: of the change of a cell as a share of its true value, over "
        "cells that are not 0; of suppressed ones the midpoint counts as published."
    )

    def figures(self, view: AnalystView) -> dict[str, float]:
        """Return ``mean_change`` and ``median_change``."""
        some = view.truth != 0
        relative = np.abs(view.shown - view.truth)[some] / np.abs(view.truth[some])
        return {
            "mean_change": float(relative.mean()) if len(relative) else 0.0,
            "median_change": float(np.median(relative)) if len(relative) else 0.0,
        }


@UTILITIES.register
class MomentsOfValues(Measure[AnalystView]):
    """Moments of published and true values, over all and over the sensitive cells."""

    name: ClassVar[str] = "moments"
    note: ClassVar[str] = (
        "correlation, slope, variance_ratio, distance, sensitive_slope, sensitive_correlation: of "
        "published and true values over all cells, and over the sensitive ones; of suppressed ones "
        "the midpoint counts as published. No change gives 1: correlation, slope of published on "
        "true values, variance of the published over that of the true ones; but 0 as the distance "
        "of Kolmogorov and Smirnov, the largest difference of the two distributions, from 0 to 1."
    )

    def figures(self, view: AnalystView) -> dict[str, float]:
        """Return the moments by their names."""
        every = moments(view.truth, view.shown)
        part = moments(view.truth[view.sensitive], view.shown[view.sensitive])
        return {
            "correlation": every.correlation,
            "slope": every.slope,
            "variance_ratio": every.variance_ratio,
            "distance": every.distribution_distance,
            "sensitive_slope": part.slope,
            "sensitive_correlation": part.correlation,
        }
