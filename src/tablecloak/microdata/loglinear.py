"""Log-linear models of a cross-classification, and the change of their likelihood by a release.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004, relation (3).
.. [2] Bishop, Fienberg, Holland: Discrete multivariate analysis, 1975 (proportional fitting).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError

SWEEPS = 1000
"""Most sweeps of iterative proportional fitting."""

FITTED = 1e-12
"""By default, fitting ends when no margin changes by more than this share of all records."""


@dataclass(frozen=True)
class LogLinearModel:
    """A hierarchical model by its generators, such as ``[("A", "B"), ("C",)]``.

    Parameters
    ----------
    names : tuple of str
        Attributes of the table, in the order of its axes.
    generators : tuple of tuple of str
        Margins that the model fits; every attribute should be in one.
    """

    names: tuple[str, ...]
    generators: tuple[tuple[str, ...], ...]

    @classmethod
    def of(
        cls, names: Sequence[str], generators: Sequence[Sequence[str]] | None = None
    ) -> LogLinearModel:
        """Return a model; by default that of independence.

        Raises
        ------
        InputError
            If a generator names an unknown attribute.
        """
        given = [(name,) for name in names] if generators is None else list(map(tuple, generators))
        for name in itertools.chain(*given):
            if name not in names:
                raise InputError(
                    f"The model names {name!r}, which is no attribute of the table. It has "
                    f"{', '.join(names)}."
                )
        covered = set(itertools.chain(*given))
        given += [(name,) for name in names if name not in covered]
        return cls(tuple(names), tuple(tuple(generator) for generator in given))

    def fit(
        self, counts: Floats, *, start: Floats | None = None, tolerance: float = FITTED
    ) -> Floats:
        """Return probabilities, in the shape of the counts, by iterative proportional fitting.

        Parameters
        ----------
        counts : numpy.ndarray of float, shape of the table
        start : numpy.ndarray of float, shape of the table, optional
            The fitted probabilities are these times a function of the model: the exponential of
            an offset. By default all are equal.
        tolerance : float, optional
            Fitting ends when no margin changes by more than this share of the number of records.
        """
        n = float(counts.sum())
        fitted = np.full(counts.shape, 1.0 / counts.size) if start is None else start / start.sum()
        axes = [
            tuple(axis for axis, name in enumerate(self.names) if name not in generator)
            for generator in self.generators
        ]
        margins = [counts.sum(axis=other, keepdims=True) / n for other in axes]
        for _ in range(SWEEPS):
            moved = 0.0
            for other, margin in zip(axes, margins, strict=True):
                now = fitted.sum(axis=other, keepdims=True)
                moved = max(moved, float(np.max(np.abs(now - margin))))
                ratio = np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
                fitted = fitted * ratio
            if moved <= tolerance:
                break
        return fitted

    def likelihood(self, counts: Floats, fitted: Floats | None = None) -> float:
        """Return sum n log p; -inf if a cell with records has probability 0.

        Parameters
        ----------
        counts : numpy.ndarray of float, shape of the table
        fitted : numpy.ndarray of float, optional
            Probabilities, such as those fitted to other counts; by default fitted to `counts`.
        """
        probability = self.fit(counts) if fitted is None else fitted
        full = counts > 0
        if np.any(probability[full] <= 0):
            return -np.inf
        return float(np.sum(counts[full] * np.log(probability[full])))

    def utility(self, before: Floats, after: Floats, *, refit: bool = False) -> float:
        """Return L(after) - L(before), the change of the log-likelihood.

        By default both use the probabilities fitted to the original data; the change is then
        linear in the margins that the model fits, and 0 if the release keeps them. A refit to the
        release also rewards structure that is only its noise.
        """
        fitted = None if refit else self.fit(before)
        return self.likelihood(after, fitted) - self.likelihood(before)

    def n_parameters(self, sizes: Sequence[int]) -> int:
        """Return the number of free parameters of the probabilities, without the constant."""
        terms = {
            term
            for generator in self.generators
            for length in range(1, len(generator) + 1)
            for term in itertools.combinations(sorted(generator), length)
        }
        size = dict(zip(self.names, sizes, strict=True))
        return sum(int(np.prod([size[name] - 1 for name in term])) for term in terms)


def choose_model(
    names: Sequence[str], counts: Floats, *, criterion: Literal["AIC", "BIC"] = "BIC"
) -> LogLinearModel:
    """Choose a model by adding two-factor interactions, one at a time, to independence.

    Parameters
    ----------
    names : sequence of str
    counts : numpy.ndarray of float
        One axis for each attribute.
    criterion : {"AIC", "BIC"}, default="BIC"

    Returns
    -------
    LogLinearModel
        No further interaction of two attributes lowers the criterion.
    """
    price = 2.0 if criterion == "AIC" else float(np.log(counts.sum()))

    def value(pairs: tuple[tuple[str, ...], ...]) -> tuple[float, LogLinearModel]:
        model = LogLinearModel.of(names, pairs)
        return price * model.n_parameters(counts.shape) - 2 * model.likelihood(counts), model

    chosen: tuple[tuple[str, ...], ...] = ()
    best, model = value(chosen)
    left = list(itertools.combinations(names, 2))
    while left:
        tried = [(*value((*chosen, pair)), pair) for pair in left]
        lowest, candidate, pair = min(tried, key=lambda entry: entry[0])
        if lowest >= best:
            break
        best, model, chosen = lowest, candidate, (*chosen, pair)
        left.remove(pair)
    return model
