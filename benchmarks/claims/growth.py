"""How the time of a first complete pattern grows with the number of cells."""

from functools import partial

import numpy as np

import farms as made
from bench.claims import Claim, Column, Instance, Method
from figures import COX, PATTERN, pattern_figures

SIZES = ("5k", "25k", "100k", "300k", "792k")


def first(problem, setting):
    return pattern_figures(problem, setting, method="sequential")


def fitted(records):
    """Exponent and factor of seconds over cells of the grid."""
    cells = [made.SHAPES[record.instance].n_cells for record in records]
    return cells, *np.polyfit(np.log(cells), np.log([r.figures["cpu"] for r in records]), 1)


def remark(records):
    if len(records) < 2:
        return ""
    _, slope, constant = fitted(records)
    return (
        f"Over these sizes seconds = {np.exp(constant):.3g} cells^**{slope:.2f}**, cells counted on "
        "the whole grid.\n\n![Seconds over cells](growth.svg)"
    )


def draw(records, folder):
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot

    cells, slope, constant = fitted(records)
    figure, axes = pyplot.subplots(figsize=(5, 3.5))
    axes.loglog(cells, [record.figures["cpu"] for record in records], "o")
    line = np.array([cells[0], cells[-1]])
    axes.loglog(line, np.exp(constant) * line**slope, label=f"cells^{slope:.2f}")
    axes.set(xlabel="cells of the grid", ylabel="seconds", title="First complete proved pattern")
    axes.legend()
    figure.tight_layout()
    figure.savefig(folder / "growth.svg", metadata={"Date": None})


CLAIM = Claim(
    name="growth",
    title="Time of a first pattern, over cells",
    text="""From the problem to the verified certificate of a first complete pattern, values as weights, on the farms above. The
limit of 1 ms only says that nothing is improved: a first pattern is completed in any case.""",
    said_in=("CHANGELOG.md", "docs/decisions"),
    methods=(Method("first pattern", first),),
    instances=lambda folder: [Instance(name, partial(made.problem_of, name)) for name in SIZES],
    smallest=COX,
    columns=(*PATTERN[:2], PATTERN[7], Column("cpu", "CPU s of the search", ".1f")),
    limits=(1e-3,),
    remark=remark,
    draw=draw,
    findings="""Improvement after that: 17,743 filled cells lose 477 million after 4 s, 308 million after another 30 s and 300
million after 60 s of exchanges by programs; programs alone had a first pattern after 46 s and 559 million after 67.""",
)
