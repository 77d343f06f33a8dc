"""Check a certificate without trusting tablecloak: needs numpy only.

Copy this file anywhere and run ``python verifier.py CERTIFICATE.npz [ORIGINAL.jj]``.

A certificate holds a table a with relations A a = b, what is released of it (a pattern of hidden
cells, intervals, an adjusted or rounded table) and the proofs of some claims about that release:

protection  A witness d, A d = 0, moves hidden cells only, so that nobody can tell a from a + d; if
            it moves a sensitive cell by its level, nobody can rule that out. An adjusted cell is
            protected if it lies as far from its true value as its level asks.
additivity  The released table satisfies the relations as the true one does.
statistics  Means, slopes and variances of the adjusted table are those of the true one.
loss        What the release costs, from its weights.
bound       No release costs less: the leaves of a search tree cover all releases, and multipliers
            at each leaf prove a bound for it (weak duality: `AdjustmentPrices` and its siblings).

No number of another cell softens a check. Read `verify` first; docs/certificate.md has the format.
"""

import gzip
import itertools
import math
import re
import sys
import warnings
import zipfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np

VERSION, OLD_VERSION = 3, 2
MOST_BYTES = 2**30  # of all arrays together, and of a problem file
MOST_RATIO, FREE_BYTES = 200, 2**26  # no more bytes than 200 times the file, or 64 MiB
MOST_LETTERS = 200  # of the name of an insider
MOST_DIGITS, MOST_BYTES_EACH = 400, 1000  # of a number, and for each cell or term, in that file
MOST_STEPS, STEPS_EACH = 2**34, 10**4  # some minutes; what a witness or insider takes at least
MOST_LONG = 2**21  # products that do not add up in floats
MOST_DECIMALS = 12  # of a coefficient or value that is read as a decimal number
REAL_SHARE = 1e-9  # accepted error of other coefficients, as a share of each; and of a level
NEED_SHARE = 1 - 1e-9  # figures are binary fractions: a level is reached within 1e-9 of itself
ROOM_SHARE = 1e-9  # the same for bounds: a witness shrunk by 1e-9 keeps them, and A d = 0
LAST_PLACES = 4  # precision of a number, in units of its last place
PRECISION_SHARE = 1e-6  # largest such error of a sensitive cell, as a share of its level
ADDITIVE_SHARE = 1e-9  # accepted error of the true table, as a share of the size of a relation
NUMBER = r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)"  # in a problem file
LONG = np.longdouble  # where it is no longer than a double, errors below are larger, not false
EPSILON = float(np.finfo(LONG).eps)
TENS = np.array([float(10**decimals) for decimals in range(2 * MOST_DECIMALS + 1)])

# Each array, its type, and its length: a name, and how many more than that. None: a single value.
CELLS, ONE = ("cells", 0), None
HEADER = {"format": ("U", ONE), "version": ("<i8", ONE), "release": ("U", ONE),
          "claims": ("U", ("claims made", 0))}  # fmt: skip
PROBLEM = {
    "tolerance": ("<f8", ONE), "values": ("<f8", CELLS), "status": ("<U1", CELLS),
    "lower_bound": ("<f8", CELLS), "upper_bound": ("<f8", CELLS),
    "lower_protection": ("<f8", CELLS), "upper_protection": ("<f8", CELLS),
    "sliding_protection": ("<f8", CELLS), "right_hand_side": ("<f8", ("relations", 0)),
    "relation_starts": ("<i8", ("relations", 1)), "relation_cells": ("<i8", ("terms", 0)),
    "relation_data": ("<f8", ("terms", 0)),
}  # fmt: skip
WITNESSES = {
    "witness_starts": ("<i8", ("witnesses", 1)), "witness_cells": ("<i8", ("moves", 0)),
    "witness_data": ("<f8", ("moves", 0)), "upper_witness": ("<i8", ("sensitive", 0)),
    "lower_witness": ("<i8", ("sensitive", 0)), "intruder_names": ("U", ("insiders", 0)),
    "intruder_starts": ("<i8", ("insiders", 1)), "intruder_cells": ("<i8", ("facts", 0)),
    "intruder_lower": ("<f8", ("facts", 0)), "intruder_upper": ("<f8", ("facts", 0)),
    "claim_starts": ("<i8", ("insiders", 1)), "claim_index": ("<i8", ("claims", 0)),
    "claim_upper": ("<i8", ("claims", 0)), "claim_lower": ("<i8", ("claims", 0)),
}  # fmt: skip
RELEASES = {  # what is released of the table
    "suppression": {"requirement": ("U", ONE), "suppressed": ("|b1", CELLS)},
    "intervals": {"requirement": ("U", ONE), "published_lower": ("<f8", CELLS),
                  "published_upper": ("<f8", CELLS)},
    "adjustment": {"published": ("<f8", CELLS), "decimals": ("<i8", ONE),
                   "sensitive_limit": ("<f8", ONE), "capacity_up": ("<f8", CELLS),
                   "capacity_down": ("<f8", CELLS)},
    "rounding": {"published": ("<f8", CELLS), "base": ("<i8", ONE), "steps": ("<i8", ONE)},
    "small counts": {"published": ("<f8", CELLS), "base": ("<i8", ONE)},
}  # fmt: skip
TREE = {  # a node adds a limit to its parent's; leaves name the multipliers that price them
    "bound": ("<f8", ONE), "tree_starts": ("<i8", ("trees", 1)),
    "node_parent": ("<i8", ("nodes", 0)), "node_cell": ("<i8", ("nodes", 0)),
    "node_is_lower": ("|b1", ("nodes", 0)), "node_limit": ("<i8", ("nodes", 0)),
    "node_proof": ("<i8", ("nodes", 0)), "proof_starts": ("<i8", ("proofs", 1)),
    "proof_kind": ("<i8", ("entries", 0)), "proof_row": ("<i8", ("entries", 0)),
    "proof_cell": ("<i8", ("entries", 0)), "proof_data": ("<f8", ("entries", 0)),
}  # fmt: skip
CUTS = {  # rows that every protected release satisfies, by the multipliers that prove them
    "cut_kind": ("<i8", ("cuts", 0)), "cut_cell": ("<i8", ("cuts", 0)),
    "up_starts": ("<i8", ("cuts", 1)), "up_relations": ("<i8", ("ups", 0)),
    "up_data": ("<f8", ("ups", 0)), "down_starts": ("<i8", ("cuts", 1)),
    "down_relations": ("<i8", ("downs", 0)), "down_data": ("<f8", ("downs", 0)),
}  # fmt: skip
PARTS = {"part": ("<i8", CELLS), "direction": ("<i8", CELLS)}
STATISTICS = {
    "statistic_kind": ("U", ("statistics", 0)), "statistic_slack": ("<f8", ("statistics", 0)),
    "statistic_target": ("<f8", ("statistics", 0)), "statistic_starts": ("<i8", ("statistics", 1)),
    "statistic_cells": ("<i8", ("coefficients", 0)),
    "statistic_data": ("<f8", ("coefficients", 0)),
}  # fmt: skip
LOSS = {"measure": ("U", ONE), "weights": ("<f8", CELLS), "loss": ("<f8", ONE)}
MEASURES = {"suppression": ("weights",), "intervals": ("widths",), "rounding": ("L1",),
            "adjustment": ("L1", "L2", "Linf"), "small counts": ("L1",)}  # fmt: skip
CLAIMS = ("protection", "additivity", "statistics", "loss", "bound")
NO_DECIMALS = 99  # the adjusted table has no last digit

REQUIREMENTS = {
    "two-sided": "above by the upper level, below by the lower level, in all by the sliding level",
    "width": "in all by both levels together and by the sliding level; ONE SIDE MAY BE CLOSE",
    "upper": "above by the upper level; NOTHING IS ASKED BELOW",
}


class RefusedError(Exception):
    """The certificate does not prove what it claims."""


def require(condition, reason):
    if not condition:
        raise RefusedError(reason)


# -- the file: nothing is read before its size and type are known --------------------------------


def schema_of(release, claims):
    """Return the arrays that a certificate with these claims consists of."""
    require(release in RELEASES, "unknown kind of release")
    known = [claim for claim in CLAIMS if claim in claims]
    require(claims and list(claims) == known, "unknown claims, or not in their order")
    hidden = release in ("suppression", "intervals")
    require(not hidden or not {"additivity", "statistics"} & set(claims), "a claim does not fit")
    require(release != "rounding" or "protection" not in claims, "rounding proves no protection")
    require(release == "adjustment" or "statistics" not in claims, "only adjustments keep those")
    require("bound" not in claims or "loss" in claims, "a bound on a loss that is not claimed")
    tree = TREE | (CUTS if hidden else {} if release == "rounding" else PARTS)
    groups = {"protection": WITNESSES if hidden else {}, "additivity": {}, "loss": LOSS,
              "statistics": STATISTICS, "bound": tree}  # fmt: skip
    schema = HEADER | PROBLEM | RELEASES[release]
    for claim in claims:
        schema = schema | groups[claim]
    return schema


OLD_SCHEMA = {name: kind for name, kind in schema_of("suppression", ["protection"]).items()
              if name not in ("release", "claims")}  # fmt: skip


