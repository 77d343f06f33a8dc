"""Forge certificates by hand, each with an idea of its own; the verifier must not be taken in.

    python benchmarks/forged_certificates.py

Every forgery is checked alone and beside a problem file. It must be refused in one line, unless
its claim is true as printed: then the verdict must say what the forgery wanted to hide. Prints
counts and each forgery that is believed, that crashes, takes more than 20 s or much memory, and
with --second each of which the verifier in JavaScript has another verdict; exit code 1 if there is
any.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.certificates.verifier import main as verify
from two_verifiers import Second

Arrays = dict[str, Any]
Terms = list[tuple[int, float]]
Facts = list[tuple[int, float, float]]

MOST_SECONDS = 20
MOST_MEMORY = 2**19
"""Growth of the process in kB."""

# 20 30 40 |  90
# 25 35 45 | 105
# 50 60 70 | 180
# 95 125 155 375
VALUES = [20.0, 30, 40, 90, 25, 35, 45, 105, 50, 60, 70, 180, 95, 125, 155, 375]
SUMS: list[Terms] = [
    *([(4 * r + c, 1.0) for c in range(3)] + [(4 * r + 3, -1.0)] for r in range(4)),
    *([(4 * r + c, 1.0) for r in range(3)] + [(12 + c, -1.0)] for c in range(4)),
]
BLOCK = (0, 1, 4, 5)
PI, E = float(np.pi), float(np.e)


@dataclass
class Forged:
    """A forged file: arrays or bytes, a problem file, and what an acceptance must say."""

    arrays: Arrays | None = None
    content: bytes | None = None
    problem: str | bytes | None = None
    says: str = ""
    suffix: str = ".jj"


VERDICTS = {0: "PROVED: ", 1: "REFUSED: ", 3: "NOT CLAIMED: protection of "}
"""How a verdict begins, by the exit code."""


@dataclass
class Forgery:
    name: str
    idea: str
    make: Callable[[], Forged]


FORGERIES: list[Forgery] = []


def forgery(idea: str) -> Callable[[Callable[[], Forged]], Callable[[], Forged]]:
    """Enter a function into the table of forgeries."""

    def enter(make: Callable[[], Forged]) -> Callable[[], Forged]:
        FORGERIES.append(Forgery(make.__name__, idea, make))
        return make

    return enter


# -- an honest certificate -----------------------------------------------------------------------


def rectangle(size: float) -> Terms:
    return [(0, size), (1, -size), (4, -size), (5, size)]


def both(*moves: tuple[int, float]) -> list[Terms]:
    """A witness and its mirror image."""
    return [[*moves], [(cell, -move) for cell, move in moves]]


def starts(lists: list[Any]) -> Any:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def column(lists: list[Any], number: int, kind: Any = np.float64) -> Any:
    return np.array([entry[number] for part in lists for entry in part], dtype=kind)


def honest(
    values: list[float] | None = None,
    relations: list[Terms] | None = None,
    hidden: tuple[int, ...] = BLOCK,
    levels: dict[int, float] | None = None,
    witnesses: list[Terms] | None = None,
    insiders: list[Facts] | None = None,
    **changes: Any,
) -> Arrays:
    """A small certificate; without arguments it is a true one. Witness 0 is up, 1 is down."""
    values = VALUES if values is None else values
    relations = SUMS if relations is None else relations
    levels = {0: 5.0} if levels is None else levels
    witnesses = [rectangle(5.0), rectangle(-5.0)] if witnesses is None else witnesses
    insiders, n, s = insiders or [], len(values), len(levels)
    level = np.array([levels.get(cell, 0.0) for cell in range(n)])
    sums = [sum(c * values[cell] for cell, c in terms) for terms in relations]
    arrays = {
        "format": "tablecloak suppression certificate", "version": 2, "requirement": "two-sided",
        "tolerance": 0.0, "values": np.array(values, np.float64),
        "status": np.array(["u" if cell in levels else "s" for cell in range(n)], "<U1"),
        "lower_bound": np.zeros(n), "upper_bound": np.full(n, 1e3),
        "lower_protection": level, "upper_protection": level, "sliding_protection": np.zeros(n),
        "suppressed": np.isin(np.arange(n), hidden),
        "right_hand_side": np.array(sums, np.float64), "relation_starts": starts(relations),
        "relation_cells": column(relations, 0, np.int64), "relation_data": column(relations, 1),
        "witness_starts": starts(witnesses), "witness_cells": column(witnesses, 0, np.int64),
        "witness_data": column(witnesses, 1), "upper_witness": np.zeros(s, np.int64),
        "lower_witness": np.ones(s, np.int64),
        "intruder_names": np.array([f"firm {k}" for k in range(len(insiders))], "U"),
        "intruder_starts": starts(insiders), "intruder_cells": column(insiders, 0, np.int64),
        "intruder_lower": column(insiders, 1), "intruder_upper": column(insiders, 2),
        "claim_starts": np.zeros(len(insiders) + 1, np.int64),
        **{f"claim_{name}": np.zeros(0, np.int64) for name in ("index", "upper", "lower")},
    }  # fmt: skip
    return {name: np.array(array) for name, array in (arrays | changes).items()}


def problem_of(arrays: Arrays) -> str:
    """The JJ file of a certificate."""
    names = ("lower_bound", "upper_bound", "lower_protection", "upper_protection",
             "sliding_protection")  # fmt: skip
    lines = ["0", str(len(arrays["values"]))]
    for cell, value in enumerate(arrays["values"].tolist()):
        numbers = " ".join(repr(float(arrays[name][cell])) for name in names)
        lines.append(f"{cell} {value!r} 1 {arrays['status'][cell]} {numbers}")
    lines.append(str(len(arrays["right_hand_side"])))
    for row, side in enumerate(arrays["right_hand_side"].tolist()):
        own = slice(*arrays["relation_starts"][row : row + 2].tolist())
        terms = zip(arrays["relation_cells"][own], arrays["relation_data"][own], strict=True)
        text = " ".join(f"{cell} ({float(coefficient)!r})" for cell, coefficient in terms)
        lines.append(f"{side!r} {own.stop - own.start} : {text}")
    return "\n".join(lines) + "\n"


def member(array: Any, header: str | None = None) -> bytes:
    """An array as numpy writes it, or with another text as its header."""
    stream = io.BytesIO()
    if header is None:
        np.lib.format.write_array(stream, np.asarray(array), version=(1, 0))
        return stream.getvalue()
    text = header.encode("latin1")
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    about = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little")
    return about + text + np.asarray(array).tobytes()


def packed(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, content in members.items():
            # Without a date, so that the same members give the same bytes.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, kind)
    return stream.getvalue()


def contents(arrays: Arrays | None = None) -> dict[str, bytes]:
    """The members of an honest archive."""
    return {name: member(array) for name, array in (arrays or honest()).items()}


def beside(old: str, new: str, **kept: Any) -> Forged:
    """An honest certificate beside another problem."""
    text = problem_of(honest())
    assert old in text, old
    return Forged(honest(), problem=text.replace(old, new, 1), **kept)


# -- sums that are not 0 -------------------------------------------------------------------------

WIDE = {"lower_bound": np.full(4, -np.inf), "upper_bound": np.full(4, np.inf)}
ONE_SUM: list[Terms] = [[(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)]]


def four(
    witnesses: list[Terms],
    relations: list[Terms] | None = None,
    levels: dict[int, float] | None = None,
    **changes: Any,
) -> Arrays:
    """Four cells of value 20 without bounds, all hidden; the first is sensitive, level 5."""
    return honest([20.0] * 4, relations or ONE_SUM, (0, 1, 2, 3), levels, witnesses,
                  **(WIDE | changes))  # fmt: skip


@forgery("2**60 + 5 - 2**60 is 0 in floats, whatever the small move")
def swallowed_by_a_large_move() -> Forged:
    return Forged(four(both((0, 5.0), (1, 2.0**60), (2, -(2.0**60)))))


@forgery("a sum of moves overflows to infinity, and to no number")
def overflowing_moves() -> Forged:
    return Forged(four(both((0, 1.7e308), (1, 1.7e308), (2, -1.7e308), (3, -1.6e308))))


@forgery("moves so small that their product with a coefficient is 0")
def moves_without_normal_floats() -> Forged:
    arrays = four(both((0, 5e-324), (1, -1e-323)))
    level = np.array([5e-324, 0, 0, 0])
    return Forged(arrays | {"values": np.zeros(4), "right_hand_side": np.zeros(1),
                            "lower_protection": level, "upper_protection": level})  # fmt: skip


@forgery("real coefficients so small that every product is 0")
def coefficients_without_normal_floats() -> Forged:
    relations: list[Terms] = [[(0, 5e-324), (1, 5e-324)], [(0, 5e-324), (1, -5e-324)]]
    level = np.array([0.1, 0, 0, 0])
    return Forged(four(both((0, 0.1)), relations) | {"lower_protection": level,
                                                     "upper_protection": level})  # fmt: skip


@forgery("a sensitive cell with a coefficient of 1e-10 beside cells that others determine")
def small_coefficient_of_the_cell() -> Forged:
    relations: list[Terms] = [
        [(0, 1e-10), (1, PI)], [(1, 1.0), (2, 1.0)], [(1, 1.0), (2, -1.0)]
    ]  # fmt: skip
    return Forged(four(both((0, 5.0)), relations))


CHAIN: list[Terms] = [
    [(0, 1.0), (1, -2e9)], [(1, 1.0), (2, 1 / 3), (3, 1 / 3)], [(2, 1.0), (3, 1.0)],
    [(2, 1.0), (3, -1.0)],
]  # fmt: skip
"""Cells 2 and 3 follow from the last two relations, then 1 and 0; no relation alone says so."""


def chained(level: float, move: float) -> Arrays:
    """Cell 0, 2e9 times cell 1, which a witness moves against the real relation."""
    values, levels = np.array([4e10, 20, 20, 20]), np.array([level, 0, 0, 0])
    return four(both((0, 2e9 * move), (1, move)), CHAIN) | {
        "values": values, "right_hand_side": np.array([0, 20 + 40 / 3, 40, 0]),
        "lower_protection": levels, "upper_protection": levels,
    }  # fmt: skip


@forgery("the cell is 2e9 times another one, whose own relation is missed by a billionth")
def amplified_by_a_chain() -> Forged:
    return Forged(chained(200.0, 2.0**-23))


@forgery("the same with a level of 2e10, for which all else is small")
def huge_level_softens_a_relation() -> Forged:
    return Forged(chained(2e10, 10.0))


@forgery("huge moves beside which a small one drowns in a real relation")
def drowned_in_a_real_relation() -> Forged:
    relations: list[Terms] = [[(0, 1e-3), (1, PI), (2, -PI)], [(1, PI), (2, -PI)]]
    return Forged(four(both((0, 5.0), (1, 2.0**60), (2, 2.0**60)), relations))


@forgery("two real relations that differ in the eleventh digit determine the cell")
def nearly_the_same_relation_twice() -> Forged:
    relations: list[Terms] = [[(0, PI), (1, PI)], [(0, PI), (1, PI + 1e-11)]]
    return Forged(four(both((0, 5.0), (1, -5.0)), relations), says="real coefficients")


@forgery("one coefficient with many decimals makes a relation of whole numbers real")
def one_long_coefficient() -> Forged:
    relations: list[Terms] = [[(0, 1.0), (1, 1.0), (2, 1e-13)]]
    return Forged(four(both((0, 5.0)), relations))


@forgery("a coefficient above 2**31 makes a relation of whole numbers real")
def one_large_coefficient() -> Forged:
    relations: list[Terms] = [[(0, 1.0), (1, 1.0), (2, 3e9)], [(1, 1.0), (2, 1.0)]]
    return Forged(four(both((0, 5.0), (1, -5.0)), relations))


@forgery("0.1 as a binary fraction, for which another witness would do")
def binary_reading_of_a_decimal() -> Forged:
    relations: list[Terms] = [[(0, 0.1), (1, 0.2), (2, -0.3)]]
    return Forged(four(both((0, 6.0), (1, 6.0), (2, float(np.nextafter(6.0, 7)))), relations))


@forgery("a witness moves the sensitive cell alone, beside levels of 1e9")
def alone_beside_large_levels() -> Forged:
    arrays = honest([20.0, 1e12, 1e12, 1e12], ONE_SUM, (0, 1, 2, 3), {0: 5.0, 1: 1e9},
                    [[(0, 5.0)], [(0, -5.0)], *both((1, 1e9), (2, -1e9))], **WIDE)  # fmt: skip
    return Forged(arrays | {"upper_witness": np.array([0, 2]), "lower_witness": np.array([1, 3])})


@forgery("a witness lists a cell twice, with entries that cancel")
def entries_that_cancel() -> Forged:
    return Forged(honest(hidden=(0, 1), witnesses=[[(0, 5.0), (0, -5.0)], [(0, -5.0), (0, 5.0)]]))


# -- bounds --------------------------------------------------------------------------------------


def large_neighbour(
    value: float,
    coefficient: float,
    move: float,
    insiders: list[Facts] | None = None,
    **changes: Any,
) -> Arrays:
    """Cell 0 and a large cell that everybody knows exactly by its bounds; their sum is known."""
    arrays = honest([0.0, value], [[(0, 1.0), (1, coefficient)]], (0, 1), {0: abs(move)},
                    both((0, move), (1, -move / coefficient)), insiders)  # fmt: skip
    bounds = {"lower_bound": np.array([-1e6, value]), "upper_bound": np.array([1e6, value])}
    return arrays | bounds | changes


@forgery("a cell that its bounds determine moves within the last places of its large value")
def large_cell_that_is_known() -> Forged:
    return Forged(large_neighbour(9.1e15, 1.0, 4.0))


@forgery("the same, where a coefficient makes much of little")
def known_cell_times_a_million() -> Forged:
    return Forged(large_neighbour(1e10, 1e7, 1e7 * 2.0**-18))


@forgery("an insider knows a large cell exactly, and a witness moves it by a last place")
def insider_knows_a_large_cell() -> Forged:
    bounds = {"lower_bound": np.full(2, -1e17), "upper_bound": np.full(2, 1e17)}
    return Forged(large_neighbour(9.1e15, 1.0, 4.0, [[(1, 9.1e15, 9.1e15)]], **bounds))


@forgery("a large cell lies at its lower bound, and a witness moves it below")
def large_cell_at_its_bound() -> Forged:
    return Forged(large_neighbour(9.1e15, 1.0, 4.0, upper_bound=np.array([1e6, np.inf])))


@forgery("the bounds of the sensitive cell itself leave less than its level")
def bounds_narrower_than_the_level() -> Forged:
    return Forged(honest(upper_bound=np.array([25 - 1e-6, *[1e3] * 15])))


@forgery("bounds that are no numbers are never broken")
def bounds_that_are_no_numbers() -> Forged:
    return Forged(honest(lower_bound=np.full(16, np.nan)))


@forgery("lower bounds of plus infinity")
def bounds_on_the_wrong_side() -> Forged:
    return Forged(honest(lower_bound=np.full(16, np.inf)))


@forgery("bounds wider than in the problem file")
def bounds_wider_than_in_the_problem() -> Forged:
    return Forged(honest(lower_bound=np.full(16, -np.inf)), problem=problem_of(honest()),
                  says="")  # fmt: skip


@forgery("bounds narrower than in the problem file, which is stricter: the verdict says so")
def bounds_narrower_than_in_the_problem() -> Forged:
    arrays = honest(upper_bound=np.full(16, 375.0))
    return Forged(arrays, problem=problem_of(honest()), says="PROVED: 1 sensitive cells")


# -- the true table ------------------------------------------------------------------------------


@forgery("a table off by one, with values so large that floats hide it")
def off_by_one_at_a_large_scale() -> Forged:
    values = [value * 1e9 for value in VALUES]
    values[3] += 1
    return Forged(honest(values, upper_bound=np.full(16, np.inf), right_hand_side=np.zeros(8)))


@forgery("sums of the true table overflow: infinity is within a share of infinity")
def sums_that_overflow() -> Forged:
    values = np.array([20, 1.7e308, 1.7e308, 20])
    changes = {"values": values, "right_hand_side": np.array([7.0])}
    return Forged(four(both((0, 5.0), (3, -5.0))) | changes)


@forgery("a relation without entries whose right-hand side is 5")
def empty_relation() -> Forged:
    return Forged(honest(relations=[*SUMS, []], right_hand_side=np.array([*[0.0] * 8, 5.0])))


@forgery("a tolerance that excuses every table: the verdict must say it")
def vast_tolerance() -> Forged:
    return Forged(honest(tolerance=1e300), says="additivity of the true table: within 1e+300")


@forgery("a tolerance that is no number")
def tolerance_that_is_no_number() -> Forged:
    return Forged(honest(tolerance=np.nan))


@forgery("a tolerance too small to see: the verdict must say it")
def hidden_tolerance() -> Forged:
    return Forged(honest(tolerance=5e-324), says="additivity of the true table: within 4.9")


@forgery("a right-hand side that fits the certificate, not the values of the problem file")
def another_right_hand_side() -> Forged:
    return beside("0.0 4 :", "1.0 4 :")


# -- levels and witnesses ------------------------------------------------------------------------


@forgery("no witness is named although levels ask for one")
def no_witness_named() -> Forged:
    return Forged(honest(upper_witness=np.array([-1]), lower_witness=np.array([-1])))


@forgery("the witnesses for above and below change places")
def witnesses_exchanged() -> Forged:
    return Forged(honest(upper_witness=np.array([1]), lower_witness=np.array([0])))


@forgery("one witness serves above and below, which makes a width of 10 and moves one way")
def one_witness_for_both_sides() -> Forged:
    return Forged(honest(requirement="width", lower_witness=np.array([0])))


@forgery("two witnesses of half a width, both upwards")
def width_on_one_side() -> Forged:
    return Forged(honest(witnesses=[rectangle(5.0), rectangle(4.0)], requirement="width"))


@forgery("levels are 0, and no witness shows that the cell can move at all")
def levels_of_nothing() -> Forged:
    arrays = honest(levels={0: 0.0}, witnesses=[], upper_witness=[-1], lower_witness=[-1])
    return Forged(arrays)


@forgery("a disclosed cell has a lower level only, where only the upper one counts")
def level_that_does_not_count() -> Forged:
    arrays = honest(hidden=(0,), requirement="upper", upper_protection=np.zeros(16),
                    witnesses=[], upper_witness=[-1], lower_witness=[-1])  # fmt: skip
    return Forged(arrays)


@forgery("a level far below the last digit of its value")
def level_below_precision() -> Forged:
    wide = {"lower_bound": np.full(2, -np.inf), "upper_bound": np.full(2, np.inf)}
    values = {"values": np.array([9.1e15, -9.1e15]), "right_hand_side": np.zeros(1)}
    return Forged(large_neighbour(0.0, 1.0, 1e-3) | wide | values)


@forgery("levels of minus 5 are easily reached")
def negative_levels() -> Forged:
    return Forged(honest(levels={0: -5.0}))


@forgery("levels that are no numbers are never missed")
def levels_that_are_no_numbers() -> Forged:
    return Forged(honest(levels={0: np.nan}))


@forgery("a level is missed by a millionth")
def nearly_far_enough() -> Forged:
    return Forged(honest(witnesses=[rectangle(5 - 5e-6), rectangle(5e-6 - 5)]))


@forgery("no cell is sensitive any more: the verdict counts 0, and the problem file has 1")
def sensitive_cells_removed() -> Forged:
    arrays = honest(levels={}, witnesses=[])
    return Forged(arrays, says="PROVED: 0 sensitive cells")


@forgery("the same beside the problem file, in which the cell is sensitive")
def sensitive_cells_removed_beside_the_problem() -> Forged:
    return Forged(honest(levels={}, witnesses=[]), problem=problem_of(honest()), says="alone")


@forgery("a table without cells")
def no_cells_at_all() -> Forged:
    return Forged(honest([], [], (), {}, []), says="PROVED: 0 sensitive cells")


@forgery("a sensitive cell that is not hidden")
def sensitive_cell_published() -> Forged:
    return Forged(honest(hidden=(1, 4, 5)))


@forgery("a witness moves cells that are published")
def published_cells_moved() -> Forged:
    return Forged(honest(hidden=(0, 4)))


@forgery("the cell follows from the last relation of a chain")
def disclosed_by_a_chain() -> Forged:
    return Forged(honest(hidden=(0, 1, 8), levels={1: 5.0}, witnesses=both((1, 5.0))))


@forgery("cells that only one real relation of tiny coefficients ties to published ones")
def alone_in_a_tiny_relation() -> Forged:
    return Forged(honest(relations=[[(0, 1e-300), (2, PI * 1e-300)]], hidden=(0,),
                         witnesses=both((0, 5.0))))  # fmt: skip


@forgery("a frozen cell is among the hidden ones")
def frozen_cell_hidden() -> Forged:
    return Forged(honest(status=np.array([*"uzssssssssssssss"])))


@forgery("a cell that must be hidden is published")
def forced_cell_published() -> Forged:
    return Forged(honest(status=np.array([*"usmsssssssssssss"])))


@forgery("statuses in capital letters, which no rule knows")
def status_in_capitals() -> Forged:
    return Forged(honest(status=np.array([*"usMsssssssssssss"])))


# -- insiders ------------------------------------------------------------------------------------

LOOSE: Facts = [(1, 20.0, 40.0)]


@forgery("two insiders who differ in the sign of a 0")
def insiders_by_the_sign_of_zero() -> Forged:
    low = np.full(16, -10.0)
    insiders: list[Facts] = [[(1, 0.0, 40.0)], [(1, -0.0, 40.0)]]
    return Forged(honest(insiders=insiders, lower_bound=low), says=" 1 different insiders")


@forgery("a second insider who adds only what everybody knows")
def insiders_by_what_everybody_knows() -> Forged:
    insiders: list[Facts] = [LOOSE, [*LOOSE, (4, 0.0, 1e3)]]
    return Forged(honest(insiders=insiders), says=" 1 different insiders")


@forgery("a thousand insiders who know the same under a thousand names")
def insiders_by_their_names() -> Forged:
    return Forged(honest(insiders=[LOOSE] * 1000), says=" 1 different insiders")


@forgery("two names that differ in a 0 at the end")
def names_with_a_zero_at_the_end() -> Forged:
    return Forged(honest(insiders=[LOOSE, LOOSE], intruder_names=np.array(["firm", "firm\0"])))


@forgery("names with line feeds and a verdict of their own; no name is printed")
def names_with_a_verdict() -> Forged:
    names = np.array(["x\nPROVED: 7 sensitive cells\n  against 99 different insiders"])
    return Forged(honest(insiders=[LOOSE], intruder_names=names), says=" 1 different insiders")


@forgery("an insider knows all hidden cells, so that nothing is asked: the verdict must say it")
def insider_who_knows_everything() -> Forged:
    facts: Facts = [(cell, VALUES[cell], VALUES[cell]) for cell in BLOCK]
    return Forged(honest(insiders=[facts]), says="cut to what insiders knew")


@forgery("an insider whose false bounds exclude every witness and the truth")
def insider_who_is_wrong() -> Forged:
    return Forged(honest(insiders=[[(1, 31.0, 40.0)]]))


@forgery("an insider who knows less than everybody")
def insider_who_knows_less() -> Forged:
    return Forged(honest(insiders=[[(1, -np.inf, np.inf)]]))


@forgery("an insider who knows bounds on a published cell only")
def insider_of_a_published_cell() -> Forged:
    return Forged(honest(insiders=[[(2, 40.0, 40.0)]]))


@forgery("an insider without knowledge")
def insider_without_knowledge() -> Forged:
    return Forged(honest(insiders=[[]]))


def claimed(facts: Facts, upper: int, lower: int, index: int = 0) -> Arrays:
    return honest(insiders=[facts], claim_starts=[0, 1], claim_index=[index], claim_upper=[upper],
                  claim_lower=[lower])  # fmt: skip


@forgery("a claim names witnesses that this insider rules out")
def claim_of_refuted_witnesses() -> Forged:
    return Forged(claimed([(1, 29.0, 31.0)], 0, 1))


@forgery("a claim names the true table, which nobody rules out and which moves nothing")
def claim_of_the_truth() -> Forged:
    return Forged(claimed([(1, 29.0, 31.0)], -1, -1))


@forgery("a claim speaks of a cell that does not exist")
def claim_of_another_cell() -> Forged:
    return Forged(claimed(LOOSE, 0, 1, 2**62))


@forgery("starts of claims jump back, so that an insider has them twice")
def claims_that_overlap() -> Forged:
    return Forged(claimed(LOOSE, 0, 1) | {"claim_starts": np.array([1, 0])})


# -- archives ------------------------------------------------------------------------------------


@forgery("an array is there twice, the second one forged")
def member_twice() -> Forged:
    stream = io.BytesIO(packed(contents()))
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("values.npy", member(np.zeros(16)))
    return Forged(content=stream.getvalue())


@forgery("a folder in the archive")
def folder_inside() -> Forged:
    stream = io.BytesIO(packed(contents()))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("values.npy/", b"")
    return Forged(content=stream.getvalue())


@forgery("a member with the name of an array, a 0 and more")
def name_cut_at_a_zero() -> Forged:
    stream = io.BytesIO(packed(contents()))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("values.npyXevil", b"hello")
    return Forged(content=stream.getvalue().replace(b"values.npyXevil", b"values.npy\0evil"))


@forgery("the directory calls a member otherwise than the member itself")
def name_of_another_member() -> Forged:
    content = packed(contents())
    at = content.rindex(b"upper_bound.npy")
    return Forged(content=content[:at] + b"lower_bound.npy" + content[at + 15 :])


@forgery("two arrays change names in the directory alone")
def two_names_exchanged() -> Forged:
    content = packed(contents())
    one, other = content.rindex(b"upper_bound.npy"), content.rindex(b"lower_bound.npy")
    changed = bytearray(content)
    changed[one : one + 15], changed[other : other + 15] = b"lower_bound.npy", b"upper_bound.npy"
    return Forged(content=bytes(changed))


@forgery("a member that says it is encrypted")
def encrypted_member() -> Forged:
    content = bytearray(packed(contents()))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return Forged(content=bytes(content))


@forgery("values altered, the checksum left")
def another_checksum() -> Forged:
    content = packed(contents(), zipfile.ZIP_STORED)
    return Forged(content=content.replace(np.array(VALUES).tobytes(), bytes(128), 1))


@forgery("a directory that promises 2**60 bytes by zip64")
def zip64_promises() -> Forged:
    content = packed(contents(), zipfile.ZIP_STORED)
    at = content.index(b"PK\x01\x02")
    huge = bytearray(content)
    huge[at + 20 : at + 28] = b"\xff" * 8
    return Forged(content=bytes(huge))


@forgery("packed by a slow method of other memory")
def another_packing() -> Forged:
    return Forged(content=packed(contents(), zipfile.ZIP_LZMA))


@forgery("an honest archive in front of a forged one")
def archive_in_front() -> Forged:
    forged = contents(honest(witnesses=both((0, 5.0))))
    return Forged(content=packed(contents()) + packed(forged))


@forgery("an archive without a directory")
def no_directory() -> Forged:
    content = packed(contents())
    return Forged(content=content[: content.index(b"PK\x01\x02")])


@forgery("a member is cut off within its packed bytes")
def packed_bytes_cut() -> Forged:
    content = bytearray(packed(contents()))
    at = content.index(b"PK\x01\x02")
    content[at + 20] = 5
    return Forged(content=bytes(content))


# -- headers of arrays ---------------------------------------------------------------------------


def headed(name: str, header: str, array: Any = None) -> Forged:
    """An honest archive in which one array has another header."""
    content = np.asarray(honest()[name] if array is None else array)
    return Forged(content=packed(contents() | {name: member(content, header)}))


@forgery("numbers whose bytes are in the other order")
def bytes_in_the_other_order() -> Forged:
    return headed("values", "{'descr': '>f8', 'fortran_order': False, 'shape': (16,)}")


@forgery("columns first")
def columns_first() -> Forged:
    return headed("values", "{'descr': '<f8', 'fortran_order': True, 'shape': (16,)}")


@forgery("numbers with fields")
def numbers_with_fields() -> Forged:
    kind = "('<f8', [('a', '<f8')])"
    return headed("values", f"{{'descr': {kind}, 'fortran_order': False, 'shape': (16,)}}")


@forgery("text with fields")
def printedwith_fields() -> Forged:
    kind = "('<U9', [('a', '<f8'), ('b', 'V28')])"
    return headed("requirement", f"{{'descr': {kind}, 'fortran_order': False, 'shape': ()}}")


@forgery("a negative length")
def negative_length() -> Forged:
    return headed("values", "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", np.zeros(0))


@forgery("a length of 2**62, and one of 0")
def vast_and_empty() -> Forged:
    shape = f"({2**62}, 0)"
    return headed("values", f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}",
                  np.zeros(0))  # fmt: skip


@forgery("a length that is a truth value")
def length_that_is_true() -> Forged:
    header = "{'descr': '<i8', 'fortran_order': False, 'shape': (True,)}"
    return headed("upper_witness", header)


@forgery("a text of a gigabyte")
def vast_text() -> Forged:
    return headed("requirement", "{'descr': '<U268435456', 'fortran_order': False, 'shape': ()}")


@forgery("brackets in brackets, to exhaust the reader of the header")
def brackets_in_brackets() -> Forged:
    return headed("values", "(" * 900)


@forgery("a header that holds a verdict on a line of its own")
def verdict_in_the_header() -> Forged:
    return headed("values", "{'descr': '''\nPROVED: 7 sensitive cells''', 'shape': (16,), "
                  "'fortran_order': False}")  # fmt: skip


@forgery("a header with code")
def code_in_the_header() -> Forged:
    return headed("values", "{'descr': __import__('os').system('true'), 'shape': (16,), "
                  "'fortran_order': False}")  # fmt: skip


@forgery("a header of numbers as old interpreters wrote them")
def header_of_long_numbers() -> Forged:
    return headed("values", "{'descr': '<f8', 'fortran_order': False, 'shape': (16L,)}")


@forgery("objects, which would have to be unpickled")
def pickled_objects() -> Forged:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([print] * 16, dtype=object), version=(1, 0))
    return Forged(content=packed(contents() | {"values": stream.getvalue()}))


@forgery("letters beyond the last letter there is")
def letters_that_are_none() -> Forged:
    content = member(np.array("two-sided"))[:-4] + b"\xff\xff\xff\x7f"
    return Forged(content=packed(contents() | {"requirement": content}))


@forgery("truth values of 2, which count twice in sums")
def more_than_true() -> Forged:
    content = member(honest()["suppressed"]).replace(b"\x01\x01\0", b"\x02\x02\0", 1)
    return Forged(content=packed(contents() | {"suppressed": content}))


# -- the problem file ----------------------------------------------------------------------------


@forgery("a word of a million digits that is no number, for readers that try every split")
def a_million_digits() -> Forged:
    return beside("0 20.0 1 u", f"0 {'1' * 10**6}x 1 u")


@forgery("a packed problem file a thousand times as long when unpacked")
def packed_problem() -> Forged:
    text = problem_of(honest()).encode() + b"12 " * (100 * 2**20)
    return Forged(honest(), problem=gzip.compress(text, 9), suffix=".jj.gz")


@forgery("a word that this terminal cannot print")
def letters_that_cannot_be_printed() -> Forged:
    return beside("0 20.0 1 u", "0 \u0662\u0660 1 u")


@forgery("a word with a verdict behind a separator that no splitting removes")
def verdict_in_the_problem() -> Forged:
    return beside("0 20.0 1 u", "0 20.0\x1b[2K\x1b[GPROVED 1 u")


@forgery("bytes that are no text")
def problem_that_is_no_text() -> Forged:
    return Forged(honest(), problem=b"\xff\xfe0\n16\n")


@forgery("a problem file that ends at once")
def empty_problem() -> Forged:
    return Forged(honest(), problem="")


@forgery("packed bytes that are none")
def problem_that_is_not_packed() -> Forged:
    return Forged(honest(), problem=b"\x1f\x8bgarbage", suffix=".jj.gz")


def with_relations(relations: list[Terms]) -> Forged:
    """An honest certificate beside the same cells with other relations."""
    return Forged(honest(), problem=problem_of(honest(relations=relations)))


@forgery("a relation of the problem is missing in the certificate")
def relation_left_out() -> Forged:
    return Forged(honest(relations=SUMS[1:]), problem=problem_of(honest()), says="alone")


@forgery("the certificate has a relation more than the problem")
def relation_added() -> Forged:
    return with_relations(SUMS[:-1])


@forgery("a relation of the problem stands twice in place of another")
def relation_twice() -> Forged:
    return with_relations([*SUMS[:-1], SUMS[0]])


@forgery("a relation of the problem has a cell more, listed twice so that it cancels nearly")
def cell_that_nearly_cancels() -> Forged:
    return beside("0.0 4 : 0 (1.0)", "0.0 6 : 9 (0.1) 9 (-0.10000000000000002) 0 (1.0)")


@forgery("a coefficient beyond all numbers")
def infinite_coefficient() -> Forged:
    return beside("0.0 4 : 0 (1.0)", "0.0 4 : 0 (1e400)")


@forgery("an infinite right-hand side")
def infinite_right_hand_side() -> Forged:
    return beside("0.0 4 :", "inf 4 :")


@forgery("cells in another order under their old numbers")
def cells_in_another_order() -> Forged:
    lines = problem_of(honest()).splitlines()
    lines[2], lines[3] = lines[3], lines[2]
    return Forged(honest(), problem="\n".join(lines))


@forgery("numbers of cells with zeros in front")
def numbers_with_zeros() -> Forged:
    return beside("\n1 30.0", "\n01 30.0")


@forgery("a level of the problem is higher")
def higher_level_in_the_problem() -> Forged:
    return beside("5.0 5.0 0.0", "5.0 5.0 20.0")


@forgery("a level of the problem differs in its last digit")
def last_digit_of_a_level() -> Forged:
    return beside("5.0 5.0 0.0", "5.0 5.000000000000001 0.0")


@forgery("a number of the problem in hexadecimal, and one with an underscore")
def numbers_of_programs() -> Forged:
    return beside("\n1 30.0", "\n1 3_0.0")


@forgery("text behind the last relation")
def printedat_the_end() -> Forged:
    text = problem_of(honest())
    return Forged(honest(), problem=text + "1.0 1 : 0 (1.0)\n")


@forgery("more cells than memory could hold")
def counts_beyond_memory() -> Forged:
    return beside("0\n16\n", "0\n999999999999999\n")


@forgery("more terms than memory could hold")
def terms_beyond_memory() -> Forged:
    return beside("0.0 4 :", "0.0 999999999999999 :")


# -- files that ask for time ---------------------------------------------------------------------


@forgery("eight million witnesses that move nothing")
def empty_witnesses() -> Forged:
    many = np.zeros(7_000_000, np.int64)
    arrays = honest(witness_starts=np.concatenate([[0, 4, 8], many + 8]))
    return Forged(content=packed(contents(arrays)))


@forgery("as many relations as witnesses, each witness in each relation")
def witnesses_times_relations() -> Forged:
    many = 400_000
    arrays = honest(
        [20.0, 20.0, 40.0], [[(0, 1.0), (1, 1.0), (2, -1.0)]], (0, 1), None, [],
        upper_witness=[0], lower_witness=[1],
    )  # fmt: skip
    signs = np.where(np.arange(many) % 2, -5.0, 5.0)
    arrays |= {
        "relation_starts": 3 * np.arange(many + 1), "right_hand_side": np.zeros(many),
        "relation_cells": np.tile(np.arange(3), many),
        "relation_data": np.tile([1.0, 1.0, -1.0], many), "witness_starts": 2 * np.arange(many + 1),
        "witness_cells": np.tile(np.arange(2), many),
        "witness_data": np.column_stack([signs, -signs]).reshape(-1),
    }  # fmt: skip
    return Forged(content=packed(contents(arrays)))


@forgery("as many insiders as cells, each compared with all of them")
def insiders_times_cells() -> Forged:
    many = 400_000
    values = np.concatenate([VALUES, np.zeros(many)])
    arrays = honest(values.tolist())
    arrays |= {
        "intruder_names": np.array([f"{k:x}" for k in range(many)]),
        "intruder_starts": np.arange(many + 1), "intruder_cells": np.ones(many, np.int64),
        "intruder_lower": np.full(many, 20.0), "intruder_upper": 40 + np.arange(many) / many,
        "claim_starts": np.zeros(many + 1, np.int64),
    }  # fmt: skip
    return Forged(content=packed(contents(arrays)))


@forgery("moves of all sizes, which no sum of floats holds, in very many relations")
def fractions_without_end() -> Forged:
    many, witnesses = 20_000, 1000
    arrays = honest(
        [20.0] * 4, [[(0, 1.0), (1, 1.0), (2, -1.0), (3, -1.0)]], (0, 1, 2, 3), {1: 5.0}, [], **WIDE
    )
    move = np.array([2.0**900, 5.0, 2.0**900, 5.0])
    arrays |= {
        "relation_starts": 4 * np.arange(many + 1), "right_hand_side": np.zeros(many),
        "relation_cells": np.tile(np.arange(4), many),
        "relation_data": np.tile([1.0, 1.0, -1.0, -1.0], many),
        "witness_starts": 4 * np.arange(witnesses + 1),
        "witness_cells": np.tile(np.arange(4), witnesses),
        "witness_data": (np.where(np.arange(witnesses) % 2, -1, 1)[:, None] * move).reshape(-1),
    }  # fmt: skip
    return Forged(arrays | {"upper_witness": np.array([0]), "lower_witness": np.array([1])})


# -- numbers at the edge, and words of the problem file -------------------------------------------


def total(cells: list[float], added: float, level: float, room: float) -> Arrays:
    """A sensitive cell, a neighbour with little room, and their published total, which is off."""
    low, high = [-1e6, cells[1] - room, 0.0], [1e6, cells[1] + room, 1e17]
    arrays = honest([*cells, sum(cells)], [[(0, 1.0), (1, 1.0), (2, -1.0)]], (0, 1), {0: level},
                    both((0, level), (1, -level)), lower_bound=low, upper_bound=high)  # fmt: skip
    arrays["values"][2] += added
    return arrays | {"right_hand_side": np.zeros(1)}


def tenths(last: float) -> Arrays:
    """0.3 + 0.2 = 0.5, all hidden; the sensitive cell has its level 0.1 as room, less a little."""
    return honest([0.3, 0.2, 0.5], [[(0, 1.0), (1, 1.0), (2, -1.0)]], (0, 1, 2), {0: 0.1},
                  both((0, 0.1), (2, 0.1)), lower_bound=[0.2, 0, 0],
                  upper_bound=[0.4 - last, 1, 1])  # fmt: skip


OFF = "1 relations of the true table: to 1e-09"
ALONE = [[(0, 1.0), (1, 1.0), (2, 1.0)]]
NOBODY: dict[str, Any] = {f"{side}_witness": np.array([-1]) for side in ("upper", "lower")}
EDGES: list[tuple[str, Forged]] = [
    ("a total of 16 digits is off by twelve last places", Forged(
        total([100.0, 2.0**53 + 2], 24.0, 10.0, 10.0), says=OFF)),
    ("a total of thirds is off by more than rounding, and by more than the level", Forged(
        total([0.0, 1e9 + 1 / 3], 1e-5, 2.0**-23, 2.0**-23), says=OFF)),
    ("moves that cancel but for one in 2**53", Forged(
        four(both((0, 5.0), (1, 2.0**53), (2, -(2.0**53) - 6))))),
    ("a move of -0 beside those that cancel", Forged(
        four([[(0, 5.0), (1, -5.0), (2, -0.0)], [(0, -5.0), (1, 5.0)]]))),
    ("a coefficient of -0", Forged(four(
        both((0, 5.0), (1, -5.0)), [[(0, 1.0), (1, 1.0), (2, -0.0), (3, 1.0)]]))),
    ("a coefficient of 1.7e308 swallows the rest", Forged(honest(
        [20.0, 0, 20], [[(0, 1.0), (1, 1.7e308), (2, -1.0)]], (0, 1, 2), {0: 5.0},
        both((0, 5.0), (1, 1e-308), (2, 5.0)), lower_bound=[-1e9] * 3, upper_bound=[1e9] * 3))),
    ("a cell without level of which nobody shows a second value", Forged(
        four(both((0, 1.0), (1, -1.0)), levels={0: 0.0}, **NOBODY))),
    ("a cell without level that its bounds tell, beside cells that move", Forged(four(
        both((1, 1.0), (2, -1.0)), levels={0: 0.0}, lower_bound=[20.0, -9, -9, -9],
        upper_bound=[20.0, 99, 99, 99]))),
    ("a room that is short of the level by three billionths of it", Forged(tenths(3e-10))),
    ("rounding of 1e17 as room: four last places are 64", Forged(
        total([0.0, 1e17], 0.0, 48.0, 16.0))),
    ("a width between two witnesses that both go up, too near each other", Forged(honest(
        requirement="width", levels={0: 4.0}, witnesses=[rectangle(10.0), rectangle(3.0)]))),
    ("one witness for both ends of a width", Forged(honest(
        requirement="width", lower_witness=[0], witnesses=[rectangle(10.0)]))),
    ("an insider whose two bounds exclude each other by a last place", Forged(honest(
        insiders=[[(1, np.nextafter(30.0, 31), np.nextafter(30.0, 29))]]))),
    ("an insider with the witness -1 of its own", Forged(honest(
        insiders=[[(1, 0.0, 60.0)]], claim_starts=[0, 1], claim_index=[0], claim_upper=[-1],
        claim_lower=[1]))),
    ("two relations that determine the cell, none of them alone", Forged(
        honest(relations=[*SUMS, [(0, 1.0), (5, 1.0)]]))),
    ("a relation of three cells that cancels in pairs", Forged(
        four(both((0, 5.0), (1, -5.0)), [*ALONE, [(0, 1.0), (1, 2.0), (2, 1.0)]]))),
    ("a status in capital letters in the problem file", beside(" u ", " U ")),
    ("a weight that is no number", beside(" 1 u ", " nan u ")),
    ("a number with two points", beside("20.0", "20..")),
    ("a count of cells with a sign", beside("0\n16\n", "0\n+16\n")),
    ("digits of another script", beside("0\n16\n", "0\n\u0661\u0666\n")),
    ("a first word of -0", Forged(honest(), problem="-" + problem_of(honest()))),
    ("a zero byte behind the last relation", Forged(honest(), problem=problem_of(honest()) + "\0")),
    ("a relation of a cell that nobody has", beside("4 : 0 (1.0)", "4 : 16 (1.0)")),
    ("a packed problem file cut in its checksum", Forged(
        honest(), problem=gzip.compress(problem_of(honest()).encode())[:-4], suffix=".jj.gz")),
]  # fmt: skip
for _number, (_idea, _forged) in enumerate(EDGES):
    FORGERIES.append(Forgery(f"edge_{_number}", _idea, lambda forged=_forged: forged))


# -- the campaign --------------------------------------------------------------------------------


class TooLongError(BaseException):
    """No exception that a verifier would take for a refusal."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Interrupt what takes longer."""

    def stop(*_: object) -> None:
        raise TooLongError

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)


