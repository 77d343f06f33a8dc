"""Make the conformance files of the certificate format: true, altered and false ones.

    python benchmarks/certificate_files.py [FOLDER] [--search]

Writes ``tests/data/certificates`` anew: of each kind of release at least 5 true certificates, 10
in which arrays are altered without effect on what is proved, and 20 false ones, with verdict and
code of each in ``index.json``; docs/certificate.md, section 15. Every file is shown to the
verifier, and nothing is written if its answer is not the one expected here. Certificates that a
search found are kept as they are, unless ``--search`` asks for new ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import tablecloak as tc
from forged_certificates import (
    SUMS,
    VALUES,
    both,
    honest,
    member,
    packed,
    problem_of,
    rectangle,
)
from forged_claims import TABLE, adjusted, cut, hidden, intervals, kept, rounded
from forged_claims import counts as small
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import LOSS, schema_of
from tablecloak.certificates.verifier import main as verify
from tablecloak.suppression.search import parts
from tables_apart import side_by_side

Arrays = dict[str, Any]
Change = Callable[[Arrays], Arrays]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "data" / "certificates"
PAGE = ROOT / "docs" / "certificate.md"
COUNTS = {"true": 5, "altered": 10, "false": 20}
"""How many files there are of each kind at least, by group."""
ANY = "any"
"""Of a forgery by hand: whatever the verifier refuses it for."""
VERDICTS = {0: "PROVED", 1: "REFUSED", 3: "NOT CLAIMED"}
NAN = float("nan")


@dataclass
class Made:
    """A file of the collection: its arrays or members, a problem file, and the code expected."""

    idea: str
    arrays: Arrays
    problem: str | None = None
    code: str | None = None
    content: bytes | None = None

    @property
    def bytes(self) -> bytes:
        members = {name: member(array) for name, array in self.arrays.items()}
        return self.content or packed(members)


Cases = tuple[list[Made], list[Made], list[Made]]
"""True, altered and false files of one kind."""


def sentences(page: str) -> list[tuple[str, str]]:
    """Return code and sentence of each refusal that a page lists, in its order."""
    rows = re.findall(r"^\| ([A-Z]\d+) \| (`.*`) \|$", page, re.MULTILINE)
    return [(code, one) for code, cell in rows for one in re.findall(r"`(.*?)`", cell)]


def code_of(reason: str, page: str) -> str:
    """Return the code of a refusal; sentences that are not listed are those of numpy."""
    # Words that stand as they are come first: `decimals` is no array of starts.
    for code, sentence in sorted(sentences(page), key=lambda one: "{" in one[1]):
        text = re.escape(sentence).replace(r"\{array\}", r"\w+").replace(r"\{\}", ".*")
        if re.fullmatch(text, reason):
            return code
    return "Z1"


def answer(path: Path, problem: Path | None) -> tuple[int, list[str]]:
    """Return the exit code of the verifier, and its sentences without the verdict."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        code = verify([str(path), *([str(problem)] if problem else [])])
    lines = [line.strip() for line in stream.getvalue().splitlines()]
    if code == 3:  # the first line says only what is not claimed
        return code, lines[1:]
    return code, [lines[0].partition(": ")[2], *lines[1:]]


def changed(**arrays: Any) -> Change:
    """Put other arrays in place of some."""
    return lambda old: old | {name: np.array(array) for name, array in arrays.items()}


def at(name: str, entry: Any, value: Any) -> Change:
    """Put another number in place of one entry of an array, or of some."""

    def change(old: Arrays) -> Arrays:
        array = np.array(old[name])
        array[entry] = value
        return old | {name: array}

    return change


def times(name: str, factor: float) -> Change:
    return lambda old: old | {name: np.array(old[name] * factor)}


def all_of(*changes: Change) -> Change:
    def change(old: Arrays) -> Arrays:
        for one in changes:
            old = one(old)
        return old

    return change


def without(name: str) -> Change:
    return lambda old: {one: array for one, array in old.items() if one != name}


