"""The search that fits the meaning of missing values, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.microdata.anonymity.asked import GroupsAsked
from tablecloak.microdata.anonymity.combined_classes import classes_in_combinations
from tablecloak.microdata.anonymity.lightest import cheapest_choice, greedy_with_floor
from tablecloak.microdata.anonymity.matching import Needs, cheapest_matching, greedy_matching
from tablecloak.microdata.anonymity.question import SuppressionQuestion
from tablecloak.microdata.anonymity.strict import cheapest_classes, greedy_classes
from tablecloak.microdata.anonymity.verification import packed, rounded_up

__all__ = ["Found", "search_for"]


@dataclass(frozen=True, eq=False)
class Found:
    """Suppressed values and what proves the bound on their cost.

    Parameters
    ----------
    lost : numpy.ndarray of int, shape (n_records,)
        Set of suppressed keys of each record.
    bound : float
    floor : numpy.ndarray of float, shape (n_records,) or (0,)
        Least cost or price of each record.
    multipliers : dict of tuple of str to numpy.ndarray of float
        For each combination of keys a number for each record.
    """

    lost: Integers
    bound: float
    floor: Floats = field(default_factory=lambda: np.empty(0))
    multipliers: dict[tuple[str, ...], Floats] = field(default_factory=dict)


def search_for(
    question: SuppressionQuestion, asked: GroupsAsked, budget: Budget, *, is_greedy: bool
) -> Found:
    """Search in the stated meaning of missing values."""
    searches = {"own": _own, "category": _classes, "any": _matching}
    return searches[asked.missing](question, asked, budget, is_greedy)


def _own(
    question: SuppressionQuestion, asked: GroupsAsked, budget: Budget, is_greedy: bool
) -> Found:
    choice = greedy_with_floor(question) if is_greedy else cheapest_choice(question, budget)
    of_record = question.patterns.of_record
    floor = choice.floor[of_record]
    return Found(choice.suppressed[of_record], float(floor.sum()), floor)


def _classes(
    question: SuppressionQuestion, asked: GroupsAsked, budget: Budget, is_greedy: bool
) -> Found:
    # The seed is fixed: chance only breaks ties, and what is released does not depend on it.
    random = np.random.default_rng(0)
    if len(question.combinations) > 1:
        return _combined(question, asked, random, budget, is_greedy)
    if is_greedy:
        found = greedy_classes(question, asked.k, budget)
    else:
        found = cheapest_classes(question, asked.k, random, budget)
    # A little less than what is proved, since the check adds in another order.
    bound = rounded_up(max((1 - 1e-7) * found.bound, 0.0), list(asked.costs.values()))
    return Found(found.lost, bound, found.price[question.patterns.of_record])


def _combined(
    question: SuppressionQuestion,
    asked: GroupsAsked,
    random: np.random.Generator,
    budget: Budget,
    is_greedy: bool,
) -> Found:
    found = classes_in_combinations(question, asked.k, random, budget, is_greedy=is_greedy)
    names = question.patterns.names_of
    bounds = {tuple(names(each)): bound for each, bound in found.bounds.items()}
    bound = rounded_up((1 - 1e-7) * packed(bounds), list(asked.costs.values()))
    # A record of equal ones is also safe by itself, in all combinations at once.
    floor = cheapest_choice(question, budget.share(0.5)).floor[question.patterns.of_record]
    if float(floor.sum()) > bound:
        return Found(found.lost, float(floor.sum()), floor)
    prices = {tuple(names(each)): price for each, price in found.prices.items()}
    return Found(found.lost, bound, multipliers=prices)


def _matching(
    question: SuppressionQuestion, asked: GroupsAsked, budget: Budget, is_greedy: bool
) -> Found:
    search = greedy_matching if is_greedy else cheapest_matching
    lost = search(question, asked.k, budget.share(0.7))
    needs = Needs(question, asked.k)
    found = needs.multipliers(budget)
    # A little less than what is proved, as above.
    bound = rounded_up((1 - 1e-8) * needs.value(found), list(asked.costs.values()))
    of_record, names = question.patterns.of_record, question.patterns.names_of
    multipliers = {tuple(names(each)): y[of_record] for each, y in found.items()}
    return Found(lost, bound, multipliers=multipliers)
