"""Check a certificate without trusting tablecloak: needs numpy only.

Copy this file anywhere and run ``python verifier.py CERTIFICATE.npz [ORIGINAL.jj]``.

A certificate holds a table a with relations A a = b, what is released of it (a pattern of hidden
cells, intervals, an adjusted or rounded table) and the proofs of some claims about that release:

protection  A witness d, A d = 0, moves hidden cells only, so that nobody can distinguish a from
            a + d. If it moves a sensitive cell by its level, nobody can exclude that value. An
            adjusted cell is protected if it lies at least its level from its true value.
additivity  The released table satisfies the relations like the true one.
statistics  Means, slopes and variances of the adjusted table are those of the true one.
association Covariances, correlations and slopes between two variables are those of the true table.
loss        The cost of the release, computed from its weights.
bound       No release costs less: the leaves of a search tree cover all releases, and multipliers
            at each leaf prove a bound for it (weak duality).

The tolerance of a check never depends on numbers of other cells; what overflows, or is no number,
proves nothing. docs/certificate.md is the specification and says in which order to read this file;
docs/theorems.md proves what checks rest on, under the numbers that are named here.
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
MOST_BYTES = 2**31  # largest size of all arrays together, and of a problem file
MOST_RATIO, FREE_BYTES = 40, 2**26  # arrays take at most 40 times the file's bytes, or 64 MiB
MOST_LETTERS = 200  # longest name of an insider
MOST_DIGITS, MOST_BYTES_EACH = 400, 1000  # problem file: longest number; bytes per cell or term
STEPS_A_MINUTE = 2.0**33  # numbers that numpy handles; a check has a minute, or one for 8 MiB
STEPS_EACH = 10**4  # steps that a few calls of numpy take, however short their arrays are
MOST_LONG = 2**21  # most products whose sums are not exact in floats
MOST_TERMS = 2**23  # most terms of all combined relations
MOST_WHOLE = 2.0**40  # largest sum of terms of a combined relation: all such sums are exact
MOST_DECIMALS = 12  # most decimals of a coefficient or value that is read as a decimal number
REAL_SHARE = 1e-9  # accepted error of other coefficients, as a share of each; and of a level
NEED_SHARE = 1 - 1e-9  # share of a level that must be reached: figures are binary fractions
LEAST_DIGIT = 1e-3  # largest excess of a level over a multiple of the last digit that is dust
ROOM_SHARE = 1e-9  # share of a room that may be exceeded: shrunk by 1e-9, d keeps A d = 0
LAST_PLACES = 4  # precision of a number, in units of its last place
PRECISION_SHARE = 1e-6  # largest such error of a sensitive cell, as a share of its level
ADDITIVE_SHARE = 1e-9  # accepted error of the true table, as a share of the size of a relation
NUMBER = r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)"  # a number in a problem file
NO_DECIMALS = 99  # `decimals` of an adjusted table without a last digit
LONG = np.longdouble  # if it is as short as a double, the error bounds below are larger, but valid
EPSILON = float(np.finfo(LONG).eps)
TENS = np.array([float(10**decimals) for decimals in range(2 * MOST_DECIMALS + 1)])


class RefusedError(Exception):
    """The certificate does not prove what it claims."""


class UnknownError(RefusedError):
    """The certificate claims something that no check below covers."""


def require(condition, reason, error=RefusedError):
    if not condition:
        raise error(reason)


class Effort:
    """The steps that are left to a check: a small file can ask for a very long one."""

    def __init__(self, minutes=1):
        self.minutes, self.left = minutes, minutes * STEPS_A_MINUTE

    def __call__(self, steps):
        self.left -= float(steps)
        require(self.left >= 0, f"the check takes more than --minutes={self.minutes:g}: raise it")


def with_errors(check):
    """Refuse what overflows, divides by 0 or is no number anywhere in a check."""

    def run(*arguments, **options):
        try:
            with np.errstate(all="raise", under="ignore"):
                return check(*arguments, **options)
        except FloatingPointError as error:
            raise RefusedError(f"numbers that cannot be computed with: {error}") from error

    return run


# -- the file: nothing is read before its size and type are known --------------------------------


def arrays(text):
    """Return a schema from a text of arrays ``name:type:length:entries``; length ``.``: one value.

    Entries state a condition: ``>=0``; ``!=0``; ``open``: may be infinite; ``any``: no condition;
    ``0..cells``: from 0 to below the number of cells; ``starts-terms``: the positions at which
    lists begin, which together hold all terms; ``list-cells``: the members of such lists, in
    increasing order. Floats without a condition are finite.
    """
    parts = (f"{one}::".split(":") for one in text.split())
    return {name: (kind, length, entries) for name, kind, length, entries, *_ in parts}


TYPES = {"f8": "<f8", "i8": "<i8", "b1": "|b1", "U1": "<U1"}
HEADER = arrays("format:U:. version:i8:. release:U:. claims:U:made")
PROBLEM = arrays("""
    tolerance:f8:.:>=0 values:f8:cells status:U1:cells lower_bound:f8:cells:open
    upper_bound:f8:cells:open lower_protection:f8:cells:>=0 upper_protection:f8:cells:>=0
    sliding_protection:f8:cells:>=0 right_hand_side:f8:relations
    relation_starts:i8:relations+1:starts-terms relation_cells:i8:terms:list-cells
    relation_data:f8:terms:!=0""")
RELEASES = {  # the arrays of each kind of release
    "suppression": arrays("requirement:U:. suppressed:b1:cells"),
    "intervals": arrays("""requirement:U:. published_lower:f8:cells:open
        published_upper:f8:cells:open"""),
    "adjustment": arrays("""published:f8:cells decimals:i8:. sensitive_limit:f8:.:open>=0
        capacity_up:f8:cells:open>=0 capacity_down:f8:cells:open>=0"""),
    "rounding": arrays("published:f8:cells base:i8:. steps:i8:."),
    "small counts": arrays("published:f8:cells base:i8:."),
}
WITNESSES = arrays("""
    witness_starts:i8:witnesses+1:starts-moves witness_cells:i8:moves:list-cells
    witness_data:f8:moves:!=0 upper_witness:i8:sensitive:-1..witnesses
    lower_witness:i8:sensitive:-1..witnesses intruder_names:U:insiders
    intruder_starts:i8:insiders+1:starts-facts intruder_cells:i8:facts:list-cells
    intruder_lower:f8:facts:any intruder_upper:f8:facts:any
    claim_starts:i8:insiders+1:starts-claims claim_index:i8:claims:list-sensitive
    claim_upper:i8:claims:-1..witnesses claim_lower:i8:claims:-1..witnesses""")
LEFT_OUT = arrays("""
    open_starts:i8:insiders+1:starts-opens open_index:i8:opens:list-sensitive""")
STATISTICS = arrays("""
    statistic_kind:U:statistics statistic_slack:f8:statistics:>=0 statistic_target:f8:statistics
    statistic_starts:i8:statistics+1:starts-coefficients
    statistic_cells:i8:coefficients:list-cells statistic_data:f8:coefficients""")
ASSOCIATIONS = arrays("""
    association_kind:U:associations association_tolerance:f8:associations:>=0
    association_starts:i8:associations+1:starts-matches association_first:i8:matches:0..cells
    association_second:i8:matches:0..cells""")
LOSS = arrays("measure:U:. weights:f8:cells:>=0 loss:f8:.:>=0")
TREE = arrays("""
    bound:f8:.:>=0 tree_starts:i8:trees+1:starts-nodes node_parent:i8:nodes:-1..nodes
    node_cell:i8:nodes:-1..cells node_is_lower:b1:nodes node_limit:i8:nodes
    node_proof:i8:nodes:-1..proofs proof_starts:i8:proofs+1:starts-entries proof_kind:i8:entries
    proof_row:i8:entries proof_cell:i8:entries:-1..cells proof_data:f8:entries:!=0""")
ROWS = arrays("""
    cut_kind:i8:cuts:0..5 cut_cell:i8:cuts:0..cells
    up_starts:i8:cuts+1:starts-ups up_relations:i8:ups:list-relations up_data:f8:ups
    down_starts:i8:cuts+1:starts-downs down_relations:i8:downs:list-relations
    down_data:f8:downs""")
SUMS = arrays("""
    sum_starts:i8:cuts+1:starts-summands sum_cuts:i8:summands:list-cuts sum_data:f8:summands:!=0
    turned_starts:i8:cuts+1:starts-turns turned_cells:i8:turns:list-cells""")
PART, DIRECTION = arrays("part:i8:cells:-1..trees"), arrays("direction:i8:cells:-1..2")
COMBINED = arrays("""
    combined_starts:i8:combinations+1:starts-members combined_relations:i8:members:list-relations
    combined_data:f8:members:!=0""")
OPTIONAL = ("sum_starts", "open_starts", "combined_starts", "part")
ZERO = {"relation_data": "a relation holds a coefficient of 0",
        "witness_data": "a witness lists a cell that it does not move"}  # fmt: skip
CLAIMS = ("protection", "additivity", "statistics", "association", "loss", "bound")
MEASURES = {"suppression": ("weights",), "intervals": ("widths",), "rounding": ("L1",),
            "adjustment": ("L1", "L2", "Linf"), "small counts": ("L1",)}  # fmt: skip
REQUIREMENTS = {
    "two-sided": "its upper level above the value, its lower level below, in all its sliding level",
    "width": "a width of both levels together and of its sliding level; ONE SIDE MAY BE CLOSE",
    "upper": "its upper level above the value; NOTHING IS ASKED BELOW",
}


def schema_of(release, claims, names=()):
    """Return the schema of a certificate with these claims, whose arrays have these names."""
    has_sums, has_open, has_combined, has_part = (name in names for name in OPTIONAL)
    require(release in RELEASES, "unknown kind of release")
    known = [claim for claim in CLAIMS if claim in claims]
    require(claims and list(claims) == known, "unknown claims, or not in their order")
    hidden = release in ("suppression", "intervals")
    kept = {"statistics", "association"} & set(claims)
    require(not hidden or not kept | {"additivity"} & set(claims), "a claim does not fit")
    require(release != "rounding" or "protection" not in claims, "rounding proves no protection")
    require(release == "adjustment" or not kept, "only adjustments keep those")
    require("bound" not in claims or "loss" in claims, "a bound on a loss that is not claimed")
    require(not has_open or (hidden and "protection" in claims), "pairs of no insiders")
    require(not has_sums or (release == "suppression" and "bound" in claims), "sums of no rows")
    fits = release == "adjustment" and "bound" in claims
    require(not has_combined or fits, "combined relations of no bound")
    tree = TREE | (SUMS if has_sums else {}) | (COMBINED if has_combined else {})
    tree |= ROWS if hidden else {} if release == "rounding" else PART | DIRECTION
    tree |= PART if has_part and release == "suppression" else {}
    witnesses = WITNESSES | (LEFT_OUT if has_open else {})
    groups = {"protection": witnesses if hidden else {}, "additivity": {}, "loss": LOSS,
              "statistics": STATISTICS, "association": ASSOCIATIONS, "bound": tree}  # fmt: skip
    chosen = {name: kind for claim in claims for name, kind in groups[claim].items()}
    return HEADER | PROBLEM | RELEASES[release] | chosen


OLD_SCHEMA = {name: kind for name, kind in schema_of("suppression", ["protection"]).items()
              if name not in ("release", "claims")}  # fmt: skip


def read(path):
    """Return the arrays of a certificate by name, which must be exactly those of the schema."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        limit = min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * Path(path).stat().st_size))
        total = sum(member.file_size for member in members)
        require(total <= limit, f"{total} bytes when unpacked, more than {limit}")
        schema = OLD_SCHEMA
        if {"release.npy", "claims.npy"} <= set(names):
            release, claims = (read_array(archive, archive.getinfo(f"{name}.npy"), HEADER)
                               for name in ("release", "claims"))  # fmt: skip
            schema = schema_of(str(release), claims.tolist(), [name[:-4] for name in names])
        exactly = sorted(names) == sorted(f"{name}.npy" for name in schema)
        require(exactly, "an array is missing, unknown or stored twice")
        return {member.filename[:-4]: read_array(archive, member, schema) for member in members}


