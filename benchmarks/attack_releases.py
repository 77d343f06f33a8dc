"""Attack what whole jobs release, knowing only what would be published.

    python benchmarks/attack_releases.py --count 1000 --seed 0
    python benchmarks/attack_releases.py --count 100000 --minutes 60

Each seed makes random microdata or a ready table, and a job file; `tablecloak protect` runs it
in this process. Sensitive cells and their levels are computed anew from the records in exact
fractions, and the files in the release are attacked by programs that share no code with the
package. Prints how often what happened, and each failure with the seed that repeats it
(`--only SEED --keep FOLDER`); ends with 1 if there was any.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import re
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.load import load_problem
from watchdog import Watchdog

Key = tuple[str, ...]
Floats = npt.NDArray[np.float64]
FORMATS = ("csv", "excel", "sdmx-csv", "json-stat", "px", "parquet")

ATTACKED: Counter[str] = Counter()
"""Sensitive cells that were attacked, by who attacks them."""


class FoundError(Exception):
    """A promise that does not hold."""


@dataclass
class Part:
    """What one contributor or holding gives to one cell."""

    value: Fraction = Fraction(0)
    weighted: Fraction = Fraction(0)
    weight: Fraction = Fraction(0)


@dataclass
class Case:
    """Random records with the job that protects them, and its true table."""

    rng: np.random.Generator
    children: list[dict[str, list[str]]]  # one per dimension: code -> codes below it
    parents: list[dict[str, str]]
    tables: list[tuple[int, ...]]
    digits: int
    measure: str
    records: list[dict[str, Any]] = field(default_factory=list)
    rules: list[dict[str, Any]] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    ready: bool = False
    rounded: bool = False
    zeros_published: bool = True
    values: dict[Key, Fraction] = field(default_factory=dict)
    parts: dict[str, dict[Key, dict[str, Part]]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return [f"d{i}" for i in range(len(self.children))]

    @property
    def is_count(self) -> bool:
        """Whether records are counted."""
        return not any("v" in r for r in self.records)

    @property
    def is_negative(self) -> bool:
        """Whether something is below 0."""
        return any(r.get("v", 0) < 0 for r in self.records)

    @property
    def is_whole(self) -> bool:
        """Whether all cells are whole."""
        return all(v.denominator == 1 for v in self.values.values())

    def above(self, dimension: int, code: str) -> list[str]:
        """A code and all codes above it."""
        found = [code]
        while found[-1] in self.parents[dimension]:
            found.append(self.parents[dimension][found[-1]])
        return found


# --- making cases -----------------------------------------------------------------------------


def random_case(seed: int) -> Case:
    """Make records and a job."""
    rng = np.random.default_rng(seed)
    n_dims = int(rng.choice([1, 2, 2, 2, 3]))
    trees = [_tree(rng, i, n_dims) for i in range(n_dims)]
    tables: list[tuple[int, ...]] = [tuple(range(n_dims))]
    if n_dims == 3 and rng.random() < 0.6:
        linked = ([(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)], [(0, 1), (2,)])
        tables = list(linked[int(rng.integers(3))])
    digits = int(rng.choice([0, 0, 0, 1, 2]))
    case = Case(rng, [t[0] for t in trees], [t[1] for t in trees], tables, digits, "v")
    case.weighted = rng.random() < 0.15
    case.zeros_published = rng.random() < 0.9
    _records(case)
    if case.is_count:
        case.digits, case.measure = 0, "count"
    _aggregate(case)
    case.rules = _rules(case)
    case.ready = not case.weighted and not case.is_negative and rng.random() < 0.25
    case.ready &= all(r.get("level") != "holding" for r in case.rules)
    case.ready &= not case.is_count and len(case.tables) == 1
    _job(case)
    return case


def _tree(rng: np.random.Generator, dimension: int, n_dims: int) -> tuple[Any, Any]:
    """A random hierarchy: code -> children, code -> parent."""
    children: dict[str, list[str]] = {"Total": []}
    many = int(rng.integers(2, 7 if n_dims > 1 else 15))
    deep = rng.random() < 0.4
    for i in range(many):
        code = f"{'abc'[dimension]}{i}"
        children["Total"].append(code)
        if deep and rng.random() < 0.5:
            children[code] = [f"{code}x{j}" for j in range(int(rng.integers(1, 4)))]
    parents = {c: p for p, below in children.items() for c in below}
    return children, parents


def _records(case: Case) -> None:
    rng = case.rng
    n = int(rng.choice([10, 20, 20, 40, 40, 80, 150, 300]))
    leaves = [
        [c for c in p if c not in t] for t, p in zip(case.children, case.parents, strict=True)
    ]
    kind = rng.choice(["count", "small", "log", "mixed", "mixed", "zeros", "negative", "ties"])
    firms = int(max(3, n * rng.choice([0.3, 1.0, 1.0])))
    skew = [rng.dirichlet(np.full(len(c), rng.choice([0.4, 3.0]))) for c in leaves]
    for i in range(n):
        record: dict[str, Any] = {
            f"d{k}": str(rng.choice(c, p=p))
            for k, (c, p) in enumerate(zip(leaves, skew, strict=True))
        }
        firm = i if case.weighted else int(rng.integers(firms))
        record["firm"] = f"f{firm}"
        record["group"] = f"g{firm // 3}"
        if kind != "count":
            record["v"] = _amount(rng, str(kind), case.digits)
        if case.weighted:
            record["w"] = Fraction([1, 1, 2, 3, 10][(firm // 3) % 5])
        case.records.append(record)


def _amount(rng: np.random.Generator, kind: str, digits: int) -> Fraction:
    unit = Fraction(1, 10**digits)
    if kind == "small":
        return unit * int(rng.integers(1, 30))
    if kind == "ties":
        return Fraction(int(rng.choice([1, 5, 10, 10, 100])))
    if kind == "zeros" and rng.random() < 0.4:
        return Fraction(0)
    top = rng.choice([2.0, 4.0, 7.0, 9.0, 12.0]) if kind == "mixed" else 4.0
    size = unit * max(1, int(10 ** rng.uniform(-2, top) / float(unit)))
    return -size if kind == "negative" and rng.random() < 0.15 else size


def _aggregate(case: Case) -> None:
    """Add up all cells, and who gives what to them."""
    case.parts = {"firm": defaultdict(lambda: defaultdict(Part)), "group": {}}
    groups: dict[Key, dict[str, Part]] = defaultdict(lambda: defaultdict(Part))
    values: dict[Key, Fraction] = defaultdict(Fraction)
    for record in case.records:
        weight = record.get("w", Fraction(1))
        value = record.get("v", Fraction(1))
        for key in _cells_of(case, record):
            values[key] += value * weight
            for parts, who in ((case.parts["firm"], "firm"), (groups, "group")):
                part = parts[key][record[who]]
                part.value += value
                part.weighted += value * weight
                part.weight = weight
    case.values, case.parts["group"] = dict(values), groups


def _cells_of(case: Case, record: dict[str, Any]) -> set[Key]:
    found: set[Key] = set()
    for table in case.tables:
        codes = [
            case.above(i, record[f"d{i}"]) if i in table else ["Total"]
            for i in range(len(case.children))
        ]
        found.update(product(*codes))
    return found


def _rules(case: Case) -> list[dict[str, Any]]:
    rng = case.rng
    frequency = {"rule": "minimum-frequency", "minimum": int(rng.integers(2, 5))}
    frequency["range"] = int(rng.choice([5, 20, 50]))
    if case.is_count:
        return [frequency]
    choices: list[dict[str, Any]] = [
        {"rule": "p-percent", "p": int(rng.choice([5, 10, 25])), "coalition": 1},
        {"rule": "dominance", "n": int(rng.integers(1, 3)), "k": int(rng.choice([60, 75, 90]))},
        {"rule": "prior-posterior", "p": 10, "q": int(rng.choice([20, 50, 100]))},
        frequency,
    ]
    if rng.random() < 0.15:
        choices[0]["coalition"] = 2
    count = int(rng.choice([1, 1, 2]))
    rules = [choices[i] for i in rng.choice(4, count, replace=False, p=[0.45, 0.2, 0.1, 0.25])]
    if not case.weighted and rng.random() < 0.15:
        rules[0]["level"] = "holding"
    return rules


def _job(case: Case) -> None:
    rng = case.rng
    data: dict[str, Any] = {"file": "data.csv", "contributor": "firm"}
    if case.ready:
        data = {"file": "data.csv", "kind": "table", "frequency": "n"}
        data["largest"] = ["l1", "l2", "l3"]
    elif not case.is_count or rng.random() < 0.5:
        data["holding"] = "group"
    if not case.is_count:
        data["value"] = "v"
    if case.weighted:
        data["weight"] = "w"
    if rng.random() < 0.4:
        data["decimals"] = case.digits
        if not case.ready and case.digits and rng.random() < 0.4:
            data["decimals"], case.rounded = case.digits - 1, True
    job: dict[str, Any] = {"title": "T", "data": data, "rules": case.rules}
    job["protection"] = {"floor": float(rng.choice([1, 1, 0, 0.5]))}
    if rng.random() < 0.15:
        job["protection"]["lower_factor"] = float(rng.choice([0.5, 2]))
    if not case.zeros_published:
        job["protection"]["zeros_published"] = False
    if rng.random() < 0.75:
        job["suppression"] = _suppression(rng, case)
    if "suppression" not in job or rng.random() < 0.3:
        job["adjustment"] = {"time_limit": 1}
        if rng.random() < 0.3:
            job["adjustment"]["preserve"] = ["mean:all"]
    formats = ["csv", *rng.choice(FORMATS[1:], int(rng.integers(0, 3)), replace=False)]
    job["output"] = {"formats": [str(f) for f in formats], "report": bool(rng.random() < 0.5)}
    case.job = job


def _suppression(rng: np.random.Generator, case: Case) -> dict[str, Any]:
    found: dict[str, Any] = {"time_limit": 1}
    found["weights"] = str(rng.choice(["value", "unit", "log", "relative"]))
    found["method"] = str(rng.choice(["auto", "sequential", "exact"]))
    if not case.ready and rng.random() < 0.4:
        found["protect_against"] = ["contributors"]
        if case.job.get("data", {}).get("holding") and rng.random() < 0.3:
            found["protect_against"] = ["holdings"]
    return found


def write_case(case: Case, folder: Path) -> Path:
    """Write data and job file; return the path of the job file."""
    rows = _ready_rows(case) if case.ready else [dict(r) for r in case.records]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, Fraction):
                row[name] = _text(value)
    order = case.rng.permutation(len(rows))
    pd.DataFrame([rows[i] for i in order]).to_csv(folder / "data.csv", index=False)
    path = folder / "job.toml"
    path.write_text(_toml(case))
    return path


def _ready_rows(case: Case) -> list[dict[str, Any]]:
    rows = []
    for key, value in case.values.items():
        parts = case.parts["firm"][key]
        top = sorted((p.value for p in parts.values()), reverse=True) + [Fraction(0)] * 3
        row: dict[str, Any] = dict(zip(case.names, key, strict=True))
        rows.append({**row, "v": value, "n": len(parts), "l1": top[0], "l2": top[1], "l3": top[2]})
    return rows


def _text(value: Fraction) -> str:
    """Write a decimal number in full."""
    for digits in range(20):
        scaled = value * 10**digits
        if scaled.denominator == 1:
            sign, number = ("-" if scaled < 0 else ""), str(abs(scaled.numerator)).zfill(digits + 1)
            return sign + (number if not digits else f"{number[:-digits]}.{number[-digits:]}")
    return repr(float(value))


def _toml(case: Case) -> str:
    job = case.job
    lines = [f'title = "{job["title"]}"', "[data]", *_pairs(job["data"])]
    for i, name in enumerate(case.names):
        lines += [f"[dimensions.{name}]"]
        if any(c != "Total" for c in case.children[i]):
            lines += [f"hierarchy = {_nested(case.children[i], 'Total')}"]
    if len(case.tables) > 1:
        for table in case.tables:
            lines += ["[[tables]]", f"dimensions = {json.dumps([f'd{i}' for i in table])}"]
    for rule in job["rules"]:
        lines += ["[[rules]]", *_pairs(rule)]
    for section in ("protection", "suppression", "adjustment", "output"):
        if section in job:
            lines += [f"[{section}]", *_pairs(job[section])]
    return "\n".join(lines) + "\n"


def _pairs(section: dict[str, Any]) -> list[str]:
    return [
        f"{k} = [{', '.join(map(_inline, v))}]" if isinstance(v, list) else f"{k} = {_inline(v)}"
        for k, v in section.items()
    ]


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {json.dumps(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def _nested(children: dict[str, list[str]], code: str) -> str:
    inner = ", ".join(f"{c} = {_nested(children, c)}" for c in children.get(code, []))
    return "{" + inner + "}"


# --- the rules, from the records ----------------------------------------------------------------


def needs(case: Case) -> dict[Key, tuple[Fraction, Fraction]]:
    """Sensitive cells with what an interval must reach, (below, above), before cuts.

    Where several rules find a cell unsafe, the least level of them.
    """
    found: dict[Key, tuple[Fraction, Fraction]] = {}
    floor = Fraction(case.job["protection"]["floor"])
    factor = Fraction(case.job["protection"].get("lower_factor", 1.0))
    for key in case.values:
        levels = [x for rule in case.rules if (x := _level(case, key, rule)) is not None]
        if levels:
            up = max(min(levels), floor)
            found[key] = (max(min(levels) * factor, floor), up)
    return found


def _level(case: Case, key: Key, rule: dict[str, Any]) -> Fraction | None:
    """The level that one rule asks for, None if it finds the cell safe."""
    parts = list(case.parts["group" if rule.get("level") == "holding" else "firm"][key].values())
    if rule["rule"] == "minimum-frequency":
        n = sum((p.weight for p in parts), Fraction(0)) if case.weighted else Fraction(len(parts))
        level = abs(case.values[key]) * rule["range"] / 100
        return level if n < rule["minimum"] else None
    total = abs(sum((p.weighted for p in parts), Fraction(0)))
    if rule["rule"] == "dominance":
        safe = _top(parts, rule["n"]) * 100 / rule["k"]
    else:
        p, q = Fraction(rule["p"]), Fraction(rule.get("q", 100))
        safe = p / q * _top(parts, 1) + _top(parts, 1 + rule.get("coalition", 1))
    return safe - total if safe - total > total / 10**9 else None


def _top(parts: list[Part], n: int) -> Fraction:
    """Sum of the n largest: a record of weight w stands for w contributors."""
    left, total = Fraction(n), Fraction(0)
    for part in sorted(parts, key=lambda p: -abs(p.value)):
        used = min(left, part.weight)
        total, left = total + used * abs(part.value), left - used
    return total


# --- what everybody knows -----------------------------------------------------------------------


@dataclass
class Public:
    """Relations and bounds over the cells of the table, and the truth for measuring."""

    keys: list[Key]
    relations: list[tuple[int, list[int]]]  # total, parts
    truth: list[Fraction]
    low: list[Fraction]
    high: list[Fraction]


def public(case: Case, truth: dict[Key, Fraction]) -> Public:
    """Relations of the hierarchies, and the documented external bounds."""
    keys = sorted(truth)
    place = {key: i for i, key in enumerate(keys)}
    relations = []
    for table in case.tables:
        for key in keys:
            if any(c != "Total" for i, c in enumerate(key) if i not in table):
                continue
            for i in table:
                below = [(*key[:i], c, *key[i + 1 :]) for c in case.children[i].get(key[i], [])]
                if below:
                    relations.append((place[key], [place[b] for b in below if b in place]))
    values = [truth[k] for k in keys]
    if min(values) < 0:
        low = [Fraction(3, 2) * min(Fraction(0), *values)] * len(keys)
    else:
        low = [Fraction(0)] * len(keys)
        if all(v.denominator == 1 for v in values) and case.zeros_published:
            low = _raised(values, relations)
    return Public(keys, relations, values, low, [Fraction(3, 2) * max(values)] * len(keys))


def _raised(values: list[Fraction], relations: list[tuple[int, list[int]]]) -> list[Fraction]:
    low = [Fraction(int(v >= 1)) for v in values]
    for _ in range(8):
        for total, parts in relations:
            low[total] = max(low[total], sum((low[p] for p in parts), Fraction(0)))
    return low


# --- attacks ------------------------------------------------------------------------------------


def exactly_known(about: Public, hidden: list[int]) -> set[int]:
    """Hidden cells that the relations alone determine: those no null vector moves."""
    column = {cell: j for j, cell in enumerate(hidden)}
    rows = []
    for total, parts in about.relations:
        row = np.zeros(len(hidden))
        for cell, sign in [(total, -1.0), *((p, 1.0) for p in parts)]:
            if cell in column:
                row[column[cell]] += sign
        if row.any():
            rows.append(row)
    if not rows:
        return set()
    _, sizes, right = np.linalg.svd(np.array(rows), full_matrices=True)
    rank = int((sizes > 1e-9).sum())
    moved = np.abs(right[rank:]).max(axis=0, initial=0.0) if rank < len(hidden) else np.zeros(0)
    return {c for c, j in column.items() if rank == len(hidden) or moved[j] < 1e-9}


class Attack:
    """Programs over the moves of hidden cells, measured in what one cell needs."""

    def __init__(self, about: Public, hidden: list[int]) -> None:
        self.about, self.hidden = about, hidden
        self.column = {cell: j for j, cell in enumerate(hidden)}
        entries: list[tuple[int, int, int]] = []
        count = 0
        for total, parts in about.relations:
            found = [(total, -1), *((p, 1) for p in parts)]
            found = [(self.column[c], s) for c, s in found if c in self.column]
            entries += [(count, c, s) for c, s in found]
            count += bool(found)
        r, c, s = zip(*entries, strict=True) if entries else ((), (), ())
        self.matrix = csr_array((np.array(s, float), (r, c)), shape=(count, len(hidden)))

    def reach(self, cell: int, side: int, need: Fraction, low: Any, high: Any) -> float:
        """How far the interval of a cell reaches on one side, in units of its need."""
        truth = self.about.truth
        best = 0.0
        for box in (10.0, 1e4, 1e8):
            lower = [max(-box, float((low[i] - truth[i]) / need)) for i in self.hidden]
            upper = [min(box, float((high[i] - truth[i]) / need)) for i in self.hidden]
            cost = np.zeros(len(self.hidden))
            cost[self.column[cell]] = -side
            bounds = np.column_stack([np.minimum(lower, 0), np.maximum(upper, 0)])
            equal = np.zeros(self.matrix.shape[0])
            done = linprog(cost, A_eq=self.matrix, b_eq=equal, bounds=bounds, method="highs")
            if done.status == 0:
                best = max(best, -float(done.fun))
            if best > 1 - 1e-7:
                break
        return best

    def whole_reach(self, cell: int, side: int) -> float | None:
        """The same over whole tables, in units; None if not solved in time."""
        about = self.about
        lower = [float(about.low[i] - about.truth[i]) for i in self.hidden]
        upper = [float(about.high[i] - about.truth[i]) for i in self.hidden]
        cost = np.zeros(len(self.hidden))
        cost[self.column[cell]] = -side
        done = milp(
            cost,
            constraints=LinearConstraint(self.matrix, 0, 0) if self.matrix.shape[0] else (),
            bounds=Bounds(lower, np.floor(upper)),
            integrality=np.ones(len(cost)),
            options={"time_limit": 2.0},
        )
        return -float(done.fun) if done.status == 0 else None


@dataclass
class Target:
    """A sensitive cell with what its interval must reach after cuts."""

    cell: int
    down: Fraction
    up: Fraction


def targets(case: Case, about: Public, slack: Fraction) -> list[Target]:
    """Sensitive cells by our own rules, with levels cut at the external bounds."""
    place = {key: i for i, key in enumerate(about.keys)}
    found = []
    for key, asked in needs(case).items():
        i = place[key]
        if case.is_count:
            down, up = (Fraction(math.ceil(level)) for level in asked)
        else:
            down, up = (max(level - slack, Fraction(0)) for level in asked)
        room = about.truth[i] - about.low[i], about.high[i] - about.truth[i]
        found.append(Target(i, min(down, room[0]), min(up, room[1])))
    return found


def sample(rng: np.random.Generator, many: list[Any], count: int) -> list[Any]:
    """At most so many of them."""
    chosen = sorted(rng.permutation(len(many))[:count])
    return [many[i] for i in chosen]


def attack_suppression(
    case: Case, about: Public, hidden: list[int], slack: Fraction, open_: set[tuple[str, Key]]
) -> None:
    """Everything an outsider and single contributors can try, but for pairs that are told."""
    wanted = targets(case, about, slack)
    out = {about.keys[t.cell] for t in wanted} - {about.keys[i] for i in hidden}
    if out:
        raise FoundError(f"sensitive cells published: {sorted(out)[:3]}")
    known = exactly_known(about, hidden) & {t.cell for t in wanted}
    if known:
        raise FoundError(f"sensitive cells follow exactly: {[about.keys[i] for i in known][:3]}")
    attack = Attack(about, hidden)
    for target in sample(case.rng, wanted, 15):
        _reach_both(about, attack, target, about.low, about.high, "outsider")
        if case.is_count:
            _whole_both(about, attack, target)
    for who in held_against(case):
        kind = "group" if who == "holdings" else "firm"
        told = {(name.removeprefix(f"{who}: "), key) for name, key in open_}
        _insiders(case, about, attack, wanted, kind, told)


def held_against(case: Case) -> list[str]:
    """Insiders who are named, or whose columns are."""
    usual = {"contributor": "contributors", "holding": "holdings"}
    known = [name for role, name in usual.items() if role in case.job["data"]]
    return case.job["suppression"].get("protect_against", known)


def told_open(case: Case, folder: Path) -> set[tuple[str, Key]]:
    """Pairs of an insider and a cell of which the job says, inside, that nothing is claimed."""
    path = folder / "suppression_insiders.csv"
    if not path.exists():
        return set()
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    ATTACKED["pairs told to be open"] += len(frame)
    return {(row["insider"], tuple(row[n] for n in case.names)) for row in frame.to_dict("records")}


def _reach_both(about: Public, attack: Attack, t: Target, low: Any, high: Any, who: str) -> None:
    ATTACKED[f"cells attacked by {who.split(maxsplit=1)[0]}"] += 1
    for side, need in ((-1, t.down), (1, t.up)):
        if need <= 0:
            continue
        reach = attack.reach(t.cell, side, need, low, high)
        if reach < 1 - 1e-6:
            raise FoundError(
                f"{who}: {about.keys[t.cell]} = {_text(about.truth[t.cell])} reaches "
                f"{reach:.9g} of {float(need):.12g} on side {side:+d}"
            )


def _whole_both(about: Public, attack: Attack, t: Target) -> None:
    for side, need in ((-1, t.down), (1, t.up)):
        reach = attack.whole_reach(t.cell, side)
        if reach is not None and reach < math.floor(need) - 1e-6:
            raise FoundError(
                f"in whole numbers: {about.keys[t.cell]} = {about.truth[t.cell]} reaches {reach} "
                f"of {float(need)} on side {side:+d}"
            )


def _insiders(
    case: Case,
    about: Public,
    attack: Attack,
    wanted: list[Target],
    kind: str,
    told: set[tuple[str, Key]],
) -> None:
    """Each of some contributors, with what it gives to every cell."""
    names = sorted({r[kind] for r in case.records})
    for who in sample(case.rng, names, 12):
        low, high, alone = list(about.low), list(about.high), set()
        cut = list(about.low)
        for i, key in enumerate(about.keys):
            parts = case.parts[kind][key]
            if who not in parts:
                continue
            mine = parts[who].weighted
            if len(parts) == 1:
                low[i] = high[i] = cut[i] = about.truth[i]
                alone.add(i)
            elif not case.is_negative and not case.rounded:
                cut[i] = max(cut[i], mine)
                larger = sum(p.value >= parts[who].value for p in parts.values())
                if larger <= 2:
                    low[i] = max(low[i], mine)
        hidden = [i for i in attack.hidden if i not in alone]
        known = exactly_known(about, hidden)
        asked = [t for t in wanted if t.cell not in alone and (who, about.keys[t.cell]) not in told]
        for t in asked:
            bad = t.cell in known and cut[t.cell] < about.truth[t.cell]
            if bad:
                raise FoundError(f"{kind} {who} computes {about.keys[t.cell]} exactly")
        inside = Attack(about, hidden)
        for t in sample(case.rng, asked, 6):
            down = min(t.down, about.truth[t.cell] - cut[t.cell])
            _reach_both(about, inside, Target(t.cell, down, t.up), low, high, f"{kind} {who}")


# --- the release --------------------------------------------------------------------------------


def read_release(case: Case, path: Path) -> dict[Key, Fraction | None]:
    """The published cells; None where hidden."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    measure = case.measure if case.measure in frame else "v"
    return {
        tuple(row[n] for n in case.names): Fraction(row[measure]) if row[measure] else None
        for row in frame.to_dict("records")
    }


