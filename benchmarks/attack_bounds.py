"""Climb from true proofs of bounds to false ones; the verifier must never prove more than is true.

    python benchmarks/attack_bounds.py --minutes 10 --seed 0

A release of a random table is an upper bound on the least loss: whatever proves more is false.
From its true proof, multipliers, rows, cells, trees and cuts are altered at random; what raises the
bound that the verifier proves is kept and altered again. The loss is stated ten times too high, so
that the verifier cannot cut a bound at it. Prints counts by kind of release; exit code 1 if
anything false is proved.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tablecloak as tc
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import proved

Arrays = dict[str, Any]
Random = np.random.Generator

SPARE = 1e-9
"""Share of the loss by which a claimed bound may exceed what is proved."""


def table(random: Random, most: int = 200) -> tc.ProtectionProblem:
    """Return a table of 2 or 3 dimensions with margins, some cells of it sensitive."""
    shape = [(3, 4), (4, 4), (2, 2, 3)][random.integers(3)]
    codes = [
        ["Total", *(f"{axis}{code}" for code in range(size))] for axis, size in enumerate(shape)
    ]
    names = [f"d{axis}" for axis in range(len(shape))]
    values = random.integers(0 if most < 100 else 5, most, np.prod(shape)).reshape(shape)
    for axis in range(len(shape)):
        # Quicker than a database, which would add up some dozen records.
        values = np.concatenate([values.sum(axis, keepdims=True), values], axis)
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    frame = frame.assign(v=values.ravel().astype(float))
    cells = tc.Table.from_frame(frame, names, "v", decimals=0)
    leaves = np.flatnonzero((cells.keys != "Total").all(axis=1))
    sensitive = np.zeros(cells.n_cells, dtype=bool)
    sensitive[random.choice(leaves, random.integers(1, 5), replace=False)] = True
    level = np.where(sensitive, np.ceil(cells.values * 0.2) + 1, 0.0)
    status = np.where(sensitive, "u", np.where(random.random(cells.n_cells) < 0.1, "z", "s"))
    return tc.ProtectionProblem(
        cells, status, level, level + random.integers(0, 4, len(level)) * sensitive,
        np.zeros(len(level)), np.zeros(len(level)), np.full(len(level), 1e5), np.ones(len(level)),
    )  # fmt: skip


def adjusted(distance: str) -> Callable[[Random], Any]:
    """Return what adjusts a table by one of the distances."""

    def made(random: Random) -> Any:
        preserve = [[], ["mean:all"], ["slope:all"]][random.integers(3)]
        limit = [None, 3.0][random.integers(2)]
        return tc.adjust(
            table(random),
            distance=distance,
            preserve=preserve,
            time_limit=3,
            weights=["unit", "relative"][random.integers(2)],
            sensitive_limit=limit,
        )

    return made


KINDS: dict[str, Callable[[Random], Any]] = {
    "L1": adjusted("L1"),
    "L2": adjusted("L2"),
    "Linf": adjusted("Linf"),
    "suppression": lambda random: tc.suppress(
        table(random), weights=["value", "unit"][random.integers(2)], time_limit=3
    ),
    "intervals": lambda random: tc.publish_intervals(
        table(random), time_limit=3, seed=1, blur=0.0, weights="unit"
    ),
    "rounding": lambda random: tc.controlled_rounding(
        table(random).with_changes(status=np.array("s")), base=int(random.integers(3, 12)),
        time_limit=3,
    ),
    "small counts": lambda random: tc.small_count_rounding(table(random, 12), base=4, time_limit=3),
}  # fmt: skip


def altered(arrays: Arrays, random: Random) -> Arrays:
    """Return the arrays with something else in the proof."""
    parts = ("proof_d", "proof_r", "proof_c", "node_", "cut_", "up_d", "up_r", "down_d", "sum_",
             "turned_", "combined_")  # fmt: skip
    names = [name for name in arrays if name.startswith(parts) and len(arrays[name])]
    changed = dict(arrays)
    for name in random.choice(names, random.integers(1, 3)).tolist():
        array = changed[name].copy()
        place = int(random.integers(len(array)))
        if array.dtype.kind == "f":
            factor = [1 + random.normal() / 3, -1.0, 0.5, 2.0, 10.0][random.integers(5)]
            everywhere = random.random() < 0.2
            array[slice(None) if everywhere else place] *= factor
        elif array.dtype.kind == "b":
            array[place] = not array[place]
        else:
            array[place] += random.integers(-2, 3)
        changed[name] = array
    return added(changed, random) if random.random() < 0.3 else changed


def added(arrays: Arrays, random: Random) -> Arrays:
    """Return the arrays with one more multiplier of any kind in a leaf."""
    starts = arrays["proof_starts"]
    leaf = int(random.integers(len(starts) - 1))
    kind = int(random.integers(5)) if "part" in arrays else 0
    rows = len(arrays.get("cut_kind", arrays["right_hand_side"]))
    row = -1 if kind == 4 else int(random.integers(max(rows, 1)))
    cell = int(random.integers(len(arrays["values"]))) if kind > 2 else -1
    if "combined_starts" in arrays and random.random() < 0.7:
        kind, place = 3, int(random.integers(len(arrays["combined_starts"]) - 1))
        relation = arrays["combined_relations"][arrays["combined_starts"][place]]
        own = slice(*arrays["relation_starts"][relation : relation + 2])
        row, cell = rows + place, int(random.choice(arrays["relation_cells"][own]))
    number = float(abs(random.normal()) if kind > 1 else random.normal())
    names = ("proof_kind", "proof_row", "proof_cell", "proof_data")
    own = slice(starts[leaf], starts[leaf + 1])
    entries = list(zip(*(arrays[name][own].tolist() for name in names), strict=True))
    entries = sorted([*entries, (kind, row, cell, number)], key=lambda entry: entry[:3])
    changed = dict(arrays)
    for place, name in enumerate(names):
        before, after = arrays[name][: starts[leaf]], arrays[name][starts[leaf + 1] :]
        column = np.array([entry[place] for entry in entries], dtype=arrays[name].dtype)
        changed[name] = np.concatenate([before, column, after])
    changed["proof_starts"] = starts + (np.arange(len(starts)) > leaf)
    return changed


def with_sums(arrays: Arrays, random: Random) -> Arrays:
    """Return the arrays with some sums of relations, of which the proof does not make use yet."""
    count, m = int(random.integers(1, 6)), len(arrays["right_hand_side"])
    lists = [np.sort(random.choice(m, random.integers(2, 5), replace=False)) for _ in range(count)]
    starts = np.cumsum([0, *map(len, lists)])
    return {
        **arrays,
        "combined_starts": starts,
        "combined_relations": np.concatenate(lists),
        "combined_data": random.choice([1.0, -1.0], starts[-1]),
    }


def attack(kind: str, random: Random, steps: int) -> tuple[int, str]:
    """Climb from one true proof; return how often the bound rose, and what is wrong."""
    result = KINDS[kind](random)
    arrays = arrays_of(result.certificates, result.problem)
    if "bound" not in arrays:
        return 0, ""
    if kind in ("L1", "Linf") and random.random() < 0.7:
        arrays = with_sums(arrays, random)
    true = float(arrays["loss"])
    if kind == "intervals":  # what is rounded outwards loses more than what was searched
        true = min(true, result.narrowest * (1 + 1e-6))
    arrays |= {"loss": np.array(10 * true + 1), "bound": np.array(0.0)}
    best, rises = proved(arrays), 0
    start = best
    for _ in range(steps):
        try:
            changed = altered(arrays, random)
            value = proved(changed)
        except Exception:  # refused
            continue
        if value > true * (1 + SPARE) + 1e-12:
            return rises, f"{kind}: {value!r} is proved, but {true!r} is enough"
        if value > best or random.random() < 0.02:
            rises += value > best
            arrays, best = changed, value
    return rises, "" if start <= true * (1 + SPARE) else f"{kind}: {start!r} of {true!r}"


def main() -> int:
    """Attack for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()
    end, done, rises = time.time() + 60 * arguments.minutes, Counter[str](), Counter[str]()
    wrong: list[str] = []
    for number in itertools.count():
        if time.time() > end:
            break
        kind = list(KINDS)[number % len(KINDS)]
        try:
            raised, fault = attack(
                kind, np.random.default_rng([arguments.seed, number]), arguments.steps
            )
        except (tc.ModelError, tc.InputError, tc.SolverError):
            continue
        done[kind] += 1
        rises[kind] += raised
        if fault:
            wrong.append(f"{fault} (seed {arguments.seed}, number {number})")
    for kind in KINDS:
        print(f"{kind:14} {done[kind]:5} proofs attacked, {rises[kind]:6} bounds raised")
    print(f"{len(wrong)} false bounds")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