def read(path):
    """Return the arrays of a certificate by name; exactly those of the schema."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        require(len(set(names)) == len(names), "an array is missing, unknown or stored twice")
        limit = min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * Path(path).stat().st_size))
        total = sum(member.file_size for member in members)
        require(total <= limit, f"{total} bytes when unpacked, more than {limit}")
        schema = OLD_SCHEMA
        if {"release.npy", "claims.npy"} <= set(names):
            release, claims = (read_array(archive, archive.getinfo(f"{name}.npy"), HEADER)
                               for name in ("release", "claims"))  # fmt: skip
            schema = schema_of(str(release), claims.tolist())
        require(set(names) == {f"{name}.npy" for name in schema},
                "an array is missing, unknown or stored twice")  # fmt: skip
        return {member.filename[:-4]: read_array(archive, member, schema) for member in members}


def read_array(archive, member, schema):
    """Read one member that is a plain array of the type that the schema names."""
    name = member.filename[:-4]
    kind, length = schema[name]
    packed = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    require(packed and not member.flag_bits & 1, f"{name} is packed in an unknown way")
    with archive.open(member) as stream:
        require(np.lib.format.read_magic(stream) == (1, 0), f"{name} is no array of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=1000)
        if kind == "U":
            good = dtype.str[:2] == "<U" and 4 <= dtype.itemsize <= 4 * MOST_LETTERS
        else:
            good = dtype.str == kind
        require(good and dtype.names is None, f"{name} has the type {dtype.str[:40]}")
        require(not fortran and len(shape) == (length is not None), f"{name} has a wrong shape")
        size = math.prod(shape) * dtype.itemsize
        require(member.file_size == stream.tell() + size, f"{name} is not as long as it says")
        content = stream.read(size)
        require(len(content) == size and not stream.read(1), f"{name} is cut off")
    if dtype.kind == "U":
        letters = np.frombuffer(content, "<u4")
        require(np.all((letters < 0xD800) | (letters - 0xE000 < 0x102000)), f"{name} is no text")
    if dtype.kind == "b":
        require(np.all(np.frombuffer(content, np.uint8) <= 1), f"{name} is neither true nor false")
    return np.frombuffer(content, dtype).reshape(shape)


def check_form(data):
    """Require that lengths agree, that words are known and that numbers are in their ranges."""
    if "release" in data:
        require(data["format"] == "tablecloak certificate, secret", "not a certificate")
        require(data["version"] == VERSION, "unknown version")
        schema = schema_of(str(data["release"]), data["claims"].tolist())
    else:
        require(data["format"] == "tablecloak suppression certificate", "not a certificate")
        require(data["version"] == OLD_VERSION, "unknown version")
        schema = OLD_SCHEMA
    requirement = str(data.get("requirement", "two-sided"))
    require(requirement in REQUIREMENTS, "unknown requirement")
    sizes = {"sensitive": np.sum(data["status"] == "u")}
    for name, (_, length) in schema.items():
        if length is not None:
            size = len(data[name]) - length[1]
            require(size == sizes.setdefault(length[0], size) >= 0, f"{name} has a wrong length")
    require(np.all(np.isin(data["status"], list("sumz"))), "unknown status")
    levels = ("lower_protection", "upper_protection", "sliding_protection")
    open_ended = (
        "lower_bound",
        "upper_bound",
        "published_lower",
        "published_upper",
        "capacity_up",
        "capacity_down",
        "sensitive_limit",
        "intruder_lower",
        "intruder_upper",
    )
    for name in schema:
        if schema[name][0] == "<f8":  # of an insider is asked below that it admits the truth
            good = ~np.isnan(data[name]) if name in open_ended[:-2] else np.isfinite(data[name])
            good = good | (name in open_ended[-2:])
            require(np.all(good), f"{name} holds something that is no number")
    for name in (*levels, "tolerance", "capacity_up", "capacity_down", "sensitive_limit", "weights",
                 "loss", "bound", "statistic_slack"):  # fmt: skip
        require(name not in schema or np.all(data[name] >= 0), f"{name} is negative")
    check_lists(data["relation_starts"], data["relation_cells"], sizes["cells"], "relation")
    require(np.all(data["relation_data"] != 0), "a relation holds a coefficient of 0")
    if "witness_data" in schema:
        check_witness_form(data, sizes)
    if "statistic_data" in schema:
        check_lists(data["statistic_starts"], data["statistic_cells"], sizes["cells"], "statistic")
    if "weights" in schema:
        fits = str(data["measure"]) in MEASURES[str(data["release"])]
        require(fits, "a loss that does not fit the release")
    if "bound" in schema:
        check_tree_form(data, sizes)


def check_witness_form(data, sizes):
    for name in ("witness", "intruder"):
        check_lists(data[f"{name}_starts"], data[f"{name}_cells"], sizes["cells"], name)
    check_lists(data["claim_starts"], data["claim_index"], sizes["sensitive"], "claim")
    require(np.all(data["witness_data"] != 0), "a witness lists a cell that it does not move")
    for name in ("upper_witness", "lower_witness", "claim_upper", "claim_lower"):
        inside = (data[name] >= -1) & (data[name] < sizes["witnesses"])
        require(np.all(inside), f"{name}: no such witness")
    names = data["intruder_names"].tolist()
    require(all(names) and len(set(names)) == len(names), "two insiders have the same name")


def check_tree_form(data, sizes):
    """Require that trees, and the multipliers of their leaves, refer to what is there."""
    for name, size in (("tree", "nodes"), ("proof", "entries")):
        check_starts(data[f"{name}_starts"], sizes[size], name)
    for name, size in (("node_parent", "nodes"), ("node_cell", "cells"), ("node_proof", "proofs"),
                       ("proof_cell", "cells"), ("part", "trees")):  # fmt: skip
        numbers = data.get(name, np.zeros(0, np.int64))
        require(np.all((numbers >= -1) & (numbers < sizes[size])), f"{name} is out of range")
    used = data["node_proof"][data["node_proof"] >= 0]
    require(np.array_equal(np.unique(used), np.arange(sizes["proofs"])), "a proof that is not used")
    require(np.all(np.abs(data["node_limit"]) < 2**53), "node_limit is out of range")
    require(np.all(np.abs(data.get("direction", np.zeros(1))) <= 1), "direction is out of range")
    columns = ("proof_kind", "proof_row", "proof_cell")
    proof = list_numbers(data["proof_starts"])
    order = np.lexsort([data[name] for name in reversed(columns)] + [proof])
    keys = np.array([proof, *(data[name] for name in columns)])
    rising = np.array_equal(order, np.arange(len(order)))
    rising &= bool(np.all(np.any(np.diff(keys, axis=1) != 0, axis=0)))
    require(rising, "the multipliers of a leaf are twice or out of order")
    require(np.all(data["proof_data"] != 0), "a multiplier of 0")
    if "cut_kind" in data:
        for name in ("up", "down"):
            check_lists(data[f"{name}_starts"], data[f"{name}_relations"], sizes["relations"], name)
        require(np.all((data["cut_kind"] >= 0) & (data["cut_kind"] <= 3)), "unknown kind of cut")
        require(np.all((data["cut_cell"] >= 0) & (data["cut_cell"] < sizes["cells"])),
                "cut_cell is out of range")  # fmt: skip


def check_starts(starts, end, name):
    """Require that lists stand one after the other and leave nothing out."""
    require(np.all((starts >= 0) & (starts <= end)), f"{name}_starts out of range")
    require(np.all(np.diff(starts) >= 0), f"{name}_starts do not increase")
    require(starts[0] == 0 and starts[-1] == end, f"{name}_starts leave something out")


def check_lists(starts, members, end, name):
    """Require lists one after the other, each increasing and with members from 0 to end - 1."""
    check_starts(starts, len(members), name)
    require(np.all((members >= 0) & (members < end)), f"{name}: a number is out of range")
    same_list = np.diff(list_numbers(starts)) == 0
    require(np.all(np.diff(members)[same_list] > 0), f"{name}: numbers are twice or out of order")


def list_numbers(starts):
    """Return for each member of the lists the number of its list."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def positions(starts, numbers):
    """Return where the members of some lists stand, one list after the other."""
    length = starts[numbers + 1] - starts[numbers]
    return np.arange(np.sum(length)) + np.repeat(starts[numbers] - np.cumsum(length) + length,
                                                 length)  # fmt: skip


# -- the table -----------------------------------------------------------------------------------


class Relations:
    """Relations by row and by cell, with whole coefficients wherever they are decimal numbers."""

    def __init__(self, data):
        self.starts, self.cells = data["relation_starts"], data["relation_cells"]
        self.count, self.row = len(self.starts) - 1, list_numbers(self.starts)
        self.given = data["relation_data"]
        places = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(places, self.row, decimals_of(self.given, 2.0**31, 0))
        self.decimals = np.minimum(places, MOST_DECIMALS)
        whole = np.rint(self.given * TENS[self.decimals[self.row]])
        self.real = (places > MOST_DECIMALS) | (self.sums(np.abs(whole) >= 2.0**31) > 0)
        self.whole = np.where(self.real[self.row], self.given, whole)
        order = np.argsort(self.cells, kind="stable")
        count = np.bincount(self.cells, minlength=len(data["values"]))
        self.column_starts = np.concatenate([[0], np.cumsum(count)])
        self.column_row, self.column_whole = self.row[order], self.whole[order]

    def sums(self, terms):
        """Return the sum of some terms, one for each coefficient, over each relation."""
        return np.bincount(self.row, terms, minlength=self.count)


def decimals_of(numbers, largest, places):
    """Return with how many decimals numbers are written, within some last places; 13: with more.

    `largest` bounds their digits: those of any number would do if there were enough of them.
    """
    found = np.full(len(numbers), MOST_DECIMALS + 1)
    for decimals in range(MOST_DECIMALS, -1, -1):
        whole = np.rint(numbers * TENS[decimals])
        near = np.abs(whole / TENS[decimals] - numbers) <= places * np.spacing(np.abs(numbers))
        found[near & (np.abs(whole) < largest)] = decimals
    return found


def check_additive(relations, values, side, tolerance):
    """Require A a = b: exactly for decimal numbers, but for the dust that binary sums leave.

    Return of how many relations more than dust is left, since their numbers are not decimal.
    """
    cells, row, whole = relations.cells, relations.row, relations.whole
    off = np.abs(relations.sums(relations.given * values[cells]) - side)
    size = relations.sums(np.abs(relations.given * values[cells])) + np.abs(side)
    require(np.all(np.isfinite(size)), "the numbers of the true table are too large")
    dust, rounding = ADDITIVE_SHARE * size, (np.diff(relations.starts) + 2) * 2.0**-52 * size
    whole_values = (values == np.rint(values)) & (np.abs(values) < 2.0**53)
    written = np.where(whole_values, 0, decimals_of(values, 2.0**40, 2))
    places, own = np.zeros(relations.count, dtype=np.int64), decimals_of(side, 2.0**40, 2)
    np.maximum.at(places, row, written[cells])
    places = np.maximum(places, np.where(own > MOST_DECIMALS, 0, own))
    decimal = ~relations.real & (places <= MOST_DECIMALS)
    places = np.minimum(places, MOST_DECIMALS)
    digits = np.rint(values[cells] * TENS[places[row]])
    right = np.rint(side * TENS[places + relations.decimals])
    decimal &= (relations.sums(np.abs(digits) >= 2.0**53) == 0) & (np.abs(right) < 2.0**53)
    wrong, largest = relations.sums(whole * digits) != right, relations.sums(np.abs(whole * digits))
    for r in np.flatnonzero(decimal & (largest >= 2.0**53)):
        part = slice(relations.starts[r], relations.starts[r + 1])
        pairs = zip(whole[part].tolist(), digits[part].tolist(), strict=True)
        wrong[r] = sum(int(c) * int(v) for c, v in pairs) != int(right[r])
    good = (off <= dust) & ~(decimal & wrong)
    good |= (tolerance > 0) & (off <= tolerance + dust)
    require(np.all(good), f"the true table is not additive in {np.sum(~good)} relations")
    return int(np.sum(~decimal & (off > rounding)))


def rounding_error(*numbers):
    """Return what the stored numbers may be off by; whole ones are stored as they are."""
    whole = np.all([(each == np.rint(each)) & (np.abs(each) < 2.0**52) for each in numbers], axis=0)
    return np.where(whole, 0.0, LAST_PLACES * np.spacing(np.max(np.abs(numbers), axis=0)))


def room(values, bounds, sign):
    """Return how far values can move, and no more than the rounding error and 1e-9 beyond."""
    distance = np.maximum(sign * (bounds - values), 0.0)
    error = rounding_error(values, np.where(np.isfinite(bounds), bounds, 0.0))
    return sign * (distance + np.minimum(error, ROOM_SHARE * distance))


def needs(data):
    """Return the sensitive cells, and how far up, down and in all each must be able to move."""
    cells = np.flatnonzero(data["status"] == "u")
    upper, lower = data["upper_protection"][cells], data["lower_protection"][cells]
    width, nothing = data["sliding_protection"][cells], np.zeros(len(cells))
    if data["requirement"] == "width":
        return cells, nothing, nothing, np.maximum(width, upper + lower)
    if data["requirement"] == "upper":
        return cells, upper, nothing, nothing
    return cells, upper, lower, width


