"""A check takes as long as what it checks: no step looks at all cells, relations or rows anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tablecloak.certificates import verifier

Arrays = dict[str, Any]

LINKS, IDLE = 1_000, 1_000_000
NONE = np.zeros(0, np.int64)


def chain(idle: int, links: int = LINKS) -> Arrays:
    """Links x_k = 2 x_(k+1), the first of them held in place, beside idle relations of two cells.

    The last cell but one is in all idle relations; the last cell of all is in none.
    """
    n = links + idle + 3
    first, size = np.arange(links), links + idle
    own = np.stack([np.arange(links + 1, n - 2), np.full(idle, n - 2)], axis=1)
    status = np.full(n, "s")
    status[0] = "z"
    return {
        "values": np.zeros(n), "status": status,
        "lower_bound": np.full(n, -9.0), "upper_bound": np.full(n, 9.0),
        "suppressed": np.arange(n) > 0, "relation_starts": np.arange(size + 1) * 2,
        "relation_cells": np.concatenate([np.stack([first, first + 1], axis=1), own]).reshape(-1),
        "relation_data": np.tile([1.0, -2.0], size),
    }  # fmt: skip


def peeling(idle: int, links: int) -> Callable[[], None]:
    data = chain(idle, links)
    relations = verifier.Relations(data)
    return lambda: verifier.check_peeling(relations, data["suppressed"], NONE)


def merging(idle: int, links: int) -> Callable[[], None]:
    data = chain(idle, links)
    relations = verifier.Relations(data)
    return lambda: np.all(verifier.coupled(relations, data["suppressed"])[0][:links] == -1)


def witnesses(idle: int, number: int) -> Callable[[], None]:
    data = chain(idle)
    last, nobody = len(data["values"]) - 1, np.full(number, -1)
    data |= {
        "witness_starts": np.arange(number + 1), "witness_cells": np.full(number, last),
        "witness_data": np.ones(number), "upper_witness": nobody, "lower_witness": nobody,
        "claim_index": NONE, "claim_upper": NONE, "claim_lower": NONE,
    }  # fmt: skip
    relations = verifier.Relations(data)
    return lambda: verifier.check_relations(data, relations, np.ones(number))


def cuts(idle: int, number: int) -> Callable[[], None]:
    data, count = chain(idle), np.arange(number + 1)
    n = len(data["values"])
    level = (np.arange(n) == 1).astype(float)
    data["status"][1] = "u"
    data |= {
        "upper_protection": level, "lower_protection": level, "sliding_protection": 0 * level,
        "requirement": np.array("two-sided"), "weights": np.ones(n), "proof_row": NONE,
        "node_cell": NONE, "cut_kind": 0 * count[1:], "cut_cell": 0 * count[1:] + 1,
        "up_starts": count, "up_relations": count[:-1] % LINKS, "up_data": np.ones(number),
        "down_starts": 0 * count, "down_relations": NONE, "down_data": np.zeros(0),
    }  # fmt: skip
    relations = verifier.Relations(data)

    def lay() -> None:
        prices.known.clear()
        for at in range(number):
            prices.row(at)

    prices = verifier.PatternPrices(data, relations)
    return lay


def seconds(run: Callable[[], None]) -> float:
    """Least time of two runs."""
    found = []
    for _ in range(2):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("check", [peeling, merging, witnesses, cuts])
def test_a_step_of_a_check_takes_no_longer_beside_what_it_does_not_touch(check):
    alone, first, all_ = (
        seconds(check(idle, number)) for idle, number in ((1, LINKS), (IDLE, 1), (IDLE, LINKS))
    )
    assert all_ - first < 2 * alone + 0.05


def test_four_times_as_many_rows_of_a_bound_take_four_times_as_long():
    assert seconds(cuts(1, 16_000)) < 7 * seconds(cuts(1, 4_000))