def check_suppression(case: Case, folder: Path, truth: dict[Key, Fraction], slack: Fraction) -> str:
    """Attack a release with gaps."""
    release = read_release(case, folder / "table.csv")
    if set(release) != set(truth):
        raise FoundError(f"cells differ: {sorted(set(release) ^ set(truth))[:3]}")
    for key, value in release.items():
        if value is not None and abs(value - truth[key]) > abs(truth[key]) / 10**11:
            raise FoundError(f"published {key} is {value}, not {truth[key]}")
    about = public(case, truth)
    hidden = [i for i, key in enumerate(about.keys) if release[key] is None]
    open_ = told_open(case, folder.parent.parent / "internal")
    attack_suppression(case, about, hidden, slack, open_)
    _search_text(case, folder, about, hidden)
    return "suppression" + (" with insiders" if _insider_job(case) else "")


def _insider_job(case: Case) -> bool:
    return bool(held_against(case))


def _search_text(case: Case, folder: Path, about: Public, hidden: list[int]) -> None:
    """No value of a hidden cell may stand in a file, if it has six digits or more."""
    shown = {_text(v) for i, v in enumerate(about.truth) if i not in set(hidden)}
    secret = {
        t for i in hidden if len((t := _text(about.truth[i])).replace(".", "").lstrip("-0")) >= 5
    }
    for name, text in _texts(folder):
        numbers = set(re.findall(r"(?<![\w.#])-?\d+(?:\.\d+)?(?![\w])", text))
        numbers |= {n.rstrip("0").rstrip(".") for n in numbers if "." in n}
        leaked = (numbers & secret) - shown
        if leaked:
            raise FoundError(f"hidden value {sorted(leaked)[:2]} stands in {name}")


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.iterdir()):
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as packed:
                for name in packed.namelist():
                    yield f"{path.name}/{name}", packed.read(name).decode(errors="replace")
        elif path.suffix == ".parquet":
            yield path.name, pd.read_parquet(path).to_csv()
        else:
            yield path.name, path.read_text(errors="replace")


