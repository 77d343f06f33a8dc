"""What ratios beside the totals cost in time."""

from functools import partial

import numpy as np
import pandas as pd

import tablecloak as tc
from bench.claims import Claim, Instance, Method
from figures import COX, PATTERN, pattern_figures

SIZES = {"turnover": (100, 3000), "employees": (5, 80), "hours": (100, 900)}


def totals(shape, names):
    """Variables over two dimensions of plain codes; a tenth of the turnover is sensitive."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(np.argwhere(np.ones(shape)).astype(str), columns=["region", "industry"])
    parts = {}
    for name in names:
        frame[name] = random.integers(*SIZES[name], len(frame)).astype(float)
        table = tc.tabulate(frame, ["region", "industry"], name)
        inner = np.flatnonzero((table.keys != "Total").all(axis=1))
        chosen = random.choice(inner, len(inner) // 10, replace=False).tolist()
        parts[name] = table.protect(tc.Manual(chosen if name == "turnover" else [], range=15))
    return tc.join(parts)


def with_ratios(shape, names):
    pairs = [(a, b) for number, a in enumerate(names) for b in names[number + 1 :]]
    return tc.with_derived(totals(shape, names), [tc.Ratio(f"{a} / {b}") for a, b in pairs])


def instances(folder):
    del folder
    three, two = list(SIZES), list(SIZES)[:2]
    for title, shape, names in (("5k", (38, 42), three), ("10k", (70, 70), two)):
        yield Instance(f"{title} totals", partial(totals, shape, names))
        yield Instance(f"{title} totals with 5k ratios", partial(with_ratios, shape, names))


def first(problem, setting):
    return pattern_figures(problem, setting, method="sequential", audited=False)


CLAIM = Claim(
    name="derived-figures",
    title="Totals with and without their ratios",
    text="""5,031 cells of three variables with all 5,031 ratios between them, and 10,082 cells of two with 5,041; a tenth of the
inner cells of one variable is sensitive. From the problem to the verified certificate of a first complete pattern; the limit of 1 ms
only says that nothing is improved.""",
    said_in=("docs/derived-figures.md", "docs/decisions"),
    methods=(Method("first pattern", first),),
    instances=instances,
    smallest=COX,
    columns=PATTERN,
    limits=(0.001,),
    findings="""Each ratio is two rows and three further cells; the search moves totals first and completes the figures.""",
)
