"""What is read of a fitted regression, of statsmodels or of another library."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.safe.other.fitted_model import is_of_categories, is_robust, weights_of
from tablecloak.safe.values import ValueLevels

CODED = re.compile(r"^(?:C\((\w+).*\)|(\w+))\[.*\]$")
"""Name of a column that stands for one category of a factor."""

WEIGHTS = "weights of the regression"
"""Name under which weights stand beside the columns of a fit."""


@dataclass(frozen=True)
class Fit:
    """What is read of a fitted model, of statsmodels or of another library.

    Parameters
    ----------
    exog : (n, k) array of float
        Columns of the regression, the constant included.
    endog : (n,) array of float
    names : tuple of str
        Of the columns.
    index : pandas.Index
        Of the records; numbered from 0 if the model does not know them.
    result : object
    method : str
        Name of the model, such as "ols".
    weights : (n,) array of float
        By what each record counts; records to which somebody gave no weight are left out.
    n_left_out : int, default=0
        How many these are.
    """

    exog: Floats
    endog: Floats
    names: tuple[str, ...]
    index: pd.Index
    result: Any
    method: str
    weights: Floats
    n_left_out: int = 0

    @classmethod
    def of(cls, result: Any) -> Fit:
        """Read a fitted model.

        Raises
        ------
        InputError
            If it has no ``model.exog``, ``model.endog`` and ``params``, or is not finite.
        """
        model: Any = getattr(result, "model", None)
        missing = [
            f"{where}.{name}" if where else name
            for owner, where, name in (
                (model, "model", "exog"),
                (model, "model", "endog"),
                (result, "", "params"),
            )
            if getattr(owner, name, None) is None
        ]
        if missing:
            raise InputError(
                f"a regression is given as a fitted model, as .fit() of statsmodels returns it; "
                f"{type(result).__name__} has no {', '.join(missing)}"
            )
        exog = np.asarray(model.exog, dtype=np.float64)
        endog = np.asarray(model.endog, dtype=np.float64)
        if exog.ndim != 2 or endog.shape != exog.shape[:1] or not exog.size:
            raise InputError(
                f"a regression needs a column y and a matrix X of as many rows; found y with shape "
                f"{endog.shape} and X with shape {exog.shape}"
            )
        if np.shape(result.params) == exog.shape:
            raise InputError(
                f"{type(result).__name__} has coefficients of each record, as rolling regressions "
                "do: ask for a regression of each period that you show"
            )
        if not np.isfinite(exog).all() or not np.isfinite(endog).all():
            raise InputError("a regression needs finite numbers: drop missing values first")
        names = [str(name) for name in getattr(model, "exog_names", None) or []]
        if len(names) != exog.shape[1]:
            names = [f"x{number}" for number in range(exog.shape[1])]
        labels = getattr(getattr(model, "data", None), "row_labels", None)
        index = pd.RangeIndex(len(endog)) if labels is None else pd.Index(labels)
        frame = getattr(getattr(model, "data", None), "frame", None)
        if isinstance(frame, pd.DataFrame) and frame.index.equals(index):
            # The index of the frame itself says that its records were not numbered anew.
            index = frame.index
        weights = weights_of(model, len(endog))
        # How many records a robust fit leaves out is theirs alone.
        counts = (weights > 0) | is_robust(model)
        return cls(
            exog[counts], endog[counts], tuple(names), index if counts.all() else index[counts],
            result, type(model).__name__.lower(), weights[counts], int((~counts).sum()),
        )  # fmt: skip

    @property
    def values(self) -> pd.DataFrame:
        """What the model knows of its records: y, and the columns and weights that vary."""
        varies = (self.exog != self.exog[:1]).any(axis=0)
        chosen = np.flatnonzero(varies)
        columns = pd.DataFrame(
            self.exog[:, chosen], index=self.index, columns=[self.names[k] for k in chosen]
        )
        weighted = {WEIGHTS: self.weights} if self.is_weighted else {}
        return columns.assign(**{self.y: self.endog}, **weighted)

    @property
    def tells_squares(self) -> bool:
        """Whether anything is shown beside coefficients: a fit as a whole, or standard errors."""
        return any(figure_of(self.result, name) is not None for name in ("bse", "rsquared", "llf"))

    @property
    def has_amounts(self) -> bool:
        """Whether y is an amount whose residuals the fit tells of: no code, and no robust scale."""
        model = self.result.model
        is_other = is_of_categories(model) or is_robust(model)
        return not is_other and not ValueLevels.of(self.endog).is_code

    @property
    def is_weighted(self) -> bool:
        """Whether weights are a column of somebody: those of a robust fit are its own."""
        return bool(np.ptp(self.weights)) and not is_robust(self.result.model)

    @property
    def is_of_flag(self) -> bool:
        """Whether y is 0 or 1."""
        return bool(np.isin(self.endog, (0, 1)).all())

    @property
    def y(self) -> str:
        """Name of what the model explains."""
        return str(getattr(self.result.model, "endog_names", None) or "y")

    @property
    def columns(self) -> list[str]:
        """What the columns are called in the frame, as far as their names say."""
        parts = [part for name in (self.y, *self.names) for part in name.split(":")]
        names = [CODED.sub(r"\1\2", part) for part in parts if part not in ("const", "Intercept")]
        return list(dict.fromkeys(names))

    @property
    def leaves_out(self) -> bool:
        """Whether the model left out records for their missing values."""
        data = getattr(self.result.model, "data", None)
        missing: Any = getattr(data, "missing_row_idx", None)
        return missing is not None and np.size(missing) > 0

    @property
    def left_over(self) -> float:
        """Share of the variation of y that the fit leaves over; NaN if the model does not say."""
        spread = float(((self.endog - self.endog.mean()) ** 2).sum())
        if not spread:
            return 0.0
        for name in ("resid_response", "resid"):
            found = getattr(self.result, name, None)
            if found is not None and np.shape(found) == self.endog.shape:
                return float((np.asarray(found, dtype=np.float64) ** 2).sum()) / spread
        return float("nan")


def figure_of(result: Any, name: str) -> Any:
    """Return a figure of a fitted model; None where its kind of model has none, as RLM no `llf`."""
    try:
        return getattr(result, name, None)
    except NotImplementedError:
        return None