# -- alterations that change nothing, of any certificate ------------------------------------------


def wide(old: Arrays) -> Arrays:
    """Store words in longer arrays of letters."""
    words = {name: array for name, array in old.items() if array.dtype.kind == "U"}
    return old | {name: array.astype("U90") for name, array in words.items() if name != "status"}


def negative_zeros(old: Arrays) -> Arrays:
    names = ("lower_protection", "upper_protection", "sliding_protection", "tolerance")
    return old | {name: np.where(old[name] == 0, -0.0, old[name]) for name in names}


def container(kind: str, arrays: Arrays) -> bytes:
    """The same arrays in another archive."""
    members = {name: member(array) for name, array in arrays.items()}
    if kind == "stored":
        return packed(members, zipfile.ZIP_STORED)
    if kind == "backwards":
        return packed(dict(reversed(members.items())))
    if kind == "numpy":
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (name, content) in enumerate(members.items()):
            way = zipfile.ZIP_STORED if number % 2 else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content, way)
    return stream.getvalue()


def repacked(arrays: Arrays) -> Iterator[Made]:
    """Four other archives of the same arrays, and two other ways to write the arrays."""
    for kind, idea in (
        ("stored", "the same arrays, not compressed"),
        ("backwards", "the same arrays in the opposite order"),
        ("numpy", "the same arrays as numpy.savez_compressed writes them, with zip64 fields"),
        ("mixed", "the same arrays, every other one compressed"),
    ):
        yield Made(idea, arrays, content=container(kind, arrays))
    yield Made("words in arrays of 90 letters, filled up with zeros", wide(arrays))
    yield Made("levels and the tolerance are -0 where they were 0", negative_zeros(arrays))


def broken_files(arrays: Arrays) -> Iterator[Made]:
    """Files that are refused before their numbers are looked at."""
    content = {name: member(array) for name, array in arrays.items()}
    values = arrays["values"]

    def refused(idea: str, code: str, **members: bytes) -> Made:
        return Made(idea, arrays, None, code, packed(content | members))

    whole = packed(content)
    yield Made("the last hundred bytes of the archive are missing", arrays, None, "Z1", whole[:-99])
    damaged = bytearray(packed(content, zipfile.ZIP_STORED))
    damaged[damaged.find(content["values"]) + 130] ^= 1
    yield Made("one bit differs, so that a checksum does", arrays, None, "Z1", bytes(damaged))
    yield refused("values of another type", "Z6", values=member(values.astype(np.float32)))
    yield refused("values of the other byte order", "Z6", values=member(values.astype(">f8")))
    yield refused("values with a second axis", "Z7", values=member(values[None]))
    yield refused("bytes behind the last value", "Z8", values=member(values) + b"\0" * 8)
    yield refused("an array that nobody asks for", "Z3", notes=member(values))


# -- patterns: the claim of protection -------------------------------------------------------------