def least_asked(need):
    """Return the least positive distance that is asked of each sensitive cell, 0 if none is."""
    asked = np.where(np.array(need[1:]) > 0, need[1:], np.inf).min(axis=0)
    return np.where(np.isinf(asked), 0.0, asked)


def check_peeling(relations, hidden, cells, level):
    """Refuse if a sensitive cell follows from single relations: one hidden cell in one is known."""
    unknown = hidden.copy()
    left = relations.sums(unknown[relations.cells]).astype(np.int64)
    which = np.zeros(relations.count, dtype=np.int64)  # sum of the numbers of these cells
    np.add.at(which, relations.row, relations.cells * unknown[relations.cells])
    rows = np.flatnonzero(left == 1)
    while len(rows):
        found = np.unique(which[rows])
        unknown[found] = False
        at = positions(relations.column_starts, found)
        touched = relations.column_row[at]
        number = np.repeat(found, np.diff(relations.column_starts)[found])
        np.subtract.at(left, touched, 1)
        np.subtract.at(which, touched, number)
        rows = np.unique(touched[left[touched] == 1])
    known = cells[(level > 0) & ~unknown[cells]]
    require(not len(known), f"{len(known)} sensitive cells follow from single relations, the first "
            f"is cell {known[:1]}: they are disclosed")  # fmt: skip


# -- the witnesses -------------------------------------------------------------------------------


def least_levels(data, level):
    """Return for each witness the least level among the sensitive cells that it serves."""
    least = np.full(len(data["witness_starts"]) - 1, np.inf)
    for side in ("upper", "lower"):
        for index, numbers in ((np.arange(len(level)), data[f"{side}_witness"]),
                               (data["claim_index"], data[f"claim_{side}"])):  # fmt: skip
            used = (numbers >= 0) & (level[index] > 0)
            np.minimum.at(least, numbers[used], level[index][used])
    least[np.isinf(least)] = 0.0
    return least


def check_effort(data, relations, level):
    """Refuse what would take hours: a small file can ask for very many products."""
    cells, facts, n = data["witness_cells"], data["intruder_cells"], len(data["values"])
    witnesses, insiders = len(data["witness_starts"]) - 1, len(data["intruder_names"])
    steps = np.sum(np.diff(relations.column_starts)[cells], dtype=float)
    steps += np.sum(np.bincount(cells, minlength=n)[facts], dtype=float)
    steps += STEPS_EACH * (witnesses + insiders) + insiders * (10.0 * n + 20.0 * len(level))
    steps += float(insiders) * witnesses
    require(steps <= MOST_STEPS, f"it takes {steps:.0e} steps to check, more than {MOST_STEPS:.0e}")


def check_relations(data, relations, level):
    """Require A d = 0 for every witness; return how many relations are not checked exactly."""
    least, products = least_levels(data, level), 0
    # A real relation proves no more when it is multiplied by a small number.
    scale = np.zeros(relations.count)
    inside = data["suppressed"][relations.cells]
    np.maximum.at(scale, relations.row[inside], np.abs(relations.given[inside]))
    scale = np.minimum(scale, 1.0) * relations.real
    total, size, smallest = (np.zeros(relations.count) for _ in range(3))
    touched_real = np.zeros(relations.count, dtype=bool)
    for number, (start, stop) in enumerate(zip(data["witness_starts"], data["witness_starts"][1:],
                                               strict=False)):  # fmt: skip
        cells, moves = data["witness_cells"][start:stop], data["witness_data"][start:stop]
        at = positions(relations.column_starts, cells)
        moves = np.repeat(moves, np.diff(relations.column_starts)[cells])
        row, whole = relations.column_row[at], relations.column_whole[at]
        total[row] = size[row] = 0.0
        np.add.at(total, row, whole * moves)
        np.add.at(size, row, np.abs(whole * moves))
        smallest[row] = np.inf
        np.minimum.at(smallest, row, np.abs(whole * moves))
        # Such a witness is exact for another coefficient, off by this share, of any cell it moves.
        limit = REAL_SHARE * np.minimum(least[number] * scale[row], smallest[row])
        limit = np.where(relations.real[row], limit, 0.0)
        # A sum of multiples of g below 2^53 g does not round, so that 0 is exactly 0.
        exact_zero = (total[row] == 0) & (size[row] < 2.0**53 * grain(moves))
        rounding = (len(row) + 2) * (2.0**-52 * size[row] + 5e-324)
        real = relations.real[row]
        clear = np.where(real, np.abs(total[row]) + rounding <= limit, exact_zero)
        touched_real[row] |= real
        long = np.flatnonzero(~clear)
        products += len(long)
        require(products <= MOST_LONG, "too many sums of too many digits for a check")
        found, unit = long_sums(row[long], whole[long], moves[long])
        for r, most in dict(zip(row[long].tolist(), limit[long].tolist(), strict=True)).items():
            good = found[r] == 0 or abs(found[r] * unit) <= most
            require(good, f"witness {number} breaks relation {r}")
    return int(np.sum(touched_real))


def long_sums(rows, one, other):
    """Return the exact sum of products for each row, as a multiple of a power of two."""
    (first, scale), (second, more) = np.frexp(one), np.frexp(other)
    shift = scale + more - 106
    lowest = int(np.min(shift, initial=0))
    found = defaultdict(int)
    for r, c, d, places in zip(
        rows.tolist(), np.ldexp(first, 53).astype(np.int64).tolist(),
        np.ldexp(second, 53).astype(np.int64).tolist(), (shift - lowest).tolist(), strict=True,
    ):  # fmt: skip
        found[r] += c * d << places
    return found, Fraction(2) ** lowest


def grain(numbers):
    """Return the largest power of two that divides all numbers."""
    if not len(numbers):
        return 1.0
    mantissa, exponent = np.frexp(np.abs(numbers))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    return math.ldexp(1.0, min(int(np.min(exponent - 53 + lowest - 1)), 900))


def check_bounds(data):
    """Require that witnesses move hidden cells only, and stay within the external bounds."""
    values, at, moves = data["values"], data["witness_cells"], data["witness_data"]
    low, high = data["lower_bound"], data["upper_bound"]
    require(np.all(data["suppressed"][at]), "a witness moves a published cell")
    inside = (moves >= room(values, low, -1)[at]) & (moves <= room(values, high, 1)[at])
    require(np.all(inside), "a witness breaks an external bound")


def reach(data, keys, cells, numbers):
    """Return how far witness numbers[i] moves cells[i]; -1 stands for the true table."""
    n = len(data["values"])
    wanted = numbers * n + cells
    at = np.searchsorted(keys, wanted)
    found = (numbers >= 0) & (np.append(keys, -1)[at] == wanted)
    return np.where(found, np.append(data["witness_data"], 0.0)[at], 0.0)


def check_reach(up, down, need, who):
    _, upper, lower, width = need
    met = (up >= NEED_SHARE * upper) & (down >= NEED_SHARE * lower)
    met &= up + down >= NEED_SHARE * width
    require(np.all(met), f"{np.sum(~met)} sensitive cells are not proved against {who}")


def check_insiders(data, keys, need):
    """Check each insider's claim; return how many differ in what they know, and levels cut."""
    values, witness = data["values"], list_numbers(data["witness_starts"])
    cells, low, high = (data[f"intruder_{name}"] for name in ("cells", "lower", "upper"))
    bounds = data["lower_bound"][cells], data["upper_bound"][cells]
    true = values[cells]
    require(np.all(data["suppressed"][cells]), "an insider knows a bound on a published cell")
    error = [rounding_error(true, np.where(np.isfinite(end), end, 0.0)) for end in (low, high)]
    honest = (low - true <= error[0]) & (true - high <= error[1])
    require(np.all(honest), "an insider excludes the truth")
    within = (low >= bounds[0]) & (high <= bounds[1])
    require(np.all(within), "an insider knows less than everybody")
    narrower = (low > bounds[0]) | (high < bounds[1])
    least, most = room(true, low, -1), room(true, high, 1)
    order = np.argsort(data["witness_cells"], kind="stable")
    count = np.bincount(data["witness_cells"], minlength=len(values))
    columns = np.concatenate([[0], np.cumsum(count)])
    sides = [(sign, data[f"{side}_witness"], data[f"claim_{side}"])
             for sign, side in ((1, "upper"), (-1, "lower"))]  # fmt: skip
    common = [sign * reach(data, keys, need[0], numbers) for sign, numbers, _ in sides]
    known, cut = set(), 0
    for number in range(len(data["intruder_names"])):
        own = slice(*data["intruder_starts"][number : number + 2])
        claim = slice(*data["claim_starts"][number : number + 2])
        at, who = cells[own], f"insider {number}"
        news = narrower[own]
        require(np.any(news), f"{who} knows nothing beyond what everybody knows")
        # Adding 0 makes 0 of -0.
        facts = (at[news], low[own][news] + 0.0, high[own][news] + 0.0)
        known.add(tuple(part.tobytes() for part in facts))
        entries = order[positions(columns, at)]
        moves, length = data["witness_data"][entries], np.diff(columns)[at]
        outside = moves < np.repeat(least[own], length)
        outside |= moves > np.repeat(most[own], length)
        refuted = np.zeros(len(data["witness_starts"]), dtype=bool)  # the last one: -1, the truth
        refuted[witness[entries[outside]]] = True
        index, reached = data["claim_index"][claim], []
        for (sign, numbers, claimed), far in zip(sides, common, strict=True):
            used, moved = numbers.copy(), far.copy()
            used[index] = claimed[claim]
            moved[index] = sign * reach(data, keys, need[0][index], claimed[claim])
            reached.append(np.where(refuted[used], 0.0, moved))
        # Nothing can be protected beyond what an intruder knew beforehand.
        below, above = np.full(len(values), np.inf), np.full(len(values), np.inf)
        below[at], above[at] = true[own] - low[own], high[own] - true[own]
        below, above = np.maximum(below[need[0]], 0), np.maximum(above[need[0]], 0)
        left = (need[0], np.minimum(need[1], above), np.minimum(need[2], below),
                np.minimum(need[3], above + below))  # fmt: skip
        check_reach(*reached, left, who)
        cut += np.sum(np.any(np.array(left[1:]) < np.array(need[1:]), axis=0))
    return len(known), int(cut)


def check_hidden(data, relations):
    """Protection of a pattern or of intervals; return what is worth saying about it."""
    hidden = data["suppressed"]
    need = needs(data)
    cells, level = need[0], least_asked(need)
    blurred = rounding_error(data["values"][cells]) > PRECISION_SHARE * level
    blurred = cells[blurred & (level > 0)]
    few = f"the level of cell {blurred[:1]} is below the precision of its value"
    require(not len(blurred), few)
    check_peeling(relations, hidden, cells, level)
    check_bounds(data)
    check_effort(data, relations, level)
    real = check_relations(data, relations, level)
    keys = list_numbers(data["witness_starts"]) * len(data["values"]) + data["witness_cells"]
    check_reach(reach(data, keys, cells, data["upper_witness"]),
                -reach(data, keys, cells, data["lower_witness"]), need, "everybody")  # fmt: skip
    (insiders, cut), idle = check_insiders(data, keys, need), np.sum(level == 0)
    asked = str(data["requirement"])
    return [
        (True, f"{len(cells)} sensitive cells, {asked}: each can lie"),
        (True, REQUIREMENTS[asked]),
        (idle, f"of them, {idle} have no level, so that nothing was asked"),
        (True, f"against everybody and {insiders} different insiders"),
        (cut, f"in {cut} cases a level is cut to what insiders knew of the cell before"),
        (True, f"if nobody learns more of the {np.sum(hidden)} hidden cells, of {len(hidden)}"),
        (insiders, "not checked: who the insiders are, and whether they know more"),
        (real, f"{real} relations with real coefficients: as if these were known to 9 digits"),
    ]


