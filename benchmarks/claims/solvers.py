"""Solvers side by side on small instances; every answer is judged."""

from functools import partial

import numpy as np

import tablecloak as tc
from bench.claims import Claim, Column, Instance, Method
from bench.instances import instances as quick
from bench.runner import METHODS, PROGRAMS, run_bench
from bench.solvers import available_solvers

SHOWN = ("tablecloak", "highs-simplex", "highs-ipm", "highs-pdlp", "highs-mip", "cbc")


def judge(asked, setting):
    """Solved of asked by each solver, and the geometric mean of its seconds, each plus 1."""
    question, built, solvers = asked
    table = run_bench(built, solvers, [question], time_limit=setting.limit).table
    found = {}
    for solver, own in table.groupby("solver"):
        counts = own["verdict"].value_counts()
        mean = np.exp(np.log1p(own["seconds"].fillna(setting.limit)).mean()) - 1
        wrong = f", {counts['wrong']} wrong" if "wrong" in counts else ""
        found[solver] = f"{counts.get('solved', 0)} of {len(own)}{wrong}, {mean:.2f} s"
    return found


def questions(folder):
    del folder
    built, solvers = quick(quick=True), [s for s in SHOWN if s in available_solvers()]
    for question in (*PROGRAMS, *METHODS):
        yield Instance(question, partial(tuple, (question, built, solvers)))


CLAIM = Claim(
    name="solvers",
    title="Solvers side by side",
    text="""Solved of asked on six small instances (Cox's two tables, 8x8, 16x16, 5x5x5, linked tables of 500 firms). Every answer is
judged against the program and the points of all solvers. `python -m benchmarks --quick` gives the same with profiles and courses.""",
    said_in=("docs/bench.md", "docs/solvers.md"),
    methods=(Method("side by side", judge),),
    instances=questions,
    smallest=Instance("cox", lambda: ("audit", {"cox": tc.examples.cox}, ["tablecloak"])),
    columns=tuple(Column(name, name) for name in SHOWN),
    limits=(3.0,),
    clock="wall",
    findings="""The suppression's complete formulation is given to our branch and bound alone, without heuristics. The wrong answer of CBC: a
point that breaks the program by 9e-5, called optimal. With a tolerance of 1e-6 PDLP was off by 4.3e-6 on Cox's adjustment.""",
)