def check_adjustment(case: Case, folder: Path, truth: dict[Key, Fraction], slack: Fraction) -> str:
    """An adjusted table: additive, with the digits of the truth, and away from it."""
    release = read_release(case, folder / "table.csv")
    if set(release) != set(truth) or any(v is None for v in release.values()):
        raise FoundError("adjusted table lacks cells")
    about = public(case, truth)
    values = [release[k] or Fraction(0) for k in about.keys]
    _additive(about, values)
    unit = max(v.denominator for v in truth.values())
    if any(unit % v.denominator for v in values):
        raise FoundError("adjusted values have more digits than the truth")
    if min(about.low) >= 0 and min(values) < 0:
        raise FoundError("adjusted value below 0")
    for t in targets(case, about, slack):
        ATTACKED["cells of adjusted tables"] += 1
        move = values[t.cell] - about.truth[t.cell]
        if t.up == t.down == 0 and move:
            continue  # where cells were rounded first, levels are known up to the rounding only
        up = t.up > 0 and move >= t.up * (1 - Fraction(1, 10**8))
        down = t.down > 0 and -move >= t.down * (1 - Fraction(1, 10**8))
        if not up and not down:
            raise FoundError(
                f"{about.keys[t.cell]} = {_text(about.truth[t.cell])} moved by {float(move)} only, "
                f"levels {float(t.down)} {float(t.up)}"
            )
    return "adjustment"