# -- adjusted and rounded tables -----------------------------------------------------------------


def multiples(numbers, decimals):
    """Return numbers as multiples of their last digit, or None if they are none."""
    power = TENS[abs(decimals)]
    whole = np.rint(numbers * power if decimals >= 0 else numbers / power)
    back = whole / power if decimals >= 0 else whole * power
    place = np.spacing(np.abs(numbers))
    dust = np.minimum(16 * place, np.maximum(place, 0.01 / power)) if decimals else 0.0
    good = (np.abs(whole) < 2.0**53) & (np.abs(back - numbers) <= dust)
    return whole.astype(np.int64) if np.all(good) else None


def unit_of(data):
    """Return the last digit of an adjusted table, or 1."""
    decimals = int(data["decimals"])
    if decimals == NO_DECIMALS:
        return LONG(1)
    return 1 / LONG(TENS[decimals]) if decimals >= 0 else LONG(TENS[-decimals])


def change(data):
    """Return adjusted minus true values, and the same in whole last digits or None."""
    decimals, values, published = int(data["decimals"]), data["values"], data["published"]
    if decimals != NO_DECIMALS:
        true, whole = multiples(values, decimals), multiples(published, decimals)
        require(true is not None, "the true table has more digits than are stated")
        if whole is not None:
            return (whole - true).astype(LONG) * unit_of(data), whole - true
    return published.astype(LONG) - values, None


def last_places(*numbers):
    """Return what a comparison of such numbers may be off by."""
    sizes = [np.abs(np.where(np.isfinite(each), each, 0.0)) for each in numbers]
    return LAST_PLACES * np.spacing(np.max(sizes, axis=0))


def row_sums(starts, terms):
    """Return the sum of each of the lists that stand one after the other, also in long doubles."""
    total, full = np.zeros(len(starts) - 1, terms.dtype), np.diff(starts) > 0
    total[full] = np.add.reduceat(terms, starts[:-1][full]) if np.any(full) else 0
    return total


def check_kept(data, relations):
    """Require that the released table satisfies the relations as the true one does."""
    z, whole = change(data)
    cells, given, starts = relations.cells, relations.given, relations.starts
    largest = np.maximum(np.abs(data["published"]), np.abs(data["values"]))[cells]
    accepted = LAST_PLACES * 2.0**-52 * relations.sums(np.abs(given) * largest)
    exact = ~relations.real & (whole is not None)
    wrong = ~exact & (np.abs(row_sums(starts, given * z[cells])) > accepted)
    if whole is not None:
        terms = [int(c) * int(v) if e else 0 for c, v, e in
                 zip(relations.whole.tolist(), whole[cells].tolist(), exact[relations.row].tolist(),
                     strict=True)]  # fmt: skip
        for r in np.flatnonzero(exact):
            wrong[r] = sum(terms[starts[r] : starts[r + 1]]) != 0
    require(not np.any(wrong), f"the released table breaks {np.sum(wrong)} relations")
    how = f"to {LAST_PLACES} last binary places of their terms"
    how = "exactly, in its last digit" if np.all(exact) else how
    return [(True, f"the released table satisfies all {relations.count} relations, {how}")]


def check_limits(data):
    """Require that an adjusted table keeps bounds, capacities and what must not change."""
    decimals, limit = int(data["decimals"]), float(data["sensitive_limit"])
    require(abs(decimals) <= MOST_DECIMALS or decimals == NO_DECIMALS, "decimals out of range")
    x, status, (z, _) = data["published"], data["status"], change(data)
    for name, sign in (("lower_bound", -1), ("upper_bound", 1)):
        beyond = sign * (x - data[name])
        within = beyond <= last_places(x, data[name])
        require(np.all(within), f"{np.sum(~within)} adjusted values pass their {name}")
    require(np.all(z[status == "z"] == 0), "a frozen cell is changed")
    level_up, level_down = levels_of(data)
    for sign, name, level in ((1, "capacity_up", level_up), (-1, "capacity_down", level_down)):
        most = np.where(status == "u", times(limit, level * float(unit_of(data))), data[name])
        finite = np.where(np.isfinite(most), most, 0.0)
        within = sign * z <= finite + REAL_SHARE * finite + last_places(x)
        require(np.all(within | np.isinf(most)), f"a cell changes more than its {name} or limit")


def times(limit, level):
    """Return limit * level; an infinite limit is none."""
    return np.full(len(level), np.inf) if np.isinf(limit) else limit * level


def levels_of(data):
    """Return upper and lower levels of sensitive cells, in units of the last digit, rounded up."""
    sensitive, decimals = data["status"] == "u", int(data["decimals"])
    levels = []
    for name in ("upper_protection", "lower_protection"):
        level = np.where(sensitive, data[name], 0.0)
        if decimals != NO_DECIMALS:
            level = np.ceil(in_digits(level, decimals) * NEED_SHARE)
        levels.append(level)
    return levels


def in_digits(numbers, decimals):
    return numbers * TENS[decimals] if decimals >= 0 else numbers / TENS[-decimals]


def check_distance(data, relations):
    """Require that each sensitive cell lies a whole level from its true value."""
    z, _ = change(data)
    cells = np.flatnonzero(data["status"] == "u")
    up, down = data["upper_protection"][cells], data["lower_protection"][cells]
    safe = (up > 0) & (z[cells] >= NEED_SHARE * up)
    safe |= (down > 0) & (-z[cells] >= NEED_SHARE * down)
    few = cells[~safe]
    require(not len(few), f"{len(few)} sensitive cells are too near to the truth, as {few[:1]} is")
    return [
        (True, f"{len(cells)} sensitive cells: each adjusted value lies its upper level above the"),
        (True, "true one, or its lower level below; who knows the method may know more"),
    ]


def check_statistics(data, relations):
    """Require that sums of given coefficients times changes are what they are claimed to be."""
    z, whole = change(data)
    unit, lines = unit_of(data), []
    rounding = np.spacing(np.abs(data["published"])) if whole is None else np.zeros(len(z))
    for number, kind in enumerate(data["statistic_kind"].tolist()):
        own = slice(*data["statistic_starts"][number : number + 2])
        cells, terms = data["statistic_cells"][own], data["statistic_data"][own]
        slack, target = data["statistic_slack"][number], data["statistic_target"][number]
        true, name = data["values"][cells], f"statistic {number}"
        require(len(cells), f"{name} is of no cell")
        if kind in ("mean", "variance"):
            require(np.all(terms == 1) and target == 0, f"{name} is no {kind}")
        if kind == "slope":
            spread = true - true.mean()
            spread = spread / np.abs(spread).max()
            near = np.abs(terms - spread) <= REAL_SHARE
            require(np.all(near) and target == 0 and np.any(terms != 0), f"{name} is no slope")
        require(kind in ("mean", "slope", "covariance", "variance", "sum"), f"{name} is unknown")
        if kind == "variance":
            ratio = float(np.var(true + z[cells]) / np.var(true))
            require(abs(ratio - 1) <= slack + REAL_SHARE, f"{name}: the variance is not kept")
        else:
            moved = terms * (z[cells] / unit)
            size = np.sum(np.abs(moved)) + abs(target)
            off = abs(np.sum(moved) - target) - slack
            off -= np.sum(np.abs(terms) * rounding[cells]) / unit
            require(off <= REAL_SHARE * size, f"{name}: the {kind} is not kept")
        lines.append((True, said(kind, len(cells), true, terms, slack, target, float(unit))))
    return lines


def said(kind, count, true, terms, slack, target, unit):
    """Say what a statistic is that is kept, and within what."""
    if kind in ("covariance", "sum"):  # of what they are is not in the certificate
        what = f"a sum of changes of {count} cells, with given coefficients ({kind}),"
        return f"{what} is {target * unit:.6g}, within {slack * unit:.3g}"
    if kind == "mean":
        slack = slack * unit / count
    if kind == "slope":
        slack = slack * unit / np.sum(terms * (true - true.mean()))
    return f"the {kind} of {count} cells is kept, within {slack:.3g}"


def check_rounded(data, relations):
    """Require multiples of the base, as near to the truth as steps allow, with their sign."""
    base, steps, x = int(data["base"]), int(data["steps"]), multiples(data["published"], 0)
    a = multiples(data["values"], 0)
    require(a is not None and x is not None, "rounding is for whole numbers")
    require(base >= 2 and steps >= 1 and base * steps <= 10**15, "base or steps out of range")
    require(np.all(x % base == 0), "a value is no multiple of the base")
    low, high = rounding_range(data)
    require(np.all((x >= low * base) & (x <= high * base)), "a value is too far from the truth")
    reach = "next to the true one" if steps == 1 else f"less than {steps} steps from it"
    return [(True, f"each released value is a multiple of {base}, {reach}"),
            (True, "not checked: what the rounded table protects")]  # fmt: skip