def wrong_forms(arrays: Arrays) -> Iterator[Made]:
    """Certificates with insiders of which one array has a wrong form, or denies another."""
    starts_ = arrays["witness_starts"]
    for idea, code, change in (
        ("another first word", "F1", changed(format="tablecloak certificate")),
        ("version 4", "F2", changed(version=4)),
        ("a release that nobody knows", "K1", changed(release="noise")),
        ("claims in another order", "K2", changed(claims=["loss", "protection"])),
        ("no claim", "K2", changed(claims=np.zeros(0, "U1"))),
        ("a claim twice", "K2", changed(claims=["protection", "protection"])),
        ("additivity of a pattern", "K3", changed(claims=["protection", "additivity"])),
        ("a coefficient of 0", "F6", at("relation_data", 0, 0.0)),
        ("a move of 0", "F6", at("witness_data", 0, 0.0)),
        ("starts that skip an entry", "F7", at("witness_starts", 0, 1)),
        ("starts that decrease", "F7", at("witness_starts", 1, starts_[2] + 1)),
        ("starts that end too early", "F7", at("witness_starts", -1, starts_[-1] - 1)),
        ("a witness that does not exist", "F8", at("lower_witness", 0, len(starts_) - 1)),
        ("a cell that does not exist", "F8", at("intruder_cells", 0, 16)),
        ("cell -1", "F8", at("witness_cells", 0, -1)),
        ("a cell twice in a relation", "F9", at("relation_cells", 1, 0)),
        ("cells of a witness in another order", "F9", at("witness_cells", [0, 1], [1, 0])),
        ("a letter that is no status", "F10", at("status", 15, "x")),
        ("a requirement that somebody registered", "F10", changed(requirement="lower")),
        ("two insiders of one name", "F11", changed(intruder_names=["firm", "firm"])),
        ("an insider without a name", "F11", changed(intruder_names=["firm", ""])),
        ("one level less than cells", "F3", changed(upper_protection=arrays["values"][1:])),
        ("two sensitive cells, and a witness of one", "F3", at("status", 1, "u")),
        ("an infinite value", "F4", at("values", 0, np.inf)),
        ("a tolerance below 0", "F5", changed(tolerance=-1e-300)),
        ("the true value is above its bound", "T1", at("upper_bound", 15, 374.0)),
        ("a sensitive cell is published", "R3", at("suppressed", 0, False)),
        ("a cell that must be suppressed is published", "R3", at("status", 15, "m")),
        ("a frozen cell is hidden", "R4", at("status", 1, "z")),
        ("a level below the precision of its value", "P1", all_of(
            at("values", [0, 3, 12, 15], arrays["values"][[0, 3, 12, 15]] + 0.1),
            at("upper_protection", 0, 1e-9))),
        ("an insider knows a bound on a published cell", "P10", at("intruder_cells", 0, 3)),
        ("an insider excludes the truth", "P11", at("intruder_lower", 0, 25.5)),
        ("an insider who knows nothing", "P13", at("intruder_lower", 0, 0.0)),
        ("a sensitive cell without levels that does not move", "P6", all_of(
            at("upper_protection", 0, 0.0), at("lower_protection", 0, 0.0),
            changed(upper_witness=[-1], lower_witness=[-1]))),
    ):  # fmt: skip
        yield Made(idea, change(arrays), None, code)


SIX = (0, 1, 2, 4, 5, 6)
"""Hidden cells of the table, two by three, of which the first is sensitive."""


def pattern(*arguments: Any, **changes: Any) -> Arrays:
    """A certificate of version 3 of the protection of a pattern."""
    arrays = honest(*arguments, **changes)
    about = {"format": "tablecloak certificate, secret", "version": 3, "release": "suppression"}
    return {
        **{name: np.array(word) for name, word in about.items()},
        "claims": np.array(["protection"]),
        **{name: array for name, array in arrays.items() if name not in about},
    }


def facts(*known: tuple[int, float, float]) -> list[tuple[int, float, float]]:
    return list(known)


def insiders() -> Arrays:
    """Two insiders: one refutes no witness, the other has witnesses of its own."""
    moves = [*both(*rectangle(5.0)), *both((0, 5.0), (2, -5.0), (4, -5.0), (6, 5.0))]
    one = pattern(hidden=SIX, witnesses=moves, insiders=[facts((4, 18, 1e3)), facts((1, 30, 30))])
    return one | {
        "claim_starts": np.array([0, 0, 1]), "claim_index": np.array([0]),
        "claim_upper": np.array([2]), "claim_lower": np.array([3]),
    }  # fmt: skip


def cents() -> Arrays:
    """Values in cents and levels of a third, of which no sum is exact in binary numbers."""
    values = [round(value / 7, 2) for value in VALUES]
    for row in range(4):
        values[4 * row + 3] = round(sum(values[4 * row : 4 * row + 3]), 2) if row < 3 else 0.0
    for place in range(4):
        values[12 + place] = round(sum(values[4 * row + place] for row in range(3)), 2)
    level, step = 1 / 3, 0.375
    return pattern(values, levels={0: level}, witnesses=both(*rectangle(step)))