def read_array(archive, member, schema):
    """Return one member of the file, which must be a plain array of the schema's type."""
    name = member.filename[:-4]
    kind, length, _ = schema[name]
    packed = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    require(packed and not member.flag_bits & 1, f"{name} is packed in an unknown way")
    with archive.open(member) as stream:
        require(np.lib.format.read_magic(stream) == (1, 0), f"{name} is no array of version 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=1000)
        text = dtype.str[:2] == "<U" and 4 <= dtype.itemsize <= 4 * MOST_LETTERS
        good = text if kind == "U" else dtype.str == TYPES[kind]
        require(good and dtype.names is None, f"{name} has the type {dtype.str[:40]}")
        require(not fortran and len(shape) == (length != "."), f"{name} has a wrong shape")
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
    """Require that lengths agree, words are known and numbers are in their ranges."""
    word, version, schema = "tablecloak suppression certificate", OLD_VERSION, OLD_SCHEMA
    if "release" in data:
        word, version = "tablecloak certificate, secret", VERSION
        schema = schema_of(str(data["release"]), data["claims"].tolist(), data)
    require(data["format"] == word, "not a certificate")
    require(data["version"] == version, "unknown version")
    sizes = {"sensitive": int(np.sum(data["status"] == "u"))}
    for name, (_, length, _) in schema.items():
        if length != ".":
            what, _, more = length.partition("+")
            size = len(data[name]) - int(more or 0)
            require(size == sizes.setdefault(what, size) >= 0, f"{name} has a wrong length")
    for name, (kind, _, entries) in schema.items():
        if kind in ("f8", "i8"):
            check_entries(data, name, entries, sizes)
    check_words(data, schema)
    for name in {"proof_data", "up_data", "down_data", "sum_data", "combined_data"} & schema.keys():
        require(np.all(np.abs(data[name]) <= 1e30), f"{name}: a multiplier above 1e+30")
    if "bound" in schema:
        check_tree_form(data, sizes)


def check_entries(data, name, entries, sizes):
    """Require the schema's condition on the entries of an array."""
    array, (rule, _, of) = data[name], entries.partition("-" if entries[:1] in "sl" else "..")
    if array.dtype.kind == "f":
        good = ~np.isnan(array) if "open" in entries else np.isfinite(array) | (entries == "any")
        require(np.all(good), f"{name} holds something that is no number")
        require(not entries.endswith(">=0") or np.all(array >= 0), f"{name} is negative")
        require(entries != "!=0" or np.all(array != 0), ZERO.get(name, "a multiplier of 0"))
    elif rule == "starts":
        require(np.all((array >= 0) & (array <= sizes[of])), f"{name} out of range")
        require(np.all(np.diff(array) >= 0), f"{name} do not increase")
        require(array[0] == 0 and array[-1] == sizes[of], f"{name} leave something out")
    elif of:
        end = int(of) if of.isdigit() else sizes[of]
        low = 0 if rule == "list" else int(rule)
        short = name.partition("_")[0]
        found = "no such witness" if of == "witnesses" else "a number is out of range"
        inside = np.all((array >= low) & (array < end))
        require(inside, f"{short if rule == 'list' else name}: {found}")
        if rule == "list":
            same_list = np.diff(list_numbers(data[f"{short}_starts"])) == 0
            rising = np.all(np.diff(array)[same_list] > 0)
            require(rising, f"{short}: numbers are twice or out of order")


def check_words(data, schema):
    """Require that words are known; the reason of a refusal says which claims are not proved."""
    asked = str(data.get("requirement", "two-sided"))[:MOST_LETTERS]
    reason = f"unknown requirement {asked!r}: no check here is for it, so that the claim of "
    reason += "protection is not proved, nor one of a bound"
    require(asked in REQUIREMENTS, reason, UnknownError)
    require(np.all(np.isin(data["status"], list("sumz"))), "unknown status")
    if "intruder_names" in schema:
        names = data["intruder_names"].tolist()
        require(all(names) and len(set(names)) == len(names), "two insiders have the same name")
    if "measure" in schema:
        measure, release = str(data["measure"]), str(data["release"])
        reason = f"unknown measure {measure!r}: no check here is for it, so that the claims "
        reason += "of a loss and of a bound on it are not proved"
        require(measure in itertools.chain(*MEASURES.values()), reason, UnknownError)
        require(measure in MEASURES[release], "a loss that does not fit the release")


def check_tree_form(data, sizes):
    """Require that each proof is used, and that the multipliers of a leaf are in order."""
    used = data["node_proof"][data["node_proof"] >= 0]
    require(np.array_equal(np.unique(used), np.arange(sizes["proofs"])), "a proof that is not used")
    require(np.all(np.abs(data["node_limit"]) < 2**53), "node_limit is out of range")
    cell, row, kind = (data[f"proof_{name}"] for name in ("cell", "row", "kind"))
    columns = [cell, row, kind, list_numbers(data["proof_starts"])]
    rising = np.array_equal(np.lexsort(columns), np.arange(sizes["entries"]))
    rising &= bool(np.all(np.any(np.diff(np.array(columns), axis=1) != 0, axis=0)))
    require(rising, "the multipliers of a leaf are twice or out of order")


def list_numbers(starts):
    """Return the number of its list for each member of the lists."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def positions(starts, numbers):
    """Return the positions of the members of some lists, one list after the other."""
    length = starts[numbers + 1] - starts[numbers]
    shift = starts[numbers] - np.cumsum(length) + length
    return np.arange(np.sum(length)) + np.repeat(shift, length)


def locate(starts, members, lists, wanted):
    """Return the positions of members, each sought in a list of its own by halving; -1: none."""
    low, high, end = starts[lists].copy(), starts[lists + 1].copy(), starts[lists + 1]
    while np.any(open_ := low < high):
        middle = np.where(open_, (low + high) // 2, 0)
        less = open_ & (members[middle] < wanted)
        low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
    inside = np.flatnonzero(low < end)
    low[inside[members[low[inside]] != wanted[inside]]] = -1
    return np.where(low < end, low, -1)


def starts_of(numbers, count):
    """Return the position of the first entry with each number, if entries are sorted by it."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=count))])


def row_sums(starts, terms):
    """Return the sum of each of some consecutive lists, in the precision of the terms."""
    total, full = np.zeros(len(starts) - 1, terms.dtype), np.diff(starts) > 0
    total[full] = np.add.reduceat(terms, starts[:-1][full]) if np.any(full) else 0
    return total


# -- the problem, compared with its file ---------------------------------------------------------


def number(word):
    plain = len(word) <= MOST_DIGITS and re.fullmatch(NUMBER, word, re.ASCII | re.IGNORECASE)
    require(plain, f"the problem file holds {word[:40]!r} in place of a number")
    return float(word)


def count(word):
    require(re.fullmatch(r"\d{1,15}", word, re.ASCII), f"the problem file counts {word[:40]!r}")
    return int(word)


def read_words(path, entries):
    """Return the words of a problem file; refuse one too long for its number of entries."""
    limit = min(MOST_BYTES, FREE_BYTES // 4 + MOST_BYTES_EACH * entries)
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as stream:
        raw = stream.read(limit + 1)
    require(len(raw) <= limit, f"the problem file is longer than {limit} bytes")
    return raw.decode("utf-8-sig").translate(str.maketrans("():", "   ")).split()


def compare(data, path):
    """Require that a JJ file holds the problem of the certificate, but for sums as last cells.

    Return its right-hand sides, and notes on what differs.
    """
    words = read_words(path, len(data["values"]) + len(data["relation_data"]))
    require(len(words) > 2 and words[0] == "0", "the problem file is not a JJ file")
    n = count(words[1])
    end, more = 2 + 9 * n, len(data["values"]) - n
    require(more >= 0 and len(words) > end, "the problem file has other cells")
    relations = len(data["right_hand_side"]) - more
    cells = [words[2 + column : end : 9] for column in range(9)]
    require(cells[0] == list(map(str, range(n))), "the cells of the problem file are misnumbered")
    own, small = data["status"][:n].tolist(), str(data["release"]) == "small counts"
    counts = small or str(data["release"]) == "rounding"  # no levels or bounds are used
    same = (a == b or (small and "z" not in (a, b)) for a, b in zip(cells[3], own, strict=True))
    require(all(same), "statuses differ")
    columns = {"values": 1, "weights": 2, "lower_bound": 4, "upper_bound": 5,
               "lower_protection": 6, "upper_protection": 7, "sliding_protection": 8}  # fmt: skip
    theirs = {name: np.array(list(map(number, cells[at]))) for name, at in columns.items()}
    for name, numbers in theirs.items():
        if name == "values" or (name.endswith("_protection") and not counts):
            require(np.array_equal(numbers, data[name][:n]), f"{name} differ")
    ours = data["lower_bound"][:n], data["upper_bound"][:n]
    low, high = ours if counts else (theirs["lower_bound"], theirs["upper_bound"])
    require(np.all(ours[0] >= low), "a lower bound is wider than in the problem")
    require(np.all(ours[1] <= high), "an upper bound is wider than in the problem")
    narrower = np.any(ours[0] > low) or np.any(ours[1] < high)
    require(count(words[end]) == relations, "the number of relations differs")
    side = compare_relations(data, words[end + 1 :], relations)
    sums, single = check_further(data, n, relations)
    parts = (word.lower().partition("e") for word in cells[1])  # digits, and a power of ten
    shown = (len(one[0].partition(".")[2].rstrip("0")) - int(one[2] or 0) for one in parts)
    coarse = int(data.get("decimals", NO_DECIMALS)) < max(shown, default=0)
    apart = int(np.sum((np.array(cells[3]) == "u") & ~is_sensitive(data)[:n]))
    return np.append(side, np.zeros(more)), [
        (narrower, "the external bounds are narrower than in the problem file"),
        (sums, f"{sums} sums of cells of the problem file are protected as well, at levels of"
               " the certificate"),
        (single, f"{single} hidden cells of the problem file have further levels of the"
                 " certificate"),
        (more and "bound" in data["claims"], "the bound is for releases that protect sums too"),
        (coarse, "values of the problem file are written with more digits than a release has"),
        (apart, f"NOTHING is claimed of {apart} sensitive cells that are no small counts"),
    ]  # fmt: skip


def check_further(data, n, relations):
    """Require that cells from the n-th on are sums of cells, by one further relation each.

    They are sensitive, so that witnesses prove them, weigh nothing: the loss is the file's, and
    have as much room as their cells. Return how many different ones have several hidden cells, and
    how many hidden cells stand alone in one.
    """
    more, starts = len(data["values"]) - n, data["relation_starts"]
    if not more:
        return 0, 0
    require(str(data["release"]) == "suppression", "the problem file has other cells")
    require("protection" in data["claims"], "further cells without a claim of protection")
    inner = data["relation_cells"][: starts[relations]]
    require(np.all(inner < n), "a relation of the problem file has further cells")
    cells, *need = needs(data)
    asked = np.isin(np.arange(n, n + more), cells[np.max(need, axis=0) > 0])
    require(np.all(asked), "a further cell that is not sensitive, or has no level")
    require(not np.any(data.get("weights", np.zeros(n))[n:]), "a further cell has a weight")
    cells, terms = (data[f"relation_{name}"][starts[relations] :] for name in ("cells", "data"))
    place = list_numbers(starts[relations:])
    last = cells == n + place
    defined = np.array_equal(place[last], np.arange(more)) and np.all(cells[~last] < n)
    defined &= np.array_equal(terms, np.where(last, -1, 1))
    defined &= not np.any(data["right_hand_side"][relations:])
    require(defined, "a further cell is no sum of cells of the problem file")
    cells, place = cells[~last], place[~last]
    hidden = data["suppressed"][cells]
    has_hidden = np.bincount(place, hidden, more) > 0
    require(np.all(has_hidden), "a further cell is no sum of cells with a hidden one")
    for bound in (data["lower_bound"], data["upper_bound"]):
        far, error = np.abs(bound - data["values"]), last_places(bound, data["values"])
        least = np.bincount(place, far[cells], more) - np.bincount(place, error[cells], more)
        require(np.all(far[n:] >= least - error[n:]), "a sum with less room than its cells")
    parts = np.split(cells[hidden], np.flatnonzero(np.diff(place[hidden])) + 1)
    several = len({part.tobytes() for part in parts if len(part) > 1})
    return several, len({part.tobytes() for part in parts}) - several


def compare_relations(data, rest, n_relations):
    """Require that a problem file has the first relations; return their right-hand sides."""
    side, at = [], 0
    for row in range(n_relations):
        require(len(rest) > at + 1, "the problem file is cut off")
        side.append(number(rest[at]))
        stop = at + 2 + 2 * count(rest[at + 1])
        require(len(rest) >= stop, "the problem file is cut off")
        terms = joined(map(count, rest[at + 2 : stop : 2]), map(number, rest[at + 3 : stop : 2]))
        own = slice(*data["relation_starts"][row : row + 2])
        cells, coefficients = (data[f"relation_{name}"][own].tolist() for name in ("cells", "data"))
        require(terms == dict(zip(cells, coefficients, strict=True)), f"relation {row} differs")
        at = stop
    require(at == len(rest), "the problem file goes on after its last relation")
    require(np.all(np.isfinite(side)), "the problem file has an infinite right-hand side")
    return np.array(side)


def joined(cells, coefficients):
    """Return the coefficient of each cell; those of a cell listed twice are added as decimals."""
    terms = {}
    for cell, coefficient in zip(cells, coefficients, strict=True):
        require(math.isfinite(coefficient), "the problem file has an infinite coefficient")
        terms.setdefault(cell, []).append(coefficient)
    sums = {cell: float(sum(Fraction(repr(term)) for term in parts)) if parts[1:] else parts[0]
            for cell, parts in terms.items()}  # fmt: skip
    return {cell: total for cell, total in sums.items() if total != 0}


# -- relations, and sums that do not round -------------------------------------------------------


class Relations:
    """Relations by row and by cell; decimal coefficients are scaled to whole numbers."""

    def __init__(self, data, effort=None):
        self.effort = effort or Effort()
        self.starts, self.cells = data["relation_starts"], data["relation_cells"]
        self.count, self.row = len(self.starts) - 1, list_numbers(self.starts)
        self.given = data["relation_data"]
        places = np.zeros(self.count, dtype=np.int64)
        np.maximum.at(places, self.row, decimals_of(self.given, 2.0**31, 0))
        self.decimals = np.minimum(places, MOST_DECIMALS)
        whole = np.rint(self.given * TENS[self.decimals[self.row]])
        self.real = (places > MOST_DECIMALS) | (self.sums(np.abs(whole) >= 2.0**31) > 0)
        self.whole = np.where(self.real[self.row], self.given, whole)
        self.unit = np.where(self.real, 1.0, TENS[self.decimals])  # whole = given * unit
        self.summed = ~self.real | (self.sums(self.given != np.rint(self.given)) == 0)
        self.order = np.argsort(self.cells, kind="stable")
        self.column_starts = starts_of(self.cells, len(data["values"]))
        self.column_row, self.column_whole = self.row[self.order], self.whole[self.order]
        self.lengths, self.column_lengths = np.diff(self.starts), np.diff(self.column_starts)

    def sums(self, terms):
        """Return the sum over each relation of terms, one for each coefficient."""
        return np.bincount(self.row, terms, minlength=self.count)

    def adds_up(self, digits, side, among):
        """Return whether whole numbers, one for each coefficient, add up to a side exactly."""
        terms = self.whole * digits
        good = self.sums(terms) == side
        size = self.sums(np.abs(terms)) + np.abs(side)
        for r in np.flatnonzero(among & (size >= 2.0**53)):  # smaller sums are exact in floats
            self.effort(STEPS_EACH + 100.0 * (self.starts[r + 1] - self.starts[r]))
            own = slice(*self.starts[r : r + 2])
            pairs = zip(self.whole[own].tolist(), digits[own].tolist(), strict=True)
            good[r] = sum(int(c) * int(v) for c, v in pairs) == int(side[r])
        return good


def decimals_of(numbers, largest, places):
    """Return the decimals with which numbers can be written, within some last places; 13: more.

    `largest` limits the number of digits, since every float is a decimal number of many digits.
    """
    found = np.full(len(numbers), MOST_DECIMALS + 1)
    for decimals in range(MOST_DECIMALS, -1, -1):
        whole = np.rint(numbers * TENS[decimals])
        near = np.abs(whole / TENS[decimals] - numbers) <= places * np.spacing(np.abs(numbers))
        found[near & (np.abs(whole) < largest)] = decimals
    return found


def check_additive(relations, values, side, tolerance, other=None):
    """Require A a = b: exactly for decimal numbers, and up to rounding errors for others.

    Other right-hand sides may differ by what binary sums of decimal numbers leave. Return
    the number of relations off by more than rounding that are not decimal, or whose side is rough:
    its last digits may be lost among the whole numbers of the others.
    """
    cells, row = relations.cells, relations.row
    off = np.abs(relations.sums(relations.given * values[cells]) - side)
    size = relations.sums(np.abs(relations.given * values[cells])) + np.abs(side)
    require(np.all(np.isfinite(size)), "the numbers of the true table are too large")
    dust, rounding = ADDITIVE_SHARE * size, (relations.lengths + 2) * 2.0**-52 * size
    whole_values = (values == np.rint(values)) & (np.abs(values) < 2.0**53)
    written = np.where(whole_values, 0, decimals_of(values, 2.0**40, 2))
    places, own = np.zeros(relations.count, dtype=np.int64), decimals_of(side, 2.0**40, 2)
    np.maximum.at(places, row, written[cells])
    rough = own > MOST_DECIMALS  # such a side counts as a decimal number if it is fine enough
    places = np.maximum(places, np.where(rough, 0, own))
    decimal = ~relations.real & (places <= MOST_DECIMALS)
    places = np.minimum(places, MOST_DECIMALS)
    written, most = np.minimum(written, MOST_DECIMALS), places + relations.decimals
    own = np.where(rough, most, own)
    digits = np.rint(values * TENS[written])[cells] * TENS[places[row] - written[cells]]
    right = np.rint(side * TENS[own]) * TENS[most - own]
    largest = np.where(rough, 2.0**51, 2.0**53)
    decimal &= (relations.sums(np.abs(digits) >= 2.0**53) == 0) & (np.abs(right) < largest)
    good = (off <= dust) & (~decimal | relations.adds_up(digits, right, decimal))
    good |= (tolerance > 0) & (off <= tolerance + rounding)
    require(np.all(good), f"the true table is not additive in {np.sum(~good)} relations")
    near = other is None or np.all(np.abs(side - other) <= rounding + tolerance)
    require(near, "right-hand sides differ")
    return int(np.sum((~decimal | rough) & (off > rounding)))


def long_sums(rows, one, other, times=None):
    """Return the exact sum of products for each row, as a multiple of a power of two."""
    (first, scale), (second, more) = np.frexp(one), np.frexp(other)
    shift = scale + more - 106
    lowest = int(np.min(shift, initial=0))
    found = defaultdict(int)
    whole = [np.ldexp(part, 53).astype(np.int64) for part in (first, second)]
    times = np.ones(len(one)) if times is None else times
    lists = (part.tolist() for part in (rows, *whole, shift - lowest, times))
    for r, c, d, places, by in zip(*lists, strict=True):
        found[r] += c * d * int(by) << places
    return found, Fraction(2) ** lowest


def grain(numbers):
    """Return the largest power of two that divides all numbers."""
    if not len(numbers):
        return 1.0
    mantissa, exponent = np.frexp(np.abs(numbers))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    return math.ldexp(1.0, min(int(np.min(exponent - 53 + lowest - 1)), 900))


def last_places(*numbers):
    """Return the accepted error of a comparison of such numbers."""
    sizes = [np.abs(np.where(np.isfinite(each), each, 0.0)) for each in numbers]
    return LAST_PLACES * np.spacing(np.max(sizes, axis=0))


def rounding_error(*numbers):
    """Return the largest error of stored numbers; whole numbers are stored exactly."""
    finite = [np.where(np.isfinite(each), each, 0.0) for each in numbers]
    whole = np.all([(each == np.rint(each)) & (np.abs(each) < 2.0**52) for each in finite], axis=0)
    return np.where(whole, 0.0, last_places(*finite))


def multiples(numbers, decimals):
    """Return numbers as multiples of the last digit, or None if some are no multiples."""
    power = TENS[abs(decimals)]
    whole = np.rint(in_digits(numbers, decimals))
    back = whole / power if decimals >= 0 else whole * power
    place = np.spacing(np.abs(numbers))
    dust = np.minimum(16 * place, np.maximum(place, 0.01 / power)) if decimals else 0.0
    good = (np.abs(whole) < 2.0**53) & (np.abs(back - numbers) <= dust)
    return whole.astype(np.int64) if np.all(good) else None


def in_digits(numbers, decimals):
    return numbers * TENS[decimals] if decimals >= 0 else numbers / TENS[-decimals]


# -- the release ---------------------------------------------------------------------------------


def check_release(data, relations):
    """Check the form of the release; return the data as its claims need them, and notes."""
    release, status = str(data["release"]), data["status"]
    low, high = data["lower_bound"], data["upper_bound"]
    if release == "rounding":
        return data | {"decimals": np.array(0)}, check_rounded(data)
    if release == "small counts":
        notes, data = check_small_counts(data), as_adjustment(data)
        check_limits(data)
        return data, notes
    within = np.all((low <= data["values"]) & (data["values"] <= high))
    require(within, "the true table breaks its bounds")
    if release == "adjustment":
        check_limits(data)
        return data, []
    # Everybody knows a cell without room, so that its interval may be a point.
    known = (low == high) & (release == "intervals")
    if release == "intervals":
        ends = data["published_lower"], data["published_upper"]
        holds = (ends[0] <= data["values"]) & (data["values"] <= ends[1])
        require(np.all(holds), "an interval does not hold the true value")
        data = data | {"suppressed": ends[1] > ends[0]}
        told = (status == "m") & ~((ends[0] == low) & (ends[1] == high))
        require(not np.any(told), "a cell that must be hidden shows more than its external bounds")
    must = (status == "u") | ((status == "m") & ~known)
    require(np.all(data["suppressed"][must]), "a sensitive cell is published")
    require(not np.any(data["suppressed"][status == "z"]), "a frozen cell is hidden")
    return data, []


# -- protection of patterns and intervals: witnesses ---------------------------------------------


def check_protection(data, relations):
    release = str(data["release"])
    if release in ("suppression", "intervals"):
        low = np.maximum(data["lower_bound"], data.get("published_lower", -np.inf))
        high = np.minimum(data["upper_bound"], data.get("published_upper", np.inf))
        notes = check_hidden(data | {"lower_bound": low, "upper_bound": high}, relations)
        told = "the intruder uses all published intervals as bounds"
        return [*notes, (release == "intervals", told)]
    notes, small = check_distance(data), "each small count is released as 0 or as the base, "
    return [(True, f"{small}whatever its levels are")] if release == "small counts" else notes


def check_hidden(data, relations):
    """Check the protection of a pattern or of intervals; return notes about it."""
    hidden, need = data["suppressed"], needs(data)
    cells, asked = need[0], np.where(np.array(need[1:]) > 0, need[1:], np.inf).min(axis=0)
    level = np.where(np.isinf(asked), 0.0, asked)  # the least required distance
    blurred = (rounding_error(data["values"][cells]) > PRECISION_SHARE * level) & (level > 0)
    few = f"the level of cell {cells[blurred][:1]} is below the precision of its value"
    require(not np.any(blurred), few)
    check_peeling(relations, hidden, cells)
    at, moves = data["witness_cells"], data["witness_data"]
    require(np.all(hidden[at]), "a witness moves a published cell")
    low, high = (room(data["values"], data[f"{name}_bound"], sign)[at]
                 for name, sign in (("lower", -1), ("upper", 1)))  # fmt: skip
    require(np.all((moves >= low) & (moves <= high)), "a witness breaks an external bound")
    real = check_relations(data, relations, level)
    check_reach(reach(data, cells, data["upper_witness"]),
                -reach(data, cells, data["lower_witness"]), need, "everybody")  # fmt: skip
    (insiders, cut, pairs), idle = check_insiders(data, need, relations.effort), np.sum(level == 0)
    requirement = str(data["requirement"])
    return [
        (True, f"{len(cells)} sensitive cells, {requirement}: the interval of each reaches"),
        (True, REQUIREMENTS[requirement]),
        (idle, f"of them, {idle} have no level, and are only proved not to be known exactly"),
        (True, f"against everybody and {insiders} different insiders"),
        (pairs, f"NOTHING is claimed of {pairs} pairs of an insider and a sensitive cell"),
        (cut, f"in {cut} cases a level is cut to what insiders knew of the cell before"),
        (True, f"if nobody learns more about the {np.sum(hidden)} hidden of {len(hidden)} cells"),
        (
            len(data["intruder_names"]),
            "not checked: who the insiders are, and whether they know more",
        ),
        (real, f"{real} relations with real coefficients: as if these were known to 9 digits"),
    ]


def needs(data):
    """Return the sensitive cells, and the required distances up, down and of both together."""
    cells = np.flatnonzero(data["status"] == "u")
    upper, lower = data["upper_protection"][cells], data["lower_protection"][cells]
    width, nothing = data["sliding_protection"][cells], np.zeros(len(cells))
    if data["requirement"] == "width":
        return cells, nothing, nothing, np.maximum(width, upper + lower)
    if data["requirement"] == "upper":
        return cells, upper, nothing, nothing
    return cells, upper, lower, width


def room(values, bounds, sign):
    """Return how far values can move, plus the smaller of rounding error and 1e-9 of that.

    Theorem 2: a witness that uses the excess proves what it does when shrunk by 1e-9.
    """
    distance = np.maximum(sign * (bounds - values), 0.0)
    return sign * (distance + np.minimum(rounding_error(values, bounds), ROOM_SHARE * distance))


def check_peeling(relations, hidden, cells):
    """Refuse if single relations disclose a sensitive cell, as the one hidden cell in each."""
    unknown = hidden.copy()
    left = relations.sums(unknown[relations.cells]).astype(np.int64)
    which = np.zeros(relations.count, dtype=np.int64)  # sum of the hidden cells' numbers
    np.add.at(which, relations.row, relations.cells * unknown[relations.cells])
    rows = np.flatnonzero(left == 1)
    while len(rows):
        found = np.unique(which[rows])
        unknown[found] = False
        touched = relations.column_row[positions(relations.column_starts, found)]
        relations.effort(STEPS_EACH + 50.0 * len(touched))
        np.subtract.at(left, touched, 1)
        np.subtract.at(which, touched, np.repeat(found, relations.column_lengths[found]))
        rows = np.unique(touched[left[touched] == 1])
    known = cells[~unknown[cells]]
    require(not len(known), f"{len(known)} sensitive cells follow from single relations, the first "
            f"is cell {known[:1]}: they are disclosed")  # fmt: skip


def least_levels(data, level):
    """Return for each witness the least level among the sensitive cells that it protects."""
    least = np.full(len(data["witness_starts"]) - 1, np.inf)
    for side in ("upper", "lower"):
        for index, numbers in ((np.arange(len(level)), data[f"{side}_witness"]),
                               (data["claim_index"], data[f"claim_{side}"])):  # fmt: skip
            used = (numbers >= 0) & (level[index] > 0)
            np.minimum.at(least, numbers[used], level[index][used])
    return np.where(np.isinf(least), 0.0, least)


def check_relations(data, relations, level):
    """Require A d = 0 for every witness; return how many relations are not checked exactly.

    With `check_hidden` these are the hypotheses of theorem 1.
    """
    least, products = least_levels(data, level), 0
    # A relation with real coefficients, multiplied by a small number, must not pass more easily.
    scale = np.zeros(relations.count)
    inside = data["suppressed"][relations.cells]
    np.maximum.at(scale, relations.row[inside], np.abs(relations.given[inside]))
    scale, touched_real = np.minimum(scale, 1.0), np.zeros(relations.count, dtype=bool)
    lengths = relations.column_lengths[data["witness_cells"]]
    relations.effort(3 * STEPS_EACH * len(least) + 10.0 * np.sum(lengths))
    for witness, (start, stop) in enumerate(itertools.pairwise(data["witness_starts"].tolist())):
        cells, moves = data["witness_cells"][start:stop], data["witness_data"][start:stop]
        at = positions(relations.column_starts, cells)
        moves = np.repeat(moves, relations.column_lengths[cells])
        rows, place = np.unique(relations.column_row[at], return_inverse=True)
        whole = relations.column_whole[at]
        terms = whole * moves
        total, size = (np.bincount(place, part, len(rows)) for part in (terms, np.abs(terms)))
        smallest, real = np.full(len(rows), np.inf), relations.real[rows]
        np.minimum.at(smallest, place, np.abs(terms))
        # Within this limit the witness is exact if one coefficient is changed by REAL_SHARE.
        limit = np.where(real, REAL_SHARE * np.minimum(least[witness] * scale[rows], smallest), 0.0)
        # Theorem 12: sums of multiples of g that stay below 2^53 g are not rounded: 0 means 0.
        exact_zero = (total == 0) & (size < 2.0**53 * grain(moves))
        rounding = (len(at) + 2) * (2.0**-52 * size + 5e-324)
        clear = np.where(real, np.abs(total) + rounding <= limit, exact_zero)
        touched_real[rows] |= real
        long = np.flatnonzero(~clear[place])
        products += len(long)
        require(products <= MOST_LONG, "too many sums of too many digits for a check")
        found, unit = long_sums(place[long], whole[long], moves[long])
        for r in np.flatnonzero(~clear).tolist():
            good = found[r] == 0 or abs(found[r] * unit) <= float(limit[r])
            require(good, f"witness {witness} breaks relation {rows[r]}")
    return int(np.sum(touched_real))


def reach(data, cells, numbers):
    """Return how far witness numbers[i] moves cells[i]; witness -1 is the true table."""
    moved, some = np.zeros(len(cells)), np.flatnonzero(numbers >= 0)
    place = locate(data["witness_starts"], data["witness_cells"], numbers[some], cells[some])
    moved[some[place >= 0]] = data["witness_data"][place[place >= 0]]
    return moved


def check_reach(up, down, need, who):
    """Require that cells are moved as far as they need; one that needs nothing must move at all.

    This is the conclusion of theorem 1.
    """
    _, upper, lower, width, *free = need
    enough = NEED_SHARE * np.array([upper, lower, width])
    met = np.all(np.array([up, down, up + down]) >= enough, axis=0)
    idle = (upper == 0) & (lower == 0) & (width == 0) & (free[0] if free else True)
    met &= ~idle | (up != 0) | (down != 0)
    require(np.all(met), f"{np.sum(~met)} sensitive cells are not proved against {who}")


def check_insiders(data, need, effort):
    """Check each insider's claim.

    Return the number of insiders with different knowledge, the number of levels cut to it, and the
    number of pairs of an insider and a sensitive cell without a claim.
    """
    values, witness = data["values"], list_numbers(data["witness_starts"])
    cells, low, high = (data[f"intruder_{name}"] for name in ("cells", "lower", "upper"))
    bounds, true = (data["lower_bound"][cells], data["upper_bound"][cells]), values[cells]
    require(np.all(data["suppressed"][cells]), "an insider knows a bound on a published cell")
    error = [rounding_error(true, end) for end in (low, high)]
    honest = (low - true <= error[0]) & (true - high <= error[1])
    require(np.all(honest), "an insider excludes the truth")
    within = (low >= bounds[0]) & (high <= bounds[1])
    require(np.all(within), "an insider knows less than everybody")
    narrower = (low > bounds[0]) | (high < bounds[1])
    least, most = room(true, low, -1), room(true, high, 1)
    order = np.argsort(data["witness_cells"], kind="stable")
    columns = starts_of(data["witness_cells"], len(values))
    sides = [(sign, data[f"{side}_witness"], data[f"claim_{side}"])
             for sign, side in ((1, "upper"), (-1, "lower"))]  # fmt: skip
    common = [sign * reach(data, need[0], numbers) for sign, numbers, _ in sides]
    known, cut, pairs, each = set(), 0, 0, len(values) + len(witness) + 10.0 * len(need[0])
    steps = (5 * STEPS_EACH + 10 * each) * len(data["intruder_names"])
    effort(steps + 10 * np.sum(np.diff(columns)[cells]))
    nobody = np.zeros(len(data["intruder_names"]) + 1, dtype=np.int64)
    left_out = data.get("open_starts", nobody), data.get("open_index", nobody[:0])
    for insider in range(len(data["intruder_names"])):
        own = slice(*data["intruder_starts"][insider : insider + 2])
        claim = slice(*data["claim_starts"][insider : insider + 2])
        at, news, who = cells[own], narrower[own], f"insider {insider}"
        require(np.any(news), f"{who} knows nothing beyond what everybody knows")
        # Adding 0 turns -0 into 0, so that equal knowledge has equal bytes.
        facts = (at[news], low[own][news] + 0.0, high[own][news] + 0.0)
        open_ = left_out[1][slice(*left_out[0][insider : insider + 2])]
        pairs += len(open_)
        if len(open_) < len(need[0]):
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
            moved[index] = sign * reach(data, need[0][index], claimed[claim])
            reached.append(np.where(refuted[used], 0.0, moved))
        # No cell can be protected beyond the bounds that an insider knew before.
        below, above = np.full(len(values), np.inf), np.full(len(values), np.inf)
        below[at], above[at] = true[own] - low[own], high[own] - true[own]
        below, above = np.maximum(below[need[0]], 0), np.maximum(above[need[0]], 0)
        left = (need[0], np.minimum(need[1], above), np.minimum(need[2], below),
                np.minimum(need[3], above + below), above + below > 0)  # fmt: skip
        for part in left[1:]:
            part[open_] = 0
        check_reach(*reached, left, who)
        narrow = np.any(np.array(left[1:4]) < np.array(need[1:]), axis=0)
        narrow[open_] = False
        cut += np.sum(narrow)
    return len(known), int(cut), pairs


# -- adjusted and rounded tables: additivity, statistics, and distances from the true table -------


def unit_of(data):
    """Return the last digit of an adjusted table, or 1."""
    decimals = int(data["decimals"])
    if decimals == NO_DECIMALS:
        return LONG(1)
    return 1 / LONG(TENS[decimals]) if decimals >= 0 else LONG(TENS[-decimals])


def change(data):
    """Return adjusted minus true values, as numbers and as multiples of the last digit or None."""
    decimals, values, published = int(data["decimals"]), data["values"], data["published"]
    if decimals != NO_DECIMALS:
        true, whole = multiples(values, decimals), multiples(published, decimals)
        require(true is not None, "the true table has more digits than are stated")
        require(whole is not None, "the released table has more digits than are stated")
        return (whole - true).astype(LONG) * unit_of(data), whole - true
    return published.astype(LONG) - values, None


def check_limits(data):
    """Require that an adjusted table keeps bounds and capacities, and changes no frozen cell."""
    decimals, limit = int(data["decimals"]), float(data["sensitive_limit"])
    require(abs(decimals) <= MOST_DECIMALS or decimals == NO_DECIMALS, "decimals out of range")
    x, status, (z, whole) = data["published"], data["status"], change(data)
    for name, sign in (("lower_bound", -1), ("upper_bound", 1)):
        within = sign * (x - data[name]) <= last_places(x, data[name])
        require(np.all(within), f"{np.sum(~within)} adjusted values pass their {name}")
    require(np.all(z[status == "z"] == 0), "a frozen cell is changed")
    names = "capacity_up", "capacity_down"
    for sign, name, level in zip((1, -1), names, levels_of(data), strict=True):
        most = np.where(status == "u", times(limit, level * float(unit_of(data))), data[name])
        within = sign * z <= most + REAL_SHARE * most + last_places(x)
        require(np.all(within), f"a cell changes more than its {name} or limit")
    if whole is not None:  # exactly as far as a bound on the loss lets cells move
        up, down = rooms(data)[:2]
        require(np.all((-down <= whole) & (whole <= up)), "a cell changes more than it may")


def times(limit, level):
    """Return limit * level, which is infinite for an infinite limit even if a level is 0."""
    return np.full(len(level), np.inf) if np.isinf(limit) else limit * level


def levels_of(data):
    """Return upper and lower levels of sensitive cells, in units of the last digit, rounded up."""
    decimals, levels = int(data["decimals"]), []
    for name in ("upper_protection", "lower_protection"):
        level = np.where(data["status"] == "u", data[name], 0.0)
        if decimals != NO_DECIMALS:
            own = in_digits(level, decimals)
            level = np.maximum(np.ceil(own - np.minimum(REAL_SHARE * own, LEAST_DIGIT)), level > 0)
        levels.append(level)
    return levels


def check_distance(data):
    """Require that each sensitive cell lies at least a level from its true value."""
    z, cells = change(data)[0], np.flatnonzero(data["status"] == "u")
    up, down = data["upper_protection"][cells], data["lower_protection"][cells]
    safe = (up > 0) & (z[cells] >= NEED_SHARE * up)
    safe |= (down > 0) & (-z[cells] >= NEED_SHARE * down)
    few = cells[~safe]
    require(not len(few), f"{len(few)} sensitive cells are too near to the truth, as {few[:1]} is")
    return [
        (True, f"{len(cells)} sensitive cells: each adjusted value lies its upper level above the"),
        (True, "true one, or its lower level below; who knows the method may know more"),
    ]


def check_kept(data, relations):
    """Require that the released table satisfies the relations like the true one."""
    (z, whole), cells = change(data), relations.cells
    largest = np.maximum(np.abs(data["published"]), np.abs(data["values"]))[cells]
    accepted = LAST_PLACES * 2.0**-52 * relations.sums(np.abs(relations.given) * largest)
    good = np.abs(row_sums(relations.starts, relations.given * z[cells])) <= accepted
    exact = ~relations.real & (whole is not None)
    if whole is not None:
        good = np.where(exact, relations.adds_up(whole[cells], np.zeros(len(good)), exact), good)
    require(np.all(good), f"the released table breaks {np.sum(~good)} relations")
    how = f"to {LAST_PLACES} last binary places of their terms"
    how = f"exactly, in multiples of {unit_of(data):g}" if np.all(exact) else how
    return [(True, f"the released table satisfies all {relations.count} relations, {how}")]


def check_statistics(data, relations):
    """Require that sums of given coefficients times changes have the claimed values."""
    (z, whole), unit, lines = change(data), unit_of(data), []
    rounding = np.spacing(np.abs(data["published"])) if whole is None else np.zeros(len(z))
    for at, kind in enumerate(data["statistic_kind"].tolist()):
        relations.effort(3 * STEPS_EACH)
        own = slice(*data["statistic_starts"][at : at + 2])
        cells, terms = data["statistic_cells"][own], data["statistic_data"][own]
        slack, target = data["statistic_slack"][at], data["statistic_target"][at]
        true, name = data["values"][cells], f"statistic {at}"
        require(len(cells), f"{name} is of no cell")
        spread = centred(true)
        if kind in ("mean", "variance"):
            require(np.all(terms == 1) and target == 0, f"{name} is no {kind}")
        if kind == "slope":
            far, blur = np.abs(spread).max(), (len(true) + 8) * 2.0**-52
            near = np.abs(terms - spread / far) <= min(blur, REAL_SHARE)
            require(np.all(near) and target == 0 and np.any(terms != 0), f"{name} is no slope")
        require(kind in ("mean", "slope", "covariance", "variance", "sum"), f"{name} is unknown")
        if kind == "variance":
            after = centred(data["published"][cells])
            off = abs(np.mean(after**2) / np.mean(spread**2) - 1)
            require(off <= slack + REAL_SHARE, f"{name}: the variance is not kept")
            slack = max(slack, float(off))
        else:
            moved = terms * (z[cells] / unit)
            off = abs(np.sum(moved) - target) - slack
            off -= np.sum(np.abs(terms) * rounding[cells]) / unit
            share = REAL_SHARE if whole is None else (len(moved) + 4) * 2.0**-52
            kept = off <= share * (np.sum(np.abs(moved)) + abs(target))
            require(kept, f"{name}: the {kind} is not kept")
            weight = {"mean": len(cells), "slope": np.sum(terms * spread)}.get(kind, 1)
            slack = max(slack, abs(np.sum(moved) - target)) * unit / weight
        if kind in ("covariance", "sum"):  # the certificate does not hold the other variable
            what = f"a sum of changes of {len(cells)} cells, with given coefficients ({kind}), is "
            lines.append(f"{what}{target * unit:.12g}, within {slack:.12g}")
            continue
        lines.append(f"the {kind} of {len(cells)} cells is kept, within {slack:.12g}")
    return [(True, line) for line in lines]


def centred(values):
    """Return distances from the mean: differences of large numbers are taken before it rounds."""
    far = values.astype(LONG) - values[0]
    return far - np.mean(far)


def check_associations(data, relations):
    """Require that two variables over pairs of cells go together as they do in the true table."""
    lines = []
    for at, kind in enumerate(data["association_kind"].tolist()):
        relations.effort(10 * STEPS_EACH)
        own, name = slice(*data["association_starts"][at : at + 2]), f"association {at}"
        first, second = data["association_first"][own], data["association_second"][own]
        cells = np.unique(np.concatenate([first, second]))
        require(len(first) and len(cells) == 2 * len(first), f"{name}: a cell is in two pairs")
        require(kind in ("covariance", "correlation", "slope"), f"{name} is unknown")
        (before, unit), (after, _) = (association(kind, data[one][first], data[one][second])
                                      for one in ("values", "published"))  # fmt: skip
        tolerance, off = float(data["association_tolerance"][at]) * unit, abs(after - before)
        require(off <= tolerance + REAL_SHARE * unit, f"{name}: the {kind} is not kept")
        lines.append(f"the {kind} of {len(first)} pairs of cells, {float(before):.12g}, is kept, "
                     f"within {float(max(tolerance, off)):.12g}")  # fmt: skip
    return [(True, line) for line in lines]


def association(kind, first, second):
    """Return how two variables go together, and the unit of its tolerance."""
    u, v = centred(first), centred(second)
    both, of_u, of_v = np.mean(u * v), np.mean(u * u), np.mean(v * v)
    return {
        "covariance": (both, np.sqrt(of_u * of_v)),
        "correlation": (both / np.sqrt(of_u * of_v), 1),
        "slope": (both / of_u, np.sqrt(of_v / of_u)),
    }[kind]


def check_rounded(data):
    """Require multiples of the base, within the allowed steps of the true values and their sign."""
    base, steps, x = int(data["base"]), int(data["steps"]), multiples(data["published"], 0)
    a = multiples(data["values"], 0)
    require(a is not None and x is not None, "rounding is for whole numbers")
    require(base >= 2 and steps >= 1 and base * steps <= 10**15, "base or steps out of range")
    require(np.all(x % base == 0), "a value is no multiple of the base")
    low, high = rounding_range(data)
    require(np.all((x >= low * base) & (x <= high * base)), "a value is too far from the truth")
    far = "next to the true one" if steps == 1 else f"less than {steps} steps from it"
    return [(True, f"each released value is a multiple of {base}, {far}"),
            (True, "not checked: what the rounded table protects")]  # fmt: skip


def rounding_range(data):
    """Return the smallest and largest multiple of the base that each cell may be rounded to."""
    a, base, steps = multiples(data["values"], 0), int(data["base"]), int(data["steps"])
    most, frozen = steps * base - 1, data["status"] == "z"
    low, high = -((most - a) // base), (a + most) // base
    low = np.where(a >= 0, np.maximum(low, 0), low)
    high = np.where(a < 0, np.minimum(high, 0), high)
    require(np.all(a[frozen] % base == 0), "a frozen cell cannot be rounded")
    kept = frozen | ((a % base == 0) & (steps == 1))
    return np.where(kept, a // base, low), np.where(kept, a // base, high)


def is_sensitive(data):
    """Return which cells are sensitive: in small-count rounding counts below the base are."""
    if str(data.get("release")) == "small counts":
        return (data["values"] > 0) & (data["values"] < data["base"])
    return data["status"] == "u"


def check_small_counts(data):
    """Require that no small count is released, and that zeros are unchanged."""
    base, x, a = int(data["base"]), multiples(data["published"], 0), multiples(data["values"], 0)
    require(a is not None and x is not None and base >= 2, "small counts are whole numbers")
    require(np.all((x == 0) | (x >= base)), "a small count or a negative number is released")
    require(np.all(x[a == 0] == 0), "a zero is changed")
    require(np.all(np.isin(x[(a > 0) & (a < base)], (0, base))), "a small count is moved too far")
    return [(True, f"no released count lies between 0 and {base}, and no zero is changed")]


def as_adjustment(data):
    """Return small-count rounding as an adjustment in which small counts have two values."""
    a, base = data["values"], float(data["base"])
    small, none = is_sensitive(data), np.zeros(len(a))
    require(not np.any(small & (data["status"] == "z")), "a small count must stay as it is")
    status = np.where(small, "u", np.where((data["status"] == "z") | (a == 0), "z", "s"))
    return data | {
        "status": status, "lower_protection": np.where(small, a, 0.0), "lower_bound": none,
        "upper_protection": np.where(small, base - a, 0.0), "upper_bound": none + np.inf,
        "capacity_down": np.where(small, a, a - base * (a >= base)), "decimals": np.array(0),
        "capacity_up": none + np.inf, "sensitive_limit": np.array(1.0),
    }  # fmt: skip


# -- losses, and bounds on them: trees that cover all releases, priced at their leaves -----------


def check_loss(data, relations):
    """Require that the loss of the release is the claimed one."""
    weights, measure, release = data["weights"], str(data["measure"]), str(data["release"])
    if release == "suppression":
        loss = np.sum(weights[data["suppressed"]], dtype=LONG)
    elif release == "intervals":
        width = data["published_upper"].astype(LONG) - data["published_lower"]
        loss = np.sum(weights * np.where(data["status"] == "m", 0, width))
    else:
        z, _ = change(data)
        loss = {"L1": np.sum(weights * np.abs(z)), "L2": np.sum(weights * z**2),
                "Linf": np.max(weights * np.abs(z), initial=0)}[measure]  # fmt: skip
    claimed = float(data["loss"])
    good = abs(loss - claimed) <= REAL_SHARE * claimed  # an infinite loss is near to none
    require(good, f"the loss is {loss:.12g}, not {claimed:.12g}")
    return [(True, f"loss {claimed:.12g} ({measure}), with the weights that the certificate holds")]


def check_bound(data, relations):
    """Require that trees prove the claimed bound; the classes below price their leaves."""
    claimed, loss = float(data["bound"]), float(data["loss"])
    found, notes = proved_bound(data, relations)
    good = claimed <= found + REAL_SHARE * loss
    require(good, f"the bound {claimed:.12g} is claimed, but only {found:.12g} is proved")
    gap = 100 * max(1 - claimed / loss, 0) if loss else 0.0
    text = f"no such release loses less than {claimed:.12g}: gap {gap:.3g} %"
    real = (np.any(relations.real), "the bound takes real coefficients as they are stored, exactly")
    return [(True, f"{text}, {np.sum(data['node_proof'] >= 0)} leaves"), *notes, real]


def proved_bound(data, relations):
    """Return the bound that trees prove, at most the loss of the release, and notes."""
    kinds = {"suppression": PatternPrices, "intervals": WidthPrices, "rounding": RoundingPrices}
    prices = kinds.get(str(data["release"]), AdjustmentPrices)(data, relations)
    bounds = tree_bounds(prices.data, prices, relations.effort)
    require(len(bounds) == 1 or "part" in data, "trees whose costs no parts tell apart")
    return min(max(float(prices.joined(bounds)), 0.0), float(data["loss"])), prices.notes


@with_errors
def proved(data, minutes=1):
    """Return the bound that a certificate proves, which may differ from the claimed one."""
    check_form(data)
    relations = Relations(data, Effort(minutes))
    checked, _ = check_release(data, relations)
    return proved_bound(checked, relations)[0]


def tree_bounds(data, prices, effort):
    """Return the bound of each tree: the least price of its leaves, which cover all releases.

    Theorem 3, the cover.
    """
    parent, cell, limit = data["node_parent"], data["node_cell"], data["node_limit"]
    lower, proof = data["node_is_lower"], data["node_proof"]
    bounds = []
    for tree, (first, last) in enumerate(itertools.pairwise(data["tree_starts"].tolist())):
        free = first < last and limit[first] == 0 and not lower[first]
        require(free and parent[first] == cell[first] == -1, "a tree without a root")
        children, depth = defaultdict(list), {first: 0}
        for node in range(first + 1, last):
            require(first <= parent[node] < node, "a node before its parent")
            children[int(parent[node])].append(node)
            depth[node] = depth[int(parent[node])] + 1
        leaves = [node for node in depth if node not in children]
        effort(1e3 * (len(depth) + sum(map(depth.get, leaves))))
        for pair in children.values():
            two = len(pair) == 2 and lower[pair[0]] != lower[pair[1]]
            require(two, "a split without two sides")
            low, high = sorted(pair, key=lambda node: not lower[node])
            same = cell[low] == cell[high] >= 0 and limit[low] == limit[high] + 1
            require(same, "a search tree that leaves something out")
        least = np.inf
        require(np.array_equal(first + np.flatnonzero(proof[first:last] >= 0), leaves),
                "a leaf without a proof")  # fmt: skip
        for node in leaves:
            box, at = {}, node
            while at != first:
                low, high = box.get(int(cell[at]), (-(2**60), 2**60))
                end = int(limit[at])
                both = (max(low, end), high) if lower[at] else (low, min(high, end))
                box[int(cell[at])], at = both, int(parent[at])
            own = slice(*data["proof_starts"][proof[node] : proof[node] + 2])
            entries = [data[f"proof_{name}"][own] for name in ("kind", "row", "cell", "data")]
            effort(10.0 * STEPS_EACH + 30.0 * (prices.size + len(entries[0])))
            least = min(least, prices.price(tree, entries, box))
        bounds.append(least)
    return bounds


class Prices:
    """Weak duality, theorem 3: lower bounds from multipliers on the loss of all releases in a leaf.

    Each subclass has `price(tree, entries, box)`; `size` is that of the sums that it takes.
    """

    def __init__(self, data, relations):
        self.data, self.relations, self.n = data, relations, len(data["values"])
        self.size = self.n + len(relations.cells)
        self.notes = []  # conditions of the bound

    def joined(self, bounds):
        """Return the bound that all trees together prove."""
        return bounds[0]


def settled(with_costs, without):
    """Return a sum less its rounding error; infinity if the sum without costs is above 0.

    All prices come from here: finite, minus infinity, or proved to be those of an empty leaf.
    """
    (value, error), (empty, doubt) = with_costs, without
    require(np.all(np.array([value, error, empty, doubt]) < np.inf), "a price that is no number")
    return np.inf if empty > doubt else float(value - error)


def boxed(low, high, box):
    """Return the limits of all choices in a leaf, or None if no choice is left."""
    low, high = low.copy(), high.copy()
    for at, (least, most) in box.items():
        low[at], high[at] = max(low[at], least), min(high[at], most)
    return None if np.any(low > high) else (low, high)


def multipliers_of_rows(entries, rows):
    """Return the multiplier of each row; refuse entries that name anything else."""
    kind, row, cell, numbers = entries
    require(np.all((kind == 0) & (row >= 0) & (row < rows) & (cell == -1)), "an unknown row")
    multiplier = np.zeros(rows, dtype=LONG)
    multiplier[row] = numbers
    return multiplier


class RoundingPrices(Prices):
    """Controlled rounding: the best multiple of the base for each cell (theorem 10)."""

    def price(self, tree, entries, box):
        """Return a lower bound for all rounded tables in the box; inf if there is none."""
        data, relations, base = self.data, self.relations, int(self.data["base"])
        multiplier = multipliers_of_rows(entries, relations.count) / relations.unit
        left, a = boxed(*rounding_range(data), box), multiples(data["values"], 0)
        if left is None:
            return np.inf
        terms = (relations.whole * multiplier[relations.row])[relations.order]
        real = np.abs(terms) * relations.real[relations.column_row]
        r, sizes, real = (row_sums(relations.column_starts, part)
                          for part in (terms, np.abs(terms), real))  # fmt: skip
        # A x = A a holds exactly: only changes x - a are priced, and no right-hand side.
        ends = [np.clip(steps, *left) * base - a for steps in (*left, a // base, -(-a // base))]
        far, counts, found = np.max(np.abs(ends), axis=0), relations.column_lengths + 16, []
        for weight in (data["weights"].astype(LONG), np.zeros(self.n, dtype=LONG)):
            best = np.min([weight * np.abs(z) - r * z for z in ends], axis=0)
            doubt = np.sum((EPSILON * counts * (sizes + weight) + 2.0**-44 * real) * far)
            found.append((np.sum(best), doubt + self.n * EPSILON * np.sum(np.abs(best))))
        return settled(*found)


def reach_of(loss, weights):
    """Return how far cells can move at a loss (theorem 9), without limit where it costs nothing."""
    with np.errstate(over="ignore"):
        return np.divide(loss, weights, out=np.full(len(weights), np.inf), where=weights > 0)


def one_for_all(choose, start, n, root, numbers):
    """Return the least or largest number of each group, at the cell that represents it."""
    found = np.full(n, start)
    choose.at(found, root, numbers)
    return found


def either_way(choose, start, n, root, sign, up, down):
    """Return `one_for_all` of numbers up and down; cells with sign -1 move the other way."""
    return [one_for_all(choose, start, n, root, np.where(sign > 0, *pair))
            for pair in ((up, down), (down, up))]  # fmt: skip


class CutPrices(Prices):
    """Patterns and intervals: min cost.x over least <= x <= most and rows that all satisfy.

    For a sensitive cell p and any gamma, let r = e_p - A^T gamma. Every table x that an intruder
    must consider has x_p - a_p = r.(x - a), which is at most the sum of max(r_i (ub_i - a_i),
    r_i (lb_i - a_i)) over the hidden cells. To protect p, this sum must reach its level: theorem 4.
    """

    def lay(self, cost, least, most, splits):
        """Store costs and limits of columns, whether they may be split, and the rows in use."""
        self.needs = needs(self.data)
        self.check_rows()
        self.cost, self.least, self.most, self.splits = cost, least, most, splits
        self.part = self.data.get("part")
        self.side, columns = np.zeros(len(self.data["cut_kind"])), []
        for at in np.unique(self.data["proof_row"]).tolist():
            require(0 <= at < len(self.side), "an unknown row")
            self.side[at], own, terms = self.row(at)
            self.relations.effort(10 * STEPS_EACH + 500.0 * len(own))
            columns.append((np.full(len(own), at), own, terms))
        none = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        rows, own, terms = (np.concatenate(part) for part in zip(none, *columns, strict=True))
        order = np.argsort(own, kind="stable")
        self.rows, self.terms = rows[order], terms[order].astype(LONG)
        self.columns = starts_of(own, len(cost))

    def check_rows(self):
        """Require that each row fits its cell, its lists and the release, used or not."""
        data, kind = self.data, self.data["cut_kind"]
        up, down = (np.diff(data[f"{side}_starts"]) > 0 for side in ("up", "down"))
        sensitive = np.isin(data["cut_cell"], self.needs[0])
        fits = np.where(kind < 3, sensitive, str(data["release"]) == "suppression")
        require(np.all(fits), "a row for a cell that is not sensitive")
        idle = ((kind == 0) & down) | ((kind == 1) & up)
        require(not np.any(idle), "multipliers that a row does not use")
        require(not np.any((kind == 3) & down), "a bridge has one list of multipliers")
        require("sum_starts" in data or not np.any(kind == 4), "a sum without summands")
        at = list_numbers(data["sum_starts"]) if "sum_starts" in data else kind[:0]
        later = (kind[at] == 4) & (data.get("sum_cuts", at) >= at)
        require(not np.any(later), "a sum of rows that come after it")

    def price(self, tree, entries, box):
        """Return a lower bound for all patterns, or intervals, in the box; inf if there is none."""
        multiplier = multipliers_of_rows(entries, len(self.side))
        require(np.all(multiplier >= 0), "a multiplier below 0")
        self.relations.effort(30.0 * len(self.terms))
        require(all(self.splits[at] for at in box), "a split at a cell that is no choice")
        left = boxed(self.least, self.most, box)
        if left is None:
            return np.inf
        terms, found = self.terms * multiplier[self.rows], []
        priced, sizes = (row_sums(self.columns, part) for part in (terms, np.abs(terms)))
        constant, counts = np.sum(multiplier * self.side), np.diff(self.columns) + 16
        size = np.sum(multiplier * np.abs(self.side))
        counted = self.cost if self.part is None else np.where(self.part == tree, self.cost, 0)
        for cost in (counted, 0 * counted):
            reduced = cost - priced
            best = np.where(reduced > 0, reduced * left[0], reduced * left[1])
            error = np.sum(counts * (sizes + cost) * self.most) + len(multiplier) * size
            error += len(counts) * (size + np.sum(sizes * self.most))
            found.append((np.sum(best) + constant, EPSILON * error))
        return settled(*found)

    def combined(self, side, at):
        """Return A^T gamma of one row: cells, sums and their errors; a sum of 0 is exactly 0.

        Coefficients are those that decimal relations stand for.
        """
        own = slice(*self.data[f"{side}_starts"][at : at + 2])
        rows, gamma = self.data[f"{side}_relations"][own], self.data[f"{side}_data"][own]
        place, lengths = positions(self.relations.starts, rows), self.relations.lengths[rows]
        cells, whole = self.relations.cells[place], self.relations.whole[place]
        order = np.argsort(cells, kind="stable")
        gamma, unit = (
            np.repeat(part, lengths)[order] for part in (gamma, self.relations.unit[rows])
        )
        cells, whole = cells[order], whole[order]
        found, first = np.unique(cells, return_index=True)
        first = np.append(first, len(cells))
        terms = whole.astype(LONG) * gamma / unit
        total, size = (row_sums(first, part) for part in (terms, np.abs(terms)))
        if not np.all(self.relations.summed[rows]):  # with real coefficients no sum is certainly 0
            return found, total, 2.0**-50 * (np.diff(first) + 2) * size
        blur = EPSILON * (np.diff(first) + 2) * size
        itself = found == self.data["cut_cell"][at]  # 1 minus its sum may be exactly 0
        doubtful = np.repeat((np.abs(total) <= blur) | itself, np.diff(first))
        self.relations.effort(200.0 * len(cells) + 500.0 * np.sum(doubtful))
        finest = np.max(unit, initial=1.0)
        parts = (part[doubtful] for part in (cells, whole, gamma, finest / unit))
        exact, step = long_sums(*parts)
        for cell, steps in exact.items():
            place, value = np.searchsorted(found, cell), steps * step / int(finest)
            total[place] = float(value)
            blur[place] = 0 if value == float(value) else abs(total[place]) * 1e-15
        return found, total, blur

    def sides(self, at):
        """Return a row's level, its cells, and their largest coefficients of room up and down."""
        kind, p = int(self.data["cut_kind"][at]), int(self.data["cut_cell"][at])
        cells, *need = self.needs
        place = int(np.searchsorted(cells, p))
        turn, sums = int(self.data["cut_sign"][at]) if "cut_sign" in self.data else 1, []
        for sign, side, wanted in ((turn, "up", kind in (0, 2)), (-turn, "down", kind in (1, 2))):
            if wanted:
                sums.append((sign, *self.combined(side, at)))
        here = np.unique(np.concatenate([[p], *(part[1] for part in sums)]))
        above, below = np.zeros((2, len(here)))
        for sign, found, total, blur in sums:
            r, error = np.zeros((2, len(here)), LONG)
            inside = np.searchsorted(here, found)
            r[inside], error[inside] = -total, blur
            r[here == p] += sign
            error[here == p] += np.abs(r[here == p]) * 1e-15
            above += np.maximum(r + error, 0) * (1 + 1e-15)
            below += np.maximum(error - r, 0) * (1 + 1e-15)
        # Theorem 4: (1 - r_p) d_p is the sum over the other cells; p is left out if |r_p| < 1.
        share = float(np.sum((above + below)[here == p]))
        left, kept = (1 - share, here != p) if share < 1 else (1, True)
        used = (above + below > 0) & (self.data["status"][here] != "z") & kept
        which = 1 - kind if turn < 0 and kind < 2 else kind
        return left * float(need[which][place]) * NEED_SHARE, here[used], above[used], below[used]


def united(data, relations):
    """Return data and relations in which cells that can only move together are one: theorem 8.

    In every table that an intruder must consider they move alike, so that a pattern of least loss
    hides all of them or none. The first represents the others, which are frozen, and values are set
    to 0, since only distances matter. Cells stay separate in relations with fractional
    coefficients, whose sums are not exact, and if they must be hidden without being sensitive.
    """
    status, n = data["status"], len(data["values"])
    up, down = data["upper_bound"] - data["values"], data["values"] - data["lower_bound"]
    fraction = (relations.given != np.rint(relations.given)) | (np.abs(relations.given) >= 2.0**31)
    fractional = relations.sums(fraction) > 0
    movable = (status != "z") & (up + down > 0)
    root, sign = coupled(relations, movable, ~fractional)
    alone, still = root < 0, (root < 0) & movable & (status == "s")
    alone[relations.cells[fractional[relations.row]]] = True
    sensitive = np.isin(np.arange(n), root[(status == "u") & ~alone])
    alone |= (status == "m") & ~sensitive[root]
    members = np.flatnonzero(~alone)
    _, first, group = np.unique(root[members], return_index=True, return_inverse=True)
    root = np.arange(n)
    root[members] = members[first][group.reshape(-1)]
    sign = np.where(alone, 1.0, sign * sign[root])
    cells, *levels = needs(data)
    everywhere = np.zeros((3, n))
    everywhere[:, cells] = levels
    hidden = one_for_all(np.maximum, 0.0, n, root, (status == "u").astype(float)) > 0
    gone = (root != np.arange(n)) | still
    weights = np.bincount(root, data["weights"], minlength=n)
    upper, lower = either_way(np.maximum, 0.0, n, root, sign, everywhere[0], everywhere[1])
    high, low = either_way(np.minimum, np.inf, n, root, sign, up, down)
    terms, exact = sign[relations.cells] * relations.given, np.ones(relations.count, dtype=bool)
    row, cell, term, _ = merged(relations.row, root[relations.cells], terms, exact)
    changed = {
        "status": np.where(gone, "z", np.where(hidden, "u", status)),
        "choice": one_for_all(np.maximum, 0.0, n, root, (status == "s").astype(float)) > 0,
        "weights": np.where(weights == np.rint(weights), weights, weights * (1 - 2.0**-48)),
        "values": np.zeros(n), "upper_bound": high, "lower_bound": -low,
        "requirement": np.array("two-sided"), "upper_protection": upper, "lower_protection": lower,
        "sliding_protection": one_for_all(np.maximum, 0.0, n, root, everywhere[2]),
        "cut_cell": root[data["cut_cell"]], "cut_sign": sign[data["cut_cell"]],
        "node_cell": np.where(data["node_cell"] >= 0, root[data["node_cell"]], -1),
        "turned_cells": root[data["turned_cells"]] if "sum_starts" in data else root[:0],
        "relation_starts": starts_of(row, relations.count), "relation_cells": cell,
        "relation_data": term,
    }  # fmt: skip
    data = {**data, **changed}
    return data, Relations(data, relations.effort)


class PatternPrices(CutPrices):
    """Patterns: a free cell is hidden (1) or not (0)."""

    def __init__(self, data, relations):
        data, relations = united(data, relations)
        super().__init__(data, relations)
        status = data["status"]
        self.high = data["upper_bound"] - data["values"]
        self.low = data["values"] - data["lower_bound"]
        self.free, self.fixed = status == "s", np.isin(status, ["u", "m"])
        self.mobile = (status != "z") & (self.high + self.low > 0)
        self.known = {}
        cost, most = np.where(self.free, data["weights"], 0.0), self.free | self.fixed
        self.lay(cost, self.fixed.astype(float), most.astype(float), data["choice"])

    def row(self, at):
        """Return side, cells and coefficients of a row; the summands of a sum are laid first."""
        found, waiting = {at}, [at]
        while waiting:
            parts = self.summands(waiting.pop())[0].tolist()
            waiting += [one for one in parts if one not in found and one not in self.known]
            found.update(parts)
        for one in sorted(one for one in found if one not in self.known):
            self.relations.effort(10 * STEPS_EACH)
            laid = (*[self.capacity] * 3, self.bridge, self.rounded)[self.data["cut_kind"][one]]
            self.known[one] = laid(one)
        return self.known[at]

    def capacity(self, at):
        """Lay a capacity row: the room that hiding each cell adds at most."""
        level, own, above, below = self.sides(at)
        with np.errstate(invalid="ignore"):  # no share at all of an infinite room is 0
            rooms_of = np.array([above * self.high[own], below * self.low[own]])
        counted = np.sum(np.nan_to_num(rooms_of, posinf=np.inf), axis=0) * (1 + 2.0**-48)
        left = level - np.sum(counted[self.fixed[own]])
        own, counted = own[self.free[own]], counted[self.free[own]]
        if left <= 0:
            return 0.0, own, 0 * own
        return 1.0, own, np.minimum(counted / left, 1.0) * (1 + 2.0**-48)

    def bridge(self, at):
        """Lay a bridge row (theorem 5): a cell is hidden only if another one of its sum is."""
        k = int(self.data["cut_cell"][at])
        cells, sums, blur = self.combined("up", at)
        itself = bool(np.any((cells == k) & (np.abs(sums) > blur)))
        others = cells[(cells != k) & self.mobile[cells] & ((sums != 0) | (blur > 0))]
        if not itself or not self.free[k] or np.any(self.fixed[others]):
            return 0.0, others[:0], np.zeros(0)
        return 0.0, np.append(others, k), np.append(np.ones(len(others)), -1.0)

    def summands(self, at):
        """Return the rows that are added in a sum, all before it, and their multipliers."""
        if self.data["cut_kind"][at] != 4:
            return np.zeros(0, np.int64), np.zeros(0)
        own = slice(*self.data["sum_starts"][at : at + 2])
        return self.data["sum_cuts"][own], self.data["sum_data"][own].astype(LONG)

    def rounded(self, at):
        """Lay a mixed-integer rounding of a sum of rows (theorem 6); turned cells count 1 - y.

        Let the sum be a.z >= b with z = y or 1 - y, and f = b - floor(b). With F(a) = floor(a) +
        min(1, (a - floor(a)) / f), and the slack of rows with a multiplier l < 0 counted |l| / f
        times, F(a).z + slack is at least ceil(b). Sums are first loosened by their rounding errors.
        """
        summands, gamma = self.summands(at)
        rows = [self.known[one] for one in summands.tolist()]
        own = np.unique(np.concatenate([np.zeros(0, np.int64), *(row[1] for row in rows)]))
        turns = self.data["turned_cells"][slice(*self.data["turned_starts"][at : at + 2])]
        turned = np.isin(own, turns)
        total, size, reach, far = self.added(rows, gamma, own)
        blur = EPSILON * (len(rows) + 4) * size
        above = np.where(turned, -total, total) + blur
        b = reach - np.sum(total[turned])
        b -= EPSILON * (len(rows) + len(own) + 8) * (far + np.sum(size[turned]))
        part = b - np.floor(b)
        if part < 2.0**-20:  # as for a b that is whole, which rounding may have put on either side
            b, part = np.floor(b), LONG(1)
        whole = np.floor(above)
        term = whole + np.minimum((above - whole) / part, 1) * (1 + 4 * EPSILON)
        term += 4 * EPSILON * (np.abs(whole) + 1)
        spare = np.maximum(-gamma, 0) / part * (1 + 8 * EPSILON)
        added, more, gained, farther = self.added(rows, spare, own)
        side = np.ceil(b) - np.sum(term[turned]) + gained
        far = np.abs(np.ceil(b)) + np.sum(np.abs(term[turned])) + farther
        side -= (EPSILON * (len(rows) + len(own) + 16) + 2.0**-50) * far
        error = EPSILON * (len(rows) + 8) * (more + np.abs(term))
        return float(side), own, np.where(turned, -term, term) + added + error

    def added(self, rows, gamma, own):
        """Return sums of rows and of their sides, and the sums of absolute values of both."""
        (total, size), (reach, far) = np.zeros((2, len(own)), LONG), np.zeros(2, LONG)
        self.relations.effort(STEPS_EACH * len(rows) + 150.0 * sum(len(row[1]) for row in rows))
        for (side, cells, terms), number in zip(rows, gamma, strict=True):
            place, term = np.searchsorted(own, cells), terms * number
            total[place] += term  # no cell is twice in a row
            size[place] += np.abs(term)
            reach, far = reach + number * LONG(side), far + np.abs(number * LONG(side))
        return total, size, reach, far

    def joined(self, bounds):
        """Return the bounds of all parts (theorem 11), each rounded up if its weights are whole.

        The cost of cells that must be hidden is added.
        """
        weights, total = self.data["weights"], float(np.sum(self.data["weights"][self.fixed]))
        for tree, bound in enumerate(bounds):
            counted = self.free if self.part is None else self.free & (self.part == tree)
            terms = weights[counted]
            whole = np.isfinite(bound) and np.all(terms == np.rint(terms))
            total += max(math.ceil(bound - 1e-6) if whole else bound, 0.0)
        return total


class WidthPrices(CutPrices):
    """Intervals: how far each cell's interval reaches up, then how far each reaches down."""

    def __init__(self, data, relations):
        counted = np.where(data["status"] == "m", 0.0, data["weights"])
        data, relations = united({**data, "weights": counted}, relations)
        super().__init__(data, relations)
        frozen, loss = data["status"] == "z", float(data["loss"]) * (1 + 1e-8)
        cost = np.where(frozen, 0.0, data["weights"])
        far = reach_of(loss, cost)  # no intervals of less loss are wider
        ends = data["upper_bound"] - data["values"], data["values"] - data["lower_bound"]
        most = np.concatenate([np.where(frozen, 0.0, np.minimum(end, far)) for end in ends])
        self.endless = np.isinf(most)
        none = np.zeros(2 * self.n)
        most, cost = np.where(self.endless, 0.0, most), np.concatenate([cost, cost])
        self.lay(cost, none, most, none > 0)

    def row(self, at):
        """Return level, columns and largest coefficients of each unit of width."""
        level, own, above, below = self.sides(at)
        columns, terms = np.concatenate([own, own + self.n]), np.concatenate([above, below])
        if np.any(self.endless[columns[terms > 0]]):  # columns without cost can satisfy the row
            return 0.0, own[:0], np.zeros(0)
        return level, columns, terms


class AdjustmentPrices(Prices):
    """Adjustments: a bound from the least cost of each group of cells, one by one (theorem 7).

    For multipliers of relations and statistics (any sign) and of the rows below (>= 0)::

        sum w |z| >= sum_g min over allowed z_g of (W_g |z_g| - r_g z_g + e_g (|z_g| - level_g))

    plus constants. Cells that relations force to move together are one group g. Discrepancy rows:
    levels of the sensitive cells of a relation leave an imbalance of at least delta, which others
    must make up for. Balance rows: |c_j z_j| <= sum of |c_i z_i| over others of a relation,
    or of a sum of relations with whole multipliers. For Linf the weights are w times shares that
    add up to at most 1; for L2 the terms are w z^2.
    """

    def __init__(self, data, relations):
        super().__init__(data, relations)
        self.m, self.measure, unit = relations.count, str(data["measure"]), unit_of(data)
        self.scale = unit ** (2 if self.measure == "L2" else 1)
        up, down, level, safe = rooms(data)
        # No table of less loss moves a cell farther than this; for cells without cost it is inf.
        weights, loss = data["weights"], float(data["loss"] / self.scale) * (1 + 1e-8)
        far = reach_of(loss, weights)
        far = np.sqrt(far) if self.measure == "L2" else far
        movable = (up > 0) | (down > 0) | (data["status"] == "u")
        self.root, self.sign = coupled(relations, movable)
        nearest = [np.minimum(side, np.maximum(far, own)) for side, own in
                   zip((up, down), level, strict=True)]  # fmt: skip
        self.group(nearest, level, safe)
        self.lay_rows(relations)
        self.limit_rooms()
        self.deltas, self.notes = {}, self.conditions()

    def group(self, rooms_of, level, safe):
        """Store room, levels and open directions of each group, at the cell that represents it."""
        n, sensitive = self.n, self.data["status"] == "u"
        live = np.flatnonzero(self.root >= 0)
        root, turn = self.root[live], self.sign[live]
        rooms_of, level, safe = ([part[live] for part in both] for both in (rooms_of, level, safe))
        self.room = either_way(np.minimum, np.inf, n, root, turn, *rooms_of)
        self.need = either_way(np.maximum, 0.0, n, root, turn, *level)
        may = either_way(np.logical_and, True, n, root, turn, *safe)
        self.open = [way & (most >= need) for way, most, need in
                     zip(may, self.room, self.need, strict=True)]  # fmt: skip
        require(np.all(self.root[sensitive] >= 0), "a sensitive cell that cannot move")
        self.groups, self.sensitive = np.unique(root), np.isin(np.arange(n), self.root[sensitive])
        given = self.data["direction"] * change(self.data)[0] >= 0
        require(np.all(given), "a direction that the release does not have")
        for cell in np.flatnonzero(self.data["direction"]).tolist():
            self.close(cell, self.data["direction"][cell] > 0, self.open)

    def close(self, cell, is_up, sides):
        """Close one direction of a group: this cell then only goes up, or only down."""
        require(self.data["status"][cell] == "u", "a direction of a cell that is not sensitive")
        sides[1 if is_up == (self.sign[cell] > 0) else 0][self.moving(cell)] = False

    def moving(self, cells):
        """Return the groups of cells; refuse a cell that cannot move. All indices come here."""
        groups = self.root[cells]
        require(np.all(groups >= 0), "a multiplier of a cell that cannot move")
        return groups

    def lay_rows(self, relations):
        """Store relations between groups, then statistics and combined relations, by row."""
        data, starts = self.data, relations.starts
        cells, terms, statistics = relations.cells, relations.whole, 0
        if "statistic_data" in data:
            starts = np.concatenate([starts, starts[-1] + data["statistic_starts"][1:]])
            cells = np.concatenate([cells, data["statistic_cells"]])
            terms = np.concatenate([terms, data["statistic_data"]])
            statistics = len(data["statistic_kind"])
        combined = 0
        if "combined_data" in data:
            own, further, more = self.combined(relations)
            combined, starts = len(own) - 1, np.concatenate([starts, starts[-1] + own[1:]])
            cells, terms = np.concatenate([cells, further]), np.concatenate([terms, more])
        self.counts = np.array([self.m, statistics, self.m, self.m + combined, 0])
        exact = np.concatenate([~relations.real, np.arange(statistics + combined) >= statistics])
        self.units = np.append(relations.unit, np.ones(statistics + combined + 1))
        self.row, self.member, term, parts = merged(
            list_numbers(starts), self.root[cells], self.sign[cells] * terms, exact)  # fmt: skip
        self.term, self.length = term.astype(LONG), np.abs(term).astype(LONG)
        self.blur = np.where(exact[self.row], 0.0, 2.0**-44 * parts)  # error of a coefficient
        self.order = np.argsort(self.member, kind="stable")
        self.columns, self.first = starts_of(self.member, self.n), starts_of(self.row, len(exact))
        self.size += 4 * len(self.row)

    def limit_rooms(self):
        """Limit infinite rooms (theorem 9): a term moves at most as far as all others together."""
        inner = np.flatnonzero((self.row < self.m) & (self.blur == 0))
        row, group, term = self.row[inner], self.member[inner], self.term[inner].astype(float)
        rises = term > 0
        for _ in range(30):  # so many rooms in turn may rest on one another
            self.relations.effort(STEPS_EACH + 100.0 * len(row))
            before = [side.copy() for side in self.room]
            for back in (True, False):  # the term goes up while the others go down, or vice versa
                reach = np.where(rises == back, before[1][group], before[0][group])
                none = np.isinf(reach)
                total = np.bincount(row, np.where(none, 0, reach) * np.abs(term), self.m + 1)
                alone = np.bincount(row, none, self.m + 1)[row] == none
                for side, up in zip(self.room, (True, False), strict=True):
                    own = alone & ((rises == back) == up) & np.isinf(side[group])
                    limit = total[row[own]] / np.abs(term[own]) * (1 + 2.0**-40)
                    np.minimum.at(side, group[own], limit)
            if all(map(np.array_equal, before, self.room)):
                return

    def combined(self, relations):
        """Return sums of relations: starts, cells, whole terms; those of a cell are not added."""
        numbers, multiplier = self.data["combined_relations"], self.data["combined_data"]
        whole = all(np.all(one == np.rint(one)) for one in (relations.given, multiplier))
        require(whole, "a sum of relations with terms that are not whole numbers")
        length = relations.lengths[numbers]
        require(np.sum(length) <= MOST_TERMS, "sums of relations too long to check")
        relations.effort(200.0 * np.sum(length))
        at = positions(relations.starts, numbers)
        terms = relations.given[at] * np.repeat(multiplier, length)
        starts = np.concatenate([[0], np.cumsum(length)])[self.data["combined_starts"]]
        small = np.all(row_sums(starts, np.abs(terms)) < MOST_WHOLE)
        require(small, "a sum of relations with terms that are too large")
        return starts, relations.cells[at], terms

    def conditions(self):
        """Return notes on conditions of the bound."""
        fixed, whole = np.sum(self.data["direction"] != 0), self.data["decimals"] != NO_DECIMALS
        limit, free = float(self.data["sensitive_limit"]), self.data["status"] != "u"
        ends = np.minimum(self.data["capacity_up"], self.data["capacity_down"])
        capacities = int(np.sum(np.isfinite(ends) & free))
        return [
            (fixed, f"the bound is for the given directions of {fixed} cells"),
            (np.isfinite(limit), f"sensitive cells move at most {limit:.12g} times their levels"),
            (capacities, f"{capacities} other cells move at most as far as the certificate says"),
            (not whole, "the bound is for tables that satisfy relations and bounds exactly"),
            (whole, f"the bound is for multiples of {unit_of(self.data):g}; levels are rounded up"),
        ]

    def joined(self, bounds):
        """Return the sum of the bounds of all parts (theorem 11); for Linf, the largest."""
        return (max(bounds) if self.measure == "Linf" else sum(bounds)) * self.scale

    def by_group(self, terms):
        """Return the sum of terms, one for each entry of a row, over each group."""
        return row_sums(self.columns, terms[self.order])

    def delta(self, r):
        """Return the least imbalance of levels in a relation, over all open directions."""
        if r not in self.deltas:
            own = np.arange(self.first[r], self.first[r + 1])
            own = own[self.sensitive[self.member[own]]]
            require(len(own) <= 14, "too many sensitive cells in a discrepancy row")
            self.relations.effort(10 * STEPS_EACH + 20.0 * 2 ** len(own))
            sums, most = np.zeros(1, dtype=LONG), np.maximum(*self.need)[self.member[own]]
            size, blur = np.sum(self.length[own] * most), np.sum(self.blur[own] * most)
            for at in own:
                g, c = self.member[at], self.term[at]
                ends = [sign * c * need[g] for sign, need, is_open in
                        zip((1, -1), self.need, self.open, strict=True) if is_open[g]]  # fmt: skip
                sums = (sums[:, None] + np.array(ends, dtype=LONG)[None, :]).reshape(-1)
            least = float(np.min(np.abs(sums))) if len(sums) else 0.0
            self.deltas[r] = max(least - 32 * EPSILON * size - blur, 0.0)
        return self.deltas[r]

    def by_kind(self, entries):
        """Return rows, cells and multipliers of each kind, after checking that they exist."""
        kind, row, cell, numbers = entries
        require(np.all((kind >= 0) & (kind < 5)), "an unknown kind of multiplier")
        require(np.all(numbers[kind >= 2] > 0), "a multiplier below 0")
        require(np.all(np.where(kind < 3, cell == -1, cell >= 0)), "a multiplier of no cell")
        fits = np.where(kind == 4, row == -1, (row >= 0) & (row < self.counts[kind]))
        require(np.all(fits), "a multiplier of no row")
        simple = self.measure != "L2" or not np.any(kind >= 2)
        require(simple, "sums of squares have multipliers of relations and statistics only")
        row = np.where((kind == 3) & (row >= self.m), row + self.counts[1], row)
        numbers = numbers / np.where(kind == 1, 1, self.units[row]).astype(LONG)
        return [tuple(part[kind == k] for part in (row, cell, numbers)) for k in range(5)]

    def price(self, tree, entries, box):
        """Return a lower bound for all adjustments with directions in the box; inf if none is."""
        sides = [side.copy() for side in self.open]
        for cell, (low, high) in box.items():
            if low > 1 or high < 0 or low > high:
                return np.inf
            if low == 1 or high == 0:
                self.close(cell, low == 1, sides)
        if not np.all((sides[0] | sides[1])[self.groups]):
            return np.inf
        relation, statistic, discrepancy, balance, share = self.by_kind(entries)
        signed, lacking, moved = np.zeros((3, sum(self.counts[[1, 3]])), dtype=LONG)
        signed[relation[0]], signed[self.m + statistic[0]] = relation[2], statistic[2]
        lacking[discrepancy[0]] = discrepancy[2]
        np.add.at(moved, balance[0], balance[2])
        constant, size = self.constant(statistic, discrepancy)
        own = self.own_entries(balance)
        used = (np.abs(signed) + moved + lacking)[self.row] + 2 * own
        r = self.by_group(self.term * signed[self.row])
        extra = self.by_group(self.length * (2 * own - moved[self.row]))
        above = -self.by_group(self.length * lacking[self.row])
        sizes, blur = self.by_group(self.length * used), self.by_group(self.blur * used)
        weight, slack = self.weights(tree, share), (len(entries[0]) + 8) * EPSILON * size
        found = (self.least(each, (extra, r, above), (sizes, blur), sides)
                 for each in (weight, 0 * weight))  # fmt: skip
        return settled(*((value + constant, error + slack) for value, error in found))

    def constant(self, statistic, discrepancy):
        """Return the sum of multipliers times sides of rows, and of its absolute terms."""
        kind, (at, _, y) = self.data.get("statistic_kind", np.zeros(0, "U")), statistic
        require(np.all(kind[at] != "variance"), "a variance is no row")
        target, slack = (self.data.get(f"statistic_{name}", np.zeros(0))[at]
                         for name in ("target", "slack"))  # fmt: skip
        deltas = discrepancy[2] * np.array([self.delta(int(r)) for r in discrepancy[0]], LONG)
        size = np.sum(np.abs(y) * (np.abs(target) + slack)) + np.sum(deltas)
        return np.sum(y * target - np.abs(y) * slack) + np.sum(deltas), size

    def own_entries(self, balance):
        """Return the balance multiplier of its own group for each entry of a relation."""
        own = np.zeros(len(self.row), LONG)
        place = locate(self.first, self.member, balance[0], self.moving(balance[1]))
        require(np.all(place >= 0), "a balance row of another relation")
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
        np.maximum.at(weight, self.root[priced], own)
        part = np.zeros(self.n, dtype=LONG)
        np.add.at(part, self.moving(cells), shares / (1 + 4 * len(shares) * EPSILON))
        return weight * part

    def least(self, weight, rates, errors, sides):
        """Return the least sum over all groups, and its largest rounding error.

        In an infinite room the cost must not fall with the distance, or nothing is proved.
        """
        g, square = self.groups, self.measure == "L2"
        weight, (extra, r, above) = weight[g], (part[g] for part in rates)
        counts = EPSILON * (np.diff(self.columns)[g] + 16)
        off = counts * (errors[0][g] + (0 if square else weight)) + errors[1][g]
        best, reached = np.full(len(g), np.inf, dtype=LONG), np.zeros(len(g))
        for sign, most, need, is_open in zip((1, -1), self.room, self.need, sides, strict=True):
            near, far = need[g].astype(LONG), np.maximum(most, need)[g].astype(LONG)
            slope = -sign * r if square else weight + extra - sign * r + above
            endless, falls = np.isinf(far), slope - off < 0
            far = np.where(endless, near, far)
            if square:
                top = sign * r / (2 * np.where(weight > 0, weight, 1))
                middle = np.clip(np.where(weight > 0, top, near), near, far)
                ends = [weight * d * d + slope * d for d in (near, middle, far)]
            else:
                ends = [slope * d - above * near for d in (near, far)]
            price = np.where(endless & falls, -np.inf, np.min(ends, axis=0))
            best = np.where(is_open[g], np.minimum(best, price), best)
            reached = np.where(is_open[g], np.maximum(reached, far), reached)
        if np.any(np.isinf(best)):
            return LONG(-np.inf), LONG(0)
        doubt = np.sum((off + (counts * weight * reached if square else 0)) * reached)
        return np.sum(best), doubt + len(best) * EPSILON * np.sum(np.abs(best))


def rooms(data):
    """Return how far each cell may move up and down, its levels, and on which sides it may lie.

    In units of the last digit if there is one; otherwise loosened by more than rounding errors.
    """
    decimals, limit = int(data["decimals"]), float(data["sensitive_limit"])
    sensitive, level = data["status"] == "u", levels_of(data)
    values, whole, found = data["values"], decimals != NO_DECIMALS, []
    values = multiples(values, decimals).astype(float) if whole else values
    for sign, bound, capacity, own in ((1, "upper_bound", "capacity_up", level[0]),
                                       (-1, "lower_bound", "capacity_down", level[1])):  # fmt: skip
        end, most = sign * data[bound], data[capacity]
        if whole:
            end = np.maximum(rounded_down(in_digits(end, decimals)), sign * values)
            most = rounded_down(in_digits(most, decimals))
        distance = np.abs(end - sign * values)
        near = (distance < own) & (distance >= own - last_places(end, values))
        distance = np.where(near, own, distance)
        most = np.minimum(distance, np.where(sensitive, times(limit, own), most))
        most = np.where(data["status"] == "z", 0.0, np.floor(most) if whole else most)
        found.append(most if whole else most * (1 + 2.0**-48))
    safe = [~sensitive | (own > 0) for own in level]
    return *found, [own if whole else own * NEED_SHARE for own in level], safe


def rounded_down(numbers):
    """Round down; numbers that are whole up to their last places become that whole number."""
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    whole = np.rint(finite)
    near = np.abs(whole - finite) <= LAST_PLACES * np.spacing(np.abs(finite))
    return np.where(np.isinf(numbers), numbers, np.where(near, whole, np.floor(finite)))


def merged(row, group, terms, exact):
    """Return relations between groups: sorted rows, groups, coefficients and sizes of their parts.

    Coefficients of 0 are left out where sums are exact.
    """
    kept = group >= 0
    row, group, terms = row[kept], group[kept], terms[kept]
    order = np.lexsort([group, row])
    row, group, terms = row[order], group[order], terms[order]
    new = np.append(True, (np.diff(row) != 0) | (np.diff(group) != 0))[: len(row)]
    first = np.append(np.flatnonzero(new), len(row))
    total, size = row_sums(first, terms), row_sums(first, np.abs(terms))
    clear = (total != 0) | ~exact[row[first[:-1]]]
    at = first[:-1][clear]
    return row[at], group[at], total[clear], size[clear]


def coupled(relations, movable, used=True):
    """Return for each movable cell the cell that represents its group, and its sign relative to it.

    A relation with one movable group holds it in place. One with two of equal absolute coefficients
    moves both by the same amount: theorem 8. Only exact relations in `used` count, again once cells
    change.
    """
    root, sign = np.where(movable, np.arange(len(movable)), -1), np.ones(len(movable))
    used, members = used & ~relations.real, {}
    rows = np.flatnonzero(used)
    while len(rows):
        at = positions(relations.starts, rows)
        cells = relations.cells[at]
        relations.effort(20 * STEPS_EACH + 100.0 * len(at))
        terms = sign[cells] * relations.whole[at]
        row, group, term, _ = merged(relations.row[at], root[cells], terms, used)
        first = np.flatnonzero(np.diff(row, prepend=-1))
        length = np.diff(np.append(first, len(row)))
        pairs = first[length == 2]
        pairs = pairs[np.abs(term[pairs]) == np.abs(term[pairs + 1])]
        still, link = set(group[first[length == 1]].tolist()), {}

        def find(cell, link=link):
            path, turn = [], 1.0
            while cell in link:
                path.append(cell)
                cell = link[cell][0]
            for one in reversed(path):
                turn *= link[one][1]
                link[one] = cell, turn
            return cell, turn

        same = -np.sign(term[pairs] * term[pairs + 1])
        for pair, turn in zip(np.stack([group[pairs], group[pairs + 1]], 1).tolist(), same.tolist(),
                              strict=True):  # fmt: skip
            (one, first_sign), (two, second_sign) = map(find, pair)
            if one == two and first_sign != turn * second_sign:
                still.add(one)  # its change equals its negative, so it is 0
            elif one != two:
                larger, smaller = sorted((one, two), key=lambda g: -len(members.get(g, ())))
                link[smaller] = larger, first_sign * second_sign * turn
        still = {find(cell)[0] for cell in still}
        changed, ends, turns = [], [], []
        for cell in sorted({*link, *still}):
            (end, turn), own = find(cell), members.pop(cell, [cell])
            changed += own
            ends += [-1 if end in still else end] * len(own)
            turns += [turn] * len(own)
            if end != cell and end not in still:
                members.setdefault(end, [end]).extend(own)
        changed = np.array(changed, dtype=np.int64)
        root[changed], sign[changed] = ends, sign[changed] * turns
        relations.effort(500.0 * len(changed))
        rows = np.unique(relations.column_row[positions(relations.column_starts, changed)])
        rows = rows[used[rows]]
    return root, sign


# -- the verdict, and the command line -----------------------------------------------------------
CHECKS = {"protection": check_protection, "additivity": check_kept, "statistics": check_statistics,
          "association": check_associations, "loss": check_loss, "bound": check_bound}  # fmt: skip


@with_errors
def verify(data, problem=None, minutes=1):
    """Raise RefusedError unless every claim is proved; return the proved claims, as lines of text.

    `problem` is the path of a JJ file that must hold the problem of the certificate.
    """
    check_form(data)
    data = {"release": "suppression", "claims": np.array(["protection"])} | data
    relations, tolerance = Relations(data, Effort(minutes)), float(data["tolerance"])
    checked, notes = check_release(data, relations)
    rough = check_additive(relations, data["values"], data["right_hand_side"], tolerance)
    compared = [(True, "not checked: the problem itself was not compared, no file was given")]
    if problem is not None:
        side, compared = compare(data, problem)
        rough = check_additive(relations, data["values"], side, tolerance, data["right_hand_side"])
    for claim in data["claims"].tolist():
        notes = notes + CHECKS[claim](checked, relations)
    notes += [
        (rough, f"{rough} relations of the true table: to {ADDITIVE_SHARE:g} of their terms"),
        (tolerance, f"additivity of the true table: within {tolerance:.12g}, as was stated"),
        *compared,
    ]
    lines = [str(text) for shown, text in notes if shown]
    return [f"PROVED: {lines[0]}", *lines[1:]]


def main(arguments):
    paths = [one for one in arguments if not one.startswith("--minutes=")]
    most = [one.partition("=")[2] for one in arguments if one not in paths]
    if len(paths) not in (1, 2) or not all(re.fullmatch(NUMBER, one, re.ASCII) for one in most):
        print("usage: python verifier.py CERTIFICATE.npz [ORIGINAL.jj] [--minutes=MOST]")
        return 2
    try:
        minutes = float(most[-1]) if most else max(1.0, Path(paths[0]).stat().st_size / 2**23)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a file that causes a warning is refused
            data = read(paths[0])
            claims, cells = list(data.get("claims", CLAIMS)), int(np.sum(is_sensitive(data)))
            asked = {"additivity"} if "published" in data else set()
            asked |= {"protection"} if cells and str(data.get("release")) != "rounding" else set()
            require("bound" not in claims or asked <= set(claims), "a bound without its claims")
            lines = verify(data, *paths[1:], minutes=minutes)
    except Exception as error:  # a file with any error proves nothing
        # The text of the error may come from the file, so it is printed as one line of ASCII.
        print(f"REFUSED: {ascii(str(error) or type(error).__name__)[1:-1]}")
        return 1
    open_ = cells and "protection" not in claims
    few = f"NOT CLAIMED: protection of {cells} sensitive cells. Proved is only:\n  "
    text = "\n  ".join(lines)
    print(few + text.removeprefix("PROVED: ") if open_ else text)
    return 3 if open_ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