def rounding_range(data):
    """Return the smallest and largest multiple of the base that each cell may be rounded to."""
    a, base, steps = multiples(data["values"], 0), int(data["base"]), int(data["steps"])
    most = steps * base - 1
    low, high = -((most - a) // base), (a + most) // base
    low, high = (
        np.where(a >= 0, np.maximum(low, 0), low),
        np.where(a < 0, np.minimum(high, 0), high),
    )
    kept = (data["status"] == "z") | ((a % base == 0) & (steps == 1))
    require(np.all(a[data["status"] == "z"] % base == 0), "a frozen cell cannot be rounded")
    return np.where(kept, a // base, low), np.where(kept, a // base, high)


def check_small_counts(data, relations):
    """Require that no small count is left, and that zeros are unchanged."""
    base, x, a = int(data["base"]), multiples(data["published"], 0), multiples(data["values"], 0)
    require(a is not None and x is not None and base >= 2, "small counts are whole numbers")
    require(np.all((x == 0) | (x >= base)), "a small count or a negative number is released")
    require(np.all(x[a == 0] == 0), "a zero is changed")
    require(np.all(np.isin(x[(a > 0) & (a < base)], (0, base))), "a small count is moved too far")
    return [(True, f"no released count lies between 0 and {base}, and no zero is changed")]


def as_adjustment(data):
    """Return small-count rounding as the adjustment that it is: small counts have two values."""
    a, base = data["values"], float(data["base"])
    small, none = (a > 0) & (a < base), np.zeros(len(a))
    require(not np.any(small & (data["status"] == "z")), "a small count must stay as it is")
    status = np.where(small, "u", np.where((data["status"] == "z") | (a == 0), "z", "s"))
    return data | {
        "status": status, "lower_protection": np.where(small, a, 0.0), "lower_bound": none,
        "upper_protection": np.where(small, base - a, 0.0), "upper_bound": none + np.inf,
        "capacity_down": np.where(small, a, a - base * (a >= base)), "decimals": np.array(0),
        "capacity_up": none + np.inf, "sensitive_limit": np.array(1.0),
    }  # fmt: skip


# -- losses, and bounds on them: trees that cover all releases, priced at their leaves -------------


def check_loss(data, relations):
    """Require that the release costs what is claimed."""
    weights, measure, release = data["weights"], str(data["measure"]), str(data["release"])
    if release == "suppression":
        loss = np.sum(weights[data["suppressed"]], dtype=LONG)
    elif release == "intervals":
        width = data["published_upper"].astype(LONG) - data["published_lower"]
        loss = np.sum(np.where(data["status"] == "m", 0, weights * width))
    else:
        z, _ = change(data)
        loss = {"L1": np.sum(weights * np.abs(z)), "L2": np.sum(weights * z**2),
                "Linf": np.max(weights * np.abs(z), initial=0)}[measure]  # fmt: skip
    claimed = float(data["loss"])
    require(
        abs(loss - claimed) <= REAL_SHARE * loss, f"the loss is {loss:.12g}, not {claimed:.12g}"
    )
    return [(True, f"loss {claimed:.9g} ({measure}), with the weights that the certificate holds")]


def check_bound(data, relations):
    """Require that trees prove the claimed bound; see the classes that price their leaves."""
    claimed, loss = float(data["bound"]), float(data["loss"])
    proved, notes = proved_bound(data, relations)
    good = claimed <= proved + REAL_SHARE * loss
    require(good, f"the bound {claimed:.12g} is claimed, but only {proved:.12g} is proved")
    gap = 100 * max(1 - claimed / loss, 0) if loss else 0.0
    text = f"no such release loses less than {claimed:.9g}: gap {gap:.3g} %"
    return [(True, f"{text}, {np.sum(data['node_proof'] >= 0)} leaves"), *notes]


def proved_bound(data, relations):
    """Return what trees prove of the loss, at most the loss of the release, and notes."""
    release, notes = str(data["release"]), []
    if release == "suppression":
        proved = bound_of_patterns(data, relations)
    elif release == "intervals":
        proved = bound_of_widths(data, relations)
    elif release == "rounding":
        proved = min(tree_bounds(data, RoundingPrices(data, relations)))
    else:
        prices = AdjustmentPrices(data, relations)
        bounds = tree_bounds(data, prices)
        proved = max(bounds) if str(data["measure"]) == "Linf" else sum(bounds)
        proved, notes = float(proved * prices.scale), prices.notes()
    return min(max(float(proved), 0.0), float(data["loss"])), notes


@np.errstate(all="ignore")
def proved(data):
    """Return the bound that a certificate proves, whatever it claims."""
    check_form(data)
    relations = Relations(data)
    checked, _ = check_release(data, relations)
    return proved_bound(checked, relations)[0]


def tree_bounds(data, prices):
    """Return what each tree proves: the least price of its leaves, which cover all releases."""
    starts, parent = data["tree_starts"], data["node_parent"]
    cell, limit = data["node_cell"], data["node_limit"]
    lower, proof = data["node_is_lower"], data["node_proof"]
    work = len(parent) * (STEPS_EACH + 10.0 * len(data["values"])) + 10.0 * len(data["proof_data"])
    bounds = []
    for tree, (first, last) in enumerate(itertools.pairwise(starts.tolist())):
        require(first < last and is_root(data, first), "a tree without a root")
        children, depth = defaultdict(list), {int(first): 0}
        for node in range(first + 1, last):
            require(first <= parent[node] < node, "a node before its parent")
            children[int(parent[node])].append(node)
            depth[node] = depth[int(parent[node])] + 1
        work += 1e3 * sum(depth.values())
        require(work <= MOST_STEPS, "a tree too large to check")
        for pair in children.values():
            require(
                len(pair) == 2 and lower[pair[0]] != lower[pair[1]], "a split without two sides"
            )
            low, high = sorted(pair, key=lambda node: not lower[node])
            same = cell[low] == cell[high] >= 0 and limit[low] == limit[high] + 1
            require(same, "a search tree that leaves something out")
        least = np.inf
        for node in range(first, last):
            require((proof[node] >= 0) == (node not in children), "a leaf without a proof")
            if node not in children:
                box, at = {}, node
                while at != first:
                    low, high = box.get(int(cell[at]), (-(2**60), 2**60))
                    end = int(limit[at])
                    both = (max(low, end), high) if lower[at] else (low, min(high, end))
                    box[int(cell[at])], at = both, int(parent[at])
                own = slice(*data["proof_starts"][proof[node] : proof[node] + 2])
                entries = [data[f"proof_{name}"][own] for name in ("kind", "row", "cell", "data")]
                least = min(least, prices.price(tree, entries, box))
        bounds.append(least)
    return bounds


def is_root(data, node):
    """Return whether a node is the root of a tree: no parent, and no limit."""
    free = data["node_limit"][node] == 0 and not data["node_is_lower"][node]
    return bool(free and data["node_parent"][node] == data["node_cell"][node] == -1)


def settled(value, error):
    """Return a sum less its rounding error."""
    return float(value - error) if np.isfinite(value) else float(value)


class AdjustmentPrices:
    """Weak duality for adjustments: the least that each cell must add, one by one.

    For multipliers of relations and statistics (any sign) and of the rows below (>= 0)::

        sum w |z| >= sum_g min over what z_g may be of (W_g |z_g| - r_g z_g + e_g (|z_g| - level_g))

    plus constants. Cells that relations force to move together are one group g. Discrepancy rows:
    in a relation the levels of sensitive cells leave at least delta to be made up for, whatever
    their directions. Balance rows: |c_j z_j| <= sum of |c_i z_i| over the others in a relation. For
    the measure Linf the weights are w times shares that add up to at most 1; for L2 it is w z^2.
    """

    def __init__(self, data, relations):
        self.data, self.n, self.m = data, len(data["values"]), relations.count
        self.measure, unit = str(data["measure"]), unit_of(data)
        self.scale = unit ** (2 if self.measure == "L2" else 1)
        up, down, level, safe = rooms(data)
        movable = (up > 0) | (down > 0) | (data["status"] == "u")
        # No table of less loss moves a cell farther. Where a cell costs nothing this says nothing.
        weights, loss = data["weights"], float(data["loss"] / self.scale) * (1 + 1e-8)
        far = np.where(weights > 0, loss / weights, np.inf)
        far = np.sqrt(far) if self.measure == "L2" else far
        distant = float(10 * np.max(np.abs(data["values"]), initial=0) / unit + 100 * np.sum(level))
        self.is_cut = bool(np.any(np.isinf(far) & (np.maximum(up, down) > distant)))
        far = np.minimum(far, distant)
        self.root, self.sign = coupled(relations, movable)
        room = (
            np.minimum(up, np.maximum(far, level[0])),
            np.minimum(down, np.maximum(far, level[1])),
        )
        self.group(room, level, safe)
        self.lay_rows(relations)
        whole = np.all(relations.given == np.rint(relations.given)) and "statistic_data" not in data
        self.blur = 0.0 if whole else 2.0**-44  # of a coefficient that is a sum of real ones
        self.deltas = {}

    def group(self, rooms_of, level, safe):
        """Find room, levels and open directions of groups, which go by the number of a cell."""
        n, sensitive = self.n, self.data["status"] == "u"
        live = np.flatnonzero(self.root >= 0)
        root, same = self.root[live], self.sign[live] > 0
        self.room, self.need, self.open = [], [], []
        for one, other in ((0, 1), (1, 0)):
            room, need, is_open = np.full(n, np.inf), np.zeros(n), np.ones(n, dtype=bool)
            own = [np.where(same, parts[one][live], parts[other][live])
                   for parts in (rooms_of, level, safe)]  # fmt: skip
            np.minimum.at(room, root, own[0])
            np.maximum.at(need, root, own[1])
            np.logical_and.at(is_open, root, own[2])
            self.room.append(room)
            self.need.append(need)
            self.open.append(is_open & (room >= need))
        require(np.all(self.root[sensitive] >= 0), "a sensitive cell that cannot move")
        self.groups, self.sensitive = np.unique(root), np.zeros(n, dtype=bool)
        self.sensitive[self.root[sensitive]] = True
        for cell in np.flatnonzero(self.data["direction"]):
            self.close(int(cell), self.data["direction"][cell] > 0, self.open)

    def lay_rows(self, relations):
        """Store relations between groups, then statistics, by row and by group."""
        data, starts = self.data, relations.starts
        cells, terms, statistics = relations.cells, relations.given, 0
        if "statistic_data" in data:
            starts = np.concatenate([starts, starts[-1] + data["statistic_starts"][1:]])
            cells = np.concatenate([cells, data["statistic_cells"]])
            terms = np.concatenate([terms, data["statistic_data"]])
            statistics = len(data["statistic_kind"])
        self.rows = (self.m, statistics, self.m, self.m, 0)
        self.row, self.member, term = merged(starts, cells, terms, self.root, self.sign)
        self.term, self.size = term.astype(LONG), np.abs(term).astype(LONG)
        self.order = np.argsort(self.member, kind="stable")
        counts = np.bincount(self.member, minlength=self.n)
        self.columns = np.concatenate([[0], np.cumsum(counts)])

    def close(self, cell, is_up, sides):
        """Leave a group one direction only: the one in which this cell goes up, or down."""
        require(self.data["status"][cell] == "u", "a direction of a cell that is not sensitive")
        sides[1 if is_up == (self.sign[cell] > 0) else 0][self.root[cell]] = False

    def notes(self):
        """Return what the bound rests on."""
        fixed = int(np.sum(self.data["direction"] != 0))
        whole = int(self.data["decimals"]) != NO_DECIMALS
        limit, free = float(self.data["sensitive_limit"]), self.data["status"] != "u"
        capacity = np.minimum(self.data["capacity_up"], self.data["capacity_down"])[free]
        capacities = int(np.sum(np.isfinite(capacity)))
        return [
            (fixed, f"the bound is for the given directions of {fixed} cells"),
            (np.isfinite(limit), f"sensitive cells move at most {limit:g} times their levels"),
            (capacities, f"{capacities} other cells move at most as far as the certificate says"),
            (whole, "the bound is for levels rounded up, and room rounded down, to last digits"),
            (self.is_cut, "the bound is for cells without cost that move less than ten times the"),
            (self.is_cut, "largest value and a hundred times all levels"),
        ]

    def by_group(self, terms):
        """Return the sum of terms, one for each entry of a row, over each group."""
        return row_sums(self.columns, terms[self.order])

    def delta(self, r):
        """Return what levels leave at least to be made up for in a relation."""
        if r not in self.deltas:
            own = np.arange(*np.searchsorted(self.row, [r, r + 1]))
            own = own[self.sensitive[self.member[own]]]
            require(len(own) <= 14, "too many sensitive cells in a discrepancy row")
            sums, size = np.zeros(1, dtype=LONG), 0.0
            for at in own:
                g, c = self.member[at], self.term[at]
                ends = [sign * c * need[g] for sign, need, is_open in
                        zip((1, -1), self.need, self.open, strict=True) if is_open[g]]  # fmt: skip
                size += float(abs(c) * max(self.need[0][g], self.need[1][g]))
                sums = (sums[:, None] + np.array(ends, dtype=LONG)[None, :]).reshape(-1)
            least = float(np.min(np.abs(sums))) if len(sums) else 0.0
            self.deltas[r] = max(least - (32 * EPSILON + self.blur) * size, 0.0)
        return self.deltas[r]

    def by_kind(self, entries):
        """Return rows, cells and multipliers of each kind, and check that there are such."""
        kind, row, cell, number = entries
        require(np.all((kind >= 0) & (kind < 5)), "an unknown kind of multiplier")
        require(np.all(number[kind >= 2] > 0), "a multiplier below 0")
        require(np.all(np.where(kind < 3, cell == -1, cell >= 0)), "a multiplier of no cell")
        fits = np.where(kind == 4, row == -1, (row >= 0) & (row < np.array(self.rows)[kind]))
        require(np.all(fits), "a multiplier of no row")
        simple = self.measure != "L2" or not np.any(kind >= 2)
        require(simple, "sums of squares have multipliers of relations and statistics only")
        return [(row[kind == k], cell[kind == k], number[kind == k].astype(LONG)) for k in range(5)]

    def price(self, tree, entries, box):
        """Return a lower bound for all adjustments with directions in the box; inf if none is."""
        sides = [side.copy() for side in self.open]
        for cell, (low, high) in box.items():
            if low > 1 or high < 0 or low > high:
                return np.inf
            if low == 1 or high == 0:
                self.close(cell, low == 1, sides)
        relation, statistic, discrepancy, balance, share = self.by_kind(entries)
        signed, lacking, moved = (np.zeros(self.m + self.rows[1], dtype=LONG) for _ in range(3))
        signed[relation[0]] = relation[2]
        signed[self.m + statistic[0]] = statistic[2]
        lacking[discrepancy[0]] = discrepancy[2]
        np.add.at(moved, balance[0], balance[2])
        constant, size = self.constant(statistic, discrepancy)
        own = self.own_entries(balance)
        r = self.by_group(self.term * signed[self.row])
        extra = self.by_group(self.size * (2 * own - moved[self.row]))
        above = -self.by_group(self.size * lacking[self.row])
        used = np.abs(signed) + moved + lacking
        sizes = self.by_group(self.size * (used[self.row] + 2 * own))
        weight = self.weights(tree, share)
        slack = (len(entries[0]) + 8) * EPSILON * size
        value, error = self.least(weight, extra, r, above, sizes, sides)
        empty, doubt = self.least(0 * weight, extra, r, above, sizes, sides)
        if empty + constant - doubt - slack > 0:
            return np.inf
        return settled(value + constant, error + slack)

    def constant(self, statistic, discrepancy):
        """Return what the sides of rows prove, and the sum of its absolute terms."""
        sides = [(number, self.delta(int(r)), 0.0)
                 for r, number in zip(discrepancy[0], discrepancy[2], strict=True)]  # fmt: skip
        for at, number in zip(statistic[0], statistic[2], strict=True):
            require(self.data["statistic_kind"][at] != "variance", "a variance is no row")
            target, slack = self.data["statistic_target"][at], self.data["statistic_slack"][at]
            sides.append((number, target, slack))
        total = sum((number * side - abs(number) * slack for number, side, slack in sides), LONG(0))
        return total, sum((abs(number) * (abs(side) + slack) for number, side, slack in sides), 0.0)

    def own_entries(self, balance):
        """Return for each entry of a relation the balance multipliers of its own group."""
        own, keys = np.zeros(len(self.row), LONG), self.row * self.n + self.member
        wanted = balance[0] * self.n + self.root[balance[1]]
        place = np.searchsorted(keys, wanted)
        require(np.all(np.append(keys, -1)[place] == wanted), "a balance row of another relation")
        np.add.at(own, place, balance[2])
        return own

    def weights(self, tree, share):
        """Return the cost of moving each group, for the cells of one part of the table."""
        weight, (_, cells, shares) = np.zeros(self.n, dtype=LONG), share
        priced = np.flatnonzero((self.data["part"] == tree) & (self.root >= 0))
        own = self.data["weights"][priced].astype(LONG)
        if self.measure != "Linf":
            require(not len(cells), "shares are for the largest change")
            np.add.at(weight, self.root[priced], own)
            return weight
        require(np.sum(shares) <= 1 + len(shares) * EPSILON, "shares of more than 1 in all")
        require(np.all(self.root[cells] >= 0), "a share of a cell that cannot move")
        np.maximum.at(weight, self.root[priced], own)
        part = np.zeros(self.n, dtype=LONG)
        np.add.at(part, self.root[cells], shares / (1 + 4 * len(shares) * EPSILON))
        return weight * part

    def least(self, weight, extra, r, above, sizes, sides):
        """Return the least sum over all groups, and what rounding may have added to it."""
        best, reached = np.full(self.n, np.inf, dtype=LONG), np.zeros(self.n)
        for sign, room, need, is_open in zip((1, -1), self.room, self.need, sides, strict=True):
            near, most = need.astype(LONG), np.maximum(room, need).astype(LONG)
            if self.measure == "L2":
                top = sign * r / (2 * np.where(weight > 0, weight, 1))
                middle = np.clip(np.where(weight > 0, top, near), near, most)
                ends = [weight * d * d - sign * r * d for d in (near, middle, most)]
            else:
                ends = [(weight + extra - sign * r) * d + above * (d - near) for d in (near, most)]
            best = np.where(is_open, np.minimum(best, np.min(ends, axis=0)), best)
            reached = np.where(is_open, np.maximum(reached, room), reached)
        best, reached, own = (part[self.groups] for part in (best, reached, sizes))
        counts = np.diff(self.columns)[self.groups] + 16
        cost = weight[self.groups] * (reached if self.measure == "L2" else 1)
        blur = EPSILON * counts * (own + cost) + self.blur * own
        return np.sum(best), np.sum(blur * reached) + len(best) * EPSILON * np.sum(np.abs(best))


def rooms(data):
    """Return how far each cell may move up and down, its levels, and on which sides it is safe.

    In units of the last digit if there is one; else loosened by more than their own rounding.
    """
    decimals, limit = int(data["decimals"]), float(data["sensitive_limit"])
    sensitive, level = data["status"] == "u", levels_of(data)
    values, whole = data["values"], decimals != NO_DECIMALS
    values = multiples(values, decimals).astype(float) if whole else values
    found = []
    for sign, bound, capacity, own in ((1, "upper_bound", "capacity_up", level[0]),
                                       (-1, "lower_bound", "capacity_down", level[1])):  # fmt: skip
        end, most = sign * data[bound], data[capacity]
        if whole:
            end = np.maximum(rounded_down(in_digits(end, decimals)), sign * values)
            most = rounded_down(in_digits(most, decimals))
        distance = np.abs(end - sign * values)
        near = (distance < own) & (distance >= own - last_places(end, values))
        distance = np.where(near, own, distance)
        room = np.where(sensitive, np.minimum(distance, times(limit, own)),
                        np.minimum(distance, most))  # fmt: skip
        room = np.where(data["status"] == "z", 0.0, np.floor(room) if whole else room)
        found.append(room if whole else room * (1 + 2.0**-48))
    safe = [~sensitive | (own > 0) for own in level]
    return *found, [own if whole else own * (1 - 2.0**-48) for own in level], safe


def rounded_down(numbers):
    """Round down, but what is whole up to its last places to that number."""
    whole = np.rint(numbers)
    near = np.isinf(numbers) | (
        np.abs(whole - numbers) <= LAST_PLACES * np.spacing(np.abs(numbers))
    )
    return np.where(near, whole, np.floor(numbers))


def merged(starts, cells, terms, root, sign):
    """Return rows between groups of cells: row, group and coefficient, sorted, none of them 0."""
    row, group = list_numbers(starts), root[cells]
    kept = group >= 0
    row, group, terms = row[kept], group[kept], (sign[cells] * terms)[kept]
    order = np.lexsort([group, row])
    row, group, terms = row[order], group[order], terms[order]
    new = np.append(True, (np.diff(row) != 0) | (np.diff(group) != 0))[: len(row)]
    first = np.append(np.flatnonzero(new), len(row))
    total, size = row_sums(first, terms), row_sums(first, np.abs(terms))
    real = np.abs(total) > 1e-14 * size
    at = first[:-1][real]
    return row[at], group[at], total[real]


def coupled(relations, movable, used=True):
    """Return for each cell that can move the cell that names its group, and its sign in it.

    A relation with one movable cell keeps it in place; one with two, of equal coefficients, moves
    both by the same amount. Only relations that are used count.
    """
    n = len(movable)
    root, sign = np.where(movable, np.arange(n), -1), np.ones(n)
    while True:
        row, group, term = merged(relations.starts, relations.cells, relations.given, root, sign)
        count = np.bincount(row, minlength=relations.count)
        first = np.concatenate([[0], np.cumsum(count)])[:-1]
        count = np.where(used, count, 0)
        still = set(group[first[count == 1]].tolist())
        pairs = first[count == 2]
        pairs = pairs[np.abs(term[pairs]) == np.abs(term[pairs + 1])]
        if not still and not len(pairs):
            return root, sign
        link, turn = list(range(n)), [1.0] * n

        def find(cell, link=link, turn=turn):
            total = 1.0
            while link[cell] != cell:
                total, cell = total * turn[cell], link[cell]
            return cell, total

        for at in pairs.tolist():
            (one, first_sign), (two, second_sign) = find(int(group[at])), find(int(group[at + 1]))
            same = -math.copysign(1.0, term[at] * term[at + 1])
            if one == two and first_sign != same * second_sign:
                still.add(one)  # both signs meet: it cannot change
            elif one != two:
                low, high = min(one, two), max(one, two)
                link[high], turn[high] = low, first_sign * second_sign * same
        still = {find(cell)[0] for cell in still}
        to = np.full(n, -1)
        by = np.ones(n)
        for cell in np.unique(root[root >= 0]).tolist():
            found, by[cell] = find(cell)
            to[cell] = -1 if found in still else found
        sign = np.where(root >= 0, sign * by[root], sign)
        root = np.where(root >= 0, to[root], -1)


class RoundingPrices:
    """Weak duality for controlled rounding: the best multiple of the base for each cell."""

    def __init__(self, data, relations):
        self.data, self.relations = data, relations
        self.a = multiples(data["values"], 0)
        self.low, self.high = rounding_range(data)

    def price(self, tree, entries, box):
        """Return a lower bound for all rounded tables in the box; inf if there is none."""
        data, relations, base = self.data, self.relations, int(self.data["base"])
        multiplier = multipliers_of_rows(entries, relations.count)
        low, high = self.low.copy(), self.high.copy()
        for at, (least, most) in box.items():
            low[at], high[at] = max(low[at], least), min(high[at], most)
        if np.any(low > high):
            return np.inf
        order, starts = np.argsort(relations.cells, kind="stable"), relations.column_starts
        terms = (relations.given * multiplier[relations.row])[order]
        r, sizes = row_sums(starts, terms), row_sums(starts, np.abs(terms))
        side = multiplier * data["right_hand_side"]
        error = (len(side) + 4) * EPSILON * np.sum(np.abs(side))
        blur = 0.0 if np.all(relations.given == np.rint(relations.given)) else 2.0**-44
        far = np.maximum(np.abs(low), np.abs(high)) * base + np.abs(self.a)
        found = []
        for weight in (data["weights"].astype(LONG), np.zeros(len(low), dtype=LONG)):
            best = np.full(len(low), np.inf, dtype=LONG)
            for steps in (low, high, self.a // base, -(-self.a // base)):
                x = np.clip(steps, low, high) * base
                best = np.minimum(best, weight * np.abs(x - self.a) - r * x)
            doubt = (EPSILON * (np.diff(starts) + 16) * (sizes + weight) + blur * sizes) * far
            doubt = np.sum(doubt) + len(low) * EPSILON * np.sum(np.abs(best))
            found.append((np.sum(best) + np.sum(side), doubt + error))
        return np.inf if found[1][0] > found[1][1] else settled(*found[0])


def multipliers_of_rows(entries, count):
    """Return one multiplier for each row, of entries that name nothing else."""
    kind, row, cell, number = entries
    require(np.all((kind == 0) & (row >= 0) & (row < count) & (cell == -1)), "an unknown row")
    multiplier = np.zeros(count, dtype=LONG)
    multiplier[row] = number
    return multiplier


def combined(data, relations, side, number):
    """Return A^T gamma of one cut: cells, sums, and their errors; what is 0 is exactly 0."""
    own = slice(*data[f"{side}_starts"][number : number + 2])
    rows, gamma = data[f"{side}_relations"][own], data[f"{side}_data"][own]
    at = positions(relations.starts, rows)
    cells, given = relations.cells[at], relations.given[at]
    order = np.argsort(cells, kind="stable")
    gamma = np.repeat(gamma, np.diff(relations.starts)[rows])[order]
    cells, given = cells[order], given[order]
    new = np.append(True, np.diff(cells) != 0)[: len(cells)]
    first = np.append(np.flatnonzero(new), len(cells))
    terms = given.astype(LONG) * gamma
    total, size = row_sums(first, terms), row_sums(first, np.abs(terms))
    if not np.all(given == np.rint(given)):  # what real coefficients sum to is never certainly 0
        return cells[new], total, 2.0**-50 * (np.diff(first) + 2) * size
    blur = EPSILON * (np.diff(first) + 2) * size
    doubtful = np.repeat(np.abs(total) <= blur, np.diff(first))
    exact, unit = long_sums(cells[doubtful], given[doubtful], gamma[doubtful])
    for place, cell in enumerate(cells[new].tolist()):
        if cell in exact:
            total[place] = float(exact[cell] * unit)
            blur[place] = abs(total[place]) * 1e-15
    return cells[new], total, blur


def united(data, relations):
    """Return data and relations in which cells that can only move together are one cell.

    What an intruder must consider moves them alike, so that a pattern of least loss hides all of
    them or none. The first of them stands for all; the others, and cells that cannot move at all,
    are frozen. Distances count, so that values are 0. Cells stay apart in relations of fractional
    coefficients, whose sums are not exact, and where they must be hidden without being sensitive.
    """
    status, n = data["status"], len(data["values"])
    up, down = data["upper_bound"] - data["values"], data["values"] - data["lower_bound"]
    fraction = (relations.given != np.rint(relations.given)) | (np.abs(relations.given) > 2.0**31)
    fractional = relations.sums(fraction) > 0
    movable = (status != "z") & (up + down > 0)
    root, sign = coupled(relations, movable, ~fractional)
    alone, still = root < 0, (root < 0) & movable & (status == "s")
    alone[relations.cells[fractional[relations.row]]] = True
    sensitive = np.zeros(n, dtype=bool)
    sensitive[root[(status == "u") & ~alone]] = True
    alone |= (status == "m") & ~sensitive[root]
    members = np.flatnonzero(~alone)
    _, first, group = np.unique(root[members], return_index=True, return_inverse=True)
    root = np.arange(n)
    root[members] = members[first][group.reshape(-1)]
    sign = np.where(alone, 1.0, sign * sign[root])
    cells, *levels = needs(data)
    everywhere = [np.zeros(n) for _ in levels]
    for level, asked in zip(everywhere, levels, strict=True):
        level[cells] = asked
    hidden = one_for_all(np.maximum, 0.0, root, (status == "u").astype(float)) > 0
    gone = (root != np.arange(n)) | still
    weights = np.bincount(root, data["weights"], minlength=n)
    upper, lower = either_way(np.maximum, 0.0, root, sign, everywhere[0], everywhere[1])
    high, low = either_way(np.minimum, np.inf, root, sign, up, down)
    row, cell, term = merged(relations.starts, relations.cells, relations.given, root, sign)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=relations.count))])
    changed = {
        "status": np.where(gone, "z", np.where(hidden, "u", status)),
        "choice": one_for_all(np.maximum, 0.0, root, (status == "s").astype(float)) > 0,
        "weights": np.where(weights == np.rint(weights), weights, weights * (1 - 2.0**-48)),
        "values": np.zeros(n), "upper_bound": high, "lower_bound": -low,
        "requirement": np.array("two-sided"), "upper_protection": upper, "lower_protection": lower,
        "sliding_protection": one_for_all(np.maximum, 0.0, root, everywhere[2]),
        "cut_cell": root[data["cut_cell"]], "cut_sign": sign[data["cut_cell"]],
        "node_cell": np.where(data["node_cell"] >= 0, root[data["node_cell"]], -1),
        "relation_starts": starts, "relation_cells": cell, "relation_data": term,
    }  # fmt: skip
    data = {**data, **changed}
    return data, Relations(data)


