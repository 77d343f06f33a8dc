"""Perturbation tables of largest entropy under the constraints that offices use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cellkey.entropy import largest_entropy
from tablecloak.cellkey.perturbation_table import PerturbationTable
from tablecloak.errors import InputError

__all__ = ["design_count_table", "design_magnitude_table"]

LOWERED_BY = 0.05
"""Step by which the least chance of no change is lowered if the variance cannot be reached."""

MOST_CHANGES = 400
"""Most different changes of a row: their probabilities are one dense program."""

SAME_VARIANCE = 5e-4
"""Largest difference at which a variance counts as reached; ptable compares three digits."""


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
    monotones = _each("monotone", monotone, n_rows)
    exact = _each("exact_variance", exact_variance, n_rows)
    rows = {0.0: (np.zeros(1), np.ones(1))}
    for number, value in enumerate(range(1, n_rows + 1)):
        targets = np.arange(max(value - deviation, 0), value + deviation + 1)
        changes = (targets[(targets == 0) | (targets > blocked)] - value).astype(np.float64)
        least = 0.0 if value <= blocked else stays[number]
        chances = _row(changes, variance, least, bool(monotones[number]), bool(exact[number]))
        rows[float(value)] = changes, _required(chances, value, variance, bool(exact[number]))
    return PerturbationTable.of_rows(rows)


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
    monotones = _each("monotone", monotone, len(values))
    exact = _each("exact_variance", exact_variance, len(values))
    designed = {0.0: (np.zeros(1), np.ones(1))}
    for number, value in enumerate(values):
        lowest = max(value - deviation, 0.0)
        changes = (
            lowest + np.arange(round((value + deviation - lowest) * parts) + 1) / parts - value
        )
        chances = _row(changes, variance, 0.0, bool(monotones[number]), bool(exact[number]))
        designed[value] = changes, _required(chances, value, variance, bool(exact[number]))
    return PerturbationTable.of_rows(designed, kind)


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


def _required(chances: Floats | None, value: float, variance: float, exact: bool) -> Floats:
    if chances is None:
        remedy = "another" if exact else "a larger"
        raise InputError(
            f"Row i = {value:g}: no distribution has mean 0 and {'' if exact else 'at most '}the "
            f"variance {variance:g}. Take {remedy} variance, a larger `deviation`, block fewer "
            f"counts, or do without `monotone`."
        )
    return chances


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
