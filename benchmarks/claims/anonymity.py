"""Records made alike: values lost, against greedy rules and proved bounds, by the processor's clock."""

import time
from functools import partial

import numpy as np
import pandas as pd

from bench.claims import Claim, Column, Instance, Method
from tablecloak.microdata import LocalRecoding, LocalSuppression, Recoding

KEYS = 7


def made(n):
    """Seven keys with 6 to 12 skewed values."""
    random = np.random.default_rng(0)
    return pd.DataFrame({f"q{at}": random.binomial(5 + at, 0.3, n) for at in range(KEYS)})


def measured(build, frame, setting):
    method = build(list(frame.columns), min(setting.limit, 600.0))
    started = time.process_time()
    release = method.protect(frame)
    seconds = time.process_time() - started
    proved = release.bound > 0
    return {
        "loss": release.loss,
        "bound": release.bound if proved else None,
        "gap": 100 * release.gap if proved else None,
        "seconds": seconds,
    }


def suppression(anonymity, search, keys, limit):
    return LocalSuppression(keys, 3, anonymity=anonymity, search=search, time_limit=limit)


BANDS = {"q5": [2, 4], "q6": [2, 4]}

METHODS = (
    Method(
        "(1,k), greedy", partial(measured, partial(suppression, "1-k", "greedy")),
        "k true records agree with what is left, greedy rule of set cover",
    ),
    Method("(1,k)", partial(measured, partial(suppression, "1-k", "optimal")), "the same, least loss"),
    Method(
        "k, greedy", partial(measured, partial(suppression, "k", "greedy")),
        "k released records are equal, greedy rule",
    ),
    Method(
        "k", partial(measured, partial(suppression, "k", "optimal")),
        "the same, by prices of records",
    ),
    Method(
        "local recoding",
        partial(measured, lambda keys, limit: LocalRecoding(keys, BANDS, 3, time_limit=limit)),
        "two keys in bands, values of single records",
    ),
    Method(
        "recoding",
        partial(measured, lambda keys, limit: Recoding(keys, BANDS, 3, time_limit=limit)),
        "two keys in bands, whole keys",
    ),
)  # fmt: skip

CLAIM = Claim(
    name="anonymity",
    title="Equal records",
    text="""Seven keys, k = 3: cost of the values that are lost (a recoded value counts in part), proved bound, gap in per cent. For
each guarantee the greedy rule is the baseline. A dash: no bound is proved in this time.""",
    said_in=("docs/decisions", "docs/records-methods.md"),
    methods=METHODS,
    instances=lambda folder: [
        Instance("10,000", partial(made, 10_000), (60.0,)),
        Instance("100,000", partial(made, 100_000), (60.0,)),
        Instance("10^6", partial(made, 1_000_000), (10.0,)),
    ],
    smallest=Instance("200", partial(made, 200), (1.0,)),
    columns=(
        Column("loss", "loss", ",.0f"),
        Column("bound", "bound", ",.0f"),
        Column("gap", "gap %", ".2f"),
        Column("seconds", "s", ".3g"),
    ),
    findings="""The bound for (1,k) is reached, so that the least number is known. Where released records are equal, prices prove a
bound near the relaxation of the program in whole numbers; for a million records ten seconds suffice for the greedy release only.""",
)
