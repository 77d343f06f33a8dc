"""Check a suppression certificate without trusting tablecloak: needs numpy only.

Copy this file anywhere and run ``python verifier.py CERTIFICATE.npz [ORIGINAL.jj]``.

What is proved: the certificate holds a table a with relations A a = b, a pattern of hidden cells,
and witnesses d with A d = 0 that move hidden cells only. Whoever sees the published cells cannot
tell a from a + d. So if some d moves a sensitive cell by its level, nobody can rule that out. No
number of another cell softens a check. Read `verify` first; the format is in docs/certificate.md.
"""

import gzip
import math
import re
import sys
import warnings
import zipfile
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np

VERSION = 2
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
TENS = np.array([float(10**decimals) for decimals in range(2 * MOST_DECIMALS + 1)])

# Each array, its type, and its length: a name, and how many more than that.
SCHEMA = {
    "format": ("U", None), "version": ("<i8", None), "requirement": ("U", None),
    "tolerance": ("<f8", None), "values": ("<f8", ("cells", 0)), "status": ("<U1", ("cells", 0)),
    "lower_bound": ("<f8", ("cells", 0)), "upper_bound": ("<f8", ("cells", 0)),
    "lower_protection": ("<f8", ("cells", 0)), "upper_protection": ("<f8", ("cells", 0)),
    "sliding_protection": ("<f8", ("cells", 0)), "suppressed": ("|b1", ("cells", 0)),
    "right_hand_side": ("<f8", ("relations", 0)), "relation_starts": ("<i8", ("relations", 1)),
    "relation_cells": ("<i8", ("terms", 0)), "relation_data": ("<f8", ("terms", 0)),
    "witness_starts": ("<i8", ("witnesses", 1)), "witness_cells": ("<i8", ("moves", 0)),
    "witness_data": ("<f8", ("moves", 0)), "upper_witness": ("<i8", ("sensitive", 0)),
    "lower_witness": ("<i8", ("sensitive", 0)), "intruder_names": ("U", ("insiders", 0)),
    "intruder_starts": ("<i8", ("insiders", 1)), "intruder_cells": ("<i8", ("facts", 0)),
    "intruder_lower": ("<f8", ("facts", 0)), "intruder_upper": ("<f8", ("facts", 0)),
    "claim_starts": ("<i8", ("insiders", 1)), "claim_index": ("<i8", ("claims", 0)),
    "claim_upper": ("<i8", ("claims", 0)), "claim_lower": ("<i8", ("claims", 0)),
}  # fmt: skip

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


