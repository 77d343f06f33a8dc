"""Time limits on a clock that stands still until there is an answer, and then runs out.

Each program that is begun later takes two seconds of it, or all that it is given if that is less.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tablecloak as tc
from random_tables import random_problem
from tablecloak import budget as clock
from tablecloak.solve import highs

LIMIT = 100.0
LEEWAY = 5.0
"""Seconds past the limit that are promised: 5 %."""

SLOW = 2.0
"""Seconds of a program that is not cut short."""


@dataclass
class Search:
    """Puts the clock to the limit once there is an answer, and forward with each program."""

    now: float = 0.0
    is_expired: bool = False

    def note(self, stage: str, loss: float, bound: float, open_: int) -> None:
        del bound, open_
        if np.isfinite(loss) and stage != "protecting":
            self.is_expired = True
            self.now = max(self.now, LIMIT)

    def counting(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def counted(highs: Any, seconds: float, **options: Any) -> Any:
            if self.is_expired:
                self.now += min(seconds, SLOW)
            return run(highs, seconds, **options)

        return counted


@pytest.fixture
def search(monkeypatch):
    found = Search()
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: found.now))
    monkeypatch.setattr(highs, "run", found.counting(highs.run))
    return found


PROBLEM = random_problem(1, (6, 5, 4), 12)

SEARCHES: dict[str, Callable[..., Any]] = {
    "suppress": tc.suppress,
    "adjust": tc.adjust,
    "adjust L2": partial(tc.adjust, distance="L2"),
    "adjust Linf": partial(tc.adjust, distance="Linf"),
    "intervals": partial(tc.publish_intervals, seed=0),
    "small counts": partial(tc.small_count_rounding, base=20),
    "audit": lambda problem, **how: tc.audit(
        problem, problem.sensitive | (np.arange(problem.table.n_cells) % 3 == 0), **how
    ),
}
"""Public searches. Controlled rounding of this table takes one program."""


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_whose_time_is_over_ends_with_the_answer_that_it_has(name, search):
    SEARCHES[name](PROBLEM, time_limit=LIMIT, progress=search.note)
    assert search.is_expired
    assert LIMIT <= search.now <= LIMIT + LEEWAY


def test_small_counts_end_in_time_where_only_programs_can_round_them(search):
    given, search.is_expired = random_problem(0, (9, 9, 9)), True
    # Relations that do not say what a total is: the table does not follow from its parts.
    table = replace(given.table, relations=2 * given.table.relations)
    with suppress(tc.SolverError):
        tc.small_count_rounding(replace(given, table=table), base=20, time_limit=SLOW / 2)
    assert search.now <= SLOW


def test_the_first_table_of_many_small_counts_needs_no_program(search):
    problem, search.is_expired = random_problem(0, (9, 9, 9)), True
    rounded = tc.small_count_rounding(problem, base=20, time_limit=SLOW / 2)
    assert search.now <= SLOW
    assert "first-order methods" in rounded.notes
    assert 0 < rounded.unavoidable < rounded.bound <= rounded.loss
