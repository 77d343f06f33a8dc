"""Information loss: the distance of released from original numbers, in one figure.

References
----------
.. [1] Mateo-Sanz, Sebe, Domingo-Ferrer: Outlier protection in continuous microdata masking,
   2004 (IL1s).
.. [2] Woo, Reiter, Oganian, Karr: Global measures of data utility for microdata masked for
   disclosure limitation, 2009 (propensity scores).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.microdata.columns import paired_numbers

__all__ = ["information_loss", "propensity"]

STEPS = 50
"""Most Newton steps of the propensity model."""


def information_loss(
    original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]
) -> float:
    """Return IL1s: the sum of |x - y| / (sqrt(2) sd of x), not averaged."""
    x, y = paired_numbers(original, released, columns)
    spread = x.std(axis=0, ddof=1)
    return float(np.sum(np.abs(x - y) / (np.sqrt(2) * spread)))


def propensity(original: pd.DataFrame, released: pd.DataFrame, columns: Sequence[str]) -> float:
    """Return how well a logistic model distinguishes released from original records; 0: not at all.

    The mean of (p - 1/2)^2 over both files, where p is the probability of being a released record,
    fitted by the columns and their squares (Woo, Reiter, Oganian, Karr 2009).
    """
    x, y = paired_numbers(original, released, columns)
    both = np.vstack([x, y])
    both = (both - both.mean(axis=0)) / np.maximum(both.std(axis=0), 1e-300)
    design = np.column_stack([np.ones(len(both)), both, both**2])
    label = np.repeat([0.0, 1.0], [len(x), len(y)])
    beta = np.zeros(design.shape[1])
    ridge = 1e-8 * len(both) * np.eye(len(beta))
    chance = np.full(len(both), 0.5)
    for _ in range(STEPS):
        information = design.T @ (design * (chance * (1 - chance))[:, None]) + ridge
        step = np.linalg.solve(information, design.T @ (label - chance) - ridge @ beta)
        beta = beta + step
        chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        if np.max(np.abs(step)) < 1e-8:
            break
    return float(np.mean((chance - len(y) / len(both)) ** 2))