def one_for_all(choose, start, root, numbers):
    """Return the least or largest over each group of cells, at the cell that stands for it."""
    found = np.full(len(root), start)
    choose.at(found, root, numbers)
    return found


def either_way(choose, start, root, sign, upward, downward):
    """Do so for what holds upwards and downwards; cells with the sign -1 move the other way."""
    return [
        one_for_all(choose, start, root, np.where(sign > 0, *pair))
        for pair in ((upward, downward), (downward, upward))
    ]


class Cuts:
    """Rows that all protected releases satisfy: capacities of single cells, and bridges.

    For a sensitive cell p and any gamma put r = e_p - A^T gamma. Every table x that an intruder
    must consider has x_p - a_p = r.(x - a), at most the sum of max(r_i (ub_i - a_i),
    r_i (lb_i - a_i)) over what is hidden. To protect p this must reach its level.
    """

    def __init__(self, data, relations):
        self.data, self.relations = data, relations
        self.high = data["upper_bound"] - data["values"]
        self.low = data["values"] - data["lower_bound"]
        self.frozen = data["status"] == "z"
        cells, upper, lower, width = needs(data)
        place = np.full(len(data["values"]), -1)
        place[cells] = np.arange(len(cells))
        self.place, self.need = place, (upper, lower, width)
        self.turn = data.get("cut_sign", np.ones(len(data["cut_kind"])))

    def sides(self, number):
        """Return the level of a cut, its cells, and the most that room above and below counts."""
        kind, p = int(self.data["cut_kind"][number]), int(self.data["cut_cell"][number])
        require(kind < 3 and self.place[p] >= 0, "a cut for a cell that is not sensitive")
        turn = int(self.turn[number])
        above, below = defaultdict(float), defaultdict(float)
        for sign, side, wanted in ((turn, "up", kind in (0, 2)), (-turn, "down", kind in (1, 2))):
            own = self.data[f"{side}_starts"][number : number + 2]
            require(wanted or own[0] == own[1], "multipliers that a cut does not use")
            if wanted:
                cells, sums, blur = combined(self.data, self.relations, side, number)
                reduced = {p: (LONG(sign), 0.0)}
                for cell, total, error in zip(cells.tolist(), sums, blur, strict=True):
                    r = (sign if cell == p else 0) - total
                    reduced[cell] = r, error + (abs(r) * 1e-15 if cell == p else 0.0)
                for cell, (r, error) in reduced.items():
                    above[cell] += float(max(r + error, 0.0)) * (1 + 1e-15)
                    below[cell] += float(max(error - r, 0.0)) * (1 + 1e-15)
        which = 1 - kind if turn < 0 and kind < 2 else kind
        level = float(self.need[which][self.place[p]]) * NEED_SHARE
        cells = np.array(sorted(above), dtype=np.int64)
        cells = cells[~self.frozen[cells]]
        ends = (np.array([side[cell] for cell in cells.tolist()]) for side in (above, below))
        return level, cells, *ends

    def capacity(self, number):
        """Return the level of a cut, its cells, and the most that hiding each of them counts."""
        level, cells, above, below = self.sides(number)
        high = np.where(above > 0, above * self.high[cells], 0.0)
        low = np.where(below > 0, below * self.low[cells], 0.0)
        return level, cells, (high + low) * (1 + 2.0**-48)