def real() -> Arrays:
    """A relation whose coefficients are no decimal numbers, and one whose are of 3 decimals."""
    pi, e = float(np.pi), float(np.e)
    relations = [[(0, pi), (1, e)], [(0, 0.125), (2, -0.375)]]
    moves = both((0, 6.0), (1, -6.0 * pi / e), (2, 2.0))
    return pattern([40.0, 30.0, 20.0], relations, (0, 1, 2), {0: 5.0}, moves)


def only_width() -> Arrays:
    """A requirement of one side and a width: the witness below is shorter than the level."""
    moves = [rectangle(8.0), rectangle(-2.0)]
    return pattern(levels={0: 5.0}, witnesses=moves, requirement="width",
                   sliding_protection=np.where(np.arange(16) == 0, 9.5, 0.0))  # fmt: skip


def rough() -> Arrays:
    """A cell of level 0.1 beside one of 13 digits, whose total is 0.4 above the sum of both."""
    large = 1.1e12
    return pattern([100.0, large], [[(0, 1.0), (1, 1.0)]], (0, 1), {0: 0.1},
                   both((0, 0.1), (1, -0.1)), right_hand_side=np.array([large + 100.4]),
                   lower_bound=[0, large - 0.125], upper_bound=[1e3, large + 0.125])  # fmt: skip


def sum_of_two() -> tuple[Arrays, str]:
    """A sum of two hidden cells is protected as a further cell, of which the file knows nothing."""
    values = [*VALUES, VALUES[0] + VALUES[4]]
    relations = [*SUMS, [(0, 1.0), (4, 1.0), (16, -1.0)]]
    hidden = tuple(cell for cell in range(12) if cell % 4 < 3)
    turns = [(0, 5.0), (1, -5.0), (8, -5.0), (9, 5.0)]
    arrays = pattern(values, relations, (*hidden, 16), {0: 5.0, 16: 4.0},
                     [*both(*rectangle(5.0)), *both(*turns, (16, 5.0))])  # fmt: skip
    arrays |= {"upper_witness": np.array([0, 2]), "lower_witness": np.array([1, 3])}
    arrays["upper_bound"][16] = 2e3
    text = problem_of(pattern(hidden=hidden))
    return arrays, text


