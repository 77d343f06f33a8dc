"""The contract of a distance: a loss that grows with the changes, and bounds that hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
from scipy.optimize import linprog

from tablecloak.arrays import Floats
from tablecloak.contracts.facts import check_facts, expect, first_line, problem_of_decimals
from tablecloak.cta.adjust import adjust
from tablecloak.cta.search.distance import DISTANCES, Distance
from tablecloak.examples import cox_rounded
from tablecloak.tables.problem import ProtectionProblem

CLOSE = 1e-9
"""Relative difference up to which two losses count as equal."""

PROVED = 1e-6
"""Share of a loss by which a bound may exceed it: programs are solved to seven digits."""

SECONDS = 60.0
"""Time limit of each adjustment, which usually takes far less than a second."""


def _changes() -> Iterator[tuple[Floats, Floats]]:
    """Yield weights and changes of eight cells, some of which do not change."""
    random = np.random.default_rng(3)
    for _ in range(5):
        yield random.uniform(0.5, 4, 8), random.normal(size=8) * (random.random(8) < 0.7)


def _equal(one: float, other: float) -> bool:
    return bool(np.isclose(one, other, rtol=CLOSE, atol=CLOSE))


def it_says_what_it_is(distance: Distance) -> None:
    """A distance has a name, and its docstring says in one line what it measures."""
    expect(
        isinstance(distance.name, str) and distance.name, "The class variable `name` is missing."
    )
    expect(
        first_line(type(distance)).endswith("."),
        "The first line of its docstring is no sentence: it must end with a full stop.",
    )


def no_change_costs_nothing_and_any_change_something(distance: Distance) -> None:
    """The loss is 0 without a change, and positive if a cell with a weight changes."""
    none = distance.loss(np.ones(8), np.zeros(8))
    expect(none == 0, f"The loss of no change is {none}.")
    for cell in range(8):
        for sign in (1.0, -1.0):
            changes = np.zeros(8)
            changes[cell] = sign * 1e-3
            loss = distance.loss(np.ones(8), changes)
            expect(loss > 0, f"The loss of a change by {sign * 1e-3} is {loss}.")


def a_unit_counts_by_its_power(distance: Distance) -> None:
    """If all changes are multiplied by u, the loss is multiplied by u to the `power`."""
    for weights, changes in _changes():
        one, larger = distance.loss(weights, changes), distance.loss(weights, 4 * changes)
        expect(
            _equal(larger, 4**distance.power * one),
            f"Four times the changes cost {larger} instead of {one}; `power` is {distance.power}.",
        )


def a_larger_change_never_costs_less(distance: Distance) -> None:
    """The loss does not fall if one cell changes more in the same direction."""
    for weights, changes in _changes():
        loss = distance.loss(weights, changes)
        for cell in range(8):
            more = changes.copy()
            more[cell] *= 1.5
            expect(
                distance.loss(weights, more) >= loss * (1 - CLOSE),
                f"A change of {more[cell]} instead of {changes[cell]} costs less.",
            )


def losses_of_parts_add_up_if_it_says_so(distance: Distance) -> None:
    """With `adds_up` the loss of two parts is the sum of theirs; with `is_maximum`, the larger."""
    for weights, changes in _changes():
        whole = distance.loss(weights, changes)
        parts = [distance.loss(weights[part], changes[part]) for part in (slice(3), slice(3, 8))]
        if distance.is_maximum:
            expect(_equal(whole, max(parts)), f"Parts have losses {parts}, the whole {whole}.")
        elif distance.adds_up:
            expect(_equal(whole, sum(parts)), f"Parts have losses {parts}, the whole {whole}.")


def adjustments_keep_levels_and_their_bounds_hold(distance: Distance) -> None:
    """Its adjustment is verified, and no table that keeps all levels costs less than its bound."""
    for problem in (cox_rounded(), problem_of_decimals()):
        with _registered(distance) as name:
            adjusted = adjust(
                problem, distance=name, weights="unit", integer=False, time_limit=SECONDS
            )
        adjusted.verify()
        weights = np.ones(problem.table.n_cells)
        loss = distance.loss(weights, adjusted.values - problem.table.values)
        expect(
            abs(loss - adjusted.loss) <= PROVED * max(loss, 1e-9),
            f"The loss of the adjusted table is {loss}, but {adjusted.loss} is claimed.",
        )
        for changes in _tables_that_keep_all_levels(problem):
            other = distance.loss(weights, changes)
            expect(
                adjusted.bound <= other * (1 + PROVED),
                f"The bound is {adjusted.bound}, but another table costs {other}.",
            )


def whole_numbers_are_whole_if_it_offers_them(distance: Distance) -> None:
    """With `has_whole_numbers` a table of whole numbers is adjusted to whole numbers."""
    if not distance.has_whole_numbers:
        return
    with _registered(distance) as name:
        adjusted = adjust(
            cox_rounded(), distance=name, weights="unit", integer=True, time_limit=SECONDS
        )
    expect(
        np.array_equal(adjusted.values, np.round(adjusted.values)), "Values are not whole numbers."
    )


@contextmanager
def _registered(distance: Distance) -> Iterator[str]:
    """Yield the name of a distance, which is registered meanwhile if it is not."""
    kind = type(distance)
    known = kind.name in DISTANCES and DISTANCES[kind.name] is kind
    with nullcontext() if known else DISTANCES.including(kind):
        yield kind.name


def _tables_that_keep_all_levels(problem: ProtectionProblem) -> Iterator[Floats]:
    """Yield changes that keep all levels, optimal for random weights and directions."""
    random = np.random.default_rng(11)
    a, frozen, sensitive = problem.table.values, problem.frozen, problem.sensitive
    up = np.where(frozen, 0, problem.upper_bound - a)
    down = np.where(frozen, 0, a - problem.lower_bound)
    found = 0
    for _ in range(60):
        rises = random.random(len(a)) < 0.5
        least = np.where(sensitive & rises, problem.upper_protection, 0)
        most = np.where(sensitive & ~rises, problem.lower_protection, 0)
        bounds = np.concatenate(
            [
                np.column_stack([least, np.where(sensitive & ~rises, 0, up)]),
                np.column_stack([most, np.where(sensitive & rises, 0, down)]),
            ]
        )
        if np.any(bounds[:, 0] > bounds[:, 1]):
            continue
        relations = problem.table.relations.toarray()
        solution = linprog(
            np.tile(random.uniform(0.5, 2, len(a)), 2),
            A_eq=np.hstack([relations, -relations]),
            b_eq=np.zeros(len(relations)),
            bounds=bounds,
            method="highs",
        )
        if solution.status == 0:
            found += 1
            yield solution.x[: len(a)] - solution.x[len(a) :]
    expect(found >= 10, "Too few tables keep all levels of the question.")


DISTANCE = (
    it_says_what_it_is,
    no_change_costs_nothing_and_any_change_something,
    a_unit_counts_by_its_power,
    a_larger_change_never_costs_less,
    losses_of_parts_add_up_if_it_says_so,
    adjustments_keep_levels_and_their_bounds_hold,
    whole_numbers_are_whole_if_it_offers_them,
)
"""Facts that every distance must satisfy, each a function of the distance."""


def check_distance(distance: Distance) -> None:
    """Check the losses of a distance, and the adjustments of two small tables with it.

    Parameters
    ----------
    distance : Distance
        A distance of your own. If it is not registered, it is registered during the check.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and numbers that contradict it.

    Examples
    --------
    >>> from tablecloak.contracts import check_distance
    >>> from tablecloak.cta.search.distance import DISTANCES
    >>> check_distance(DISTANCES.build("L1"))
    """
    check_facts(distance, f"The distance {getattr(distance, 'name', '?')!r}", DISTANCE)
