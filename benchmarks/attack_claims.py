"""Alter true certificates of every kind of release; the verifier must refuse or be right.

    python benchmarks/attack_claims.py --count 300 --seed 0

For each kind so many certificates are altered: entries, lists, words, multipliers, trees, figures
and whole releases. Each file is checked alone and beside its problem file. What is accepted is
judged from the definition of its claims, by linear and mixed programs of SciPy over the whole
table, in which no witness, no multiplier and no line of the verifier has a part. Wrong are: an
acceptance of a claim that is false, one beside another problem, one of a file of another form, a
true certificate that is refused, and a crash. Prints counts; exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack

import attack_certificates as plain
import tablecloak as tc
from attack_bounds import KINDS as SEARCHES
from forged_certificates import VERDICTS
from tablecloak.certificates.claim import arrays_of

Arrays = dict[str, Any]
Random = np.random.Generator

PROOFS = ("proof_", "node_", "cut_", "up_", "down_", "sum_", "turned_")
"""Beginnings of the names of the arrays that prove a bound."""

PARTS = ("tree_", "part", "direction")

NEAR = 1e-6
"""Share by which the programs of the judge may be off; smaller faults are none to them."""

MOST_SENSITIVE = 8
"""Sensitive cells up to which the judge tries all directions."""


# -- true certificates ---------------------------------------------------------------------------


def statistics(random: Random) -> Any:
    """An adjusted table that keeps a mean, and perhaps a slope or a variance."""
    problem = SEARCHES["L1"](random).problem
    more = [["mean:all"], ["mean:all", "slope:all"], ["variance:all"]][random.integers(3)]
    return tc.adjust(problem, preserve=more, time_limit=3)


def linked(random: Random) -> Any:
    """Two tables of the same records with the margin of one variable in common."""
    names = ["region", "branch", "size"]
    frame = tc.examples.firms(int(random.integers(60, 120)), int(random.integers(1000)))
    table = tc.tabulate(
        frame.rename(columns={"industry": "branch"}), dict.fromkeys(names), "turnover",
        contributor="firm", tables=[["region", "branch"], ["branch", "size"]], decimals=0,
    )  # fmt: skip
    problem = table.protect(tc.PPercent(10))
    return [tc.suppress, tc.adjust, tc.publish_intervals][random.integers(3)](problem, time_limit=3)


def repaired(random: Random) -> Any:
    """An adjusted table whose levels had to give way."""
    problem = SEARCHES["L1"](random).problem
    most = np.where(random.random(problem.table.n_cells) < 0.6, 0.0, np.inf)
    narrow = problem.with_changes(capacity_up=most, capacity_down=most)
    return tc.adjust(narrow, repair=True, time_limit=3)


KINDS: dict[str, Callable[[Random], Any]] = {
    **SEARCHES, "statistics": statistics, "repair": repaired, "linked": linked,
}  # fmt: skip


# -- the judge -----------------------------------------------------------------------------------


class FalseClaimError(Exception):
    """A claim of the certificate is not true."""


def need(condition: object, reason: str) -> None:
    if not condition:
        raise FalseClaimError(reason)


class Judge:
    """What is true of a table, of its release and of all releases, from the arrays alone."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays, self.a, self.n = arrays, arrays["values"], len(arrays["values"])
        self.status, self.release = arrays["status"], str(arrays["release"])
        parts = arrays["relation_data"], arrays["relation_cells"], arrays["relation_starts"]
        self.matrix = csr_array(parts, shape=(len(parts[2]) - 1, self.n))
        self.low, self.high = arrays["lower_bound"], arrays["upper_bound"]
        self.up, self.down = arrays["upper_protection"], arrays["lower_protection"]
        self.width = arrays["sliding_protection"]
        if self.release == "small counts":
            self.as_adjustment()
        self.sensitive = np.flatnonzero(self.status == "u")

    def as_adjustment(self) -> None:
        """Small counts have two values, zeros one, and all others are counts from the base."""
        base, a = float(self.arrays["base"]), self.a
        small = (a > 0) & (a < base)
        self.status = np.where(small, "u", np.where((self.status == "z") | (a == 0), "z", "s"))
        self.up, self.down = np.where(small, base - a, 0.0), np.where(small, a, 0.0)
        self.low, self.high = np.zeros(self.n), np.full(self.n, np.inf)
        self.arrays = self.arrays | {
            "capacity_up": self.high, "capacity_down": np.where(a >= base, a - base, a),
            "sensitive_limit": np.array(1.0), "decimals": np.array(0),
        }  # fmt: skip

    def judge(self) -> None:
        """Raise FalseClaimError unless all claims are true."""
        arrays, claims = self.arrays, self.arrays["claims"].tolist()
        off = np.abs(self.matrix @ self.a - arrays["right_hand_side"])
        size = abs(self.matrix) @ np.abs(self.a) + np.abs(arrays["right_hand_side"])
        need(np.all(off <= 1e-8 * size + arrays["tolerance"]), "the true table does not add up")
        if self.release in ("suppression", "intervals"):
            self.hidden()
            if "protection" in claims:
                self.protected()
        else:
            self.moved(claims)
        if "loss" in claims:
            loss, real = float(arrays["loss"]), self.loss()
            need(abs(loss - real) <= 1e-8 * real + 1e-300, f"the loss is {real}, not {loss}")
        if "bound" in claims:
            bound, least = float(arrays["bound"]), self.least()
            need(bound <= least * (1 + NEAR) + 1e-9, f"{least} is possible, the bound is {bound}")

    def hidden(self) -> None:
        """What is published as it is, and the ends of what is not."""
        if self.release == "suppression":
            hidden = self.arrays["suppressed"]
            ends = np.where(hidden, -np.inf, self.a), np.where(hidden, np.inf, self.a)
        else:
            ends = self.arrays["published_lower"], self.arrays["published_upper"]
        need(np.all((ends[0] <= self.a) & (self.a <= ends[1])), "the truth is excluded")
        self.ends = np.maximum(ends[0], self.low), np.minimum(ends[1], self.high)
        must = np.isin(self.status, ["u", "m"]) & (self.low < self.high)
        need(np.all((ends[0] < ends[1])[must]), "a sensitive cell is published")
        need(not np.any((ends[0] < ends[1])[self.status == "z"]), "a frozen cell is hidden")

    def asked(self, cell: int) -> tuple[float, float, float]:
        """How far a cell has to reach up, down, and in all."""
        up, down, width = float(self.up[cell]), float(self.down[cell]), float(self.width[cell])
        requirement = str(self.arrays["requirement"])
        if requirement == "width":
            return 0.0, 0.0, max(up + down, width)
        need(requirement in ("two-sided", "upper"), "requirement")
        return (up, 0.0, 0.0) if requirement == "upper" else (up, down, width)

    def protected(self) -> None:
        """Each sensitive cell can reach as far as it must, by a program for each side."""
        bounds = np.column_stack(self.ends)
        for cell in self.sensitive.tolist():
            far = []
            for sign in (1.0, -1.0):
                cost = np.zeros(self.n)
                cost[cell] = -sign
                found = linprog(cost, A_eq=self.matrix, b_eq=self.matrix @ self.a, bounds=bounds)
                need(found.status in (0, 3), "no program")
                far.append(np.inf if found.status == 3 else -found.fun - sign * self.a[cell])
            up, down, width = self.asked(cell)
            slack = NEAR * max(up, down, width)
            need(far[0] >= up - slack and far[1] >= down - slack, f"cell {cell} is disclosed")
            need(sum(far) >= width - slack, f"cell {cell} is too narrow")

    def moved(self, claims: list[str]) -> None:
        """Adjusted and rounded tables: what they keep, and how far cells lie from the truth."""
        x, a = self.arrays["published"], self.a
        z = x - a
        dust = 1e-8 * np.abs(a) + 1e-300
        if self.release == "rounding":
            base, steps = int(self.arrays["base"]), int(self.arrays["steps"])
            need(base >= 2 and steps >= 1, "base")
            need(np.all((x % base == 0) & (np.abs(z) < steps * base)), "no such multiple")
            kept = (self.status == "z") | ((a % base == 0) & (steps == 1))
            need(np.all(z[kept] == 0) and np.all(x * np.sign(a) >= 0), "a cell had to stay")
        else:
            need(np.all((x >= self.low - dust) & (x <= self.high + dust)), "out of bounds")
            need(np.all(z[self.status == "z"] == 0), "a frozen cell moved")
            up, down, *_ = self.rooms()
            need(np.all((z <= up * (1 + 1e-8) + dust) & (-z <= down * (1 + 1e-8) + dust)), "room")
        if self.release == "small counts":
            need(np.all((x == 0) | (x >= float(self.arrays["base"]))), "a small count")
        if "protection" in claims:
            at = self.sensitive
            safe = (self.up[at] > 0) & (z[at] >= self.up[at] * (1 - 1e-8))
            safe |= (self.down[at] > 0) & (-z[at] >= self.down[at] * (1 - 1e-8))
            need(np.all(safe), "a cell is too near to the truth")
        if "additivity" in claims:
            size = abs(self.matrix) @ (np.abs(a) + np.abs(x))
            need(np.all(np.abs(self.matrix @ z) <= 1e-9 * size), "it does not add up")
        if "statistics" in claims:
            self.kept(z)

    def unit(self) -> float:
        decimals = int(self.arrays["decimals"])
        return 1.0 if decimals == 99 else 10.0**-decimals

    def kept(self, z: Any) -> None:
        """Statistics, each by its name."""
        data, unit = self.arrays, self.unit()
        for at, kind in enumerate(data["statistic_kind"].tolist()):
            own = slice(*data["statistic_starts"][at : at + 2])
            cells, terms = data["statistic_cells"][own], data["statistic_data"][own]
            slack, target = data["statistic_slack"][at], data["statistic_target"][at]
            a = self.a[cells]
            if kind == "variance":
                ratio = np.var(a + z[cells]) / np.var(a)
                need(abs(ratio - 1) <= slack + 1e-8, "variance")
                continue
            sums, size = terms @ z[cells] / unit, np.abs(terms) @ (np.abs(z[cells]) + np.abs(a))
            dust = 1e-8 * (size / unit if int(data["decimals"]) == 99 else np.abs(terms) @
                           np.abs(z[cells]) / unit + abs(target))  # fmt: skip
            need(abs(sums - target) <= slack + dust, kind)
            if kind == "mean":
                need(abs(np.mean(z[cells])) <= (slack + dust) * unit / len(cells), "mean")
            if kind == "slope" and len(cells):
                change = np.cov(a, a + z[cells])[0, 1] / np.var(a, ddof=1) - 1
                most = (
                    (slack + dust) * unit * np.abs(a - a.mean()).max() / np.sum((a - a.mean()) ** 2)
                )
                need(abs(change) <= most * (1 + 1e-6) + 1e-7, "slope")

    def loss(self) -> float:
        weights, arrays = self.arrays["weights"], self.arrays
        if self.release == "suppression":
            return float(weights[arrays["suppressed"]].sum())
        if self.release == "intervals":
            widths = weights * (arrays["published_upper"] - arrays["published_lower"])
            return float(widths[self.status != "m"].sum())
        z = np.abs(arrays["published"] - self.a)
        measure = str(arrays["measure"])
        need(measure in ("L1", "L2", "Linf"), "measure")
        if measure == "Linf":
            return float(np.max(weights * z, initial=0.0))
        return float(np.sum(weights * z ** (1 if measure == "L1" else 2)))

    # -- the least that any release loses --

    def least(self) -> float:
        if self.release in ("suppression", "intervals"):
            return self.least_hidden()
        if self.release == "rounding":
            return self.least_rounded()
        measure = str(self.arrays["measure"])
        if measure == "L2" or len(self.sensitive) > MOST_SENSITIVE:
            # A release that exists is enough; it need not have the given directions.
            fixed = np.any(self.arrays["direction"] != 0)
            return np.inf if fixed else self.loss()
        return self.least_moved(measure == "Linf")

    def rooms(self) -> tuple[Any, Any, Any, Any]:
        """How far cells may move up and down, and levels; whole last digits where there are."""
        decimals, limit = int(self.arrays["decimals"]), float(self.arrays["sensitive_limit"])
        unit, whole = self.unit(), decimals != 99
        u = self.status == "u"
        levels = [np.where(u, level, 0.0) for level in (self.up, self.down)]
        ends = [self.high - self.a, self.a - self.low]
        most = [self.arrays["capacity_up"], self.arrays["capacity_down"]]
        if whole:
            levels = [np.ceil(level / unit - NEAR) * unit for level in levels]
            ends, most = ([np.floor(part / unit + NEAR) * unit for part in pair]
                          for pair in (ends, most))  # fmt: skip
        for k in range(2):
            # An infinite limit is none, also for a level of 0.
            own = np.full(self.n, np.inf) if np.isinf(limit) else limit * levels[k]
            ends[k] = np.minimum(ends[k], np.where(u, own, most[k]))
            ends[k] = np.where(self.status == "z", 0.0, ends[k])
        return *ends, *levels

    def least_moved(self, largest: bool) -> float:
        """Least sum or maximum of weighted changes, over all directions."""
        up, down, up_level, down_level = self.rooms()
        data, weights, n = self.arrays, self.arrays["weights"], self.n
        far = 10 * np.max(np.abs(self.a), initial=0) + 100 * (up_level + down_level).sum()
        need(np.all(up_level[self.sensitive] + down_level[self.sensitive] > 0), "levels")
        rows, low, high = [self.matrix], [np.zeros(self.matrix.shape[0])], []
        high.append(low[0])
        for at, kind in enumerate(data.get("statistic_kind", np.zeros(0, "U")).tolist()):
            if kind != "variance":
                own = slice(*data["statistic_starts"][at : at + 2])
                row = np.zeros((1, n))
                row[0, data["statistic_cells"][own]] = data["statistic_data"][own]
                target, slack = data["statistic_target"][at], data["statistic_slack"][at]
                rows.append(csr_array(row))
                low.append(np.array([(target - slack) * self.unit()]))
                high.append(np.array([(target + slack) * self.unit()]))
        both = vstack(rows)
        matrix = csr_array(hstack([both, -both]))
        sides = np.concatenate(low), np.concatenate(high)
        best = np.inf
        options = [self.options(cell, up, down, up_level, down_level) for cell in self.sensitive]
        for signs in itertools.product(*options):
            least, most = np.zeros(2 * n), np.minimum(np.concatenate([up, down]), far)
            for cell, sign in zip(self.sensitive.tolist(), signs, strict=True):
                own, other = (cell, n + cell) if sign > 0 else (n + cell, cell)
                least[own] = up_level[cell] if sign > 0 else down_level[cell]
                most[own], most[other] = max(most[own], least[own]), 0.0
            cost = np.concatenate([weights, weights])
            constraints = [LinearConstraint(matrix, *sides)]
            if largest:
                cost = np.append(np.zeros(2 * n), 1.0)
                moves = csr_array(hstack([eye_array(n), eye_array(n)]).multiply(weights[:, None]))
                constraints = [
                    LinearConstraint(hstack([matrix, csr_array((len(sides[0]), 1))]), *sides),
                    LinearConstraint(hstack([moves, -np.ones((n, 1))]), -np.inf, 0.0),
                ]
                least, most = np.append(least, 0.0), np.append(most, np.inf)
            found = milp(cost, constraints=constraints, bounds=Bounds(least, most))
            if found.status == 0:
                best = min(best, found.fun)
        return best

    def options(self, cell: int, up: Any, down: Any, up_level: Any, down_level: Any) -> list[int]:
        given = int(self.arrays["direction"][cell])
        can = [(1, up, up_level), (-1, down, down_level)]
        return [sign for sign, side, level in can if level[cell] > 0
                and side[cell] >= level[cell] * (1 - NEAR) and given in (0, sign)]  # fmt: skip

    def least_rounded(self) -> float:
        """Least weighted change of any table of multiples, by a program in whole numbers."""
        data, a, n = self.arrays, self.a, self.n
        base, steps, weights = int(data["base"]), int(data["steps"]), data["weights"]
        low, high = np.ceil((a - steps * base + 1) / base), np.floor((a + steps * base - 1) / base)
        low, high = (
            np.where(a >= 0, np.maximum(low, 0), low),
            np.where(a < 0, np.minimum(high, 0), high),
        )
        kept = (self.status == "z") | ((a % base == 0) & (steps == 1))
        low, high = np.where(kept, a // base, low), np.where(kept, a // base, high)
        unit = eye_array(n)
        # Columns: multiples, then how far each value is off.
        constraints = [
            LinearConstraint(hstack([base * self.matrix, csr_array(self.matrix.shape)]),
                             data["right_hand_side"], data["right_hand_side"]),
            LinearConstraint(hstack([base * unit, -unit]), -np.inf, a),
            LinearConstraint(hstack([base * unit, unit]), a, np.inf),
        ]  # fmt: skip
        found = milp(
            np.append(np.zeros(n), weights), constraints=constraints,
            integrality=np.append(np.ones(n), np.zeros(n)),
            bounds=Bounds(np.append(low, np.zeros(n)), np.append(high, np.full(n, np.inf))),
        )  # fmt: skip
        return float(found.fun) if found.status == 0 else np.inf

    def least_hidden(self) -> float:
        """Least loss of protected patterns or intervals: one table for each cell and side."""
        n, data = self.n, self.arrays
        pattern = self.release == "suppression"
        far = 100 * (np.abs(self.a).max() + self.up.max() + self.down.max() + self.width.max())
        above, below = np.minimum(self.high - self.a, far), np.minimum(self.a - self.low, far)
        above, below = (np.where(self.status == "z", 0.0, side) for side in (above, below))
        unit, first = eye_array(n), n if pattern else 2 * n
        blocks, sides = [], []
        wanted = [(cell, sign) for cell in self.sensitive.tolist() for sign in (1, -1)]
        k, at_least = len(wanted), []
        for place, (cell, sign) in enumerate(wanted):
            up, down, width = self.asked(cell)
            row = np.zeros(first + k * n)
            row[first + place * n + cell] = sign
            at_least.append((row, up if sign > 0 else down))
            if sign > 0:
                row = row.copy()
                row[first + (place + 1) * n + cell] = -1
                at_least.append((row, width))
            if pattern:
                sides.append(
                    (
                        hstack([-unit.multiply(above[:, None])]),
                        hstack([unit.multiply(below[:, None])]),
                    )
                )
            else:
                none = csr_array((n, n))
                sides.append((hstack([-unit, none]), hstack([none, unit])))
        witnesses = block_diag([self.matrix] * k) if k else csr_array((0, 0))
        kept = hstack([csr_array((witnesses.shape[0], first)), witnesses])
        blocks.append(LinearConstraint(kept, 0.0, 0.0))
        for which, (low, high) in ((0, (-np.inf, 0.0)), (1, (0.0, np.inf))):
            stack = vstack([pair[which] for pair in sides])
            blocks.append(LinearConstraint(hstack([stack, eye_array(k * n)]), low, high))
        rows = np.array([row for row, _ in at_least])
        blocks.append(LinearConstraint(rows, np.array([side for _, side in at_least]), np.inf))
        weights = data["weights"]
        if pattern:
            cost, most = weights, np.where(self.status == "z", 0.0, 1.0)
            least = np.where(np.isin(self.status, ["u", "m"]), 1.0, 0.0)
        else:
            own = np.where(self.status == "m", 0.0, weights)
            cost, most = np.append(own, own), np.append(above, below)
            least = np.zeros(2 * n)
        free = np.full(k * n, np.inf)
        found = milp(
            np.append(cost, np.zeros(k * n)), constraints=blocks,
            integrality=np.append(np.full(first, float(pattern)), np.zeros(k * n)),
            bounds=Bounds(np.append(least, -free), np.append(most, free)),
        )  # fmt: skip
        return float(found.fun) if found.status == 0 else np.inf


# -- alterations: those of every certificate, and those of losses, bounds and releases ------------


def figure(arrays: Arrays, random: Random) -> str:
    """Another loss or bound."""
    names = [name for name in ("loss", "bound", "base", "steps", "decimals", "sensitive_limit",
                               "tolerance") if name in arrays]  # fmt: skip
    name = str(random.choice(names))
    old = arrays[name]
    if old.dtype.kind == "i":
        arrays[name] = np.array(old + random.integers(-2, 3))
    else:
        more = [
            old * 2,
            old / 2,
            old * (1 + 1e-6),
            old * (1 + 1e-4),
            -old,
            old + 1,
            old * 0,
            np.nan,
        ]
        arrays[name] = np.array(more[random.integers(len(more))], dtype=float)
    return "number"


def word(arrays: Arrays, random: Random) -> str:
    """Another measure, requirement, release, statistic or list of claims."""
    words = {
        "measure": ["L1", "L2", "Linf", "weights", "widths", "city-block"],
        "requirement": ["two-sided", "width", "upper", "lower"],
        "release": ["suppression", "intervals", "adjustment", "rounding", "small counts"],
    }
    if "statistic_kind" in arrays and len(arrays["statistic_kind"]) and random.random() < 0.5:
        kinds = arrays["statistic_kind"].astype("U12")
        kinds[random.integers(len(kinds))] = random.choice(["mean", "slope", "variance", "sum"])
        arrays["statistic_kind"] = kinds
        return "number"
    name = str(random.choice([name for name in words if name in arrays]))
    arrays[name] = np.array(str(random.choice(words[name])))
    return "number"


def proof(arrays: Arrays, random: Random) -> str:
    """Other multipliers, rows, cells or nodes, and a bound that is not what they prove."""
    if "bound" not in arrays:
        return figure(arrays, random)
    names = [name for name in arrays if name.startswith(PROOFS)
             and len(arrays[name])]  # fmt: skip
    name = str(random.choice(names))
    array = arrays[name] = arrays[name].copy()
    at = slice(None) if random.random() < 0.2 else int(random.integers(len(array)))
    if array.dtype.kind == "f":
        array[at] *= [-1.0, 2.0, 0.5, 1.1, 10.0, 1 + random.normal()][random.integers(6)]
    elif array.dtype.kind == "b":
        array[at] = ~array[at]
    else:
        array[at] += random.integers(-2, 3)
    if random.random() < 0.5:
        arrays["bound"] = np.array(float(arrays["bound"]) * [1.001, 0.9, 1.0][random.integers(3)])
    return "number"


def exaggerated(arrays: Arrays, random: Random) -> str:
    """A release that loses more, with a bound as high as its loss."""
    if "bound" not in arrays:
        return figure(arrays, random)
    name = next(name for name in ("suppressed", "published", "published_upper") if name in arrays)
    array = arrays[name] = arrays[name].copy()
    at = int(random.integers(len(array)))
    if array.dtype.kind == "b":
        array[at] = True
    else:
        array[at] += [1.0, float(arrays.get("base", 1.0)), 10.0][random.integers(3)]
    arrays["loss"] = np.array(Judge(arrays).loss())
    arrays["bound"] = np.array([float(arrays["loss"]), float(arrays["bound"])][random.integers(2)])
    return "number"


def shifted(arrays: Arrays, random: Random) -> str:
    """Another table that satisfies all relations, with the loss that it has."""
    if "published" not in arrays:
        return plain.one_entry(arrays, random)
    judge = Judge(arrays)
    _, sizes, basis = np.linalg.svd(judge.matrix.toarray())
    null = basis[np.count_nonzero(sizes > 1e-9) :]
    if not len(null):
        return "true"
    move = null[random.integers(len(null))]
    move = move / np.abs(move).max()
    size = [1.0, 1e-6, float(arrays.get("base", 1.0)), 10.0][random.integers(4)]
    arrays["published"] = arrays["published"] + size * move
    if random.random() < 0.5:
        arrays["published"] = np.rint(arrays["published"])
    arrays["loss"] = np.array(judge.__class__(arrays).loss())
    return "number"


def weighed(arrays: Arrays, random: Random) -> str:
    """Other weights, with the loss and perhaps the bound that they make."""
    scale = [np.full(len(arrays["values"]), 2.0), random.random(len(arrays["values"])),
             (random.random(len(arrays["values"])) < 0.8) * 1.0][random.integers(3)]  # fmt: skip
    before = float(arrays["loss"])
    arrays["weights"] = arrays["weights"] * scale
    arrays["loss"] = np.array(Judge(arrays).loss())
    if "bound" in arrays and before > 0 and random.random() < 0.7:
        arrays["bound"] = arrays["bound"] * (arrays["loss"] / before)
    return "number"


def levels(arrays: Arrays, random: Random) -> str:
    """Another level, bound, capacity or direction."""
    names = ["upper_protection", "lower_protection", "upper_bound", "lower_bound", "capacity_up",
             "capacity_down", "direction", "statistic_slack", "statistic_target"]  # fmt: skip
    name = str(random.choice([name for name in names if len(arrays.get(name, ()))]))
    array = arrays[name] = arrays[name].copy()
    u = np.flatnonzero(arrays["status"] == "u")
    free = name.startswith("statistic") or not len(u) or random.random() < 0.3
    at = int(random.integers(len(array)) if free else random.choice(u))
    old = array[at]
    more = [0, 1, -1] if array.dtype.kind == "i" else [0.0, old + 1, old * 2, old / 2, old - 1]
    array[at] = more[random.integers(len(more))]
    return "number"


def claim_dropped(arrays: Arrays, random: Random) -> str:
    """A certificate that claims less is as true; without the arrays of that claim."""
    if "bound" not in arrays:
        return figure(arrays, random)
    for name in [name for name in arrays if name.startswith(("bound", *PROOFS, *PARTS))]:
        del arrays[name]
    arrays["claims"] = arrays["claims"][arrays["claims"] != "bound"]
    return "true"


ALTERATIONS: list[Callable[[Arrays, Random], str]] = [
    plain.unaltered, claim_dropped, figure, figure, word, proof, proof, proof, exaggerated, shifted,
    weighed, levels, levels, plain.another_shape, plain.dropped, plain.added, plain.renamed,
    plain.one_entry, plain.one_entry, plain.one_entry, plain.moved, plain.all_entries,
    plain.several, plain.exchanged,
]  # fmt: skip


# -- the campaign --------------------------------------------------------------------------------


def same_problem(arrays: Arrays, original: Arrays) -> bool:
    """Whether a certificate is about the problem of a file, as far as its release depends on it."""
    counts = str(original["release"]) in ("rounding", "small counts")
    names = ["values", "relation_starts", "relation_cells", "relation_data"]
    if not counts:
        names += ["status", "lower_protection", "upper_protection", "sliding_protection"]
    same = all(np.array_equal(arrays[name], original[name]) for name in names)
    same &= np.array_equal(arrays["status"] == "z", original["status"] == "z")
    if not counts:
        same &= bool(np.all(arrays["lower_bound"] >= original["lower_bound"]))
        same &= bool(np.all(arrays["upper_bound"] <= original["upper_bound"]))
    return same


def attack(case: tuple[Arrays, str], random: Random, folder: Path) -> tuple[str, str, str]:
    """Alter one certificate; return the alteration, the verdicts, and what is wrong with them."""
    original, problem = case
    arrays = dict(original)
    alter = ALTERATIONS[int(random.integers(len(ALTERATIONS)))]
    with np.errstate(all="ignore"):
        expected = alter(arrays, random)
    answers, verdict = plain.verified(folder, plain.packed(arrays, random), problem)
    return alter.__name__, verdict, wrong(arrays, original, expected, answers)


def wrong(arrays: Arrays, original: Arrays, expected: str, answers: list[tuple[int, str]]) -> str:
    """What is wrong with the answers to a certificate, alone and beside its problem file."""
    for code, text in answers:
        if not text.startswith(VERDICTS.get(code, "\n")):
            return f"exit code {code} with {text!r}"
    refused = [text for code, text in answers if code == 1]
    if expected == "true":
        return f"a true certificate: {refused[0]}" if refused else ""
    if len(refused) == len(answers):
        return ""
    if expected == "form":
        return "accepted, but its form is another"
    try:
        with np.errstate(all="ignore"):
            Judge(arrays).judge()
    except Exception as error:  # whatever the judge cannot make sense of, it does not share
        return f"accepted, but {type(error).__name__}: {error}"
    if answers[1][0] != 1 and not same_problem(arrays, original):
        return "accepted beside the file of another problem"
    return ""


def cases(kind: str, random: Random) -> tuple[Arrays, str]:
    """A true certificate of a random table, and its problem file."""
    while True:
        try:
            result = KINDS[kind](random)
        except (tc.ModelError, tc.InputError, tc.SolverError):
            continue
        arrays = {name: np.asarray(array) for name, array in
                  arrays_of(result.certificates, result.problem).items()}  # fmt: skip
        Judge(arrays).judge()  # the judge has to share what is true
        return arrays, plain.problem_file(arrays)


def campaign(kind: str, count: int, seed: int, each: int = 20) -> tuple[Counter[str], list[str]]:
    """Attack one kind; count verdicts and list what is wrong."""
    counts: Counter[str] = Counter()
    faults = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(count):
            random = np.random.default_rng([seed, number])
            if number % each == 0:
                case = cases(kind, np.random.default_rng([seed, number, 1]))
            name, verdict, fault = attack(case, random, Path(place))
            counts[verdict] += 1
            if fault:
                faults.append(f"{kind}, seed {seed}, number {number}, {name}: {fault}")
    return counts, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="altered certificates of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="by default all")
    options = parser.parse_args()
    started, total = time.monotonic(), 0
    print("| release | alone / beside its problem | certificates |\n|---|---|---|")
    for kind in options.kind or KINDS:
        counts, faults = campaign(kind, options.count, options.seed)
        for verdict, number in sorted(counts.items()):
            print(f"| {kind} | {verdict} | {number} |", flush=True)
        print("\n".join(faults), end="\n" if faults else "", flush=True)
        total += len(faults)
    print(f"{total} wrong verdicts, {time.monotonic() - started:.0f} s")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