def _additive(about: Public, values: list[Fraction]) -> None:
    for total, parts in about.relations:
        if values[total] != sum((values[p] for p in parts), Fraction(0)):
            raise FoundError(f"not additive at {about.keys[total]}")


def check_intervals(case: Case, folder: Path, truth: dict[Key, Fraction], slack: Fraction) -> str:
    """Published intervals: hold the truth, and leave each sensitive cell its levels."""
    problem = load_problem(read_job(folder / "job.toml"))
    found = tc.publish_intervals(problem, time_limit=1, seed=1)
    found.release().to_csv(folder / "intervals.csv", index=False)
    frame = pd.read_csv(folder / "intervals.csv", dtype=str)
    about = public(case, truth)
    place = {k: i for i, k in enumerate(about.keys)}
    low, high = list(about.low), list(about.high)
    for row in frame.to_dict("records"):
        i = place[tuple(row[n] for n in case.names)]
        ends = Fraction(row["lower"]), Fraction(row["upper"])
        tiny = abs(about.truth[i]) / 10**12
        if not ends[0] - tiny <= about.truth[i] <= ends[1] + tiny:
            raise FoundError(f"interval {ends} of {about.keys[i]} lacks {about.truth[i]}")
        if ends[0] == ends[1]:
            low[i] = high[i] = about.truth[i]
        else:
            low[i], high[i] = max(low[i], ends[0]), min(high[i], ends[1])
    hidden = [i for i in range(len(low)) if low[i] < high[i]]
    attack = Attack(about, hidden)
    for t in sample(case.rng, targets(case, about, slack), 15):
        if t.cell not in attack.column:
            raise FoundError(f"interval of {about.keys[t.cell]} is a point")
        _reach_both(about, attack, t, low, high, "intervals")
    return "intervals"