def bound_of_patterns(data, relations):
    """Return what a tree over cells to hide proves: see `PatternPrices`."""
    data, relations = united(data, relations)
    prices = PatternPrices(data, relations)
    bounds = tree_bounds(data, prices)
    require(len(bounds) == 1, "a pattern has one tree")
    weights = data["weights"][data["status"] == "s"]
    value = bounds[0]
    if np.isfinite(value) and np.all(weights == np.rint(weights)):
        value = math.ceil(value - 1e-6)
    fixed = np.sum(data["weights"][np.isin(data["status"], ["u", "m"])])
    return float(fixed) + max(value, 0.0)


class PatternPrices:
    """Weak duality for patterns: min w.y over 0/1 choices and cuts G y >= side."""

    def __init__(self, data, relations):
        cuts, status = Cuts(data, relations), data["status"]
        self.data, self.free = data, status == "s"
        self.fixed = fixed = np.isin(status, ["u", "m"])
        mobile = ~cuts.frozen & (cuts.high + cuts.low > 0)
        count = len(data["cut_kind"])
        rows, cells, terms, self.side = [], [], [], np.zeros(count)
        for number, kind in enumerate(data["cut_kind"].tolist()):
            if kind == 3:
                own, values = self.bridge(cuts, number, fixed, mobile)
            else:
                level, own, room = cuts.capacity(number)
                left = level - np.sum(room[fixed[own]])
                own, room = own[self.free[own]], room[self.free[own]]
                self.side[number] = float(left > 0)
                values = np.minimum(room / left, 1.0) * (1 + 2.0**-48) if left > 0 else 0 * room
            rows.append(np.full(len(own), number))
            cells.append(own)
            terms.append(values)
        none = np.zeros(0, dtype=np.int64)
        self.rows, cells = np.concatenate([none, *rows]), np.concatenate([none, *cells])
        terms = np.concatenate([np.zeros(0), *terms])
        order = np.argsort(cells, kind="stable")
        self.rows, self.terms = self.rows[order], terms[order].astype(LONG)
        n = len(data["values"])
        self.columns = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n))])

    def bridge(self, cuts, number, fixed, mobile):
        """Lay a bridge: a hidden cell that no other one makes up for could be published instead."""
        k, ends = int(self.data["cut_cell"][number]), self.data["down_starts"][number : number + 2]
        require(ends[0] == ends[1], "a bridge has one list of multipliers")
        cells, sums, blur = combined(self.data, cuts.relations, "up", number)
        itself = bool(np.any((cells == k) & (np.abs(sums) > blur)))
        others = cells[(cells != k) & mobile[cells] & ((sums != 0) | (blur > 0))]
        if not itself or not self.free[k] or np.any(fixed[others]):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        return np.append(others, k), np.append(np.ones(len(others)), -1.0)

    def price(self, tree, entries, box):
        """Return a lower bound for the free cells of all patterns in the box; inf if none is."""
        multiplier = multipliers_of_rows(entries, len(self.side))
        require(np.all(multiplier >= 0), "a multiplier below 0")
        low, high = self.fixed.astype(float), (self.free | self.fixed).astype(float)
        for at, (least, most) in box.items():
            require(self.data["choice"][at], "a split at a cell that is no choice")
            low[at], high[at] = max(low[at], least), min(high[at], most)
        if np.any(low > high):
            return np.inf
        terms, found = self.terms * multiplier[self.rows], []
        priced, sizes = row_sums(self.columns, terms), row_sums(self.columns, np.abs(terms))
        constant, counts = np.sum(multiplier * self.side), np.diff(self.columns) + 16
        for weight in (np.where(self.free, self.data["weights"], 0.0), np.zeros(len(low))):
            reduced = weight - priced
            best = np.where(reduced > 0, reduced * low, reduced * high)
            error = np.sum(counts * (sizes + weight)) + (len(counts) + len(multiplier)) * constant
            found.append((np.sum(best) + constant, EPSILON * (error + len(low) * np.sum(sizes))))
        return np.inf if found[1][0] > found[1][1] else settled(*found[0])


