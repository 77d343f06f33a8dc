"""Attack on adjustments by one who knows the method."""

from statistics import mean

import tablecloak as tc
from bench.claims import Claim, Column, Method
from figures import COX, cox_and_castro

KNOWLEDGE = ("method", "levels", "directions")
RECOVERY, DRAWS = 0.08, 10


def attack(problem, setting):
    options = {"time_limit": setting.limit, "threads": 1}
    adjusted = tc.adjust(problem, **options)
    risks = [tc.attack_adjustment(adjusted, knows=each, **options) for each in KNOWLEDGE]
    found = {each: risk.share_recovered for each, risk in zip(KNOWLEDGE, risks, strict=True)}
    return found | by_chance(problem, options)


def by_chance(problem, options):
    """Mean over some draws of which nobody knows the seed."""
    shares, losses, asked = [], [], []
    for seed in range(DRAWS):
        drawn = tc.adjust(problem, recovery=RECOVERY, seed=seed, **options)
        shares.append(tc.attack_adjustment(drawn, knows="levels", **options).share_recovered)
        losses.append(drawn.loss / drawn.bound)
        asked.append(drawn.chance.recovery)
    return {"chance": mean(shares), "probability": max(asked), "price": mean(losses)}


CLAIM = Claim(
    name="adjustment-attack",
    title="Attack on an adjustment by one who knows the method",
    text="""Share of the sensitive cells guessed to within their level, with L1 and weights 1/|a|. The better of each guess and
its mirror image counts. So the levels must be kept secret, or the distances left to chance (`recovery=0.08`): then the
one who knows levels, method and spread, all but the seed, is shown beside, mean of ten draws (of three on table1 and cbs), with the probability
that is proved per cell, and the loss as a multiple of the bound of the least adjustment.""",
    said_in=("docs/guarantees.md",),
    methods=(Method("attack", attack),),
    instances=cox_and_castro,
    smallest=COX,
    columns=(
        Column("method", "knows the method", ".0%"),
        Column("levels", "and the levels", ".0%"),
        Column("directions", "and the directions", ".0%"),
        Column("chance", "left to chance, knows the levels", ".1%"),
        Column("probability", "at most, proved", ".0%"),
        Column("price", "loss / bound", ".1f"),
    ),
    limits=(20.0,),
    findings="L2 does not help: cbs 42 %, table1 55 % with levels known, by one guess.",
)