def check_rounding(case: Case, folder: Path, truth: dict[Key, Fraction]) -> str:
    """Both kinds of rounding of whole tables."""
    problem = load_problem(read_job(folder / "job.toml"))
    about = public(case, truth)
    base = int(case.rng.choice([3, 5, 10]))
    small = bool(case.is_count and case.rng.random() < 0.5)
    if small:
        frame, steps = tc.small_count_rounding(problem, base=base, time_limit=1).release(), 0
    else:
        rounded = tc.controlled_rounding(problem, base=base, time_limit=1)
        frame, steps = rounded.release(), rounded.steps
    name = next(c for c in frame.columns if c not in case.names)
    given = {tuple(str(r[n]) for n in case.names): int(r[name]) for r in frame.to_dict("records")}
    values = [Fraction(given[k]) for k in about.keys]
    _additive(about, values)
    ATTACKED["cells of rounded tables"] += len(values)
    for value, true in zip(values, about.truth, strict=True):
        if small and 0 < value < base:
            raise FoundError(f"small count {value} left")
        if small and true < base and value not in (0, base):
            raise FoundError(f"count {true} became {value}")
        if not small and (value % base or abs(value - true) >= steps * base):
            raise FoundError(f"{true} rounded to {value} with base {base}, {steps} steps")
    return "small counts" if small else "rounding"