def bound_of_widths(data, relations):
    """Return what multipliers of cuts prove of the widths of intervals, at one leaf."""
    cuts, loss = Cuts(data, relations), float(data["loss"]) * (1 + 1e-8)
    single = len(data["node_proof"]) == 1 and len(data["tree_starts"]) == 2 and is_root(data, 0)
    require(single, "widths have one leaf")
    cost = np.where((data["status"] == "m") | cuts.frozen, 0.0, data["weights"])
    reach = np.where(cost > 0, loss / cost, np.inf)  # no intervals of less loss are wider
    ends = [np.where(cuts.frozen, 0.0, np.minimum(side, reach)) for side in (cuts.high, cuts.low)]
    entries = [data[f"proof_{name}"] for name in ("kind", "row", "cell", "data")]
    multiplier = multipliers_of_rows(entries, len(data["cut_kind"]))
    require(np.all(multiplier >= 0), "a multiplier below 0")
    reduced = [cost.astype(LONG) for _ in ends]
    sizes, constant = [cost.astype(LONG) for _ in ends], LONG(0)
    for number in np.flatnonzero(multiplier).tolist():
        level, own, *sides = cuts.sides(number)
        endless = [
            np.any(np.isinf(end[own][side > 0])) for end, side in zip(ends, sides, strict=True)
        ]
        if not any(endless):  # else cells that cost nothing can take all that is needed
            constant += multiplier[number] * level
            for priced, size, side in zip(reduced, sizes, sides, strict=True):
                priced[own] -= multiplier[number] * side
                size[own] += multiplier[number] * side
    error = (len(multiplier) + len(cost) + 16) * EPSILON
    total = constant * (1 - error)
    for priced, size, end in zip(reduced, sizes, ends, strict=True):
        finite = np.where(np.isinf(end), 0.0, end)
        total += np.sum(np.minimum(priced, 0) * finite) - error * np.sum(size * finite)
    return float(total)


# -- the claims, one after the other -------------------------------------------------------------


def check_release(data, relations):
    """Check what is released; return the data as the claims about it need them, and notes."""
    release, status = str(data["release"]), data["status"]
    low, high = data["lower_bound"], data["upper_bound"]
    if release in ("suppression", "intervals"):
        if release == "intervals":
            ends = data["published_lower"], data["published_upper"]
            holds = (ends[0] <= data["values"]) & (data["values"] <= ends[1])
            require(np.all(holds), "an interval does not hold the true value")
            data = data | {"suppressed": ends[1] > ends[0]}
        hidden = data["suppressed"]
        known = (low == high) & (release == "intervals")  # by everybody: its interval is a point
        must = (status == "u") | ((status == "m") & ~known)
        require(np.all(hidden[must]), "a sensitive cell is published")
        require(not np.any(hidden[status == "z"]), "a frozen cell is hidden")
    true = (low <= data["values"]) & (data["values"] <= high)
    counts = release in ("rounding", "small counts")
    require(counts or np.all(true), "the true table breaks its bounds")
    if release == "rounding":
        notes = check_rounded(data, relations)
        return data | {"decimals": np.array(0)}, notes
    if release == "small counts":
        notes = check_small_counts(data, relations)
        data = as_adjustment(data)
        check_limits(data)
        return data, notes
    if release == "adjustment":
        check_limits(data)
    return data, []


def check_protection(data, relations):
    release = str(data["release"])
    if release == "suppression":
        return check_hidden(data, relations)
    if release == "intervals":
        low = np.maximum(data["lower_bound"], data["published_lower"])
        high = np.minimum(data["upper_bound"], data["published_upper"])
        known = {"lower_bound": low, "upper_bound": high}
        notes = check_hidden(data | known, relations)
        return [*notes, (True, "the intruder uses all published intervals as bounds")]
    if release == "small counts":
        check_distance(data, relations)
        return [(True, "each small count is released as 0 or as the base, so that none is told")]
    return check_distance(data, relations)


CHECKS = {"protection": check_protection, "additivity": check_kept, "statistics": check_statistics,
          "loss": check_loss, "bound": check_bound}  # fmt: skip


@np.errstate(all="ignore")
def verify(data, problem=None):
    """Raise RefusedError unless everything is proved; return what was, as lines of text.

    `problem` is the path of a JJ file that must hold the problem of the certificate.
    """
    check_form(data)
    data = {"release": "suppression", "claims": np.array(["protection"])} | data
    relations, tolerance = Relations(data), float(data["tolerance"])
    checked, notes = check_release(data, relations)
    rough = check_additive(relations, data["values"], data["right_hand_side"], tolerance)
    narrower = False
    if problem is not None:
        side, narrower = compare(data, problem)
        rough = check_additive(relations, data["values"], side, tolerance)
    for claim in data["claims"].tolist():
        notes = notes + CHECKS[claim](checked, relations)
    notes += [
        (rough, f"{rough} relations of the true table: to {ADDITIVE_SHARE:g} of their terms"),
        (tolerance, f"additivity of the true table: within {tolerance:g}, as was stated"),
        (narrower, "the external bounds are narrower than in the problem file"),
        (problem is None, "not checked: the problem itself was not compared, no file was given"),
    ]
    lines = [str(text) for shown, text in notes if shown]
    return [f"PROVED: {lines[0]}", *lines[1:]]


# -- the problem file ----------------------------------------------------------------------------


def number(word):
    plain = len(word) <= MOST_DIGITS and re.fullmatch(NUMBER, word, re.ASCII | re.IGNORECASE)
    require(plain, f"the problem file holds {word[:40]!r} in place of a number")
    return float(word)


def count(word):
    require(re.fullmatch(r"\d{1,15}", word, re.ASCII), f"the problem file counts {word[:40]!r}")
    return int(word)


def read_words(path, entries):
    """Return the words of a problem file that is no longer than so many entries can be."""
    limit = min(MOST_BYTES, FREE_BYTES // 4 + MOST_BYTES_EACH * entries)
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as stream:
        raw = stream.read(limit + 1)
    require(len(raw) <= limit, f"the problem file is longer than {limit} bytes")
    return raw.decode().translate(str.maketrans("():", "   ")).split()


def compare(data, path):
    """Require that a JJ file holds the problem of the certificate.

    Returns its right-hand sides, and whether the certificate has narrower external bounds.
    """
    words = read_words(path, len(data["values"]) + len(data["relation_data"]))
    require(len(words) > 2 and words[0] == "0", "the problem file is not a JJ file")
    n = count(words[1])
    end = 2 + 9 * n
    require(n == len(data["values"]) and len(words) > end, "the problem file has other cells")
    cells = [words[2 + column : end : 9] for column in range(9)]
    require(cells[0] == list(map(str, range(n))), "the cells of the problem file are misnumbered")
    counts = str(data["release"]) in ("rounding", "small counts")  # levels and bounds play no part
    frozen = [[letter == "z" for letter in letters] for letters in (cells[3], data["status"])]
    same = frozen[0] == frozen[1] if counts else cells[3] == data["status"].tolist()
    require(same, "statuses differ")
    columns = {"values": 1, "lower_bound": 4, "upper_bound": 5, "lower_protection": 6,
               "upper_protection": 7, "sliding_protection": 8}  # fmt: skip
    theirs = {name: np.array(list(map(number, cells[at]))) for name, at in columns.items()}
    for name, numbers in theirs.items():
        if name == "values" or (name not in ("lower_bound", "upper_bound") and not counts):
            require(np.array_equal(numbers, data[name]), f"{name} differ")
    low, high = theirs["lower_bound"], theirs["upper_bound"]
    if counts:
        low, high = data["lower_bound"], data["upper_bound"]
    require(np.all(data["lower_bound"] >= low), "a lower bound is wider than in the problem")
    require(np.all(data["upper_bound"] <= high), "an upper bound is wider than in the problem")
    narrower = np.any(data["lower_bound"] > low) or np.any(data["upper_bound"] < high)
    side, rest, at = [], words[end + 1 :], 0
    require(count(words[end]) == len(data["right_hand_side"]), "the number of relations differs")
    for row in range(len(data["right_hand_side"])):
        require(len(rest) > at + 1, "the problem file is cut off")
        side.append(number(rest[at]))
        stop = at + 2 + 2 * count(rest[at + 1])
        require(len(rest) >= stop, "the problem file is cut off")
        terms = joined(map(count, rest[at + 2 : stop : 2]), map(number, rest[at + 3 : stop : 2]))
        own = slice(*data["relation_starts"][row : row + 2])
        same = zip(data["relation_cells"][own].tolist(), data["relation_data"][own].tolist(),
                   strict=True)  # fmt: skip
        require(terms == dict(same), f"relation {row} differs")
        at = stop
    require(at == len(rest), "the problem file goes on after its last relation")
    require(np.all(np.isfinite(side)), "the problem file has an infinite right-hand side")
    return np.array(side), narrower


def joined(cells, coefficients):
    """Return the coefficient of each cell; a cell listed twice counts with the decimal sum."""
    terms = {}
    for cell, coefficient in zip(cells, coefficients, strict=True):
        require(math.isfinite(coefficient), "the problem file has an infinite coefficient")
        terms.setdefault(cell, []).append(coefficient)
    sums = {cell: float(sum(Fraction(repr(term)) for term in parts)) if parts[1:] else parts[0]
            for cell, parts in terms.items()}  # fmt: skip
    return {cell: total for cell, total in sums.items() if total != 0}


def main(arguments):
    if len(arguments) not in (1, 2):
        print("usage: python verifier.py CERTIFICATE.npz [ORIGINAL.jj]")
        return 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a file that makes a library wonder is refused
            lines = verify(read(arguments[0]), *arguments[1:])
    except Exception as error:  # whatever is wrong with a file, it proves nothing
        # One line of ASCII, whatever the file made the error say.
        print(f"REFUSED: {ascii(str(error) or type(error).__name__)[1:-1]}")
        return 1
    print("\n  ".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