def patterns() -> Cases:
    six = pattern(hidden=SIX)
    text = problem_of(six)
    known, real_, cents_, width = insiders(), real(), cents(), only_width()
    further, of_file = sum_of_two()
    true = [
        Made("two by three hidden cells, one sensitive", six, text),
        Made("two insiders, one with witnesses of its own", known, problem_of(known)),
        Made("values in cents, and a level that is no decimal number", cents_),
        Made("real coefficients beside decimal ones", real_),
        Made("a sum of two hidden cells, protected as a further cell", further, of_file),
    ]
    old = honest(hidden=SIX)
    twins = pattern(hidden=SIX, insiders=[facts((4, 18, 1e3)), facts((4, 18, 1e3), (5, 0, 1e3))])
    left_out = {"open_starts": np.array([0, 0, 0, 1]), "open_index": np.array([0])}
    third = insiders()
    third |= {
        "intruder_names": np.array(["firm 0", "firm 1", "firm 2"]),
        "intruder_starts": np.array([0, 1, 2, 4]), "intruder_cells": np.array([4, 1, 1, 2]),
        "intruder_lower": np.array([18.0, 30, 30, 40]), "claim_starts": np.array([0, 0, 1, 1]),
        "intruder_upper": np.array([1e3, 30, 30, 40]), **left_out,
    }  # fmt: skip
    altered = [
        *list(repacked(known))[:5],
        Made("the same claim as a file of version 2", old),
        Made("a width, although the witness below is shorter than the level below", width),
        Made("an insider whose witnesses do not hold, and of whom nothing is claimed", third),
        Made("two insiders who know the same beyond what everybody does count once", twins),
        Made("a bound of everybody that is narrower than in the problem file",
             at("upper_bound", 4, 500.0)(six), text),
        Made("a byte order mark in front of the problem file", six, "\ufeff" + text),
        Made("a total of 13 digits whose fraction no last digit of its cells shows", rough()),
    ]  # fmt: skip
    one_row = changed(relation_data=np.where(real_["relation_data"] == 0.125, 0.1250001,
                                             real_["relation_data"]))  # fmt: skip
    bent = at("witness_data", 1, np.nextafter(-5.0, 0))
    false = [
        *broken_files(known),
        *wrong_forms(known),
        Made("one move is off by its last binary place", bent(six), None, "P5"),
        Made("a move is off by 1e-7 where coefficients are real",
             at("witness_data", 1, real_["witness_data"][1] + 1e-6)(real_),
             None, "P5"),
        Made("a coefficient of three decimals is another one", one_row(real_), None, "T3"),
        Made("a witness ends a millionth below a lower bound", at("lower_bound", 1, 25.000001)(six),
             None, "P4"),
        Made("a witness moves a cell that is published", at("suppressed", 5, False)(six),
             None, "P3"),
        Made("the sensitive cell follows from single relations, one after the other",
             at("suppressed", [5, 6], False)(six), None, "P2"),
        Made("the level is above what the witness moves, by 2e-9 of it",
             at("upper_protection", 0, 5 * (1 + 2e-9))(six), None, "P6"),
        Made("the witness upwards is the one downwards",
             changed(upper_witness=[1])(six), None, "P6"),
        Made("no witness downwards", changed(lower_witness=[-1])(six), None, "P6"),
        Made("witness -2, which some languages take for the last but one",
             changed(upper_witness=[-2])(six), None, "F8"),
        Made("an insider whom everybody's witnesses do not fool, and no others are named",
             changed(claim_starts=[0, 0, 0], claim_index=np.zeros(0, np.int64),
                     claim_upper=np.zeros(0, np.int64), claim_lower=np.zeros(0, np.int64))(known),
             None, "P14"),
        Made("an insider with a bound that is no number", at("intruder_lower", 0, NAN)(known), None,
             "P11"),
        Made("an insider who knows less than everybody", at("intruder_upper", 0, 2e3)(known),
             None, "P12"),
        Made("a level that is no number", at("lower_protection", 0, NAN)(six), None, "F4"),
        Made("a value is off by one cent",
             at("values", 5, cents_["values"][5] + 0.01)(cents_), None, "T3"),
        Made("a level of the problem file is higher", six,
             text.replace(" 5.0 5.0 ", " 5.0 5.5 ", 1), "J4"),
        Made("a lower bound of the problem file is higher than the one of the certificate",
             six, re.sub(r"(?m)^(1 30.0 1 s) 0.0", r"\1 10.0", text), "J5"),
        Made("a further cell with less room than its two cells",
             at("upper_bound", 16, 500.0)(further), of_file, "J7"),
        Made("a weight of the problem file is no number", six,
             text.replace(" 1 u ", " nan u ", 1), "J1"),
        Made("a relation of the problem file names a cell that does not exist", six,
             text.replace("0 (1.0)", "16 (1.0)", 1), "J6"),
    ]  # fmt: skip
    return true, altered, false


# -- other claims: by hand, and as searches find them ----------------------------------------------


