"""Levels with a single child change nothing but the number of cells."""

from functools import partial

from bench.claims import Claim, Instance, Method
from figures import PATTERN, pattern_figures
from single_children import single_child_problem

NAMES = {"with single children": False, "without": True}

CLAIM = Claim(
    name="single-children",
    title="Levels of single children",
    text="""A table in which a third of the nodes of a tree have one child, and the same table without these levels: equal cells are
merged, so that both lose the same.""",
    said_in=("docs/decisions",),
    methods=(Method("tablecloak", pattern_figures),),
    instances=lambda folder: [
        Instance(name, partial(single_child_problem, removed=removed))
        for name, removed in NAMES.items()
    ],
    smallest=Instance("tiny", partial(single_child_problem, regions=(2, 2), others=2, firms=3.0)),
    columns=PATTERN,
)
