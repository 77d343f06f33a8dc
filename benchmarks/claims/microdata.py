"""Microdata methods: seconds of the processor, on coded categories and on numbers."""

import time
from functools import partial

import numpy as np
import pandas as pd

from bench.claims import Claim, Column, Instance, Method
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
from tablecloak.microdata.methods.swapping import SwapTable

SIZES = (3, 4, 5, 2, 2, 2, 3, 2)


def coded(n, seed=1):
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


def least(job):
    """Least CPU seconds of three runs."""
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        job()
        best = min(best, time.process_time() - started)
    return best


def swaps(n, equal_on=()):
    records, random = coded(n), np.random.default_rng(2)
    method = DataSwapping(["a0"], 0.1, equal_on=list(equal_on))
    return least(
        lambda: SwapTable(records).evaluate(method.draw(records, random), method.attributes)
    )


def candidates(n):
    records, random = coded(n), np.random.default_rng(2)
    table, names = SwapTable(records), list(records.names)
    pairs = [[a] for a in names] + [[a, b] for i, a in enumerate(names) for b in names[i + 1 :]]
    started = time.process_time()
    for candidate in [DataSwapping(each, rate) for each in pairs for rate in (0.01, 0.02, 0.1)]:
        table.evaluate(candidate.draw(records, random), candidate.attributes)
    return time.process_time() - started


def coded_frame(n):
    records = coded(n)
    return pd.DataFrame(dict(zip(records.names, records.codes, strict=True)))


def pram(n):
    frame = coded_frame(n)
    return least(lambda: GuaranteedPRAM(list(frame)).protect(frame))


def pram_coded(n):
    frame, random = coded_frame(n), np.random.default_rng(1)
    records = CodedRecords.of(frame, list(frame))
    return least(lambda: GuaranteedPRAM(list(frame)).draw(records, random))


def matrix(n):
    one, kept = coded_frame(n)[["a2"]], np.full((5, 5), 0.05) + 0.75 * np.eye(5)
    return least(lambda: ClassicalPRAM("a2", kept).protect(one))


def numbers(n):
    return pd.DataFrame(np.random.default_rng(1).normal(size=(n, 2)), columns=list("ab"))


def noise(n):
    frame = numbers(n)
    return least(lambda: CovarianceNoise(["a", "b"], 0.1).protect(frame))


def groups(n):
    frame = numbers(n)
    return least(lambda: Microaggregation(["a", "b"]).protect(frame))


def neighbours(n):
    random = np.random.default_rng(3)
    frame = pd.DataFrame(random.normal(size=(n, 3)), columns=list("abc")).assign(
        d=1.0 * (random.random(n) < 0.2), e=1.0 * (random.random(n) < 0.3)
    )
    method = NeighbourhoodSampling(0.1 if n >= 1_000_000 else 0.2)
    return least(lambda: method.protect(frame))


def households(n):
    """About n people in two fifths as many households."""
    random = np.random.default_rng(1)
    homes = max(2 * n // 5, 4)
    home = np.repeat(np.arange(homes), random.integers(1, 5, homes))
    frame = pd.DataFrame(random.integers(0, (5, 10, 20), (homes, 3))[home], columns=list("sct"))
    frame = frame.assign(home=home, age=random.integers(0, 90, len(home)))
    frame = frame.assign(tenure=random.integers(0, 3, homes)[home])
    method = TargetedSwapping(list("sct"), "home", ["age"], similar=[["tenure"], []])
    return least(lambda: method.protect(frame))


JOBS = {
    "swap release": (swaps, "one release at 10 %, from scratch"),
    "swap within strata": (partial(swaps, equal_on=["a1"]), "the same within strata"),
    "swap candidates": (candidates, "108 candidates, one replicate"),
    "guaranteed PRAM": (pram, "coding of eight columns and a copy included"),
    "guaranteed PRAM, coded": (pram_coded, "eight columns of bytes"),
    "PRAM by a matrix": (matrix, "coding included"),
    "noise": (noise, "two columns"),
    "neighbourhood sampling": (neighbours, "five columns, 30 and 37 neighbours"),
    "household swapping": (households, "three levels of geography"),
    "microaggregation": (groups, "MDAV, groups of 3, two columns"),
}


TARGETS = {
    "swap release": "25 ms for 10^6, 0.3 s for 10^7",
    "swap within strata": "50 ms, 0.65 s",
    "swap candidates": "0.5 s, 8 s",
    "guaranteed PRAM": "15 ns a record, coded",
    "guaranteed PRAM, coded": "15 ns a record",
    "PRAM by a matrix": "60 ns a record, coded",
    "noise": "60 ns a record",
    "neighbourhood sampling": "1 s for 10^5, 15 s for 10^6",
    "microaggregation": "1 s",
}


MOST = {"neighbourhood sampling": 1_000_000, "microaggregation": 100_000}
"""Records that a method is meant for."""


def measured(job, n, setting):
    del setting
    if n > MOST.get(job, n):
        return {"target": f"not meant for more than {MOST[job]:,} records"}
    seconds = JOBS[job][0](n)
    told = {"target": TARGETS.get(job, "-")}
    return told | {"seconds": seconds, "nanoseconds": 1e9 * seconds / n}


RECORDS = {"30,000": 30_000, "100,000": 100_000, "10^6": 1_000_000, "10^7": 10_000_000}

CLAIM = Claim(
    name="microdata",
    title="Microdata",
    text="""One thread, eight coded attributes (2,880 cells) or columns of numbers, best of three. Targets are those for numpy
alone.""",
    said_in=("docs/decisions",),
    methods=tuple(
        Method(name, partial(measured, name), about) for name, (_, about) in JOBS.items()
    ),
    instances=lambda folder: [Instance(name, partial(int, size)) for name, size in RECORDS.items()],
    smallest=Instance("500", lambda: 500),
    columns=(
        Column("seconds", "s", ".3g"),
        Column("nanoseconds", "ns a record", ".3g"),
        Column("target", "target"),
    ),
    limits=(600.0,),
    findings="""Neighbourhood sampling keeps one tree for each combination of the columns with few, distant values. MDAV gives the same
groups in 0.80 s where distances, sorting and moving all records for each group took 25 s; time grows with the square of the records.""",
)
