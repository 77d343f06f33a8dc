"""A hundred forgeries beside the true problem file: each is refused, or the verdict admits it.

The adjusted table 60, 45, 105 of 50, 40, 90 loses 30; 60, 40, 100 loses 20, and none less. Of three
hidden cells of a known total, which lose 102, the first and the third do, and lose 2. Intervals of
20 in two of three cells lose 40. 3, 4 and 7 rounded to 5, 5, 10 lose 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import tablecloak as tc
from forging import (
    Arrays,
    adjusted,
    header,
    integers,
    leaf,
    loss,
    one_cut,
    problem_of,
    statistic,
    up_or_down,
)
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of

Base = tuple[tc.ProtectionProblem, Arrays]


@cache
def table() -> Base:
    problem = problem_of([50, 40, 90], [[1, 1, -1]], "uss", 10.0)
    up, down = [(0, 0, -1, -1.0)], [(0, 0, -1, 1.0)]
    return problem, adjusted(problem, [60, 45, 105], np.ones(3), 30.0) | up_or_down(20, 0, up, down)


@cache
def largest() -> Base:
    """The largest change of the same table is 15; with 55, 35 and 90 it would be 10."""
    problem, arrays = table()
    shares = ((4, -1, 0, 1.0),)
    return problem, arrays | leaf(10.0, *shares) | loss("Linf", np.ones(3), 15.0)


@cache
def kept() -> Base:
    problem = problem_of([50, 40, 90, 20, 70], [[1, 1, -1, 0, 0], [0, 0, 0, 1, 1]], "ussss", 10.0)
    moved = [60, 30, 90, 20, 70]
    arrays = adjusted(
        problem, moved, np.ones(5), 20, claims="protection additivity statistics loss"
    )
    return problem, arrays | statistic("mean", [0, 1], [1.0, 1.0])


@cache
def together() -> Base:
    problem = problem_of([10, 20, 30, 5, 1, 3], [[1, 1, 1, 0, 0, 0]], "ssssss")
    arrays = adjusted(problem, problem.table.values, np.ones(6), 0,
                      claims="additivity association loss")  # fmt: skip
    return problem, arrays | {
        "association_kind": np.array(["slope"]), "association_tolerance": np.zeros(1),
        "association_starts": integers(0, 3), "association_first": integers(0, 1, 2),
        "association_second": integers(3, 4, 5),
    }  # fmt: skip


@cache
def pattern() -> Base:
    """Witness 0 moves the first cell up and the third one down, witness 1 the other way."""
    problem = problem_of([100, 100, 100, 300], [[1, 1, 1, -1]], "usss", 10.0,
                         weights=[1, 100, 1, 1])  # fmt: skip
    hidden = np.array([True, True, True, False])
    arrays = dict(arrays_of(tc.audit(problem, hidden).certificate().certificates, problem))
    arrays |= loss("weights", problem.weights, 102) | leaf(2, (0, 0, -1, 1.0)) | one_cut([0], [1.0])
    arrays |= {"claims": np.array(["protection", "loss", "bound"])}
    return problem, arrays | {
        "witness_starts": integers(0, 2, 4), "witness_cells": integers(0, 2, 0, 2),
        "witness_data": np.array([10.0, -10, -10, 10]), "upper_witness": integers(0),
        "lower_witness": integers(1),
    }  # fmt: skip


@cache
def intervals() -> Base:
    problem, hidden = pattern()
    arrays = {name: one for name, one in hidden.items() if name != "suppressed"}
    room = np.array([10.0, 0, 10, 0])
    arrays |= loss("widths", np.ones(4), 40.0) | leaf(40.0, (0, 0, -1, 1.0), (0, 1, -1, 1.0))
    return problem, arrays | {
        "release": np.array("intervals"), "published_lower": problem.table.values - room,
        "published_upper": problem.table.values + room, "cut_kind": integers(0, 1),
        "cut_cell": integers(0, 0), "up_starts": integers(0, 0, 0), "up_relations": integers(),
        "up_data": np.zeros(0), "down_starts": integers(0, 0, 0),
        **leaf(20.0, (0, 0, -1, 1.0), (0, 1, -1, 1.0)),
    }  # fmt: skip


@cache
def rounding() -> Base:
    problem = problem_of([3, 4, 7], [[1, 1, -1]], "sss")
    return problem, header(problem, "rounding", "additivity loss bound") | loss(
        "L1", np.ones(3), 6.0
    ) | leaf(5.75, (0, 0, -1, -0.25)) | {
        "published": np.array([5.0, 5, 10]), "base": np.array(5), "steps": np.array(1),
    }  # fmt: skip


@cache
def counts() -> Base:
    problem = problem_of([1, 20, 21, 0], [[1, 1, -1, 0]], "ssss", upper_bound=1e5)
    release = tc.small_count_rounding(problem, base=5)
    return problem, dict(arrays_of(release.certificates, release.problem))


def entries(*given: tuple[int, int, int, float]) -> Arrays:
    """Multipliers of the only leaf of a tree."""
    return {name: one for name, one in leaf(0.0, *given).items() if name != "bound"}


def nodes(parents: Any, cells: Any, lower: Any, limits: Any, proofs: Any) -> Arrays:
    """A tree, each leaf with a multiplier of the relation, up and down."""
    count = max(proofs) + 1
    return leaf(30.0, *[(0, 0, -1, 1.0)] * count) | {
        "tree_starts": integers(0, len(parents)), "node_parent": integers(*parents),
        "node_cell": integers(*cells), "node_is_lower": np.array(lower, bool),
        "node_limit": integers(*limits), "node_proof": integers(*proofs),
        "proof_starts": np.arange(count + 1),
    }  # fmt: skip


def cut(kind: int, cell: int, numbers: Mapping[int, float]) -> Arrays:
    return one_cut(list(numbers), list(numbers.values()), cell) | {"cut_kind": integers(kind)}


def sums(kinds: Any, summands: Any, numbers: Any, turned: Any = ()) -> Arrays:
    """Cuts of the first cell, the later ones are rounded sums of others, with lists of summands."""
    count = len(kinds)
    return {
        "cut_kind": integers(*kinds), "cut_cell": np.zeros(count, np.int64),
        "up_starts": integers(0, *[1] * count), "up_relations": integers(0),
        "up_data": np.ones(1), "down_starts": np.zeros(count + 1, np.int64),
        "sum_starts": np.cumsum([0, *map(len, summands)]),
        "sum_cuts": integers(*(one for each in summands for one in each)),
        "sum_data": np.array([one for each in numbers for one in each], float),
        "turned_starts": integers(*[0] * count, len(turned)), "turned_cells": integers(*turned),
    }  # fmt: skip


def insider(cell: int, low: float, high: float, **more: Any) -> Arrays:
    return {
        "intruder_names": np.array(["K"]), "intruder_starts": integers(0, 1),
        "intruder_cells": integers(cell), "intruder_lower": np.array([low]),
        "intruder_upper": np.array([high]), "claim_starts": integers(0, 0), **more,
    }  # fmt: skip


BOUND = {"bound": np.array(30.0)}
BEST = {"bound": np.array(102.0)}
NONE = np.zeros(0, np.int64)
ROOT_AND_TWO = [-1, 0, 0], [-1, 0, 0], [0, 1, 0]
UP, DOWN = (0, 0, -1, -1.0), (0, 0, -1, 1.0)

FORGERIES: list[tuple[str, Callable[[], Base], Mapping[str, Any], str]] = [
    # Trees: no table loses less than 20, and 30 is claimed
    ("both leaves have the proof of one direction", table,
     nodes(*ROOT_AND_TWO, [0, 1, 0], [-1, 0, 0]), ""),
    ("a leaf contradicts the limit of its parent, and its brother is left out", table,
     nodes([-1, 0, 0, 1], [-1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [-1, -1, 0, 1]), ""),
    ("a limit far above every choice makes one leaf empty", table,
     nodes(*ROOT_AND_TWO, [0, 8, 7], [-1, 0, 1]), ""),
    ("a limit below every choice makes one leaf empty", table,
     nodes(*ROOT_AND_TWO, [0, -7, -8], [-1, 0, 1]), ""),
    ("limits that overlap", table, nodes(*ROOT_AND_TWO, [0, 0, 0], [-1, 0, 1]), ""),
    ("limits as far apart as numbers go", table,
     nodes(*ROOT_AND_TWO, [0, 2**62, -(2**62)], [-1, 0, 1]), ""),
    ("the root is a limit of its own", table,
     nodes([-1, 0, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0], [-1, 0, 1]), ""),
    ("the root is an upper limit without a cell", table,
     nodes([-1], [-1], [0], [5], [0]), ""),
    ("two roots, of which one is proved", table,
     nodes([-1, -1, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]), ""),
    ("one node is the child of two parents by standing there twice", table,
     nodes([-1, 0, 0, 1, 1, 2], [-1, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 1],
           [0, 1, 0, 1, 0, 1], [-1, -1, -1, 0, 1, 1]), ""),
    ("nodes that are the parents of each other", table,
     nodes([-1, 2, 1], [-1, 0, 0], [0, 1, 0], [0, 1, 0], [-1, 0, 1]), ""),
    ("three children, of which two are the same side", table,
     nodes([-1, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [-1, 0, 1, 2]), ""),
    ("the inner node has a proof and no leaf needs one", table,
     nodes(*ROOT_AND_TWO, [0, 1, 0], [0, -1, -1]), ""),
    ("a tree whose parents are in another tree", table,
     nodes([-1, -1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1])
     | {"tree_starts": integers(0, 1, 3)}, ""),
    ("a tree that has no node", table, {"tree_starts": integers(0, 0, 3)} | BOUND, ""),
    ("a tree that counts no cost, beside one that counts all twice", table,
     {"part": integers(1, 1, 1)} | BOUND, ""),
    ("costs that no tree counts, and a bound on them", table,
     {"part": integers(-1, -1, -1), "bound": np.array(20.0)}, ""),
    # Multipliers of adjustments
    ("a discrepancy row of a single cell, counted twice over", table,
     entries((0, 0, -1, 1.0), (2, 0, -1, 3.0)) | BOUND, ""),
    ("a balance row of the sensitive cell with a huge multiplier", table,
     entries((3, 0, 0, 1e30)) | BOUND, ""),
    ("balance rows of all cells, which add up to nothing", table,
     entries(*((3, 0, cell, 1.0) for cell in range(3))) | BOUND, ""),
    ("a multiplier of the last row, counted from behind", table,
     entries((0, -1, -1, 1.0)) | BOUND, ""),
    ("a balance row of a relation that nobody has combined", table,
     entries((3, 1, 0, 1.0)) | BOUND, ""),
    ("multipliers that are twice there", table, entries(DOWN, DOWN) | BOUND, ""),
    ("multipliers out of order", table, entries((3, 0, 0, 1.0), DOWN) | BOUND, ""),
    ("a kind below the first", table, entries((-1, 0, -1, 1.0)) | BOUND, ""),
    ("shares of two cells that add up to two", largest,
     entries((4, -1, 0, 1.0), (4, -1, 1, 1.0)) | {"bound": np.array(15.0)}, ""),
    ("a share below 0 makes room for another one", largest,
     entries((4, -1, 0, 1.5), (4, -1, 1, -0.5)) | {"bound": np.array(15.0)}, ""),
    ("a share of the first cell, as if it moved farther than its level", largest,
     {"bound": np.array(11.0)}, ""),
    ("sums of squares with a share", table,
     loss("L2", np.ones(3), 350.0) | entries((4, -1, 0, 1.0)) | {"bound": np.array(250.0)}, ""),
    # What a bound is said to be for
    ("directions of both cells against the release", table,
     {"direction": integers(-1, 0, 0)} | BOUND, ""),
    ("a direction that is none", table, {"direction": integers(7, 0, 0)}, ""),
    ("the direction that the release has", table, {"direction": integers(1, 0, 0)},
     "the bound is for the given directions of 1 cells"),
    ("the limit of levels keeps the second cell in place", table,
     {"sensitive_limit": np.array(1.0)}, "sensitive cells move at most 1 times their levels"),
    ("capacities that the release does not keep", table,
     {"capacity_up": np.array([np.inf, 4.0, np.inf])}, ""),
    ("capacities that make the release the best there is", table,
     {"capacity_down": np.array([np.inf, 0.0, 0.0])}, "2 other cells"),
    ("last digits of ten", table, {"decimals": np.array(-1)}, ""),
    ("bounds that are narrower, so that fewer tables count", table,
     {"upper_bound": np.array([60.0, 1e4, 1e4])}, "narrower than in the problem file"),
    ("bounds that are wider, so that the released table keeps them", table,
     {"upper_bound": np.array([2e4, 1e4, 1e4])}, ""),
    # The table, its levels and the tolerance
    ("a lower level than the problem has", table, {"upper_protection": np.array([9.0, 0, 0])}, ""),
    ("a level of a cell that is not sensitive", table,
     {"upper_protection": np.array([10.0, 5, 0])}, ""),
    ("the sensitive cell is another one", table, {"status": np.array(list("sus"))}, ""),
    ("the sensitive cell is only to be hidden", table, {"status": np.array(list("mss"))}, ""),
    ("a frozen cell more", table, {"status": np.array(list("uzs"))}, ""),
    ("a sliding level that is not asked for", table,
     {"sliding_protection": np.array([20.0, 0, 0])}, ""),
    ("a tolerance below every number", table, {"tolerance": np.array(5e-324)},
     "within 4.94065645841e-324, as was stated"),
    ("an infinite tolerance", table, {"tolerance": np.array(np.inf)}, ""),
    ("a tolerance that makes another right-hand side the same", table,
     {"tolerance": np.array(3.0), "right_hand_side": np.array([2.0])}, "within 3, as was stated"),
    ("another right-hand side", table, {"right_hand_side": np.array([2.0])}, ""),
    ("a value that is off by its last place", table,
     {"values": np.array([np.nextafter(50, 51), 40, 90])}, ""),
    ("a relation of twice the coefficients", table,
     {"relation_data": np.array([2.0, 2, -2])}, ""),
    ("a relation of other cells", table, {"relation_data": np.array([1.0, -1, 1])}, ""),
    # Losses
    ("a loss that is a millionth less", table, {"loss": np.array(30 * (1 - 1e-6))}, ""),
    ("the sum of squares", table, {"measure": np.array("L2")}, ""),
    ("the largest change", table, {"measure": np.array("Linf")}, ""),
    ("hidden cells instead of changes", table, {"measure": np.array("weights")}, ""),
    ("weights near nothing", table,
     loss("L1", np.full(3, 5e-324), 30 * 5e-324) | {"bound": np.array(0.0)},
     "loss 1.48219693752e-322"),
    ("weights that are no numbers", table, {"weights": np.array([1, np.nan, 1])}, ""),
    # Statistics
    ("a mean of other coefficients", kept, {"statistic_data": np.array([1.0, 2.0])}, ""),
    ("a mean that moves", kept, {"statistic_cells": integers(0, 2)}, ""),
    ("a mean that moves as its target says", kept,
     {"statistic_cells": integers(0, 2), "statistic_target": np.array([10.0])}, ""),
    ("a mean within a slack that is half of its move", kept,
     {"statistic_cells": integers(0, 2), "statistic_slack": np.array([5.0])}, ""),
    ("a mean within a slack, which is told in full", kept,
     {"statistic_cells": integers(0, 2), "statistic_slack": np.array([20.0625])},
     "the mean of 2 cells is kept, within 10.03125\n"),
    ("a slack below 0", kept, {"statistic_slack": np.array([-1.0])}, ""),
    ("a slack that is no number", kept, {"statistic_slack": np.array([np.nan])}, ""),
    ("a slope under the name of a mean", kept, statistic("mean", [0, 1], [1.0, -1.0]), ""),
    ("a slope of the wrong sign", kept, statistic("slope", [0, 1], [-1.0, 1.0]), ""),
    ("a slope that is not kept", kept, statistic("slope", [0, 1], [1.0, -1.0]), ""),
    ("the variance of cells of which one moves", kept, statistic("variance", [0, 3], [1, 1]), ""),
    ("a sum that is what the release makes of it", kept,
     statistic("sum", [0], [1.0]) | {"statistic_target": np.array([10.0])},
     "a sum of changes of 1 cells, with given coefficients (sum), is 10, within 0"),
    ("a sum by coefficients that are too large to be exact", kept,
     statistic("sum", [0, 1, 3], [1e300, 1e300, 1.0]) | {"statistic_target": np.array([1.0])},
     "given coefficients (sum), is 1, within 1\n"),
    ("a cell twice in a mean", kept, {"statistic_cells": integers(0, 0)}, ""),
    # Associations
    ("a slope of cells in two pairs", together, {"association_second": integers(3, 4, 4)}, ""),
    ("a cell paired with itself", together, {"association_second": integers(0, 4, 5)}, ""),
    ("an association of no pairs", together,
     {"association_starts": integers(0, 0), "association_first": NONE,
      "association_second": NONE}, ""),
    ("an association of one pair", together,
     {"association_starts": integers(0, 1), "association_first": integers(0),
      "association_second": integers(3)}, ""),
    ("an association of an unknown kind", together, {"association_kind": np.array(["mean"])}, ""),
    ("a tolerance below 0", together, {"association_tolerance": np.array([-1.0])}, ""),
    ("a list of pairs that leaves some out", together, {"association_starts": integers(0, 2)}, ""),
    ("the slope the other way round", together,
     {"association_first": integers(3, 4, 5), "association_second": integers(0, 1, 2)},
     "the slope of 3 pairs of cells, -2.5, is kept"),
    ("a correlation that moves", together,
     {"association_kind": np.array(["correlation"]),
      "published": np.array([10.0, 20, 30, 5, 2, 3]), "loss": np.array(1.0)}, ""),
    # Cuts of patterns: 2 is the best, and 102 is claimed
    ("no multipliers at all", pattern, entries() | one_cut([], [])
     | {"cut_kind": NONE, "cut_cell": NONE, "up_starts": integers(0),
        "down_starts": integers(0)} | BEST, ""),
    ("a cut with multipliers of the wrong sign", pattern, one_cut([0], [-1.0]) | BEST, ""),
    ("a cut of a published cell", pattern, cut(0, 3, {0: 1.0}) | BEST, ""),
    ("a width of one side", pattern, cut(2, 0, {0: 1.0}) | BEST, ""),
    ("a cut of a kind that is none", pattern, cut(5, 0, {0: 1.0}) | BEST, ""),
    ("a bridge that asks for the cell that costs most", pattern,
     cut(3, 2, {0: 1.0}) | entries((0, 0, -1, 1e6)) | BEST, ""),
    ("a bridge of a sensitive cell", pattern,
     cut(3, 0, {0: 1.0}) | entries((0, 0, -1, 1e6)) | BEST, ""),
    ("a multiplier so large that any row is satisfied by force", pattern,
     entries((0, 0, -1, 1e30)) | BEST, ""),
    ("a row below 0 by its multiplier", pattern, entries((0, 0, -1, -1.0)) | BEST, ""),
    ("a row that is not there", pattern, entries((0, 1, -1, 1.0)) | BEST, ""),
    ("a multiplier of the relation that nearly vanishes", pattern,
     one_cut([0], [5e-324]) | entries((0, 0, -1, 101.0)) | BEST, ""),
    ("a multiplier just below that of the cell", pattern,
     one_cut([0], [1 - 2.0**-52]) | entries((0, 0, -1, 101.0)) | BEST, ""),
    ("a sum of itself", pattern, sums([0, 4], [[], [1]], [[], [1.5]]) | BEST, ""),
    ("sums of one another", pattern,
     sums([0, 4, 4], [[], [2], [1]], [[], [1.5], [1.5]]) | BEST, ""),
    ("a sum that is rounded up by nearly one", pattern,
     sums([0, 4], [[], [0]], [[], [1 + 1e-7]]) | entries((0, 1, -1, 1.0)) | BEST, ""),
    ("a rounded sum counted a hundred times", pattern,
     sums([0, 4], [[], [0]], [[], [1.5]]) | entries((0, 1, -1, 100.0)) | BEST, ""),
    ("a sum taken the wrong way round", pattern,
     sums([0, 4], [[], [0]], [[], [-1.5]]) | entries((0, 1, -1, 100.0)) | BEST, ""),
    ("a sum in which cells are turned that must be hidden", pattern,
     sums([0, 4], [[], [0]], [[], [1.5]], [0]) | entries((0, 1, -1, 100.0)) | BEST, ""),
    ("a sum in which the cheap cells are turned", pattern,
     sums([0, 4], [[], [0]], [[], [1.5]], [2, 3]) | entries((0, 1, -1, 100.0)) | BEST, ""),
    ("a rounded sum without its arrays", pattern, cut(4, 0, {0: 1.0}) | BEST, ""),
    ("the arrays of sums, which no cut uses", pattern,
     sums([0], [[]], [[]]), "no such release loses less than 2"),
    # Witnesses and insiders
    ("both sides by the same witness", pattern, {"lower_witness": integers(0)}, ""),
    ("a witness of a published cell", pattern, {"witness_cells": integers(0, 3, 0, 2)}, ""),
    ("a witness that balances only with a cell of value 0", pattern,
     {"witness_data": np.array([10.0, -10, -10, 11])}, ""),
    ("a cell that is hidden and known, as the one that moves", pattern,
     {"upper_bound": np.array([1e4, 1e4, 100, 1e4]),
      "lower_bound": np.array([0.0, 0, 100, 0])}, ""),
    ("levels on one side for both", pattern, {"requirement": np.array("upper")},
     "NOTHING IS ASKED BELOW"),
    ("a width for both sides", pattern, {"requirement": np.array("width"), "bound": np.array(1.0)},
     "ONE SIDE MAY BE CLOSE"),
    ("an insider who rules out both witnesses", pattern, insider(2, 95.0, 105.0), ""),
    ("an insider who knows the sensitive cell itself", pattern, insider(0, 100.0, 100.0),
     "in 1 cases a level is cut"),
    ("an insider of whom nothing is claimed", pattern,
     insider(2, 95.0, 105.0, open_starts=integers(0, 1), open_index=integers(0)),
     "NOTHING is claimed of 1 pairs"),
    ("an insider whose knowledge is no number", pattern, insider(2, np.nan, 105.0), ""),
    ("pairs left out of no insider", pattern,
     {"open_starts": integers(0), "open_index": NONE}, "0 different insiders"),
    # Intervals
    ("an interval beyond the bounds of the cell", intervals,
     {"published_lower": np.array([-100.0, 100, 90, 300]), "loss": np.array(230.0)},
     "loss 230 (widths)"),
    ("an interval of the neighbour that is a last place too narrow", intervals,
     {"published_upper": np.array([110.0, 100, 110 - 1e-6, 300])}, ""),
    ("intervals that are narrower by a quarter", intervals,
     {"published_lower": np.array([92.5, 100, 92.5, 300])}, ""),
    ("a bound of both sides twice over", intervals,
     entries((0, 0, -1, 2.0), (0, 1, -1, 2.0)) | {"bound": np.array(40.0)}, ""),
    ("a direction of intervals", intervals, {"direction": np.zeros(4, np.int64)}, ""),
    # Rounded tables and small counts
    ("a rounded value that stays", rounding, {"published": np.array([3.0, 5, 8])}, ""),
    ("a bound of one step more", rounding,
     {"bound": np.array(8.0), "steps": np.array(2)}, ""),
    ("steps that allow more than was used", rounding, {"steps": np.array(3)},
     "less than 3 steps from it"),
    ("a split at a multiple that all tables have", rounding,
     nodes([-1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 3, 2], [-1, 0, 1])
     | {"bound": np.array(9.0)}, ""),
    ("a rounded table protects", rounding,
     {"claims": np.array(["protection", "additivity", "loss", "bound"])}, ""),
    ("the base is the total", rounding, {"base": np.array(7)}, ""),
    ("a zero that is released as the base", counts,
     {"published": np.array([0.0, 20, 20, 5])}, ""),
    ("a small count that is frozen", counts, {"status": np.array(list("zssz"))}, ""),
    ("a base that is smaller than the small count", counts, {"base": np.array(2)},
     "no released count lies between 0 and 2"),
    ("a base that makes large counts small ones", counts, {"base": np.array(25)}, ""),
    # Claims and versions
    ("claims in another order", table,
     {"claims": np.array(["additivity", "protection", "loss", "bound"])}, ""),
    ("a claim twice", table,
     {"claims": np.array(["protection", "protection", "additivity", "loss", "bound"])}, ""),
    ("the second version, with claims", table, {"version": np.array(2)}, ""),
    ("the arrays of a combined relation of no bound", kept,
     {"combined_starts": integers(0), "combined_relations": NONE,
      "combined_data": np.zeros(0)}, ""),
    ("the arrays of pairs left out of an adjustment", table,
     {"open_starts": integers(0), "open_index": NONE}, ""),
    ("a pattern under the name of intervals", pattern, {"release": np.array("intervals")}, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    "base", [table, largest, kept, together, pattern, intervals, rounding, counts]
)
def test_the_honest_certificates_are_accepted(base, verdict):
    code, text = verdict(*base())
    assert code == 0, text


@pytest.mark.parametrize(("idea", "base", "changes", "told"), FORGERIES, ids=lambda one: "")
def test_a_forgery_is_refused_or_admitted(idea, base, changes, told, verdict):
    problem, arrays = base()
    code, text = verdict(problem, arrays | dict(changes))
    assert (code == 0) == bool(told), f"{idea}: {text}"
    assert told in text, f"{idea}: {text}"
    verdict.capsys.readouterr()
    if code == 0:
        assert verifier.main([str(verdict.folder / "proof.npz")]) == 0
        assert "the problem itself was not compared" in verdict.capsys.readouterr().out
