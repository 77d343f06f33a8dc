"""Attack on adjustments by one who knows the method."""

from figures import COX, castro

import tablecloak as tc
from tablecloak.bench.claims import Claim, Column, Instance, Method

KNOWLEDGE = ("method", "levels", "directions")


def attack(problem, setting):
    options = {"time_limit": setting.limit, "threads": 1}
    adjusted = tc.adjust(problem, **options)
    risks = [tc.attack_adjustment(adjusted, knows=each, **options) for each in KNOWLEDGE]
    return {each: risk.share_recovered for each, risk in zip(KNOWLEDGE, risks, strict=True)}


def instances(folder):
    yield Instance("Cox 4x9", tc.examples.cox)
    yield from castro(folder)


CLAIM = Claim(
    name="adjustment-attack",
    title="Attack on an adjustment by one who knows the method",
    text="""Share of the sensitive cells guessed to within their level, with L1 and weights 1/|a|. The better of each guess and
its mirror image counts. So the levels must be kept secret.""",
    said_in=("docs/guarantees.md",),
    methods=(Method("attack", attack),),
    instances=instances,
    smallest=COX,
    columns=tuple(
        Column(name, heading, ".0%")
        for name, heading in zip(
            KNOWLEDGE, ("knows the method", "and the levels", "and the directions"), strict=True
        )
    ),
    limits=(20.0,),
    findings="L2 does not help: cbs 42 %, table1 55 % with levels known, by one guess.",
)
