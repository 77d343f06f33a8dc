"""The next output of a large project: time, memory and what the joint audit finds."""

import resource
from functools import partial

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from bench.claims import NOT_MEASURED, Claim, Column, Instance, Method
from bench.measure import timed
from tablecloak.safe import Outcome, Project
from tablecloak.safe.output import Figures

CODES = (12, 20, 5, 4, 6, 2, 10, 3)
"""Number of codes of the keys of a record, which are independent of each other."""

ASKED = 10
"""Outputs at the end whose time is told."""


def outputs(n_records, n_outputs):
    """Counts and sums by one to three keys, half of them of a part of the records."""
    random = np.random.default_rng(0)
    shares = [random.dirichlet(np.full(codes, 3.0)) for codes in CODES]
    keys = np.stack(
        [random.choice(c, n_records, p=p) for c, p in zip(CODES, shares, strict=True)], axis=1
    )
    turnover = np.round(random.lognormal(3, 1.5, n_records))
    age = random.integers(16, 90, n_records)
    for _ in range(n_outputs):
        columns = random.permutation(len(CODES))[: random.integers(1, 4)]
        chosen = np.ones(n_records, dtype=bool)
        kind = random.random()
        if kind < 0.3:
            key = random.integers(len(CODES))
            chosen = keys[:, key] == random.integers(CODES[key])
        elif kind < 0.5:
            chosen = age > random.choice([18, 25, 40, 65])
        records = np.flatnonzero(chosen)
        code = np.ravel_multi_index(keys[records][:, columns].T, [CODES[c] for c in columns])
        group, found = pd.factorize(code)
        large = np.bincount(group) >= 10
        rows = vstack([csr_array(np.eye(len(found))[large]), csr_array(np.ones((1, len(found))))])
        labels = tuple(map(str, range(rows.shape[0])))
        if random.random() < 0.4:
            yield Figures(records, group, rows, labels, turnover[records], "turnover")
        else:
            yield Figures(records, group, rows, labels)


def asked(sizes, setting):
    n_records, n_outputs = sizes
    project = Project()
    project.positions(pd.RangeIndex(n_records))
    seconds, refused, classes = [], 0, 0
    for figures in outputs(n_records, n_outputs):
        (found, _), spent = timed(partial(project.findings, [figures]))
        seconds.append((spent["cpu"], bool(found)))
        refused += bool(found)
        if not found:
            project.record("table", "", Outcome(), figures=[figures])
    variables = project._joint._variables.variables
    classes = max(variable.system.n_classes for variable in variables)
    passed = [cpu for cpu, is_refused in seconds[-ASKED:] if not is_refused]
    return {
        "records": n_records,
        "outputs": n_outputs,
        "refused": refused,
        "classes": classes,
        "next": max(passed),
        "cpu": sum(cpu for cpu, _ in seconds),
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


CLAIM = Claim(
    apart=NOT_MEASURED,
    name="safe-project",
    title="A project of outputs checked as one",
    text="""Outputs of one project over the same records: counts and sums by one to three of eight keys, with threshold 10, half of them of a
part of the records. Cells below the threshold are hidden; what still follows from two or more outputs is refused.""",
    said_in=("docs/safe.md",),
    methods=(Method("joint audit", asked),),
    instances=lambda folder: [
        Instance(f"{n:,} records, {m} outputs", lambda n=n, m=m: (n, m))
        for n, m in ((10_000, 50), (100_000, 100), (1_000_000, 200))
    ],
    smallest=Instance("200 records, 4 outputs", lambda: (200, 4)),
    columns=(
        Column("outputs", "outputs", ",d"),
        Column("refused", "refused", ",d"),
        Column("classes", "classes of records", ",d"),
        Column("next", "CPU s of the next output", ".1f"),
        Column("cpu", "CPU s of all", ",.0f"),
        Column("mib", "MiB", ",.0f"),
    ),
    limits=(600.0,),
    findings="""The time of the next output is the longest of the last ten that were not refused; working out the sums by which a
refused one discloses takes longer. Classes are records that no output tells apart.""",
)
