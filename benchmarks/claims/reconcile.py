"""Tables with noise made additive: time and proved gap."""

import itertools
from functools import partial

import numpy as np
import pandas as pd

from tablecloak.bench.claims import Claim, Column, Instance, Method
from tablecloak.bench.measure import timed


def cube(codes):
    """A three-way table of counts with all margins, each cell with noise of its own."""
    random = np.random.default_rng(5)
    full = np.zeros([codes + 1] * 3)
    full[1:, 1:, 1:] = random.poisson(2, [codes] * 3)
    for axis in range(3):
        moved = np.moveaxis(full, axis, 0)
        moved[0] = moved[1:].sum(axis=0)
    names = ["Total", *(f"c{number:03}" for number in range(codes))]
    frame = pd.DataFrame(itertools.product(names, repeat=3), columns=["a", "b", "c"])
    return frame.assign(value=full.ravel() + random.normal(0, 2, full.size))


def reconciled(frame, setting, *, whole=False):
    import tablecloak as tc

    found, spent = timed(
        lambda: tc.reconcile(frame, ["a", "b", "c"], lower=0, whole=whole, time_limit=setting.limit)
    )
    return {
        "cells": len(frame),
        "loss": found.loss,
        "gap": max(found.passes[-1].loss - found.bound, 0) / max(found.passes[-1].loss, 1e-300),
        "furthest": float(np.abs(found.values - found.passes[-1].x).max()),
        **spent,
    }


CLAIM = Claim(
    name="reconcile",
    title="Noisy tables made additive",
    text="""A three-way table of counts with all margins, each cell with normal noise of variance 4, made additive in least squares with
all values at least 0. The gap is that of the table of real numbers, proved by multipliers.""",
    said_in=("docs/reconcile.md",),
    methods=(Method("L2", reconciled), Method("whole", partial(reconciled, whole=True))),
    instances=lambda folder: [
        Instance(f"{codes} codes", partial(cube, codes)) for codes in (20, 46, 100)
    ],
    smallest=Instance("3 codes", partial(cube, 3)),
    columns=(
        Column("cells", "cells", ",d"),
        Column("loss", "loss", ",.0f"),
        Column("gap", "proved gap", ".1e"),
        Column("furthest", "furthest whole number", ".2f"),
        Column("cpu", "CPU s", ".1f"),
    ),
    limits=(120.0,),
    findings="Target: a million cells within 60 s with a proved gap below 10^-4.",
)
