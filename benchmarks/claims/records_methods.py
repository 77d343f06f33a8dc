"""Every method for records on frames of a million records, as users call it."""

import resource
import warnings
from functools import partial

import numpy as np
import pandas as pd

from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from tablecloak.microdata import METHODS, OrderWarning, assess

KEYS = ["age", "sex", "job", "education", "region"]
BANDS = {"age": [5, 10, 20]}

GIVEN = {
    "independent-noise": {"columns": ["wage", "tax"], "noise": 0.1},
    "local-recode": {"keys": KEYS, "hierarchies": BANDS, "time_limit": 5},
    "local-suppression": {"keys": KEYS},
    "microaggregate": {"columns": ["hours", "tax"]},
    "multiply": {"columns": ["wage", "tax"], "contributor": "home"},
    "neighbours": {"columns": ["wage", "age", "sex"], "eps": 0.01},
    "noise": {"columns": ["wage", "tax"], "noise": 0.1},
    "pram": {"keys": ["age", "sex", "region"]},
    "pram-by-matrix": {"attribute": "sex", "matrix": [[0.8, 0.2], [0.2, 0.8]]},
    "rank-swap": {"columns": ["wage", "tax"], "window": 0.05},
    "recode": {"keys": KEYS, "hierarchies": BANDS, "suppression": 1.0},
    "restricted-noise": {"columns": ["wage", "tax"], "noise": 0.1},
    "shuffle": {"columns": ["wage", "tax"], "regressors": ["age"]},
    "swap": {"attributes": ["job"], "rate": 0.1, "keys": KEYS},
    "swap-households": {
        "hierarchy": ["region", "town"],
        "household": "home",
        "risk_variables": ["age", "sex"],
    },
    "topcode": {"column": "wage"},
}
"""Parameters of each method; the name of one without them stands as a row without figures."""


def people(n_records):
    """Persons in households, two per cent of their wages missing, in random order."""
    random = np.random.default_rng(1)
    home = random.integers(0, n_records // 3 + 1, n_records)
    frame = pd.DataFrame(
        {
            "home": home,
            "age": random.integers(16, 90, n_records),
            "sex": random.choice(["f", "m"], n_records),
            "job": random.choice(list("abcdefghij"), n_records),
            "education": random.integers(0, 8, n_records),
            "wage": random.lognormal(8, 0.5, n_records).round(2),
            "hours": random.normal(38, 6, n_records),
            "tax": random.lognormal(6, 0.5, n_records),
            "region": home % 40,
            "town": home % 40 * 10 + home // 40 % 10,
        }
    )
    frame.loc[random.random(n_records) < 0.02, "wage"] = np.nan
    return frame


def protected(name, frame, setting):
    method = METHODS.build(name, **GIVEN[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        release, spent = timed(partial(method.protect, frame, seed=1))
    assert len(release.frame) == len(frame)
    return figures(spent)


def assessed(frame, setting):
    released = frame.assign(wage=frame["wage"] * 1.01)
    _, spent = timed(
        partial(assess, frame, released, keys=KEYS, numbers=["wage", "hours", "tax", "age"])
    )
    return figures(spent)


def figures(spent):
    return {
        "cpu": spent["cpu"],
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


CLAIM = Claim(
    name="records-methods",
    title="Methods for records",
    text="""Every method for records on a frame with ten columns, two per cent of one of them missing, and the assessment of a release by five keys
and four numbers.""",
    said_in=("docs/records-methods.md",),
    methods=(
        *(Method(name, partial(protected, name)) for name in sorted(GIVEN)),
        Method("assess", assessed),
    ),
    instances=lambda folder: [
        Instance(f"{n:,} records", lambda n=n: people(n)) for n in (100_000, 1_000_000)
    ],
    smallest=Instance("2,000 records", lambda: people(2_000)),
    columns=(
        Column("cpu", "CPU s", ".2f"),
        Column("mib", "MiB", ",.0f"),
    ),
    limits=(600.0,),
    findings="""`neighbours` has a radius of a hundredth of a standard deviation here: its time grows with the number of neighbours.""",
)