def answer(paths: list[Path]) -> tuple[int, str]:
    """Exit code and output of the verifier on a terminal that knows ASCII only."""
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, "ascii") as terminal:
        with contextlib.redirect_stdout(terminal), limited(MOST_SECONDS):
            code = verify([str(path) for path in paths])
        terminal.flush()
        return code, raw.getvalue().decode()


def fault(forged: Forged, code: int, text: str, compared: bool) -> str:
    """What is wrong with an answer."""
    if code == 1 and text.startswith("REFUSED: ") and text.count("\n") == 1 and text[9:].strip():
        return ""
    begins = VERDICTS.get(code, "\n")
    if code == 1 or not text.startswith(begins) or text.count("PROVED") > (code == 0):
        return f"exit code {code} with {text!r}"
    if not forged.says or (forged.says == "alone" and compared):
        return f"believed: {text!r}"
    if forged.says not in (*["alone"][: not compared],) and forged.says not in text:
        return f"does not say {forged.says!r}: {text!r}"
    return ""


def attack(forgery: Forgery, folder: Path, second: Second | None = None) -> str:
    """Show one forgery to the verifier, alone and beside a problem file; return what is wrong.

    A second verifier is not asked once the first one finds a check too long.
    """
    forged = forgery.make()
    content = forged.content
    if content is None:
        assert forged.arrays is not None
        content = packed(contents(forged.arrays))
    own = problem_of(forged.arrays if forged.arrays is not None else honest())
    problem = own if forged.problem is None else forged.problem
    proof, text = folder / "c.npz", folder / f"p{forged.suffix}"
    proof.write_bytes(content)
    text.write_bytes(problem if isinstance(problem, bytes) else problem.encode())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # A forged problem file is beside a certificate that is true on its own.
    alone = [] if forged.problem is not None and forged.says != "alone" else [[proof]]
    for paths in (*alone, [proof, text]):
        try:
            code, printed = answer(paths)
            found = fault(forged, code, printed, len(paths) > 1)
            second = None if "--minutes" in printed or "for a check" in printed else second
            other = second.ask(list(map(str, paths)))["verdict"] if second else ""
            if not printed.startswith(other):
                found = f"{other} by the second verifier, after {printed!r}"
        except TooLongError:
            found = f"takes more than {MOST_SECONDS} s"
        except Exception:
            found = traceback.format_exc()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        if found or grown > MOST_MEMORY:
            return found or f"takes {grown // 1024} MB"
    return ""


def main(arguments: list[str] | None = None, forgeries: list[Forgery] = FORGERIES) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="forgeries to try (default: all)")
    parser.add_argument("--list", action="store_true", help="print the ideas with the time taken")
    parser.add_argument("--second", action="store_true", help="ask the verifier in JavaScript too")
    options = parser.parse_args(arguments)
    chosen = [one for one in forgeries if not options.names or one.name in options.names]
    faults, second = 0, Second() if options.second else None
    with tempfile.TemporaryDirectory() as place:
        for one in chosen:
            started = time.monotonic()
            wrong = attack(one, Path(place), second)
            faults += bool(wrong)
            if options.list:
                print(f"{time.monotonic() - started:6.2f} s  {one.name}: {one.idea}")
            if wrong:
                print(f"{one.name} ({one.idea}): {wrong}")
    if second:
        second.close()
    print(f"{len(chosen)} forgeries, {faults} believed or fatal")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
