"""Partial suppression: narrow intervals instead of gaps."""

import tablecloak as tc
from bench.claims import Claim, Column, Method
from bench.measure import timed
from figures import COX, castro


def publish(problem, setting):
    options = {"time_limit": setting.limit, "seed": setting.seed}
    found, spent = timed(lambda: tc.publish_intervals(problem, weights="relative", **options))
    return {"loss": found.loss, "bound": found.bound} | spent


CLAIM = Claim(
    name="intervals",
    title="Partial suppression",
    text="""`tc.publish_intervals` with weights 1/|a|. It ends at a gap of 0.01 %.""",
    said_in=("README.md", "docs/choosing.md"),
    methods=(Method("intervals", publish),),
    instances=castro,
    smallest=COX,
    columns=(
        Column("loss", "loss", ",.6f"),
        Column("bound", "bound", ",.6f"),
        Column("seconds", "s", ".1f"),
        Column("cpu", "CPU s of the search", ".1f"),
    ),
    limits=(30.0,),
    clock="wall",
    findings="The losses that were converted are those before the blur of the published ends.",
)