def small_problem(seed: int, **options: Any) -> tc.ProtectionProblem:
    """A random table of whole numbers with margins, a few cells of which are sensitive."""
    random = np.random.default_rng(seed)
    rows, columns = options.pop("shape", (3, 4))
    inner = random.integers(5, 200, (rows, columns)).astype(float)
    full = np.vstack([np.c_[inner, inner.sum(1)], np.append(inner.sum(0), inner.sum())])
    cell = np.arange(full.size).reshape(full.shape)
    relations = np.zeros((rows + columns + 2, full.size))
    for at, members in enumerate([*cell, *cell.T]):
        relations[at, members] = 1.0
        relations[at, members[-1]] = -1.0
    values, sensitive = full.reshape(-1), np.zeros(full.size, dtype=bool)
    few = random.choice(cell[:-1, :-1].reshape(-1), options.pop("sensitive", 3), replace=False)
    sensitive[few] = True
    levels, none = np.where(sensitive, np.ceil(values / 5), 0.0), np.zeros(full.size)
    keys = pd.DataFrame({"cell": [str(at) for at in range(full.size)]})
    table = tc.Table(keys=keys, values=values, relations=csr_array(relations),
                     right_hand_side=none[: len(relations)])  # fmt: skip
    return tc.ProtectionProblem(
        table, np.where(sensitive, "u", "s"), lower_protection=levels, upper_protection=levels,
        sliding_protection=none, lower_bound=none, upper_bound=3 * values + 50, weights=values,
    )  # fmt: skip


def in_parts(*alone: tc.ProtectionProblem) -> tc.SuppressionPattern:
    """Return the pattern of several tables, each of which is searched for itself."""
    with mock.patch.object(parts, "FEWEST_FREE", 0):
        return tc.suppress(side_by_side(alone), method="exact", weights="value")


SEARCHED: dict[str, tuple[tuple[str, Callable[[], Any]], ...]] = {
    "suppression with a bound": (
        ("three sensitive cells, and a proof of the bound",
         lambda: tc.suppress(small_problem(1), weights="value")),
        ("six sensitive cells, exact search", lambda: tc.suppress(
            small_problem(2, shape=(4, 4), sensitive=6), method="exact", weights="value")),
        ("few cells, each of the same weight", lambda: tc.suppress(
            small_problem(3), method="exact", weights="unit")),
        ("two sensitive cells", lambda: tc.suppress(
            small_problem(4, sensitive=2), method="exact", weights="value")),
        ("two tables that no relation joins, and a tree for each", lambda: in_parts(
            small_problem(5), small_problem(6, sensitive=4))),
    ),
    "intervals": tuple(
        (f"{count} sensitive cells, ends of the search",
         lambda count=count: tc.publish_intervals(
             small_problem(4 + count, sensitive=count), seed=1))
        for count in range(1, 5)
    ),
    "adjustment": (
        ("sums of changes", lambda: tc.adjust(small_problem(1))),
        ("a mean and a slope are kept",
         lambda: tc.adjust(small_problem(1), preserve=["mean:all", "slope:all"])),
        ("squares of changes", lambda: tc.adjust(small_problem(1), distance="L2")),
        ("the largest change, and a mean is kept",
         lambda: tc.adjust(small_problem(1), distance="Linf", preserve=["mean"])),
        ("a search tree", lambda: tc.adjust(small_problem(2, shape=(4, 5), sensitive=8))),
        ("a variance is kept", lambda: tc.adjust(small_problem(1), preserve=["variance"])),
        ("given directions", lambda: tc.adjust(small_problem(1), directions="up")),
    ),
    "rounding": tuple(
        (f"to multiples of {base}",
         lambda base=base: tc.controlled_rounding(small_problem(base), base=base))
        for base in (3, 5, 7, 100)
    ),
    "small counts": tuple(
        (f"counts below {base}", lambda base=base: tc.small_count_rounding(
            counts(base), base=base)) for base in (3, 4, 5, 8)
    ),
}  # fmt: skip
"""Certificates that a search finds, by kind. They are kept: another solver finds other ones."""


def counts(seed: int) -> tc.ProtectionProblem:
    """A table of counts, many of them small."""
    problem = small_problem(seed, sensitive=0)
    inner = np.random.default_rng(seed).integers(0, 12, (3, 4)).astype(float)
    full = np.vstack([np.c_[inner, inner.sum(1)], np.append(inner.sum(0), inner.sum())])
    table = tc.Table(keys=problem.table.keys, values=full.reshape(-1),
                     relations=problem.table.relations,
                     right_hand_side=problem.table.right_hand_side)  # fmt: skip
    return problem.with_changes(table=table, upper_bound=np.full(full.size, np.inf))


