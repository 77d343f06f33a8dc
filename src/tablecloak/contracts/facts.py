"""What contracts share: facts, each stated by a sentence, and small problems to try."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.examples import cox_rounded
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.concentration import PPercent
from tablecloak.tables.rules.contributors import MinimumFrequency
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.tabulate import tabulate

T = TypeVar("T")
"""Type of the part that a contract is about."""

MOST_KEPT = 40
"""Number of largest contributions stored for each cell, more than any cell of these tables has."""


def expect(condition: Any, sentence: str) -> None:
    """Raise an error with a sentence unless a condition holds, even under ``python -O``.

    Raises
    ------
    AssertionError
        If the condition does not hold.
    """
    if not condition:
        raise AssertionError(sentence)


def first_line(described: Any) -> str:
    """Return the first line of an object's own docstring; an inherited one is ignored."""
    return inspect.cleandoc(described.__doc__ or "").partition("\n")[0]


def check_facts(part: T, name: str, facts: Iterable[Callable[[T], None]]) -> None:
    """Check every fact of a contract.

    Parameters
    ----------
    part : object
        The part to check.
    name : str
        Name of the part in messages.
    facts : iterable of callable
        Functions of the part. The first line of each docstring states a fact, and the function
        raises AssertionError if it does not hold.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and what was found instead. Any other error that
        the part raises also counts as a broken fact.
    """
    for fact in facts:
        sentence = f"{name} breaks its contract: {first_line(fact)}"
        try:
            fact(part)
        except AssertionError as error:
            raise AssertionError(f"{sentence} {error}".rstrip()) from error
        except Exception as error:
            raise AssertionError(f"{sentence} It raised {type(error).__name__}: {error}") from error


@cache
def problem_with_contributors() -> ProtectionProblem:
    """Return a table of 5 x 4 cells from 26 records of 14 firms in 5 holdings, some with zeros."""
    random = np.random.default_rng(7)
    firms = random.integers(0, 14, 26)
    frame = pd.DataFrame(
        {
            "region": random.choice(list("ABCD"), 26),
            "branch": random.choice(list("xyz"), 26),
            "firm": [f"f{firm}" for firm in firms],
            "group": [f"g{firm % 5}" for firm in firms],
            "v": (random.integers(1, 60, 26) * (random.random(26) > 0.1)).astype(float),
        }
    )
    table = tabulate(
        frame, ["region", "branch"], "v", contributor="firm", holding="group", n_largest=MOST_KEPT
    )
    return table.protect(PPercent(20), MinimumFrequency(3))


def problem_of_decimals() -> ProtectionProblem:
    """Return Cox's table with all numbers divided by 10, so that values have decimals."""
    problem = cox_rounded()
    table = problem.table
    smaller = Table(table.keys, table.values / 10, table.relations, table.right_hand_side)
    levels_and_bounds = {
        name: array / 10
        for name, array in problem.by_name().items()
        if name.endswith(("_protection", "_bound"))
    }
    return problem.with_changes(table=smaller, **levels_and_bounds)


def awkward_problem() -> ProtectionProblem:
    """Return a problem of numbers without a short decimal form, and with bounds far apart."""
    table = Table(
        keys=pd.DataFrame({"cell": ["0", "1", "2"]}),
        values=np.array([1 / 3 + 1e9, 1 / 3, 1e9]),
        relations=np.array([[-1.0, 1.0, 1.0]]),
        right_hand_side=np.zeros(1),
    )
    return ProtectionProblem(
        table=table,
        status=np.array(["s", "u", "z"]),
        lower_protection=np.array([0, 0.1, 0]),
        upper_protection=np.array([0, 2 / 3, 0]),
        lower_bound=np.array([-1e-5, -np.pi, 0]),
        upper_bound=np.array([1e12, 7.25, 1e10]),
        weights=np.array([0.1, 1e-7 / 3, 3]),
    )


def patterns(problem: ProtectionProblem) -> list[Flags]:
    """Return three patterns, each within the next: sensitive cells, more cells, all free cells."""
    more = problem.sensitive | (np.random.default_rng(2).random(problem.table.n_cells) < 0.5)
    return [problem.sensitive.copy(), more & ~problem.frozen, ~problem.frozen]