def check_same_bytes(case: Case, folder: Path, truth: dict[Key, Fraction]) -> str:
    """Two truths with the same published cells must give the same files."""
    release = read_release(case, folder / "release" / "suppression" / "table.csv")
    about = public(case, truth)
    hidden = [i for i, k in enumerate(about.keys) if release[k] is None]
    other = _other_truth(case, about, hidden)
    if other is None:
        return "no other truth"
    cells = [dict(zip(case.names, about.keys[i], strict=True)) for i in hidden]
    files = []
    for name, values in (("one", about.truth), ("two", other)):
        place = folder / name
        place.mkdir()
        rows = [
            {**dict(zip(case.names, k, strict=True)), "v": _text(v)}
            for k, v in zip(about.keys, values, strict=True)
        ]
        pd.DataFrame(rows)[:: 1 if name == "one" else -1].to_csv(place / "data.csv", index=False)
        data = {"file": "data.csv", "kind": "table", "value": "v"}
        rules = [{"rule": "manual", "cells": cells, "range": 0}]
        protection = {"floor": 0.001, "upper_bound": 3 * float(max(about.truth))}
        protection |= {"lower_bound": 0.0, "zeros_published": False}
        suppression = {"time_limit": 1, "weights": "unit", "method": "sequential"}
        job = {"title": "T", "data": data, "rules": rules, "protection": protection}
        job |= {"suppression": suppression, "output": case.job["output"]}
        twin = Case(case.rng, case.children, case.parents, case.tables, 0, "v", job=job)
        (place / "job.toml").write_text(_toml(twin))
        if run_cli(["protect", str(place / "job.toml"), "--out", str(place / "out")])[0]:
            return "no twin release"
        out = place / "out" / "release" / "suppression"
        files.append({p.name: p.read_bytes() for p in sorted(out.iterdir())})
        shown = read_release(twin, out / "table.csv")
        if sum(v is None for v in shown.values()) != len(hidden):
            return "other pattern"
    if files[0] != files[1]:
        names = [n for n in files[0] if files[0][n] != files[1].get(n)]
        raise FoundError(f"two truths, one release, but files differ: {names}")
    return "same bytes"