def found(kind: str, is_new: bool) -> list[Arrays]:
    """Return the searched certificates of a kind: those of the last collection, or new ones."""
    arrays = []
    for number, (_, search) in enumerate(SEARCHED[kind]):
        kept = FOLDER / f"{stem(kind, 'true', number + 2)}.npz"
        if is_new or not kept.exists():
            result = search()
            arrays.append(arrays_of(result.certificates, result.problem))
        else:
            with np.load(kept) as file:
                arrays.append(dict(file))
    return arrays


def others(kind: str, is_new: bool) -> Cases:
    """Files of a kind: one by hand, those of searches, and forgeries of both."""
    makers = {"suppression with a bound": (hidden,), "intervals": (intervals,),
              "adjustment": (adjusted, kept), "rounding": (rounded,),
              "small counts": (small,)}[kind]  # fmt: skip
    base, searched = makers[0](), found(kind, is_new)
    true = [Made("made by hand", base, problem_of(base))]
    true += [
        Made(idea, arrays, problem_of(arrays) if number % 2 else None)
        for number, ((idea, _), arrays) in enumerate(zip(SEARCHED[kind], searched, strict=True))
    ]
    last, most = searched[-1], searched[0]
    altered = [
        *repacked(most),
        Made("a bound of half of what is proved", times("bound", 0.5)(last), problem_of(last)),
        Made("a loss that is off by half of what is accepted", times("loss", 1 + 5e-10)(last)),
        Made("the same without the claim of a bound", unbounded(last)),
        Made("a tolerance of which nothing makes use", changed(tolerance=0.5)(most)),
    ]
    if kind == "suppression with a bound":
        none = {name: np.zeros(0, np.int64) for name in ("sum_cuts", "turned_cells")}
        none |= {f"{name}_starts": np.zeros(2, np.int64) for name in ("sum", "turned")}
        empty = cut(4, 0, [], 1.0, 1.0) | none | {"sum_data": np.zeros(0)}
        altered.append(Made("a rounded sum of no rows, which says nothing", hidden(**empty)))
    text = problem_of(most)
    forged = [Made(idea, make(**change), None, ANY)
              for idea, make, change, says in TABLE if make in makers and not says]  # fmt: skip
    false = [
        *list(broken_files(most))[:6:2],
        Made("a loss that is off by twice of what is accepted", times("loss", 1 + 2e-9)(last), None,
             "L1"),
        Made("a bound above the loss", changed(bound=last["loss"] * 1.01 + 1)(last), None, "B9"),
        Made("multipliers of another sign", times("proof_data", -1)(most), None, ANY),
        Made("a root that is no root", at("node_parent", 0, 0)(most), None, "B1"),
        Made("a leaf without multipliers", at("node_proof", -1, -1)(most), None, ANY),
        Made("a multiplier that is no number", at("proof_data", 0, NAN)(with_proof(searched)), None,
             "F4"),
        Made("a weight below 0", at("weights", 0, -1.0)(most), None, "F5"),
        Made("a claim of another release",
             changed(claims=np.append(most["claims"], "statistics"))(most), None, "K2"),
        Made("a bound without the loss that it is a bound on", without_loss(most), None, "K3"),
        Made("a value of the problem file is another one", most,
             re.sub(r"(?m)^3 (\d+)", lambda found: f"3 {found[1]}1", text), "J4"),
        Made("a coefficient of the problem file is another one", most,
             text.replace("(1.0)", "(1.5)", 1), "J6"),
        Made("the problem file has a relation less", most,
             re.sub(r"(?m)^9\n", "8\n", text), "J2"),
        Made("a table that does not add up", at("values", 0, most["values"][0] + 1)(most), None,
             ANY),
        *forged,
        *(Made(idea, arrays, None, code) for idea, arrays, code in further(kind)),
    ]  # fmt: skip
    return true, altered, false


