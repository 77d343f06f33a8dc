"""Forge claims by hand about intervals, adjusted and rounded tables, losses and bounds.

    python benchmarks/forged_claims.py

As in forged_certificates.py, each forgery has an idea of its own, is shown to the verifier alone
and beside a problem file, and must be refused in one line, unless its claim is true as printed:
then the verdict must say what the forgery wanted to hide. Exit code 1 if any is believed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import forged_certificates as patterns
from forged_certificates import SUMS, VALUES, Forged, Forgery, column, rectangle, starts

Arrays = dict[str, Any]
Change = dict[str, Any]

N, M = len(VALUES), len(SUMS)
TRUE = np.array(VALUES)
NAN, INF = float("nan"), float("inf")
BLOCK = [0, 1, 4, 5]
MOVED = TRUE.copy()
MOVED[BLOCK] += [5.0, -5.0, -5.0, 5.0]
ROUNDED = np.array([20.0, 30, 40, 90, 20, 40, 50, 110, 50, 60, 70, 180, 90, 130, 160, 380])
"""To multiples of 10; and counts of which two are below 3, as they are and without these."""
COUNTS = np.array([1.0, 5, 6, 12, 2, 7, 4, 13, 9, 8, 3, 20, 12, 20, 13, 45])
LARGE = np.array([0.0, 5, 6, 11, 3, 7, 4, 14, 9, 8, 3, 20, 12, 20, 13, 45])


def at(cell: int, value: Any, array: Any) -> Any:
    """The array with another entry."""
    changed = np.array(array)
    changed[cell] = value
    return changed


# -- honest certificates, each with a loss and a bound that costs alone prove ---------------------


def tree(bound: float) -> Arrays:
    """A search tree of its root, without multipliers."""
    none = np.zeros(0, np.int64)
    return {
        "bound": bound, "tree_starts": np.array([0, 1]), "node_parent": np.array([-1]),
        "node_cell": np.array([-1]), "node_is_lower": np.array([False]),
        "node_limit": np.array([0]), "node_proof": np.array([0]), "proof_starts": np.array([0, 0]),
        "proof_kind": none, "proof_row": none, "proof_cell": none, "proof_data": np.zeros(0),
    }  # fmt: skip


PARTS = {"part": np.zeros(N, np.int64), "direction": np.zeros(N, np.int64)}
CUTS = {
    "cut_kind": np.zeros(0, np.int64), "cut_cell": np.zeros(0, np.int64),
    **{f"{side}_starts": np.zeros(1, np.int64) for side in ("up", "down")},
    **{f"{side}_relations": np.zeros(0, np.int64) for side in ("up", "down")},
    **{f"{side}_data": np.zeros(0) for side in ("up", "down")},
}  # fmt: skip


def certificate(
    release: str, claims: str, values: Any, /, *parts: Arrays, **changes: Any
) -> Arrays:
    """The arrays of a certificate of some release of the small table."""
    old = patterns.honest(list(values))
    problem = ("tolerance", "values", "status", "lower_bound", "upper_bound", "lower_protection",
               "upper_protection", "sliding_protection", "right_hand_side", "relation_starts",
               "relation_cells", "relation_data")  # fmt: skip
    arrays = {
        "format": "tablecloak certificate, secret", "version": 3, "release": release,
        "claims": np.array(claims.split()), **{name: old[name] for name in problem},
    }  # fmt: skip
    for part in (*parts, changes):
        arrays |= part
    return {name: np.array(array) for name, array in arrays.items()}


def loss(measure: str, amount: float, weights: Any = None) -> Arrays:
    return {"measure": measure, "weights": np.ones(N) if weights is None else weights,
            "loss": amount}  # fmt: skip


def adjusted(**changes: Any) -> Arrays:
    released = {"published": MOVED, "decimals": 0, "sensitive_limit": INF,
                "capacity_up": np.full(N, INF), "capacity_down": np.full(N, INF)}  # fmt: skip
    return certificate("adjustment", "protection additivity loss bound", TRUE, released,
                       loss("L1", 20.0), tree(5.0), PARTS, **changes)  # fmt: skip


def kept(kind: str, cells: list[int], terms: list[float], **changes: Any) -> Arrays:
    """An adjusted table with one statistic."""
    statistic = {
        "statistic_kind": np.array([kind]), "statistic_slack": np.zeros(1),
        "statistic_target": np.zeros(1), "statistic_starts": np.array([0, len(cells)]),
        "statistic_cells": np.array(cells, np.int64), "statistic_data": np.array(terms, float),
        "claims": np.array(["protection", "additivity", "statistics", "loss", "bound"]),
    }  # fmt: skip
    return adjusted(**{**statistic, **changes})


def rounded(**changes: Any) -> Arrays:
    amount = float(np.abs(ROUNDED - TRUE).sum())
    released = {"published": ROUNDED, "base": 10, "steps": 1}
    return certificate("rounding", "additivity loss bound", TRUE, released, loss("L1", amount),
                       tree(amount), **changes)  # fmt: skip


def counts(**changes: Any) -> Arrays:
    changes = {"status": np.full(N, "s"), **changes}
    released = {"published": LARGE, "base": 3}
    return certificate("small counts", "protection additivity loss bound", COUNTS, released,
                       loss("L1", 4.0), tree(2.0), PARTS, **changes)  # fmt: skip


def witnesses() -> Arrays:
    moves = [rectangle(5.0), rectangle(-5.0)]
    none = np.zeros(0, np.int64)
    return {
        "witness_starts": starts(moves), "witness_cells": column(moves, 0, np.int64),
        "witness_data": column(moves, 1), "upper_witness": np.array([0]),
        "lower_witness": np.array([1]), "intruder_names": np.zeros(0, "U1"),
        "intruder_starts": np.zeros(1, np.int64), "intruder_cells": none,
        "intruder_lower": np.zeros(0), "intruder_upper": np.zeros(0),
        "claim_starts": np.zeros(1, np.int64), "claim_index": none, "claim_upper": none,
        "claim_lower": none,
    }  # fmt: skip


def intervals(**changes: Any) -> Arrays:
    wide = np.where(np.isin(np.arange(N), BLOCK), 5.0, 0.0)
    released = {"requirement": "two-sided", "published_lower": TRUE - wide,
                "published_upper": TRUE + wide}  # fmt: skip
    return certificate("intervals", "protection loss bound", TRUE, released, witnesses(),
                       loss("widths", 40.0), tree(0.0), CUTS, **changes)  # fmt: skip


def hidden(**changes: Any) -> Arrays:
    released = {"requirement": "two-sided", "suppressed": np.isin(np.arange(N), BLOCK)}
    return certificate("suppression", "protection loss bound", TRUE, released, witnesses(),
                       loss("weights", 4.0), tree(1.0), CUTS, **changes)  # fmt: skip


HONEST = (adjusted, rounded, counts, intervals, hidden)

# -- proofs of bounds that are none --------------------------------------------------------------


def priced(kind: list[int], row: list[int], cell: list[int], data: list[float]) -> Change:
    """Multipliers of the only leaf."""
    return {
        "proof_starts": np.array([0, len(kind)]), "proof_kind": np.array(kind),
        "proof_row": np.array(row), "proof_cell": np.array(cell), "proof_data": np.array(data),
    }  # fmt: skip


def split(cells: list[int], lower: list[bool], limits: list[int], parents: list[int]) -> Change:
    """Nodes below the root; each leaf refers to the same empty proof."""
    inner = {*parents}
    proofs = [-1 if node in inner else 0 for node in range(len(cells) + 1)]
    return {
        "tree_starts": np.array([0, len(cells) + 1]), "node_parent": np.array([-1, *parents]),
        "node_cell": np.array([-1, *cells]), "node_is_lower": np.array([False, *lower]),
        "node_limit": np.array([0, *limits]), "node_proof": np.array(proofs),
    }  # fmt: skip


def cut(
    kind: int, cell: int, up: list[tuple[int, float]], multiplier: float, bound: float
) -> Change:
    """A row of a pattern or of intervals, with its multiplier."""
    return {
        "cut_kind": np.array([kind]), "cut_cell": np.array([cell]),
        "up_starts": np.array([0, len(up)]), "up_relations": np.array([r for r, _ in up], np.int64),
        "up_data": np.array([y for _, y in up]), "down_starts": np.zeros(2, np.int64),
        **priced([0], [0], [-1], [multiplier]), "bound": bound,
    }  # fmt: skip


FAR = np.array(MOVED)
FAR[BLOCK] = TRUE[BLOCK] + [2.0**54, -(2.0**54), -(2.0**54), 2.0**54]
FAR[2] += 1.0
SHORT = TRUE + (MOVED - TRUE) * (1 - 1e-6)

TABLE: list[tuple[str, Callable[..., Arrays], Change, str]] = [
    # Adjusted tables
    ("the sensitive cell is a millionth short of its level", adjusted, {"published": SHORT}, ""),
    ("nobody moved, and the level above is 0", adjusted,
     {"published": TRUE, "upper_protection": np.zeros(N), "loss": 0.0, "bound": 0.0}, ""),
    ("nobody moved, and no level is above 0", adjusted,
     {"published": TRUE, "upper_protection": np.zeros(N), "lower_protection": np.zeros(N),
      "loss": 0.0, "bound": 0.0}, ""),
    ("a level that is no number is compared with nothing", adjusted,
     {"upper_protection": at(0, NAN, np.zeros(N))}, ""),
    ("moves so large that the table is off by one beside them", adjusted,
     {"published": FAR, "loss": float(np.abs(FAR - TRUE).sum()), "lower_bound": np.full(N, -INF),
      "upper_bound": np.full(N, INF)}, "to 4 last binary places of their terms"),
    ("the last digit is a thousand, so that a change of 5 is none", adjusted,
     {"decimals": -3}, ""),
    ("a last digit of 10^13, which is no power in the table of powers", adjusted,
     {"decimals": -13}, ""),
    ("decimals that wrap around to the mark of none", adjusted, {"decimals": 99 + 2**32}, ""),
    ("without a last digit relations are compared to last places of infinity", adjusted,
     {"decimals": 99, "published": at(15, INF, MOVED)}, ""),
    ("a frozen cell moves by its last place", adjusted,
     {"decimals": 99, "status": at(15, "z", np.where(np.arange(N) == 0, "u", "s")),
      "published": at(15, np.nextafter(375.0, 400), MOVED)}, ""),
    ("a cell leaves its bound by a billionth of the largest value", adjusted,
     {"upper_bound": at(0, 25.0 - 1e-9, np.full(N, 1e3))}, ""),
    ("the limit is less than once the level", adjusted, {"sensitive_limit": 0.5}, ""),
    ("the capacity of another cell is less than it moves", adjusted,
     {"capacity_down": at(1, 4.0, np.full(N, INF))}, ""),
    ("a relation is left out in which the table does not add up", adjusted,
     {"published": at(1, 26.0, MOVED), "loss": 21.0}, ""),
    ("additivity is not claimed, so that nobody asks for it", adjusted,
     {"claims": np.array(["protection", "loss", "bound"]), "published": at(1, 26.0, MOVED),
      "loss": 19.0}, "each adjusted value lies"),
    # Statistics
    ("a mean of cells with unequal weights", kept,
     {"kind": "mean", "cells": [0, 1], "terms": [1.0, 1.0 + 1e-9]}, ""),
    ("a mean with the target that it has", kept,
     {"kind": "mean", "cells": [0], "terms": [1.0], "statistic_target": np.array([5.0])}, ""),
    ("a mean of no cell", kept, {"kind": "mean", "cells": [], "terms": []}, ""),
    ("the variance of a single cell, which is 0 / 0", kept,
     {"kind": "variance", "cells": [0], "terms": [1.0]}, ""),
    ("the slope of a single cell, whose spread is 0", kept,
     {"kind": "slope", "cells": [0], "terms": [0.0]}, ""),
    ("a slope along another variable", kept,
     {"kind": "slope", "cells": [1, 2], "terms": [1.0, 1.0]}, ""),
    ("a slack so wide that anything is kept", kept,
     {"kind": "mean", "cells": [0], "terms": [1.0], "statistic_slack": np.array([1e9])},
     "within 1000000000"),
    ("coefficients of 0, of which any sum is kept", kept,
     {"kind": "sum", "cells": [0], "terms": [0.0]}, "with given coefficients (sum)"),
    ("a huge term beside which the sum of all others is nothing", kept,
     {"kind": "sum", "cells": [0, 2], "terms": [1.0, 1e300]}, ""),
    ("a statistic without a name", kept, {"kind": "", "cells": [2], "terms": [1.0]}, ""),
    # Rounding
    ("a base of 1, of which everything is a multiple", rounded, {"base": 1}, ""),
    ("a base of 0", rounded, {"base": 0}, ""),
    ("a negative base", rounded, {"base": -10}, ""),
    ("so many steps that base times steps overflows", rounded, {"steps": 2**62}, ""),
    ("a value goes two steps where one is claimed", rounded,
     {"published": at(0, 40.0, ROUNDED)}, ""),
    ("multiples that stay do not", rounded, {"published": at(0, 30.0, ROUNDED)}, ""),
    ("a table that does not add up", rounded, {"published": at(4, 30.0, ROUNDED)}, ""),
    ("a value changes its sign", rounded,
     {"steps": 9, "published": at(0, -10.0, ROUNDED)}, ""),
    ("multiples of the base beyond what is stored exactly", rounded,
     {"published": at(0, 2.0**60, ROUNDED)}, ""),
    ("a bound that exceeds what relations leave, by a multiplier that is no number", rounded,
     {**priced([0], [0], [-1], [NAN]), "bound": 50.0}, ""),
    ("a multiplier so large that the bound is infinity less infinity", rounded,
     {**priced([0], [0], [-1], [1e308]), "bound": 60.0}, ""),
    # Small counts
    ("a small count stays", counts, {"published": COUNTS, "loss": 0.0, "bound": 0.0}, ""),
    ("a negative count stands for a small one", counts,
     {"published": at(0, -3.0, LARGE)}, ""),
    ("a base of 1, below which no count is", counts, {"base": 1}, ""),
    ("a small count is frozen", counts, {"status": at(0, "z", np.full(N, "s"))}, ""),
    ("a fraction below the base is no count", counts,
     {"values": at(0, 0.5, COUNTS), "published": at(0, 0.5, LARGE)}, ""),
    ("a zero becomes a count", counts,
     {"values": at(0, 0.0, COUNTS), "published": at(0, 3.0, LARGE)}, ""),
    ("claimed directions say that a count that is not small has two values", counts,
     {"direction": at(2, 1, np.zeros(N, np.int64))}, ""),
    # Intervals
    ("an interval without its value", intervals,
     {"published_lower": at(0, 20.5, TRUE - 5)}, ""),
    ("an interval that is turned around", intervals,
     {"published_lower": at(0, 25.0, TRUE), "published_upper": at(0, 15.0, TRUE)}, ""),
    ("an end that is no number holds any value", intervals,
     {"published_upper": at(0, NAN, TRUE + 5)}, ""),
    ("endless intervals cost nothing where infinity times 0 is counted", intervals,
     {"published_upper": np.full(N, INF), "weights": np.zeros(N), "loss": 0.0}, ""),
    ("an endless interval, whose infinite loss is near to every number", intervals,
     {"published_upper": at(1, INF, TRUE + np.isin(np.arange(N), BLOCK) * 5.0),
      "upper_bound": at(1, INF, np.full(N, 1e3)), "loss": 5.0}, ""),
    ("an interval a little narrower than the witness needs", intervals,
     {"published_upper": at(5, 35.0 + 5 - 1e-5, TRUE + np.isin(np.arange(N), BLOCK) * 5.0)}, ""),
    ("a sensitive cell is published as a point", intervals,
     {"published_lower": at(0, 20.0, TRUE), "published_upper": at(0, 20.0, TRUE)}, ""),
    ("a forced cell with room is published as a point", intervals,
     {"status": at(2, "m", np.where(np.arange(N) == 0, "u", "s"))}, ""),
    # Losses
    ("a weight below 0 pays for another one", adjusted,
     {"weights": at(0, -1.0, np.ones(N)), "loss": 10.0}, ""),
    ("weights that overflow, so that infinity is the loss of everything", adjusted,
     {"weights": np.full(N, 1.7e308)}, ""),
    ("the largest change for the sum of all", adjusted, {"measure": "Linf", "loss": 20.0}, ""),
    ("a loss that no weight is for", adjusted, {"measure": "widths"}, ""),
    ("a loss of nothing, of which any bound is within a share", adjusted, {"loss": 0.0}, ""),
    ("all weights are 0, and so is the bound", adjusted,
     {"weights": np.zeros(N), "loss": 0.0, "bound": 0.0}, "loss 0"),
    ("the loss of cells that are hidden anyway", hidden, {"loss": 3.0}, ""),
    # Bounds
    ("a bound above the loss", adjusted, {"bound": 21.0}, ""),
    ("an infinite bound", adjusted, {"bound": INF}, ""),
    ("the loss is the bound, without any proof", adjusted, {"bound": 20.0}, ""),
    ("no tree, so that the least over nothing is infinity", adjusted,
     {"bound": 20.0, "tree_starts": np.array([0]), **{name: np.zeros(0, kind) for name, kind in (
         ("node_parent", np.int64), ("node_cell", np.int64), ("node_is_lower", bool),
         ("node_limit", np.int64), ("node_proof", np.int64))},
      "proof_starts": np.array([0]), "part": np.full(N, -1)}, ""),
    ("a tree without a leaf, by nodes that are their own parents", adjusted,
     {"bound": 20.0, **split([0, 0], [True, False], [1, 0], [2, 1])}, ""),
    ("a split that leaves out the lower side", adjusted,
     {"bound": 20.0, **split([0, 0], [True, True], [1, 1], [0, 0])}, ""),
    ("a split with a gap between its sides", adjusted,
     {"bound": 20.0, **split([0, 0], [True, False], [2, 0], [0, 0])}, ""),
    ("a split at two cells", adjusted,
     {"bound": 20.0, **split([0, 5], [True, False], [1, 0], [0, 0])}, ""),
    ("a split of a cell that has no direction", adjusted,
     {"bound": 20.0, **split([1, 1], [True, False], [1, 0], [0, 0])}, ""),
    ("a choice above 1, which no release has, on both sides", adjusted,
     {"bound": 20.0, **split([0, 0], [True, False], [3, 2], [0, 0])}, ""),
    ("the same tree twice, so that costs count twice", adjusted,
     {"bound": 10.0, "tree_starts": np.array([0, 1, 2]), "node_parent": np.array([-1, -1]),
      "node_cell": np.array([-1, -1]), "node_is_lower": np.array([False, False]),
      "node_limit": np.array([0, 0]), "node_proof": np.array([0, 0])}, ""),
    ("a relation that was never stored has a multiplier", adjusted,
     {"bound": 20.0, **priced([0], [M], [-1], [1.0])}, ""),
    ("a discrepancy of levels that others make up for", adjusted,
     {"bound": 20.0, **priced([2], [0], [-1], [5.0])}, ""),
    ("a balance row of a cell that is not in the relation", adjusted,
     {"bound": 20.0, **priced([3], [0], [15], [1.0])}, ""),
    ("a balance row read backwards, by a multiplier below 0", adjusted,
     {"bound": 20.0, **priced([3], [0], [0], [-1.0])}, ""),
    ("a share of the largest change where sums are asked for", adjusted,
     {"bound": 20.0, **priced([4], [-1], [0], [9.0])}, ""),
    ("a multiplier of a kind that nobody knows", adjusted,
     {"bound": 20.0, **priced([5], [0], [-1], [9.0])}, ""),
    ("a statistic that is not claimed has a multiplier", adjusted,
     {"bound": 20.0, **priced([1], [0], [-1], [9.0])}, ""),
    ("the variance is priced as if it were a row", kept,
     {"kind": "variance", "cells": [2, 6], "terms": [1.0, 1.0], "bound": 20.0,
      **priced([1], [0], [-1], [9.0])}, ""),
    ("a direction that no release needs to have", adjusted,
     {"direction": at(0, 1, np.zeros(N, np.int64))}, "the bound is for the given directions"),
    ("a direction of a cell that may move either way", adjusted,
     {"direction": at(1, -1, np.zeros(N, np.int64)), "bound": 20.0}, ""),
    ("capacities that keep better tables out", adjusted,
     {"capacity_up": at(2, 0.0, np.full(N, INF)), "capacity_down": at(2, 0.0, np.full(N, INF))},
     "move at most as far as the certificate says"),
    ("a capacity row of a cell that nobody protects", hidden,
     {**cut(0, 2, [(0, 1.0)], 3.0, 4.0)}, ""),
    ("a row that the cells that are hidden anyway satisfy", hidden,
     {**cut(0, 0, [], 9.0, 4.0)}, ""),
    ("a bridge of a cell that must be hidden", hidden, {**cut(3, 0, [(0, 1.0)], 9.0, 4.0)}, ""),
    ("a bridge without an end", hidden, {**cut(3, 2, [], 9.0, 4.0)}, ""),
    ("a capacity row read backwards", hidden, {**cut(0, 0, [(0, 1.0)], -3.0, 4.0)}, ""),
    ("a capacity row for more than the level asks", intervals,
     {**cut(0, 0, [(0, 1.0)], 99.0, 40.0)}, ""),
    ("a bridge between intervals, which are no choices", intervals,
     {**cut(3, 2, [(0, 1.0)], 9.0, 40.0)}, ""),
    ("a split of the width of an interval", intervals,
     {"bound": 40.0, **split([0, 0], [True, False], [1, 0], [0, 0])}, ""),
    ("a pattern in two parts, of which each is the whole", hidden,
     {"bound": 2.0, "tree_starts": np.array([0, 1, 2]), "node_parent": np.array([-1, -1]),
      "node_cell": np.array([-1, -1]), "node_is_lower": np.array([False, False]),
      "node_limit": np.array([0, 0]), "node_proof": np.array([0, 0])}, ""),
    # Claims of another release, or none
    ("a rounded table claims to protect", rounded,
     {"claims": np.array(["protection", "additivity", "loss", "bound"])}, ""),
    ("a bound on a loss that is not claimed", adjusted,
     {"claims": np.array(["protection", "additivity", "bound"])}, ""),
    ("a measure that somebody registered", adjusted, {"measure": "city-block"}, ""),
    ("a requirement that somebody registered", intervals, {"requirement": "lower"}, ""),
    ("a capacity of the largest number, next to which there is none", adjusted,
     {"capacity_up": at(2, 1.7976931348623157e308, np.full(N, INF))}, ""),
]  # fmt: skip


def forgeries() -> list[Forgery]:
    """The table, in the form of forged_certificates.py; honest certificates come first."""
    found = [
        Forgery(
            f"honest_{make.__name__}", f"none: {make.__name__} is as it says",
            # Rounding proves no protection.
            lambda make=make: Forged(make(), says="NOT CLAIMED" if make is rounded else "PROVED"),
        )
        for make in HONEST
    ]  # fmt: skip
    for number, (idea, make, change, says) in enumerate(TABLE):
        name = f"{make.__name__}_{number}"
        found.append(
            Forgery(name, idea, lambda make=make, change=change, says=says:
                    Forged(make(**change), says=says))
        )  # fmt: skip
    return found


FORGERIES = forgeries()


def main(arguments: list[str] | None = None) -> int:
    return patterns.main(arguments, FORGERIES)


if __name__ == "__main__":
    sys.exit(main())
