"""A check takes as long as what it checks, and its steps are counted.

No step looks at all cells, relations or rows anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tablecloak.certificates import verifier

Arrays = dict[str, Any]
Check = tuple[verifier.Relations, Callable[[], None]]
"""Relations, which count the steps, and what is done with them."""

LINKS, IDLE = 1_000, 200_000
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


def peeling(idle: int, links: int) -> Check:
    data = chain(idle, links)
    relations = verifier.Relations(data)
    return relations, lambda: verifier.check_peeling(relations, data["suppressed"], NONE)


def merging(idle: int, links: int) -> Check:
    data = chain(idle, links)
    relations = verifier.Relations(data)

    def merge() -> None:
        assert np.all(verifier.coupled(relations, data["suppressed"])[0][:links] == -1)

    return relations, merge


def witnesses(idle: int, number: int) -> Check:
    data = chain(idle)
    last, nobody = len(data["values"]) - 1, np.full(number, -1)
    data |= {
        "witness_starts": np.arange(number + 1), "witness_cells": np.full(number, last),
        "witness_data": np.ones(number), "upper_witness": nobody, "lower_witness": nobody,
        "claim_index": NONE, "claim_upper": NONE, "claim_lower": NONE,
    }  # fmt: skip
    relations = verifier.Relations(data)
    return relations, lambda: verifier.check_relations(data, relations, np.ones(number))


def cuts(idle: int, number: int) -> Check:
    data, count = chain(idle), np.arange(number + 1)
    n = len(data["values"])
    level = (np.arange(n) == 1).astype(float)
    data["status"][1] = "u"
    data |= {
        "upper_protection": level, "lower_protection": level, "sliding_protection": 0 * level,
        "release": "suppression", "requirement": np.array("two-sided"), "weights": np.ones(n),
        "proof_row": NONE, "node_cell": NONE,
        "cut_kind": 0 * count[1:], "cut_cell": 0 * count[1:] + 1,
        "up_starts": count, "up_relations": count[:-1] % LINKS, "up_data": np.ones(number),
        "down_starts": 0 * count, "down_relations": NONE, "down_data": np.zeros(0),
    }  # fmt: skip
    relations = verifier.Relations(data)

    def lay() -> None:
        prices.known.clear()
        for at in range(number):
            prices.row(at)

    prices = verifier.PatternPrices(data, relations)
    return relations, lay


def discrepancies(idle: int, number: int) -> Check:
    """Relations with fourteen sensitive cells each, whose levels add up in 2^14 ways."""
    del idle
    n = 15 * number
    status = np.array((["u"] * 14 + ["s"]) * number)
    level, none, endless = (status == "u").astype(float), np.zeros(n, np.int64), np.full(n, np.inf)
    data = {
        "values": np.zeros(n), "published": np.where(level > 0, 1.0, -14.0), "status": status,
        "lower_bound": -endless, "upper_bound": endless,
        "upper_protection": level, "lower_protection": level, "decimals": np.array(0),
        "capacity_up": endless, "capacity_down": endless, "sensitive_limit": np.array(np.inf),
        "weights": np.ones(n), "measure": np.array("L1"), "loss": np.array(14.0 * number),
        "part": none, "direction": none, "relation_starts": np.arange(number + 1) * 15,
        "relation_cells": np.arange(n), "relation_data": np.ones(n),
    }  # fmt: skip
    relations = verifier.Relations(data)
    prices = verifier.AdjustmentPrices(data, relations)

    def add_up() -> None:
        prices.deltas.clear()
        assert [prices.delta(row) for row in range(number)] == [0.0] * number

    return relations, add_up


def seconds(check: Check) -> float:
    """Least time of two runs."""
    (_, run), found = check, []
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
    assert seconds(cuts(1, 8_000)) < 7 * seconds(cuts(1, 2_000))


@pytest.mark.parametrize("check", [peeling, merging, witnesses, cuts, discrepancies])
def test_whatever_a_check_does_over_and_over_draws_on_its_steps(check):
    relations, run = check(1, 100)
    before = relations.effort.left
    run()
    drawn = before - relations.effort.left
    assert drawn >= 100 * verifier.STEPS_EACH
    relations.effort.left = drawn / 2
    with pytest.raises(verifier.RefusedError, match="the check takes more than --minutes=1"):
        run()
