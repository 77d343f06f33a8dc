"""What methods that add noise to numbers have in common: one unit of noise, and what was reached.

The unit is lambda^2, the variance of the noise as a share of that of the data. A column whose
released values have the correlation r with the original ones has reached lambda^2 = 1 / r^2 - 1,
whether or not the method then changes location and scale.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import like, names_of, numbers_of
from tablecloak.microdata.methods.method import Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order

__all__ = ["MaskedRelease", "NoiseMethod", "noise_reached", "varying_numbers", "with_gaps"]


@dataclass(frozen=True, eq=False)
class MaskedRelease:
    """Masked records, and how much noise they got.

    Parameters
    ----------
    frame : pandas.DataFrame
    method : str
        Name of the method.
    noise : float
        lambda^2 that was asked for. Publish it: users need it to judge estimates.
    achieved : pandas.DataFrame
        One row for each column: `share`, the lambda^2 that was drawn, 1 / r^2 - 1 with the
        correlation r of released and original values; `correlation`, r; `variance` of the released
        values as a share of that of the original ones; and `measured`, the number of values by
        which these are measured.
    """

    frame: pd.DataFrame
    method: str
    noise: float
    achieved: pd.DataFrame

    def summary(self) -> str:
        """Return number of records, and noise asked for and drawn, in one line."""
        share = 100 * self.achieved["share"]
        return (
            f"{self.method}: {len(self.frame)} records, {len(self.achieved)} columns, noise of "
            f"{100 * self.noise:.4g} % of the variance asked for, {share.min():.4g} to "
            f"{share.max():.4g} % drawn"
        )


@dataclass(frozen=True)
class NoiseMethod(Method[MaskedRelease]):
    """Base class of methods that mask numbers by noise of a given share of their variance."""

    columns: Annotated[Sequence[str], option("column", "Sensitive numeric column.", min_length=1)]
    noise: Annotated[
        float, option("share", "Variance of the noise as a share of that of the data.", ge=0)
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        names_of(self.columns, "columns")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the sensitive columns."""
        return Columns(changed=self.columns, numbers=self.columns)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> MaskedRelease:
        """Add the noise.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or constant, or has infinite values; names
            it.
        """
        values = varying_numbers(frame, self.columns)
        warn_of_order(frame, self.columns)
        masked, measured = self.masked(values, random)
        released, achieved = frame.copy(), {}
        for at, name in enumerate(self.columns):
            released[name] = like(frame[name], masked[:, at])
            chosen = measured[:, at]
            achieved[name] = noise_reached(values[chosen, at], masked[chosen, at])
        table = pd.DataFrame.from_dict(achieved, orient="index")
        return MaskedRelease(released, self.name, self.noise, table)

    @abstractmethod
    def masked(self, values: Floats, random: np.random.Generator) -> tuple[Floats, Flags]:
        """Return masked values, and those by which the noise is measured.

        Parameters
        ----------
        values : numpy.ndarray of float, shape (n_records, n_columns)
            NaN where they are missing; it must stay as it is.
        random : numpy.random.Generator
        """


def varying_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return columns of numbers, NaN where they are missing, shape (n_records, n_columns).

    Raises
    ------
    InputError
        If a column does not exist, is not numeric or constant, or has infinite values; names it.
    """
    values = np.column_stack([numbers_of(frame, name, refuse_missing=False) for name in columns])
    for name, column in zip(columns, values.T, strict=True):
        known = column[~np.isnan(column)]
        if len(known) < 2 or known.min() == known.max():
            raise InputError(
                f"Column {name!r} is constant: its variance is 0, and so is noise as a share of "
                "it. Leave the column out."
            )
    return values


def noise_reached(values: Floats, masked: Floats) -> dict[str, float]:
    """Return what noise a column got, by its correlation with the original; see `MaskedRelease`."""
    known = ~np.isnan(values)
    before, after = (column[known] - column[known].mean() for column in (values, masked))
    own, new, both = float(before @ before), float(after @ after), float(before @ after)
    # Rounding can make a correlation of 1 larger.
    square = min(both**2 / (own * new), 1.0) if own and new else np.nan
    return {
        "share": 1 / square - 1 if square else np.inf,
        "correlation": float(np.sign(both)) * square**0.5,
        "variance": new / own if own else np.nan,
        "measured": int(known.sum()),
    }


def with_gaps(values: Floats, masked: Floats) -> Floats:
    """Return masked values with the gaps of the original, and its means and variances.

    Columns without gaps stay as they are.

    Parameters
    ----------
    values : numpy.ndarray of float, shape (n_records, n_columns)
        Original values, NaN where they are missing.
    masked : numpy.ndarray of float, shape (n_records, n_columns)
        Without gaps.
    """
    found = np.where(np.isnan(values), np.nan, masked)
    for at in np.flatnonzero(np.isnan(values).any(axis=0)):
        spread = np.nanstd(found[:, at])
        if spread:
            found[:, at] -= np.nanmean(found[:, at])
            found[:, at] *= np.nanstd(values[:, at]) / spread
            found[:, at] += np.nanmean(values[:, at])
    return found