def read(path):
    """Return the arrays of a certificate by name; exactly those of the schema."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        expected = sorted(f"{name}.npy" for name in SCHEMA)
        require(sorted(member.filename for member in members) == expected,
                "an array is missing, unknown or stored twice")  # fmt: skip
        limit = min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * Path(path).stat().st_size))
        total = sum(member.file_size for member in members)
        require(total <= limit, f"{total} bytes when unpacked, more than {limit}")
        return {member.filename[:-4]: read_array(archive, member) for member in members}


def read_array(archive, member):
    """Read one member that is a plain array of the type that the schema names."""
    name = member.filename[:-4]
    kind, length = SCHEMA[name]
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
    require(data["format"] == "tablecloak suppression certificate", "not a certificate")
    require(data["version"] == VERSION, "unknown version")
    require(str(data["requirement"]) in REQUIREMENTS, "unknown requirement")
    sizes = {"sensitive": np.sum(data["status"] == "u")}
    for name, (_, length) in SCHEMA.items():
        if length is not None:
            size = len(data[name]) - length[1]
            require(size == sizes.setdefault(length[0], size) >= 0, f"{name} has a wrong length")
    require(np.all(np.isin(data["status"], list("sumz"))), "unknown status")
    levels = ("lower_protection", "upper_protection", "sliding_protection")
    for name in (*levels, "tolerance", "values", "right_hand_side", "relation_data",
                 "witness_data"):  # fmt: skip
        require(np.all(np.isfinite(data[name])), f"{name} holds something that is no number")
    for name in (*levels, "tolerance"):
        require(np.all(data[name] >= 0), f"{name} is negative")
    n, witnesses = sizes["cells"], sizes["witnesses"]
    for name, within in (("relation", n), ("witness", n), ("intruder", n)):
        check_lists(data[f"{name}_starts"], data[f"{name}_cells"], within, name)
    check_lists(data["claim_starts"], data["claim_index"], sizes["sensitive"], "claim")
    require(np.all(data["relation_data"] != 0), "a relation holds a coefficient of 0")
    require(np.all(data["witness_data"] != 0), "a witness lists a cell that it does not move")
    for name in ("upper_witness", "lower_witness", "claim_upper", "claim_lower"):
        require(np.all((data[name] >= -1) & (data[name] < witnesses)), f"{name}: no such witness")
    names = data["intruder_names"].tolist()
    require(all(names) and len(set(names)) == len(names), "two insiders have the same name")


def check_lists(starts, members, end, name):
    """Require lists one after the other, each increasing and with members from 0 to end - 1."""
    require(np.all((starts >= 0) & (starts <= len(members))), f"{name}_starts out of range")
    require(np.all(np.diff(starts) >= 0), f"{name}_starts do not increase")
    require(starts[0] == 0 and starts[-1] == len(members), f"{name}_starts leave something out")
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
    require(np.all((low <= values) & (values <= high)), "the true table breaks its bounds")
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


@np.errstate(all="ignore")
def verify(data, problem=None):
    """Raise RefusedError unless everything is proved; return what was, as lines of text.

    `problem` is the path of a JJ file that must hold the problem of the certificate.
    """
    check_form(data)
    hidden, status, values = data["suppressed"], data["status"], data["values"]
    require(np.all(hidden[(status == "u") | (status == "m")]), "a sensitive cell is published")
    require(not np.any(hidden[status == "z"]), "a frozen cell is hidden")
    relations, tolerance = Relations(data), float(data["tolerance"])
    rough = check_additive(relations, values, data["right_hand_side"], tolerance)
    narrower = False
    if problem is not None:
        side, narrower = compare(data, problem)
        rough = check_additive(relations, values, side, tolerance)
    need = needs(data)
    cells, level = need[0], least_asked(need)
    blurred = rounding_error(values[cells]) > PRECISION_SHARE * level
    blurred = cells[blurred & (level > 0)]
    few = f"the level of cell {blurred[:1]} is below the precision of its value"
    require(not len(blurred), few)
    check_peeling(relations, hidden, cells, level)
    check_bounds(data)
    check_effort(data, relations, level)
    real = check_relations(data, relations, level)
    keys = list_numbers(data["witness_starts"]) * len(values) + data["witness_cells"]
    check_reach(reach(data, keys, cells, data["upper_witness"]),
                -reach(data, keys, cells, data["lower_witness"]), need, "everybody")  # fmt: skip
    (insiders, cut), idle = check_insiders(data, keys, need), np.sum(level == 0)
    asked = str(data["requirement"])
    notes = [
        (True, f"PROVED: {len(cells)} sensitive cells, {asked}: each can lie"),
        (True, REQUIREMENTS[asked]),
        (idle, f"of them, {idle} have no level, so that nothing was asked"),
        (True, f"against everybody and {insiders} different insiders"),
        (cut, f"in {cut} cases a level is cut to what insiders knew of the cell before"),
        (True, f"if nobody learns more of the {np.sum(hidden)} hidden cells, of {len(values)}"),
        (insiders, "not checked: who the insiders are, and whether they know more"),
        (real, f"{real} relations with real coefficients: as if these were known to 9 digits"),
        (rough, f"{rough} relations of the true table: to {ADDITIVE_SHARE:g} of their terms"),
        (tolerance, f"additivity of the true table: within {tolerance:g}, as was stated"),
        (narrower, "the external bounds are narrower than in the problem file"),
        (problem is None, "not checked: the problem itself was not compared, no file was given"),
    ]
    return [text for shown, text in notes if shown]


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
    require(cells[3] == data["status"].tolist(), "statuses differ")
    columns = {"values": 1, "lower_bound": 4, "upper_bound": 5, "lower_protection": 6,
               "upper_protection": 7, "sliding_protection": 8}  # fmt: skip
    theirs = {name: np.array(list(map(number, cells[at]))) for name, at in columns.items()}
    for name, numbers in theirs.items():
        if name not in ("lower_bound", "upper_bound"):
            require(np.array_equal(numbers, data[name]), f"{name} differ")
    low, high = theirs["lower_bound"], theirs["upper_bound"]
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
