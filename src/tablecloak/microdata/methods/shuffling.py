"""Data shuffling: values are reordered by the ranks of a model that knows only other columns.

References
----------
.. [1] Muralidhar, Sarathy: Data shuffling: a new masking approach for numerical data, Management
   Science 52, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import rankdata

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.microdata.columns import names_of, numbers_of
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.noise import normal_draws, root_of
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order


@dataclass(frozen=True, eq=False)
class ShuffledRelease:
    """Records whose numbers are reordered.

    Parameters
    ----------
    frame : pandas.DataFrame
    before, after : pandas.DataFrame
        Rank correlations of the shuffled columns and the regressors, in the original and in the
        release.
    own : pandas.Series
        Rank correlation of each released column with its original: what regressors tell of it.
    """

    frame: pd.DataFrame
    before: pd.DataFrame
    after: pd.DataFrame
    own: pd.Series

    @property
    def largest_change(self) -> float:
        """Largest change of a rank correlation."""
        return float(np.nanmax(np.abs(self.after.to_numpy() - self.before.to_numpy()), initial=0.0))

    def summary(self) -> str:
        """Return number of records, and what became of rank correlations, in one line."""
        return (
            f"shuffle: {len(self.frame)} records, {len(self.own)} columns, rank correlations "
            f"change by at most {self.largest_change:.2g}, {self.own.abs().max():.2g} or less with "
            "the original values"
        )


@METHODS.register
@dataclass(frozen=True)
class Shuffling(Method[ShuffledRelease]):
    """Reorder numbers by the ranks of values drawn given other columns (data shuffling).

    Every value stays in the file, so that distributions of single columns stay exactly; rank
    correlations stay about as they are. Given the regressors, released values do not depend on the
    original ones of the record.

    Parameters
    ----------
    columns : sequence of str
        Confidential columns, which are shuffled.
    regressors : sequence of str, default=()
        Numeric columns that stay and whose rank correlations with the shuffled ones are to stay.
        Without any, shuffled columns only keep their correlations with each other.

    Notes
    -----
    Rank correlations r are turned into correlations 2 sin(pi r / 6) of normal scores, by which the
    model is a normal copula. For each record, scores of the confidential columns are drawn from
    their conditional normal distribution given the scores of the regressors [1]_; the value of each
    rank goes to the record whose drawn score has this rank. Draws are made uncorrelated with the
    regressors and given their covariance exactly, so that chance adds nothing. How closely rank
    correlations stay depends on how well the copula fits, and is reported.

    Missing values stay missing; a missing regressor counts as its median.
    """

    name: ClassVar[str] = "shuffle"
    guide: ClassVar[str] = (
        "Example: tablecloak records shuffle people.csv -o shuffled.csv --column wage "
        "--regressor hours"
    )

    columns: Annotated[
        Sequence[str], option("column", "Confidential numeric column.", min_length=1)
    ]
    regressors: Annotated[
        Sequence[str], option("regressor", "Numeric column that stays and explains others.")
    ] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.regressors:
            names_of(self.regressors, "regressors")
        both = sorted(set(self.columns) & set(self.regressors))
        if both:
            raise InputError(f"Column {both[0]!r} is in `columns` and `regressors`. Name it once.")

    def uses(self, known: Sequence[str]) -> Columns:
        """Return columns and regressors."""
        return Columns(changed=self.columns, numbers=[*self.columns, *self.regressors])

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> ShuffledRelease:
        """Draw scores and reorder values.

        Raises
        ------
        InputError
            If a column does not exist, is not numeric or has infinite values, or a confidential one
            has fewer than two known values; names it.
        """
        names = [*self.columns, *self.regressors]
        values = {name: numbers_of(frame, name, refuse_missing=False) for name in names}
        for name in self.columns:
            if np.sum(~np.isnan(values[name])) < 2:
                raise InputError(
                    f"Column {name!r} has fewer than two known values, so that there is nothing to "
                    "shuffle. Leave it out."
                )
        warn_of_order(frame, self.columns)
        ranks = pd.DataFrame({name: rankdata(values[name], nan_policy="omit") for name in names})
        before = _correlations(ranks)
        drawn = self._scores(ranks, before, random)
        released, moved = frame.copy(), ranks.copy()
        for name, score in zip(self.columns, drawn.T, strict=True):
            known = np.flatnonzero(~np.isnan(values[name]))
            donors = known[np.argsort(values[name][known], kind="stable")]
            records = known[np.argsort(score[known], kind="stable")]
            array: Any = frame[name].array.copy()
            array[records] = frame[name].array[donors]
            released[name] = pd.Series(array, index=frame.index)
            moved.loc[records, name] = ranks[name].to_numpy()[donors]
        with np.errstate(invalid="ignore", divide="ignore"):
            own = [moved[name].corr(ranks[name]) for name in self.columns]
        return ShuffledRelease(
            released, before, _correlations(moved), pd.Series(own, index=list(self.columns))
        )

    def _scores(
        self, ranks: pd.DataFrame, correlation: pd.DataFrame, random: np.random.Generator
    ) -> Floats:
        """Draw normal scores of the confidential columns given those of the regressors."""
        n_columns = len(self.columns)
        model = _nearest_correlation(2 * np.sin(np.pi / 6 * correlation.fillna(0.0).to_numpy()))
        inner, cross = model[:n_columns, :n_columns], model[:n_columns, n_columns:]
        slopes = cross @ np.linalg.pinv(model[n_columns:, n_columns:])
        scores = _normal_scores(ranks[list(self.regressors)])
        errors = normal_draws(scores, n_columns, random)
        return np.asarray(scores @ slopes.T + errors @ root_of(inner - slopes @ cross.T).T)


def _correlations(ranks: pd.DataFrame) -> pd.DataFrame:
    """Return rank correlations, of each two columns over the records that have both."""
    if ranks.isna().any(axis=None):
        return ranks.corr()
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.atleast_2d(np.corrcoef(ranks.to_numpy(), rowvar=False))
    return pd.DataFrame(correlations, index=ranks.columns, columns=ranks.columns)


def _normal_scores(ranks: pd.DataFrame) -> Floats:
    """Return normal scores of ranks, 0 where a value is missing."""
    known = ranks.notna().sum().to_numpy()
    scores = ndtri((ranks.to_numpy(dtype=np.float64) - 0.5) / np.maximum(known, 1))
    return np.asarray(np.nan_to_num(scores, nan=0.0))


def _nearest_correlation(matrix: Floats) -> Floats:
    """Return a matrix as a correlation matrix: without negative eigenvalues, 1 on the diagonal."""
    np.fill_diagonal(matrix, 1.0)
    root = root_of(matrix)
    covariance = root @ root.T
    scale = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(scale, scale))
