"""The contract of a release: complete, true or additive, and protected in an attack by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from tablecloak.arrays import Flags, Floats
from tablecloak.contracts.facts import expect
from tablecloak.tables.problem import ProtectionProblem

MET = 1e-6
"""Share by which a protection level, an interval or a relation may be missed: linear programs are
solved to seven digits."""


def check_release(problem: ProtectionProblem, release: Any) -> None:
    """Check the release of a problem, by any tool and method.

    The attack solves two linear programs by scipy for each sensitive cell, straight from the
    definition; no search or audit of this package takes part. It suits tables of up to some
    thousand cells; for larger ones and for other intruders use `tablecloak.audit`.

    Parameters
    ----------
    problem : ProtectionProblem
        The original table with its sensitive cells and levels.
    release : pandas.DataFrame or result
        A frame with one row for each cell: its codes; its value, in a column named ``value`` or
        like the measure; and for cell suppression a column ``status``, which is "suppressed" for
        hidden cells. Or a result with a method `release` that returns such a frame; its claims
        are checked too.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and cells that contradict it.

    Examples
    --------
    >>> import tablecloak as tc
    >>> from tablecloak.contracts import check_release
    >>> check_release(tc.examples.cox_rounded(), tc.suppress(tc.examples.cox_rounded()))
    """
    frame = release
    if not isinstance(release, pd.DataFrame):
        _check_claims(release)
        frame = release.release()
    frame = _in_table_order(problem, frame)
    values = frame[_value_column(problem, frame)].to_numpy(dtype=np.float64, na_value=np.nan)
    if "status" in frame:
        _check_pattern(problem, (frame["status"] == "suppressed").to_numpy(), values)
    else:
        _check_adjusted(problem, values)


def _check_claims(result: Any) -> None:
    """Verify the claims of a result, and check that they agree with each other."""
    result.verify()
    slack = MET * max(1.0, abs(result.loss))
    expect(
        result.bound <= result.loss + slack,
        f"The bound {result.bound} is above the loss {result.loss}.",
    )
    closed = result.loss - result.bound <= slack
    expect(
        closed or not result.is_optimal,
        f"The result is called optimal, but its bound {result.bound} is below its loss "
        f"{result.loss}.",
    )
    summary = result.summary()
    expect(summary and "\n" not in summary, "The summary is not one line.")


def _in_table_order(problem: ProtectionProblem, frame: pd.DataFrame) -> pd.DataFrame:
    keys = problem.table.keys
    names = list(keys.columns)
    absent = [name for name in names if name not in frame]
    expect(
        not absent,
        f"The columns {absent} with codes are missing; the release has {list(frame.columns)}.",
    )
    given = frame.astype(dict.fromkeys(names, str))
    twice = given[given.duplicated(names)][names].to_numpy().tolist()
    expect(not twice, f"Cells have more than one row: {twice[:5]}.")
    merged = keys.merge(given, how="outer", on=names, indicator="found")
    strange = merged[merged["found"] == "right_only"][names].to_numpy().tolist()
    expect(not strange, f"The release has cells that the table does not have: {strange[:5]}.")
    missing = merged[merged["found"] == "left_only"][names].to_numpy().tolist()
    expect(not missing, f"Cells of the table are missing: {missing[:5]}.")
    return keys.merge(given, how="left", on=names)


def _value_column(problem: ProtectionProblem, frame: pd.DataFrame) -> str:
    for name in (problem.table.name, "value"):
        if name in frame:
            return name
    raise AssertionError(
        f"There is no column {problem.table.name!r} or 'value'; the release has "
        f"{list(frame.columns)}."
    )


def _named(problem: ProtectionProblem, cells: Flags) -> list[str]:
    return [problem.table.label(int(cell)) for cell in np.flatnonzero(cells)[:5]]


def _check_pattern(problem: ProtectionProblem, hidden: Flags, values: Floats) -> None:
    told = hidden & ~np.isnan(values)
    expect(not told.any(), f"Suppressed cells have a value: {_named(problem, told)}.")
    blank = ~hidden & np.isnan(values)
    expect(not blank.any(), f"Published cells have no value: {_named(problem, blank)}.")
    true = problem.table.values
    wrong = ~hidden & ~np.isclose(np.nan_to_num(values), true, rtol=1e-9, atol=1e-9)
    expect(not wrong.any(), f"Published values are not the true ones: {_named(problem, wrong)}.")
    bare = problem.sensitive & ~hidden
    expect(not bare.any(), f"Sensitive cells are published: {_named(problem, bare)}.")
    known = problem.frozen & hidden
    expect(not known.any(), f"Cells that must be published are hidden: {_named(problem, known)}.")
    _attack(problem, hidden)


def _attack(problem: ProtectionProblem, hidden: Flags) -> None:
    free = np.flatnonzero(hidden)
    a = problem.table.values[free]
    low, high = problem.lower_bound[free] - a, problem.upper_bound[free] - a
    relations = problem.table.relations[:, free]
    for cell in np.flatnonzero(problem.sensitive).tolist():
        up, down = float(problem.upper_protection[cell]), float(problem.lower_protection[cell])
        width = max(float(problem.sliding_protection[cell]), up + down)
        place = int(np.searchsorted(free, cell))
        above, below = (_reach(relations, low, high, place, sign) for sign in (1, -1))
        name = problem.table.label(cell)
        for side, reached, needed in (("above", above, up), ("below", below, down)):
            expect(
                reached >= needed * (1 - MET),
                f"{name} can be known to lie at most {reached:.9g} {side} its value; its "
                f"protection level is {needed:.9g}.",
            )
        expect(
            above + below >= width * (1 - MET) and above + below > 0,
            f"The interval of {name} is {above + below:.9g} wide; {width:.9g} is needed.",
        )


def _reach(relations: Any, low: Floats, high: Floats, place: int, sign: int) -> float:
    """Return how far a hidden cell can move in one direction if other hidden cells move too."""
    cost = np.zeros(len(low))
    cost[place] = -sign
    found = linprog(
        cost,
        A_eq=relations,
        b_eq=np.zeros(relations.shape[0]),
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    return np.inf if found.status == 3 else -float(found.fun)


def _check_adjusted(problem: ProtectionProblem, values: Floats) -> None:
    blank = np.isnan(values)
    expect(not blank.any(), f"Cells have no value: {_named(problem, blank)}.")
    scale = max(1.0, float(np.abs(problem.table.values).max(initial=0)))
    rest = problem.table.relations @ values - problem.table.right_hand_side
    worst = float(np.abs(rest).max(initial=0))
    expect(worst <= MET * scale, f"The table is not additive: a relation is off by {worst:.9g}.")
    slack = MET * np.maximum(1.0, np.abs(problem.table.values))
    outside = (values < problem.lower_bound - slack) | (values > problem.upper_bound + slack)
    expect(not outside.any(), f"Values are outside their bounds: {_named(problem, outside)}.")
    change = values - problem.table.values
    moved = problem.frozen & (np.abs(change) > slack)
    expect(not moved.any(), f"Cells that must stay were changed: {_named(problem, moved)}.")
    up, down = problem.upper_protection, problem.lower_protection
    far = ((up > 0) & (change >= up * (1 - MET))) | ((down > 0) & (change <= -down * (1 - MET)))
    near = problem.sensitive & ((up > 0) | (down > 0)) & ~far
    expect(
        not near.any(), f"Sensitive cells are too near to their values: {_named(problem, near)}."
    )
