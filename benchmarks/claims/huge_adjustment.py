"""Adjustment with given directions of ten million cells."""

from functools import partial

import tablecloak as tc
from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from figures import COX
from tables import flat_table


def up(problem, setting):
    found, spent = timed(lambda: tc.adjust(problem, directions="up", time_limit=setting.limit))
    told = {"cells": problem.table.n_cells, "sensitive": int(problem.n_sensitive)}
    gap = found.loss / found.bound - 1 if found.bound > 0 else None
    return told | {"loss": found.loss, "bound": found.bound, "gap": gap} | spent


CLAIM = Claim(
    name="huge-adjustment",
    title="Adjustment of ten million cells",
    text="""A crossed table of 100 x 100 x 1,000 with all margins, whole numbers, all sensitive cells moved up.""",
    said_in=("docs/decisions",),
    methods=(Method("up", up, "directions given"),),
    instances=lambda folder: [
        Instance("10M", partial(flat_table, (100, 100, 1000), sensitive=0.05, seed=3))
    ],
    smallest=COX,
    columns=(
        Column("cells", "cells", ",d"),
        Column("sensitive", "sensitive", ",d"),
        Column("loss", "loss", ",.1f"),
        Column("bound", "bound", ",.1f"),
        Column("gap", "loss / bound - 1", ".0e"),
        Column("seconds", "s", ".0f"),
    ),
    limits=(480.0,),
    clock="wall",
)
