"""What ratios beside the totals cost in time."""

import numpy as np

import tablecloak as tc
from bench.claims import Claim, Instance, Method
from enterprises import RULES, enterprises
from figures import COX, PATTERN, pattern_figures

SHAPE = {"a": (8, 6), "b": (6, 5)}


def totals():
    """Turnover, employees and hours of made-up enterprises; turnover has sensitive cells."""
    frame, trees = enterprises(SHAPE, 12_000, 1)
    random = np.random.default_rng(1)
    frame["employees"] = np.ceil(frame["v"] / random.uniform(2, 6, len(frame)))
    frame["hours"] = np.ceil(frame["employees"] * random.uniform(20, 40, len(frame)))
    rules = {"v": RULES, "employees": (tc.Manual([]),), "hours": (tc.Manual([]),)}
    return tc.join(
        {name: tc.tabulate(frame, trees, name).protect(*given) for name, given in rules.items()}
    )


def with_ratios():
    pairs = ("v / employees", "v / hours", "hours / employees")
    return tc.with_derived(totals(), [tc.Ratio(pair) for pair in pairs])


def first(problem, setting):
    return pattern_figures(problem, setting, method="sequential")


CLAIM = Claim(
    name="derived-figures",
    title="Totals with and without their ratios",
    text="""Turnover, employees and hours of made-up enterprises over two hierarchies, alone and with all ratios between two of the
three; p% 10 and frequency below 3 for turnover. From the problem to the verified certificate of a first complete pattern; the limit of 1 ms
only says that nothing is improved.""",
    said_in=("docs/derived-figures.md", "docs/decisions"),
    methods=(Method("first pattern", first),),
    instances=lambda folder: [Instance("totals", totals), Instance("with ratios", with_ratios)],
    smallest=COX,
    columns=PATTERN,
    limits=(0.001,),
    findings="""Each ratio is two rows and three further cells; the search moves totals first and completes the figures.""",
)
