"""Suppression of tables of made-up enterprises, up to 450,000 cells."""

from functools import partial

import enterprises as made
from bench.claims import Claim, Column, Instance, Method
from figures import PATTERN, pattern_figures


def protect(problem, setting):
    found = pattern_figures(problem, setting, method="sequential")
    # With values as weights, the loss of secondaries is what is not lost in any case.
    secondary = found["loss"] - float(problem.weights[problem.sensitive].sum())
    return found | {"secondary_share": secondary / float(problem.table.values.max())}


def instances(folder):
    del folder
    for seed in range(1, 6):
        yield Instance(f"two-way {seed}", partial(made.table, *made.SHAPES["two-way"], seed))
    for name in ("three-way", "three-way-large"):
        yield Instance(name, partial(made.table, *made.SHAPES[name], 1))


CLAIM = Claim(
    name="enterprises",
    title="Suppression of made-up enterprises",
    text="""Skewed enterprises in two dimensions (3,000, five seeds) and in three (30,000 and 300,000), p% 10 and frequency below
3, sequential method. The optimum of the small ones is that of the Fischetti-Salazar code (pytauargus 0.6.0) on the same JJ files.
`--only three-way` and `--limit 50` choose the middle one.""",
    said_in=("docs/decisions",),
    methods=(Method("sequential", protect),),
    instances=instances,
    smallest=Instance("tiny", partial(made.table, {"a": (2, 3), "b": (2, 2)}, 80, 1)),
    columns=(
        *PATTERN,
        Column("secondary_share", "secondary share of the total", ".1%"),
    ),
    limits=(3.0, 60.0),
    findings="""A region whose need no neighbourhood protects is attacked together with the others once most of what is needed
is hidden; earlier such a program takes 65 to 220 s and proves a fifth or nothing (142,223 cells).""",
)