def _other_truth(case: Case, about: Public, hidden: list[int]) -> list[Fraction] | None:
    """The truth plus a vector of the null space in small units, positive where it was."""
    if not hidden or case.is_negative or max(about.truth) > 10**8:
        return None
    attack = Attack(about, hidden)
    cost = case.rng.normal(size=len(hidden))
    done = milp(
        cost,
        constraints=LinearConstraint(attack.matrix, 0, 0) if attack.matrix.shape[0] else (),
        bounds=Bounds(-1, 1),
        integrality=np.ones(len(hidden)),
        options={"time_limit": 2.0},
    )
    if done.x is None or not np.rint(done.x).any():
        return None
    step = Fraction(1, 10 ** int(case.rng.integers(0, case.digits + 2)))
    values = list(about.truth)
    for i, d in zip(hidden, np.rint(done.x), strict=True):
        values[i] += step * int(d)
    return values if all(v > 0 for v in values) else None


# --- running ------------------------------------------------------------------------------------


def run_cli(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it wrote."""
    out = io.StringIO()
    code: Any = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            app(arguments)
        except SystemExit as stop:
            code = stop.code
    return int(code or 0), out.getvalue()


def attack_seed(seed: int, folder: Path) -> list[str]:
    """Make, release and attack one case; return what happened."""
    case = random_case(seed)
    path = write_case(case, folder)
    code, text = run_cli(["protect", str(path), "--out", str(folder)])
    (folder / "log.txt").write_text(text)
    if code not in (0, 1, 2):
        raise FoundError(f"exit code {code}: {text.strip()[-300:]}")
    if not (folder / "internal" / "problem.csv").exists():
        if code != 2:
            raise FoundError(f"exit code {code} without results: {text.strip()[-300:]}")
        if "not additive" in text:
            raise FoundError(f"additive data refused: {text.strip()[-300:]}")
        return [f"refused: {_shape(text)}"]
    found = [f"exit {code}"]
    truth, slack = _truth(case, folder)
    if (folder / "release" / "suppression").exists():
        if code == 0 or "suppression" in text:
            found.append(check_suppression(case, folder / "release/suppression", truth, slack))
        if seed % 2 == 1 and not case.is_count and len(case.tables) == 1:
            found.append(check_same_bytes(case, folder, truth))
    if (folder / "release" / "adjustment").exists():
        found.append(check_adjustment(case, folder / "release/adjustment", truth, slack))
    found += _further(case, folder, truth, slack, seed)
    return found


def _further(
    case: Case, folder: Path, truth: dict[Key, Fraction], slack: Fraction, seed: int
) -> list[str]:
    """Intervals and rounding, of the problem that the job wrote."""
    found = []
    try:
        if seed % 4 == 1 and needs(case):
            found.append(check_intervals(case, folder, truth, slack))
        if seed % 2 == 0 and case.is_whole and not case.is_negative:
            found.append(check_rounding(case, folder, truth))
    except tc.VerificationError:
        raise
    except tc.TablecloakError as error:
        found.append(f"further refused: {type(error).__name__}: {_shape(str(error))}")
    return found


def _truth(case: Case, folder: Path) -> tuple[dict[Key, Fraction], Fraction]:
    """Our own table; where cells were rounded, theirs if it is within the rounding."""
    if not case.rounded:
        return case.values, Fraction(0)
    frame = pd.read_csv(folder / "internal" / "problem.csv", dtype=str)
    name = "value" if "value" in frame else case.measure
    theirs = {tuple(r[n] for n in case.names): Fraction(r[name]) for r in frame.to_dict("records")}
    unit = Fraction(1, 10 ** case.job["data"]["decimals"])
    slack = unit * len(case.records)
    for key, value in case.values.items():
        if abs(theirs[key] - value) > slack / 2 + Fraction(1, 10**6):
            raise FoundError(f"rounded {key} is {theirs[key]}, not near {value}")
    return theirs, slack


def _shape(text: str) -> str:
    """A message without names and numbers, for counting."""
    line = next((x for x in text.splitlines() if "rror" in x), text.strip().splitlines()[-1])
    return re.sub(r"/\S+|'[^']*'|[\d.,]+", "#", line)[:110]


def main() -> int:
    """Attack many seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    seeds = (
        [options.only]
        if options.only is not None
        else range(options.seed, options.seed + options.count)
    )
    counts: Counter[str] = Counter()
    failures = 0
    end = time.monotonic() + 60 * options.minutes

    def report() -> None:
        for name, count in sorted((counts + ATTACKED).items()):
            print(f"{count:6d}  {name}")
        print(f"{failures:6d}  failures", flush=True)

    warnings.simplefilter("ignore", tc.TablecloakWarning)
    watchdog = Watchdog(report)
    for seed in seeds:
        if time.monotonic() > end:
            break
        watchdog.watch(seed)
        with contextlib.ExitStack() as stack:
            folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.mkdir(exist_ok=True, parents=True)
            try:
                counts.update(attack_seed(seed, folder))
            except FoundError as error:
                failures += 1
                print(f"seed {seed}: {error}", flush=True)
            except Exception:
                failures += 1
                print(f"seed {seed}: {traceback.format_exc(limit=-3)}", flush=True)
        counts["releases tried"] += 1
    report()
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
