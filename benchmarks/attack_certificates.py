"""Alter true certificates in every way we could think of; the verifier must refuse or be right.

    python benchmarks/attack_certificates.py --count 10000 --seed 0

Each altered file is checked with and without its problem file. An independent judge rebuilds
the claim of the altered file with fractions, from the definition in docs/certificate.md. Wrong are:
an acceptance that the judge does not share, one of another problem or with a verdict that says
something else, an acceptance of a file of another form, a true certificate that is refused, and a
crash. Prints counts by kind; exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import re
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.certificates.verifier import main as verify

Arrays = dict[str, Any]
Random = np.random.Generator

TYPES = {
    "format": ("U", 0), "version": ("<i8", 0), "requirement": ("U", 0), "tolerance": ("<f8", 0),
    "values": ("<f8", 1), "status": ("<U1", 1), "lower_bound": ("<f8", 1),
    "upper_bound": ("<f8", 1), "lower_protection": ("<f8", 1), "upper_protection": ("<f8", 1),
    "sliding_protection": ("<f8", 1), "suppressed": ("|b1", 1), "right_hand_side": ("<f8", 1),
    "relation_starts": ("<i8", 1), "relation_cells": ("<i8", 1), "relation_data": ("<f8", 1),
    "witness_starts": ("<i8", 1), "witness_cells": ("<i8", 1), "witness_data": ("<f8", 1),
    "upper_witness": ("<i8", 1), "lower_witness": ("<i8", 1), "intruder_names": ("U", 1),
    "intruder_starts": ("<i8", 1), "intruder_cells": ("<i8", 1), "intruder_lower": ("<f8", 1),
    "intruder_upper": ("<f8", 1), "claim_starts": ("<i8", 1), "claim_index": ("<i8", 1),
    "claim_upper": ("<i8", 1), "claim_lower": ("<i8", 1),
}  # fmt: skip


# -- true certificates ---------------------------------------------------------------------------


def true_certificate(random: Random) -> tuple[Arrays, str]:
    """A small table with totals, a block of hidden cells and rectangles that prove it."""
    n_rows, n_columns = (int(random.integers(4, 6)) for _ in range(2))
    width, decimals = n_columns + 1, int(random.integers(0, 4))
    inner = random.integers(20, 100, (n_rows, n_columns))
    totals = np.zeros((n_rows + 1, width), dtype=np.int64)
    totals[:-1, :-1] = inner
    totals[-1], totals[:, -1] = totals.sum(axis=0), totals.sum(axis=1)
    totals[-1, -1] = inner.sum()
    unit = 10.0**decimals
    values, n = totals.reshape(-1) / unit, totals.size
    if random.random() < 0.3:  # with the dust of binary sums
        grid = values.reshape(n_rows + 1, width).copy()
        grid[:-1, -1] = [sum(row) for row in grid[:-1, :-1].tolist()]
        grid[-1] = [sum(column) for column in grid[:-1].T.tolist()]
        values = grid.reshape(-1)
    relations = [[(r * width + c, 1.0) for c in range(n_columns)] + [(r * width + n_columns, -1.0)]
                 for r in range(n_rows + 1)]  # fmt: skip
    relations += [[(r * width + c, 1.0) for r in range(n_rows)] + [(n_rows * width + c, -1.0)]
                  for c in range(width)]  # fmt: skip
    scale = random.choice([1.0, 1.0, 0.1, 2.5, 1 / 3], len(relations)).tolist()
    relations = [
        [(cell, sign * times) for cell, sign in relation]
        for times, relation in zip(scale, relations, strict=True)
    ]
    rows = np.sort(random.choice(n_rows, 3, replace=False))
    columns = np.sort(random.choice(n_columns, 3, replace=False))
    block = [int(r * width + c) for r in rows for c in columns]
    hidden, status = np.zeros(n, dtype=bool), np.full(n, "s")
    hidden[block] = True
    sensitive = np.sort(random.choice(block, int(random.integers(1, 5)), replace=False)).tolist()
    status[sensitive] = "u"
    rest = [cell for cell in block if cell not in sensitive]
    status[rest[0]] = "m"
    status[random.choice(np.flatnonzero(~hidden))] = "z"
    levels = {name: np.zeros(n) for name in ("lower", "upper", "sliding")}
    for cell in sensitive:
        levels["lower"][cell], levels["upper"][cell] = random.integers(0, 16, 2) / unit
        if random.random() < 0.3:
            levels["sliding"][cell] = float(random.integers(0, 16)) / unit
    witnesses: list[list[tuple[int, float]]] = []

    def rectangle(cell: int, size: float, avoid: tuple[int, ...] = ()) -> int:
        """Number of a new witness that moves a cell and three others."""
        r, c = divmod(cell, width)
        corners = [
            (r * width + d, s * width + c, s * width + d)
            for s in rows.tolist() for d in columns.tolist()
            if s != r and d != c and not {r * width + d, s * width + c, s * width + d} & {*avoid}
        ]  # fmt: skip
        one, other, far = corners[int(random.integers(len(corners)))]
        witnesses.append(sorted([(cell, size), (one, -size), (other, -size), (far, size)]))
        return len(witnesses) - 1

    requirement = str(random.choice(["two-sided", "two-sided", "width", "upper"]))
    grain = 2.0**-14
    upper, lower = [], []
    for cell in sensitive:
        size = max(levels["upper"][cell], levels["lower"][cell], levels["sliding"][cell] / 2)
        size = np.ceil(size / grain) * grain
        upper.append(rectangle(cell, size) if size else -1)
        lower.append(rectangle(cell, -size) if size and requirement != "upper" else -1)
    names, facts, claims = [], [], []
    for number in range(int(random.integers(0, 4)) if rest[1:] else 0):
        spy = int(random.choice(rest))
        names.append(f"contributors: firm {number}")
        low, high = values[spy] - float(random.integers(0, 4)) / unit, values[spy]
        facts.append([(spy, low, high)])
        claim = []
        for position, cell in enumerate(sensitive):
            own = [upper[position], lower[position]]
            for side in (0, 1):
                if own[side] >= 0:
                    size = dict(witnesses[own[side]])[cell]
                    own[side] = rectangle(cell, size, (spy,))
            if own != [upper[position], lower[position]]:
                claim.append((position, *own))
        claims.append(claim)
    fact = [one for own in facts for one in own]
    claim = [one for own in claims for one in own]

    def starts(lists: list[Any]) -> Any:
        return np.cumsum([0, *map(len, lists)], dtype=np.int64)

    def column(table: list[Any], number: int, kind: type) -> Any:
        return np.array([row[number] for row in table], dtype=kind)

    relations = [sorted(relation) for relation in relations]
    terms = [term for relation in relations for term in relation]
    moves = [move for witness in witnesses for move in witness]
    arrays = {
        "format": np.array("tablecloak suppression certificate"), "version": np.array(2),
        "requirement": np.array(requirement), "tolerance": np.array(0.0), "values": values,
        "status": status, "lower_bound": np.zeros(n),
        "upper_bound": np.full(n, random.choice([1e5, np.inf])),
        **{f"{name}_protection": level for name, level in levels.items()},
        "suppressed": hidden, "right_hand_side": np.zeros(len(relations)),
        "relation_starts": starts(relations), "relation_cells": column(terms, 0, np.int64),
        "relation_data": column(terms, 1, np.float64), "witness_starts": starts(witnesses),
        "witness_cells": column(moves, 0, np.int64), "witness_data": column(moves, 1, np.float64),
        "upper_witness": np.array(upper, np.int64), "lower_witness": np.array(lower, np.int64),
        "intruder_names": np.array(names, "U"), "intruder_starts": starts(facts),
        "intruder_cells": column(fact, 0, np.int64), "intruder_lower": column(fact, 1, np.float64),
        "intruder_upper": column(fact, 2, np.float64), "claim_starts": starts(claims),
        "claim_index": column(claim, 0, np.int64), "claim_upper": column(claim, 1, np.int64),
        "claim_lower": column(claim, 2, np.int64),
    }  # fmt: skip
    return arrays, problem_file(arrays, random)


def problem_file(arrays: Arrays, random: Random | None = None) -> str:
    """The JJ file of a certificate; with `random`, terms of 0 and terms in two halves are in it."""
    names = ("lower_bound", "upper_bound", "lower_protection", "upper_protection",
             "sliding_protection")  # fmt: skip
    n = len(arrays["values"])
    lines = ["0", str(n)]
    for cell in range(n):
        numbers = " ".join(repr(float(arrays[name][cell])) for name in names)
        value = float(arrays["values"][cell])
        lines.append(f"{cell} {value!r} 1 {arrays['status'][cell]} {numbers}")
    lines.append(str(len(arrays["right_hand_side"])))
    for row, side in enumerate(arrays["right_hand_side"].tolist()):
        own = slice(*arrays["relation_starts"][row : row + 2])
        terms = [*zip(arrays["relation_cells"][own], arrays["relation_data"][own], strict=True)]
        if random is not None and random.random() < 0.3:
            cell, coefficient = terms.pop(0)
            terms += [(cell, coefficient / 2)] * 2 + [(int(random.integers(n)), 0.0)]
        text = " ".join(f"{cell} ({float(coefficient)!r})" for cell, coefficient in terms)
        lines.append(f"{side!r} {len(terms)} : {text}")
    return "\n".join(lines) + "\n"


def another_problem(text: str, random: Random) -> str:
    """Alter one word of a problem file, or leave words out, or add some."""
    words = re.findall(r"\S+", text)
    at = int(random.integers(len(words)))
    match int(random.integers(5)):
        case 0:
            del words[at]
        case 1:
            words.insert(at, words[int(random.integers(len(words)))])
        case 2:
            other = int(random.integers(len(words)))
            words[at], words[other] = words[other], words[at]
        case 3:
            rubbish = ["nan", "inf", "-inf", "1e999", "-1", "0", "1", "1_0", "1000000000", "u", "s",
                       ":", "(1)", "(-1.0)", "0x1", "1e-300", "\u0661", "()", "0.1",
                       str(2**64)]  # fmt: skip
            words[at] = rubbish[int(random.integers(len(rubbish)))]
        case 4:
            words[at:] = words[at : at + int(random.integers(0, 3))]
    return " ".join(words)


def meaning(text: str) -> tuple[Any, ...] | None:
    """What a problem file says, read by its definition: cells, bounds and relations."""
    words = re.sub(r"[:()]", " ", text).split()
    try:
        n, rest = int(words[1]), words[2:]
        cells = [rest[9 * cell : 9 * cell + 9] for cell in range(n)]
        if words[0] != "0" or [cell[0] for cell in cells] != list(map(str, range(n))):
            return None
        numbers = [tuple(float(cell[k]) for k in (1, 6, 7, 8)) for cell in cells]
        bounds = [(float(cell[4]), float(cell[5])) for cell in cells]
        rest = rest[9 * n :]
        relations, at = [], 1
        for _ in range(int(rest[0])):
            size, terms = int(rest[at + 1]), {}
            for place in range(at + 2, at + 2 + 2 * size, 2):
                cell, coefficient = int(rest[place]), Fraction(rest[place + 1])
                terms[cell] = terms.get(cell, Fraction(0)) + coefficient
            relations.append((float(rest[at]), {c: float(t) for c, t in terms.items() if t}))
            at += 2 + 2 * size
        return (
            (numbers, [cell[3] for cell in cells], relations, bounds) if at == len(rest) else None
        )
    except (ValueError, IndexError, OverflowError):
        return None


def says_the_same(one: str, other: str) -> bool:
    """Whether two problem files hold the same problem, or the first one wider bounds."""
    first, second = meaning(one), meaning(other)
    if first is None or second is None or first[:2] != second[:2]:
        return False
    pairs = [*zip(first[2], second[2], strict=False)]
    if len(first[2]) != len(second[2]) or any(a[1] != b[1] for a, b in pairs):
        return False
    if any(abs(a[0] - b[0]) > 1e-12 for a, b in pairs):  # less is the dust of binary sums
        return False
    return all(a[0] <= b[0] and a[1] >= b[1] for a, b in zip(first[3], second[3], strict=True))


# -- the independent judge -----------------------------------------------------------------------


class UnprovedError(Exception):
    """The arrays do not prove their claim, or are no certificate."""


def need(condition: object, reason: str) -> None:
    if not condition:
        raise UnprovedError(reason)


def judge(arrays: Arrays) -> dict[str, Any]:
    """What a certificate proves, by fractions and loops; raises UnprovedError if nothing."""
    need(set(arrays) == set(TYPES), "arrays")
    for name, (kind, dimensions) in TYPES.items():
        found = arrays[name]
        need(found.ndim == dimensions, f"shape of {name}")
        need(found.dtype.str[:2] == "<U" if kind == "U" else found.dtype.str == kind, name)
    data = {name: array.tolist() for name, array in arrays.items()}
    need(data["format"] == "tablecloak suppression certificate" and data["version"] == 2, "version")
    values, n = data["values"], len(data["values"])
    for name in ("status", "lower_bound", "upper_bound", "lower_protection", "upper_protection",
                 "sliding_protection", "suppressed"):  # fmt: skip
        need(len(data[name]) == n, f"length of {name}")
    numbers = ("values", "right_hand_side", "relation_data", "witness_data", "lower_protection",
               "upper_protection", "sliding_protection")  # fmt: skip
    need(all(np.all(np.isfinite(arrays[name])) for name in numbers), "no number")
    need(np.isfinite(data["tolerance"]) and data["tolerance"] >= 0, "tolerance")
    relations = lists(data, "relation", n, ("relation_data",))
    witnesses = [dict(rows) for rows in lists(data, "witness", n, ("witness_data",))]
    need(len(relations) == len(data["right_hand_side"]), "relations")
    hidden, status = data["suppressed"], data["status"]
    for cell in range(n):
        need(status[cell] in ("s", "u", "m", "z"), "status")
        need(hidden[cell] or status[cell] not in ("u", "m"), "published")
        need(not hidden[cell] or status[cell] != "z", "frozen")
        need(data["lower_bound"][cell] <= values[cell] <= data["upper_bound"][cell], "bounds")
    sensitive = [cell for cell in range(n) if status[cell] == "u"]
    asked = [asked_of(data, cell) for cell in sensitive]
    served: dict[int, list[float]] = {}
    insiders = claims_of(data, len(sensitive))
    everybody = list(zip(data["upper_witness"], data["lower_witness"], strict=True))
    need(len(everybody) == len(sensitive), "witnesses")
    for _, claim in [(None, dict(enumerate(everybody))), *insiders]:
        for position, pair in claim.items():
            need(all(-1 <= number < len(witnesses) for number in pair), "no such witness")
            for number in pair:
                served.setdefault(number, []).extend(level for level in asked[position] if level)
    for row, relation in enumerate(relations):
        check_relation(data, row, relation, witnesses, served)
    for witness in witnesses:
        for cell, move in witness.items():
            need(hidden[cell] and move != 0, "a published cell")
            bounds = data["lower_bound"][cell], data["upper_bound"][cell]
            need(keeps(values[cell], move, *bounds), "a bound")
    for position in range(len(sensitive)):
        far = reached(witnesses, everybody[position], sensitive[position], {}, values)
        need(enough(far, asked[position], None), "everybody")
    for known, claim in insiders:
        need(news(data, known), "nothing new")
        for position, cell in enumerate(sensitive):
            pair = claim.get(position, everybody[position])
            far = reached(witnesses, pair, cell, known, values)
            room = None
            if cell in known:
                room = [distance(end, values[cell]) for end in known[cell]]
            need(enough(far, asked[position], room), "an insider")
    different = {tuple(sorted(known.items())) for known, _ in insiders}
    return {"sensitive": len(sensitive), "insiders": len(different),
            "requirement": data["requirement"]}  # fmt: skip


def lists(data: Arrays, name: str, end: int, others: tuple[str, ...]) -> list[list[Any]]:
    """Cut members and their numbers at the starts; each list must increase."""
    starts, members = data[f"{name}_starts"], data[f"{name}_cells"]
    return cut(starts, members, [data[other] for other in others], end)


def cut(starts: list[int], members: list[int], others: list[list[Any]], end: int) -> list[Any]:
    need(starts and starts[0] == 0 and starts[-1] == len(members), "starts")
    need(all(a <= b for a, b in pairwise(starts)), "starts")
    need(all(len(other) == len(members) for other in others), "lengths")
    need(all(0 <= member < end for member in members), "range")
    found = []
    for a, b in pairwise(starts):
        own = members[a:b]
        need(all(x < y for x, y in pairwise(own)), "order")
        found.append(list(zip(own, *(other[a:b] for other in others), strict=True)))
    return found


def claims_of(data: Arrays, n_sensitive: int) -> list[tuple[Any, dict[int, Any]]]:
    """For each insider what it knows, and the witnesses that take the place of the common ones."""
    facts = lists(data, "intruder", len(data["values"]), ("intruder_lower", "intruder_upper"))
    claims = cut(data["claim_starts"], data["claim_index"],
                 [data["claim_upper"], data["claim_lower"]], n_sensitive)  # fmt: skip
    names = data["intruder_names"]
    need(len(facts) == len(claims) == len(names) == len(set(names)) and all(names), "names")
    return [
        ({cell: (low, high) for cell, low, high in known}, {at: (up, down) for at, up, down in own})
        for known, own in zip(facts, claims, strict=True)
    ]


def news(data: Arrays, known: dict[int, tuple[float, float]]) -> bool:
    """Whether an insider knows something that is true, new and of a hidden cell."""
    for cell, (low, high) in known.items():
        value = data["values"][cell]
        need(
            low - 4 * np.spacing(abs(value)) <= value <= high + 4 * np.spacing(abs(value)), "truth"
        )
        need(data["suppressed"][cell], "a published cell")
        need(data["lower_bound"][cell] <= low and high <= data["upper_bound"][cell], "wider")
    return any(low > data["lower_bound"][cell] or high < data["upper_bound"][cell]
               for cell, (low, high) in known.items())  # fmt: skip


def asked_of(data: Arrays, cell: int) -> tuple[float, float, float]:
    upper, lower, width = (
        data[f"{name}_protection"][cell] for name in ("upper", "lower", "sliding")
    )
    need(min(upper, lower, width) >= 0, "a negative level")
    match data["requirement"]:
        case "two-sided":
            asked = (upper, lower, width)
        case "width":
            asked = (0.0, 0.0, max(width, upper + lower))
        case "upper":
            asked = (upper, 0.0, 0.0)
        case _:
            raise UnprovedError("requirement")
    for level in asked:
        need(not level or 4 * np.spacing(abs(data["values"][cell])) <= 1e-6 * level, "precision")
    return asked


def check_relation(
    data: Arrays, row: int, relation: list[Any], witnesses: list[Any], served: dict[int, Any]
) -> None:
    """The truth satisfies a relation, every witness exactly so."""
    need(all(coefficient != 0 for _, coefficient in relation), "a coefficient of 0")
    decimals = [Decimal(repr(coefficient)).normalize() for _, coefficient in relation]
    exact = all(int(number.as_tuple().exponent) >= -12 for number in decimals)
    terms = {
        cell: Fraction(number) if exact else Fraction(coefficient)
        for (cell, coefficient), number in zip(relation, decimals, strict=True)
    }
    values, side = data["values"], Fraction(data["right_hand_side"][row])
    parts = [times * Fraction(values[cell]) for cell, times in terms.items()]
    size = sum(map(abs, parts)) + abs(side)
    accepted = Fraction(1, 10**9) * size + Fraction(data["tolerance"])
    need(abs(sum(parts) - side) <= accepted, "additivity")
    hidden = [abs(times) for cell, times in terms.items() if data["suppressed"][cell]]
    for number, witness in enumerate(witnesses):
        residual = sum(times * Fraction(witness.get(cell, 0.0)) for cell, times in terms.items())
        allowed = Fraction(0)
        if not exact:
            least = Fraction(min(served.get(number, [0.0]) or [0.0]))
            allowed = Fraction(1e-9) * least * min(Fraction(1), max(hidden, default=Fraction(0)))
        need(abs(residual) <= allowed, "a relation")


def keeps(value: float, move: float, low: float, high: float) -> bool:
    for end, sign in ((low, 1), (high, -1)):
        if np.isfinite(end):
            place = Fraction(math.ulp(max(abs(value), abs(end))))
            if sign * (Fraction(value) + Fraction(move) - Fraction(end)) < -5 * place:
                return False
    return True


def reached(
    witnesses: list[Any], pair: tuple[int, int], cell: int, known: dict[int, Any],
    values: list[float],
) -> list[Fraction]:  # fmt: skip
    """How far up and down two witnesses move a cell; nowhere if somebody can rule them out."""
    far = []
    for number, sign in zip(pair, (1, -1), strict=True):
        witness = witnesses[number] if number >= 0 else {}
        good = all(keeps(values[at], witness.get(at, 0.0), *ends) for at, ends in known.items())
        far.append(sign * Fraction(witness.get(cell, 0.0)) if good else Fraction(0))
    return far


def distance(end: float, value: float) -> Fraction | float:
    return abs(Fraction(end) - Fraction(value)) if np.isfinite(end) else np.inf


def enough(far: list[Fraction], asked: tuple[float, ...], room: list[Any] | None) -> bool:
    upper, lower, width = map(Fraction, asked)
    if room is not None:
        lower, upper = min(lower, room[0]), min(upper, room[1])
        width = min(width, room[0] + room[1])
    share = 1 - Fraction(2, 10**9)
    return far[0] >= share * upper and far[1] >= share * lower and sum(far) >= share * width


def same_problem(arrays: Arrays, original: Arrays) -> bool:
    """Whether two certificates speak of the same problem, or the first of narrower bounds."""
    names = ("values", "status", "lower_protection", "upper_protection", "sliding_protection")
    same = all(np.array_equal(arrays[name], original[name]) for name in names)
    same = same and bool(np.all(arrays["lower_bound"] >= original["lower_bound"]))
    same = same and bool(np.all(arrays["upper_bound"] <= original["upper_bound"]))
    names = ("relation_starts", "relation_cells", "relation_data")
    return same and all(np.array_equal(arrays[name], original[name]) for name in names)


# -- alterations ---------------------------------------------------------------------------------

Members = list[tuple[str, Any]]


def chosen(arrays: Arrays, random: Random, kinds: str = "fiUb", least: int = 0) -> str:
    names = [name for name, array in arrays.items()
             if array.dtype.kind in kinds and array.ndim and array.size >= least]  # fmt: skip
    return str(random.choice(names))


def another_type(arrays: Arrays, random: Random) -> str:
    name = str(random.choice(list(arrays)))
    array = arrays[name]
    kinds = ["<f2", "<f4", ">f8", "<i4", "<i2", ">i8", "<u8", "|i1", "<c16", "<M8[s]", "<m8[s]",
             "<U7", "|S3", "object", "<f8", "<i8", "|b1", ">U1", "<U300", "|V8"]  # fmt: skip
    kind = str(random.choice([kind for kind in kinds if np.dtype(kind).str != array.dtype.str]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that some numbers do not fit
            arrays[name] = array.astype(kind)
    except (TypeError, ValueError):
        arrays[name] = np.zeros(array.shape, kind)
    harmless = TYPES[name][0] == "U" and kind == "<U300"  # longer than any name may be
    return "form" if not (TYPES[name][0] == "U" and kind == "<U7") or harmless else "number"


def another_shape(arrays: Arrays, random: Random) -> str:
    name = str(random.choice(list(arrays)))
    shapes = [(1, *arrays[name].shape), (*arrays[name].shape, 1), (1, 1, *arrays[name].shape)]
    if arrays[name].ndim and arrays[name].size == 1:
        shapes.append(())
    arrays[name] = arrays[name].reshape(shapes[int(random.integers(len(shapes)))])
    return "form"


def dropped(arrays: Arrays, random: Random) -> str:
    del arrays[str(random.choice(list(arrays)))]
    return "form"


def added(arrays: Arrays, random: Random) -> str:
    name = str(random.choice(list(arrays)))
    extra = str(random.choice(["comment", "Values", "x/../../values", "values.npy", "", "witness"]))
    arrays[extra] = arrays[name]
    return "form"


def renamed(arrays: Arrays, random: Random) -> str:
    name = str(random.choice(list(arrays)))
    arrays[name.upper()] = arrays.pop(name)
    return "form"


def exchanged(arrays: Arrays, random: Random) -> str:
    one, other = random.choice(list(arrays), 2, replace=False)
    arrays[one], arrays[other] = arrays[other], arrays[one]
    return "number"


def one_entry(arrays: Arrays, random: Random) -> str:
    name = chosen(arrays, random, least=1)
    array = arrays[name] = arrays[name].copy()
    at = int(random.integers(array.size))
    match array.dtype.kind:
        case "f":
            old = float(array[at])
            new = [np.nan, np.inf, -np.inf, -old, old + 1, old - 1, 0.0, -0.0, 2 * old, old / 2,
                   1e300, -1e300, 5e-324, old * (1 + 1e-7), old * (1 + 1e-13), old * (1 - 1e-13),
                   old + 1e-9, np.nextafter(old, np.inf), np.nextafter(old, -np.inf), 2.0**53,
                   float(random.choice(array))]  # fmt: skip
        case "i":
            old = int(array[at])
            new = [-1, -2, 0, old + 1, old - 1, 2**62, -(2**62), 2**63 - 1, -(2**63), 2**31,
                   2**32 + old % 2**32, 10**9, len(arrays["values"]), array.size,
                   int(random.choice(array))]  # fmt: skip
        case "b":
            new = [not array[at]]
        case _:
            new = ["s", "u", "m", "z", "S", "x", "", "\0", "\ud800", "ü", str(random.choice(array))]
    with np.errstate(all="ignore"):
        array[at] = new[int(random.integers(len(new)))]
    return "number"


def one_scalar(arrays: Arrays, random: Random) -> str:
    name = str(random.choice(["format", "version", "requirement", "tolerance"]))
    news = {
        "format": ["", "tablecloak", "tablecloak suppression certificate "],
        "version": [0, 1, 3, -2, 2**62],
        "requirement": ["two-sided", "width", "upper", "", "Upper", "one-sided", "two-sided "],
        "tolerance": [-1.0, np.nan, np.inf, 1e-9, 1.0, 1e300],
    }[name]
    value = news[int(random.integers(len(news)))]
    arrays[name] = np.array(value)
    return "number"


def moved(arrays: Arrays, random: Random) -> str:
    """Entries of one array change places, are left out or are there twice."""
    name = chosen(arrays, random, least=2)
    array = arrays[name]
    i, j = np.sort(random.choice(array.size, 2, replace=False))
    order = np.arange(array.size)
    changes = [np.roll(order, 1), order[::-1], np.delete(order, i), np.insert(order, j, order[i]),
               random.permutation(order), order[:i], np.where(order == i, j, order)]  # fmt: skip
    swap = order.copy()
    swap[[i, j]] = j, i
    changes.append(swap)
    arrays[name] = array[changes[int(random.integers(len(changes)))]]
    return "number"


def all_entries(arrays: Arrays, random: Random) -> str:
    name = chosen(arrays, random, "fi", least=1)
    array = arrays[name]
    with np.errstate(all="ignore"):
        changes = [-array, array * 0, array + 1, array - 1, array * 2, array * 10**6]
    arrays[name] = changes[int(random.integers(len(changes)))].astype(array.dtype)
    return "number"


def several(arrays: Arrays, random: Random) -> str:
    """Several entries change; what is left may still be a proof, of something else."""
    for _ in range(int(random.integers(2, 5))):
        one_entry(arrays, random)
    return "number"


def own(arrays: Arrays, name: str, number: int) -> slice:
    start, stop = arrays[f"{name}_starts"][number : number + 2]
    return slice(int(start), int(stop))


def entry_in_parts(arrays: Arrays, random: Random) -> str:
    """A move stored as several that cancel, or add up, for the same cell."""
    data, cells = arrays["witness_data"], arrays["witness_cells"]
    if not len(data):
        return one_scalar(arrays, random)
    at, times = int(random.integers(len(data))), int(random.integers(1, 4))
    share = float(random.choice([0.5, -1.0, 1e-3, 1.0]))
    parts = [data[at] * (1 - share * times)] + [data[at] * share] * times
    arrays["witness_data"] = np.concatenate([data[:at], parts, data[at + 1 :]])
    arrays["witness_cells"] = np.concatenate(
        [cells[:at], [cells[at]] * len(parts), cells[at + 1 :]]
    )
    arrays["witness_starts"] = arrays["witness_starts"] + times * (arrays["witness_starts"] > at)
    return "number"


def cell_published(arrays: Arrays, random: Random) -> str:
    """A hidden cell is published, and what moves it is taken out of all witnesses."""
    cell = int(random.choice(np.flatnonzero(arrays["suppressed"])))
    arrays["suppressed"] = arrays["suppressed"].copy()
    arrays["suppressed"][cell] = False
    if random.random() < 0.5:
        arrays["status"] = arrays["status"].copy()
        arrays["status"][cell] = "s"
    kept = arrays["witness_cells"] != cell
    before = np.concatenate([[0], np.cumsum(kept)])
    for name in ("witness_cells", "witness_data"):
        arrays[name] = arrays[name][kept]
    arrays["witness_starts"] = before[arrays["witness_starts"]]
    return "number"


def cell_alone(arrays: Arrays, random: Random) -> str:
    """A hidden row is published but for one sensitive cell, which a witness moves alone."""
    cells = np.flatnonzero(arrays["status"] == "u")
    cell = int(random.choice(cells))
    numbers = [*arrays["upper_witness"], *arrays["lower_witness"]]
    for number in {int(number) for number in numbers if number >= 0}:
        part = own(arrays, "witness", number)
        if cell in arrays["witness_cells"][part]:
            arrays["witness_data"] = arrays["witness_data"].copy()
            small = float(random.choice([1e-300, 1e-12, 1e-9, 1.0]))
            arrays["witness_data"][part][arrays["witness_cells"][part] != cell] *= small
    return "number"


def without_relation(arrays: Arrays, random: Random) -> str:
    number = int(random.integers(len(arrays["right_hand_side"])))
    part = own(arrays, "relation", number)
    for name in ("relation_cells", "relation_data"):
        arrays[name] = np.delete(arrays[name], part)
    starts = arrays["relation_starts"]
    length = part.stop - part.start
    arrays["relation_starts"] = np.delete(starts - length * (starts >= part.stop), number)
    if random.random() < 0.8:
        arrays["right_hand_side"] = np.delete(arrays["right_hand_side"], number)
    return "number"


def invented_insiders(arrays: Arrays, random: Random) -> str:
    """Insiders that are there twice under other names, or know nothing, or know made-up bounds."""
    many = int(random.choice([1, 3, 1000]))
    n, names = len(arrays["intruder_cells"]), arrays["intruder_names"].tolist()
    hidden = np.flatnonzero(arrays["suppressed"])
    cell = int(random.choice(hidden))
    wider = float(random.choice([0.0, 1.0, 1e-3, np.inf]))
    value = float(arrays["values"][cell])
    knows_nothing = random.random() < 0.4
    added = np.arange(1, many + 1)
    arrays["intruder_names"] = np.array([*names, *(f"x{k}" for k in range(many))])
    arrays["claim_starts"] = np.append(arrays["claim_starts"], [len(arrays["claim_index"])] * many)
    if knows_nothing:
        arrays["intruder_starts"] = np.append(arrays["intruder_starts"], [n] * many)
        return "number"
    arrays["intruder_starts"] = np.append(arrays["intruder_starts"], n + added)
    arrays["intruder_cells"] = np.append(arrays["intruder_cells"], [cell] * many)
    arrays["intruder_lower"] = np.append(arrays["intruder_lower"], [max(0, value - wider)] * many)
    arrays["intruder_upper"] = np.append(arrays["intruder_upper"], [value + wider] * many)
    return "number"


def without_insider(arrays: Arrays, random: Random) -> str:
    del random
    if not len(arrays["intruder_names"]):
        arrays["intruder_names"] = np.array(["nobody"])
        return "number"
    arrays["intruder_names"] = arrays["intruder_names"][:-1]
    for name, others in (("intruder", ("cells", "lower", "upper")),
                         ("claim", ("index", "upper", "lower"))):  # fmt: skip
        arrays[f"{name}_starts"] = arrays[f"{name}_starts"][:-1]
        for other in others:
            end = arrays[f"{name}_starts"][-1]
            arrays[f"{name}_{other}"] = arrays[f"{name}_{other}"][:end]
    return "number"


def witness_scaled(arrays: Arrays, random: Random) -> str:
    if len(arrays["witness_starts"]) < 2:
        return one_scalar(arrays, random)
    part = own(arrays, "witness", int(random.integers(len(arrays["witness_starts"]) - 1)))
    arrays["witness_data"] = arrays["witness_data"].copy()
    times = [-1.0, 0.5, 2.0, 1 / 3, 1 + 1e-12, 1 - 1e-6, 1e6, 1e-320]
    arrays["witness_data"][part] *= times[int(random.integers(len(times)))]
    return "number"


def witnesses_renumbered(arrays: Arrays, random: Random) -> str:
    """Another order of the witnesses: the same proof."""
    many = len(arrays["witness_starts"]) - 1
    order = random.permutation(many)
    parts = [own(arrays, "witness", int(number)) for number in order]
    for name in ("witness_cells", "witness_data"):
        array = arrays[name]
        arrays[name] = np.concatenate([array[:0], *(array[part] for part in parts)])
    arrays["witness_starts"] = np.cumsum([0, *(part.stop - part.start for part in parts)])
    place = np.append(np.argsort(order), -1)
    for name in ("upper_witness", "lower_witness", "claim_upper", "claim_lower"):
        arrays[name] = place[arrays[name]]
    return "true"


def unaltered(arrays: Arrays, random: Random) -> str:
    del arrays, random
    return "true"


ALTERATIONS: list[Callable[[Arrays, Random], str]] = [
    unaltered, witnesses_renumbered, another_type, another_shape, dropped, added, renamed,
    exchanged, one_entry, one_entry, one_entry, one_entry, one_scalar, moved, moved, all_entries,
    several, entry_in_parts, cell_published, cell_alone, without_relation, invented_insiders,
    without_insider, witness_scaled,
]  # fmt: skip


def packed(arrays: Arrays, random: Random) -> bytes:
    """The bytes of a sound archive."""
    stream = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if random.random() < 0.5 else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", kind) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", member(array))
    return stream.getvalue()


def member(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), version=version)
    return stream.getvalue()


ARCHIVES = ["twice", "stranger", "folder", "bzip2", "lzma", "version 2", "cut member",
            "longer member", "header of more", "fortran", "bytes", "cut file", "encrypted",
            "not true or false", "pickle", "no text"]  # fmt: skip


def repacked(arrays: Arrays, random: Random, what: str) -> tuple[str, bytes]:
    """The right arrays in a wrong archive; returns what to expect, and the file."""
    name = str(random.choice(list(arrays)))
    content, kind = member(arrays[name]), zipfile.ZIP_STORED
    extra: list[tuple[str, bytes]] = []
    match what:
        case "twice":
            extra = [(f"{name}.npy", content)]
        case "stranger":
            extra = [("readme.txt", b"hello")]
        case "folder":
            extra = [("folder/", b"")]
        case "bzip2":
            kind = zipfile.ZIP_BZIP2
        case "lzma":
            kind = zipfile.ZIP_LZMA
        case "version 2":
            content = member(arrays[name], (2, 0))
        case "cut member":
            content = content[:-1]
        case "longer member":
            content += b"\0" * int(random.integers(1, 9))
        case "header of more":
            name, huge = "values", len(arrays["values"]) * 10**9
            old, new = f"({len(arrays['values'])},), ".encode(), f"({huge},), ".encode()
            room = len(new) - len(old)
            content = (
                member(arrays[name]).replace(old, new, 1).replace(b" " * room + b"\n", b"\n", 1)
            )
        case "fortran":
            content = content.replace(b"'fortran_order': False", b"'fortran_order': True ")
        case "no text":
            name = "requirement"
            content = member(arrays[name])[:-4] + b"\xff\xff\xff\x7f"
        case "pickle":
            content = member(arrays[name].astype(object))
        case "not true or false":
            name = "suppressed"
            content = member(arrays[name])[:-1] + bytes([random.integers(2, 256)])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for other, array in arrays.items():
            payload = content if other == name else member(array)
            archive.writestr(f"{other}.npy", payload, kind if other == name else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a name is there twice
            for other, payload in extra:
                archive.writestr(other, payload)
    file = bytearray(stream.getvalue())
    if what == "bytes":
        start = int(random.integers(len(file)))
        file[start : start + 4] = random.bytes(4)
    if what == "cut file":
        file = file[: int(random.integers(len(file)))]
    if what == "encrypted":
        file[file.index(b"PK\x01\x02") + 8] |= 1
    # What lies between the members of an archive means nothing.
    return ("bytes" if what == "bytes" else "form"), bytes(file)


# -- the campaign --------------------------------------------------------------------------------


def verified(folder: Path, content: bytes, problem: str) -> tuple[list[tuple[int, str]], str]:
    """Verify a file alone and beside its problem; return codes with texts, and both verdicts."""
    (folder / "c.npz").write_bytes(content)
    (folder / "p.jj").write_text(problem)
    answers = []
    for files in (["c.npz"], ["c.npz", "p.jj"]):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = verify([str(folder / file) for file in files])
        answers.append((code, printed.getvalue()))
    verdict = " / ".join("PROVED" if code == 0 else "REFUSED" for code, _ in answers)
    return answers, verdict


def attack(folder: Path, seed: tuple[int, ...]) -> tuple[str, str, str]:
    """Alter one certificate; return the alteration, the verdict, and what is wrong with it."""
    random = np.random.default_rng(seed)
    arrays, problem = true_certificate(random)
    original, given = dict(arrays), problem
    if random.random() < 0.1:
        name, expected = "another_problem", "number"
        problem = another_problem(problem, random)
        content = packed(arrays, random)
    elif random.random() < 0.15:
        name = "repacked"
        expected, content = repacked(arrays, random, str(random.choice(ARCHIVES)))
    else:
        alter = ALTERATIONS[int(random.integers(len(ALTERATIONS)))]
        name, expected = alter.__name__, alter(arrays, random)
        content = packed(arrays, random)
    answers, verdict = verified(folder, content, problem)
    if expected == "bytes" and answers[0][0] == 0:
        try:
            with np.load(folder / "c.npz") as file:
                same = all(np.array_equal(file[key], original[key]) for key in original)
        except Exception:  # numpy reads it otherwise or not at all: it had to be refused
            same = False
        return name, verdict, "" if same else "accepted, but other bytes"
    if answers[1][0] == 0 and problem != given and not says_the_same(problem, given):
        return name, verdict, "accepted beside an altered problem file"
    return name, verdict, wrong(arrays, original, expected, answers)


def wrong(arrays: Arrays, original: Arrays, expected: str, answers: list[tuple[int, str]]) -> str:
    """What is wrong with the answers to a certificate, alone and beside its problem file."""
    for code, text in answers:
        if (code == 0) != text.startswith("PROVED: ") or (code != 0) != text.startswith(
            "REFUSED: "
        ):
            return f"exit code {code} with {text!r}"
    if expected == "true":
        refused = [text for code, text in answers if code]
        return f"a true certificate: {refused[0]}" if refused else ""
    accepted = [text for code, text in answers if code == 0]
    if not accepted:
        return ""
    if expected in ("form", "bytes"):
        return f"accepted, but its {expected} is another"
    try:
        proved = judge(arrays)
    except UnprovedError as error:
        return f"accepted, but not proved: {error}"
    for text in accepted:
        said = re.match(r"PROVED: (\d+) sensitive cells, ([a-z-]+):", text)
        insiders = re.search(r"(\d+) different insiders", text)
        if said is None or insiders is None or said.group(2) != proved["requirement"]:
            return f"accepted as something else: {text!r}"
        if (int(said.group(1)), int(insiders.group(1))) != (
            proved["sensitive"],
            proved["insiders"],
        ):
            return f"accepted with other counts than {proved}: {text!r}"
        if arrays["tolerance"] > 0 and "additivity" not in text:
            return "a tolerance is not mentioned"
    if answers[1][0] == 0 and not same_problem(arrays, original):
        return "accepted beside the file of another problem"
    if answers[0][0] == 0 and "problem itself was not compared" not in answers[0][1]:
        return "it is not said that the problem was not compared"
    return ""


def batch(seed: int, start: int, stop: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Attack with some numbers; count alterations by verdict and list what is wrong."""
    counts: Counter[tuple[str, str]] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(start, stop):
            name, verdict, fault = attack(Path(place), (seed, number))
            counts[name, verdict] += 1
            if fault:
                faults.append(f"seed {seed}, number {number}, {name}: {fault}")
    return counts, faults


def campaign(count: int, seed: int, size: int = 500) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Attack in another process, so that a crash by signal is counted too."""
    counts: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    for start in range(0, count, size):
        stop = min(start + size, count)
        try:
            with ProcessPoolExecutor(1) as pool:
                found, wrong_ones = pool.submit(batch, seed, start, stop).result()
        except BrokenProcessPool:
            found, wrong_ones = Counter(), [f"seed {seed}, numbers {start} to {stop}: a crash"]
        counts += found
        faults += wrong_ones
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="altered certificates")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()
    counts, faults = campaign(options.count, options.seed)
    print("| alteration | alone / beside its problem | files |\n|---|---|---|")
    for (name, verdict), number in sorted(counts.items()):
        print(f"| {name} | {verdict} | {number} |")
    for fault in faults:
        print(fault)
    print(f"{options.count} certificates, {len(faults)} wrong verdicts, "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
