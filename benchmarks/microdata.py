"""Microdata methods: CPU time per record on coded categories, as the figures for numpy ask.

python benchmarks/microdata.py 1000000 10000000
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

from tablecloak.microdata import (
    ClassicalPRAM,
    CovarianceNoise,
    DataSwapping,
    GuaranteedPRAM,
    Microaggregation,
    NeighbourhoodSampling,
    TargetedSwapping,
)
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.methods.swap_table import SwapTable

SIZES = (3, 4, 5, 2, 2, 2, 3, 2)


def coded(n: int, seed: int = 1) -> CodedRecords:
    """Eight attributes with skewed shares, 2,880 cells."""
    random = np.random.default_rng(seed)
    codes = [
        random.choice(size, n, p=np.arange(size, 0, -1) / np.arange(size, 0, -1).sum()).astype(
            np.int8
        )
        for size in SIZES
    ]
    names = tuple(f"a{i}" for i in range(len(SIZES)))
    return CodedRecords(names, tuple(codes), tuple(np.arange(s).astype(object) for s in SIZES))


def timed(job) -> float:
    """Least CPU seconds of three runs."""
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        job()
        best = min(best, time.process_time() - started)
    return best


def main() -> None:
    for n in map(int, sys.argv[1:]):
        categorical(n)
    for n in map(int, sys.argv[1:]):
        noise(n)
    for n, eps in ((100_000, 0.2), (1_000_000, 0.1)):
        numeric(n, eps)
    households(400_000)
    groups(30_000)


def categorical(n: int) -> None:
    records = coded(n)
    random = np.random.default_rng(2)

    def release(method):
        pairs = method.draw(records, random)
        SwapTable(records).evaluate(pairs, method.attributes)

    names = list(records.names)
    swap = timed(lambda: release(DataSwapping(["a0"], 0.1)))
    print(f"{n:,}: one swap release, 10 %, from scratch {1e3 * swap:.0f} ms", flush=True)
    equal = timed(lambda: release(DataSwapping(["a0"], 0.1, equal_on=["a1"])))
    print(f"{n:,}: the same within strata {1e3 * equal:.0f} ms", flush=True)
    table = SwapTable(records)
    candidates = [
        DataSwapping(attributes, rate)
        for attributes in (
            [[a] for a in names] + [[a, b] for i, a in enumerate(names) for b in names[i + 1 :]]
        )
        for rate in (0.01, 0.02, 0.1)
    ]
    started = time.process_time()
    for candidate in candidates:
        table.evaluate(candidate.draw(records, random), candidate.attributes)
    seconds = time.process_time() - started
    print(f"{n:,}: {len(candidates)} candidates, one replicate {seconds:.2f} s", flush=True)
    frame = pd.DataFrame(dict(zip(names, records.codes, strict=True)))
    pram = timed(lambda: GuaranteedPRAM(names).protect(frame))
    print(f"{n:,}: guaranteed PRAM, coding included {1e9 * pram / n:.0f} ns/record", flush=True)
    records = CodedRecords.of(frame, names)
    random = np.random.default_rng(1)
    drawn = timed(lambda: GuaranteedPRAM(names).draw(records, random))
    print(f"{n:,}: guaranteed PRAM of coded records {1e9 * drawn / n:.1f} ns/record", flush=True)
    matrix = np.full((5, 5), 0.05) + 0.75 * np.eye(5)
    one = frame[["a2"]]
    classical = timed(lambda: ClassicalPRAM("a2", matrix).protect(one))
    print(f"{n:,}: PRAM by a matrix {1e9 * classical / n:.0f} ns/record", flush=True)


def numeric(n: int, eps: float) -> None:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.normal(size=(n, 3)), columns=list("abc")).assign(
        d=random.random(n) < 0.2, e=random.random(n) < 0.3
    )
    frame[["d", "e"]] = frame[["d", "e"]].astype(float)
    method = NeighbourhoodSampling(eps)
    seconds = timed(lambda: method.protect(frame))
    mean = method.protect(frame).neighbours.mean()
    print(f"{n:,}: neighbourhood sampling {seconds:.2f} s, {mean:.0f} neighbours", flush=True)


def noise(n: int) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(n, 2)), columns=list("ab"))
    seconds = timed(lambda: CovarianceNoise(["a", "b"], 0.1).protect(frame))
    print(f"{n:,}: noise on two columns {1e9 * seconds / n:.0f} ns/record", flush=True)


def households(n: int) -> None:
    random = np.random.default_rng(1)
    home = np.repeat(np.arange(n), random.integers(1, 5, n))
    frame = pd.DataFrame(random.integers(0, (5, 10, 20), (n, 3))[home], columns=list("sct"))
    frame = frame.assign(home=home, age=random.integers(0, 90, len(home)))
    frame = frame.assign(tenure=random.integers(0, 3, n)[home])
    method = TargetedSwapping(list("sct"), "home", ["age"], similar=[["tenure"], []])
    seconds = timed(lambda: method.protect(frame))
    print(f"{len(frame):,} people: targeted swapping {seconds:.2f} s", flush=True)


def groups(n: int) -> None:
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(n, 2)), columns=list("ab"))
    seconds = timed(lambda: Microaggregation(["a", "b"]).protect(frame))
    print(f"{n:,} x 2: groups of 3 by MDAV {seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
