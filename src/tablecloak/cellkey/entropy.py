"""The most random distribution of a perturbation, given its mean and variance.

The program is: maximise -sum p log p over p > 0 with A p = b and G p <= h. Giessing (2016),
"Computational issues in the design of transition probabilities", PSD 2016, section 2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["largest_entropy"]

Floats = npt.NDArray[np.float64]

MOST_STEPS = 200
"""Newton steps before the program counts as infeasible; twenty to forty are usual."""

PRECISION = 1e-13
"""Largest residual and duality gap of an answer: tables are published with 8 digits."""

CENTRING = 0.1
"""Share of the present duality gap that a step aims for."""

BACK_FROM_EDGE = 0.95
"""Largest share of the way to the nearest bound that one step goes."""


def largest_entropy(equal: Floats, right: Floats, at_most: Floats, limits: Floats) -> Floats | None:
    """Maximise the entropy of a distribution by a primal-dual interior-point method.

    Parameters
    ----------
    equal : numpy.ndarray of float, shape (m, n)
        A, with independent rows; one of them requires that the probabilities add up to 1.
    right : numpy.ndarray of float, shape (m,)
        b.
    at_most : numpy.ndarray of float, shape (k, n)
        G.
    limits : numpy.ndarray of float, shape (k,)
        h.

    Returns
    -------
    numpy.ndarray of float, shape (n,), or None
        Probabilities, unique since the objective is strictly concave; None if the Newton steps
        reach no point that satisfies the rows, as when there is none.

    Notes
    -----
    One step solves a dense system of n + m rows: microseconds for the tens of columns that a
    perturbation has.
    """
    n, k = equal.shape[1], len(limits)
    p = np.full(n, 1.0 / n)
    slack, dual = np.ones(k), np.ones(k)
    price = np.zeros(len(right))
    for _ in range(MOST_STEPS):
        gap = float(slack @ dual) / max(k, 1)
        stationary = np.log(p) + 1.0 + equal.T @ price + at_most.T @ dual
        missed, over = equal @ p - right, at_most @ p + slack - limits
        # The logarithm of a probability of 1e-14 has no 13 digits, and needs none.
        parts = (p * stationary, missed, over)
        worst = max(float(np.abs(part).max(initial=0.0)) for part in parts)
        if max(worst, gap) < PRECISION:
            return p
        wanted = slack * dual - CENTRING * gap
        # The slacks and their multipliers are eliminated: d slack = -over - G dp.
        weight = dual / slack
        hessian = np.diag(1.0 / p) + at_most.T @ (weight[:, None] * at_most)
        towards = stationary + at_most.T @ (weight * over - wanted / slack)
        system = np.block([[hessian, equal.T], [equal, np.zeros((len(right), len(right)))]])
        try:
            step = np.linalg.solve(system, -np.concatenate([towards, missed]))
        except np.linalg.LinAlgError:
            return None
        d_p, d_price = step[:n], step[n:]
        d_slack = -over - at_most @ d_p
        d_dual = -(wanted + dual * d_slack) / slack
        length = _longest(np.concatenate([p, slack, dual]), np.concatenate([d_p, d_slack, d_dual]))
        p, price = p + length * d_p, price + length * d_price
        slack, dual = slack + length * d_slack, dual + length * d_dual
    return None


def _longest(point: Floats, step: Floats) -> float:
    """Return the largest share of a step after which every entry is still above 0."""
    falling = step < 0
    edge = float(np.min(-point[falling] / step[falling], initial=np.inf))
    return min(1.0, BACK_FROM_EDGE * edge)
