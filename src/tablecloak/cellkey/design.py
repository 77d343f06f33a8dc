"""Perturbation tables of largest entropy under the constraints that offices use.

Given its mean and variance, the most random distribution of a perturbation maximises -sum p log p
over distributions p with F p = t in some rows and F p <= t in the others, whose first entries do
not fall. Giessing (2016), "Computational issues in the design of transition probabilities", PSD
2016, section 2.

It is found through the dual, which has one multiplier for each row of F and is convex: with
theta = -F^T y, and theta' the closest sequence to theta whose first entries do not fall, the best p
is proportional to exp(theta'), and the dual value is log sum exp(theta') + t y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from tablecloak.arrays import Flags, Floats
from tablecloak.cellkey.perturbation_table import PerturbationTable
from tablecloak.errors import InputError, SolverError

MOST_STEPS = 200
"""Newton steps; ten to forty are usual, and more if a probability must vanish."""

PRECISION = 1e-12
"""Largest residual of an answer, as a share of the largest entry of its row of F: tables are
published with 8 digits."""

RIDGE = 1e-14
"""Added to the scaled curvature, which is 0 in directions in which p does not change."""

TINY = 1e-40
"""Smallest curvature by which a multiplier is scaled."""

SUFFICIENT = 1e-4
"""Share of the decrease that the gradient promises, with which a step is long enough."""

ROUNDING = 8 * np.finfo(np.float64).eps
"""Bound of the rounding error of the dual value, for each entry of p and each unit of y."""

LOWERED_BY = 0.05
"""Step by which the least chance of no change is lowered if the variance cannot be reached."""

MOST_CHANGES = 400
"""Most different changes of a row: their probabilities are one dense program."""

SAME_VARIANCE = 5e-4
"""Largest difference at which a variance counts as reached; ptable compares three digits."""


def largest_entropy(
    features: Floats, targets: Floats, is_equal: Flags, n_rising: int = 0
) -> Floats | None:
    """Maximise the entropy of a distribution.

    Parameters
    ----------
    features : numpy.ndarray of float, shape (m, n)
        F.
    targets : numpy.ndarray of float, shape (m,)
        t.
    is_equal : numpy.ndarray of bool, shape (m,)
        Rows with F p = t; in the others F p <= t.
    n_rising : int, default=0
        Number of the first entries of p none of which is smaller than the one before.

    Returns
    -------
    numpy.ndarray of float, shape (n,), or None
        Probabilities, unique since the objective is strictly concave; None if it is proved that no
        distribution satisfies the rows.

    Raises
    ------
    SolverError
        If `MOST_STEPS` lead to neither.

    Notes
    -----
    The dual value of any multipliers, not negative where a row is an inequality, is at least the
    entropy of every distribution that satisfies the rows, and no entropy is negative. So a dual
    value below 0 proves that there is no such distribution. If there is none, the dual is unbounded
    below; if there is one, its minimum gives the answer. Nothing else can happen.
    """
    scale = np.maximum(np.abs(features).max(axis=1), np.finfo(np.float64).tiny)
    dual = _Dual(features / scale[:, None], targets / scale, n_rising)
    at = dual.point(np.zeros(len(targets)))
    for _ in range(MOST_STEPS):
        if at.value < -ROUNDING * features.shape[1] * (1.0 + np.abs(at.multipliers).sum()):
            return None
        if np.all(np.abs(_unsettled(at, is_equal)) <= PRECISION):
            return at.p
        at = _next(dual, at, is_equal)
    raise SolverError(
        f"{MOST_STEPS} steps neither found the distribution of largest entropy nor proved that "
        f"there is none. Change the variance a little."
    )


@dataclass(frozen=True)
class _Point:
    """Multipliers, and what the dual says of them."""

    multipliers: Floats
    value: float
    p: Floats
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True)
class _Dual:
    """The dual program, with rows of F that are scaled to 1."""

    features: Floats
    targets: Floats
    n_rising: int

    def point(self, multipliers: Floats) -> _Point:
        """Return value, gradient and second derivatives of the dual."""
        score, means = self._pooled(-multipliers @ self.features)
        highest = score.max()
        size = np.exp(score - highest)
        p = size / size.sum()
        value = float(highest + np.log(size.sum()) + self.targets @ multipliers)
        from_mean = means - (means @ p)[:, None]
        return _Point(
            multipliers,
            value,
            p,
            self.targets - self.features @ p,
            (from_mean * p) @ from_mean.T,
        )

    def _pooled(self, score: Floats) -> tuple[Floats, Floats]:
        """Return the closest scores that do not fall, and the means of F over equal ones."""
        if self.n_rising < 2:
            return score, self.features
        fitted = isotonic_regression(score[: self.n_rising])
        start = fitted.blocks[:-1]
        sizes = np.diff(fitted.blocks)
        means = np.add.reduceat(self.features[:, : self.n_rising], start, axis=1) / sizes
        pooled = np.repeat(means, sizes, axis=1)
        return (
            np.concatenate([fitted.x, score[self.n_rising :]]),
            np.concatenate([pooled, self.features[:, self.n_rising :]], axis=1),
        )


def _unsettled(at: _Point, is_equal: Flags) -> Floats:
    """Return how far each row is from its condition: met, or met with a multiplier of 0."""
    slack: Floats = np.where(is_equal, at.gradient, np.minimum(at.gradient, at.multipliers))
    return slack


def _next(dual: _Dual, at: _Point, is_equal: Flags) -> _Point:
    """Take one Newton step, shortened until the dual value falls enough."""
    # Rows with room, whose multiplier is 0 or on its way there, take no part in the Newton step.
    small = min(1e-3, float(np.abs(_unsettled(at, is_equal)).max()))
    free = is_equal | (at.multipliers > small) | (at.gradient <= 0)
    step = -at.gradient
    curved = at.curvature[np.ix_(free, free)]
    unit = np.sqrt(np.maximum(np.diag(curved), TINY))
    curved = curved / np.outer(unit, unit) + RIDGE * np.eye(len(unit))
    step[free] = np.linalg.solve(curved, step[free] / unit) / unit
    length = 1.0
    while True:
        moved = at.multipliers + length * step
        after = dual.point(np.where(is_equal, moved, np.maximum(moved, 0.0)))
        promised = at.gradient @ (after.multipliers - at.multipliers)
        noise = ROUNDING * (1.0 + np.abs(after.multipliers).sum())
        if after.value <= at.value + SUFFICIENT * promised + noise:
            return after
        length /= 2


def design_count_table(
    deviation: int,
    variance: float,
    *,
    blocked: int = 0,
    stay: float | Sequence[float] | None = None,
    monotone: bool | Sequence[bool] = True,
    exact_variance: bool | Sequence[bool] = False,
) -> PerturbationTable:
    """Design a perturbation table for counts.

    Row i has the changes that lead from i to 0 or to a count above `blocked`, and that are at most
    `deviation`. Their probabilities have mean 0, at most the given variance, and the largest
    entropy under these constraints, so that an intruder can guess as little as possible.

    Parameters
    ----------
    deviation : int
        D, the largest change.
    variance : float
        V, the largest variance of the change.
    blocked : int, default=0
        js: no count is changed to 1, ..., `blocked`.
    stay : float or sequence of float, optional
        Least probability of no change, one for all rows or one for each. It is lowered by 0.05 as
        often as needed if the variance is not reached.
    monotone : bool or sequence of bool, default=True
        Whether a larger decrease is never more likely than a smaller one.
    exact_variance : bool or sequence of bool, default=False
        Whether the variance must equal V; otherwise at most V ("optim" 4 in ptable).

    Returns
    -------
    PerturbationTable
        Rows 0, ..., D + js + 1, or 0, ..., D if nothing is blocked. Row 0 has no change but 0.

    Raises
    ------
    InputError
        If a parameter is out of range, or no distribution meets the constraints of a row.

    Notes
    -----
    The tables are those of the R package ptable (Enderle, Destatis), to 8 digits. A design is
    refused only with a proof that no distribution meets its constraints; see `largest_entropy`.

    Examples
    --------
    >>> table = design_count_table(2, 1.05, blocked=1, monotone=[True, True, False, True])
    >>> table.to_frame().query("i == 1").p.tolist()
    [0.50833333, 0.475, 0.01666667]
    """
    if not (isinstance(deviation, int) and deviation >= 1):
        raise InputError(f"`deviation` must be a whole number of 1 or more. Got {deviation!r}.")
    _require_few(2 * deviation, "`deviation`", deviation)
    if not (isinstance(blocked, int) and 0 <= blocked < deviation):
        # Otherwise the first count that is not blocked could be raised but not lowered.
        raise InputError(
            f"`blocked` must be a whole number of 0 or more, below `deviation`, which is "
            f"{deviation}. Got {blocked!r}."
        )
    n_rows = deviation + blocked + 1 if blocked else deviation
    stays = _each("stay", 0.0 if stay is None else stay, n_rows)
    if any(not 0 <= chance < 1 for chance in stays):
        raise InputError(f"`stay` must lie between 0 and 1. Got {stay!r}.")
    stays[:blocked] = [0.0] * blocked
    changes: dict[float, Floats] = {}
    for value in range(1, n_rows + 1):
        targets = np.arange(max(value - deviation, 0), value + deviation + 1)
        changes[value] = (targets[(targets == 0) | (targets > blocked)] - value).astype(np.float64)
    return PerturbationTable.of_rows(_designed(changes, variance, stays, monotone, exact_variance))


def design_magnitude_table(
    deviation: int,
    variance: float,
    rows: Sequence[float],
    *,
    step: float = 0.5,
    monotone: bool | Sequence[bool] = True,
    exact_variance: bool | Sequence[bool] = False,
    kind: str = "all",
) -> PerturbationTable:
    """Design a perturbation table for magnitudes, whose rows are looked up with interpolation.

    Parameters
    ----------
    deviation : int
        D, the largest change, in units of the noise.
    variance : float
        V, the largest variance of the change, in squared units of the noise.
    rows : sequence of float
        Values i with a row, in units of the noise; 1 and `deviation` must be among them, and none
        may be larger.
    step : float, default=0.5
        Distance of neighbouring changes, 1 divided by a whole number.
    monotone, exact_variance : bool or sequence of bool
        See `design_count_table`; one for all rows, or one for each.
    kind : str, default="all"
        Cells that the table is for: "all", "even", "odd" or "small_cells".

    Raises
    ------
    InputError
        If a parameter is out of range, or no distribution meets the constraints of a row.
    """
    values = sorted({float(value) for value in rows})
    parts = round(1 / step) if step > 0 else 0
    if not parts or abs(parts * step - 1) > 1e-9:
        raise InputError(f"`step` must be 1 divided by a whole number, such as 0.5. Got {step!r}.")
    _require_few(2 * deviation * parts, "`deviation` divided by `step`", deviation * parts)
    if not {1.0, float(deviation)} <= set(values) or values[-1] > deviation or values[0] <= 0:
        raise InputError(
            f"`rows` must hold 1 and `deviation`, here {deviation}, and nothing above it or below "
            f"0. Got {list(rows)}."
        )
    changes: dict[float, Floats] = {}
    for value in values:
        lowest = max(value - deviation, 0.0)
        steps = np.arange(round((value + deviation - lowest) * parts) + 1)
        changes[value] = lowest + steps / parts - value
    stays = [0.0] * len(values)
    designed = _designed(changes, variance, stays, monotone, exact_variance)
    return PerturbationTable.of_rows(designed, kind)


def _designed(
    changes: Mapping[float, Floats],
    variance: float,
    stays: Sequence[float],
    monotone: bool | Sequence[bool],
    exact_variance: bool | Sequence[bool],
) -> dict[float, tuple[Floats, Floats]]:
    """Return the changes of each row with their probabilities; row 0 has no change but 0."""
    monotones = _each("monotone", monotone, len(changes))
    exacts = _each("exact_variance", exact_variance, len(changes))
    rows = {0.0: (np.zeros(1), np.ones(1))}
    for (value, row), stay, rises, exact in zip(
        changes.items(), stays, monotones, exacts, strict=True
    ):
        chances = _row(row, variance, stay, bool(rises), bool(exact))
        if chances is None:
            raise InputError(
                f"Row i = {value:g}: no distribution has mean 0 and "
                f"{'' if exact else 'at most '}the variance {variance:g}. Take "
                f"{'another' if exact else 'a larger'} variance, a larger `deviation`, block fewer "
                f"counts, or do without `monotone`."
            )
        rows[float(value)] = row, chances
    return rows


def _require_few(count: int, name: str, given: int) -> None:
    """Refuse a table by the number of changes in a row, before it is made."""
    if count > MOST_CHANGES:
        raise InputError(
            f"{name} must be at most {MOST_CHANGES // 2}, since each row has a probability for "
            f"each change. Got {given:,}."
        )


def _each(name: str, given: object, n_rows: int) -> list[float]:
    """One entry for each row."""
    if isinstance(given, int | float):
        return [float(given)] * n_rows
    entries = [float(entry) for entry in given]  # type: ignore[attr-defined]
    if len(entries) != n_rows:
        raise InputError(
            f"`{name}` has {len(entries)} entries, but the table has {n_rows} rows besides row 0. "
            f"Give one entry, or one for each row."
        )
    return entries


def _row(
    changes: Floats, variance: float, stay: float, monotone: bool, exact: bool
) -> Floats | None:
    """Return the probabilities of one row, with `stay` lowered until the variance is reached."""
    if 0.0 not in changes:
        stay = 0.0
    while True:
        found = _probabilities(changes, variance, stay, monotone, exact)
        reached = found is not None and abs(found @ changes**2 - variance) < SAME_VARIANCE
        if reached or stay == 0.0:
            return found
        stay = max(round(stay - LOWERED_BY, 12), 0.0)


def _probabilities(
    changes: Floats, variance: float, stay: float, monotone: bool, exact: bool
) -> Floats | None:
    unchanged = changes == 0
    rows = [(changes, 0.0, True), (changes**2, variance, exact)]
    if stay:
        rows.append((-unchanged.astype(np.float64), -stay, False))
    features, targets, is_equal = zip(*rows, strict=True)
    n_rising = int(np.flatnonzero(unchanged)[0]) + 1 if monotone and unchanged.any() else 0
    return largest_entropy(np.array(features), np.array(targets), np.array(is_equal), n_rising)