def further(kind: str) -> Iterator[tuple[str, Arrays, str]]:
    """Forgeries on which the two verifiers differed."""
    if kind == "adjustment":
        almost = adjusted(sensitive_limit=1 - 2**-53)
        yield "a limit of almost 1, as it is stored, of levels", almost, "D6"
    if kind == "suppression with a bound":
        for idea, row in (
            ("a row of a cell that is not sensitive", cut(0, 5, [], 1.0, 1.0)),
            ("multipliers of the other side", cut(1, 0, [(0, 1.0)], 1.0, 1.0)),
            ("a sum without its arrays", cut(4, 0, [], 1.0, 1.0)),
        ):
            unused = {name: one for name, one in row.items() if not name.startswith("proof_")}
            yield f"{idea}, which no leaf uses", hidden(**unused), "B6"
        two = found(kind, False)[-1]
        alone = {name: array for name, array in two.items() if name != "part"}
        yield "two trees, and no parts that tell their costs apart", alone, "B2"
        yield "a part that counts in no tree", at("part", slice(20, None), -1)(two), "B9"
        yield "a part that counts in the other tree", changed(part=1 - two["part"])(two), "B9"
        yield "a part beyond the trees", at("part", 0, 2)(two), "F8"


def with_proof(searched: list[Arrays]) -> Arrays:
    """Return a certificate that has a multiplier."""
    return next(arrays for arrays in searched if len(arrays["proof_data"]))


def unbounded(arrays: Arrays) -> Arrays:
    """Return a certificate without the claim of a bound."""
    claims = [claim for claim in arrays["claims"].tolist() if claim != "bound"]
    asked = schema_of(str(arrays["release"]), claims)
    kept = {name: array for name, array in arrays.items() if name in asked}
    return kept | {"claims": np.array(claims)}


def without_loss(arrays: Arrays) -> Arrays:
    claims = [claim for claim in arrays["claims"].tolist() if claim != "loss"]
    return {name: array for name, array in arrays.items() if name not in LOSS} | {
        "claims": np.array(claims)
    }


KINDS = ("suppression", *SEARCHED)


def cases_of(kind: str, is_new: bool) -> Cases:
    return patterns() if kind == "suppression" else others(kind, is_new)


# -- the collection -------------------------------------------------------------------------------


def stem(kind: str, group: str, number: int) -> str:
    return f"{kind.replace(' ', '-')}-{group}-{number:02d}"


def write(folder: Path, kind: str, group: str, number: int, made: Made) -> dict[str, Any]:
    """Write one file, and return its entry of the index."""
    name = stem(kind, group, number)
    path, problem = folder / f"{name}.npz", folder / f"{name}.jj"
    path.write_bytes(made.bytes)
    if made.problem is not None:
        problem.write_text(made.problem, encoding="utf-8")
    code, lines = answer(path, problem if made.problem is not None else None)
    found = code_of(lines[0], PAGE.read_text("utf-8")) if code == 1 else None
    if made.code not in (found, ANY) or (code == 1) != (group == "false"):
        raise SystemExit(f"{name} ({made.idea}): {made.code} expected, {found}: {lines}")
    return {
        "file": path.name, "problem": problem.name if made.problem is not None else None,
        "kind": kind, "group": group, "idea": made.idea, "verdict": VERDICTS[code], "code": found,
        "lines": lines,
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    is_new, folders = "--search" in arguments, [one for one in arguments if one[:2] != "--"]
    target, index = Path(folders[0]) if folders else FOLDER, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in KINDS:
            for (group, least), cases in zip(COUNTS.items(), cases_of(kind, is_new), strict=True):
                if len(cases) < least:
                    raise SystemExit(f"{kind}: {len(cases)} {group} files, fewer than {least}")
                index += [write(folder, kind, group, at + 1, one) for at, one in enumerate(cases)]
        text = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
        (folder / "index.json").write_text(text, encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    size = sum(path.stat().st_size for path in target.iterdir())
    print(f"{len(index)} certificates, {size / 2**20:.2f} MiB in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
